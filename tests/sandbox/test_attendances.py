"""Attendances (interface 2.5, 4 rule 4)."""

from __future__ import annotations

import pytest

from tests.clocks import wait_for

from .conftest import event_id
from .schemas import assert_valid, delivery


def somebody(name):
    return {"given_name": "Zoë", "email_addresses": [{"address": f"{name}@example.org"}]}


def attend(client, event, name, *, segment="attendances"):
    body = {"person": somebody(name)}
    return client.post(f"/events/{event_id(event)}/{segment}", json=body).raise_for_status().json()


@pytest.mark.contract("4 rule 4")
def test_a_person_counts_once_for_one_event(person):
    """Interface 4 rule 4: 0 on creation, then the count; known again by an e-mail address, in any case."""
    made, other = person.create(), person.create()
    assert made["total_accepted"] == 0
    first = attend(person.v2, made, f"zoe{person.key}")
    again = attend(person.v1, made, f"ZOE{person.key}", segment="attendance")
    known, same = (one["_links"]["osdi:person"]["href"].rpartition("/")[2] for one in (first, again))
    assert known == same
    attend(person.v2, other, f"zoe{person.key}")
    attend(person.v2, other, f"ann{person.key}")
    for event, count in ((made, 1), (other, 2)):
        assert person.read(f"events/{event_id(event)}")["total_accepted"] == count
        assert person.read(f"events/{event_id(event)}/attendances")["total_records"] == count


@pytest.mark.contract("2.5 osdi:record_attendance_helper")
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
    attend(caller.v2, made, "zoe")
    after = caller.read(f"events/{event_id(made)}")
    assert after["modified_date"] >= made["modified_date"]
    assert caller.rows("events", filter=f"modified_date eq '{after['modified_date']}'") == [after]


# what an activist does in the service's own pages


def rsvp(running, event, name, **arguments):
    return running.admin("POST", "attendances", event=event, person=somebody(name), **arguments)


def test_an_rsvp_in_the_service_s_own_pages_is_delivered(running, group, receiver):
    """Interface 6, 2.7: as deployments deliver osdi:attendance, with what was entered and the referrer's data."""
    made = event_id(group.create())
    running.admin("POST", "webhooks", url=receiver.url, account=group.account)
    recorded = rsvp(running, made, group.key, source="poster", website="example.org", add_tags=["a"])
    wait_for(lambda: receiver.got)
    [[element]] = receiver.deliveries()
    assert_valid([element], delivery())
    hash_ = element["osdi:attendance"]
    assert hash_["platform:referrer_data"] == {"source": "poster", "website": "example.org"}
    assert hash_["person"]["given_name"] == "Zoë"
    assert (hash_["status"], hash_["add_tags"]) == ("accepted", ["a"])
    assert hash_["_links"] | recorded["_links"] == recorded["_links"]
    assert element["platform:sponsor"]["title"] == "Clean Water"
    page = group.v2.get(f"/events/{made}/attendances").json()
    assert page["_embedded"]["osdi:attendances"] == [recorded]


def test_a_signature_in_the_service_s_own_pages_is_delivered(running, group, receiver):
    """Interface 6: an activist signs; the API then says none where it says api of its own."""
    petition = running.admin("POST", "petitions", title="Clean water", account=group.account)["id"]
    running.admin("POST", "webhooks", url=receiver.url, petition=petition)
    signed = running.admin("POST", "signatures", petition=petition, person={}, comments="Now!", source="mail")
    assert signed["platform:referrer_data"] == {"source": "mail", "website": "none"}
    wait_for(lambda: receiver.got)
    assert receiver.elements()[0]["osdi:signature"]["platform:referrer_data"] == {"source": "mail"}


def test_an_unknown_referrer_code_of_an_rsvp_is_ignored_and_a_known_one_kept(running, group):
    """Interface 2.7 referrer: must be a valid code, of attendances as of signatures."""
    made, code = event_id(group.create()), f"code-{group.key}"
    running.admin("POST", "people", given_name="Ada", referrer_code=code)
    first = rsvp(running, made, "a", referrer="made-up")
    again = rsvp(running, made, "a", referrer=code, email_referrer="mail-7")
    assert first["platform:referrer_data"] == {"source": "none", "website": "none"}
    assert again["platform:referrer_data"] == {
        "source": "none", "website": "none", "referrer": code, "email_referrer": "mail-7"
    }  # fmt: skip


def test_an_rsvp_to_nothing_is_refused(running):
    """The admin interface refuses as clearly as the API does."""
    for body in ({}, {"event": "unknown", "person": {}}, {"event": 7}):
        with pytest.raises((ValueError, LookupError)):
            running.admin("POST", "attendances", **body)


def test_a_webhook_of_one_event_is_sent_its_attendances_and_nothing_else(running, group, receiver):
    """Interface 6: the trigger can name one event."""
    here, there = event_id(group.create()), event_id(group.create())
    petition = running.admin("POST", "petitions", title="Clean water", account=group.account)["id"]
    running.admin("POST", "webhooks", url=receiver.url, event=here)
    running.admin("POST", "webhooks", url=f"{receiver.url}/all", account=group.account)
    for event in (here, there):
        rsvp(running, event, group.key)
    running.admin("POST", "signatures", petition=petition, person={})
    wait_for(lambda: len(receiver.got) == 4)
    delivered = zip(receiver.got, receiver.deliveries(), strict=True)
    [element] = [element for request, [element] in delivered if request.path == "/hook"]
    assert element["osdi:attendance"]["_links"]["osdi:event"]["href"].endswith(f"/{here}")


# capacity


@pytest.mark.contract("2.1 capacity")
def test_no_rsvp_is_recorded_beyond_the_capacity(running, person):
    """Interface 2.1 capacity: the maximum number of RSVPs, over the API and in the service's own pages."""
    small = {"title": "Small room", "origin_system": "Tests", "capacity": 2}
    made = running.admin("POST", "events", account=person.account, events=[small] * 3)["event_ids"]
    addresses = (
        f"{running.base_url}/events/{made[0]}/attendances",
        f"{running.base_url_v1}/events/{made[1]}/attendance",
    )
    for event, client, address in zip(
        made,
        (person.v2, person.v1, person.v2),
        (*addresses, f"{running.origin}/sandbox/attendances"),
        strict=True,
    ):
        statuses = [
            client.post(address, json={"event": event, "person": somebody(f"{name}{person.key}")}).status_code
            for name in ("a", "b", "c", "A")  # who comes already may RSVP again
        ]
        assert statuses == [200, 200, 409, 200]
        assert len(running.admin("GET", f"lists/{person.account}")) == 2
        assert person.v2.get(f"/events/{event}").json()["total_accepted"] == 2
        assert person.v2.get(f"/events/{event}/attendances").json()["total_records"] == 2


def test_without_a_capacity_everybody_can_come_and_with_0_nobody(running, person):
    """Interface 2.1 capacity: a maximum, if one is set."""
    bodies = [{"title": "A", "origin_system": "Tests"} | capacity for capacity in ({}, {"capacity": 0})]
    made = running.admin("POST", "events", account=person.account, events=bodies)["event_ids"]
    for event, status in zip(made, (200, 409), strict=True):
        answer = person.v2.post(f"/events/{event}/attendances", json={"person": somebody(person.key)})
        assert answer.status_code == status
        assert ("capacity" in answer.text) == (status == 409)
