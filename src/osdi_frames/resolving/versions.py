"""Versions of things: their rows, which wait in memory or on disk until all are known, and what is noted of each."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import among, combined, concatenated, folded, holding
from osdi_frames.durable import naming
from osdi_frames.engine import Engine
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.schema import Identities, Table, identifying

_IN_MEMORY = 32 << 20  # bytes that wait in memory

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
#: The e-mail address of a version, as addresses are compared; in its note, a hash of that.
ADDRESS: Final = "address"
#: The columns of acts that say when it was done, and when the person was made and changed.
DATES_OF_PERSONS: Final = ("created_date", "person_created_date", "person_modified_date")
#: The first half of the identity of a person who is known by an address alone; the second is its hash.
BY_ADDRESS: Final = 1

_UTC: Final = pa.timestamp("us", "UTC")
_NO_TEXT_NOTES: Final = pa.schema(
    [
        (ELEMENT, pa.int64()),
        (CARRIED, pa.int64()),
        *((name, _UTC) for name in ENVELOPE),
        *((name, pa.string()) for name in (ADDRESS, "identity", "person")),
        ("is_addressed", pa.bool_()),
    ]
)

#: The notes of versions, with two halves of a number for each identity: that of the version, and of its person.
_NOTES: Final = f"""SELECT * EXCLUDE ({CARRIED}, identity, person, is_addressed)
        REPLACE (if({ADDRESS} IS NULL, NULL, hash({ADDRESS})) AS {ADDRESS}),
    greatest({", ".join(ENVELOPE)}) AS seen_at, coalesce({CARRIED}, 0) AS carried,
    (md5_number(person) >> 64)::UBIGINT AS person_high, (md5_number(person) & {_LOW})::UBIGINT AS person_low,
    if(is_addressed, {BY_ADDRESS}, md5_number(identity) >> 64)::UBIGINT AS high,
    if(is_addressed, hash({ADDRESS}), md5_number(identity) & {_LOW})::UBIGINT AS low
    FROM notes"""


class NumberedRows(Protocol):
    """Rows that can be taken by the numbers of their elements."""

    def take(self, numbers: np.ndarray, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of some elements, each once and in the order asked: some columns, or all."""


class SpilledTables:
    """Tables in reading order, in memory or on disk.

    They move into a file when they are large together.
    """

    def __init__(self) -> None:
        self.file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="osdi-frames-")  # noqa: SIM115 (closed below)
        # Of a cycle that is collected, a method `__del__` could find the file collected before it, and not closed.
        weakref.finalize(self, self.file.close)
        self.ends = [0]

    def add(self, rows: pa.Table) -> None:
        """Keep some rows."""
        self.__dict__.pop("_index", None)
        with naming(tempfile.gettempdir()):
            self.file.seek(self.ends[-1])
            with pa.ipc.new_stream(self.file, rows.schema) as stream:
                stream.write_table(rows)
            self.ends.append(self.file.tell())

    def __iter__(self) -> Iterator[pa.Table]:
        for start in self.ends[:-1]:
            self.file.seek(start)
            yield pa.ipc.open_stream(self.file).read_all()

    def take(self, numbers: np.ndarray, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of some elements; what is in a file is mapped, not read."""
        tables, known, rows = self._index
        wanted, places = np.unique(numbers, return_inverse=True)
        found = rows[np.searchsorted(known, wanted)]
        starts = np.cumsum([0, *map(len, tables)])
        owners = np.searchsorted(starts, found, side="right") - 1
        parts, order = [], []
        for owner in np.unique(owners):
            inside = np.flatnonzero(owners == owner)
            order.append(inside)
            table = tables[owner].select(columns or tables[owner].column_names)
            parts.append(table.take(pa.array(found[inside] - starts[owner])))
        return in_order(pa.concat_tables(parts), np.argsort(np.concatenate(order))[places])

    @property
    def mapped(self) -> list[pa.Table]:
        """The tables, of which only what is used is read."""
        return self._index[0]

    @cached_property
    def _index(self) -> tuple[list[pa.Table], np.ndarray, np.ndarray]:
        """The tables in the memory that the file is mapped to, sorted numbers of elements, and their rows."""
        tables = []
        if self.ends[:-1]:
            self.file.seek(0)  # which writes what is buffered, too
            found = pa.py_buffer(
                mmap.mmap(self.file.fileno(), self.ends[-1], access=mmap.ACCESS_READ)
                if self.ends[-1] > _IN_MEMORY
                else self.file.read()
            )
            opened = (pa.ipc.open_stream(found.slice(start)).read_all() for start in self.ends[:-1])
            tables = [table for table in opened if len(table)]
        numbers = np.concatenate([np.empty(0, np.int64), *(table[ELEMENT].to_numpy() for table in tables)])
        rows = np.argsort(numbers, kind="stable")
        return tables, numbers[rows], rows


def in_order(rows: pa.Table, indices: np.ndarray) -> pa.Table:
    """Return the rows at indices, without a copy where these are all rows as they are."""
    if np.array_equal(indices, np.arange(len(rows))):
        return rows
    return rows.combine_chunks().take(pa.array(indices))


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """How the versions of things of one type become one."""

    identities: Identities
    blocks: tuple[str, ...] = ()
    """The blocks that can come from different versions."""
    bits: tuple[str, ...] = ()
    """These and others, in the order of their bits."""
    counted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of blocks that can be a part of an older one, the columns; a note says how many of these a version has."""
    extremes: tuple[str, ...] = ()
    collected: str | None = None
    """The block that is made of all versions that carry it: of people, who are compared alone, so that neither `joined`
    nor `Merger.of_type` has it."""
    rank: str = "0"
    """Which version is kept before newer ones, in SQL."""
    has_person: bool = False
    """Whether a thing is an act whose person is looked for."""
    addressed: int = 0
    """The bit of a version of a person without an id, who is known by the address."""

    @classmethod
    def joined(cls, every: Sequence[Rules]) -> Rules:
        """Return rules by which the versions of several types can be compared together."""
        return cls(
            identities=(),
            blocks=tuple(dict.fromkeys(chain.from_iterable(rules.blocks for rules in every))),
            bits=tuple(dict.fromkeys(chain.from_iterable(rules.bits for rules in every))),
            counted={block: columns for rules in every for block, columns in rules.counted.items()},
            extremes=tuple(dict.fromkeys(chain.from_iterable(rules.extremes for rules in every))),
            has_person=any(rules.has_person for rules in every),
        )

    @property
    def parts(self) -> tuple[str, ...]:
        """The blocks that come from an older version of which they are a part."""
        return tuple(block for block in self.counted if block in self.blocks)

    @property
    def dates(self) -> tuple[str, ...]:
        """The dates that are noted of persons in acts, who are compared as versions of people."""
        return DATES_OF_PERSONS if self.has_person else ()

    @property
    def compared(self) -> list[str]:
        """The columns of notes by which versions of things are compared."""
        person = ["person_high", "person_low"] if self.has_person else []
        address = [ADDRESS] if self.has_person or self.addressed else []
        known = [*self.extremes, *map(full, self.parts), *person, *address, "high", "low"]
        return [ELEMENT, "modified_date", "seen_at", "carried", *known]

    @property
    def note_columns(self) -> list[str]:
        """All columns of notes."""
        return [*dict.fromkeys((*self.compared, *map(full, self.counted), *self.dates))]

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
    notes: SpilledTables = field(default_factory=SpilledTables)
    """Of each version its number, how new it is, what it carries, and its identity in two halves; see `note`."""

    @property
    def count(self) -> int:
        """How many versions have been noted."""
        return sum(map(len, self.notes.mapped))

    def text_notes(self, rows: pa.Table) -> pa.Table:
        """Return notes of versions, given rows of the main table, with their identities as texts."""
        rules, addresses = self.rules, pa.nulls(len(rows), pa.string())
        if "email" in rules.ordering or rules.has_person:
            addresses = folded(combined(rows["email"]))
        wanted = dict.fromkeys((ELEMENT, CARRIED, "modified_date", *ENVELOPE, *rules.extremes, *rules.dates))
        notes = {name: rows[name] for name in wanted if name in rows.column_names}
        notes |= {ADDRESS: addresses, "identity": _identity(rows, rules.identities, addresses)}
        if rules.has_person:  # as people are identified
            notes["person"] = _identity(rows, PEOPLE.element.identities, addresses)
        if rules.addressed:
            notes["is_addressed"] = pa.array(rows[CARRIED].to_numpy() & rules.addressed != 0)
        for block, names in rules.counted.items():
            counted = (holding(combined(rows[name])) for name in names if name in rows.column_names)
            notes[full(block)] = pa.array(sum(held.astype(np.uint8) for held in counted))
        return pa.table(notes)

    def wait(self, table: Table, rows: pa.Table) -> None:
        """Keep some rows of a child table."""
        self.children.setdefault(table, SpilledTables()).add(rows)


def note(every: Sequence[tuple[Versions, pa.Table]], engine: Engine) -> None:
    """Note which things the rows of main tables are versions of, and what decides between these."""
    texts = [(versions, versions.text_notes(rows)) for versions, rows in every if len(rows)]
    if texts:
        engine.put("notes", concatenated([_NO_TEXT_NOTES.empty_table(), *(some for _, some in texts)]))
        notes, start = engine.ask(_NOTES), 0
        for versions, some in texts:
            versions.notes.add(notes.slice(start, len(some)).select(versions.rules.note_columns))
            start += len(some)


def _identity(rows: pa.Table, identities: Identities, addresses: pa.Array) -> pa.ChunkedArray:
    """Return the text of the first columns that identify each row; a person of some content, by the address, too."""
    found = pa.chunked_array([pa.nulls(len(rows), pa.string())])
    for number, names in enumerate(identities):
        if not found.null_count:
            break
        columns = [rows[name] for name in names]
        dates = (
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in columns
        )
        values = [value.cast(pa.string()) for value in dates]
        if len(names) > 1 and "person_id" in names:
            by_address = pc.binary_join_element_wise("", addresses, " ")
            at = names.index("person_id")
            values[at] = pc.coalesce(values[at], by_address)
        found = pc.coalesce(found, pc.binary_join_element_wise(str(number), *values, " "))
    return found


def full(block: str) -> str:
    """Return the name of the number of the columns that a version has of a block."""
    return f"full_{block}"


def rows_of(rows: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Return the rows of some elements, whose numbers are sorted."""
    return rows.filter(pa.array(among(rows[ELEMENT].to_numpy(), numbers)))
