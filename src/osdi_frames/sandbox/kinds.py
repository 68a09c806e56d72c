"""Every resource as one declaration: its addresses, keys, fields, filters, links and counts.

Store, paging, endpoints and representations are the same for all of them. A resource of which the sandbox keeps
nothing is declared, too, where a link leads to its collection: that is then empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from osdi_frames.sandbox import fields
from osdi_frames.sandbox.bodies import utc, wall_clock
from osdi_frames.sandbox.site import VERSIONS, Site
from osdi_frames.tables.fields import Field


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a resource; `path` has {self}, {parent} or {person_id}, and is left out where that is None."""

    rel: str
    path: str
    versions: tuple[str, ...] = VERSIONS


@dataclass(frozen=True, slots=True)
class Filter:
    """A name that `filter` takes, the field (and the key in its entries) that it compares, and how both are written."""

    name: str
    field: str
    key: str | None = None
    written: Callable[[str], str | None] = str


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
            fields=fields.EVENT,
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
            fields=fields.EVENT_CAMPAIGN,
            filters=_TITLED,
            links=(_list("osdi:events"), _EMBED),
            prefix="<p>",
        ),
        Kind(
            "petition",
            "petitions",
            fields=fields.PETITION,
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
            fields=fields.ATTENDANCE,
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
            fields=fields.SIGNATURE,
            filters=_DATED,
            links=(Link("osdi:petition", "petitions/{parent}"), _PERSON),
            counted=(("petition", "total_signatures"),),
        ),
        Kind(
            "person",
            "people",
            fields=fields.PEOPLE,
            filters=(
                *_DATED,
                Filter("given_name", "given_name"),
                Filter("family_name", "family_name"),
                Filter("email_address", "email_addresses", "address", written=str.casefold),
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
        Kind("tag", "tags", fields=fields.TAG, links=(_list("osdi:taggings"),)),
        Kind(
            "tagging",
            "taggings",
            "tags/{parent}/taggings/{id}",
            under=("tag", "person"),
            fields=fields.TAGGING,
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
