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


class Element(NamedTuple):
    """An event or a signature, and all that a row says of where it was."""

    value: Row
    position: int
    beside: Row
    stamps: Row
    document: Document


def read(
    documents: Iterable[Document],
    table: str,
    *,
    dedupe: bool | str = True,
    prefix: str | None = None,
) -> list[Row]:
    """Give the rows of a table, in the order of the documents."""
    prefixes = [prefix, "platform", "action_network"] if prefix else ["platform", "action_network"]
    of_events = table.startswith("event")
    elements = list(elements_of(documents, "osdi:events" if of_events else "osdi:signatures"))
    if dedupe is not False:
        identity = identity_of_event if of_events else identity_of_signature
        stamp = "fetched_at" if of_events else "received_at"
        elements = newest(elements, stamp, lambda each: identity(each, prefixes, dedupe))
    return [row for element in elements for row in TABLES[table](element, prefixes)]


# --- documents -----------------------------------------------------------------------------------------


def elements_of(documents: Iterable[Document], kind: str) -> Iterator[Element]:
    """Give the elements of one kind: of pages, of deliveries, of single events; out of their envelopes."""
    for document in documents:
        body, stamps = document.value, {}
        if isinstance(body, dict) and "body" in body and ("received_at" in body or "fetched_at" in body):
            body, stamps = body["body"], body
        if isinstance(body, list):
            found = delivered(body) if kind == "osdi:signatures" else []
        elif isinstance(body, dict) and is_page(body):
            found = [
                (position, {}, each) for position, each in enumerate(as_list(at(body, "_embedded", kind)))
            ]
        elif isinstance(body, dict) and is_event(body):
            found = [(0, {}, body)] if kind == "osdi:events" else []
        else:
            found = []
        for position, beside, value in found:
            if isinstance(value, dict):
                yield Element(value, position, beside, stamps, document)


def delivered(body: list[Any]) -> list[tuple[int, Row, Any]]:
    """Give what the elements of a delivery have under the type key of signatures."""
    return [
        (position, each, each["osdi:signature"])
        for position, each in enumerate(body)
        if isinstance(each, dict) and "osdi:signature" in each
    ]


def is_page(body: Row) -> bool:
    embedded = body.get("_embedded")
    return isinstance(embedded, dict) and ("osdi:events" in embedded or "osdi:signatures" in embedded)


def is_event(body: Row) -> bool:
    """Tell a single event by a key that nothing else has, or by its address."""
    keys = "start_date", "start", "total_accepted", "transparence"
    guests = "guests_can_invite_others", "guestsCanInviteOthers"
    href = at(body, "_links", "self", "href")
    if any(key in body for key in (*keys, *guests)):
        return True
    return isinstance(href, str) and path_of(href).rpartition("/")[0].endswith("/events")


def newest(elements: list[Element], stamp: str, identity: Callable[[Element], Any]) -> list[Element]:
    """Keep of each thing the newest, of equally new ones the last; and all that have no identity."""
    best: dict[Any, tuple[datetime, datetime, int]] = {}
    for order, element in enumerate(elements):
        thing = identity(element) or order
        age = modified(element.value) or OLDEST, utc(element.stamps.get(stamp)) or OLDEST, order
        best[thing] = max(best.get(thing, age), age)
    kept = {order for _, _, order in best.values()}
    return [element for order, element in enumerate(elements) if order in kept]


def modified(value: Row) -> datetime | None:
    moment = utc(value.get("modified_date"))
    return moment if moment is not None else utc(value.get("modified_at"))


def identity_of_event(element: Element, prefixes: list[str], _: bool | str) -> Any:
    own = id_of(element.value, prefixes)
    return None if own is None else ("event", own)


def identity_of_signature(element: Element, prefixes: list[str], dedupe: bool | str) -> Any:
    """Give what tells a signature from others; with ``"message"``, a delivery of it from others."""
    key, own = text(element.beside.get("idempotency_key")), id_of(element.value, prefixes)
    if dedupe == "message":
        if key is not None:
            return ("message", key, own if own is not None else element.position, own is None)
        return None if own is None else ("without key", own, utc(element.value.get("modified_date")))
    if own is not None:
        return ("signature", own)
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
    """Give an ISO 8601 datetime in the extended form, with the zone that it names, if any."""
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
    return [each for each in map(text, value) if each is not None]


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
    """Give the first value that there is."""
    return next((value for value in values if value is not None), None)


def chosen(entries: Any) -> Any:
    """Give the entry that is marked as primary, else the first that there is."""
    present = [each for each in as_list(entries) if each is not None]
    marked = [each for each in present if boolean(at(each, "primary"))]
    return first(*marked, *present)


def path_of(href: str) -> str:
    """Give the path of an address, without a slash at its end."""
    path = re.split("[?#]", href, maxsplit=1)[0]
    return re.sub("^([^/:]+:)?//[^/]*", "", path).rstrip("/")


def id_at(href: Any) -> str | None:
    """Give the last path segment of an address."""
    address = text(href)
    return None if address is None else path_of(address).rpartition("/")[2] or None


def own_id(identifiers: Any, prefixes: Sequence[str]) -> str | None:
    """Give the service's own identifier, without its prefix."""
    heads = tuple(f"{prefix}:" for prefix in prefixes)
    own = [each for each in texts(identifiers) or [] if each.startswith(heads)]
    return own[0].partition(":")[2] or None if own else None


def id_of(value: Any, prefixes: Sequence[str]) -> str | None:
    return first(own_id(at(value, "identifiers"), prefixes), id_at(at(value, "_links", "self", "href")))


def under(value: Any, prefixes: Sequence[str], key: str, *inner: str) -> list[Any]:
    """Give what stands at a key of the service's own, by each of its prefixes."""
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
    if accepted is not None and accepted >= 1 and origin is not None and title is not None:
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
        "event_campaign_id": first(
            *map(text, under(value, prefixes, "event_campaign_id")),
            *(id_at(at(value, "_links", name, "href")) for name in campaign_links),
        ),
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
        "fetched_at": utc(element.stamps.get("fetched_at")),
        "source_file": element.document.file,
        "source_line": element.document.line,
    }
    return [row | location(value.get("location")) | sponsor_url(value, prefixes)]


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
    return first(*(each if isinstance(each, dict) else None for each in people))


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
            "method": text(each.get("method")),
            "minutes": integer(each.get("minutes")),
        }
        for position, each in enumerate(as_list(element.value.get("reminders")))
        if isinstance(each, dict)
    ]


def identifiers(element: Element, prefixes: list[str]) -> list[Row]:
    pairs = [each.partition(":") for each in texts(element.value.get("identifiers")) or []]
    return [
        {"system": head if colon else None, "identifier": tail if colon else head}
        for head, colon, tail in pairs
    ]


def event_identifiers(element: Element, prefixes: list[str]) -> list[Row]:
    key = {"event_id": id_of(element.value, prefixes)}
    return [key | each for each in identifiers(element, prefixes)]


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


# --- the tables of signatures --------------------------------------------------------------------------


def keys(element: Element, prefixes: list[str]) -> Row:
    return {
        "idempotency_key": text(element.beside.get("idempotency_key")),
        "element": element.position,
        "signature_id": id_of(element.value, prefixes),
    }


def signatures(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    person = value.get("person")
    email = chosen(at(person, "email_addresses"))
    phone = chosen(at(person, "phone_numbers"))

    def referrer(key: str) -> str | None:
        own = map(text, under(value, prefixes, "referrer_data", key))
        return first(*own, text(at(value, "referrer_data", key)))

    row = {
        "identifiers": texts(value.get("identifiers")),
        "petition_id": id_at(at(value, "_links", "osdi:petition", "href")),
        "person_id": id_at(at(value, "_links", "osdi:person", "href")),
        "created_date": utc(value.get("created_date")),
        "modified_date": utc(value.get("modified_date")),
        "comments": text(value.get("comments")),
        "source": referrer("source"),
        "referrer": referrer("referrer"),
        "website": referrer("website"),
        "given_name": text(at(person, "given_name")),
        "family_name": text(at(person, "family_name")),
        "person_created_date": utc(at(person, "created_date")),
        "person_modified_date": utc(at(person, "modified_date")),
        "email": text(at(email, "address")),
        "email_status": text(at(email, "status")),
        "phone": text(at(phone, "number")),
        "phone_type": text(at(phone, "number_type")),
        "phone_status": text(at(phone, "status")),
        "languages_spoken": texts(at(person, "languages_spoken")),
        "add_tags": texts(value.get("add_tags")),
        "custom_fields": json_text(at(person, "custom_fields")),
        "sponsor_title": first(*map(text, under(element.beside, prefixes, "sponsor", "title"))),
        "self_url": links(value, "self"),
        "person_url": links(value, "osdi:person"),
        "petition_url": links(value, "osdi:petition"),
        "received_at": utc(element.stamps.get("received_at")),
        "source_file": element.document.file,
        "source_line": element.document.line,
    }
    place = location(chosen(at(person, "postal_addresses")))
    return [keys(element, prefixes) | row | place | sponsor_url(element.beside, prefixes)]


def signature_tags(element: Element, prefixes: list[str]) -> list[Row]:
    tags = texts(element.value.get("add_tags")) or []
    return [keys(element, prefixes) | {"tag": tag} for tag in tags]


def entries(element: Element, prefixes: list[str], name: str) -> Iterator[tuple[Row, Row]]:
    for position, each in enumerate(as_list(at(element.value, "person", name))):
        if isinstance(each, dict):
            row = {"position": position, "primary": boolean(each.get("primary"))}
            yield keys(element, prefixes) | row, each


def signature_emails(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        row | {"address": text(each.get("address")), "status": text(each.get("status"))}
        for row, each in entries(element, prefixes, "email_addresses")
    ]


def signature_phones(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        row | {key: text(each.get(key)) for key in ("number", "number_type", "status")}
        for row, each in entries(element, prefixes, "phone_numbers")
    ]


def signature_addresses(element: Element, prefixes: list[str]) -> list[Row]:
    return [row | location(each) for row, each in entries(element, prefixes, "postal_addresses")]


def signature_custom_fields(element: Element, prefixes: list[str]) -> list[Row]:
    fields = at(element.value, "person", "custom_fields")
    pairs = fields.items() if isinstance(fields, dict) else ()
    return [keys(element, prefixes) | {"name": text(name), "value": text(value)} for name, value in pairs]


def signature_identifiers(element: Element, prefixes: list[str]) -> list[Row]:
    return [keys(element, prefixes) | each for each in identifiers(element, prefixes)]


TABLES: dict[str, Callable[[Element, list[str]], list[Row]]] = {
    each.__name__: each
    for each in (
        events,
        event_reminders,
        event_identifiers,
        event_people,
        signatures,
        signature_tags,
        signature_emails,
        signature_phones,
        signature_addresses,
        signature_custom_fields,
        signature_identifiers,
    )
}
