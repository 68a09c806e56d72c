"""Dask gives the answers of pandas, wherever the partitions begin and whoever computes them."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames import sample
from osdi_frames.errors import (
    BadDocument,
    InvalidSource,
    MissingColumn,
    ProblemsWarning,
    SourceNotFound,
    UnknownColumn,
    UnknownValue,
)
from osdi_frames.reports import REPORTS
from osdi_frames.reports.declared import KEYED
from osdi_frames.tables import TABLES
from tests import forks  # noqa: F401 (prepares that process)
from tests.clocks import GUARD
from tests.layouts import lines, pretty
from tests.workers import workers

COUNTS = [1, 2, 8, 127, 128, 129, 130]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    """Return an archive of events and deliveries in which each element occurs in several places."""
    folder = tmp_path_factory.mktemp("mixed")
    sample.write(folder / "made", signatures=60, events=30)
    chance = random.Random(3)
    for path in sorted((folder / "made").rglob("*.ndjson")):
        texts = [json.loads(line) for line in path.read_bytes().splitlines()]
        again = chance.choices(texts, k=len(texts) // 2)
        chance.shuffle(again)
        texts += again
        if "deliveries" in path.parts:
            path.write_bytes(lines(texts))
        else:
            path.unlink()
            path.with_suffix(".json").write_bytes(b"".join(map(pretty, texts)))
    return folder


#: Workers are copied from a process that has imported what they need.
CLUSTER = {
    "distributed.scheduler.allowed-failures": 10,
    "distributed.worker.multiprocessing-method": "forkserver",
}
TIMEOUTS = ("distributed.comm.timeouts.connect", "distributed.comm.timeouts.tcp")


@pytest.fixture(scope="module")
def cluster():
    """Start two worker processes of one thread."""
    with (
        dask.config.set(CLUSTER | dict.fromkeys(TIMEOUTS, GUARD)),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        Client(workers) as client,
    ):
        yield client


@pytest.fixture
def here():
    """Parse and compute in this process."""
    with workers():
        yield


def agreed(source: Any, table: str, count: int, where: Any = None, **options: Any) -> None:
    archive = of.open(source).where(**(where or {}))
    with warnings.catch_warnings(record=True, action="always") as said_by_dask:
        read = archive.dask(table, npartitions=count, **options)
    with warnings.catch_warnings(record=True, action="always") as said:
        whole = archive.table(table, **options)
    assert [str(each.message) for each in said_by_dask] == [str(each.message) for each in said]
    found = read.compute()
    assert_frame_equal(found.reset_index(drop=True), whole)
    assert_frame_equal(read._meta, whole.iloc[:0], check_index_type=False)


@pytest.mark.parametrize("table", ["events", "event_people", "signature_custom_fields", "people"])
def test_every_table_is_that_of_pandas(table, little, here):
    agreed(little, table, 3)


@pytest.mark.parametrize(
    ("table", "count"), [("events", 1), ("events", 5), ("signature_tags", 2), ("signatures", 4)]
)
def test_repeats_in_different_partitions_are_one_row(table, count, mixed, here):
    agreed(mixed, table, count)


@pytest.mark.long
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_that_of_pandas_in_any_number_of_partitions(table, count, data, mixed, cluster):
    for source in (data, mixed):
        agreed(source, table, count)


@pytest.mark.parametrize("dedupe", [False, "message"])
def test_each_way_to_dedupe_is_that_of_pandas(dedupe, mixed, here):
    for table in ("signatures", "signature_tags"):
        agreed(mixed, table, 4, dedupe=dedupe)


def test_persons_and_their_blocks_are_the_same_over_all_partitions(tmp_path, here):
    """An id that an address joins, people that were merged, and a block that is a part of an older one."""
    full = {"address_lines": ["1 Main St"], "region": "IL", "postal_code": "62701"}
    persons: list[tuple[str | None, dict[str, Any]]] = [
        ("ann", {"email_addresses": [{"address": "ANN@example.org"}], "postal_addresses": [full]}),
        (None, {"email_addresses": [{"address": "ann@example.org"}], "phone_numbers": [{"number": "1"}]}),
        ("before", {"email_addresses": [{"address": "bob@example.org"}], "postal_addresses": [full]}),
        ("after", {"postal_addresses": [{"postal_code": "62701"}]}),
        (None, {"email_addresses": [{"address": "bob@example.org"}]}),
        (None, {"email_addresses": [{"address": "cat@example.org"}]}),
        ("ann", {"email_addresses": [], "postal_addresses": [{"postal_code": "62701 "}]}),
    ]
    for number, (person_id, person) in enumerate(persons):
        links = {"osdi:person": {"href": f"https://a.example/people/{person_id}"}} if person_id else {}
        at = f"2026-05-0{number + 1}T00:00:00Z"
        act = {"identifiers": [f"platform:{number}"], "created_date": at, "modified_date": at}
        if person_id in ("before", "after"):
            act["identifiers"] = ["platform:merged"]
        (tmp_path / f"{number}.json").write_bytes(
            lines([[{"osdi:signature": act | {"person": person, "_links": links}}]])
        )
    signatures = of.open(tmp_path).signatures()
    assert signatures["person_id"].to_list()[:3] == ["ann", "ann", "after"]
    # The postal code alone of the last act is a part of what is known of its person.
    assert signatures["location_address"].notna().to_list() == [True, True, True, True, False, True]
    for table, count in (
        ("signatures", 7),
        ("people", 3),
        ("signature_addresses", 2),
        ("actions", 3),
        ("supporters", 3),
    ):
        agreed(tmp_path, table, count)
    agreed(tmp_path, "signatures", 1, columns=["person_id", "location_region"])


def test_filters_follow_relations_over_all_partitions(mixed, here):
    archive = of.open(mixed)
    campaign = {
        "campaign": archive.events(["event_campaign_id"])["event_campaign_id"].value_counts().index[0]
    }
    for table in ("event_reminders", "people"):
        agreed(mixed, table, 2, campaign)
    for table in ("actions", "supporters", "supporter_amounts"):
        agreed(mixed, table, 2, {"since": "2025-06", "status": "confirmed"})
    agreed(mixed, "attendances", 2, campaign, dedupe=False)
    with pytest.raises(UnknownValue, match="no campaign is 'x'"):
        archive.where(campaign="x").dask("attendances", npartitions=3)


def test_worker_processes_read_what_this_one_does(mixed, cluster):
    agreed(mixed, "signatures", 4)
    agreed(mixed, "event_reminders", 4)


def by_dask(source: Any, table: str, **options: Any) -> Any:
    return of.open(source).dask(table, **options)


#: Where in the sample most of a table is.
PLACES = {"events": "events", "signatures": "platform", "attendances": "attendances.ndjson.zst"}


def frames(sample: Path, read: Any, **options: Any) -> dict[str, Any]:
    made = {name: read(sample / place, name, **options) for name, place in PLACES.items()}
    pulls = read(sample / "events" / "pulls", "events", dedupe=False, **options)
    return made | {"snapshots": pulls.dropna(subset=["fetched_at"])}


def test_every_report_is_that_of_pandas(data, here):
    in_pandas = frames(data, of.read_table)
    in_dask = {name: frame.persist() for name, frame in frames(data, by_dask, npartitions=2).items()}
    for report in REPORTS:
        by = {"snapshots": "status", "events": "location_region"}.get(report.table, "source")
        more = (by,) if report.by is None else ()
        tables = (report.table, *([report.joined.table] if report.joined else []))
        made, whole = (
            getattr(of, report.name)(*(read[table] for table in tables), *more)
            for read in (in_dask, in_pandas)
        )
        assert_frame_equal(made, whole, obj=report.name)


@pytest.mark.long
@pytest.mark.parametrize("count", COUNTS)
def test_every_standard_report_is_that_of_pandas_on_a_cluster(count, data, cluster):
    read, in_pandas = frames(data, by_dask, npartitions=count), frames(data, of.read_table)
    for report in KEYED:
        function = getattr(of, report.name)
        assert_frame_equal(function(read[report.table]), function(in_pandas[report.table]))


def test_titles_may_be_a_dask_frame_too(little, here):
    read = {name: of.open(little).dask(name, npartitions=2) for name in ("events", "event_campaigns")}
    made = of.rsvps_by_campaign(read["events"], read["event_campaigns"])
    whole = of.rsvps_by_campaign(of.read_events(little), of.read_table(little, "event_campaigns"))
    assert_frame_equal(made, whole)


def test_a_report_of_a_dask_frame_names_what_is_missing(mixed, here):
    events = of.open(mixed).dask("events", columns=["title"])
    with pytest.raises(MissingColumn, match="total_accepted"):
        of.rsvps_by_campaign(events)


def test_only_the_columns_that_are_used_are_read_of_what_was_resolved(mixed, here):
    read = of.open(mixed).dask("signatures", npartitions=2)
    chosen = read[["source", "person_id"]]
    (expression,) = chosen.optimize(fuse=False).find_operations(type(read.expr))
    assert sorted(expression.columns) == ["person_id", "source"]
    (expression,) = read["source"].optimize(fuse=False).find_operations(type(read.expr))
    assert expression.columns == ["source"]
    assert chosen.compute().columns.tolist() == ["source", "person_id"]


def test_lists_stay_lists(mixed, here):
    read = of.open(mixed).dask("signatures", columns=["add_tags"], npartitions=4)
    tags = read.explode("add_tags")["add_tags"].compute()
    expected = of.read_signatures(mixed, columns=["add_tags"])["add_tags"].explode()
    # A partition without any tag is of Python objects.
    assert tags.astype("str").tolist() == expected.astype("str").tolist()


def test_the_first_problem_stops_the_reading_and_names_the_line(tmp_path, here):
    good = b'{"title": "a", "total_accepted": 1}\n' * 50
    (tmp_path / "a.ndjson").write_bytes(good + b'{"title": "b", "total_accepted": "lots"}\n' + good)
    with pytest.raises(BadDocument, match=r"a\.ndjson:51:.*total_accepted"):
        of.open(tmp_path).dask("events", npartitions=8)


def test_what_was_passed_over_is_one_warning_of_all_parts(tmp_path, here):
    good, bad = b'{"title": "a", "total_accepted": 1}\n' * 50, b'{"title": "b", "total_accepted": "lots"}\n'
    (tmp_path / "a.ndjson").write_bytes((good + bad) * 2)
    (tmp_path / "b.json.gz").write_bytes(b"no such file")
    with pytest.warns(ProblemsWarning, match="3 problems") as met:
        read = of.open(tmp_path, on_error="skip").dask("events", npartitions=4)
    assert len(met) == 1
    assert len(read.compute()) == 102


def test_a_key_for_pseudonyms_is_in_no_file_and_no_log_of_a_cluster(mixed, tmp_path, cluster):
    key = "a key that is 32 bytes long, yes"
    of.open(mixed).export(tmp_path / "out", engine="dask", tables=["signatures"], pseudonymize=key)
    made = of.pseudonymize(of.open(mixed).dask("signatures", npartitions=2), key)
    with pytest.raises(ZeroDivisionError):
        made.map_partitions(lambda _: 1 / 0, meta=("failed", "float64")).compute()
    logs = f"{cluster.get_worker_logs()}{cluster.get_scheduler_logs()}"
    assert "Compute Failed" in logs
    assert key not in logs
    assert key not in f"{cluster.run_on_scheduler(lambda dask_scheduler: dask_scheduler.tasks)}"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert all(key.encode() not in path.read_bytes() for path in files)


def test_bad_calls_are_refused_before_anything_is_read(tmp_path, here):
    with pytest.raises(SourceNotFound):
        of.open(tmp_path / "gone").dask("events")
    with pytest.raises(UnknownColumn, match="nearest: title"):
        of.open(tmp_path).dask("events", columns=["titel"])
    with pytest.raises(InvalidSource, match="read by other processes"):
        of.open({"title": "March"}).dask("events")


def test_workers_that_are_killed_in_the_middle_change_nothing(mixed, cluster, tmp_path):
    def kill_once(name: str) -> None:
        with suppress(FileExistsError):
            (tmp_path / name).touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)

    def kill_who_parses() -> None:
        def parse(plan, group):
            kill_once("parsing")
            return read_group(plan, group)

        from osdi_frames import dask as reading

        read_group, reading.read_group = reading.read_group, parse

    def kill_who_computes(frame: pd.DataFrame) -> pd.DataFrame:
        kill_once("computing")
        return frame

    cluster.run(kill_who_parses)
    read = of.open(mixed).dask("signatures", npartitions=6)
    computed = read.map_partitions(kill_who_computes, meta=read._meta)
    found = cluster.compute(computed).result(timeout=10 * GUARD)
    assert {path.name for path in tmp_path.iterdir()} == {"parsing", "computing"}
    assert_frame_equal(found.reset_index(drop=True), of.read_signatures(mixed))


def test_a_worker_that_does_not_see_the_rows_says_what_to_set(mixed, here):
    read = of.open(mixed).dask("events", ["title"])
    path = read.expr.operand("kwargs")["path"]
    assert Path(path).parent.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(Path(path).parent)  # as on another machine
    with pytest.raises(
        SourceNotFound, match=r"events\.parquet is not there on .*: set Dask's temporary-directory"
    ):
        read.compute()
