"""Which rows are the same thing told twice, and which of them is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Literal

import duckdb
import numpy as np
import pyarrow as pa

from osdi_frames.tables.events import EVENTS
from osdi_frames.tables.schema import Column, Table
from osdi_frames.tables.signatures import SIGNATURES

Dedupe = bool | Literal["message"]

#: The running number of an element: the order of reading, and the same for all its rows.
ORDINAL = "_ordinal"

_IN_MEMORY = 256 << 20  # bytes of rows that wait in memory

# A signature is itself by its id; without one, its message and its place in it say which it is.
_SIGNATURE = "coalesce('id ' || _signature_id, 'message ' || _idempotency_key || ' ' || _element)"
_OF_A_MESSAGE = """CASE
    WHEN _idempotency_key IS NOT NULL
        THEN 'message ' || _idempotency_key || ' ' || coalesce('id ' || _signature_id, _element::VARCHAR)
    ELSE 'id ' || _signature_id || ' ' || coalesce(epoch_us(_modified_date)::VARCHAR, '') END"""


def key_columns(table: Table, dedupe: Dedupe) -> tuple[Column, ...]:
    """Give the columns that decide, under names of their own."""
    if dedupe not in (True, False, "message"):
        raise ValueError(f"dedupe is True, False or 'message', not {dedupe!r}")
    if dedupe is False:
        return ()
    if table.element == "event":
        if dedupe == "message":
            raise ValueError("dedupe='message' is about webhook messages; events take True or False")
        parent, names = EVENTS, ["event_id", "modified_date", "fetched_at"]
    else:
        parent, names = (
            SIGNATURES,
            ["signature_id", "idempotency_key", "element", "modified_date", "received_at"],
        )
    return tuple(replace(parent.column(name), name=f"_{name}") for name in names)


def kept(
    tables: Iterable[pa.Table], table: Table, dedupe: Dedupe, connection: duckdb.DuckDBPyConnection
) -> Iterator[pa.Table]:
    """Give the rows of the elements that are kept: of each thing the newest, then the last read.

    Which those are is known at the end only, so the rows wait, in a temporary file when they are many, and
    with them a few bytes an element in DuckDB, which spills to disk, too.
    """
    connection.execute(
        "CREATE TABLE seen (ordinal BIGINT, thing UHUGEINT, modified TIMESTAMPTZ, stamp TIMESTAMPTZ)"
    )
    seen = _seen(table, dedupe)
    with tempfile.TemporaryFile(prefix="osdi-frames-") as file:
        waiting, elements = _Waiting(file), 0
        for rows in tables:
            connection.register("rows", rows)
            connection.execute(seen)
            elements = rows[ORDINAL][-1].as_py() + 1
            waiting.add(rows)
        keep = np.zeros(elements, bool)
        keep[connection.sql(_NEWEST).to_arrow_table()["ordinal"].to_numpy()] = True
        for rows in waiting.all():
            chosen = keep[rows[ORDINAL].to_numpy()]
            yield rows if chosen.all() else rows.filter(pa.array(chosen))


@dataclass(slots=True)
class _Waiting:
    """Rows that wait: in memory while they are few, then in a file."""

    file: IO[bytes]
    in_memory: list[pa.Table] = field(default_factory=list)
    writer: pa.RecordBatchWriter | None = None
    size: int = 0

    def add(self, rows: pa.Table) -> None:
        self.size += rows.nbytes
        if self.size <= _IN_MEMORY:
            self.in_memory.append(rows)
            return
        self.writer = self.writer or pa.ipc.new_stream(self.file, rows.schema)
        self.writer.write_table(rows)

    def all(self) -> Iterator[pa.Table]:
        while self.in_memory:
            yield self.in_memory.pop(0)  # and let go of it
        if self.writer:
            self.writer.close()
            self.file.seek(0)
            yield from (pa.Table.from_batches([batch]) for batch in pa.ipc.open_stream(self.file))


_NEWEST = """SELECT arg_max(ordinal, (coalesce(modified, '-infinity'::TIMESTAMPTZ),
    coalesce(stamp, '-infinity'::TIMESTAMPTZ), ordinal)) AS ordinal FROM seen GROUP BY thing"""


def _seen(table: Table, dedupe: Dedupe) -> str:
    """Give the query that notes the elements of some rows; what has no identity is its own."""
    identity, stamp = "_event_id", "_fetched_at"
    if table.element == "signature":
        identity, stamp = _OF_A_MESSAGE if dedupe == "message" else _SIGNATURE, "_received_at"
    once = f"DISTINCT ON ({ORDINAL})" if table.rows else ""
    return f"""INSERT INTO seen SELECT {once} {ORDINAL},
        coalesce(md5_number({identity}), {ORDINAL}::UHUGEINT), _modified_date, {stamp} FROM rows"""
