"""The nightly script, run as cron runs it: a process, an address, a key in the environment, an exit status."""

import dataclasses
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames import sandbox
from tests import forks

SCRIPT = Path(__file__).parents[1] / "notebooks" / "nightly.py"
REPORTS = ["rsvps_by_event_campaign_id.csv", "rsvps_by_location_region.csv"]


GROUP = "group:sandbox"
MONTHS = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3)]


@pytest.fixture
def service():
    """Serve 115 events on three pages, and 5 that only their campaign lists: of January, the last one of March.

    There are few campaigns, as the script asks for each one's events, and not more than four times a second.
    """
    clock = MONTHS[:1]
    with sandbox.serve(sandbox.create_app(per_page=50, now=lambda: clock[-1])) as running:
        campaigns = [
            running.admin("POST", "campaigns", title=f"Campaign {number}", account=GROUP)["id"]
            for number in range(3)
        ]

        def add(count, region, **fields):
            event = {"title": region, "origin_system": "Desk", "location": {"region": region}} | fields
            return running.admin("POST", "events", account=GROUP, events=[event] * count)["event_ids"]

        ids = [*add(60, "CA", **in_campaign(campaigns[0])), *add(40, "NY", **in_campaign(campaigns[1]))]
        ids += [*add(14, "TX"), *add(5, "WA", **in_campaign(campaigns[2]), listed=False)]
        clock.append(MONTHS[1])
        for number in range(30):
            person = {"email_addresses": [{"address": f"{number % 20}@example.org"}]}
            running.admin("POST", "attendances", event=ids[-1 - number % 7 * 17], person=person)
        clock.append(MONTHS[2])
        add(1, "OR", **in_campaign(campaigns[0]))
        yield running


def in_campaign(id_):
    return {"platform:event_campaign_id": id_}


def nightly(service, folder, key):
    environment = {**os.environ, "OSDI_API_KEY": key}
    return forks.run(SCRIPT.read_text(), service.base_url, folder, env=environment)


def kept(folder):
    """Return what the script keeps for its readers: the reports, and the table without where rows were read."""
    events = pd.read_parquet(folder / "tables" / "events.parquet").sort_values("event_id", ignore_index=True)
    reports = {name: (folder / name).read_text() for name in REPORTS}
    return reports | {"events": events.drop(columns=["fetched_at", "source_file", "source_line"]).to_csv()}


def test_a_second_run_gives_the_same_from_what_changed_and_a_passing_error_is_not_worth_a_word(
    service, tmp_path
):
    service.inject("status", status=503, page=2, times=1)
    first = nightly(service, tmp_path, service.group_key)
    assert (first.returncode, first.stdout, first.stderr) == (0, "", "")
    held = service.admin("GET", "events?account=group:sandbox&version=v2")
    expected = of.rsvps_by_campaign(of.read_events([{"_embedded": {"osdi:events": held}}]))
    written = pd.read_csv(tmp_path / REPORTS[0], index_col="event_campaign_id")
    assert written["rsvps"].to_dict() == expected["rsvps"].to_dict()
    assert (written["rsvps"] > 0).all()
    assert written["title"].drop("(none)").notna().all()

    before = kept(tmp_path)
    service.admin("DELETE", "requests")
    second = nightly(service, tmp_path, service.group_key)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert kept(tmp_path) == before
    asked = Counter(request["path"].split("/")[3] for request in service.requests())
    # What changed and how many there are; the list of campaigns, and what changed in each.
    assert asked == {"events": 1 + 1, "event_campaigns": 1 + 3}


def test_an_incomplete_pull_ends_with_1_and_leaves_the_reports_until_a_run_completes_it(service, tmp_path):
    assert nightly(service, tmp_path, service.individual_key).returncode == 0  # which sees no event
    before = kept(tmp_path)
    service.inject("repeat_row", page=2, instead=True)
    failed = nightly(service, tmp_path, service.group_key)
    assert failed.returncode == 1
    assert failed.stderr.startswith("nightly: events: 115 records were reported, 114 distinct ones were read")
    assert kept(tmp_path) == before

    service.clear_faults()
    assert nightly(service, tmp_path, service.group_key).returncode == 0
    assert len(pd.read_parquet(tmp_path / "tables" / "events.parquet")) == 120


def test_everything_is_read_once_a_week_and_after_a_run_that_found_fewer_records(service, tmp_path):
    def is_full():
        assert nightly(service, tmp_path, service.group_key).returncode == 0
        return of.manifests(tmp_path / "archive")[-1].is_full

    assert [is_full(), is_full()] == [True, False]
    incremental = of.manifests(tmp_path / "archive")[-1]
    fewer = [
        dataclasses.replace(done, known_records=116, listed_records=115) if done.since else done
        for done in incremental.collections
    ]
    dataclasses.replace(incremental, collections=tuple(fewer)).write()
    assert is_full()
    for manifest in of.manifests(tmp_path / "archive"):
        dataclasses.replace(manifest, started_at=manifest.started_at - timedelta(days=8)).write()
    assert is_full()


@pytest.mark.parametrize(
    ("key", "said"), [("", "OSDI_API_KEY"), ("wrong", "was answered 403")], ids=["no key", "a wrong key"]
)
def test_without_a_key_that_the_service_takes_it_ends_with_1_and_one_line(key, said, tmp_path):
    with sandbox.serve() as service:
        ran = nightly(service, tmp_path, key)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("nightly: ")
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert not (tmp_path / REPORTS[0]).exists()


def test_it_is_short_enough_to_be_copied():
    assert len(SCRIPT.read_text().splitlines()) < 40
