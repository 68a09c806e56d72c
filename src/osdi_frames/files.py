"""Batches written to files, and folders that appear whole."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from osdi_frames.errors import DestinationExists, UnfitColumn

Format = Literal["parquet", "csv"]

#: What a spreadsheet takes for the beginning of a formula.
_FORMULA = r"^([=+\-@\t\r])"

_EXCHANGE = 2  # RENAME_EXCHANGE of linux/fs.h
_HERE = -100  # AT_FDCWD


@dataclass(frozen=True, slots=True)
class Partition:
    """A folder for each value of a column, or for each month of one.

    The folders have a name of their own, and the column stays in the files: a reader that makes text or a
    number of what a folder is called leaves the values alone, and what is missing stays missing.
    """

    column: str
    by_month: bool = False

    @property
    def folder(self) -> str:
        """What the folders are called, before their value."""
        return "month" if self.by_month else f"by_{self.column}"

    def add_to(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Give the batch with the values that its folders are called by; none for what is missing."""
        column = batch[self.column]
        values = pc.strftime(column, format="%Y-%m") if self.by_month else column.cast(pa.string())
        return batch.append_column(self.folder, pc.fill_null(values, "none"))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Give the schema with the column that `add_to` adds."""
        kind = schema.field(self.column).type
        if pa.types.is_nested(kind) or (pa.types.is_temporal(kind) and not self.by_month):
            raise UnfitColumn(f"{self.column} cannot be partitioned by: it holds {kind}")
        return schema.append(pa.field(self.folder, pa.string()))


def write_batches(
    batches: pa.RecordBatchReader,
    path: Path,
    format: Format,  # noqa: A002 (the word that pandas users know)
    *,
    partition: Partition | None = None,
    formulas: bool = False,
) -> int:
    """Write a stream of batches to ``path.parquet`` or ``path.csv``, or partitioned into the folder `path`.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ValueError
        An unknown format.
    UnfitColumn
        A column of lists or times cannot be partitioned by.
    """
    if format not in ("parquet", "csv"):
        raise ValueError(f"format is 'parquet' or 'csv', not {format!r}")
    rows = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in batches:
            rows += batch.num_rows
            yield partition.add_to(batch) if partition else batch

    schema = partition.schema(batches.schema) if partition else batches.schema
    stream = pa.RecordBatchReader.from_batches(schema, counted())
    if format == "csv":
        stream = _as_text(stream, formulas=formulas)
    if partition:
        _write_partitioned(stream, path, format, partition)
    else:
        _write_file(stream, path.with_suffix(f".{format}"), format)
    return rows


def _write_file(stream: pa.RecordBatchReader, path: Path, format: Format) -> None:  # noqa: A002 (as in `export`)
    if format == "csv":
        writer = pa.csv.CSVWriter(path, stream.schema)
    else:
        writer = pa.parquet.ParquetWriter(path, stream.schema, compression="zstd")
    with writer:
        for batch in stream:
            writer.write_batch(batch)


def _write_partitioned(
    stream: pa.RecordBatchReader,
    path: Path,
    format: Format,  # noqa: A002 (as in `export`)
    partition: Partition,
) -> None:
    parquet = pa.dataset.ParquetFileFormat()
    pa.dataset.write_dataset(
        stream,
        path,
        format="csv" if format == "csv" else parquet,
        file_options=None if format == "csv" else parquet.make_write_options(compression="zstd"),
        partitioning=pa.dataset.partitioning(
            pa.schema([stream.schema.field(partition.folder)]), flavor="hive"
        ),
        basename_template=f"part-{{i}}.{format}",
        max_partitions=1 << 14,
    )


def _as_text(stream: pa.RecordBatchReader, *, formulas: bool) -> pa.RecordBatchReader:
    """Give what CSV can hold: lists as JSON, datetimes as ISO 8601, and no formulas."""
    fields = [
        field if _is_plain(field.type) else pa.field(field.name, pa.string()) for field in stream.schema
    ]
    schema = pa.schema(fields)

    def texts() -> Iterator[pa.RecordBatch]:
        for batch in stream:
            columns = [_text(column) for column in batch.columns]
            if not formulas:
                columns = [_harmless(column) for column in columns]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, texts())


def _is_plain(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_timestamp(kind))


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_nested(column.type):
        texts = [
            None if each is None else json.dumps(each, ensure_ascii=False) for each in column.to_pylist()
        ]
        return pa.array(texts, pa.string())
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, format="%Y-%m-%dT%H:%M:%SZ" if column.type.tz else "%Y-%m-%dT%H:%M:%S")
    return column


def _harmless(column: pa.Array) -> pa.Array:
    if not pa.types.is_string(column.type):
        return column
    return pc.replace_substring_regex(column, _FORMULA, r"'\1")


@contextlib.contextmanager
def whole_folder(
    destination: str | os.PathLike[str], *, names: Iterable[str], overwrite: bool
) -> Iterator[Path]:
    """Give a folder to write into that becomes `destination` at the end, or never.

    Parameters
    ----------
    destination
        Where the folder is to stand.
    names
        The names, without suffix, that an earlier folder of this kind can hold: no other is replaced.
    overwrite
        Replace an earlier one.

    Raises
    ------
    DestinationExists
        Something stands there that is not to be replaced.
    """
    target = Path.cwd() / destination
    if target.exists() or target.is_symlink():
        if not overwrite:
            raise DestinationExists(f"{destination} exists; overwrite=True (--overwrite) replaces it")
        if not _is_ours(target, set(names)):
            raise DestinationExists(
                f"{destination} is not replaced: it holds what no earlier run has written"
            )
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        folder = beside / target.name
        folder.mkdir()
        yield folder
        if target.exists():
            _exchange(folder, target)
        else:
            folder.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _is_ours(target: Path, names: set[str]) -> bool:
    return target.is_dir() and all(each.name.partition(".")[0] in names for each in target.iterdir())


def _exchange(new: Path, old: Path) -> None:
    """Put one folder in the place of another, and the other in its place, in one step."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(_HERE, os.fsencode(new), _HERE, os.fsencode(old), _EXCHANGE) == 0:
            return
    # Two steps where the system has no single one: between them the old folder stands beside its place.
    aside = new.with_name(f"{new.name}-old")
    old.rename(aside)
    new.rename(old)
