"""One truth: the versions of each thing together, acts with their people, people of all that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from .documents import (
    BLOCKS,
    CHILDREN,
    IN_EMBEDDED_PERSON,
    IN_LINKS,
    IN_PERSON,
    IN_SPONSOR,
    KINDS,
    LOCATION,
    MAIN,
    NAMED,
    OLDEST,
    PERSON_BLOCKS,
    REFERRED,
    STAMPS,
    Document,
    Element,
    kind_of,
)
from .tables import TABLES, embedded_person, keys, people
from .values import (
    Row,
    address_in,
    address_of,
    at,
    cells,
    created,
    email_in,
    first,
    holds,
    id_by_address,
    id_of,
    is_blank,
    is_somewhere,
    is_text,
    json_text,
    link_names,
    linked,
    links,
    modified,
    newest_of,
    person_in,
    phone_in,
    status_word,
    text,
    texts,
    under,
    utc,
)


def versions_of(
    elements: Iterable[Element], kind: str, prefixes: Sequence[str], dedupe: bool | str = True
) -> list[list[Element]]:
    """Return the versions of each thing, oldest first; things stand where their newest versions stand."""
    things: dict[Any, list[tuple[Any, Element]]] = {}
    for order, element in enumerate(elements):
        thing = identity(element, kind, prefixes, dedupe)
        age = modified(element.value) or OLDEST, seen(element) or OLDEST, order
        things.setdefault(order if thing is None else thing, []).append((age, element))
    in_order = [sorted(versions, key=lambda version: version[0]) for versions in things.values()]
    in_order.sort(key=lambda versions: versions[-1][0][-1])
    return [[element for _, element in versions] for versions in in_order]


def seen(*elements: Element) -> datetime | None:
    """Return when elements were received or fetched last."""
    return newest_of(*(utc(element.stamps.get(stamp)) for element in elements for stamp in STAMPS))


def identity(element: Element, kind: str, prefixes: Sequence[str], dedupe: bool | str) -> Any:
    """Return what tells a thing from others; with ``"message"``, a delivery of it from others."""
    own = id_of(element.value, prefixes)
    key = text(element.siblings.get("idempotency_key")) if KINDS[kind].delivered else None
    if dedupe == "message" and key is not None:
        return ("message", key, own if own is not None else element.position, own is None)
    if dedupe == "message" and own is not None:
        return ("without key", own, modified(element.value))
    if own is not None:
        return ("own", own)
    if dedupe is True and (said := content(element.value, kind, prefixes)):
        return ("content", said)
    return None if key is None else ("message", key, element.position)


def content(value: Row, kind: str, prefixes: Sequence[str]) -> tuple[Any, ...] | None:
    """Return who did what, where an attendance or a signature says all of it."""
    if kind not in ("attendance", "signature"):
        return None
    of = KINDS[kind].of
    person = first(linked(value, "person", prefixes), address_of(person_in(value.get("person"))))
    said = person, linked(value, of, prefixes), created(value) if kind == "signature" else True
    return None if None in said else said


def carries(element: Element, kind: str, block: str, prefixes: Sequence[str]) -> bool:
    """Tell whether a version carries a block: its key is there, and holds something; a link leads somewhere."""
    value = element.value
    if block in PERSON_BLOCKS:
        return says(value.get("person"), block)
    if block == "tags":
        return value.get("add_tags") is not None
    if block == "referrer":
        data = [*under(value, prefixes, "referrer_data"), value.get("referrer_data")]
        return any(holds(each, *REFERRED) for each in data)
    if block == "sponsor":
        owner = element.siblings if KINDS[kind].delivered else value
        return any(holds(sponsor, *IN_SPONSOR) for sponsor in under(owner, prefixes, "sponsor"))
    if block == "people":
        roles = "osdi:creator", "osdi:organizer"
        embedded = [place for role in roles for place in (at(value, "_embedded", role), value.get(role))]
        return any(holds(person, *IN_EMBEDDED_PERSON) for person in embedded)
    if block == "links":
        names = [name.replace("<p>", prefix) for name in IN_LINKS[kind] for prefix in prefixes]
        return holds(value.get("_links"), *names)
    (row,) = TABLES[MAIN[kind]](element, prefixes)
    return row[BLOCKS[kind][block][0]] is not None


def says(person: Any, block: str) -> bool:
    """Tell whether the person of an act has something in a block: a text, an entry with its value, a date."""
    if block == "name":
        return any(is_text(at(person, name)) for name in NAMED)
    if block == "email":
        return is_text(at(email_in(person), "address"))
    if block == "phone":
        return is_text(at(phone_in(person), "number"))
    if block == "location":
        return is_somewhere(address_in(person))
    if block == "languages":
        return any(map(is_text, texts(at(person, "languages_spoken")) or ()))
    if block == "custom_fields":
        fields = at(person, "custom_fields")
        return isinstance(fields, dict) and not all(map(is_blank, fields.values()))
    return any(utc(at(person, name)) is not None for name in ("created_date", "modified_date"))


def newest_of_block(blocks: Sequence[Row]) -> int:
    """Return which block of several versions, oldest first, is shown.

    It is the newest; where that is a part of others, which have more in addition, the fullest of these, and of those
    the newest.
    """
    *_, newest = blocks
    fuller = [
        (len(block), number)
        for number, block in enumerate(blocks)
        if newest and newest.items() < block.items()
    ]
    return max(fuller, default=(0, len(blocks) - 1))[1]


def version_with(versions: list[Element], kind: str, block: str, prefixes: Sequence[str]) -> Element:
    """Return the version whose block is shown, else the newest, which then has nothing of it."""
    carrying = [version for version in versions if carries(version, kind, block, prefixes)]
    if carrying and block in PERSON_BLOCKS and block != "dates":
        people = [person_in(version.value.get("person")) for version in carrying]
        return carrying[newest_of_block([cells(person, PERSON_BLOCKS[block]) for person in people])]
    return carrying[-1] if carrying else versions[-1]


def merged(versions: list[Element], kind: str, prefixes: list[str]) -> Row:
    """Return the row of a thing, each block from the newest version that carries it."""
    rows = TABLES[MAIN[kind]]
    (row,) = rows(versions[-1], prefixes)
    for block, columns in BLOCKS[kind].items():
        version = version_with(versions, kind, block, prefixes)
        (source,) = rows(version, prefixes)
        row |= {column: source[column] for column in columns}
    for stamp in STAMPS:
        if stamp in row:
            row[stamp] = newest_of(*(utc(version.stamps.get(stamp)) for version in versions))
    deliveries = [version for version in versions if version.siblings]
    if deliveries and "idempotency_key" in row:
        row |= keys(deliveries[-1], prefixes, kind)
    return row


class Known:
    """All that an archive says: the versions of everything."""

    def __init__(self, found: list[tuple[str, Element]], prefixes: list[str]) -> None:
        self.found, self.prefixes = found, prefixes
        self.read: dict[str, list[tuple[list[Element], Row]]] = {}

    def things(self, kind: str) -> list[tuple[list[Element], Row]]:
        """Return the versions and the row of each event, act, campaign or petition."""
        if kind not in self.read:
            elements = [element for each, element in self.found if each == kind]
            versions = versions_of(elements, kind, self.prefixes)
            self.read[kind] = [(some, merged(some, kind, self.prefixes)) for some in versions]
        return self.read[kind]

    def acts(self) -> Iterator[tuple[str, list[Element], Row]]:
        """Return the versions and the row of each act."""
        for kind in KINDS:
            for versions, row in self.things(kind) if KINDS[kind].delivered else ():
                yield kind, versions, row

    def doer(self, row: Row) -> str | None:
        """Return the id of the person of an act, or of a person, by its link or e-mail address."""
        address = address_of(row)
        if row["person_id"] is not None or address is None:
            return row["person_id"]
        owners = self.owners.get(address, set())
        return min(owners) if len(owners) == 1 else id_by_address(address)

    @cached_property
    def owners(self) -> dict[str | None, set[str]]:
        """Return the ids that have an e-mail address, in any of their versions."""
        found: dict[str | None, set[str]] = {}
        for person_id, person in self._with_ids():
            found.setdefault(address_of(person_in(person)), set()).add(person_id)
        return found

    def _with_ids(self) -> Iterator[tuple[str, Any]]:
        for kind, element in self.found:
            if kind == "person" and (person_id := id_of(element.value, self.prefixes)) is not None:
                yield person_id, element.value
            for person in embedded_people(element.value) if kind == "event" else ():
                if (person_id := id_of(person, self.prefixes)) is not None:
                    yield person_id, person
        for _, versions, row in self.acts():
            for version in versions if row["person_id"] is not None else ():
                yield row["person_id"], version.value.get("person")


def resolved(known: Known, table: str, *, fill: bool) -> list[Row]:
    """Return one row for each thing, or the rows of a child table of each."""
    kind = kind_of(table)
    if table == "people":
        return people_of(known)
    if table != MAIN[kind]:
        return children(known, table)
    people = people_by_id(known) if fill and KINDS[kind].delivered else {}
    events = excluded_events(known) if kind == "attendance" else {}
    rows = []
    for versions, thing in known.things(kind):
        row = thing | (excluded(kind, thing | {"gone_since": None}) if kind != "upload" else {})
        row |= {"gone_since": None} if kind != "upload" else {}
        if kind == "attendance":
            row["excluded"] = first(row["excluded"], events.get(row["event_id"]))
        if KINDS[kind].delivered:
            own = {
                block
                for block in FILLED
                for version in [version_with(versions, kind, block, known.prefixes)]
                if carries(version, kind, block, known.prefixes)
            }
            row["person_id"] = known.doer(row)
            row |= filled(row, own, people)
        rows.append(row)
    return rows


def excluded_events(known: Known) -> dict[str | None, str | None]:
    """Return why reports leave out events, by their ids."""
    rows = [row | excluded("event", row) for _, row in known.things("event")]
    return {row["event_id"]: row["excluded"] for row in rows if row["event_id"] is not None}


def people_by_id(known: Known) -> dict[str | None, Row]:
    """Return what acts take from people: the blocks that some version of a person carries."""
    found: dict[str | None, Row] = {}
    for versions in versions_of_people(known):
        row = person_of_all(versions)
        blocks = [block for block in FILLED if any(sighting.carries(block) for sighting in versions)]
        found[row["person_id"]] = {column: row[column] for block in blocks for column in OF_PERSON[block][1]}
    return found


def children(known: Known, table: str) -> list[Row]:
    """Return the rows of a child table, of the versions that have its block, under the keys of the things.

    They stand where these versions stand.
    """
    kind, prefixes = kind_of(table), known.prefixes
    block = CHILDREN.get(table)
    places = {id(element): place for place, (_, element) in enumerate(known.found)}
    placed = []
    for versions, thing in known.things(kind):
        source = versions[-1] if block is None else version_with(versions, kind, block, prefixes)
        names = "idempotency_key", "element", f"{kind}_id"
        for row in TABLES[table](source, prefixes):
            own = {name: thing[name] for name in names if name in row}
            placed.append((places[id(source)], row | own))
    return [row for _, row in sorted(placed, key=lambda each: each[0])]


def as_it_came(kind: str, row: Row) -> Row:
    """Return what a row has in addition that is only known of things, not of one version."""
    if kind == "upload":
        return {"person_filled": None}
    added = dict.fromkeys(["gone_since", *(["person_filled"] if KINDS[kind].delivered else [])])
    if kind == "person":
        added |= dict.fromkeys(("first_seen", "last_seen"))
    return added | excluded(kind, row | added)


NOT_COMING = (
    *("declined", "tentative", "needsaction", "cancelled", "canceled", "waitlisted"),
    *("noshow", "refunded", "deleted", "rejected"),
)


def excluded(kind: str, row: Row) -> Row:
    """Return why reports leave out an event or an act, as far as it says so itself."""
    if kind not in ("event", "tagging") and not KINDS[kind].delivered:
        return {}
    status, why = status_word(row.get("status")), None
    dated = (row["created_date"], row["modified_date"])
    if KINDS[kind].delivered and first(*dated, *(row[name] for name in REFERRED)) is None:
        why = "test"
    elif kind == "event" and status in ("cancelled", "canceled", "rejected", "deleted"):
        why = "cancelled"
    elif kind == "event" and row["hidden"]:
        why = "hidden"
    elif kind == "attendance" and status in NOT_COMING and not row["attended"]:
        why = "unaccepted"
    return {"excluded": why}


#: The keys of each block of a person, and its columns; those that an act takes from people come first.
OF_PERSON: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "name": (("given_name", "family_name"), ("given_name", "family_name")),
    "email": (("email_addresses",), ("email", "email_status")),
    "phone": (("phone_numbers",), ("phone", "phone_type", "phone_status")),
    "location": (("postal_addresses",), (*LOCATION, "location_language")),
    "languages": (("languages_spoken",), ("languages_spoken",)),
}
FILLED = ("name", "email", "phone", "location")


class Sighting(NamedTuple):
    """A version of a person: a resource of its own, the person in an act, or only a link to it (no value)."""

    person_id: str | None
    value: Row | None
    is_own: bool
    dates: tuple[datetime | None, ...]
    url: str | None
    element: Element
    is_page: bool = False
    """Whether it is of a page of people, where an empty list says that there is nothing."""
    shows_id: bool = True
    """Whether the id is its own, so that its address is the person's; one without an id can be known by the e-mail."""

    def carries(self, block: str) -> bool:
        keys = OF_PERSON[block][0] if block in OF_PERSON else (block,)
        return holds(self.value, *keys) if self.is_page else says(self.value, block)


def sightings(known: Known) -> Iterator[Sighting]:
    """Return all versions of all people, in the order in which they stand."""
    doers = {id(version): known.doer(row) for _, versions, row in known.acts() for version in versions}
    for kind, element in known.found:
        value, prefixes = element.value, known.prefixes
        if kind == "person":
            yield sighting_of(value, element, known)._replace(is_page=True)
        elif kind == "event":
            for person in embedded_people(value):
                sighting = sighting_of(person, element, known)
                if sighting.person_id is not None:
                    yield sighting
        elif KINDS[kind].delivered and (person_id := doers[id(element)]) is not None:
            person = (
                value.get("person")
                if any(says(value.get("person"), block) for block in PERSON_BLOCKS)
                else None
            )
            dates = utc(at(person, "created_date")), utc(at(person, "modified_date")), created(value)
            own = linked(value, "person", prefixes)
            url = links(value, *link_names("person", prefixes)) if own == person_id else None
            yield Sighting(person_id, person, False, dates, url, element, shows_id=own == person_id)


def embedded_people(event: Row) -> list[Row]:
    found = (embedded_person(event, role) for role in ("osdi:creator", "osdi:organizer"))
    return [person for person in found if person is not None]


def sighting_of(person: Row, element: Element, known: Known) -> Sighting:
    dates = created(person), modified(person)
    row = person_in(person) | {"person_id": id_of(person, known.prefixes)}
    shows_id, url = row["person_id"] is not None, links(person, "self")
    return Sighting(known.doer(row), person, True, dates, url, element, shows_id=shows_id)


def people_of(known: Known) -> list[Row]:
    """Return one row for each id of a person, and one for each person without an id."""
    return [person_of_all(versions) | {"gone_since": None} for versions in versions_of_people(known)]


def versions_of_people(known: Known) -> list[list[Sighting]]:
    """Return the versions of each person, oldest first.

    People stand where the version stands that the rest of their blocks comes from.
    """
    grouped: dict[Any, list[tuple[Any, Sighting]]] = {}
    for order, sighting in enumerate(sightings(known)):
        key = order if sighting.person_id is None else sighting.person_id
        held = (
            [] if sighting.value is None else [sighting.element]
        )  # a mere link does not show when it was seen
        age = sighting.dates[1] or OLDEST, seen(*held) or OLDEST, order
        grouped.setdefault(key, []).append((age, sighting))
    placed = []
    for aged in grouped.values():
        in_order = sorted(aged, key=lambda version: version[0])
        rank = max(
            in_order, key=lambda version: (version[1].value is not None, version[1].is_own, version[0])
        )
        placed.append((rank[0][-1], [sighting for _, sighting in in_order]))
    return [versions for _, versions in sorted(placed, key=lambda each: each[0])]


def person_of_all(versions: list[Sighting]) -> Row:
    """Return the row of a person of all its versions, oldest first."""
    held = [sighting for sighting in versions if sighting.value is not None]
    own = [sighting for sighting in held if sighting.is_own]
    row = person_row(first(*own[-1:], *held[-1:]))
    with_id = [sighting for sighting in held if sighting.shows_id]
    addressed = first(*[sighting for sighting in with_id if sighting.is_own][-1:], *with_id[-1:])
    row |= {name: person_row(addressed)[name] for name in ("identifiers", "self_url")} if addressed else {}
    for block, (_, columns) in OF_PERSON.items():
        carrying = [person_row(sighting) for sighting in held if sighting.carries(block)]
        shown = newest_of_block([cells(source, columns) for source in carrying]) if carrying else 0
        row |= {column: carrying[shown][column] for column in columns} if carrying else {}
    fields: Row = {}
    carrying = [sighting for sighting in held if sighting.carries("custom_fields")]
    for sighting in carrying or [*own[-1:], *held[-1:]][:1]:
        given = at(sighting.value, "custom_fields")
        for name, value in given.items() if isinstance(given, dict) else ():
            if sighting.is_page or not is_blank(value) or name not in fields:
                fields[name] = value
    dates = [date for sighting in versions for date in sighting.dates if date is not None]
    return row | {
        "person_id": versions[-1].person_id,
        "created_date": min(
            (sighting.dates[0] for sighting in held if sighting.dates[0] is not None), default=None
        ),
        "custom_fields": json_text(dict(sorted(fields.items()))) if fields else None,
        "first_seen": min(dates, default=None),
        "last_seen": max(dates, default=None),
        **{
            stamp: newest_of(*(utc(sighting.element.stamps.get(stamp)) for sighting in held))
            for stamp in STAMPS
        },
    }


def person_row(sighting: Sighting | None) -> Row:
    """Return the row of one version of a person; all is missing where there is none."""
    if sighting is None:
        nothing = Element({}, 0, {}, {}, Document(None, 0, None))
        return dict.fromkeys(people(nothing, [])[0])
    value, element = sighting.value or {}, sighting.element
    if sighting.is_own:
        return people(element._replace(value=value), [])[0]
    (row,) = people(element._replace(value={key: value.get(key) for key in IN_PERSON}), [])
    return row | {"self_url": sighting.url}


def filled(row: Row, own: set[str], people: dict[str | None, Row]) -> Row:
    """Return the columns that an act takes from people, and which blocks they are.

    It takes what it lacks, and what is a part of that of its person.
    """
    person = {} if row["person_id"] is None else people.get(row["person_id"], {})
    taken: Row = {}
    blocks = []
    for block in FILLED:
        _, columns = OF_PERSON[block]
        values = {column: person.get(column) for column in columns if column in row}
        is_part = cells(row, columns).items() < cells(values, columns).items()
        if (is_part or block not in own) and first(*values.values()) is not None:
            blocks.append(block)
            taken |= values
    return taken | {"person_filled": blocks or None}
