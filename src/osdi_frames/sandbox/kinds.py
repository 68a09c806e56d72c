"""Every resource as one declaration: its addresses, methods, keys, fields, filters, links and counts.

A field has its names in v2 and v1, its shape, and who may set it. Store, pages, endpoints and representations are
the same for all kinds. A resource of which the sandbox keeps nothing is declared, too, where a link or a client leads
to its collection: that is then empty.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from osdi_frames.sandbox.site import Site
from osdi_frames.tables import actions
from osdi_frames.tables.fields import ALL, DATES, EVENT, LOCATION, UI, VERSIONS, Field, same

# A shape is str, bool, int or float; a tuple of the values that there are; [shape] for an array; {name: shape} for an
# object; {str: shape} for one with any names; a function from a value to what is kept of it; or the name of one.
Shape = Any


def conform(value: object, shape: Shape, *, lenient: bool = False) -> Any:
    """Return what of `value` has `shape`; None where nothing has: invalid entries are ignored (interface 4, rule 1).

    With `lenient`, a single entry stands for a list, text for an object that has a name alone, a number for its text.

    >>> conform({"title": "Picnic", "capacity": "lots", "colour": "red"}, {"title": str, "capacity": int})
    {'title': 'Picnic'}
    >>> conform("The council", [{"name": str}], lenient=True)
    [{'name': 'The council'}]
    """
    if isinstance(shape, str):
        shape = (_LENIENT_SHAPES if lenient else _SHAPES)[shape]
    if isinstance(shape, list):
        return _conform_entries(value, shape[0], lenient=lenient)
    if isinstance(shape, dict):
        if lenient and isinstance(value, str) and list(shape) == ["name"]:
            value = {"name": value}
        if not isinstance(value, Mapping):
            return None
        named = dict.fromkeys(value, shape[str]) if str in shape else shape
        found = {
            name: conform(value[name], inner, lenient=lenient)
            for name, inner in named.items()
            if name in value
        }
        return {name: kept for name, kept in found.items() if kept is not None}
    if isinstance(shape, tuple):
        return value if value in shape else None
    if shape is float and type(value) is int:
        return float(value) if abs(value) < 2**53 else None
    if lenient and shape is str and type(value) in (int, float):
        return str(value)
    if isinstance(shape, type):
        return value if type(value) is shape else None
    return shape(value)


def _conform_entries(value: object, shape: Shape, *, lenient: bool) -> list[Any] | None:
    if isinstance(value, list):
        return [kept for entry in value if (kept := conform(entry, shape, lenient=lenient)) is not None]
    single = conform(value, shape, lenient=True) if lenient else None
    return None if single is None else [single]


def identifier(value: object) -> str | None:
    """Keep text of the form ``[system name]:[id]`` (interface 2.1)."""
    system, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    return str(value) if system.strip() and name.strip() else None


def country(value: object) -> str | None:
    """Keep an ISO 3166-1 alpha-2 code, in capitals (interface 2.2)."""
    return value.upper() if isinstance(value, str) and re.fullmatch("[A-Za-z]{2}", value) else None


def utc(text: str) -> str | None:
    """Write a moment in UTC, as which one without an offset is taken; None where it is no moment of the calendar."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return None


def wall_clock(text: str) -> str | None:
    """Keep a date and time as the wall clock that it shows, written with ``Z``: local to the place (interface 2.1).

    >>> wall_clock("2026-03-01T18:30:00-05:00")
    '2026-03-01T18:30:00Z'
    """
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None, microsecond=0).isoformat() + "Z"
    except ValueError:
        return None


def clock(value: object) -> str | None:
    """Keep a wall clock, whatever stands between its date and time."""
    return wall_clock(value) if isinstance(value, str) else None


def timestamp(value: object) -> str | None:
    """Keep a wall clock whose date and time are written as ISO 8601 does, with a ``T`` between them (interface 2)."""
    return clock(value) if isinstance(value, str) and value[10:11] in ("", "T", "t") else None


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, str)


_PLAIN = {"string": str, "utc": str, "bool": bool, "int64": int, "list": list, "object": dict}
_SHAPES: dict[str, Shape] = {
    **_PLAIN,
    "lines": [str],
    "identifiers": [identifier],
    "local": timestamp,
    "country": country,
    "location": {field.name: field.kind for field in LOCATION if field.set_by},
}
_LENIENT_SHAPES = _SHAPES | {"local": clock}
REFERRER_DATA: Shape = _texts(*(column.name for column in actions.REFERRER_DATA))
_PLACE = _texts("locality", "region", "postal_code", "country", "language")
_POINT = {"latitude": float, "longitude": float, "accuracy": str}
PERSON: Shape = {
    "identifiers": [identifier],
    **_texts("given_name", "family_name"),
    "email_addresses": [{"primary": bool, **_texts("address", "status")}],
    "phone_numbers": [{"primary": bool, **_texts("number", "number_type", "status")}],
    "postal_addresses": [{"primary": bool, "address_lines": [str], **_PLACE, "location": _POINT}],
    "languages_spoken": [str],
    "custom_fields": {str: str},
}
# What a helper's body has besides the fields of what it records (interface 2.7): who acts, and tags for that person.
HELPER: Shape = {"person": PERSON, "add_tags": [str], "remove_tags": [str]}

_MADE = (same("identifiers", "identifiers", ALL), *DATES)  # every resource has these
_NAME = same("name", str, ALL, required=True)
_STATUS = same("status", ("accepted", "attended"), ("put",), default="accepted")
_PERSON_FIELDS = tuple(
    same(name, shape, ALL, default={} if name == "custom_fields" else None)
    for name, shape in PERSON.items()
    if name != "identifiers"
)
_OWN = "osdi-frames sandbox"
_ORIGIN = Field("origin_system", "origin_system", "originating_system", str, UI, default=_OWN)
_PUBLISHED = (
    *_MADE,
    replace(_ORIGIN, set_by=ALL),
    same("title", str, ALL, required=True),
    *(same(name, str, ALL) for name in ("name", "description", "browser_url")),
    same("featured_image_url", str, UI),
    same("<p>:hidden", bool, UI, default=False),
    same("<p>:sponsor", dict),
)


def _acted(parent_id: str) -> tuple[Field, ...]:
    """Declare the fields of what a person does: who, to what, and how they came."""
    parent = Field("parent", parent_id, parent_id, str)
    return same("<p>:person_id", str), parent, same("<p>:referrer_data", REFERRER_DATA, ALL)


# Where a link leads, if not to what stands under the resource itself under the link's own name.
_PATHS = {
    **dict.fromkeys(("osdi:creator", "osdi:organizer", "osdi:person"), "people/{person_id}"),
    **{f"osdi:{parent}": f"{parent}s/{{parent}}" for parent in ("event", "petition", "tag")},
    "<p>:event_campaign": "event_campaigns/{parent}",
    "osdi:record_attendance_helper": "{self}/attendances",
    "osdi:record_signature_helper": "{self}/signatures",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of resource.

    `under` names the kinds in whose addresses its collections stand, the first of which its own address names, too;
    None is the base address. `methods` are offered besides GET, `lenient_methods` by ``--lenient`` only: POST at its
    collections, but those under a person, PUT and DELETE of one. `filters` are the names that `filter` takes; a link
    that one version lacks names the other. `counted` are the fields that count it: of the kind of its parent, of that
    one's parent, and so on. `embeds` are the keys under which a version embeds the person who made it.
    """

    name: str
    plural: str = ""
    v1_plural: str = ""
    under: tuple[str | None, ...] = (None,)
    methods: tuple[str, ...] = ()
    lenient_methods: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    filters: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
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


_ATTENDANCES = ("osdi:attendances v2", "osdi:attendance v1")
_EDITABLE = ("POST", "PUT")
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


def compared(name: str, values: Mapping[str, Any]) -> list[str]:
    """Return what the filter of a name compares of a resource's values."""
    field_name, key = _COMPARED.get(name, (name, None))
    value = values[field_name]
    entries = filter(None, value if isinstance(value, list) else [value])
    texts = (entry.get(key) for entry in entries) if key else entries
    return [written for text in texts if text and (written := comparable(name, text))]


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "event",
            under=(None, "event_campaign"),
            methods=_EDITABLE,
            fields=EVENT,
            filters=(*_TITLED, "start_date", "end_date"),
            links=(
                *(*_ATTENDANCES, "osdi:record_attendance_helper v2"),
                *("osdi:creator", "osdi:organizer", "<p>:event_campaign", "<p>:embed"),
            ),
            counted=(("event_campaign", "total_events"),),
            embeds={"v1": ("osdi:creator", "osdi:organizer")},
        ),
        Kind(
            "event_campaign",
            lenient_methods=_EDITABLE,
            fields=(
                *_PUBLISHED,
                *(same(name, str, ALL) for name in ("host_pitch", "host_instructions", "host_url")),
                *(same(name, int, default=0) for name in ("total_events", "total_rsvps")),
            ),
            filters=_TITLED,
            links=("osdi:events", "<p>:embed"),
            prefix="<p>",
        ),
        Kind(
            "petition",
            lenient_methods=_EDITABLE,
            fields=(
                *_PUBLISHED,
                same("petition_text", str, ALL),
                same("target", [{"name": str}], ALL),
                same("total_signatures", int, default=0),
            ),
            filters=_TITLED,
            links=("osdi:signatures", "osdi:record_signature_helper", "osdi:creator", "<p>:embed"),
            embeds=dict.fromkeys(VERSIONS, ("osdi:creator",)),
        ),
        Kind(
            "attendance",
            under=("event", "person"),
            methods=_EDITABLE,
            fields=(*_MADE, _STATUS, *_acted("<p>:event_id")),
            filters=_DATED,
            links=("osdi:event", "osdi:person"),
            counted=(("event", "total_accepted"), ("event_campaign", "total_rsvps")),
            v1_plural="attendance",
        ),
        Kind(
            "signature",
            under=("petition", "person"),
            methods=_EDITABLE,
            fields=(*_MADE, same("comments", str, ALL), *_acted("<p>:petition_id")),
            filters=_DATED,
            links=("osdi:petition", "osdi:person"),
            counted=(("petition", "total_signatures"),),
        ),
        Kind(
            "person",
            "people",
            methods=_EDITABLE,
            fields=(*_MADE, _ORIGIN, *_PERSON_FIELDS),
            filters=(*_DATED, "given_name", "family_name", *_CONTACTS),
            links=(
                *(*_ATTENDANCES, "osdi:signatures", "osdi:submissions", "osdi:donations"),
                *("osdi:question_answers v1", "osdi:outreaches v2", "osdi:taggings v2", "<p>:responses v2"),
            ),
            totals=False,
        ),
        Kind("tag", methods=("POST",), fields=(*_MADE, _NAME), links=("osdi:taggings",)),
        Kind(
            "tagging",
            under=("tag", "person"),
            methods=("POST", "DELETE"),
            fields=(*_MADE, same("item_type", str, default="osdi:person")),
            links=("osdi:tag", "osdi:person"),
        ),
        # those of which nothing is kept
        *(Kind(name, filters=_TITLED) for name in ("form", "fundraising_page", "advocacy_campaign")),
        *(Kind(name, filters=_TITLED, prefix="<p>") for name in ("campaign", "survey")),
        *(Kind(name) for name in ("message", "list", "wrapper", "unique_id_list")),
        Kind("query", "queries"),
        Kind("item", under=("list",)),
        Kind("submission", under=("form", "person"), filters=_DATED),
        Kind("donation", under=(None, "fundraising_page", "person"), filters=_DATED),
        Kind("outreach", "outreaches", under=("advocacy_campaign", "person"), filters=_DATED),
        Kind("response", under=("survey", "person"), filters=_DATED, prefix="<p>"),
        Kind("question_answer", under=("person",)),
    )
}


@cache
def linked(kind: str, version: str) -> list[tuple[str, str]]:
    """Return the links of a kind and their paths, in which {self}, {parent} and {person_id} stand for what is there."""
    parts = [link.partition(" ") for link in KINDS[kind].links]
    here = [rel for rel, _, only in parts if only in ("", version)]
    return [(rel, _PATHS.get(rel, f"{{self}}/{rel.partition(':')[2]}")) for rel in here]
