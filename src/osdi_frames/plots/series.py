"""The columns of a report over time, at most so many of them, and the others together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import axes, colors
from osdi_frames.plots.categories import is_none
from osdi_frames.plots.labels import labels, name_of

_WIDEST = 30  # letters of a label
_LINE = 0.21  # inches of height for each line of a legend


@dataclass(frozen=True, slots=True)
class Series:
    """One series: what it is called, what it stands for, its number among the values, and its counts."""

    name: str
    kind: colors.Kind
    number: int
    counts: pd.Series


def leading(counts: pd.DataFrame, weights: pd.Series, *, top: int) -> list[Series]:
    """Take the `top` columns with the largest weights, and the sum of the others; what is alone is taken."""
    top = top or is_alone(counts)
    order = weights.reset_index(drop=True).sort_values(ascending=False, kind="stable").index
    taken = []
    values = 0
    for position in order[:top]:
        key = counts.columns[position]
        kind: colors.Kind = "none" if is_none(key) else "value"
        taken.append(Series(name_of(key), kind, values, counts.iloc[:, position]))
        values += kind == "value"
    rest = counts.iloc[:, order[top:]]
    if rest.shape[1]:
        taken.append(Series(f"(other: {rest.shape[1]:,})", "other", values, rest.sum(axis=1)))
    return taken


def is_alone(counts: pd.DataFrame) -> bool:
    """Tell whether counts are of no values, but in all."""
    return list(counts.columns.names) == [None] and list(counts) == ["count"]


def add_legend(ax: Axes, series: list[Series], artists: Sequence[Any], *, upwards: bool = False) -> None:
    """Put a legend to the right of the axes, in the order in which the series stand there."""
    names = labels([row.name for row in series], width=_WIDEST)
    blank = [" "] * len(series)  # matplotlib leaves out a name that begins with an underscore
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "reverse": upwards}
    legend = ax.legend(artists, blank, frameon=False, fontsize="small", **place)
    in_order = reversed(names.texts) if upwards else names.texts
    for text, name in zip(legend.get_texts(), in_order, strict=True):
        text.set(text=name, **names.style)


def height(series: int) -> float:
    """Tell the height of a figure of its own in which the legend has its place."""
    return max(axes.HEIGHT, 1.0 + _LINE * series)
