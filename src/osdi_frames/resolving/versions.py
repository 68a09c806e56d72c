"""Versions of things: which is kept, and from which each block comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from osdi_frames.parsing.database import Engine
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving.spill import SpilledTables
from osdi_frames.tables.schema import Identities, Table

_GROUPED = 1 << 18  # versions that are grouped at once: their groups take 160 bytes each
_LOW = f"{2**64 - 1}::UHUGEINT"

#: How new a version is: its date, when it was received or fetched, where it was read.
ORDER: Final = ", ".join(
    (*(f"coalesce({name}, '-infinity'::TIMESTAMPTZ)" for name in ("modified_date", "seen_at")), "number")
)
#: Columns of which a thing has the least or the greatest of all its versions.
EXTREMES: Final = {"received_at": "max", "fetched_at": "max", "first_seen": "min", "last_seen": "max"}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How the versions of things of one type become one."""

    identities: Identities
    blocks: tuple[str, ...] = ()
    """The blocks that can come from different versions, in the order of their bits."""
    extremes: tuple[str, ...] = ()
    collected: str | None = None
    """The block that is merged from all versions that carry it."""
    rank: str = "0"
    """Which version is kept before newer ones, in SQL."""
    person: bool = False
    """Whether it is noted of which person a thing is, and of the person which blocks it carries."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that identify and order versions."""
        return tuple(dict.fromkeys((*chain.from_iterable(self.identities), "modified_date")))

    def bit(self, block: str) -> int:
        """Return the bit of a block."""
        return 1 << self.blocks.index(block)


@dataclass(slots=True)
class Versions:
    """The versions of things of one type, and their rows that wait."""

    rules: Rules
    engine: Engine
    main: SpilledTables = field(default_factory=SpilledTables)
    children: dict[Table, SpilledTables] = field(default_factory=dict)
    seen: SpilledTables = field(default_factory=SpilledTables)
    """Of each version its number, what says how new it is, what it carries, and its identity in two halves."""
    count: int = 0

    def see(self, rows: pa.Table) -> None:
        """Keep rows of the main table; note which things they are of.

        What has no identity is a thing of its own.
        """
        self.main.add(rows)
        self.count += len(rows)
        envelope = [name for name in ("received_at", "fetched_at") if name in rows.column_names]
        needed = dict.fromkeys((ELEMENT, *self.rules.needed, *envelope, *self.rules.extremes))
        more = [name for name in (CARRIED, "person_id") if name in rows.column_names]
        self.engine.put("rows", rows.select(list(dict.fromkeys((*needed, *more)))))
        identity = " ".join(_identity(columns, number) for number, columns in enumerate(self.rules.identities))
        person = f", {_halves('person', 'person_')}" if self.rules.person else ""
        self.seen.add(
            self.engine.ask(
                f"""SELECT * EXCLUDE (identity, person), {_halves("identity", "")}{person} FROM (
                SELECT {ELEMENT} AS number, modified_date, greatest({", ".join(envelope)}) AS seen_at,
                {"".join(f"{name}, " for name in self.rules.extremes)}
                {CARRIED if CARRIED in more else "0::BIGINT"} AS carried,
                {f"md5_number({_text(['person_id'], 0)})" if self.rules.person else "NULL"} AS person,
                coalesce(md5_number(CASE {identity} END), {ELEMENT}::UHUGEINT) AS identity FROM "rows")"""
            )
        )

    def wait(self, table: Table, rows: pa.Table) -> None:
        """Keep some rows of a child table until the end."""
        self.children.setdefault(table, SpilledTables()).add(rows)

    @property
    def part_count(self) -> int:
        """How many parts there are of what was seen."""
        return -(-self.count // _GROUPED)

    def parts(self) -> Iterator[pa.Table]:
        """Yield what was seen, by parts of the identities."""
        for part in range(self.part_count):
            yield pa.concat_tables(of_part(seen, part, self.part_count) for seen in self.seen)


def of_part(keys: pa.Table, part: int, parts: int) -> pa.Table:
    """Return the versions whose identities belong to one of some parts."""
    return keys.filter(pa.array(keys["low"].to_numpy() % np.uint64(parts) == part)) if parts > 1 else keys


def _halves(number: str, prefix: str) -> str:
    return f"({number} >> 64)::UBIGINT AS {prefix}high, ({number} & {_LOW})::UBIGINT AS {prefix}low"


def _text(columns: Sequence[str], number: int) -> str:
    texts = ", ".join(f"epoch_us({name})" if name.endswith("_date") else name for name in columns)
    return f"CASE WHEN {' AND '.join(f'{name} IS NOT NULL' for name in columns)} THEN concat_ws(' ', {number}, {texts}) END"


def _identity(columns: Sequence[str], number: int) -> str:
    present = " AND ".join(f"{name} IS NOT NULL" for name in columns)
    return f"WHEN {present} THEN {_text(columns, number)}"


@dataclass(frozen=True)
class Merger:
    """Which version of each thing is kept, and which ones others of its blocks come from."""

    rules: Rules
    kept: np.ndarray
    """The numbers of the versions that are kept, sorted."""
    sources: pa.Table
    """Of the things of several versions, by the number that is kept: the version of each block, and the extremes."""
    persons: pa.Table
    """Of the things that can be filled: the number that is kept, the person's identity, what the person carries."""

    @classmethod
    def of(cls, versions: Versions) -> Merger:
        """Compare versions, by parts of their identities."""
        return cls.of_seen(versions.rules, versions.parts(), versions.engine)

    @classmethod
    def of_seen(cls, rules: Rules, parts: Iterable[pa.Table], engine: Engine) -> Merger:
        """Compare versions; all of a thing are in one part."""
        compared = [_compared(rules, part, engine) for part in parts]
        kept = [found["kept"].to_numpy() for found, _ in compared]
        sources = [several for _, several in compared if several is not None]
        persons = [_persons(rules, found, several) for found, several in compared if rules.person]
        return cls(
            rules,
            np.sort(np.concatenate([np.empty(0, np.int64), *kept])),
            pa.concat_tables(sources).sort_by("kept") if sources else pa.table({"kept": pa.array([], pa.int64())}),
            pa.concat_tables(persons) if persons else pa.table({}),
        )

    @cached_property
    def several(self) -> np.ndarray:
        """The numbers of the kept versions of things that have several, sorted."""
        numbers: np.ndarray = self.sources["kept"].to_numpy()
        return numbers

    def merge(self, rows: pa.Table, blocks: Mapping[str, str], main: SpilledTables) -> pa.Table:
        """Return rows of kept versions, each block from the version it comes from.

        `blocks` says to which block columns belong; `main` has the rows of all versions.
        """
        at, places = self._several(rows)
        if not len(at):
            return rows
        of_rows = self.sources.take(pa.array(places))
        for block in self.rules.blocks:
            columns = [name for name in rows.column_names if blocks.get(name) == block]
            if columns and block in of_rows.column_names:
                sources = of_rows[block].to_numpy()
                differ = sources != rows[ELEMENT].to_numpy()[at]
                if differ.any():
                    rows = replaced(rows, at[differ], main.take(sources[differ], columns))
        extremes = [name for name in self.rules.extremes if name in rows.column_names]
        return replaced(rows, at, of_rows.select(extremes)) if extremes else rows

    def _several(self, rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows are of things of several versions, and where these are among the sources."""
        numbers = rows[ELEMENT].to_numpy()
        at = np.flatnonzero(among(numbers, self.several))
        return at, np.searchsorted(self.several, numbers[at])

    def collected(self, rows: pa.Table) -> tuple[np.ndarray, pa.ListArray]:
        """Return which rows are of several versions, and those that carry the collected block, oldest first."""
        at, places = self._several(rows)
        found = self.sources[f"all_{self.rules.collected}"].take(pa.array(places)).combine_chunks() if len(at) else pa.array([], pa.list_(pa.int64()))
        return at, found

    def owners(self, block: str, passing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the versions that a block comes from, sorted, and the numbers of the things that they are for."""
        sources = passing.copy()
        if block in self.sources.column_names:
            at = np.flatnonzero(among(passing, self.several))
            sources[at] = self.sources[block].to_numpy()[np.searchsorted(self.several, passing[at])]
        order = np.argsort(sources, kind="stable")
        return sources[order], passing[order]


def _compared(rules: Rules, seen: pa.Table, engine: Engine) -> tuple[pa.Table, pa.Table | None]:
    """Return the version of each thing that is kept; and of those of several versions, the sources of blocks."""
    engine.put("seen", seen)
    person = ", ".join(f"any_value({name}) AS {name}" for name in _PERSON) if rules.person else "0 AS one"
    found = engine.ask(
        f"""SELECT high, low, arg_max(number, ({rules.rank}, {ORDER})) AS kept, count(*) AS versions, {person}
        FROM seen GROUP BY high, low"""
    )
    several = found.filter(pa.array(found["versions"].to_numpy() > 1))
    if not len(several) or not (columns := _sources(rules)):
        return found, None
    engine.put("several", several.select(["high", "low", "kept"]))
    return found, engine.ask(
        f"SELECT kept, {', '.join(columns)} FROM seen JOIN several USING (high, low) GROUP BY kept"
    )


_PERSON = ("person_high", "person_low", "carried")


def _sources(rules: Rules) -> list[str]:
    carrying = {block: f"FILTER (carried & {rules.bit(block)} <> 0)" for block in rules.blocks}
    columns = [f"coalesce(arg_max(number, ({ORDER})) {carries}, kept) AS {block}" for block, carries in carrying.items()]
    columns += [f"{EXTREMES[name]}({name}) AS {name}" for name in rules.extremes]
    if rules.collected:
        columns.append(f"list(number ORDER BY ({ORDER})) {carrying[rules.collected]} AS all_{rules.collected}")
    if rules.person:
        newest = f"arg_max({{'high': person_high, 'low': person_low}}, ({ORDER})) {carrying['links']}"
        columns += [f"({newest}).{half} AS person_{half}" for half in ("high", "low")]
        columns.append(f"coalesce(arg_max(carried, ({ORDER})) {carrying['person']}, 0) AS carried")
    return columns


def _persons(rules: Rules, found: pa.Table, several: pa.Table | None) -> pa.Table:
    names = ["kept", *_PERSON]
    single = found.filter(pa.array(found["versions"].to_numpy() == 1)).select(names)
    every = single if several is None else pa.concat_tables([single, several.select(names).cast(single.schema)])
    return every.filter(every["person_high"].is_valid())


def replaced(rows: pa.Table, at: np.ndarray, values: pa.Table) -> pa.Table:
    """Return rows with other values at some places."""
    numbers = np.arange(len(rows))
    numbers[at] = len(rows) + np.arange(len(at))
    for name in values.column_names:
        place = rows.schema.get_field_index(name)
        both = pa.chunked_array([*rows[name].chunks, *values[name].cast(rows.schema.field(name).type).chunks])
        rows = rows.set_column(place, rows.schema.field(name), both.combine_chunks().take(pa.array(numbers)))
    return rows


def among(numbers: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return which numbers are among sorted others."""
    is_among: np.ndarray = np.zeros(len(numbers), bool)
    if len(kept):
        is_among = kept.take(np.searchsorted(kept, numbers), mode="clip") == numbers
    return is_among


def only(rows: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Return the rows of some elements, whose numbers are sorted."""
    return rows.filter(pa.array(among(rows[ELEMENT].to_numpy(), numbers)))


def without(rows: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Return the rows of all but some elements, whose numbers are sorted."""
    return rows.filter(pa.array(~among(rows[ELEMENT].to_numpy(), numbers))) if len(numbers) else rows
