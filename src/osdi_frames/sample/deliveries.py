"""Webhook deliveries: what a deployment sends, and how often."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import count, islice
from random import Random
from typing import NamedTuple

from osdi_frames.sample import times
from osdi_frames.sample.deployment import Document, href_of
from osdi_frames.sample.people import delivered_attendance
from osdi_frames.sample.pulls import as_of
from osdi_frames.sample.world import World

KEYS_SINCE = datetime(2022, 12, 1, tzinfo=UTC)  # older deliveries have no idempotency_key
TEST_EVERY = 600  # messages between two presses of "send test"
OTHERS = ("osdi:submission", "osdi:donation", "<p>:action", "<p>:upload")


class Delivery(NamedTuple):
    """One webhook request."""

    received_at: datetime
    number: int
    body: list[Document]

    def envelope(self) -> Document:
        """Wrap the body in an envelope with its receipt."""
        return {"received_at": times.iso(self.received_at), "body": self.body}


def deliveries(world: World, signatures: Iterable[Document]) -> Iterator[Delivery]:
    """Deliver signatures of a world, in order of receipt.

    More deliveries come out than signatures go in: of a hundred messages three are retried (the same body
    up to three times again within the hour), three come a second time from another webhook (another key),
    two are followed by an update of the signature, two are of other element types; two carry a batch.

    Examples
    --------
    >>> world = World(event_count=0)
    >>> first = next(deliveries(world, world.signatures(100)))
    >>> first.received_at.year, list(first.body[0])
    (2021, ['osdi:signature', 'action_network:sponsor'])
    """
    sender, numbers = _Sender(world), count()
    waiting: list[Delivery] = []
    for batch in _batches(signatures, sender.rng):
        now = times.parse(batch[-1]["created_date"])
        yield from _due(waiting, now)
        for received_at, body in sender.post(batch, now):
            heappush(waiting, Delivery(received_at, next(numbers), body))
    yield from _due(waiting, times.UNTIL)


def _batches(signatures: Iterable[Document], rng: Random) -> Iterator[list[Document]]:
    """Gather signatures into messages, some of several."""
    rest, size = iter(signatures), 1
    while batch := list(islice(rest, size)):
        yield batch
        (size,) = rng.choices((1, 2, 3, 5), (98, 1, 0.6, 0.4))


def _due(waiting: list[Delivery], now: datetime) -> Iterator[Delivery]:
    while waiting and waiting[0].received_at <= now:
        yield heappop(waiting)


class _Sender:
    """Send each message as often as in life."""

    def __init__(self, world: World) -> None:
        self.world, self.rng = world, world.draws("deliveries")
        self.number = 0  # of the message
        self.sponsors = {href_of(petition): petition[world.own("sponsor")] for petition in world.petitions}

    def post(self, signatures: list[Document], now: datetime) -> Iterator[tuple[datetime, list[Document]]]:
        """Send a message, its retries, doubles, updates, and others."""
        rng = self.rng
        body = self._body(signatures, now)
        first = now + rng.expovariate(0.25) * times.MINUTE
        yield first, body
        draw = rng.random()
        if draw < 0.03:
            for wait in (5, 20, 60)[: rng.randrange(1, 4)]:
                yield first + wait * times.MINUTE, body
        elif draw < 0.06:
            yield first + rng.random() * times.MINUTE, self._by_another_webhook(body)
        elif draw < 0.08:
            later = now + (1 + rng.random() * 40 * 60) * times.MINUTE
            comment = "Updated: I can volunteer on weekends, too."
            changed = {"modified_date": times.iso(later), "comments": comment}
            yield later + times.MINUTE, self._body([signature | changed for signature in signatures], now)
        elif draw < 0.10:
            attendance = self._attendance(now) if rng.random() < 0.3 else []
            yield first + times.MINUTE, attendance or self._other(rng.choice(OTHERS), signatures[0], now)
        if self.number % TEST_EVERY < 2:
            yield first + 2 * times.MINUTE, self._test(now)

    def _body(self, signatures: list[Document], now: datetime) -> list[Document]:
        shared = self.rng.random() < 0.5  # whether a batch shares one key is not documented
        elements = []
        for position, signature in enumerate(signatures):
            self.number += position == 0 or not shared
            elements.append(self._element("osdi:signature", signature, now))
        return elements

    def _by_another_webhook(self, body: list[Document]) -> list[Document]:
        self.number += 1
        key = {"idempotency_key": self.world.digest("message", self.number)}
        return [element | key if "idempotency_key" in element else element for element in body]

    def _element(self, kind: str, resource: Document, now: datetime) -> Document:
        """Make an element: resource, sponsor and key (interface 2.7)."""
        element: Document = {kind: resource}
        sponsor = self.sponsors.get(resource["_links"].get("osdi:petition", {}).get("href"))
        draw = self.rng.random()
        if sponsor and draw < 0.9:
            key = "url" if draw < 0.8 else "browser_url"
            element[self.world.own("sponsor")] = {"title": sponsor["title"], key: sponsor["url"]}
        if now >= KEYS_SINCE:
            element["idempotency_key"] = self.world.digest("message", self.number)
        return element

    def _attendance(self, now: datetime) -> list[Document]:
        """Send the newest RSVP of a current event."""
        moment = times.iso(now)
        current = [
            event for event in self.world.events if event["created_date"] <= moment <= event["modified_date"]
        ]
        counts = [as_of(event, now)["total_accepted"] for event in current]
        if not any(counts):
            return []
        self.number += 1
        ((event, newest),) = self.rng.choices(list(zip(current, counts, strict=True)), counts)
        attendance = delivered_attendance(self.world, event, newest, joined=self.world.joined)
        return [self._element("osdi:attendance", attendance, now)]

    def _other(self, kind: str, signature: Document, now: datetime) -> list[Document]:
        """Send an element of another type, of which only the envelope is known."""
        self.number += 1
        kind = kind.replace("<p>", self.world.prefix)
        resource_id = self.world.id("other", self.number)
        resource = {
            **self.world.identified(resource_id, times.iso(now)),
            "_links": {
                "self": self.world.link(f"{kind.partition(':')[2]}s", resource_id),
                "osdi:person": signature["_links"]["osdi:person"],
            },
        }
        if kind == "osdi:donation":
            resource |= {"amount": "27.00", "currency": "USD"}
        return [self._element(kind, resource, now)]

    def _test(self, now: datetime) -> list[Document]:
        """Press "send test", which has no dates, referrer or identifier, and the same key each time."""
        petition = "petitions", self.world.id("petition", 0)
        email = {"primary": True, "address": "test@example.org"}
        test = {
            self.world.own("referrer_data"): {},
            "person": {"given_name": "Test", "family_name": "Person", "email_addresses": [email]},
            "add_tags": ["test"],
            "_links": {
                "self": self.world.link(*petition, "signatures", self.world.id("test", 0)),
                "osdi:petition": self.world.link(*petition),
            },
        }
        key = {"idempotency_key": self.world.digest("test", 0)} if now >= KEYS_SINCE else {}
        return [{"osdi:signature": test, **key}]
