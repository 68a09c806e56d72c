"""What the service does: each act reads and writes the store, and decides by the rules of the other modules."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar

from osdi_frames.sandbox.bodies import conform
from osdi_frames.sandbox.faults import Faults, Injection, Seen
from osdi_frames.sandbox.gazetteer import Gazetteer
from osdi_frames.sandbox.kinds import HELPER, KINDS
from osdi_frames.sandbox.paging import Row
from osdi_frames.sandbox.people import Account, contacts_of, linked_person, named_creator, recorded
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.resources import (
    UNKNOWN_REFERRER,
    Fields,
    Resource,
    enter,
    foreign,
    relocate,
    represent,
    require,
    sample_element,
    webhook_element,
)
from osdi_frames.sandbox.site import Site
from osdi_frames.sandbox.store import Store, Stored, read
from osdi_frames.sandbox.webhooks import Webhook, idempotency_key

Found = TypeVar("Found")
Body = Mapping[str, Any]
_TIMES = ("start_date", "end_date", "start")
_ROWS_KEPT = 20_000
_REQUESTS_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set of a sandbox, clock and chance included."""

    prefix: str
    per_page: int
    retry_after: Sequence[float]
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    lenient: bool = False
    webhook_hosts: Collection[str] = ()


class Service:
    """The service over a store. Whoever calls an act that writes does so in a transaction of the store."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.faults = Faults()
        self.seen: deque[Seen] = deque(maxlen=_REQUESTS_KEPT)
        self._gazetteer = Gazetteer.bundled()
        # A row is a function of what is stored and of where it is shown, so that none of these gets stale.
        self._row = lru_cache(_ROWS_KEPT)(_row)

    def now(self) -> str:
        """Return the time as the service writes it (interface 2)."""
        return self.settings.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    # accounts

    def account(self, account_id: str) -> Account:
        """Return an account; an unknown one is refused."""
        return Account(**_there(self.store.record("account", account_id), "account", account_id))

    def save_account(self, account: Account) -> None:
        """Write an account, under its referrer code if it has one."""
        self.store.put_record("account", account.account_id, asdict(account))
        if account.referrer_code:
            self.store.bind("referrer", account.referrer_code, account.account_id)

    def account_of(self, api_key: str) -> Account | None:
        """Return whom a key belongs to."""
        account_id = self.store.named("key", api_key)
        return self.account(account_id) if account_id else None

    # every resource

    def resource(self, kind: str, resource_id: str, account: Account | None = None, **where: str) -> Resource:
        """Return a resource; another account's is as unknown as none, but every key can read every person."""
        if account and kind != "person":
            where["account"] = account.account_id
        return _there(self.store.find(kind, resource_id=resource_id, **where), kind, resource_id)

    def row(self, stored: Stored, site: Site) -> Row:
        """Return a stored resource as a row of a collection."""
        kind, person_id, *_ = stored
        embedded = site.version in KINDS[kind].embeds
        people = self.store.stored("person", resource_id=person_id) if embedded else []
        return self._row(stored, people[0] if people else None, site)

    def text(self, resource: Resource, site: Site) -> str:
        """Return the JSON of a resource as the API answers it."""
        [stored] = self.store.stored(resource.kind, resource_id=resource.resource_id)
        return self.row(stored, site).text

    def add(self, kind: str, account: Account | None, entered: Fields, site: Site, **more: Any) -> Resource:
        """Write a new resource with what was entered, and count it in what it belongs to."""
        now = self.now()
        owner = account.account_id if account else None
        blank = Resource(kind, self.settings.new_id(), now, now, {}, owner, **more)
        made = self._claimed(blank, entered, site)
        self.store.put(made)
        above = made
        for counting, name in made.declared.counted:
            parent = self.store.find(counting, resource_id=above.parent) if above.parent else None
            if parent is None:
                break
            above = self._save(parent, parent.changed({name: parent.fields.get(name, 0) + 1}))
        return made

    def change(self, known: Resource, body: Body, site: Site) -> Resource:
        """Change what a partial body names; what is not editable or not valid is ignored (interface 4, rule 1; 7.3)."""
        return self._change(known, self._enter(known.kind, body, site, site.version, "put"), site)

    def _enter(self, kind: str, body: Body, site: Site, *by: str) -> Fields:
        if self.settings.lenient:  # a time may have a space for its ``T``
            times = {name: body[name] for name in _TIMES if isinstance(body.get(name), str)}
            body = {**body, **{name: time.replace(" ", "T", 1) for name, time in times.items()}}
        return enter(kind, body, site, *by)

    def _change(self, known: Resource, entered: Fields, site: Site) -> Resource:
        return self._save(known, self._claimed(known, entered, site))

    def _claimed(self, known: Resource, entered: Fields, site: Site) -> Resource:
        """Return a resource with what was entered; identifiers of other resources stay theirs (interface 2.1)."""
        rest = {name: value for name, value in entered.items() if name not in ("identifiers", "location")}
        for name in foreign(entered.get("identifiers", ()), site):
            if self.store.named("identifier", name) in (None, known.resource_id):
                self.store.bind("identifier", name, known.resource_id)
                rest.setdefault("identifiers", []).append(name)
        made = known.changed(rest)
        if known.kind == "event" and ("location" in entered or "geocoded" not in known.fields):
            made = relocate(made, entered.get("location", {}), site, self._gazetteer)
        return made

    def _save(self, before: Resource, after: Resource) -> Resource:
        """Write a resource; what changes nothing does not move modified_date."""
        if after == before:
            return before
        after = replace(after, modified_date=max(self.now(), before.modified_date))
        self.store.put(after)
        return after

    # people

    def new_person(self, body: Body, site: Site) -> Resource:
        """Make a person from what was entered, known again by e-mail addresses and phone numbers."""
        return self._record_person(None, enter("person", body, site, "ui"), site)

    def _record_person(self, known: Resource | None, entered: Fields, site: Site) -> Resource:
        fields = recorded(known.fields if known else {}, entered)
        if "identifiers" in entered:
            fields["identifiers"] = entered["identifiers"]
        person = self._change(known, fields, site) if known else self.add("person", None, fields, site)
        for kind, name in contacts_of(fields):
            if self.store.named(kind, name) is None:  # what is somebody's stays theirs
                self.store.bind(kind, name, person.resource_id)
        return person

    def sign_up(self, account: Account, body: Body, site: Site) -> Resource:
        """Make a person, or change the one who has the e-mail address or phone number: the person signup helper."""
        inline = body.get("person")
        entered = enter("person", inline, site, site.version) if isinstance(inline, Mapping) else {}
        if not contacts_of(entered):
            raise refuse("contact")
        person = self._record_person(self._known_again(entered), entered, site)
        self.store.subscribe(account.account_id, person.resource_id)
        self._tag(account, person, body, site)
        return person

    def change_person(self, known: Resource, account: Account, body: Body, site: Site) -> Resource:
        """Change a person of the account's list; with an e-mail address of somebody else nothing is changed."""
        if known.resource_id not in self.store.members(account.account_id):
            raise refuse("unknown", what="person", id=known.resource_id)
        entered = enter("person", body, site, site.version)
        owners = {self.store.named(kind, name) for kind, name in contacts_of(entered) if kind == "email"}
        return self._record_person(known, entered, site) if owners <= {None, known.resource_id} else known

    def _known_again(self, entered: Fields) -> Resource | None:
        """Return who has an e-mail address that was entered, else a phone number.

        Two people with different e-mail addresses can share a phone number: they stay two.
        """
        contacts = contacts_of(entered)
        for kind, name in contacts:
            if person_id := self.store.named(kind, name):
                known = self.resource("person", person_id)
                emails = [dict(of).get("email") for of in (contacts, contacts_of(known.fields))]
                if kind == "email" or not all(emails):
                    return known
        return None

    def _acting(self, body: Body, site: Site) -> Resource:
        """Return who acts: the person inline, known again by a contact, or the linked one."""
        inline = body.get("person")
        if isinstance(inline, Mapping):
            entered = enter("person", inline, site, site.version, "ui")
            person = self._record_person(self._known_again(entered), entered, site)
        else:
            known = self.store.find("person", resource_id=linked_person(body, "osdi:person", site) or "")
            if known is None:
                raise refuse("person")
            person = known
        # a person's modified_date moves whenever they act
        acted = replace(person, modified_date=max(self.now(), person.modified_date))
        if acted != person:
            self.store.put(acted)
        return acted

    def _tag(self, account: Account, person: Resource, body: Body, site: Site) -> None:
        """Add and remove the tags of a helper's body; what is no tag of the account is ignored."""
        sent = conform(body, HELPER)
        for name in sent.get("add_tags", ()):
            if tag := self.store.named("tag", f"{account.account_id} {name}"):
                self._give(self.resource("tag", tag), person, site)
        for name in sent.get("remove_tags", ()):
            if tag := self.store.named("tag", f"{account.account_id} {name}"):
                self.store.remove("tagging", parent=tag, person_id=person.resource_id)

    def _give(self, tag: Resource, person: Resource, site: Site) -> Resource:
        ids = {"parent": tag.resource_id, "person_id": person.resource_id}
        known = self.store.find("tagging", **ids)
        return known or self.add("tagging", self.account(str(tag.account)), {}, site, **ids)

    def add_tagging(self, tag: Resource, body: Body, site: Site) -> Resource:
        """Give the linked person a tag."""
        return self._give(tag, self._acting(body, site), site)

    def add_tag(self, account: Account, body: Body, site: Site) -> Resource:
        """Make a tag of the account, or return the one that has the name."""
        entered = enter("tag", body, site, site.version)
        require("tag", entered, site)
        key = f"{account.account_id} {entered['name']}"
        if known := self.store.named("tag", key):
            return self.resource("tag", known)
        made = self.add("tag", account, entered, site)
        self.store.bind("tag", key, made.resource_id)
        return made

    # events, campaigns, petitions

    def create_event(
        self,
        account: Account,
        body: Body,
        site: Site,
        *,
        campaign: Resource | None = None,
        by: str | None = None,
    ) -> Resource:
        """Make an event, or change the one that the identifiers belong to (interface 4, rules 1 to 3)."""
        by = by or site.version
        entered = self._enter("event", body, site, by)
        origin = {"origin_system": account.title} if self.settings.lenient else {}
        require("event", origin | entered, site)
        if matched := self._matched(entered.get("identifiers", ()), site):
            event = self.store.find("event", resource_id=matched.pop(), account=account.account_id)
            if matched or event is None:
                raise refuse("identifier", identifiers=", ".join(entered["identifiers"]))
            return self._change(event, entered, site)
        creator_id, named = account.creator(named_creator(body, site), site.version)
        campaign_id = campaign.resource_id if campaign else entered.pop("parent", None)
        return self.add(
            "event",
            account,
            origin | entered | _sponsored(account),
            site,
            parent=campaign_id,
            person_id=creator_id,
            made_by=by,
            creator_named=named,
            listed=by != "ui" or body.get("listed") is not False,
        )

    def shift_rows(self, account: Account, injected: Sequence[Injection]) -> None:
        """Let events arrive in the account, or move, while somebody reads its pages: what two faults do."""
        for injection in injected:
            if injection.name == "insert_rows":
                site = Site("", self.settings.prefix, "v2")
                arrival = {"title": "Arrived meanwhile", "origin_system": "osdi-frames sandbox"}
                with self.store.transaction():
                    for _ in range(injection.settings["count"]):
                        self.create_event(account, arrival, site, by="ui")
            elif injection.name == "move_row":
                with self.store.transaction():
                    self.store.bring_to_front(account.account_id)

    def _matched(self, identifiers: Collection[str], site: Site) -> set[str]:
        """Return the ids of what identifiers belong to, foreign and the service's own events."""
        others = foreign(identifiers, site)
        own = {name.partition(":")[2] for name in identifiers if name not in others}
        events = {event_id for event_id in own if self.store.find("event", resource_id=event_id)}
        return events | set(filter(None, (self.store.named("identifier", name) for name in others)))

    def add_titled(self, kind: str, account: Account, body: Body, site: Site) -> Resource:
        """Make a campaign or a petition as the service's own user interface does."""
        entered = enter(kind, body, site, "ui")
        require(kind, entered, site)
        made = {"person_id": account.default_creator, "made_by": "ui"}
        return self.add(kind, account, entered | _sponsored(account), site, **made)

    # what people do

    def act(self, kind: str, parent: Resource, body: Body, site: Site, *, by: str = "api") -> Resource:
        """Record an attendance or a signature, one for a person and a parent: a repeat replaces what was entered.

        `by` is ``api``, ``page`` for what an activist does in the service's own pages, or ``upload``. A message goes
        into the outbox for every webhook that this triggers (interface 6); an RSVP over the API triggers none.
        """
        own_name = site.named("<p>:referrer_data")
        if body.get(own_name) is None:
            body = {**body, own_name: body.get("referrer_data")}
        entered = enter(kind, body, site, site.version)
        referring = self._referring(entered)
        person, account = self._acting(body, site), self.account(str(parent.account))
        unknown = UNKNOWN_REFERRER if by == "api" else dict.fromkeys(UNKNOWN_REFERRER, "none")
        kept = {**entered, "referrer_data": {**unknown, **entered.get("referrer_data", {})}}
        ids = {"parent": parent.resource_id, "person_id": person.resource_id}
        known = self.store.find(kind, **ids)
        if known is None:
            action = self.add(kind, account, kept, site, **ids)
        else:
            identifiers = {name: value for name, value in known.fields.items() if name == "identifiers"}
            action = self._save(known, self._claimed(replace(known, fields=identifiers), kept, site))
        self.store.subscribe(account.account_id, person.resource_id)
        if parent.creator_named:
            self.store.subscribe(f"person:{parent.person_id}", person.resource_id)
        self._tag(account, person, body, site)
        if kind == "signature" or by != "api":
            sent = entered | conform(body, HELPER)
            self._announce(action, sent, person, site, accounts=[account.account_id, *referring], by=by)
        return action

    def _referring(self, entered: Fields) -> list[str]:
        """Return the account whose referrer code was used; an invalid code is taken out (interface 2.7)."""
        referrer_data = entered.get("referrer_data", {})
        account_id = self.store.named("referrer", referrer_data.get("referrer", ""))
        if account_id is None:
            referrer_data.pop("referrer", None)
        return [account_id] if account_id else []

    def _announce(
        self,
        action: Resource,
        sent: Fields,
        person: Resource,
        site: Site,
        *,
        accounts: Sequence[str],
        by: str,
    ) -> None:
        """Put an act into the outbox; `accounts` are its parent's and, after it, the referring one."""
        # only a group's code changes where an act originated (interface 2.4)
        sponsor = accounts[-1] if accounts[-1].startswith("group:") else accounts[0]
        delivered = replace(site, version="v2")  # the payload has v2 naming and links (interface 9)
        for document in self.store.records("webhook"):
            webhook = Webhook(**document)
            if not webhook.triggered(action, accounts=accounts, upload=by == "upload"):
                continue
            faults = self.faults.injected(("signature",), "POST", webhook.url)
            injected = {injection.name: injection for injection in faults}
            overlap = injected.get("webhook_overlap")
            for _ in range(overlap.settings["copies"] if overlap else 1):
                message_id, before, due = self._message(webhook, injected)
                element = webhook_element(
                    action,
                    delivered,
                    entered=sent,
                    person=person,
                    sponsor=self.account(sponsor).sponsor,
                    key=idempotency_key(message_id),
                )
                self.store.put_message(message_id, webhook.webhook_id, [*before, element], due=due)

    def send_test(self, webhook_id: str, account: Account, site: Site) -> None:
        """Put a "send test" message into the outbox: without dates, and with the same key each time."""
        _there(self.store.record("webhook", webhook_id), "webhook", webhook_id)
        element = sample_element(site, sponsor=account.sponsor, key=idempotency_key("test"))
        now = self.settings.now().timestamp()
        self.store.put_message(self.settings.new_id(), webhook_id, [element], due=now)

    def _message(
        self, webhook: Webhook, injected: Mapping[str, Injection]
    ) -> tuple[str, list[object], float]:
        """Return the message that an element goes into: its id, the elements before it, when it is due."""
        now = self.settings.now().timestamp()
        if "webhook_batch" in injected:
            batch = injected["webhook_batch"].settings
            unfilled = self.store.unfilled_message(webhook.webhook_id, batch["size"], now=now)
            return (*unfilled, now) if unfilled else (self.settings.new_id(), [], now + batch["seconds"])
        if "webhook_reorder" in injected:
            reorder = injected["webhook_reorder"]
            return self.settings.new_id(), [], now + reorder.chance.uniform(0, reorder.settings["seconds"])
        return self.settings.new_id(), [], now


def _row(stored: Stored, person: Stored | None, site: Site) -> Row:
    shown = represent(read(stored), site, person=read(person) if person else None)
    shown["_links"]["curies"] = site.curies()
    return Row(shown["_links"]["self"], json.dumps(shown, ensure_ascii=False))


def _sponsored(account: Account) -> Fields:
    return {"sponsor": account.sponsor} if account.roles is not None else {}


def _there(found: Found | None, what: str, resource_id: str) -> Found:
    if found is None:
        raise refuse("unknown", what=what, id=resource_id)
    return found
