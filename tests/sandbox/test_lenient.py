"""``--lenient``: what the live service probably takes, and the contract does not."""

from __future__ import annotations

from urllib.parse import quote_from_bytes, urlencode

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from osdi_frames import sandbox

from . import schemas
from .conftest import event_id
from .schemas import ERROR, assert_valid
from .test_any_request import EVENTS, SIGNATURES, answered, many


@pytest.fixture(scope="module")
def clients():
    """Serve one sandbox that is lenient and one that is not."""
    with sandbox.serve(sandbox.create_app(lenient=True)) as lenient, sandbox.serve() as strict:
        opened = {}
        for name, running in (("lenient", lenient), ("strict", strict)):
            for version, base, header in (
                ("v2", running.base_url, "OSDI-API-Token"),
                ("v1", running.base_url_v1, "api-key"),
            ):
                opened[name, version] = httpx.Client(base_url=base, headers={header: running.group_key})
        yield opened
        for client in opened.values():
            client.close()


def test_an_event_without_an_origin_has_that_of_the_key(clients):
    for version in ("v2", "v1"):
        body, name = (
            ({"title": "A"}, "origin_system") if version == "v2" else ({"summary": "A"}, "originating_system")
        )
        assert clients["lenient", version].post("/events", json=body).json()[name] == "Sandbox Group"
        assert clients["strict", version].post("/events", json=body).status_code == 400


def test_a_time_with_a_space_is_taken(clients):
    for version in ("v2", "v1"):
        body = {"title": "A", "summary": "A", "origin_system": "B", "originating_system": "B"}
        name = "start_date" if version == "v2" else "start"
        body[name] = "2026-05-01 18:30:00"
        assert clients["lenient", version].post("/events", json=body).json()[name] == "2026-05-01T18:30:00Z"
        assert name not in clients["strict", version].post("/events", json=body).json()


def test_what_is_missing_otherwise_is_refused_as_ever(clients):
    assert clients["lenient", "v2"].post("/events", json={}).status_code == 400
    made = clients["lenient", "v2"].post("/events", json={"title": "A", "origin_system": "Mine"}).json()
    assert made["origin_system"] == "Mine"
    changed = clients["lenient", "v2"].put(made["_links"]["self"]["href"], json={"title": "B"}).json()
    assert (changed["title"], changed["origin_system"]) == ("B", "Mine")


# bodies that are no JSON, as Parsons sends them: as a form, still said to be JSON, or in the query


def send(client, method, path, fields, *, by):
    """Send fields as the body of a form, or in the query of a request without a body."""
    if by == "query":
        return client.request(method, path, params=fields, headers={"Content-Type": "application/json"})
    content = urlencode(fields, doseq=True)
    return client.request(method, path, content=content, headers={"Content-Type": "application/json"})


@pytest.fixture(scope="module")
def v2(clients):
    return clients["lenient", "v2"]


@pytest.fixture
def event(v2):
    return v2.post("/events", json={"title": "Picnic", "origin_system": "CRM"}).json()


@pytest.fixture
def person(v2, request):
    """Sign somebody up, known by an address of the test's own."""
    address = f"{abs(hash(request.node.nodeid))}@example.org"
    body = {"person": {"given_name": "Ada", "email_addresses": [{"address": address}]}}
    return v2.post("/people", json=body).json()


def test_fields_of_a_form_or_of_a_query_change_an_event(clients, v2, event):
    for by in ("form", "query"):
        fields = {
            "title": "March & rally",
            "start_date": "2026-05-01 18:30:00",
            "identifiers": ["crm:1", f"erp:{event_id(event)}"],
            "location[venue]": "Hall",
            "location[address_lines][]": "1 Main St",
        }
        path = f"/events/{event_id(event)}"
        changed = send(v2, "PUT", path, fields, by=by).raise_for_status().json()
        assert (changed["title"], changed["start_date"]) == ("March & rally", "2026-05-01T18:30:00Z")
        assert f"erp:{event_id(event)}" in changed["identifiers"]
        assert (changed["location"]["venue"], changed["location"]["address_lines"]) == ("Hall", ["1 Main St"])
        # Parsons drops what is nested: there is no venue any more
        dropped = send(v2, "PUT", path, {"location": "venue", "description": ""}, by=by).json()
        assert (dropped["location"], dropped["description"]) == (changed["location"], "")
        strict = clients["strict", "v2"]
        made = strict.post("/events", json={"title": "Picnic", "origin_system": "CRM"}).json()
        assert send(strict, "PUT", f"/events/{event_id(made)}", fields, by=by).status_code == 400


def test_fields_of_a_form_or_of_a_query_record_and_change_acts(v2, event, person):
    for by in ("form", "query"):
        attendances = f"/events/{event_id(event)}/attendances"
        linked = {"_links[osdi:person][href]": person["_links"]["self"]["href"]}
        came = send(v2, "POST", attendances, linked, by=by).raise_for_status().json()
        assert came["_links"]["osdi:person"] == person["_links"]["self"]
        path = f"{attendances}/{event_id(came)}"
        assert send(v2, "PUT", path, {"status": "attended"}, by=by).json()["status"] == "attended"
        petition = v2.post("/petitions", json={"title": "Clean water"}).json()
        inline = {
            "person[email_addresses][address]": person["email_addresses"][0]["address"],
            "person[family_name]": "Baker",
            "comments": "Now!",
        }
        signatures = petition["_links"]["osdi:signatures"]["href"]
        signed = send(v2, "POST", signatures, inline, by=by).raise_for_status().json()
        assert (signed["comments"], signed["_links"]["osdi:person"]) == ("Now!", person["_links"]["self"])
        assert v2.get(person["_links"]["self"]["href"]).json()["family_name"] == "Baker"
        changed = send(v2, "PUT", signed["_links"]["self"]["href"], {"comments": "Soon"}, by=by).json()
        assert changed["comments"] == "Soon"


def test_a_person_that_was_dropped_on_the_way_is_refused(v2, event):
    """Parsons sends `_links=osdi:person` and `person=email_addresses`: nobody is recorded as somebody else."""
    for by in ("form", "query"):
        attendances = f"/events/{event_id(event)}/attendances"
        for fields in ({"_links": "osdi:person"}, {"person": "email_addresses"}, {}):
            answer = send(v2, "POST", attendances, fields, by=by)
            assert answer.status_code == 400
            assert_valid(answer.json(), ERROR)
        assert v2.get(attendances).json()["total_records"] == 0


TEXTS = st.sampled_from(
    ["title", "person", "_links", "osdi:person", "location", "a", "\x00", "%ff", "é", "\ud800"]
)
FIELDS = st.lists(
    TEXTS | st.sampled_from(["[", "]", "[]", "=", "&", ";", "%", "+", "{", "}", '"']), max_size=12
)


@settings(max_examples=12)
@given(text=FIELDS.map("".join), by=st.sampled_from(["form", "query"]))
@example(text="a" + "[b]" * 5_000 + "=1", by="query")
@example(text="a" + "[b]" * 200_000 + "=1", by="form")
@example(text="a=1&" * 100_000 + "a=1", by="form")
def test_whatever_stands_in_a_form_or_a_query_is_answered_or_refused(v2, text, by):
    data = text.encode("utf-8", "surrogatepass")
    if by == "form":
        answer = v2.post("/events", content=data)
    else:
        answer = v2.post(f"/events?{quote_from_bytes(data, safe='=&%+[];')}")
    assert answer.status_code in (200, 400), answer.text
    assert_valid(answer.json(), schemas.event_v2() if answer.status_code == 200 else ERROR)


@many(12)
@given(event=EVENTS, signature=SIGNATURES, petition=EVENTS)
def test_any_json_is_answered_as_the_tables_say_or_refused(v2, event, signature, petition):
    answered(v2, "POST", "/events", schemas.event_v2(), body=event)
    body = petition | {"title": "Clean water"}
    if made := answered(v2, "POST", "/petitions", schemas.petition(), body=body):
        path = f"/petitions/{event_id(made)}"
        answered(v2, "PUT", path, schemas.petition(), body=event)
        answered(v2, "POST", f"{path}/signatures", schemas.signature(), body=signature)


# resources that the contract's service makes in its own pages only


def test_what_organizers_publish_is_made_and_changed(clients):
    for kind in ("petition", "event_campaign", "form", "fundraising_page", "advocacy_campaign", "survey"):
        for version in ("v2", "v1"):
            client = clients["lenient", version]
            name = "origin_system" if version == "v2" else "originating_system"
            made = client.post(
                f"/{kind}s", json={"title": "Clean water", "identifiers": [f"{kind}:{version}"]}
            ).json()
            assert (made["title"], made[name]) == ("Clean water", "Sandbox Group")
            assert f"{kind}:{version}" in made["identifiers"]
            body = {
                "title": "Cleaner water",
                name: "CRM",
                "browser_url": "https://example.org/",
                "total_events": 7,
            }
            path = made["_links"]["self"]["href"]
            changed = client.put(path, json=body).json()
            assert [changed[each] for each in ("title", name, "browser_url")] == list(body.values())[:3]
            assert changed.get("total_events", 0) == 0
            if version == "v2":
                assert_valid(changed, getattr(schemas, kind)())
            assert client.get(f"/{kind}s").json()["_embedded"].popitem()[1][0] == changed
            for blank in ({}, {"title": " "}):
                assert client.post(f"/{kind}s", json=blank).status_code == 400
                assert client.put(path, json=blank).json() == changed
            strict = clients["strict", version]
            assert strict.post(f"/{kind}s", json={"title": "A"}).status_code == 405
            assert strict.put(f"/{kind}s/x", json={"title": "A"}).status_code == 405


def test_a_campaign_that_was_posted_takes_events(v2):
    campaign = send(v2, "POST", "/event_campaigns", {"title": "Spring"}, by="query").json()
    inside = campaign["_links"]["osdi:events"]["href"]
    made = send(v2, "POST", inside, {"title": "Picnic", "origin_system": "o"}, by="query").json()
    assert made["platform:event_campaign_id"] == event_id(campaign)
    assert v2.get(campaign["_links"]["self"]["href"]).json()["total_events"] == 1


# values that real clients send


def test_a_single_value_stands_for_a_list_and_a_number_for_its_text(clients):
    """A target or an address line as text, a phone number as a number (Parsons, and other public clients)."""
    for running, taken in (("lenient", True), ("strict", False)):
        client = clients[running, "v2"]
        made = client.post(
            "/events", json={"title": "A", "origin_system": "B", "location": {"address_lines": "1 Main St"}}
        ).json()
        assert made["location"].get("address_lines") == (["1 Main St"] if taken else None)
        someone = {
            "email_addresses": [{"address": f"{running}@example.org"}],
            "phone_numbers": [{"number": 15105550100}],
            "custom_fields": {"children": 2, "member": True, "size": "L", "none": None},
        }
        person = client.post("/people", json={"person": someone}).json()
        fields = {"size": "L"} | ({"children": "2"} if taken else {})
        assert person["custom_fields"] == fields
        assert person["phone_numbers"][0].get("number") == ("15105550100" if taken else None)
    petition = (
        clients["lenient", "v2"].post("/petitions", json={"title": "A", "target": "The council"}).json()
    )
    assert petition["target"] == [{"name": "The council"}]


def test_a_person_link_of_another_host_is_known_by_its_id(clients, event, person, v2):
    """Parsons writes links of people at the live service's address whatever address it talks to."""
    for host in ("https://actionnetwork.org", "https://example.org:8443"):
        links = {"_links": {"osdi:person": {"href": f"{host}/api/v2/people/{event_id(person)}"}}}
        attendances = f"/events/{event_id(event)}/attendances"
        came = v2.post(attendances, json=links).raise_for_status().json()
        assert came["_links"]["osdi:person"] == person["_links"]["self"]
        unknown = {"_links": {"osdi:person": {"href": f"{host}/api/v2/people/nobody"}}}
        assert v2.post(attendances, json=unknown).status_code == 400
        strict = clients["strict", "v2"]
        made = strict.post("/events", json={"title": "A", "origin_system": "B"}).json()
        known = strict.get("/people").json()["_embedded"]["osdi:people"][0]
        links["_links"]["osdi:person"]["href"] = f"{host}/api/v2/people/{event_id(known)}"
        assert strict.post(f"/events/{event_id(made)}/attendances", json=links).status_code == 400
