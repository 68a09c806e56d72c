"""Versions of things: their rows wait until all are known; then one is kept, with blocks of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import among, combined, folded, holding, replaced, with_column
from osdi_frames.engine import Engine
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving.spilled import SpilledTables
from osdi_frames.tables.schema import Identities, Table, identifying

_GROUPED = 1 << 18  # versions that are grouped at once: their groups take 160 bytes each
_LOW = f"{2**64 - 1}::UHUGEINT"

#: How new a version is: its date, when it was received or fetched, where it was read.
ORDER: Final = ", ".join(
    (*(f"coalesce({name}, '-infinity'::TIMESTAMPTZ)" for name in ("modified_date", "seen_at")), ELEMENT)
)
#: When a document was received or fetched: a thing has the latest of its versions.
ENVELOPE: Final = ("received_at", "fetched_at")
#: The latest date that a version says, and the beginning of the names of columns of flags, which a thing has of all of
#: its versions; see `gone`.
SEEN: Final = "_seen_last"
FLAGS: Final = "_flags_"
#: Columns of which a thing has the least or the greatest of all its versions.
EXTREMES: Final = {
    **dict.fromkeys((*ENVELOPE, SEEN, "last_seen"), "max"),
    **dict.fromkeys(("created_date", "first_seen"), "min"),
}
#: The e-mail address of a version, as addresses are compared; in what was seen of it, a hash of that.
ADDRESS: Final = "address"
#: The first half of the identity of a person who is known by an address alone; the second is its hash.
BY_ADDRESS: Final = 1
#: Of an act, the person's identity in two halves, and the blocks that it carries.
PERSON: Final = ("person_high", "person_low", "carried")
#: The source of the id of a person, where versions of others are the person's, too.
PERSON_ID: Final = "id"

#: The case of a version that is a thing of its own.
_NEVER: Final = "WHEN false THEN ''"

_NOTHING: Final = pa.table({"kept": pa.array([], pa.int64())})
_NO_CANDIDATES: Final = pa.table(dict.fromkeys(("kept", "newest", "candidate"), pa.array([], pa.int64())))
_NO_PERSONS: Final = pa.table(
    {name: pa.array([], pa.int64() if name == ELEMENT else pa.uint64()) for name in (ELEMENT, *PERSON[:2])}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """How the versions of things of one type become one."""

    identities: Identities
    blocks: tuple[str, ...] = ()
    """The blocks that can come from different versions."""
    bits: tuple[str, ...] = ()
    """These and others, in the order of their bits."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of the blocks that can be a part of an older one, the columns."""
    extremes: tuple[str, ...] = ()
    collected: str | None = None
    """The block that is made of all versions that carry it."""
    rank: str = "0"
    """Which version is kept before newer ones, in SQL."""
    has_person: bool = False
    """Whether a thing is an act whose person is looked for."""
    addressed: int = 0
    """The bit of a version of a person without an id, who is known by the address."""

    @property
    def ordering(self) -> tuple[str, ...]:
        """The columns that identify and order versions."""
        return (*dict.fromkeys((*identifying(self.identities), "modified_date", *ENVELOPE)),)

    def carries(self, block: str) -> str:
        """Return the condition in SQL that a version carries a block."""
        return f"carried & {1 << self.bits.index(block)} <> 0"


@dataclass(slots=True)
class Versions:
    """The versions of things of one type, and their rows that wait."""

    rules: Rules
    main: SpilledTables = field(default_factory=SpilledTables)
    children: dict[Table, SpilledTables] = field(default_factory=dict)
    seen: SpilledTables = field(default_factory=SpilledTables)
    """Of each version its number, how new it is, what it carries, and its identity in two halves."""
    count: int = 0

    def see(self, rows: pa.Table, engine: Engine, *, keep: bool = True) -> None:
        """Note of which things rows of the main table are versions; keep the rows where they are needed again."""
        if keep:
            self.main.add(rows)
        self.count += len(rows)
        rules = self.rules
        wanted = (ELEMENT, CARRIED, "person_id", *rules.ordering, *rules.extremes)
        columns = [name for name in dict.fromkeys(wanted) if name in rows.column_names and name != "email"]
        envelope = ", ".join(["NULL::TIMESTAMPTZ", *(name for name in ENVELOPE if name in columns)])
        identity = " ".join(_when(names, number) for number, names in enumerate(rules.identities)) or _NEVER
        notes = [f"greatest({envelope}) AS seen_at", f"{CARRIED if CARRIED in columns else 0} AS carried"]
        notes += [*rules.extremes, *map(full, rules.parts)]
        if rules.has_person:  # as people are identified
            notes += _halves(f"md5_number(CASE {_when(['person_id'], 0)} END)", "person_")
        if rules.has_person or rules.addressed:
            notes.append(f"CASE WHEN {ADDRESS} IS NOT NULL THEN hash({ADDRESS}) END AS {ADDRESS}")
        notes += _halves(f"md5_number(CASE {identity} END)", addressed=rules.addressed)
        compared = rows.select(columns)
        if "email" in rules.ordering or rules.has_person:
            compared = compared.append_column(ADDRESS, folded(combined(rows["email"])))
        for block, names in rules.parts.items():
            counted = sum(
                holding(combined(rows[name])).astype(np.uint8) for name in names if name in rows.column_names
            )
            compared = compared.append_column(full(block), pa.array(counted))
        engine.put("rows", compared)
        self.seen.add(engine.ask(f'SELECT {ELEMENT}, modified_date, {", ".join(notes)} FROM "rows"'))

    def wait(self, table: Table, rows: pa.Table) -> None:
        """Keep some rows of a child table."""
        self.children.setdefault(table, SpilledTables()).add(rows)

    @property
    def part_count(self) -> int:
        """How many parts there are of what was seen."""
        return -(-self.count // _GROUPED)

    def parts(self, labelled: Callable[[pa.Table], pa.Table] = lambda seen: seen) -> Iterator[pa.Table]:
        """Yield what was seen, by parts of the identities that `labelled` gives."""
        for part in range(self.part_count):
            some = (_identified(labelled(seen)) for seen in self.seen)
            yield pa.concat_tables(of_part(seen, part, self.part_count) for seen in some)

    def merger(self, engine: Engine, labelled: Callable[[pa.Table], pa.Table] = lambda seen: seen) -> Merger:
        """Compare the versions; all of a thing are in one part of what was seen."""
        return Merger.joined(
            self.rules, [Merger.of(self.rules, part, engine) for part in self.parts(labelled)]
        )

    def pruned(self, engine: Engine) -> Versions:
        """Return the versions with the rows that can be used, whatever is collected elsewhere.

        Any version of a person, or of an act, can have what a newer one lacks that is collected elsewhere.
        """
        if self.rules.parts or self.rules.has_person or self.rules.addressed:
            return self
        used, kept = self.merger(engine).used, {}
        for table, rows in self.children.items():
            kept[table] = rows.only(lambda some: rows_of(some, used))
        return Versions(
            self.rules, self.main.only(lambda some: rows_of(some, used)), kept, self.seen, self.count
        )


def _identified(seen: pa.Table) -> pa.Table:
    """Return versions with their identities: what has none is a thing of its own, by its number."""
    numbers = pc.cast(seen[ELEMENT], pa.uint64())
    low, high = pc.coalesce(seen["low"], numbers), pc.fill_null(seen["high"], 0)
    return with_column(with_column(seen, seen.schema.field("low"), low), seen.schema.field("high"), high)


def of_part(keys: pa.Table, part: int, parts: int) -> pa.Table:
    """Return the versions whose identities belong to one of some parts."""
    return keys.filter(pa.array(keys["low"].to_numpy() % np.uint64(parts) == part)) if parts > 1 else keys


def _when(columns: Sequence[str], number: int) -> str:
    """Return the case of SQL in which columns identify a version; a person of some content, by the address, too."""
    person = f"coalesce(person_id, ' ' || {ADDRESS})" if len(columns) > 1 else "person_id"
    values = [person if name == "person_id" else name for name in columns]
    present = " AND ".join(f"{value} IS NOT NULL" for value in values)
    texts = ", ".join(f"epoch_us({value})" if value.endswith("_date") else value for value in values)
    return f"WHEN {present} THEN concat_ws(' ', {number}, {texts})"


def _halves(number: str, prefix: str = "", addressed: int = 0) -> list[str]:
    halves = {"high": f"(({number}) >> 64)::UBIGINT", "low": f"(({number}) & {_LOW})::UBIGINT"}
    if addressed:
        instead = {"high": f"{BY_ADDRESS}::UBIGINT", "low": f"hash({ADDRESS})"}
        is_addressed = f"{CARRIED} & {addressed} <> 0"
        halves = {
            name: f"CASE WHEN {is_addressed} THEN {instead[name]} ELSE {half} END"
            for name, half in halves.items()
        }
    return [f"{half} AS {prefix}{name}" for name, half in halves.items()]


def full(block: str) -> str:
    """Return the name of the number of the columns that a version has of a block."""
    return f"full_{block}"


def _newest_full(block: str) -> str:
    return f"newest_full_{block}"


@dataclass(frozen=True)
class Merger:
    """Which version of each thing is kept, and which ones its blocks come from."""

    rules: Rules
    kept: np.ndarray
    """The numbers of the versions that are kept, sorted."""
    sources: pa.Table
    """Of things of several versions, by the number that is kept: the version of each block, and the extremes."""
    persons: pa.Table
    """Of things that have a person: the number that is kept, `PERSON`, with what all versions carry, and how many
    columns the newest version that carries it has of each block that can be a part."""
    moved: pa.Table = field(default_factory=lambda: _NO_PERSONS)
    """The versions of things whose own person is another, or nobody, and the person of the thing, 0 for nobody."""
    fuller: Mapping[str, pa.Table] = field(default_factory=dict)
    """By block, for things of which the newest version that carries it has few columns: see `fuller_versions`."""

    @classmethod
    def of(cls, rules: Rules, seen: pa.Table, engine: Engine) -> Merger:
        """Compare versions, of what was seen of them."""
        found, several = _compared(rules, seen, engine)
        fuller = {
            block: fuller_versions(several, seen, block, rules, engine)
            for block in rules.parts
            if len(several)
        }
        persons, moved = _NOTHING, _NO_PERSONS
        if rules.has_person:
            persons, moved = _persons(rules, seen, found, several), _moved(several, engine)
        return cls(rules, found["kept"].to_numpy(), several, persons, moved, fuller)

    @classmethod
    def joined(cls, rules: Rules, mergers: Sequence[Merger]) -> Merger:
        """Return what several mergers say, of different things."""
        nothing = cls(rules, np.empty(0, np.int64), _NOTHING, _NOTHING)
        every = mergers or [nothing]
        return cls(
            rules,
            np.sort(np.concatenate([merger.kept for merger in every])),
            pa.concat_tables([merger.sources for merger in every]).sort_by("kept"),
            pa.concat_tables([merger.persons for merger in every]),
            pa.concat_tables([merger.moved for merger in every]).sort_by(ELEMENT),
            {
                block: pa.concat_tables([merger.fuller[block] for merger in every if block in merger.fuller])
                for block in dict.fromkeys(chain.from_iterable(merger.fuller for merger in every))
            },
        )

    def settled(self, rows: SpilledTables) -> Merger:
        """Return the same with the sources of blocks that are a part of older ones; `rows` are of all versions."""
        sources = self.sources
        for block, fuller in self.fuller.items():
            if len(fuller):
                things, versions = fullest(fuller, self.rules.parts[block], rows)
                numbers = sources[block].to_numpy().copy()
                numbers[np.searchsorted(self.several, things)] = versions
                sources = with_column(sources, sources.schema.field(block), pa.array(numbers))
        return replace(self, sources=sources, fuller={})

    @cached_property
    def several(self) -> np.ndarray:
        """The numbers of the kept versions of things that have several, sorted."""
        numbers: np.ndarray = self.sources["kept"].to_numpy()
        return numbers

    @property
    def used(self) -> np.ndarray:
        """The numbers of all versions of which something is used, sorted."""
        return np.unique(np.concatenate([self.kept, self.lent]))

    @property
    def lent(self) -> np.ndarray:
        """The numbers of the versions of things that have several, as far as they are used, sorted."""
        names = [name for name in (*self.rules.blocks, PERSON_ID) if name in self.sources.column_names]
        columns = [self.sources[name].to_numpy() for name in names if len(self.sources)]
        columns += [table["candidate"].to_numpy() for table in self.fuller.values()]
        if self.rules.collected and len(self.sources):
            columns.append(pc.list_flatten(self.sources[f"all_{self.rules.collected}"]).to_numpy())
        return np.unique(np.concatenate([self.several, *columns]))

    def merge(self, rows: pa.Table, blocks: Mapping[str, str], donors: SpilledTables) -> pa.Table:
        """Return rows of kept versions, each block from the version it comes from.

        `blocks` says to which block columns belong; `donors` has the rows of the other versions.
        """
        at, sources = self.of_several(rows)
        there = [name for name in (*self.rules.blocks, PERSON_ID) if name in sources.column_names]
        for block in there if len(at) else ():
            columns = [name for name in rows.column_names if blocks.get(name) == block]
            numbers = sources[block].to_numpy()
            differ = numbers != sources["kept"].to_numpy()
            if columns and differ.any():
                rows = replaced(rows, at[differ], donors.take(numbers[differ], columns))
        extremes = [name for name in self.rules.extremes if name in rows.column_names]
        return replaced(rows, at, sources.select(extremes)) if extremes and len(at) else rows

    def of_several(self, rows: pa.Table) -> tuple[np.ndarray, pa.Table]:
        """Return which rows are of things of several versions, and the sources of these."""
        numbers = rows[ELEMENT].to_numpy()
        at = np.flatnonzero(among(numbers, self.several))
        return at, self.sources.take(pa.array(np.searchsorted(self.several, numbers[at])))

    def owners(self, block: str, things: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the versions that a block of things comes from, sorted, and the things."""
        sources = things.copy()
        if block in self.sources.column_names:
            at = np.flatnonzero(among(things, self.several))
            sources[at] = self.sources[block].to_numpy()[np.searchsorted(self.several, things[at])]
        order = np.argsort(sources, kind="stable")
        return sources[order], things[order]


def _compared(rules: Rules, seen: pa.Table, engine: Engine) -> tuple[pa.Table, pa.Table]:
    """Return the version of each thing that is kept; and of those of several versions, the sources of blocks."""
    engine.put("seen", seen)
    found = engine.ask(
        f"""SELECT high, low, arg_max({ELEMENT}, ({rules.rank}, {ORDER})) AS kept, count(*) AS versions
        FROM seen GROUP BY high, low"""
    )
    columns = _sources(rules, is_labelled="is_own" in seen.column_names)
    several = found.filter(pa.array(found["versions"].to_numpy() > 1)) if columns else found.slice(0, 0)
    engine.put("several", several.select(["high", "low", "kept"]))
    # To number the versions once takes less than to compare them for each block.
    versions = (
        f"SELECT *, row_number() OVER (ORDER BY {ORDER}) AS nth FROM seen JOIN several USING (high, low)"
    )
    query = f"SELECT {', '.join(['kept', *columns])} FROM ({versions}) GROUP BY kept"
    return found, engine.ask(query)


def _sources(rules: Rules, *, is_labelled: bool) -> list[str]:
    def newest(value: str, block: str) -> str:
        return f"arg_max({value}, nth) FILTER ({rules.carries(block)})"

    columns = [f"coalesce({newest(ELEMENT, block)}, kept) AS {block}" for block in rules.blocks]
    columns += [
        f"max({full(block)}) FILTER ({rules.carries(block)}) AS {full(block)}" for block in rules.parts
    ]
    combined = {name: "bit_or" if name.startswith(FLAGS) else EXTREMES[name] for name in rules.extremes}
    columns += [f"{function}({name}) AS {name}" for name, function in combined.items()]
    if is_labelled:  # the id is that of the version that is kept, if it is one of the person's own
        own = f"coalesce(arg_max({ELEMENT}, nth) FILTER (is_own), kept)"
        columns.append(
            f"CASE WHEN bool_or(is_own AND {ELEMENT} = kept) THEN kept ELSE {own} END AS {PERSON_ID}"
        )
    if rules.collected:
        condition = rules.carries(rules.collected)
        every = f"list({ELEMENT} ORDER BY nth) FILTER ({condition})"
        columns.append(f"coalesce({every}, list_value(kept)) AS all_{rules.collected}")
    if rules.has_person:
        columns += [f"{newest(full(block), block)} AS {_newest_full(block)}" for block in rules.parts]
        both = newest("{'high': person_high, 'low': person_low}", "links")
        columns += [f"({both}).{half} AS person_{half}" for half in ("high", "low")]
        own = f"coalesce(person_low, {ADDRESS}, 0)"
        columns += [
            f"arg_max({ADDRESS}, nth) FILTER ({ADDRESS} IS NOT NULL) AS {ADDRESS}",
            "bit_or(carried) AS carried",
            f"min({own}) <> max({own}) AS differ",
        ]
    return columns


def fuller_versions(chosen: pa.Table, seen: pa.Table, block: str, rules: Rules, engine: Engine) -> pa.Table:
    """Return the versions that have more columns of a block than the newest version that carries it.

    `chosen` has, by the number that is `kept`, the newest one, and how many columns the fullest has. The result has
    `kept`, `newest` and each `candidate`, the fullest first, and of equally full ones the newest. The relation `seen`
    has what was `seen`; `several` the identities of what is kept.
    """
    numbers, newest = seen[ELEMENT].to_numpy(), chosen[block].to_numpy()
    order = np.argsort(numbers)
    has = seen[full(block)].to_numpy()[order[np.searchsorted(numbers, newest, sorter=order)]]
    is_doubtful = (has > 0) & (has < chosen[full(block)].fill_null(0).to_numpy())
    if not is_doubtful.any():
        return _NO_CANDIDATES
    doubtful = {"kept": chosen["kept"].to_numpy(), "newest": newest, "has": has}
    engine.put("doubtful", pa.table(doubtful).filter(pa.array(is_doubtful)))
    return engine.ask(
        f"""SELECT kept, newest, {ELEMENT} AS candidate FROM doubtful JOIN several USING (kept)
        JOIN seen USING (high, low) WHERE {rules.carries(block)} AND {full(block)} > has
        ORDER BY kept, {full(block)} DESC, ({ORDER}) DESC"""
    )


def fullest(
    candidates: pa.Table, columns: Sequence[str], rows: SpilledTables
) -> tuple[np.ndarray, np.ndarray]:
    """Return the things of which the newest version is a part of others, sorted, and the first of these."""
    names = [name for name in columns if name in rows.mapped[0].column_names]
    newest, others = (rows.take(candidates[name].to_numpy(), names) for name in ("newest", "candidate"))
    is_part = are_parts(newest, others)
    things, first = np.unique(candidates["kept"].to_numpy()[is_part], return_index=True)
    return things, candidates["candidate"].to_numpy()[is_part][first]


def are_parts(blocks: pa.Table, others: pa.Table) -> np.ndarray:
    """Return which rows of a block have fewer columns than others, and in these the same values."""
    is_equal, is_less = np.ones(len(blocks), bool), np.zeros(len(blocks), bool)
    for name in blocks.column_names:
        mine, other = combined(blocks[name]), combined(others[name])
        if pa.types.is_string(mine.type):
            mine, other = folded(mine), folded(other)
        has = np.asarray(mine.is_valid())
        is_equal &= ~has | np.asarray(pc.fill_null(pc.equal(mine, other), False))
        is_less |= ~has & np.asarray(other.is_valid())
    return is_equal & is_less


def _persons(rules: Rules, seen: pa.Table, found: pa.Table, several: pa.Table) -> pa.Table:
    """Return the person of each thing that has one, by the link or else by the address."""
    kept = np.sort(found["kept"].to_numpy()[found["versions"].to_numpy() == 1])
    names = [*PERSON, ADDRESS, *map(full, rules.parts)]
    single = rows_of(seen, kept).select([ELEMENT, *names]).rename_columns(["kept", *names])
    merged = several.select(["kept", *PERSON, ADDRESS, *map(_newest_full, rules.parts)])
    every = pa.concat_tables([single, merged.rename_columns(single.column_names).cast(single.schema)])
    by_address = pc.if_else(every[ADDRESS].is_valid(), pa.scalar(BY_ADDRESS, pa.uint64()), None)
    every = with_column(
        every, every.schema.field("person_high"), pc.coalesce(every["person_high"], by_address)
    )
    every = with_column(
        every, every.schema.field("person_low"), pc.coalesce(every["person_low"], every[ADDRESS])
    )
    return every.filter(every["person_high"].is_valid()).drop_columns([ADDRESS])


def _moved(several: pa.Table, engine: Engine) -> pa.Table:
    """Return the versions whose own person is not that of the thing, with the person of the thing."""
    differ = several.filter(several["differ"])
    if not len(differ):
        return _NO_PERSONS
    engine.put("differ", differ.select(["kept", *PERSON[:2], ADDRESS]))
    found = engine.ask(
        f"""SELECT seen.{ELEMENT},
        coalesce(differ.person_high, if(differ.{ADDRESS} IS NULL, 0, {BY_ADDRESS})) AS person_high,
        coalesce(differ.person_low, differ.{ADDRESS}, 0) AS person_low
        FROM differ JOIN several USING (kept) JOIN seen USING (high, low)
        WHERE coalesce(differ.person_low, differ.{ADDRESS}, 0) <> coalesce(seen.person_low, seen.{ADDRESS}, 0)"""
    )
    return found.cast(_NO_PERSONS.schema)


def rows_of(rows: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Return the rows of some elements, whose numbers are sorted."""
    return rows.filter(pa.array(among(rows[ELEMENT].to_numpy(), numbers)))


def without(rows: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Return the rows of all but some elements, whose numbers are sorted."""
    return rows.filter(pa.array(~among(rows[ELEMENT].to_numpy(), numbers))) if len(numbers) else rows
