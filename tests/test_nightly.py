"""The nightly script, run as cron runs it: a process, an address, a key in the environment, an exit status."""

import dataclasses
import os
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames import sandbox
from tests import forks

SCRIPT = Path(__file__).parents[1] / "notebooks" / "nightly.py"
FILES = [
    "rsvps_by_campaign.csv",
    "rsvps_by_region.csv",
    "attendances_by_source.csv",
    "changes.csv",
    "changes.xlsx",
]


HAS_DOCKER = bool(shutil.which("docker")) and not subprocess.call(
    ["docker", "info"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
GROUP = "group:sandbox"
COLLECTIONS = ["events", "event_campaigns", "petitions", "signatures", "attendances", "people"]
#: The last two are in neighbouring weeks.
DAYS = [datetime(2026, month, day, tzinfo=UTC) for month, day in ((1, 1), (2, 25), (3, 3))]


@pytest.fixture
def service():
    """Serve 7 events on three pages, and 1 that only its campaign lists: of January, the last one of March.

    There are few, as the script asks for each one's attendances, and not more than four times a second.
    """
    clock = DAYS[:1]
    with sandbox.serve(sandbox.create_app(per_page=3, now=lambda: clock[-1])) as running:
        campaigns = [
            running.admin("POST", "campaigns", title=f"Campaign {number}", account=GROUP)["id"]
            for number in range(3)
        ]

        def add(count, region, **fields):
            event = {"title": region, "origin_system": "Desk", "location": {"region": region}} | fields
            return running.admin("POST", "events", account=GROUP, events=[event] * count)["event_ids"]

        ids = [*add(3, "CA", **in_campaign(campaigns[0])), *add(2, "NY", **in_campaign(campaigns[1]))]
        ids += [*add(1, "TX"), *add(1, "WA", **in_campaign(campaigns[2]), listed=False)]
        clock.append(DAYS[1])
        for number in range(30):
            person = {"email_addresses": [{"address": f"{number % 20}@example.org"}]}
            running.admin("POST", "attendances", event=ids[number % 7], person=person)
        clock.append(DAYS[2])
        add(1, "OR", **in_campaign(campaigns[0]))
        running.admin("POST", "attendances", event=ids[0], person=person)
        yield running


def in_campaign(id_):
    return {"platform:event_campaign_id": id_}


def nightly(service, folder, key):
    environment = {**os.environ, "OSDI_API_KEY": key}
    return forks.run(SCRIPT.read_text(), service.base_url, folder, env=environment)


def kept(folder):
    """Return what the script keeps for its readers: the reports, and the table without where rows were read."""
    events = pd.read_parquet(folder / "tables" / "events.parquet").sort_values("event_id", ignore_index=True)
    reports = {path.name: path.read_bytes() for path in (folder / "report").glob("*.csv")}
    return reports | {"events": events.drop(columns=["fetched_at", "source_file", "source_line"]).to_csv()}


def test_a_second_run_gives_the_same_from_what_changed_and_an_incomplete_one_leaves_it(service, tmp_path):
    service.inject("status", status=503, page=2, times=1)  # a passing error is not worth a word
    first = nightly(service, tmp_path, service.group_key)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("8 events with 31 RSVPs; 0 signatures of 0 people\n")
    assert [line.split()[:3] for line in first.stdout.splitlines() if line.startswith("rsvped")] == [
        ["rsvped", "0", "30"]
    ]
    assert all((tmp_path / "report" / name).exists() for name in [*FILES, "report.html"])
    held = service.admin("GET", "events?account=group:sandbox&version=v2")
    expected = of.rsvps_by_campaign(of.read_events([{"_embedded": {"osdi:events": held}}]))
    written = pd.read_csv(tmp_path / "report" / FILES[0], index_col="event_campaign_id")
    assert written["rsvps"].to_dict() == expected["rsvps"].to_dict()
    assert (written["rsvps"] > 0).all()
    assert written["title"].drop("(none)").notna().all()

    assert [*(tmp_path / "store").glob("*/segment.about")]
    before = kept(tmp_path)
    service.admin("DELETE", "requests")
    second = nightly(service, tmp_path, service.group_key)
    assert (second.returncode, second.stdout, second.stderr) == (0, first.stdout, "")
    assert kept(tmp_path) == before
    asked = Counter(request["path"].split("/")[3] for request in service.requests())
    # What changed, and how many there are of each.
    assert asked["events"] < 20

    service.inject("status", status=403, path="petitions")
    failed = nightly(service, tmp_path, service.group_key)
    assert failed.returncode == 1
    assert failed.stderr.startswith("nightly: petitions: GET")
    assert kept(tmp_path) == before


def test_everything_is_read_once_a_week_and_after_a_run_that_found_fewer_records(service, tmp_path):
    """A list that cannot be read ends each run of the script before it reports what was read."""
    archive = tmp_path / "archive"
    with of.Client(service.base_url, service.group_key, rate=None) as client:
        assert client.pull(archive, collections=COLLECTIONS).complete
    service.inject("status", status=403, path="petitions")

    def is_full():
        assert nightly(service, tmp_path, service.group_key).returncode == 1
        return of.manifests(archive)[-1].is_full

    assert not is_full()
    incremental = of.manifests(archive)[-1]
    fewer = [
        dataclasses.replace(done, known_records=8, listed_records=7) if done.since else done
        for done in incremental.collections
    ]
    dataclasses.replace(incremental, collections=tuple(fewer)).write()
    assert is_full()
    for manifest in of.manifests(archive):
        dataclasses.replace(manifest, started_at=manifest.started_at - timedelta(days=8)).write()
    assert is_full()


def test_without_a_key_that_the_service_takes_it_ends_with_1_and_one_line(tmp_path):
    with sandbox.serve() as service:
        for key, said in {"": "OSDI_API_KEY", "wrong": "was answered 403"}.items():
            ran = nightly(service, tmp_path, key)
            assert (ran.returncode, ran.stdout) == (1, "")
            assert ran.stderr.startswith("nightly: ")
            assert said in ran.stderr
            assert len(ran.stderr.splitlines()) == 1
    assert not (tmp_path / "report").exists()


def test_it_is_short_enough_to_be_copied():
    assert len(SCRIPT.read_text().splitlines()) < 50


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd on this machine")
def test_systemd_takes_its_units(tmp_path):
    for name in ("nightly.service", "nightly.timer"):
        text = SCRIPT.with_name(name).read_text().replace("/srv/osdi/.venv/bin/python", sys.executable)
        (tmp_path / name).write_text(text)
    said = subprocess.run(
        ["systemd-analyze", "verify", *tmp_path.iterdir()], capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.skipif(not HAS_DOCKER, reason="no Docker on this machine")
def test_the_image_runs_the_receiver_and_the_script(tmp_path):
    build = ["docker", "build", "--quiet", "--file", SCRIPT.with_name("Dockerfile"), SCRIPT.parents[1]]
    image = subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip()
    for command in (["osdi-frames", "receive", "--help"], ["python", "nightly.py", "--help"]):
        ran = subprocess.run(
            ["docker", "run", "--rm", image, *command], capture_output=True, text=True, check=True
        )
        assert ran.stdout.startswith("Usage: osdi-frames receive") or "usage: nightly.py" in ran.stdout
