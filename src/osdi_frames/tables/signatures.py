"""The tables of petition signatures (interface 2.7)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from osdi_frames.tables.act import act_table, act_type, entries_of
from osdi_frames.tables.people import EMAIL, PHONE
from osdi_frames.tables.petitions import PETITION
from osdi_frames.tables.resource import IDENTIFIER, LOCATION, POSITION, SYSTEM, column, placed
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE, Column, pseudonym

SIGNATURE = act_type("signature", PETITION)
SIGNATURES = act_table(
    SIGNATURE,
    PETITION,
    "One row per petition signature (interface 2.7).",
    ("Petition that was signed.", "it was signed"),
    column("comments", "Comment left when signing.", privacy=IDENTIFYING),
)

_child = partial(entries_of, SIGNATURES)
_PLACE = (POSITION, column("primary", "Whether it is the person's primary one.", kind="bool"))
_IDENTIFIER = replace(IDENTIFIER, privacy=pseudonym("signature"))

SIGNATURE_TABLES = (
    SIGNATURES,
    _child(
        "tags",
        "add_tags[]",
        "tag",
        column("tag", "Tag, as tried to add.", ".", privacy=SENSITIVE),
        block="tags",
    ),
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
    _child("addresses", "person.postal_addresses[]", "postal address", *_PLACE, *placed(LOCATION, "")),
    _child(
        "custom_fields",
        "person.custom_fields{}",
        "custom field",
        Column("name", "string", (), (), "Name of the field.", "key", privacy=SENSITIVE),
        column("value", "Value of the field.", ".", privacy=IDENTIFYING),
    ),
    _child("identifiers", "identifiers[]", "identifier", SYSTEM, _IDENTIFIER, block="act"),
)
