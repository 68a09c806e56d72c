"""A report as text, for the terminal and for scripts that mail it."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from osdi_frames.messages import beginning, printable
from osdi_frames.reports.declared import MOVED
from osdi_frames.reports.measures import show, show_key
from osdi_frames.reports.movers import movers_first
from osdi_frames.reports.report import Report
from osdi_frames.reports.titles import labelled, words


def as_text(report: Report, frame: pd.DataFrame, *, top: int) -> str:
    """Return a report's heading, its caveats, `top` rows of its table, and its caption."""
    lines = [report.heading, frame.attrs["caveat"], table(report, frame, top=top), report.caption]
    return "\n".join(filter(None, lines))


def table(report: Report, frame: pd.DataFrame, *, top: int) -> str:
    """Return the first `top` rows of a report as a text table, or the last ones if it is over time."""
    frame = labelled(movers_first(frame) if report.name in MOVED else frame)
    shown = frame.tail(top) if report.is_over_time else frame.head(top)
    columns = [
        _aligned([words(name), *map(_label, shown.index.get_level_values(number))], str.ljust)
        for number, name in enumerate(shown.index.names)
    ]
    for measure in report.shown(frame):
        values = (beginning(printable(show(value, measure.unit))) for value in shown[measure.name])
        justify = str.ljust if measure.unit == "text" else str.rjust
        columns.append(_aligned([str(measure.name), *values], justify))
    text = "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    more = len(frame) - len(shown)
    return f"{text}\n… and {more:,} {'before' if report.is_over_time else 'more'}" if more else text


def _aligned(cells: list[str], justify: Callable[[str, int], str]) -> list[str]:
    width = max(map(len, cells))
    return [justify(cell, width) for cell in cells]


def _label(value: object) -> str:
    return beginning(printable(show_key(value)))
