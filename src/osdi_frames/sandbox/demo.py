"""Fill an empty sandbox with a made-up world: people, campaigns, events with their RSVPs, petitions, signatures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any
from uuid import UUID

from osdi_frames.sample import World
from osdi_frames.sample.deployment import Document, href_of
from osdi_frames.sample.people import referrer_data, signer
from osdi_frames.sample.world import campaign_href
from osdi_frames.sandbox.admin import GROUP
from osdi_frames.sandbox.resources import Resource
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
    replay = _Replay(service, Site(origin, settings.prefix, "v2"), seed)
    try:
        with service.store.transaction():
            replay.run()
    finally:
        service.settings = settings


class _Replay:
    """The acts of a world in the service's own terms: what the world calls by its address gets an id here."""

    def __init__(self, service: Service, site: Site, seed: int) -> None:
        self._service, self._site = service, site
        self._world = World.make(seed=seed, events=EVENTS, prefix=site.prefix, base_url=site.base_url)
        self._ids: dict[str, str] = {}  # of people, campaigns and petitions, by their address in the world
        self._attendees: list[str] = []
        # The same ids at every start: who pulls again from a demo that was started again finds the same events.
        random = Random(seed)  # noqa: S311 (ids of a demo are no secret)
        self._service.settings = replace(
            service.settings,
            now=lambda: self._moment,
            new_id=lambda: str(UUID(int=random.getrandbits(128), version=4)),
        )

    def run(self) -> None:
        group = self._service.account(GROUP)
        roles = dict(group.roles or {})
        for address, person in self._world.people.items():
            self._at(person["created_date"])
            made = self._service.new_person(_without_own_identifiers(person), self._site)
            self._ids[address], roles[made.resource_id] = made.resource_id, "organizer"
        self._group = replace(group, roles=roles)
        self._service.save_account(self._group)
        self._titled("event_campaign", self._world.campaigns)
        self._titled("petition", self._world.petitions)
        for event in self._world.events:
            self._create(event)
        for signature in self._world.signatures(SIGNATURES):
            self._sign(signature)

    def _at(self, moment: str | datetime) -> None:
        """Set the service's clock."""
        self._moment = datetime.fromisoformat(moment) if isinstance(moment, str) else moment

    def _titled(self, kind: str, documents: list[Document]) -> None:
        for document in documents:
            self._at(document["created_date"])
            made = self._service.add_titled(kind, self._group, _without_own_identifiers(document), self._site)
            self._ids[href_of(document)] = made.resource_id

    def _create(self, event: Document) -> None:
        body = _without_own_identifiers(event)
        body["listed"] = href_of(event) not in self._world.campaign_only
        body["_links"] = self._linked("osdi:creator", self._ids[event["_links"]["osdi:creator"]["href"]])
        if href := campaign_href(self._world.deployment, event):
            body[self._site.named("<p>:event_campaign_id")] = self._ids[href]
        self._at(event["created_date"])
        made = self._service.create_event(self._group, body, self._site, by="ui")
        self._service.store.put(replace(made, modified_date=event["modified_date"]))
        self._attend(made, event)

    def _attend(self, made: Resource, event: Document) -> None:
        """Let people come to an event, the same ones to every event and new ones where more are needed.

        They RSVP one after the other, the last one when the event was last modified.
        """
        count = event["total_accepted"]
        created, modified = (
            datetime.fromisoformat(event[f"{name}_date"]) for name in ("created", "modified")
        )
        for number in range(len(self._attendees), count):
            random = Random(number)  # noqa: S311 (reproducible, not secret)
            person = signer(self._world.deployment, _FIRST_ATTENDEE + number, rng=random, signed=created)
            self._attendees.append(self._service.new_person(person, self._site).resource_id)
        for number, person_id in enumerate(self._attendees[:count], start=1):
            self._at(created + (modified - created) * (number / count))
            data = referrer_data(Random(f"{event['title']} {number}"))  # noqa: S311 (no secret)
            self._allow_referrer(data)
            body = {"_links": self._linked("osdi:person", person_id), "referrer_data": data}
            self._service.act("attendance", made, body, self._site, by="page")

    def _sign(self, signature: Document) -> None:
        self._allow_referrer(signature.get(self._site.named("<p>:referrer_data"), {}))
        self._at(signature["created_date"])
        petition = self._service.resource("petition", self._ids[signature["_links"]["osdi:petition"]["href"]])
        signed = self._service.act("signature", petition, _without_own_identifiers(signature), self._site)
        if signed.created_date != signature["created_date"]:
            self._service.settings.new_id()  # a repeat draws one, too, so that the ids after it are always the same

    def _allow_referrer(self, data: Mapping[str, str]) -> None:
        """Make a referrer code one of the group's: another would be taken out."""
        if code := data.get("referrer"):
            self._service.store.bind("referrer", code, GROUP)

    def _linked(self, rel: str, person_id: str) -> dict[str, Any]:
        return {rel: self._site.link("people", person_id)}


def _without_own_identifiers(document: Document) -> Document:
    """Leave the identifiers out: the sandbox makes its own."""
    return {name: value for name, value in document.items() if name != "identifiers"}
