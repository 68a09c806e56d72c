"""The tables of what organizers publish for others to act on: event campaigns (interface 2.5) and petitions (2.7).

The contract names them by their links only. A petition embeds its creator with address, e-mail and phone: only
the id is read, from the link.
"""

from __future__ import annotations

from osdi_frames.tables.people import PERSON_ID
from osdi_frames.tables.resource import (
    GONE_SINCE,
    READ_FROM,
    SELF,
    SPONSOR,
    block,
    column,
    element_type,
    own,
    placed,
)
from osdi_frames.tables.schema import FREE_TEXT, Column, Table


def _titled(whose: str, *columns: Column) -> tuple[Column, ...]:
    """Declare the columns of both; those of one alone come in between."""
    return (
        *own(whose),
        column("name", "Administrative title, shown only internally.", privacy=FREE_TEXT),
        column("title", "Public title."),
        column("description", "Description; may contain HTML.", privacy=FREE_TEXT),
        *columns,
        column("browser_url", f"Address of the {whose}'s page."),
        column("featured_image_url", "Address of the banner image."),
        column("tag_list", "Tags for those who act in the service's pages.", kind="list<string>"),
        column("hidden", "Whether it is hidden in the user interface.", "<p>:hidden", kind="bool"),
        *block("sponsor", *placed(SPONSOR, "<p>:sponsor.", "Sponsoring")),
        *block(
            "links",
            column("self_url", f"Address of the {whose} in the API.", SELF),
            column("embed_url", "Address of its embed code.", "_links.<p>:embed.href"),
        ),
        GONE_SINCE,
        *READ_FROM,
    )


EVENT_CAMPAIGN = element_type(
    "event_campaign",
    "<p>:event_campaigns",
    keys=("host_pitch", "host_instructions", "host_url", "total_events", "total_rsvps"),
)
EVENT_CAMPAIGNS = Table(
    "event_campaigns",
    EVENT_CAMPAIGN,
    "One row per event campaign.",
    keys=_titled(
        "event campaign",
        column("host_pitch", "Text that is to win hosts.", privacy=FREE_TEXT),
        column("host_instructions", "Instructions for hosts; may contain HTML.", privacy=FREE_TEXT),
        column("host_url", "Address where hosts make an event."),
        column("total_events", "Events: the number that the service counts.", kind="int64"),
        column("total_rsvps", "RSVPs: the number that the service counts.", kind="int64"),
        *block("links", column("events_url", "Address of its events in the API.", "_links.osdi:events.href")),
    ),
)

_CREATOR = "id(_links.osdi:creator.href)"
PETITION = element_type(
    "petition",
    "osdi:petitions",
    keys=("petition_text", "total_signatures"),
    ignored=("_embedded", "target", "_links.osdi:record_signature_helper"),
)
PETITIONS = Table(
    "petitions",
    PETITION,
    "One row per petition.",
    keys=_titled(
        "petition",
        column("petition_text", "Letter to the target.", privacy=FREE_TEXT),
        column("total_signatures", "Signatures that the service counts.", kind="int64"),
        *block(
            "links",
            column("creator_id", "Person who created the petition.", _CREATOR, privacy=PERSON_ID),
            column("signatures_url", "Address of its signatures in the API.", "_links.osdi:signatures.href"),
        ),
    ),
)
