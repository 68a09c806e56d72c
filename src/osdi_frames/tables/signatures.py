"""The tables of petition signatures (interface 2.7)."""

from __future__ import annotations

from osdi_frames.tables.actions import action, columns, keys
from osdi_frames.tables.people import EMAIL, PHONE
from osdi_frames.tables.resource import identifier_parts, location, same
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE, Column, Table

_POSITION = Column("position", "int64", (), (), "Position in the list, from 0.", origin="entry position")
_PRIMARY = same("primary", "bool", "Whether it is the person's primary one.", "primary")

SIGNATURE = action("signature")

SIGNATURES = Table(
    "signatures",
    SIGNATURE,
    "One row per petition signature (interface 2.7).",
    keys=columns(
        "signature",
        "petition",
        "Petition that was signed.",
        same("comments", "string", "Comment left when signing.", "comments", privacy=IDENTIFYING),
        "When it was signed, UTC.",
    ),
)


def _child(name: str, entries: str, meaning: str, *entry: Column) -> Table:
    return Table(
        f"signature_{name}", SIGNATURE, meaning, keys=keys("signature"), rows=(("", (entries,)),), entry=entry
    )


SIGNATURE_TABLES = (
    SIGNATURES,
    _child(
        "tags",
        "add_tags[]",
        "One row per tag of a signature.",
        same("tag", "string", "Tag, as tried to add.", ".", privacy=SENSITIVE),
    ),
    _child(
        "emails",
        "person.email_addresses[]",
        "One row per e-mail address of a signature.",
        _POSITION,
        _PRIMARY,
        same("address", "string", "E-mail address.", "address", privacy=EMAIL),
        same("status", "string", "Status of the address.", "status"),
    ),
    _child(
        "phones",
        "person.phone_numbers[]",
        "One row per phone number of a signature.",
        _POSITION,
        _PRIMARY,
        same("number", "string", "Phone number.", "number", privacy=PHONE),
        same("number_type", "string", "Type of the number.", "number_type"),
        same("status", "string", "Status of the number.", "status"),
    ),
    _child(
        "addresses",
        "person.postal_addresses[]",
        "One row per postal address of a signature.",
        _POSITION,
        _PRIMARY,
        *location("", "the person"),
    ),
    _child(
        "custom_fields",
        "person.custom_fields{}",
        "One row per custom field of a signature.",
        Column("name", "string", (), (), "Name of the field.", origin="key", privacy=SENSITIVE),
        same("value", "string", "Value of the field.", ".", privacy=IDENTIFYING),
    ),
    _child(
        "identifiers",
        "identifiers[]",
        "One row per identifier of a signature.",
        *identifier_parts("signature"),
    ),
)
