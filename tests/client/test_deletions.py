"""What a service deletes: a pull of what changed says that fewer remain; what a manifest proves to be whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from osdi_frames import Client, Manifest
from osdi_frames.cli.pull import command
from osdi_frames.pulls import MANIFEST, manifests

from .hostile import Listener, listening

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Service:
    """Petitions and their signatures, by id, each with its time of modification; what is deleted is listed no more."""

    listener: Listener = field(init=False)
    lists: dict[str, dict[str, datetime]] = field(default_factory=dict)
    reports_totals: bool = True
    pulls: int = 0

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(path)
        asked = parse_qs(parts.query)
        known = self.lists.get(parts.path.removeprefix("/api/v2/"), {})
        if said := asked.get("filter"):
            since = datetime.fromisoformat(said[0].split("'")[1])
            known = {id_: modified for id_, modified in known.items() if modified > since}
        number, size = int(asked.get("page", ["1"])[0]), 3
        shown = sorted(known)[(number - 1) * size : number * size]
        rows = [
            {"identifiers": [f"platform:{id_}"], "modified_date": known[id_].isoformat()} for id_ in shown
        ]
        totals = {"total_pages": -(-len(known) // size), "total_records": len(known)}
        body: dict[str, Any] = {"page": number, "_embedded": {"osdi:petitions": rows}}
        return 200, {}, json.dumps(body | (totals if self.reports_totals else {})).encode()

    def pull(self, folder: Path, **options: Any) -> Manifest:
        self.listener.asked.clear()
        collections = options.pop("collections", ["petitions"])
        self.pulls += 1
        now = START + timedelta(hours=self.pulls)
        with Client(self.listener.base_url, "key", rate=None, now=lambda: now) as client:
            return client.pull(folder, collections=collections, **options)

    @property
    def asked(self) -> list[str]:
        return [path.removeprefix("/api/v2/") for path, _ in self.listener.asked]


@contextmanager
def serving(**lists: int) -> Iterator[Service]:
    made = {
        name: {f"{number:03}": START - timedelta(days=9) for number in range(count)}
        for name, count in lists.items()
    }
    service = Service(lists=made)
    with listening(service.answer) as service.listener:
        yield service


def test_a_pull_of_what_changed_says_that_fewer_remain_and_a_full_one_forgets_it(tmp_path):
    with serving(petitions=7) as service:
        service.pull(tmp_path, since="last")
        petitions = service.lists["petitions"]
        petitions["new"] = START
        second = service.pull(tmp_path, since="last")
        assert (second.collections[0].known_records, second.collections[0].listed_records) == (8, 8)
        assert second.fewer_records == 0
        del petitions["003"], petitions["new"]
        third = service.pull(tmp_path, since="last")
        assert third.complete
        assert (third.collections[0].known_records, third.collections[0].listed_records) == (8, 6)
        assert manifests(third.folder)[0].fewer_records == third.fewer_records == 2
        assert "petitions: 6 of 8 known records remain; a full pull finds which are gone" in str(third)
        assert third.as_json()["collections"][0]["fewer_records"] == 2
        assert service.pull(tmp_path).fewer_records == 0  # everything: it asks for no totals
        assert service.asked == ["petitions", "petitions?page=2"]
        after = service.pull(tmp_path, since="last")
        assert (after.collections[0].known_records, after.fewer_records) == (6, 0)


def test_the_comparison_is_one_request_a_collection_and_none_for_lists_of_parents(tmp_path):
    with serving(petitions=7) as service:
        for petition in service.lists["petitions"]:
            service.lists[f"petitions/{petition}/signatures"] = {f"s{petition}": START}
        service.pull(tmp_path, collections=["signatures"], since="last")
        service.lists["petitions"]["000"] = START
        manifest = service.pull(tmp_path, collections=["signatures"], since="last")
        filtered = [path for path in service.asked if "filter=" in path]
        assert [path for path in service.asked if path not in filtered] == ["petitions"]
        assert manifest.requests == len(service.asked)
        assert [done.listed_records for done in manifest.collections] == [7, None]


def test_where_no_totals_are_reported_none_are_asked_for_and_none_are_compared(tmp_path):
    with serving(petitions=4) as service:
        service.reports_totals = False
        service.pull(tmp_path, since="last")
        del service.lists["petitions"]["000"]
        manifest = service.pull(tmp_path, since="last")
        assert "petitions" not in service.asked
        assert (manifest.collections[0].listed_records, manifest.fewer_records) == (None, 0)


def test_on_the_command_line_full_reads_everything_whatever_since_says(tmp_path):
    with serving(events=4) as service:
        words = [service.listener.base_url, str(tmp_path), "--since", "last", "--rate", "1000"]
        runner = CliRunner(env={"OSDI_API_KEY": "key"})
        assert runner.invoke(command, words).exit_code == 0
        del service.lists["events"]["000"]
        said = runner.invoke(command, words)
        assert said.exit_code == 0
        assert "events: 3 of 4 known records remain; a full pull finds which are gone (--full)" in said.output
        assert runner.invoke(command, [*words, "--full"]).exit_code == 0
    assert [manifest.is_full for manifest in manifests(tmp_path)] == [True, False, True]


def test_pulls_by_another_key_are_not_gone_on_with(tmp_path):
    with serving(petitions=2) as service:
        for key in ("one", "other", "one"):
            service.listener.asked.clear()
            with Client(service.listener.base_url, key, rate=None) as client:
                client.pull(tmp_path, collections=["petitions"], since="last")
            assert any("filter=" in path for path in service.asked) == (len(manifests(tmp_path)) == 3)
    digests = [manifest.key_digest for manifest in manifests(tmp_path)]
    assert digests[0] == digests[2] != digests[1]
    assert all(len(digest) == 8 for digest in digests)


# -- what a manifest says for those who look for what is gone --


def test_a_manifest_says_of_each_collection_its_files_its_parent_and_whether_it_is_the_whole(tmp_path):
    with serving(petitions=2, people=400) as service:
        for petition in service.lists["petitions"]:
            service.lists[f"petitions/{petition}/signatures"] = {f"s{petition}": START}
        manifest = service.pull(tmp_path, collections=["signatures", "people"])
        assert manifests(manifest.folder)[0] == manifest
        changed = service.pull(tmp_path, collections=["signatures"], since=START)
    petitions, signatures, people = manifest.collections
    assert [done.parent for done in manifest.collections] == [None, "petitions", None]
    assert all(manifest.is_whole(done) for done in manifest.collections)
    assert not any(changed.is_whole(done) for done in changed.collections)
    stored = json.loads((manifest.folder / MANIFEST).read_text())
    assert (stored["form"], [done["whole"] for done in stored["collections"]]) == (2, [True] * 3)
    assert petitions.files == signatures.files == ("pages-0001.ndjson.gz",)
    assert people.files == ("pages-0001.ndjson.gz", "pages-0002.ndjson.gz") == manifest.files
    for done in manifest.collections:
        holding = {name for name in manifest.files if f"/{done.path.split('/')[-1]}" in urls(manifest, name)}
        assert holding == {*done.files}


def urls(manifest: Manifest, name: str) -> str:
    lines = gzip.decompress((manifest.folder / name).read_bytes()).splitlines()
    return " ".join(urlsplit(json.loads(line)["url"]).path for line in lines)


def test_a_pull_that_goes_on_knows_the_files_of_the_first_call(tmp_path):
    with serving(petitions=5, people=5) as service:
        whole = service.answer

        def broken(path: str) -> tuple[int, dict[str, str], bytes]:
            return (403, {}, b"") if "people" in path else whole(path)

        service.answer = broken  # type: ignore[method-assign]
        with listening(lambda path: service.answer(path)) as service.listener:
            first = service.pull(tmp_path, collections=["petitions", "people"])
            service.answer = whole  # type: ignore[method-assign]
            second = service.pull(tmp_path, collections=["petitions", "people"])
    assert (first.complete, second.complete, second.folder) == (False, True, first.folder)
    assert [done.files for done in second.collections] == [
        ("pages-0001.ndjson.gz",),
        ("pages-0002.ndjson.gz",),
    ]


@pytest.mark.parametrize(
    ("campaigns", "whole"),
    [
        (None, {"events": True, "event_campaigns": True, "campaign_events": True, "attendances": True}),
        ((), {"events": True, "attendances": False}),
        (("c",), {"campaign_events": False, "attendances": False}),
    ],
)
def test_a_pull_of_some_campaigns_is_not_the_whole_of_what_lies_below_events(tmp_path, campaigns, whole):
    with serving(events=2) as service:
        service.lists["event_campaigns"] = {"c": START}
        service.lists["event_campaigns/c/events"] = {"hidden": START}
        manifest = service.pull(tmp_path, collections=["attendances"], campaigns=campaigns)
    assert manifest.complete, manifest.why
    assert {done.name: manifest.is_whole(done) for done in manifest.collections} == whole


def test_what_lies_below_parents_that_are_not_all_known_is_not_the_whole(tmp_path):
    with serving(petitions=3) as service:
        whole = service.answer

        def short(path: str) -> tuple[int, dict[str, str], bytes]:
            status, headers, body = whole(path)
            if path.split("?")[0].endswith("/petitions"):
                body = body.replace(b'"total_records": 3', b'"total_records": 4')
            return status, headers, body

        with listening(short) as service.listener:
            manifest = service.pull(tmp_path, collections=["signatures"])
    petitions, signatures = manifest.collections
    assert (petitions.complete, signatures.complete, manifest.is_whole(signatures)) == (False, True, False)


def test_a_manifest_of_the_first_form_is_read_and_one_of_a_later_form_so_far_as_it_is_known(tmp_path):
    with serving(petitions=2) as service:
        manifest = service.pull(tmp_path)
        path = manifest.folder / MANIFEST
        stored = json.loads(path.read_text())
        later = {"form": 3, "colour": "red"}
        path.write_text(json.dumps(stored | later))
        assert manifests(manifest.folder)[0].form == 3
        del stored["form"]
        for done in stored["collections"]:
            for name in ("files", "known_records", "listed_records", "fewer_records", "parent", "whole"):
                del done[name]
        path.write_text(json.dumps(stored))
        old = manifests(manifest.folder)[0]
        assert (old.form, old.complete, old.collections[0].files) == (1, True, ())
        assert old.is_whole(old.collections[0])
        del service.lists["petitions"]["000"]
        assert service.pull(tmp_path, since="last").fewer_records == 1
