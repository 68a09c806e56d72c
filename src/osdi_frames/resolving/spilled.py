"""Tables that wait, in memory or on disk, and rows of them by the numbers of their elements."""

from __future__ import annotations

import mmap
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from osdi_frames.durable import naming
from osdi_frames.parsing.plan import ELEMENT

_IN_MEMORY = 32 << 20  # bytes that wait in memory
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


class NumberedRows(Protocol):
    """Rows that can be taken by the numbers of their elements."""

    def take(self, numbers: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Return the rows of some elements, in the order asked; each is there, and once."""


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
        self.__dict__.pop("_index", None)
        with self.lock, naming(tempfile.gettempdir()):
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


def in_order(rows: pa.Table, indices: np.ndarray) -> pa.Table:
    """Return the rows at indices, without a copy where these are all rows as they are."""
    if np.array_equal(indices, np.arange(len(rows))):
        return rows
    return rows.combine_chunks().take(pa.array(indices))


def _received(rows: pa.Buffer | None, offset: int) -> SpilledTables:
    tables = SpilledTables()
    tables.offset = offset
    if rows is not None:
        tables.add(pa.ipc.open_stream(rows).read_all())
    return tables
