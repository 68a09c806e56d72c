"""The rules of interface 4, keys (5), errors (7), endpoints and headers."""

from __future__ import annotations

import httpx
import pytest

from .conftest import event_id
from .schemas import ERROR, assert_valid


@pytest.fixture
def crew(running, group, callers):
    """Make a group with one person of each role; return person ids by role and the group's caller."""
    people = {
        role: running.admin("POST", "people", given_name=role)["person_id"]
        for role in ("creator", "administrator", "organizer", "member", "outsider")
    }
    roles = {people[role]: role for role in ("administrator", "organizer", "member")}
    made = running.admin("POST", "groups", title="Crew", founder=people["creator"], roles=roles)
    return people, callers(made["account_id"])


def creator_of(event):
    return event["_links"]["osdi:creator"]["href"].rpartition("/")[2]


# rule 1 is with the fields, in test_events


@pytest.mark.contract("4 rule 2", "7 2")
def test_an_individual_key_creates_as_its_own_person_whatever_it_names(running, person):
    """Interface 4 rule 2, 7.2: absent or invalid links get the default creator, and are no error."""
    stranger = running.admin("POST", "people", given_name="Stranger")["person_id"]
    for href in (None, f"{running.base_url}/people/{stranger}", f"{running.base_url}/people/nobody", "x", 7):
        links = {} if href is None else {"_links": {"osdi:creator": {"href": href}}}
        assert creator_of(person.create(**links)) == person.person_id
    own = {"osdi:creator": {"href": f"{running.base_url}/people/{person.person_id}"}}
    assert creator_of(person.create(_links=own)) == person.person_id


def test_a_creator_link_of_another_host_or_path_is_not_that_person(running, crew):
    """Interface 4 rule 2, 7.2: the link must point to a person of this service."""
    for base in (
        "https://other.example.org/api/v2",
        "{origin}/elsewhere",
        "{origin}/api/v3",
        "http://127.0.0.1:1/api/v2",
    ):
        people, caller = crew
        href = f"{base.format(origin=running.origin)}/people/{people['organizer']}"
        assert creator_of(caller.create(_links={"osdi:creator": {"href": href}})) == people["creator"]
        body = {"_links": {"osdi:person": {"href": href}}}
        assert (
            caller.v2.post(f"/events/{event_id(caller.create())}/attendances", json=body).status_code == 400
        )


def test_a_person_s_link_may_name_this_machine_in_any_way(running, crew):
    """Interface 4 rule 2: links follow the host that was asked."""
    for host in ("127.0.0.1", "localhost"):
        people, caller = crew
        href = f"http://{host}:{running.port}/api/v1/people/{people['organizer']}"
        assert creator_of(caller.create(_links={"osdi:creator": {"href": href}})) == people["organizer"]


@pytest.mark.contract("4 rule 2")
def test_a_group_key_may_name_creators_by_their_role(running, crew):
    """Interface 4 rule 2: v2 an organizer or administrator, v1 a member or administrator; else the founder."""
    for role, in_v2, in_v1 in (
        ("creator", True, True),
        ("administrator", True, True),
        ("organizer", True, False),
        ("member", False, True),
        ("outsider", False, False),
    ):
        people, caller = crew
        links = {"osdi:creator": {"href": f"{running.base_url}/people/{people[role]}"}}
        assert creator_of(caller.create(_links=links)) == people[role if in_v2 else "creator"]
        assert creator_of(caller.create_v1(_links=links)) == people[role if in_v1 else "creator"]


@pytest.mark.contract("2.8 osdi:creator")
def test_v1_takes_an_embedded_person_as_creator(running, crew):
    """Interface 2.8 osdi:creator: embedded person, assigned from the key when none is given."""
    for holder in ("body", "_embedded"):
        people, caller = crew
        embedded = {
            "osdi:creator": {"_links": {"self": {"href": f"{running.base_url_v1}/people/{people['member']}"}}}
        }
        sent = embedded if holder == "body" else {"_embedded": embedded}
        made = caller.create_v1(**sent)
        assert creator_of(made) == people["member"]
        assert made["_embedded"]["osdi:creator"]["given_name"] == "member"


@pytest.mark.contract("4 rule 1")
def test_the_creator_cannot_be_changed(running, crew):
    """Interface 4 rule 1: the creator cannot be changed by PUT; 2.8: nor once created."""
    people, caller = crew
    made = caller.create()
    links = {"_links": {"osdi:creator": {"href": f"{running.base_url}/people/{people['organizer']}"}}}
    for client in (caller.v2, caller.v1):
        changed = client.put(f"/events/{event_id(made)}", json=links)
        assert changed.status_code == 200
        assert creator_of(changed.json()) == people["creator"]


@pytest.mark.contract("4 rule 2 on the creator's list")
def test_a_named_creator_gets_the_attendees_on_their_own_list_and_a_default_one_does_not(running, crew):
    """Interface 4 rule 2: people who take action are added to that creator's personal e-mail list."""
    people, caller = crew
    links = {"osdi:creator": {"href": f"{running.base_url}/people/{people['organizer']}"}}
    attendee = {"person": {"email_addresses": [{"address": f"{caller.key}@example.org"}]}}
    for event in (caller.create(_links=links), caller.create()):
        caller.v2.post(f"/events/{event_id(event)}/attendances", json=attendee).raise_for_status()
    known = running.admin("GET", f"lists/{caller.account}")
    assert len(known) == 1
    assert running.admin("GET", f"lists/person:{people['organizer']}") == known
    assert running.admin("GET", f"lists/person:{people['creator']}") == []


@pytest.mark.contract("4 rule 3", "9 identifiers")
def test_a_post_with_a_known_identifier_changes_that_event(person):
    """Interface 4 rule 3, 9: merged, and matched for update; v2 likewise within the same account."""
    for version in ("v1", "v2"):
        create = person.create_v1 if version == "v1" else person.create
        title = "summary" if version == "v1" else "title"
        name = f"crm:{version}{person.key}"
        first = create(identifiers=[name])
        again = create(identifiers=[name, f"erp:{version}{person.key}"], **{title: "Renamed"})
        assert event_id(again) == event_id(first)
        assert again[title] == "Renamed"
        assert again["identifiers"] == [*first["identifiers"], f"erp:{version}{person.key}"]
        native = create(identifiers=[f"platform:{event_id(first)}"], **{title: "By its own"})
        assert event_id(native) == event_id(first)
    assert person.v2.get("/events").json()["total_records"] == 2


@pytest.mark.contract("4 rule 3")
def test_a_put_adds_an_identifier(person):
    """Interface 4 rule 3: a PUT with a new identifier adds it to the array."""
    made = person.create(identifiers=[f"crm:{person.key}"])
    expected = made["identifiers"]
    for client, name in ((person.v1, f"erp:{person.key}"), (person.v2, f"desk:{person.key}")):
        changed = client.put(f"/events/{event_id(made)}", json={"identifiers": [name]}).json()
        expected = [*expected, name]
        assert changed["identifiers"] == expected


@pytest.mark.contract("9 identifiers")
def test_an_identifier_of_another_key_s_event_is_refused_and_nothing_is_written(person, group):
    """Interface 2.1, 9 identifiers: unique over all keys and groups; a POST with one is refused."""
    name, free = f"crm:{person.key}", f"new:{group.key}"
    before = person.create(identifiers=[name])
    body = {"title": "Taken", "summary": "Taken", "origin_system": "x", "originating_system": "x"}
    for client in (group.v1, group.v2):
        for taken in (name, f"platform:{event_id(before)}"):
            answer = client.post("/events", json=body | {"identifiers": [free, taken]})
            assert answer.status_code == 409
            assert_valid(answer.json(), ERROR)
    assert person.v2.get(f"/events/{event_id(before)}").json() == before
    assert group.v2.get("/events").json()["total_records"] == 0
    assert len(group.create(identifiers=[free])["identifiers"]) == 2


def test_a_put_with_an_identifier_of_another_event_ignores_it_and_keeps_the_valid_fields(person, group):
    """Interface 2.1, 7.3: invalid fields are ignored, not rejected."""
    taken = f"crm:{person.key}"
    theirs = person.create(identifiers=[taken])
    for client, title in ((group.v1, "summary"), (group.v2, "title")):
        own, new = group.create(title="Own"), f"{title}:{group.key}"
        sent = {title: "New", "identifiers": [taken, f"platform:{event_id(theirs)}", new]}
        answer = client.put(f"/events/{event_id(own)}", json=sent)
        assert answer.status_code == 200
        assert answer.json()[title] == "New"
        assert answer.json()["identifiers"] == [*own["identifiers"], new]
    assert person.v2.get(f"/events/{event_id(theirs)}").json() == theirs


def test_identifiers_of_two_events_of_one_key_are_refused(person):
    """Interface 2.1: identifiers are unique, so no event can have those of two."""
    for name in ("a", "b"):
        person.create(identifiers=[f"{name}:{person.key}"])
    both = {"title": "Both", "origin_system": "x", "identifiers": [f"a:{person.key}", f"b:{person.key}"]}
    assert person.v2.post("/events", json=both).status_code == 409


# endpoints and headers


@pytest.mark.contract("4 headers, GET events/<event_id>, POST events", "7 200 not 201")
def test_successful_answers_have_the_contract_s_headers(person):
    """Interface 4: Content-Type, Cache-Control; GET of collection, campaign, event, POST, PUT; 7: 200, not 201."""
    made = person.v2.post("/events", json={"title": "A", "origin_system": "B"})
    path = f"/events/{event_id(made.json())}"
    answers = [
        made,
        person.v2.get("/events"),
        person.v2.get(path),
        person.v2.put(path, json={}),
        person.v1.get(path),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "application/hal+json"
        assert answer.headers["Cache-Control"] == "max-age=0, private, must-revalidate"


@pytest.mark.contract("4 PUT events/<event_id>")
def test_put_answers_the_whole_event_after_a_partial_change(person):
    """Interface 4 PUT: partial bodies are accepted; the answer is the whole event."""
    made = person.create(description="old", location={"venue": "Hall"})
    changed = person.v2.put(f"/events/{event_id(made)}", json={"description": "new"}).json()
    unmoved = {"modified_date": 0, "description": 0}
    assert changed | unmoved == made | unmoved
    assert changed == person.v2.get(f"/events/{event_id(made)}").json()


@pytest.mark.contract("4 DELETE events/<event_id>", "7 1")
def test_an_event_cannot_be_deleted(person):
    """Interface 4 DELETE, 7.1: refused with an error."""
    for version in ("v1", "v2"):
        made = person.create()
        client = person.v1 if version == "v1" else person.v2
        answer = client.delete(f"/events/{event_id(made)}")
        assert (answer.status_code, answer.json()) == (405, {"error": "events cannot be deleted"})
        assert answer.headers["Allow"] == "GET, PUT"
        assert person.v2.get(f"/events/{event_id(made)}").json() == made


# 5 keys


@pytest.mark.contract("5 v2, v1, a missing or invalid key", "9 header")
def test_each_version_has_its_header(running, person):
    """Interface 5: OSDI-API-Token in v2, api-key in v1; 9."""
    for version, header in (("v2", "OSDI-API-Token"), ("v1", "api-key")):
        address = f"{running.origin}/api/{version}/events"
        assert httpx.get(address, headers={header: person.key}).status_code == 200
        other = {"v2": "api-key", "v1": "OSDI-API-Token"}[version]
        for headers in ({}, {header: "wrong"}, {header: ""}, {other: person.key}):
            answer = httpx.get(address, headers=headers)
            assert answer.status_code == 403
            assert header in answer.json()["error"]


@pytest.mark.contract("5 individual or group")
def test_a_key_sees_its_own_events_only(person, group):
    """Interface 5: collections return the events associated with the key."""
    mine, theirs = person.create(), group.create()
    assert [event_id(e) for e in person.v2.get("/events").json()["_embedded"]["osdi:events"]] == [
        event_id(mine)
    ]
    assert person.v2.get(f"/events/{event_id(theirs)}").status_code == 404
    assert person.v2.put(f"/events/{event_id(theirs)}", json={"title": "x"}).status_code == 404


def test_two_keys_of_one_group_see_the_same(group, callers):
    """Interface 5: the key belongs to a group."""
    made = group.create()
    assert callers(group.account).v2.get(f"/events/{event_id(made)}").json() == made


# 7.4 other failures


@pytest.mark.contract("7 4")
def test_an_unknown_id_address_or_method_is_a_json_error(person):
    """Interface 7.4: error format and codes are choices."""
    for method, path, status in (
        ("GET", "/events/unknown", 404),
        ("PUT", "/events/unknown", 404),
        ("GET", "/people/unknown", 404),
        ("GET", "/petitions/unknown/signatures", 404),
        ("GET", "/event_campaigns/unknown/events", 404),
        ("GET", "/nothing", 404),
        ("PATCH", "/events", 405),
        ("POST", "/event_campaigns", 405),
        ("DELETE", "/event_campaigns", 405),
        ("DELETE", "", 405),
        ("POST", "", 405),
    ):
        for client in (person.v2, person.v1):
            answer = client.request(method, path, json={})
            assert answer.status_code == status
            assert_valid(answer.json(), ERROR)
            assert ("Allow" in answer.headers) == (status == 405)


@pytest.mark.contract("7 4", "8 sizes")
def test_a_body_that_is_no_json_object_of_text_is_refused(person):
    """Interface 7.4, 8: a clear error, and nothing is written."""
    for body, status in (
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b'"text"', 400),
        (b'{"title": NaN}', 400),
        (b'{"title": 1e999}', 400),
        (b'{"title": "\\u0000"}', 400),
        (b'{"title": "\\ud800"}', 400),
        (b'{"title": "\xef\xb7\x90"}', 400),
        (b'{"title": "\xff"}', 400),
        (b"[" * 100_000, 400),
        (b'{"title": ' + b"9" * 5000 + b"}", 400),
        (b'{"title": "' + b"x" * 1024 * 1024 + b'"}', 413),
    ):
        for client, method in ((person.v2, "POST"), (person.v1, "POST")):
            answer = client.request(method, "/events", content=body)
            assert answer.status_code == status
            assert_valid(answer.json(), ERROR)
        assert person.v2.get("/events").json()["total_records"] == 0


def test_links_lead_to_the_host_that_was_asked_unless_it_is_none(running, person):
    """Interface 2.5: a Host header that is no host cannot get into an answer."""
    for host in ("localhost:7", "example.org", 'a"b', "[", "x y", "\xe9", ""):
        made = person.v2.post(
            "/events", json={"title": "A", "origin_system": "B"}, headers={"Host": host.encode("latin-1")}
        )
        origin = f"http://{host}" if host in ("localhost:7", "example.org") else running.origin
        assert made.status_code == 200
        assert made.json()["_links"]["self"]["href"].startswith(f"{origin}/api/v2/events/")


def test_a_backslash_before_the_letters_u0000_is_text(person):
    """Interface 2.1: only a NUL is none."""
    assert person.create(title="\\u0000")["title"] == "\\u0000"


def test_a_write_in_the_background_is_done_and_answered_with_an_empty_object(person):
    """Interface 4 POST; deployments answer `background_request=true` at once."""
    answer = person.v2.post("/events?background_request=true", json={"title": "A", "origin_system": "B"})
    assert (answer.status_code, answer.json()) == (200, {})
    assert person.v2.get("/events").json()["total_records"] == 1
