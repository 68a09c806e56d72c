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

from osdi_frames.plots import axes, colors, dates, labels, series
from osdi_frames.plots.labels import PLAIN
from osdi_frames.tables.schema import NO_DATE

_STACKED = 8  # series that can be distinguished; the others are one
_LABELLED = 12  # up to so many bars have their count above them
_SMALL = 1.2  # so many more letters of the counts than of labels are as wide as the axes
_HEADROOM = 1.12  # for the counts above the bars
_BARS = 1500  # so many bars are drawn one by one; of more, which would take seconds, each series is one shape
_WIDTH = 0.8  # of its period: a bar
_FINEST = 1500  # parts of the span: a narrower bar could not be seen


@dataclass(frozen=True, slots=True)
class Places:
    """Where the bars stand, in days, and how wide they are.

    What has no date, or is far outside, stands apart: before the others, or after them.
    """

    times: pd.DatetimeIndex
    centers: NDArray[np.float64]
    widths: NDArray[np.float64]
    before: list[str]
    after: list[str]

    @property
    def names(self) -> list[str]:
        """The name of each bar that stands apart, and nothing for the others."""
        return [*self.before, *[""] * len(self.times), *self.after]


def draw(counts: pd.DataFrame, *, ax: Axes | None, top: int, title: str, unit: str) -> Axes:
    """Draw the counts of periods, one column on the other, at most `top`, and eight, and the others together."""
    counts = _in_order(counts)
    stack = series.leading(counts, counts.sum(), top=min(top, _STACKED))
    ax = axes.ensure_axes(ax, height=series.height(len(stack)))
    if counts.empty:
        return axes.draw_empty(ax, title)
    axes.set_title(ax, title)
    places = _places(counts.index)
    tops = np.zeros(len(counts), dtype="int64")
    artists = []
    for part in stack:
        heights = part.counts.to_numpy()
        style = colors.bar(part.kind, part.number)
        artists.append(_bars(ax, places, heights, base=tops, of_many=len(stack), **style))
        tops = tops + heights
    axes.count_upwards(ax, f"{unit}: {tops.sum():,} in all", highest=tops.max() * _HEADROOM)
    _mark(ax, places)
    alone = series.is_alone(counts)
    _count(ax, places, tops, all_of_them=alone and len(tops) <= _LABELLED)
    if not alone:
        series.add_legend(ax, stack, artists, upwards=True)
    return ax


def _in_order(counts: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by time: what is before all others first, what is after them and what has no date last."""
    names = pd.Series([str(label) for label in counts.index])
    place = names.str.startswith("after ") + 2 * (names == NO_DATE) - names.str.startswith("before ")
    times = dates.parsed(counts.index)
    order = pd.DataFrame({"place": place, "time": times.tz_localize(None)}).sort_values(["place", "time"])
    return counts.iloc[order.index]


def _places(index: pd.Index) -> Places:
    times = dates.parsed(index)
    apart = [labels.name_of(label) for label in index[times.isna()]]
    times = pd.DatetimeIndex(times.dropna())
    before = [name for name in apart if name.startswith("before ")]
    after = apart[len(before) :]
    if times.empty:
        return Places(times, np.arange(len(apart), dtype="float64"), np.full(len(apart), 0.5), before, after)
    at = dates.days(times)
    span = at[-1] - at[0]
    between = np.diff(at)
    between = between[between > 0]
    width = max(between.min() if len(between) else 1.0, span / max(_FINEST, len(at)))
    aside = max(2 * width, span / 11)
    apart_width = max(width, span / 50)
    left = at[0] - aside * np.arange(len(before), 0, -1)
    right = at[-1] + aside * np.arange(1, len(after) + 1)
    widths = [apart_width] * len(before) + [width] * len(at) + [apart_width] * len(after)
    return Places(times, np.concatenate([left, at, right]), np.array(widths), before, after)


def _bars(
    ax: Axes,
    places: Places,
    heights: NDArray[Any],
    *,
    base: NDArray[Any],
    of_many: int,
    **style: Any,
) -> BarContainer | PolyCollection:
    """Draw bars that stand on a base."""
    if len(heights) * of_many <= _BARS:
        return ax.bar(places.centers, heights, places.widths * _WIDTH, bottom=base, **style)
    left, right = places.centers - places.widths / 2, places.centers + places.widths / 2
    gaps = np.zeros(len(heights))
    tops = np.column_stack([base + heights, gaps]).ravel()
    bottoms = np.column_stack([base + gaps, gaps]).ravel()
    edges = np.maximum.accumulate(np.column_stack([left, right]).ravel())
    return ax.fill_between(edges, bottoms, tops, step="post", **{"linewidth": 0, **style})


def _mark(ax: Axes, places: Places) -> None:
    """Give the axes their limits, dates and names."""
    left, right = places.centers[0] - places.widths[0], places.centers[-1] + places.widths[-1]
    margin = (right - left) / 18  # half of a name
    left, right = left - margin * bool(places.before), right + margin * bool(places.after)
    if places.times.empty:
        ax.set(xlim=(left, right), xticks=[])
    else:
        dates.mark(ax, places.times, left=left, right=right)
    ax.set_xlabel(dates.name(places.times), **PLAIN)


def _count(ax: Axes, places: Places, tops: NDArray[Any], *, all_of_them: bool) -> None:
    """Write the counts above the bars, or where they have no room only those of bars that stand apart."""
    widest = max(len(f"{top:,}") for top in tops) + 1
    all_of_them = all_of_them and widest * len(tops) <= axes.letters(ax) * _SMALL
    texts = [
        f"{name}\n{top:,}".lstrip() if all_of_them or name else ""
        for name, top in zip(places.names, tops, strict=True)
    ]
    for center, top, text in zip(places.centers, tops, texts, strict=True):
        if text:
            ax.annotate(
                text, (center, top), (0, 2), textcoords="offset points", ha="center", fontsize="small"
            )
