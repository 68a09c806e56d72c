"""Tables written to Parquet and CSV files: batches as they come, texts that no spreadsheet runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from osdi_frames.archive import durable
from osdi_frames.errors import UnfitColumn

Format = Literal["parquet", "csv"]

#: What a spreadsheet takes for the beginning of a formula: a sign, also fullwidth or small, also after blanks
#: and characters that are not seen; and the blanks that some programs drop before they look.
_FORMULA = (
    r"^([\pZ\p{Cc}\p{Cf}]*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}\x{fe66}\x{fe62}\x{fe63}\x{fe6b}]|[\t\r\n])"
)


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


def write_tables(
    streams: Iterable[tuple[str, pa.RecordBatchReader]],
    folder: Path,
    format: Format,  # noqa: A002 (the word that pandas users know)
    *,
    partitions: Mapping[str, Partition | None] | None = None,
    escape_formulas: bool = True,
) -> dict[str, int]:
    """Write tables into a folder: ``name.parquet`` or ``name.csv``, a partitioned one into the folder `name`.

    Parameters
    ----------
    streams
        The name and the batches of each table; each is read to its end before the next is asked for.
    folder
        An existing folder.
    format
        ``"parquet"`` or ``"csv"``.
    partitions
        The partition of a table, by the table's name.
    escape_formulas
        CSV: see `export`.

    Returns
    -------
    dict
        The number of rows of each table.

    Raises
    ------
    ValueError
        An unknown format.
    UnfitColumn
        A column of lists or times cannot be partitioned by.
    """
    if format not in ("parquet", "csv"):
        raise ValueError(f"format is 'parquet' or 'csv', not {format!r}")
    partitions = partitions or {}
    counts = {}
    for name, batches in streams:
        counted = _Counted(partitions.get(name))
        stream = counted.read(batches)
        if format == "csv":
            stream = _as_text(stream, escape_formulas=escape_formulas)
        if counted.partition:
            _write_partitioned(stream, folder / name, format, counted.partition)
        else:
            _write_file(stream, folder / f"{name}.{format}", format)
        counts[name] = counted.rows
    return counts


def write_csv(frame: pd.DataFrame, path: str | os.PathLike[str], *, escape_formulas: bool = True) -> None:
    """Write a report, or any frame, to a CSV file that is safe to open in a spreadsheet.

    The file appears whole, replaces an earlier one, and is readable by its owner only. Lists are JSON,
    datetimes ISO 8601.

    Parameters
    ----------
    frame
        The frame; an index that has a name is written before the columns.
    path
        The file to write.
    escape_formulas
        Write an apostrophe before a text, or a column's name, that a spreadsheet would run as a formula:
        one that begins with ``= + - @`` (also fullwidth, also after blanks), tab, return or line feed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(pd.DataFrame({"source": ["=1+1"], "count": [-2]}), f"{folder}/a.csv")
    ...     print(Path(f"{folder}/a.csv").read_text(), end="")
    "source","count"
    "'=1+1",-2
    """
    named = any(name is not None for name in frame.index.names)
    table = pa.Table.from_pandas(frame.reset_index() if named else frame, preserve_index=False)
    target = Path(os.path.realpath(path))
    with durable.draft(target) as drafts:
        _write_file(_as_text(table.to_reader(), escape_formulas=escape_formulas), drafts / target.name, "csv")
        durable.publish_file(drafts / target.name, target)


@dataclass(slots=True)
class _Counted:
    """The rows that a stream gave, and the column that its partition adds."""

    partition: Partition | None
    rows: int = 0

    def read(self, batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
        schema = self.partition.schema(batches.schema) if self.partition else batches.schema
        return pa.RecordBatchReader.from_batches(schema, self._batches(batches))

    def _batches(self, batches: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.rows += batch.num_rows
            yield self.partition.add_to(batch) if self.partition else batch


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


def _as_text(stream: pa.RecordBatchReader, *, escape_formulas: bool) -> pa.RecordBatchReader:
    """Convert to what CSV can hold: lists to JSON, datetimes to ISO 8601; names and texts without formulas."""
    schema = pa.schema([pa.field(field.name, _text_type(field.type)) for field in stream.schema])
    if escape_formulas:
        names = _escaped(pa.array(schema.names, pa.string())).to_pylist()
        schema = pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])

    def texts() -> Iterator[pa.RecordBatch]:
        for batch in stream:
            columns = [_text(column) for column in batch.columns]
            if escape_formulas:
                columns = [_escaped(column) if column.type == pa.string() else column for column in columns]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, texts())


def _text_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _text_type(kind.value_type)
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if is_text or pa.types.is_nested(kind) or pa.types.is_timestamp(kind) else kind


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return _text(column.dictionary_decode())
    if pa.types.is_nested(column.type):
        values = column.to_pylist()
        texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
        return pa.array(texts, pa.string())
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, format="%Y-%m-%dT%H:%M:%SZ" if column.type.tz else "%Y-%m-%dT%H:%M:%S")
    return column.cast(_text_type(column.type))


def _escaped(texts: pa.Array) -> pa.Array:
    """Write an apostrophe before texts that a spreadsheet would run as a formula."""
    return pc.replace_substring_regex(texts, _FORMULA, r"'\1")
