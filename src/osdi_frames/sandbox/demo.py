"""Fill an empty sandbox with the sample's world."""

import asyncio
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any
from uuid import UUID

from starlette.applications import Starlette

from osdi_frames.sample import World, acts, times
from osdi_frames.sample.deployment import Document, href_of
from osdi_frames.sample.people import referrer_data, signer
from osdi_frames.sandbox.admin import GROUP
from osdi_frames.sandbox.resources import Resource
from osdi_frames.sandbox.service import Service
from osdi_frames.sandbox.site import Site

EVENTS = 120
SIGNATURES = 400
OTHERS = 24  # submissions, donations, outreaches, responses, of each
_FIRST_ATTENDEE = 1_000_000  # so that no attendee is one of the signers


def fill_demo(app: Starlette, *, origin: str = "http://127.0.0.1", seed: int = 7) -> None:
    """Fill an empty sandbox with a made-up world.

    Campaigns, events, RSVPs, petitions, people, signatures and other acts belong to the group, whose key sees them,
    each made at its own moment; links lead to `origin`. A sandbox that has events is left as it is, one that is being
    served answers nothing until it is filled.

    Examples
    --------
    >>> from osdi_frames.sandbox import create_app
    >>> app = create_app()
    >>> fill_demo(app)
    >>> len(app.state.service.store.resources("event"))
    120
    >>> app.state.service.store.close()
    """
    service, loop = app.state.service, app.state.loop

    async def in_its_thread() -> None:
        _fill(service, origin, seed)

    if loop:
        asyncio.run_coroutine_threadsafe(in_its_thread(), loop).result()
    else:
        _fill(service, origin, seed)


def _fill(service: Service, origin: str, seed: int) -> None:
    if service.store.find("event"):
        return
    with service.store.transaction():
        _Replay(service, Site(origin, service.prefix, "v2"), seed).run()


class _Replay:
    """The acts of a world in the service's own terms, with an id for what the world names by an address."""

    def __init__(self, service: Service, site: Site, seed: int) -> None:
        # The same ids at every start: who pulls again from a demo that was started again finds the same events.
        random = Random(seed)  # noqa: S311 (ids of a demo are no secret)
        self._service = replace(
            service,
            clock=lambda: self._moment,
            new_id=lambda: str(UUID(int=random.getrandbits(128), version=4)),
        )
        self._site = site
        self._world = World(seed=seed, event_count=EVENTS, prefix=site.prefix, api=site.base_url)
        self._listed = {href_of(event) for event in self._world.listed}
        self._ids: dict[str, str] = {}  # of people, campaigns and petitions, by their address in the world
        self._attendees: list[str] = []

    def run(self) -> None:
        group = self._service.account(GROUP)
        roles = dict(group.roles or {})
        for address, person in self._world.people.items():
            made = self._service.new_person(self._begun(person), self._site)
            self._ids[address], roles[made.resource_id] = made.resource_id, "organizer"
        self._group = replace(group, roles=roles)
        self._service.save_account(self._group)
        for kind, documents in (
            ("event_campaign", self._world.campaigns),
            ("petition", self._world.petitions),
        ):
            for document in documents:
                made = self._service.add_titled(kind, self._group, self._begun(document), self._site, by="ui")
                self._ids[href_of(document)] = made.resource_id
        for event in self._world.events:
            self._create(event)
        for signature in self._world.signatures(SIGNATURES):
            self._sign(signature)
        for other in acts.KINDS:
            self._act_on(other)

    def _begun(self, document: Document) -> Document:
        """Set the clock to a document's creation; return its body."""
        self._moment = datetime.fromisoformat(document["created_date"])
        made_here = ("identifiers", "browser_url")
        return {name: value for name, value in document.items() if name not in made_here}

    def _create(self, event: Document) -> None:
        # Of the sample's events, those of the user interface have a page on the service, as in life (interface 1.2).
        by = "ui" if "browser_url" in event else "v2"
        href = self._world.campaign_href(event)
        campaign = self._service.resource("event_campaign", self._ids[href]) if href else None
        body = self._begun(event)
        body["_links"] = self._linked("osdi:creator", self._ids[event["_links"]["osdi:creator"]["href"]])
        made = self._service.create_event(self._group, body, self._site, campaign=campaign, by=by)
        listed = href_of(event) in self._listed
        self._service.store.put(replace(made, modified_date=event["modified_date"], listed=listed))
        self._attend(made, event)

    def _attend(self, made: Resource, event: Document) -> None:
        """Let people come to an event, the same ones to every event, and new ones where more are needed.

        One after the other, the last one when the event was last modified.
        """
        count, created = event["total_accepted"], self._moment
        last = datetime.fromisoformat(event["modified_date"])
        for number in range(len(self._attendees), count):
            random = Random(number)  # noqa: S311 (reproducible, not secret)
            person = signer(self._world, _FIRST_ATTENDEE + number, rng=random, signed=created)
            self._attendees.append(self._service.new_person(person, self._site).resource_id)
        for number, person_id in enumerate(self._attendees[:count], start=1):
            self._moment = times.between(created, last, number / count)
            random = Random(f"{event['title']} {number}")  # noqa: S311 (no secret)
            data = referrer_data(random, self._moment)
            body = {"_links": self._linked("osdi:person", person_id), "referrer_data": data}
            self._act("attendance", made, body, data, by="page")

    def _sign(self, signature: Document) -> None:
        body, data = self._begun(signature), signature.get(self._site.prefixed("<p>:referrer_data"), {})
        petition = self._service.resource("petition", self._ids[signature["_links"]["osdi:petition"]["href"]])
        signed = self._act("signature", petition, body, data, by="api")
        if signed.created_date != signature["created_date"]:
            self._service.new_id()  # a repeat draws one, too, so that the ids after it are always the same

    def _act_on(self, kind: acts.ActKind) -> None:
        """Publish forms or the like, and let attendees act on them, one after the other."""
        parents, made = acts.make_acts(self._world, kind, OTHERS)
        for parent in parents:
            own = self._service.add_titled(kind.of, self._group, self._begun(parent), self._site, by="ui")
            self._ids[href_of(parent)] = own.resource_id
        for act, person_id in zip(made, self._attendees, strict=False):
            body, data = self._begun(act.answer), act.answer[self._site.prefixed("<p>:referrer_data")]
            body["_links"] = self._linked("osdi:person", person_id)
            href = act.answer["_links"][kind.key(self._world, kind.of)]["href"]
            self._act(kind.name, self._service.resource(kind.of, self._ids[href]), body, data, by="page")

    def _act(self, kind: str, parent: Resource, body: Document, data: Document, *, by: str) -> Resource:
        """Record an act, with its referrer code as one of the group's, since another would be removed."""
        if code := data.get("referrer"):
            self._service.store.set_entry("referrer", code, GROUP)
        return self._service.act(kind, parent, body, self._site, by=by)

    def _linked(self, rel: str, person_id: str) -> dict[str, Any]:
        return {rel: self._site.link("people", person_id)}
