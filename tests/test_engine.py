"""Readings that follow each other share a database, and nothing else."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import osdi_frames as of
from osdi_frames import engine as engines
from osdi_frames.errors import BadDocument
from osdi_frames.parsing import group
from osdi_frames.resolving import actions, merging, versions
from tests import steps
from tests.clocks import GUARD

MANY = 3000
ROOT = Path(__file__).parents[1]


def delivery(number: int) -> list[Any]:
    signature = {"identifiers": [f"platform:{number}"], "created_date": "2026-05-01T10:00:00Z"}
    return [{"osdi:signature": signature, "idempotency_key": str(number)}]


def ids(*numbers: int, **options: Any) -> list[str]:
    read = of.open([*map(delivery, numbers), {"page": 1}]).scan("signatures", ["signature_id"], **options)
    return read.read_all()["signature_id"].to_pylist()


def test_readings_share_a_database_and_leave_nothing_in_it():
    ids(1, 2)
    shared = engines._databases[os.getpid()]
    of.open([delivery(1), delivery(1), {"page": 1}]).tables(dedupe=True)
    of.check(delivery(1))
    assert engines._databases == {os.getpid(): shared}
    assert not any(lines.size for lines in shared[1])
    for relations in ("duckdb_tables()", "duckdb_views() WHERE NOT internal", "duckdb_prepared_statements()"):
        assert shared[0].sql(f"FROM {relations}").fetchall() == []


def test_a_reading_gives_back_what_a_failed_one_left():
    with pytest.raises(BadDocument):
        of.open([*delivery(1), {"osdi:signature": {"created_date": "soon"}}]).signatures()
    _, idle = engines._databases[os.getpid()]
    idle.sort(key=lambda lines: lines.size)  # the next reading takes the last one for itself
    assert idle[-1].size
    ids(1)
    assert not any(lines.size for lines in idle)


def test_readings_at_the_same_time_do_not_mix():
    source = [*map(delivery, range(MANY)), {"page": 1}]
    outer = of.open(source).scan("signatures", columns=["signature_id"], dedupe=False)
    first = outer.read_next_batch()
    assert ids(7, 7, 8) == ["7", "8"]
    rest = outer.read_all()
    read = [*first["signature_id"].to_pylist(), *rest["signature_id"].to_pylist()]
    assert read == [str(number) for number in range(MANY)]


def test_a_reading_that_was_left_or_failed_leaves_nothing_to_the_next():
    left = of.open([delivery(1), delivery(2), {"page": 1}]).scan("signatures")
    del left
    broken = [
        {"osdi:signature": {"identifiers": ["platform:1"], "created_date": "x"}, "idempotency_key": "1"}
    ]
    with pytest.raises(of.errors.BadDocument):
        of.read_signatures(broken)
    assert ids(1) == ["1"]


def test_arrow_takes_its_memory_from_where_it_did_before_when_all_readings_are_done():
    before = pa.default_memory_pool().backend_name
    first, second = (of.open([delivery(1), {"page": 1}]).scan("signatures", dedupe=False) for _ in range(2))
    first.read_next_batch()
    second.read_next_batch()
    assert pa.default_memory_pool().backend_name == "system"
    del first
    second.read_all()
    del second
    assert pa.default_memory_pool().backend_name == before != "system"


@pytest.mark.parametrize(
    ("module", "setting", "limit"),
    [(versions, "_IN_MEMORY", 1), (versions, "_IN_MEMORY", 20_000), (merging, "_GROUPED", 50)],
    ids=["no memory", "little memory", "groups"],
)
def test_what_large_archives_need_changes_no_row(module, setting, limit, monkeypatch):
    """Rows wait in files instead of in memory; elements are grouped some at a time."""
    source = [[*delivery(number % 70), *delivery(number)] for number in range(300)]
    whole = of.open(source).tables(["signatures", "signature_identifiers"])
    monkeypatch.setattr(group, "_GROUP_SIZE", 5_000)
    monkeypatch.setattr(module, setting, limit)
    for name, frame in of.open(source).tables(["signatures", "signature_identifiers"]).items():
        pd.testing.assert_frame_equal(frame, whole[name])
    assert len(whole["signatures"]) == len(whole["signature_identifiers"]) == 300


def test_actions_that_are_ordered_some_at_a_time_are_those_of_one_order(monkeypatch):
    """Acts of a person, of one time and of none are numbered over the bounds of what is ordered at once."""
    signed = [{"identifiers": [f"platform:{n}"], "action_network:person_id": str(n % 7)} for n in range(90)]
    days = [{} if n % 5 == 0 else {"created_date": f"2026-05-{1 + n // 9:02}T10:00:00Z"} for n in range(90)]
    source = [[{"osdi:signature": act | day}] for act, day in zip(signed, days, strict=True)]
    whole = of.open(source).actions()
    assert (len(whole), whole["number"].max(), whole["number"].notna().sum()) == (90, 11, 72)
    for limit in (1, 71):
        monkeypatch.setattr(actions, "_AT_ONCE", limit)
        pd.testing.assert_frame_equal(of.open(source).actions(), whole)


def test_without_files_in_memory_a_temporary_file_is_read_and_removed(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(engines, "_databases", {})
    assert ids(1, 2, 2) == ["1", "2"]
    engines._databases.clear()
    assert list(tmp_path.iterdir()) == []


BODY = '[{"osdi:signature": {"identifiers": ["platform:1"]}}]'
AT = '"received_at": "2026-05-01T10:00:00Z"'


def test_a_delivery_in_an_envelope_is_read_alike_however_the_envelope_is_written(tmp_path):
    envelopes = [
        f'{{{AT}, "body": {BODY}}}',
        f'{{{AT},"body":{BODY}}}',
        f'{{"checksum":"0a", "sequence":7,{AT},"body":{BODY}}}',
        f'{{"note": "a \\" quote", {AT}, "body": {BODY}}}',
        f'{{"body": {BODY}, {AT}}}',
        f' {{ {AT} , "body" : {BODY} }}',
        f'{{{AT}, "body": {BODY}, "body": {{"page": 1}}}}',
        f'{{{AT}, "body": {BODY}, "body": []}}',
    ]
    path = tmp_path / "a.ndjson"
    path.write_text("\n".join(envelopes))
    read = (
        of.open(path).scan("signatures", ["signature_id", "received_at"], dedupe=False).read_all().to_pylist()
    )
    assert [(row["signature_id"], row["received_at"].hour) for row in read] == [("1", 10)] * len(envelopes)


def test_what_begins_as_a_delivery_in_an_envelope_and_is_none_is_named(tmp_path):
    ends = ["", "}", ', "body": 7', "}]"]
    (tmp_path / "a.ndjson").write_text("\n".join(f'{{{AT}, "body": [{end}' for end in ends))
    problems = of.check(tmp_path)
    assert {*problems["problem"]} == {"not JSON"}
    assert problems["count"].sum() == len(ends)


def read_in_child(answers: Any) -> None:
    answers.put(ids(4, 4, 5))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_reads_with_an_engine_of_its_own():
    ids(1)
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    child = fork.Process(target=read_in_child, args=(answers,))
    child.start()
    assert answers.get(timeout=GUARD) == ["4", "5"]
    child.join(GUARD)
    assert child.exitcode == 0


@pytest.mark.parametrize("identified", [{"identifiers": ["platform:1"]}, {}], ids=["one id", "no id"])
def test_elements_of_different_types_are_never_repeats_of_each_other(identified):
    keys = {
        "events": "osdi:events",
        "petitions": "osdi:petitions",
        "event_campaigns": "platform:event_campaigns",
    }
    pages = [{"_embedded": {key: [{"title": key, **identified}]}} for key in keys.values()]
    read = of.open([*pages, *pages] if identified else pages).tables(list(keys))
    assert {name: frame["title"].tolist() for name, frame in read.items()} == {
        name: [key] for name, key in keys.items()
    }


@pytest.mark.long
def test_the_oldest_duckdb_that_is_supported_reads_as_the_reference_does(tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path]
    subprocess.run([*install, "duckdb==1.5.*"], check=True)
    paths = os.pathsep.join(map(str, [tmp_path, Path(of.__file__).parents[1]]))
    shown = [sys.executable, "-c", "import duckdb; print(duckdb.__version__)"]
    environment = os.environ | {"PYTHONPATH": paths}
    ran = subprocess.run(shown, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("1.5.")
    tests = [
        "tests/test_reference.py",
        "tests/test_problems.py",
        "tests/test_round_trip.py",
        "tests/test_order.py",
    ]
    subprocess.run([sys.executable, "-m", "pytest", "-q", *tests], env=environment, cwd=ROOT, check=True)


def test_the_steps_that_resolve_tables_are_shown_with_their_first_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps([*delivery(1), *delivery(1), *delivery(2)]))
    steps.main(str(tmp_path), "signatures", "people")
    shown = capsys.readouterr().out
    said = re.findall(r"^-- (\w+): (\d+) rows", shown, re.MULTILINE)
    assert said[:4] == [("notes", "3"), ("versions", "3"), ("things", "2"), ("several", "2")]
    assert {"sources", "persons", "identified"} <= {name for name, _ in said}
    assert "FROM versions GROUP BY high, low" in shown
