"""A report as a table of the page: cells as they are read, sorted and copied."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import pandas as pd

from osdi_frames.plots.labels import shortened
from osdi_frames.reports import NO_DATE, NONE, Report
from osdi_frames.reports.measures import Measure, Unit, count_rows, show, show_key
from osdi_frames.reports.titles import heading, labelled

ROWS: Final = 200
"""Rows that a table shows; the others are one."""

_LONGEST: Final = 300  # characters of a label; a title of thousands would fill the page

CellKind: TypeAlias = Literal["text", "month"] | Unit


@dataclass(frozen=True, slots=True)
class Cell:
    """A value: its text, sort key and bar.

    A missing one is always last; labels have bars.
    """

    text: str
    sort: str | None = None
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, kind and order."""

    heading: str
    kind: CellKind
    sorted: Literal["descending"] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table: rows, others together, and totals."""

    columns: list[Column]
    rows: list[list[Cell]]
    other: list[Cell] | None
    total: list[Cell] | None
    length: int


def of_report(declared: Report, report: pd.DataFrame, *, rows: int = ROWS) -> Table:
    """Lay out a report.

    A ranked one is as it is, with bars; over time the newest is first.
    """
    report = labelled(report)
    if not declared.is_over_time:
        table = _laid_out(report, declared.shown(report), rows=rows, ordered_by=declared.count)
        present = report[declared.count].head(rows).astype("float64").fillna(0).clip(lower=0)
        bars = (present / max(present.max(), 1) * 100).round(1)  # in % of the largest
        for row, bar in zip(table.rows, bars.tolist(), strict=True):
            row[0] = replace(row[0], bar=bar)
        return table
    if report.index.nlevels == 1:
        dated = report.index != NO_DATE
        report = pd.concat([report[dated][::-1], report[~dated]])
    order = str(report.index.name)
    return _laid_out(report, declared.shown(report), rows=rows, ordered_by=order, periods=declared.periods)


def of_counts(frame: pd.DataFrame, *, rows: int = ROWS) -> Table:
    """Lay out a frame of texts and a column `count`."""
    keys = [str(name) for name in frame if name != "count"]
    return _laid_out(frame.set_index(keys), [count_rows("count")], rows=rows)


def _laid_out(
    frame: pd.DataFrame,
    measures: Sequence[Measure],
    *,
    rows: int,
    ordered_by: str | None = None,
    periods: Sequence[str] = (),
) -> Table:
    kinds: dict[str, CellKind] = {
        str(name): "month" if name in periods else "text" for name in frame.index.names
    }
    columns = [*kinds.items(), *((measure.name, measure.unit) for measure in measures)]
    shown, rest = frame.head(rows), frame.iloc[rows:]
    cells = [
        [_label(value, kind) for value in shown.index.get_level_values(number)]
        for number, kind in enumerate(kinds.values())
    ]
    cells += [[_cell(value, measure.unit) for value in shown[measure.name]] for measure in measures]
    counts = [measure.name for measure in measures if measure.dtype == "int64"]  # missing where hidden only
    is_partial = frame[counts].isna().any(axis=None)
    total = "Total of what is shown" if is_partial else "Total"
    return Table(
        [Column(heading(name), kind, "descending" if name == ordered_by else None) for name, kind in columns],
        [list(row) for row in zip(*cells, strict=True)],
        _together(rest, len(kinds), measures, f"(other: {len(rest):,})") if len(rest) else None,
        _together(frame, len(kinds), measures, total) if len(frame) else None,
        len(frame),
    )


def visible(text: str) -> str:
    r"""Replace controls, and what is no character.

    >>> visible("a\x00b\tc")
    'a\ufffdb c'
    """
    return "".join(
        "\ufffd" if unicodedata.category(character) in ("Cc", "Cs", "Cn") else character
        for character in " ".join(text.split())
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
    return Cell(show(value, unit), f"{value:.6g}" if unit == "share" else str(value))


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
