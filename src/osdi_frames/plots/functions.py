"""A plot for each declared report, of the same name, with its documentation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import pandas as pd
from matplotlib.axes import Axes
from pandas.api.types import is_numeric_dtype

from osdi_frames.errors import InvalidArgument
from osdi_frames.plots import axes, categories, over_time
from osdi_frames.plots.refusal import MEASURES, checked_frame, checked_top, documentation, not_a_report
from osdi_frames.reports.groups import PERIOD_NAMES, time_levels
from osdi_frames.reports.report import Report
from osdi_frames.reports.titles import labelled, words
from osdi_frames.tables import TABLES
from osdi_frames.tables.schema import Table

_TEXTS = {
    "groups": "Values are bars, most on top; with several keys a label joins their values: ``CA · True``. Below a bar "
    "are the seats of the events that have a capacity, where the report has them, filled as far as they are taken, or "
    "those who attended. "
    "A period of time makes bars from left to right, stacked by the other keys, of which eight are shown at most.",
    "over time": "Each bar stands at the start of its period. With `by` it is stacked, of eight values at "
    "most. Rows without a date stand apart at the end.",
    "growth": "A line for each value; the dots are the pulls, between them nothing is known. Where the others "
    "together would dwarf every line, theirs leaves the picture at the top, and the legend says so.",
}
#: What reports call their indexes; another name is the caller's.
_INDEX_NAMES = frozenset(PERIOD_NAMES.values()).union(
    *(schema.names for schema in map(Table.schema, TABLES.values()))
)


class ReportPlot(Protocol):
    """The plot of a declared report."""

    def __call__(self, report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the report, and return the axes."""


def plot_of(declared: Report) -> ReportPlot:
    """Return the plot of a declared report.

    >>> from osdi_frames.reports.declared import REPORTS
    >>> plot_of(REPORTS[0]).__name__
    'rsvps_by_campaign'
    """

    def plot(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
        checked_frame(report, declared.name, _arguments(declared))
        checked_top(top)
        _refuse_other_report(report, plot=declared)
        count, subject, title = declared.count, declared.subject, declared.heading
        shown = report[[count]] if count in report.columns else report
        unit = f"{subject.unit} (without small counts)" if shown.isna().any(axis=None) else subject.unit
        if declared.kind == "groups":
            counts = _rows(labelled(report), plot=declared)
            times = time_levels(counts.index)
            title = title if declared.by is not None else f"{title} by {_joined(counts.index.names)}"
            is_over_time = len(times) == 1 and counts.index.is_unique
            thin: categories.Thin = "attended" if "attended" in report else "seats"
            draw: Callable[..., Axes] = (
                over_time.draw_bars if is_over_time else partial(categories.draw, thin=thin)
            )
            counts = _spread(counts, times[0]) if is_over_time else counts
        else:
            counts = _columns(report, plot=declared)
            title = title if over_time.is_alone(counts) else f"{title} by {_joined(counts.columns.names)}"
            draw = over_time.draw_growth if declared.kind == "growth" else over_time.draw_bars
        return draw(counts, ax=ax, top=top, title=title, unit=unit)

    plot.__name__ = plot.__qualname__ = declared.name
    plot.__module__ = __package__
    heading = f"{declared.heading[:1].lower()}{declared.heading[1:]}".replace("rSVPs", "RSVPs")
    text = f"{_TEXTS[declared.kind]} Its index may be renamed, and a column `title` is shown in place of ids."
    plot.__doc__ = documentation(declared.name, _arguments(declared), first=f"Draw the {heading}.", text=text)
    return axes.complete(plot)


def _refuse_other_report(report: pd.DataFrame, *, plot: Report) -> None:
    """Refuse a report whose index or columns are another's.

    Of several keys some may be dropped, not the last, which is in the title.
    """
    own, names = plot.index_names, [name for name in report.index.names if name in _INDEX_NAMES]
    if own and names and not (own[-1] in names and {*names} <= {*own}):
        raise _not_a_report(plot, f"is by {_joined(names)}")
    columns = MEASURES.intersection(report.columns if list(report.columns.names) == [None] else ())
    if others := sorted(columns.difference(measure.name for measure in plot.measures)):
        raise _not_a_report(plot, f"has the column {others[0]}")


def _rows(report: pd.DataFrame, *, plot: Report) -> pd.DataFrame:
    """Return `count` and `hidden` of each value, and of the thin bars, seats or attendance, `capacity` and `taken`."""
    if plot.count not in report.columns or not is_numeric_dtype(report[plot.count].dtype):
        raise _not_a_report(plot, f"has no counts in a column {plot.count}")
    if isinstance(report.index, pd.RangeIndex):  # as of a report read back from a file
        raise _not_a_report(plot, "is not indexed by its values, as set_index makes it")
    counts = report[plot.count]
    drawn = pd.DataFrame({"count": counts.fillna(0).astype("int64"), "hidden": counts.isna()})
    has_seats = {"capacity", "limited_rsvps"} <= set(report.columns)
    drawn["capacity"] = report["capacity"].astype("Float64").fillna(0).astype("float64") if has_seats else 0.0
    drawn["taken"] = report["limited_rsvps"].fillna(0).astype("int64") if has_seats else 0
    if "attended" in report:
        drawn = drawn.assign(capacity=drawn["count"].astype("float64"), taken=report["attended"])
    return drawn


def _spread(counts: pd.DataFrame, time: int) -> pd.DataFrame:
    """Turn the keys of rows into times, which one of them is, and a column for each value of the others."""
    shown = counts.loc[~counts["hidden"], ["count"]]
    others = [number for number in range(counts.index.nlevels) if number != time]
    return shown["count"].unstack(others, fill_value=0) if others else shown


def _columns(report: pd.DataFrame, *, plot: Report) -> pd.DataFrame:
    """Return the counts of a report by time: a column for each value, or `count` alone."""
    if not isinstance(report.index, pd.DatetimeIndex):
        raise _not_a_report(plot, "is not indexed by time")
    if not all(map(is_numeric_dtype, report.dtypes)):
        raise _not_a_report(plot, "has columns that are no counts")
    counts = report.dropna(axis="columns", how="all").dropna(how="all").fillna(0).astype("int64")
    if list(counts.columns.names) == [None] and plot.count in counts:
        return counts[[plot.count]].set_axis(["count"], axis="columns")
    return counts


def _not_a_report(plot: Report, why: str) -> InvalidArgument:
    """Return the error that says what to call."""
    return not_a_report(plot.name, _arguments(plot), why)


def _arguments(plot: Report) -> str:
    """Return the arguments of the report that is drawn."""
    by = ", …" if plot.by is None and plot.kind == "groups" else ""
    return f"{plot.table}{by}"


def _joined(names: Sequence[object]) -> str:
    """Return the keys of a report in words."""
    return " and ".join("value" if name is None else words(name) for name in names)
