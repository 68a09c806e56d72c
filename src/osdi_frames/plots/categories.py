"""One horizontal bar for each value of a report, the largest on top."""

from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its name, count and seats.

    Seats are those of the events that have a capacity.
    """

    name: str
    kind: colors.SeriesKind
    count: int
    capacity: float
    taken: int
    hidden: bool = False

    def text(self) -> str:
        """Return the count, and the seats taken.

        >>> Bar("climate", "value", 1553, 1250, 25).text()
        '1,553 · 25 of 1,250 seats'
        """
        if self.hidden:
            return "hidden"
        seats = f" · {self.taken:,} of {self.capacity:,.0f} seats" if self.capacity else ""
        return f"{self.count:,}{seats}"


def draw(counts: pd.DataFrame, *, ax: Axes | None, top: int, title: str, unit: str) -> Axes:
    """Draw the counts of a report's rows.

    These are at most `top`, and the others together.
    """
    bars = _bars(counts, top)
    ax = axes.prepared(ax, title, height=_ROOM + _SLOT * max(len(bars), 2), is_empty=not bars)
    if not bars:
        return ax
    seated = any(entry.capacity for entry in bars)
    drawn = ax.barh(range(len(bars)), [entry.count for entry in bars], 0.45 if seated else 0.75)
    for bar, entry in zip(drawn, bars, strict=True):
        bar.set(**colors.bar(entry.kind))
    if seated:  # below each bar, filled as far as they are taken
        below = [position + 0.33 for position in range(len(bars))]
        ax.barh(below, [entry.taken for entry in bars], 0.16, **colors.TAKEN)
        ax.barh(below, [entry.capacity for entry in bars], 0.16, **colors.SEATS)
    note = f"\n{colors.SEATS_NOTE}" if seated else ""
    ax.set_xlabel(f"{unit}: {counts['count'].sum():,} in all{note}", wrap=True)
    ax.set_xticks([])  # each bar has its number
    ax.spines["bottom"].set_visible(False)
    slot = axes.inches(ax)[1] * axes.POINTS / len(bars)
    size = max(min(axes.label_points(), slot * 0.8), _FINEST)  # smaller where bars stand closer than lines
    _name(ax, bars, size=size)
    _count(ax, bars, drawn, size=size)
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


def _count(ax: Axes, bars: list[Bar], drawn: BarContainer, *, size: float) -> None:
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
        text = f"{entry.text()}{cut}"
        if (len(text) + 1) * letter > _LONGEST:  # the seats are drawn
            text = f"{entry.count:,}{cut}"
        ax.annotate(text, (end, position), (4, 0), **style)
        right = max(right, end / (1 - min((len(text) + 1) * letter, _LONGEST)))
    ax.set_xlim(0, right)
