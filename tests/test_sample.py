"""The sample: the same seed makes the same bytes, a world that is sound, and as much as was asked for."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames import sample
from osdi_frames.errors import DestinationExists
from osdi_frames.sample import World, pulls, times
from osdi_frames.sample.deliveries import Delivery
from osdi_frames.sample.deployment import href_of
from osdi_frames.sample.people import make_attendances
from tests import commands
from tests.fuzz.oracle import documents_at
from tests.reference.documents import elements_of

CLI = "from osdi_frames.cli import main; main()"


def ids(resources: list[dict[str, Any]]) -> set[str]:
    return {href_of(resource).rpartition("/")[2] for resource in resources}


def held(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Return the resources of a kind in a folder, as the tests' own reading finds them."""
    return [element.value for element in elements_of(documents_at(folder), kind, ["action_network"])]


# -- the same seed, the same bytes --


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def test_the_same_seed_makes_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    digests = set()
    for hash_seed, zone in (("0", "UTC"), ("4242", "Asia/Kathmandu")):
        out = tmp_path / hash_seed
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": zone}
        words = [sys.executable, "-c", CLI, "sample", "--signatures", "500", str(out)]
        subprocess.run(words, env=environment, capture_output=True, check=True)
        digests.add(digest(out))
    assert len(digests) == 1


def test_another_seed_makes_other_bytes_and_other_identifiers(tmp_path: Path) -> None:
    for seed in (1, 2):
        sample.write(tmp_path / str(seed), signatures=60, events=30, seed=seed)
    assert digest(tmp_path / "1") != digest(tmp_path / "2")
    assert not ids(held(tmp_path / "1", "event")) & ids(held(tmp_path / "2", "event"))


# -- the world --


@settings(max_examples=8)
@given(
    seed=st.integers(),
    count=st.integers(0, 60),
    prefix=st.sampled_from(["action_network", "platform", "acme"]),
)
def test_every_world_is_sound(seed: int, count: int, prefix: str) -> None:
    world = World(seed=seed, event_count=count, prefix=prefix)
    assert len(ids(world.events)) == count
    assert all(e["total_accepted"] <= e.get("capacity", 10**6) for e in world.events)
    assert all(e["created_date"] <= e["modified_date"] <= "2026-08-01T00:00:00Z" for e in world.events)
    in_campaigns = [e for campaign in world.campaigns for e in world.by_campaign.get(href_of(campaign), [])]
    assert ids(world.listed) | ids(in_campaigns) == ids(world.events)
    assert world.events == World(seed=seed, event_count=count, prefix=prefix).events


@settings(max_examples=12)
@given(days=st.lists(st.integers(-3500, 10), min_size=2, max_size=2).map(sorted))
def test_rsvps_never_fall_and_come_with_a_newer_modified_date(days: list[int]) -> None:
    events = World(event_count=40).events
    moments = (times.UNTIL + timedelta(days=day) for day in days)
    seen = (pulls.visible(events, since=times.BEGINNING, at=moment) for moment in moments)
    early, late = ({href_of(event): event for event in pull} for pull in seen)
    assert set(early) <= set(late)
    for url, event in early.items():
        assert event["total_accepted"] <= late[url]["total_accepted"]
        assert (event == late[url]) == (event["modified_date"] == late[url]["modified_date"])
        assert event["modified_date"] <= late[url]["modified_date"]


def test_the_addresses_of_a_world_are_at_the_address_that_was_given() -> None:
    world = World(event_count=30, api="http://127.0.0.1:8000/api/v2/")
    links = json.dumps([event["_links"] for event in world.events])
    assert set(re.findall(r'"(https?://.*?/v2)/', links)) == {"http://127.0.0.1:8000/api/v2"}


def test_limited_events_are_at_least_half_full_at_the_end() -> None:
    limited = [event for event in World(event_count=135).events if "capacity" in event]
    assert len(limited) > 15
    assert all(event["total_accepted"] >= event["capacity"] // 2 for event in limited)


def test_most_attendees_of_events_of_the_last_year_are_checked_in_at_the_start_and_no_others() -> None:
    world = World(event_count=135)
    rsvps, came = 0, 0
    for event in world.events:
        attendances = list(make_attendances(world, event))
        checked_in = [each for each in attendances if each["status"] == "attended"]
        assert {each["modified_date"] for each in checked_in} <= {event.get("start_date")}
        if "2025-08-01" <= event.get("start_date", "") < "2026-08-01" and event["status"] != "cancelled":
            rsvps, came = rsvps + len(attendances), came + len(checked_in)
        else:
            assert not checked_in
    assert 0.6 < came / rsvps < 0.8


def test_campaigns_are_of_several_events_within_some_years() -> None:
    world = World(event_count=135)
    sizes = [campaign["total_events"] for campaign in world.campaigns]
    assert sum(size >= 3 for size in sizes) > len(sizes) / 2
    for campaign in world.campaigns:
        created = [event["created_date"] for event in world.by_campaign.get(href_of(campaign), [])]
        assert all(campaign["created_date"] <= moment for moment in created)
        years = [int(moment[:4]) for moment in created]
        assert max(years, default=0) - min(years, default=0) <= 3


# -- deliveries --


@pytest.fixture(scope="module")
def sent() -> list[Delivery]:
    world = World(event_count=60)
    return list(sample.deliveries(world, world.signatures(3000)))


def test_deliveries_come_in_order_until_the_end_and_bring_every_signature(sent: list[Delivery]) -> None:
    moments = [delivery.received_at for delivery in sent]
    assert moments == sorted(moments)
    assert moments[-1] <= times.UNTIL
    delivered = [element["osdi:signature"] for d in sent for element in d.body if "osdi:signature" in element]
    dated = [signature for signature in delivered if "created_date" in signature]  # no "send test" has a date
    assert ids(dated) == ids(list(World(event_count=60).signatures(3000)))


def test_a_retry_has_the_body_of_the_message_and_comes_within_the_hour_or_so(sent: list[Delivery]) -> None:
    seen: dict[str, list[datetime]] = {}
    for delivery in sent:
        if "created_date" in next(iter(delivery.body[0].values())):
            seen.setdefault(json.dumps(delivery.body), []).append(delivery.received_at)
    retried = [moments for moments in seen.values() if len(moments) > 1]
    assert len(retried) > 50
    assert max(len(moments) for moments in retried) == 4
    assert all(moments[-1] - moments[0] <= timedelta(hours=1) for moments in retried)


def test_deliveries_have_keys_since_december_2022_and_none_before(sent: list[Delivery]) -> None:
    for delivery in sent:
        keyed = {"idempotency_key" in element for element in delivery.body}
        since = delivery.received_at - datetime(2022, 12, 1, tzinfo=UTC)
        if abs(since) > timedelta(days=3):  # a late one has none, although it comes later
            assert keyed == {since > timedelta(0)}


def test_few_petitions_draw_most_signatures() -> None:
    signatures = World(event_count=0, petition_count=40).signatures(4000)
    counts = Counter(signature["_links"]["osdi:petition"]["href"] for signature in signatures)
    assert sum(count for _, count in counts.most_common(8)) > 2000
    assert len(counts) > 30


# -- files and the command --


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    sample.write(folder, signatures=600, events=60)
    return folder


def test_as_many_signatures_and_events_are_written_as_were_asked_for(written: Path) -> None:
    assert len(ids([s for s in held(written, "signature") if "created_date" in s])) == 600
    assert len(ids(held(written, "event"))) == 60
    lines = sum(path.read_bytes().count(b"\n") for path in written.rglob("deliveries/*"))
    assert 600 <= lines <= 690


def test_the_sample_has_no_problems_and_the_totals_of_the_service(written: Path) -> None:
    assert set(of.check(written)["severity"]) == {"info"}
    tables = of.open(written).tables(["petitions", "signatures"])
    petitions = tables["petitions"].set_index("petition_id")["total_signatures"]
    signed = tables["signatures"].dropna(subset=["created_date"])["petition_id"].value_counts()
    assert signed.to_dict() == petitions[petitions > 0].to_dict()


def test_everybody_has_one_created_date_before_the_first_act_and_new_is_who_has_it_from_that_act(
    written: Path,
) -> None:
    archive = of.open(written)
    acts = ("signatures", "attendances", "submissions", "donations", "outreaches", "responses")
    tables = archive.tables([*acts, "event_people"], dedupe=False)
    seen = [tables[name][["person_id", "person_created_date"]] for name in acts]
    hosts = tables["event_people"][["person_id", "created_date"]]
    seen.append(hosts.rename(columns={"created_date": "person_created_date"}))
    people = pd.concat(seen).dropna().drop_duplicates().set_index("person_id")["person_created_date"]
    assert people.index.is_unique
    done = archive.actions(["person_id", "date", "is_first", "is_new"])
    first = done[done["is_first"].fillna(False)].set_index("person_id")
    since = first["date"] - people.reindex(first.index)
    assert (since.dropna() >= pd.Timedelta(0)).all()
    new = since.dropna() <= pd.Timedelta(days=1)
    assert new.sum() > 20
    assert first.loc[new.index, "is_new"].astype(bool).eq(new).all()


def test_an_archive_of_nothing_can_be_read(tmp_path: Path) -> None:
    sample.write(tmp_path / "new" / "out", signatures=0, events=0)
    assert held(tmp_path / "new" / "out", "event") == held(tmp_path / "new" / "out", "signature") == []
    assert len(ids(held(tmp_path / "new" / "out", "petition"))) == 5


def test_deliveries_of_a_month_are_in_the_file_of_that_month(written: Path) -> None:
    for path in sorted((written / "deliveries").iterdir()):
        for document in map(json.loads, path.read_bytes().splitlines()):
            enveloped = isinstance(document, dict)
            assert enveloped == (path.stem >= "2026-01")
            if enveloped:
                assert document["received_at"][:7] == path.stem


def test_a_folder_that_the_sample_did_not_write_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    for overwrite in (False, True):
        with pytest.raises(DestinationExists, match=re.escape(str(tmp_path))):
            sample.write(tmp_path, signatures=10, events=10, overwrite=overwrite)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_earlier_sample_is_replaced_where_that_was_asked_for(tmp_path: Path) -> None:
    for seed in (1, 2):
        sample.write(tmp_path / "out", signatures=10, events=10, seed=seed, overwrite=True)
    sample.write(tmp_path / "new", signatures=10, events=10, seed=2)
    assert digest(tmp_path / "out") == digest(tmp_path / "new")


def test_the_command_says_what_it_wrote_and_a_taken_folder_is_one_line(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    first = commands.run("sample", "--signatures", "50", "--events", "10", out)
    assert (first.returncode, first.stderr) == (0, "")  # no progress bar in a pipe
    assert re.fullmatch(re.escape(out) + r": \d+ files, \d\.\d MB\n", first.stdout)
    second = commands.run("sample", "--signatures", "50", "--events", "10", out)
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.count("\n") == 1
    assert "Traceback" not in second.stderr


MEMORY = """
import resource, sys
from osdi_frames import sample
sample.write(sys.argv[1], signatures=int(sys.argv[2]), events=100)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(out: Path, signatures: int) -> int:
    """Return the memory in kB that it takes to write an archive in a process of its own."""
    words = [sys.executable, "-c", MEMORY, str(out), str(signatures)]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_signatures(tmp_path: Path) -> None:
    small, large = peak(tmp_path / "small", 1000), peak(tmp_path / "large", 200_000)
    assert large - small < 1000 + 200_000 / 5  # the collection and what waits: nothing near 6 kB each


def test_a_delivery_is_made_as_soon_as_its_signatures_are() -> None:
    world, made = World(event_count=0), Counter[str]()

    def counted() -> Iterator[dict[str, Any]]:
        for signature in world.signatures(3000):
            made["signatures"] += 1
            yield signature

    next(sample.deliveries(world, counted()))
    assert made["signatures"] < 100
