"""People: one row for each, of all that is known, and what acts take from them.

The versions of a person are people pages, the persons of signatures and attendances, and those embedded in events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.database import Engine
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving.versions import ORDER, Merger, Rules, Versions, of_part, replaced
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
_SOURCES: Final = 16  # what is below it in a number says from which table a version of a person is

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
        own = self.columns(wanted)
        columns = {name: rows[at] for name, at in own.items()}
        columns |= {name: main[name] for name in READ_FROM if name in wanted and name in main.column_names}
        if self.is_act:  # of one that is only linked, the id alone is known
            is_held = pa.array(held != 0)
            columns = {
                name: column if name == "person_id" else pc.if_else(is_held, column, None)
                for name, column in columns.items()
            }
        nothing = {name: pa.nulls(len(rows), PEOPLE.column(name).field.type) for name in wanted}
        columns = nothing | columns
        acted = [rows["created_date"]] if self.is_act else []
        columns |= _seen([columns["created_date"], columns["modified_date"], *acted], wanted)
        nth = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)  # of the persons of one element
        marks = {ELEMENT: numbers * _SOURCES + self.number + nth, CARRIED: (carried >> bits) & (_HELD - 1) | held}
        found = pa.table({name: columns[name] for name in wanted} | marks)
        return found if self.table == PEOPLE else found.filter(found["person_id"].is_valid())


def _seen(dates: Iterable[pa.ChunkedArray], wanted: Iterable[str]) -> dict[str, pa.ChunkedArray]:
    """Return the first and the last of some dates, as far as they are wanted."""
    numbers = [pc.cast(date, pa.int64()) for date in dates]  # Arrow does not compare times of a zone so
    extremes = zip(_SEEN, (pc.min_element_wise, pc.max_element_wise), strict=True)
    utc = pa.timestamp("us", "UTC")
    return {name: pc.cast(extreme(*numbers), utc) for name, extreme in extremes if name in wanted}


SOURCES: Final = tuple(
    PersonSource(table, number) for number, table in enumerate((PEOPLE, *ACTS, TABLES["event_people"]))
)


def people_rules(columns: Collection[str]) -> Rules:
    """Return how the versions of people become one, given the columns that are asked for."""
    return Rules(
        identities=PEOPLE.element.identities,
        blocks=BLOCKS,
        extremes=tuple(name for name in (*_SEEN, "received_at", "fetched_at") if name in columns),
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


@dataclass(frozen=True, slots=True)
class Filling:
    """What acts of a type take from people."""

    persons: Versions
    columns: Collection[str]
    """The columns of people that were collected."""
    donors: Mapping[str, tuple[np.ndarray, np.ndarray]]
    """By block, the acts that lack it, and the version of their person that it comes from."""

    @classmethod
    def of(cls, persons: Versions, columns: Collection[str], acts: pa.Table, bits: int, engine: Engine) -> Filling:
        """Find who carries what acts do not.

        `acts` is that of a merger; `bits` precede those of the person in what acts carry.
        """
        newest = ", ".join(
            f"arg_max(number, ({ORDER})) FILTER (carried & {persons.rules.bit(block)} <> 0) AS {block}"
            for block in FILLED
        )
        acts, found = acts.rename_columns({"person_high": "high", "person_low": "low"}), []
        for part, seen in enumerate(persons.parts()):
            engine.put("seen", seen)
            engine.put("acts", of_part(acts, part, persons.part_count))
            found.append(
                engine.ask(
                    f"""SELECT kept, acts.carried >> {bits} AS carried, {", ".join(FILLED)} FROM acts
                    JOIN (SELECT high, low, {newest} FROM seen GROUP BY high, low) USING (high, low)"""
                )
            )
        donors = {}
        for block in FILLED if found else ():
            every = pa.concat_tables(found).sort_by("kept")
            lacks = np.asarray(every[block].is_valid()) & (every["carried"].to_numpy() & persons.rules.bit(block) == 0)
            lacking = every.filter(pa.array(lacks))
            donors[block] = lacking["kept"].to_numpy(), lacking[block].to_numpy()
        return cls(persons, columns, donors)

    def fill(self, rows: pa.Table) -> pa.Table:
        """Return rows of acts, with what they lack of their persons."""
        numbers, names = rows[ELEMENT].to_numpy(), np.full(len(rows), None, object)
        for block, (acts, donors) in self.donors.items():
            at = np.flatnonzero(np.isin(numbers, acts, assume_unique=True))
            collected = [name for name in filled_columns(block) if name in self.columns]
            if not len(at) or not collected:
                continue
            values = self.persons.main.take(donors[np.searchsorted(acts, numbers[at])], collected)
            has = np.logical_or.reduce([np.asarray(column.is_valid()) for column in values.columns])
            at, values = at[has], values.filter(pa.array(has))
            rows = replaced(rows, at, values.select([name for name in collected if name in rows.column_names]))
            for row in at:
                names[row] = [*(names[row] or ()), block]
        if FILLED_COLUMN in rows.column_names:
            place = rows.schema.get_field_index(FILLED_COLUMN)
            rows = rows.set_column(place, rows.schema.field(place), pa.array(names, pa.list_(pa.string())))
        return rows


def merged_fields(rows: pa.Table, merger: Merger, persons: Versions, engine: Engine) -> pa.Table:
    """Return rows of people with custom fields of all versions, each by its name from the newest that has it."""
    at, several = merger.collected(rows)
    owners = np.repeat(at, pc.fill_null(pc.list_value_length(several), 0).to_numpy())
    single = np.setdiff1d(np.arange(len(rows)), at)
    older = persons.main.take(several.flatten().to_numpy(), ["custom_fields"]) if len(owners) else rows.select(["custom_fields"]).slice(0, 0)
    texts = pa.concat_tables([older, rows.select(["custom_fields"]).take(pa.array(single))])
    engine.put("texts", texts.append_column("row", pa.array(np.concatenate([owners, single]))).append_column("rank", pa.array(np.arange(len(texts)))))
    found = engine.ask(
        """SELECT row, '{' || string_agg(to_json(name) || ':' || value, ',' ORDER BY name) || '}' AS merged FROM (
        SELECT row, key AS name, arg_max(coalesce(value::VARCHAR, 'null'), rank) AS value
        FROM texts, json_each(texts.custom_fields) GROUP BY row, key) GROUP BY row"""
    )
    merged = np.full(len(rows), None, object)
    merged[found["row"].to_numpy()] = found["merged"].to_numpy(zero_copy_only=False)
    place = rows.schema.get_field_index("custom_fields")
    return rows.set_column(place, rows.schema.field(place), pa.array(merged, pa.string()))
