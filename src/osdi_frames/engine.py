"""Connections to DuckDB, and the files from which its queries read documents."""

from __future__ import annotations

import atexit
import os
import re
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from osdi_frames.durable import FULL, naming

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Every batch of a relation costs a query some time, but there have to be enough for all cores.
_BATCHES, _FEWEST_ROWS, _MOST_ROWS = 8, 512, 4096
#: What errors say after Ctrl-C: in a query, and in what it calls in Python, where DuckDB 1.5 says so in more words.
_INTERRUPTED = re.compile(r"Query interrupted|KeyboardInterrupt(?:: <EMPTY MESSAGE>)?[: \n]*(?:At:|$)")
_SETTINGS = "SET TimeZone = 'UTC'; SET enable_progress_bar = false; SET enable_external_file_cache = false"

#: The database of each process, since threads do not survive a fork, with its idle files. Opening one takes 20 ms.
_databases: dict[int, tuple[DuckDBPyConnection, list[Lines]]] = {}

#: Arrow's memory pool before each use of `_malloc` that has not ended.
_previous_pools: list[pa.MemoryPool] = []
_lock = threading.Lock()


@contextmanager
def _malloc() -> Iterator[None]:
    """Make Arrow allocate with malloc as long as any thread is in this context.

    Arrow's own allocator returns free pages to the system at once, which then clears them again for the next group;
    that takes a fifth of the time of a pass.
    """
    with _lock:
        _previous_pools.append(pa.default_memory_pool())
        pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        with _lock:
            pool = _previous_pools.pop()
            if not _previous_pools:
                pa.set_memory_pool(pool)


@contextmanager
def _python_errors() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for Ctrl-C and `OSError` for a full disk, which DuckDB reports as errors of its own."""
    try:
        yield
    except Exception as error:
        message = str(error)
        if _INTERRUPTED.search(message):
            raise KeyboardInterrupt from error
        full = next((number for number in FULL if os.strerror(number) in message), None)
        if full and not isinstance(error, OSError):
            raise OSError(full, os.strerror(full), "temporary files of DuckDB") from error
        raise


@contextmanager
def engine() -> Iterator[Engine]:
    """Open a connection to this process's database; closing it deletes its relations and tables."""
    import duckdb  # only when something is read: the import takes a tenth of that of pandas

    if os.getpid() not in _databases:
        # Callers that need several cores query from several threads, which DuckDB's own threads would slow down.
        # DuckDB 1.5 cannot hand bounds of a join that are above 2**63, as halves of digests are, to a table of Arrow.
        database = duckdb.connect(config={"threads": 1, "disabled_optimizers": "join_filter_pushdown"})
        _databases.setdefault(os.getpid(), (database, []))
    database, idle = _databases[os.getpid()]
    connection, lines = database.cursor(), idle.pop() if idle else Lines()
    try:
        with _python_errors(), _malloc():
            connection.execute(_SETTINGS)
            yield Engine(connection, lines, idle)
    finally:
        connection.close()
        idle.append(lines)


def refused() -> tuple[type[Exception], ...]:
    """Return the errors that DuckDB raises for invalid JSON.

    A `UnicodeDecodeError` is one of them: DuckDB cuts the document in its message, possibly inside a character.
    """
    import duckdb

    return duckdb.InvalidInputException, duckdb.ConversionException, UnicodeDecodeError


@atexit.register
def _close() -> None:
    if entry := _databases.pop(os.getpid(), None):
        entry[0].close()


@dataclass(frozen=True, slots=True)
class Engine:
    """A connection to the database."""

    connection: DuckDBPyConnection
    lines: Lines
    """The file of documents that queries read."""
    idle: list[Lines]
    """The files of earlier connections, kept for later ones."""

    def release(self) -> None:
        """Return the memory of ended queries to the system, before a step that needs much memory."""
        # DuckDB keeps the memory of ended queries for the next ones, until its limit is set.
        self.connection.execute("RESET memory_limit")
        self.lines.clear()  # not empty after a pass that failed
        self.idle.clear()
        pa.default_memory_pool().release_unused()

    def put(self, name: str, table: pa.Table) -> None:
        """Make a table available to queries as a relation, in place of an earlier one of this name."""
        rows = min(max(_FEWEST_ROWS, -(-table.num_rows // _BATCHES)), _MOST_ROWS)
        if any(column.num_chunks * _FEWEST_ROWS > len(column) for column in table.columns):
            table = table.combine_chunks()
        with _python_errors():
            self.connection.register(name, pa.Table.from_batches(table.to_batches(rows), table.schema))

    def ask(self, query: str) -> pa.Table:
        """Run a query and return its rows."""
        with _python_errors():
            return self.connection.sql(query).to_arrow_table()


@dataclass(slots=True)
class Pipeline:
    """Named queries, each of which reads relations and the queries named before it."""

    engine: Engine
    queries: dict[str, str] = field(default_factory=dict)
    """The queries that are made as parts of others, by name."""

    def put(self, name: str, table: pa.Table) -> None:
        """Let a name stand for the rows of a table."""
        self.queries.pop(name, None)
        self.engine.put(name, table)

    def name(self, name: str, query: str) -> None:
        """Let a name stand for a query, which is made with each query that reads it."""
        self.queries[name] = query

    def ask(self, query: str) -> pa.Table:
        """Return the rows of a query."""
        parts = ", ".join(f"{name} AS ({part})" for name, part in self.queries.items())
        return self.engine.ask(f"WITH {parts} {query}" if parts else query)

    def keep(self, name: str, query: str) -> pa.Table:
        """Return the rows of a query; let its name stand for them."""
        rows = self.ask(query)
        self.put(name, rows)
        return rows


class Lines:
    """A file of documents that is rewritten for each query: in memory on Linux, a temporary file elsewhere."""

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
        # The file is overwritten and then truncated, since emptying it first would free its memory.
        with naming(self.address), open(self.address, "r+b") as file:  # noqa: PTH123 (an address is text)
            self.size = sum(map(file.write, parts))
            file.truncate()

    def clear(self) -> None:
        """Empty the file, which frees its memory."""
        os.truncate(self.address, 0)
        self.size = 0


def sql_name(name: str) -> str:
    """Return a name as an SQL identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Return a text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
