"""Excel files: a sheet of rows for each table, in which texts stay texts, and numbers, dates and shares are numbers."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.errors import InvalidArgument, ProblemsWarning
from osdi_frames.messages import counted, quoted, shorten
from osdi_frames.output.texts import texts_of
from osdi_frames.problems import warn_caller

_ROWS, _COLUMNS, _CHARACTERS, _NAME = (
    1 << 20,
    1 << 14,
    32_767,
    31,
)  # of a sheet, a cell, and the name of a sheet
_EXACT: Final = 1 << 53  # larger integers are not exact in a spreadsheet
_DIGITS: Final = 15  # of a decimal that is exact in one
_FIRST_YEAR: Final = 1900
_WIDEST: Final = 60  # characters
_TIME, _DATE = "yyyy-mm-dd hh:mm:ss", "yyyy-mm-dd"

Write = Callable[[pa.Table], object]
#: Adds a sheet with a name (None: Excel's own), a schema and number formats of columns; returns what writes rows.
AddSheet = Callable[[str | None, pa.Schema, Mapping[str, str]], Write]


@contextlib.contextmanager
def workbook(path: Path) -> Iterator[AddSheet]:
    """Write an Excel file, and warn of texts that are cut.

    Raises
    ------
    InvalidArgument
        A sheet cannot have such a name, or so many rows or columns.
    """
    import xlsxwriter  # an extra

    # Texts stay texts; what waits to be written is not kept where others could read it.
    options = {"constant_memory": True, "tmpdir": str(path.parent)}
    names, cut = set[str](), Counter[str]()
    with (
        _system_errors(xlsxwriter.exceptions.FileCreateError),
        xlsxwriter.Workbook(str(path), options) as book,
    ):

        def add(name: str | None, schema: pa.Schema, formats: Mapping[str, str]) -> Write:
            if name is not None:
                _check_name(name, names)
            if len(schema) > _COLUMNS:
                raise InvalidArgument(f"{path.stem} has more than {_COLUMNS:,} columns; write CSV or Parquet")
            return _Sheet.of(book, book.add_worksheet(name), schema, formats, name or path.stem, cut).write

        yield add
    if cut:
        where = ", ".join(f"{counted(count, 'text')} in {column}" for column, count in cut.items())
        warn_caller(f"{where} cut: a cell holds {_CHARACTERS:,} characters", ProblemsWarning)


def _check_name(name: str, names: set[str]) -> None:
    """Raise InvalidArgument if Excel refuses the name of a sheet; add it to the names of sheets."""
    fits = isinstance(name, str) and 0 < _length(name) <= _NAME and not {*name} & {*"[]:*?/\\"}
    if not fits or not name.isprintable() or "'" in (name[0], name[-1]) or name.casefold() == "history":
        raise InvalidArgument(
            f"a sheet cannot be called {quoted(name)}: its name has 1 to {_NAME} characters, none of them "
            "[ ] : * ? / \\, no apostrophe at an end, and is not History"
        )
    if name.casefold() in names:
        raise InvalidArgument(f"two sheets are called {quoted(name)}; their case makes no difference")
    names.add(name.casefold())


def _length(text: str) -> int:
    """Return how many characters a text has for Excel: those beyond the basic plane are two."""
    return len(text) + sum(letter > "\uffff" for letter in text)


@contextlib.contextmanager
def _system_errors(of_library: type[Exception]) -> Iterator[None]:
    """Raise the error of the system in place of the library's own error that wraps it."""
    try:
        yield
    except of_library as error:
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


@dataclass(slots=True)
class _Sheet:
    """A sheet that is written row by row."""

    sheet: Any
    name: str
    columns: list[str]
    formats: list[Any]
    """The format of the numbers of each column."""
    cut: Counter[str]
    """How many texts of each column did not fit."""
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, _ROWS)))

    @classmethod
    def of(
        cls,
        book: Any,
        sheet: Any,
        schema: pa.Schema,
        formats: Mapping[str, str],
        name: str,
        cut: Counter[str],
    ) -> _Sheet:
        """Write the names of the columns; those of times with a zone name it, since a cell has none."""
        zones = (getattr(column.type, "tz", None) for column in schema)
        titles = [
            f"{column.name} ({zone})" if zone else column.name
            for column, zone in zip(schema, zones, strict=True)
        ]
        by_type = [formats.get(column.name) or _format(column.type) for column in schema]
        known = {text: book.add_format({"num_format": text}) for text in dict.fromkeys(filter(None, by_type))}
        made = cls(sheet, name, schema.names, [text and known[text] for text in by_type], cut)
        sheet.freeze_panes(1, 0)
        for column, (title, text) in enumerate(zip(titles, by_type, strict=True)):
            least = len(text) if text in (_TIME, _DATE) else 8
            sheet.set_column(column, column, min(max(len(title), least) + 2, _WIDEST))
            made._write_cell(0, column, title)
        return made

    def write(self, rows: pa.Table) -> None:
        """Write rows."""
        values = zip(*(_values(column) for column in rows.columns), strict=True)
        for row in values:
            number = next(self.numbers, None)
            if number is None:
                raise InvalidArgument(
                    f"{shorten(self.name)} has more rows than a sheet holds; write CSV or Parquet"
                )
            for column, value in enumerate(row):
                self._write_cell(number, column, value)

    def _write_cell(self, row: int, column: int, value: Any) -> None:
        form = self.formats[column] if row else None
        if isinstance(value, bool):
            self.sheet.write_boolean(row, column, value)
        elif isinstance(value, date) and value.year >= _FIRST_YEAR:
            self.sheet.write_datetime(row, column, value, form)
        elif (isinstance(value, int | float) and abs(value) <= _EXACT) or (
            isinstance(value, Decimal) and len(value.normalize().as_tuple().digits) <= _DIGITS
        ):
            self.sheet.write_number(row, column, value, form)
        elif value is not None and value == value:  # NaN is empty
            self._write_text(row, column, str(value))

    def _write_text(self, row: int, column: int, text: str) -> None:
        if _length(text) > _CHARACTERS:
            self.cut[shorten(self.columns[column])] += 1
            most = text.encode("utf-16-le")[: 2 * (_CHARACTERS - 1)]
            text = f"{most.decode('utf-16-le', 'ignore')}…"
        self.sheet.write_string(row, column, text)


def _format(kind: pa.DataType) -> str | None:
    return _TIME if pa.types.is_timestamp(kind) else _DATE if pa.types.is_date(kind) else None


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as Python has them; times without their zone, in which they are."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = pc.local_timestamp(column) if kind.tz not in (None, "UTC") else column
        column = column.cast(pa.timestamp("us"), safe=False)
    values: list[Any] = column.to_pylist() if pa.types.is_timestamp(kind) else texts_of(column).to_pylist()
    return values
