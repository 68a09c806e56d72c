"""Tell the reports that a plot draws from other frames, and take from them what is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from pandas.api.types import is_numeric_dtype

from osdi_frames.errors import NotAReport
from osdi_frames.plots import dates
from osdi_frames.reports import Report
from osdi_frames.reports.titles import words


def rows(report: pd.DataFrame, *, plot: Report) -> pd.DataFrame:
    """Take the counts of a report of one row per value: `count`, `hidden`, and the seats: `capacity` and `taken`."""
    if plot.count not in report.columns or not is_numeric_dtype(report[plot.count].dtype):
        raise not_a_report(plot, f"has no counts in a column {plot.count}")
    if isinstance(report.index, pd.RangeIndex):  # as of a report read back from a file
        raise not_a_report(plot, "is not indexed by its values, as set_index makes it")
    counts = report[plot.count]
    drawn = pd.DataFrame({"count": counts.fillna(0).astype("int64"), "hidden": counts.isna()})
    if {"capacity", "limited_rsvps"} <= set(report.columns):
        drawn["capacity"] = report["capacity"].astype("Float64").fillna(0).astype("float64")
        drawn["taken"] = report["limited_rsvps"].fillna(0).astype("int64")
    return drawn


def unit_of(report: pd.DataFrame, *, plot: Report) -> str:
    """Return what a plot counts, and whether small counts are not among them."""
    counts = report[[plot.count]] if plot.count in report.columns else report
    return (
        f"{plot.subject.unit} (without small counts)" if counts.isna().any(axis=None) else plot.subject.unit
    )


def time_levels(index: pd.Index) -> list[int]:
    """Return which keys of a report are times or periods."""
    levels = [index.get_level_values(number) for number in range(index.nlevels)]
    return [number for number, level in enumerate(levels) if dates.is_time(level)]


def spread(counts: pd.DataFrame, times: Sequence[int]) -> pd.DataFrame:
    """Turn rows of keys, one of them a time, into a row for each time and a column for each value of the others."""
    others = [number for number in range(counts.index.nlevels) if number not in times]
    return counts["count"].unstack(others, fill_value=0) if others else counts[["count"]]


def columns(report: pd.DataFrame, *, plot: Report) -> pd.DataFrame:
    """Take the counts of a report of one row per time: of each value, or `count` alone."""
    if not isinstance(report.index, pd.DatetimeIndex):
        raise not_a_report(plot, "is not indexed by time")
    if not all(map(is_numeric_dtype, report.dtypes)):
        raise not_a_report(plot, "has columns that are no counts")
    counts = report.dropna(axis="columns", how="all").dropna(how="all").fillna(0).astype("int64")
    if list(counts.columns.names) == [None] and plot.count in counts:
        return counts[[plot.count]].set_axis(["count"], axis="columns")
    return counts


def refuse_unless_frame(report: object, *, plot: Report) -> None:
    """Refuse a Series, a path, a list: all that cannot be a report."""
    if not isinstance(report, pd.DataFrame):
        library = f"{type(report).__module__.partition('.')[0]} " if hasattr(report, "columns") else ""
        raise not_a_report(plot, f"is a {library}{type(report).__name__}", this="what it was given")


def not_a_report(plot: Report, why: str, *, this: str = "this frame") -> NotAReport:
    """Say what to call."""
    by = ", …" if plot.by is None and plot.kind == "groups" else ""
    return NotAReport(
        f"plots.{plot.name} draws the report of the same name, and {this} {why}: "
        f"of.plots.{plot.name}(of.{plot.name}({plot.table}{by}))"
    )


def joined(names: Sequence[object]) -> str:
    """Name the keys of a report in words."""
    return " and ".join("value" if name is None else words(name) for name in names)
