"""The table of event campaigns (interface 2.5)."""

from __future__ import annotations

from osdi_frames.tables.published import titled
from osdi_frames.tables.resource import block, column, element_type
from osdi_frames.tables.schema import FREE_TEXT, Table

EVENT_CAMPAIGN = element_type(
    "event_campaign",
    "<p>:event_campaigns",
    keys=("host_pitch", "host_instructions", "host_url", "total_events", "total_rsvps"),
)
EVENT_CAMPAIGNS = Table(
    "event_campaigns",
    EVENT_CAMPAIGN,
    "One row per event campaign.",
    keys=titled(
        "event campaign",
        column("host_pitch", "Text that is to win hosts.", privacy=FREE_TEXT),
        column("host_instructions", "Instructions for hosts; may contain HTML.", privacy=FREE_TEXT),
        column("host_url", "Address where hosts make an event."),
        column("total_events", "Events: the number that the service counts.", kind="int64"),
        column("total_rsvps", "RSVPs: the number that the service counts.", kind="int64"),
        *block("links", column("events_url", "Address of its events in the API.", "_links.osdi:events.href")),
    ),
)
