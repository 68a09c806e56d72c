"""The table of attendances, one for each RSVP (interface 2.5)."""

from __future__ import annotations

from osdi_frames.tables.actions import action, columns
from osdi_frames.tables.resource import same
from osdi_frames.tables.schema import Table

#: v1 and some services embed attendances under the name of their link.
ATTENDANCE = action("attendance", alternatives=("osdi:attendance",), ignored=("tickets",))

ATTENDANCES = Table(
    "attendances",
    ATTENDANCE,
    "One row per attendance: a person's RSVP to an event.",
    keys=columns(
        "attendance",
        "event",
        "Event that the person attends.",
        same("status", "string", "accepted, attended, declined or a newer value.", "status"),
        "When the person RSVPed, UTC.",
    ),
)
