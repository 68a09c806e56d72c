"""Lines over time: how counts grew from one reading to the next."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import axes, colors, dates, series
from osdi_frames.plots.labels import PLAIN
from osdi_frames.plots.series import Series

_MARKED = 40  # up to so many readings have a marker each


def draw(counts: pd.DataFrame, *, ax: Axes | None, top: int, title: str, unit: str) -> Axes:
    """Draw one line for each column, at most `top` of them and the others together."""
    dated = counts[counts.index.notna()].sort_index()
    lines = series.leading(dated, dated.tail(1).sum(), top=top)
    ax = axes.ensure_axes(ax, height=series.height(len(lines)))
    if dated.empty:
        return axes.draw_empty(ax, title)
    axes.set_title(ax, title)
    times = pd.DatetimeIndex(dated.index)
    at = dates.days(times)
    marker = "o" if len(at) <= _MARKED else ""
    artists = [
        ax.plot(at, line.counts, marker=marker, markersize=4, **colors.line(line.kind, line.number))[0]
        for line in lines
    ]
    label = f"{unit}: {dated.iloc[-1].sum():,} in all at the end"
    axes.count_upwards(ax, label, highest=_highest(lines) * 1.05)
    margin = (at[-1] - at[0]) / 40 or 0.5
    dates.mark(ax, times, left=at[0] - margin, right=at[-1] + margin)
    ax.set_xlabel(dates.name(times), **PLAIN)
    if not series.is_alone(counts):
        series.add_legend(ax, [_named(line, above=_highest(lines)) for line in lines], artists)
    return ax


def _highest(lines: list[Series]) -> int:
    """Tell how high the picture is to go: the others together are not to dwarf every value."""
    values = max((int(line.counts.max()) for line in lines if line.kind != "other"), default=0)
    highest = max(int(line.counts.max()) for line in lines)
    return min(highest, values * axes.FURTHEST) if values else highest


def _named(line: Series, *, above: int) -> Series:
    """Say of a line that leaves the picture where it ends."""
    last = int(line.counts.iloc[-1])
    return replace(line, name=f"{line.name}: {last:,}, above") if last > above else line
