"""DuckDB: its connections, and the file through which a query reads documents."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from osdi_frames.durable import FULL, naming

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# A batch costs a query something, however few rows it has; every core is to have some.
_BATCHES, _FEWEST_ROWS, _MOST_ROWS = 8, 512, 4096
_SETTINGS = "SET TimeZone = 'UTC'; SET enable_progress_bar = false; SET enable_external_file_cache = false"

#: To open a database takes 20 ms. By process, since threads do not survive a fork; with the files that wait for use.
_databases: dict[int, tuple[DuckDBPyConnection, list[Lines]]] = {}

#: What Arrow took its memory from before each use that is not over, and how these wait for each other.
_before: list[pa.MemoryPool] = []
_lock = threading.Lock()


@contextmanager
def _malloc() -> Iterator[None]:
    """Let Arrow use malloc while anyone needs it.

    Its own allocator gives free pages back to the system at once, which clears them for the next group again: a
    fifth of the time of a reading.
    """
    with _lock:
        _before.append(pa.default_memory_pool())
        pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        with _lock:
            pool = _before.pop()
            if not _before:
                pa.set_memory_pool(pool)


@contextmanager
def _stopping() -> Iterator[None]:
    """Let Ctrl-C, and the error of a full disk, be what they are in Python.

    DuckDB makes errors of its own of them, as of a document that is refused.
    """
    try:
        yield
    except Exception as error:
        said = str(error)
        if "Query interrupted" in said or said.rstrip(": \n").endswith("KeyboardInterrupt"):
            raise KeyboardInterrupt from error
        full = next((number for number in FULL if os.strerror(number) in said), None)
        if full and not isinstance(error, OSError):
            raise OSError(full, os.strerror(full), "temporary files of DuckDB") from error
        raise


@contextmanager
def engine() -> Iterator[Engine]:
    """Open a connection; what it holds goes with it."""
    import duckdb  # takes a tenth of the time that pandas takes: not before something is read

    if os.getpid() not in _databases:
        # Who asks several queries at a time has threads of its own, which would wait for those of the database.
        _databases.setdefault(os.getpid(), (duckdb.connect(config={"threads": 1}), []))
    database, idle = _databases[os.getpid()]
    connection, lines = database.cursor(), idle.pop() if idle else Lines()
    try:
        with _stopping(), _malloc():
            connection.execute(_SETTINGS)
            yield Engine(connection, lines, idle)
    finally:
        connection.close()
        idle.append(lines)


def refused() -> tuple[type[Exception], ...]:
    """Return the errors of DuckDB for invalid JSON; the last comes where its message cuts a character in two."""
    import duckdb

    return duckdb.InvalidInputException, duckdb.ConversionException, UnicodeDecodeError


@atexit.register
def _close() -> None:
    if mine := _databases.pop(os.getpid(), None):
        mine[0].close()


@dataclass(frozen=True, slots=True)
class Engine:
    """A connection to the database."""

    connection: DuckDBPyConnection
    lines: Lines
    """Documents that a query reads as a file."""
    idle: list[Lines]
    """Files that wait for the next use."""

    def release(self) -> None:
        """Return the memory of ended queries, which what is made of their rows needs."""
        # DuckDB keeps what queries have freed for the next ones; whenever its limit is set, it gives that back.
        self.connection.execute("RESET memory_limit")
        self.lines.clear()  # of an earlier reading that failed
        self.idle.clear()
        pa.default_memory_pool().release_unused()

    def put(self, name: str, table: pa.Table) -> None:
        """Let a relation hold some rows."""
        rows = min(max(_FEWEST_ROWS, -(-table.num_rows // _BATCHES)), _MOST_ROWS)
        if any(column.num_chunks * _FEWEST_ROWS > len(column) for column in table.columns):
            table = table.combine_chunks()
        with _stopping():
            self.connection.register(name, pa.Table.from_batches(table.to_batches(rows), table.schema))

    def ask(self, query: str) -> pa.Table:
        """Return the rows of a query."""
        with _stopping():
            return self.connection.sql(query).to_arrow_table()


class Lines:
    """A file of documents, rewritten for each query: in memory on Linux, temporary elsewhere."""

    def __init__(self) -> None:
        self.size = 0
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("osdi-frames")
            self.address = f"/proc/self/fd/{descriptor}"
            weakref.finalize(self, os.close, descriptor)
        else:
            descriptor, self.address = tempfile.mkstemp(prefix="osdi-frames-")
            os.close(descriptor)
            weakref.finalize(self, os.unlink, self.address)

    def write(self, parts: Iterable[pa.Buffer]) -> None:
        """Replace the content."""
        # Its memory is used again, so it is not emptied before.
        with naming(self.address), open(self.address, "r+b") as file:  # noqa: PTH123 (an address is text)
            self.size = sum(map(file.write, parts))
            file.truncate()

    def clear(self) -> None:
        """Return its memory."""
        os.truncate(self.address, 0)
        self.size = 0


def sql_name(name: str) -> str:
    """Return an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Return a text of SQL."""
    return "'" + text.replace("'", "''") + "'"
