"""The tables of events (interface 2.1 to 2.6 and 2.8)."""

from __future__ import annotations

from functools import partial
from itertools import chain

from osdi_frames.tables import resource
from osdi_frames.tables.people import ADDRESS, CONTACT, NAMES, PERSON_ID, PERSON_LINKS, PERSON_URL
from osdi_frames.tables.resource import READ_FROM, SELF, block, column, of_entries, own, placed
from osdi_frames.tables.schema import FREE_TEXT, Column, ExclusionRule, Table


def _derived(name: str, meaning: str, *columns: str) -> Column:
    return Column(name, "string", (), (), meaning, "derived", columns)


_PEOPLE = {role: (f"_embedded.osdi:{role}", f"osdi:{role}") for role in ("creator", "organizer")}


def _person(role: str, meaning: str) -> Column:
    """Declare the id of a creator or organizer: that of the link, else of the embedded person."""
    ids = [
        one.format(at)
        for one in ("own({}.identifiers)", f"id({{}}.{SELF})", "held({}.id)")
        for at in _PEOPLE[role]
    ]
    return column(f"{role}_id", meaning, f"id(_links.osdi:{role}.href)", *ids, privacy=PERSON_ID)


_INVITE = "guestsCanInviteOthers"
EVENT = resource.element_type(
    "event",
    "osdi:events",
    month="start_date",
    exclusions=(
        resource.GONE,
        ExclusionRule("cancelled", {"status": ("cancelled", "canceled", "rejected", "deleted")}),
        ExclusionRule("hidden", {"hidden": (True,)}),
    ),
    statuses=("confirmed", "tentative", "pending", "pending approval"),
    keys=("start_date", "start", "total_accepted", "guests_can_invite_others", _INVITE, "transparence"),
    ignored=tuple(
        f"{at}._links.{link}" for at in chain(*_PEOPLE.values()) for link in ("curies", *PERSON_LINKS)
    ),
)
EVENT_ID, _IDENTIFIERS, *_ORIGIN = own("event")
_INSTRUCTIONS = "<p>:event_instructions"
_CAMPAIGN = "_links.<p>:event_campaign.href"
_CAMPAIGN_ID = ("<p>:event_campaign_id", f"id({_CAMPAIGN})")
_ATTENDANCES = ("_links.osdi:attendances.href", "_links.osdi:attendance.href")
_HELPER = ("_links.osdi:record_attendance_helper.href", "_links.record_attendance_helper.href")

#: Of what the API version is seen, of what a label is made, and what shows how an event was made (interface 9 and 1).
_KEYS = ("origin_system", "created_date", "modified_date", "title", "start_date", "guests_can_invite_others")
_LABEL = ("total_accepted", "origin_system", "title")
_BY_HAND = ("capacity", "featured_image_url", "hidden", "browser_url", "self_url")

EVENTS = Table(
    "events",
    EVENT,
    "One row per event (interface 2.1, 2.8).",
    keys=(
        EVENT_ID,
        _IDENTIFIERS,
        _derived("api_version", "v1 or v2, by the keys that differ (interface 9).", *_KEYS),
        *_ORIGIN,
        column("name", "Administrative title, shown only internally.", v1="", privacy=FREE_TEXT),
        column("title", "Public title."),
        column("description", "Description; may contain HTML.", privacy=FREE_TEXT),
        column(
            "instructions",
            "Instructions after the RSVP; may contain HTML.",
            v1=_INSTRUCTIONS,
            privacy=FREE_TEXT,
        ),
        column("browser_url", "Address of the event's page."),
        column("featured_image_url", "Address of the banner image.", v1=""),
        column("start_date", "Start: wall clock at the place; a Z is not UTC.", kind="local", v1="start"),
        column("end_date", "End: wall clock at the place; a Z is not UTC.", kind="local", v1=""),
        column("timezone", "Zone of start and end, as its IANA name.", "timezone_identifier"),
        column("location_venue", "Name of the venue.", "location.venue", privacy=FREE_TEXT),
        *placed((*resource.LOCATION, resource.LANGUAGE), "location.", "the event"),
        column("total_accepted", "RSVPs: the number of attendances.", kind="int64"),
        column("event_campaign_id", "Event campaign that the event belongs to.", *_CAMPAIGN_ID),
        column("status", "confirmed, tentative, cancelled or a newer value."),
        column("transparence", "Blocks time on calendars: opaque or transparent."),
        column("visibility", "public or private."),
        column("guests_can_invite_others", "Whether guests can invite others.", kind="bool", v1=_INVITE),
        column("capacity", "Maximum number of RSVPs, if one is set.", kind="int64", v1=""),
        column("hidden", "Whether it is hidden in the user interface.", "<p>:hidden", kind="bool", v1=""),
        *block(
            "sponsor",
            *placed(resource.SPONSOR, "<p>:sponsor.", "Sponsoring"),
        ),
        *block(
            "links",
            _person("creator", "Person who created the event."),
            _person("organizer", "Person who organizes the event."),
            column("self_url", "Address of the event in the API.", SELF),
            column(
                "attendances_url", "Address of its attendances in the API.", *_ATTENDANCES, v1=_ATTENDANCES[1]
            ),
            column("record_attendance_url", "Address of its record-attendance helper.", *_HELPER, v1=""),
            column("event_campaign_url", "Address of its campaign in the API.", _CAMPAIGN),
            column("embed_url", "Address of its embed code.", "_links.<p>:embed.href"),
        ),
        _derived("targeting_label", "Targeting name; null if made in the UI or no RSVP.", *_LABEL, *_BY_HAND),
        resource.GONE_SINCE,
        resource.excluded(EVENT.exclusions),
        *READ_FROM,
    ),
)

_PERSON, _PERSON_IDENTIFIERS, _PERSON_ORIGIN, *_PERSON_DATES = own(
    "person", "the person was created", privacy=PERSON_ID
)

_table = partial(of_entries, EVENT, (EVENT_ID,))
EVENT_TABLES = (
    EVENTS,
    _table(
        "reminders",
        "One row per reminder of an event (interface 2.3).",
        "reminders[]",
        resource.POSITION,
        column("method", "email or sms."),
        column("minutes", "Minutes before the event.", kind="int64"),
    ),
    _table(
        "identifiers",
        "One row per identifier of an event (interface 2.1).",
        "identifiers[]",
        resource.SYSTEM,
        resource.IDENTIFIER,
    ),
    Table(
        "event_people",
        EVENT,
        "One row per person embedded in an event: v1 and old v2 answers (interface 2.8).",
        keys=(EVENT_ID,),
        rows=tuple(_PEOPLE.items()),
        block="people",
        entry=(
            Column("role", "string", (), (), "creator or organizer.", "role"),
            _PERSON,
            *NAMES,
            _PERSON_IDENTIFIERS,
            *_PERSON_DATES,
            _PERSON_ORIGIN,
            CONTACT[0],
            *block("location", *placed((*resource.LOCATION, resource.LANGUAGE), ADDRESS)),
            PERSON_URL,
        ),
    ),
)
