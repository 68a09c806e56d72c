"""The page: the standard reports as one HTML file, to forward to those who open no notebook.

`render` gives the page as text. It asks nothing of any network, carries its style and its script in
itself, and its content security policy forbids all else: it opens from a disk, an e-mail or a web server.

It holds counts only. Of the frames it reads the columns of the standard reports, and the coordinates
of events, rounded to about a kilometre; of an inspection the names of keys, never a value, a file's name or
an address. Within a source, referrer, website, region or campaign, an e-mail address and the query of a
web address are hidden, and what then looks alike is one row. A person's name there is shown: nothing tells
it from any other text.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames import plots
from osdi_frames.page import document, figures, headline, reading, tables
from osdi_frames.page.document import Section
from osdi_frames.reading.check import Inspection
from osdi_frames.reports.standard import PLACE_COLUMNS, REPORTS, StandardReport

__all__ = ["render"]

_LABELS = ("event_campaign_id", "location_region", "source", "referrer", "website")
#: What a label may hold of a person, and what stands there instead: addresses, and queries with their tokens.
_PERSONAL = {
    r"(://[^\s?#]*)[?#]\S+": r"\1?…",
    r"[^\s@/?&=<>]+(?:@|%40)[^\s@/?&=<>]+\.[^\s@/?&=<>]+": "(e-mail)",
}

_DECIMALS = 2  # of a degree: about a kilometre
_DISCS = 300  # more would make the page slow: they are then a picture in the plot
_BARS = 20  # of a plot; the others are one
_BAR = 0.3  # inches
_AROUND = 1.0  # inches of title and axis
_HEIGHT = 3.8  # inches of a plot over time


def render(
    events: pd.DataFrame,
    signatures: pd.DataFrame,
    *,
    now: datetime,
    inspection: Inspection | None = None,
    title: str = "Events and signatures",
) -> str:
    """Give the page of the standard reports.

    Each report is a plot and a table. A table shows 200 rows at most, and the others as one, so that its sums
    are those of the report.

    Parameters
    ----------
    events, signatures
        One row an event and a signature, as `read_events` and `read_signatures` read them, with the columns
        ``EVENT_COLUMNS`` and ``SIGNATURE_COLUMNS`` of `osdi_frames.reports.standard`; with its
        ``PLACE_COLUMNS`` among those of the events, there is a map.
    now
        When it is made; with a time zone, or it is shown without.
    inspection
        What `osdi_frames.reading.check.inspect` gives of the same source, to be told in the page.
    title
        The heading.

    Returns
    -------
    str
        The whole document.

    Raises
    ------
    MissingColumn
        A frame lacks a column that a report needs.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> import osdi_frames as of
    >>> from osdi_frames import page
    >>> pull = {"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"}
    >>> html = page.render(of.read_events(pull), of.read_signatures([]), now=datetime(2026, 5, 2, tzinfo=UTC))
    >>> html.startswith("<!doctype html>")
    True
    """
    frames = {"events": _impersonal(events), "signatures": _impersonal(signatures)}
    parts = {
        table: [_of_report(each, frame) for each in REPORTS if each.table == table and len(frame)]
        for table, frame in frames.items()
    }
    if set(PLACE_COLUMNS) <= set(events.columns) and events[list(PLACE_COLUMNS)].notna().all(axis=1).any():
        parts["events"].append(_map(events))
    told = None
    if inspection is not None:
        told = reading.of_inspection(inspection, events=len(events), signatures=len(signatures))
    return document.write(
        title=tables.visible(title),
        cards=headline.cards(events, signatures),
        parts=parts,
        reading=told,
        now=now,
    )


def _impersonal(frame: pd.DataFrame) -> pd.DataFrame:
    """Hide what the labels hold of persons, before anything is counted by them."""
    texts = {name: frame[name].astype("str") for name in _LABELS if name in frame.columns}
    for pattern, shown in _PERSONAL.items():
        texts = {name: text.str.replace(pattern, shown, regex=True) for name, text in texts.items()}
    return frame.assign(**texts)


def _of_report(entry: StandardReport, frame: pd.DataFrame) -> Section:
    report = entry.make(frame)
    over_time = isinstance(report.index, pd.DatetimeIndex)
    height = _HEIGHT if over_time else _AROUND + _BAR * min(max(len(report), 3), _BARS + 1)
    plot: Callable[..., Axes] = getattr(plots, entry.report.__name__)

    def draw(ax: Axes) -> None:
        plot(report, ax=ax, top=_BARS)
        if over_time:
            ax.set_xlabel("")  # a column's name; the heading says it in words

    label = f"Plot of {entry.heading}; the table below holds its figures."
    picture = figures.svg(draw, name=entry.name, height=height, label=label)
    return Section(entry.name, entry.heading, picture, tables.of_report(report))


def _map(events: pd.DataFrame) -> Section:
    """Draw where events take place, no more precisely than the page is to tell it."""
    rounded = events.round(dict.fromkeys(PLACE_COLUMNS, _DECIMALS))

    def draw(ax: Axes) -> None:
        plots.event_map(rounded, ax=ax)
        for discs in ax.collections:
            discs.set_rasterized(len(events) > _DISCS)

    label = "Map of the events by longitude and latitude, each a disc as large as its RSVPs."
    return Section(
        "event_map", "Events on the map", figures.svg(draw, name="event_map", height=5.0, label=label)
    )
