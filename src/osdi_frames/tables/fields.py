"""The fields of events and locations: their names in v2 and v1, and who may set them.

Client and sandbox read these declarations (interface 2.1, 2.2, 2.8, 4 and 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from osdi_frames.tables.events import EVENTS

Version = Literal["v1", "v2"]

#: The header that carries the key, of each version (interface 5).
KEY_HEADERS = {"v2": "OSDI-API-Token", "v1": "api-key"}
VERSIONS = tuple(KEY_HEADERS)

UI = ("ui",)
ALL = (*VERSIONS, *UI)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a resource, by its v2 name without prefix; a version that lacks it has None.

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
        """Return its name in a version, with ``<p>`` for the service's own prefix."""
        return self.v1 if version == "v1" else self.v2


def same(name: str, kind: Any = None, set_by: tuple[str, ...] = (), **more: Any) -> Field:
    """Declare a field that has one name in both versions."""
    return Field(name.removeprefix("<p>:"), name, name, kind, set_by, **more)


def _column(name: str, set_by: tuple[str, ...] = (), **more: Any) -> Field:
    """Declare a field with the names and the type of a column of events."""
    column = EVENTS.column(name)
    return Field(name, column.v2[0], next(iter(column.v1), None), column.type, set_by, **more)


#: What the service makes for every resource.
DATE_FIELDS = (_column("created_date"), _column("modified_date"))

FIELDS_OF_EVENTS = (
    same("identifiers", "identifiers", ALL),
    *DATE_FIELDS,
    _column("origin_system", ALL, required=True),
    _column("name", ("v2", "ui")),
    _column("title", ALL, required=True),
    _column("description", ALL),
    _column("instructions", ALL),
    _column("browser_url", ("v2", "ui")),
    _column("featured_image_url", UI),
    _column("start_date", ALL),
    _column("end_date", ("v2", "ui")),
    same("location", "location", ALL),  # shown as it was geocoded
    _column("total_accepted", default=0),
    Field("parent", "<p>:event_campaign_id", "<p>:event_campaign_id", "string", UI),
    # What the service makes and always reports alike (interface 2.1, 2.3, 3).
    _column("status", default="confirmed"),
    _column("transparence", default="opaque"),
    _column("visibility", default="public"),
    _column("guests_can_invite_others", default=True),
    _column("capacity", UI),
    _column("hidden", UI, default=False),
    same("reminders", "list", default=[{"method": "email", "minutes": 1440}]),
    same("<p>:sponsor", "object"),
)

LOCATION_FIELDS = (
    same("venue", "string", ALL),
    same("address_lines", "lines", ALL),
    same("locality", "string", ALL),
    same("region", "string", ALL),
    # The table of interface 2.8 requires it in v1; the sample there omits it and is answered with 200.
    same("postal_code", "string", ALL),
    same("country", "country", ALL),
    same("language"),
    same("location"),
)
