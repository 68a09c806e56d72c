"""Data as text for a terminal."""

from __future__ import annotations

import pandas as pd

from osdi_frames.errors import printable

_WIDTH = 60  # characters of a label
_SHARES = ("share", "fill_rate")


def table(frame: pd.DataFrame, *, top: int) -> str:
    """Lay out the first `top` rows of a report, of one over time the last, and say how many more there are."""
    if frame.empty:
        return "nothing to report"
    over_time = isinstance(frame.index, pd.DatetimeIndex)
    shown = (frame.tail(top) if over_time else frame.head(top)).reset_index()
    for name in shown:
        shown[name] = shown[name].map(_percent if name in _SHARES else _cell).astype("str")
    label = shown.columns[0]
    width = max(shown[label].str.len().max(), len(label))
    shown[label] = shown[label].str.ljust(width)
    text = shown.rename(columns={label: label.ljust(width)}).to_string(index=False)
    more = len(frame) - len(shown)
    return f"{text}\n… and {more:,} {'before' if over_time else 'more'}" if more else text


def _cell(value: object) -> str:
    if pd.isna(value):  # type: ignore[call-overload] # any scalar will do
        return "–"
    if isinstance(value, pd.Timestamp):
        return value.strftime("%Y-%m-%d")
    if isinstance(value, int):
        return f"{value:,}"
    text = printable(str(value))
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _percent(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.1%}"
