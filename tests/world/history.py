"""A small world: what happens in it, and what documents show of it.

Several keys list it: one that was replaced by another, that of a group that sees a part, one that no manifest names.
A state is never changed in place, so what a document shows stays what it was.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from .documents import (
    API,
    KEYS,
    LINKS,
    NOT_COMING,
    NOT_EMBEDDED,
    PARENTS,
    PERSON,
    REFERRER,
    SECOND,
    START,
    TABLES,
    WITH_PLAIN_IDS,
    WITHOUT_LINK,
    Document,
    Key,
    Pull,
    Seen,
    State,
    entered,
    given,
    holding,
    iso,
    joined,
)


class World:
    """Three people, two petitions, two campaigns, three events."""

    def __init__(self, prefix: str = "platform", joint: str = ":") -> None:
        self.prefix, self.now = prefix, START
        self.own_keys = f"{prefix}{joint}"
        """How the service's own keys begin; warehouses write them with an underscore."""
        self.things: dict[Key, State] = {}
        self.deleted: set[Key] = set()
        self.unseen: set[Key] = {
            ("petition", "t2"),
            ("event", "e3"),
            ("person", "p2"),
            ("event_campaign", "c2"),
        }
        """What the group's key does not list."""
        self.absences: list[tuple[datetime, dict[str, frozenset[Key]]]] = []
        """From when on each key does not list what."""
        self.documents: list[Document] = []
        self.pulls: list[Pull] = []
        self.outbox: list[Seen] = []
        self.messages = 0
        self.history: list[str] = []
        for number in "1234":
            self.make("person", f"p{number}", given_name=f"P{number}", emails=[f"p{number}@old.example"])
        for number in "12":
            self.make("petition", f"t{number}", title=f"Petition {number}")
            self.make("event_campaign", f"c{number}", title=f"Campaign {number}")
        for number, campaign in ("1", "c1"), ("2", "c1"), ("3", None):
            start = datetime(2026, 3, int(number), 18)  # noqa: DTZ001 (the clock at the place)
            own = {"event_campaign_id": campaign, "start_date": start, "by_campaign_only": number == "2"}
            self.make("event", f"e{number}", title=f"Event {number}", **own)
        self.count()
        self._note_absences()

    # --- what happens ---------------------------------------------------------------------------------

    def hide(self, key: Key, *, for_group: bool = False) -> bool:
        """Delete something or bring it back, for all or for the key of a group; return whether it is gone."""
        absent = self.unseen if for_group else self.deleted
        absent ^= {key}
        self._note_absences()
        self.count()
        return key in absent

    def _note_absences(self) -> None:
        hidden = frozenset(self.deleted)
        self.absences.append((self.now, dict.fromkeys(KEYS, hidden) | {"group": hidden | self.unseen}))

    def was_absent(self, key: Key, pull: Pull) -> bool:
        """Return whether a pull could find that its key lists something no more, or that to which it belongs."""
        keys, state = {key}, self.things[key]
        if above := PARENTS.get(key[0]):
            keys |= {(above, state[f"{above}_id"])}
            state = self.things[above, state[f"{above}_id"]]
        if state.get("by_campaign_only"):
            keys |= {("event_campaign", state["event_campaign_id"])}
        ends = [at for at, _ in self.absences[1:]] + [self.now + SECOND]
        return any(
            keys & hidden[pull.key]
            for (at, hidden), end in zip(self.absences, ends, strict=True)
            if at <= (pull.finished or at) and end >= pull.started
        )

    def tick(self, wait: timedelta = SECOND) -> datetime:
        self.now += wait
        return self.now

    def make(self, kind: str, own_id: str, **state: Any) -> None:
        now = self.tick()
        self.things[kind, own_id] = {"created_date": now, "modified_date": now} | state

    def change(self, kind: str, own_id: str, **values: Any) -> None:
        self.things[kind, own_id] = self.things[kind, own_id] | values | {"modified_date": self.tick()}
        self.count()

    def act(self, kind: str, person: str, parent: str, said: State, **values: Any) -> None:
        """Let a person sign or RSVP, entering some data, once or again.

        The service keeps of it what holds something. Then the message for the webhook waits in the outbox.
        """
        kept = [key for part in entered(said) for key in PERSON[part] if said.get(key)]
        self.change("person", person, **{key: said[key] for key in kept})
        dates = {key: self.things["person", person][key] for key in ("created_date", "modified_date")}
        key, now = (kind, f"{kind[0]}{person}{parent}"), self.tick()
        links = {"person_id": None if person == WITHOUT_LINK else person, f"{PARENTS[kind]}_id": parent}
        state = self.things.get(key, {"created_date": now}) | {"modified_date": now} | links | values
        state["person"] = said and said | dates
        self.things[key] = state
        self.deleted.discard(key)
        self._note_absences()
        self.count()
        parts = {"act", *LINKS, "identifiers", *(["person"] if said else [])}
        parts |= {"tags"} if state.get("add_tags") is not None else set()
        parts |= {"sponsor"} if state.get("sponsor") else set()
        parts |= {"referrer"} if any(state.get(key) is not None for key in REFERRER) else set()
        self.outbox.append(Seen(*key, state, frozenset(parts)))

    def count(self) -> None:
        """Keep the service's totals; they leave modified_date alone."""
        for key, state in self.things.items():
            if key[0] == "petition":
                signed = self.listed("signature", petition_id=key[1])
                self.things[key] = state | {"total_signatures": len(signed)}
            if key[0] == "event":
                acts = [self.things[act] for act in self.listed("attendance", event_id=key[1])]
                coming = [act for act in acts if joined(act.get("status")) not in NOT_COMING]
                self.things[key] = state | {"total_accepted": len(coming)}

    def listed(self, kind: str, by: str = KEYS[0], **of: Any) -> list[Key]:
        """Return what the service lists of a kind, by a key."""
        above, found = PARENTS.get(kind), []
        hidden = {("person", WITHOUT_LINK), *self.deleted, *(self.unseen if by == "group" else ())}
        for key, state in self.things.items():
            is_there = not hidden & {key, (above, state.get(f"{above}_id"))}
            if key[0] == kind and is_there and all(state[name] == value for name, value in of.items()):
                found.append(key)
        return found

    # --- what is seen of it ---------------------------------------------------------------------------

    def deliver(
        self, *, bare: bool = False, again: Iterable[timedelta] = (), slow: timedelta = timedelta()
    ) -> None:
        """Send what waits as one message; `again` are the waits before its retries, `slow` is the receiver's clock."""
        self.messages += 1
        self.tick()
        key = "" if bare else f"k{self.messages}"
        seen = [each._replace(position=n, message=key) for n, each in enumerate(self.outbox)]
        body = [self._element(each) for each in seen]
        for wait in (timedelta(), *again):
            at = None if bare else self.now + wait - slow + timedelta(microseconds=self.messages)
            self.documents.append(Document(body, seen, at, "received_at"))

    def test(self) -> None:
        """Press "send test"."""
        state = {"petition_id": "t1", "person": {"emails": ["test@example.org"]}, "add_tags": ["test"]}
        parts = frozenset({"act", *LINKS, "person", "tags"})
        seen = Seen("signature", "test", state, parts, message="test")
        self.documents.append(Document([self._element(seen)], [seen], self.tick(), "received_at"))

    def page(
        self, keys: list[Key], *, v1: bool = False, form: str = "page", hides: Iterable[str] = ()
    ) -> None:
        """Fetch some things, as a page or single; `hides` are parts that are left out."""
        seen = [self._shown(key, n, v1, hides) for n, key in enumerate(keys)]
        fetched = [(self._page(seen), seen)]
        if "single" in form:
            fetched = [(self._resource(each), [each._replace(position=0)]) for each in seen]
        for body, some in fetched:
            self.documents.append(Document(body, some, None if "bare" in form else self.tick()))

    def pull(
        self,
        names: Iterable[str] = TABLES.values(),
        *,
        amid: Mapping[str, Callable[[], None]] | None = None,
        killed: bool = False,
        **asked: Any,
    ) -> Pull:
        """Pull collections; `amid` says what happens after one was read."""
        pull = Pull(self.tick(), [*names], **asked)
        self.pulls.append(pull)
        for name in pull.needed:
            self._read(pull, name)
            (amid or {}).get(name, lambda: None)()
        pull.finished = None if killed else self.tick()
        return pull

    def _read(self, pull: Pull, name: str) -> None:
        """Read the lists of a collection, two rows a page."""
        pull.found[name] = []
        pull.incomplete |= {name} & {pull.lacks}
        since = pull.since_of(name) or START
        for path, keys in self._lists(pull, name) if pull.names else ():
            rows = [key for key in keys if self.things[key]["modified_date"] > since]
            rows = rows[:-1] if name == pull.lacks else rows
            pull.found[name] += rows
            for number, start in enumerate(range(0, len(rows), 2), 1):
                seen = [self._shown(key, n, pull.v1) for n, key in enumerate(rows[start : start + 2])]
                url = f"{API[pull.v1]}/{path}?page={number}"
                pull.documents.append(Document(self._page(seen), seen, self.tick(), url=url))

    def _lists(self, pull: Pull, name: str) -> Iterable[tuple[str, list[Key]]]:
        """Yield the address of each list, and what is in it."""
        path, kind = pull.path(name), next(kind for kind, table in TABLES.items() if name.endswith(table))
        above = path.partition("/{id}/")[0]
        if above == path:
            rows = self.listed(kind, pull.key)
            yield path, [key for key in rows if not self.things[key].get("by_campaign_only")]
            return
        parents = {key: None for each in pull.found if each.endswith(above) for key in pull.found[each]}
        if name == "campaign_events" and pull.campaigns:
            parents = dict.fromkeys(("event_campaign", own_id) for own_id in pull.campaigns)
        for key in parents:
            if key not in self.listed(key[0], pull.key):  # since its list was read
                pull.incomplete.add(name)
                continue
            campaign = (
                self.things[key]["event_campaign_id"] if self.things[key].get("by_campaign_only") else None
            )
            below = path.replace("{id}", key[1])
            rows = self.listed(kind, pull.key, **{f"{key[0]}_id": key[1]})
            yield f"event_campaigns/{campaign}/{below}" if campaign else below, rows

    # --- documents ------------------------------------------------------------------------------------

    def _shown(self, key: Key, position: int, v1: bool, hides: Iterable[str] = ()) -> Seen:
        """Return what the API shows of a thing as it is now."""
        state, parts = self.things[key], {"act", "identifiers", "links"}
        if key[0] in PARENTS:
            parts |= {"referrer", *LINKS}
        if key[0] == "person":
            parts |= holding(state)
        if key[0] == "event":
            parts |= ({"sponsor"} if state.get("sponsor") else set()) | ({"people"} if v1 else set())
            creator = self.things["person", "p3"]
            state = state | {"creator": {name: creator[name] for name in creator if name not in NOT_EMBEDDED}}
        return Seen(*key, state, frozenset(parts - {*hides}), v1, position)

    def _page(self, seen: list[Seen]) -> State:
        kind = seen[0].kind
        collection = f"{self.prefix if kind == 'event_campaign' else 'osdi'}:{TABLES[kind]}"
        return {"page": 1, "_embedded": {collection: [self._resource(each) for each in seen]}}

    def _element(self, seen: Seen) -> State:
        group = seen.state.get("sponsor")
        sponsor = {"title": group, "url": f"https://{group}.example"} if group else None
        siblings = given(idempotency_key=seen.message or None, **{f"{self.own_keys}sponsor": sponsor})
        return {f"osdi:{seen.kind}": self._resource(seen)} | siblings

    def _resource(self, seen: Seen) -> State:
        """Write a thing as the API or a webhook does."""
        state, kind, v1 = seen.state, seen.kind, seen.v1
        value = given(
            id=seen.id if seen.parent in WITH_PLAIN_IDS else None,
            identifiers=[f"{self.prefix}:{seen.id}"]
            if seen.has_address and "identifiers" in seen.parts
            else None,
            **{"created_at" if v1 else "created_date": iso(state.get("created_date"))},
            **{"modified_at" if v1 else "modified_date": iso(state.get("modified_date"))},
        )
        links = {"self": {"href": seen.address}} if seen.has_address else {}
        if kind == "person":
            value |= self._person(state, language="en")
        else:
            write = self._event if kind == "event" else self._act if kind in PARENTS else self._titled
            value |= write(seen, links)
        return value | ({"_links": links} if "links" in seen.parts else {})

    def _titled(self, seen: Seen, _: State) -> State:
        title = {"summary" if seen.v1 else "title": seen.state["title"]}
        return title | given(total_signatures=seen.state.get("total_signatures"))

    def _act(self, seen: Seen, links: State) -> State:
        state, own, is_page, value = seen.state, self.own_keys, seen.message is None, {}
        for kind in (PARENTS[seen.kind], "person"):
            own_id = state.get(f"{kind}_id")
            if own_id and (kind != "person" or "link to the person" in seen.parts):
                name = "people" if seen.v1 and kind == "person" else kind
                links[f"osdi:{name}"] = {"href": seen.of(kind, own_id)}
                value |= {f"{own}{kind}_id": own_id} if is_page and "links" in seen.parts else {}
        if "referrer" in seen.parts:  # the API writes what stands for no value
            absent = {"source": "none", "website": "api"} if is_page else {}
            value[f"{own}referrer_data"] = absent | given(**{key: state.get(key) for key in REFERRER})
        if "person" in seen.parts:
            dates = {key: iso(state["person"].get(key)) for key in ("created_date", "modified_date")}
            value["person"] = self._person(state["person"]) | given(**dates)
        tags = None if is_page else state.get("add_tags")
        return value | given(comments=state.get("comments"), status=state.get("status"), add_tags=tags)

    def _event(self, seen: Seen, links: State) -> State:
        state, own, group = seen.state, self.own_keys, seen.state.get("sponsor")
        links["osdi:creator"] = links["osdi:organizer"] = {"href": seen.of("person", "p3")}
        place = state.get("place") and given(**dict(zip(("country", "region"), state["place"], strict=True)))
        names = ("summary", "start", "url") if seen.v1 else ("title", "start_date", "browser_url")
        values = state["title"], f"{state['start_date']:%Y-%m-%dT%H:%M:%SZ}"
        value = dict(zip(names, values, strict=False)) | given(location=place, status=state.get("status"))
        value |= given(total_accepted=state["total_accepted"])
        value |= given(**{f"{own}event_campaign_id": state["event_campaign_id"]})
        if "sponsor" in seen.parts:
            value[f"{own}sponsor"] = {names[0]: group, names[2]: f"https://{group}.example"}
        if not seen.v1:
            return value | given(capacity=state.get("capacity"), **{f"{own}hidden": state.get("hidden")})
        creator = self._resource(
            Seen("person", "p3", state["creator"], frozenset({"identifiers", "links"}), v1=True)
        )
        return value | {"_embedded": {"osdi:creator": creator, "osdi:organizer": creator}}

    def _person(self, state: State, language: str | None = None) -> State:
        """Write the data of a person; the last e-mail address is the primary one.

        Entries can lack their value: an address is then an empty text, a number None.
        """
        emails, places, phones = (state.get(key) for key in ("emails", "places", "phones"))
        keys = "country", "region", "locality"
        addresses = [dict(zip(keys, place, strict=True)) for place in places or ()]
        return given(
            email_addresses=emails and [{"address": one, "primary": one == emails[-1]} for one in emails],
            phone_numbers=phones and [given(number=one, status="subscribed") for one in phones],
            postal_addresses=places and [given(**one, language=language) for one in addresses],
            **{key: state.get(key) for key in (*PERSON["name"], "languages_spoken", "custom_fields")},
        )

    # --- files ----------------------------------------------------------------------------------------

    @property
    def all_documents(self) -> list[Document]:
        return [*self.documents, *(document for pull in self.pulls for document in pull.documents)]

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
        folder.mkdir(exist_ok=True)
        for pull in self.pulls:
            pull.write(folder)
        texts: dict[str, str] = {}
        for document in self.all_documents:
            for file, _ in document.places:
                texts[file] = f"{texts.get(file, '')}{document.text}\n"
        for file, text in texts.items():
            data = text.encode()
            (folder / file).write_bytes(gzip.compress(data) if file.endswith(".gz") else data)
