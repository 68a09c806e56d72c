"""The tables of attendances, one for each RSVP (interface 2.5)."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type, entries_of
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.resource import POSITION, column
from osdi_frames.tables.schema import FREE_TEXT, SENSITIVE, Column, ExclusionRule, Type

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
    statuses=("accepted", "confirmed", *CAME),
    content=("person_id", "event_id"),
)


def _of_tickets(name: str, kind: Type, meaning: str, *derived: str) -> Column:
    """Declare what the tickets of an attendance are together."""
    paths = (f"tickets[].{name}",)
    return Column(name, kind, paths, paths, meaning, "derived", derived, SENSITIVE)


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
    _of_tickets("amount", "decimal", "Of all tickets, where these have one currency.", "currency"),
    _of_tickets("currency", "string", "Currency code of the tickets, in upper case."),
)
TICKETS = entries_of(
    ATTENDANCES,
    "tickets",
    "tickets[]",
    "ticket",
    POSITION,
    column("title", "Name of the kind of ticket.", v1="title"),
    column("description", "Description of the kind of ticket.", privacy=FREE_TEXT),
    column("amount", "Price of the ticket.", kind="decimal", privacy=SENSITIVE),
    column("currency", "Currency code (ISO 4217), in upper case.", "upper(currency)"),
    block="act",
)
