"""The tables of events (interface 2.1 to 2.6 and 2.8)."""

from __future__ import annotations

from osdi_frames.tables.schema import Column, ElementType, Table, Type

LOCAL = "wall clock at the place; a Z is not UTC"


def same(name: str, kind: Type, meaning: str, *paths: str) -> Column:
    """Declare a column that v1 and v2 have in the same place."""
    return Column(name, kind, paths, paths, meaning)


SOURCE = (
    Column("source_file", "string", (), (), "File that the row was read from.", origin="source"),
    Column("source_line", "int64", (), (), "Line on which its document begins.", origin="source"),
)


def location(at: str, whose: str) -> tuple[Column, ...]:
    """Declare the columns of the postal address (interface 2.2 and 2.7) whose keys follow `at`."""
    return (
        same(
            "location_address",
            "string",
            f"First line of the street address of {whose}.",
            f"{at}address_lines[0]",
        ),
        same("location_locality", "string", f"City or local area of {whose}.", f"{at}locality"),
        same("location_region", "string", f"Subdivision code (ISO 3166-2) of {whose}.", f"{at}region"),
        same("location_postal_code", "string", f"Postal code of {whose}.", f"{at}postal_code"),
        same("location_country", "string", f"Country code (ISO 3166-1 alpha-2) of {whose}.", f"{at}country"),
        same("location_latitude", "float64", f"Latitude of {whose}, in degrees.", f"{at}location.latitude"),
        same(
            "location_longitude", "float64", f"Longitude of {whose}, in degrees.", f"{at}location.longitude"
        ),
        same("location_accuracy", "string", "Rooftop or Approximate.", f"{at}location.accuracy"),
    )


def location_language(at: str, whose: str) -> Column:
    """Declare the language of a postal address, which signatures do not have."""
    return same("location_language", "string", f"Language code (ISO 639) of {whose}.", f"{at}language")


def _person(role: str) -> tuple[str, ...]:
    """Give the paths of the id of a creator or organizer: the link, else the embedded person."""
    embedded = (f"_embedded.osdi:{role}", f"osdi:{role}")
    return (
        f"id(_links.osdi:{role}.href)",
        *(f"own({person}.identifiers)" for person in embedded),
        *(f"id({person}._links.self.href)" for person in embedded),
    )


EVENT_ID = same(
    "event_id",
    "string",
    "Identifier of the event in the service.",
    "own(identifiers)",
    "id(_links.self.href)",
)

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
    address=r"/events/[^/?#]+/?(?:[?#].*)?$",
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
            for link in (
                "curies",
                "osdi:question_answers",
                "osdi:attendance",
                "osdi:attendances",
                "osdi:signatures",
                "osdi:submissions",
                "osdi:donations",
            )
        ),
    ),
)

EVENTS = Table(
    "events",
    EVENT,
    "One row per event (interface 2.1, 2.8).",
    keys=(
        EVENT_ID,
        same("identifiers", "list<string>", "All identifiers, as system:id.", "identifiers"),
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
        Column(
            "origin_system",
            "string",
            ("origin_system",),
            ("originating_system",),
            "Where the event originated.",
        ),
        Column("created_date", "utc", ("created_date",), ("created_at",), "When it was created, UTC."),
        Column(
            "modified_date", "utc", ("modified_date",), ("modified_at",), "When it was last changed, UTC."
        ),
        Column("name", "string", ("name",), (), "Administrative title, shown only internally."),
        Column("title", "string", ("title",), ("summary",), "Public title."),
        same("description", "string", "Description; may contain HTML.", "description"),
        Column(
            "instructions",
            "string",
            ("instructions",),
            ("<p>:event_instructions",),
            "Instructions after the RSVP; may contain HTML.",
        ),
        Column("browser_url", "string", ("browser_url",), ("url",), "Address of the event's page."),
        Column("featured_image_url", "string", ("featured_image_url",), (), "Address of the banner image."),
        Column("start_date", "local", ("start_date",), ("start",), f"Start: {LOCAL}."),
        Column("end_date", "local", ("end_date",), (), f"End: {LOCAL}."),
        same("location_venue", "string", "Name of the venue.", "location.venue"),
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
        same("creator_id", "string", "Person who created the event.", *_person("creator")),
        same("organizer_id", "string", "Person who organizes the event.", *_person("organizer")),
        same("self_url", "string", "Address of the event in the API.", "_links.self.href"),
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
            "Its name for targeting, from the first RSVP on.",
            origin="derived",
            derived=("total_accepted", "origin_system", "title"),
        ),
        Column(
            "fetched_at", "utc", ("fetched_at",), (), "When the document was fetched, UTC.", origin="envelope"
        ),
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
    entry=(
        same("system", "string", "What stands before the first colon.", "system(.)"),
        same("identifier", "string", "What stands after it; all, where there is none.", "identifier(.)"),
    ),
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
        same(
            "person_id",
            "string",
            "Identifier of the person in the service.",
            "own(identifiers)",
            "id(_links.self.href)",
        ),
        same("given_name", "string", "Given name.", "given_name"),
        same("family_name", "string", "Family name.", "family_name"),
        same("identifiers", "list<string>", "All identifiers, as system:id.", "identifiers"),
        Column(
            "created_date", "utc", ("created_date",), ("created_at",), "When the person was created, UTC."
        ),
        Column(
            "modified_date", "utc", ("modified_date",), ("modified_at",), "When it was last changed, UTC."
        ),
        Column(
            "origin_system",
            "string",
            ("origin_system",),
            ("originating_system",),
            "Where the person originated.",
        ),
        same(
            "email",
            "string",
            "The primary e-mail address, else the first.",
            "email_addresses[primary].address",
        ),
        *location("postal_addresses[primary].", "the person"),
        location_language("postal_addresses[primary].", "the person"),
        same("self_url", "string", "Address of the person in the API.", "_links.self.href"),
    ),
)

EVENT_TABLES = (EVENTS, EVENT_REMINDERS, EVENT_IDENTIFIERS, EVENT_PEOPLE)
