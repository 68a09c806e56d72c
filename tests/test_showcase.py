"""The archive in data/: it is made from a seed, and holds every layout and what is odd in life."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from osdi_frames.parsing.check import Inspection
from osdi_frames.tables import TABLES
from tests import showcase
from tests.fuzz.oracle import documents_at
from tests.once import read_once
from tests.reference.documents import elements_of
from tests.reference.values import at

PREFIXES = ("action_network", "platform")
KINDS = ("event", "event_campaign", "attendance", "petition", "signature")


class Archive:
    """The documents of a folder, as the tests' own reading finds them, and what is in them."""

    def __init__(self, folder: Path) -> None:
        self.documents = documents_at(folder)
        self.bodies = [at(document.value, "body") or document.value for document in self.documents]
        self.pages = [body for body in self.bodies if isinstance(body, dict) and "per_page" in body]
        self.messages = [body for body in self.bodies if isinstance(body, list)]
        self.elements = [element for message in self.messages for element in message]
        found = {kind: elements_of(self.documents, kind, PREFIXES) for kind in KINDS}
        of_kind = {kind: [element.value for element in elements] for kind, elements in found.items()}
        self.events, self.campaigns, self.attendances, self.petitions, self.signatures = of_kind.values()
        self.v2 = [event for event in self.events if "origin_system" in event]

    def entries(self, name: str) -> list[list[dict[str, Any]]]:
        persons = [signature.get("person", {}) for signature in self.signatures]
        return [person[name] for person in persons if name in person]


@pytest.fixture(scope="module")
def archive(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return read_once(tmp_path_factory, "showcase", lambda: Archive(data))


def texts_of(node: Any) -> Iterator[str]:
    """Yield every text in a document, names of keys included."""
    if isinstance(node, dict):
        yield from node
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from texts_of(value)
    elif isinstance(node, str):
        yield node


def self_url(resource: dict[str, Any]) -> str:
    return str(resource["_links"]["self"]["href"])


def own(resource: dict[str, Any], name: str) -> Any:
    """Return what stands under the service's own prefix."""
    values = (resource.get(f"{prefix}:{name}") for prefix in PREFIXES)
    return next((value for value in values if value is not None), None)


def linked_campaign(event: dict[str, Any]) -> str | None:
    link = own(event["_links"], "event_campaign")
    return link["href"].rpartition("/")[2] if link else None


def unique(resources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the newest of each resource; what v1 and v2 show is one."""
    by_age = sorted(resources, key=lambda resource: resource.get("modified_date") or resource["modified_at"])
    return list({self_url(each).replace("/v1/", "/v2/"): each for each in by_age}.values())


def count_of(resources: list[dict[str, Any]], parent: str) -> Counter[str]:
    """Count resources by the address that a link of theirs names."""
    return Counter(resource["_links"][parent]["href"] for resource in resources)


# -- how it is made --


def test_the_archive_in_data_is_what_the_showcase_makes(data: Path, tmp_path: Path) -> None:
    def texts(folder: Path) -> list[tuple[str, int, Any]]:
        """Return what is compared: the documents, since another zlib may compress them otherwise."""
        return [
            (str(file).removeprefix(str(folder)), line, value) for file, line, value in documents_at(folder)
        ]

    showcase.write(tmp_path)
    assert texts(tmp_path) == texts(data)
    for name in ("deliveries/.2026-08.ndjson", "platform/README.txt"):
        assert (tmp_path / name).read_bytes() == (data / name).read_bytes()


# -- what is in it --


def test_every_column_of_a_child_table_has_values(sample_tables: dict[str, pa.Table]) -> None:
    for table in (name for name in TABLES if name.startswith(("event_", "signature_"))):
        rows = sample_tables[table]
        empty = [name for name in rows.column_names if rows[name].null_count == len(rows)]
        # No pull of the sample has a manifest, which alone proves that something is gone.
        of_campaigns = ["featured_image_url", "tag_list", "gone_since"]
        assert empty == (of_campaigns if table == "event_campaigns" else []), table


def test_every_key_and_every_value_is_a_declared_one(inspected: Inspection) -> None:
    worse = inspected.problems[inspected.problems["severity"] != "info"]
    assert worse["detail"].tolist() == ['event: status = "postponed"']


def primaries(entries: list[dict[str, Any]]) -> list[bool]:
    return [entry.get("primary", False) for entry in entries]


def grew(archive: Archive) -> bool:
    """Find an event that was pulled several times, the last time newer and with more RSVPs."""
    seen: dict[str, dict[str, int]] = defaultdict(dict)
    for event in archive.v2:
        seen[self_url(event)][event["modified_date"]] = event["total_accepted"]
    return any(len(pulls) > 2 and pulls[max(pulls)] > pulls[min(pulls)] for pulls in seen.values())


def keys_of(message: list[dict[str, Any]]) -> set[str | None]:
    return {element.get("idempotency_key") for element in message}


#: What no column shows.
ODD: dict[str, Callable[[Archive], object]] = {
    "a full page": lambda a: any(len(p["_embedded"].get("osdi:events", [])) == 25 for p in a.pages),
    "an empty page without next": lambda a: any(
        page["_embedded"] == {"osdi:events": []} and "next" not in page["_links"] for page in a.pages
    ),
    "a campaign by its link alone": lambda a: any(
        linked_campaign(e) and not own(e, "event_campaign_id") for e in a.v2
    ),
    "a campaign by its key alone": lambda a: any(
        own(e, "event_campaign_id") and not linked_campaign(e) for e in a.v2
    ),
    "a sponsor at an address of the API": lambda a: any(
        "/api/v2/" in (own(e, "sponsor") or {}).get("browser_url", "") for e in a.v2
    ),
    "people embedded in v2": lambda a: any("_embedded" in e for e in a.v2),
    "a full event": lambda a: any(e["total_accepted"] == e.get("capacity") for e in a.v2),
    "an event with hundreds of RSVPs": lambda a: any(e["total_accepted"] > 300 for e in a.v2),
    "a foreign identifier first": lambda a: any(e["identifiers"][0].startswith("crm_sync") for e in a.v2),
    "a status that is new": lambda a: "postponed" in {e["status"] for e in a.v2},
    "an event that grew between pulls": grew,
    "two campaigns of one title": lambda a: max(Counter(c["title"] for c in a.campaigns).values()) > 1,
    "a person who attends two events": lambda a: max(count_of(a.attendances, "osdi:person").values()) > 1,
    "a person who came, and one who did not": lambda a: (
        {each["status"] for each in a.attendances} == {"accepted", "attended"}
    ),
    "referrer data without prefix": lambda a: any(s.get("referrer_data") for s in a.signatures),
    **{
        f"{what} of {name}": lambda a, name=name, odd=odd: any(map(odd, a.entries(name)))  # type: ignore[misc]
        for name in ("email_addresses", "phone_numbers", "postal_addresses")
        for what, odd in {
            "several": lambda entries: len(entries) > 1,
            "a primary that is not first": lambda entries: True in primaries(entries)[1:],
            "no primary": lambda entries: True not in primaries(entries),
        }.items()
    },
    "empty custom fields": lambda a: any(at(s, "person", "custom_fields") == {} for s in a.signatures),
    "empty tags": lambda a: any(s.get("add_tags") == [] for s in a.signatures),
    "an empty comment": lambda a: any(s.get("comments") == "" for s in a.signatures),
    "a retry": lambda a: max(Counter(map(json.dumps, a.messages)).values()) > 1,
    "a batch with one key": lambda a: any(len(m) > 1 and len(keys_of(m)) == 1 for m in a.messages),
    "a batch with a key each": lambda a: any(len(keys_of(m)) > 1 for m in a.messages),
    "one signature under two keys": lambda a: (
        max(
            Counter(
                url
                for _, url in {
                    (e["idempotency_key"], self_url(e["osdi:signature"]))
                    for e in a.elements
                    if {"idempotency_key", "osdi:signature"} <= {*e}
                }
            ).values()
        )
        > 1
    ),
    "a late update": lambda a: any(
        s.get("modified_date", "") > s.get("created_date", "~") for s in a.signatures
    ),
    "the send test delivery, again": lambda a: (
        sum(
            "test" in at(e, "osdi:signature", "add_tags")
            for e in a.elements
            if at(e, "osdi:signature", "add_tags")
        )
        > 1
    ),
}


@pytest.mark.parametrize("is_there", ODD.values(), ids=ODD.keys())
def test_it_holds(archive: Archive, is_there: Callable[[Archive], object]) -> None:
    assert is_there(archive)


# -- what is true of all of it --


def test_totals_are_true_and_pages_follow_each_other(archive: Archive) -> None:
    collections: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for document, page in zip(archive.documents, archive.bodies, strict=True):
        if isinstance(page, dict) and "per_page" in page:
            folder = re.sub(r"\d+\.json$", "", str(document.file))
            fetched = str(at(document.value, "fetched_at"))[:10]
            collections[folder, fetched, self_url(page)].append(page)
    assert len(collections) > 10
    for pages in collections.values():
        embedded = [record for page in pages for record in next(iter(page["_embedded"].values()))]
        # The links of attendances have a key of their own.
        key = next(iter(pages[0]["_embedded"])).replace("osdi:attendances", "osdi:attendance")
        linked = [link["href"] for page in pages for link in page["_links"][key]]
        assert [page["page"] for page in pages] == list(range(1, len(pages) + 1))
        assert {page["total_records"] for page in pages} == {len(embedded)} == {len(set(linked))}
        assert linked == [self_url(record) for record in embedded]
        assert ["next" in page["_links"] for page in pages] == [True] * (len(pages) - 1) + [False]


def test_the_totals_of_the_service_are_those_of_what_is_in_the_archive(archive: Archive) -> None:
    events = unique(archive.events)
    assert len(events) == 150
    rsvps = {self_url(e).replace("/v1/", "/v2/"): e["total_accepted"] for e in events if e["total_accepted"]}
    assert count_of(unique(archive.attendances), "osdi:event") == rsvps
    by_campaign: dict[str | None, list[int]] = defaultdict(list)
    for event in events:
        by_campaign[own(event, "event_campaign_id") or linked_campaign(event)].append(event["total_accepted"])
    for campaign in archive.campaigns:
        found = by_campaign[self_url(campaign).rpartition("/")[2]]
        assert (campaign["total_events"], campaign["total_rsvps"]) == (len(found), sum(found))
    signatures = unique([signature for signature in archive.signatures if "created_date" in signature])
    assert len(signatures) == 1500
    signed = {self_url(petition): petition["total_signatures"] for petition in archive.petitions}
    assert count_of(signatures, "osdi:petition") == signed


def test_a_delivered_attendance_is_one_of_its_event_with_the_person_inline(archive: Archive) -> None:
    delivered = [element["osdi:attendance"] for element in archive.elements if "osdi:attendance" in element]
    listed = {self_url(each): each for each in archive.attendances if "person" not in each}
    assert delivered
    for attendance in delivered:
        known = listed[self_url(attendance)]
        assert attendance["_links"]["osdi:person"] == known["_links"]["osdi:person"]
        assert attendance["created_date"] == known["created_date"]
        assert "person" in attendance
        assert "none" not in own(attendance, "referrer_data").values()


def test_every_host_and_every_number_is_kept_free_for_examples(archive: Archive) -> None:
    for text in (text for document in archive.documents for text in texts_of(document.value)):
        for host in re.findall(r"https?://([^/\"<>\s]+)|[\w.]@([\w.-]+\.\w+)", text):
            assert re.fullmatch(r"([\w-]+\.)*example\.(org|net|com)", "".join(host)), text
    for entry in (entry for entries in archive.entries("phone_numbers") for entry in entries):
        assert re.search(r"555-?01\d\d$", entry["number"])
