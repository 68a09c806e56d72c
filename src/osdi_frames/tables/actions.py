"""The tables of what people do: signatures of petitions, and attendances, one for each RSVP (interface 2.5, 2.7)."""

from __future__ import annotations

from osdi_frames.tables import resource
from osdi_frames.tables.people import EMAIL, PERSON_ID, PHONE, contact, custom_fields, names
from osdi_frames.tables.resource import READ_FROM, SELF, column
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE, Column, ElementType, Table, pseudonym


def _action(name: str, *, alternatives: tuple[str, ...] = (), ignored: tuple[str, ...] = ()) -> ElementType:
    """Declare an element type that API pages and webhook deliveries bring."""
    own = f"{name}_id"
    return ElementType(
        name,
        collection=f"osdi:{name}s",
        type_key=f"osdi:{name}",
        # Without an id, its message and its position there identify an element.
        identities=((own,), ("idempotency_key", "element")),
        messages=(("idempotency_key", own), ("idempotency_key", "element"), (own, "modified_date"), (own,)),
        # A delivery brings the person: of equally new versions it counts more than a page.
        newest=("modified_date", "received_at", "fetched_at"),
        month="created_date",
        address=resource.single(f"{name}s?"),
        ignored=("_links.curies", "_links.osdi:people", *ignored),
        alternatives=alternatives,
    )


def _keys(name: str) -> tuple[Column, ...]:
    """Declare what identifies an element."""
    message = pseudonym("message")
    return (
        column(
            "idempotency_key", "Same for all retries of a message.", "../idempotency_key", privacy=message
        ),
        Column("element", "int64", (), (), "Position in its delivery or page, from 0.", "element position"),
        resource.own_id(name),
    )


def _referrer_data(name: str) -> tuple[Column, ...]:
    """Declare by which way a person came."""
    meanings = {
        "source": f"Source code of the {name}.",
        "referrer": "Referrer code; often the sponsoring group's own.",
        "website": "Where the person came from: a host, or an address.",
        "email_referrer": "Id of the e-mail that the person came from.",
        "mobile_message_referrer": "Id of the mobile message they came from.",
    }
    return tuple(
        column(key, meaning, f"<p>:referrer_data.{key}", f"referrer_data.{key}", privacy=SENSITIVE)
        for key, meaning in meanings.items()
    )


def _columns(name: str, parent: str, parent_meaning: str, own: Column, created: str) -> tuple[Column, ...]:
    """Declare the columns of an element; `own` is the column of its type alone."""
    link, person = f"_links.osdi:{parent}.href", "_links.osdi:person.href"
    parent_id, tags = f"{parent}_id", f"Tags that the {name} tried to add."
    return (
        *_keys(name),
        resource.identifiers(name),
        # What somebody signs or attends is an opinion.
        column(parent_id, parent_meaning, f"id({link})", f"<p>:{parent_id}", privacy=SENSITIVE),
        column("person_id", "Person who acted.", f"id({person})", "<p>:person_id", privacy=PERSON_ID),
        *resource.dates(created),
        own,
        *_referrer_data(name),
        *names("person."),
        column("person_created_date", "When the person was created, UTC.", "person.created_date", kind="utc"),
        column(
            "person_modified_date",
            "When the person was last changed, UTC.",
            "person.modified_date",
            kind="utc",
        ),
        *contact("person."),
        column("add_tags", tags, kind="list<string>", privacy=SENSITIVE),
        custom_fields("person."),
        *resource.sponsor("../<p>:sponsor", "Sponsoring or referring group."),
        column("self_url", f"Address of the {name} in the API.", SELF, privacy=IDENTIFYING),
        column("person_url", "Address of the person in the API.", person, privacy=IDENTIFYING),
        column(f"{parent}_url", f"Address of the {parent} in the API.", link, privacy=SENSITIVE),
        resource.RECEIVED_AT,
        *READ_FROM,
    )


#: v1 and some services embed attendances under the name of their link.
ATTENDANCE = _action("attendance", alternatives=("osdi:attendance",), ignored=("tickets",))
ATTENDANCES = Table(
    "attendances",
    ATTENDANCE,
    "One row per attendance: a person's RSVP to an event.",
    keys=_columns(
        "attendance",
        "event",
        "Event that the person attends.",
        column("status", "accepted, attended, declined or a newer value."),
        "When the person RSVPed, UTC.",
    ),
)

SIGNATURE = _action("signature")
SIGNATURES = Table(
    "signatures",
    SIGNATURE,
    "One row per petition signature (interface 2.7).",
    keys=_columns(
        "signature",
        "petition",
        "Petition that was signed.",
        column("comments", "Comment left when signing.", privacy=IDENTIFYING),
        "When it was signed, UTC.",
    ),
)


def _child(name: str, entries: str, whose: str, *entry: Column) -> Table:
    meaning = f"One row per {whose} of a signature."
    rows = (("", (entries,)),)
    return Table(f"signature_{name}", SIGNATURE, meaning, keys=_keys("signature"), rows=rows, entry=entry)


_PLACE = (resource.POSITION, column("primary", "Whether it is the person's primary one.", kind="bool"))

SIGNATURE_TABLES = (
    SIGNATURES,
    _child("tags", "add_tags[]", "tag", column("tag", "Tag, as tried to add.", ".", privacy=SENSITIVE)),
    _child(
        "emails",
        "person.email_addresses[]",
        "e-mail address",
        *_PLACE,
        column("address", "E-mail address.", privacy=EMAIL),
        column("status", "Status of the address."),
    ),
    _child(
        "phones",
        "person.phone_numbers[]",
        "phone number",
        *_PLACE,
        column("number", "Phone number.", privacy=PHONE),
        column("number_type", "Type of the number."),
        column("status", "Status of the number."),
    ),
    _child(
        "addresses",
        "person.postal_addresses[]",
        "postal address",
        *_PLACE,
        *resource.location("", "the person"),
    ),
    _child(
        "custom_fields",
        "person.custom_fields{}",
        "custom field",
        Column("name", "string", (), (), "Name of the field.", origin="key", privacy=SENSITIVE),
        column("value", "Value of the field.", ".", privacy=IDENTIFYING),
    ),
    _child("identifiers", "identifiers[]", "identifier", *resource.identifier_parts("signature")),
)
