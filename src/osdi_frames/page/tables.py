"""A report as a table of the page: cells as they are read, sorted and copied."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

from osdi_frames.plots.labels import NO_DATE
from osdi_frames.tables.schema import NONE

ROWS: Final = 200
"""Rows that a table shows; the others are one."""

Kind: TypeAlias = Literal["text", "number", "share", "time", "month"]
Direction: TypeAlias = Literal["ascending", "descending"]

_SHARES = ("share", "fill_rate")
_HEADINGS: Mapping[str, str] = {
    "event_campaign_id": "Campaign",
    "location_region": "Region",
    "start_date": "Month",
    "created_date": "Month",
    "rsvps": "RSVPs",
}

#: How a time is written, by what the column holds: the standard reports over time are monthly.
_TIMES: Mapping[Kind, str] = {"time": "%Y-%m-%d", "month": "%Y-%m"}

#: What stands for several rows in a column; in the others (distinct people, rates) nothing can.
_TOGETHER: Mapping[str, str] = {
    **dict.fromkeys(("count", "events", "rsvps", "signatures", "share", "capacity"), "sum"),
    **dict.fromkeys(("first", "first_start"), "min"),
    **dict.fromkeys(("last", "last_start"), "max"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A value: as it is shown, and by what it is sorted; a missing one is always last."""

    text: str
    sort: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, what it holds, and whether the rows are in its order."""

    heading: str
    kind: Kind
    sorted: Direction | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its rows, and below them the row of those left out and the totals."""

    columns: list[Column]
    rows: list[list[Cell]]
    other: list[Cell] | None
    total: list[Cell] | None
    length: int


def of_report(report: pd.DataFrame, *, rows: int = ROWS) -> Table:
    """Lay out a report: ranked as it is, over time the newest first."""
    over_time = isinstance(report.index, pd.DatetimeIndex)
    if over_time:
        report = report.sort_index(ascending=False, na_position="last")
    measure = (
        report.index.name if over_time else next(each for each in report if each in ("rsvps", "signatures"))
    )
    return of_frame(report.reset_index(), rows=rows, descending=str(measure))


def of_frame(frame: pd.DataFrame, *, rows: int = ROWS, descending: str | None = None) -> Table:
    """Lay out a frame; `descending` is the column in whose order its rows are, the largest first."""
    shown, rest = frame.head(rows), frame.iloc[rows:]
    kinds = {str(name): _kind(frame[name]) for name in frame}
    cells = [[_cell(value, kind) for value in shown[name]] for name, kind in kinds.items()]
    return Table(
        [
            Column(_heading(name), kind, "descending" if name == descending else None)
            for name, kind in kinds.items()
        ],
        [list(row) for row in zip(*cells, strict=True)],
        _together(rest, kinds, f"(other: {len(rest):,})") if len(rest) else None,
        _together(frame, kinds, "Total") if len(frame) else None,
        len(frame),
    )


def visible(text: str) -> str:
    r"""Replace what neither HTML nor a reader can take: controls, and what is no character.

    >>> visible("a\x00b\tc")
    'a\ufffdb c'
    """
    return "".join(_visible(each) for each in text)


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cs", "Cn") else character


def _heading(name: str) -> str:
    return _HEADINGS.get(name, name.replace("_", " ").capitalize())


def _kind(column: pd.Series) -> Kind:
    if column.name in _SHARES:
        return "share"
    if is_datetime64_any_dtype(column.dtype):
        return "month" if _heading(str(column.name)) == "Month" else "time"
    return "number" if is_numeric_dtype(column.dtype) else "text"


def _cell(value: Any, kind: Kind) -> Cell:
    if pd.isna(value):
        return Cell(NO_DATE if kind == "month" else "–")
    if kind == "share":
        return Cell(f"{value:.1%}", f"{value:.6g}")
    if kind == "number":
        return Cell(f"{value:,}", str(value))
    if kind in _TIMES:
        return Cell(f"{value:{_TIMES[kind]}}", value.isoformat())
    text = visible(str(value))
    return Cell(text, None if text == NONE else text)


def _together(frame: pd.DataFrame, kinds: Mapping[str, Kind], name: str) -> list[Cell]:
    cells = [Cell("") if kind == "text" else _cell(_one(frame[each]), kind) for each, kind in kinds.items()]
    return [Cell(name), *cells[1:]]


def _one(column: pd.Series) -> Any:
    how = _TOGETHER.get(str(column.name))
    if how is None:
        return pd.NA
    return column.sum(min_count=1) if how == "sum" else column.agg(how)
