"""The fields of an event and of its location: their names in v2 and v1, and who may set them.

Client, sandbox and sample read these declarations (interface 2.1, 2.2, 2.8, 4 and 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Version = Literal["v1", "v2"]

UI = ("ui",)
ALL = ("v2", "v1", *UI)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a resource. Its `name` is the v2 name without prefix; None is a version that lacks it.

    `kind` is what its value must be. `set_by` lists the ways in which it can be set: ``v2`` and ``v1`` of the API,
    ``put`` for what the API can only change, and ``ui``, the service's own user interface. What no way sets is made by
    the service. `default` is the value of a resource in which it was not set; None leaves it out.
    """

    name: str
    v2: str | None
    v1: str | None
    kind: Any = None
    set_by: tuple[str, ...] = ()
    required: bool = False
    default: Any = None

    def named(self, version: str) -> str | None:
        """Return its name in a version; ``<p>`` stands for the service's own prefix."""
        return self.v1 if version == "v1" else self.v2


def same(name: str, kind: Any = None, set_by: tuple[str, ...] = (), **more: Any) -> Field:
    """Declare a field that has one name in both versions."""
    return Field(name.removeprefix("<p>:"), name, name, kind, set_by, **more)


#: What the service makes for every resource.
DATES = (
    Field("created_date", "created_date", "created_at", "text"),
    Field("modified_date", "modified_date", "modified_at", "text"),
)

EVENT = (
    same("identifiers", "identifiers", ALL),
    *DATES,
    Field("origin_system", "origin_system", "originating_system", "text", ALL, required=True),
    Field("name", "name", None, "text", ("v2", "ui")),
    Field("title", "title", "summary", "text", ALL, required=True),
    same("description", "text", ALL),
    Field("instructions", "instructions", "<p>:event_instructions", "text", ALL),
    Field("browser_url", "browser_url", "url", "text", ("v2", "ui")),
    Field("featured_image_url", "featured_image_url", None, "text", UI),
    Field("start_date", "start_date", "start", "wall clock", ALL),
    Field("end_date", "end_date", None, "wall clock", ("v2", "ui")),
    same("location", "location", ALL),  # shown as it was geocoded
    same("total_accepted", "number", default=0),
    Field("parent", "<p>:event_campaign_id", "<p>:event_campaign_id", "text", UI),
    # What the service makes and always reports alike (interface 2.1, 2.3, 3).
    same("status", "text", default="confirmed"),
    same("transparence", "text", default="opaque"),
    same("visibility", "text", default="public"),
    Field(
        "guests_can_invite_others", "guests_can_invite_others", "guestsCanInviteOthers", "flag", default=True
    ),
    Field("capacity", "capacity", None, "number", UI),
    Field("hidden", "<p>:hidden", None, "flag", UI, default=False),
    same("reminders", "list", default=[{"method": "email", "minutes": 1440}]),
    same("<p>:sponsor", "object"),
)

LOCATION = (
    same("venue", "text", ALL),
    same("address_lines", "lines", ALL),
    same("locality", "text", ALL),
    same("region", "text", ALL),
    # The table of interface 2.8 requires it in v1; the sample there omits it and is answered with 200.
    same("postal_code", "text", ALL),
    same("country", "country", ALL),
    same("language"),
    same("location"),
)
