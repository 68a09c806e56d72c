"""A report as the output of a notebook: the head and the tables of the page, which the notebook's style does not reach.

Tables are folded, and plots are left to `ShownReport.plot`. It holds no script. Its colours follow the notebook's
theme, where that has one, or else the system's.
"""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup

from osdi_frames.page import document, sections, tables
from osdi_frames.reports.glance import glance
from osdi_frames.reports.result import ReportResult

_ROWS = 8
"""Rows that a table shows; a frame has all of them."""


def html(made: ReportResult) -> str:
    """Return the report as HTML for a notebook.

    >>> import osdi_frames as of
    >>> made = of.report({"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"})
    >>> "<script" in html(made), "RSVPs by month" in html(made)
    (False, True)
    """
    return document.rendered(
        "notebook.html.jinja",
        style=Markup(document.text("page.css").replace(":root", "&")),  # noqa: S704 (the package's own)
        glance=glance(made, datetime.now(UTC)),
        curve=sections.curve(made),
        cards=sections.cards(made),
        parts=sections.parts(made, rows=_ROWS, draws=False),
        notes=[tables.visible(note) for note in made.notes],
    )
