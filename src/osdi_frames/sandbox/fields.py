"""The fields of every resource as data: what each is called in v2 and v1, its shape, and who may set it."""

from __future__ import annotations

from dataclasses import replace

from osdi_frames.sandbox.bodies import Shape, country, identifier, timestamp
from osdi_frames.tables import fields
from osdi_frames.tables.fields import ALL, UI, Field, same

_SHAPES: dict[str, Shape] = {
    "text": str,
    "flag": bool,
    "number": int,
    "list": list,
    "object": dict,
    "lines": [str],
    "identifiers": [identifier],
    "wall clock": timestamp,
    "country": country,
}
_SHAPES["location"] = {field.name: _SHAPES[field.kind] for field in fields.LOCATION if field.set_by}


def _shaped(*declared: Field) -> tuple[Field, ...]:
    return tuple(replace(field, kind=_SHAPES[field.kind]) for field in declared)


EVENT = _shaped(*fields.EVENT)

_MADE = (same("identifiers", [identifier], ALL), *_shaped(*fields.DATES))  # every resource has these
_ORIGIN = Field(
    "origin_system", "origin_system", "originating_system", str, UI, default="osdi-frames sandbox"
)

_TITLED = (
    *_MADE,
    _ORIGIN,
    same("title", str, UI, required=True),
    *(same(name, str, UI) for name in ("name", "description", "browser_url", "featured_image_url")),
    same("<p>:hidden", bool, UI, default=False),
    same("<p>:sponsor", dict),
)

EVENT_CAMPAIGN = (
    *_TITLED,
    *(same(name, str, UI) for name in ("host_pitch", "host_instructions", "host_url")),
    same("total_events", int, default=0),
    same("total_rsvps", int, default=0),
)

PETITION = (
    *_TITLED,
    same("petition_text", str, UI),
    same("target", [{"name": str}], UI),
    same("total_signatures", int, default=0),
)


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, str)


REFERRER_DATA: Shape = _texts("source", "referrer", "website", "email_referrer", "mobile_message_referrer")
_REFERRER_DATA = same("<p>:referrer_data", REFERRER_DATA, ALL)
_PERSON_ID = same("<p>:person_id", str)


def _checked_in(value: object) -> str | None:
    return value if isinstance(value, str) and value in ("accepted", "attended") else None


ATTENDANCE = (
    *_MADE,
    same("status", _checked_in, ("put",), default="accepted"),
    _PERSON_ID,
    Field("parent", "<p>:event_id", "<p>:event_id", str),
    _REFERRER_DATA,
)

SIGNATURE = (
    *_MADE,
    same("comments", str, ALL),
    _PERSON_ID,
    Field("parent", "<p>:petition_id", "<p>:petition_id", str),
    _REFERRER_DATA,
)

PERSON: Shape = {
    "identifiers": [identifier],
    **_texts("given_name", "family_name"),
    "email_addresses": [{"primary": bool, **_texts("address", "status")}],
    "phone_numbers": [{"primary": bool, **_texts("number", "number_type", "status")}],
    "postal_addresses": [
        {
            "primary": bool,
            "address_lines": [str],
            **_texts("locality", "region", "postal_code", "country", "language"),
            "location": {"latitude": float, "longitude": float, "accuracy": str},
        }
    ],
    "languages_spoken": [str],
    "custom_fields": {str: str},
}

PEOPLE = (
    *_MADE,
    _ORIGIN,
    *(
        same(name, shape, ALL, default={} if name == "custom_fields" else None)
        for name, shape in PERSON.items()
        if name != "identifiers"
    ),
)

TAG = (*_MADE, same("name", str, ALL, required=True))
TAGGING = (*_MADE, same("item_type", str, default="osdi:person"))

# What a helper's body has besides the fields of what it records (interface 2.7): who acts, and tags for that person.
HELPER: Shape = {"person": PERSON, "add_tags": [str], "remove_tags": [str]}
