"""A reference reading: every table as a plain walk over ``json.loads``, one column after the other.

It shares no code with the package, not even the declarations, so that a mistake cannot be made in both.
It is slow, keeps everything in memory, takes what does not fit as missing, and says nothing of problems.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

Row = dict[str, Any]

OLDEST = datetime(1, 1, 1, tzinfo=UTC)


class Document(NamedTuple):
    """One JSON text of an archive, parsed, and where it begins."""

    file: str | None
    line: int
    value: Any


class Kind(NamedTuple):
    """What holds the elements of a kind, what only its resources have, and what says which is the newest."""

    collections: tuple[str, ...]
    segment: str
    keys: tuple[str, ...] = ()
    stamps: tuple[str, ...] = ("fetched_at",)
    delivered: str | None = None
    parent: str | None = None


ACTION = ("received_at", "fetched_at")
UNKNOWN = {"source": ("none",), "website": ("api", "none")}
EVENT_KEYS = ("start_date", "start", "total_accepted", "transparence")
CAMPAIGN_KEYS = ("host_pitch", "host_instructions", "host_url", "total_events", "total_rsvps")
PERSON_KEYS = ("given_name", "family_name", "email_addresses", "phone_numbers", "postal_addresses")
KINDS = {
    "event": Kind(
        ("osdi:events",), "events", (*EVENT_KEYS, "guests_can_invite_others", "guestsCanInviteOthers")
    ),
    "event_campaign": Kind(("<p>:event_campaigns",), "event_campaigns", CAMPAIGN_KEYS),
    "attendance": Kind(
        ("osdi:attendances", "osdi:attendance"), "attendances?", (), ACTION, "osdi:attendance", "event"
    ),
    "petition": Kind(("osdi:petitions",), "petitions", ("petition_text", "total_signatures")),
    "signature": Kind(
        ("osdi:signatures",), "signatures?", (), ACTION, delivered="osdi:signature", parent="petition"
    ),
    "person": Kind(("osdi:people",), "people", PERSON_KEYS),
}
KNOWN = ("platform", "action_network")

#: What only pages have, what resources have, and the service's own fields that are no element types.
COUNTS = ("total_pages", "per_page", "page", "total_records")
OF_PAGES = (*COUNTS, "_embedded", "_links")
OF_RESOURCES = ("identifiers", "created_date", "person")
OWN_FIELDS = ("sponsor", "referrer_data", "person_id", "petition_id", "event_id", "event_campaign_id")
OWN_FIELDS += ("hidden", "event_instructions")
#: What is read of each kind, but for what resources of any kind have.
DATES = ("created_date", "created_at", "modified_date", "modified_at", "identifiers")
TITLED = (
    *DATES,
    "name",
    "title",
    "description",
    "browser_url",
    "featured_image_url",
    "<p>:hidden",
    "<p>:sponsor",
)
ACTED = (*DATES, "person", "add_tags", "referrer_data", "<p>:referrer_data", "<p>:person_id")
FIELDS = {
    "event": (
        *(
            *TITLED,
            *EVENT_KEYS,
            "guests_can_invite_others",
            "guestsCanInviteOthers",
            "summary",
            "instructions",
        ),
        *("url", "end_date", "location", "status", "visibility", "capacity", "reminders"),
        *("osdi:creator", "osdi:organizer", "<p>:event_instructions", "<p>:event_campaign_id"),
    ),
    "event_campaign": (*TITLED, *CAMPAIGN_KEYS, "tag_list"),
    "attendance": (*ACTED, "status", "<p>:event_id"),
    "petition": (*TITLED, "tag_list", "petition_text", "total_signatures"),
    "signature": (*ACTED, "comments", "<p>:petition_id"),
    "person": (*DATES, *PERSON_KEYS, "languages_spoken", "custom_fields"),
}

#: Collections that no table has.
OTHERS = (
    "advocacy_campaigns|campaigns|donations|forms|fundraising_pages|items|lists|messages|metadata|mobile_messages"
    "|outreaches|queries|questions|responses|submissions|surveys|taggings|tags|wrappers"
)


def kind_of(table: str) -> str:
    """Return the kind of which a table has the elements."""
    if table == "people":
        return "person"
    return next(kind for kind in sorted(KINDS, reverse=True) if table.startswith(kind))


class Element(NamedTuple):
    """A resource, and all that a row says of where it was."""

    value: Row
    position: int
    siblings: Row
    stamps: Row
    document: Document


def read(
    documents: Iterable[Document],
    table: str,
    *,
    dedupe: bool | str = True,
    prefix: str | None = None,
) -> list[Row]:
    """Return the rows of a table, in the order of the documents."""
    prefixes = [*([prefix] if prefix else []), *KNOWN]
    kind = kind_of(table)
    elements = list(elements_of(documents, kind, prefixes))
    if dedupe is not False:
        identity = identity_of_action if KINDS[kind].delivered else identity_of_resource
        elements = newest(elements, KINDS[kind].stamps, lambda each: identity(each, prefixes, dedupe))
    return [row for element in elements for row in TABLES[table](element, prefixes)]


# --- documents -----------------------------------------------------------------------------------------


def elements_of(documents: Iterable[Document], kind: str, prefixes: Sequence[str]) -> Iterator[Element]:
    """Return the elements of one kind, in the order in which they stand."""
    for document in documents:
        for found, value, *where in in_document(document.value, prefixes, {}):
            # Who has parsed objects knows of which kind they are.
            named = found is None and document.file is None and may_be(value, kind, prefixes)
            if found == kind or named:
                yield Element(value, *where, document)


#: Its kind (None where it is not clear), the resource, its position, its siblings, and the times of the envelope.
Found = tuple[str | None, Row, int, Row, Row]


def in_document(body: Any, prefixes: Sequence[str], stamps: Row, position: int | None = None) -> list[Found]:
    """Return the elements of a document, or of the entry at a position of an array: out of their envelope."""
    if isinstance(body, list):
        return [found for at, entry in enumerate(body) for found in in_document(entry, prefixes, stamps, at)]
    if not isinstance(body, dict):
        return []
    if position is not None and is_delivered(body):
        return delivered(body, position, stamps)
    if "body" in body and any(stamp in body for stamp in ACTION):
        return out_of_envelope(body["body"], prefixes, {stamp: body.get(stamp) for stamp in ACTION})
    return in_object(body, prefixes, stamps)


def out_of_envelope(body: Any, prefixes: Sequence[str], stamps: Row) -> list[Found]:
    return (
        in_object(body, prefixes, stamps) if isinstance(body, dict) else in_document(body, prefixes, stamps)
    )


def in_object(body: Row, prefixes: Sequence[str], stamps: Row) -> list[Found]:
    """Return the elements of an object: a page, a resource with what it embeds, or an element without its array."""
    if is_page(body, prefixes):
        return embedded(body, prefixes, stamps)
    if kind := kind_of_single(body, prefixes):
        return [(kind, body, 0, {}, stamps), *embedded(body, prefixes, stamps)]
    if has_type(body) or ("idempotency_key" in body and is_delivered(body)):
        return delivered(body, 0, stamps)
    if isinstance(body.get("body"), dict | list):  # an envelope without a time
        return in_document(body["body"], prefixes, stamps)
    return [(None, body, 0, {}, stamps), *embedded(body, prefixes, stamps)]


def embedded(body: Row, prefixes: Sequence[str], stamps: Row) -> list[Found]:
    """Return the resources in embedded collections, and in turn what these embed."""
    found: list[Found] = []
    for kind in KINDS:
        position = 0
        for key in collections_of(kind, prefixes):
            for entry in as_list(at(body, "_embedded", key)):
                if isinstance(entry, dict):
                    found += [(kind, entry, position, {}, stamps), *embedded(entry, prefixes, stamps)]
                position += 1
    return found


def may_be(body: Row, kind: str, prefixes: Sequence[str]) -> bool:
    """Tell whether a resource has nothing that only resources of other kinds have."""
    href = at(body, "_links", "self", "href")
    above = path_of(href).rpartition("/")[0] if isinstance(href, str) else ""
    if re.search(f"(^|/)({OTHERS})$", above) or not any(key in body for key in OF_RESOURCES):
        return False
    fields = {
        name: {key.replace("<p>", prefix) for key in keys for prefix in prefixes}
        for name, keys in FIELDS.items()
    }
    return not body.keys() & (set().union(*fields.values()) - fields[kind])


def has_type(body: Row) -> bool:
    return any(kind.delivered in body for kind in KINDS.values())


def is_delivered(body: Row) -> bool:
    """Tell an entry of a delivery, which has its resource under a type, from a document."""
    types = [key for key in body if ":" in key and not key.endswith(tuple(f":{own}" for own in OWN_FIELDS))]
    return has_type(body) or bool(types and not body.keys() & {*OF_RESOURCES, *OF_PAGES, "body"})


def delivered(entry: Row, position: int, stamps: Row) -> list[Found]:
    """Return what an element of a delivery has under its types."""
    kinds = {kind.delivered: name for name, kind in KINDS.items() if kind.delivered}
    return [
        (kinds[key], value, position, entry, stamps)
        for key, value in entry.items()
        if key in kinds and isinstance(value, dict)
    ]


def collections_of(kind: str, prefixes: Sequence[str]) -> list[str]:
    names = KINDS[kind].collections
    keys = [key.replace("<p>", prefix) for key in names for prefix in prefixes]
    return list(dict.fromkeys([*keys, *(key.partition(":")[2] for key in names)]))


def is_page(body: Row, prefixes: Sequence[str] = KNOWN) -> bool:
    """Tell a page, which embeds collections: it has counts, or nothing that a resource has."""
    held = body.get("_embedded")
    if not isinstance(held, dict) or not any(
        key in held for kind in KINDS for key in collections_of(kind, prefixes)
    ):
        return False
    own = [*OF_RESOURCES, *(key for kind in KINDS.values() for key in kind.keys)]
    return any(key in body for key in COUNTS) or not any(key in body for key in own)


def kind_of_single(body: Row, prefixes: Sequence[str] = KNOWN) -> str | None:
    """Return the kind of a resource: by a key that no other has, by its address, by what it belongs to."""
    for name, kind in KINDS.items():
        if any(key in body for key in kind.keys):
            return name
    if has_type(body):
        return None
    href = at(body, "_links", "self", "href")
    above = path_of(href).rpartition("/")[0] if isinstance(href, str) else ""
    for name, kind in KINDS.items():
        if re.search(f"/{kind.segment}$", above):
            return name
    if any(key in body for key in COUNTS) or re.search(f"(^|/)({OTHERS})$", above):
        return None
    found = [
        name
        for name, kind in KINDS.items()
        if kind.parent
        and first(at(body, "_links", f"osdi:{kind.parent}"), *under(body, prefixes, f"{kind.parent}_id"))
        is not None
    ]
    return found[0] if len(found) == 1 else None


def newest(
    elements: list[Element], stamps: tuple[str, ...], identity: Callable[[Element], Any]
) -> list[Element]:
    """Keep of each thing the newest, of equally new ones the last; and all that have no identity."""
    best: dict[Any, tuple[datetime, list[datetime], int]] = {}
    for order, element in enumerate(elements):
        thing = identity(element) or order
        times = [utc(element.stamps.get(stamp)) or OLDEST for stamp in stamps]
        age = modified(element.value) or OLDEST, times, order
        best[thing] = max(best.get(thing, age), age)
    kept = {order for _, _, order in best.values()}
    return [element for order, element in enumerate(elements) if order in kept]


def modified(value: Row) -> datetime | None:
    moment = utc(value.get("modified_date"))
    return moment if moment is not None else utc(value.get("modified_at"))


def identity_of_resource(element: Element, prefixes: list[str], _: bool | str) -> Any:
    own = id_of(element.value, prefixes)
    return None if own is None else ("resource", own)


def identity_of_action(element: Element, prefixes: list[str], dedupe: bool | str) -> Any:
    """Return what tells an action from others; with ``"message"``, a delivery of it from others."""
    key, own = text(element.siblings.get("idempotency_key")), id_of(element.value, prefixes)
    if dedupe == "message":
        if key is not None:
            return ("message", key, own if own is not None else element.position, own is None)
        return None if own is None else ("without key", own, modified(element.value))
    if own is not None:
        return ("action", own)
    return None if key is None else ("message", key, element.position)


# --- values: each gives None for what does not fit ------------------------------------------------------


def text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return re.sub("[\ud800-\udfff]", "\ufffd", value) if isinstance(value, str) else None


def boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        match = re.fullmatch(r"(-?[0-9]+)(\.0+)?", value)
        value = int(match[1]) if match else None
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else None


def number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", value):
        return None
    try:
        value = float(value) if isinstance(value, str | int | float) else None
    except OverflowError:
        return None
    return value if value is not None and abs(value) < float("inf") else None


def moment(value: Any) -> datetime | None:
    """Return an ISO 8601 datetime in the extended form, with the zone that it names, if any."""
    if not isinstance(value, str) or not re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def utc(value: Any) -> datetime | None:
    time = moment(value)
    if time is None:
        return None
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        return None


def local(value: Any) -> datetime | None:
    time = moment(value)
    return None if time is None else time.replace(tzinfo=None)


def texts(value: Any) -> list[str] | None:
    if not isinstance(value, list):
        return None
    return [item for item in map(text, value) if item is not None]


def json_text(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


# --- places --------------------------------------------------------------------------------------------


def at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def first(*values: Any) -> Any:
    """Return the first value that there is."""
    return next((value for value in values if value is not None), None)


def chosen(entries: Any) -> Any:
    """Return the object that is marked as primary, else the first object."""
    present = [entry for entry in as_list(entries) if isinstance(entry, dict)]
    marked = [entry for entry in present if boolean(entry.get("primary"))]
    return first(*marked, *present)


def path_of(href: str) -> str:
    """Return the path of an address, without a slash at its end."""
    path = re.split("[?#]", href, maxsplit=1)[0]
    return re.sub("^([^/:]+:)?//[^/]*", "", path).rstrip("/")


def id_at(href: Any) -> str | None:
    """Return the last path segment of an address."""
    address = text(href)
    return None if address is None else path_of(address).rpartition("/")[2] or None


def own_id(identifiers: Any, prefixes: Sequence[str]) -> str | None:
    """Return the service's own identifier, without its prefix."""
    heads = tuple(f"{prefix}:" for prefix in prefixes)
    own = [identifier for identifier in texts(identifiers) or [] if identifier.startswith(heads)]
    return own[0].partition(":")[2] or None if own else None


def id_of(value: Any, prefixes: Sequence[str]) -> str | None:
    return first(own_id(at(value, "identifiers"), prefixes), id_at(at(value, "_links", "self", "href")))


def under(value: Any, prefixes: Sequence[str], key: str, *inner: str) -> list[Any]:
    """Return what stands at a key of the service's own, by each of its prefixes."""
    return [at(value, f"{prefix}:{key}", *inner) for prefix in prefixes]


def links(value: Any, *names: str) -> str | None:
    return first(*(text(at(value, "_links", name, "href")) for name in names))


# --- the tables of events ------------------------------------------------------------------------------


def events(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    accepted = integer(value.get("total_accepted"))
    origin = first(text(value.get("origin_system")), text(value.get("originating_system")))
    title = first(text(value.get("title")), text(value.get("summary")))
    campaign_links = [f"{prefix}:event_campaign" for prefix in prefixes]
    label = None
    campaign = first(
        *map(text, under(value, prefixes, "event_campaign_id")),
        *(id_at(at(value, "_links", name, "href")) for name in campaign_links),
    )
    made_over_the_api = not is_made_in_the_user_interface(value, prefixes)
    if (
        made_over_the_api
        and accepted is not None
        and accepted >= 1
        and origin is not None
        and title is not None
    ):
        label = f"[1, ({origin}) Event], ({title})"
    row = {
        "event_id": id_of(value, prefixes),
        "identifiers": texts(value.get("identifiers")),
        "api_version": api_version(value),
        "origin_system": origin,
        "created_date": first(utc(value.get("created_date")), utc(value.get("created_at"))),
        "modified_date": modified(value),
        "name": text(value.get("name")),
        "title": title,
        "description": text(value.get("description")),
        "instructions": first(
            text(value.get("instructions")), *map(text, under(value, prefixes, "event_instructions"))
        ),
        "browser_url": first(text(value.get("browser_url")), text(value.get("url"))),
        "featured_image_url": text(value.get("featured_image_url")),
        "start_date": first(local(value.get("start_date")), local(value.get("start"))),
        "end_date": local(value.get("end_date")),
        "location_venue": text(at(value, "location", "venue")),
        "location_language": text(at(value, "location", "language")),
        "total_accepted": accepted,
        "event_campaign_id": campaign,
        "status": text(value.get("status")),
        "transparence": text(value.get("transparence")),
        "visibility": text(value.get("visibility")),
        "guests_can_invite_others": first(
            boolean(value.get("guests_can_invite_others")), boolean(value.get("guestsCanInviteOthers"))
        ),
        "capacity": integer(value.get("capacity")),
        "hidden": first(*map(boolean, under(value, prefixes, "hidden"))),
        "sponsor_title": first(
            *map(text, under(value, prefixes, "sponsor", "title")),
            *map(text, under(value, prefixes, "sponsor", "summary")),
        ),
        "creator_id": person_of(value, "osdi:creator", prefixes),
        "organizer_id": person_of(value, "osdi:organizer", prefixes),
        "self_url": links(value, "self"),
        "attendances_url": links(value, "osdi:attendances", "osdi:attendance"),
        "record_attendance_url": links(value, "osdi:record_attendance_helper", "record_attendance_helper"),
        "event_campaign_url": links(value, *campaign_links),
        "embed_url": links(value, *(f"{prefix}:embed" for prefix in prefixes)),
        "targeting_label": label,
        "excluded": why_left_out(value, prefixes),
        "fetched_at": utc(element.stamps.get("fetched_at")),
        "source_file": element.document.file,
        "source_line": element.document.line,
    }
    return [row | location(value.get("location")) | sponsor_url(value, prefixes)]


def is_made_in_the_user_interface(value: Row, prefixes: Sequence[str]) -> bool:
    """Tell whether an event shows what none shows that was created through the API (interface 1).

    The API can set no capacity, no banner image, and hides nothing (2.1); events of the API have no public page on the
    service (1.2), and no ``url`` at all in v1 (2.8). Those of the service name it as where they originated.
    """
    if any(value.get(key) is not None for key in ("capacity", "featured_image_url", "url")):
        return True
    if first(*map(boolean, under(value, prefixes, "hidden"))):
        return True
    page, own = host_of(text(value.get("browser_url"))), host_of(links(value, "self"))
    if page is not None and page == own:
        return True
    origin = first(text(value.get("origin_system")), text(value.get("originating_system")))
    return origin is not None and bare(origin) in map(bare, prefixes)


def host_of(address: str | None) -> str | None:
    """Return the host of an address, without user and port, in small letters."""
    scheme, slashes, rest = (address or "").partition("//")
    if not slashes or not re.fullmatch("([A-Za-z][A-Za-z0-9+.-]*:)?", scheme):
        return None
    authority = re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    in_brackets = authority.startswith("[") and "]" in authority
    host = authority[: authority.index("]") + 1] if in_brackets else authority.partition(":")[0]
    return small(host) or None


def small(written: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in written)


def bare(written: str) -> str:
    """Return the letters and digits of a name."""
    return "".join(letter for letter in small(written) if letter.isascii() and letter.isalnum())


def why_left_out(value: Row, prefixes: list[str]) -> str | None:
    if text(value.get("status")) == "cancelled":
        return "cancelled"
    is_hidden = first(*map(boolean, under(value, prefixes, "hidden")))
    return "hidden" if is_hidden else None


def api_version(value: Row) -> str:
    v1 = "originating_system", "created_at", "modified_at", "summary", "start", "guestsCanInviteOthers"
    v2 = "origin_system", "created_date", "modified_date", "title", "start_date", "guests_can_invite_others"
    has_v1 = any(value.get(key) is not None for key in v1)
    has_v2 = any(value.get(key) is not None for key in v2)
    return "v1" if has_v1 and not has_v2 else "v2"


def location(place: Any) -> Row:
    lines = as_list(at(place, "address_lines"))
    return {
        "location_address": text(lines[0]) if lines else None,
        "location_locality": text(at(place, "locality")),
        "location_region": text(at(place, "region")),
        "location_postal_code": text(at(place, "postal_code")),
        "location_country": text(at(place, "country")),
        "location_latitude": number(at(place, "location", "latitude")),
        "location_longitude": number(at(place, "location", "longitude")),
        "location_accuracy": text(at(place, "location", "accuracy")),
    }


def sponsor_url(value: Row, prefixes: list[str]) -> Row:
    urls = under(value, prefixes, "sponsor", "browser_url") + under(value, prefixes, "sponsor", "url")
    return {"sponsor_url": first(*map(text, urls))}


def embedded_person(value: Row, role: str) -> Row | None:
    people = at(value, "_embedded", role), value.get(role)
    return first(*(person if isinstance(person, dict) else None for person in people))


def person_of(value: Row, role: str, prefixes: list[str]) -> str | None:
    people = at(value, "_embedded", role), value.get(role)
    return first(
        id_at(at(value, "_links", role, "href")),
        *(own_id(at(person, "identifiers"), prefixes) for person in people),
        *(id_at(at(person, "_links", "self", "href")) for person in people),
    )


def event_reminders(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        {
            "event_id": id_of(element.value, prefixes),
            "position": position,
            "method": text(reminder.get("method")),
            "minutes": integer(reminder.get("minutes")),
        }
        for position, reminder in enumerate(as_list(element.value.get("reminders")))
        if isinstance(reminder, dict)
    ]


def identifiers(element: Element, prefixes: list[str]) -> list[Row]:
    pairs = [identifier.partition(":") for identifier in texts(element.value.get("identifiers")) or []]
    return [
        {"system": head if colon else None, "identifier": tail if colon else head}
        for head, colon, tail in pairs
    ]


def event_identifiers(element: Element, prefixes: list[str]) -> list[Row]:
    key = {"event_id": id_of(element.value, prefixes)}
    return [key | identifier for identifier in identifiers(element, prefixes)]


def event_people(element: Element, prefixes: list[str]) -> list[Row]:
    found = []
    for role in ("creator", "organizer"):
        person = embedded_person(element.value, f"osdi:{role}")
        if person is not None:
            place = chosen(person.get("postal_addresses"))
            found.append(
                {
                    "event_id": id_of(element.value, prefixes),
                    "role": role,
                    "person_id": id_of(person, prefixes),
                    "given_name": text(person.get("given_name")),
                    "family_name": text(person.get("family_name")),
                    "identifiers": texts(person.get("identifiers")),
                    "created_date": first(utc(person.get("created_date")), utc(person.get("created_at"))),
                    "modified_date": modified(person),
                    "origin_system": first(
                        text(person.get("origin_system")), text(person.get("originating_system"))
                    ),
                    "email": text(at(chosen(person.get("email_addresses")), "address")),
                    "location_language": text(at(place, "language")),
                    "self_url": links(person, "self"),
                }
                | location(place)
            )
    return found


# --- the tables of what is acted on --------------------------------------------------------------------


def titled(element: Element, prefixes: list[str], kind: str) -> Row:
    value = element.value
    row = {
        f"{kind}_id": id_of(value, prefixes),
        "identifiers": texts(value.get("identifiers")),
        "origin_system": first(text(value.get("origin_system")), text(value.get("originating_system"))),
        "created_date": created(value),
        "modified_date": modified(value),
        **{key: text(value.get(key)) for key in ("name", "title", "description")},
        **{key: text(value.get(key)) for key in ("browser_url", "featured_image_url")},
        "tag_list": texts(value.get("tag_list")),
        "hidden": first(*map(boolean, under(value, prefixes, "hidden"))),
        "sponsor_title": first(*map(text, under(value, prefixes, "sponsor", "title"))),
        "self_url": links(value, "self"),
        "embed_url": links(value, *(f"{prefix}:embed" for prefix in prefixes)),
    }
    return row | sponsor_url(value, prefixes) | read_at(element, "fetched_at")


def created(value: Row) -> datetime | None:
    return first(utc(value.get("created_date")), utc(value.get("created_at")))


def read_at(element: Element, *stamps: str) -> Row:
    times = {stamp: utc(element.stamps.get(stamp)) for stamp in stamps}
    return times | {"source_file": element.document.file, "source_line": element.document.line}


def event_campaigns(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {key: text(value.get(key)) for key in ("host_pitch", "host_instructions", "host_url")}
    counts = {key: integer(value.get(key)) for key in ("total_events", "total_rsvps")}
    url = {"events_url": links(value, "osdi:events")}
    return [titled(element, prefixes, "event_campaign") | row | counts | url]


def petitions(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {
        "petition_text": text(value.get("petition_text")),
        "total_signatures": integer(value.get("total_signatures")),
        "creator_id": id_at(at(value, "_links", "osdi:creator", "href")),
        "signatures_url": links(value, "osdi:signatures"),
    }
    return [titled(element, prefixes, "petition") | row]


# --- the tables of people, and of their actions ---------------------------------------------------------


def person_in(person: Any) -> Row:
    email = chosen(at(person, "email_addresses"))
    phone = chosen(at(person, "phone_numbers"))
    return {
        "given_name": text(at(person, "given_name")),
        "family_name": text(at(person, "family_name")),
        "email": text(at(email, "address")),
        "email_status": text(at(email, "status")),
        "phone": text(at(phone, "number")),
        "phone_type": text(at(phone, "number_type")),
        "phone_status": text(at(phone, "status")),
        "languages_spoken": texts(at(person, "languages_spoken")),
        "custom_fields": json_text(at(person, "custom_fields")),
    } | location(chosen(at(person, "postal_addresses")))


def people(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {
        "person_id": id_of(value, prefixes),
        "identifiers": texts(value.get("identifiers")),
        "origin_system": first(text(value.get("origin_system")), text(value.get("originating_system"))),
        "created_date": created(value),
        "modified_date": modified(value),
        "location_language": text(at(chosen(value.get("postal_addresses")), "language")),
        "self_url": links(value, "self"),
    }
    return [row | person_in(value) | read_at(element, "fetched_at")]


def keys(element: Element, prefixes: list[str], kind: str = "signature") -> Row:
    return {
        "idempotency_key": text(element.siblings.get("idempotency_key")),
        "element": element.position,
        f"{kind}_id": id_of(element.value, prefixes),
    }


def action(element: Element, prefixes: list[str], kind: str, parent: str) -> Row:
    value = element.value
    person = value.get("person")

    def linked(name: str) -> str | None:
        field = map(text, under(value, prefixes, f"{name}_id"))
        return first(id_at(at(value, "_links", f"osdi:{name}", "href")), *field)

    def referrer(key: str) -> str | None:
        found = [*under(value, prefixes, "referrer_data", key), at(value, "referrer_data", key)]
        # What the service writes for no source, and for no website, is not one.
        return first(*(None if one in UNKNOWN.get(key, ()) else one for one in map(text, found)))

    row = {
        "identifiers": texts(value.get("identifiers")),
        f"{parent}_id": linked(parent),
        "person_id": linked("person"),
        "created_date": created(value),
        "modified_date": modified(value),
        **{key: referrer(key) for key in ("source", "referrer", "website")},
        **{key: referrer(key) for key in ("email_referrer", "mobile_message_referrer")},
        "person_created_date": utc(at(person, "created_date")),
        "person_modified_date": utc(at(person, "modified_date")),
        "add_tags": texts(value.get("add_tags")),
        "sponsor_title": first(*map(text, under(element.siblings, prefixes, "sponsor", "title"))),
        "self_url": links(value, "self"),
        "person_url": links(value, "osdi:person"),
        f"{parent}_url": links(value, f"osdi:{parent}"),
    }
    undated = row["created_date"] is None and row["modified_date"] is None
    referred = [
        row[key] for key in ("source", "referrer", "website", "email_referrer", "mobile_message_referrer")
    ]
    row["excluded"] = "test" if undated and not any(way is not None for way in referred) else None
    own = keys(element, prefixes, kind) | row | person_in(person) | sponsor_url(element.siblings, prefixes)
    return own | read_at(element, "received_at", "fetched_at")


def attendances(element: Element, prefixes: list[str]) -> list[Row]:
    status = {"status": text(element.value.get("status"))}
    return [action(element, prefixes, "attendance", "event") | status]


def signatures(element: Element, prefixes: list[str]) -> list[Row]:
    comments = {"comments": text(element.value.get("comments"))}
    return [action(element, prefixes, "signature", "petition") | comments]


def signature_tags(element: Element, prefixes: list[str]) -> list[Row]:
    tags = texts(element.value.get("add_tags")) or []
    return [keys(element, prefixes) | {"tag": tag} for tag in tags]


def entries(element: Element, prefixes: list[str], name: str) -> Iterator[tuple[Row, Row]]:
    for position, entry in enumerate(as_list(at(element.value, "person", name))):
        if isinstance(entry, dict):
            row = {"position": position, "primary": boolean(entry.get("primary"))}
            yield keys(element, prefixes) | row, entry


def signature_emails(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        row | {"address": text(entry.get("address")), "status": text(entry.get("status"))}
        for row, entry in entries(element, prefixes, "email_addresses")
    ]


def signature_phones(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        row | {key: text(entry.get(key)) for key in ("number", "number_type", "status")}
        for row, entry in entries(element, prefixes, "phone_numbers")
    ]


def signature_addresses(element: Element, prefixes: list[str]) -> list[Row]:
    return [row | location(entry) for row, entry in entries(element, prefixes, "postal_addresses")]


def signature_custom_fields(element: Element, prefixes: list[str]) -> list[Row]:
    fields = at(element.value, "person", "custom_fields")
    pairs = fields.items() if isinstance(fields, dict) else ()
    return [keys(element, prefixes) | {"name": text(name), "value": text(value)} for name, value in pairs]


def signature_identifiers(element: Element, prefixes: list[str]) -> list[Row]:
    return [keys(element, prefixes) | identifier for identifier in identifiers(element, prefixes)]


TABLES: dict[str, Callable[[Element, list[str]], list[Row]]] = {
    function.__name__: function
    for function in (
        events,
        event_reminders,
        event_identifiers,
        event_people,
        event_campaigns,
        attendances,
        petitions,
        people,
        signatures,
        signature_tags,
        signature_emails,
        signature_phones,
        signature_addresses,
        signature_custom_fields,
        signature_identifiers,
    )
}
