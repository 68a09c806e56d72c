"""Versions of things: which is kept, and from which each block comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.database import Engine
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving.spill import SpilledTables, among, only, replaced, with_column
from osdi_frames.tables.schema import Identities, Table

_GROUPED = 1 << 18  # versions that are grouped at once: their groups take 160 bytes each
_LOW = f"{2**64 - 1}::UHUGEINT"

#: How new a version is: its date, when it was received or fetched, where it was read.
ORDER: Final = ", ".join(
    (*(f"coalesce({name}, '-infinity'::TIMESTAMPTZ)" for name in ("modified_date", "seen_at")), ELEMENT)
)
#: When a document was received or fetched: a thing has the latest of its versions.
ENVELOPE: Final = ("received_at", "fetched_at")
#: Columns of which a thing has the least or the greatest of all its versions.
EXTREMES: Final = dict.fromkeys(ENVELOPE, "max") | {"first_seen": "min", "last_seen": "max"}
#: Of an act, the person's identity in two halves, and the blocks that it carries.
PERSON: Final = ("person_high", "person_low", "carried")

_NOTHING: Final = pa.table({"kept": pa.array([], pa.int64())})


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """How the versions of things of one type become one."""

    identities: Identities
    blocks: tuple[str, ...] = ()
    """The blocks that can come from different versions, in the order of their bits."""
    extremes: tuple[str, ...] = ()
    collected: str | None = None
    """The block that is made of all versions that carry it."""
    rank: str = "0"
    """Which version is kept before newer ones, in SQL."""
    has_person: bool = False
    """Whether a thing can lack what its person has."""

    @property
    def ordering(self) -> tuple[str, ...]:
        """The columns that identify and order versions."""
        return tuple(dict.fromkeys((*chain.from_iterable(self.identities), "modified_date", *ENVELOPE)))

    def carries(self, block: str) -> str:
        """Return the condition in SQL that a version carries a block."""
        return f"carried & {1 << self.blocks.index(block)} <> 0"


@dataclass(slots=True)
class Versions:
    """The versions of things of one type, and their rows that wait."""

    rules: Rules
    main: SpilledTables = field(default_factory=SpilledTables)
    children: dict[Table, SpilledTables] = field(default_factory=dict)
    seen: SpilledTables = field(default_factory=SpilledTables)
    """Of each version its number, how new it is, what it carries, and its identity in two halves."""
    count: int = 0

    def see(self, rows: pa.Table, engine: Engine) -> None:
        """Keep rows of the main table; note which things they are of."""
        self.main.add(rows)
        self.count += len(rows)
        wanted = (ELEMENT, CARRIED, "person_id", *self.rules.ordering, *self.rules.extremes)
        columns = [name for name in dict.fromkeys(wanted) if name in rows.column_names]
        envelope = ", ".join(["NULL::TIMESTAMPTZ", *(name for name in ENVELOPE if name in columns)])
        identity = " ".join(_when(names, number) for number, names in enumerate(self.rules.identities))
        notes = [f"greatest({envelope}) AS seen_at", f"{CARRIED if CARRIED in columns else 0} AS carried"]
        notes += [*self.rules.extremes]
        if self.rules.has_person:  # as people are identified
            notes += _halves(f"md5_number(CASE {_when(['person_id'], 0)} END)", "person_")
        notes += _halves(f"md5_number(CASE {identity} END)")
        engine.put("rows", rows.select(columns))
        self.seen.add(engine.ask(f'SELECT {ELEMENT}, modified_date, {", ".join(notes)} FROM "rows"'))

    def wait(self, table: Table, rows: pa.Table) -> None:
        """Keep some rows of a child table."""
        self.children.setdefault(table, SpilledTables()).add(rows)

    @property
    def part_count(self) -> int:
        """How many parts there are of what was seen."""
        return -(-self.count // _GROUPED)

    def parts(self) -> Iterator[pa.Table]:
        """Yield what was seen, by parts of the identities."""
        for part in range(self.part_count):
            yield pa.concat_tables(of_part(_identified(seen), part, self.part_count) for seen in self.seen)

    def pruned(self, merger: Merger) -> Versions:
        """Return the versions with the rows that a merger uses."""
        used, kept = merger.used, {}
        for table, rows in self.children.items():
            kept[table] = rows.only(lambda some: only(some, used))
        return Versions(
            self.rules, self.main.only(lambda some: only(some, used)), kept, self.seen, self.count
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
    present = " AND ".join(f"{name} IS NOT NULL" for name in columns)
    texts = ", ".join(f"epoch_us({name})" if name.endswith("_date") else name for name in columns)
    return f"WHEN {present} THEN concat_ws(' ', {number}, {texts})"


def _halves(number: str, prefix: str = "") -> list[str]:
    return [f"(({number}) >> 64)::UBIGINT AS {prefix}high", f"(({number}) & {_LOW})::UBIGINT AS {prefix}low"]


@dataclass(frozen=True)
class Merger:
    """Which version of each thing is kept, and which ones its blocks come from."""

    rules: Rules
    kept: np.ndarray
    """The numbers of the versions that are kept, sorted."""
    sources: pa.Table
    """Of things of several versions, by the number that is kept: the version of each block, and the extremes."""
    persons: pa.Table
    """Of things that have a person: the number that is kept, and `PERSON`, with what the person's version carries."""

    @classmethod
    def of(cls, rules: Rules, parts: Iterable[pa.Table], engine: Engine) -> Merger:
        """Compare versions; all of a thing are in one part of what was seen."""
        mergers = []
        for part in parts:
            found, several = _compared(rules, part, engine)
            persons = _persons(part, found, several) if rules.has_person else _NOTHING
            mergers.append(cls(rules, found["kept"].to_numpy(), several, persons))
        return cls.joined(rules, mergers)

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
        )

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
        columns = [self.sources[name].to_numpy() for name in self.rules.blocks if len(self.sources)]
        if self.rules.collected and len(self.sources):
            columns.append(pc.list_flatten(self.sources[f"all_{self.rules.collected}"]).to_numpy())
        return np.unique(np.concatenate([self.several, *columns]))

    def merge(self, rows: pa.Table, blocks: Mapping[str, str], donors: SpilledTables) -> pa.Table:
        """Return rows of kept versions, each block from the version it comes from.

        `blocks` says to which block columns belong; `donors` has the rows of the other versions.
        """
        at, sources = self.of_several(rows)
        for block in self.rules.blocks if len(at) else ():
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
    columns = _sources(rules)
    several = found.filter(pa.array(found["versions"].to_numpy() > 1)) if columns else found.slice(0, 0)
    engine.put("several", several.select(["high", "low", "kept"]))
    query = f"SELECT {', '.join(['kept', *columns])} FROM seen JOIN several USING (high, low) GROUP BY kept"
    return found, engine.ask(query)


def _sources(rules: Rules) -> list[str]:
    def newest(value: str, block: str) -> str:
        return f"arg_max({value}, ({ORDER})) FILTER ({rules.carries(block)})"

    columns = [f"coalesce({newest(ELEMENT, block)}, kept) AS {block}" for block in rules.blocks]
    columns += [f"{EXTREMES[name]}({name}) AS {name}" for name in rules.extremes]
    if rules.collected:
        condition = rules.carries(rules.collected)
        columns.append(f"list({ELEMENT} ORDER BY ({ORDER})) FILTER ({condition}) AS all_{rules.collected}")
    if rules.has_person:
        both = newest("{'high': person_high, 'low': person_low}", "links")
        columns += [f"({both}).{half} AS person_{half}" for half in ("high", "low")]
        columns.append(f"coalesce({newest('carried', 'person')}, 0) AS carried")
    return columns


def _persons(seen: pa.Table, found: pa.Table, several: pa.Table) -> pa.Table:
    """Return the person of each thing that has one: of things of one version, what was seen of it."""
    kept = np.sort(found["kept"].to_numpy()[found["versions"].to_numpy() == 1])
    single = only(seen, kept).select([ELEMENT, *PERSON]).rename_columns(["kept", *PERSON])
    every = pa.concat_tables([single, several.select(single.column_names).cast(single.schema)])
    return every.filter(every["person_high"].is_valid())
