"""People: one row for each, of all that is known, and what acts take from them.

The versions of a person are people pages, the persons of acts, and those embedded in events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.database import Engine
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving.versions import ORDER, Merger, Rules, SpilledTables, among, replaced, with_column
from osdi_frames.tables import TABLES, main_table
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.schema import Table

#: The blocks of a person, in the order of their bits; two more bits say what a version is.
BLOCKS: Final = tuple(dict.fromkeys(column.block for column in PEOPLE.columns if column.block != "act"))
#: A version that holds a person, not a mere link; and one that is a resource of its own.
_HELD, _OWN = 1 << len(BLOCKS), 2 << len(BLOCKS)
#: The blocks that acts take from people, and the column that lists them.
FILLED: Final = ("name", "email", "phone", "location")
FILLED_COLUMN: Final = "person_filled"
#: Columns of people that have another name in acts.
_OF_ACT: Final = {
    "created_date": "person_created_date",
    "modified_date": "person_modified_date",
    "self_url": "person_url",
}
READ_FROM: Final = frozenset({"received_at", "fetched_at", "source_file", "source_line"})
_SEEN: Final = ("first_seen", "last_seen")

#: The tables of acts.
ACTS: Final = tuple(
    table for table in TABLES.values() if any(column.name == FILLED_COLUMN for column in table.columns)
)


@dataclass(frozen=True, slots=True)
class PersonSource:
    """A table that holds persons."""

    table: Table
    number: int

    @property
    def is_act(self) -> bool:
        """Whether its rows are what persons did."""
        return self.table in ACTS

    def columns(self, wanted: Iterable[str]) -> dict[str, str]:
        """Return its column for each column of people that it has."""
        renamed: Mapping[str, str] = {}
        if self.table == PEOPLE:
            own = {column.name for column in PEOPLE.columns if column.origin != "resolved"}
        elif self.is_act:
            own = {column.name for column in self.table.columns if column.block in ("person", "links")}
            renamed = _OF_ACT
        else:
            own = {column.name for column in self.table.entry}
        return {name: renamed.get(name, name) for name in wanted if renamed.get(name, name) in own}

    def versions(self, rows: pa.Table, main: pa.Table, wanted: Iterable[str], bits: int) -> pa.Table:
        """Return the versions of persons in its rows, as rows of people.

        `main` has the rows of the same elements in their main table. Among the blocks that they carry, `bits` precede
        those of the person, the first of which is that of an act's person.
        """
        numbers, carried = rows[ELEMENT].to_numpy(), rows[CARRIED].to_numpy()
        held = (carried & 1) * _HELD if self.is_act else np.full(len(rows), _HELD | _OWN)
        if self.table != main_table(self.table.element):
            main = main.take(pa.array(np.searchsorted(main[ELEMENT].to_numpy(), numbers)))
        columns = self._columns_of_people(rows, main, wanted, held != 0)
        acted = [rows["created_date"]] if self.is_act else []
        columns |= _seen([columns["created_date"], columns["modified_date"], *acted], wanted)
        nth = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)  # of the persons of one element
        columns[ELEMENT] = pa.array(numbers * PERSONS + self.number + nth)
        columns[CARRIED] = pa.array((carried >> bits) & (_HELD - 1) | held)
        found = pa.table(columns)
        return found if self.table == PEOPLE else found.filter(found["person_id"].is_valid())

    def _columns_of_people(
        self, rows: pa.Table, main: pa.Table, wanted: Iterable[str], is_held: np.ndarray
    ) -> dict[str, pa.Array | pa.ChunkedArray]:
        """Return the wanted columns; of a person that is only linked, the id alone is known."""
        columns = {name: rows[at] for name, at in self.columns(wanted).items()}
        columns |= {name: main[name] for name in READ_FROM if name in wanted and name in main.column_names}
        if self.is_act:
            held = pa.array(is_held)
            columns = {
                name: column if name == "person_id" else pc.if_else(held, column, None)
                for name, column in columns.items()
            }
        nothing = {name: pa.nulls(len(rows), PEOPLE.column(name).field.type) for name in wanted}
        return nothing | columns


def _seen(dates: Iterable[pa.ChunkedArray], wanted: Iterable[str]) -> dict[str, pa.ChunkedArray]:
    """Return the first and the last of some dates, as far as they are wanted."""
    numbers = [pc.cast(date, pa.int64()) for date in dates]  # Arrow does not compare times of a zone so
    extremes = zip(_SEEN, (pc.min_element_wise, pc.max_element_wise), strict=True)
    utc = pa.timestamp("us", "UTC")
    return {name: pc.cast(extreme(*numbers), utc) for name, extreme in extremes if name in wanted}


SOURCES: Final = tuple(
    PersonSource(table, number) for number, table in enumerate((PEOPLE, *ACTS, TABLES["event_people"]))
)

#: By how much the number of an element is multiplied: the rest says from which table a version of a person is. The last
#: of these has two persons of one element.
PERSONS: Final = len(SOURCES) + 1


def people_rules(columns: Collection[str]) -> Rules:
    """Return how the versions of people become one, given the columns that are asked for."""
    return Rules(
        identities=PEOPLE.element.identities,
        blocks=BLOCKS,
        extremes=tuple(
            name for name in (*_SEEN, "created_date", "received_at", "fetched_at") if name in columns
        ),
        collected="custom_fields" if "custom_fields" in columns else None,
        rank=f"carried & {_OWN} <> 0, carried & {_HELD} <> 0",
    )


def columns_of(block: str) -> tuple[str, ...]:
    """Return the columns of a block of a person."""
    return tuple(column.name for column in PEOPLE.columns if column.block == block)


def wanted_by_acts(columns: Iterable[str]) -> dict[str, None]:
    """Return the columns of people that columns of acts are filled from."""
    asked = {*columns}
    blocks = (block for block in FILLED if FILLED_COLUMN in asked or asked & {*filled_columns(block)})
    return dict.fromkeys(name for block in blocks for name in filled_columns(block))


def filled_columns(block: str) -> tuple[str, ...]:
    """Return the columns of a block that people and acts have."""
    of_acts = {column.name for column in ACTS[0].columns}
    return tuple(name for name in columns_of(block) if name in of_acts)


#: By block, the acts that lack it, sorted, and the versions of their persons that it comes from.
Donors: TypeAlias = Mapping[str, tuple[np.ndarray, np.ndarray]]


def lacking(
    acts: Merger, persons: Iterable[tuple[pa.Table, pa.Table]], rules: Rules, engine: Engine
) -> Donors:
    """Find who carries what acts do not.

    `persons` are parts of the acts' persons, and of what was seen of people, whose `rules` are given.
    """
    found: dict[str, list[pa.Table]] = {}
    for some, seen in persons:
        engine.put("acts", some)
        engine.put("seen", seen)
        for block in FILLED:  # some blocks few acts lack, others few people have
            bit = 1 << len(acts.rules.blocks) + BLOCKS.index(block)
            query = f"""WITH lacking AS MATERIALIZED (
                SELECT kept, person_high AS high, person_low AS low FROM acts WHERE carried & {bit} = 0)
                SELECT kept, source FROM lacking JOIN (
                SELECT high, low, arg_max({ELEMENT}, ({ORDER})) AS source FROM seen SEMI JOIN lacking USING (high, low)
                WHERE {rules.carries(block)} GROUP BY high, low) USING (high, low)"""
            found.setdefault(block, []).append(engine.ask(query))
    every = {block: pa.concat_tables(tables).sort_by("kept") for block, tables in found.items()}
    return {block: (some["kept"].to_numpy(), some["source"].to_numpy()) for block, some in every.items()}


def of_persons(acts: pa.Table, part: int, parts: int) -> pa.Table:
    """Return the acts whose persons belong to one of some parts."""
    low = acts["person_low"].to_numpy()
    return acts.filter(pa.array(low % np.uint64(parts) == part)) if parts > 1 else acts


def fill(rows: pa.Table, donors: Donors, persons: SpilledTables, collected: Collection[str]) -> pa.Table:
    """Return rows of acts, with what they lack of their persons.

    `persons` has the collected columns of people.
    """
    numbers, names = rows[ELEMENT].to_numpy(), np.full(len(rows), None, object)
    for block, (acts, sources) in donors.items():
        columns = [name for name in filled_columns(block) if name in collected]
        at = np.flatnonzero(among(numbers, acts)) if columns else ()
        if not len(at):
            continue
        values = persons.take(sources[np.searchsorted(acts, numbers[at])], columns)
        has = np.logical_or.reduce([np.asarray(column.is_valid()) for column in values.columns])
        at, values = at[has], values.filter(pa.array(has))
        rows = replaced(rows, at, values.select([name for name in columns if name in rows.column_names]))
        for row in at:
            names[row] = [*(names[row] or ()), block]
    if FILLED_COLUMN not in rows.column_names:
        return rows
    field = rows.schema.field(FILLED_COLUMN)
    return with_column(rows, field, pa.array(names, field.type))


def merged_fields(rows: pa.Table, merger: Merger, persons: SpilledTables, engine: Engine) -> pa.Table:
    """Return rows of people with custom fields of all versions, each by its name from the newest that has it."""
    at, sources = merger.of_several(rows)
    single = np.setdiff1d(np.arange(len(rows)), at)
    numbers, texts = single, rows["custom_fields"].take(pa.array(single)).chunks
    versions = (
        sources["all_custom_fields"].combine_chunks() if len(at) else pa.array([], pa.list_(pa.int64()))
    )
    if len(carrying := versions.flatten()):
        numbers = np.concatenate([single, at[pc.list_parent_indices(versions).to_numpy()]])
        texts += persons.take(carrying.to_numpy(), ["custom_fields"])["custom_fields"].chunks
    every = pa.chunked_array(texts, pa.string())
    engine.put("texts", pa.table({"row": numbers, "rank": np.arange(len(numbers)), "fields": every}))
    found = engine.ask(
        """SELECT row, '{' || string_agg(to_json(name) || ':' || value, ',' ORDER BY name) || '}' AS merged FROM (
        SELECT row, key AS name, arg_max(coalesce(value::VARCHAR, 'null'), rank) AS value
        FROM texts, json_each(texts.fields) GROUP BY row, key) GROUP BY row"""
    )
    merged = np.full(len(rows), None, object)
    merged[found["row"].to_numpy()] = found["merged"].to_numpy()
    return with_column(rows, rows.schema.field("custom_fields"), pa.array(merged, pa.string()))
