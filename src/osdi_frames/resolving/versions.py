"""Versions of elements: find the newest, spill their rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pyarrow as pa

from osdi_frames.parsing.database import Engine, engine
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.tables.schema import ElementType, Identities, Table

_IN_MEMORY = 32 << 20  # bytes of the rows that wait of a type, and as many of what was seen of it
_GROUPED = 1 << 18  # elements that are grouped at once: their groups take 160 bytes each
_LOW = f"{2**64 - 1}::UHUGEINT"


class SpilledTables:
    """Tables in reading order, in memory or on disk.

    They move into a file when they are large together.
    """

    def __init__(self) -> None:
        self.file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="osdi-frames-")  # noqa: SIM115 (see `__del__`)
        self.tables = 0

    def __del__(self) -> None:
        self.file.close()

    def add(self, rows: pa.Table) -> None:
        """Keep some rows."""
        with pa.ipc.new_stream(self.file, rows.schema) as stream:
            stream.write_table(rows)
        self.tables += 1

    def __iter__(self) -> Iterator[pa.Table]:
        self.file.seek(0)
        for _ in range(self.tables):
            yield pa.ipc.open_stream(self.file).read_all()


@dataclass(slots=True)
class Versions:
    """The versions of one type's elements.

    Their rows wait until it is known which are kept.
    """

    element: ElementType
    identities: Identities
    engine: Engine
    tables: list[Table] = field(default_factory=list)
    """Which tables the rows belong to that wait."""
    waiting: SpilledTables = field(default_factory=SpilledTables)
    seen: SpilledTables = field(default_factory=SpilledTables)
    """Of each element its number, what says how new it is, and its identity in two halves."""
    failing: list[np.ndarray] = field(default_factory=list)
    """The numbers of the elements that do not pass the filters: they are compared with others, and not kept."""
    count: int = 0
    """Of the elements that were seen."""
    _kept: np.ndarray | None = None

    @property
    def _schema(self) -> pa.Schema:
        """Return the schema of what was seen."""
        newest = {name: pa.timestamp("us", "UTC") for name in self.element.newest}
        return pa.schema({"number": pa.int64()} | newest | {"high": pa.uint64(), "low": pa.uint64()})

    def see(self, rows: pa.Table, failing: np.ndarray) -> None:
        """Note the elements of rows of the main table.

        An element without identity is its own.
        """
        needed = dict.fromkeys((ELEMENT, *chain.from_iterable(self.identities), *self.element.newest))
        self.engine.put("rows", rows.select([*needed]))
        self.count += rows.num_rows
        self.failing.append(failing)
        newest = ", ".join(self.element.newest)
        identity = " ".join(_identity(columns, number) for number, columns in enumerate(self.identities))
        seen = self.engine.ask(
            f"""SELECT number, {newest}, (identity >> 64)::UBIGINT AS high, (identity & {_LOW})::UBIGINT AS low FROM (
            SELECT {ELEMENT} AS number, {newest},
                coalesce(md5_number(CASE {identity} END), {ELEMENT}::UHUGEINT) AS identity FROM "rows")"""
        )
        self.seen.add(seen)

    def wait(self, table: Table, rows: pa.Table) -> None:
        """Keep some rows of a table until the end."""
        self.tables.append(table)
        self.waiting.add(rows)

    def rows(self) -> Iterator[tuple[Table, pa.Table]]:
        """Yield the rows of kept elements that pass filters."""
        kept, failing = self.kept(), np.concatenate([np.empty(0, np.int64), *self.failing])
        kept = kept[~among(kept, failing)]
        for table, rows in zip(self.tables, self.waiting, strict=True):
            yield table, rows.filter(pa.array(among(rows[ELEMENT].to_numpy(), kept)))

    def keys(self, partition: int) -> pa.Table:
        """Return what `superseded` needs of a partition.

        These are the keys of the elements that are kept and have an identity.
        """
        kept = self.kept()
        keys = [self._schema.empty_table()]
        for seen in self.seen:
            number, high, low = (seen[name].to_numpy() for name in ("number", "high", "low"))
            keys.append(seen.filter(pa.array(among(number, kept) & ((high != 0) | (low != number)))))
        every = pa.concat_tables(keys)
        return every.add_column(0, "partition", pa.repeat(np.int64(partition), len(every)))

    def kept(self) -> np.ndarray:
        """Return the numbers of the elements that are kept.

        Of each it is the newest version, then the last read.
        """
        if self._kept is None:
            self._kept = self._newest()
        return self._kept

    def _newest(self) -> np.ndarray:
        parts = -(-self.count // _GROUPED)
        found = [np.empty(0, np.int64)]
        for part in range(parts):
            self.engine.put("seen", pa.concat_tables(of_part(seen, part, parts) for seen in self.seen))
            newest = self.engine.ask(_newest(self.element, "number", "seen"))
            found.append(newest["kept"].to_numpy())
        return np.sort(np.concatenate(found))


def of_part(keys: pa.Table, part: int, parts: int) -> pa.Table:
    """Return the elements whose identities belong to one of some parts."""
    return keys.filter(pa.array(keys["low"].to_numpy() % np.uint64(parts) == part))


def superseded(element: ElementType, keys: Sequence[pa.Table]) -> pa.Table:
    """Return the elements that are not kept over all partitions.

    They are columns of partition and number.

    `keys` are those of all elements that can be the same; see `Deduplication.keys`.
    """
    every = pa.concat_tables(keys)
    low = np.sort(every["low"].to_numpy())
    again = low[1:][low[1:] == low[:-1]]  # few occur in several partitions
    with engine() as lent:
        lent.put("keys", every.filter(pa.array(among(every["low"].to_numpy(), again))))
        kept = _newest(element, "row(partition, number)", "keys")
        return lent.ask(
            f"""SELECT partition, number FROM keys WHERE row(partition, number) NOT IN (SELECT kept FROM ({kept}))"""
        )


def _newest(element: ElementType, number: str, seen: str) -> str:
    """Return the query for the elements that are kept.

    Of each it is the newest version, then the last read.
    """
    newest = ", ".join(f"coalesce({name}, '-infinity'::TIMESTAMPTZ)" for name in element.newest)
    return f"SELECT arg_max({number}, ({newest}, {number})) AS kept FROM {seen} GROUP BY high, low"


def _identity(columns: Sequence[str], number: int) -> str:
    present = " AND ".join(f"{name} IS NOT NULL" for name in columns)
    texts = ", ".join(f"epoch_us({name})" if name.endswith("_date") else name for name in columns)
    return f"WHEN {present} THEN concat_ws(' ', {number}, {texts})"


def among(numbers: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return which numbers are among sorted others."""
    is_among: np.ndarray = np.zeros(len(numbers), bool)
    if len(kept):
        is_among = kept.take(np.searchsorted(kept, numbers), mode="clip") == numbers
    return is_among


def without(rows: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Return the rows of all but some elements.

    The numbers of these are sorted.
    """
    return rows.filter(pa.array(~among(rows[ELEMENT].to_numpy(), numbers))) if len(numbers) else rows
