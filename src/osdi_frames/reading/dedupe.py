"""Keep one version of each element: the newest, however often it was received."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np
import pyarrow as pa

from osdi_frames.reading.engine import Engine, engine
from osdi_frames.reading.plan import IDENTITY
from osdi_frames.reading.query import quoted
from osdi_frames.tables.schema import ElementType, Identities

#: The number of an element, in all rows that are read of it; it grows in the order of reading.
ELEMENT = "_element"

_IN_MEMORY = 64 << 20  # bytes of rows of all tables of a type that wait in memory
_GROUPED = 1 << 18  # elements that are grouped at once: their groups take 160 bytes each


@dataclass(slots=True)
class Deduplication:
    """What was seen of the elements of one type, and the rows that wait until it is known which are kept.

    Of an element, DuckDB holds a few bytes, and spills them to disk when they are many.
    """

    element: ElementType
    identities: Identities
    engine: Engine
    waiting: defaultdict[str, _Waiting] = field(default_factory=lambda: defaultdict(_Waiting))
    size: int = 0
    """Of the rows that wait, in bytes."""
    count: int = 0
    """Of the elements that were seen."""

    def __post_init__(self) -> None:
        types = ", ".join(f'"{name}" TIMESTAMPTZ' for name in self.element.newest)
        self.engine.connection.execute(
            f"CREATE TEMP TABLE {self._seen} (number BIGINT, identity UHUGEINT, newest STRUCT({types}))"
        )

    @property
    def _seen(self) -> str:
        """The table of what was seen; each type has its own."""
        return quoted(f"seen {self.element.name}")

    def see(self, rows: pa.Table) -> None:
        """Note the elements of some rows of the main table; one without identity is its own."""
        self.engine.put(
            "rows", rows.select([name for name in rows.column_names if name.startswith((ELEMENT, IDENTITY))])
        )
        self.count += rows.num_rows
        names = ", ".join(f"{IDENTITY}{name}" for name in self.element.newest)
        identity = " ".join(_identity(columns, number) for number, columns in enumerate(self.identities))
        self.engine.connection.execute(
            f"""INSERT INTO {self._seen} SELECT {ELEMENT},
            coalesce(md5_number(CASE {identity} END), {ELEMENT}::UHUGEINT), row({names}) FROM "rows\""""
        )

    def wait(self, table: str, rows: pa.Table) -> None:
        """Keep some rows of a table until the end."""
        self.size += rows.nbytes
        self.waiting[table].add(rows, in_memory=self.size <= _IN_MEMORY)

    def rows(self, kept: np.ndarray) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows of the elements that are kept."""
        for table, waiting in self.waiting.items():
            for rows in waiting.all():
                yield table, rows.filter(pa.array(among(rows[ELEMENT].to_numpy(), kept)))

    def keys(self, partition: int) -> pa.Table:
        """Return what `superseded` needs of the elements that are kept of a partition and have an identity."""
        keys = self.engine.connection.sql(
            f"""SELECT {partition} AS partition, number, newest, (identity >> 64)::UBIGINT AS high,
                (identity & {2**64 - 1}::UHUGEINT)::UBIGINT AS low
            FROM {self._seen} WHERE identity != number::UHUGEINT"""
        ).to_arrow_table()
        return keys.filter(pa.array(among(keys["number"].to_numpy(), self.kept())))

    def kept(self) -> np.ndarray:
        """Return the numbers of the elements that are kept: of each the newest version, then the last read."""
        parts = 1 + self.count // _GROUPED
        seen = (f"{self._seen} WHERE hash(identity) % {parts} = {part}" for part in range(parts))
        queries = (_newest(self.element, "number", some, "identity") for some in seen)
        found = [self.engine.connection.sql(query).to_arrow_table()["kept"].to_numpy() for query in queries]
        return np.sort(np.concatenate(found))


def superseded(element: ElementType, keys: Sequence[pa.Table]) -> pa.Table:
    """Return the elements of partitions that one reading of them all would not keep: partition, number.

    `keys` are those of all elements that can be the same; see `Deduplication.keys`.
    """
    every = pa.concat_tables(keys)
    low = np.sort(every["low"].to_numpy())
    again = low[1:][low[1:] == low[:-1]]  # few occur in several partitions
    with engine() as lent:
        lent.put("keys", every.filter(pa.array(among(every["low"].to_numpy(), again))))
        kept = _newest(element, "row(partition, number)", "keys", "high, low")
        return lent.connection.sql(
            f"""SELECT partition, number FROM keys WHERE row(partition, number) NOT IN (SELECT kept FROM ({kept}))"""
        ).to_arrow_table()


def _newest(element: ElementType, number: str, seen: str, identity: str) -> str:
    """Return the query for the elements that are kept: of each the newest version, then the last read."""
    oldest = ", ".join(f"coalesce(newest.\"{name}\", '-infinity'::TIMESTAMPTZ)" for name in element.newest)
    return f"SELECT arg_max({number}, ({oldest}, {number})) AS kept FROM {seen} GROUP BY {identity}"


def _identity(columns: Sequence[str], number: int) -> str:
    present = " AND ".join(f"{IDENTITY}{name} IS NOT NULL" for name in columns)
    texts = (
        f"epoch_us({IDENTITY}{name})" if name.endswith("_date") else f"{IDENTITY}{name}" for name in columns
    )
    return f"WHEN {present} THEN concat_ws(' ', {number}, {', '.join(texts)})"


def among(numbers: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return which numbers are among some others, which are sorted."""
    at = np.searchsorted(kept, numbers)
    at[at == len(kept)] = 0
    return kept[at] == numbers if len(kept) else np.zeros(len(numbers), bool)


def _file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="osdi-frames-")


@dataclass(slots=True)
class _Waiting:
    """Rows that wait: in memory while they are few, then in a file."""

    file: IO[bytes] = field(default_factory=_file)
    in_memory: list[pa.Table] = field(default_factory=list)
    writer: pa.RecordBatchWriter | None = None

    def add(self, rows: pa.Table, *, in_memory: bool) -> None:
        if in_memory:
            self.in_memory.append(rows)
            return
        self.writer = self.writer or pa.ipc.new_stream(self.file, rows.schema)
        self.writer.write_table(rows)

    def all(self) -> Iterator[pa.Table]:
        with self.file:
            while self.in_memory:
                yield self.in_memory.pop(0)  # and let go of it
            if self.writer:
                self.writer.close()
                self.file.seek(0)
                yield from (pa.Table.from_batches([batch]) for batch in pa.ipc.open_stream(self.file))
