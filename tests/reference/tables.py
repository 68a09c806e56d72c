"""The rows of each table, of one element."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .documents import ACTS, KINDS, REFERRED, STAMPS, UNKNOWN, Element
from .values import (
    Row,
    address_in,
    amount,
    as_list,
    at,
    boolean,
    created,
    email_in,
    first,
    id_at,
    id_of,
    integer,
    link_names,
    linked,
    links,
    local,
    location,
    modified,
    named,
    number,
    own_id,
    person_in,
    status_word,
    text,
    texts,
    under,
    utc,
)

# --- what several tables have --------------------------------------------------------------------------


def dated(value: Any, before: str = "") -> Row:
    return {f"{before}created_date": created(value), f"{before}modified_date": modified(value)}


def origin_of(value: Any) -> str | None:
    return first(text(at(value, "origin_system")), text(at(value, "originating_system")))


def read_at(element: Element, *stamps: str) -> Row:
    times = {stamp: utc(element.stamps.get(stamp)) for stamp in stamps}
    return times | {"source_file": element.document.file, "source_line": element.document.line}


def keys(element: Element, prefixes: list[str], kind: str = "signature") -> Row:
    return {
        "idempotency_key": text(element.siblings.get("idempotency_key")),
        "element": element.position,
        f"{kind}_id": id_of(element.value, prefixes),
    }


def entries(held: Any) -> Iterator[tuple[Row, Row]]:
    """Return the objects of a list, each with the row of its position."""
    for position, entry in enumerate(as_list(held)):
        if isinstance(entry, dict):
            yield {"position": position}, entry


def sponsor(value: Row, prefixes: list[str]) -> Row:
    def first_of(*names: str) -> str | None:
        return first(*(text(one) for name in names for one in under(value, prefixes, "sponsor", name)))

    return {"sponsor_title": first_of("title", "summary"), "sponsor_url": first_of("browser_url", "url")}


def titled(element: Element, prefixes: list[str], kind: str) -> Row:
    """Return what events, and whatever else is acted on, have."""
    value = element.value
    row = {
        f"{kind}_id": id_of(value, prefixes),
        "identifiers": texts(value.get("identifiers")),
        "origin_system": origin_of(value),
        "title": first(text(value.get("title")), text(value.get("summary"))),
        "browser_url": first(text(value.get("browser_url")), text(value.get("url"))),
        "tag_list": texts(value.get("tag_list")),
        "hidden": first(*map(boolean, under(value, prefixes, "hidden"))),
        "self_url": links(value, "self"),
        "embed_url": links(value, *(f"{prefix}:embed" for prefix in prefixes)),
    }
    row |= dated(value) | named(value, "name", "description", "featured_image_url")
    return row | sponsor(value, prefixes) | read_at(element, "fetched_at")


# --- events --------------------------------------------------------------------------------------------


def events(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = titled(element, prefixes, "event")
    del row["tag_list"]
    campaign_links = [f"{prefix}:event_campaign" for prefix in prefixes]
    guests = (boolean(value.get(name)) for name in ("guests_can_invite_others", "guestsCanInviteOthers"))
    instructions = value.get("instructions"), *under(value, prefixes, "event_instructions")
    row |= {
        "api_version": api_version(value),
        "instructions": first(*map(text, instructions)),
        "start_date": first(local(value.get("start_date")), local(value.get("start"))),
        "end_date": local(value.get("end_date")),
        "location_venue": text(at(value, "location", "venue")),
        "location_language": text(at(value, "location", "language")),
        "total_accepted": integer(value.get("total_accepted")),
        "event_campaign_id": first(
            *map(text, under(value, prefixes, "event_campaign_id")),
            *(id_at(at(value, "_links", name, "href")) for name in campaign_links),
        ),
        "timezone": text(value.get("timezone_identifier")),
        "guests_can_invite_others": first(*guests),
        "capacity": integer(value.get("capacity")),
        "creator_id": person_of(value, "osdi:creator", prefixes),
        "organizer_id": person_of(value, "osdi:organizer", prefixes),
        "attendances_url": links(value, "osdi:attendances", "osdi:attendance"),
        "record_attendance_url": links(value, "osdi:record_attendance_helper", "record_attendance_helper"),
        "event_campaign_url": links(value, *campaign_links),
    }
    row |= named(value, "status", "transparence", "visibility") | location(value.get("location"))
    title, origin = row["title"], row["origin_system"]
    is_labelled = (row["total_accepted"] or 0) >= 1 and None not in (title, origin)
    is_labelled = is_labelled and not is_made_in_the_user_interface(value, prefixes)
    return [row | {"targeting_label": f"[1, ({origin}) Event], ({title})" if is_labelled else None}]


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
    origin = origin_of(value)
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


def api_version(value: Row) -> str:
    v1 = "originating_system", "created_at", "modified_at", "summary", "start", "guestsCanInviteOthers"
    v2 = "origin_system", "created_date", "modified_date", "title", "start_date", "guests_can_invite_others"
    has_v1, has_v2 = (any(value.get(key) is not None for key in names) for names in (v1, v2))
    return "v1" if has_v1 and not has_v2 else "v2"


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
    key = {"event_id": id_of(element.value, prefixes)}
    return [
        key | place | named(reminder, "method") | {"minutes": integer(reminder.get("minutes"))}
        for place, reminder in entries(element.value.get("reminders"))
    ]


def identifiers(value: Row) -> list[Row]:
    pairs = [identifier.partition(":") for identifier in texts(value.get("identifiers")) or []]
    return [
        {"system": head if colon else None, "identifier": tail if colon else head}
        for head, colon, tail in pairs
    ]


def event_identifiers(element: Element, prefixes: list[str]) -> list[Row]:
    return [{"event_id": id_of(element.value, prefixes)} | each for each in identifiers(element.value)]


def event_people(element: Element, prefixes: list[str]) -> list[Row]:
    found = []
    for role in ("creator", "organizer"):
        if (person := embedded_person(element.value, f"osdi:{role}")) is not None:
            row = {"event_id": id_of(element.value, prefixes), "role": role}
            row |= own_person(person, prefixes) | named(person, "given_name", "family_name")
            row["email"] = text(at(email_in(person), "address"))
            found.append(row | location(address_in(person)))
    return found


# --- what is acted on ----------------------------------------------------------------------------------


def event_campaigns(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = named(value, "host_pitch", "host_instructions", "host_url")
    row |= {key: integer(value.get(key)) for key in ("total_events", "total_rsvps")}
    return [titled(element, prefixes, "event_campaign") | row | {"events_url": links(value, "osdi:events")}]


def acted_on(element: Element, prefixes: list[str], kind: str, acts: str, *own: str) -> Row:
    """Return what petitions, and what is like them, have, with texts of their own."""
    value = element.value
    names = [f"{prefix}:{acts}" for prefix in prefixes] if kind == "survey" else []
    row = titled(element, prefixes, kind) | named(value, *own)
    row[f"total_{acts}"] = integer(value.get(f"total_{acts}"))
    row["creator_id"] = id_at(at(value, "_links", "osdi:creator", "href"))
    return row | {f"{acts}_url": links(value, *names, f"osdi:{acts}")}


def petitions(element: Element, prefixes: list[str]) -> list[Row]:
    return [acted_on(element, prefixes, "petition", "signatures", "petition_text")]


def forms(element: Element, prefixes: list[str]) -> list[Row]:
    return [acted_on(element, prefixes, "form", "submissions", "call_to_action")]


def fundraising_pages(element: Element, prefixes: list[str]) -> list[Row]:
    row = {"total_amount": amount(element.value.get("total_amount")), "currency": currency(element.value)}
    return [acted_on(element, prefixes, "fundraising_page", "donations", "call_to_action") | row]


def advocacy_campaigns(element: Element, prefixes: list[str]) -> list[Row]:
    own = "call_to_action", "type", "targets"
    return [acted_on(element, prefixes, "advocacy_campaign", "outreaches", *own)]


def surveys(element: Element, prefixes: list[str]) -> list[Row]:
    return [acted_on(element, prefixes, "survey", "responses", "call_to_action")]


# --- people --------------------------------------------------------------------------------------------


def own_person(value: Row, prefixes: list[str]) -> Row:
    """Return what only a resource of a person has, not the person of an act."""
    return dated(value) | {
        "person_id": id_of(value, prefixes),
        "identifiers": texts(value.get("identifiers")),
        "origin_system": origin_of(value),
        "location_language": text(at(address_in(value), "language")),
        "self_url": links(value, "self"),
    }


def people(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    return [own_person(value, prefixes) | person_in(value) | read_at(element, *STAMPS)]


# --- acts ----------------------------------------------------------------------------------------------


def act(element: Element, prefixes: list[str], kind: str, *own: str) -> Row:
    """Return what all acts have, with texts of their own."""
    value, of = element.value, KINDS[kind].of
    person = value.get("person")

    def referrer(key: str) -> str | None:
        found = [*under(value, prefixes, "referrer_data", key), at(value, "referrer_data", key)]
        # What the service writes for no source, and for no website, is not one.
        return first(*(None if one in UNKNOWN.get(key, ()) else one for one in map(text, found)))

    row = {
        "identifiers": texts(value.get("identifiers")),
        "person_id": linked(value, "person", prefixes),
        "add_tags": texts(value.get("add_tags")),
        "self_url": links(value, "self"),
        "person_url": links(value, "osdi:person", "osdi:people"),
    }
    if of:
        row[f"{of}_id"] = linked(value, of, prefixes)
        row[f"{of}_url"] = links(value, *link_names(of, prefixes))
    row |= dated(value) | {key: referrer(key) for key in REFERRED} | dated(person, "person_")
    row |= keys(element, prefixes, kind) | person_in(person) | sponsor(element.siblings, prefixes)
    return row | read_at(element, *STAMPS) | named(value, *own)


def attendances(element: Element, prefixes: list[str]) -> list[Row]:
    row = act(element, prefixes, "attendance", "status")
    came = boolean(element.value.get("attended")) or status_word(row["status"]) in ("attended", "checkedin")
    return [row | {"attended": came} | of_tickets(attendance_tickets(element, prefixes))]


def of_tickets(tickets: list[Row]) -> Row:
    """Return the sum of the amounts of tickets, and their currency; nothing of several currencies."""
    codes = {ticket["currency"] for ticket in tickets}
    amounts = [ticket["amount"] for ticket in tickets if ticket["amount"] is not None]
    if len(codes) != 1:
        return {"amount": None, "currency": None}
    return {"amount": sum(amounts) if amounts else None, "currency": codes.pop()}


def currency(value: Row) -> str | None:
    code = text(value.get("currency"))
    return None if code is None else code.strip().upper()


def signatures(element: Element, prefixes: list[str]) -> list[Row]:
    return [act(element, prefixes, "signature", "comments")]


def uploads(element: Element, prefixes: list[str]) -> list[Row]:
    return [act(element, prefixes, "upload")]


def submissions(element: Element, prefixes: list[str]) -> list[Row]:
    return [act(element, prefixes, "submission")]


def donations(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {
        "amount": amount(value.get("amount")),
        "currency": currency(value),
        "payment_method": text(at(value, "payment", "method")),
        "payment_reference": text(at(value, "payment", "reference_number")),
        "payment_stored": boolean(at(value, "payment", "authorization_stored")),
        "recurring": first(*map(boolean, under(value, prefixes, "recurrence", "recurring"))),
        "recurrence_period": first(*map(text, under(value, prefixes, "recurrence", "period"))),
    }
    return [act(element, prefixes, "donation") | row]


def outreaches(element: Element, prefixes: list[str]) -> list[Row]:
    row = act(element, prefixes, "outreach", "type", "subject", "message")
    return [row | {"duration": number(element.value.get("duration"))}]


def responses(element: Element, prefixes: list[str]) -> list[Row]:
    return [act(element, prefixes, "response")]


def attendance_tickets(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        keys(element, prefixes, "attendance")
        | place
        | {"amount": amount(entry.get("amount")), "currency": currency(entry)}
        | named(entry, "title", "description")
        for place, entry in entries(element.value.get("tickets"))
    ]


def donation_recipients(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        keys(element, prefixes, "donation")
        | place
        | named(entry, "display_name")
        | {"amount": amount(entry.get("amount"))}
        for place, entry in entries(element.value.get("recipients"))
    ]


def outreach_targets(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        keys(element, prefixes, "outreach")
        | place
        | named(entry, "title", "given_name", "family_name", "ocdid")
        for place, entry in entries(element.value.get("targets"))
    ]


# --- tags ----------------------------------------------------------------------------------------------


def of_tags(element: Element, prefixes: list[str], kind: str) -> Row:
    value = element.value
    row = {f"{kind}_id": id_of(value, prefixes), "identifiers": texts(value.get("identifiers"))}
    return row | dated(value) | {"self_url": links(value, "self")} | read_at(element, "fetched_at")


def tags(element: Element, prefixes: list[str]) -> list[Row]:
    row = named(element.value, "name") | {"taggings_url": links(element.value, "osdi:taggings")}
    return [of_tags(element, prefixes, "tag") | row]


def taggings(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {
        "tag_id": linked(value, "tag", prefixes),
        "person_id": linked(value, "person", prefixes),
        "person_url": links(value, "osdi:person", "osdi:people"),
        "tag_url": links(value, "osdi:tag"),
    }
    return [of_tags(element, prefixes, "tagging") | row | named(value, "item_type")]


# --- the child tables of each act ----------------------------------------------------------------------


def tags_of(value: Row) -> Iterator[Row]:
    yield from ({"tag": tag} for tag in texts(value.get("add_tags")) or [])


def of_person(value: Row, name: str) -> Iterator[tuple[Row, Row]]:
    for place, entry in entries(at(value, "person", name)):
        yield place | {"primary": boolean(entry.get("primary"))}, entry


def emails_of(value: Row) -> Iterator[Row]:
    yield from (row | named(entry, "address", "status") for row, entry in of_person(value, "email_addresses"))


def phones_of(value: Row) -> Iterator[Row]:
    for row, entry in of_person(value, "phone_numbers"):
        yield row | named(entry, "number", "number_type", "status")


def addresses_of(value: Row) -> Iterator[Row]:
    yield from (row | location(entry) for row, entry in of_person(value, "postal_addresses"))


def custom_fields_of(value: Row) -> Iterator[Row]:
    fields = at(value, "person", "custom_fields")
    for name, field in fields.items() if isinstance(fields, dict) else ():
        yield {"name": text(name), "value": text(field)}


Rows = Callable[[Element, list[str]], list[Row]]


def children_of(kind: str, rows: Callable[[Row], Iterable[Row]]) -> Rows:
    """Return what gives the rows of a child table of acts, each with the keys of its act."""
    return lambda element, prefixes: [keys(element, prefixes, kind) | row for row in rows(element.value)]


WITH_TABLES: tuple[Rows, ...] = (
    *(events, event_reminders, event_identifiers, event_people, event_campaigns, attendances, petitions),
    *(people, signatures, uploads, attendance_tickets, forms, submissions, fundraising_pages, donations),
    *(donation_recipients, advocacy_campaigns, outreaches, outreach_targets, surveys, responses, tags),
    taggings,
)
TABLES = {rows.__name__: rows for rows in WITH_TABLES} | {"upload_tags": children_of("upload", tags_of)}
for kind in ACTS:
    for rows in (tags_of, emails_of, phones_of, addresses_of, custom_fields_of, identifiers):
        TABLES[f"{kind}_{rows.__name__.removesuffix('_of')}"] = children_of(kind, rows)
