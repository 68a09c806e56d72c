"""What a body makes of an event, and what an event looks like in v2 and v1: rules without I/O (interface 2, 4, 9)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from osdi_frames.sandbox.bodies import conform
from osdi_frames.sandbox.fields import ATTENDANCES, CONSTANTS, EVENT, SPONSOR, shape_of
from osdi_frames.sandbox.gazetteer import Gazetteer
from osdi_frames.sandbox.people import Person, represent_person
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.site import Site

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it is kept: what was entered, by the names of `fields.EVENT`, and what the service added."""

    event_id: str
    account: str
    created_date: str
    modified_date: str
    creator_id: str
    entered: Fields
    identifiers: tuple[str, ...] = ()
    total_accepted: int = 0
    sponsor: Mapping[str, str] | None = None
    made_by: str = "v2"  # or v1 or ui: only events made through the API are in the targeting list
    creator_named: bool = False  # then people who act on it join the creator's own list (interface 4, rule 2)
    listed: bool = True  # some events of real deployments appear only in their campaign's collection

    def changed(self, entered: Fields, *, now: str) -> Event:
        """Return the event after a PUT, or a POST that matched it: partial, a location's parts one by one."""
        entered = dict(entered)
        identifiers = entered.pop("identifiers", ())
        if "location" in entered:
            entered["location"] = self.entered.get("location", {}) | entered["location"]
        return replace(
            self,
            entered=self.entered | entered,
            identifiers=tuple(dict.fromkeys((*self.identifiers, *identifiers))),
            modified_date=now,
        )


def enter(body: Mapping[str, object], site: Site, *, set_by: str, gazetteer: Gazetteer) -> Fields:
    """Return what a body may set, by the names of `fields.EVENT`; all else is ignored (interface 4, rule 1)."""
    kept = conform(body, shape_of(site, set_by))
    entered = {f.name: kept[name] for f in EVENT if (name := f.named(site)) in kept}
    for f in EVENT:
        if f.required and not entered.get(f.name, "").strip():
            entered.pop(f.name, None)
    if "location" in entered:
        entered["location"] = _enter_location(entered["location"], site, gazetteer)
    return entered


def _enter_location(location: Fields, site: Site, gazetteer: Gazetteer) -> Fields:
    if "address_lines" in location:  # entries after the first are ignored (interface 2.2)
        location = location | {"address_lines": location["address_lines"][:1]}
    # in v1 the country, too, is the geocoder's (interface 2.8)
    return location | gazetteer.country_of(location) if site.version == "v1" else location


def require(entered: Fields, site: Site) -> None:
    """Refuse what lacks a field that POST requires, by its name in that version (interface 2.1, 2.8).

    v1 requires location.postal_code of a location; a v1 event without any location is answered 200, as the
    contract's sample is.
    """
    missing = [f.named(site) for f in EVENT if f.required and f.name not in entered]
    if site.version == "v1" and "location" in entered and not entered["location"].get("postal_code"):
        missing.append("location.postal_code")
    if missing:
        raise refuse("missing", fields=", ".join(map(str, missing)))


def foreign(identifiers: Collection[str], site: Site) -> tuple[str, ...]:
    """Return the identifiers of other systems: the service's own are made by itself (interface 2.1)."""
    return tuple(name for name in identifiers if not name.startswith(f"{site.prefix}:"))


def represent(event: Event, site: Site, *, creator: Person, gazetteer: Gazetteer) -> str:
    """Return the JSON of an event in the names and links of one version (interface 2.1, 2.5, 2.8)."""
    values = {
        **CONSTANTS,
        **event.entered,
        "identifiers": [site.native(event.event_id), *event.identifiers],
        "created_date": event.created_date,
        "modified_date": event.modified_date,
        "location": gazetteer.geocode(event.entered.get("location", {})),
        "total_accepted": event.total_accepted,
        "sponsor": event.sponsor and sponsor_in(event.sponsor, SPONSOR[site.version]),
    }
    shown = {
        name: value for f in EVENT if (name := f.named(site)) and (value := values.get(f.name)) is not None
    }
    shown["_links"] = _links(event, site)
    if site.version == "v1":
        person = represent_person(creator, site)
        shown["_embedded"] = {"osdi:creator": person, "osdi:organizer": person}
    return json.dumps(shown, ensure_ascii=False)


def sponsor_in(sponsor: Mapping[str, str], names: tuple[str, str]) -> dict[str, str]:
    """Return a sponsor's title and address under the names that an event of a version, or a webhook, gives them."""
    return dict(zip(names, (sponsor["title"], sponsor["url"]), strict=True))


def _links(event: Event, site: Site) -> dict[str, object]:
    here = ("events", event.event_id)
    attendances = site.link(*here, ATTENDANCES[site.version])
    links: dict[str, object] = {"self": site.link(*here)}
    if site.version == "v1":
        links["osdi:attendance"] = attendances
    else:
        links |= {"osdi:attendances": attendances, "osdi:record_attendance_helper": attendances}
    # the organizer is always the creator (interface 2.8)
    links |= dict.fromkeys(("osdi:creator", "osdi:organizer"), site.link("people", event.creator_id))
    if campaign_id := event.entered.get("event_campaign_id"):
        links[site.named("<p>:event_campaign")] = site.link("event_campaigns", campaign_id)
    links[site.named("<p>:embed")] = site.link(*here, "embed")
    return links | {"curies": site.curies()}


def targeting_label(event: Event) -> str:
    """Return the line under which an event can be targeted (interface 1.5)."""
    return f"[1, ({event.entered['origin_system']}) Event], ({event.entered['title']})"
