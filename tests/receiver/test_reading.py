"""What the receiver writes is what `read_signatures` reads."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames.errors import SourceWarning
from osdi_frames.receiver import erase, verify
from osdi_frames.receiver.segments import seal_finished
from osdi_frames.receiver.worker import Worker

from .test_archive import write

#: For tests that are not about it.
not_read = pytest.mark.filterwarnings("ignore:.*bodies that are no deliveries, not read")


def _body(number: int, *, indent: int | None = None) -> bytes:
    href = f"https://x.org/api/v2/people/person-{number}"
    signature = {
        "identifiers": [f"action_network:s-{number}"],
        "created_date": "2026-11-21T10:42:07Z",
        "modified_date": "2026-11-21T10:42:07Z",
        "comments": "a\u2028b",
        "_links": {"osdi:person": {"href": href}},
    }
    return json.dumps(
        [{"osdi:signature": signature, "idempotency_key": f"k-{number}"}], indent=indent
    ).encode()


def _archive(archive: Path) -> Path:
    rubbish = [b"no JSON", b"[" * 100_000, b"\xff", b'{"a":1}', b'[{"a":NaN}]']
    write(archive, [_body(1), *rubbish, _body(2, indent=2), b"[]", _body(3), _body(1)])
    return archive


def test_check_lists_how_many_bodies_are_in_quarantine(tmp_path):
    write(tmp_path / "archive", [b"nothing", b"[1", _body(1)])
    write(tmp_path / "archive", [b"{}"], worker="other")
    write(tmp_path / "archive", [_body(1)], worker="third")
    for source in (tmp_path / "archive", [tmp_path / "archive" / "main", tmp_path / "archive" / "other"]):
        found = of.check(source).set_index("problem").loc["in quarantine"]
        assert found["severity"] == "warning"
        assert found["count"] == verify(tmp_path / "archive").quarantined == 3
        assert found["source_file"] == str(tmp_path / "archive" / "main" / ".quarantine")
    assert "in quarantine" not in set(of.check(tmp_path / "archive" / "third")["problem"])
    of.write_report(tmp_path / "archive", tmp_path / "out")
    assert "<bdi>in quarantine</bdi>" in (tmp_path / "out" / "report.html").read_text()


def test_reading_an_archive_finds_every_signature_and_passes_over_the_quarantine(tmp_path):
    with pytest.warns(SourceWarning, match=r"\.quarantine holds 5 bodies that are no deliveries, not read"):
        frame = of.read_signatures(_archive(tmp_path))
    assert sorted(frame.signature_id) == ["s-1", "s-2", "s-3"]
    assert frame.received_at.eq(pd.Timestamp("2026-11-21T10:42:07Z")).all()


def test_what_several_workers_wrote_is_read_together(tmp_path):
    write(tmp_path, [_body(1), _body(2)])
    write(tmp_path, [_body(2), _body(3)], worker="second")
    assert sorted(of.read_signatures(tmp_path).signature_id) == ["s-1", "s-2", "s-3"]
    assert verify(tmp_path).deliveries == 4


@not_read
def test_reading_is_the_same_before_and_after_sealing(tmp_path):
    before = of.read_signatures(_archive(tmp_path), dedupe=False)
    worker = Worker(tmp_path, "main", segment_bytes=1)
    seal_finished(worker.deliveries)
    worker.close()
    after = of.read_signatures(tmp_path, dedupe=False)
    assert len(after) == 4
    columns = [name for name in before.columns if name != "source_file"]
    pd.testing.assert_frame_equal(before[columns], after[columns])


@not_read
def test_who_was_erased_is_not_read_any_more_and_the_tombstone_is_no_problem(tmp_path):
    erase(_archive(tmp_path), persons=["person-1"])
    assert sorted(of.read_signatures(tmp_path).signature_id) == ["s-2", "s-3"]
    assert (of.check(tmp_path).severity != "error").all()


@not_read
def test_who_was_erased_is_no_person_any_more_and_fills_no_act(tmp_path):
    first, second = json.loads(_body(1)), json.loads(_body(1))
    first[0]["osdi:signature"]["person"] = {"email_addresses": [{"address": "ann@example.org"}]}
    second[0]["osdi:signature"]["identifiers"] = ["action_network:s-4"]
    write(tmp_path, [json.dumps(first).encode(), json.dumps(second).encode(), _body(2)])
    read = of.open(tmp_path)
    assert read.people(["person_id", "email"]).values.tolist()[0] == ["person-1", "ann@example.org"]
    signatures = read.signatures(["email", "person_filled"])
    assert signatures["email"].tolist()[:2] == ["ann@example.org", "ann@example.org"]
    assert signatures["person_filled"].isna().tolist() == [True, False, True]
    erase(tmp_path, persons=["person-1"])
    left = of.open(tmp_path).tables()
    assert left["people"]["person_id"].tolist() == ["person-2"]
    assert not any(frame.astype(str).stack().str.contains("ann@|person-1").any() for frame in left.values())
