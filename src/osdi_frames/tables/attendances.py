"""The table of attendances, one for each RSVP (interface 2.5)."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.resource import column
from osdi_frames.tables.schema import Column, ExclusionRule

#: The statuses of those who came, and of RSVPs that do not count unless the person came nevertheless.
CAME = ("attended", "checked in")
_UNACCEPTED = (
    *("declined", "tentative", "needs action", "waitlisted", "rejected"),
    *("cancelled", "canceled", "refunded", "deleted", "no show"),
)

#: v1 and some services embed attendances under the name of their link.
ATTENDANCE = act_type(
    "attendance",
    EVENT,
    ExclusionRule("unaccepted", {"status": _UNACCEPTED, "attended": (False,)}),
    alternatives=("osdi:attendance",),
    ignored=("tickets",),
    statuses=("accepted", "confirmed", *CAME),
)
ATTENDANCES = act_table(
    ATTENDANCE,
    EVENT,
    "One row per attendance: a person's RSVP to an event.",
    ("Event that the person attends.", "the person RSVPed"),
    column("status", "accepted, attended, declined or a newer value."),
    Column(
        "attended",
        "bool",
        ("attended",),
        ("attended",),
        "Whether the person came, by this key or status.",
        "derived",
        ("status",),
    ),
)
