"""People: one row for each, of all that is known, and what acts take from them.

The versions of a person are people pages, the persons of acts, and those embedded in events. Which person a version is
of says its own id, the act that it came with, or its e-mail address.

The person of an act is a version of the person whom the act has once its versions are compared: people are merged, and
a delivery may name the one who is no more. A person without an id is the one id that has the same address; where none
or several have it, the address is the identity. An address never joins two ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import among, are_parts, combined, folded, replaced, with_column
from osdi_frames.engine import Engine, Pipeline
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving.merging import PERSON_ID, Merger
from osdi_frames.resolving.spilled import SpilledTables
from osdi_frames.resolving.versions import ADDRESS, BY_ADDRESS, Rules, full
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


def with_whole_blocks(names: Iterable[str]) -> dict[str, None]:
    """Return columns of people, or of acts, and the others of their blocks, which decide whether one is a part."""
    asked = {*names}
    blocks = (columns for columns in map(columns_of, FILLED) if asked & {*columns})
    return dict.fromkeys(names) | dict.fromkeys(chain.from_iterable(blocks))


#: The person of an act is the one whom the act has once its versions are compared: another, or nobody.
_WITH_ACTS: Final = f"""SELECT persons.* REPLACE (
        CASE WHEN moved.{ELEMENT} IS NULL THEN high ELSE nullif(moved.person_high, 0) END AS high,
        CASE WHEN moved.{ELEMENT} IS NULL THEN low ELSE nullif(moved.person_low, 0) END AS low),
    moved.{ELEMENT} IS NULL AS is_own FROM persons LEFT JOIN moved USING ({ELEMENT})"""
#: The addresses of persons without an id.
_LOOSE: Final = f"SELECT DISTINCT low AS {ADDRESS} FROM with_acts WHERE high = {BY_ADDRESS}"
#: Of these, the ones that a single id has, of which there is a version of its own.
_OWNERS: Final = f"""SELECT * FROM (
        SELECT {ADDRESS}, any_value(high) AS high, any_value(low) AS low
        FROM (SELECT DISTINCT {ADDRESS}, high, low FROM with_acts SEMI JOIN loose USING ({ADDRESS})
            WHERE high <> {BY_ADDRESS})
        GROUP BY {ADDRESS} HAVING count(*) = 1)
    SEMI JOIN (SELECT high, low FROM with_acts WHERE is_own) USING (high, low)"""
#: What is of a person known by the address alone is of the one id that has it; a person of an act can be nobody.
_IDENTIFIED: Final = f"""SELECT with_acts.* REPLACE (coalesce(owners.high, with_acts.high) AS high,
        coalesce(owners.low, with_acts.low) AS low, is_own AND owners.low IS NULL AS is_own)
    FROM with_acts LEFT JOIN owners ON with_acts.high = {BY_ADDRESS} AND with_acts.low = owners.{ADDRESS}
    WHERE with_acts.high IS NOT NULL OR {ELEMENT} % {PERSONS} = 0"""

_NO_PERSONS: Final = pa.table({name: pa.array([], pa.uint64()) for name in ("low", ADDRESS)})


def identify(persons: pa.Table, moved: Mapping[int, pa.Table], pipeline: Pipeline) -> int:
    """Let `notes` stand for notes of versions of people with the identity of the person that each is a version of.

    `is_own` says where the version itself has this identity; `owners` stands for the addresses that a single id has.
    Returns how many people are known by their address alone.

    Parameters
    ----------
    persons
        These notes, with the identities that the versions have themselves.
    moved
        `Merger.moved` of acts, by the number of their source.
    pipeline
        Where the names are given.
    """
    of_people = [
        with_column(some, some.schema.field(ELEMENT), pc.add(pc.multiply(some[ELEMENT], PERSONS), number))
        for number, some in moved.items()
    ]
    pipeline.put("persons", persons)
    pipeline.put("moved", pa.concat_tables(of_people))
    pipeline.name("with_acts", _WITH_ACTS)
    loose = pipeline.keep("loose", _LOOSE)
    owners = pipeline.keep("owners", _OWNERS)
    pipeline.name("notes", _IDENTIFIED)
    return len(loose) - len(owners)


#: Acts with their persons, and other persons.
_EVERYONE: Final = (
    f"SELECT person_low AS low, {ADDRESS} FROM acts UNION ALL SELECT low, {ADDRESS} FROM others"
)
#: The addresses of acts without a link to a person.
_UNLINKED: Final = f"SELECT DISTINCT {ADDRESS} FROM acts WHERE person_low IS NULL AND {ADDRESS} IS NOT NULL"
#: Whoever is another by another version of an act, or can be by an address; and whoever has several versions.
_SHARED: Final = f"""SELECT person_low AS low FROM moved
    UNION ALL SELECT low FROM everyone SEMI JOIN unlinked USING ({ADDRESS})"""
_AGAIN: Final = "SELECT low FROM everyone GROUP BY low HAVING count(*) > 1"
_CHANGEABLE: Final = f"""SELECT {ELEMENT} FROM acts
    WHERE person_low IN (SELECT low FROM shared WHERE low IS NOT NULL)
        OR (person_low IS NULL AND {ADDRESS} IN (FROM unlinked))
        OR {ELEMENT} IN (SELECT {ELEMENT} FROM moved)
    ORDER BY {ELEMENT}"""


def changeable(
    acts: Iterable[pa.Table], persons: Iterable[pa.Table], moved: pa.Table, pipeline: Pipeline, *, again: bool
) -> np.ndarray:
    """Return the numbers of the acts whose persons another version can change, or be changed by, sorted.

    It takes the notes of acts and of other persons; with `again`, persons of several versions are among them.
    """
    own = pa.concat_tables([some.select([ELEMENT, "person_low", ADDRESS]) for some in acts])
    others = pa.concat_tables([_NO_PERSONS, *(some.select(["low", ADDRESS]) for some in persons)])
    lows = pa.chunked_array([*own["person_low"].chunks, *others["low"].chunks]).drop_null()
    is_unlinked = pc.and_(own["person_low"].is_null(), own[ADDRESS].is_valid())
    are_alone = not pc.any(is_unlinked).as_py() and pc.count_distinct(lows).as_py() == len(lows)
    if are_alone and not len(moved):
        return np.empty(0, np.int64)
    pipeline.put("acts", own)
    pipeline.put("others", others)
    pipeline.put("moved", moved)
    pipeline.name("everyone", _EVERYONE)
    pipeline.name("unlinked", _UNLINKED)
    pipeline.name("shared", f"{_SHARED} UNION ALL {_AGAIN}" if again else _SHARED)
    numbers: np.ndarray = pipeline.ask(_CHANGEABLE)[ELEMENT].to_numpy()
    return numbers


#: Of each person the version that is kept, what all versions carry, and how many columns the fullest has of each block.
_SINGLE: Final = (
    "SELECT high, low, kept, {columns} FROM versions JOIN things USING (high, low) WHERE count = 1"
)
_MERGED: Final = "SELECT high, low, kept, {columns} FROM sources JOIN things USING (kept)"
#: Acts with the identity of their person, whom an address can say.
_ACTS: Final = f"""SELECT actors.* REPLACE (coalesce(owners.high, person_high) AS person_high,
        coalesce(owners.low, person_low) AS person_low), owners.low IS NOT NULL AS {PERSON_ID}
    FROM actors LEFT JOIN owners ON person_high = {BY_ADDRESS} AND person_low = owners.{ADDRESS}"""


def taken(acts: pa.Table, persons: Merger, pipeline: Pipeline) -> pa.Table:
    """Return which acts take something from which persons.

    The columns are the numbers of the act's and the person's kept versions, `kept` and `person`; whether the act takes
    the person's id; and for each block whether the act has a part of it, null where it takes nothing of the block.
    `acts` are `Merger.persons` of the acts, as the relation `actors`. `pipeline` has just compared the persons.
    """
    blocks = [block for block in persons.rules.parts if full(block) in acts.column_names]
    columns = ", ".join(["carried", *map(full, persons.rules.parts)])
    queries = [_SINGLE, _MERGED] if len(persons.sources) else [_SINGLE]
    pipeline.name("acts", _ACTS)
    pipeline.name("known", " UNION ALL ".join(query.format(columns=columns) for query in queries))
    hows = {PERSON_ID: PERSON_ID}
    for block in blocks:
        own = f"acts.{full(block)}"
        gives = f"known.{persons.rules.carries(block)} AND ({own} < 0 OR {own} < known.{full(block)})"
        hows[block] = f"CASE WHEN {gives} THEN {own} >= 0 END"
    return pipeline.ask(
        f"""SELECT acts.kept, known.kept AS person, {", ".join(f"{how} AS {name}" for name, how in hows.items())}
        FROM acts JOIN known ON person_high = high AND person_low = low
        WHERE {" OR ".join(f"({how}) IS NOT NULL" if name != PERSON_ID else name for name, how in hows.items())}"""
    )


def fill(
    rows: pa.Table, taken: pa.Table, merger: Merger, persons: SpilledTables, collected: Collection[str]
) -> pa.Table:
    """Return rows of acts with what they take from persons; a person known by an address has an id made of it.

    `taken` is what the function of this name returns; `persons` has the `collected` columns of all versions of people,
    and `merger` says from which of these each block of a person comes.
    """
    ids, _ = with_ids(rows["person_id"], rows["email"])
    rows = with_column(rows, rows.schema.field("person_id"), ids)
    numbers, names = rows[ELEMENT].to_numpy(), np.full(len(rows), None, object)
    acts = taken["kept"].to_numpy()
    every = np.flatnonzero(among(numbers, acts))
    some = taken.take(pa.array(np.searchsorted(acts, numbers[every])))

    def lent(is_lent: np.ndarray, block: str, columns: Sequence[str]) -> tuple[np.ndarray, pa.Table]:
        versions = merger.versions_of(block, some["person"].to_numpy()[is_lent])
        return every[is_lent], persons.take(versions, columns)

    if len(every) and (is_joined := np.asarray(some[PERSON_ID])).any():
        rows = replaced(rows, *lent(is_joined, PERSON_ID, ["person_id"]))
    for block in FILLED if len(every) else ():
        columns = [name for name in filled_columns(block) if name in collected]
        if block not in some.column_names or not columns or some[block].null_count == len(some):
            continue
        at, values = lent(np.asarray(some[block].is_valid()), block, columns)
        has_own = np.asarray(some[block].drop_null())
        has = np.logical_or.reduce([np.asarray(column.is_valid()) for column in values.columns])
        if has_own.any():
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
