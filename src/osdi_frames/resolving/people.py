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

from osdi_frames.arrow import among, are_parts, combined, concatenated, folded, replaced, with_column
from osdi_frames.engine import Engine, Pipeline
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving import gone
from osdi_frames.resolving.merging import NONE_MOVED, PERSON_ID, Merger
from osdi_frames.resolving.versions import (
    ADDRESS,
    BY_ADDRESS,
    DATES_OF_PERSONS,
    ENVELOPE,
    FLAGS,
    SEEN,
    NumberedRows,
    Rules,
    SpilledTables,
    Versions,
    full,
    in_order,
)
from osdi_frames.tables import TABLES, main_table
from osdi_frames.tables.act import DATES, PERSON_LINK
from osdi_frames.tables.people import PEOPLE, id_of_address
from osdi_frames.tables.schema import Table

#: The blocks of a person, in the order of their bits in versions of people, and of acts.
BLOCKS: Final = tuple(dict.fromkeys(column.block for column in PEOPLE.columns if column.block != "act"))
#: Further bits of versions of people: the person is held, not merely linked; it is a resource of its own.
HELD, OWN = 1 << len(BLOCKS), 2 << len(BLOCKS)
#: One more: the person has no id, but an address.
ADDRESSED = 4 << len(BLOCKS)
#: The bits of versions of acts of which one is set where a person is held: of the blocks, and then of its dates.
OF_PERSON = (2 << len(BLOCKS)) - 1
#: Columns of people that have another name in acts.
_OF_ACT: Final = {
    "created_date": "person_created_date",
    "modified_date": "person_modified_date",
    "self_url": "person_url",
}
#: The columns that say when and where a version was read.
READ_FROM: Final = frozenset({"received_at", "fetched_at", "source_file", "source_line"})
#: The first and the last date that any version says of a person.
SEEN_DATES: Final = ("first_seen", "last_seen")

#: The column of acts that lists the blocks that they take from people.
FILLED_COLUMN: Final = "person_filled"
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
            own = {
                column.name for column in self.table.columns if column.block in (*BLOCKS, DATES, PERSON_LINK)
            }
            renamed = _OF_ACT
        else:
            own = {column.name for column in self.table.entry}
        return {name: renamed.get(name, name) for name in wanted if renamed.get(name, name) in own}

    def versions(self, rows: pa.Table, main: pa.Table, wanted: Collection[str]) -> pa.Table:
        """Return the versions of persons in its rows, as rows of people.

        `main` has the rows of the same elements in their main table. Columns that `with_origins` adds are wanted, too.
        """
        numbers, carried = rows[ELEMENT].to_numpy(), rows[CARRIED].to_numpy()
        held = (carried & OF_PERSON != 0) * HELD if self.is_act else np.full(len(rows), HELD | OWN)
        if self.table != main_table(self.table.element):
            main = main.take(pa.array(np.searchsorted(main[ELEMENT].to_numpy(), numbers)))
        columns = self._columns_of_people(rows, main, wanted, held != 0)
        if {*SEEN_DATES} & {*wanted}:
            acted = [rows["created_date"]] if self.is_act else []
            columns |= _seen([columns["created_date"], columns["modified_date"], *acted], wanted)
        nth = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)  # of the persons of one element
        columns[ELEMENT] = pa.array(numbers * PERSONS + self.number + nth)
        carried = carried & HELD - 1 | held
        if "person_id" in columns:
            columns["person_id"], addressed = with_ids(columns["person_id"], columns["email"])
            carried |= addressed * ADDRESSED
        found = pa.table(columns | {CARRIED: pa.array(carried)})
        is_embedded = self.table != PEOPLE and not self.is_act
        return found.filter(found["person_id"].is_valid()) if is_embedded else found

    def _columns_of_people(
        self, rows: pa.Table, main: pa.Table, wanted: Collection[str], is_held: np.ndarray
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


def _seen(dates: Iterable[pa.ChunkedArray], wanted: Collection[str]) -> dict[str, pa.ChunkedArray]:
    """Return the first and the last of some dates, as far as they are wanted."""
    numbers = [pc.cast(date, pa.int64()) for date in dates]  # Arrow does not compare times of a zone so
    extremes = zip(SEEN_DATES, (pc.min_element_wise, pc.max_element_wise), strict=True)
    utc = pa.timestamp("us", "UTC")
    return {name: pc.cast(extreme(*numbers), utc) for name, extreme in extremes if name in wanted}


SOURCES: Final = tuple(
    PersonSource(table, number) for number, table in enumerate((PEOPLE, *ACTS, TABLES["event_people"]))
)

#: By how much the number of an element is multiplied: the rest says from which table a version of a person is. The last
#: of these has two persons of one element.
PERSONS: Final = len(SOURCES) + 1


def with_origins(names: Iterable[str]) -> dict[str, None]:
    """Return columns of people, and those that `PersonSource.versions` makes them of.

    >>> [*with_origins(["person_id", "first_seen"])]
    ['person_id', 'first_seen', 'email', 'created_date', 'modified_date']
    """
    columns = dict.fromkeys(names)
    others = {"person_id": ("email",), **dict.fromkeys(SEEN_DATES, ("created_date", "modified_date"))}
    return columns | dict.fromkeys(chain.from_iterable(others.get(name, ()) for name in columns))


@dataclass(frozen=True)
class PersonRows:
    """The rows of versions of people. One that an act holds is made of the row of the act when it is asked for."""

    columns: tuple[str, ...]
    """All columns."""
    own: SpilledTables
    """The rows of people that are no acts' persons."""
    acts: Mapping[PersonSource, SpilledTables]
    """The rows of acts."""
    accounts: gone.Accounts
    """Which pulls can prove people gone, if that is asked."""

    def take(self, numbers: np.ndarray, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of some versions, each once and in the order asked: some columns, or all."""
        columns = columns or self.columns
        found, order, rest = list[pa.Table](), list[np.ndarray](), np.ones(len(numbers), bool)
        for source, acts in self.acts.items():
            if (is_of := numbers % PERSONS == source.number).any():
                rest &= ~is_of
                order.append(np.flatnonzero(is_of))
                found.append(self._of_acts(source, acts, numbers[is_of] // PERSONS, columns))
        if rest.any():
            order.append(np.flatnonzero(rest))
            found.append(self.own.take(numbers[rest], columns))
        return in_order(pa.concat_tables(found), np.argsort(np.concatenate(order)))

    def _of_acts(
        self, source: PersonSource, acts: SpilledTables, numbers: np.ndarray, columns: Sequence[str]
    ) -> pa.Table:
        """Return rows of the persons of some acts."""
        evidence = self.accounts.evidence
        is_proved = not {*evidence}.isdisjoint(columns)
        wanted = with_origins((*columns, *(gone.COLUMNS if is_proved else ())))
        wanted = {name: None for name in wanted if name not in (ELEMENT, *evidence)}
        parsed = dict.fromkeys((*source.columns(wanted).values(), *(READ_FROM & {*wanted}), "created_date"))
        rows = acts.take(numbers, [ELEMENT, CARRIED, *parsed])
        rows = source.versions(rows, rows, wanted)
        if is_proved:
            rows = gone.with_evidence(rows, self.accounts, are_listed=False)
        return rows.select(columns)


#: The blocks that acts take from people.
FILLED: Final = ("name", "email", "phone", "location")


def people_rules(columns: Collection[str]) -> Rules:
    """Return how the versions of people become one, given the columns that are asked for."""
    return Rules(
        identities=PEOPLE.element.identities,
        blocks=BLOCKS,
        bits=BLOCKS,
        counted={block: names for block in FILLED if {*(names := columns_of(block))} <= {*columns}},
        addressed=ADDRESSED,
        extremes=tuple(
            name for name in (*SEEN_DATES, "created_date", "received_at", "fetched_at") if name in columns
        ),
        collected="custom_fields" if "custom_fields" in columns else None,
        rank=f"carried & {OWN} <> 0, carried & {HELD} <> 0",
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

_OF_OWNERS: Final = "SELECT * FROM identified SEMI JOIN owners USING (high, low)"
#: The persons of acts are versions of people; of one that is only linked, the id alone is known.
_OF_ACTS: Final = f"""SELECT {ELEMENT}, person_modified_date AS modified_date, if(is_held, seen_at, NULL) AS seen_at,
        carried & {HELD - 1} | if(is_held, {HELD}, 0) AS carried,
        coalesce(person_high, if({ADDRESS} IS NULL, NULL, {BY_ADDRESS}))::UBIGINT AS high,
        coalesce(person_low, {ADDRESS}) AS low, {ADDRESS}, {{others}}
    FROM (SELECT *, carried & {OF_PERSON} <> 0 AS is_held FROM notes_of_acts)
    WHERE is_held OR coalesce(person_low, {ADDRESS}) IS NOT NULL"""
_DATES: Final = ", ".join(DATES_OF_PERSONS)
_DATES_OF_PERSON: Final = ", ".join(DATES_OF_PERSONS[1:])
_STAMPS_OF_PERSON: Final = {name: f"if(is_held, {name}, NULL)" for name in ENVELOPE}
_EXTREMES_OF_ACTS: Final = {
    **_STAMPS_OF_PERSON,
    "created_date": "person_created_date",
    "first_seen": f"least({_DATES})",
    "last_seen": f"greatest({_DATES})",
    SEEN: f"greatest({_DATES_OF_PERSON}, {', '.join(_STAMPS_OF_PERSON.values())})",
}
_NO_OWNERS: Final = pa.table({name: pa.array([], pa.uint64()) for name in (ADDRESS, "high", "low")})


def identify(
    persons: Versions,
    acts: Mapping[PersonSource, tuple[Versions, Merger]],
    pipeline: Pipeline,
    *,
    every: bool,
) -> int:
    """Let `notes` stand for notes of versions of people with the identity of the person that each is a version of.

    `is_own` says where the version itself has this identity; `owners` stands for the addresses that a single id has.
    The persons of acts are versions of people: those whom the acts have, once they are compared. Unless
    `every` person is needed, the notes are those of owners. Returns how many people are known by their address alone.
    """
    queries, notes, moved = [], list[pa.Table](), [NONE_MOVED.empty_table()]
    for source, (versions, merger) in acts.items():
        notes += [_of_people(some, source) for some in versions.notes.mapped]
        moved.append(_of_people(merger.moved, source))
    if persons.count:
        pipeline.put("notes_of_people", pa.concat_tables(persons.notes.mapped))
        queries.append("SELECT * FROM notes_of_people")
    if notes:
        pipeline.put("notes_of_acts", concatenated(notes))
        queries.append(_of_acts(persons.rules))
    if not queries:
        return 0
    pipeline.put("moved", pa.concat_tables(moved))
    pipeline.name("persons", " UNION ALL BY NAME ".join(queries))
    pipeline.name("with_acts", _WITH_ACTS)
    loose, owners = pipeline.keep("loose", _LOOSE), _NO_OWNERS
    if len(loose):
        owners = pipeline.ask(_OWNERS)
    pipeline.put("owners", owners)
    pipeline.name("identified", _IDENTIFIED)
    pipeline.name("notes", "SELECT * FROM identified" if every else _OF_OWNERS)
    return len(loose) - len(owners)


def _of_people(rows: pa.Table, source: PersonSource) -> pa.Table:
    """Return rows about acts under the numbers of the versions of people that they hold."""
    numbers = pc.add(pc.multiply(rows[ELEMENT], PERSONS), source.number)
    return with_column(rows, rows.schema.field(ELEMENT), numbers)


def _of_acts(rules: Rules) -> str:
    """Return the query for the notes of persons in notes of acts."""
    flags = dict.fromkeys((name for name in rules.extremes if name.startswith(FLAGS)), "0")
    others = [f"{(_EXTREMES_OF_ACTS | flags)[name]} AS {name}" for name in rules.extremes]
    return _OF_ACTS.format(others=", ".join((*others, *map(full, rules.counted))))


#: Acts with the identity of their person, whom an address can say.
_ACTS: Final = f"""SELECT takers.* REPLACE (coalesce(owners.high, person_high) AS person_high,
        coalesce(owners.low, person_low) AS person_low), owners.low IS NOT NULL AS {PERSON_ID}
    FROM takers LEFT JOIN owners ON person_high = {BY_ADDRESS} AND person_low = owners.{ADDRESS}"""


NOTHING_TAKEN: Final = pa.table(
    {
        "kept": pa.array([], pa.int64()),
        "person": pa.array([], pa.int64()),
        PERSON_ID: pa.array([], pa.bool_()),
    }
)


def taken(acts: pa.Table, persons: Merger, pipeline: Pipeline) -> pa.Table:
    """Return which acts take something from which persons.

    The columns are the numbers of the act's and the person's kept versions, `kept` and `person`; whether the act takes
    the person's id; and for each block whether the act has a part of it, null where it takes nothing of the block.
    `acts` are `Merger.persons` of the acts, for which `takers` stands. `pipeline` has just compared the persons.
    """
    if not len(persons.sources):  # who is of one version has nothing that the act of it lacks
        return NOTHING_TAKEN
    pipeline.name("acts", _ACTS)
    pipeline.name("known", f"SELECT * EXCLUDE ({PERSON_ID}) FROM sources JOIN things USING (kept)")
    columns, takes = [f"acts.{PERSON_ID}"], [f"acts.{PERSON_ID}"]
    for block in persons.rules.parts:
        if full(block) in acts.column_names:
            own, most = f"acts.{full(block)}", f"known.{full(block)}"
            gives = f"(known.{persons.rules.carries(block)} AND ({own} < 0 OR {own} < {most}))"
            columns.append(f"CASE WHEN {gives} THEN {own} >= 0 END AS {block}")
            takes.append(gives)
    return pipeline.ask(
        f"""SELECT acts.kept, known.kept AS person, {", ".join(columns)}
        FROM acts JOIN known ON person_high = high AND person_low = low WHERE {" OR ".join(takes)}"""
    )


def fill(rows: pa.Table, taken: pa.Table, merger: Merger, persons: NumberedRows) -> pa.Table:
    """Return rows of acts with what they take from persons; a person known by an address has an id made of it.

    `taken` is what the function of this name returns; `persons` has the rows of all versions of people, and `merger`
    says from which of these each block of a person comes.
    """
    ids, _ = with_ids(rows["person_id"], rows["email"])
    rows = with_column(rows, rows.schema.field("person_id"), ids)
    acts, numbers = taken["kept"].to_numpy(), rows[ELEMENT].to_numpy()
    at = np.flatnonzero(among(numbers, acts))
    if not len(at):
        return rows
    taken = taken.take(pa.array(np.searchsorted(acts, numbers[at])))

    def lent(is_taken: np.ndarray, block: str, columns: Sequence[str]) -> pa.Table:
        things = taken["person"].to_numpy()[is_taken]
        return persons.take(merger.versions_of(block, things), columns)

    if (is_taken := np.asarray(taken[PERSON_ID])).any():
        rows = replaced(rows, at[is_taken], lent(is_taken, PERSON_ID, ["person_id"]))
    names = np.full(len(rows), None, object)
    for block in FILLED:
        columns = filled_columns(block)
        if block not in taken.column_names or columns[0] not in rows.column_names:
            continue
        if (is_taken := np.asarray(taken[block].is_valid())).any():
            values, has_own = lent(is_taken, block, columns), np.asarray(taken[block].drop_null())
            rows, filled = _with_block(rows, at[is_taken], values, has_own)
            for row in filled:
                names[row] = [*(names[row] or ()), block]
    if FILLED_COLUMN not in rows.column_names:
        return rows
    field = rows.schema.field(FILLED_COLUMN)
    return with_column(rows, field, pa.array(names, field.type))


def _with_block(
    rows: pa.Table, at: np.ndarray, values: pa.Table, has_own: np.ndarray
) -> tuple[pa.Table, np.ndarray]:
    """Return rows of acts with the values of a block at indices, and the indices at which there are any.

    An act that has something of the block itself keeps it, unless that is a part of the values.
    """
    has = np.logical_or.reduce([np.asarray(column.is_valid()) for column in values.columns])
    if has_own.any():
        has &= ~has_own | are_parts(rows.select(values.column_names).take(pa.array(at)), values)
    return replaced(rows, at[has], values.filter(pa.array(has))), at[has]


def merged_fields(rows: pa.Table, merger: Merger, persons: NumberedRows, engine: Engine) -> pa.Table:
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
