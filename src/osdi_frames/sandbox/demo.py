"""Fill an empty sandbox with a made-up world: people, campaigns, events with their RSVPs, petitions, signatures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any
from uuid import UUID

from osdi_frames.sample import World
from osdi_frames.sample.actions import referrer_data
from osdi_frames.sample.events import campaign_href
from osdi_frames.sample.people import signer
from osdi_frames.sandbox.admin import GROUP
from osdi_frames.sandbox.service import Service
from osdi_frames.sandbox.site import Site

EVENTS = 120
SIGNATURES = 400
_FIRST_ATTENDEE = 1_000_000  # so that no attendee is one of the signers


def fill(service: Service, *, origin: str, seed: int = 7) -> None:
    """Let the world of a seed happen in the sandbox's group, each act at its own moment.

    A sandbox that has events already is left as it is. `origin` is where its links lead to.
    """
    if service.store.find("event"):
        return
    settings = service.settings
    site = Site(origin, settings.prefix, "v2")
    world = World.make(seed=seed, events=EVENTS, prefix=settings.prefix, base_url=site.base_url)
    # The same ids at every start: who pulls again from a demo that was started again finds the same events.
    random = Random(seed)  # noqa: S311 (ids of a demo are no secret)
    service.settings = replace(settings, new_id=lambda: str(UUID(int=random.getrandbits(128), version=4)))
    try:
        with service.store.transaction():
            _Replay(service, site, world).run()
    finally:
        service.settings = settings


@dataclass
class _Replay:
    """The acts of a world in the service's own terms: what the world calls by its address gets an id here."""

    _service: Service
    _site: Site
    _world: World

    def __post_init__(self) -> None:
        self._settings = self._service.settings
        self._group = self._service.account(GROUP)

    def run(self) -> None:
        organizers = self._organizers()
        campaigns = self._titled("event_campaign", self._world.campaigns)
        petitions = self._titled("petition", self._world.petitions)
        self._events(organizers, campaigns)
        self._signatures(petitions)

    def _at(self, moment: str | datetime) -> None:
        """Set the service's clock."""
        now = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        self._service.settings = replace(self._settings, now=lambda: now)

    def _organizers(self) -> dict[str, str]:
        made = {}
        for address, person in self._world.people.items():
            self._at(person["created_date"])
            made[address] = self._service.new_person(_without_own_identifiers(person), self._site).resource_id
        roles = {**(self._group.roles or {}), **dict.fromkeys(made.values(), "organizer")}
        self._group = replace(self._group, roles=roles)
        self._service.save_account(self._group)
        return made

    def _titled(self, kind: str, documents: list[dict[str, Any]]) -> dict[str, str]:
        made = {}
        for document in documents:
            self._at(document["created_date"])
            body = _without_own_identifiers(document)
            made[_self(document)] = self._service.add_titled(kind, self._group, body, self._site).resource_id
        return made

    def _events(self, organizers: Mapping[str, str], campaigns: Mapping[str, str]) -> None:
        campaign_id = self._site.named("<p>:event_campaign_id")
        attendees: list[str] = []
        for event in self._world.events:
            links = event["_links"]
            body = _without_own_identifiers(event)
            body["listed"] = _self(event) not in self._world.campaign_only
            body["_links"] = {"osdi:creator": self._person_link(organizers[links["osdi:creator"]["href"]])}
            if href := campaign_href(self._world.deployment, event):
                body[campaign_id] = campaigns[href]
            self._at(event["created_date"])
            made = self._service.create_event(self._group, body, self._site, by="ui")
            self._service.store.put(replace(made, modified_date=event["modified_date"]))
            self._attend(made.resource_id, event, attendees)

    def _attend(self, event_id: str, event: Mapping[str, Any], attendees: list[str]) -> None:
        """Let people come to an event, the same ones to every event and new ones where more are needed.

        They RSVP one after the other, the last one when the event was last modified.
        """
        count = event["total_accepted"]
        while len(attendees) < count:
            attendees.append(self._attendee(len(attendees), event["created_date"]))
        created, modified = (
            datetime.fromisoformat(event[f"{name}_date"]) for name in ("created", "modified")
        )
        for number, person_id in enumerate(attendees[:count], start=1):
            self._at(created + (modified - created) * (number / count))
            body = {
                "_links": {"osdi:person": self._person_link(person_id)},
                "referrer_data": referrer_data(Random(f"{event['title']} {number}")),  # noqa: S311 (no secret)
            }
            self._allow_referrer(body["referrer_data"])
            self._service.act(
                "attendance", self._service.resource("event", event_id), body, self._site, by="page"
            )

    def _allow_referrer(self, data: Mapping[str, str]) -> None:
        """Make a referrer code one of the group's: another would be taken out."""
        if code := data.get("referrer"):
            self._service.store.bind("referrer", code, GROUP)

    def _attendee(self, number: int, moment: str) -> str:
        random, since = Random(number), datetime.fromisoformat(moment)  # noqa: S311 (reproducible, not secret)
        person = signer(self._world.deployment, _FIRST_ATTENDEE + number, rng=random, signed=since)
        return self._service.new_person(person, self._site).resource_id

    def _person_link(self, person_id: str) -> dict[str, str]:
        return self._site.link("people", person_id)

    def _signatures(self, petitions: Mapping[str, str]) -> None:
        own_data = self._site.named("<p>:referrer_data")
        for signature in self._world.signatures(SIGNATURES):
            self._allow_referrer(signature.get(own_data, {}))
            self._at(signature["created_date"])
            petition = petitions[signature["_links"]["osdi:petition"]["href"]]
            acted_on = self._service.resource("petition", petition)
            body = _without_own_identifiers(signature)
            signed = self._service.act("signature", acted_on, body, self._site)
            if signed.created_date != signature["created_date"]:
                self._service.settings.new_id()  # a repeat draws one, too, so that the ids after it are always the same


def _self(document: Mapping[str, Any]) -> str:
    return str(document["_links"]["self"]["href"])


def _without_own_identifiers(document: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the identifiers out: the sandbox makes its own."""
    return {name: value for name, value in document.items() if name != "identifiers"}
