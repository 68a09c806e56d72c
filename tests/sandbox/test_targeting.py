"""Reader and sandbox say the same of events made through the API and of those made in the user interface."""

from __future__ import annotations

import httpx
import pytest

import osdi_frames as of
from osdi_frames import sandbox

from .conftest import event_id
from .test_collections import pages


def read(running, version, *, host="127.0.0.1", key=None):
    """Read every event that a key of a sandbox sees, also those that only their campaigns list."""
    base = (running.base_url if version == "v2" else running.base_url_v1).replace("127.0.0.1", host)
    headers = dict.fromkeys(("OSDI-API-Token", "api-key"), key or running.group_key)
    with httpx.Client(base_url=base, headers=headers) as client:
        documents = list(pages(client))
        for page in pages(client, "/event_campaigns"):
            for campaign in next(iter(page["_embedded"].values())):
                documents += pages(client, campaign["_links"]["osdi:events"]["href"])
    return of.read_events(documents)


def test_every_event_of_the_demo_has_its_label_of_the_targeting_list(demo_db, tmp_path):
    """Interface 1.5: of 120 events, those that were made through the API and have RSVPs, and no others."""
    app = sandbox.create_app(demo_db(tmp_path))
    made = {event.resource_id: event.made_by for event in app.state.service.store.resources("event")}
    with sandbox.serve(app) as running:
        targeting = running.admin("GET", "targeting")
        for events in (read(running, "v2", host="localhost"), read(running, "v1")):
            assert len(events) == len(made) == 120
            assert sorted(events["targeting_label"].dropna()) == sorted(targeting)
            for event in events.itertuples():
                listed = made[event.event_id] != "ui" and event.total_accepted > 0
                assert isinstance(event.targeting_label, str) == listed, event
    labelled = events["targeting_label"].notna()
    assert 20 < labelled.sum() < 60
    assert (labelled & events["event_campaign_id"].notna()).any()


def test_events_made_in_any_way_have_the_labels_of_the_targeting_list(alone, callers):
    """Interface 1.2, 1.5, 2.8 url: in v2 and in v1, whatever else an event has."""
    caller = callers("group:sandbox", at=alone)
    campaign = alone.admin("POST", "campaigns", title="Days of action", account=caller.account)["id"]
    own = {"origin_system": "CRM"}
    made = [
        caller.create(title="by v2", browser_url="https://crm.example.org/events/1", identifiers=["crm:1"]),
        caller.create_v1(summary="by v1"),
        *(
            caller.v2.post(f"/event_campaigns/{campaign}/events", json={"title": title, **own}).json()
            for title in ("in a campaign", "in a campaign again")
        ),
    ]
    by_hand = [
        {"title": "by hand", **own},
        {"title": "of 40", "capacity": 40, **own},
        {"title": "in its campaign", "platform:event_campaign_id": campaign, **own},
    ]
    ids = [*map(event_id, made)]
    ids += alone.admin("POST", "events", account=caller.account, events=by_hand)["event_ids"]
    attendee = {"person": {"email_addresses": [{"address": "zoe@example.org"}]}}
    for event in (*ids[:3], *ids[4:]):
        caller.v2.post(f"/events/{event}/attendances", json=attendee).raise_for_status()
    targeting = alone.admin("GET", "targeting")
    assert targeting == [
        "[1, (Tests) Event], (by v2)", "[1, (Tests) Event], (by v1)", "[1, (CRM) Event], (in a campaign)"
    ]  # fmt: skip
    for version in ("v2", "v1"):
        events = read(alone, version).set_index("event_id")
        assert list(events.loc[ids, "targeting_label"].dropna()) == targeting


@pytest.mark.contract("2.8 url")
def test_an_event_of_the_user_interface_has_a_page_and_v1_shows_no_other_s(running, person):
    """Interface 1.2, 2.8 url: only for events created through the user interface."""
    [by_hand] = running.admin(
        "POST", "events", account=person.account, events=[{"title": "A", "origin_system": "B"}]
    )["event_ids"]
    made = event_id(person.create(browser_url="https://example.org/picnic"))
    page = f"{running.origin}/events/{by_hand}"
    assert person.v2.get(f"/events/{by_hand}").json()["browser_url"] == page
    assert person.v1.get(f"/events/{by_hand}").json()["url"] == page
    assert httpx.get(page).status_code == 200
    assert person.v2.get(f"/events/{made}").json()["browser_url"] == "https://example.org/picnic"
    assert "url" not in person.v1.get(f"/events/{made}").json()
    assert "browser_url" not in person.create()
