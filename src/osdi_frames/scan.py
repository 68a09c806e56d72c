"""An archive read as one table: a stream of Arrow record batches.

A query derived from the table's declaration extracts the mass of the documents, a chunk at a time.
Documents that it cannot vouch for are read once more by the precise rooms, `documents` and `values`,
which give their rows and name their problems.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames import archive, query
from osdi_frames.archive import Chunk, Limits, Source
from osdi_frames.documents import Element, elements, is_delivery
from osdi_frames.identity import ORDINAL, Dedupe, kept, key_columns
from osdi_frames.problems import Finding, OnError, Place, Policy, Problem
from osdi_frames.query import ABSENT, NUMBER, POSITION, SUSPECT
from osdi_frames.tables import known_prefixes
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import ARROW, Column, Table
from osdi_frames.tables.shape import ElementShape, element_shape
from osdi_frames.values import inspect_element, rows

_GROUP = 64 << 20  # bytes of documents that one query reads
_SLICES, _ROWS = (
    8,
    4096,
)  # at least so many batches, of at most so many rows (two vectors of DuckDB), for every core

#: What DuckDB raises for malformed JSON.
_MALFORMED = (duckdb.InvalidInputException, duckdb.ConversionException)


def scan(
    source: Source,
    table: str,
    *,
    columns: Iterable[str] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    limits: Limits | None = None,
    progress: bool | None = None,
) -> pa.RecordBatchReader:
    """Read an archive as one table: a stream of record batches in bounded memory.

    polars, DuckDB and pyarrow take the reader as it is. With `dedupe` the first batch comes when all has
    been read: the rows wait in a temporary file until it is known which of them are kept. Parameters and
    errors are those of `read_table`; a BadDocument comes while reading.

    Returns
    -------
    pyarrow.RecordBatchReader
        Its schema carries the meaning of each column.

    Examples
    --------
    >>> import osdi_frames as of
    >>> page = {"_embedded": {"osdi:events": [{"title": "March", "total_accepted": 12}]}}
    >>> of.scan(page, "events", columns=["title", "total_accepted"]).read_all().to_pylist()
    [{'title': 'March', 'total_accepted': 12}]
    """
    chosen = declared(table).select(columns)
    policy = Policy(on_error)
    keys = key_columns(declared(table), dedupe)
    reading = _Reading.of(declared(table), (*chosen, *keys), known_prefixes(prefix), policy)
    chunks = archive.read(source, policy.meet, limits=limits, progress=progress)
    schema = declared(table).schema(chosen)
    return pa.RecordBatchReader.from_batches(schema, _batches(reading, chunks, schema, dedupe))


def _batches(
    reading: _Reading, chunks: Iterator[Chunk], schema: pa.Schema, dedupe: Dedupe
) -> Iterator[pa.RecordBatch]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        tables = reading.tables(_ahead(_grouped(chunks)), connection)
        if dedupe is not False:
            tables = kept(tables, reading.table, dedupe, connection)
        for rows in tables:
            absent = rows[ABSENT]
            present = rows.filter(pc.invert(absent)) if pc.any(absent).as_py() else rows
            yield from present.select(schema.names).cast(schema).to_batches()
    reading.policy.close()


@dataclass(frozen=True, slots=True)
class _Group:
    """Candidates enough for one query, and where each was read."""

    documents: pa.ChunkedArray
    files: pa.Array
    lines: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def of(cls, chunks: list[Chunk]) -> _Group:
        names = pa.array([chunk.name for chunk in chunks], pa.string())
        counts = [len(chunk.documents) for chunk in chunks]
        files = names.take(pa.array(np.repeat(np.arange(len(chunks)), counts)))
        documents = pa.chunked_array([chunk.documents for chunk in chunks], pa.binary())
        return cls(documents, files, np.concatenate([chunk.lines for chunk in chunks]))

    def place(self, number: int, line: int = 0) -> Place:
        return Place(self.files[number].as_py(), int(self.lines[number]) + line)


def _grouped(chunks: Iterable[Chunk]) -> Iterator[_Group]:
    """Collect chunks until a query is worth its while."""
    waiting, size = [], 0
    for chunk in chunks:
        waiting.append(chunk)
        size += chunk.documents.nbytes
        if size >= _GROUP:
            yield _Group.of(waiting)
            waiting, size = [], 0
    if waiting:
        yield _Group.of(waiting)


def _ahead(groups: Iterator[_Group]) -> Iterator[_Group]:
    """Read the next group while the query runs over the one before."""
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="osdi-frames-reading")
    try:
        following = pool.submit(next, groups, None)
        while group := following.result():
            following = pool.submit(next, groups, None)
            yield group
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One table being read: what is asked of it, and what becomes of problems."""

    table: Table
    columns: tuple[Column, ...]
    prefixes: tuple[str, ...]
    policy: Policy
    shape: ElementShape
    sql: str
    schema: pa.Schema

    @classmethod
    def of(
        cls, table: Table, columns: tuple[Column, ...], prefixes: tuple[str, ...], policy: Policy
    ) -> _Reading:
        fields = [(NUMBER, pa.int64()), (POSITION, pa.int64()), (ABSENT, pa.bool_())]
        schema = pa.schema([*fields, *((column.name, ARROW[column.type]) for column in columns)])
        sql = query.extraction(table, columns, prefixes)
        return cls(table, columns, prefixes, policy, element_shape(table, columns, prefixes), sql, schema)

    def tables(self, groups: Iterable[_Group], connection: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
        """Give the rows of each group, numbered by element in the order of reading."""
        elements_before = 0
        for group in groups:
            table = self._rows(group, connection)
            ordinals = _ordinals(table) + elements_before
            if len(ordinals):
                elements_before = int(ordinals[-1]) + 1
                yield table.append_column(ORDINAL, pa.array(ordinals))

    def _rows(self, group: _Group, connection: duckdb.DuckDBPyConnection) -> pa.Table:
        """Read a group by the query, and precisely where the query cannot vouch for a document."""
        documents, undecodable = _decoded(group)
        found, broken = self._extracted(documents, connection)
        suspect = pc.unique(found[NUMBER].filter(found[SUSPECT]))
        found = found.filter(pc.invert(pc.is_in(found[NUMBER], value_set=suspect))) if len(suspect) else found
        plain = self._placed(found, group)
        numbers = sorted({*undecodable, *broken, *suspect.to_pylist()})
        if not numbers:
            return plain
        precise = [row for number in numbers for row in self._precise(group, number)]
        both = pa.concat_tables([plain, pa.Table.from_pylist(precise, self.schema)])
        return both.sort_by([(NUMBER, "ascending"), (POSITION, "ascending")])

    def _extracted(
        self, documents: pa.Table, connection: duckdb.DuckDBPyConnection
    ) -> tuple[pa.Table, list[int]]:
        """Run the query over the documents that are JSON; give the numbers of those that are not."""
        connection.register("documents", documents)
        if query.parses_every_document(self.table):
            # Malformed JSON is rare, and fails the query: it is looked for only then.
            with contextlib.suppress(*_MALFORMED):
                return connection.sql(self.sql).to_arrow_table(), []
        broken = connection.sql(f"SELECT number FROM documents WHERE NOT ({query.VALID})").to_arrow_table()
        numbers = broken["number"].combine_chunks()
        if len(numbers):
            parsable = documents.filter(pc.invert(pc.is_in(documents["number"], value_set=numbers)))
            connection.register("documents", parsable)
        return connection.sql(self.sql).to_arrow_table(), numbers.to_pylist()

    def _placed(self, found: pa.Table, group: _Group) -> pa.Table:
        """Add where each row was read."""
        numbers = found[NUMBER].to_numpy()
        given = {"source_file": group.files, "source_line": pa.array(group.lines)}
        arrays = [
            given[name].take(pa.array(numbers)) if name in given else found[name]
            for name in self.schema.names
        ]
        return pa.table(arrays, names=self.schema.names).cast(self.schema)

    def _precise(self, group: _Group, number: int) -> Iterator[dict[str, Any]]:
        """Read one candidate on parsed JSON, and meet its problems."""
        position = 0
        for line, document in archive.split(group.documents[number].as_py()):
            place = group.place(number, line)
            for each in self._told(document):
                if isinstance(each, Finding):
                    self.policy.meet(Problem(place, each.problem, each.detail, each.severity))
                    continue
                of_element, entries = rows(each, self.table, self.columns, self.prefixes)
                of_element |= {"source_file": place.source_file, "source_line": place.source_line}
                of_element |= {NUMBER: number, POSITION: position, ABSENT: not entries}
                yield from (of_element | entry for entry in entries or [{}])
                position += 1

    def _told(self, document: Any) -> Iterator[Element | Finding]:
        """Give the elements of the table's kind, and what is wrong in the document or in them."""
        if isinstance(document, Finding):
            yield document
            return
        if self.table.element == "event" and is_delivery(document):
            return
        for each in elements(document):
            if isinstance(each, Finding):
                yield each
            elif isinstance(each, Element) and each.kind == self.table.element:
                yield from inspect_element(each, self.shape, self.columns)
                yield each


def _ordinals(table: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Give the running number of each row's element, told by its document and its position there."""
    if not table.num_rows:
        return np.zeros(0, np.int64)
    numbers, positions = table[NUMBER].to_numpy(), table[POSITION].to_numpy()
    first = (np.diff(numbers) != 0) | (np.diff(positions) != 0)
    return np.concatenate([[0], np.cumsum(first)])


def _decoded(group: _Group) -> tuple[pa.Table, list[int]]:
    """Give the candidates that are UTF-8, and the numbers of those that are not."""
    numbers = np.arange(len(group.documents))
    try:
        texts, undecodable = group.documents.cast(pa.string()), np.zeros(0, np.int64)
    except pa.ArrowInvalid:
        decodable = np.array([_is_utf8(each.as_py()) for each in group.documents])
        texts = group.documents.filter(pa.array(decodable)).cast(pa.string())
        numbers, undecodable = numbers[decodable], numbers[~decodable]
    return _sliced(pa.table({"number": numbers, "document": texts})), undecodable.tolist()


def _is_utf8(document: bytes) -> bool:
    try:
        document.decode()
    except UnicodeDecodeError:
        return False
    return True


def _sliced(documents: pa.Table) -> pa.Table:
    size = max(1, min(_ROWS, -(-documents.num_rows // _SLICES)))
    return pa.Table.from_batches(documents.to_batches(max_chunksize=size), documents.schema)
