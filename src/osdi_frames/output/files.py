"""Tables written to Parquet, CSV and Excel files: batches as they come, texts that no spreadsheet runs."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NoReturn
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from osdi_frames import durable
from osdi_frames.clock import clock_column, zone_of
from osdi_frames.errors import InvalidArgument, InvalidColumn, MissingExtra
from osdi_frames.frames import as_frame
from osdi_frames.messages import quoted
from osdi_frames.output.texts import rows_as_text
from osdi_frames.output.workbook import Write, workbook

Format = Literal["parquet", "csv", "xlsx"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "xlsx")

_BYTE_ORDER_MARK = "\ufeff".encode()
_FOLDER_NAME, _FOLDERS = 255, 1 << 14  # bytes of a name, with its escapes; folders that are written together
_BUFFERED_BYTES = 128 << 20  # bytes of a partitioned table that are written together


@dataclass(frozen=True, slots=True)
class FileForm:
    """How files are written.

    Raises
    ------
    InvalidArgument, MissingExtra
        The format is not known, or its library not installed.
    """

    format: Format = "parquet"
    escape_formulas: bool = True
    bom: bool = False

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise InvalidArgument(f"format is {', '.join(map(repr, FORMATS))}, not {quoted(self.format)}")
        if self.format == "xlsx" and find_spec("xlsxwriter") is None:
            raise MissingExtra.named("excel")


@dataclass(frozen=True, slots=True)
class FolderPartition:
    """A folder for each value or month of a column.

    The folders have a name of their own, and the column stays in the files: a reader that makes text or a
    number of what a folder is called leaves the values alone, and what is missing stays missing.
    """

    column: str
    by_month: bool = False
    timezone: str | None = None
    """The zone of the months."""

    @property
    def folder(self) -> str:
        """What the folders are called, before their value."""
        return "month" if self.by_month else f"by_{self.column}"

    def add_to(self, rows: pa.Table) -> pa.Table:
        """Add the names of the folders as a column; what is missing has the name `none`."""
        if self.by_month:
            values = pc.strftime(clock_column(rows, self.column, zone_of(self.timezone)), format="%Y-%m")
        else:
            values = rows[self.column].cast(pa.string())
        return rows.append_column(self.folder, pc.fill_null(values, "none"))

    def check(self, rows: pa.Table) -> None:
        """Refuse values that are too long for the name of a folder, and too many of them."""
        values = rows[self.folder].unique().to_pylist()
        longest = max((len(quote(value, safe="")) for value in values), default=0)
        if len(self.folder) + 1 + longest > _FOLDER_NAME:
            self._refuse(f"a value is too long for the name of a folder, which has {_FOLDER_NAME} bytes")
        if len(values) > _FOLDERS:
            self._refuse(f"it has more than {_FOLDERS:,} values")

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the column that `add_to` adds."""
        kind = schema.field(self.column).type
        if pa.types.is_nested(kind) or (pa.types.is_temporal(kind) and not self.by_month):
            self._refuse(f"it holds {kind}")
        return schema.append(pa.field(self.folder, pa.string()))

    def _refuse(self, reason: str) -> NoReturn:
        raise InvalidColumn(f"{self.column} cannot be partitioned by: {reason}")


def write_tables(
    schemas: Mapping[str, pa.Schema],
    rows: Iterable[tuple[str, pa.Table]],
    folder: Path,
    form: FileForm,
    *,
    partitions: Mapping[str, FolderPartition | None] | None = None,
) -> dict[str, int]:
    """Write tables into a folder, as ``name.parquet`` and so on; a partitioned table is the folder `name`.

    `rows` are pairs of a table's name and some of its rows, in any order of the tables. Returns the
    number of rows of each table.
    """
    if (form.format == "xlsx" or form.bom) and any((partitions or {}).values()):
        raise InvalidArgument("a partitioned table is written as Parquet or as CSV without byte-order marks")
    counts = dict.fromkeys(schemas, 0)
    with contextlib.ExitStack() as stack:
        write: dict[str, Write] = {}
        for name, schema in schemas.items():
            if partition := (partitions or {}).get(name):
                file = _folder(schema, folder / name, form, partition)
            else:
                file = _file(schema, folder / f"{name}.{form.format}", form)
            write[name] = stack.enter_context(file)
        for name, some in rows:
            counts[name] += some.num_rows
            write[name](some)
    return counts


def write_csv(
    frame: pd.DataFrame, path: str | os.PathLike[str], *, escape_formulas: bool = True, bom: bool = False
) -> None:
    """Write any frame to a CSV file that is safe to open in a spreadsheet.

    The file appears whole, and is readable by its owner only; a file at `path` is replaced, whoever wrote it, as by
    `DataFrame.to_csv`. Lists are JSON, datetimes ISO 8601.

    Parameters
    ----------
    frame
        The frame; an index that has a name is written before the columns.
    path
        The file to write.
    escape_formulas
        Write an apostrophe before a text, or a column's name, that a spreadsheet would run as a formula:
        one that begins with ``= + - @`` (also fullwidth, also after blanks), tab, return or line feed.
    bom
        Begin with a byte-order mark, by which Excel knows that the file is UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(pd.DataFrame({"source": ["=1+1"], "count": [-2]}), f"{folder}/a.csv")
    ...     print(Path(f"{folder}/a.csv").read_text(), end="")
    "source","count"
    "'=1+1",-2
    """
    table = table_of(as_frame(frame, caller="write_csv"))
    with replaced_file(path) as new, _file(table.schema, new, FileForm("csv", escape_formulas, bom)) as write:
        write(table)


def table_of(frame: pd.DataFrame) -> pa.Table:
    """Return a frame as rows of a file, an index that has a name as the first columns; periods are texts."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    periods = [name for name in frame.columns if isinstance(frame.dtypes.get(name), pd.PeriodDtype)]
    return pa.Table.from_pandas(
        frame.astype(dict.fromkeys(periods, "str")).rename(columns=str), preserve_index=False
    )


@contextlib.contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield where to write a file that takes the place of the one at a path when it is whole."""
    target = Path(os.path.realpath(path))
    with durable.draft(target) as drafts:
        yield drafts / target.name
        durable.publish_file(drafts / target.name, target)


@contextlib.contextmanager
def _file(schema: pa.Schema, path: Path, form: FileForm) -> Iterator[Write]:
    """Open a file, and yield a function that writes rows."""
    with durable.naming(path), _opened(schema, path, form) as write:
        yield write


@contextlib.contextmanager
def _opened(schema: pa.Schema, path: Path, form: FileForm) -> Iterator[Write]:
    if form.format == "parquet":
        from pyarrow.parquet import ParquetWriter  # takes its time, and reports that are printed need none

        with ParquetWriter(path, schema, compression="zstd") as writer:
            yield writer.write_table
    elif form.format == "xlsx":
        with workbook(path) as add_sheet:
            yield add_sheet(None, schema, {})
    else:
        as_texts = partial(rows_as_text, escape_formulas=form.escape_formulas)
        with pa.OSFile(str(path), "wb") as sink:
            sink.write(_BYTE_ORDER_MARK if form.bom else b"")
            with pa.csv.CSVWriter(sink, as_texts(schema.empty_table()).schema) as writer:
                yield lambda rows: writer.write_table(as_texts(rows))


@contextlib.contextmanager
def _folder(schema: pa.Schema, path: Path, form: FileForm, partition: FolderPartition) -> Iterator[Write]:
    """Open the files of a partitioned table: each value has one, or several where there are many rows."""
    from pyarrow import dataset  # takes its time, and few files are partitioned

    schema = partition.schema(schema)
    waiting = [schema.empty_table()]
    numbers = itertools.count()

    def flush() -> None:
        rows = pa.concat_tables(waiting)
        del waiting[1:]
        partition.check(rows)
        options = dataset.ParquetFileFormat().make_write_options(compression="zstd")
        if form.format == "csv":
            rows, options = rows_as_text(rows, escape_formulas=form.escape_formulas), None
        with durable.naming(path):
            dataset.write_dataset(
                rows,
                path,
                format=form.format,
                file_options=options,
                partitioning=dataset.partitioning(pa.schema([schema.field(partition.folder)]), flavor="hive"),
                basename_template=f"part-{next(numbers)}-{{i}}.{form.format}",
                existing_data_behavior="overwrite_or_ignore",
                max_partitions=_FOLDERS,
            )

    def write(rows: pa.Table) -> None:
        waiting.append(partition.add_to(rows))
        if sum(table.nbytes for table in waiting) > _BUFFERED_BYTES:
            flush()

    yield write
    flush()
