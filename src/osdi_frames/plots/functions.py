"""A plot for each declared report, of the same name, with its documentation."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.errors import InvalidArgument
from osdi_frames.plots import categories, frame, growth, periods, series
from osdi_frames.reports import Report
from osdi_frames.reports.titles import labelled

_DOCUMENTATION = """Draw {what}.

Takes the report of the same name, ``of.plots.{name}(of.{name}({table}{more}))``. {text}

Parameters
----------
report
    the report of the same name; its index may be renamed, and a column `title` is shown in place of ids
ax
    the axes to draw on; those of a new pyplot figure if not given, which a notebook shows by itself
top
    how many values; all others are one, ``(other: 980)``, so that what is drawn sums to the total
capacity
    whether to show the seats of the events that have a capacity, where the report has them: below each bar a
    thin one, filled as far as they are taken; not over time, where one large event would dwarf every month

Returns
-------
Axes
    the axes; nothing is shown or saved

Raises
------
NotAReport
    the frame is no such report; the message says what to call
InvalidArgument
    `top` is no count
"""
_TEXTS = {
    "groups": "Values are bars, most on top; with several keys a label joins their values: ``CA · True``. A "
    "period of time makes bars from left to right, stacked by the other keys, of which eight are shown at most.",
    "over time": "Each bar stands at the start of its period (UTC). With `by` it is stacked, of eight values at "
    "most. Rows without a date stand apart at the end.",
    "growth": "A line for each value; the dots are the pulls, between them nothing is known. Where the others "
    "together would dwarf every line, theirs leaves the picture at the top, and the legend says so.",
}


def plot_of(declared: Report) -> Callable[..., Axes]:
    """Return the plot of a declared report.

    >>> from osdi_frames.reports import REPORTS
    >>> plot_of(REPORTS[0]).__name__
    'rsvps_by_campaign'
    """

    def plot(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20, capacity: bool = True) -> Axes:
        frame.refuse_unless_frame(report, plot=declared)
        if not isinstance(top, int) or top < 1:
            raise InvalidArgument(f"top is how many values to show, 1 or more, not {top!r}")
        unit = frame.unit_of(report, plot=declared)
        if declared.kind == "groups":
            return _draw_groups(declared, labelled(report), ax=ax, top=top, capacity=capacity, unit=unit)
        counts = frame.columns(report, plot=declared)
        by = "" if series.is_alone(counts) else f" by {frame.joined(counts.columns.names)}"
        draw = growth.draw if declared.kind == "growth" else periods.draw
        return draw(counts, ax=ax, top=top, title=f"{declared.heading}{by}", unit=unit)

    plot.__name__ = plot.__qualname__ = declared.name
    plot.__module__ = __package__
    plot.__doc__ = _DOCUMENTATION.format(
        what=f"the {declared.heading[:1].lower()}{declared.heading[1:]}".replace("rSVPs", "RSVPs"),
        name=declared.name,
        table=declared.table,
        more=", by" if declared.by is None and declared.kind == "groups" else "",
        text=_TEXTS[declared.kind],
    )
    return plot


def _draw_groups(
    declared: Report, report: pd.DataFrame, *, ax: Axes | None, top: int, capacity: bool, unit: str
) -> Axes:
    counts = frame.rows(report, plot=declared)
    keys = frame.joined(counts.index.names)
    title = declared.heading if declared.by is not None else f"{declared.heading} by {keys}"
    times = frame.time_levels(counts.index)
    if times or not capacity:
        counts = counts[["count", "hidden"]]
    if times:
        counts = counts[~counts["hidden"]]
    if times and (counts.index.nlevels == 1 or (len(times) == 1 and counts.index.is_unique)):
        return periods.draw(frame.spread(counts, times), ax=ax, top=top, title=title, unit=unit)
    return categories.draw(counts, ax=ax, top=top, title=title, unit=unit)
