"""From the tables of an archive every declared value is put back together; `check` lists what is not."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from tests.one_pass import scanned
from tests.service_documents import (
    ATTENDANCE,
    EVENT_CAMPAIGN,
    PERSON,
    PETITION,
    SIBLINGS,
    SIGNATURE,
    SIGNATURE_OF_A_PAGE,
    V1,
    V2,
    WHOLE_PERSON,
)
from tests.strategies import spelled

Leaves = dict[tuple[str | int, ...], Any]

EVENT_TABLES = "events", "event_reminders", "event_identifiers", "event_people"
SIGNATURE_TABLES = (
    *("signatures", "signature_tags", "signature_emails", "signature_phones"),
    *("signature_addresses", "signature_custom_fields", "signature_identifiers"),
)

#: What has to stay, to tell one element from another and v1 from v2.
KEPT = {"identifiers", "origin_system", "originating_system"}

CURIES = [{"name": "osdi", "href": "https://example.org/docs/{rel}", "templated": True}]


# --- documents of which everything fits ----------------------------------------------------------------


def without_curies(of: Any) -> Any:
    value = copy.deepcopy(of)
    value["_links"].pop("curies", None)
    if "modified_date" in value:
        value["modified_date"] = "2026-03-21T06:00:00Z"  # the column keeps the moment, not the offset
    # Told apart from the id in the link, from which the column is read when this is missing.
    value["<p>:event_campaign_id"] = "campaign-of-the-field"
    return value


def with_primary_first(of: Any) -> Any:
    """Return a person whose primary address stands first: its place is not a column of event_people."""
    value = copy.deepcopy(of)
    for name in ("email_addresses", "phone_numbers", "postal_addresses"):
        value.get(name, []).sort(key=lambda entry: not entry["primary"])
    return value


PEOPLE = {
    "_embedded": {"osdi:creator": with_primary_first(PERSON)},
    "osdi:organizer": with_primary_first(PERSON),
}
EVENTS = [without_curies(V2), without_curies(V1 | PEOPLE)]

ATTENDED = {key: value for key, value in ATTENDANCE.items() if key not in ("<p>:event_id", "<p>:person_id")}
ATTENDED |= {"person": with_primary_first(SIGNATURE["person"])}
LINKS = {"self": ATTENDANCE["_links"]["self"]}
ATTENDED_OF_A_PAGE = {key: value for key, value in ATTENDANCE.items() if key not in ("person", "add_tags")}

#: What is read from pages: its kind, its table, the key of its collection, a document.
OF_PAGES = (
    ("event_campaign", "event_campaigns", "<p>:event_campaigns", EVENT_CAMPAIGN),
    ("petition", "petitions", "osdi:petitions", PETITION),
    ("person", "people", "osdi:people", with_primary_first(WHOLE_PERSON)),
    ("signature", "signatures", "osdi:signatures", SIGNATURE_OF_A_PAGE),
    ("attendance", "attendances", "osdi:attendances", ATTENDED_OF_A_PAGE | {"_links": LINKS}),
)


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Return all objects of a document, the inner ones first."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)
    if isinstance(value, dict):
        yield value


@st.composite
def thinned_and_extended(draw: st.DrawFn, of: Any) -> Any:
    """Return a copy without some of its keys, and with some that nothing declares."""
    value = copy.deepcopy(of)
    for held in objects(value):
        spare = sorted(held.keys() - KEPT)[1:]
        if spare and draw(st.booleans()):
            for key in draw(st.lists(st.sampled_from(spare), unique=True, max_size=4)):
                if key != "primary":
                    del held[key]
    free = value.get("person", value).get("custom_fields")
    found = [inner for inner in objects(value) if inner is not free]
    for _ in range(draw(st.integers(0, 2))):
        extra = draw(st.sampled_from([7, "x", {"a": 1}, {"a": {"b": [1, {}]}}, [1, 2], True]))
        draw(st.sampled_from(found))[draw(st.sampled_from(["mood", "x:mood"]))] = extra
    if draw(st.booleans()) and "_links" in value:
        value["_links"]["curies"] = CURIES
    return value


@st.composite
def archives(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return events and signatures by id; a signature with its sibling keys and when it was received."""
    prefix = draw(st.sampled_from(["platform", "action_network"]))
    events, signatures = {}, {}
    for number in range(draw(st.integers(1, 4))):
        event = draw(st.sampled_from(EVENTS).flatmap(thinned_and_extended))
        event["identifiers"][0] = f"<p>:e{number}"
        events[f"e{number}"] = spelled(event, prefix)
        signature = draw(thinned_and_extended(SIGNATURE))
        signature["identifiers"][0] = f"<p>:s{number}"
        drawn = draw(thinned_and_extended(SIBLINGS))
        whole = {"osdi:signature": signature} | {
            # A sibling key with a colon is a type, and no key of a type that is known.
            key: value
            for key, value in drawn.items()
            if key != "x:mood"
        }
        signatures[f"s{number}"] = spelled(whole, prefix)
    return events, signatures


# --- from rows to leaves -------------------------------------------------------------------------------


def rows_by(source: Any, tables: Any, key: str) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the rows of all tables by the element to which they belong."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for table, rows in scanned(source, tables, people=False).items():
        for row in rows.to_pylist():
            found.setdefault(row[key], {table: [] for table in tables})[table].append(row)
    return found


def put(leaves: Leaves, at: tuple[str | int, ...], row: dict[str, Any], **keys: str) -> None:
    """Put the values of a row where they were, each column under a key; what is missing was not there."""
    for column, key in keys.items():
        value = row[column]
        if value is not None:
            inner = tuple(int(step) if step.isdecimal() else step for step in key.split("/"))
            written = value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value
            leaves[(*at, *inner)] = written


def named(*names: str) -> dict[str, str]:
    return {name: name for name in names}


PLACE = {
    "location_address": "address_lines/0",
    **{f"location_{key}": key for key in ("locality", "region", "postal_code", "country")},
    **{f"location_{key}": f"location/{key}" for key in ("latitude", "longitude", "accuracy")},
}
LANGUAGE = {"location_language": "language"}


def put_identifiers(leaves: Leaves, at: tuple[str | int, ...], rows: list[dict[str, Any]]) -> None:
    for position, row in enumerate(rows):
        leaves[(*at, "identifiers", position)] = f"{row['system']}:{row['identifier']}"


def leaves_of_event(tables: dict[str, list[dict[str, Any]]]) -> Leaves:
    (row,) = tables["events"]
    prefix = tables["event_identifiers"][0]["system"]
    v1 = row["api_version"] == "v1"
    leaves: Leaves = {}
    put_identifiers(leaves, (), tables["event_identifiers"])
    put(leaves, (), row, **named("name", "description", "status", "transparence", "visibility", "capacity"))
    put(leaves, (), row, **named("total_accepted", "featured_image_url", "end_date"))
    put(leaves, ("location",), row, location_venue="venue", **PLACE, **LANGUAGE)
    put(leaves, (), row, hidden=f"{prefix}:hidden")
    if row["event_campaign_id"] == "campaign-of-the-field":
        put(leaves, (), row, event_campaign_id=f"{prefix}:event_campaign_id")
    put(leaves, (), row, **(KEYS_OF_V1 if v1 else KEYS_OF_V2))
    put(leaves, (), row, instructions=f"{prefix}:event_instructions" if v1 else "instructions")
    sponsor = {"sponsor_title": "summary", "sponsor_url": "url"}
    put(
        leaves,
        (f"{prefix}:sponsor",),
        row,
        **(sponsor if v1 else {"sponsor_title": "title", "sponsor_url": "browser_url"}),
    )
    put(leaves, ("_links",), row, self_url="self/href", embed_url=f"{prefix}:embed/href")
    put(leaves, ("_links",), row, attendances_url=f"osdi:attendance{'' if v1 else 's'}/href")
    put(leaves, ("_links",), row, record_attendance_url="osdi:record_attendance_helper/href")
    put(leaves, ("_links",), row, event_campaign_url=f"{prefix}:event_campaign/href")
    for person in () if v1 else ("creator", "organizer"):
        if row[f"{person}_id"] is not None:
            address = f"https://example.org/api/v2/people/{row[f'{person}_id']}"
            leaves["_links", f"osdi:{person}", "href"] = address
    for reminder in tables["event_reminders"]:
        put(leaves, ("reminders", reminder["position"]), reminder, **named("method", "minutes"))
    for person in tables["event_people"]:
        put_person(leaves, person)
    return leaves


KEYS_OF_V2 = named(
    *("origin_system", "created_date", "modified_date", "title", "browser_url", "start_date"),
    "guests_can_invite_others",
)
KEYS_OF_V1 = {
    "origin_system": "originating_system",
    "created_date": "created_at",
    "modified_date": "modified_at",
    "title": "summary",
    "browser_url": "url",
    "start_date": "start",
    "guests_can_invite_others": "guestsCanInviteOthers",
}


def put_person(leaves: Leaves, row: dict[str, Any]) -> None:
    at = ("_embedded", "osdi:creator") if row["role"] == "creator" else ("osdi:organizer",)
    put(leaves, at, row, **named("given_name", "family_name"), self_url="_links/self/href")
    put(
        leaves,
        at,
        row,
        created_date="created_at",
        modified_date="modified_at",
        origin_system="originating_system",
    )
    for position, identifier in enumerate(row["identifiers"] or []):
        leaves[(*at, "identifiers", position)] = identifier
    put(leaves, at, row, email="email_addresses/0/address")
    put(leaves, (*at, "postal_addresses", 0), row, **PLACE, **LANGUAGE)
    # What was read of a list was the primary one.
    read = {path[: len(at) + 2] for path in leaves if path[: len(at)] == at}
    for name in ("email_addresses", "postal_addresses"):
        if (*at, name, 0) in read:
            leaves[(*at, name, 0, "primary")] = True


def leaves_of_signature(tables: dict[str, list[dict[str, Any]]]) -> Leaves:
    (row,) = tables["signatures"]
    prefix = tables["signature_identifiers"][0]["system"]
    own, person = ("osdi:signature",), ("osdi:signature", "person")
    leaves: Leaves = {}
    put(leaves, (), row, idempotency_key="idempotency_key")
    put(leaves, (f"{prefix}:sponsor",), row, sponsor_title="title", sponsor_url="url")
    put_identifiers(leaves, own, tables["signature_identifiers"])
    put(leaves, own, row, **named("created_date", "modified_date", "comments"))
    put(leaves, (*own, f"{prefix}:referrer_data"), row, **named("source", "referrer", "website"))
    put(leaves, (*own, "_links"), row, self_url="self/href", person_url="osdi:person/href")
    put(leaves, (*own, "_links"), row, petition_url="osdi:petition/href")
    put(leaves, person, row, **named("given_name", "family_name"))
    put(leaves, person, row, person_created_date="created_date", person_modified_date="modified_date")
    for position, language in enumerate(row["languages_spoken"] or []):
        leaves[(*person, "languages_spoken", position)] = language
    for position, tag in enumerate(tables["signature_tags"]):
        leaves[(*own, "add_tags", position)] = tag["tag"]
    for field in tables["signature_custom_fields"]:
        leaves[(*person, "custom_fields", field["name"])] = field["value"]
    for table, (name, columns) in ENTRIES.items():
        for entry in tables[table]:
            put(leaves, (*person, name, entry["position"]), entry, primary="primary", **columns)
    return leaves


ENTRIES = {
    "signature_emails": ("email_addresses", named("address", "status")),
    "signature_phones": ("phone_numbers", named("number", "number_type", "status")),
    "signature_addresses": ("postal_addresses", PLACE),
}


TITLED = {
    **named("identifiers", "origin_system", "name", "title", "description", "browser_url", "tag_list"),
    **named("featured_image_url"),
    "hidden": "<p>:hidden",
    "sponsor_title": "<p>:sponsor/title",
    "sponsor_url": "<p>:sponsor/url",
    "self_url": "_links/self/href",
    "embed_url": "_links/<p>:embed/href",
}
V2_DATES, V1_DATES = (
    {"created_date": f"created_{end}", "modified_date": f"modified_{end}"} for end in ("date", "at")
)
REFERRER = {
    key: f"<p>:referrer_data/{key}"
    for key in ("source", "referrer", "website", "email_referrer", "mobile_message_referrer")
}
LISTED_ACTION = {
    **named("identifiers"),
    **REFERRER,
    "person_id": "<p>:person_id",
    "self_url": "_links/self/href",
}
FIRST = "email_addresses/0/", "phone_numbers/0/", "postal_addresses/0/"
IN_PERSON = {
    **named("given_name", "family_name", "languages_spoken", "custom_fields"),
    "email": f"{FIRST[0]}address",
    "email_status": f"{FIRST[0]}status",
    "phone": f"{FIRST[1]}number",
    "phone_type": f"{FIRST[1]}number_type",
    "phone_status": f"{FIRST[1]}status",
    **{column: f"{FIRST[2]}{key}" for column, key in PLACE.items()},
}

#: Where each column of a row is put back, by the kind.
PLACES = {
    "event_campaign": {
        **(TITLED | V2_DATES),
        **named("host_pitch", "host_instructions", "host_url", "total_events", "total_rsvps"),
        "events_url": "_links/osdi:events/href",
    },
    "petition": {
        **(TITLED | V1_DATES),
        **named("petition_text", "total_signatures"),
        "signatures_url": "_links/osdi:signatures/href",
    },
    "person": {
        **(IN_PERSON | V2_DATES),
        **named("identifiers", "origin_system"),
        "location_language": f"{FIRST[2]}language",
        "self_url": "_links/self/href",
    },
    "signature": {**(LISTED_ACTION | V1_DATES), "petition_id": "<p>:petition_id"},
    "attendance": {**(LISTED_ACTION | V2_DATES), **named("status"), "event_id": "<p>:event_id"},
}

DELIVERED_ATTENDANCE = {
    **{
        column: f"osdi:attendance/person/{key}"
        for column, key in IN_PERSON.items()
        if not key.startswith(FIRST)  # all entries are put back
    },
    **{column: f"osdi:attendance/{key}" for column, key in (REFERRER | V2_DATES).items()},
    **{key: f"osdi:attendance/{key}" for key in ("identifiers", "status", "add_tags")},
    "person_created_date": "osdi:attendance/person/created_date",
    "person_modified_date": "osdi:attendance/person/modified_date",
    "self_url": "osdi:attendance/_links/self/href",
    "person_url": "osdi:attendance/_links/osdi:person/href",
    "event_url": "osdi:attendance/_links/osdi:event/href",
    "idempotency_key": "idempotency_key",
    "sponsor_title": "<p>:sponsor/title",
    "sponsor_url": "<p>:sponsor/url",
}


def leaves_of_row(row: dict[str, Any], places: dict[str, str]) -> Leaves:
    """Put the values of one row back, also those of lists and of custom fields."""
    prefix = row["identifiers"][0].partition(":")[0]
    found: Leaves = {}
    for column, where in places.items():
        value = json.loads(row[column]) if column == "custom_fields" and row[column] else row[column]
        many = (
            enumerate(value)
            if isinstance(value, list)
            else value.items()
            if isinstance(value, dict)
            else None
        )
        for key, item in [("", value)] if many is None else many:
            put(found, (), {"item": item}, item=f"{where}/{key}".rstrip("/").replace("<p>", prefix))
    for path in list(found):
        for at, name in enumerate(path):
            if name in ONE_OF and name != "address_lines":
                found[(*path[:at], name, 0, "primary")] = True
    if "creator_id" in row and row["creator_id"] is not None:
        found["_links", "osdi:creator", "href"] = f"https://example.org/api/v1/people/{row['creator_id']}"
    return found


# --- what was there ------------------------------------------------------------------------------------


def flattened(value: Any, at: tuple[str | int, ...] = ()) -> Leaves:
    """Return every leaf of a document; an empty object or list is one."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = {path: leaf for key, pair in pairs for path, leaf in flattened(pair, (*at, key)).items()}
    return inner or {at: value}


def lost(original: Leaves, rebuilt: Leaves) -> set[tuple[str | int, ...]]:
    """Return the highest places of which nothing was put back."""
    held = {path[:length] for path in rebuilt for length in range(len(path) + 1)}
    return {
        next(path[:length] for length in range(len(path) + 1) if path[:length] not in held)
        for path in original.keys() - rebuilt.keys()
    }


#: Lists of which a table takes one entry.
ONE_OF = {"address_lines", "email_addresses", "phone_numbers", "postal_addresses"}


def spelled_as_check_does(kind: str, path: tuple[str | int, ...], *, delivered: bool) -> str:
    siblings = ""
    if delivered:
        siblings, path = ("", path[1:]) if path[0] == f"osdi:{kind}" else ("../", path)
    text = "".join("[]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{kind}: {siblings}{text.lstrip('.')}"


def lost_of(kind: str, original: Any, rebuilt: Leaves, *, delivered: bool) -> Counter[str]:
    """Return what was not put back, as `check` spells it; what was put back has to be what was there."""
    there = flattened(original)
    invented = {path: value for path, value in rebuilt.items() if there.get(path) != value}
    assert not invented, f"{kind}: {invented}"
    return Counter(spelled_as_check_does(kind, path, delivered=delivered) for path in lost(there, rebuilt))


# --- the fact ------------------------------------------------------------------------------------------


def all_is_put_back_but_what_check_lists(archive: tuple[dict[str, Any], dict[str, Any]]) -> None:
    events, signatures = archive
    documents = [*events.values(), list(signatures.values())]
    kinds = (
        ("event", events, rows_by(documents, EVENT_TABLES, "event_id"), leaves_of_event),
        ("signature", signatures, rows_by(documents, SIGNATURE_TABLES, "signature_id"), leaves_of_signature),
    )
    undeclared: Counter[str] = Counter()
    for kind, originals, tables, leaves_of in kinds:
        assert tables.keys() == originals.keys()
        for name, original in originals.items():
            undeclared += lost_of(kind, original, leaves_of(tables[name]), delivered=kind == "signature")
    reports_what_is_not_put_back(documents, undeclared)


@settings(max_examples=3)
@given(archives())
def test_all_is_put_back_but_what_check_lists_as_undeclared(
    archive: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    all_is_put_back_but_what_check_lists(archive)


@pytest.mark.long
@settings(max_examples=200)
@given(archives())
def test_all_of_many_archives_is_put_back_but_what_check_lists_as_undeclared(
    archive: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    all_is_put_back_but_what_check_lists(archive)


def reports_what_is_not_put_back(documents: list[Any], undeclared: Counter[str]) -> None:
    listed = of.check(documents)
    assert set(listed["severity"]) <= {"info"}
    # Of a list with an entry that is not read, `check` lists the undeclared keys of all entries.
    unread = tuple(f"{key}." for key in undeclared if key.endswith("[]"))
    found = dict(zip(listed["detail"], listed["count"], strict=True))
    assert {key: count for key, count in found.items() if not key.startswith(unread)} == {
        key: count for key, count in undeclared.items() if not key.startswith(unread)
    }


@pytest.mark.parametrize(
    ("kind", "table", "key", "of_service"), OF_PAGES, ids=[of_page[0] for of_page in OF_PAGES]
)
@settings(max_examples=3)
@given(data=st.data(), prefix=st.sampled_from(["platform", "action_network"]))
def test_all_of_a_page_is_put_back_but_what_check_lists(
    data: st.DataObject, prefix: str, kind: str, table: str, key: str, of_service: Any
) -> None:
    original = spelled(data.draw(thinned_and_extended(of_service)), prefix)
    page = {"_embedded": {key.replace("<p>", prefix): [original]}}
    (row,) = of.open(page).scan(table, people=False).read_all().to_pylist()
    reports_what_is_not_put_back(
        [page], lost_of(kind, original, leaves_of_row(row, PLACES[kind]), delivered=False)
    )


@settings(max_examples=3)
@given(data=st.data(), prefix=st.sampled_from(["platform", "action_network"]))
def test_all_of_a_delivered_attendance_is_put_back_but_what_check_lists(
    data: st.DataObject, prefix: str
) -> None:
    original = spelled({"osdi:attendance": data.draw(thinned_and_extended(ATTENDED))} | SIBLINGS, prefix)
    entries_of = {table.replace("signature", "attendance"): entries for table, entries in ENTRIES.items()}
    found = scanned([original], ["attendances", *entries_of], people=False)
    (row,) = found["attendances"].to_pylist()
    rebuilt = leaves_of_row(row, DELIVERED_ATTENDANCE)
    for table, (name, columns) in entries_of.items():
        for entry in found[table].to_pylist():
            at = ("osdi:attendance", "person", name, entry["position"])
            put(rebuilt, at, entry, primary="primary", **columns)
    reports_what_is_not_put_back([[original]], lost_of("attendance", original, rebuilt, delivered=True))
