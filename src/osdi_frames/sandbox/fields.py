"""The fields of every resource as data: what each is called in v2 and v1, its shape, and who may set it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from osdi_frames.sandbox.bodies import Shape, country, identifier, timestamp
from osdi_frames.sandbox.site import Site

LOCATION: Shape = {
    "venue": str,
    "address_lines": [str],
    "locality": str,
    "region": str,
    "postal_code": str,
    "country": country,
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a resource. Its `name` is the v2 name without prefix; None is a version that lacks it.

    `set_by` lists the ways in which it can be set: ``v2`` and ``v1`` of the API, ``put`` for what the API can only
    change, and ``ui``, the service's own user interface, which the sandbox imitates under ``/sandbox/``. What no way
    sets is made by the service. `default` is the value of a resource in which it was not set; None leaves it out.
    """

    name: str
    v2: str | None
    v1: str | None
    shape: Shape
    set_by: tuple[str, ...] = ()
    required: bool = False
    default: Any = None

    def named(self, site: Site) -> str | None:
        """Return what the field is called at a site; None where the version lacks it."""
        name = self.v1 if site.version == "v1" else self.v2
        return site.named(name) if name and name[0] == "<" else name


ALL = ("v2", "v1", "ui")
UI = ("ui",)


def _field(name: str, shape: Shape, set_by: tuple[str, ...] = (), **more: Any) -> Field:
    """Declare a field that has one name in both versions."""
    return Field(name.removeprefix("<p>:"), name, name, shape, set_by, **more)


# Every resource has these; times and origin have another name in v1 (interface 9).
_MADE = (
    _field("identifiers", [identifier], ALL),
    Field("created_date", "created_date", "created_at", str),
    Field("modified_date", "modified_date", "modified_at", str),
)
_ORIGIN = Field(
    "origin_system", "origin_system", "originating_system", str, UI, default="osdi-frames sandbox"
)

EVENT = (
    *_MADE,
    Field("origin_system", "origin_system", "originating_system", str, ALL, required=True),
    Field("name", "name", None, str, ("v2", "ui")),
    Field("title", "title", "summary", str, ALL, required=True),
    _field("description", str, ALL),
    Field("instructions", "instructions", "<p>:event_instructions", str, ALL),
    Field("browser_url", "browser_url", "url", str, ("v2", "ui")),
    Field("featured_image_url", "featured_image_url", None, str, UI),
    Field("start_date", "start_date", "start", timestamp, ALL),
    Field("end_date", "end_date", None, timestamp, ("v2", "ui")),
    _field("location", LOCATION, ALL),  # shown as it was geocoded
    _field("total_accepted", int, default=0),
    Field("parent", "<p>:event_campaign_id", "<p>:event_campaign_id", str, UI),
    # What the service makes and always reports alike (interface 2.1, 2.3, 3).
    _field("status", str, default="confirmed"),
    _field("transparence", str, default="opaque"),
    _field("visibility", str, default="public"),
    Field(
        "guests_can_invite_others", "guests_can_invite_others", "guestsCanInviteOthers", bool, default=True
    ),
    Field("capacity", "capacity", None, int, UI),
    Field("hidden", "<p>:hidden", None, bool, UI, default=False),
    _field("reminders", list, default=[{"method": "email", "minutes": 1440}]),
    _field("<p>:sponsor", dict),
)

_TITLED = (
    *_MADE,
    _ORIGIN,
    _field("title", str, UI, required=True),
    *(_field(name, str, UI) for name in ("name", "description", "browser_url", "featured_image_url")),
    _field("<p>:hidden", bool, UI, default=False),
    _field("<p>:sponsor", dict),
)

EVENT_CAMPAIGN = (
    *_TITLED,
    *(_field(name, str, UI) for name in ("host_pitch", "host_instructions", "host_url")),
    _field("total_events", int, default=0),
    _field("total_rsvps", int, default=0),
)

PETITION = (
    *_TITLED,
    _field("petition_text", str, UI),
    _field("target", [{"name": str}], UI),
    _field("total_signatures", int, default=0),
)

REFERRER_DATA: Shape = {
    "source": str,
    "referrer": str,
    "website": str,
    "email_referrer": str,
    "mobile_message_referrer": str,
}
_REFERRER_DATA = _field("<p>:referrer_data", REFERRER_DATA, ALL)
_PERSON_ID = _field("<p>:person_id", str)


def _checked_in(value: object) -> str | None:
    return value if isinstance(value, str) and value in ("accepted", "attended") else None


ATTENDANCE = (
    *_MADE,
    _field("status", _checked_in, ("put",), default="accepted"),
    _PERSON_ID,
    Field("parent", "<p>:event_id", "<p>:event_id", str),
    _REFERRER_DATA,
)

SIGNATURE = (
    *_MADE,
    _field("comments", str, ALL),
    _PERSON_ID,
    Field("parent", "<p>:petition_id", "<p>:petition_id", str),
    _REFERRER_DATA,
)

PERSON: Shape = {
    "identifiers": [identifier],
    "given_name": str,
    "family_name": str,
    "email_addresses": [{"primary": bool, "address": str, "status": str}],
    "phone_numbers": [{"primary": bool, "number": str, "number_type": str, "status": str}],
    "postal_addresses": [
        {
            "primary": bool,
            "address_lines": [str],
            "locality": str,
            "region": str,
            "postal_code": str,
            "country": str,
            "language": str,
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
        _field(name, shape, ALL)
        for name, shape in PERSON.items()
        if name not in ("identifiers", "custom_fields")
    ),
    _field("custom_fields", PERSON["custom_fields"], ALL, default={}),
)

TAG = (*_MADE, _field("name", str, ALL, required=True))
TAGGING = (*_MADE, _field("item_type", str, default="osdi:person"))

# What a helper's body has besides the fields of what it records (interface 2.7): who acts, and tags for that person.
HELPER: Shape = {"person": PERSON, "add_tags": [str], "remove_tags": [str]}
