"""One horizontal bar for each value of a report, the largest on top."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import axes, bars, colors
from osdi_frames.plots.labels import name_of

_SLOT = 0.3  # inches of height for each bar of an own figure
_ROOM = 1.3  # inches for title and axis

Thin: TypeAlias = Literal["seats", "attended", "goal"]
"""What the thin bars below are: the seats of the events that have a capacity, those who attended, or a goal."""

#: Of the thin bars: what the axis says of them, and the text at a bar.
_NOTES: Final[Mapping[Thin, str]] = {
    "seats": "thin bars: seats, and those taken",
    "attended": "thin bars: those who attended",
    "goal": "thin bars: the goal, filled as far as it is reached",
}
_TEXTS: Final[Mapping[Thin, str]] = {
    "seats": "{taken:,} of {capacity:,.0f} seats",
    "attended": "{taken:,} attended",
    "goal": "of {capacity:,.0f}",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, and the thin bar below it, which shows how many of its `capacity` are `taken`."""

    name: str
    kind: colors.SeriesKind
    count: int
    capacity: float
    taken: int
    hidden: bool = False

    @property
    def short(self) -> str:
        """The count alone, without the thin bar, which is drawn."""
        return "hidden" if self.hidden else f"{self.count:,}"

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
    counts: pd.DataFrame,
    *,
    ax: Axes | None,
    top: int,
    title: str,
    unit: str,
    thin: Thin = "seats",
    has_total: bool = True,
    keeps_order: bool = False,
) -> Axes:
    """Draw the counts of `top` rows, the largest, or the first where they keep their order, and of the others."""
    entries = _bars(
        counts if keeps_order else counts.sort_values("count", ascending=False, kind="stable"), top
    )
    ax = axes.ensure_axes(ax, title, height=_ROOM + _SLOT * max(len(entries), 2), is_empty=not entries)
    if not entries:
        return ax
    is_thin = any(entry.capacity for entry in entries)
    drawn = ax.barh(range(len(entries)), [entry.count for entry in entries], 0.45 if is_thin else 0.75)
    for bar, entry in zip(drawn, entries, strict=True):
        bar.set(**colors.bar(entry.kind))
    if is_thin:  # below each bar, filled as far as they are taken
        below = [position + 0.33 for position in range(len(entries))]
        ax.barh(below, [entry.taken for entry in entries], 0.16, **colors.TAKEN)
        ax.barh(below, [entry.capacity for entry in entries], 0.16, **colors.SEATS)
    note = f"\n{_NOTES[thin]}" if is_thin else ""
    total = f": {counts['count'].sum():,} in all" if has_total else ""
    ax.set_xlabel(f"{unit}{total}{note}", wrap=True)
    size = bars.points(ax, len(entries))
    bars.name(ax, [entry.name for entry in entries], size=size)
    written = [
        bars.BarText(bar, position, entry.count, entry.text(thin), entry.short, entry.kind == "other")
        for position, (bar, entry) in enumerate(zip(drawn, entries, strict=True))
    ]
    bars.write(ax, written, size=size, reach=max(entry.capacity for entry in entries) * 1.02)
    return ax


def counts_of(counts: pd.Series) -> pd.DataFrame:
    """Return counts as they are drawn, without thin bars; missing counts are hidden."""
    drawn = {"count": counts.fillna(0).astype("int64"), "hidden": counts.isna(), "capacity": 0.0, "taken": 0}
    return pd.DataFrame(drawn, counts.index)


def _bars(counts: pd.DataFrame, top: int) -> list[Bar]:
    columns = counts[["count", "capacity", "taken", "hidden"]]
    entries = [
        Bar(name_of(key), colors.kind_of(key), *row) for key, *row in columns.head(top).itertuples(name=None)
    ]
    rest = columns.iloc[top:]
    if len(rest):
        count, taken = int(rest["count"].sum()), int(rest["taken"].sum())
        entries.append(Bar(f"(other: {len(rest):,})", "other", count, rest["capacity"].sum(), taken))
    return entries
