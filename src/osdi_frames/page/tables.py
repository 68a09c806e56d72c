"""A report as a table of the page: cells as they are read, sorted and copied."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import pandas as pd

from osdi_frames.plots.labels import shortened, with_base
from osdi_frames.reports.declared import MOVED
from osdi_frames.reports.groups import PERIOD_NAMES
from osdi_frames.reports.measures import Measure, Unit, show, show_key
from osdi_frames.reports.movers import MOVERS, movers_first
from osdi_frames.reports.report import Report
from osdi_frames.reports.titles import heading, labelled, words
from osdi_frames.tables.schema import NO_DATE, NONE

ROWS: Final = 200
"""Rows that a table shows; the others are one."""

PRINTED: Final = 10
"""Rows that are printed; the others are one."""

_SEEN: Final = 10
"""Rows of a long table that a screen shows until all are asked for."""

#: Keys that are names of acts.
_OF_ACTS: Final = frozenset({"action", "figure", "step"})

_LONGEST: Final = 300  # characters of a label; a title of thousands would fill the page

CellKind: TypeAlias = Literal["month", "number", "share", "time", "text"]
"""How cells are set and sorted."""

_KINDS: Final[Mapping[Unit, CellKind]] = {
    "number": "number",
    "decimal": "number",
    "change": "number",
    "share": "share",
    "change share": "share",
    "time": "time",
    "clock": "time",
    "amount": "number",
    "text": "text",
    "mark": "text",
    "flag": "text",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A value: its text, its sort key, if it is not missing and so always last, and the bar of a label."""

    text: str
    sort: str | None = None
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class PageColumn:
    """A column: its heading, kind and order."""

    heading: str
    kind: CellKind
    sorted: Literal["descending"] | None = None


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table: rows, others together, and totals.

    Where only the first rows are printed, `unprinted` are all the others. Of a long one a screen shows `seen` rows
    until all are asked for.
    """

    columns: list[PageColumn]
    rows: list[list[Cell]]
    other: list[Cell] | None
    unprinted: list[Cell] | None
    total: list[Cell] | None
    length: int
    seen: int = _SEEN


def of_report(declared: Report, report: pd.DataFrame, *, rows: int = ROWS) -> PageTable:
    """Lay out a report.

    A ranked one is as it is, with bars; over time the newest is first, and periods without anything are left out. Of
    what changed the largest gains are first, and then the largest losses.
    """
    report = labelled(report)
    for level in _OF_ACTS.intersection(report.index.names):
        report = report.rename(index={"rsvped": words("rsvped")}, level=level)
    shown = declared.shown(report)
    if declared.is_over_time:
        report = _newest_first(report, shown)
        return _laid_out(report, shown, rows=rows, ordered_by=str(report.index.names[0]))
    if declared.name in MOVED:
        return replace(_laid_out(movers_first(report), shown, rows=rows), seen=2 * MOVERS)
    table = _laid_out(report, shown, rows=rows, ordered_by=declared.count)
    if declared.count:
        present = report[declared.count].head(rows).astype("float64").fillna(0).clip(lower=0)
        whole = report["goal"].head(rows) if "goal" in report else max(present.max(), 1)
        bars = (present / whole * 100).clip(upper=100).round(1)  # in % of the largest, or of the goal
        for row, bar in zip(table.rows, bars.tolist(), strict=True):
            row[0] = replace(row[0], bar=bar)
    return table


def _newest_first(report: pd.DataFrame, shown: Sequence[Measure]) -> pd.DataFrame:
    counts = [column.name for column in shown if column.total == "sum" and column.dtype == "int64"]
    report = report[(report[counts] != 0).fillna(True).any(axis=1)] if counts else report  # hidden ones stay
    if report.index.nlevels > 1:
        return report
    dated = report.index != NO_DATE
    return pd.concat([report[dated][::-1], report[~dated]])


def of_counts(frame: pd.DataFrame, *, rows: int = ROWS) -> PageTable:
    """Lay out a frame of texts and a column `count`."""
    keys = [str(name) for name in frame if name != "count"]
    return _laid_out(frame.set_index(keys), [Measure("count")], rows=rows)


def _laid_out(
    frame: pd.DataFrame, measures: Sequence[Measure], *, rows: int, ordered_by: str = ""
) -> PageTable:
    kinds: dict[str, CellKind] = {
        str(name): "month" if name in PERIOD_NAMES.values() else "text" for name in frame.index.names
    }
    columns = [*kinds.items(), *((measure.name, _KINDS[measure.unit]) for measure in measures)]
    shown, rest = frame.head(rows), frame.iloc[rows:]
    cells = [
        [_label(value, kind) for value in shown.index.get_level_values(number)]
        for number, kind in enumerate(kinds.values())
    ]
    cells += [[_cell(value, measure.unit) for value in shown[measure.name]] for measure in measures]
    counts = [measure.name for measure in measures if (measure.unit, measure.dtype) == ("number", "int64")]
    is_partial = frame[counts].isna().any(axis=None)
    total = "Total of what is shown" if is_partial else "Total"
    has_total = any(measure.total for measure in measures)
    unprinted = frame.iloc[PRINTED:]
    return PageTable(
        [
            PageColumn(heading(name), kind, "descending" if name == ordered_by else None)
            for name, kind in columns
        ],
        [list(row) for row in zip(*cells, strict=True)],
        _others(rest, len(kinds), measures),
        _others(unprinted, len(kinds), measures) if len(unprinted) > 1 else None,
        _together(frame, len(kinds), measures, total) if len(frame) and has_total else None,
        len(frame),
    )


def _others(rows: pd.DataFrame, keys: int, measures: Sequence[Measure]) -> list[Cell] | None:
    return _together(rows, keys, measures, f"(other: {len(rows):,})") if len(rows) else None


def visible(text: str) -> str:
    r"""Replace controls, and what is no character.

    >>> visible("a\x00b\tc")
    'a\ufffdb c'
    """
    return "".join(
        "\ufffd" if unicodedata.category(character) in ("Cc", "Cs", "Cn") else character
        for character in with_base(" ".join(text.split()))
    )


def _label(value: object, kind: CellKind) -> Cell:
    text = shortened(visible(show_key(value)), _LONGEST)
    if text in (NONE, NO_DATE):
        return Cell(text)
    # What is before all other periods is to be sorted there; what is after them is, since letters follow digits.
    is_first = kind == "month" and text.startswith("before ")
    return Cell(text, f"0 {text}" if is_first else text)


def _cell(value: Any, unit: Unit) -> Cell:
    if pd.isna(value):
        return Cell(show(value, unit))
    if unit == "text":
        return _label(value, "text")
    return Cell(show(value, unit), f"{value:.6g}" if _KINDS[unit] == "share" else str(value))


def _together(frame: pd.DataFrame, keys: int, measures: Sequence[Measure], name: str) -> list[Cell]:
    cells = [_cell(_one(frame, measure), measure.unit) for measure in measures]
    return [Cell(name), *[Cell("")] * (keys - 1), *cells]


def _one(frame: pd.DataFrame, measure: Measure) -> Any:
    """Return the total of several rows, if any."""
    if measure.total is None or frame[measure.name].isna().all():
        return pd.NA
    if isinstance(measure.total, tuple):
        part, whole = (frame[name].sum() for name in measure.total)
        return part / whole if whole else pd.NA
    return frame[measure.name].agg(measure.total)
