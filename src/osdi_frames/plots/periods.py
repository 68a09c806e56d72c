"""Bars over time: one for each period, stacked where there are several series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import NDArray

from osdi_frames.plots import axes, calendar, colors, series
from osdi_frames.plots.labels import NO_DATE

_LABELLED = 12  # up to so many bars have their count above them
_BARS = 1000  # more would take seconds to draw: each series is then one shape
_FINEST = 1500  # parts of the span: a narrower bar could not be seen


@dataclass(frozen=True, slots=True)
class Places:
    """Where the bars stand, in days, and how wide they are; what has no date stands last, apart."""

    times: pd.DatetimeIndex
    centers: NDArray[np.float64]
    widths: NDArray[np.float64]
    undated: bool


def draw(
    counts: pd.DataFrame,
    *,
    ax: Axes | None,
    top: int,
    title: str,
    unit: str,
    capacity: pd.Series | None = None,
) -> Axes:
    """Draw the counts of periods: a column is a series, a row without a time stands apart at the end."""
    stack = series.leading(counts, counts.sum(), top=top)
    ax = axes.own_or(ax, height=series.height(len(stack)))
    if counts.empty:
        return axes.say_nothing(ax, title)
    axes.entitle(ax, title)
    order = np.argsort(counts.index.to_numpy(), kind="stable")  # NaT last
    places = _places(pd.DatetimeIndex(counts.index[order]))
    if capacity is not None and capacity.notna().any():
        seats = capacity.fillna(0).to_numpy()[order]
        pale = _bars(ax, places, seats, np.zeros(len(order)), share=1.0, **colors.CAPACITY)
        ax.legend([pale], ["capacity, of the events that have one"], loc="upper left", fontsize="small")
    tops = np.zeros(len(order))
    artists = []
    for each in stack:
        heights = each.counts.to_numpy()[order]
        style = colors.bar(each.kind, each.number)
        artists.append(_bars(ax, places, heights, tops, share=0.8 if capacity is None else 0.5, **style))
        tops = tops + heights
    axes.count_along(ax, "y", f"{unit}: {int(tops.sum()):,} in all")
    _label(ax, places, tops, counted=len(counts.columns) == 1)
    if len(counts.columns) > 1:
        series.explain(ax, stack, artists, upwards=True)
    return ax


def _places(index: pd.DatetimeIndex) -> Places:
    times = index.dropna()
    if times.empty:
        return Places(times, np.zeros(len(index)), np.ones(len(index)), undated=True)
    at = calendar.days(times)
    span = at[-1] - at[0]
    between = np.diff(at)
    between = between[between > 0]
    width = max(between.min() if len(between) else 1.0, span / _FINEST)
    widths = np.full(len(index), width)
    apart = len(index) - len(times)
    if apart:
        widths[-apart:] = max(width, span / 50)
        at = np.append(at, np.full(apart, at[-1] + max(2 * width, span / 15)))
    return Places(times, at, widths, undated=bool(apart))


def _bars(
    ax: Axes,
    places: Places,
    heights: NDArray[Any],
    floor: NDArray[Any],
    *,
    share: float,
    **style: Any,
) -> Artist:
    """Draw bars that stand on a floor, each as wide as its share of its period."""
    if len(heights) <= _BARS:
        return ax.bar(places.centers, heights, places.widths * share, bottom=floor, **style)
    half = places.widths / 2
    edges = np.column_stack([places.centers - half, places.centers + half]).ravel()
    tops = np.column_stack([floor + heights, np.zeros(len(heights))]).ravel()[:-1]
    bottoms = np.column_stack([floor, np.zeros(len(heights))]).ravel()[:-1]
    return ax.stairs(tops, np.maximum.accumulate(edges), baseline=bottoms, fill=True, **style)


def _label(ax: Axes, places: Places, tops: NDArray[Any], *, counted: bool) -> None:
    """Mark the axis of time, write the counts above few bars, and name the bar without a date."""
    half = places.widths.max()
    left, right = places.centers[0] - half, places.centers[-1] + half
    if places.times.empty:
        ax.set(xlim=(left, right), xticks=[])
    else:
        calendar.mark(ax, places.times, left=left, right=right)
    texts = [f"{int(top):,}" if counted and len(tops) <= _LABELLED else "" for top in tops]
    if places.undated:
        texts[-1] = f"{NO_DATE}\n{int(tops[-1]):,}"
    for center, top, text in zip(places.centers, tops, texts, strict=True):
        if text:
            ax.annotate(
                text, (center, top), (0, 2), textcoords="offset points", ha="center", fontsize="small"
            )
    ax.set_ylim(0, max(tops.max() * 1.12, 1))
