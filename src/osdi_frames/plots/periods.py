"""Bars over time: one for each period, stacked where there are several series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.container import BarContainer
from numpy.typing import NDArray

from osdi_frames.plots import axes, colors, dates, series
from osdi_frames.plots.labels import NO_DATE, PLAIN

_LABELLED = 12  # up to so many bars have their count above them
_HEADROOM = 1.12  # for the counts above the bars
_BARS = 1500  # so many bars are drawn one by one; of more, which would take seconds, each series is one shape
_FINEST = 1500  # parts of the span: a narrower bar could not be seen


@dataclass(frozen=True, slots=True)
class Places:
    """Where the bars stand, in days, and how wide they are; what has no date stands last, apart."""

    times: pd.DatetimeIndex
    centers: NDArray[np.float64]
    widths: NDArray[np.float64]

    @property
    def undated(self) -> bool:
        """Tell whether the last bar has no date."""
        return len(self.times) < len(self.centers)


def draw_counts(counts: pd.DataFrame, *, ax: Axes | None, title: str, unit: str) -> Axes:
    """Draw the counts of periods, with their seats if there are any."""
    counts = counts.sort_index(kind="stable")  # what has no date last
    ax = axes.own_or(ax)
    if counts.empty:
        return axes.say_nothing(ax, title)
    axes.entitle(ax, title)
    places = _places(counts.index)
    heights = counts["count"].to_numpy()
    top, note = heights.max(), ""
    if "capacity" in counts and counts["capacity"].any():
        _bars(ax, places, heights, share=(-0.4, 0.15), **colors.bar("value"))
        _bars(ax, places, counts["taken"].to_numpy(), share=(0.2, 0.4), **colors.TAKEN)
        _bars(ax, places, counts["capacity"].to_numpy(), share=(0.2, 0.4), **colors.SEATS)
        top = max(top, counts["capacity"].max())
        note = f"\n{colors.SEATS_NOTE}"
    else:
        _bars(ax, places, heights, **colors.bar("value"))
    axes.count_upwards(ax, f"{unit}: {heights.sum():,} in all", highest=top * _HEADROOM)
    _mark(ax, places, note=note)
    _count(ax, places, heights, all_of_them=len(heights) <= _LABELLED)
    return ax


def draw_stacked(counts: pd.DataFrame, *, ax: Axes | None, top: int, title: str, unit: str) -> Axes:
    """Draw the counts of periods, one column on the other, at most `top` and the others together."""
    counts = counts.sort_index(kind="stable")  # what has no date last
    stack = series.leading(counts, counts.sum(), top=top)
    ax = axes.own_or(ax, height=series.height(len(stack)))
    if counts.empty:
        return axes.say_nothing(ax, title)
    axes.entitle(ax, title)
    places = _places(counts.index)
    tops = np.zeros(len(counts), dtype="int64")
    artists = []
    for each in stack:
        heights = each.counts.to_numpy()
        style = colors.bar(each.kind, each.number)
        artists.append(_bars(ax, places, heights, floor=tops, of_many=len(stack), **style))
        tops = tops + heights
    axes.count_upwards(ax, f"{unit}: {tops.sum():,} in all", highest=tops.max() * _HEADROOM)
    _mark(ax, places)
    _count(ax, places, tops, all_of_them=False)
    series.explain(ax, stack, artists, upwards=True)
    return ax


def _places(index: pd.Index) -> Places:
    times = pd.DatetimeIndex(index.dropna())
    apart = len(index) - len(times)
    if times.empty:
        return Places(times, np.zeros(apart), np.ones(apart))
    at = dates.days(times)
    span = at[-1] - at[0]
    between = np.diff(at)
    between = between[between > 0]
    width = max(between.min() if len(between) else 1.0, span / max(_FINEST, len(at)))
    aside = at[-1] + max(2 * width, span / 11)
    return Places(
        times,
        np.append(at, [aside] * apart),
        np.append(np.full(len(at), width), [max(width, span / 50)] * apart),
    )


def _bars(
    ax: Axes,
    places: Places,
    heights: NDArray[Any],
    *,
    floor: NDArray[Any] | int = 0,
    share: tuple[float, float] = (-0.4, 0.4),
    of_many: int = 1,
    **style: Any,
) -> BarContainer | PolyCollection:
    """Draw bars that stand on a floor, each over its share of its period, from the middle."""
    if len(heights) * of_many <= _BARS:
        left, right = (places.centers + places.widths * edge for edge in share)
        return ax.bar(left, heights, right - left, bottom=floor, align="edge", **style)
    left, right = places.centers - places.widths / 2, places.centers + places.widths / 2
    gaps = np.zeros(len(heights))
    tops = np.column_stack([floor + heights, gaps]).ravel()
    bottoms = np.column_stack([floor + gaps, gaps]).ravel()
    edges = np.maximum.accumulate(np.column_stack([left, right]).ravel())
    return ax.fill_between(edges, bottoms, tops, step="post", **{"linewidth": 0, **style})


def _mark(ax: Axes, places: Places, *, note: str = "") -> None:
    """Give the axes their limits, dates and names."""
    left, right = places.centers[0] - places.widths[0], places.centers[-1] + places.widths[-1]
    if places.undated:
        right += (right - left) / 18  # half of its name
    if places.times.empty:
        ax.set(xlim=(left, right), xticks=[])
    else:
        dates.mark(ax, places.times, left=left, right=right)
    ax.set_xlabel(dates.name(places.times) + note, **PLAIN)


def _count(ax: Axes, places: Places, tops: NDArray[Any], *, all_of_them: bool) -> None:
    """Write the counts above the bars, if not all then of the one without a date."""
    texts = [f"{top:,}" if all_of_them else "" for top in tops]
    if places.undated:
        texts[-1] = f"{NO_DATE}\n{tops[-1]:,}"
    for center, top, text in zip(places.centers, tops, texts, strict=True):
        if text:
            ax.annotate(
                text, (center, top), (0, 2), textcoords="offset points", ha="center", fontsize="small"
            )
