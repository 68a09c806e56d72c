"""People: one row for each, of all that is known, and what acts take from them.

The versions of a person are people pages, the persons of acts, and those embedded in events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import among, combined, folded, replaced, with_column
from osdi_frames.engine import Engine
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving.spilled import SpilledTables
from osdi_frames.resolving.versions import (
    ORDER,
    PERSON_ID,
    Merger,
    Rules,
    are_parts,
    full,
    fuller_versions,
    fullest,
)
from osdi_frames.tables import TABLES, main_table
from osdi_frames.tables.act import DATES
from osdi_frames.tables.people import PEOPLE, id_of_address
from osdi_frames.tables.schema import Table

#: The blocks of a person, in the order of their bits; three more bits say what a version is.
BLOCKS: Final = tuple(dict.fromkeys(column.block for column in PEOPLE.columns if column.block != "act"))
#: A version that holds a person, not a mere link; and one that is a resource of its own.
_HELD, _OWN = 1 << len(BLOCKS), 2 << len(BLOCKS)
#: A version of a person without an id.
_ADDRESSED = 4 << len(BLOCKS)
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
            own = {column.name for column in self.table.columns if column.block in (*BLOCKS, DATES, "links")}
            renamed = _OF_ACT
        else:
            own = {column.name for column in self.table.entry}
        return {name: renamed.get(name, name) for name in wanted if renamed.get(name, name) in own}

    def versions(
        self, rows: pa.Table, main: pa.Table, wanted: Iterable[str], bits: Sequence[str]
    ) -> pa.Table:
        """Return the versions of persons in its rows, as rows of people.

        `main` has the rows of the same elements in their main table; `bits` are the blocks of those of this table.
        """
        numbers, carried = rows[ELEMENT].to_numpy(), rows[CARRIED].to_numpy()
        held = np.full(len(rows), _HELD | _OWN)
        if self.is_act:
            of_person = sum(1 << bits.index(block) for block in (*BLOCKS, DATES))
            held = ((carried & of_person) != 0) * _HELD
        carried = carried >> bits.index(BLOCKS[0]) & (_HELD - 1)
        if self.table != main_table(self.table.element):
            main = main.take(pa.array(np.searchsorted(main[ELEMENT].to_numpy(), numbers)))
        columns = self._columns_of_people(rows, main, wanted, held != 0)
        acted = [rows["created_date"]] if self.is_act else []
        columns |= _seen([columns["created_date"], columns["modified_date"], *acted], wanted)
        nth = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)  # of the persons of one element
        columns[ELEMENT] = pa.array(numbers * PERSONS + self.number + nth)
        ids, addressed = with_ids(columns["person_id"], columns["email"])
        columns["person_id"] = ids
        columns[CARRIED] = pa.array(carried | held | addressed * _ADDRESSED)
        found = pa.table(columns)
        # A person without id and address can be that of the act.
        is_known = np.asarray(ids.is_valid()) | (self.is_act & (held != 0))
        return found if self.table == PEOPLE else found.filter(pa.array(is_known))

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


def with_ids(ids: pa.ChunkedArray, emails: pa.ChunkedArray) -> tuple[pa.ChunkedArray, np.ndarray]:
    """Return ids of persons, for those without one made of the e-mail address; and for which that is so.

    >>> ids, addressed = with_ids(pa.chunked_array([["7", None]]), pa.chunked_array([["Ann@example.org "] * 2]))
    >>> ids.to_pylist(), addressed.tolist()
    (['7', 'email:6246b4bc35a09563c2b8f60249d82d03'], [False, True])
    """
    addressed = np.asarray(ids.is_null())
    if not addressed.any():
        return ids, addressed
    addresses = folded(combined(emails.filter(pa.array(addressed))))
    made = pc.dictionary_encode(addresses)
    names = pa.array([id_of_address(address) for address in made.dictionary.to_pylist()], pa.string())
    found = pc.replace_with_mask(combined(ids), addressed, names.take(made.indices))
    return pa.chunked_array([found]), addressed & np.asarray(found.is_valid())


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
        bits=BLOCKS,
        parts={block: names for block in FILLED if {*(names := columns_of(block))} <= {*columns}},
        addressed=_ADDRESSED,
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


@dataclass(frozen=True, slots=True)
class Donor:
    """Where acts get something of their persons."""

    acts: np.ndarray
    """The acts that lack it, or may have a part of it, sorted."""
    versions: np.ndarray
    """For each the version of the person."""
    has_own: np.ndarray | None = None
    """For each whether it carries the block itself, of which it lacks nothing where it is no part."""
    fuller: pa.Table | None = None
    """See `fuller_versions`."""

    @property
    def lent(self) -> np.ndarray:
        """The numbers of all versions that are needed."""
        return self.versions if self.fuller is None else np.append(self.versions, self.fuller["candidate"])

    def settled(self, columns: Sequence[str], rows: SpilledTables) -> Donor:
        """Return the same with the fullest versions of what is a part of older ones."""
        if self.fuller is None or not len(self.fuller):
            return self
        acts, versions = fullest(self.fuller, columns, rows)
        chosen = self.versions.copy()
        chosen[np.searchsorted(self.acts, acts)] = versions
        return Donor(self.acts, chosen, self.has_own)


#: By block.
Donors: TypeAlias = Mapping[str, Donor]


def with_whole_blocks(names: Iterable[str]) -> dict[str, None]:
    """Return columns of people, or of acts, and the others of their blocks, which decide whether one is a part."""
    asked = {*names}
    blocks = (columns for columns in map(columns_of, FILLED) if asked & {*columns})
    return dict.fromkeys(names) | dict.fromkeys(chain.from_iterable(blocks))


def lacking(
    acts: Merger, persons: Iterable[tuple[pa.Table, pa.Table]], rules: Rules, engine: Engine
) -> Donors:
    """Find who carries what acts do not, or may have a part of.

    `persons` are parts of the acts' persons, and of what was seen of people, whose `rules` are given.
    """
    found: dict[str, list[pa.Table]] = {}
    fuller: dict[str, list[pa.Table]] = {}
    for some, seen in persons:
        engine.put("acts", some)
        engine.put("seen", seen)
        for block in rules.parts:  # some blocks few acts lack, others few people have
            own = f"CASE WHEN {acts.rules.carries(block)} THEN coalesce(acts.{full(block)}, 0) ELSE -1 END"
            if block not in acts.rules.parts:
                own = f"CASE WHEN {acts.rules.carries(block)} THEN {len(rules.parts[block])} ELSE -1 END"
            query = f"""WITH lacking AS MATERIALIZED (
                SELECT kept, person_high AS high, person_low AS low, {own} AS own FROM acts
                WHERE own < {len(rules.parts[block])})
                SELECT kept, high, low, own >= 0 AS has_own, {block}, {full(block)} FROM lacking JOIN (
                SELECT high, low, arg_max({ELEMENT}, ({ORDER})) AS {block}, max({full(block)}) AS {full(block)}
                FROM seen SEMI JOIN lacking USING (high, low)
                WHERE {rules.carries(block)} GROUP BY high, low) USING (high, low)
                WHERE own < {full(block)} OR own < 0"""
            sources = engine.ask(query)
            engine.put("several", sources.select(["kept", "high", "low"]))
            fuller.setdefault(block, []).append(fuller_versions(sources, seen, block, rules, engine))
            found.setdefault(block, []).append(sources.select(["kept", block, "has_own"]))
    every = {block: pa.concat_tables(tables).sort_by("kept") for block, tables in found.items()}
    return {
        block: Donor(
            some["kept"].to_numpy(),
            some[block].to_numpy(),
            np.asarray(some["has_own"]),
            pa.concat_tables(fuller[block]),
        )
        for block, some in every.items()
    }


def of_persons(acts: pa.Table, part: int, parts: int) -> pa.Table:
    """Return the acts whose persons belong to one of some parts."""
    low = acts["person_low"].to_numpy()
    return acts.filter(pa.array(low % np.uint64(parts) == part)) if parts > 1 else acts


def fill(rows: pa.Table, donors: Donors, persons: SpilledTables, collected: Collection[str]) -> pa.Table:
    """Return rows of acts, with what they lack of their persons.

    `persons` has the collected columns of people.
    """
    numbers, names = rows[ELEMENT].to_numpy(), np.full(len(rows), None, object)
    for block, donor in donors.items():
        columns = [name for name in filled_columns(block) if name in collected] if block in FILLED else []
        at = np.flatnonzero(among(numbers, donor.acts)) if columns else ()
        if not len(at):
            continue
        donors_at = np.searchsorted(donor.acts, numbers[at])
        values = persons.take(donor.versions[donors_at], columns)
        has = np.logical_or.reduce([np.asarray(column.is_valid()) for column in values.columns])
        if donor.has_own is not None and (has_own := donor.has_own[donors_at]).any():
            own = [name for name in columns if name in rows.column_names]
            has &= ~has_own | are_parts(rows.select(own).take(pa.array(at)), values)
        at, values = at[has], values.filter(pa.array(has))
        rows = replaced(rows, at, values.select([name for name in columns if name in rows.column_names]))
        for row in at:
            names[row] = [*(names[row] or ()), block]
    if FILLED_COLUMN not in rows.column_names:
        return rows
    field = rows.schema.field(FILLED_COLUMN)
    return with_column(rows, field, pa.array(names, field.type))


def identified(rows: pa.Table, donors: Donors, persons: SpilledTables) -> pa.Table:
    """Return rows of acts, those without a link to a person with the id by the e-mail address."""
    ids, _ = with_ids(rows["person_id"], rows["email"])
    rows = with_column(rows, rows.schema.field("person_id"), ids)
    numbers, donor = rows[ELEMENT].to_numpy(), donors.get(PERSON_ID)
    if donor is None or not len(at := np.flatnonzero(among(numbers, donor.acts))):
        return rows
    versions = donor.versions[np.searchsorted(donor.acts, numbers[at])]
    return replaced(rows, at, persons.take(versions, ["person_id"]))


def merged_fields(rows: pa.Table, merger: Merger, persons: SpilledTables, engine: Engine) -> pa.Table:
    """Return rows of people with custom fields of all versions, each by its name from the newest that has it.

    A field without a value in the person of an act takes none away.
    """
    at, sources = merger.of_several(rows)
    single = np.setdiff1d(np.arange(len(rows)), at)
    numbers, texts = single, rows["custom_fields"].take(pa.array(single)).chunks
    is_page = np.ones(len(single), bool)
    versions = (
        sources["all_custom_fields"].combine_chunks() if len(at) else pa.array([], pa.list_(pa.int64()))
    )
    if len(carrying := versions.flatten()):
        numbers = np.concatenate([single, at[pc.list_parent_indices(versions).to_numpy()]])
        is_page = np.append(is_page, carrying.to_numpy() % PERSONS == 0)
        texts += persons.take(carrying.to_numpy(), ["custom_fields"])["custom_fields"].chunks
    every = pa.chunked_array(texts, pa.string())
    columns = {"row": numbers, "rank": np.arange(len(numbers)), "is_page": is_page, "fields": every}
    engine.put("texts", pa.table(columns))
    found = engine.ask(
        """SELECT row, '{' || string_agg(to_json(name) || ':' || value, ',' ORDER BY name) || '}' AS merged FROM (
        SELECT row, key AS name, arg_max(coalesce(value::VARCHAR, 'null'),
            (is_page OR trim(coalesce(value ->> '$', ''), E' \\t\\n\\r') <> '', rank)) AS value
        FROM texts, json_each(texts.fields) GROUP BY row, key) GROUP BY row"""
    )
    merged = np.full(len(rows), None, object)
    merged[found["row"].to_numpy()] = found["merged"].to_numpy()
    return with_column(rows, rows.schema.field("custom_fields"), pa.array(merged, pa.string()))
