"""Keep one version of each element: the newest, however often it was received."""

from __future__ import annotations

import contextlib
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np
import pyarrow as pa

from osdi_frames.reading.engine import Engine, engine
from osdi_frames.reading.plan import Select
from osdi_frames.tables.schema import IDENTITY, ElementType, Identities

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
    waiting: deque[tuple[Select, pa.Table | None]] = field(default_factory=deque)
    """Rows of tables; None for the next ones in the file."""
    file: IO[bytes] | None = None
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
        return f"seen_{self.element.name}"

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

    def wait(self, select: Select, rows: pa.Table) -> None:
        """Keep some rows of a table until the end: in memory while they are few, then in a file."""
        self.size += rows.nbytes
        is_small = self.size <= _IN_MEMORY
        self.waiting.append((select, rows if is_small else None))
        if not is_small:
            self.file = self.file or tempfile.TemporaryFile(prefix="osdi-frames-")  # noqa: SIM115 (see `rows`)
            with pa.ipc.new_stream(self.file, rows.schema) as stream:
                stream.write_table(rows)

    def rows(self, kept: np.ndarray) -> Iterator[tuple[Select, pa.Table]]:
        """Yield the rows of the elements that are kept."""
        with self.file or contextlib.nullcontext():
            if self.file:
                self.file.seek(0)
            while self.waiting:
                select, rows = self.waiting.popleft()  # and let go of it
                if rows is None:
                    rows = pa.ipc.open_stream(self.file).read_all()
                yield select, rows.filter(pa.array(among(rows[ELEMENT].to_numpy(), kept)))

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
    names = [f"{IDENTITY}{name}" for name in columns]
    present = " AND ".join(f"{name} IS NOT NULL" for name in names)
    texts = ", ".join(f"epoch_us({name})" if name.endswith("_date") else name for name in names)
    return f"WHEN {present} THEN concat_ws(' ', {number}, {texts})"


def among(numbers: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return which numbers are among some others, which are sorted."""
    is_among: np.ndarray = np.zeros(len(numbers), bool)
    if len(kept):
        is_among = kept.take(np.searchsorted(kept, numbers), mode="clip") == numbers
    return is_among
