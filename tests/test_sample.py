"""The sample: the same seed makes the same bytes, and everything that it promises is in it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from osdi_frames import sample
from osdi_frames.cli.sample import command
from osdi_frames.errors import DestinationExists
from osdi_frames.sample import pulls, times
from osdi_frames.sample.words import WORDS
from tests import commands

DATA = Path(__file__).parents[1] / "data"
PREFIXES = ("action_network:", "platform:")
CLI = "from osdi_frames.cli import main; main()"


# -- a reading of archives that shares no code with the package --


def unpack(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Take the wrapping off a file until its text is left: zip, tar, gz and zst."""
    if name.endswith(".gz"):
        yield from unpack(name.removesuffix(".gz"), gzip.decompress(content))
    elif name.endswith(".zst"):
        with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as file:
            yield from unpack(name.removesuffix(".zst"), file.read())
    elif name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                yield from unpack(f"{name}!{member.filename}", archive.read(member))
    elif name.endswith(".tar"):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for entry in archive:
                content_of = archive.extractfile(entry)
                assert content_of is not None
                yield from unpack(f"{name}!{entry.name}", content_of.read())
    else:
        yield name, content


def texts(folder: Path) -> dict[str, bytes]:
    """Read a folder as texts by name, whatever they were wrapped in."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        name: text
        for path in found
        for name, text in unpack(path.relative_to(folder).as_posix(), path.read_bytes())
    }


def glued(text: str) -> list[Any]:
    """Parse documents that stand one after the other, with or without white space between."""
    decoder, position, documents = json.JSONDecoder(), 0, []
    text = text.rstrip()
    while position < len(text):
        document, end = decoder.raw_decode(text, position)
        documents.append(document)
        position = end + len(text[end:]) - len(text[end:].lstrip())
    return documents


def passed_over(name: str) -> bool:
    last = re.split("[/!]", name)[-1]
    return last.startswith(".") or not last.endswith((".json", ".jsonl", ".ndjson"))


class Archive:
    """Everything in a folder, sorted by what it is."""

    def __init__(self, folder: Path) -> None:
        self.files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        self.names = [path.relative_to(folder).as_posix() for path in self.files]
        self.texts = texts(folder)
        self.documents = [
            (name, document)
            for name, text in self.texts.items()
            if not passed_over(name)
            for document in glued(text.decode())
        ]

    @cached_property
    def envelopes(self) -> list[dict[str, Any]]:
        return [
            document for _, document in self.documents if isinstance(document, dict) and "body" in document
        ]

    @cached_property
    def bodies(self) -> list[Any]:
        return [
            document["body"] if isinstance(document, dict) and "body" in document else document
            for _, document in self.documents
        ]

    @cached_property
    def pages(self) -> list[dict[str, Any]]:
        return [body for body in self.bodies if isinstance(body, dict) and "per_page" in body]

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        of_pages = [event for page in self.pages for event in page["_embedded"].get("osdi:events", [])]
        return of_pages + [body for body in self.bodies if isinstance(body, dict) and "per_page" not in body]

    @cached_property
    def v2(self) -> list[dict[str, Any]]:
        return [event for event in self.events if "origin_system" in event]

    @cached_property
    def v1(self) -> list[dict[str, Any]]:
        return [event for event in self.events if "originating_system" in event]

    @cached_property
    def deliveries(self) -> list[list[dict[str, Any]]]:
        return [body for body in self.bodies if isinstance(body, list)]

    @cached_property
    def elements(self) -> list[dict[str, Any]]:
        return [element for delivery in self.deliveries for element in delivery]

    @cached_property
    def signatures(self) -> list[dict[str, Any]]:
        return [element["osdi:signature"] for element in self.elements if "osdi:signature" in element]

    @cached_property
    def persons(self) -> list[dict[str, Any]]:
        return [signature["person"] for signature in self.signatures]

    @cached_property
    def referrers(self) -> list[Any]:
        return [
            own(signature, "referrer_data") or signature.get("referrer_data") for signature in self.signatures
        ]

    @cached_property
    def keys(self) -> list[tuple[str, str]]:
        """Each delivered signature as (message, signature)."""
        return [
            (element["idempotency_key"], element["osdi:signature"]["_links"]["self"]["href"])
            for element in self.elements
            if "osdi:signature" in element and "idempotency_key" in element
        ]

    @cached_property
    def collected(self) -> list[dict[str, Any]]:
        return [s for page in self.pages for s in page["_embedded"].get("osdi:signatures", [])]

    def listed(self, key: str) -> list[dict[str, Any]]:
        """Return what the pages of a collection embed."""
        return [resource for page in self.pages for resource in page["_embedded"].get(key, [])]

    def lists(self, key: str) -> list[list[dict[str, Any]]]:
        return [person[key] for person in self.persons if key in person]


def modified(event: dict[str, Any]) -> str:
    return str(event.get("modified_date") or event["modified_at"])


def campaign_of(event: dict[str, Any]) -> str | None:
    """Return the id of the campaign that the link of an event names."""
    link = own(event["_links"], "event_campaign")
    return link["href"].rpartition("/")[2] if link else None


def count_of(resources: list[dict[str, Any]], parent: str) -> Counter[str]:
    """Count resources by the address that a link of theirs names."""
    return Counter(resource["_links"][parent]["href"] for resource in resources)


def own(resource: dict[str, Any], name: str) -> Any:
    """Look a key up that carries the service's own prefix."""
    return next((resource[prefix + name] for prefix in PREFIXES if prefix + name in resource), None)


def strings(node: Any) -> Iterator[str]:
    """Walk every text in a document, names of keys included."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield name
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)
    elif isinstance(node, str):
        yield node


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("showcase")
    sample.write(path, signatures=1500, events=150, showcase=True)
    return path


@pytest.fixture(scope="module")
def archive(folder: Path) -> Archive:
    return Archive(folder)


# -- what is in it --


def primaries(entries: list[dict[str, Any]]) -> list[bool]:
    return [entry.get("primary", False) for entry in entries]


def self_url(resource: dict[str, Any]) -> str:
    return str(resource["_links"]["self"]["href"])


def grown(archive: Archive) -> bool:
    """Find an event that was pulled twice, the second time newer and with more RSVPs."""
    seen: dict[str, dict[str, int]] = {}
    for event in archive.v2:
        seen.setdefault(self_url(event), {})[event["modified_date"]] = event["total_accepted"]
    return any(len(pulls) > 2 and pulls[max(pulls)] > pulls[min(pulls)] for pulls in seen.values())


def signed(signatures: list[dict[str, Any]]) -> set[str]:
    """Address the signatures that somebody made: that of "send test" has no date."""
    return {self_url(signature) for signature in signatures if "created_date" in signature}


def event_ids(events: list[dict[str, Any]]) -> set[str]:
    return {self_url(event).rpartition("/")[2] for event in events}


LAYOUTS: dict[str, str] = {
    "a page a file": r"events/v2/page-001\.json",
    "an event a file": r"events/single/event-001\.json",
    "a delivery a file, compact": r"deliveries/.*one-a-file/001\.json",
    "a delivery a file, pretty": r"deliveries/.*pretty/001\.json",
    "a delivery a file, gz": r"deliveries/.*/001\.json\.gz",
    "a delivery a file, zst": r"deliveries/.*/001\.json\.zst",
    "lines in ndjson": r"deliveries/.*\.ndjson",
    "lines in jsonl": r"deliveries/.*\.jsonl",
    "lines in json": r"deliveries/.*lines\.json",
    "lines in ndjson.gz": r"deliveries/.*\.ndjson\.gz",
    "lines in jsonl.gz": r"deliveries/.*\.jsonl\.gz",
    "lines in json.gz": r"deliveries/.*lines\.json\.gz",
    "lines in ndjson.zst": r"deliveries/.*\.ndjson\.zst",
    "lines in jsonl.zst": r"deliveries/.*\.jsonl\.zst",
    "glued": r"deliveries/.*glued\.json",
    "glued gz": r"deliveries/.*glued\.json\.gz",
    "glued zst": r"deliveries/.*glued\.json\.zst",
    "zip": r"deliveries/.*\.zip",
    "tar": r"deliveries/.*\.tar",
    "tar.gz": r"deliveries/.*\.tar\.gz",
    "events glued": r"events/.*glued\.json",
    "events zip": r"events/pulls/.*\.zip",
    "events tar.gz": r"events/pulls/.*\.tar\.gz",
    "a folder of both": r"platform/(events|deliveries).*json",
    "a hidden file": r"deliveries/\.[^/]*",
    "a text": r".*README\.txt",
}


@pytest.mark.parametrize("pattern", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_showcase_has_a_file_in_each_layout(archive: Archive, pattern: str) -> None:
    assert any(re.fullmatch(pattern, name) for name in archive.names)


def test_what_a_layout_is_called_is_what_it_is(folder: Path, archive: Archive) -> None:
    of = {name: text.decode() for name, text in archive.texts.items() if not passed_over(name)}
    for name, text in of.items():
        lines = text.removesuffix("\n").split("\n")
        if "glued" in name:
            assert len(lines) == 1
            assert len(glued(text)) > 1
        elif "pretty" in name:
            assert len(lines) > 15
            assert len(glued(text)) == 1
        elif "one-a-file" in name or "/v2/" in name:
            assert len(lines) == len(glued(text)) == 1
        elif "lines" in name or name.endswith(("ndjson", "jsonl")):
            assert len(lines) == len([json.loads(line) for line in lines])


FEATURES: dict[str, Callable[[Archive], object]] = {
    # events
    "v2 events": lambda a: a.v2,
    "v1 events": lambda a: a.v1,
    "an event in v1 and in v2": lambda a: event_ids(a.v1) & event_ids(a.v2),
    "an event in v1 alone": lambda a: event_ids(a.v1) - event_ids([e for e in a.v2 if "_embedded" not in e]),
    "a full page": lambda a: any(len(p["_embedded"].get("osdi:events", [])) == 25 for p in a.pages),
    "an empty page without next": lambda a: any(
        p["_embedded"] == {"osdi:events": []} and "next" not in p["_links"] for p in a.pages
    ),
    "curies": lambda a: all(len(p["_links"]["curies"]) == 2 for p in a.pages),
    "a campaign by its key": lambda a: any(own(e, "event_campaign_id") for e in a.v2),
    "a campaign by its link alone": lambda a: any(
        own(e["_links"], "event_campaign") and not own(e, "event_campaign_id") for e in a.v2
    ),
    "a campaign by its key alone": lambda a: any(
        own(e, "event_campaign_id") and not own(e["_links"], "event_campaign") for e in a.v2
    ),
    "no campaign": lambda a: any(
        not own(e["_links"], "event_campaign") and not own(e, "event_campaign_id") for e in a.v2
    ),
    "a campaign in v1": lambda a: any(own(e, "event_campaign_id") for e in a.v1),
    "an event that only its campaign lists": lambda a: any(
        url in sample.World.make(seed=7, events=135).campaign_only for url in map(self_url, a.v2)
    ),
    "reminders": lambda a: any(e.get("reminders") == [{"method": "email", "minutes": 1440}] for e in a.v2),
    "no reminders": lambda a: any("reminders" not in e for e in a.v2),
    "a sponsor of an event": lambda a: any("browser_url" in (own(e, "sponsor") or {}) for e in a.v2),
    "a sponsor in v1": lambda a: any(set(own(e, "sponsor") or {}) == {"summary", "url"} for e in a.v1),
    "no sponsor": lambda a: any(not own(e, "sponsor") for e in a.v2),
    "a sponsor at an address of the API": lambda a: any(
        "/api/v2/" in (own(e, "sponsor") or {"browser_url": ""})["browser_url"] for e in a.v2
    ),
    "people embedded in v2": lambda a: any("_embedded" in e for e in a.v2),
    "people embedded in v1": lambda a: all("osdi:creator" in e["_embedded"] for e in a.v1),
    "an event without organizer": lambda a: any("osdi:organizer" not in e["_links"] for e in a.v2),
    "instructions in v1": lambda a: any(own(e, "event_instructions") for e in a.v1),
    "hidden": lambda a: any(own(e, "hidden") is True for e in a.v2),
    "private": lambda a: any(e["visibility"] == "private" for e in a.v2),
    "capacity": lambda a: any("capacity" in e for e in a.v2),
    "a full event": lambda a: any(e["total_accepted"] == e.get("capacity") for e in a.v2),
    "an event without RSVPs": lambda a: any(e["total_accepted"] == 0 for e in a.v2),
    "an event with hundreds of RSVPs": lambda a: any(e["total_accepted"] > 300 for e in a.v2),
    "a virtual event": lambda a: any(e.get("location") == {"venue": "Zoom"} for e in a.v2),
    "an event without location": lambda a: any("location" not in e for e in a.v2),
    "a location by default": lambda a: any(e.get("location", {}).get("region") == "" for e in a.v2),
    "a featured image": lambda a: any("featured_image_url" in e for e in a.v2),
    "a foreign identifier first": lambda a: any(e["identifiers"][0].startswith("crm_sync") for e in a.v2),
    "osdi:attendances": lambda a: any("osdi:attendances" in e["_links"] for e in a.v2),
    "osdi:attendance in v2": lambda a: any("osdi:attendance" in e["_links"] for e in a.v2),
    "osdi:attendance in v1": lambda a: all("osdi:attendance" in e["_links"] for e in a.v1),
    "a helper without prefix": lambda a: any("record_attendance_helper" in e["_links"] for e in a.v2),
    "a status that is new": lambda a: any(
        e["status"] not in ("confirmed", "tentative", "cancelled") for e in a.v2
    ),
    "a cancelled event": lambda a: any(e["status"] == "cancelled" for e in a.v2),
    **{
        f"an event without {key}": lambda a, key=key: any(key not in e for e in a.v2)  # type: ignore[misc]
        for key in ("name", "description", "instructions", "browser_url", "start_date", "end_date")
    },
    "a clock that was never shown": lambda a: any(
        "2026-03-08T02:30" in e.get("start_date", "") for e in a.v2
    ),
    "a clock that was shown twice": lambda a: any(
        "2025-11-02T01:30" in e.get("start_date", "") for e in a.v2
    ),
    "an event that grew between pulls": grown,
    "an envelope of a page": lambda a: any({"fetched_at", "url", "body"} == set(e) for e in a.envelopes),
    "a title of 200 characters": lambda a: any(len(e["title"]) >= 200 for e in a.v2),
    # what events and signatures belong to, and RSVPs
    "a campaign with totals": lambda a: any(
        campaign["total_rsvps"] > campaign["total_events"] > 1
        for page in a.pages
        for campaign in own(page["_embedded"], "event_campaigns") or []
    ),
    "two campaigns of one title": lambda a: any(
        count > 1
        for _, count in Counter(
            campaign["title"]
            for page in a.pages
            for campaign in own(page["_embedded"], "event_campaigns") or []
        ).items()
    ),
    "a petition with its creator embedded": lambda a: any(
        "email_addresses" in petition["_embedded"]["osdi:creator"] for petition in a.listed("osdi:petitions")
    ),
    "attendances": lambda a: len(a.listed("osdi:attendances")) > 1000,
    "an attendance without a source": lambda a: any(
        own(attendance, "referrer_data")["source"] == "none" for attendance in a.listed("osdi:attendances")
    ),
    "a person who attends two events": lambda a: any(
        count > 1 for count in count_of(a.listed("osdi:attendances"), "osdi:person").values()
    ),
    # signatures
    "a collection of signatures": lambda a: a.collected,
    "source none and website api": lambda a: {"source": "none", "website": "api"} in a.referrers,
    "no referrer data": lambda a: None in a.referrers,
    "empty referrer data": lambda a: {} in a.referrers,
    "referrer data without prefix": lambda a: any(s.get("referrer_data") for s in a.signatures),
    "email_referrer": lambda a: any("email_referrer" in (r or {}) for r in a.referrers),
    "referrer data without source": lambda a: any(r and "source" not in r for r in a.referrers),
    "a website that is a whole address": lambda a: any(
        (r or {}).get("website", "").startswith("https://") for r in a.referrers
    ),
    "one email": lambda a: any(len(e) == 1 for e in a.lists("email_addresses")),
    **{
        f"{name} of {key}": lambda a, key=key, test=test: any(map(test, a.lists(key)))  # type: ignore[misc]
        for key in ("email_addresses", "phone_numbers", "postal_addresses")
        for name, test in {
            "several": lambda entries: len(entries) > 1,
            "a primary that is not first": lambda entries: True in primaries(entries)[1:],
            "no primary": lambda entries: True not in primaries(entries),
        }.items()
    },
    **{
        f"a person {word} {key}": lambda a, key=key, has=has: any((key in p) is has for p in a.persons)  # type: ignore[misc]
        for key in (
            *("given_name", "family_name", "postal_addresses", "email_addresses", "phone_numbers"),
            *("languages_spoken", "custom_fields", "created_date"),
        )
        for word, has in {"with": True, "without": False}.items()
    },
    "a missing email status": lambda a: any("status" not in e[0] for e in a.lists("email_addresses")),
    "a missing phone status": lambda a: any("status" not in e[0] for e in a.lists("phone_numbers")),
    "a missing country": lambda a: any("country" not in e[0] for e in a.lists("postal_addresses")),
    "a missing address location": lambda a: any("location" not in e[0] for e in a.lists("postal_addresses")),
    "two address lines": lambda a: any(
        len(e[0].get("address_lines", [])) == 2 for e in a.lists("postal_addresses")
    ),
    "empty custom fields": lambda a: any(p.get("custom_fields") == {} for p in a.persons),
    "two languages": lambda a: any(len(p.get("languages_spoken", [])) == 2 for p in a.persons),
    "no tags key": lambda a: any("add_tags" not in s for s in a.signatures),
    "empty tags": lambda a: any(s.get("add_tags") == [] for s in a.signatures),
    "several tags": lambda a: any(len(s.get("add_tags", [])) > 2 for s in a.signatures),
    "no identifiers": lambda a: any("identifiers" not in s for s in a.signatures),
    "only a foreign identifier": lambda a: any(
        all(i.startswith("form_sync") for i in s.get("identifiers", ["x"])) for s in a.signatures
    ),
    "a comment": lambda a: any(s.get("comments") for s in a.signatures),
    "an empty comment": lambda a: any(s.get("comments") == "" for s in a.signatures),
    # deliveries
    "a retry": lambda a: max(Counter(json.dumps(body) for body in a.deliveries).values()) > 1,
    "a batch": lambda a: any(len(body) > 2 for body in a.deliveries),
    "a batch with one key": lambda a: any(
        len(body) > 1 and len({e.get("idempotency_key") for e in body}) == 1 for body in a.deliveries
    ),
    "a batch with a key each": lambda a: any(
        len({e.get("idempotency_key") for e in body}) > 1 for body in a.deliveries
    ),
    "one signature under two keys": lambda a: any(
        count > 1 for count in Counter(url for _, url in set(a.keys)).values()
    ),
    "a late update": lambda a: any(
        s["modified_date"] > s["created_date"] for s in a.signatures if "created_date" in s
    ),
    "no key": lambda a: any("idempotency_key" not in e for e in a.elements),
    "the send test delivery, again": lambda a: (
        Counter(
            e.get("idempotency_key")
            for e in a.elements
            if "created_date" not in e.get("osdi:signature", "created_date")
        ).most_common(1)[0][1]
        > 1
    ),
    **{
        f"{kind} elements": lambda a, kind=kind: any(kind in e for e in a.elements)  # type: ignore[misc]
        for kind in (
            *("osdi:attendance", "osdi:submission", "osdi:donation"),
            *("action_network:action", "action_network:upload"),
        )
    },
    "a sponsor under url": lambda a: any("url" in (own(e, "sponsor") or {}) for e in a.elements),
    "a sponsor under browser_url": lambda a: any(
        "browser_url" in (own(e, "sponsor") or {}) for e in a.elements
    ),
    "an element without sponsor": lambda a: any(own(e, "sponsor") is None for e in a.elements),
    "an envelope of a delivery": lambda a: any({"received_at", "body"} == set(e) for e in a.envelopes),
    # both
    **{
        f"{prefix} {what}": lambda a, prefix=prefix, what=what: any(  # type: ignore[misc]
            i.startswith(prefix) for r in getattr(a, what) for i in r.get("identifiers", [])
        )
        for prefix in PREFIXES
        for what in ("v2", "signatures")
    },
}


@pytest.mark.parametrize("present", FEATURES.values(), ids=FEATURES.keys())
def test_the_showcase_has(archive: Archive, present: Callable[[Archive], object]) -> None:
    assert present(archive)


@pytest.mark.parametrize("number", range(len(WORDS["hostile"])))
def test_every_hostile_label_is_the_title_of_an_event(archive: Archive, number: int) -> None:
    label = WORDS["hostile"][number]
    assert any(event["title"] == label for event in archive.v2)


@pytest.mark.parametrize(
    "pattern",
    [
        "<script>",
        r"\$\\bad\{",
        "^=",
        r"^\+1$",
        "^-1$",
        "^@",
        "^\t",
        "[\u0590-\u05ff]",
        "[\u0600-\u06ff]",
        "[一-龥]",
        "[\U0001f300-\U0001faff]",
        "[\u0300-\u036f]",
        "\u2028",
        ".{200}",
    ],
)
def test_signatures_carry_texts_that_break_careless_software(archive: Archive, pattern: str) -> None:
    assert any(re.search(pattern, text) for signature in archive.signatures for text in strings(signature))


# -- what is true of all of it --


def test_every_document_parses_and_what_is_passed_over_would_not(archive: Archive) -> None:
    assert len(archive.documents) > 1000
    hidden = [text for name, text in archive.texts.items() if passed_over(name)]
    assert len(hidden) >= 4
    for text in hidden:
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            json.loads(text)


def test_totals_are_true_and_pages_follow_each_other(archive: Archive) -> None:
    collections: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for name, document in archive.documents:
        enveloped = isinstance(document, dict) and "body" in document
        page, fetched = (
            (document["body"], document.get("fetched_at", "")[:10]) if enveloped else (document, "")
        )
        if isinstance(page, dict) and "per_page" in page:
            pull = (re.sub(r"\d+\.json$", "", name), fetched, self_url(page))
            collections.setdefault(pull, []).append(page)
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


def test_whatever_is_referred_to_exists(archive: Archive) -> None:
    worlds = [
        sample.World.make(seed=7, events=135),
        sample.World.make(seed=7, events=15, prefix="platform"),
    ]
    known = {
        kind: {self_url(resource).rpartition("/")[2] for world in worlds for resource in getattr(world, kind)}
        for kind in ("campaigns", "petitions", "events")
    }
    people = {href.rpartition("/")[2] for world in worlds for href in world.people}
    assert event_ids(archive.events) == known["events"]
    for event in archive.events:
        assert event["_links"]["osdi:creator"]["href"].rpartition("/")[2] in people
        campaign = own(event["_links"], "event_campaign") or {"href": own(event, "event_campaign_id")}
        assert campaign["href"] is None or campaign["href"].rpartition("/")[2] in known["campaigns"]
    for signature in archive.signatures + archive.collected:
        assert signature["_links"]["osdi:petition"]["href"].rpartition("/")[2] in known["petitions"]


def test_the_totals_of_the_service_are_those_of_what_is_in_the_archive(archive: Archive) -> None:
    newest = {self_url(e): e for e in sorted(archive.v2 + archive.v1, key=modified)}
    events = {url.replace("/api/v1/", "/api/v2/"): event for url, event in newest.items()}
    rsvps = {url: event["total_accepted"] for url, event in events.items() if event["total_accepted"]}
    assert count_of(archive.listed("osdi:attendances"), "osdi:event") == rsvps
    campaigns: dict[str, list[int]] = {}
    for event in events.values():
        if campaign := own(event, "event_campaign_id") or campaign_of(event):
            campaigns.setdefault(campaign, []).append(event["total_accepted"])
    found = [own(page["_embedded"], "event_campaigns") or [] for page in archive.pages]
    for campaign in (item for page in found for item in page):
        rsvps_of = campaigns.get(self_url(campaign).rpartition("/")[2], [])
        assert (campaign["total_events"], campaign["total_rsvps"]) == (len(rsvps_of), sum(rsvps_of))
    petitions = {
        self_url(petition): petition["total_signatures"] for petition in archive.listed("osdi:petitions")
    }
    unique = {self_url(s): s for s in archive.signatures + archive.collected if "created_date" in s}
    assert count_of(list(unique.values()), "osdi:petition") == petitions


def test_limited_events_are_at_least_half_full_at_the_end() -> None:
    world = sample.World.make(seed=7, events=135)
    limited = [event for event in world.events if "capacity" in event]
    assert len(limited) > 15
    assert all(event["total_accepted"] >= event["capacity"] // 2 for event in limited)


def test_campaigns_are_of_several_events_within_some_years() -> None:
    world = sample.World.make(seed=7, events=135)
    sizes = [campaign["total_events"] for campaign in world.campaigns]
    assert sum(size >= 3 for size in sizes) > len(sizes) / 2
    for campaign in world.campaigns:
        created = [event["created_date"] for event in world.by_campaign[self_url(campaign)]]
        assert all(campaign["created_date"] <= moment for moment in created)
        years = [int(moment[:4]) for moment in created]
        assert max(years, default=0) - min(years, default=0) <= 3


def test_a_delivered_attendance_is_one_of_its_event_with_the_person_inline(archive: Archive) -> None:
    listed = {self_url(attendance): attendance for attendance in archive.listed("osdi:attendances")}
    brought = [e["osdi:attendance"] for e in archive.elements if "osdi:attendance" in e]
    assert brought
    for attendance in brought:
        known = listed[self_url(attendance)]
        assert attendance["_links"]["osdi:person"] == known["_links"]["osdi:person"]
        assert attendance["created_date"] == known["created_date"]
        assert "person" in attendance
        assert "none" not in own(attendance, "referrer_data").values()


def test_every_host_and_every_number_is_kept_free_for_examples(archive: Archive) -> None:
    for text in (text for _, document in archive.documents for text in strings(document)):
        for host in re.findall(r"https?://([^/\"<>\s]+)|[\w.]@([\w.-]+\.\w+)", text):
            assert re.fullmatch(r"([\w-]+\.)*example\.(org|net|com)", "".join(host)), text
    for entry in (entry for entries in archive.lists("phone_numbers") for entry in entries):
        assert re.search(r"555-?01\d\d$", entry["number"])
    websites = {(referrer or {}).get("website", "example.org") for referrer in archive.referrers}
    assert all(site == "api" or re.search(r"(^|[./])example\.(org|net|com)", site) for site in websites)


def test_no_moment_is_later_than_the_end(archive: Archive) -> None:
    end = "2026-08-01T00:05:00Z"
    for resource in archive.events + archive.signatures:
        for key in ("created_date", "modified_date", "created_at", "modified_at"):
            assert "2017-06" < resource.get(key, "2020") < end
    assert all(e.get("received_at", e.get("fetched_at", "9")) < end for e in archive.envelopes)


SHAPES: dict[str, dict[str, Any]] = {
    "event": {
        **dict.fromkeys(
            ("origin_system", "created_date", "modified_date", "name", "title", "description"), str
        ),
        **dict.fromkeys(("instructions", "browser_url", "featured_image_url", "start_date", "end_date"), str),
        **dict.fromkeys(("originating_system", "created_at", "modified_at", "summary", "url", "start"), str),
        **dict.fromkeys(("status", "transparence", "visibility", "<p>:event_campaign_id"), str),
        **dict.fromkeys(("<p>:event_instructions",), str),
        **dict.fromkeys(("total_accepted", "capacity"), int),
        **dict.fromkeys(("guests_can_invite_others", "guestsCanInviteOthers", "<p>:hidden"), bool),
        **dict.fromkeys(("identifiers", "reminders"), list),
        **dict.fromkeys(("location", "<p>:sponsor", "_links", "_embedded"), dict),
    },
    "signature": {
        **dict.fromkeys(("created_date", "modified_date", "comments"), str),
        **dict.fromkeys(("identifiers", "add_tags"), list),
        **dict.fromkeys(("<p>:referrer_data", "referrer_data", "person", "_links"), dict),
    },
    "person": {
        **dict.fromkeys(("created_date", "modified_date", "given_name", "family_name"), str),
        **dict.fromkeys(("postal_addresses", "email_addresses", "phone_numbers", "languages_spoken"), list),
        "custom_fields": dict,
    },
    "location": {
        **dict.fromkeys(("venue", "locality", "region", "postal_code", "country", "language"), str),
        "primary": bool,
        "address_lines": list,
        "location": dict,
    },
}


def misfits(resource: dict[str, Any], shape: str) -> list[tuple[str, Any]]:
    """List what the contract does not know, or knows with another type."""
    known = SHAPES[shape]
    plain = {re.sub("^(action_network|platform):", "<p>:", name): value for name, value in resource.items()}
    return [(name, value) for name, value in plain.items() if type(value) is not known.get(name)]


def test_every_key_and_type_is_the_contracts(archive: Archive) -> None:
    found = [misfit for event in archive.events for misfit in misfits(event, "event")]
    found += [m for event in archive.events for m in misfits(event.get("location", {}), "location")]
    found += [m for signature in archive.signatures for m in misfits(signature, "signature")]
    found += [m for person in archive.persons for m in misfits(person, "person")]
    found += [m for e in archive.lists("postal_addresses") for a in e for m in misfits(a, "location")]
    assert found == []


def test_the_showcase_is_small(folder: Path, archive: Archive) -> None:
    assert sum(path.stat().st_size for path in archive.files) < 2_500_000
    assert len(signed(archive.signatures + archive.collected)) == 1500
    assert len(event_ids(archive.events)) == 150


# -- the same seed, the same bytes --


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CLI, "sample", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("options", [["--showcase"], ["--signatures", "500"]], ids=["showcase", "load"])
def test_the_same_seed_makes_the_same_bytes_in_every_process(tmp_path: Path, options: list[str]) -> None:
    digests = set()
    for hash_seed, zone in (("0", "UTC"), ("4242", "Asia/Kathmandu")):
        out = tmp_path / hash_seed
        assert run(*options, str(out), PYTHONHASHSEED=hash_seed, TZ=zone).returncode == 0
        digests.add(digest(out))
    assert len(digests) == 1


def test_another_seed_makes_other_bytes_and_other_identifiers(tmp_path: Path) -> None:
    for seed in (1, 2):
        sample.write(tmp_path / str(seed), signatures=60, events=30, seed=seed)
    first, second = (Archive(tmp_path / str(seed)) for seed in (1, 2))
    assert digest(tmp_path / "1") != digest(tmp_path / "2")
    assert not event_ids(first.events) & event_ids(second.events)


def test_the_committed_archive_is_what_the_command_makes_now(folder: Path) -> None:
    # Texts are compared, not compressed bytes: another zlib may pack the same text otherwise.
    committed = {name: text for name, text in texts(DATA).items() if name != "README.md"}
    made = texts(folder)
    assert sorted(committed) == sorted(made)
    assert [name for name in made if committed[name] != made[name]] == []


# -- the world --


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(),
    events=st.integers(0, 60),
    prefix=st.sampled_from(["action_network", "platform", "acme"]),
)
def test_every_world_is_sound(seed: int, events: int, prefix: str) -> None:
    world = sample.World.make(seed=seed, events=events, prefix=prefix)
    assert len(event_ids(world.events)) == events
    assert all(e["total_accepted"] <= e.get("capacity", 10**6) for e in world.events)
    assert all(e["created_date"] <= e["modified_date"] <= "2026-08-01T00:00:00Z" for e in world.events)
    in_campaigns = [e for campaign in world.campaigns for e in world.by_campaign[self_url(campaign)]]
    assert event_ids(world.listed) | event_ids(in_campaigns) == event_ids(world.events)
    assert world == sample.World.make(seed=seed, events=events, prefix=prefix)


@settings(max_examples=50, deadline=None)
@given(days=st.lists(st.integers(-3500, 10), min_size=2, max_size=2).map(sorted))
def test_rsvps_never_fall_and_come_with_a_newer_modified_date(days: list[int]) -> None:
    world = sample.World.make(events=40)
    early, late = (
        {
            self_url(e): e
            for e in pulls.seen(world.events, since=pulls.BEGINNING, at=times.UNTIL + timedelta(days=d))
        }
        for d in days
    )
    assert set(early) <= set(late)
    for url, event in early.items():
        assert event["total_accepted"] <= late[url]["total_accepted"]
        assert (event == late[url]) == (event["modified_date"] == late[url]["modified_date"])
        assert event["modified_date"] <= late[url]["modified_date"]


def test_nothing_is_sent_after_the_end() -> None:
    world = sample.World.make(events=60)
    sent = list(sample.deliveries(world, world.signatures(500)))
    assert max(delivery.received_at for delivery in sent) <= times.UNTIL
    assert len(list(world.signatures(500))) == 500


def test_v1_and_v2_say_the_same_of_an_event() -> None:
    world = sample.World.make(events=50)
    for event in world.events:
        shown = pulls.in_v1(world, event)
        assert (shown["summary"], shown["created_at"]) == (event["title"], event["created_date"])
        assert shown.get("start") == event.get("start_date")
        assert shown["total_accepted"] == event["total_accepted"]
        assert own(shown, "event_instructions") == event.get("instructions")
        sponsor = own(event, "sponsor")
        assert (own(shown, "sponsor") or {}).get("summary") == (sponsor or {}).get("title")
        assert {"capacity", "end_date", "name", "featured_image_url"}.isdisjoint(shown)
        assert "/api/v2/" not in json.dumps(shown["_links"]) + json.dumps(shown["_embedded"])


def test_the_addresses_of_a_world_are_where_it_is_said_to_be() -> None:
    world = sample.World.make(events=30, base_url="http://127.0.0.1:8000/api/v2/")
    hrefs = {text for event in world.events for text in strings(event["_links"]) if text.startswith("http")}
    assert hrefs
    assert all(href.startswith("http://127.0.0.1:8000/api/v2/") for href in hrefs)


def test_deliveries_come_in_order_and_bring_every_signature() -> None:
    world = sample.World.make(events=0)
    made = list(world.signatures(3000))
    sent = list(sample.deliveries(world, made))
    assert [d.received_at for d in sent] == sorted(d.received_at for d in sent)
    delivered = [e["osdi:signature"] for d in sent for e in d.body if "osdi:signature" in e]
    assert signed(made) == signed(delivered)


def test_a_retry_has_the_body_of_the_message_and_comes_within_the_hour_or_so() -> None:
    world = sample.World.make(events=0)
    seen: dict[str, list[datetime]] = {}
    for delivery in sample.deliveries(world, world.signatures(3000)):
        if "created_date" in next(iter(delivery.body[0].values())):
            seen.setdefault(json.dumps(delivery.body), []).append(delivery.received_at)
    retried = [moments for moments in seen.values() if len(moments) > 1]
    assert len(retried) > 50
    assert max(len(moments) for moments in retried) == 4
    assert all(moments[-1] - moments[0] <= timedelta(hours=1) for moments in retried)


def test_deliveries_have_keys_since_december_2022_and_none_before() -> None:
    world = sample.World.make(events=0)
    for delivery in sample.deliveries(world, world.signatures(2000)):
        keyed = {"idempotency_key" in element for element in delivery.body}
        since = delivery.received_at - datetime(2022, 12, 1, tzinfo=UTC)
        if abs(since) > timedelta(days=3):  # a late one has none, although it comes later
            assert keyed == {since > timedelta(0)}


def test_few_petitions_draw_most_signatures() -> None:
    world = sample.World.make(events=0, petitions=40)
    counts = Counter(s["_links"]["osdi:petition"]["href"] for s in world.signatures(4000))
    assert sum(count for _, count in counts.most_common(8)) > 2000
    assert len(counts) > 30


# -- files and the command --


def test_as_many_signatures_and_events_are_written_as_were_asked_for(tmp_path: Path) -> None:
    sample.write(tmp_path, signatures=1000, events=80)
    archive = Archive(tmp_path)
    assert len(signed(archive.signatures + archive.collected)) == 1000
    assert len(event_ids(archive.events)) == 80
    lines = sum(path.read_bytes().count(b"\n") for path in tmp_path.rglob("deliveries/*"))
    assert 1000 <= lines <= 1150


@pytest.mark.parametrize("showcase", [True, False])
def test_an_archive_of_nothing_can_be_read(tmp_path: Path, showcase: bool) -> None:
    sample.write(tmp_path / "new" / "out", signatures=0, events=0, showcase=showcase)
    archive = Archive(tmp_path / "new" / "out")
    assert (archive.events, archive.signatures) == ([], [])
    assert len(archive.listed("osdi:petitions")) == 10


def test_deliveries_of_a_month_are_in_the_file_of_that_month(tmp_path: Path) -> None:
    sample.write(tmp_path, signatures=800, events=0)
    for path in sorted((tmp_path / "deliveries").iterdir()):
        for document in glued(path.read_text()):
            enveloped = isinstance(document, dict)
            assert enveloped == (path.stem >= "2026-01")
            if enveloped:
                assert document["received_at"][:7] == path.stem


def test_a_folder_that_holds_something_is_left_alone_without_overwrite(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(DestinationExists, match=re.escape(str(tmp_path))):
        sample.write(tmp_path, signatures=10, events=10)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    sample.write(tmp_path, signatures=10, events=10, overwrite=True)
    assert (tmp_path / "mine.txt").read_text() == "keep me"


def test_the_command_says_what_it_wrote_and_a_taken_folder_is_one_line(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    first = commands.run("sample", "--signatures", "50", "--events", "10", out)
    assert (first.returncode, first.stderr) == (0, "")  # no progress bar in a pipe
    assert re.fullmatch(re.escape(out) + r": \d+ files, \d\.\d MB\n", first.stdout)
    second = commands.run("sample", "--signatures", "50", "--events", "10", out)
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.count("\n") == 1
    assert "Traceback" not in second.stderr


def test_the_help_has_an_example() -> None:
    lines = CliRunner().invoke(command, ["--help"]).output.splitlines()
    assert "    osdi-frames sample --signatures 200000 --events 5000 --seed 7 archive" in lines


MEMORY = """
import resource, sys
from osdi_frames import sample
sample.write(sys.argv[1], signatures=int(sys.argv[2]), events=100)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(out: Path, signatures: int) -> int:
    """Write an archive in a process of its own and say how much memory that took, in kB."""
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY, str(out), str(signatures)], capture_output=True, text=True, check=True
    )
    return int(ran.stdout)


@pytest.mark.parametrize("signatures", [10_000, pytest.param(200_000, marks=pytest.mark.long)])
def test_memory_does_not_grow_with_the_number_of_signatures(tmp_path: Path, signatures: int) -> None:
    small, large = peak(tmp_path / "small", 1000), peak(tmp_path / "large", signatures)
    assert large - small < 1000 + signatures / 5  # the collection and what waits: nothing near 6 kB each
