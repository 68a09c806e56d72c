"""Plots of how people take part: who is retained or lapses, cohorts, repeats, hosts, the hours of the week."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pandas.api.types import is_integer_dtype

from osdi_frames.plots import categories, heat, over_time
from osdi_frames.plots.labels import names_of_times, periods_of
from osdi_frames.plots.refusal import draws, not_a_report
from osdi_frames.reports.hours import WEEKDAYS
from osdi_frames.reports.measures import show
from osdi_frames.tables.schema import NO_DATE


@draws(
    "actions",
    ("first", "retained", "back"),
    others=("people", "new", "known", "lapsed", "actions"),
    has_times=True,
)
def engagement(report: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the people of each period: who acted first, was retained or came back above the line, who lapsed below.

    Bars are stacked, each at the start of its period. Acts without a date stand apart at the end.
    """
    shown = report[["retained", "back", "first"]].dropna()
    unit = "people" if len(shown) == len(report) else "people (without small counts)"
    lapsed = report["lapsed"].reindex(shown.index).fillna(0) if "lapsed" in report else None
    return over_time.draw_bars(
        shown.astype("int64"),
        ax=ax,
        top=3,
        title="People retained, come back, first, and lapsed",
        unit=unit,
        has_total=False,
        keeps_order=True,
        below=None if lapsed is None else lapsed.astype("int64"),
    )


@draws("actions", ("people",), has_times=True)
def retention(report: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of each cohort that is active later.

    Each row is a cohort, with its people in brackets; each cell the share of them who act so many periods after their
    first act, the darker the more. Their first period, in which all are active, is drawn if there is no other. Periods
    that have not ended, and cohorts of nobody, are blank.
    """
    later = [column for column in report.columns if str(column).isdecimal()]  # texts, read back from Parquet
    later = later[1:] or later  # in the period of their first act all are active
    dates = pd.DatetimeIndex(report.index)
    dated = iter(names_of_times(dates.dropna()))
    names = [NO_DATE if pd.isna(date) else next(dated) for date in dates]
    people = ["hidden" if pd.isna(count) else f"{count:,.0f}" for count in report["people"]]
    return heat.draw(
        report[later].astype("Float64").to_numpy("float64", na_value=np.nan).reshape(len(report), len(later)),
        ax=ax,
        title="People who act again",
        rows=[f"{name} ({count})" for name, count in zip(names, people, strict=True)],
        columns=[str(column) for column in later],
        labels=(f"{periods_of(dates.dropna())} after the first act", "first act (people)"),
        text=lambda share: show(share, "share").replace(".0%", "%") if share in (0, 1) else f"{share:.0%}",
    )


@draws("actions", ("people", "share"))
def repeats(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw how many people took part once, twice, and so on."""
    report = report.sort_index()
    if not is_integer_dtype(report.index.dtype):
        raise not_a_report("repeats", "actions", "is not indexed by numbers of participations")
    counts = categories.counts_of(report["people"])
    counts.index = pd.Index([f"{number:,} time{'s' * (number != 1)}" for number in report.index], dtype="str")
    title = "People by how often they took part"
    return categories.draw(counts, ax=ax, top=top, title=title, unit="people", keeps_order=True)


@draws("actions", ("rsvps", "rsvps_per_event"), others=("events",))
def hosts(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the RSVPs to each host's events.

    A bar is a person: not for publication. The index may be renamed, as to the names of the hosts.
    """
    counts, unit = categories.counts_of(report["rsvps"]), "RSVPs, to the events of two hosts counted for both"
    return categories.draw(counts, ax=ax, top=top, title="RSVPs by host", unit=unit, has_total=False)


@draws("frame", ())
def weekday_hours(report: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the hours of the week, the darker the more."""
    if not {*report.index} <= {*WEEKDAYS} or report.shape[1] != 24:
        raise not_a_report("weekday_hours", "frame", "has no weekdays and hours")
    counts = report.astype("Float64").to_numpy("float64", na_value=np.nan)
    has_any = np.nansum(counts) > 0
    return heat.draw(
        counts if has_any else counts * np.nan,
        ax=ax,
        title="Hours of the week",
        rows=[*report.index],
        columns=[str(column) for column in report.columns],
        labels=(f"hour (local time): {np.nansum(counts):,.0f} in all", ""),
        text=lambda count: f"{count:,.0f}",
    )
