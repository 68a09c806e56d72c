"""Tables of a warehouse, a column of which holds what the service sent: each row is read as a document."""

from __future__ import annotations

import base64
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from osdi_frames.errors import InvalidSource
from osdi_frames.messages import shorten_names
from osdi_frames.problems import Place, Problem, ProblemKind, file_name
from osdi_frames.sources.file_kinds import suffix, suffix_inside
from osdi_frames.sources.files import BROKEN, File, Handle, tables_in
from osdi_frames.sources.layout import Chunk
from osdi_frames.sources.limits import Limits
from osdi_frames.sources.remote import Remote
from osdi_frames.sources.streams import BufferedStream
from osdi_frames.sources.wrapped import holds_document
from osdi_frames.sources.wrapper_times import is_time

_ROWS = 1000  # that are read together, and in which a column of documents is looked for
_PARQUET = b"PAR1"
_SEPARATORS = ",;\t|"
_REPORT = re.compile(r"[^,;\t]*\([A-Z]{2,4}\)")  # a column of times, in the zone of the service's screens


def refuse_exported(tables: Iterable[File], folders: Iterable[str]) -> None:
    """Raise InvalidSource for a table without a column of documents; if there is none, for any table in folders.

    Workbooks are not read, whatever they hold.
    """
    tables = list(tables)
    in_folders = sorted(itertools.chain.from_iterable(map(tables_in, folders))) if not tables else []
    refused = itertools.chain((table for table in tables if not _holds_documents(table)), in_folders)
    if table := next(refused, None):
        raise InvalidSource(_refusal(table))


def is_table(name: str, reader: BufferedStream) -> bool:
    """Return whether a file is a table of rows."""
    return suffix_inside(name) == ".csv" or reader.peek(len(_PARQUET))[: len(_PARQUET)] == _PARQUET


def rows_of(name: str, reader: BufferedStream, limits: Limits, handle: Handle) -> Iterator[Chunk]:
    """Yield the rows of a table as documents: of each, the columns that hold documents, and those of times.

    The line is that on which a row of a CSV file begins, or the number of a row of Parquet.
    """
    kept = frozenset[str]()
    rows = _rows(name, reader)
    while numbered := [*itertools.islice(rows, _ROWS)]:
        kept = kept or _columns_of_documents(row for _, row in numbered)
        if not kept:
            handle(Problem(Place(name), ProblemKind.NO_FILE, "a table without a column of documents"))
            return
        documents, lines = list[bytes](), list[int]()
        for line, row in numbered:
            filled = {
                key: row[key] for key in row if row[key] not in (None, "") and (key in kept or is_time(key))
            }
            document = json.dumps(filled, default=_text).encode() if filled else b""
            if len(document) > limits.document_bytes:
                most = f"{limits.document_bytes:,} (Limits.document_bytes)"
                detail = f"a row of {len(document):,} bytes, more than {most}"
                handle(Problem(Place(name, line), ProblemKind.LIMIT, detail))
            elif document:
                documents.append(document)
                lines.append(line)
        if documents:
            array = pa.array(documents, pa.binary())
            yield Chunk(name, array, np.array(lines, np.int64), sum(map(len, documents)))


def _columns_of_documents(rows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the columns of which a value is a document, or holds one; a row itself is none, as of an export."""
    found = set[str]()
    for row in rows:
        for key in row.keys() - found:
            value = row[key]
            if isinstance(value, str | bytes | dict | list) and value:
                text = value if isinstance(value, str) else _text(value)
                if holds_document(text):
                    found.add(key)
    return frozenset(found)


def _rows(name: str, reader: BufferedStream) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each row of a table with its line or number."""
    return _csv(reader) if suffix_inside(name) == ".csv" else _parquet(reader)


def _csv(reader: BufferedStream) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import pandas as pd  # its reader has no limit of the bytes of a field

    head = reader.peek().partition(b"\n")[0].decode("utf-8", "replace")
    separator = max(_SEPARATORS, key=head.count)
    texts: Any = {"dtype": str, "keep_default_na": False, "skip_blank_lines": False, "encoding": "utf-8-sig"}
    line = 2
    for chunk in pd.read_csv(reader, sep=separator, chunksize=_ROWS, **texts):
        names = [str(name) for name in chunk.columns]
        for values in chunk.itertuples(index=False, name=None):
            yield line, dict(zip(names, values, strict=True))
            line += 1 + sum(value.count("\n") for value in values if isinstance(value, str))


def _parquet(reader: BufferedStream) -> Iterator[tuple[int, Mapping[str, Any]]]:
    from pyarrow.parquet import ParquetFile  # takes its time, and archives have none

    source = reader if reader.seekable() else io.BytesIO(reader.read())
    with ParquetFile(source) as file:
        rows = (row for batch in file.iter_batches(_ROWS) for row in batch.to_pylist())
        yield from enumerate(rows, 1)


def _text(value: Any) -> str:
    """Return what JSON has no form of as text, and nested values as JSON."""
    if isinstance(value, dict | list):
        return json.dumps(value, default=_text)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _holds_documents(file: File) -> bool:
    """Return whether one of the first rows of a table holds a document."""
    try:
        with file.open() if isinstance(file, Remote) else Path(file).open("rb") as stream:
            reader = BufferedStream(stream)
            if not is_table(str(file), reader):
                return False
            first = itertools.islice(_rows(str(file), reader), _ROWS)
            return bool(_columns_of_documents(row for _, row in first))
    except BROKEN:
        return False


def _refusal(file: File) -> str:
    path, kind = shorten_names(file_name(str(file))), suffix(str(file))[1:].replace("xlsx", "excel")
    said = f"{path} is an exported table, and no archive; pandas.read_{kind} reads it"
    if kind == "csv" and isinstance(file, str) and _is_report(file):
        return (
            f"{path} is a report that the service exports, and no archive; pandas.read_csv reads it, and its times are "
            "those of the zone in the column's name; osdi-frames pull and receive bring what it counts, with ids"
        )
    return f'{said}; of a frame with a column of deliveries: open(frame["payload"])'


def _is_report(path: str) -> bool:
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        return any(_REPORT.fullmatch(name.strip('" ')) for name in file.readline().rstrip().split(","))
