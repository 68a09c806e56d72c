"""The manifests of pulls are found wherever files of theirs are read, and prove nothing where some are not."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fsspec
import pytest

import osdi_frames as of
from osdi_frames.pulls import MANIFEST, manifests, proving_pulls
from tests.pulls import write_pull

START = datetime(2026, 5, 1, tzinfo=UTC)


def whole_pulls(source):
    """Return the manifests of pulls that can prove something."""
    return [manifest for manifest in proving_pulls(source) if manifest.finished_at]


def pulled(folder, day, *pages):
    """Write a pull with some pages, on a day."""
    march = [{"title": "March", "total_accepted": 1}]
    return write_pull(
        folder, START + timedelta(days=day), {f"pages-{page:04}.ndjson": march for page in pages}
    )


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Make pulls in a folder, deeper in it, and one that has no page yet."""
    pulled(tmp_path / "archive" / "b", 1, 1, 2)
    pulled(tmp_path / "archive" / "a", 2, 1)
    pulled(tmp_path / "archive" / "old" / "2025" / "c", 0, 1)
    pulled(tmp_path / "archive" / "d", 3)
    pulled(tmp_path / "archive" / ".hidden" / "e", 4, 1)
    (tmp_path / "archive" / "received").mkdir()
    (tmp_path / "archive" / "received" / "x.ndjson").write_text("[]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "archive"


@pytest.mark.parametrize(
    ("source", "every", "whole"),
    [
        ("archive", "cbad", "cbad"),
        ("./archive/", "cbad", "cbad"),
        ("archive/*", "cbad", "cbad"),
        ("archive/**", "cbad", "cbad"),
        ("archive/b", "b", "b"),
        ("archive/[ab]", "ba", "ba"),
        ("archive/old", "c", "c"),
        ("archive/*/*.ndjson", "ba", "ba"),
        ("archive/**/*-0001.ndjson", "cba", "ca"),
        ("archive/b/pages-0002.ndjson", "b", ""),
        (["archive/a", "archive", Path("archive/a")], "cbad", "cbad"),
        (["archive/b/pages-0001.ndjson", "archive/b/pages-0002.ndjson"], "b", "b"),
        ("archive/received", "", ""),
        (["nowhere", "nowhere/*", "archive/a"], "a", "a"),
        ([], "", ""),
    ],
    ids=str,
)
def test_they_are_found_at_any_depth_oldest_first(archive, source, every, whole):
    assert "".join(manifest.folder.name for manifest in manifests(source)) == every
    assert "".join(manifest.folder.name for manifest in whole_pulls(source)) == whole


def test_inside_of_a_pull_the_working_folder_is_one(archive, monkeypatch):
    monkeypatch.chdir(archive / "b")
    for source in (".", "*", "pages-*", archive / "b", f"file://{archive}/b"):
        assert [len(manifest.files) for manifest in whole_pulls(source)] == [2], source


def test_a_page_that_was_taken_away_takes_the_proof_with_it(archive):
    (archive / "b" / "pages-0001.ndjson").unlink()
    assert [manifest.folder.name for manifest in whole_pulls("archive")] == ["c", "a", "d"]
    assert len(manifests("archive")) == 4


def test_links_to_folders_are_followed_and_each_folder_is_found_once(archive, tmp_path):
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "all").symlink_to(archive)
    (tmp_path / "linked" / "again").symlink_to(archive)
    assert len(whole_pulls("linked")) == len(whole_pulls(["linked", "archive"])) == 4


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", "null", '"a"', "{}", '{"collections": [7]}', '{"collections": null}'],
    ids=str,
)
def test_what_is_no_manifest_of_a_pull_is_passed_over(archive, text):
    (archive / "a" / MANIFEST).write_text(text)
    assert "".join(manifest.folder.name for manifest in manifests("archive")) == "cbd"


@pytest.mark.parametrize(
    "changed", [{"started_at": None}, {"started_at": 7}, {"files": 7}, {"finished_at": "soon"}], ids=str
)
def test_a_manifest_with_other_values_is_passed_over(archive, changed):
    path = archive / "a" / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    assert "".join(manifest.folder.name for manifest in manifests("archive")) == "cbd"


def test_times_without_a_zone_can_be_compared(archive):
    path = archive / "a" / MANIFEST
    path.write_text(path.read_text().replace("000Z", "000"))
    assert len(whole_pulls("archive")) == 4


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everyone may read")
def test_a_manifest_that_may_not_be_read_is_passed_over(archive):
    (archive / "a" / MANIFEST).chmod(0)
    assert "".join(manifest.folder.name for manifest in manifests("archive")) == "cbd"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_of_its_name_is_not_opened(archive):
    (archive / "a" / MANIFEST).unlink()
    os.mkfifo(archive / "a" / MANIFEST)
    assert len(manifests("archive")) == 3


def test_they_are_found_in_an_object_store_and_hold_for_what_is_read_there(archive):
    store = fsspec.filesystem("memory")
    store.put(f"{archive}/", "/bucket/archive/", recursive=True)
    try:
        for source in ("memory://bucket/archive", "memory://bucket/arch*"):
            found = whole_pulls(source)
            assert "".join(manifest.folder.name for manifest in found) == "cbad"
        events = of.read_events("memory://bucket/archive", dedupe=False)
        folders = {Path(name).parent for name in events.source_file}
        assert folders == {manifest.folder for manifest in found if manifest.files}
    finally:
        store.rm("/bucket", recursive=True)


def test_inside_a_zip_none_is_read(archive, tmp_path):
    shutil.make_archive(str(tmp_path / "packed" / "archive"), "zip", archive)
    assert manifests("packed") == []
