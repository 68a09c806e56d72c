"""Resources: what may be entered, and how they are shown (interface 2, 4 and 9), without I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from osdi_frames.errors import RequestRefused
from osdi_frames.sandbox.gazetteer import Gazetteer
from osdi_frames.sandbox.resource_kinds import RESOURCE_KINDS, ResourceKind, link_paths
from osdi_frames.sandbox.shapes import conform
from osdi_frames.sandbox.site import Site

Fields = dict[str, Any]

_PAYMENT = {"method": "Credit Card", "authorization_stored": False}

# What a sponsor's title and url are called in events (interface 2.4, 9); in all else they are called that.
SPONSOR = {"v2": ("title", "browser_url"), "v1": ("summary", "url")}


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as it is kept.

    `fields` have the names of its declaration. `parent` is the resource in whose collection it is: of an event its
    campaign, of a signature its petition. `person_id` is who made it: the creator of an event, the signer, the
    attendee.
    """

    kind: str
    resource_id: str
    created_date: str
    modified_date: str
    fields: Fields
    account: str | None = None
    parent: str | None = None
    person_id: str | None = None
    listed: bool = True  # some events of real deployments appear only in their campaign's collection
    made_by: str = "v2"  # or v1 or ui: only events made through the API are in the targeting list
    creator_named: bool = False  # then people who act on it join the creator's own list (interface 4, rule 2)

    @property
    def declared(self) -> ResourceKind:
        """Return the declaration of its kind."""
        return RESOURCE_KINDS[self.kind]

    def path(self, site: Site) -> str:
        """Return its address below the base address."""
        owner = self.declared.under[0]
        above = f"{RESOURCE_KINDS[owner].at(site.version)}/{self.parent}/" if owner else ""
        return f"{above}{self.declared.at(site.version)}/{self.resource_id}"

    @property
    def amount(self) -> Decimal:
        """Return the sum of a donation's recipients."""
        amounts = (Decimal(entry.get("amount", 0)) for entry in self.fields.get("recipients", ()))
        return sum(amounts, Decimal("0.00"))

    def changed(self, fields: Mapping[str, Any]) -> Resource:
        """Return the resource with these fields.

        Identifiers (interface 4, rule 3) and recipients of donations are added, never removed.
        """
        merged = {**self.fields, **fields}
        if "recipients" in fields:
            merged["recipients"] = [*self.fields.get("recipients", ()), *fields["recipients"]]
        if "identifiers" in merged:
            both = (*self.fields.get("identifiers", ()), *merged["identifiers"])
            merged["identifiers"] = list(dict.fromkeys(both))
        return replace(self, fields=merged)

    def values(self, own: str) -> Fields:
        """Return its values by declared name, without defaults; `own` is its own identifier."""
        shown = self.fields | {"created_date": self.created_date, "modified_date": self.modified_date}
        shown |= {"parent": self.parent, "person_id": self.person_id}
        shown["identifiers"] = [own, *self.fields.get("identifiers", ())]
        if self.kind == "donation":  # the amount and the payment are the service's
            shown["amount"], shown["payment"] = (
                str(self.amount),
                _PAYMENT | {"reference_number": self.resource_id},
            )
        return shown | {"location": shown["geocoded"]} if "geocoded" in shown else shown


def entered_fields(kind: str, body: Mapping[str, object], site: Site, *by: str, lenient: bool) -> Fields:
    """Return what a body may set in these ways.

    All else is ignored (interface 4, rule 1). With `lenient`, values count that are written in other ways than the
    contract's (see `conform`).
    """
    entered = {}
    for field in RESOURCE_KINDS[kind].fields:
        name = None if set(by).isdisjoint(field.set_by) else site.field(field)
        if name and name in body:
            value = conform(body[name], field.kind, lenient=lenient)
            given = value.strip() if isinstance(value, str) else value
            if value is not None and (given or not field.required):
                entered[field.name] = value
    location = entered.get("location", {})
    if site.version == "v1" and not location.get("postal_code", "").strip():  # there it is required
        location.pop("postal_code", None)
    return entered


def check_required(kind: str, entered: Fields, site: Site) -> None:
    """Refuse what lacks a field that POST requires.

    The message has its name in that version (interface 2.1, 2.8). v1 requires the postal code of a location, and no
    location: the contract's sample has none.
    """
    required = [field for field in RESOURCE_KINDS[kind].fields if field.required]
    missing = [site.field(field) for field in required if field.name not in entered]
    if site.version == "v1" and "location" in entered and "postal_code" not in entered["location"]:
        missing.append("location.postal_code")
    if missing:
        raise RequestRefused(400, f"required and missing: {', '.join(map(str, missing))}")


def relocate(event: Resource, entered: Fields, site: Site, gazetteer: Gazetteer) -> Resource:
    """Return an event with its location entered and geocoded (interface 2.2).

    Its other parts stay, except for a postal code of another city than the locality that was entered.
    """
    location = {**event.fields.get("location", {}), **entered}
    if "locality" in entered and "postal_code" not in entered and gazetteer.contradicts(location):
        del location["postal_code"]
    if "address_lines" in location:  # entries after the first are ignored (interface 2.2)
        location["address_lines"] = location["address_lines"][:1]
    # in v1 the country, too, is the geocoder's (interface 2.8)
    if site.version == "v1":
        location |= gazetteer.country_of(location)
    return event.changed({"location": location, "geocoded": gazetteer.geocode(location)})


def foreign_identifiers(identifiers: Collection[str], site: Site) -> list[str]:
    """Return the identifiers of other systems (interface 2.1)."""
    return [name for name in identifiers if not name.startswith(f"{site.prefix}:")]


def represent(resource: Resource, site: Site, *, person: Resource | None = None) -> Fields:
    """Return a resource with the names and links of one version (interface 2.1, 2.5, 2.8); `person` is who made it."""
    values = resource.values(site.native(resource.resource_id))
    if resource.made_by == "ui":  # which makes a page for each of its own (interface 1.2)
        values.setdefault("browser_url", f"{site.origin}/{resource.path(site)}")
    elif resource.kind == "event" and site.version == "v1":  # where no other has one (interface 2.8)
        values.pop("browser_url", None)
    if resource.kind == "event" and "sponsor" in values:
        title, url = SPONSOR[site.version]
        values["sponsor"] = {title: values["sponsor"]["title"], url: values["sponsor"]["url"]}
    shown: Fields = {}
    for field in resource.declared.fields:
        value = values.get(field.name, field.default)
        if value is not None and (name := site.field(field)):
            shown[name] = value
    shown["_links"] = links(resource, site)
    if person and (keys := resource.declared.embeds.get(site.version)):
        shown["_embedded"] = dict.fromkeys(keys, represent(person, site))
    return shown


def links(resource: Resource, site: Site) -> Fields:
    """Return the links of a resource, without curies."""
    own = resource.path(site)
    ids = {"self": own, "parent": resource.parent, "person_id": resource.person_id}
    known = {name: value for name, value in ids.items() if value}
    shown: Fields = {"self": site.link(own)}
    for rel, path in link_paths(resource.kind, site.version):
        with suppress(KeyError):  # one that needs an id which the resource lacks
            shown[site.prefixed(rel)] = site.link(path.format(**known))
    return shown
