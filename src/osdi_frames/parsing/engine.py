"""The database that parses documents: one in memory for each process, with a connection for each use."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from osdi_frames.parsing import query
from osdi_frames.parsing.arrays import one
from osdi_frames.parsing.lines import Lines
from osdi_frames.tables.forms import Form
from osdi_frames.tables.shape import Shape

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
    """Let Arrow take its memory from malloc, as long as anyone has asked for that.

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
    """Let Ctrl-C be what it is in Python: DuckDB makes errors of it, as of a document that is refused."""
    try:
        yield
    except Exception as error:
        said = str(error)
        if "Query interrupted" in said or said.rstrip(": \n").endswith("KeyboardInterrupt"):
            raise KeyboardInterrupt from error
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
    """Return what DuckDB raises for JSON that it does not take; the last where its message cuts a character in two."""
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
        """Give the memory of ended queries back to the system, for what is made of their rows."""
        # DuckDB keeps what queries have freed for the next ones; whenever its limit is set, it gives that back.
        self.connection.execute("RESET memory_limit")
        self.idle.clear()
        pa.default_memory_pool().release_unused()

    def put(self, name: str, table: pa.Table) -> None:
        """Let a relation hold some rows."""
        rows = min(max(_FEWEST_ROWS, -(-table.num_rows // _BATCHES)), _MOST_ROWS)
        if any(column.num_chunks * _FEWEST_ROWS > len(column) for column in table.columns):
            table = table.combine_chunks()
        with _stopping():
            self.connection.register(name, pa.Table.from_batches(table.to_batches(rows), table.schema))

    def ask(self, question: str) -> pa.Table:
        """Return the rows that a query gives."""
        with _stopping():
            return self.connection.sql(question).to_arrow_table()

    def parse(self, form: Form, shape: Shape, documents: pa.Table) -> pa.Table:
        """Look for a shape in documents, as `query.parse` does.

        One of `refused` is raised where one has anything else in the place of an object or a list, has a declared
        key twice, or is no JSON.
        """
        self.lines.write(one(documents["document"]))
        parse = query.parse(self.lines.address, self.lines.size, form, shape)
        found = self.ask(parse)
        if len(found) != len(documents):
            raise refused()[0]("some are not one document")
        return found

    def pairs(self, objects: pa.Array) -> pa.Array:
        """Return the pairs of objects as lists of key, value and misplaced, from their JSON; null for others."""
        self.put("texts", pa.table({"text": objects}))
        return one(self.ask(f"SELECT {query.PAIRS} AS value FROM texts")["value"])
