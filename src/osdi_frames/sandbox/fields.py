"""The fields of interface 2 and 9 as data: what each is called in v2 and v1, its shape, and who may set it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from osdi_frames.sandbox.bodies import Shape, identifier, wall_clock
from osdi_frames.sandbox.site import Site

LOCATION: Shape = {
    "venue": str,
    "address_lines": [str],
    "locality": str,
    "region": str,
    "postal_code": str,
    "country": str,
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an event. Its `name` is the v2 name without prefix; None is a version that lacks it.

    `set_by` says through what it can be set: ``v2`` and ``v1`` of the API, and ``ui``, the service's own user
    interface, which the sandbox imitates under ``/sandbox/events``. What is set by none is made by the service.
    """

    name: str
    v2: str | None
    v1: str | None
    shape: Shape
    set_by: tuple[str, ...] = ()
    required: bool = False

    def named(self, site: Site) -> str | None:
        """Return what the field is called at a site; None where the version lacks it."""
        name: str | None = getattr(self, site.version)
        return site.named(name) if name else None


ALL = ("v2", "v1", "ui")

EVENT = (
    Field("identifiers", "identifiers", "identifiers", [identifier], ALL),
    Field("origin_system", "origin_system", "originating_system", str, ALL, required=True),
    Field("created_date", "created_date", "created_at", str),
    Field("modified_date", "modified_date", "modified_at", str),
    Field("name", "name", None, str, ("v2", "ui")),
    Field("title", "title", "summary", str, ALL, required=True),
    Field("description", "description", "description", str, ALL),
    Field("instructions", "instructions", "<p>:event_instructions", str, ALL),
    Field("browser_url", "browser_url", "url", str, ("v2", "ui")),
    Field("featured_image_url", "featured_image_url", None, str, ("ui",)),
    Field("start_date", "start_date", "start", wall_clock, ALL),
    Field("end_date", "end_date", None, wall_clock, ("v2", "ui")),
    Field("location", "location", "location", LOCATION, ALL),
    Field("total_accepted", "total_accepted", "total_accepted", int),
    Field("event_campaign_id", "<p>:event_campaign_id", "<p>:event_campaign_id", str, ("ui",)),
    Field("status", "status", "status", str),
    Field("transparence", "transparence", "transparence", str),
    Field("visibility", "visibility", "visibility", str),
    Field("guests_can_invite_others", "guests_can_invite_others", "guestsCanInviteOthers", bool),
    Field("capacity", "capacity", None, int, ("ui",)),
    Field("hidden", "<p>:hidden", None, bool, ("ui",)),
    Field("reminders", "reminders", "reminders", list),
    Field("sponsor", "<p>:sponsor", "<p>:sponsor", dict),
)

# What the service makes and always reports alike (interface 2.1, 2.3, 3).
CONSTANTS: Mapping[str, Any] = {
    "status": "confirmed",
    "transparence": "opaque",
    "visibility": "public",
    "guests_can_invite_others": True,
    "hidden": False,
    "reminders": [{"method": "email", "minutes": 1440}],
}

SPONSOR = {"v2": ("title", "browser_url"), "v1": ("summary", "url")}  # interface 2.4, 9
ATTENDANCES = {"v2": "attendances", "v1": "attendance"}  # the last segment of their address

# Times and origin of people and of all other resources, in either version's names (interface 9).
DATED = {
    "v2": {
        "created_date": "created_date",
        "modified_date": "modified_date",
        "origin_system": "origin_system",
    },
    "v1": {
        "created_date": "created_at",
        "modified_date": "modified_at",
        "origin_system": "originating_system",
    },
}

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

REFERRER_DATA: Shape = {
    "source": str,
    "referrer": str,
    "website": str,
    "email_referrer": str,
    "mobile_message_referrer": str,
}

SIGNATURE: Shape = {
    "identifiers": [identifier],
    "comments": str,
    "referrer_data": REFERRER_DATA,
    "person": PERSON,
    "add_tags": [str],
}


def shape_of(site: Site, set_by: str) -> Shape:
    """Return the shape of what can be sent of an event: that version's names, the fields settable by `set_by`."""
    return {field.named(site): field.shape for field in EVENT if set_by in field.set_by and field.named(site)}
