"""The tables of events (interface 2.1 to 2.6 and 2.8)."""

from __future__ import annotations

from osdi_frames.tables import fields, resource
from osdi_frames.tables.people import PERSON_ID, PERSON_LINKS, PERSON_URL, email, names
from osdi_frames.tables.resource import READ_FROM, SELF, column
from osdi_frames.tables.schema import FREE_TEXT, PLAIN, Column, Privacy, Table, Type

_FIELDS = {field.name: field for field in fields.EVENT}
_TYPES: dict[str, Type] = {"text": "string", "number": "int64", "flag": "bool", "wall clock": "local"}


def _field(name: str, meaning: str, privacy: Privacy = PLAIN) -> Column:
    """Declare a column that is a field of the event, by its names in v2 and v1."""
    field = _FIELDS[name]
    v2, v1 = ((path,) if path else () for path in (field.v2, field.v1))
    return Column(name, _TYPES[field.kind], v2, v1, meaning, privacy=privacy)


def _derived(name: str, meaning: str, *columns: str) -> Column:
    return Column(name, "string", (), (), meaning, "derived", columns)


_PEOPLE = {role: (f"_embedded.osdi:{role}", f"osdi:{role}") for role in ("creator", "organizer")}


def _person(role: str, meaning: str) -> Column:
    """Declare the id of a creator or organizer: that of the link, else of the embedded person."""
    embedded = _PEOPLE[role]
    return column(
        f"{role}_id",
        meaning,
        f"id(_links.osdi:{role}.href)",
        *(f"own({person}.identifiers)" for person in embedded),
        *(f"id({person}._links.self.href)" for person in embedded),
        privacy=PERSON_ID,
    )


EVENT_ID = resource.own_id("event")
EVENT = resource.element_type(
    "event",
    "osdi:events",
    month="start_date",
    keys=(
        *("start_date", "start", "total_accepted"),
        *("guests_can_invite_others", "guestsCanInviteOthers", "transparence"),
    ),
    ignored=tuple(
        f"{person}._links.{link}"
        for embedded in _PEOPLE.values()
        for person in embedded
        for link in ("curies", *PERSON_LINKS)
    ),
)

EVENTS = Table(
    "events",
    EVENT,
    "One row per event (interface 2.1, 2.8).",
    keys=(
        EVENT_ID,
        resource.identifiers("event"),
        _derived(
            "api_version",
            "v1 or v2, by the keys that differ (interface 9).",
            *("origin_system", "created_date", "modified_date"),
            *("title", "start_date", "guests_can_invite_others"),
        ),
        resource.origin_system("event"),
        *resource.dates(),
        _field("name", "Administrative title, shown only internally.", FREE_TEXT),
        _field("title", "Public title."),
        _field("description", "Description; may contain HTML.", FREE_TEXT),
        _field("instructions", "Instructions after the RSVP; may contain HTML.", FREE_TEXT),
        _field("browser_url", "Address of the event's page."),
        _field("featured_image_url", "Address of the banner image."),
        _field("start_date", "Start: wall clock at the place; a Z is not UTC."),
        _field("end_date", "End: wall clock at the place; a Z is not UTC."),
        column("location_venue", "Name of the venue.", "location.venue", privacy=FREE_TEXT),
        *resource.location("location.", "the event"),
        resource.location_language("location.", "the event"),
        _field("total_accepted", "RSVPs: the number of attendances."),
        column(
            "event_campaign_id",
            "Event campaign that the event belongs to.",
            "<p>:event_campaign_id",
            "id(_links.<p>:event_campaign.href)",
        ),
        _field("status", "confirmed, tentative, cancelled or a newer value."),
        _field("transparence", "Blocks time on calendars: opaque or transparent."),
        _field("visibility", "public or private."),
        _field("guests_can_invite_others", "Whether guests can invite others."),
        _field("capacity", "Maximum number of RSVPs, if one is set."),
        _field("hidden", "Whether it is hidden in the user interface."),
        column("sponsor_title", "Sponsoring group.", "<p>:sponsor.title", v1=("<p>:sponsor.summary",)),
        column(
            "sponsor_url",
            "Address of the group's page.",
            "<p>:sponsor.browser_url",
            "<p>:sponsor.url",
            v1=("<p>:sponsor.url",),
        ),
        _person("creator", "Person who created the event."),
        _person("organizer", "Person who organizes the event."),
        column("self_url", "Address of the event in the API.", SELF),
        column(
            "attendances_url",
            "Address of its attendances in the API.",
            "_links.osdi:attendances.href",
            "_links.osdi:attendance.href",
            v1=("_links.osdi:attendance.href",),
        ),
        column(
            "record_attendance_url",
            "Address of its record-attendance helper.",
            "_links.osdi:record_attendance_helper.href",
            "_links.record_attendance_helper.href",
            v1=(),
        ),
        column("event_campaign_url", "Address of its campaign in the API.", "_links.<p>:event_campaign.href"),
        column("embed_url", "Address of its embed code.", "_links.<p>:embed.href"),
        _derived(
            "targeting_label",
            "Targeting name; null if made in the UI or no RSVP.",
            *("total_accepted", "origin_system", "title"),
            *("capacity", "featured_image_url", "hidden", "event_campaign_id"),
        ),
        *READ_FROM,
    ),
)

EVENT_TABLES = (
    EVENTS,
    Table(
        "event_reminders",
        EVENT,
        "One row per reminder of an event (interface 2.3).",
        keys=(EVENT_ID,),
        rows=(("", ("reminders[]",)),),
        entry=(
            resource.POSITION,
            column("method", "email or sms."),
            column("minutes", "Minutes before the event.", kind="int64"),
        ),
    ),
    Table(
        "event_identifiers",
        EVENT,
        "One row per identifier of an event (interface 2.1).",
        keys=(EVENT_ID,),
        rows=(("", ("identifiers[]",)),),
        entry=resource.identifier_parts("event"),
    ),
    Table(
        "event_people",
        EVENT,
        "One row per person embedded in an event: v1 and old v2 answers (interface 2.8).",
        keys=(EVENT_ID,),
        rows=tuple(_PEOPLE.items()),
        entry=(
            Column("role", "string", (), (), "creator or organizer.", "role"),
            resource.own_id("person"),
            *names(""),
            resource.identifiers("person"),
            *resource.dates("When the person was created, UTC."),
            resource.origin_system("person"),
            email(""),
            *resource.location("postal_addresses[primary].", "the person"),
            resource.location_language("postal_addresses[primary].", "the person"),
            PERSON_URL,
        ),
    ),
)
