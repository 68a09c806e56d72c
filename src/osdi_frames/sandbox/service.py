"""What the service does: acts that change the store."""

import json
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar
from uuid import uuid4

from osdi_frames.errors import RequestRefused
from osdi_frames.messages import quoted
from osdi_frames.sandbox.accounts import Account
from osdi_frames.sandbox.faults import Faults, Injection, LoggedRequest
from osdi_frames.sandbox.gazetteer import Gazetteer
from osdi_frames.sandbox.people import contacts_of, linked_person, merge_person, named_creator
from osdi_frames.sandbox.resource_kinds import RESOURCE_KINDS
from osdi_frames.sandbox.resources import (
    Fields,
    Resource,
    check_required,
    entered_fields,
    foreign_identifiers,
    relocate,
    represent,
)
from osdi_frames.sandbox.shapes import HELPER, conform
from osdi_frames.sandbox.site import Site
from osdi_frames.sandbox.store import Row, Store, parse_row
from osdi_frames.sandbox.webhooks import Act, Outbox
from osdi_frames.tables.fields import VERSIONS

Found = TypeVar("Found")
Body = Mapping[str, Any]
Shown = tuple[dict[str, str], str]  # one resource of a collection: its own link, and its JSON
_NO_PERSON = "a person is needed: an object under person, or the link osdi:person"

# What the service writes as source and website of an act over the API that gives none; deliveries leave both out.
_UNKNOWN = {"source": "none", "website": "api"}


@dataclass(slots=True)
class Service:
    """The service over a store, with its settings.

    Whoever calls an act that writes does so in a transaction. `clock` and `new_id` are where its times and ids come
    from; `create_app` says what the other settings are.
    """

    store: Store
    prefix: str
    per_page: int
    lenient: bool
    webhook_hosts: Collection[str]
    clock: Callable[[], datetime]
    new_id: Callable[[], str] = lambda: str(uuid4())
    faults: Faults = field(default_factory=Faults)
    requests: deque[LoggedRequest] = field(default_factory=lambda: deque(maxlen=100_000))
    gazetteer: Gazetteer = field(default_factory=Gazetteer)

    def now(self) -> str:
        """Return the time as the service writes it (interface 2)."""
        return self.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    # accounts

    def account(self, account_id: str) -> Account:
        """Return an account; an unknown one is refused."""
        return Account(**found_or_refused(self.store.entry("account", account_id), "account", account_id))

    def save_account(self, account: Account) -> None:
        """Write an account, and its referrer code if any."""
        self.store.set_entry("account", account.account_id, asdict(account))
        if account.referrer_code:
            self.store.set_entry("referrer", account.referrer_code, account.account_id)

    # every resource

    def resource(self, kind: str, resource_id: str, account: Account | None = None, **where: str) -> Resource:
        """Return a resource, refused if it is another account's; every key can read every person."""
        if account and kind != "person":
            where["account"] = account.account_id
        return found_or_refused(self.store.find(kind, resource_id=resource_id, **where), kind, resource_id)

    def show(self, row: Row, site: Site) -> Shown:
        """Return a stored resource as the API shows it."""
        kind, person_id, *_ = row
        embedded = site.version in RESOURCE_KINDS[kind].embeds
        people = self.store.rows("person", resource_id=person_id or "") if embedded else []
        return _show(row, people[0] if people else None, site)

    def text(self, resource: Resource, site: Site) -> str:
        """Return the JSON of a resource."""
        [row] = self.store.rows(resource.kind, resource_id=resource.resource_id)
        return self.show(row, site)[1]

    def add(self, kind: str, account: str | None, entered: Fields, site: Site, **more: Any) -> Resource:
        """Write a new resource, and count it."""
        now = self.now()
        blank = Resource(kind, self.new_id(), now, now, {}, account, **more)
        made = self._merged(blank, entered, site)
        self.store.put(made)
        self._count(made, 1)
        return made

    def _count(self, resource: Resource, change: int) -> None:
        """Change the counts of what a resource belongs to."""
        above = resource
        for counting, name in resource.declared.counted:
            parent = self.store.find(counting, resource_id=above.parent) if above.parent else None
            if parent is None:
                break
            counts = {name: parent.fields.get(name, 0) + change}
            above = self._save(parent, parent.changed(counts | _donated(parent, change * resource.amount)))

    def delete(self, resource: Resource) -> None:
        """Delete a resource and what stands under it.

        Organisers do so in the user interface. The events of a campaign stay, in the collection of all. Who created
        something is not deleted.
        """
        resource_id, is_person = resource.resource_id, resource.kind == "person"
        for kind in RESOURCE_KINDS.values():
            if is_person and "person" not in kind.under and self.store.find(kind.name, person_id=resource_id):
                raise RequestRefused(409, f"this person created {kind.at('v2')}: delete these first")
        for kind in RESOURCE_KINDS.values():
            if resource.kind in kind.under:
                column = "person_id" if is_person else "parent"
                for below in self.store.resources(kind.name, **{column: resource_id}):
                    if kind.name == "event":
                        self._save(below, replace(below, parent=None, listed=True))
                    else:
                        self.delete(below)
        self.store.remove(resource.kind, resource_id=resource_id)
        if is_person or "identifiers" in resource.fields:
            self.store.remove_entries_of(resource_id)
        self._count(resource, -1)

    def change(self, known: Resource, body: Body, site: Site) -> Resource:
        """Change what a partial body names, ignoring what is not editable or not valid (interface 4, rule 1; 7.3)."""
        entered = self._enter(known.kind, body, site, site.version, "put")
        changed = self._save(known, self._merged(known, entered, site))
        if more := changed.amount - known.amount:
            page = self.resource("fundraising_page", str(changed.parent))
            self._save(page, page.changed(_donated(page, more)))
        return changed

    def _enter(self, kind: str, body: Body, site: Site, *by: str) -> Fields:
        return entered_fields(kind, body, site, *by, lenient=self.lenient)

    def _merged(self, known: Resource, entered: Fields, site: Site) -> Resource:
        """Return a resource with what was entered, but for identifiers of other resources (interface 2.1)."""
        rest = {name: value for name, value in entered.items() if name not in ("identifiers", "location")}
        for name in foreign_identifiers(entered.get("identifiers", ()), site):
            if self.store.entry("identifier", name) in (None, known.resource_id):
                self.store.set_entry("identifier", name, known.resource_id)
                rest.setdefault("identifiers", []).append(name)
        made = known.changed(rest)
        if known.kind == "event" and ("location" in entered or "geocoded" not in known.fields):
            made = relocate(made, entered.get("location", {}), site, self.gazetteer)
        return made

    def _save(self, before: Resource, after: Resource) -> Resource:
        """Write a resource; what changes nothing does not move modified_date."""
        if after == before:
            return before
        after = self._touched(after)
        self.store.put(after)
        return after

    def _touched(self, resource: Resource) -> Resource:
        """Return a resource as modified now; modified_date never goes back."""
        return replace(resource, modified_date=max(self.now(), resource.modified_date))

    # people

    def new_person(self, body: Body, site: Site) -> Resource:
        """Make a person from what was entered."""
        return self._record_person(self._enter("person", body, site, "ui"), site)

    def _record_person(self, entered: Fields, site: Site, known: Resource | None = None) -> Resource:
        """Make or change a person, and note their contacts."""
        fields = merge_person(known.fields if known else {}, entered)
        if known:
            person = self._save(known, self._merged(known, fields, site))
        else:
            person = self.add("person", None, fields, site)
        for kind, name in contacts_of(fields):
            if self.store.entry(kind, name) is None:  # what is somebody's stays theirs
                self.store.set_entry(kind, name, person.resource_id)
        return person

    def sign_up(self, account: Account, body: Body, site: Site) -> Resource:
        """Make or change a person: the person signup helper."""
        inline = body.get("person")
        entered = self._enter("person", inline, site, site.version) if isinstance(inline, Mapping) else {}
        if not contacts_of(entered):
            raise RequestRefused(400, "a person needs an e-mail address or a phone number under person")
        person = self._record_person(entered, site, self._recognized(entered))
        self._add_to_list(account.account_id, person)
        self._tag(account.account_id, person, body, site)
        return person

    def change_person(self, known: Resource, account: Account, body: Body, site: Site) -> Resource:
        """Change a person of the account's list; with an e-mail address of somebody else change nothing."""
        listed = self.store.entry(list_name(account.account_id), known.resource_id)
        found_or_refused(listed, "person", known.resource_id)
        entered = self._enter("person", body, site, site.version)
        owners = {self.store.entry(kind, name) for kind, name in contacts_of(entered) if kind == "email"}
        return self._record_person(entered, site, known) if owners <= {None, known.resource_id} else known

    def _add_to_list(self, account_id: str, person: Resource) -> None:
        self.store.set_entry(list_name(account_id), person.resource_id, True)

    def _recognized(self, entered: Fields) -> Resource | None:
        """Return who has an entered e-mail address or phone number.

        Two people with different e-mail addresses can share a phone number: they stay two.
        """
        contacts = contacts_of(entered)
        for kind, name in contacts:
            if person_id := self.store.entry(kind, name):
                known = self.resource("person", person_id)
                emails = [dict(of).get("email") for of in (contacts, contacts_of(known.fields))]
                if kind == "email" or not all(emails):
                    return known
        return None

    def acting_person(self, body: Body, site: Site) -> Resource:
        """Return who acts, modified by acting: the person inline, recognised by a contact, or the linked one."""
        inline = body.get("person")
        if isinstance(inline, Mapping):
            entered = self._enter("person", inline, site, site.version, "ui")
            person = self._record_person(entered, site, self._recognized(entered))
        else:
            linked = linked_person(body, ("_links", "osdi:person"), site, any_host=self.lenient)
            known = self.store.find("person", resource_id=linked or "")
            if known is None:
                raise RequestRefused(400, _NO_PERSON)
            person = known
        return self._save(person, self._touched(person))

    # tags

    def add_tag(self, account: Account, body: Body, site: Site) -> Resource:
        """Make a tag, or return the one of that name."""
        entered = self._enter("tag", body, site, site.version)
        check_required("tag", entered, site)
        key = f"{account.account_id} {entered['name']}"
        if known := self.store.entry("tag", key):
            return self.resource("tag", known)
        made = self.add("tag", account.account_id, entered, site)
        self.store.set_entry("tag", key, made.resource_id)
        return made

    def add_tagging(self, tag: Resource, person: Resource, site: Site) -> Resource:
        """Give a person a tag, once."""
        ids = {"parent": tag.resource_id, "person_id": person.resource_id}
        return self.store.find("tagging", **ids) or self.add("tagging", tag.account, {}, site, **ids)

    def _tag(self, account_id: str, person: Resource, body: Body, site: Site) -> None:
        """Add and remove the tags of a helper's body, ignoring what is no tag of the account."""
        sent = conform(body, HELPER, lenient=self.lenient)
        for name in sent.get("add_tags", ()):
            if tag := self.store.entry("tag", f"{account_id} {name}"):
                self.add_tagging(self.resource("tag", tag), person, site)
        for name in sent.get("remove_tags", ()):
            if tag := self.store.entry("tag", f"{account_id} {name}"):
                self.store.remove("tagging", parent=tag, person_id=person.resource_id)

    # events, campaigns, petitions, forms and the like

    def create_event(
        self, account: Account, body: Body, site: Site, *, by: str, campaign: Resource | None = None
    ) -> Resource:
        """Make an event by ``ui`` or a version of the API, or change the identified one (interface 4)."""
        origin = {"origin_system": account.title} if self.lenient else {}
        entered = self._enter("event", body, site, by)
        check_required("event", origin | entered, site)
        if matched := self._matched(entered.get("identifiers", ()), site):
            event = self.store.find("event", resource_id=matched.pop(), account=account.account_id)
            if matched or event is None:
                identifiers = ", ".join(entered["identifiers"])
                raise RequestRefused(409, f"identifiers belong to another event: {quoted(identifiers)}")
            return self._save(event, self._merged(event, entered, site))
        creator_id, named = account.creator(named_creator(body, site, any_host=self.lenient), site.version)
        parent = campaign.resource_id if campaign else entered.pop("parent", None)
        around = {"parent": parent, "person_id": creator_id, "made_by": by, "creator_named": named}
        listed = by in VERSIONS or body.get("listed") is not False
        fields = origin | entered | _sponsored(account)
        return self.add("event", account.account_id, fields, site, listed=listed, **around)

    def _matched(self, identifiers: Collection[str], site: Site) -> set[str]:
        """Return the ids of what identifiers belong to."""
        others = foreign_identifiers(identifiers, site)
        own = {name.partition(":")[2] for name in identifiers if name not in others}
        events = {event_id for event_id in own if self.store.find("event", resource_id=event_id)}
        return events | set(filter(None, (self.store.entry("identifier", name) for name in others)))

    def add_titled(self, kind: str, account: Account, body: Body, site: Site, *, by: str) -> Resource:
        """Make what organizers publish: a campaign, a petition, a form and the like."""
        origin = {} if by == "ui" else {"origin_system": account.title}
        entered = origin | self._enter(kind, body, site, by)
        check_required(kind, entered, site)
        made = {"person_id": account.default_creator, "made_by": by}
        return self.add(kind, account.account_id, entered | _sponsored(account), site, **made)

    def shift_rows(self, account: Account, injected: Sequence[Injection]) -> None:
        """Add or move events between pages, as two faults do."""
        arrival = {"title": "Arrived meanwhile", "origin_system": "osdi-frames sandbox"}
        for injection in injected:
            with self.store.transaction():
                if injection.name == "move_row":
                    self.store.move_last_event_to_front(account.account_id)
                elif injection.name == "insert_rows":
                    for _ in range(injection.settings["count"]):
                        self.create_event(account, arrival, Site("", self.prefix, "v2"), by="ui")

    # what people do

    def act(self, kind: str, parent: Resource, body: Body, site: Site, *, by: str = "api") -> Resource:
        """Record an attendance, a signature or another act.

        There is one for a person and a parent, but any number of donations and outreaches: a repeat replaces what was
        entered. An event that has as many RSVPs as its capacity takes no new one. `by` is ``api``, ``page`` for what
        an activist does in the service's own pages, or ``upload``. An RSVP over the API is sent to no webhook.
        """
        own_name = site.prefixed("<p>:referrer_data")
        if body.get(own_name) is None:
            body = {**body, own_name: body.get("referrer_data")}
        entered, declared = self._enter(kind, body, site, site.version), RESOURCE_KINDS[kind]
        check_required(kind, entered, site)
        accounts = [self.account(str(parent.account)), *self._referring(entered)]
        person, owner = self.acting_person(body, site), accounts[0].account_id
        unknown = _UNKNOWN if by == "api" else dict.fromkeys(_UNKNOWN, "none")
        kept = {**entered, "referrer_data": {**unknown, **entered.get("referrer_data", {})}}
        ids = {"parent": parent.resource_id, "person_id": person.resource_id}
        kept |= {name: parent.fields[name] for name in declared.inherits if name in parent.fields}
        known = None if declared.repeatable else self.store.find(kind, **ids)
        if known is None:
            _check_capacity(parent)
            made = self.add(kind, owner, kept, site, **ids)
        else:
            identifiers = {name: value for name, value in known.fields.items() if name == "identifiers"}
            made = self._save(known, self._merged(replace(known, fields=identifiers), kept, site))
        self._add_to_list(owner, person)
        if parent.creator_named:
            self._add_to_list(f"person:{parent.person_id}", person)
        self._tag(owner, person, body, site)
        if kind != "attendance" or by != "api":
            sent = entered | conform(body, HELPER, lenient=self.lenient)
            act = Act(made, sent, person, accounts, by == "upload")
            outbox = Outbox(self.store, self.faults, self.new_id)
            outbox.put(act, site, now=self.clock().timestamp())
        return made

    def _referring(self, entered: Fields) -> list[Account]:
        """Return the account whose referrer code was used, and remove an invalid code (interface 2.7)."""
        referrer_data = entered.get("referrer_data", {})
        account_id = self.store.entry("referrer", referrer_data.get("referrer", ""))
        if account_id is None:
            referrer_data.pop("referrer", None)
        return [self.account(account_id)] if account_id else []


def list_name(account_id: str) -> str:
    """Return the kind of entries that list an account's people."""
    return f"list {account_id}"


@lru_cache(20_000)  # a function of what is stored and of where it is shown, so that none of these gets stale
def _show(row: Row, person: Row | None, site: Site) -> Shown:
    shown = represent(parse_row(row), site, person=parse_row(person) if person else None)
    shown["_links"]["curies"] = site.curies()
    return shown["_links"]["self"], json.dumps(shown, ensure_ascii=False)


def _sponsored(account: Account) -> Fields:
    return {"sponsor": account.sponsor} if account.roles is not None else {}


def _donated(page: Resource, more: Decimal) -> Fields:
    """Return the total of a fundraising page after donations; of anything else nothing."""
    return {"total_amount": float(Decimal(str(page.fields.get("total_amount", 0))) + more)} if more else {}


def _check_capacity(parent: Resource) -> None:
    """Refuse an RSVP to an event that is full (interface 2.1)."""
    capacity = parent.fields.get("capacity")
    if capacity is not None and parent.fields.get("total_accepted", 0) >= capacity:
        raise RequestRefused(409, f"the event has as many RSVPs as its capacity: {capacity}")


def found_or_refused(found: Found | None, what: str, resource_id: str) -> Found:
    """Return what was found; refuse what was not."""
    if found is None:
        raise RequestRefused(404, f"there is no {what} {quoted(resource_id)} for this API key")
    return found
