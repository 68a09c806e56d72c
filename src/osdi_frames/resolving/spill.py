"""Rows that wait until all versions are known, in memory or on disk."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from osdi_frames.parsing.plan import ELEMENT

_IN_MEMORY = 32 << 20  # bytes that wait in memory


class SpilledTables:
    """Tables in reading order, in memory or on disk.

    They move into a file when they are large together.
    """

    def __init__(self) -> None:
        self.file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="osdi-frames-")  # noqa: SIM115 (see `__del__`)
        self.ends = [0]
        self._opened: list[pa.Table] | None = None

    def __del__(self) -> None:
        self._opened = None
        self.file.close()

    def add(self, rows: pa.Table) -> None:
        """Keep some rows."""
        self.file.seek(self.ends[-1])
        with pa.ipc.new_stream(self.file, rows.schema) as stream:
            stream.write_table(rows)
        self.ends.append(self.file.tell())

    def __iter__(self) -> Iterator[pa.Table]:
        for start in self.ends[:-1]:
            self.file.seek(start)
            yield pa.ipc.open_stream(self.file).read_all()

    def take(self, numbers: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Return the rows of some elements, in the order asked.

        Each is there, and the numbers of elements grow from table to table. The file is mapped, not read.
        """
        tables = self._mapped()
        firsts = np.array([table[ELEMENT][0].as_py() for table in tables])
        wanted, places = np.unique(numbers, return_inverse=True)
        owners = np.searchsorted(firsts, wanted, side="right") - 1
        parts = []
        for owner in np.unique(owners):
            inside = np.searchsorted(tables[owner][ELEMENT].to_numpy(), wanted[owners == owner])
            parts.append(tables[owner].select(columns).take(pa.array(inside)))
        return pa.concat_tables(parts).combine_chunks().take(pa.array(places))

    def _mapped(self) -> list[pa.Table]:
        if self._opened is None:
            self.file.rollover()
            self.file.flush()
            found = pa.py_buffer(mmap.mmap(self.file.fileno(), self.ends[-1], access=mmap.ACCESS_READ))
            opened = (pa.ipc.open_stream(found.slice(start)).read_all() for start in self.ends[:-1])
            self._opened = [table for table in opened if len(table)]
        return self._opened
