"""Every kind of resource, as one declaration.

A field has its names in v2 and v1, its shape, and who may set it. Store, pages, endpoints and representations are
the same for all kinds. A resource of which the sandbox keeps nothing is declared, too, where a link or a client leads
to its collection: that is then empty.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from osdi_frames.sandbox.shapes import PERSON, REFERRER_DATA, amount
from osdi_frames.sandbox.site import Site
from osdi_frames.tables.fields import ALL, DATE_FIELDS, FIELDS_OF_EVENTS, UI, VERSIONS, Field, same

_MADE = (same("identifiers", "identifiers", ALL), *DATE_FIELDS)  # every resource has these
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
_CALL = same("call_to_action", str, ALL)
_CURRENCY = same("currency", str, ALL, default="USD")
_OUTREACH_TYPE = same("type", ("email", "phone"), ALL, default="email")


def _acted(parent_id: str) -> tuple[Field, ...]:
    """Declare who acted, on what, and how they came."""
    parent = Field("parent", parent_id, parent_id, str)
    return same("<p>:person_id", str), parent, same("<p>:referrer_data", REFERRER_DATA, ALL)


# Where a link leads, if not to what stands under the resource itself under the link's own name.
_PATHS = {
    **dict.fromkeys(("osdi:creator", "osdi:organizer", "osdi:person"), "people/{person_id}"),
    **{
        f"osdi:{parent}": f"{parent}s/{{parent}}"
        for parent in ("event", "petition", "form", "fundraising_page", "advocacy_campaign", "tag")
    },
    "<p>:event_campaign": "event_campaigns/{parent}",
    "<p>:survey": "surveys/{parent}",
    "osdi:record_attendance_helper": "{self}/attendances",
    "osdi:record_signature_helper": "{self}/signatures",
    "osdi:record_submission_helper": "{self}/submissions",
    "osdi:record_donation_helper": "{self}/donations",
    "osdi:record_outreach_helper": "{self}/outreaches",
    "<p>:record_response_helper": "{self}/responses",
}


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """One kind of resource.

    `under` names the kinds in whose addresses its collections stand, the first of which its own address names, too;
    None is the base address. `methods` are offered besides GET, `lenient_methods` by ``--lenient`` only: POST at its
    collections, but those under a person, PUT and DELETE of one. `filters` are the names that `filter` takes; a link
    that one version lacks names the other. `counted` are the fields that count it: of the kind of its parent, of that
    one's parent, and so on; `inherits` are the fields that it has from its parent. Of what is not `repeatable` there is
    one for a person and a parent. `embeds` are the keys under which a version embeds the person who made it.
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
    inherits: tuple[str, ...] = ()
    repeatable: bool = False
    prefix: str = "osdi"
    totals: bool = True

    def at(self, version: str) -> str:
        """Return the last segment of its collections' addresses."""
        return (self.v1_plural if version == "v1" else "") or self.plural or f"{self.name}s"

    def keys(self, site: Site) -> tuple[str, str]:
        """Return the keys of a page's embedded rows and of its links, which are called in v2 as in v1."""
        rows, links = (site.prefixed(f"{self.prefix}:{self.at(version)}") for version in (site.version, "v1"))
        return rows, links

    @property
    def is_act(self) -> bool:
        """Whether it is what a person does to its parent."""
        return "person" in self.under and self.name != "tagging"

    @property
    def acted_on(self) -> str | None:
        """Return what people do it to, None if it is no act."""
        return next((owner for owner in self.under if self.is_act and owner not in (None, "person")), None)

    def filters_of(self, site: Site) -> dict[str, str]:
        """Return its filters by their names in a version."""
        named = {field.name: site.field(field) for field in self.fields}
        return {name: by for by in self.filters if (name := named.get(by, by))}

    def addresses(self, version: str) -> Iterator[str]:
        """Yield the paths of its collections below the base address."""
        for owner in self.under:
            for path in RESOURCE_KINDS[owner].addresses(version) if owner else [""]:
                yield f"{path}/{{{owner}_id}}/{self.at(version)}" if owner else f"/{self.at(version)}"


_ATTENDANCES = ("osdi:attendances v2", "osdi:attendance v1")
_EDITABLE = ("POST", "PUT")
_DATED = ("identifier", "created_date", "modified_date")
_TITLED = (*_DATED, "origin_system", "title")
_CONTACTS = ("email_address", "phone_number", "region", "postal_code")


def _published(name: str, act: str, *fields: Field, prefix: str = "osdi", **more: Any) -> ResourceKind:
    """Declare what organizers publish and people do an act to: `fields` are those besides titles and the count."""
    rel = "<p>" if act == "response" else "osdi"
    acts = f"{act}es" if act == "outreach" else f"{act}s"
    total = same(f"total_{acts}", int, default=0)
    return ResourceKind(
        name,
        lenient_methods=_EDITABLE,
        fields=(*_PUBLISHED, *fields, total),
        filters=_TITLED,
        links=(f"{rel}:{acts}", f"{rel}:record_{act}_helper", "osdi:creator", "<p>:embed"),
        embeds=dict.fromkeys(VERSIONS, ("osdi:creator",)),
        prefix=prefix,
        **more,
    )


def _act(name: str, of: str, *fields: Field, under: tuple[str | None, ...] = (), **more: Any) -> ResourceKind:
    """Declare an act: `of` is what is acted on, `fields` are those besides who acted, on what, and how they came."""
    rel = "<p>" if of == "survey" else "osdi"
    plural = more.get("plural") or f"{name}s"
    return ResourceKind(
        name,
        under=(*under, of, "person"),
        methods=_EDITABLE,
        fields=(*_MADE, *fields, *_acted(f"<p>:{of}_id")),
        filters=_DATED,
        links=(f"{rel}:{of}", "osdi:person"),
        **{"counted": ((of, f"total_{plural}"),), "prefix": rel, **more},
    )


RESOURCE_KINDS = {
    kind.name: kind
    for kind in (
        ResourceKind(
            "event",
            under=(None, "event_campaign"),
            methods=_EDITABLE,
            fields=FIELDS_OF_EVENTS,
            filters=(*_TITLED, "start_date", "end_date"),
            links=(
                *(*_ATTENDANCES, "osdi:record_attendance_helper v2"),
                *("osdi:creator", "osdi:organizer", "<p>:event_campaign", "<p>:embed"),
            ),
            counted=(("event_campaign", "total_events"),),
            embeds={"v1": ("osdi:creator", "osdi:organizer")},
        ),
        ResourceKind(
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
        _published(
            "petition", "signature", same("petition_text", str, ALL), same("target", [{"name": str}], ALL)
        ),
        _act(
            "attendance",
            "event",
            _STATUS,
            counted=(("event", "total_accepted"), ("event_campaign", "total_rsvps")),
            v1_plural="attendance",
        ),
        _act("signature", "petition", same("comments", str, ALL)),
        ResourceKind(
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
        ResourceKind("tag", methods=("POST",), fields=(*_MADE, _NAME), links=("osdi:taggings",)),
        ResourceKind(
            "tagging",
            under=("tag", "person"),
            methods=("POST", "DELETE"),
            fields=(*_MADE, same("item_type", str, default="osdi:person")),
            links=("osdi:tag", "osdi:person"),
        ),
        _published("form", "submission", _CALL),
        _act("submission", "form"),
        _published(
            "fundraising_page", "donation", _CALL, _CURRENCY, same("total_amount", float, default=0.0)
        ),
        _act(
            "donation",
            "fundraising_page",
            same("amount", str),
            replace(_CURRENCY, set_by=()),
            same("recipients", [{"display_name": str, "amount": amount}], ALL, required=True),
            same("payment", dict),
            same("<p>:recurrence", {"recurring": bool, "period": str}, ALL, default={"recurring": False}),
            under=(None,),
            inherits=("currency",),
            repeatable=True,
        ),
        _published("advocacy_campaign", "outreach", _CALL, _OUTREACH_TYPE, same("targets", str, ALL)),
        _act(
            "outreach",
            "advocacy_campaign",
            replace(_OUTREACH_TYPE, set_by=()),
            *(same(name, str, ALL) for name in ("subject", "message")),
            same("duration", float, ALL),
            same("targets", [dict.fromkeys(("title", "given_name", "family_name", "ocdid"), str)], ALL),
            plural="outreaches",
            inherits=("type",),
            repeatable=True,
        ),
        _published("survey", "response", _CALL, prefix="<p>"),
        _act("response", "survey"),
        # those of which nothing is kept
        ResourceKind("campaign", filters=_TITLED, prefix="<p>"),
        *(ResourceKind(name) for name in ("message", "list", "wrapper", "unique_id_list")),
        ResourceKind("query", "queries"),
        ResourceKind("item", under=("list",)),
        ResourceKind("question_answer", under=("person",)),
    )
}


#: The kinds on which people act, and what organizers publish besides events.
ACTED_ON = tuple(filter(None, (kind.acted_on for kind in RESOURCE_KINDS.values())))
PUBLISHED = ("event_campaign", *(name for name in ACTED_ON if name != "event"))


@cache
def link_paths(kind: str, version: str) -> list[tuple[str, str]]:
    """Return the links of a kind with their paths, which have {self}, {parent} and {person_id} of a resource."""
    parts = [link.partition(" ") for link in RESOURCE_KINDS[kind].links]
    here = [rel for rel, _, only in parts if only in ("", version)]
    return [(rel, _PATHS.get(rel, f"{{self}}/{rel.partition(':')[2]}")) for rel in here]
