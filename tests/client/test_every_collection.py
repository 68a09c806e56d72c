"""Every collection that a pull can read: all of it is read into its table, and what is listed no more is gone."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import osdi_frames as of
from osdi_frames import Client
from osdi_frames.client.collections import COLLECTION_NAMES
from osdi_frames.tables import element_types

from .hostile import listening

START = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = {element.plural: element for element in element_types()}


def rows_of(base: str, path: str, deleted: set[str]) -> list[dict[str, object]]:
    """Return three records of a list; the ids of those in a parent's list begin with its id."""
    *parent, plural = path.split("/")
    above = f"{parent[1]}-" if parent else ""
    ids = [f"{above}{plural}{number}" for number in range(3)]
    linked = {f"platform:{TYPES[parent[0]].name}_id": parent[1]} if parent else {}
    return [
        {
            "identifiers": [f"platform:{id_}"],
            "modified_date": "2025-12-01T00:00:00Z",
            "_links": {"self": {"href": f"{base}/{path}/{id_}"}},
        }
        | linked
        for id_ in ids
        if id_ not in deleted
    ]


def test_what_a_full_pull_no_longer_lists_is_gone_from_each_table(tmp_path):
    deleted: set[str] = set()

    def answer(path):
        asked = urlsplit(path).path.removeprefix("/api/v2/")
        plural = asked.rpartition("/")[2]
        [key, *_] = TYPES[plural].collections(["platform"])
        rows = [] if asked.startswith("event_campaigns/") else rows_of(served.base_url, asked, deleted)
        counts = {"total_pages": 1, "total_records": len(rows), "page": 1}
        return 200, {}, json.dumps(counts | {"_embedded": {key: rows}}).encode()

    def pull(hour):
        now = START + timedelta(hours=hour)
        with Client(served.base_url, "key", rate=None, now=lambda: now) as client:
            assert client.pull(tmp_path, collections=COLLECTION_NAMES).complete

    with listening(answer) as served:
        pull(1)
        for name, frame in of.open(tmp_path).tables(COLLECTION_NAMES).items():
            assert len(frame) == (9 if TYPES[name].parent else 3), name
            assert frame["gone_since"].isna().all()
            deleted.add(frame[f"{TYPES[name].name}_id"].max())
        pull(2)
    for name, frame in of.open(tmp_path).tables(COLLECTION_NAMES).items():
        ids = frame[f"{TYPES[name].name}_id"]
        # What was listed by a parent that is gone is in no list, either.
        expected = ids.isin(deleted) | ids.str.partition("-")[0].isin(deleted)
        assert (frame["gone_since"].notna() == expected).all(), name
        assert 0 < expected.sum() < len(frame)
