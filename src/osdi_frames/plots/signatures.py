"""Plots of the reports on signatures."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import frame, periods, rows


def signatures_by_source(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the signatures of each source code as a bar, most on top.

    Reads the report ``of.signatures_by_source(signatures)``. The bars count signatures, not people: a
    person who signed through two sources is in both bars, so people could not be summed to ``(other)``.

    Parameters
    ----------
    report
        the report of the same name
    ax
        the axes to draw on; those of a new pyplot figure if not given, as tall as the bars need, which a
        notebook shows by itself
    top
        how many sources; all others are one bar, ``(other: 980)``, so that the bars sum to the total

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
    >>> signatures = pd.DataFrame({
    ...     "source": ["email", "email", "none", "ads"],
    ...     "person_id": ["p1", "p1", "p2", None],
    ...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", None, "2026-05-03"], utc=True),
    ... })
    >>> axes = signatures_by_source(of.signatures_by_source(signatures), top=1, ax=Figure().subplots())
    >>> [name.get_text() for name in axes.get_yticklabels()], [text.get_text() for text in axes.texts]
    (['email', '(other: 2)'], ['2', '2'])
    """
    return rows.draw(report, "signatures", ax=ax, top=top, plot="signatures_by_source")


def signatures_by_referrer(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the signatures of each referrer code, as `signatures_by_source` does those of each source.

    Examples
    --------
    >>> import osdi_frames as of
    >>> from matplotlib.figure import Figure
    >>> signatures = pd.DataFrame({
    ...     "referrer": ["group-a", "group-a", None],
    ...     "person_id": ["p1", "p2", "p2"],
    ...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-05-02"], utc=True),
    ... })
    >>> axes = signatures_by_referrer(of.signatures_by_referrer(signatures), ax=Figure().subplots())
    >>> [int(bar.get_width()) for bar in axes.patches]
    [2, 1]
    """
    return rows.draw(report, "signatures", ax=ax, top=top, plot="signatures_by_referrer")


def signatures_by_website(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the signatures of each website, as `signatures_by_source` does those of each source.

    Examples
    --------
    >>> import osdi_frames as of
    >>> from matplotlib.figure import Figure
    >>> signatures = pd.DataFrame({
    ...     "website": ["example.org", None],
    ...     "person_id": ["p1", "p2"],
    ...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02"], utc=True),
    ... })
    >>> axes = signatures_by_website(of.signatures_by_website(signatures), ax=Figure().subplots())
    >>> axes.get_xlabel()
    'signatures: 2 in all'
    """
    return rows.draw(report, "signatures", ax=ax, top=top, plot="signatures_by_website")


def signatures_by(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the signatures by whatever the report groups them by; periods as bars from left to right.

    Reads the report ``of.signatures_by(signatures, by)`` as `signatures_by_source` does. With several keys
    a label joins their values: ``petition · email``. A period among them makes bars over time, stacked by
    the other keys, of which `top` are shown; periods are shown all.

    Parameters
    ----------
    report
        the report of the same name
    ax, top
        as of `signatures_by_source`

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
    >>> signatures = pd.DataFrame({
    ...     "petition_id": ["x", "x", "y"],
    ...     "source": ["email", "email", None],
    ...     "person_id": ["p1", "p2", "p1"],
    ...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-05-02"], utc=True),
    ... })
    >>> report = of.signatures_by(signatures, ["petition_id", "source"])
    >>> axes = signatures_by(report, ax=Figure().subplots())
    >>> [name.get_text() for name in axes.get_yticklabels()]
    ['x · email', 'y · (none)']
    """
    return rows.draw(report, "signatures", ax=ax, top=top, plot="signatures_by")


def signatures_over_time(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the signatures of each day, week, month or other period as a bar, stacked if by a value.

    Reads the report ``of.signatures_over_time(signatures)``. Each bar stands at the start of its period
    (UTC); one without signatures is there, with nothing. Signatures without a created_date stand apart at
    the end, as ``(no date)``. Up to six values differ by colour, more also by hatching; a smaller `top`
    reads better.

    Parameters
    ----------
    report
        the report of the same name, with `by` or without
    ax
        as of `signatures_by_source`; the legend stands to the right of the axes
    top
        how many values of `by`, those with most signatures; all others are one part of each bar

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
    >>> signatures = pd.DataFrame({
    ...     "source": ["email", None, "email"],
    ...     "person_id": ["p1", "p2", "p1"],
    ...     "created_date": pd.to_datetime(["2026-05-01T08:00Z", "2026-05-01T09:00Z", "2026-05-03T07:00Z"]),
    ... })
    >>> axes = signatures_over_time(of.signatures_over_time(signatures), ax=Figure().subplots())
    >>> [int(bar.get_height()) for bar in axes.patches]
    [2, 0, 1]
    """
    counts = frame.columns(report, plot="signatures_over_time")
    if list(report.columns.names) == [None] and "signatures" in counts:
        counts = counts[["signatures"]].set_axis(["count"], axis="columns")
        return periods.draw_counts(counts, ax=ax, title="Signatures over time", unit="signatures")
    title = f"Signatures over time by {frame.joined(report.columns.names)}"
    return periods.draw_stacked(counts, ax=ax, top=top, title=title, unit="signatures")
