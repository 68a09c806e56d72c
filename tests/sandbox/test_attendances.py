"""Attendances and the targeting list (interface 1.5, 2.5, 4 rule 4)."""

from __future__ import annotations

from .conftest import event_id


def attend(client, event, address, *, segment="attendances"):
    body = {"person": {"given_name": "Zoë", "email_addresses": [{"address": address}]}}
    return client.post(f"/events/{event_id(event)}/{segment}", json=body)


def test_a_person_counts_once_for_one_event(person):
    """Interface 4 rule 4: known again by an e-mail address, in any case."""
    made = person.create()
    first = attend(person.v2, made, f"zoe{person.key}@example.org").json()
    again = attend(person.v1, made, f"ZOE{person.key}@example.org", segment="attendance").json()
    known, same = (one["_links"]["osdi:person"]["href"].rpartition("/")[2] for one in (first, again))
    assert known == same
    assert person.v2.get(f"/events/{event_id(made)}").json()["total_accepted"] == 1
    other = person.create()
    attend(person.v2, other, f"zoe{person.key}@example.org")
    assert person.v2.get(f"/events/{event_id(other)}").json()["total_accepted"] == 1


def test_an_attendance_can_name_a_person_by_link(running, person):
    """Interface 2.5 osdi:attendances, osdi:record_attendance_helper: POST and GET; v1 osdi:attendance (2.8)."""
    made = person.create()
    link = {"_links": {"osdi:person": {"href": f"{running.base_url}/people/{person.person_id}"}}}
    recorded = person.v2.post(made["_links"]["osdi:record_attendance_helper"]["href"], json=link).json()
    assert recorded["_links"]["osdi:person"]["href"].endswith(person.person_id)
    v1 = person.v1.get(f"/events/{event_id(made)}").json()
    for client, page in (
        (person.v2, made["_links"]["osdi:attendances"]),
        (person.v1, v1["_links"]["osdi:attendance"]),
    ):
        listed = client.get(page["href"]).json()
        name = "osdi:attendances" if client is person.v2 else "osdi:attendance"
        assert listed["total_records"] == 1
        found = listed["_embedded"][name][0]
        assert client.get(found["_links"]["self"]["href"]).json() == found
        assert client.get(found["_links"]["osdi:event"]["href"]).status_code == 200
        assert client.get(found["_links"]["osdi:person"]["href"]).json()["given_name"] == "Ada"


def test_an_attendance_without_a_person_is_refused(running, person):
    """Interface 7.4: nobody came."""
    made = person.create()
    nobody = {"_links": {"osdi:person": {"href": f"{running.base_url}/people/nobody"}}}
    for body in ({}, {"person": "Zoë"}, nobody, {"_links": 7}):
        assert person.v2.post(f"/events/{event_id(made)}/attendances", json=body).status_code == 400
    assert person.v2.get(f"/events/{event_id(made)}").json()["total_accepted"] == 0


def test_an_attendance_moves_the_event_s_modified_date(alone, callers):
    """Interface 2.1 modified_date: a pull since a time sees events whose count has grown."""
    caller = callers("person:sandbox-person", at=alone)
    made = caller.create()
    attend(caller.v2, made, "zoe@example.org").raise_for_status()
    after = caller.v2.get(f"/events/{event_id(made)}").json()
    assert after["modified_date"] >= made["modified_date"]
    since = {"filter": f"modified_date eq '{after['modified_date']}'"}
    assert caller.v2.get("/events", params=since).json()["total_records"] == 1


def test_targeting_lists_api_events_from_their_first_attendance_on(alone, callers):
    """Interface 1.5: `[1, (origin system) Event], (title)`, of events created through the API."""
    caller = callers("person:sandbox-person", at=alone)
    v2, v1 = caller.create(title="Picnic", origin_system="CRM"), caller.create_v1(summary="March")
    body = {"title": "Made by hand", "origin_system": "The service"}
    by_hand = alone.admin("POST", "events", events=[body])["event_ids"][0]
    assert alone.admin("GET", "targeting") == []
    for event in (v2, v1, caller.v2.get(f"/events/{by_hand}").json()):
        attend(caller.v2, event, "zoe@example.org").raise_for_status()
    assert alone.admin("GET", "targeting") == ["[1, (CRM) Event], (Picnic)", "[1, (Tests) Event], (March)"]
