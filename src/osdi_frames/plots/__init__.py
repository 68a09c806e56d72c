"""Plots: the reports as pictures, a function for each report, of the same name.

::

    rsvps_by_campaign     bars, most RSVPs on top, against the capacity
    rsvps_by              the same; bars over time for periods
    rsvps_over_time       lines, from pull to pull
    signatures_by_source  bars, most signatures on top; and _by_referrer, _by_website
    signatures_by         the same; bars over time for periods
    signatures_over_time  bars over time, stacked if the report is by a value
    event_map             takes the events: discs by longitude and latitude, sized by RSVPs

A plot takes the report, ``of.plots.rsvps_by_campaign(of.rsvps_by_campaign(events))``, and gives back the
matplotlib Axes it drew on: yours (``ax=``), or those of a new pyplot figure, which a notebook shows at the
end of the cell. A script that makes many had better bring its own, ``ax=Figure().subplots()``, as pyplot
keeps every figure until it is closed. Nothing is shown or saved, and no setting is changed: a style that
was chosen (``plt.style.context("dark_background")``) holds. Long labels and legends stand outside the axes:
a figure of yours makes room for them with ``layout="constrained"``.

What `top` leaves out is one bar, ``(other: 980)``, so what is drawn sums to the total; where it would dwarf
every value it is cut short, and says so. What has no value is ``(none)``, in grey. Text from the data is
never taken for a formula, a label too long loses its middle, and a character that no installed font has is
drawn as �.
"""

from osdi_frames.plots.map import event_map
from osdi_frames.plots.rsvps import rsvps_by, rsvps_by_campaign, rsvps_over_time
from osdi_frames.plots.signatures import (
    signatures_by,
    signatures_by_referrer,
    signatures_by_source,
    signatures_by_website,
    signatures_over_time,
)

__all__ = [
    "event_map",
    "rsvps_by",
    "rsvps_by_campaign",
    "rsvps_over_time",
    "signatures_by",
    "signatures_by_referrer",
    "signatures_by_source",
    "signatures_by_website",
    "signatures_over_time",
]
