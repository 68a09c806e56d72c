"""Every collection of the service in one pull: proved, resumed, since the last one, and politely."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pandas.testing import assert_frame_equal

from osdi_frames import Client
from osdi_frames.cli.pull import command
from osdi_frames.client.collections import COLLECTION_NAMES, needed
from osdi_frames.errors import BadAddress, ServiceError, UnknownValue
from osdi_frames.pulls import manifests
from osdi_frames.shortcuts import read_table
from tests.clocks import Clock

from .conftest import GROUP, Stocked, comparable
from .hostile import listening


def records(folder: Path, key: str) -> dict[str, dict[str, Any]]:
    """Return the records of one kind in a pulled archive, read without osdi-frames, by the service's identifier."""
    found = {}
    for path in sorted(folder.rglob("pages-*.ndjson.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            embedded = json.loads(line)["body"]["_embedded"]
            for name in (key, key.removesuffix("s") if key == "osdi:attendances" else key):
                found |= {_own(resource): resource for resource in embedded.get(name, ())}
    return found


def _own(record: dict[str, Any]) -> str:
    native = (name for name in record["identifiers"] if name.startswith("platform:"))
    return next(native).partition(":")[2]


def asked(served: Stocked) -> Counter[str]:
    """Count the requests by kind of list: attendances, signatures and so on."""
    return Counter(request["path"].rpartition("/")[2] for request in served.asked())


def test_every_count_of_a_pull_of_everything_is_the_services_own(pulled):
    held = {
        kind: len(pulled.served.running.admin("GET", kind))
        for kind in ("petitions", "attendances", "signatures")
    }
    assert held["attendances"] > 1000
    for manifest, requests in zip(pulled.manifests, pulled.requests, strict=True):
        assert manifest.complete, manifest.why
        assert manifest.requests == requests
        counts = {done.name: done.distinct_ids for done in manifest.collections}
        assert counts | held == counts
    assert manifests(pulled.folder) == pulled.manifests  # as they were written


def test_events_that_only_campaigns_list_come_without_being_named(demo, tmp_path):
    demo.forget()
    with demo.client() as client:
        manifest = client.pull(tmp_path)
        assert set(asked(demo)) == {"events", "event_campaigns"}  # nothing that was not asked for
        alone = client.pull(tmp_path / "alone", campaigns=())
    assert_frame_equal(comparable(read_table(manifest.folder, "events")), demo.truth(GROUP))
    assert len(read_table(tmp_path / "alone", "events")) == 116 < len(demo.truth(GROUP)) == 120
    names = ["events", "event_campaigns", "campaign_events"]
    assert [collection.name for collection in manifest.collections] == names
    assert [collection.name for collection in alone.collections] == names[:1]


def test_what_a_list_is_of_is_read_before_it():
    for name in COLLECTION_NAMES:
        order = [collection.name for collection in needed([name], campaigns=None)]
        for need in needed([name], campaigns=None):
            assert all(
                order.index(parent) < order.index(need.name) for parent in need.parents if parent in order
            )
    assert [collection.name for collection in needed(["signatures"], campaigns=None)] == [
        "petitions",
        "signatures",
    ]


def test_what_cannot_be_pulled_is_an_error_and_leaves_no_folder(demo, tmp_path):
    with demo.client() as client:
        with pytest.raises(UnknownValue, match="nearest: attendances"):
            client.pull(tmp_path / "x", collections=["attendence"])
        with pytest.raises(TypeError, match="given as a list"):
            client.pull(tmp_path / "x", collections="events")
        for no_id in ("", " ", ".."):
            with pytest.raises(BadAddress, match="is no id"):
                client.pull(tmp_path / "x", campaigns=[no_id])
            with pytest.raises(BadAddress, match="is no id"):
                client.events(campaign=no_id)
    assert not (tmp_path / "x").exists()


def test_attendances_of_an_event_that_only_its_campaign_knows_are_read_below_the_campaign(tmp_path):
    def page(key: str, *ids: str) -> bytes:
        rows = [{"identifiers": [f"platform:{campaign}"]} for campaign in ids]
        return json.dumps({"total_pages": 1, "total_records": len(ids), "_embedded": {key: rows}}).encode()

    answers = {
        "/api/v2/events": page("osdi:events", "listed"),
        "/api/v2/event_campaigns": page("action_network:event_campaigns", "c"),
        "/api/v2/event_campaigns/c/events": page("osdi:events", "listed", "hidden"),
        "/api/v2/events/listed/attendances": page("osdi:attendances", "a1"),
        "/api/v2/event_campaigns/c/events/hidden/attendances": page("osdi:attendance", "a2", "a3"),
    }
    with (
        listening(lambda path: (200, {}, answers[path]) if path in answers else (404, {}, b"")) as good,
        Client(good.base_url, "key", rate=None) as client,
    ):
        manifest = client.pull(tmp_path, collections=["attendances"])
        assert manifest.complete, manifest.why
        assert (manifest.collections[-1].rows, manifest.collections[-1].lists) == (3, 2)
        assert "/api/v2/event_campaigns/c/events/listed/attendances" not in [path for path, _ in good.asked]


# -- since --


@pytest.fixture
def clocked(stocked, tmp_path) -> Iterator[tuple[Stocked, Client, Clock, list[str]]]:
    clock = Clock()
    with stocked(per_page=3, now=clock) as served, served.client(now=clock) as client:
        events = served.add(6)
        for event_id in events:
            rsvp(served, event_id, "first")
        clock.advance(days=5)
        yield served, client, clock, events


def rsvp(served: Stocked, event_id: str, name: str) -> None:
    person = {"email_addresses": [{"address": f"{name}.{event_id}@example.org"}]}
    served.running.admin("POST", "attendances", event=event_id, person=person)


def test_since_last_asks_for_the_lists_of_parents_that_changed_and_says_what_that_misses(clocked, tmp_path):
    served, client, clock, events = clocked
    client.update_event(events[0], {"title": "The last change before, which is asked for again"})
    rsvp(served, events[0], "later")
    clock.advance(days=5)
    first = client.pull(tmp_path, collections=["attendances"], since="last")
    assert (first.complete, first.collections[0].since) == (True, None)
    client.update_event(events[2], {"title": "Changed"})
    rsvp(served, events[2], "second")
    clock.advance(days=5)
    served.forget()
    second = client.pull(tmp_path, collections=["attendances"], since="last")
    assert second.complete
    assert asked(served)["attendances"] == 2
    of_attendances = second.collections[-1]
    assert (of_attendances.name, of_attendances.lists, of_attendances.rows) == ("attendances", 2, 2)
    assert "what changed without changing the modified_date there was not asked for" in second.why
    assert len(records(tmp_path, "osdi:attendances")) == 8


def test_a_collection_that_was_never_read_asks_all_parents_although_those_were_read(clocked, tmp_path):
    _, client, clock, _ = clocked
    client.pull(tmp_path)
    clock.advance(days=5)
    manifest = client.pull(tmp_path, collections=["events", "attendances"], since="last")
    assert manifest.complete
    assert {collection.name: collection.since for collection in manifest.collections}["attendances"] is None
    assert len(records(tmp_path, "osdi:attendances")) == 6
    # From then on each has its own.
    clock.advance(days=5)
    third = client.pull(tmp_path, collections=["events", "attendances"], since="last")
    assert all(
        collection.since for collection in third.collections if collection.name in ("events", "attendances")
    )


def test_campaigns_are_listed_whole_so_that_no_new_event_of_theirs_is_missed(clocked, tmp_path):
    served, client, clock, events = clocked
    campaign = served.running.admin("POST", "campaigns", title="A", account=GROUP)["id"]
    client.update_event(events[0], {"title": "The last change before, which is asked for again"})
    clock.advance(days=5)
    client.pull(tmp_path)
    clock.advance(days=5)
    new = served.add(1, **{"platform:event_campaign_id": campaign, "listed": False})
    second = client.pull(tmp_path, since="last")
    assert second.complete
    assert set(read_table(second.folder, "events").event_id) == {*new, events[0]}


# -- one list that fails --


def test_a_list_that_the_key_may_not_read_is_named_and_the_others_are_read(clocked, tmp_path):
    served, client, _, events = clocked
    served.running.inject("status", status=403, path=f"{events[3]}/attendances")
    manifest = client.pull(tmp_path, collections=["attendances"])
    assert not manifest.complete
    assert f"events/{events[3]}/attendances: " in manifest.why
    assert "answered 403" in manifest.why
    assert len(records(tmp_path, "osdi:attendances")) == 5
    served.forget()
    assert client.pull(tmp_path, collections=["attendances"]).complete
    assert asked(served) == {"attendances": 1}  # of what was read, nothing is asked for again
    assert len(records(tmp_path, "osdi:attendances")) == 6


def test_without_its_list_of_campaigns_a_service_is_read_and_the_pull_is_not_complete(clocked, tmp_path):
    served, client, _, _ = clocked
    served.running.inject("status", status=404, path="event_campaigns")
    manifest = client.pull(tmp_path)
    assert not manifest.complete
    assert "event_campaigns: GET" in manifest.why
    assert manifest.collections[0].complete
    assert client.pull(tmp_path, campaigns=()).complete


def test_a_pull_that_failed_in_a_list_goes_on_there(clocked, tmp_path):
    served, client, _, events = clocked
    path = f"{sorted(events)[3]}/attendances"
    served.running.inject("status", status=500, path=path)
    with pytest.raises(ServiceError):
        client.pull(tmp_path, collections=["attendances"])
    stopped = _manifest(tmp_path)
    assert stopped["complete"] is False
    assert stopped["collections"][-1]["lists"] == 4  # three that were read, and the one that failed
    served.forget()
    manifest = client.pull(tmp_path, collections=["attendances"])
    assert manifest.complete
    assert asked(served) == {"attendances": 3}
    assert manifest.requests == _manifest(tmp_path)["requests"] == stopped["requests"] + 3


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(folder.glob("*/.manifest.json")).read_text())
    return found


# -- some campaigns alone --


def test_the_address_of_a_collection_is_no_service_and_leaves_no_folder(demo, tmp_path):
    for extra in ([], ["--version", "v2"]):
        words = [f"{demo.running.base_url}/petitions", str(tmp_path / "x"), *extra]
        result = CliRunner().invoke(command, words, env={"OSDI_API_KEY": demo.running.group_key})
        assert isinstance(result.exception, BadAddress)
        assert f"the service root is {demo.running.base_url}" in str(result.exception)
    assert not (tmp_path / "x").exists()


def test_named_campaigns_are_the_ones_whose_events_are_read_also_where_all_are_listed(clocked, tmp_path):
    served, client, _, _ = clocked
    ids = [served.running.admin("POST", "campaigns", title=title, account=GROUP)["id"] for title in "AB"]
    hidden = [
        served.add(1, **{"platform:event_campaign_id": campaign, "listed": False})[0] for campaign in ids
    ]
    manifest = client.pull(tmp_path, collections=["events", "event_campaigns"], campaigns=ids[:1])
    assert manifest.complete
    assert {collection.name: collection.lists for collection in manifest.collections}["campaign_events"] == 1
    assert set(read_table(tmp_path, "events").event_id) & set(hidden) == {hidden[0]}
    assert len(records(tmp_path, "platform:event_campaigns")) == 2


@pytest.mark.parametrize("speaks", ["v2", "v1"])
def test_of_a_campaign_its_events_alone_are_asked_for_and_their_attendances(stocked, tmp_path, speaks):
    with stocked(per_page=3) as served:
        ids = [served.running.admin("POST", "campaigns", title=title, account=GROUP)["id"] for title in "ABC"]
        events = {
            campaign: [
                *served.add(4, **{"platform:event_campaign_id": campaign}),
                *served.add(2, **{"platform:event_campaign_id": campaign, "listed": False}),
            ]
            for campaign in ids
        }
        for event_id in [*served.add(3), *(event for own in events.values() for event in own)]:
            rsvp(served, event_id, "ann")
        base = served.running.base_url if speaks == "v2" else served.running.base_url_v1
        words = [base, str(tmp_path), "--rate", "1000", "--with", "attendances"]
        words += ["--campaign", ids[0], "--campaign", ids[2]]
        result = CliRunner().invoke(command, words, env={"OSDI_API_KEY": served.running.group_key})
        assert result.exit_code == 0, result.output
        paths = {request["path"].partition(f"/{speaks}/")[2] for request in served.asked()}
    wanted = {*events[ids[0]], *events[ids[2]]}
    assert set(read_table(tmp_path, "events").event_id) == wanted
    assert set(read_table(tmp_path, "attendances").event_id) == wanted
    lists = {f"event_campaigns/{campaign}/events" for campaign in (ids[0], ids[2])}
    assert {path for path in paths if not path.startswith("events/")} == lists
    assert {path.split("/")[1] for path in paths - lists} == wanted


def test_of_a_campaign_what_changed_since_the_last_pull_is_asked_for(clocked, tmp_path):
    served, client, clock, _ = clocked
    campaign = served.running.admin("POST", "campaigns", title="A", account=GROUP)["id"]
    client.update_event(clocked[3][0], {"title": "of no campaign"})
    first = served.add(1, **{"platform:event_campaign_id": campaign})
    clock.advance(days=5)
    latest = served.add(1, **{"platform:event_campaign_id": campaign})
    clock.advance(days=5)
    assert client.pull(tmp_path, campaigns=[campaign], since="last").complete
    clock.advance(days=5)
    manifest = client.pull(tmp_path, campaigns=[campaign], since="last")
    assert (manifest.complete, [collection.name for collection in manifest.collections]) == (
        True,
        ["campaign_events"],
    )
    assert set(read_table(manifest.folder, "events").event_id) == {*latest}
    assert set(read_table(tmp_path, "events").event_id) == {*first, *latest}


def test_of_several_campaigns_one_that_is_not_there_is_named_and_the_others_are_read(clocked, tmp_path):
    served, client, _, _ = clocked
    campaign = served.running.admin("POST", "campaigns", title="A", account=GROUP)["id"]
    events = served.add(1, **{"platform:event_campaign_id": campaign})
    manifest = client.pull(tmp_path, campaigns=["0-not-there", campaign])
    assert not manifest.complete
    assert "0-not-there" in manifest.why
    assert list(read_table(tmp_path, "events").event_id) == events
