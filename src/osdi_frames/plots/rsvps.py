"""Plots of the reports on RSVPs."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import frame, growth, rows


def rsvps_by_campaign(
    report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20, capacity: bool = True
) -> Axes:
    """Draw the RSVPs of each campaign as a bar, most on top, against the capacity.

    Reads the report ``of.rsvps_by_campaign(events)``. The RSVPs are those of all events, the capacity is of
    the events that have one. So they are two bars: the thin one below is the seats, filled as far as they
    are taken. ``553 · 2% of 1,250 seats`` is 553 RSVPs in all, 25 of them for the 1,250 seats.

    Parameters
    ----------
    report
        the report of the same name; its index may be renamed, as by ``report.rename(index=titles)``
    ax
        the axes to draw on; those of a new pyplot figure if not given, as tall as the bars need, which a
        notebook shows by itself
    top
        how many campaigns; all others are one bar, ``(other: 980)``, so that the bars sum to the total
    capacity
        whether to show it

    Returns
    -------
    Axes
        the axes; nothing is shown or saved

    Raises
    ------
    NotAReport
        the frame is no such report; the message says what to call

    Examples
    --------
    >>> import osdi_frames as of
    >>> from matplotlib.figure import Figure
    >>> events = pd.DataFrame({
    ...     "event_campaign_id": ["climate", "climate", None],
    ...     "total_accepted": [30, 12, 5],
    ...     "capacity": [40, None, None],
    ...     "start_date": pd.to_datetime(["2026-05-01 18:00", "2026-05-09 10:00", "2026-05-02 09:30"]),
    ... })
    >>> axes = rsvps_by_campaign(of.rsvps_by_campaign(events), ax=Figure().subplots())
    >>> [name.get_text() for name in axes.get_yticklabels()], [text.get_text() for text in axes.texts]
    (['climate', '(none)'], ['42 · 30 of 40 seats', '5'])
    """
    return rows.draw(
        report, "rsvps", ax=ax, top=top, capacity=capacity, plot="rsvps_by_campaign", by="campaign"
    )


def rsvps_by(
    report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20, capacity: bool | None = None
) -> Axes:
    """Draw the RSVPs by whatever the report groups them by; periods of time as bars from left to right.

    Reads the report ``of.rsvps_by(events, by)`` as `rsvps_by_campaign` does. With several keys a label
    joins their values: ``CA · True``. A period among them makes bars over time, stacked by the other keys,
    of which `top` are shown; periods are shown all.

    Parameters
    ----------
    report
        the report of the same name
    ax, top
        as of `rsvps_by_campaign`
    capacity
        whether to show it; if not told, not over time, where one large event would dwarf every month;
        never on stacked bars

    Returns
    -------
    Axes
        the axes; nothing is shown or saved

    Raises
    ------
    NotAReport
        the frame is no such report; the message says what to call

    Examples
    --------
    >>> import osdi_frames as of
    >>> from matplotlib.figure import Figure
    >>> events = pd.DataFrame({
    ...     "total_accepted": [30, 12, 5],
    ...     "capacity": [None, None, None],
    ...     "start_date": pd.to_datetime(["2026-05-01 18:00", "2026-07-09 10:00", "2026-05-02 09:30"]),
    ... })
    >>> report = of.rsvps_by(events, pd.Grouper(key="start_date", freq="MS"))
    >>> axes = rsvps_by(report, ax=Figure().subplots())
    >>> [int(bar.get_height()) for bar in axes.patches]
    [35, 0, 12]
    """
    return rows.draw(report, "rsvps", ax=ax, top=top, capacity=capacity, plot="rsvps_by")


def rsvps_over_time(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw how the RSVPs of each campaign grew from pull to pull, a line each.

    Reads the report ``of.rsvps_over_time(snapshots)``. The dots are the pulls; between them nothing is
    known. Up to six lines differ by colour, more also by their dashes; a smaller `top` reads better. Where
    the others together would dwarf every line, theirs leaves the picture at the top, and the legend says so.

    Parameters
    ----------
    report
        the report of the same name
    ax
        as of `rsvps_by_campaign`; the legend stands to the right of the axes
    top
        how many lines, those with most RSVPs in the last pull; all others are one, their sum

    Returns
    -------
    Axes
        the axes; nothing is shown or saved

    Raises
    ------
    NotAReport
        the frame is no such report; the message says what to call

    Examples
    --------
    >>> import osdi_frames as of
    >>> from matplotlib.figure import Figure
    >>> snapshots = pd.DataFrame({
    ...     "event_id": ["a", "b", "a"],
    ...     "event_campaign_id": ["climate", "housing", "climate"],
    ...     "total_accepted": [3, 4, 9],
    ...     "fetched_at": pd.to_datetime(
    ...         ["2026-05-01T06:00:00Z", "2026-05-01T06:00:02Z", "2026-05-02T06:00:00Z"]
    ...     ),
    ... })
    >>> axes = rsvps_over_time(of.rsvps_over_time(snapshots), ax=Figure().subplots())
    >>> [line.get_ydata().tolist() for line in axes.lines]
    [[3, 9], [4, 4]]
    """
    counts = frame.columns(report, plot="rsvps_over_time")
    title = f"RSVPs over time by {frame.joined(report.columns.names)}"
    return growth.draw(counts, ax=ax, top=top, title=title, unit="RSVPs")
