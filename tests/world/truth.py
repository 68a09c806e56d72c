"""What an archive of a world must say, by the world's states and by when each part of them was seen.

Versions are ordered by modified_date, by when they were seen, and by the order of reading.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tests.world.history import BASE, HOST, PARENTS, PERSON_PARTS, REFERRER, TABLES, Seen, World, address

Row = dict[str, Any]

OLDEST = datetime(1, 1, 1, tzinfo=UTC)
LOCATION = tuple(f"location_{name}" for name in ("country", "region", "locality"))
#: The columns of each part of a person.
COLUMNS = {
    "name": ("given_name", "family_name"),
    "email": ("email",),
    "phone": ("phone", "phone_status"),
    "location": LOCATION,
}


class Sighting(NamedTuple):
    """A version: a thing in a document of a file."""

    modified: datetime
    stamp: datetime
    place: tuple[str, int]
    position: int
    seen: Seen
    times: dict[str, datetime]


class Truth:
    """The rows of each table."""

    def __init__(self, world: World, *, people: bool = True) -> None:
        self.world = world
        self.versions: dict[tuple[str, str], list[Sighting]] = {}
        self.persons: dict[str, list[Sighting]] = {}
        """Versions of each person, as `Seen` of a person wherever one stands."""
        self.acted: dict[str, list[datetime]] = {}
        for document in world.all_documents:
            for place in document.places:
                for seen in document.seen:
                    self._note(seen, document.at, document.stamp, place)
        for some in (*self.versions.values(), *self.persons.values()):
            some.sort(key=lambda each: each[:4])
        self.people = {own_id: self._person(own_id) for own_id in self.persons}
        self.tables: dict[str, list[Row]] = {table: [] for table in TABLES.values()}
        for name in ("tags", "emails", "custom_fields"):
            self.tables[f"signature_{name}"] = []
        self.tables["event_people"] = []
        self.tables["people"] = [*self.people.values()]
        for kind in TABLES:
            for (which, own_id), versions in self.versions.items():
                if which == kind:
                    self._add(kind, own_id, versions, fills=people)

    # --- what was seen --------------------------------------------------------------------------------

    def _note(self, seen: Seen, at: datetime | None, stamp: str, place: tuple[str, int]) -> None:
        times = {stamp: at} if at else {}

        def sighting(of: Seen, modified: datetime | None) -> Sighting:
            return Sighting(modified or OLDEST, at or OLDEST, place, seen.position, of, times)

        if seen.kind != "person":
            made = sighting(seen, seen.state.get("modified_date"))
            self.versions.setdefault((seen.kind, seen.id), []).append(made)
        if seen.kind == "person":
            self.persons.setdefault(seen.id, []).append(sighting(seen, seen.state["modified_date"]))
        elif seen.kind == "event" and "people" in seen.parts:
            creator = seen.state["creator"]
            own = Seen("person", seen.state["creator_id"], creator, _parts(creator) | {"act", "identifiers"}, seen.v1)
            self.persons.setdefault(own.id, []).append(sighting(own, creator["modified_date"]))
        elif seen.kind in PARENTS and (person_id := seen.state.get("person_id")):
            self.acted.setdefault(person_id, []).append(seen.state["created_date"])
            some = self.persons.setdefault(person_id, [])
            if "person" in seen.parts:
                person = seen.state["person"]
                # It is no resource of its own: its `act` counts only where no other shows one.
                parts = frozenset({*_parts(person), "entered"})
                some.append(sighting(Seen("person", person_id, person, parts), person["modified_date"]))

    def gone_since(self, kind: str, versions: list[Sighting]) -> datetime | None:
        """Return the end of the first pull that proves a thing gone."""
        last = max((each.stamp for each in versions), default=OLDEST)
        later = [pull for pull in self.world.pulls if kind in pull.proves and pull.started > last > OLDEST]
        return min((pull.finished for pull in later if pull.finished), default=None)

    def _is_judged(self, seen: Seen) -> bool:
        """Return whether what lists a thing is known: a petition that is not may be of another key (interface 2.7)."""
        above = PARENTS.get(seen.kind)
        return above is None or (above, seen.state[f"{above}_id"]) in self.versions

    # --- rows -----------------------------------------------------------------------------------------

    def _add(self, kind: str, own_id: str, versions: list[Sighting], *, fills: bool) -> None:
        newest, row = versions[-1], {f"{kind}_id": own_id}
        row["gone_since"] = self.gone_since(kind, versions) if self._is_judged(newest.seen) else None
        row |= {"fetched_at": _latest(versions, "fetched_at"), "source_file": newest.place[0]}
        row |= {"source_line": newest.place[1], "modified_date": newest.seen.state.get("modified_date")}
        row["created_date"] = newest.seen.state.get("created_date")
        row["identifiers"] = _identifiers(newest.seen, self.world.prefix)
        row["self_url"] = _url(newest.seen)
        if kind in PARENTS:
            self._add_act(kind, row, versions, fills=fills)
        elif kind == "event":
            self._add_event(row, versions)
        else:
            totals = (
                {"total_signatures": newest.seen.state.get("total_signatures")} if kind == "petition" else {}
            )
            row |= {"title": newest.seen.state["title"]} | totals
        self.tables[TABLES[kind]].append(row)

    def _add_event(self, row: Row, versions: list[Sighting]) -> None:
        newest, sponsor, people = (_newest(versions, part) for part in ("act", "sponsor", "people"))
        assert newest
        state, v1 = newest.state, newest.v1
        country, region = state.get("place") or (None, None)
        title = sponsor and sponsor.state["sponsor"]
        row |= {key: state.get(key) for key in ("title", "start_date", "total_accepted", "event_campaign_id")}
        row |= {key: None if v1 else state.get(key) for key in ("capacity", "hidden")}
        row |= {"api_version": "v1" if v1 else "v2", "status": state.get("status", "confirmed")}
        row |= {"location_country": country, "location_region": region, "origin_system": "Sync"}
        row |= {"creator_id": state["creator_id"], "organizer_id": state["creator_id"]}
        row |= {"sponsor_title": title, "sponsor_url": title and f"https://{title}.example"}
        row["excluded"] = "cancelled" if row["status"] == "cancelled" else "hidden" if row["hidden"] else None
        row["excluded"] = "gone" if row["gone_since"] else row["excluded"]
        for role in ("creator", "organizer") if people else ():
            person, own_id = people.state["creator"], people.state["creator_id"]
            own = {"event_id": row["event_id"], "role": role, "person_id": own_id}
            dates = {key: person[key] for key in ("created_date", "modified_date")}
            names = _values(person, ("name", "email", "location"), own=True)
            url = address("person", own_id, {}, people.v1)
            self.tables["event_people"].append(own | dates | names | {"self_url": url})

    def _add_act(self, kind: str, row: Row, versions: list[Sighting], *, fills: bool) -> None:
        act, above = versions[-1].seen, PARENTS[kind]
        parts = {part: _newest(versions, part) for part in ("person", "tags", "referrer", "sponsor", "links")}
        delivered = [each.seen for each in versions if each.seen.message is not None]
        message = delivered[-1] if delivered else act
        row |= {"idempotency_key": message.message or None, "element": message.position}
        row["received_at"] = _latest(versions, "received_at")
        row |= {key: act.state.get(key) for key in (f"{above}_id", "person_id")}
        row["person_url"] = row["person_id"] and address("person", row["person_id"], {}, act.v1)
        row |= {"comments": act.state.get("comments")} if kind == "signature" else {}
        row |= {"status": act.state.get("status")} if kind == "attendance" else {}
        referrer, group = ((part := parts[name]) and part.state for name in ("referrer", "sponsor"))
        row |= {key: (referrer or {}).get(key) for key in REFERRER}
        row["sponsor_title"] = group and group["sponsor"]
        row["sponsor_url"] = group and f"https://{group['sponsor']}.example"
        tags = (part := parts["tags"]) and part.state["add_tags"]
        row["add_tags"] = tags
        person = (part := parts["person"]) and part.state["person"]
        person = person or {}
        row |= _values(person, tuple(COLUMNS))
        row |= {f"person_{key}": person.get(key) for key in ("created_date", "modified_date")}
        row["languages_spoken"] = person.get("languages_spoken")
        row["custom_fields"] = _compact(person.get("custom_fields"), sort=False)
        row["person_filled"] = (self._fill(row, person) if fills else None) or None
        row["excluded"] = self._why_excluded(kind, row)
        if kind == "signature":
            keys = {key: row[key] for key in ("idempotency_key", "element", "signature_id")}
            self.tables["signature_tags"] += [keys | {"tag": tag} for tag in tags or ()]
            for n, one in enumerate(emails := person.get("emails") or ()):
                entry = {"position": n, "primary": one == emails[-1], "address": one}
                self.tables["signature_emails"].append(keys | entry)
            for name, value in (person.get("custom_fields") or {}).items():
                self.tables["signature_custom_fields"].append(keys | {"name": name, "value": value})

    def _fill(self, row: Row, person: Row) -> list[str]:
        """Take from people what the act does not have; return what was taken."""
        known, filled = self.people.get(row["person_id"], {}), []
        for part, columns in COLUMNS.items():
            own = any(person.get(key) is not None for key in PERSON_PARTS[part])
            if not own and any(known.get(column) is not None for column in columns):
                row |= {column: known[column] for column in columns}
                filled.append(part)
        return filled

    def _why_excluded(self, kind: str, row: Row) -> str | None:
        dates = row["created_date"], row["modified_date"], *(row[key] for key in REFERRER)
        own = "test" if all(one is None for one in dates) else "gone" if row["gone_since"] else None
        if kind == "signature":
            return own
        events = {event["event_id"]: event["excluded"] for event in self.tables["events"]}
        is_accepted = row["status"] in (None, "accepted", "attended")
        return own or (None if is_accepted else "unaccepted") or events.get(row["event_id"])

    def _person(self, own_id: str) -> Row:
        versions = self.persons[own_id]
        act = [each for each in versions if "act" in each.seen.parts] or versions
        row: Row = {"person_id": own_id, "gone_since": self.gone_since("person", versions)}
        row |= {key: _latest(versions, key) for key in ("fetched_at", "received_at")}
        dates = [each.seen.state[key] for each in versions for key in ("created_date", "modified_date")]
        dates += self.acted.get(own_id, [])
        row |= {"first_seen": min(dates), "last_seen": max(dates)}
        state, seen = {}, act[-1].seen if act else None
        keys = ("created_date", "modified_date")
        row |= {key: seen.state[key] if seen else None for key in keys}
        row["identifiers"] = _identifiers(seen, self.world.prefix) if seen else None
        row["self_url"] = seen and address("person", own_id, {}, seen.v1)
        row |= dict(zip(("source_file", "source_line"), act[-1].place if act else (None, None), strict=True))
        custom: Row = {}
        for each in versions:
            custom |= each.seen.state.get("custom_fields") or {}
        for part, names in PERSON_PARTS.items():
            if found := _newest(versions, part):
                state |= {name: found.state.get(name) for name in names}
                # Only resources of their own have the language of an address.
                state |= {"own": "entered" not in found.parts} if part == "location" else {}
        row |= _values(state, tuple(COLUMNS), own=state.get("own", False))
        row["languages_spoken"] = state.get("languages_spoken")
        row["custom_fields"] = _compact(custom or None, sort=True)
        return row


def _parts(person: Row) -> frozenset[str]:
    """Return the parts of a person that hold something."""
    return frozenset(
        part for part, keys in PERSON_PARTS.items() if any(person.get(key) is not None for key in keys)
    )


def _newest(versions: list[Sighting], part: str) -> Seen | None:
    return next((each.seen for each in reversed(versions) if part in each.seen.parts), None)


def _latest(versions: Iterable[Sighting], stamp: str) -> datetime | None:
    return max((each.times[stamp] for each in versions if stamp in each.times), default=None)


def _identifiers(seen: Seen, prefix: str) -> list[str] | None:
    return [f"{prefix}:{seen.id}"] if "identifiers" in seen.parts else None


def _url(seen: Seen) -> str:
    assert HOST in BASE[seen.v1]
    return address(seen.kind, seen.id, seen.state, seen.v1)


def _values(person: Row, parts: Iterable[str], *, own: bool | None = None) -> Row:
    """Return the columns of some parts; `own` says whether it is a resource, None that there is no language."""
    row: Row = {}
    if "name" in parts:
        row |= {key: person.get(key) for key in COLUMNS["name"]}
    if "email" in parts:
        row["email"] = (person.get("emails") or [None])[-1]
    if "phone" in parts:
        row["phone"] = (person.get("phones") or [None])[0]
        row["phone_status"] = row["phone"] and "subscribed"
    if "location" in parts:
        place = (person.get("places") or [None])[0]
        row |= dict(zip(LOCATION, place or (None, None, None), strict=True))
        row |= {} if own is None else {"location_language": "en" if own and place else None}
    return row


def _compact(value: Any, *, sort: bool) -> str | None:
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort)
