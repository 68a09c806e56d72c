"""Plots of how people take part: new and returning, cohorts, repeats, hosts, the hours of the week."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pandas.api.types import is_integer_dtype

from osdi_frames.plots import categories, heat, over_time
from osdi_frames.plots.labels import names_of_times
from osdi_frames.plots.refusal import checked_columns, checked_top, not_a_report
from osdi_frames.reports.hours import WEEKDAYS
from osdi_frames.reports.measures import show
from osdi_frames.tables.schema import NO_DATE


def engagement(report: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the new and the returning people of each period.

    Takes the report of the same name, ``of.plots.engagement(of.engagement(actions))``. Bars are stacked, new people
    at the bottom, each at the start of its period (UTC). Acts without a date stand apart at the end.

    Parameters
    ----------
    report
        the report of the same name
    ax
        the axes to draw on; those of a new pyplot figure if not given, which a notebook shows by itself

    Returns
    -------
    Axes
        the axes; nothing is shown or saved

    Raises
    ------
    InvalidArgument
        the frame is no such report, the message says what to call
    """
    report = checked_columns(report, "engagement", "actions", ("new", "returning"), others=("people",))
    if not isinstance(report.index, pd.DatetimeIndex):
        raise not_a_report("engagement", "actions", "is not indexed by time")
    shown = report[["new", "returning"]].dropna()
    unit = "people" if len(shown) == len(report) else "people (without small counts)"
    return over_time.draw_bars(
        shown.astype("int64"),
        ax=ax,
        top=2,
        title="New and returning people",
        unit=unit,
        has_total=False,
        keeps_order=True,
    )


def retention(report: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of each cohort that is active later.

    Takes the report of the same name, ``of.plots.retention(of.retention(actions))``. Each row is a cohort, with its
    people in brackets; each cell the share of them who act so many periods after their first act, the darker the more.
    Their first period, in which all are active, is drawn if there is no other. Periods that have not ended, and cohorts
    of nobody, are blank.

    Parameters
    ----------
    report
        the report of the same name
    ax
        the axes to draw on; those of a new pyplot figure if not given, which a notebook shows by itself

    Returns
    -------
    Axes
        the axes; the cells are its one image; nothing is shown or saved

    Raises
    ------
    InvalidArgument
        the frame is no such report, the message says what to call
    """
    report = checked_columns(report, "retention", "actions", ("people",))
    if not isinstance(report.index, pd.DatetimeIndex):
        raise not_a_report("retention", "actions", "is not indexed by time")
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
        labels=("periods after the first act", "first act (people)"),
        text=lambda share: show(share, "share").replace(".0%", "%") if share in (0, 1) else f"{share:.0%}",
    )


def repeats(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw how many people acted once, twice, and so on.

    Takes the report of the same name, ``of.plots.repeats(of.repeats(actions))``.

    Parameters
    ----------
    report
        the report of the same name
    ax
        the axes to draw on; those of a new pyplot figure if not given, which a notebook shows by itself
    top
        how many numbers of acts; all larger ones are one bar, ``(other: 3)``, so that what is drawn sums to the total

    Returns
    -------
    Axes
        the axes; nothing is shown or saved

    Raises
    ------
    InvalidArgument
        the frame is no such report, the message says what to call; or `top` is no count
    """
    report = checked_columns(report, "repeats", "actions", ("people", "share")).sort_index()
    if not is_integer_dtype(report.index.dtype):
        raise not_a_report("repeats", "actions", "is not indexed by numbers of acts")
    counts = categories.counts_of(report["people"])
    counts.index = pd.Index([f"{acts:,} act{'s' * (acts != 1)}" for acts in report.index], dtype="str")
    title = "People by how often they act"
    return categories.draw(counts, ax=ax, top=checked_top(top), title=title, unit="people", keeps_order=True)


def hosts(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the RSVPs to each host's events.

    Takes the report of the same name, ``of.plots.hosts(of.hosts(actions))``. A bar is a person: not for publication.

    Parameters
    ----------
    report
        the report of the same name; its index may be renamed, as to the names of the hosts
    ax
        the axes to draw on; those of a new pyplot figure if not given, which a notebook shows by itself
    top
        how many hosts; all others are one bar, ``(other: 980)``

    Returns
    -------
    Axes
        the axes; nothing is shown or saved

    Raises
    ------
    InvalidArgument
        the frame is no such report, the message says what to call; or `top` is no count
    """
    report = checked_columns(report, "hosts", "actions", ("rsvps", "rsvps_per_event"), others=("events",))
    counts, unit = categories.counts_of(report["rsvps"]), "RSVPs, to the events of two hosts counted for both"
    return categories.draw(
        counts, ax=ax, top=checked_top(top), title="RSVPs by host", unit=unit, has_total=False
    )


def weekday_hours(report: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the hours of the week, the darker the more.

    Takes the report of the same name, ``of.plots.weekday_hours(of.weekday_hours(of.utc_to_local(signatures)))``.

    Parameters
    ----------
    report
        the report of the same name
    ax
        the axes to draw on; those of a new pyplot figure if not given, which a notebook shows by itself

    Returns
    -------
    Axes
        the axes; the cells are its one image; nothing is shown or saved

    Raises
    ------
    InvalidArgument
        the frame is no such report, the message says what to call
    """
    report = checked_columns(report, "weekday_hours", "frame", ())
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
