"""Which version of each thing is kept, and from which versions its blocks come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import among, are_parts, concatenated, replaced, with_column
from osdi_frames.engine import Engine, Pipeline
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.resolving.versions import (
    ADDRESS,
    BY_ADDRESS,
    EXTREMES,
    FLAGS,
    ORDER,
    NumberedRows,
    Rules,
    Versions,
    full,
)

#: The column of `Merger.sources` with the version that the id of a person comes from.
PERSON_ID: Final = "id"

_GROUPED = 1 << 17  # versions that are grouped at once: their groups take 160 bytes each
#: More columns than any block has.
_WHOLE: Final = 99
_TYPE_BITS: Final = 6
_TYPES: Final = 1 << _TYPE_BITS

_NOTHING: Final = pa.schema([("kept", pa.int64())])
NONE_MOVED: Final = pa.schema(
    [(ELEMENT, pa.int64()), ("person_high", pa.uint64()), ("person_low", pa.uint64())]
)
_NO_FULLER: Final = pa.schema(
    [("kept", pa.int64()), ("block", pa.string()), ("newest", pa.int64()), ("candidate", pa.int64())]
)

#: What has no identity is a thing of its own, by its number.
_VERSIONS: Final = f"""SELECT * REPLACE (coalesce(high, 0) AS high, coalesce(low, {ELEMENT}::UBIGINT) AS low)
    FROM notes"""
#: Versions of all types are compared together. The number of the type is in those of the versions and of the things.
_OF_TYPES: Final = f"""SELECT * EXCLUDE (type) REPLACE ({ELEMENT} << {_TYPE_BITS} | type AS {ELEMENT},
        xor(coalesce(high, 0), type::UBIGINT) AS high, CASE type {{carried}} END AS carried{{full}})
    FROM of_types"""
#: Of each thing the newest version is kept.
_THINGS: Final = f"""SELECT high, low, arg_max({ELEMENT}, ({{rank}}, {ORDER})) AS kept, count(*) AS count
    FROM versions GROUP BY high, low"""
#: To number the versions of a thing once takes less than to compare them for each block.
_SEVERAL: Final = f"""SELECT versions.*, kept, row_number() OVER (ORDER BY {ORDER}) AS nth
    FROM versions JOIN things USING (high, low) WHERE count > 1"""
#: The person of an act is linked, or else known by the address.
_PERSONS: Final = f"""SELECT * REPLACE (
        coalesce(person_high, if({ADDRESS} IS NULL, NULL, {BY_ADDRESS}))::UBIGINT AS person_high,
        coalesce(person_low, {ADDRESS}) AS person_low)
    FROM ({{persons}}) WHERE coalesce(person_low, {ADDRESS}) IS NOT NULL"""
#: A version can have another person than the thing, or one where the thing has none.
_MOVED: Final = f"""SELECT {ELEMENT},
        coalesce(own.person_high, if(own.{ADDRESS} IS NULL, 0, {BY_ADDRESS})) AS person_high,
        coalesce(own.person_low, own.{ADDRESS}, 0) AS person_low
    FROM sources AS own JOIN things USING (kept) JOIN versions AS said USING (high, low)
    WHERE differ
        AND coalesce(own.person_low, own.{ADDRESS}, 0) <> coalesce(said.person_low, said.{ADDRESS}, 0)"""


def compared(every: Sequence[Versions], engine: Engine) -> list[Merger]:
    """Compare the versions of some types, but of people; return what is known of each type."""
    there = {number: versions.rules for number, versions in enumerate(every) if versions.count}
    pipeline, rules = Pipeline(engine), Rules.joined([*there.values()])
    notes = [
        rows.select(every[number].rules.compared).append_column(
            "type", pa.array(np.full(len(rows), number, np.int8))
        )
        for number in there
        for rows in every[number].notes.mapped
    ]
    if notes:
        pipeline.put("of_types", concatenated(notes))
        pipeline.name("notes", _of_types(there, rules))
    count = sum(versions.count for versions in every)
    found = Merger.joined(rules, [*of_parts(rules, count, pipeline, again=len(there) > 1)])
    return [found.of_type(number, versions.rules) for number, versions in enumerate(every)]


def _of_types(every: Mapping[int, Rules], joined: Rules) -> str:
    """Return the query for versions of types, by number, by the rules of all."""

    def carried(rules: Rules) -> str:
        bits = (
            f"(carried >> {own} & 1) << {joined.bits.index(block)}" for own, block in enumerate(rules.bits)
        )
        return " | ".join(f"({bit})" for bit in bits) or "0"

    # Where a block is not asked for of a type, its acts lack nothing of it.
    wholes = (f", coalesce({full(block)}, {_WHOLE})::UTINYINT AS {full(block)}" for block in joined.parts)
    cases = (f"WHEN {number} THEN {carried(rules)}" for number, rules in every.items())
    return _OF_TYPES.format(carried=" ".join(cases), full="".join(wholes))


def with_type(rows: pa.Table, number: int, name: str) -> pa.Table:
    """Return rows with the number of a type in those of a column."""
    numbers = pa.array(rows[name].to_numpy() << _TYPE_BITS | number)
    return with_column(rows, rows.schema.field(name), numbers)


def of_type(rows: pa.Table, number: int, names: Sequence[str]) -> pa.Table:
    """Return the rows of one type, whose number is in those of some columns, without it."""
    rows = rows.filter(pa.array(rows[names[0]].to_numpy() & _TYPES - 1 == number))
    for name in names if len(rows) else ():
        rows = with_column(rows, rows.schema.field(name), pc.shift_right(rows[name], _TYPE_BITS))
    return rows


def of_parts(rules: Rules, count: int, pipeline: Pipeline, *, again: bool) -> Iterator[Merger]:
    """Compare so many versions, whose notes `notes` stands for, in parts: all versions of a thing are in one part.

    With `again` it takes less to make these once than with each query that reads them.
    """
    parts = -(-count // _GROUPED)
    for part in range(parts):
        some = f" WHERE coalesce(low, {ELEMENT}::UBIGINT) % {parts} = {part}" if parts > 1 else ""
        if parts > 1 or again:
            pipeline.keep("versions", _VERSIONS + some)
        else:
            pipeline.name("versions", _VERSIONS)
        yield Merger.of(rules, pipeline)


def _newest_full(block: str) -> str:
    return f"newest_full_{block}"


@dataclass(frozen=True)
class Merger:
    """Which version of each thing is kept, and which ones its blocks come from."""

    rules: Rules
    kept: np.ndarray
    """The numbers of the versions that are kept, sorted."""
    sources: pa.Table = field(default_factory=_NOTHING.empty_table)
    """Of things of several versions, by the number that is kept: the version of each block, and the extremes."""
    persons: pa.Table = field(default_factory=_NOTHING.empty_table)
    """Of acts that have a person: the number that is kept, the person's identity in two halves, and how many columns
    the newest version that carries it has of each block that can be a part, -1 where none carries it."""
    moved: pa.Table = field(default_factory=NONE_MOVED.empty_table)
    """The versions of things whose own person is another, or nobody, and the person of the thing, 0 for nobody."""
    fuller: pa.Table = field(default_factory=_NO_FULLER.empty_table)
    """The versions that have more columns of a block than the `newest` that carries it: each `candidate` of a thing,
    the fullest first, and of equally full ones the newest."""

    @classmethod
    def of(cls, rules: Rules, pipeline: Pipeline) -> Merger:
        """Compare the `versions` of some things."""
        things = pipeline.keep("things", _THINGS.format(rank=rules.rank))
        columns = _sources(rules)
        found = cls(rules, np.sort(things["kept"].to_numpy()))
        if columns and len(things) and pc.max(things["count"]).as_py() > 1:
            pipeline.name("several", _SEVERAL)
            sources = pipeline.keep(
                "sources", f"SELECT kept, {', '.join(columns)} FROM several GROUP BY kept"
            )
            found = replace(found, sources=sources, fuller=_fuller(rules, sources, pipeline))
        if rules.has_person:
            single, merged = _persons(rules)
            is_merged = len(found.sources) > 0
            every = f"{single} UNION ALL BY NAME {merged}" if is_merged else single
            persons = pipeline.ask(_PERSONS.format(persons=every))
            moved = pipeline.ask(_MOVED).cast(NONE_MOVED) if is_merged else NONE_MOVED.empty_table()
            found = replace(found, persons=persons, moved=moved)
        return found

    @classmethod
    def joined(cls, rules: Rules, mergers: Sequence[Merger]) -> Merger:
        """Return what several mergers say, of different things."""
        every = [cls(rules, np.empty(0, np.int64)), *mergers]
        return cls(
            rules,
            np.sort(np.concatenate([merger.kept for merger in every])),
            concatenated([merger.sources for merger in every]).sort_by("kept"),
            concatenated([merger.persons for merger in every]),
            concatenated([merger.moved for merger in every]).sort_by(ELEMENT),
            concatenated([merger.fuller for merger in every]),
        )

    def of_type(self, number: int, rules: Rules) -> Merger:
        """Return what is known of one of the types that were compared together."""
        blocks = [name for name in rules.blocks if name in self.sources.column_names]
        extremes = [name for name in rules.extremes if name in self.sources.column_names]
        return Merger(
            rules,
            self.kept[self.kept & _TYPES - 1 == number] >> _TYPE_BITS,
            of_type(self.sources.select(["kept", *blocks, *extremes]), number, ["kept", *blocks]),
            of_type(self.persons, number, ["kept"]),
            of_type(self.moved, number, [ELEMENT]),
            of_type(self.fuller, number, ["kept", "newest", "candidate"]),
        )

    def of_things(self, things: np.ndarray) -> Merger:
        """Return what is known of some things, which are sorted."""
        sources, fuller = (
            some.filter(pa.array(among(some["kept"].to_numpy(), things)))
            for some in (self.sources, self.fuller)
        )
        return replace(self, kept=things, sources=sources, fuller=fuller)

    def settled(self, rows: NumberedRows) -> Merger:
        """Return this with an older version as the source of each block of which the newest has only a part.

        `rows` are those of all versions. The newest has a part if what it has is the same in the older one.
        """
        sources = self.sources
        for block in self.rules.parts:
            fuller = self.fuller.filter(pc.equal(self.fuller["block"], block))
            if not len(fuller):
                continue
            names = self.rules.counted[block]
            newest, others = (rows.take(fuller[name].to_numpy(), names) for name in ("newest", "candidate"))
            is_part = are_parts(newest, others)
            things, first = np.unique(fuller["kept"].to_numpy()[is_part], return_index=True)
            numbers = sources[block].to_numpy().copy()
            numbers[np.searchsorted(self.several, things)] = fuller["candidate"].to_numpy()[is_part][first]
            sources = with_column(sources, sources.schema.field(block), pa.array(numbers))
        return replace(self, sources=sources, fuller=_NO_FULLER.empty_table())

    @cached_property
    def several(self) -> np.ndarray:
        """The numbers of the kept versions of things that have several, sorted."""
        numbers: np.ndarray = self.sources["kept"].to_numpy()
        return numbers

    def merge(self, rows: pa.Table, blocks: Mapping[str, str], versions: NumberedRows) -> pa.Table:
        """Return rows of kept versions, each block from the version it comes from.

        `blocks` says which block each column belongs to; `versions` has the rows of all versions that lend some.
        """
        at, sources = self.of_several(rows)
        there = [name for name in (*self.rules.blocks, PERSON_ID) if name in sources.column_names]
        for block in there if len(at) else ():
            columns = [name for name in rows.column_names if blocks.get(name) == block]
            numbers = sources[block].to_numpy()
            differ = numbers != sources["kept"].to_numpy()
            if columns and differ.any():
                rows = replaced(rows, at[differ], versions.take(numbers[differ], columns))
        extremes = [name for name in self.rules.extremes if name in rows.column_names]
        return replaced(rows, at, sources.select(extremes)) if extremes and len(at) else rows

    def of_several(self, rows: pa.Table) -> tuple[np.ndarray, pa.Table]:
        """Return which rows are of things of several versions, and the sources of these."""
        numbers = rows[ELEMENT].to_numpy()
        at = np.flatnonzero(among(numbers, self.several))
        return at, self.sources.take(pa.array(np.searchsorted(self.several, numbers[at])))

    def versions_of(self, block: str, things: np.ndarray) -> np.ndarray:
        """Return the versions that a block of things comes from."""
        versions = things.copy()
        if block in self.sources.column_names:
            at = np.flatnonzero(among(things, self.several))
            versions[at] = self.sources[block].to_numpy()[np.searchsorted(self.several, things[at])]
        return versions


def _sources(rules: Rules) -> list[str]:
    """Return what is asked of the versions of a thing: of each block the newest that carries it, and the extremes."""

    def newest(value: str, condition: str) -> str:
        return f"arg_max({value}, nth) FILTER ({condition})"

    columns = [
        f"coalesce({newest(ELEMENT, rules.carries(block))}, kept) AS {block}" for block in rules.blocks
    ]
    for block in rules.parts:
        columns.append(f"max({full(block)}) FILTER ({rules.carries(block)}) AS {full(block)}")
        columns.append(f"{newest(full(block), rules.carries(block))} AS {_newest_full(block)}")
    combined = {name: "bit_or" if name.startswith(FLAGS) else EXTREMES[name] for name in rules.extremes}
    columns += [f"{function}({name}) AS {name}" for name, function in combined.items()]
    if rules.has_person or rules.addressed:
        columns.append("bit_or(carried) AS carried")
    # The id, with its address and identifiers, is that of the best version of the person's own.
    if rules.addressed:
        own = f"arg_max({ELEMENT}, ({rules.rank}, nth)) FILTER (is_own)"
        columns.append(f"coalesce({own}, kept) AS {PERSON_ID}")
    if rules.collected:
        condition = rules.carries(rules.collected)
        every = f"list({ELEMENT} ORDER BY nth) FILTER ({condition})"
        columns.append(f"coalesce({every}, list_value(kept)) AS all_{rules.collected}")
    if rules.has_person:
        both = newest("{'high': person_high, 'low': person_low}", "person_low IS NOT NULL")
        columns += [f"({both}).{half} AS person_{half}" for half in ("high", "low")]
        own = f"coalesce(person_low, {ADDRESS}, 0)"
        columns += [
            f"{newest(ADDRESS, f'{ADDRESS} IS NOT NULL')} AS {ADDRESS}",
            f"min({own}) <> max({own}) AS differ",
        ]
    return columns


def _fuller(rules: Rules, sources: pa.Table, pipeline: Pipeline) -> pa.Table:
    """Return the versions that have more columns of a block than the newest version that carries it."""
    queries = [
        f"""SELECT kept, '{block}' AS block, sources.{block} AS newest, {ELEMENT} AS candidate,
        several.{full(block)} AS columns, nth FROM sources JOIN several USING (kept)
        WHERE {_newest_full(block)} > 0 AND several.{full(block)} > {_newest_full(block)}
        AND several.{rules.carries(block)}"""
        for block in rules.parts
        if _are_some_fuller(sources[_newest_full(block)], sources[full(block)])
    ]
    if not queries:
        return _NO_FULLER.empty_table()
    found = pipeline.ask(f"{' UNION ALL '.join(queries)} ORDER BY kept, columns DESC, nth DESC")
    return found.select(_NO_FULLER.names).cast(_NO_FULLER)


def _are_some_fuller(newest: pa.ChunkedArray, most: pa.ChunkedArray) -> bool:
    is_doubtful = pc.and_(pc.greater(newest, pa.scalar(0, newest.type)), pc.less(newest, most))
    return pc.any(is_doubtful).as_py() is True


def _persons(rules: Rules) -> tuple[str, str]:
    """Return the persons of things of one version, and of those of several."""
    queries = []
    for size, rest in (
        (full, f"FROM versions JOIN things ON {ELEMENT} = kept WHERE count = 1"),
        (_newest_full, "FROM sources"),
    ):
        sizes = (
            f"CASE WHEN {rules.carries(block)} THEN coalesce({size(block)}, 0) ELSE -1 END::TINYINT AS {full(block)}"
            for block in rules.parts
        )
        queries.append(f"SELECT {', '.join(['kept', 'person_high', 'person_low', ADDRESS, *sizes])} {rest}")
    return queries[0], queries[1]
