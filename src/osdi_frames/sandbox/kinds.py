"""Every resource as one declaration: its addresses, keys, fields, filters, links and counts.

A field has its names in v2 and v1, its shape, and who may set it. Store, paging, endpoints and representations are
the same for all kinds. A resource of which the sandbox keeps nothing is declared, too, where a link leads to its
collection: that is then empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from osdi_frames.sandbox.bodies import Shape, country, identifier, timestamp, utc, wall_clock
from osdi_frames.sandbox.site import VERSIONS, Site
from osdi_frames.tables import fields as declared
from osdi_frames.tables.fields import ALL, UI, Field, same

_SHAPES: dict[str, Shape] = {
    "string": str,
    "utc": str,
    "bool": bool,
    "int64": int,
    "list": list,
    "object": dict,
    "lines": [str],
    "identifiers": [identifier],
    "local": timestamp,
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
# What a helper's body has besides the fields of what it records (interface 2.7): who acts, and tags for that person.
HELPER: Shape = {"person": PERSON, "add_tags": [str], "remove_tags": [str]}

EVENT = _shaped(*declared.EVENT)

_MADE = (same("identifiers", [identifier], ALL), *_shaped(*declared.DATES))  # every resource has these
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


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a resource; `path` has {self}, {parent} or {person_id}, and is left out where that is None."""

    rel: str
    path: str
    versions: tuple[str, ...] = VERSIONS


@dataclass(frozen=True, slots=True)
class Filter:
    """A name that `filter` takes, the field (and the key in its entries) that it compares, and how to write a value.

    `written` makes of what is asked for what is kept, `searched` of what is kept what is compared.
    """

    name: str
    field: str
    key: str | None = None
    written: Callable[[str], str | None] = str
    searched: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of resource.

    `under` names the kinds in whose addresses its collections stand; None is the base address. `path` is where one
    of them is. `counted` are the fields that count it: of the kind of its parent, of that one's parent, and so on.
    `embeds` are the keys under which a version embeds the person who made it. The link array of a collection page has
    the key of its embedded rows, but for attendances in v2.
    """

    name: str
    segment: str
    path: str = "{segment}/{id}"
    under: tuple[str | None, ...] = (None,)
    fields: tuple[Field, ...] = ()
    filters: tuple[Filter, ...] = ()
    links: tuple[Link, ...] = ()
    counted: tuple[tuple[str, str], ...] = ()
    embeds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prefix: str = "osdi"
    v1_segment: str | None = None
    link_array: str | None = None
    totals: bool = True

    def at(self, version: str) -> str:
        """Return the last segment of its collections' addresses."""
        return (self.v1_segment if version == "v1" else None) or self.segment

    def keys(self, site: Site) -> tuple[str, str]:
        """Return the keys of a page's embedded rows and of its link array."""
        key = site.named(f"{self.prefix}:{self.at(site.version)}")
        return key, key if site.version == "v1" else self.link_array or key

    def filtered(self, site: Site) -> dict[str, Filter]:
        """Return what its collections can be filtered by, under the names of the version (interface 9)."""
        named = {field.name: site.field(field) for field in self.fields}
        return {name: by for by in self.filters if (name := named.get(by.name, by.name))}

    def addresses(self, version: str) -> Iterator[str]:
        """Yield the paths of its collections below the base address, with the ids of what they stand under."""
        for owner in self.under:
            above = KINDS[owner].addresses(version) if owner else [""]
            for path in above:
                yield f"{path}/{{{owner}_id}}/{self.at(version)}" if owner else f"/{self.at(version)}"


def _list(rel: str, *versions: str) -> Link:
    """Declare the link to what stands below a resource under the link's own name."""
    return Link(rel, f"{{self}}/{rel.partition(':')[2]}", versions or VERSIONS)


_EMBED = _list("<p>:embed")
_ATTENDANCES = (_list("osdi:attendances", "v2"), _list("osdi:attendance", "v1"))
_CREATOR = Link("osdi:creator", "people/{person_id}")
_PERSON = Link("osdi:person", "people/{person_id}")

_DATED = (
    Filter("identifier", "identifiers"),
    Filter("created_date", "created_date", written=utc),
    Filter("modified_date", "modified_date", written=utc),
)
_TITLED = (*_DATED, Filter("origin_system", "origin_system"), Filter("title", "title"))

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "event",
            "events",
            under=(None, "event_campaign"),
            fields=EVENT,
            filters=(
                *_TITLED,
                Filter("start_date", "start_date", written=wall_clock),
                Filter("end_date", "end_date", written=wall_clock),
            ),
            links=(
                *_ATTENDANCES,
                Link("osdi:record_attendance_helper", "{self}/attendances", ("v2",)),
                _CREATOR,
                Link("osdi:organizer", "people/{person_id}"),  # always the creator (interface 2.8)
                Link("<p>:event_campaign", "event_campaigns/{parent}"),
                _EMBED,
            ),
            counted=(("event_campaign", "total_events"),),
            embeds={"v1": ("osdi:creator", "osdi:organizer")},
        ),
        Kind(
            "event_campaign",
            "event_campaigns",
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
            "petitions",
            fields=(
                *_PUBLISHED,
                same("petition_text", str, UI),
                same("target", [{"name": str}], UI),
                same("total_signatures", int, default=0),
            ),
            filters=_TITLED,
            links=(
                _list("osdi:signatures"),
                Link("osdi:record_signature_helper", "{self}/signatures"),
                _CREATOR,
                _EMBED,
            ),
            embeds=dict.fromkeys(VERSIONS, ("osdi:creator",)),
        ),
        Kind(
            "attendance",
            "attendances",
            "events/{parent}/{segment}/{id}",
            under=("event", "person"),
            fields=(
                *_MADE,
                same("status", _checked_in, ("put",), default="accepted"),
                *_acted("<p>:event_id"),
            ),
            filters=_DATED,
            links=(Link("osdi:event", "events/{parent}"), _PERSON),
            counted=(("event", "total_accepted"), ("event_campaign", "total_rsvps")),
            v1_segment="attendance",
            link_array="osdi:attendance",
        ),
        Kind(
            "signature",
            "signatures",
            "petitions/{parent}/signatures/{id}",
            under=("petition", "person"),
            fields=(*_MADE, same("comments", str, ALL), *_acted("<p>:petition_id")),
            filters=_DATED,
            links=(Link("osdi:petition", "petitions/{parent}"), _PERSON),
            counted=(("petition", "total_signatures"),),
        ),
        Kind(
            "person",
            "people",
            fields=(
                *_MADE,
                _ORIGIN,
                *(
                    same(name, shape, ALL, default={} if name == "custom_fields" else None)
                    for name, shape in PERSON.items()
                    if name != "identifiers"
                ),
            ),
            filters=(
                *_DATED,
                Filter("given_name", "given_name"),
                Filter("family_name", "family_name"),
                Filter("email_address", "email_addresses", "address", str.casefold, str.casefold),
                Filter("phone_number", "phone_numbers", "number"),
                Filter("region", "postal_addresses", "region"),
                Filter("postal_code", "postal_addresses", "postal_code"),
            ),
            links=(
                *_ATTENDANCES,
                *map(_list, ("osdi:signatures", "osdi:submissions", "osdi:donations")),
                _list("osdi:question_answers", "v1"),
                *(_list(rel, "v2") for rel in ("osdi:outreaches", "osdi:taggings", "<p>:responses")),
            ),
            totals=False,
        ),
        Kind(
            "tag",
            "tags",
            fields=(*_MADE, same("name", str, ALL, required=True)),
            links=(_list("osdi:taggings"),),
        ),
        Kind(
            "tagging",
            "taggings",
            "tags/{parent}/taggings/{id}",
            under=("tag", "person"),
            fields=(*_MADE, same("item_type", str, default="osdi:person")),
            links=(Link("osdi:tag", "tags/{parent}"), _PERSON),
        ),
        Kind("campaign", "campaigns", prefix="<p>"),
        Kind("submission", "submissions", under=("person",)),
        Kind("donation", "donations", under=("person",)),
        Kind("question_answer", "question_answers", under=("person",)),
        Kind("outreach", "outreaches", under=("person",)),
        Kind("response", "responses", under=("person",), prefix="<p>"),
    )
}
