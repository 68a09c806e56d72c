"""Reports as text for a terminal."""

from __future__ import annotations

import pandas as pd

from osdi_frames.errors import printable
from osdi_frames.reports import Report
from osdi_frames.reports.measures import show, show_key
from osdi_frames.reports.titles import labelled, words

_WIDTH = 60  # characters of a label


def table(report: Report, frame: pd.DataFrame, *, top: int) -> str:
    """Lay out the first `top` rows of a report, of one over time the last, and say how many more there are."""
    if frame.empty:
        return "nothing to report"
    over_time = report.is_over_time
    frame = labelled(frame)
    shown = frame.tail(top) if over_time else frame.head(top)
    columns = [
        _aligned([words(name), *map(_label, shown.index.get_level_values(number))])
        for number, name in enumerate(shown.index.names)
    ]
    for measure in report.measures:
        values = [show(value, measure.unit) for value in shown[measure.name]]
        columns.append(_aligned([measure.name, *values], left=False))
    text = "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    more = len(frame) - len(shown)
    return f"{text}\n… and {more:,} {'before' if over_time else 'more'}" if more else text


def _aligned(cells: list[str], *, left: bool = True) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) if left else cell.rjust(width) for cell in cells]


def _label(value: object) -> str:
    text = printable(show_key(value))
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
