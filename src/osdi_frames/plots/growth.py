"""Lines over time: how counts grew from one reading to the next."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import axes, colors, dates, series
from osdi_frames.plots.labels import PLAIN

_MARKED = 40  # up to so many readings have a marker each


def draw(counts: pd.DataFrame, *, ax: Axes | None, top: int, title: str, unit: str) -> Axes:
    """Draw one line for each column, at most `top` of them and the others together."""
    dated = counts[counts.index.notna()].sort_index()
    lines = series.leading(dated, dated.tail(1).sum(), top=top)
    ax = axes.own_or(ax, height=series.height(len(lines)))
    if dated.empty:
        return axes.say_nothing(ax, title)
    axes.entitle(ax, title)
    times = pd.DatetimeIndex(dated.index)
    at = dates.days(times)
    marker = "o" if len(at) <= _MARKED else ""
    artists = [
        ax.plot(at, each.counts, marker=marker, markersize=4, **colors.line(each.kind, each.number))[0]
        for each in lines
    ]
    label = f"{unit}: {dated.iloc[-1].sum():,} in all at the end"
    axes.count_upwards(ax, label, highest=max(each.counts.max() for each in lines) * 1.05)
    margin = max((at[-1] - at[0]) / 40, 0.0) or 0.5
    dates.mark(ax, times, left=at[0] - margin, right=at[-1] + margin)
    ax.set_xlabel(dates.name(times), **PLAIN)
    series.explain(ax, lines, artists)
    return ax
