"""Every resource as one declaration: its addresses, keys, fields, filters, links and counts.

A field has its names in v2 and v1, its shape, and who may set it. Store, paging, endpoints and representations are
the same for all kinds. A resource of which the sandbox keeps nothing is declared, too, where a link leads to its
collection: that is then empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from osdi_frames.sandbox.bodies import Shape, country, identifier, timestamp, utc, wall_clock
from osdi_frames.sandbox.site import VERSIONS, Site
from osdi_frames.tables import fields as declared
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
_SHAPES["location"] = {field.name: _SHAPES[field.kind] for field in declared.LOCATION if field.set_by}


def _shaped(*fields: Field) -> tuple[Field, ...]:
    return tuple(replace(field, kind=_SHAPES[field.kind]) for field in fields)


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, str)


def _checked_in(value: object) -> str | None:
    return value if isinstance(value, str) and value in ("accepted", "attended") else None


REFERRER_DATA: Shape = _texts("source", "referrer", "website", "email_referrer", "mobile_message_referrer")
_POSTAL_ADDRESS: Shape = {
    "primary": bool,
    "address_lines": [str],
    **_texts("locality", "region", "postal_code", "country", "language"),
    "location": {"latitude": float, "longitude": float, "accuracy": str},
}
PERSON: Shape = {
    "identifiers": [identifier],
    **_texts("given_name", "family_name"),
    "email_addresses": [{"primary": bool, **_texts("address", "status")}],
    "phone_numbers": [{"primary": bool, **_texts("number", "number_type", "status")}],
    "postal_addresses": [_POSTAL_ADDRESS],
    "languages_spoken": [str],
    "custom_fields": {str: str},
}
# What a helper's body has besides the fields of what it records (interface 2.7): who acts, and tags for that person.
HELPER: Shape = {"person": PERSON, "add_tags": [str], "remove_tags": [str]}

EVENT = _shaped(*declared.EVENT)

_MADE = (same("identifiers", [identifier], ALL), *_shaped(*declared.DATES))  # every resource has these
_NAME = same("name", str, ALL, required=True)
_STATUS = same("status", _checked_in, ("put",), default="accepted")
_PERSON_FIELDS = tuple(
    same(name, shape, ALL, default={} if name == "custom_fields" else None)
    for name, shape in PERSON.items()
    if name != "identifiers"
)
_ORIGIN = Field(
    "origin_system", "origin_system", "originating_system", str, UI, default="osdi-frames sandbox"
)
_PUBLISHED = (
    *_MADE,
    _ORIGIN,
    same("title", str, UI, required=True),
    *(same(name, str, UI) for name in ("name", "description", "browser_url", "featured_image_url")),
    same("<p>:hidden", bool, UI, default=False),
    same("<p>:sponsor", dict),
)


def _acted(parent_id: str) -> tuple[Field, ...]:
    """Declare the fields of what a person does: who, to what, and how they came."""
    parent = Field("parent", parent_id, parent_id, str)
    return same("<p>:person_id", str), parent, same("<p>:referrer_data", REFERRER_DATA, ALL)


class Link(NamedTuple):
    """A link of a resource; `path` has {self}, {parent} or {person_id}, and is left out where that is None."""

    rel: str
    path: str
    versions: tuple[str, ...] = VERSIONS


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of resource.

    `under` names the kinds in whose addresses its collections stand, the first of which its own address names, too;
    None is the base address. `filters` are the names that `filter` takes. `counted` are the fields that count it: of
    the kind of its parent, of that one's parent, and so on. `embeds` are the keys under which a version embeds the
    person who made it.
    """

    name: str
    plural: str = ""
    v1_plural: str = ""
    under: tuple[str | None, ...] = (None,)
    fields: tuple[Field, ...] = ()
    filters: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    counted: tuple[tuple[str, str], ...] = ()
    embeds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prefix: str = "osdi"
    totals: bool = True

    def at(self, version: str) -> str:
        """Return the last segment of its collections' addresses."""
        return (self.v1_plural if version == "v1" else "") or self.plural or f"{self.name}s"

    def keys(self, site: Site) -> tuple[str, str]:
        """Return the keys of a page's embedded rows and of its link array, which v2 calls as v1 does."""
        rows, links = (site.named(f"{self.prefix}:{self.at(version)}") for version in (site.version, "v1"))
        return rows, links

    def filtered(self, site: Site) -> dict[str, str]:
        """Return what its collections can be filtered by, under the names of the version (interface 9)."""
        named = {field.name: site.field(field) for field in self.fields}
        return {name: by for by in self.filters if (name := named.get(by, by))}

    def addresses(self, version: str) -> Iterator[str]:
        """Yield the paths of its collections below the base address, with the ids of what they stand under."""
        for owner in self.under:
            for path in KINDS[owner].addresses(version) if owner else [""]:
                yield f"{path}/{{{owner}_id}}/{self.at(version)}" if owner else f"/{self.at(version)}"


def _list(rel: str, *versions: str) -> Link:
    """Declare the link to what stands below a resource under the link's own name."""
    return Link(rel, f"{{self}}/{rel.partition(':')[2]}", versions or VERSIONS)


_EMBED = _list("<p>:embed")
_ATTENDANCES = (_list("osdi:attendances", "v2"), _list("osdi:attendance", "v1"))
_CREATOR = Link("osdi:creator", "people/{person_id}")
_SIGN = Link("osdi:record_signature_helper", "{self}/signatures")
_PERSON = Link("osdi:person", "people/{person_id}")

_DATED = ("identifier", "created_date", "modified_date")
_TITLED = (*_DATED, "origin_system", "title")
_CONTACTS = ("email_address", "phone_number", "region", "postal_code")

# Where the field that a filter compares has another name: that, and the key in its entries.
_COMPARED: dict[str, tuple[str, str | None]] = {
    "identifier": ("identifiers", None),
    "email_address": ("email_addresses", "address"),
    "phone_number": ("phone_numbers", "number"),
    **{name: ("postal_addresses", name) for name in ("region", "postal_code")},
}
_WRITTEN: dict[str, Callable[[str], str | None]] = {
    **dict.fromkeys(("created_date", "modified_date"), utc),
    **dict.fromkeys(("start_date", "end_date"), wall_clock),
    "email_address": str.casefold,
}


def comparable(name: str, text: str) -> str | None:
    """Write a value as the filter of a name compares it; None is no value of such a field."""
    return _WRITTEN.get(name, str)(text)


def compared(name: str, values: Mapping[str, Any]) -> list[str | None]:
    """Return what the filter of a name compares of a resource's values."""
    field_name, key = _COMPARED.get(name, (name, None))
    value = values[field_name]
    entries = filter(None, value if isinstance(value, list) else [value])
    texts = (entry.get(key) for entry in entries) if key else entries
    return [comparable(name, text) for text in texts if text]


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "event",
            under=(None, "event_campaign"),
            fields=EVENT,
            filters=(*_TITLED, "start_date", "end_date"),
            links=(
                *_ATTENDANCES,
                Link("osdi:record_attendance_helper", "{self}/attendances", ("v2",)),
                *(Link(rel, "people/{person_id}") for rel in ("osdi:creator", "osdi:organizer")),
                Link("<p>:event_campaign", "event_campaigns/{parent}"),
                _EMBED,
            ),
            counted=(("event_campaign", "total_events"),),
            embeds={"v1": ("osdi:creator", "osdi:organizer")},
        ),
        Kind(
            "event_campaign",
            fields=(
                *_PUBLISHED,
                *(same(name, str, UI) for name in ("host_pitch", "host_instructions", "host_url")),
                *(same(name, int, default=0) for name in ("total_events", "total_rsvps")),
            ),
            filters=_TITLED,
            links=(_list("osdi:events"), _EMBED),
            prefix="<p>",
        ),
        Kind(
            "petition",
            fields=(
                *_PUBLISHED,
                same("petition_text", str, UI),
                same("target", [{"name": str}], UI),
                same("total_signatures", int, default=0),
            ),
            filters=_TITLED,
            links=(_list("osdi:signatures"), _SIGN, _CREATOR, _EMBED),
            embeds=dict.fromkeys(VERSIONS, ("osdi:creator",)),
        ),
        Kind(
            "attendance",
            under=("event", "person"),
            fields=(*_MADE, _STATUS, *_acted("<p>:event_id")),
            filters=_DATED,
            links=(Link("osdi:event", "events/{parent}"), _PERSON),
            counted=(("event", "total_accepted"), ("event_campaign", "total_rsvps")),
            v1_plural="attendance",
        ),
        Kind(
            "signature",
            under=("petition", "person"),
            fields=(*_MADE, same("comments", str, ALL), *_acted("<p>:petition_id")),
            filters=_DATED,
            links=(Link("osdi:petition", "petitions/{parent}"), _PERSON),
            counted=(("petition", "total_signatures"),),
        ),
        Kind(
            "person",
            "people",
            fields=(*_MADE, _ORIGIN, *_PERSON_FIELDS),
            filters=(*_DATED, "given_name", "family_name", *_CONTACTS),
            links=(
                *_ATTENDANCES,
                *map(_list, ("osdi:signatures", "osdi:submissions", "osdi:donations")),
                _list("osdi:question_answers", "v1"),
                *(_list(rel, "v2") for rel in ("osdi:outreaches", "osdi:taggings", "<p>:responses")),
            ),
            totals=False,
        ),
        Kind("tag", fields=(*_MADE, _NAME), links=(_list("osdi:taggings"),)),
        Kind(
            "tagging",
            under=("tag", "person"),
            fields=(*_MADE, same("item_type", str, default="osdi:person")),
            links=(Link("osdi:tag", "tags/{parent}"), _PERSON),
        ),
        Kind("campaign", prefix="<p>"),
        *(Kind(name, under=("person",)) for name in ("submission", "donation", "question_answer")),
        Kind("outreach", "outreaches", under=("person",)),
        Kind("response", under=("person",), prefix="<p>"),
    )
}
