"""The command `osdi-frames sandbox`, its demo, and what it says without the extra."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from click.testing import CliRunner

from osdi_frames import sandbox
from osdi_frames.cli import main
from osdi_frames.cli.sandbox import command
from osdi_frames.sample import World
from tests import forks

from .process import served, start
from .schemas import assert_valid, collection, event_v1, event_v2, signature
from .test_collections import pages


def test_it_prints_its_addresses_and_keys_serves_a_demo_and_ends(tmp_path):
    words = (
        "--demo",
        "--prefix",
        "action_network",
        "--lenient",
        "--allow-webhook-hosts",
        "other.example, a.example",
    )
    with served(tmp_path / "sandbox.db", *words) as process:
        running = process.running
        running.admin("POST", "webhooks", url="http://a.example/hook")
        assert process.printed == [
            f"v2     {running.base_url}  (key in the header OSDI-API-Token)",
            f"v1     {running.base_url_v1}  (key in the header api-key)",
            f"keys   {running.individual_key}, {running.group_key}",
            f"admin  {running.origin}/sandbox/",
        ]
        with httpx.Client(base_url=running.base_url, headers={"OSDI-API-Token": running.group_key}) as client:
            read = list(pages(client))
            petitions = client.get("/petitions").json()["_embedded"]["osdi:petitions"]
            signed = client.get(petitions[0]["_links"]["osdi:signatures"]["href"]).json()
            campaigns = client.get("/event_campaigns").json()
        for page in read:
            assert_valid(page, collection("osdi:events", event_v2("action_network"), prefix="action_network"))
        assert_valid(
            signed, collection("osdi:signatures", signature("action_network"), prefix="action_network")
        )
        assert campaigns["total_records"] > 0
        with httpx.Client(base_url=running.base_url_v1, headers={"api-key": running.group_key}) as client:
            schema = collection(
                "osdi:events", event_v1("action_network"), version="v1", prefix="action_network"
            )
            assert_valid(client.get("/events").json(), schema)
            assert client.post("/events", json={"summary": "of no system"}).status_code == 200  # --lenient


@pytest.fixture
def demo(demo_db, tmp_path):
    """Return the application of a sandbox with the demo in it."""
    app = sandbox.create_app(demo_db(tmp_path))
    yield app
    app.state.service.store.close()


def identified(app):
    return [(one.resource_id, one.fields) for one in app.state.service.store.resources("event")]


def test_the_demo_is_the_sample_s_world(demo):
    """Titles, RSVPs, campaigns and moments are those of the world that the sample makes of the same seed."""
    world = World(seed=7, event_count=120, prefix="platform")
    events = list(demo.state.service.store.resources("event"))
    for event, made in zip(events, world.events, strict=True):
        assert event.fields["title"] == made["title"]
        assert event.fields.get("total_accepted", 0) == made["total_accepted"]
        assert (event.created_date, event.modified_date) == (made["created_date"], made["modified_date"])
    assert {event.parent for event in events} - {None}
    campaigns = list(demo.state.service.store.resources("event_campaign"))
    for campaign in campaigns:
        inside = [event for event in events if event.parent == campaign.resource_id]
        assert campaign.fields.get("total_events", 0) == len(inside)
        assert campaign.fields.get("total_rsvps", 0) == sum(
            event.fields.get("total_accepted", 0) for event in inside
        )
    parents = {event.parent for event in events}
    assert parents <= {None, *(campaign.resource_id for campaign in campaigns)}


def test_a_sandbox_with_events_is_not_filled(demo):
    before = identified(demo)
    sandbox.fill_demo(demo, seed=8)
    assert identified(demo) == before


def test_a_sandbox_that_is_being_served_is_filled_at_once_and_always_with_the_same_events(demo):
    app = sandbox.create_app()
    with sandbox.serve(app) as running, ThreadPoolExecutor(1) as pool:
        filling = pool.submit(sandbox.fill_demo, app, origin=running.origin)
        counts = {0}
        while not filling.done():
            counts.add(len(running.admin("GET", "events")))
        filling.result()
        assert counts <= {0, 120}
        assert len(running.admin("GET", "events")) == 120
        assert identified(app) == identified(demo)


def test_the_demo_s_rsvps_have_sources_and_times_of_their_own(demo):
    """RSVPs by source and over time can be reported from their own collection."""
    store = demo.state.service.store
    events = {event.resource_id: event for event in store.resources("event")}
    attendances = list(store.resources("attendance"))
    assert len(attendances) == sum(event.fields.get("total_accepted", 0) for event in events.values()) > 1000
    sources = Counter(one.fields["referrer_data"]["source"] for one in attendances)
    assert len(sources) > 8
    assert 0 < sources["none"] < len(attendances) / 4
    for one in attendances:
        event = events[one.parent]
        assert event.created_date <= one.created_date <= event.modified_date
    assert len({one.created_date for one in attendances}) > 1000


def test_a_port_that_is_taken_is_an_error(running, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["osdi-frames", "sandbox", "--port", str(running.port)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    said = f"127.0.0.1:{running.port}: Address already in use; --port takes another one"
    assert said in capsys.readouterr().err


def test_an_impossible_setting_is_a_usage_error():
    for arguments in (
        ("--prefix", 'a"b'),
        ("--retry-after", "soon"),
        ("--retry-after", "1,nan"),
        ("--port", "x"),
    ):
        tried = CliRunner().invoke(command, arguments)
        assert tried.exit_code == 2
        assert f"Invalid value for '{arguments[0]}'" in tried.output


def test_an_interrupted_sandbox_says_what_was_kept(tmp_path):
    for options, said in (
        ((), "nothing was kept"),
        (("--db", tmp_path / "s.db"), f"kept in {tmp_path / 's.db'}"),
    ):
        started = start(*options, "--port", 0)
        with started.process:
            started.running.admin("GET", "")
            started.process.send_signal(signal.SIGINT)
            assert said in started.process.stdout.read()
        assert started.process.returncode == 130


def test_without_the_extra_it_says_how_to_install_it():
    tried = forks.run("import sys; sys.modules['starlette'] = None; import osdi_frames.sandbox", fresh=True)
    assert "MissingExtra" in tried.stderr
    assert "pip install 'osdi-frames[serve]'" in tried.stderr
