"""A collection of which an archive holds less than its newest total says is incomplete, wherever that is said."""

from __future__ import annotations

import gzip
import json
import warnings
from datetime import UTC, datetime, timedelta

import pytest

import osdi_frames as of
from tests.client.hostile import listening
from tests.pulls import write_pull

HOST = "https://service.example/api/v2"
START = datetime(2026, 5, 1, tzinfo=UTC)


def resource(collection, own_id):
    parent = {"osdi:event": {"href": f"{HOST}/{collection.removesuffix('/attendances')}"}}
    links = {"self": {"href": f"{HOST}/{collection}/{own_id}"}} | (
        parent if "attendances" in collection else {}
    )
    return {"identifiers": [f"platform:{own_id}"], "created_date": "2026-04-01T00:00:00Z", "_links": links}


def page(collection, ids, total=None, *, number=1, own=True, **said):
    """Make a page; its link has no filter, as with services."""
    links = {"self": {"href": f"{HOST}/{collection}?page={number}"}} if own else {}
    counts = {"total_records": total, "total_pages": 20, "page": number} if total is not None else {}
    name = collection.rpartition("/")[2]
    key = "platform:event_campaigns" if name == "event_campaigns" else f"osdi:{name}"
    rows = [resource(collection, own_id) for own_id in ids]
    return {**counts, **said, "_links": links, "_embedded": {key: rows}}


def fetched(body, *, hour=0, url=None):
    return {"fetched_at": str(START + timedelta(hours=hour)), **({"url": url} if url else {}), "body": body}


NEXT = {"_links": {"self": {"href": f"{HOST}/events"}, "next": {"href": f"{HOST}/events?page=2"}}}
FILTER = f"{HOST}/events?filter=modified_date gt '2026-01-01'"
#: Documents, with what is said of them.
CASES = {
    "a first page": ([page("events", "abc", 497)], ["3 of 497 events are in this archive"]),
    "all pages": ([page("events", "abc", 5), page("events", "de", 5, number=2)], []),
    "a page twice": (
        [page("events", "abc", 4), page("events", "bca", 4)],
        ["3 of 4 events are in this archive"],
    ),
    "an empty page": ([page("events", "", 1)], ["0 of 1 event are in this archive"]),
    "a next without totals": ([page("events", "abc") | NEXT], []),
    "totals of some pages": ([page("events", "abc"), page("events", "de", 5, number=2)], []),
    "what is no count": ([page("events", "abc", "many"), page("petitions", "a", -1)], []),
    "no address": ([page("events", "abc", 497, own=False)], []),
    "the newest total, read first": (
        [fetched(page("events", "abc", 3), hour=2), fetched(page("events", "abc", 497), hour=1)],
        [],
    ),
    "the newest total, read last": (
        [fetched(page("events", "abc", 3), hour=1), fetched(page("events", "ab", 497), hour=2)],
        ["3 of 497 events are in this archive"],
    ),
    "rows that moved and were deleted": (
        [fetched(page("events", "abc", 5)), fetched(page("events", "cd", 4, number=2), hour=1)],
        [],
    ),
    "lists of several parents": (
        [
            page("events/1/attendances", "ab", 3),
            page("events/2/attendances", "c", 9),
            page("events/3/attendances", "d", 1),
        ],
        ["3 of 12 attendances are in pages of this archive (of 2 collections)"],
    ),
    "a filter": (
        [page("events", "abcd", 4), fetched(page("events", "ab", 3), url=f"{FILTER}&page=1")],
        ["2 of 3 events are in this archive, of those that a filter asked for"],
    ),
    "a filter, and then all": (
        [fetched(page("events", "ab", 3), url=FILTER), fetched(page("events", "abcd", 4), hour=1)],
        [],
    ),
    "pages of other types": (
        [page("event_campaigns", "a", 2), page("people", "ab", 3)],
        ["1 of 2 event campaigns are in this archive", "2 of 3 people are in pages of this archive"],
    ),
    "a page in a text": (
        [{"payload": json.dumps(page("events", "ab", 3))}],
        ["2 of 3 events are in this archive"],
    ),
    "pages in an array": (
        [[page("events", "ab", 4), page("events", "c", 4)]],
        ["3 of 4 events are in this archive"],
    ),
    "a value that does not fit": (
        [page("events", "ab", 4), page("events", "c", 4, total_pages=None) | {"odd": float("nan")}],
        ["3 of 4 events are in this archive"],
    ),
    "rows without ids": (
        [
            page("events", "a", 3)
            | {"_embedded": {"osdi:events": [{"title": "A"}, {"title": "B"}, {"title": "C"}]}}
        ],
        [],
    ),
    "a delivery": ([[{"osdi:signature": {"identifiers": ["platform:1"], "total_records": 9}}]], []),
}


def said_by(archive):
    found = archive.check()
    rows = found[found.problem == "incomplete collection"]
    assert {*rows.severity} <= {"warning"}
    return [*rows.detail]


def lines_of(documents):
    return "".join(f"{json.dumps(document)}\n" for document in documents)


@pytest.mark.parametrize(("documents", "said"), CASES.values(), ids=CASES)
def test_fewer_ids_than_the_newest_total_are_a_warning(documents, said, tmp_path):
    (tmp_path / "pages.ndjson").write_text(lines_of(documents))
    assert sorted(said_by(of.open(tmp_path))) == sorted(said)


@pytest.mark.parametrize(
    "case",
    [
        "pages of other types",
        *(
            pytest.param(case, marks=pytest.mark.long)
            for case in ("the newest total, read last", "pages in an array")
        ),
    ],
)
def test_contents_and_a_reading_with_a_store_say_the_same(case, tmp_path):
    documents, said = CASES[case]
    file = tmp_path / "pages.ndjson"
    file.write_text(lines_of(documents))
    for archive in (of.open(file), *(of.open(file, store=tmp_path / "store") for _ in range(2))):
        assert [line for line in archive.contents.notes if "this archive" in line] == said
    with warnings.catch_warnings(action="ignore"):
        reported = of.report(file, store=tmp_path / "store").notes
    assert {line for line in said if " events " in line} <= {*reported}


def test_objects_addresses_and_compressed_files_are_counted_and_parts_are_not(tmp_path):
    pages = [page("events", "ab", 7), page("events", "cd", 7, number=2)]
    said = ["4 of 7 events are in this archive"]
    assert said_by(of.open(pages)) == said
    text = lines_of(pages).encode()
    (tmp_path / "pages.ndjson.gz").write_bytes(gzip.compress(text))
    assert said_by(of.open(tmp_path)) == said
    with listening(lambda _: (200, {}, text)) as served:
        assert said_by(of.open(f"{served.base_url}/pages.ndjson")) == said
    (tmp_path / "plain.ndjson").write_bytes(text)
    parts = of.open(tmp_path / "plain.ndjson").partitions(count=2)
    assert len(parts) == 2
    assert not any(map(said_by, parts))


def test_a_report_says_it_in_a_note_and_hides_counts_of_people(tmp_path):
    (tmp_path / "in.ndjson").write_text(
        "".join(
            f"{json.dumps(one)}\n" for one in (page("events", "12", 9), page("events/1/attendances", "ab", 3))
        )
    )
    made = of.report(tmp_path / "in.ndjson")
    assert {"2 of 9 events are in this archive", "2 of 3 attendances are in pages of this archive"} <= {
        *made.notes
    }
    notes = of.report(tmp_path / "in.ndjson", min_count=5).notes
    assert "not all attendances that the service lists are in pages of this archive" in notes
    assert "2 of 9 events are in this archive" in notes
    assert not any("2 of 3" in note for note in notes)


def test_a_complete_pull_is_no_incomplete_collection_though_rows_went_and_came_while_it_ran(tmp_path):
    url = f"{HOST}/events?page="
    first = [
        fetched(page("events", "abc", 5), url=f"{url}1"),
        fetched(page("events", "cd", 4, number=2), hour=0.1, url=f"{url}2"),
    ]
    second = [
        fetched(page("events", "ace", 4), hour=24, url=f"{url}1"),
        fetched(page("events", "f", 4, number=2), hour=24.1, url=f"{url}2"),
    ]
    write_pull(tmp_path / "1", START, {"pages.ndjson": first})
    write_pull(tmp_path / "2", START + timedelta(days=1), {"pages.ndjson": second})
    assert said_by(of.open(tmp_path)) == []
