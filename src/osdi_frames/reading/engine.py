"""The database that reads documents: in memory, for one reading at a time, its queries prepared once."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from osdi_frames.reading.arrays import with_strings
from osdi_frames.reading.query import PAIRS_OF

_REWRITING = ("unused_columns", "statistics_propagation")
# A batch costs a wide query some milliseconds, however few rows it has; every core is to have some.
_BATCHES, _FEWEST_ROWS, _MOST_ROWS = 8, 512, 4096
_INTERRUPTED = "Query interrupted"  # what DuckDB makes of Ctrl-C
_STATEMENTS = 200  # that an engine remembers before it is closed

#: Engines that no reading uses, by process: the threads of a database do not survive a fork.
_idle: dict[int, list[Engine]] = {}


@contextmanager
def engine() -> Iterator[Engine]:
    """Lend an engine to a reading; the next reading finds the queries of this one prepared.

    To open a database and to prepare the queries of a wide table takes longer than reading a small archive.
    """
    idle = _idle.setdefault(os.getpid(), [])
    lent = idle.pop() if idle else Engine()
    try:
        yield lent
    except RuntimeError as error:
        if _INTERRUPTED in str(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        if idle or len(lent.names) > _STATEMENTS:
            lent.connection.close()
        else:
            lent.clear()
            idle.append(lent)


@atexit.register
def _close() -> None:
    for each in _idle.pop(os.getpid(), []):
        each.connection.close()


def connect() -> duckdb.DuckDBPyConnection:
    """Open a database in memory."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    connection.execute("SET arrow_output_version = '1.4'; SET produce_arrow_string_view = true")
    # The queries are long and as they are to run: other rewriting takes longer than reading a small archive.
    rewriting = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    unused = ",".join(name for (name,) in rewriting if name not in _REWRITING)
    connection.execute(f"SET disabled_optimizers = '{unused}'")
    return connection


@dataclass(slots=True)
class Relation:
    """A relation of queries. What it holds changes, so that a query over it is prepared once."""

    table: pa.Table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the rows to a query."""
        return self.table.__arrow_c_stream__(requested_schema)

    def clear(self) -> None:
        """Let go of the rows."""
        self.table = self.table.schema.empty_table()


@dataclass(slots=True)
class Engine:
    """A database, with what is prepared in it."""

    connection: duckdb.DuckDBPyConnection = field(default_factory=connect)
    relations: dict[str, Relation] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """The names of prepared statements and of tables, by their queries."""

    def put(self, name: str, table: pa.Table) -> None:
        """Let a relation hold some rows; its schema is always the same."""
        rows = min(max(_FEWEST_ROWS, -(-table.num_rows // _BATCHES)), _MOST_ROWS)
        if any(column.num_chunks > 1 for column in table.columns):
            table = table.combine_chunks()
        table = pa.Table.from_batches(table.to_batches(rows), table.schema)
        if name in self.relations:
            self.relations[name].table = table
        else:
            self.relations[name] = Relation(table)
            self.connection.register(name, self.relations[name])

    def run(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Run a query."""
        return self.connection.sql(f"EXECUTE {self._prepared(sql)}")

    def pairs(self, objects: pa.Array) -> pa.Array:
        """Return the pairs of objects as lists of key, value and misplaced, from their JSON; null for others."""
        self.put("objects", pa.table({"object": objects}))
        pairs = self.run(PAIRS_OF).to_arrow_table()["pairs"].combine_chunks()
        return pairs.cast(with_strings(pairs.type))

    def insert(self, table: str, sql: str) -> None:
        """Add the result of a query to a table."""
        self.connection.execute(f"EXECUTE {self._prepared(f'INSERT INTO {table} {sql}')}")

    def held(self, sql: str) -> str:
        """Hold the result of a query over ``documents`` in a table, for several queries; return its name."""
        documents = self.relations["documents"]
        rows = documents.table
        documents.clear()
        table = self.table(sql)
        documents.table = rows
        self.connection.execute(f"TRUNCATE {table}")
        self.insert(table, sql)
        return table

    def table(self, sql: str) -> str:
        """Return the name of a table with the columns of a query, which is run when it is made."""
        if sql not in self.names:
            name = f"table{len(self.names)}"
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")
            self.names[sql] = name  # only now: Ctrl-C ends a query in the middle
        return self.names[sql]

    def clear(self) -> None:
        """Let go of all rows."""
        for relation in self.relations.values():
            relation.clear()
        for name in self.names.values():
            if name.startswith("table"):
                self.connection.execute(f"TRUNCATE {name}")

    def _prepared(self, sql: str) -> str:
        if sql not in self.names:
            name = f"statement{len(self.names)}"
            self.connection.execute(f"PREPARE {name} AS {sql}")
            self.names[sql] = name
        return self.names[sql]
