"""What signatures and attendances share: a person acts on a petition or an event (interface 2.7)."""

from __future__ import annotations

from osdi_frames.tables.people import contact, custom_fields, names
from osdi_frames.tables.resource import (
    FETCHED_AT,
    PERSON,
    RECEIVED_AT,
    SELF,
    SOURCE,
    dates,
    identifiers,
    own_id,
    same,
    single,
    sponsor,
)
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE, Column, ElementType, pseudonym


def action(name: str, *, alternatives: tuple[str, ...] = (), ignored: tuple[str, ...] = ()) -> ElementType:
    """Declare an element type that API pages and webhook deliveries bring."""
    own = f"{name}_id"
    return ElementType(
        name,
        collection=f"osdi:{name}s",
        type_key=f"osdi:{name}",
        # Without an id, its message and its position there identify an element.
        identities=((own,), ("idempotency_key", "element")),
        messages=(
            ("idempotency_key", own),
            ("idempotency_key", "element"),
            (own, "modified_date"),
            (own,),
        ),
        # A delivery brings the person: of equally new versions it counts more than a page.
        newest=("modified_date", "received_at", "fetched_at"),
        month="created_date",
        address=single(f"{name}s?"),
        ignored=("_links.curies", "_links.osdi:people", *ignored),
        alternatives=alternatives,
    )


def keys(name: str) -> tuple[Column, ...]:
    """Declare what identifies an element."""
    return (
        same(
            "idempotency_key",
            "string",
            "Same for all retries of a message.",
            "../idempotency_key",
            privacy=pseudonym("message"),
        ),
        Column(
            "element", "int64", (), (), "Position in its delivery or page, from 0.", origin="element position"
        ),
        own_id(name),
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
    at = "referrer_data"
    return tuple(
        same(key, "string", meaning, f"<p>:{at}.{key}", f"{at}.{key}", privacy=SENSITIVE)
        for key, meaning in meanings.items()
    )


def columns(name: str, parent: str, parent_meaning: str, own: Column, created: str) -> tuple[Column, ...]:
    """Declare the columns of an element; `own` is the column of its type alone."""
    link, person = f"_links.osdi:{parent}.href", "_links.osdi:person.href"
    return (
        *keys(name),
        identifiers(name),
        # What somebody signs or attends is an opinion.
        same(f"{parent}_id", "string", parent_meaning, f"id({link})", f"<p>:{parent}_id", privacy=SENSITIVE),
        same("person_id", "string", "Person who acted.", f"id({person})", "<p>:person_id", privacy=PERSON),
        *dates(created),
        own,
        *_referrer_data(name),
        *names("person."),
        same("person_created_date", "utc", "When the person was created, UTC.", "person.created_date"),
        same("person_modified_date", "utc", "When the person was last changed, UTC.", "person.modified_date"),
        *contact("person."),
        same(
            "add_tags", "list<string>", f"Tags that the {name} tried to add.", "add_tags", privacy=SENSITIVE
        ),
        custom_fields("person."),
        *sponsor("../<p>:sponsor", "Sponsoring or referring group."),
        same("self_url", "string", f"Address of the {name} in the API.", SELF, privacy=IDENTIFYING),
        same("person_url", "string", "Address of the person in the API.", person, privacy=IDENTIFYING),
        same(f"{parent}_url", "string", f"Address of the {parent} in the API.", link, privacy=SENSITIVE),
        RECEIVED_AT,
        FETCHED_AT,
        *SOURCE,
    )
