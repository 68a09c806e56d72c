"""Tables written to Parquet and CSV files: batches as they come, texts that no spreadsheet runs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from osdi_frames.archive import durable
from osdi_frames.errors import InvalidArgument, UnfitColumn
from osdi_frames.reading.interchange import as_frame

Format = Literal["parquet", "csv"]

#: What a spreadsheet takes for the beginning of a formula: a sign, also fullwidth or small, also after blanks
#: and characters that are not seen; and the blanks that some programs drop before they look.
_FORMULA = (
    r"^([\pZ\p{Cc}\p{Cf}]*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}\x{fe66}\x{fe62}\x{fe63}\x{fe6b}]|[\t\r\n])"
)


_TOGETHER = 128 << 20  # bytes of a partitioned table that are written together


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
    schemas: Mapping[str, pa.Schema],
    rows: Iterable[tuple[str, pa.Table]],
    folder: Path,
    format: Format,  # noqa: A002 (the word that pandas users know)
    *,
    partitions: Mapping[str, Partition | None] | None = None,
    escape_formulas: bool = True,
) -> dict[str, int]:
    """Write tables into a folder: ``name.parquet`` or ``name.csv``, a partitioned one into the folder `name`.

    Parameters
    ----------
    schemas
        The schema of each table, by its name.
    rows
        Pairs of a table's name and some of its rows, in any order of the tables.
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
    InvalidArgument
        An unknown format.
    UnfitColumn
        A column of lists or times cannot be partitioned by.
    """
    if format not in ("parquet", "csv"):
        raise InvalidArgument(f"format is 'parquet' or 'csv', not {format!r}")
    counts = dict.fromkeys(schemas, 0)
    with contextlib.ExitStack() as stack:
        writers: dict[str, _File | _Folder] = {}
        for name, schema in schemas.items():
            partition = (partitions or {}).get(name)
            made = (
                _Folder(partition.schema(schema), folder / name, format, partition, escape_formulas)
                if partition
                else _File(schema, folder / f"{name}.{format}", format, escape_formulas)
            )
            writers[name] = stack.enter_context(contextlib.closing(made))
        for name, some in rows:
            counts[name] += some.num_rows
            writers[name].write(some)
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
    frame = as_frame(frame, caller="write_csv")
    named = any(name is not None for name in frame.index.names)
    table = pa.Table.from_pandas(frame.reset_index() if named else frame, preserve_index=False)
    target = Path(os.path.realpath(path))
    with durable.draft(target) as drafts:
        with contextlib.closing(_File(table.schema, drafts / target.name, "csv", escape_formulas)) as file:
            file.write(table)
        durable.publish_file(drafts / target.name, target)


@dataclass(slots=True)
class _File:
    """A table written to one file."""

    schema: pa.Schema
    path: Path
    format: Format
    escape_formulas: bool
    writer: pa.csv.CSVWriter | pa.parquet.ParquetWriter = field(init=False)

    def __post_init__(self) -> None:
        if self.format == "csv":
            empty = _as_text(self.schema.empty_table(), escape_formulas=self.escape_formulas)
            self.writer = pa.csv.CSVWriter(self.path, empty.schema)
        else:
            self.writer = pa.parquet.ParquetWriter(self.path, self.schema, compression="zstd")

    def write(self, rows: pa.Table) -> None:
        if self.format == "csv":
            rows = _as_text(rows, escape_formulas=self.escape_formulas)
        self.writer.write_table(rows)

    def close(self) -> None:
        self.writer.close()


@dataclass(slots=True)
class _Folder:
    """A table written to a file for each value of its partition, or several where there are many rows."""

    schema: pa.Schema
    path: Path
    format: Format
    partition: Partition
    escape_formulas: bool
    waiting: list[pa.Table] = field(default_factory=list)
    files: int = 0

    def write(self, rows: pa.Table) -> None:
        added = pa.Table.from_batches(map(self.partition.add_to, rows.to_batches()), self.schema)
        self.waiting.append(added)
        if sum(each.nbytes for each in self.waiting) > _TOGETHER:
            self._flush()

    def close(self) -> None:
        if self.waiting or not self.files:
            self._flush()

    def _flush(self) -> None:
        rows = pa.concat_tables([self.schema.empty_table(), *self.waiting])
        self.waiting.clear()
        parquet = pa.dataset.ParquetFileFormat()
        pa.dataset.write_dataset(
            _as_text(rows, escape_formulas=self.escape_formulas) if self.format == "csv" else rows,
            self.path,
            format="csv" if self.format == "csv" else parquet,
            file_options=None if self.format == "csv" else parquet.make_write_options(compression="zstd"),
            partitioning=pa.dataset.partitioning(
                pa.schema([self.schema.field(self.partition.folder)]), flavor="hive"
            ),
            basename_template=f"part-{self.files}-{{i}}.{self.format}",
            existing_data_behavior="overwrite_or_ignore",
            max_partitions=1 << 14,
        )
        self.files += 1


def _as_text(rows: pa.Table, *, escape_formulas: bool) -> pa.Table:
    """Convert to what CSV can hold: lists to JSON, datetimes to ISO 8601; names and texts without formulas."""
    names = rows.schema.names
    columns = [
        pa.chunked_array([_text(part) for part in column.chunks], _text_type(column.type))
        for column in rows.columns
    ]
    if escape_formulas:
        names = _escaped(pa.array(names, pa.string())).to_pylist()
        columns = [_escaped(column) if column.type == pa.string() else column for column in columns]
    return pa.table(columns, names=names)


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
