"""The table of attendances, one for each RSVP (interface 2.5)."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.resource import column
from osdi_frames.tables.schema import ExclusionRule

#: Any other status does not count as an RSVP: the service writes accepted, and attended for those who came.
_UNACCEPTED = ExclusionRule("unaccepted", ("status",), (None, "accepted", "attended"), unless=True)

#: v1 and some services embed attendances under the name of their link.
ATTENDANCE = act_type(
    "attendance", EVENT, _UNACCEPTED, alternatives=("osdi:attendance",), ignored=("tickets",)
)
ATTENDANCES = act_table(
    ATTENDANCE,
    EVENT,
    "One row per attendance: a person's RSVP to an event.",
    ("Event that the person attends.", "the person RSVPed"),
    column("status", "accepted, attended, declined or a newer value."),
)
