"""Frames and reports as one Excel workbook, with the number formats that reports declare."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

import pandas as pd

from osdi_frames.durable import naming
from osdi_frames.frames import as_frame
from osdi_frames.output.files import FileForm, replaced_file, table_of
from osdi_frames.output.workbook import workbook
from osdi_frames.reports.declared import REPORTS, STANDARD
from osdi_frames.reports.measures import Measure, Unit
from osdi_frames.reports.result import ReportResult

_FORMATS: Final[Mapping[Unit, str]] = {
    "number": "#,##0",
    "decimal": "#,##0.0",
    "change": "+#,##0;-#,##0;0",
    "share": "0.0%",
    "change share": "+0.0%;-0.0%;0.0%",
    "time": "yyyy-mm-dd",
}
#: Number formats of columns, by sheet.
Formats: TypeAlias = Mapping[str | None, Mapping[str, str]]
#: What has a note is a report of one of these measures.
_DECLARED: Final = tuple(chain.from_iterable(report.measures for report in (*STANDARD, *REPORTS)))


def write_excel(frame: pd.DataFrame | Mapping[str, pd.DataFrame], path: str | os.PathLike[str]) -> None:
    """Write any frame, or several as the sheets of one workbook, to an Excel file (extra ``excel``).

    Numbers, amounts, dates and times are what they are; in reports, shares are percentages. Excel has no time zones:
    times are written as their zone's clock shows them, and it is named above them, ``created_date (UTC)``. Dates
    before 1900, which Excel does not know, integers above 2 to the 53rd, amounts of more than 15 digits and lists (as
    JSON) are texts; texts stay texts, also those that begin with ``=``. The file appears whole, and is readable by
    its owner only; a file at `path` is replaced, whoever wrote it.

    Parameters
    ----------
    frame
        The frame, or frames by the names of their sheets; an index that has a name is written before the columns.
    path
        The file to write.

    Raises
    ------
    InvalidArgument
        A frame has more rows or columns than a sheet, or a sheet cannot have such a name. A longer text than a cell
        holds is cut, and a `ProblemsWarning` says in which column.

    Examples
    --------
    >>> import tempfile
    >>> signed = pd.DataFrame({"created_date": [pd.Timestamp("2026-05-01T10:00Z")], "source": ["=1+1"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_excel({"Signatures": signed}, f"{folder}/a.xlsx")
    ...     pd.read_excel(f"{folder}/a.xlsx", sheet_name="Signatures")  # which needs openpyxl
       created_date (UTC) source
    0 2026-05-01 10:00:00   =1+1
    """
    FileForm("xlsx")  # refuses what is not installed
    named = frame.items() if isinstance(frame, Mapping) else [(None, frame)]
    frames = {name: as_frame(one, caller="write_excel") for name, one in named}
    formats = {name: formats_of(one, _DECLARED) for name, one in frames.items() if "note" in one.attrs}
    with replaced_file(path) as new:
        write_sheets(frames.items(), new, formats)


def write_workbook(made: ReportResult, path: str | os.PathLike[str]) -> None:
    """Write the reports of an archive as the sheets of one workbook, and after them the notes on them."""
    FileForm("xlsx")
    frames = {declared.name: with_periods(frame) for declared, frame in made.reports}
    formats: Formats = {
        declared.name: formats_of(frame, declared.measures) for declared, frame in made.reports
    }
    notes = [("", line) for line in str(made).splitlines()]
    for name, frame in made.items():
        lines = f"{frame.attrs['caveat']}\n{frame.attrs['note']}".splitlines()
        notes += [(name, line) for line in dict.fromkeys(filter(None, lines))]
    of_notes = ("notes", pd.DataFrame(notes, columns=["report", "note"]))
    with replaced_file(path) as new:
        write_sheets([*frames.items(), of_notes], new, formats)


def write_sheets(
    frames: Iterable[tuple[str | None, pd.DataFrame]],
    path: Path,
    formats: Formats,
) -> None:
    """Write frames as the sheets of a new workbook, with number formats of some columns, by sheet."""
    with naming(path), workbook(path) as add_sheet:
        for name, frame in frames:
            table = table_of(frame)
            add_sheet(name, table.schema, formats.get(name, {}))(table)


def with_periods(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a report with the periods that it compares as columns: a file has no attributes."""
    periods = frame.attrs.get("periods", {})
    return frame.assign(**{f"{name}_period": days for name, days in periods.items()})


def formats_of(frame: pd.DataFrame, measures: Iterable[Measure]) -> dict[str, str]:
    """Return the number formats of a report's columns, as its measures declare them; of cohorts, shares."""
    cohorts = [name for name in frame.columns if str(name).isdecimal() and frame.dtypes[name].kind == "f"]
    formats = {str(name): _FORMATS["share"] for name in cohorts}
    if isinstance(frame.index, pd.DatetimeIndex) and frame.index.dropna().normalize().equals(
        frame.index.dropna()
    ):
        formats[str(frame.index.name)] = _FORMATS["time"]
    for measure in measures:
        if measure.name in frame.columns and measure.unit in _FORMATS:
            is_time = frame.dtypes[measure.name].kind == "M"
            if is_time == (measure.unit == "time"):
                formats[measure.name] = _FORMATS[measure.unit]
    return formats
