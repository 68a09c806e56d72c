"""Versions of things: their rows wait until all are known; then one is kept, with blocks of others."""

from __future__ import annotations

import mmap
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.columns import folded, one
from osdi_frames.parsing.database import Engine
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.tables.schema import Identities, Table, identifying

_IN_MEMORY = 32 << 20  # bytes that wait in memory
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
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
#: The e-mail address of a version, as addresses are compared.
ADDRESS: Final = "address"
#: Of an act, the person's identity in two halves, and the blocks that it carries.
PERSON: Final = ("person_high", "person_low", "carried")

#: The case of a version that is a thing of its own.
_NEVER: Final = "WHEN false THEN ''"

_NOTHING: Final = pa.table({"kept": pa.array([], pa.int64())})


class SpilledTables:
    """Tables in reading order, in memory or on disk.

    They move into a file when they are large together. `offset` is added to the numbers of elements, so that parts of
    an archive that were read apart are numbered through.
    """

    def __init__(self) -> None:
        self.file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="osdi-frames-")  # noqa: SIM115 (see `__del__`)
        self.ends = [0]
        self.offset = 0
        # A worker of a cluster can send rows while one of its threads reads them.
        self.lock = threading.Lock()

    def __del__(self) -> None:
        self.__dict__.pop("_index", None)
        self.file.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the rows compressed, their numbers without the offset, which is sent as well."""
        sink = pa.BufferOutputStream()
        tables = [*self._as_added()]
        if tables:
            with pa.ipc.new_stream(sink, tables[0].schema, options=_COMPRESSED) as stream:
                stream.write_table(pa.concat_tables(tables))
        return _received, (sink.getvalue() if tables else None, self.offset)

    def add(self, rows: pa.Table) -> None:
        """Keep some rows."""
        with self.lock:
            self.file.seek(self.ends[-1])
            with pa.ipc.new_stream(self.file, rows.schema) as stream:
                stream.write_table(rows)
            self.ends.append(self.file.tell())

    def __iter__(self) -> Iterator[pa.Table]:
        return map(self._numbered, self._as_added())

    def _as_added(self) -> Iterator[pa.Table]:
        for start in self.ends[:-1]:
            with self.lock:
                self.file.seek(start)
                rows = pa.ipc.open_stream(self.file).read_all()
            yield rows

    def only(self, keep: Callable[[pa.Table], pa.Table]) -> SpilledTables:
        """Return some of the rows."""
        kept = SpilledTables()
        for rows in map(keep, self):
            kept.add(rows)
        return kept

    def take(self, numbers: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Return the rows of some elements, in the order asked.

        Each is there, and once. What is in a file is mapped, not read.
        """
        tables, known, rows = self._index
        wanted, places = np.unique(numbers, return_inverse=True)
        found = rows[np.searchsorted(known, wanted)]
        starts = np.cumsum([0, *map(len, tables)])
        owners = np.searchsorted(starts, found, side="right") - 1
        parts, order = [], []
        for owner in np.unique(owners):
            inside = np.flatnonzero(owners == owner)
            order.append(inside)
            parts.append(tables[owner].select(columns).take(pa.array(found[inside] - starts[owner])))
        places = np.argsort(np.concatenate(order))[places]
        return pa.concat_tables(parts).combine_chunks().take(pa.array(places))

    @property
    def mapped(self) -> list[pa.Table]:
        """The tables, of which only what is used is read."""
        return self._index[0]

    @cached_property
    def _index(self) -> tuple[list[pa.Table], np.ndarray, np.ndarray]:
        """The tables in the memory that the file is mapped to, sorted numbers of elements, and their rows."""
        tables = []
        if self.ends[:-1]:
            with self.lock:
                self.file.seek(0)  # which writes what is buffered, too
                found = pa.py_buffer(
                    mmap.mmap(self.file.fileno(), self.ends[-1], access=mmap.ACCESS_READ)
                    if self.ends[-1] > _IN_MEMORY
                    else self.file.read()
                )
            opened = (pa.ipc.open_stream(found.slice(start)).read_all() for start in self.ends[:-1])
            tables = [self._numbered(table) for table in opened if len(table)]
        numbers = np.concatenate([np.empty(0, np.int64), *(table[ELEMENT].to_numpy() for table in tables)])
        rows = np.argsort(numbers, kind="stable")
        return tables, numbers[rows], rows

    def _numbered(self, table: pa.Table) -> pa.Table:
        if not self.offset:
            return table
        place = table.schema.get_field_index(ELEMENT)
        return table.set_column(place, ELEMENT, pa.array(table[ELEMENT].to_numpy() + self.offset))


def _received(rows: pa.Buffer | None, offset: int) -> SpilledTables:
    tables = SpilledTables()
    tables.offset = offset
    if rows is not None:
        tables.add(pa.ipc.open_stream(rows).read_all())
    return tables


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
        return (*dict.fromkeys((*identifying(self.identities), "modified_date", *ENVELOPE)),)

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
        columns = [name for name in dict.fromkeys(wanted) if name in rows.column_names and name != "email"]
        envelope = ", ".join(["NULL::TIMESTAMPTZ", *(name for name in ENVELOPE if name in columns)])
        identity = (
            " ".join(_when(names, number) for number, names in enumerate(self.rules.identities)) or _NEVER
        )
        notes = [f"greatest({envelope}) AS seen_at", f"{CARRIED if CARRIED in columns else 0} AS carried"]
        notes += [*self.rules.extremes]
        if self.rules.has_person:  # as people are identified
            notes += _halves(f"md5_number(CASE {_when(['person_id'], 0)} END)", "person_")
        notes += _halves(f"md5_number(CASE {identity} END)")
        compared = rows.select(columns)
        if "email" in self.rules.ordering:
            compared = compared.append_column(ADDRESS, folded(one(rows["email"])))
        engine.put("rows", compared)
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

    def merger(self, engine: Engine) -> Merger:
        """Compare the versions; all of a thing are in one part of what was seen."""
        return Merger.joined(self.rules, [Merger.of(self.rules, part, engine) for part in self.parts()])

    def pruned(self, engine: Engine) -> Versions:
        """Return the versions with the rows that can be used, whatever is collected elsewhere."""
        used, kept = self.merger(engine).used, {}
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
    """Return the case of SQL in which columns identify a version; a person of some content, by the address, too."""
    person = f"coalesce(person_id, ' ' || {ADDRESS})" if len(columns) > 1 else "person_id"
    values = [person if name == "person_id" else name for name in columns]
    present = " AND ".join(f"{value} IS NOT NULL" for value in values)
    texts = ", ".join(f"epoch_us({value})" if value.endswith("_date") else value for value in values)
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
    def of(cls, rules: Rules, seen: pa.Table, engine: Engine) -> Merger:
        """Compare versions, of what was seen of them."""
        found, several = _compared(rules, seen, engine)
        persons = _persons(seen, found, several) if rules.has_person else _NOTHING
        return cls(rules, found["kept"].to_numpy(), several, persons)

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
    combined = {name: "bit_or" if name.startswith(FLAGS) else EXTREMES[name] for name in rules.extremes}
    columns += [f"{function}({name}) AS {name}" for name, function in combined.items()]
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


def replaced(rows: pa.Table, at: np.ndarray, values: pa.Table) -> pa.Table:
    """Return rows with other values at some places."""
    numbers = np.arange(len(rows))
    numbers[at] = len(rows) + np.arange(len(at))
    for name in values.column_names:
        field = rows.schema.field(name)
        both = pa.chunked_array([*rows[name].chunks, *values[name].cast(field.type).chunks], field.type)
        rows = with_column(rows, field, both.combine_chunks().take(pa.array(numbers)))
    return rows


def with_column(rows: pa.Table, field: pa.Field, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return rows with a column set, or added."""
    place = rows.schema.get_field_index(field.name)
    return rows.append_column(field, values) if place < 0 else rows.set_column(place, field, values)
