"""A reference reading: every table as a plain walk over ``json.loads``, one column after the other.

It shares no code with the package, not even the declarations, so that a mistake cannot be made in both.
It is slow, keeps everything in memory, takes what does not fit as missing, and says nothing of problems and of what
pulls prove: `tests/world` has that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

Row = dict[str, Any]

#: What the package puts before an address of which it makes an id.
SALT = "osdi-frames person known by an e-mail address: "
OLDEST = datetime(1, 1, 1, tzinfo=UTC)


class Document(NamedTuple):
    """One JSON text of an archive, parsed, and where it begins."""

    file: str | None
    line: int
    value: Any


class Kind(NamedTuple):
    """What holds the elements of a kind, what only its resources have, and what they lead to."""

    collections: tuple[str, ...]
    segment: str
    keys: tuple[str, ...] = ()
    delivered: tuple[str, ...] = ()
    of: str | None = None
    parent: str | None = None
    """The kind in whose lists it is, if it has none of its own."""


STAMPS = ("received_at", "fetched_at")
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
        ("osdi:attendances", "osdi:attendance"), "attendances?", (), ("osdi:attendance",), "event", "event"
    ),
    "petition": Kind(("osdi:petitions",), "petitions", ("petition_text", "total_signatures")),
    "signature": Kind(("osdi:signatures",), "signatures?", (), ("osdi:signature",), "petition", "petition"),
    "form": Kind(("osdi:forms",), "forms", ("total_submissions",)),
    "submission": Kind(("osdi:submissions",), "submissions?", (), ("osdi:submission",), "form", "form"),
    "fundraising_page": Kind(
        ("osdi:fundraising_pages",), "fundraising_pages", ("total_donations", "total_amount")
    ),
    "donation": Kind(
        ("osdi:donations",),
        "donations?",
        ("recipients", "payment"),
        ("osdi:donation",),
        "fundraising_page",
    ),
    "advocacy_campaign": Kind(("osdi:advocacy_campaigns",), "advocacy_campaigns", ("total_outreaches",)),
    "outreach": Kind(
        ("osdi:outreaches",),
        "outreach(es)?",
        (),
        ("osdi:outreach",),
        "advocacy_campaign",
        "advocacy_campaign",
    ),
    "survey": Kind(("<p>:surveys",), "surveys", ("total_responses",)),
    "response": Kind(
        ("<p>:responses",),
        "responses?",
        (),
        ("action_network:response", "<p>:response", "osdi:response"),
        "survey",
        "survey",
    ),
    "upload": Kind(("<p>:uploads",), "uploads?", (), ("action_network:upload", "<p>:upload", "<p>:action")),
    "person": Kind(("osdi:people",), "people", PERSON_KEYS),
    "tag": Kind(("osdi:tags",), "tags"),
    "tagging": Kind(("osdi:taggings",), "taggings", (), (), "tag", "tag"),
}
KNOWN = ("platform", "action_network")

#: What only pages have, what resources have, and the service's own fields that are no element types.
COUNTS = ("total_pages", "per_page", "page", "total_records")
OF_PAGES = (*COUNTS, "_embedded", "_links")
OF_RESOURCES = ("identifiers", "created_date", "person")
OWN_FIELDS = ("sponsor", "referrer_data", "person_id", "petition_id", "event_id", "event_campaign_id")
OWN_FIELDS += ("hidden", "event_instructions", "form_id", "fundraising_page_id", "recurrence")
OWN_FIELDS += ("advocacy_campaign_id", "survey_id", "tag_id")
#: What is read of each kind, but for what resources of any kind have.
DATES = ("created_date", "created_at", "modified_date", "modified_at", "identifiers")
TITLED = (
    *DATES,
    "name",
    "title",
    "summary",
    "description",
    "browser_url",
    "url",
    "featured_image_url",
    "<p>:hidden",
    "<p>:sponsor",
)
ACTED = (*DATES, "person", "add_tags", "referrer_data", "<p>:referrer_data", "<p>:person_id")
CALLING = (*TITLED, "tag_list", "call_to_action")
FIELDS = {
    "event": (
        *(
            *TITLED,
            *EVENT_KEYS,
            "guests_can_invite_others",
            "guestsCanInviteOthers",
            "instructions",
        ),
        *("end_date", "timezone_identifier", "location", "status", "visibility", "capacity", "reminders"),
        *("osdi:creator", "osdi:organizer", "<p>:event_instructions", "<p>:event_campaign_id"),
    ),
    "event_campaign": (*TITLED, *CAMPAIGN_KEYS, "tag_list"),
    "attendance": (*ACTED, "status", "attended", "tickets", "<p>:event_id"),
    "petition": (*TITLED, "tag_list", "petition_text", "total_signatures"),
    "signature": (*ACTED, "comments", "<p>:petition_id"),
    "form": (*CALLING, "total_submissions"),
    "submission": (*ACTED, "<p>:form_id"),
    "fundraising_page": (*CALLING, "total_donations", "total_amount", "currency"),
    "donation": (
        *(*ACTED, "<p>:fundraising_page_id", "amount", "currency", "payment", "recipients"),
        "<p>:recurrence",
    ),
    "advocacy_campaign": (*CALLING, "total_outreaches", "type", "targets"),
    "outreach": (*ACTED, "<p>:advocacy_campaign_id", "type", "subject", "message", "duration", "targets"),
    "survey": (*CALLING, "total_responses"),
    "response": (*ACTED, "<p>:survey_id"),
    "upload": ACTED,
    "person": (*DATES, *PERSON_KEYS, "languages_spoken", "custom_fields"),
    "tag": (*DATES, "name"),
    "tagging": (*DATES, "<p>:tag_id", "<p>:person_id", "item_type"),
}

#: Collections that no table has.
OTHERS = "campaigns|items|lists|messages|metadata|mobile_messages|queries|questions|wrappers"


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
    people: bool = True,
) -> list[Row]:
    """Return the rows of a table in the order of the documents."""
    prefixes = [*([prefix] if prefix else []), *KNOWN]
    kind = kind_of(table)
    found = list(everything(documents, kind, prefixes))
    if dedupe is True:
        return resolved(Known(found, prefixes), table, fill=people)
    elements = [element for each, element in found if each == kind]
    if dedupe == "message":
        elements = [versions[-1] for versions in versions_of(elements, kind, prefixes, dedupe)]
    rows = [row for element in elements for row in TABLES[table](element, prefixes)]
    return [row | as_it_came(kind, row) if table in MAIN.values() else row for row in rows]


def read_files(documents: Iterable[Document], tables: Iterable[str]) -> dict[str, list[Row]]:
    """Return the rows of tables, one for each thing; what a file holds does not depend on the table asked for."""
    known = Known(list(everything(documents, "event", KNOWN)), list(KNOWN))
    return {table: resolved(known, table, fill=True) for table in tables}


# --- documents -----------------------------------------------------------------------------------------


def elements_of(documents: Iterable[Document], kind: str, prefixes: Sequence[str]) -> Iterator[Element]:
    """Return the elements of one kind, in the order in which they stand."""
    return (element for found, element in everything(documents, kind, prefixes) if found == kind)


def everything(
    documents: Iterable[Document], asked: str, prefixes: Sequence[str]
) -> Iterator[tuple[str, Element]]:
    """Return all elements and their kinds; where no kind is clear, it is the one that is asked for."""
    for document in documents:
        for found, value, *where in in_document(document.value, prefixes, {}):
            # Who has parsed objects knows of which kind they are.
            named = found is None and document.file is None and may_be(value, asked, prefixes)
            kind = asked if named else found
            if kind is not None:
                *rest, stamps = where
                # Events, campaigns and petitions are not received, whatever an envelope says.
                times = (
                    stamps if KINDS[kind].delivered or kind == "person" else {**stamps, "received_at": None}
                )
                yield kind, Element(value, *rest, times, document)


#: Its kind (None where it is not clear), the resource, its position, its siblings, and the times of the envelope.
Found = tuple[str | None, Row, int, Row, Row]


def in_document(body: Any, prefixes: Sequence[str], stamps: Row, position: int | None = None) -> list[Found]:
    """Return the elements of a document, or of the entry at a position of an array: out of their envelope."""
    if isinstance(body, list):
        return [found for at, entry in enumerate(body) for found in in_document(entry, prefixes, stamps, at)]
    if not isinstance(body, dict):
        return []
    if position is not None and is_delivered(body, prefixes):
        return delivered(body, position, stamps, prefixes)
    if "body" in body and any(stamp in body for stamp in STAMPS):
        return out_of_envelope(body["body"], prefixes, {stamp: body.get(stamp) for stamp in STAMPS})
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
    if has_type(body, prefixes) or ("idempotency_key" in body and is_delivered(body, prefixes)):
        return delivered(body, 0, stamps, prefixes)
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


def type_keys(prefixes: Sequence[str]) -> dict[str, str]:
    """Return the kind of each key that elements of deliveries have their resources under."""
    return {
        key.replace("<p>", prefix): name
        for name, kind in KINDS.items()
        for key in kind.delivered
        for prefix in prefixes
    }


def has_type(body: Row, prefixes: Sequence[str]) -> bool:
    return bool(type_keys(prefixes).keys() & body.keys())


def is_delivered(body: Row, prefixes: Sequence[str]) -> bool:
    """Tell an entry of a delivery, which has its resource under a type, from a document."""
    types = [key for key in body if ":" in key and not key.endswith(tuple(f":{own}" for own in OWN_FIELDS))]
    is_other = types and not body.keys() & {*OF_RESOURCES, *OF_PAGES, "body"}
    return has_type(body, prefixes) or bool(is_other)


def delivered(entry: Row, position: int, stamps: Row, prefixes: Sequence[str]) -> list[Found]:
    """Return what an element of a delivery has under its types."""
    kinds = type_keys(prefixes)
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
    if has_type(body, prefixes):
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
        if kind.of
        and first(
            *(at(body, "_links", link) for link in link_names(kind.of, prefixes)),
            *under(body, prefixes, f"{kind.of}_id"),
        )
        is not None
    ]
    return found[0] if len(found) == 1 else None


# --- versions: what is known of one thing ---------------------------------------------------------------

#: Of each kind: the table that has a row for each thing.
MAIN = {kind: f"{kind}s" for kind in KINDS} | {"person": "people", "outreach": "outreaches"}
REFERRED = ("source", "referrer", "website", "email_referrer", "mobile_message_referrer")
LOCATION = (
    *("location_address", "location_locality", "location_region", "location_postal_code"),
    *("location_country", "location_latitude", "location_longitude", "location_accuracy"),
)
SPONSOR = ("sponsor_title", "sponsor_url")
LINKED = ("person_id", "self_url", "person_url")
#: The columns of each block of a person.
NAMED, MAILED = ("given_name", "family_name"), ("email", "email_status")
CALLED = ("phone", "phone_type", "phone_status")
PERSON_BLOCKS = {
    "name": NAMED,
    "email": MAILED,
    "phone": CALLED,
    "location": LOCATION,
    "languages": ("languages_spoken",),
    "custom_fields": ("custom_fields",),
    "dates": ("person_created_date", "person_modified_date"),
}
ACT_BLOCKS = PERSON_BLOCKS | {
    "tags": ("add_tags",),
    "referrer": REFERRED,
    "sponsor": SPONSOR,
}

#: Of each kind: the columns of each block; all others belong to the act itself.
BLOCKS: dict[str, dict[str, tuple[str, ...]]] = {
    "event": {
        "sponsor": SPONSOR,
        "links": (
            *("creator_id", "organizer_id", "self_url", "attendances_url", "record_attendance_url"),
            *("event_campaign_url", "embed_url"),
        ),
    },
    "event_campaign": {"sponsor": SPONSOR, "links": ("events_url", "self_url", "embed_url")},
    "petition": {"sponsor": SPONSOR, "links": ("creator_id", "signatures_url", "self_url", "embed_url")},
    "signature": ACT_BLOCKS | {"links": (*LINKED, "petition_id", "petition_url")},
    "attendance": ACT_BLOCKS | {"links": (*LINKED, "event_id", "event_url")},
    "upload": ACT_BLOCKS | {"links": LINKED},
    "tag": {"links": ("self_url", "taggings_url")},
    "tagging": {"links": (*LINKED, "tag_id", "tag_url")},
}
for act, of in {
    "submission": "form",
    "donation": "fundraising_page",
    "outreach": "advocacy_campaign",
    "response": "survey",
}.items():
    BLOCKS[act] = ACT_BLOCKS | {"links": (*LINKED, f"{of}_id", f"{of}_url")}
    links_of_it = "creator_id", f"{MAIN[act]}_url", "self_url", "embed_url"
    BLOCKS[of] = {"sponsor": SPONSOR, "links": links_of_it}

#: The block of each child table that has not that of the act itself.
ACTS = [kind for kind in KINDS if KINDS[kind].delivered and kind != "upload"]
CHILDREN = {"event_people": "people"} | {f"{act}_tags": "tags" for act in (*ACTS, "upload")}
OF_PERSONS = {
    "emails": "email",
    "phones": "phone",
    "addresses": "location",
    "custom_fields": "custom_fields",
}
CHILDREN |= {f"{act}_{name}": block for act in ACTS for name, block in OF_PERSONS.items()}

#: What tables read directly below the key of a block.
IN_PERSON = (
    *("created_date", "created_at", "modified_date", "modified_at", "given_name", "family_name"),
    *("email_addresses", "phone_numbers", "postal_addresses", "languages_spoken", "custom_fields"),
)
IN_EMBEDDED_PERSON = (
    *("given_name", "family_name", "identifiers", "email_addresses", "postal_addresses", "_links"),
    *("created_date", "created_at", "modified_date", "modified_at", "origin_system", "originating_system"),
)
IN_SPONSOR = ("title", "summary", "browser_url", "url")
IN_LINKS = {
    "event": (
        *("self", "osdi:attendances", "osdi:attendance", "osdi:record_attendance_helper"),
        *("record_attendance_helper", "osdi:creator", "osdi:organizer", "<p>:event_campaign", "<p>:embed"),
    ),
    "event_campaign": ("self", "osdi:events", "<p>:embed"),
    "petition": ("self", "osdi:signatures", "osdi:creator", "<p>:embed"),
    "signature": ("self", "osdi:person", "osdi:petition"),
    "attendance": ("self", "osdi:person", "osdi:event"),
    "upload": ("self", "osdi:person"),
    "form": ("self", "osdi:submissions", "osdi:creator", "<p>:embed"),
    "submission": ("self", "osdi:person", "osdi:form"),
    "fundraising_page": ("self", "osdi:donations", "osdi:creator", "<p>:embed"),
    "donation": ("self", "osdi:person", "osdi:fundraising_page"),
    "advocacy_campaign": ("self", "osdi:outreaches", "osdi:creator", "<p>:embed"),
    "outreach": ("self", "osdi:person", "osdi:advocacy_campaign"),
    "survey": ("self", "<p>:responses", "osdi:responses", "osdi:creator", "<p>:embed"),
    "response": ("self", "osdi:person", "<p>:survey", "osdi:survey"),
    "tag": ("self", "osdi:taggings"),
    "tagging": ("self", "osdi:tag", "osdi:person"),
}


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


def modified(value: Row) -> datetime | None:
    return first(utc(value.get("modified_date")), utc(value.get("modified_at")))


def seen(*elements: Element) -> datetime | None:
    """Return when elements were received or fetched last."""
    return newest_of(*(utc(element.stamps.get(stamp)) for element in elements for stamp in STAMPS))


def newest_of(*times: datetime | None) -> datetime | None:
    return max((time for time in times if time is not None), default=None)


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


def address_of(row: Row) -> str | None:
    """Return the e-mail address by which a person is known."""
    return (row["email"] or "").strip().casefold() or None


def id_by_address(address: str) -> str:
    """Return the id of a person without one."""
    return f"email:{hashlib.sha256((SALT + address).encode()).hexdigest()[:32]}"


# --- blocks --------------------------------------------------------------------------------------------


def holds(value: Any, *keys: str) -> bool:
    """Tell whether a value is an object in which one of the keys has a value."""
    return any(at(value, key) is not None for key in keys)


def carries(element: Element, kind: str, block: str, prefixes: Sequence[str]) -> bool:
    """Tell whether a version carries a block: its key is there, and holds something."""
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
    assert block == "links"
    declared = [*IN_LINKS[kind], *(["osdi:people"] if "osdi:person" in IN_LINKS[kind] else [])]
    names = [name.replace("<p>", prefix) for name in declared for prefix in prefixes]
    fields = ("person_id", f"{KINDS[kind].of}_id") if KINDS[kind].of or kind == "upload" else ()
    return holds(value.get("_links"), *names) or any(
        named is not None for field in fields for named in under(value, prefixes, field)
    )


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


def cells(row: Row, columns: Sequence[str]) -> Row:
    """Return what a block has: texts without regard to case and to whitespace around them, none that are blank."""
    values = {column: row[column] for column in columns if column in row}
    plain = {
        name: value.strip().casefold() if isinstance(value, str) else value for name, value in values.items()
    }
    return {name: value for name, value in plain.items() if value not in (None, "", [])}


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


# --- one truth -----------------------------------------------------------------------------------------


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


# --- people --------------------------------------------------------------------------------------------

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
                if id_of(person, prefixes) is not None:
                    yield sighting_of(person, element, known)
        elif KINDS[kind].delivered and (person_id := doers[id(element)]) is not None:
            person = (
                value.get("person")
                if any(says(value.get("person"), block) for block in PERSON_BLOCKS)
                else None
            )
            dates = utc(at(person, "created_date")), utc(at(person, "modified_date")), created(value)
            own = linked(value, "person", prefixes)
            url = links(value, *link_names("person", prefixes)) if own == person_id else None
            yield Sighting(person_id, person, False, dates, url, element)


def embedded_people(event: Row) -> list[Row]:
    found = (embedded_person(event, role) for role in ("osdi:creator", "osdi:organizer"))
    return [person for person in found if person is not None]


def sighting_of(person: Row, element: Element, known: Known) -> Sighting:
    dates = created(person), modified(person)
    row = person_in(person) | {"person_id": id_of(person, known.prefixes)}
    return Sighting(known.doer(row), person, True, dates, links(person, "self"), element)


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


def is_blank(value: Any) -> bool:
    """Return whether a custom field has no value."""
    return value is None or (isinstance(value, str) and not value.strip())


def person_of_all(versions: list[Sighting]) -> Row:
    """Return the row of a person of all its versions, oldest first."""
    held = [sighting for sighting in versions if sighting.value is not None]
    own = [sighting for sighting in held if sighting.is_own]
    row = person_row(first(*own[-1:], *held[-1:]))
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


def amount(value: Any) -> Decimal | None:
    """Return an amount of at most thirteen digits and two decimals."""
    written = text(value) if not isinstance(value, bool) else None
    match = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", written or "")
    if match is None or abs(int((match[2] or "e0")[1:])) > 400:
        return None
    cents = Fraction(written) * 100
    return Decimal(int(cents)) / 100 if cents.denominator == 1 and abs(cents) < 10**15 else None


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


def chosen(entries: Any, has_value: Callable[[Row], bool]) -> Any:
    """Return the object that is marked as primary, else the first object: one with its value, if there is one."""
    present = [entry for entry in as_list(entries) if isinstance(entry, dict)]
    marked = [entry for entry in present if boolean(entry.get("primary"))]
    return first(*(entry for entry in (*marked, *present) if has_value(entry)), *marked, *present)


def email_in(person: Any) -> Any:
    return chosen(at(person, "email_addresses"), lambda entry: is_text(entry.get("address")))


def phone_in(person: Any) -> Any:
    return chosen(at(person, "phone_numbers"), lambda entry: is_text(entry.get("number")))


def address_in(person: Any) -> Any:
    return chosen(at(person, "postal_addresses"), is_somewhere)


def is_somewhere(place: Any) -> bool:
    """Tell whether an address names more than a country."""
    lines = as_list(at(place, "address_lines"))
    named = [*lines[:1], *(at(place, key) for key in ("locality", "region", "postal_code"))]
    return any(map(is_text, named))


def is_text(value: Any) -> bool:
    """Tell whether a value is a text that is not blank."""
    return bool((text(value) or "").strip())


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
    return first(
        own_id(at(value, "identifiers"), prefixes),
        id_at(at(value, "_links", "self", "href")),
        text(at(value, "id")) or None,
    )


def under(value: Any, prefixes: Sequence[str], key: str, *inner: str) -> list[Any]:
    """Return what stands at a key of the service's own, by each of its prefixes."""
    return [at(value, f"{prefix}:{key}", *inner) for prefix in prefixes]


def linked(value: Row, name: str, prefixes: Sequence[str]) -> str | None:
    """Return the id of what an act links, or names in a field; the old link to people may lead to all of them."""
    field = map(text, under(value, prefixes, f"{name}_id"))
    hrefs = (at(value, "_links", link, "href") for link in link_names(name, prefixes))
    people = text(at(value, "_links", "osdi:people", "href")) if name == "person" else None
    one = re.search("/people/[^/]+$", re.split("[?#]", people or "", maxsplit=1)[0].removesuffix("/"))
    return first(*map(id_at, hrefs), one and id_at(people), *field)


def sponsor_title(value: Row, prefixes: list[str]) -> Row:
    titles = under(value, prefixes, "sponsor", "title") + under(value, prefixes, "sponsor", "summary")
    return {"sponsor_title": first(*map(text, titles))}


def link_names(name: str, prefixes: Sequence[str]) -> list[str]:
    """Return the keys of the link to something."""
    own = [f"{prefix}:{name}" for prefix in prefixes] if name == "survey" else []
    return [*own, f"osdi:{name}"]


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
        "timezone": text(value.get("timezone_identifier")),
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
            place = address_in(person)
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
                    "email": text(at(email_in(person), "address")),
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
        **{key: text(value.get(key)) for key in ("name", "description", "featured_image_url")},
        "title": first(text(value.get("title")), text(value.get("summary"))),
        "browser_url": first(text(value.get("browser_url")), text(value.get("url"))),
        "tag_list": texts(value.get("tag_list")),
        "hidden": first(*map(boolean, under(value, prefixes, "hidden"))),
        "self_url": links(value, "self"),
        "embed_url": links(value, *(f"{prefix}:embed" for prefix in prefixes)),
    }
    sponsor = sponsor_title(value, prefixes) | sponsor_url(value, prefixes)
    return row | sponsor | read_at(element, "fetched_at")


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


def calling(element: Element, prefixes: list[str], kind: str, acts: str) -> Row:
    """Return what forms, and what is like them, have."""
    value = element.value
    names = [f"{prefix}:{acts}" for prefix in prefixes] if kind == "survey" else []
    return titled(element, prefixes, kind) | {
        "call_to_action": text(value.get("call_to_action")),
        f"total_{acts}": integer(value.get(f"total_{acts}")),
        "creator_id": id_at(at(value, "_links", "osdi:creator", "href")),
        f"{acts}_url": links(value, *names, f"osdi:{acts}"),
    }


def forms(element: Element, prefixes: list[str]) -> list[Row]:
    return [calling(element, prefixes, "form", "submissions")]


def fundraising_pages(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {
        "total_amount": amount(value.get("total_amount")),
        "currency": currency(value),
    }
    return [calling(element, prefixes, "fundraising_page", "donations") | row]


def advocacy_campaigns(element: Element, prefixes: list[str]) -> list[Row]:
    row = {key: text(element.value.get(key)) for key in ("type", "targets")}
    return [calling(element, prefixes, "advocacy_campaign", "outreaches") | row]


def surveys(element: Element, prefixes: list[str]) -> list[Row]:
    return [calling(element, prefixes, "survey", "responses")]


# --- the tables of people, and of their actions ---------------------------------------------------------


def person_in(person: Any) -> Row:
    email, phone = email_in(person), phone_in(person)
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
    } | location(address_in(person))


def people(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {
        "person_id": id_of(value, prefixes),
        "identifiers": texts(value.get("identifiers")),
        "origin_system": first(text(value.get("origin_system")), text(value.get("originating_system"))),
        "created_date": created(value),
        "modified_date": modified(value),
        "location_language": text(at(address_in(value), "language")),
        "self_url": links(value, "self"),
    }
    return [row | person_in(value) | read_at(element, *STAMPS)]


def keys(element: Element, prefixes: list[str], kind: str = "signature") -> Row:
    return {
        "idempotency_key": text(element.siblings.get("idempotency_key")),
        "element": element.position,
        f"{kind}_id": id_of(element.value, prefixes),
    }


def action(element: Element, prefixes: list[str], kind: str, parent: str) -> Row:
    value = element.value
    person = value.get("person")

    def referrer(key: str) -> str | None:
        found = [*under(value, prefixes, "referrer_data", key), at(value, "referrer_data", key)]
        # What the service writes for no source, and for no website, is not one.
        return first(*(None if one in UNKNOWN.get(key, ()) else one for one in map(text, found)))

    row = {
        "identifiers": texts(value.get("identifiers")),
        f"{parent}_id": linked(value, parent, prefixes),
        "person_id": linked(value, "person", prefixes),
        "created_date": created(value),
        "modified_date": modified(value),
        **{key: referrer(key) for key in REFERRED},
        "person_created_date": first(utc(at(person, "created_date")), utc(at(person, "created_at"))),
        "person_modified_date": first(utc(at(person, "modified_date")), utc(at(person, "modified_at"))),
        "add_tags": texts(value.get("add_tags")),
        "self_url": links(value, "self"),
        "person_url": links(value, "osdi:person", "osdi:people"),
        f"{parent}_url": links(value, *link_names(parent, prefixes)),
    }
    own = keys(element, prefixes, kind) | row | person_in(person)
    own |= sponsor_title(element.siblings, prefixes) | sponsor_url(element.siblings, prefixes)
    return own | read_at(element, *STAMPS)


def attendances(element: Element, prefixes: list[str]) -> list[Row]:
    status = text(element.value.get("status"))
    came = boolean(element.value.get("attended")) or status_word(status) in ("attended", "checkedin")
    row = action(element, prefixes, "attendance", "event")
    own = {"status": status, "attended": came}
    return [row | own | of_tickets(attendance_tickets(element, prefixes))]


def of_tickets(tickets: list[Row]) -> Row:
    """Return the sum of the amounts of tickets, and their currency; nothing of several currencies."""
    codes = {ticket["currency"] for ticket in tickets}
    amounts = [ticket["amount"] for ticket in tickets if ticket["amount"] is not None]
    if len(codes) != 1:
        return {"amount": None, "currency": None}
    return {"amount": sum(amounts) if amounts else None, "currency": codes.pop()}


def status_word(status: str | None) -> str:
    return re.sub(r"[\s_-]", "", (status or "").lower())


def signatures(element: Element, prefixes: list[str]) -> list[Row]:
    comments = {"comments": text(element.value.get("comments"))}
    return [action(element, prefixes, "signature", "petition") | comments]


def uploads(element: Element, prefixes: list[str]) -> list[Row]:
    row = action(element, prefixes, "upload", "event")
    return [{name: value for name, value in row.items() if name not in ("event_id", "event_url")}]


def submissions(element: Element, prefixes: list[str]) -> list[Row]:
    return [action(element, prefixes, "submission", "form")]


def currency(value: Row) -> str | None:
    code = text(value.get("currency"))
    return None if code is None else code.strip().upper()


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
    return [action(element, prefixes, "donation", "fundraising_page") | row]


def attendance_tickets(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        keys(element, prefixes, "attendance")
        | {"position": position, "amount": amount(entry.get("amount")), "currency": currency(entry)}
        | {key: text(entry.get(key)) for key in ("title", "description")}
        for position, entry in enumerate(as_list(element.value.get("tickets")))
        if isinstance(entry, dict)
    ]


def donation_recipients(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        keys(element, prefixes, "donation")
        | {
            "position": position,
            "display_name": text(entry.get("display_name")),
            "amount": amount(entry.get("amount")),
        }
        for position, entry in enumerate(as_list(element.value.get("recipients")))
        if isinstance(entry, dict)
    ]


def outreaches(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {key: text(value.get(key)) for key in ("type", "subject", "message")}
    row |= {"duration": number(value.get("duration"))}
    return [action(element, prefixes, "outreach", "advocacy_campaign") | row]


def outreach_targets(element: Element, prefixes: list[str]) -> list[Row]:
    return [
        keys(element, prefixes, "outreach")
        | {"position": position}
        | {key: text(entry.get(key)) for key in ("title", "given_name", "family_name", "ocdid")}
        for position, entry in enumerate(as_list(element.value.get("targets")))
        if isinstance(entry, dict)
    ]


def responses(element: Element, prefixes: list[str]) -> list[Row]:
    return [action(element, prefixes, "response", "survey")]


def of_tags(element: Element, prefixes: list[str], kind: str) -> Row:
    value = element.value
    row = {
        f"{kind}_id": id_of(value, prefixes),
        "identifiers": texts(value.get("identifiers")),
        "created_date": created(value),
        "modified_date": modified(value),
        "self_url": links(value, "self"),
    }
    return row | read_at(element, "fetched_at")


def tags(element: Element, prefixes: list[str]) -> list[Row]:
    row = {"name": text(element.value.get("name")), "taggings_url": links(element.value, "osdi:taggings")}
    return [of_tags(element, prefixes, "tag") | row]


def taggings(element: Element, prefixes: list[str]) -> list[Row]:
    value = element.value
    row = {
        "tag_id": linked(value, "tag", prefixes),
        "person_id": linked(value, "person", prefixes),
        "item_type": text(value.get("item_type")),
        "person_url": links(value, "osdi:person", "osdi:people"),
        "tag_url": links(value, "osdi:tag"),
    }
    return [of_tags(element, prefixes, "tagging") | row]


def tags_of(kind: str, element: Element, prefixes: list[str]) -> list[Row]:
    tags = texts(element.value.get("add_tags")) or []
    return [keys(element, prefixes, kind) | {"tag": tag} for tag in tags]


def entries(kind: str, element: Element, prefixes: list[str], name: str) -> Iterator[tuple[Row, Row]]:
    for position, entry in enumerate(as_list(at(element.value, "person", name))):
        if isinstance(entry, dict):
            row = {"position": position, "primary": boolean(entry.get("primary"))}
            yield keys(element, prefixes, kind) | row, entry


def emails_of(kind: str, element: Element, prefixes: list[str]) -> list[Row]:
    return [
        row | {"address": text(entry.get("address")), "status": text(entry.get("status"))}
        for row, entry in entries(kind, element, prefixes, "email_addresses")
    ]


def phones_of(kind: str, element: Element, prefixes: list[str]) -> list[Row]:
    return [
        row | {key: text(entry.get(key)) for key in ("number", "number_type", "status")}
        for row, entry in entries(kind, element, prefixes, "phone_numbers")
    ]


def addresses_of(kind: str, element: Element, prefixes: list[str]) -> list[Row]:
    return [row | location(entry) for row, entry in entries(kind, element, prefixes, "postal_addresses")]


def custom_fields_of(kind: str, element: Element, prefixes: list[str]) -> list[Row]:
    fields = at(element.value, "person", "custom_fields")
    pairs = fields.items() if isinstance(fields, dict) else ()
    own = keys(element, prefixes, kind)
    return [own | {"name": text(name), "value": text(value)} for name, value in pairs]


def identifiers_of(kind: str, element: Element, prefixes: list[str]) -> list[Row]:
    return [keys(element, prefixes, kind) | identifier for identifier in identifiers(element, prefixes)]


OF_ACTS = (tags_of, emails_of, phones_of, addresses_of, custom_fields_of, identifiers_of)

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
        uploads,
        attendance_tickets,
        forms,
        submissions,
        fundraising_pages,
        donations,
        donation_recipients,
        advocacy_campaigns,
        outreaches,
        outreach_targets,
        surveys,
        responses,
        tags,
        taggings,
    )
}
TABLES |= {
    f"{act}_{of_act.__name__.removesuffix('_of')}": partial(of_act, act) for act in ACTS for of_act in OF_ACTS
}
TABLES |= {"upload_tags": partial(tags_of, "upload")}
