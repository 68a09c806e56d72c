"""Webhook deliveries: what a deployment sends of its signatures and RSVPs, as often as it is sent in life."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count as numbers

from osdi_frames.sample.actions import delivered
from osdi_frames.sample.deployment import Document, href_of, stamp, stream
from osdi_frames.sample.events import as_of
from osdi_frames.sample.world import World

KEYS_SINCE = datetime(2022, 12, 1, tzinfo=UTC)  # older deliveries have no idempotency_key
TEST_EVERY = 600  # messages between two presses of "send test"
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook request: when it came in, and its body."""

    received_at: datetime
    body: list[Document]

    def month(self) -> str:
        """Name the month in which it came in."""
        return f"{self.received_at:%Y-%m}"

    def envelope(self) -> Document:
        """Wrap the body in an envelope with the time of its receipt."""
        return {"received_at": stamp(self.received_at), "body": self.body}


def deliveries(world: World, signatures: Iterable[Document]) -> Iterator[Delivery]:
    """Deliver signatures of a world, in the order in which the requests come in.

    More deliveries come out than signatures go in: of a hundred messages three are retried (the same body
    up to three times again within the hour), three come a second time from another webhook (another key),
    two are followed by an update of the signature, two are of other element types; two carry a batch.

    Examples
    --------
    >>> world = World.make(events=0)
    >>> first = next(deliveries(world, world.signatures(100)))
    >>> first.received_at.year, list(first.body[0])
    (2021, ['osdi:signature', 'action_network:sponsor'])
    """
    office = _PostOffice(world)
    order = numbers()
    waiting: list[tuple[datetime, int, list[Document]]] = []
    for elements, now in office.messages(signatures):
        yield from _due(waiting, now)
        for received_at, body in office.post(elements, now):
            heapq.heappush(waiting, (received_at, next(order), body))
    yield from _due(waiting, world.until)


def _due(waiting: list[tuple[datetime, int, list[Document]]], now: datetime) -> Iterator[Delivery]:
    while waiting and waiting[0][0] <= now:
        received_at, _, body = heapq.heappop(waiting)
        yield Delivery(received_at, body)


def bodies(sent: Iterable[Delivery], *, enveloped: bool = False) -> Iterator[object]:
    """Take the documents out of deliveries: bare bodies as they came, or envelopes around them."""
    return (delivery.envelope() if enveloped else delivery.body for delivery in sent)


class _PostOffice:
    """Send each message as often as it is sent in life."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.deployment = world.deployment
        self.rng = stream(world.deployment, "deliveries")
        self.number = 0  # of the message
        own = f"{world.prefix}:sponsor"
        self.sponsors = {href_of(petition): petition[own] for petition in world.petitions}

    def messages(self, signatures: Iterable[Document]) -> Iterator[tuple[list[Document], datetime]]:
        """Gather signatures into messages: most of one, some batches of two to five."""
        batch: list[Document] = []
        size = 1
        for signature in signatures:
            batch.append(signature)
            if len(batch) >= size:
                yield batch, datetime.fromisoformat(signature["created_date"])
                batch, size = [], self.rng.choices((1, 2, 3, 5), (98, 1, 0.6, 0.4))[0]
        if batch:
            yield batch, datetime.fromisoformat(batch[-1]["created_date"])

    def post(self, signatures: list[Document], now: datetime) -> Iterator[tuple[datetime, list[Document]]]:
        """Send a message, its retries, its doubles and updates, and what else there is to send."""
        rng = self.rng
        body = self._body(signatures, now)
        first = now + rng.expovariate(0.25) * MINUTE
        yield first, body
        draw = rng.random()
        if draw < 0.03:
            for wait in (5, 20, 60)[: rng.randrange(1, 4)]:
                yield first + wait * MINUTE, body
        elif draw < 0.06:
            yield first + rng.random() * MINUTE, self._by_another_webhook(body)
        elif draw < 0.08:
            later = now + (1 + rng.random() * 40 * 60) * MINUTE
            changed = {
                "modified_date": stamp(later),
                "comments": "Updated: I can volunteer on weekends, too.",
            }
            yield later + MINUTE, self._body([{**signature, **changed} for signature in signatures], now)
        elif draw < 0.10:
            attendance = self._attendance(now) if rng.random() < 0.3 else []
            yield first + MINUTE, attendance or self._other(rng.choice(_OTHERS), signatures[0], now)
        if self.number % TEST_EVERY < 2:
            yield first + 2 * MINUTE, self._test(now)

    def _body(self, signatures: list[Document], now: datetime) -> list[Document]:
        shared = self.rng.random() < 0.5  # whether a batch shares one key is not documented
        elements = []
        for position, signature in enumerate(signatures):
            self.number += position == 0 or not shared
            elements.append(self._element("osdi:signature", signature, now))
        return elements

    def _by_another_webhook(self, body: list[Document]) -> list[Document]:
        self.number += 1
        key = {"idempotency_key": self.deployment.digest("message", self.number)}
        return [{**element, **key} if "idempotency_key" in element else element for element in body]

    def _element(self, kind: str, resource: Document, now: datetime) -> Document:
        """Add the sponsor and the key as siblings of a resource (interface 2.7)."""
        element: Document = {kind: resource}
        sponsor = self.sponsors.get(resource["_links"].get("osdi:petition", {}).get("href"))
        draw = self.rng.random()
        if sponsor and draw < 0.9:
            key = "url" if draw < 0.8 else "browser_url"
            element[f"{self.world.prefix}:sponsor"] = {"title": sponsor["title"], key: sponsor["url"]}
        if now >= KEYS_SINCE:
            element["idempotency_key"] = self.deployment.digest("message", self.number)
        return element

    def _attendance(self, now: datetime) -> list[Document]:
        """Send the newest RSVP of one of the events that have had any and still get some."""
        moment = stamp(now)
        current = [
            event for event in self.world.events if event["created_date"] <= moment <= event["modified_date"]
        ]
        counts = [as_of(event, now)["total_accepted"] for event in current]
        if not any(counts):
            return []
        self.number += 1
        ((event, count),) = self.rng.choices(list(zip(current, counts, strict=True)), counts)
        return [self._element("osdi:attendance", delivered(self.deployment, event, count), now)]

    def _other(self, kind: str, signature: Document, now: datetime) -> list[Document]:
        """Send something that is no signature and no RSVP; of it only the envelope is known to us."""
        self.number += 1
        kind = kind.replace("<p>", self.deployment.prefix)
        resource_id = self.deployment.id("other", self.number)
        resource = {
            "identifiers": [f"{self.deployment.prefix}:{resource_id}"],
            "created_date": stamp(now),
            "modified_date": stamp(now),
            "_links": {
                "self": self.deployment.link(f"{kind.partition(':')[2]}s", resource_id),
                "osdi:person": signature["_links"]["osdi:person"],
            },
        }
        if kind == "osdi:donation":
            resource |= {"amount": "27.00", "currency": "USD"}
        return [self._element(kind, resource, now)]

    def _test(self, now: datetime) -> list[Document]:
        """Press "send test": no dates, no referrer, no identifier, and the same key each time."""
        petition_id, signature_id = self.deployment.id("petition", 0), self.deployment.id("test", 0)
        test = {
            f"{self.deployment.prefix}:referrer_data": {},
            "person": {
                "given_name": "Test",
                "family_name": "Person",
                "email_addresses": [{"primary": True, "address": "test@example.org"}],
            },
            "add_tags": ["test"],
            "_links": {
                "self": self.deployment.link("petitions", petition_id, "signatures", signature_id),
                "osdi:petition": self.deployment.link("petitions", petition_id),
            },
        }
        key = {"idempotency_key": self.deployment.digest("test", 0)} if now >= KEYS_SINCE else {}
        return [{"osdi:signature": test, **key}]


_OTHERS = ("osdi:submission", "osdi:donation", "<p>:action", "<p>:upload")


def counted(signatures: Iterable[Document], signed: Counter[str]) -> Iterator[Document]:
    """Pass signatures on, and add them to `signed`, which counts them by the address of their petition."""
    for signature in signatures:
        signed[signature["_links"]["osdi:petition"]["href"]] += 1
        yield signature
