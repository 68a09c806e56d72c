"""One horizontal bar for each value of a report, the largest on top."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import axes, colors
from osdi_frames.plots.labels import labels, name_of
from osdi_frames.tables.schema import NONE

_SLOT = 0.3  # inches of height for each bar of an own figure
_ROOM = 1.3  # inches for title and axis
_WIDEST = 40  # letters of a label
_FINEST = 4.0  # points; smaller text is none


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it is called, what it counts, and the seats of the events that have a capacity."""

    name: str
    count: int
    kind: colors.Kind = "value"
    capacity: float = nan
    taken: float = nan

    def text(self) -> str:
        """Say the count, and how much of the capacity is taken."""
        if not self.capacity > 0:
            return f"{self.count:,}"
        return f"{self.count:,} · {self.taken / self.capacity:.0%} of {self.capacity:,.0f}"


def draw(counts: pd.DataFrame, *, ax: Axes | None, top: int, title: str, unit: str) -> Axes:
    """Draw the counts of a report's rows, at most `top` of them and the others together."""
    bars = _bars(counts, top)
    ax = axes.own_or(ax, height=_ROOM + _SLOT * max(len(bars), 3))
    if not bars:
        return axes.say_nothing(ax, title)
    axes.entitle(ax, title)
    limited = any(not isnan(each.capacity) for each in bars)
    if limited:
        capacities = [0 if isnan(each.capacity) else each.capacity for each in bars]
        ax.barh(
            range(len(bars)),
            capacities,
            0.8,
            label="capacity, of the events that have one",
            **colors.CAPACITY,
        )
    for position, each in enumerate(bars):
        ax.barh(position, each.count, 0.5 if limited else 0.75, **colors.bar(each.kind))
    axes.count_along(ax, "x", f"{unit}: {counts['count'].sum():,} in all")
    size = _font_points(ax, len(bars))
    _name(ax, bars, size=size)
    _count(ax, bars, size=size)
    if limited:
        ax.legend(loc="lower right", fontsize="small")
    return ax


def _bars(counts: pd.DataFrame, top: int) -> list[Bar]:
    ranked = counts.sort_values("count", ascending=False, kind="stable")
    bars = [
        Bar(name_of(key), kind="none" if is_none(key) else "value", **_numbers(row))
        for key, (_, row) in zip(ranked.index[:top], ranked.iloc[:top].iterrows(), strict=True)
    ]
    rest = ranked.iloc[top:]
    if len(rest):
        bars.append(Bar(f"(other: {len(rest):,})", kind="other", **_numbers(rest.sum(min_count=1))))
    return bars


def _numbers(row: pd.Series) -> dict[str, float]:
    return {"count": int(row["count"])} | {str(name): float(row[name]) for name in row.index.drop("count")}


def is_none(key: object) -> bool:
    """Tell whether a key, or every part of one, stands for no value."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(part == NONE if isinstance(part, str) else pd.isna(part) for part in parts)


def _font_points(ax: Axes, bars: int) -> float:
    """Choose the size of the text: as set, but smaller where the bars stand closer than its lines."""
    slot = axes.inches(ax)[1] * axes.POINTS / bars
    return max(min(axes.font_points("ytick.labelsize"), slot * 0.8), _FINEST)


def _name(ax: Axes, bars: list[Bar], *, size: float) -> None:
    half = axes.inches(ax)[0] / 2 * axes.POINTS / (size * axes.LETTER)
    names = labels([each.name for each in bars], width=max(min(int(half), _WIDEST), 8))
    ax.set_yticks(range(len(bars)), names.texts, fontsize=size, **names.style)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(bars) - 0.5, -0.5)


def _count(ax: Axes, bars: list[Bar], *, size: float) -> None:
    """Write each count at its bar, and leave room for the longest."""
    ends = [max(each.count, 0 if isnan(each.capacity) else each.capacity) for each in bars]
    for position, (each, end) in enumerate(zip(bars, ends, strict=True)):
        ax.annotate(
            each.text(), (end, position), (4, 0), textcoords="offset points", va="center", fontsize=size
        )
    letters = max(len(each.text()) for each in bars) + 1
    share = letters * axes.LETTER * size / axes.POINTS / axes.inches(ax)[0]
    ax.set_xlim(0, max(*ends, 1) / (1 - min(share, 0.6)))
