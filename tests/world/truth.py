"""What an archive of a world must say: of each thing its parts, each as it was when that part was last shown.

Versions are ordered by modified_date, by when they were seen, and by the order of reading.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from tests.world.history import PARENTS, PERSON, REFERRER, TABLES, Document, Key, Pull, Seen, World, holding

Row = dict[str, Any]

OLDEST = datetime(1, 1, 1, tzinfo=UTC)
LOCATION = tuple(f"location_{name}" for name in ("country", "region", "locality"))
#: What an act takes from people, and its columns.
FILLED = {
    "name": PERSON["name"],
    "email": ("email",),
    "phone": ("phone", "phone_status"),
    "location": LOCATION,
}
DATES = ("created_date", "modified_date")
NOTHING = Seen("", "", {}, frozenset())


class Version(NamedTuple):
    """A thing in a document of a file; versions sort from the oldest."""

    modified: datetime
    stamp: datetime
    place: tuple[str, int]
    position: int
    seen: Seen
    document: Document

    @classmethod
    def of(cls, seen: Seen, document: Document, place: tuple[str, int]) -> Version:
        modified = seen.state.get("modified_date") or OLDEST
        return cls(modified, document.at or OLDEST, place, seen.position, seen, document)


class Truth:
    """The rows of each table."""

    def __init__(self, world: World, *, people: bool = True) -> None:
        self.world, self.fills = world, people
        self.versions: dict[Key, list[Version]] = {}
        self.acted: dict[str, list[datetime]] = {}
        for document in world.all_documents:
            for seen in document.seen:
                for place in document.places:
                    self._note(seen, document, place)
        for versions in self.versions.values():
            versions.sort(key=lambda version: version[:4])
        children = "signature_tags", "signature_emails", "signature_custom_fields", "event_people"
        self.tables: dict[str, list[Row]] = {table: [] for table in (*TABLES.values(), *children)}
        persons = {own_id for kind, own_id in self.versions if kind == "person"} | self.acted.keys()
        self.people = {own_id: self._person(own_id) for own_id in persons}
        self.tables["people"] = [*self.people.values()]
        for kind in TABLES:  # events before attendances, whose reasons are theirs
            for key in self.versions if kind != "person" else ():
                if key[0] == kind:
                    self.tables[TABLES[kind]].append(self._row(*key))

    def _note(self, seen: Seen, document: Document, place: tuple[str, int]) -> None:
        """Note a thing, and the persons that it shows."""
        self.versions.setdefault((seen.kind, seen.id), []).append(Version.of(seen, document, place))
        person_id = seen.state.get("person_id") if "links" in seen.parts else None
        state, parts = seen.state.get("person"), {"entered"}
        if person_id:
            self.acted.setdefault(person_id, []).append(seen.state["created_date"])
        if seen.kind == "event":
            person_id, state, parts = "p3", seen.state["creator"], {"identifiers"}
        if person_id and {"person", "people"} & seen.parts:
            shown = Seen(
                "person", person_id, state, frozenset(parts | holding(state)), seen.v1, seen.position
            )
            self._note(shown, document, place)

    def _last(self, key: Key, part: str) -> Seen:
        """Return what shows a part last; nothing, where nothing does."""
        shown = [version.seen for version in self.versions.get(key, ()) if part in version.seen.parts]
        return shown[-1] if shown else NOTHING

    def _known(self, key: Key, newest: Version | None, linked: Seen) -> Row:
        """Return what rows of all kinds have."""
        versions = self.versions.get(key, [])
        row: Row = {f"{key[0]}_id": key[1], "gone_since": self._gone_since(key[0], versions, linked)}
        for stamp in ("received_at", "fetched_at") if key[0] in (*PARENTS, "person") else ("fetched_at",):
            times = [each.stamp for each in versions if each.document.at and each.document.stamp == stamp]
            row[stamp] = max(times, default=None)
        place, seen = (newest.place, newest.seen) if newest else ((None, None), NOTHING)
        row |= dict(zip(("source_file", "source_line"), place, strict=True))
        row |= {name: seen.state.get(name) for name in DATES}
        row["identifiers"] = [f"{self.world.prefix}:{key[1]}"] if "identifiers" in seen.parts else None
        return row | {"self_url": (linked.kind and linked.address) or None}

    def _gone_since(self, kind: str, versions: list[Version], linked: Seen) -> datetime | None:
        """Return the end of the first pull that proves a thing gone.

        All pulls are of one account. It has to have listed the thing, or its parent in the pull or an earlier one.
        """
        above, stamps = PARENTS.get(kind), [version.stamp for version in versions if version.document.at]
        dates = [version.seen.state.get(name) or OLDEST for version in versions for name in DATES]
        parent = (above, linked.state[f"{above}_id"]) if above and linked.kind else None
        proving = [pull for pull in self.world.pulls if kind in pull.proves]
        if not self._listed_by(self.world.pulls, (kind, versions[0].seen.id) if versions else None):
            proving = [
                pull
                for pull in proving
                if self._listed_by((one for one in self.world.pulls if one.started <= pull.started), parent)
            ]
        last = max([*stamps, *dates], default=OLDEST)
        ends = [pull.finished for pull in proving if stamps and last < pull.started - timedelta(minutes=5)]
        return min(filter(None, ends), default=None)

    def _listed_by(self, pulls: Iterable[Pull], key: Key | None) -> bool:
        """Return whether a thing is an element of a page of some pulls, not just the person of an act or event."""
        pages = (document for pull in pulls for document in pull.documents)
        return any((seen.kind, seen.id) == key for document in pages for seen in document.seen)

    # --- rows -----------------------------------------------------------------------------------------

    def _row(self, *key: str) -> Row:
        newest, linked = self.versions[key][-1], self._last(key, "links")
        row = self._known(key, newest, linked)
        if key[0] in ("event", *PARENTS):
            return (self._event if key[0] == "event" else self._act)(row, key, newest.seen, linked)
        totals = {"total_signatures": newest.seen.state["total_signatures"]} if key[0] == "petition" else {}
        return row | {"title": newest.seen.state["title"]} | totals

    def _event(self, row: Row, key: Key, seen: Seen, linked: Seen) -> Row:
        state, people = seen.state, self._last(key, "people")
        for name in "title", "start_date", "total_accepted", "event_campaign_id", "status":
            row[name] = state.get(name)
        row |= {name: None if seen.v1 else state.get(name) for name in ("capacity", "hidden")}
        row |= dict(zip(LOCATION, state.get("place") or (None, None), strict=False))
        row |= dict.fromkeys(("creator_id", "organizer_id"), "p3" if linked.kind else None) | self._sponsor(
            key
        )
        for role in ("creator", "organizer") if people.kind else ():
            creator = people.state["creator"]
            person = {
                name: value for name, value in _columns(creator).items() if not name.startswith("phone")
            }
            person |= {
                "event_id": key[1],
                "role": role,
                "person_id": "p3",
                "self_url": people.of("person", "p3"),
            }
            person |= {"location_language": "en" if creator.get("places") else None}
            self.tables["event_people"].append(person | {name: creator[name] for name in DATES})
        cancelled = "cancelled" if row["status"] == "cancelled" else "hidden" if row["hidden"] else None
        return row | {"excluded": "gone" if row["gone_since"] else cancelled}

    def _act(self, row: Row, key: Key, seen: Seen, linked: Seen) -> Row:
        kind, above = key[0], PARENTS[key[0]]
        person, tags = (
            self._last(key, "person").state.get("person", {}),
            self._last(key, "tags").state.get("add_tags"),
        )
        deliveries = [each.seen for each in self.versions[key] if each.seen.message is not None]
        message, own = deliveries[-1] if deliveries else seen, "comments" if kind == "signature" else "status"
        row |= {
            "idempotency_key": message.message or None,
            "element": message.position,
            own: seen.state.get(own),
        }
        row |= {"attended": row["status"] == "attended"} if kind == "attendance" else {}
        for name in above, "person":
            row[f"{name}_id"] = linked.state.get(f"{name}_id")
            row[f"{name}_url"] = linked.of(name, row[f"{name}_id"])
        row |= {name: self._last(key, "referrer").state.get(name) for name in REFERRER} | self._sponsor(key)
        row |= _columns(person) | {f"person_{name}": person.get(name) for name in DATES} | {"add_tags": tags}
        emails, fields = person.get("emails") or [], person.get("custom_fields") or {}
        row |= {"languages_spoken": person.get("languages_spoken"), "custom_fields": _json(fields)}
        row["person_filled"] = self._fill(row, holding(person)) or None
        row["excluded"] = self._why_excluded(row)
        if kind == "signature":
            keys = {name: row[name] for name in ("idempotency_key", "element", "signature_id")}
            self.tables["signature_tags"] += [keys | {"tag": tag} for tag in tags or ()]
            self.tables["signature_custom_fields"] += [
                keys | {"name": name, "value": fields[name]} for name in fields
            ]
            entries = [
                {"position": n, "primary": one == emails[-1], "address": one} for n, one in enumerate(emails)
            ]
            self.tables["signature_emails"] += [keys | entry for entry in entries]
        return row

    def _sponsor(self, key: Key) -> Row:
        group = self._last(key, "sponsor").state.get("sponsor")
        return {"sponsor_title": group, "sponsor_url": group and f"https://{group}.example"}

    def _fill(self, row: Row, own: Iterable[str]) -> list[str]:
        """Take from people what an act lacks; return what was taken."""
        known = self.people.get(row["person_id"], {}) if self.fills else {}
        filled = [
            part
            for part in FILLED
            if part not in own and any(known.get(name) is not None for name in FILLED[part])
        ]
        row |= {name: known[name] for part in filled for name in FILLED[part]}
        return filled

    def _why_excluded(self, row: Row) -> str | None:
        if all(row[name] is None for name in (*DATES, *REFERRER)):
            return "test"
        if row["gone_since"] or row.get("status") not in (None, "accepted", "attended"):
            return "gone" if row["gone_since"] else "unaccepted"
        events = {event["event_id"]: event["excluded"] for event in self.tables["events"]}
        return events.get(row.get("event_id"))

    def _person(self, own_id: str) -> Row:
        key = "person", own_id
        versions = self.versions.get(key, [])
        own = [version for version in versions if "entered" not in version.seen.parts] or versions
        row = self._known(key, own[-1] if own else None, own[-1].seen if own else NOTHING)
        dates = [version.seen.state[name] for version in versions for name in DATES] + self.acted.get(
            own_id, []
        )
        row |= {"first_seen": min(dates), "last_seen": max(dates)}
        newest = {part: self._last(key, part) for part in PERSON}
        person = {name: newest[part].state.get(name) for part, names in PERSON.items() for name in names}
        row |= _columns(person)
        # The address that somebody entered has no language.
        has_language = person["places"] and "entered" not in newest["location"].parts
        row["location_language"] = "en" if has_language else None
        fields: Row = {}
        for version in versions:
            fields |= version.seen.state.get("custom_fields") or {}
        return row | {
            "languages_spoken": person["languages_spoken"],
            "custom_fields": _json(dict(sorted(fields.items()))),
        }


def _columns(person: Row) -> Row:
    """Return the columns of what an act takes from people."""
    place, phone = (person.get("places") or [(None,) * 3])[0], (person.get("phones") or [None])[0]
    row: Row = {name: person.get(name) for name in PERSON["name"]} | dict(zip(LOCATION, place, strict=True))
    return row | {
        "email": (person.get("emails") or [None])[-1],
        "phone": phone,
        "phone_status": phone and "subscribed",
    }


def _json(fields: Row | None) -> str | None:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) if fields else None
