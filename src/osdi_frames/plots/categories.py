"""One horizontal bar for each value of a report, the largest on top."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.patches import Rectangle

from osdi_frames.plots import axes, colors
from osdi_frames.plots.labels import PLAIN, labels, name_of

_SLOT = 0.3  # inches of height for each bar of an own figure
_ROOM = 1.3  # inches for title and axis
_NARROWEST, _WIDEST = 8, 40  # letters of a label
_FINEST = 4.0  # points; smaller cannot be read
_LONGEST = 0.6  # of the width: the text at a bar
_DEEPEST = 5  # times the largest count: seats beyond that run out of the picture; 99,999 often means no limit


Thin: TypeAlias = Literal["seats", "attended"]
"""What the thin bars below are: the seats of the events that have a capacity, or those who attended."""

#: Of the thin bars: what the axis says of them, and the text at a bar.
_NOTES: Final[Mapping[Thin, str]] = {
    "seats": "thin bars: seats, and those taken",
    "attended": "thin bars: those who attended",
}
_TEXTS: Final[Mapping[Thin, str]] = {
    "seats": "{taken:,} of {capacity:,.0f} seats",
    "attended": "{taken:,} attended",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, and the thin bar below it.

    It shows how many of its `capacity` are `taken`.
    """

    name: str
    kind: colors.SeriesKind
    count: int
    capacity: float
    taken: int
    hidden: bool = False

    def text(self, thin: Thin) -> str:
        """Return the count, and what the thin bar shows.

        >>> Bar("climate", "value", 1553, 1250, 25).text("seats")
        '1,553 · 25 of 1,250 seats'
        """
        if self.hidden:
            return "hidden"
        below = _TEXTS[thin].format(taken=self.taken, capacity=self.capacity)
        return f"{self.count:,} · {below}" if self.capacity else f"{self.count:,}"


def draw(
    counts: pd.DataFrame, *, ax: Axes | None, top: int, title: str, unit: str, thin: Thin = "seats"
) -> Axes:
    """Draw the counts of a report's rows.

    These are at most `top`, and the others together.
    """
    bars = _bars(counts, top)
    ax = axes.prepared(ax, title, height=_ROOM + _SLOT * max(len(bars), 2), is_empty=not bars)
    if not bars:
        return ax
    is_thin = any(entry.capacity for entry in bars)
    drawn = ax.barh(range(len(bars)), [entry.count for entry in bars], 0.45 if is_thin else 0.75)
    for bar, entry in zip(drawn, bars, strict=True):
        bar.set(**colors.bar(entry.kind))
    if is_thin:  # below each bar, filled as far as they are taken
        below = [position + 0.33 for position in range(len(bars))]
        ax.barh(below, [entry.taken for entry in bars], 0.16, **colors.TAKEN)
        ax.barh(below, [entry.capacity for entry in bars], 0.16, **colors.SEATS)
    note = f"\n{_NOTES[thin]}" if is_thin else ""
    ax.set_xlabel(f"{unit}: {counts['count'].sum():,} in all{note}", wrap=True)
    ax.set_xticks([])  # each bar has its number
    ax.spines["bottom"].set_visible(False)
    slot = axes.inches(ax)[1] * axes.POINTS / len(bars)
    size = max(min(axes.label_points(), slot * 0.8), _FINEST)  # smaller where bars stand closer than lines
    _name(ax, bars, size=size)
    _count(ax, bars, drawn, thin=thin, size=size)
    return ax


def _bars(counts: pd.DataFrame, top: int) -> list[Bar]:
    ranked = counts.sort_values("count", ascending=False, kind="stable")
    columns = ranked[["count", "capacity", "taken", "hidden"]]
    bars = [
        Bar(name_of(key), colors.kind_of(key), *row) for key, *row in columns.head(top).itertuples(name=None)
    ]
    rest = columns.iloc[top:]
    if len(rest):
        count, taken = int(rest["count"].sum()), int(rest["taken"].sum())
        bars.append(Bar(f"(other: {len(rest):,})", "other", count, rest["capacity"].sum(), taken))
    return bars


def _name(ax: Axes, bars: list[Bar], *, size: float) -> None:
    width = max(min(int(axes.letters(ax, points=size) / 2), _WIDEST), _NARROWEST)
    names, style = labels([entry.name for entry in bars], width=width)
    ax.set_yticks(range(len(bars)), names, fontsize=size, **style)
    ax.tick_params(axis="y", length=0)
    margin = 0.5 if len(bars) > 1 else 1.0
    ax.set_ylim(len(bars) - 1 + margin, -margin)


def _count(ax: Axes, bars: list[Bar], drawn: BarContainer, *, thin: Thin, size: float) -> None:
    """Write each count at its bar, with room.

    Where the others together would dwarf every value, their bar is cut short, and says so.
    """
    largest = max((entry.count for entry in bars if entry.kind != "other"), default=0)
    letters = axes.letters(ax, points=size)
    names = max(len(label.get_text()) for label in ax.get_yticklabels())  # a layout makes room for them
    letter = 1 / max(min(letters, letters * ax.figure.bbox.width / ax.bbox.width - names), 1)
    style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size, **PLAIN}
    right = max(1.0, min(max(entry.capacity for entry in bars) * 1.02, largest * _DEEPEST))
    for position, entry in enumerate(bars):
        end, cut = entry.count, ""
        if entry.kind == "other" and 0 < largest * axes.FURTHEST < entry.count:
            end, cut = largest * axes.FURTHEST, " (cut short)"
            drawn[position].set_clip_path(Rectangle((0, position - 0.5), end, 1, transform=ax.transData))
        text = f"{entry.text(thin)}{cut}"
        if (len(text) + 1) * letter > _LONGEST:  # the thin bar is drawn
            text = f"{entry.count:,}{cut}"
        ax.annotate(text, (end, position), (4, 0), **style)
        right = max(right, end / (1 - min((len(text) + 1) * letter, _LONGEST)))
    ax.set_xlim(0, right)
