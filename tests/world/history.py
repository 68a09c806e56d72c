"""A small world: what happens in it, and what documents show of it.

A state is never changed in place, so what a document shows stays what it was. `Seen` says which parts of a state a
document shows; `truth` reads these and never the document. All moments are a second or more apart.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from osdi_frames.sources.manifest import CollectionPulled, Manifest

Key = tuple[str, str]  # kind and id
State = dict[str, Any]

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOST = "https://service.example"
BASE = {False: f"{HOST}/api/v2", True: f"{HOST}/api/v1"}  # by whether it is v1
TABLES = {
    "event": "events",
    "event_campaign": "event_campaigns",
    "petition": "petitions",
    "signature": "signatures",
    "attendance": "attendances",
    "person": "people",
}
PARENTS = {"signature": "petition", "attendance": "event"}
#: The parts of a person, by the keys that hold them in a state.
PERSON_PARTS = {
    "name": ("given_name", "family_name"),
    "email": ("emails",),
    "phone": ("phones",),
    "location": ("places",),
    "languages": ("languages_spoken",),
    "custom": ("custom_fields",),
}
#: What embedded creators lack (interface 2.8).
NOT_EMBEDDED = ("phones", "languages_spoken", "custom_fields")
REFERRER = ("source", "referrer", "website")
PER_PAGE = 2


class Seen(NamedTuple):
    """A thing as a document shows it."""

    kind: str
    id: str
    state: State
    parts: frozenset[str]  # blocks that it shows, and `identifiers`
    v1: bool = False
    position: int = 0
    message: str | None = None  # the key of its delivery; "" where that has none, None on a page


@dataclass(eq=False)
class Document:
    body: Any
    seen: list[Seen]
    at: datetime | None = None
    stamp: str = "fetched_at"
    url: str = ""
    places: list[tuple[str, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        whole = self.body
        if self.at:
            whole = {self.stamp: iso(self.at), **({"url": self.url} if self.url else {}), "body": self.body}
        return json.dumps(whole, ensure_ascii=False)


@dataclass(eq=False)
class Pull:
    started: datetime
    address: str
    version: str
    campaigns: tuple[str, ...] | None
    finished: datetime | None = None
    collections: list[CollectionPulled] = field(default_factory=list)
    proves: set[str] = field(default_factory=set)  # the kinds of which it has all that there is
    documents: list[Document] = field(default_factory=list)
    folder: str = ""

    @property
    def complete(self) -> bool:
        return self.finished is not None and all(done.complete for done in self.collections)


def iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def given(**keys: Any) -> State:
    return {key: value for key, value in keys.items() if value is not None}


class World:
    """Three people, two petitions, two campaigns, three events."""

    def __init__(self, prefix: str = "platform") -> None:
        self.prefix, self.now = prefix, START
        self.things: dict[Key, State] = {}
        self.deleted: set[Key] = set()
        self.documents: list[Document] = []
        self.pulls: list[Pull] = []
        self.outbox: list[Seen] = []
        self.messages = 0
        self.history: list[str] = []
        for number in "123":
            self.make("person", f"p{number}", given_name=f"P{number}", emails=[f"p{number}@old.example"])
        for number in "12":
            self.make("petition", f"t{number}", title=f"Petition {number}", creator_id="p3")
            self.make("event_campaign", f"c{number}", title=f"Campaign {number}")
        for number, campaign in ("1", "c1"), ("2", "c1"), ("3", None):
            start = datetime(2026, 3, int(number), 18)  # noqa: DTZ001 (the clock at the place)
            own = {"event_campaign_id": campaign, "start_date": start, "creator_id": "p3"}
            self.make("event", f"e{number}", title=f"Event {number}", listed_alone=number != "2", **own)
        self.count()

    # --- what happens ---------------------------------------------------------------------------------

    def tick(self, wait: timedelta = SECOND) -> datetime:
        self.now += wait
        return self.now

    def make(self, kind: str, own_id: str, **state: Any) -> None:
        now = self.tick()
        self.things[kind, own_id] = {"created_date": now, "modified_date": now} | state

    def change(self, kind: str, own_id: str, **values: Any) -> None:
        self.things[kind, own_id] = self.things[kind, own_id] | values | {"modified_date": self.tick()}
        self.count()

    def act(self, kind: str, person: str, parent: str, entered: State, **values: Any) -> None:
        """Let a person sign or RSVP, entering some data.

        Whoever does it again changes what is there. Then the message for the webhook waits in the outbox.
        """
        own_id, now = f"{kind[0]}{person}{parent}", self.tick()
        self.change("person", person, **entered)
        dates = {key: self.things["person", person][key] for key in ("created_date", "modified_date")}
        before = self.things.get((kind, own_id), {"created_date": now})
        state = before | {"modified_date": now, "person_id": person, f"{PARENTS[kind]}_id": parent} | values
        state["person"] = entered and entered | dates
        self.things[kind, own_id] = state
        self.deleted.discard((kind, own_id))
        self.count()
        parts = {"act", "links", "identifiers", *(["person"] if entered else [])}
        parts |= {"tags"} if state.get("add_tags") is not None else set()
        parts |= {"sponsor"} if state.get("sponsor") else set()
        parts |= {"referrer"} if any(state.get(key) is not None for key in REFERRER) else set()
        self.outbox.append(Seen(kind, own_id, state, frozenset(parts)))

    def count(self) -> None:
        """Keep the service's totals; they leave modified_date alone."""
        for kind, parent in PARENTS.items():
            total = "total_signatures" if parent == "petition" else "total_accepted"
            for key in [key for key in self.things if key[0] == parent]:
                acts = [self.things[act] for act in self.listed(kind, key[1])]
                coming = [act for act in acts if act.get("status") in (None, "accepted", "attended")]
                self.things[key] = self.things[key] | {total: len(coming)}

    def listed(self, kind: str, parent: str | None = None) -> list[Key]:
        """Return what the service lists of a kind, or of one parent."""
        above = PARENTS.get(kind)
        return [
            key
            for key, state in self.things.items()
            if key[0] == kind
            and key not in self.deleted
            and (above is None or (above, state[f"{above}_id"]) not in self.deleted)
            and (parent is None or state[f"{above}_id"] == parent)
        ]

    # --- what is seen of it ---------------------------------------------------------------------------

    def deliver(
        self, after: timedelta = SECOND, *, bare: bool = False, again: Iterable[timedelta] = ()
    ) -> None:
        """Send what waits as one message; `again` are the waits before its retries."""
        self.messages += 1
        key = "" if bare else f"k{self.messages}"
        self.tick(after)
        seen = [each._replace(position=n, message=key) for n, each in enumerate(self.outbox)]
        body = [self._element(each) for each in seen]
        for wait in (timedelta(0), *again):
            at = None if bare else self.now + wait + timedelta(microseconds=self.messages)
            self.documents.append(Document(body, seen, at, "received_at"))

    def page(
        self, keys: list[Key], *, v1: bool = False, form: str = "page", hides: Iterable[str] = ()
    ) -> None:
        """Fetch some things: as page or single; `hides` are parts that are left out."""
        seen = [self._shown(key, v1, hides, n) for n, key in enumerate(keys)]
        if "single" in form:
            for each in seen:
                self._keep(self._resource(each), [each._replace(position=0)], form)
        else:
            self._keep(self._page(TABLES[keys[0][0]], seen), seen, form)

    def _keep(self, body: Any, seen: list[Seen], form: str) -> None:
        self.documents.append(Document(body, seen, None if "bare" in form else self.tick()))

    def test_delivery(self) -> None:
        """Press "send test"."""
        href = f"{BASE[False]}/petitions/t1"
        links = {"self": {"href": f"{href}/signatures/test"}, "osdi:petition": {"href": href}}
        person = {"emails": ["test@example.org"]}
        state = {"petition_id": "t1", "person": person, "add_tags": ["test"]}
        seen = Seen("signature", "test", state, frozenset({"act", "links", "person", "tags"}), message="test")
        body = {"person": self._person(person), "add_tags": ["test"], "_links": links}
        key = {"idempotency_key": "test"}
        self.documents.append(Document([{"osdi:signature": body} | key], [seen], self.tick(), "received_at"))

    def pull(
        self,
        names: Iterable[str] = TABLES.values(),
        *,
        campaigns: tuple[str, ...] | None = None,
        since: datetime | None = None,
        v1: bool = False,
        lacks: str | None = None,
        killed: bool = False,
        amid: Mapping[str, Callable[[], None]] | None = None,
    ) -> Pull:
        """Pull collections; `lacks` names one that comes without its last rows.

        `amid` says what happens after a collection was read. A pull of no names is one of another service.
        """
        names = [*names]
        address = BASE[v1] if names else "https://other.example/api/v2"
        pull = Pull(self.tick(), address, "v1" if v1 else "v2", campaigns)
        self.pulls.append(pull)
        found: dict[str, list[Key]] = {}
        for name in _needed(names or TABLES.values(), campaigns):
            done = self._collection(pull, name, found, since, v1, cut=name == lacks, nothing=not names)
            pull.collections.append(done)
            (amid or {}).get(name, lambda: None)()
        if killed:
            pull.collections = [
                CollectionPulled(done.name, done.path, done.since) for done in pull.collections
            ]
        else:
            pull.finished = self.tick()
        if names and not killed:
            pull.proves = _proved(pull)
        return pull

    def _collection(
        self,
        pull: Pull,
        name: str,
        found: dict[str, list[Key]],
        since: datetime | None,
        v1: bool,
        *,
        cut: bool,
        nothing: bool,
    ) -> CollectionPulled:
        """Fetch the lists of a collection, a page after the other."""
        since = None if name == "event_campaigns" else since
        kind = next(kind for kind, table in TABLES.items() if name.endswith(table))
        lists, path, lost = self._lists(name, kind, found, pull.campaigns, v1)
        found[name], pages = [], 0
        for at, keys in {} if nothing else lists.items():
            keys = [key for key in keys if since is None or self.things[key]["modified_date"] > since]
            keys = keys[:-1] if cut else keys
            found[name] += keys
            for start in range(0, max(len(keys), 1), PER_PAGE):
                some = keys[start : start + PER_PAGE]
                seen = [self._shown(key, v1, (), n) for n, key in enumerate(some)]
                url = f"{pull.address}/{at}?page={start // PER_PAGE + 1}"
                document = Document(self._page(TABLES[kind], seen), seen, self.tick(), url=url)
                pull.documents.append(document)
                pages += 1
        rows, complete = len(found[name]), not cut and not lost
        counts = {"rows": rows, "distinct_ids": len({*found[name]}), "pages": pages, "lists": len(lists)}
        totals = dict.fromkeys(("total_records_at_start", "total_records_at_end"), rows)
        files = ("pages-0001.ndjson.gz",) if pages else ()
        return CollectionPulled(name, path, since, complete, "proved", files=files, **counts, **totals)

    def _lists(
        self, name: str, kind: str, found: dict[str, list[Key]], campaigns: tuple[str, ...] | None, v1: bool
    ) -> tuple[dict[str, list[Key]], str, bool]:
        """Return the lists of a collection by address, its path, whether one was lost."""
        if name == "campaign_events":
            ids = campaigns or [own_id for _, own_id in found["event_campaigns"]]
            events = self.listed("event")
            path = "event_campaigns/{id}/events"
            of = {one: [key for key in events if self.things[key]["event_campaign_id"] == one] for one in ids}
            lost = any(("event_campaign", one) in self.deleted for one in ids)
            return {path.replace("{id}", one): keys for one, keys in of.items()}, path, lost
        if kind not in PARENTS:
            keys = [key for key in self.listed(kind) if self.things[key].get("listed_alone", True)]
            return {name: keys}, name, False
        above = PARENTS[kind]
        path = f"{TABLES[above]}/{{id}}/{'attendance' if v1 and kind == 'attendance' else name}"
        parents = {
            key: None for each in (TABLES[above], f"campaign_{TABLES[above]}") for key in found.get(each, ())
        }
        lost = any(key in self.deleted for key in parents)
        made = {}
        for key in (key for key in parents if key not in self.deleted):
            below = path.replace("{id}", key[1])
            if not self.things[key].get("listed_alone", True):
                below = f"event_campaigns/{self.things[key]['event_campaign_id']}/{below}"
            made[below] = self.listed(kind, key[1])
        return made, path, lost

    # --- documents ------------------------------------------------------------------------------------

    def _shown(self, key: Key, v1: bool, hides: Iterable[str], position: int) -> Seen:
        """Say what an API page shows of a thing as it is now."""
        kind, own_id = key
        state = self.things[key]
        parts = {"act", "identifiers", "links", *(["referrer"] if kind in PARENTS else [])}
        if kind == "event":
            parts |= ({"sponsor"} if state.get("sponsor") else set()) | ({"people"} if v1 else set())
            creator = self.things["person", state["creator_id"]]
            state = state | {
                "creator": {key: value for key, value in creator.items() if key not in NOT_EMBEDDED}
            }
        if kind == "person":
            parts |= {
                part for part, keys in PERSON_PARTS.items() if any(state.get(one) is not None for one in keys)
            }
        return Seen(kind, own_id, state, frozenset(parts - {*hides}), v1, position)

    def _page(self, name: str, seen: list[Seen]) -> State:
        kinds = {"event_campaigns": f"{self.prefix}:event_campaigns"}
        rows = [self._resource(each) for each in seen]
        return {"page": 1, "per_page": PER_PAGE, "_embedded": {kinds.get(name, f"osdi:{name}"): rows}}

    def _resource(self, seen: Seen) -> State:
        """Write a thing as the API or a webhook does."""
        state, own, is_page = seen.state, self.prefix, seen.message is None
        v1 = seen.v1
        href = address(seen.kind, seen.id, state, v1)
        value = given(
            identifiers=[f"{own}:{seen.id}"] if "identifiers" in seen.parts else None,
            **{"created_at" if v1 else "created_date": iso(state["created_date"])},
            **{"modified_at" if v1 else "modified_date": iso(state["modified_date"])},
            _links={"self": {"href": href}},
        )
        if seen.kind == "event":
            return value | self._event(seen, value["_links"])
        if seen.kind == "person":
            return value | self._person(state, language="en")
        if above := PARENTS.get(seen.kind):
            parent, person = state[f"{above}_id"], state["person_id"]
            value["_links"][f"osdi:{above}"] = {"href": address(above, parent, {}, v1)}
            value["_links"]["osdi:person"] = {"href": address("person", person, {}, v1)}
            value |= {f"{own}:person_id": person, f"{own}:{above}_id": parent} if is_page else {}
            value |= given(comments=state.get("comments"), status=state.get("status"))
            absent = {"source": "none", "website": "api"} if is_page else {}
            if "referrer" in seen.parts:
                value[f"{own}:referrer_data"] = absent | given(**{key: state.get(key) for key in REFERRER})
            if "person" in seen.parts and not is_page:
                dates = {key: iso(state["person"][key]) for key in ("created_date", "modified_date")}
                value["person"] = self._person(state["person"]) | dates
            return value | given(add_tags=None if is_page else state.get("add_tags"))
        total = {"total_signatures": state["total_signatures"]} if seen.kind == "petition" else {}
        return value | {"title": state["title"]} | total

    def _event(self, seen: Seen, links: State) -> State:
        state, own = seen.state, self.prefix
        links["osdi:creator"] = links["osdi:organizer"] = {
            "href": address("person", state["creator_id"], {}, seen.v1)
        }
        campaign, sponsor = state["event_campaign_id"], state.get("sponsor")
        value = given(
            origin_system="Sync", title=state["title"], start_date=iso(state["start_date"])[:19] + "Z",
            total_accepted=state["total_accepted"], status=state.get("status", "confirmed"),
            location=state.get("place") and dict(zip(("country", "region"), state["place"], strict=True)),
            **{f"{own}:event_campaign_id": campaign},
        )  # fmt: skip
        group = {"title": sponsor, "browser_url": f"https://{sponsor}.example"}
        if not seen.v1:
            value |= given(capacity=state.get("capacity"), **{f"{own}:hidden": state.get("hidden")})
        else:
            names = {"origin_system": "originating_system", "title": "summary", "start_date": "start"}
            value = {names.get(key, key): one for key, one in value.items()}
            group = {"summary": sponsor, "url": group["browser_url"]}
            creator = self._resource(
                Seen("person", state["creator_id"], state["creator"], frozenset({"identifiers"}), True)
            )
            value["_embedded"] = {"osdi:creator": creator, "osdi:organizer": creator}
        return value | ({f"{own}:sponsor": group} if "sponsor" in seen.parts else {})

    def _person(self, state: State, language: str | None = None) -> State:
        """Write the data of a person; the last e-mail address is the primary one."""
        emails, places, phones = state.get("emails"), state.get("places"), state.get("phones")
        keys = "country", "region", "locality"
        return given(
            given_name=state.get("given_name"),
            family_name=state.get("family_name"),
            email_addresses=emails and [{"address": one, "primary": one == emails[-1]} for one in emails],
            phone_numbers=phones and [{"number": one, "status": "subscribed"} for one in phones],
            postal_addresses=places
            and [given(**dict(zip(keys, place, strict=True)), language=language) for place in places],
            languages_spoken=state.get("languages_spoken"),
            custom_fields=state.get("custom_fields"),
        )

    def _element(self, seen: Seen) -> State:
        siblings = {"idempotency_key": seen.message} if seen.message else {}
        if group := seen.state.get("sponsor"):
            siblings[f"{self.prefix}:sponsor"] = {"title": group, "url": f"https://{group}.example"}
        return {f"osdi:{seen.kind}": self._resource(seen)} | siblings

    # --- files ----------------------------------------------------------------------------------------

    def place(self, order: Callable[[list[Any]], list[Any]] = list, repeats: Iterable[Document] = ()) -> None:
        """Give each document its file, and each pull its folder; repeated documents get others."""
        for number, unit in enumerate(order([*self.documents, *self.pulls, *repeats])):
            if isinstance(unit, Pull):
                unit.folder = f"{number:02}"
                for line, document in enumerate(unit.documents, 1):
                    document.places.append((f"{number:02}/pages-0001.ndjson.gz", line))
            else:
                unit.places.append((f"{number:02}.ndjson", 1))

    def write(self, folder: Path) -> None:
        texts: dict[str, list[str]] = {}
        for document in self.all_documents:
            for file, _ in document.places:
                texts.setdefault(file, []).append(document.text + "\n")
        for pull in self.pulls:
            (folder / pull.folder).mkdir(parents=True)
            files = ("pages-0001.ndjson.gz",) if pull.documents else ()
            said = pull.address, pull.version, pull.campaigns, pull.started, pull.finished
            Manifest(folder / pull.folder, *said, tuple(pull.collections), files).write()
        for file, lines in texts.items():
            data = "".join(lines).encode()
            (folder / file).write_bytes(gzip.compress(data) if file.endswith(".gz") else data)

    @property
    def all_documents(self) -> list[Document]:
        return [*self.documents, *(document for pull in self.pulls for document in pull.documents)]


def address(kind: str, own_id: str, state: State, v1: bool) -> str:
    """Return the address of a thing in the API."""
    above = PARENTS.get(kind)
    parent = f"{TABLES[above]}/{state[f'{above}_id']}/" if above else ""
    return f"{BASE[v1]}/{parent}{TABLES[kind]}/{own_id}"


def _needed(names: Iterable[str], campaigns: tuple[str, ...] | None) -> list[str]:
    """Return the collections that a client reads, parents first."""
    wanted = {*names}
    wanted |= {"petitions"} if "signatures" in wanted else set()
    if wanted & {"events", "attendances"}:
        wanted |= {"events", "event_campaigns", "campaign_events"}
        if campaigns is not None:
            wanted -= {"event_campaigns", "events" if campaigns else "campaign_events"}
    order = "events", "event_campaigns", "campaign_events", "petitions", "signatures", "attendances", "people"
    return [name for name in order if name in wanted]


def _proved(pull: Pull) -> set[str]:
    """Return the kinds of which a pull has read everything."""
    whole = {done.name for done in pull.collections if done.complete and done.since is None}
    events = {"events", "event_campaigns", "campaign_events"}
    needed = {
        "event": events,
        "attendance": events | {"attendances"},
        "event_campaign": {"event_campaigns"},
        "petition": {"petitions"},
        "signature": {"petitions", "signatures"},
        "person": {"people"},
    }
    return {kind for kind, collections in needed.items() if collections <= whole}
