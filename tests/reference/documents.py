"""The kinds of things, what comes together of each from one version, and the elements that documents hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from .values import Row, as_list, at, first, link_names, path_of, under, utc

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
        ("osdi:donations",), "donations?", ("recipients", "payment"), ("osdi:donation",), "fundraising_page"
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
        *(*TITLED, *EVENT_KEYS, "guests_can_invite_others", "guestsCanInviteOthers", "instructions"),
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


#: Of each kind: the table that has a row for each thing.
MAIN = {kind: f"{kind}s" for kind in KINDS} | {"person": "people", "outreach": "outreaches"}
REFERRED = ("source", "referrer", "website", "email_referrer", "mobile_message_referrer")
LOCATION = (
    *("location_address", "location_locality", "location_region", "location_postal_code"),
    *("location_country", "location_latitude", "location_longitude", "location_accuracy"),
)
SPONSOR = ("sponsor_title", "sponsor_url")
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
#: The blocks of the links of an act, each with the id of what is linked first.
LINKED = {"link to itself": ("self_url",), "link to the person": ("person_id", "person_url")}
ACT_BLOCKS = PERSON_BLOCKS | LINKED | {"tags": ("add_tags",), "referrer": REFERRED, "sponsor": SPONSOR}

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
    "signature": ACT_BLOCKS | {"link to the petition": ("petition_id", "petition_url")},
    "attendance": ACT_BLOCKS | {"link to the event": ("event_id", "event_url")},
    "upload": ACT_BLOCKS,
    "tag": {"links": ("self_url", "taggings_url")},
    "tagging": LINKED | {"link to the tag": ("tag_id", "tag_url")},
}
for act, of in {
    "submission": "form",
    "donation": "fundraising_page",
    "outreach": "advocacy_campaign",
    "response": "survey",
}.items():
    BLOCKS[act] = ACT_BLOCKS | {f"link to the {of}": (f"{of}_id", f"{of}_url")}
    links_of_it = "creator_id", f"{MAIN[act]}_url", "self_url", "embed_url"
    BLOCKS[of] = {"sponsor": SPONSOR, "links": links_of_it}

#: The block of each child table that has not that of the act itself.
ACTS = [kind for kind in KINDS if KINDS[kind].delivered and kind != "upload"]
CHILDREN = {"event_people": "people"} | {f"{act}_tags": "tags" for act in (*ACTS, "upload")}
OF_PERSONS = {"emails": "email", "phones": "phone", "addresses": "location", "custom_fields": "custom_fields"}
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
    "form": ("self", "osdi:submissions", "osdi:creator", "<p>:embed"),
    "fundraising_page": ("self", "osdi:donations", "osdi:creator", "<p>:embed"),
    "advocacy_campaign": ("self", "osdi:outreaches", "osdi:creator", "<p>:embed"),
    "survey": ("self", "<p>:responses", "osdi:responses", "osdi:creator", "<p>:embed"),
    "tag": ("self", "osdi:taggings"),
}


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
    if isinstance(body.get("body"), dict | list) and not time_around(body):  # an envelope without a time
        return in_document(body["body"], prefixes, stamps)
    others = {key: value for key, value in body.items() if key not in OF_PAGES}
    is_other = not body.keys() & {*OF_RESOURCES} and body.get("_embedded") in (None, {})
    if is_other and (found := inside(others, prefixes, stamps)):
        return found
    return [(None, body, 0, {}, stamps), *embedded(body, prefixes, stamps)]


#: Levels of objects and lists in which a document is searched for.
DEEPEST = 12


class Around(NamedTuple):
    """The time of what is around a document."""

    time: str
    is_of_receiver: bool


def inside(
    value: Any, prefixes: Sequence[str], stamps: Row, around: Around | None = None, depth: int = 0
) -> list[Found]:
    """Return the elements of documents below the keys of an object, or in the entries of a list, that is none."""
    is_resource = isinstance(value, dict) and (
        isinstance(value.get("identifiers"), list) or isinstance(value.get("person"), dict)
    )
    if depth >= DEEPEST or (depth and is_resource):
        return []
    around = time_around(value, around) if isinstance(value, dict) else around
    found: list[Found] = []
    for below in value.values() if isinstance(value, dict) else value:
        if is_document(below, prefixes):
            stamp = "fetched_at" if isinstance(below, dict) and is_shown(below, prefixes) else "received_at"
            found += in_document(below, prefixes, stamps or ({stamp: around.time} if around else {}))
        elif isinstance(below, dict | list):
            found += inside(below, prefixes, stamps, around, depth + 1)
    return found


def time_around(body: Row, around: Around | None = None) -> Around | None:
    """Return the time of an object for documents in it: its own, unless only what is around says when it came."""
    for key in (*STAMPS, "created_at", "created_date"):
        is_of_receiver = key in STAMPS
        if utc(body.get(key)) is not None and (is_of_receiver or not (around and around.is_of_receiver)):
            return Around(body[key], is_of_receiver)
    return around


def is_document(value: Any, prefixes: Sequence[str]) -> bool:
    """Tell a document in other JSON: a page, a resource of a clear kind, a delivery; also in an envelope."""
    if isinstance(value, list):
        return any(isinstance(entry, dict) and is_marked(entry, prefixes) for entry in value)
    if not isinstance(value, dict):
        return False
    if is_marked(value, prefixes):
        return True
    if "body" in value and any(stamp in value for stamp in STAMPS):
        value = value["body"]
        if not isinstance(value, dict):
            return is_document(value, prefixes)
    return is_shown(value, prefixes)


def is_marked(entry: Row, prefixes: Sequence[str]) -> bool:
    """Tell an entry of a delivery outside of one: it has the type of a kind, or a mark of the service."""
    is_marked = "idempotency_key" in entry or any(key.startswith("osdi:") for key in entry)
    return has_type(entry, prefixes) or (is_marked and is_delivered(entry, prefixes))


def is_shown(body: Row, prefixes: Sequence[str]) -> bool:
    return is_page(body, prefixes) or kind_of_single(body, prefixes) is not None


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
