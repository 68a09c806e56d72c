"""What the service does: each act reads and writes the store, and decides by the rules of the rooms beside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from osdi_frames.sandbox.bodies import conform
from osdi_frames.sandbox.events import Event, enter, foreign, represent, require
from osdi_frames.sandbox.faults import Faults, Order
from osdi_frames.sandbox.fields import PERSON
from osdi_frames.sandbox.gazetteer import Gazetteer
from osdi_frames.sandbox.people import Account, Person, linked_person, named_creator
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.signatures import Signature, enter_signature, sample_element, webhook_element
from osdi_frames.sandbox.site import ANYWHERE, Site
from osdi_frames.sandbox.store import Document, Store
from osdi_frames.sandbox.webhooks import Webhook, idempotency_key

Found = TypeVar("Found")
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set of a sandbox, clock and chance included."""

    prefix: str
    per_page: int
    retry_after: Sequence[float]
    now: Callable[[], datetime]
    new_id: Callable[[], str]


@dataclass(slots=True)
class Seen:
    """One request to the API, as the list of requests shows it: never with its key."""

    at: float
    method: str
    path: str
    page: int | None
    status: int | None = None


class Service:
    """The service over a store. Whoever calls an act that writes does so in a transaction of the store."""

    def __init__(self, store: Store, settings: Settings, faults: Faults, seen: deque[Seen]) -> None:
        self.store = store
        self.settings = settings
        self.faults = faults
        self.seen = seen
        self._gazetteer = Gazetteer.bundled()

    def now(self) -> str:
        """Return the time as the service writes it (interface 2)."""
        return self.settings.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    # accounts and people

    def account(self, account_id: str) -> Account:
        """Return an account; an unknown one is refused."""
        return Account(**_there(self.store.get("account", account_id), "account", account_id))

    def save_account(self, account: Account) -> None:
        """Write an account, under its referrer code if it has one."""
        self.store.put("account", account.account_id, asdict(account))
        if account.referrer_code:
            self.store.bind("referrer", account.referrer_code, account.account_id)

    def account_of(self, api_key: str) -> Account | None:
        """Return whom a key belongs to."""
        account_id = self.store.find("key", api_key)
        return self.account(account_id) if account_id else None

    def person(self, person_id: str) -> Person:
        """Return a person; an unknown one is refused."""
        return Person(**_there(self.store.get("person", person_id), "person", person_id))

    def save_person(self, person: Person) -> Person:
        """Write a person, under their e-mail addresses, and anew the v1 events that embed them."""
        self.store.put("person", person.person_id, asdict(person))
        for entry in person.entered.get("email_addresses", ()):
            if address := entry.get("address", "").strip().casefold():
                self.store.bind("email", address, person.person_id)
        for event in self.store.events("creator_id = ?", person.person_id):
            self._save_event(event)
        return person

    def new_person(self, body: Body) -> Person:
        """Make a person from what was entered."""
        now = self.now()
        return self.save_person(Person(self.settings.new_id(), now, now, conform(body, PERSON)))

    def _acting(self, body: Body) -> Person:
        """Return who acts: the person inline, known again by an e-mail address, or the linked one."""
        inline = body.get("person")
        if isinstance(inline, Mapping):
            return self._known_again(conform(inline, PERSON)) or self.new_person(inline)
        document = self.store.get("person", linked_person(body, "osdi:person") or "")
        if document is None:
            raise refuse("person")
        return Person(**document)

    def _known_again(self, entered: Mapping[str, Any]) -> Person | None:
        addresses = [
            entry.get("address", "").strip().casefold() for entry in entered.get("email_addresses", ())
        ]
        person_id = next(filter(None, (self.store.find("email", address) for address in addresses)), None)
        return (
            self.save_person(self.person(person_id).changed(entered, now=self.now())) if person_id else None
        )

    # events

    def event(self, account: Account, event_id: str) -> Event:
        """Return an event of the account; another's is as unknown as none."""
        event = self.store.event(event_id)
        if event is None or event.account != account.account_id:
            raise refuse("unknown", what="event", id=event_id)
        return event

    def create_event(self, account: Account, body: Body, site: Site, *, set_by: str | None = None) -> Event:
        """Make an event, or change the one that the identifiers belong to (interface 4, rules 1 to 3)."""
        entered = enter(body, site, set_by=set_by or site.version, gazetteer=self._gazetteer)
        require(entered, site)
        matched = self._matched(entered.get("identifiers", ()), site)
        if matched:
            event = self._only(matched, account, entered["identifiers"])
            return self._change(event, entered, site)
        creator_id, named = account.creator(named_creator(body, site), site.version)
        now = self.now()
        event = Event(
            event_id=self.settings.new_id(),
            account=account.account_id,
            created_date=now,
            modified_date=now,
            creator_id=creator_id,
            entered={},
            sponsor=account.sponsor if account.roles is not None else None,
            made_by=set_by or site.version,
            creator_named=named,
            listed=body.get("listed") is not False if set_by == "ui" else True,
        )
        return self._change(event, entered, site)

    def change_event(self, account: Account, event_id: str, body: Body, site: Site) -> Event:
        """Change what a partial body names (interface 4, rule 1; 7.3); an identifier of another event is refused."""
        event = self.event(account, event_id)
        entered = enter(body, site, set_by=site.version, gazetteer=self._gazetteer)
        others = self._matched(entered.get("identifiers", ()), site) - {event_id}
        if others:
            raise refuse("identifier", identifiers=", ".join(entered["identifiers"]))
        return self._change(event, entered, site)

    def _change(self, event: Event, entered: Body, site: Site) -> Event:
        identifiers = foreign(entered.get("identifiers", ()), site)
        for name in identifiers:
            self.store.bind("identifier", name, event.event_id)
        return self._save_event(event.changed({**entered, "identifiers": identifiers}, now=self.now()))

    def _matched(self, identifiers: Collection[str], site: Site) -> set[str]:
        """Return the events that identifiers belong to, foreign and the service's own."""
        others = foreign(identifiers, site)
        found = {self.store.find("identifier", name) for name in others}
        own = (name.partition(":")[2] for name in identifiers if name not in others)
        return {event_id for event_id in (*found, *own) if event_id and self.store.event(event_id)}

    def _only(self, matched: set[str], account: Account, identifiers: Collection[str]) -> Event:
        event = self.store.event(next(iter(matched)))
        if len(matched) > 1 or event is None or event.account != account.account_id:
            raise refuse("identifier", identifiers=", ".join(identifiers))
        return event

    def _save_event(self, event: Event) -> Event:
        creator = self.person(event.creator_id)
        texts = {
            version: represent(event, site, creator=creator, gazetteer=self._gazetteer)
            for version, site in ANYWHERE.items()
        }
        self.store.put_event(event, **texts)
        return event

    def attend(self, account: Account, event_id: str, body: Body) -> Document:
        """Record that a person comes; one person counts once for one event (interface 4, rule 4)."""
        event = self.event(account, event_id)
        person, now = self._acting(body), self.now()
        known = self.store.find("attendance", f"{event_id} {person.person_id}")
        if known:
            return _there(self.store.get("attendance", known), "attendance", known)
        attendance = self._dated(event_id=event_id, person_id=person.person_id)
        self.store.put(
            "attendance", attendance["id"], attendance, parent=event_id, person_id=person.person_id
        )
        self.store.bind("attendance", f"{event_id} {person.person_id}", attendance["id"])
        lists = [event.account] + ([f"person:{event.creator_id}"] if event.creator_named else [])
        for subscribed in lists:
            key = f"{subscribed} {person.person_id}"
            self.store.put("subscription", key, {"person_id": person.person_id}, parent=subscribed)
        self._save_event(replace(event, total_accepted=event.total_accepted + 1, modified_date=now))
        return attendance

    # campaigns, petitions, signatures

    def new_titled(self, kind: str, account: Account, body: Body) -> Document:
        """Make a campaign or a petition: a title of an account."""
        title = body.get("title")
        if not isinstance(title, str):
            raise refuse("missing", fields="title")
        titled = self._dated(title=title, account=account.account_id)
        self.store.put(kind, titled["id"], titled, parent=account.account_id)
        return titled

    def titled(self, kind: str, account: Account | None, resource_id: str) -> Document:
        """Return a campaign or petition of the account; another's is as unknown as none."""
        document = _there(self.store.get(kind, resource_id), kind, resource_id)
        if account and document["account"] != account.account_id:
            raise refuse("unknown", what=kind, id=resource_id)
        return document

    def _dated(self, **fields: str) -> Document:
        now = self.now()
        return {"id": self.settings.new_id(), "created_date": now, "modified_date": now, **fields}

    def sign(self, petition: Document, body: Body, site: Site, *, upload: bool = False) -> Signature:
        """Record a signature, and put a message for every webhook it triggers into the outbox."""
        entered = enter_signature(body, site)
        referring = self._referring(entered)
        person, now = self._acting(body), self.now()
        signature = Signature(self.settings.new_id(), petition["id"], person.person_id, now, now, entered)
        self.store.put(
            "signature",
            signature.signature_id,
            asdict(signature),
            parent=petition["id"],
            person_id=person.person_id,
        )
        accounts = [petition["account"], *referring]
        self._announce(signature, person, site, accounts=accounts, upload=upload)
        return signature

    def _referring(self, entered: Document) -> list[str]:
        """Return the account whose referrer code was used; an invalid code is taken out (interface 2.7)."""
        referrer_data = entered.get("referrer_data", {})
        account_id = self.store.find("referrer", referrer_data.get("referrer", ""))
        if account_id is None:
            referrer_data.pop("referrer", None)
        return [account_id] if account_id else []

    def _announce(
        self, signature: Signature, person: Person, site: Site, *, accounts: Sequence[str], upload: bool
    ) -> None:
        """Put a signature into the outbox; `accounts` are the petition's and, after it, the referring one."""
        # only a group's code changes where a signature originated (interface 2.4)
        sponsor = self.account(accounts[-1] if accounts[-1].startswith("group:") else accounts[0]).sponsor
        told = replace(site, version="v2")  # the payload has v2 naming and links (interface 9)
        for document in self.store.resources("webhook")[1]:
            webhook = Webhook(**document)
            if not webhook.triggered(petition_id=signature.petition_id, accounts=accounts, upload=upload):
                continue
            struck = self.faults.striking_signature(webhook.url)
            overlap = struck.get("webhook_overlap")
            for _ in range(overlap.settings["copies"] if overlap else 1):
                message_id, before, due = self._message(webhook, struck)
                key = idempotency_key(message_id)
                element = webhook_element(
                    signature, told, person=person, sponsor=sponsor, idempotency_key=key
                )
                self.store.put_message(message_id, webhook.webhook_id, [*before, element], due=due)

    def send_test(self, webhook_id: str, account: Account, site: Site) -> None:
        """Put a "send test" message into the outbox: without dates, and with the same key each time."""
        _there(self.store.get("webhook", webhook_id), "webhook", webhook_id)
        element = sample_element(site, sponsor=account.sponsor, idempotency_key=idempotency_key("test"))
        now = self.settings.now().timestamp()
        self.store.put_message(self.settings.new_id(), webhook_id, [element], due=now)

    def _message(self, webhook: Webhook, struck: Mapping[str, Order]) -> tuple[str, list[object], float]:
        """Return the message that an element goes into: its id, the elements before it, when it is due."""
        now = self.settings.now().timestamp()
        if "webhook_batch" in struck:
            batch = struck["webhook_batch"].settings
            unfilled = self.store.unfilled_message(webhook.webhook_id, batch["size"], now=now)
            return (*unfilled, now) if unfilled else (self.settings.new_id(), [], now + batch["seconds"])
        if "webhook_reorder" in struck:
            order = struck["webhook_reorder"]
            return self.settings.new_id(), [], now + order.chance.uniform(0, order.settings["seconds"])
        return self.settings.new_id(), [], now


def _there(found: Found | None, what: str, resource_id: str) -> Found:
    if found is None:
        raise refuse("unknown", what=what, id=resource_id)
    return found
