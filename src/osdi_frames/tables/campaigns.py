"""The table of event campaigns; the contract names them by their links only (interface 2.5)."""

from __future__ import annotations

from osdi_frames.tables.resource import same, single, titled
from osdi_frames.tables.schema import FREE_TEXT, ElementType, Table

EVENT_CAMPAIGN = ElementType(
    "event_campaign",
    collection="<p>:event_campaigns",
    identities=(("event_campaign_id",),),
    newest=("modified_date", "fetched_at"),
    month="created_date",
    address=single("event_campaigns"),
    ignored=("_links.curies",),
)

EVENT_CAMPAIGNS = Table(
    "event_campaigns",
    EVENT_CAMPAIGN,
    "One row per event campaign.",
    keys=titled(
        "event campaign",
        same("host_pitch", "string", "Text that is to win hosts.", "host_pitch", privacy=FREE_TEXT),
        same(
            "host_instructions",
            "string",
            "Instructions for hosts; may contain HTML.",
            "host_instructions",
            privacy=FREE_TEXT,
        ),
        same("host_url", "string", "Address where hosts make an event.", "host_url"),
        same("total_events", "int64", "Events: the number that the service counts.", "total_events"),
        same("total_rsvps", "int64", "RSVPs: the number that the service counts.", "total_rsvps"),
        same("events_url", "string", "Address of its events in the API.", "_links.osdi:events.href"),
    ),
)
