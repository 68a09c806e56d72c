"""What organisers delete in the user interface is gone from all that the API answers; the API deletes nothing."""

from __future__ import annotations

import pytest

from osdi_frames.errors import RequestRefused


def total(caller, path):
    return caller.v2.get(f"/{path}").raise_for_status().json()["total_records"]


def ids(caller, path):
    [rows] = caller.v2.get(f"/{path}").raise_for_status().json()["_embedded"].values()
    return [row["_links"]["self"]["href"].rpartition("/")[2] for row in rows]


def test_a_deleted_event_is_gone_with_its_rsvps_from_collections_totals_and_addresses(stocked, alone):
    event, campaign = stocked.ids["event"], f"event_campaigns/{stocked.ids['campaign']}"
    attendance = ids(stocked, f"events/{event}/attendances")[0]
    person = stocked.v2.get(f"/events/{event}/attendances/{attendance}").json()["platform:person_id"]
    before = stocked.v2.get(f"/{campaign}").json()
    assert (before["total_events"], before["total_rsvps"], total(stocked, "events")) == (2, 3, 1)
    assert alone.admin("DELETE", f"events/{event}") == {}
    for path in ("", "/attendances", f"/attendances/{attendance}", "/embed"):
        assert stocked.v2.get(f"/events/{event}{path}").status_code == 404
        assert stocked.v1.get(f"/events/{event}{path}").status_code == 404
    assert (total(stocked, "events"), total(stocked, f"{campaign}/events")) == (0, 1)
    assert event not in ids(stocked, f"{campaign}/events")
    after = stocked.v2.get(f"/{campaign}").json()
    assert (after["total_events"], after["total_rsvps"]) == (1, 1)
    assert total(stocked, f"people/{person}/attendances") == 0
    assert stocked.v2.get(f"/people/{person}").status_code == 200
    assert len(alone.admin("GET", "attendances")) == 1
    assert all(event not in one["_links"]["self"]["href"] for one in alone.admin("GET", "events"))


def test_a_deleted_rsvp_lowers_the_counts_and_frees_a_seat(alone, callers):
    caller = callers("group:sandbox", at=alone)
    body = {"title": "Small", "origin_system": "Tests", "capacity": 1}
    [event] = alone.admin("POST", "events", account=caller.account, events=[body])["event_ids"]
    alone.admin("POST", "attendances", event=event, person={"given_name": "Ada"})
    with pytest.raises(RequestRefused, match="capacity"):
        alone.admin("POST", "attendances", event=event, person={"given_name": "Ben"})
    [attendance] = ids(caller, f"events/{event}/attendances")
    alone.admin("DELETE", f"attendances/{attendance}")
    assert caller.v2.get(f"/events/{event}").json()["total_accepted"] == 0
    assert total(caller, f"events/{event}/attendances") == 0
    assert caller.v2.get(f"/events/{event}/attendances/{attendance}").status_code == 404
    alone.admin("POST", "attendances", event=event, person={"given_name": "Ben"})
    assert caller.v2.get(f"/events/{event}").json()["total_accepted"] == 1


def test_a_deleted_signature_is_gone_and_signing_again_makes_another(stocked, alone):
    petition = f"petitions/{stocked.ids['petition']}"
    kept, deleted = ids(stocked, f"{petition}/signatures")
    again = stocked.v2.get(f"/{petition}/signatures/{deleted}").json()["_links"]["osdi:person"]
    alone.admin("DELETE", f"signatures/{deleted}")
    assert ids(stocked, f"{petition}/signatures") == [kept]
    assert stocked.v2.get(f"/{petition}").json()["total_signatures"] == 1
    assert stocked.v2.get(f"/{petition}/signatures/{deleted}").status_code == 404
    signed = stocked.v2.post(f"/{petition}/signatures", json={"_links": {"osdi:person": again}}).json()
    assert not signed["_links"]["self"]["href"].endswith(deleted)
    assert stocked.v2.get(f"/{petition}").json()["total_signatures"] == 2


def test_a_deletion_moves_the_modified_date_of_what_counted_it_and_of_nothing_else(clocked, callers, clock):
    caller = callers("group:sandbox", at=clocked)
    petition = clocked.admin("POST", "petitions", title="Clean water", account=caller.account)["id"]
    other = clocked.admin("POST", "petitions", title="Clean air", account=caller.account)["id"]
    clocked.admin("POST", "signatures", petition=petition, person={"given_name": "Ada"})
    [signature] = ids(caller, f"petitions/{petition}/signatures")
    before = {one: caller.v2.get(f"/petitions/{one}").json()["modified_date"] for one in (petition, other)}
    clock.advance(60)
    clocked.admin("DELETE", f"signatures/{signature}")
    after = {one: caller.v2.get(f"/petitions/{one}").json()["modified_date"] for one in (petition, other)}
    assert after[petition] > before[petition]
    assert after[other] == before[other]


def test_a_deleted_petition_takes_its_signatures_with_it(stocked, alone):
    alone.admin("DELETE", f"petitions/{stocked.ids['petition']}")
    assert total(stocked, "petitions") == 0
    assert alone.admin("GET", "signatures") == []
    assert stocked.v2.get(f"/petitions/{stocked.ids['petition']}/signatures").status_code == 404


def test_the_events_of_a_deleted_campaign_stay_in_the_collection_of_all(stocked, alone):
    alone.admin("DELETE", f"campaigns/{stocked.ids['campaign']}")
    assert stocked.v2.get(f"/event_campaigns/{stocked.ids['campaign']}").status_code == 404
    events = stocked.v2.get("/events").json()["_embedded"]["osdi:events"]
    assert sum(event["total_accepted"] for event in events) == 3
    assert len(events) == 2
    for event in events:
        assert "platform:event_campaign_id" not in event
        assert "platform:event_campaign" not in event["_links"]


def test_a_deleted_person_is_unknown_their_acts_too_and_comes_back_as_another(stocked, alone):
    petition = f"petitions/{stocked.ids['petition']}"
    ada = {"person": {"email_addresses": [{"address": "ada@example.org"}]}}
    signed = stocked.v2.post(f"/{petition}/signatures", json=ada).json()
    person, people = signed["platform:person_id"], len(alone.admin("GET", "people"))
    alone.admin("DELETE", f"people/{person}")
    assert stocked.v2.get(f"/people/{person}").status_code == 404
    assert person not in ids(stocked, "people")
    assert len(alone.admin("GET", "people")) == people - 1
    assert stocked.v2.get(f"/{petition}").json()["total_signatures"] == 1
    [tag] = ids(stocked, "tags")
    assert total(stocked, f"tags/{tag}/taggings") == 1
    again = stocked.v2.post(f"/{petition}/signatures", json=ada).json()
    assert again["platform:person_id"] != person


def test_who_created_something_is_not_deleted(stocked, alone):
    with pytest.raises(RequestRefused, match="created events") as refused:
        alone.admin("DELETE", "people/sandbox-founder")
    assert refused.value.status == 409
    assert stocked.v2.get("/people/sandbox-founder").status_code == 200


def test_identifiers_of_what_was_deleted_are_free_again(person, running):
    first = person.create(identifiers=["crm:1"])["_links"]["self"]["href"]
    running.admin("DELETE", f"events/{first.rpartition('/')[2]}")
    second = person.create(identifiers=["crm:1"])
    assert second["_links"]["self"]["href"] != first
    assert "crm:1" in second["identifiers"]


def test_what_is_not_there_cannot_be_deleted_and_the_api_deletes_nothing(running, person):
    for kind in ("events", "signatures", "attendances", "campaigns", "petitions", "people"):
        with pytest.raises(RequestRefused) as refused:
            running.admin("DELETE", f"{kind}/x")
        assert refused.value.status == 404
        assert person.v2.delete(f"/{kind}/x").status_code in (404, 405)


def test_a_deletion_outlives_a_restart_and_nothing_is_sent(tmp_path, receiver):
    from osdi_frames import sandbox

    db = tmp_path / "sandbox.db"
    with sandbox.serve(sandbox.create_app(db)) as running:
        running.admin("POST", "webhooks", url=receiver.url)
        [event] = running.admin("POST", "events", events=[{"title": "Picnic", "origin_system": "Tests"}])[
            "event_ids"
        ]
        running.admin("DELETE", f"events/{event}")
        assert running.admin("GET", "messages") == []
    with sandbox.serve(sandbox.create_app(db)) as running:
        assert running.admin("GET", "events") == []
    assert receiver.got == []
