"""The tables of events (interface 2.1 to 2.6 and 2.8)."""

from __future__ import annotations

from dataclasses import replace

from osdi_frames.tables.people import PERSON_LINKS, contact, names
from osdi_frames.tables.resource import (
    DESCRIPTION,
    FETCHED_AT,
    NAME,
    PERSON,
    SELF,
    SOURCE,
    dates,
    identifier_parts,
    identifiers,
    location,
    location_language,
    origin_system,
    own_id,
    same,
    single,
)
from osdi_frames.tables.schema import FREE_TEXT, IDENTIFYING, Column, ElementType, Table

LOCAL = "wall clock at the place; a Z is not UTC"


def _person(role: str) -> tuple[str, ...]:
    """Return the paths of the id of a creator or organizer: the link, else the embedded person."""
    embedded = (f"_embedded.osdi:{role}", f"osdi:{role}")
    return (
        f"id(_links.osdi:{role}.href)",
        *(f"own({person}.identifiers)" for person in embedded),
        *(f"id({person}._links.self.href)" for person in embedded),
    )


EVENT_ID = own_id("event")

EVENT = ElementType(
    "event",
    collection="osdi:events",
    identities=(("event_id",),),
    newest=("modified_date", "fetched_at"),
    month="start_date",
    keys=(
        "start_date",
        "start",
        "total_accepted",
        "guests_can_invite_others",
        "guestsCanInviteOthers",
        "transparence",
    ),
    address=single("events"),
    ignored=(
        "_links.curies",
        *(
            f"{person}._links.{link}"
            for person in (
                "_embedded.osdi:creator",
                "_embedded.osdi:organizer",
                "osdi:creator",
                "osdi:organizer",
            )
            for link in PERSON_LINKS
        ),
    ),
)

EVENTS = Table(
    "events",
    EVENT,
    "One row per event (interface 2.1, 2.8).",
    keys=(
        EVENT_ID,
        identifiers("event"),
        Column(
            "api_version",
            "string",
            (),
            (),
            "v1 or v2, by the keys that differ (interface 9).",
            origin="derived",
            derived=(
                "origin_system",
                "created_date",
                "modified_date",
                "title",
                "start_date",
                "guests_can_invite_others",
            ),
        ),
        origin_system("event"),
        *dates(),
        replace(NAME, v1=()),
        Column("title", "string", ("title",), ("summary",), "Public title."),
        DESCRIPTION,
        Column(
            "instructions",
            "string",
            ("instructions",),
            ("<p>:event_instructions",),
            "Instructions after the RSVP; may contain HTML.",
            privacy=FREE_TEXT,
        ),
        Column("browser_url", "string", ("browser_url",), ("url",), "Address of the event's page."),
        Column("featured_image_url", "string", ("featured_image_url",), (), "Address of the banner image."),
        Column("start_date", "local", ("start_date",), ("start",), f"Start: {LOCAL}."),
        Column("end_date", "local", ("end_date",), (), f"End: {LOCAL}."),
        same("location_venue", "string", "Name of the venue.", "location.venue", privacy=FREE_TEXT),
        *location("location.", "the event"),
        location_language("location.", "the event"),
        same("total_accepted", "int64", "RSVPs: the number of attendances.", "total_accepted"),
        same(
            "event_campaign_id",
            "string",
            "Event campaign that the event belongs to.",
            "<p>:event_campaign_id",
            "id(_links.<p>:event_campaign.href)",
        ),
        same("status", "string", "confirmed, tentative, cancelled or a newer value.", "status"),
        same(
            "transparence",
            "string",
            "Blocks time on calendars: opaque or transparent.",
            "transparence",
        ),
        same("visibility", "string", "public or private.", "visibility"),
        Column(
            "guests_can_invite_others",
            "bool",
            ("guests_can_invite_others",),
            ("guestsCanInviteOthers",),
            "Whether guests can invite others.",
        ),
        Column("capacity", "int64", ("capacity",), (), "Maximum number of RSVPs, if one is set."),
        Column("hidden", "bool", ("<p>:hidden",), (), "Whether it is hidden in the user interface."),
        Column(
            "sponsor_title", "string", ("<p>:sponsor.title",), ("<p>:sponsor.summary",), "Sponsoring group."
        ),
        Column(
            "sponsor_url",
            "string",
            ("<p>:sponsor.browser_url", "<p>:sponsor.url"),
            ("<p>:sponsor.url",),
            "Address of the group's page.",
        ),
        same("creator_id", "string", "Person who created the event.", *_person("creator"), privacy=PERSON),
        same(
            "organizer_id", "string", "Person who organizes the event.", *_person("organizer"), privacy=PERSON
        ),
        same("self_url", "string", "Address of the event in the API.", SELF),
        Column(
            "attendances_url",
            "string",
            ("_links.osdi:attendances.href", "_links.osdi:attendance.href"),
            ("_links.osdi:attendance.href",),
            "Address of its attendances in the API.",
        ),
        Column(
            "record_attendance_url",
            "string",
            ("_links.osdi:record_attendance_helper.href", "_links.record_attendance_helper.href"),
            (),
            "Address of its record-attendance helper.",
        ),
        same(
            "event_campaign_url",
            "string",
            "Address of its campaign in the API.",
            "_links.<p>:event_campaign.href",
        ),
        same("embed_url", "string", "Address of its embed code.", "_links.<p>:embed.href"),
        Column(
            "targeting_label",
            "string",
            (),
            (),
            "Targeting name; null if made in the UI or no RSVP.",
            origin="derived",
            derived=(
                *("total_accepted", "origin_system", "title"),
                *("capacity", "featured_image_url", "hidden", "event_campaign_id"),
            ),
        ),
        FETCHED_AT,
        *SOURCE,
    ),
)

EVENT_REMINDERS = Table(
    "event_reminders",
    EVENT,
    "One row per reminder of an event (interface 2.3).",
    keys=(EVENT_ID,),
    rows=(("", ("reminders[]",)),),
    entry=(
        Column("position", "int64", (), (), "Position in the list, from 0.", origin="entry position"),
        same("method", "string", "email or sms.", "method"),
        same("minutes", "int64", "Minutes before the event.", "minutes"),
    ),
)

EVENT_IDENTIFIERS = Table(
    "event_identifiers",
    EVENT,
    "One row per identifier of an event (interface 2.1).",
    keys=(EVENT_ID,),
    rows=(("", ("identifiers[]",)),),
    entry=identifier_parts("event"),
)

EVENT_PEOPLE = Table(
    "event_people",
    EVENT,
    "One row per person embedded in an event: v1 and old v2 answers (interface 2.8).",
    keys=(EVENT_ID,),
    rows=(
        ("creator", ("_embedded.osdi:creator", "osdi:creator")),
        ("organizer", ("_embedded.osdi:organizer", "osdi:organizer")),
    ),
    entry=(
        Column("role", "string", (), (), "creator or organizer.", origin="role"),
        own_id("person"),
        *names(""),
        identifiers("person"),
        *dates("When the person was created, UTC."),
        origin_system("person"),
        *(column for column in contact("") if column.name == "email"),
        *location("postal_addresses[primary].", "the person"),
        location_language("postal_addresses[primary].", "the person"),
        same("self_url", "string", "Address of the person in the API.", SELF, privacy=IDENTIFYING),
    ),
)

EVENT_TABLES = (EVENTS, EVENT_REMINDERS, EVENT_IDENTIFIERS, EVENT_PEOPLE)
