"""Plots: the reports as pictures, a function for each, of the same name; and maps.

A plot takes the report, ``of.plots.rsvps_by_campaign(of.rsvps_by_campaign(events))``, and gives back the
matplotlib Axes it drew on: yours (``ax=``), or those of a new pyplot figure, which a notebook shows at the
end of the cell. A script that makes many had better bring its own, ``ax=Figure().subplots()``, as pyplot
keeps every figure until it is closed. Nothing is shown or saved, and no setting is changed: a style that
was chosen (``plt.style.context("dark_background")``) holds. Labels and legends stand outside the axes: axes that are
alone in a figure of yours are made smaller for them, one of several needs ``layout="constrained"``.

What `top` leaves out is one bar, ``(other: 980)``, so what is drawn sums to the total; where it would dwarf
every value it is cut short, and says so. What has no value is ``(none)``, in grey. Text from the data is
never taken for a formula, a label too long loses its middle, and a character that no installed font has is
drawn as �, of which one warning names all; where ``svg.fonttype`` is ``none``, it is left to the reader's fonts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from osdi_frames.plots.change import activity, compare, goals
from osdi_frames.plots.conversion import attribution, funnel, growth
from osdi_frames.plots.functions import ReportPlot, plot_of
from osdi_frames.plots.map import event_map, signature_map
from osdi_frames.plots.participation import engagement, hosts, repeats, retention, weekday_hours
from osdi_frames.reports.declared import REPORTS
from osdi_frames.reports.report import Report

FUNCTIONS = {report.name: plot_of(report) for report in REPORTS}
globals().update(FUNCTIONS)

__all__ = [
    "activity",
    "attribution",
    "compare",
    "engagement",
    "event_map",
    "funnel",
    "goals",
    "growth",
    "hosts",
    "repeats",
    "retention",
]
__all__ += ["signature_map", "weekday_hours"]
__all__ += FUNCTIONS  # noqa: PLE0605 (names)


#: What draws the reports of an archive on people and change; the others are lists.
_OF_ARCHIVES = {
    "activity": activity,
    "changes": compare,
    "changes_by_source": compare,
    "changes_by_title": compare,
    "goals": goals,
    "engagement": engagement,
    "funnel": funnel,
    "attribution": attribution,
    "retention": retention,
    "repeats": repeats,
}


def drawing(report: Report) -> Callable[..., Axes] | None:
    """Return what draws a report, if anything does.

    >>> from osdi_frames.reports import STANDARD
    >>> sorted(report.name for report in STANDARD if drawing(report) is None)
    ['acts_by_title', 'amounts_by_title', 'growth_by_source', 'growth_by_title', 'news', 'people_by_level', 'upcoming']
    """
    if report.function:
        return _OF_ARCHIVES.get(report.name)
    return FUNCTIONS.get(report.name) or plot_of(report)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:

    def __getattr__(name: str) -> ReportPlot: ...
