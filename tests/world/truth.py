"""What an archive of a world must say: of each thing its parts, each as it was when that part was last shown.

Versions are ordered by modified_date, by when they were seen, and by the order of reading.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from tests.world.documents import (
    CAME,
    LINKS,
    NOT_COMING,
    PARENTS,
    PERSON,
    REFERRER,
    TABLES,
    WITHOUT_IDS,
    Document,
    Key,
    Pull,
    Seen,
    entered,
    joined,
)
from tests.world.history import World

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
LATEST = datetime.max.replace(tzinfo=UTC)
#: How much the clocks of services and receivers differ, and for how long a key that pulls no more has a say.
SLOW_CLOCKS, REPLACED = timedelta(minutes=5), timedelta(days=30)
OF_PART = FILLED | {"location": (*LOCATION, "location_language")}
#: A text of the package.
SALT = "osdi-frames person known by an e-mail address: "
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


def _voters(pulls: list[Pull]) -> set[str]:
    """Return the keys that have pulled the service lately."""
    ends = {pull.finished: pull.key for pull in pulls if pull.votes and pull.finished}
    return {key for end, key in ends.items() if end >= max(ends) - REPLACED}


def _identity(version: Version) -> Any:
    """Return what tells a thing from others: its id, else what it says, else its message and place in it."""
    seen = version.seen
    if seen.parent not in WITHOUT_IDS:
        return seen.id
    state, shows_links = seen.state, "links" in seen.parts
    person = state.get("person_id") if _names_doer(seen) else None
    [*shown] = _persons([version])
    person = person or (shown and _address(_newest(shown, "email").state))
    content = (
        person,
        shows_links and seen.parent,
        state.get("created_date") if seen.kind == "signature" else True,
    )
    if all(content):
        return content
    return (seen.message, seen.position) if seen.message else (*version.place, seen.position)


def _names_doer(seen: Seen) -> bool:
    """Tell whether an act is shown with a link to its person, below its links."""
    return {*LINKS} <= seen.parts and bool(seen.state.get("person_id"))


def _persons(versions: Iterable[Version]) -> list[Version]:
    """Return what versions of an act show of its person."""
    return [
        Version.of(
            Seen("person", "", state, frozenset({"entered", *entered(state)}), position=version.position),
            version.document,
            version.place,
        )
        for version in versions
        if "person" in version.seen.parts
        for state in [version.seen.state["person"]]
    ]


def _newest(versions: Iterable[Version], part: str) -> Seen:
    """Return what shows a part of a person newest.

    Where others show more in addition to the same, it is the fullest of these, and of those the newest.
    """
    shown = [version.seen for version in versions if part in version.seen.parts]
    if not shown:
        return NOTHING
    own = _cells(shown[-1], part)
    fuller = [seen for seen in shown if own and _cells(seen, part).items() > own.items()]
    most = max((len(_cells(seen, part)) for seen in fuller), default=0)
    return [seen for seen in fuller if len(_cells(seen, part)) == most][-1] if fuller else shown[-1]


def _of_parts(newest: dict[str, Seen], kept: Seen) -> Row:
    """Return the data of a person by parts; where nothing shows one, that of what is kept."""
    return {
        name: (newest[part] if newest[part].kind else kept).state.get(name)
        for part, names in PERSON.items()
        for name in names
    }


def _cells(seen: Seen, part: str) -> Row:
    """Return the columns of a part that have a value, without regard to case and whitespace around it."""
    row = _columns(seen.state)
    row["location_language"] = "en" if seen.state.get("places") and "entered" not in seen.parts else None
    return _texts(row, OF_PART.get(part, ()))


def _texts(row: Row, names: Iterable[str]) -> Row:
    values = {name: row.get(name) for name in names}
    return {name: text.strip().casefold() for name, text in values.items() if text and text.strip()}


def _address(person: Row) -> str | None:
    """Return the e-mail address by which a person is known."""
    address = _columns(person)["email"]
    return address.strip().casefold() if address and address.strip() else None


def id_by_address(address: str) -> str:
    """Return the id of somebody without one."""
    return f"email:{hashlib.sha256((SALT + address).encode()).hexdigest()[:32]}"


def _times(version: Version) -> Iterable[datetime]:
    """Return when a version shows that its thing was there."""
    dates = (version.seen.state.get(name) for name in DATES)
    return (time for time in (*dates, version.document.at) if time)


class Truth:
    """The rows of each table."""

    def __init__(self, world: World, *, people: bool = True) -> None:
        self.world, self.fills = world, people
        self.pulls = {document: pull for pull in world.pulls for document in pull.documents}
        self.voters = _voters(world.pulls)
        self.versions: dict[Key, list[Version]] = {}
        self.acted: dict[str, list[datetime]] = {}
        for document in world.all_documents:
            for seen in document.seen:
                for place in document.places:
                    self._note(Version.of(seen, document, place))
        self._sort()
        self.doers = self._doers()
        for key, person_id in self.doers.items():
            for version in self.versions[key] if person_id else ():
                self._note_doer(version, person_id)
        self._sort()
        children = "signature_tags", "signature_emails", "signature_custom_fields", "event_people"
        self.tables: dict[str, list[Row]] = {table: [] for table in (*TABLES.values(), *children)}
        self.parents: dict[int, Row] = {}
        """The rows that rows of child tables belong to, which need not have an id, by `id` of the child."""
        persons = {own_id for kind, own_id in self.versions if kind == "person"} | self.acted.keys()
        self.carried: dict[str, set[str]] = {}
        """The parts of each person that some version shows."""
        self.people = {own_id: self._person(own_id) for own_id in persons}
        self.tables["people"] = [*self.people.values()]
        for kind in TABLES:  # events before attendances, whose reasons are theirs
            for key in self.versions if kind != "person" else ():
                if key[0] == kind:
                    self.tables[TABLES[kind]].append(self._row(*key))

    def _note(self, version: Version) -> None:
        """Note a thing, and the person that an event embeds."""
        seen = version.seen
        self.versions.setdefault((seen.kind, _identity(version)), []).append(version)
        if seen.kind == "event" and "people" in seen.parts:
            state = seen.state["creator"]
            parts = frozenset({"identifiers", "embedded", "links", *entered(state)})
            creator = seen._replace(kind="person", id="p3", state=state, parts=parts)
            self._note(Version.of(creator, version.document, version.place))

    def _note_doer(self, version: Version, person_id: str) -> None:
        """Note a version of an act as one of the person that the act has after all."""
        if date := version.seen.state.get("created_date"):
            self.acted.setdefault(person_id, []).append(date)
        for person in _persons([version]):
            is_linked = _names_doer(version.seen) and version.seen.state.get("person_id") == person_id
            parts = person.seen.parts | ({"links"} if is_linked else set())
            shown = person._replace(seen=person.seen._replace(id=person_id, parts=parts))
            self.versions.setdefault(("person", person_id), []).append(shown)

    def _sort(self) -> None:
        for versions in self.versions.values():
            versions.sort(key=lambda version: version[:4])

    def _doers(self) -> dict[Key, str]:
        """Return the person of each act that has one: by its link, else who alone has its e-mail address, else that."""
        keys = [key for key in self.versions if key[0] in PARENTS]
        doers = {key: self._linked_doer(key).state.get("person_id") for key in keys}
        owners: dict[str | None, set[str]] = {}
        for key, versions in self.versions.items():
            is_act, person_id = key in doers, doers.get(key, key[1] if key[0] == "person" else None)
            for version in (_persons(versions) if is_act else versions) if person_id else ():
                owners.setdefault(_address(version.seen.state), set()).add(person_id)
        for key in keys:
            address = _address(_newest(_persons(self.versions[key]), "email").state)
            if not doers[key] and address:
                alone = owners.get(address, set())
                doers[key] = min(alone) if len(alone) == 1 else id_by_address(address)
        return {key: person_id for key, person_id in doers.items() if person_id}

    def _linked_doer(self, key: Key) -> Seen:
        """Return what links the person of an act last; nothing, where nothing does."""
        shown = [version.seen for version in self.versions[key] if _names_doer(version.seen)]
        return shown[-1] if shown else NOTHING

    def _last(self, key: Key, part: str) -> Seen:
        """Return what shows a part last; nothing, where nothing does."""
        shown = [version.seen for version in self.versions.get(key, ()) if part in version.seen.parts]
        return shown[-1] if shown else NOTHING

    def _known(self, key: Key, newest: Version | None, linked: Seen) -> Row:
        """Return what rows of all kinds have."""
        versions = self.versions.get(key, [])
        own_id = key[1] if isinstance(key[1], str) else None
        gone = self._gone_since(key[0], versions, linked) if own_id else None
        row: Row = {f"{key[0]}_id": own_id, "gone_since": gone}
        for stamp in ("received_at", "fetched_at") if key[0] in (*PARENTS, "person") else ("fetched_at",):
            times = [each.stamp for each in versions if each.document.at and each.document.stamp == stamp]
            row[stamp] = max(times, default=None)
        place, seen = (newest.place, newest.seen) if newest else ((None, None), NOTHING)
        row |= dict(zip(("source_file", "source_line"), place, strict=True))
        row |= {name: seen.state.get(name) for name in DATES}
        has_own = "identifiers" in seen.parts and seen.has_address
        row["identifiers"] = [f"{self.world.prefix}:{key[1]}"] if has_own else None
        return row | {"self_url": linked.address if linked.kind and linked.has_address else None}

    def _gone_since(self, kind: str, versions: list[Version], linked: Seen) -> datetime | None:
        """Return the end of the first pull that proves a thing gone, of the last key that had to.

        Keys answer for what they have listed; where none has that still pulls, those answer that have listed what an
        act belongs to (interface 2.7).
        """
        times = [time for version in versions for time in _times(version)]
        if not any(version.document.at for version in versions):
            return None
        listing = self._listing(versions).keys() & self.voters
        since = dict.fromkeys(listing, OLDEST)
        if above := PARENTS.get(kind) if linked.kind and linked.has_address and not listing else None:
            listed = self._listing(self.versions.get((above, linked.state[f"{above}_id"]), []))
            since = {key: pull.started for key, pull in listed.items() if key in self.voters}
        ends = [
            min(
                (
                    pull.finished
                    for pull in self.world.pulls
                    if pull.key == key and kind in pull.proves and pull.finished
                    if max(times) < pull.started - SLOW_CLOCKS and pull.started >= since[key]
                ),
                default=LATEST,
            )
            for key in since
        ]
        gone = max(ends, default=LATEST)
        if gone == LATEST:
            return None
        [last] = [pull for pull in self.world.pulls if pull.finished == gone]
        own = kind, versions[-1].seen.id
        assert own not in self.world.things or self.world.was_absent(own, last), (own, "is there")
        return gone

    def _listing(self, versions: list[Version]) -> dict[str, Pull]:
        """Return which keys have listed a thing, and in which pull each of them did first."""
        found: dict[str, Pull] = {}
        for version in versions:
            pull = self.pulls.get(version.document)
            if pull and not {"entered", "embedded"} & version.seen.parts:
                before = found.setdefault(pull.key, pull)
                found[pull.key] = min(before, pull, key=lambda each: each.started)
        return found

    # --- rows -----------------------------------------------------------------------------------------

    def _row(self, *key: Any) -> Row:
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
            self._add_children(row, "event_people", [person | {name: creator[name] for name in DATES}])
        is_cancelled = joined(row["status"]) in ("cancelled", "canceled", "rejected", "deleted")
        cancelled = "cancelled" if is_cancelled else "hidden" if row["hidden"] else None
        row["excluded"] = "gone" if row["gone_since"] else cancelled
        return row

    def _act(self, row: Row, key: Key, seen: Seen, linked: Seen) -> Row:
        kind, above = key[0], PARENTS[key[0]]
        tags = self._last(key, "tags").state.get("add_tags")
        deliveries = [each.seen for each in self.versions[key] if each.seen.message is not None]
        message, own = deliveries[-1] if deliveries else seen, "comments" if kind == "signature" else "status"
        row |= {
            "idempotency_key": message.message or None,
            "element": message.position,
            own: seen.state.get(own),
        }
        if kind == "attendance":
            row |= {"attended": row["status"] == "attended", "amount": None, "currency": None}
        for name, shown in (above, linked), ("person", self._linked_doer(key)):
            row[f"{name}_id"] = shown.state.get(f"{name}_id")
            row[f"{name}_url"] = shown.of(name, row[f"{name}_id"])
        row["person_id"] = self.doers.get(key)
        row |= {name: self._last(key, "referrer").state.get(name) for name in REFERRER} | self._sponsor(key)
        shown = _persons(self.versions[key])
        kept = _persons(self.versions[key][-1:])
        newest = {part: _newest(shown, part) for part in PERSON}
        person = _of_parts(newest, kept[0].seen if kept else NOTHING)
        dated = shown[-1].seen.state if shown else {}
        row |= _columns(person) | {f"person_{name}": dated.get(name) for name in DATES} | {"add_tags": tags}
        emails, fields = person.get("emails") or [], person.get("custom_fields") or {}
        row |= {"languages_spoken": person.get("languages_spoken"), "custom_fields": _json(fields)}
        row["person_filled"] = self._fill(row, [part for part in newest if newest[part].kind]) or None
        if kind == "attendance":
            row["attended"] = joined(row["status"]) in CAME
        row["excluded"] = self._why_excluded(row)
        if kind == "signature":
            keys = {name: row[name] for name in ("idempotency_key", "element", "signature_id")}
            self._add_children(row, "signature_tags", [keys | {"tag": tag} for tag in tags or ()])
            values = [keys | {"name": name, "value": fields[name]} for name in fields]
            self._add_children(row, "signature_custom_fields", values)
            entries = [
                {"position": n, "primary": one == emails[-1], "address": one} for n, one in enumerate(emails)
            ]
            self._add_children(row, "signature_emails", [keys | entry for entry in entries])
        return row

    def _add_children(self, parent: Row, table: str, children: list[Row]) -> None:
        self.tables[table] += children
        self.parents |= {id(child): parent for child in children}

    def _sponsor(self, key: Key) -> Row:
        group = self._last(key, "sponsor").state.get("sponsor")
        return {"sponsor_title": group, "sponsor_url": group and f"https://{group}.example"}

    def _fill(self, row: Row, own: Iterable[str]) -> list[str]:
        """Take from people what an act lacks, or has a part of; return what was taken."""
        known = self.people.get(row["person_id"], {}) if self.fills else {}
        filled = [
            part
            for part in FILLED
            if part in self.carried.get(row["person_id"], ())
            if part not in own or _texts(row, FILLED[part]).items() < _texts(known, FILLED[part]).items()
            if any(known.get(name) is not None for name in FILLED[part])
        ]
        row |= {name: known[name] for part in filled for name in FILLED[part]}
        return filled

    def _why_excluded(self, row: Row) -> str | None:
        if all(row[name] is None for name in (*DATES, *REFERRER)):
            return "test"
        if row["gone_since"] or joined(row.get("status")) in NOT_COMING:
            return "gone" if row["gone_since"] else "unaccepted"
        events = {event["event_id"]: event["excluded"] for event in self.tables["events"]}
        return events.get(row.get("event_id"))

    def _person(self, own_id: str) -> Row:
        key = "person", own_id
        versions = self.versions.get(key, [])
        own = [version for version in versions if "entered" not in version.seen.parts] or versions
        linked = [version.seen for version in own if "links" in version.seen.parts]
        row = self._known(key, own[-1] if own else None, linked[-1] if linked else NOTHING)
        dates = [date for version in versions for name in DATES if (date := version.seen.state.get(name))]
        dates += self.acted.get(own_id, [])
        row |= {"first_seen": min(dates, default=None), "last_seen": max(dates, default=None)}
        created = (version.seen.state.get("created_date") for version in versions)
        row["created_date"] = min(filter(None, created), default=None)
        newest = {part: _newest(versions, part) for part in PERSON}
        self.carried[own_id] = {part for part in newest if newest[part].kind}
        person = _of_parts(newest, own[-1].seen if own else NOTHING)
        row |= _columns(person)
        # The address that somebody entered has no language.
        has_language = (
            person["places"]
            and "entered" not in (newest["location"] if newest["location"].kind else own[-1].seen).parts
        )
        row["location_language"] = "en" if has_language else None
        fields: Row = {}
        holding = [
            version for version in versions if {"entered", "custom"} & version.seen.parts != {"entered"}
        ]
        for version in holding or own[-1:]:
            for name, value in (version.seen.state.get("custom_fields") or {}).items():
                if value is not None or name not in fields or "entered" not in version.seen.parts:
                    fields[name] = value
        return row | {
            "languages_spoken": person["languages_spoken"],
            "custom_fields": _json(dict(sorted(fields.items()))),
        }


def _columns(person: Row) -> Row:
    """Return the columns of what an act takes from people."""
    [*places], [*phones], [*emails] = (person.get(key) or () for key in ("places", "phones", "emails"))
    place = _first(places, [place for place in places if any(place[1:])]) or (None,) * 3
    phone = _first(phones, [phone for phone in phones if phone])
    row: Row = {name: person.get(name) for name in PERSON["name"]} | dict(zip(LOCATION, place, strict=True))
    return row | {
        "email": _first([*emails[-1:], *emails], [one for one in (*emails[-1:], *emails) if one]),
        "phone": phone,
        "phone_status": "subscribed" if phones else None,
    }


def _first(entries: list[Any], with_value: list[Any]) -> Any:
    """Return the first entry with its value, else the first."""
    return next(iter(with_value or entries), None)


def _json(fields: Row | None) -> str | None:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) if fields else None
