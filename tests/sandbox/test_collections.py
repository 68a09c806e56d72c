"""Collections: envelope, pages, filters, campaigns (interface 2.6, 4, 8)."""

from __future__ import annotations

import math

import pytest

from .conftest import event_id
from .schemas import assert_valid, collection, event_v1, event_v2


@pytest.fixture
def filled(running, person):
    """Make a caller with 52 events, titled by their age: 0 is the oldest."""
    bodies = [{"title": str(number), "origin_system": "Tests"} for number in range(52)]
    running.admin("POST", "events", account=person.account, events=bodies)
    return person


def pages(client, path="/events"):
    """Follow `next` to the end."""
    page = client.get(path).raise_for_status().json()
    yield page
    while "next" in page["_links"]:
        page = client.get(page["_links"]["next"]["href"]).raise_for_status().json()
        yield page


@pytest.mark.contract(
    "2.6 total_pages, per_page, page, total_records, _links.next, _links.self, _links.osdi:events",
    "2.6 _links.curies, _embedded.osdi:events, an individual event",
    "4 GET events",
    "8 25 a page",
)
def test_the_pages_hold_every_event_once_newest_first(running, filled):
    """Interface 2.6: next is `<collection_url>?page=<n>` where a page is left; the links are those of the page."""
    for version, client, title, item, base in (
        ("v2", filled.v2, "title", event_v2(), running.base_url),
        ("v1", filled.v1, "summary", event_v1(), running.base_url_v1),
    ):
        read, here = list(pages(client)), f"{base}/events"
        assert [page["_links"].get("next") for page in read] == [
            *({"href": f"{here}?page={number}"} for number in (2, 3)),
            None,
        ]
        for number, (page, size) in enumerate(zip(read, (25, 25, 2), strict=True), 1):
            assert_valid(page, collection("osdi:events", item, version=version))
            assert (page["page"], page["total_pages"], page["per_page"]) == (number, 3, 25)
            events, links = page["_embedded"]["osdi:events"], page["_links"]
            assert (page["total_records"], len(events)) == (52, size)
            assert links["self"] == {"href": here}
            assert links["osdi:events"] == [event["_links"]["self"] for event in events]
            assert [curie["name"] for curie in links["curies"]] == ["osdi", "platform"]
        titles = [event[title] for page in read for event in page["_embedded"]["osdi:events"]]
        assert titles == [str(number) for number in reversed(range(52))]
        first = read[0]["_embedded"]["osdi:events"][0]
        for slash in ("", "/"):  # is also used
            assert client.get(f"/events{slash}").json() == read[0]
            assert client.get(f"/events/{event_id(first)}{slash}").json() == first
        assert "curies" in first["_links"]


@pytest.mark.contract("4 page")
def test_a_page_past_the_end_is_empty_and_an_impossible_one_refused(filled):
    """Interface 2.6: with totals, without next; 4: paging is by the query parameter page, a page number."""
    for page in (4, 10**6, 10**30, "9" * 5000):
        answer = filled.v2.get("/events", params={"page": page}).raise_for_status().json()
        assert (answer["_embedded"]["osdi:events"], answer["total_records"]) == ([], 52)
        assert "next" not in answer["_links"]
    for page in ("0", "00", "x", "-1", "1.5", "", "²", "1 "):
        refused = filled.v2.get("/events", params={"page": page})
        assert refused.status_code == 400
        assert refused.json()["error"].startswith("page must be a number from 1 on")


def test_an_empty_collection_has_one_empty_page(person):
    """Interface 2.6: totals of nothing."""
    page = person.v2.get("/events").json()
    assert (page["total_pages"], page["total_records"], page["page"]) == (0, 0, 1)
    assert_valid(page, collection("osdi:events", event_v2()))


@pytest.mark.contract("4 GET event_campaigns/<event_campaign_id>/events")
def test_a_campaign_has_the_events_of_it_even_those_that_no_other_collection_shows(running, person):
    """Interface 4: GET {base_url}/event_campaigns/<event_campaign_id>/events."""
    campaign = running.admin("POST", "campaigns", title="Spring", account=person.account)["id"]
    inside = {"origin_system": "Tests", "platform:event_campaign_id": campaign}
    bodies = [{"title": "listed", **inside}, {"title": "only here", "listed": False, **inside}]
    bodies.append({"title": "out", "origin_system": "x"})
    running.admin("POST", "events", account=person.account, events=bodies)
    for client, name in ((person.v2, "title"), (person.v1, "summary")):
        path, found = f"/event_campaigns/{campaign}/events", {}
        for address in (path, "/events"):
            page = client.get(address).json()
            assert page["_links"]["self"]["href"].endswith(address)
            found[address] = [event[name] for event in page["_embedded"]["osdi:events"]]
        assert found == {path: ["only here", "listed"], "/events": ["out", "listed"]}


@pytest.fixture
def dated(person):
    for day in (1, 2, 3):
        person.create(title=f"it's {day}", origin_system="CRM", start_date=f"2026-05-0{day}T10:00:00Z")
    return person


@pytest.mark.contract("4 other query parameters")
def test_a_filter_chooses_events(dated):
    """Interface 4: query parameters other than page are not shown; the small OData subset of deployments."""
    for text, found in (
        ("title eq 'it''s 2'", ["it's 2"]),
        ("start_date gt '2026-05-01T10:00:00Z'", ["it's 3", "it's 2"]),
        ("start_date gt '2026-05-01' and start_date lt '2026-05-03'", ["it's 2", "it's 1"]),
        ("modified_date gt '2020-01-01'", ["it's 3", "it's 2", "it's 1"]),
        ("modified_date lt '2020-01-01T00:00:00+02:00'", []),
        ("origin_system eq 'CRM' and title gt 'it''s 1'", ["it's 3", "it's 2"]),
    ):
        page = dated.v2.get("/events", params={"filter": text}).json()
        assert [event["title"] for event in page["_embedded"]["osdi:events"]] == found
        assert page["total_records"] == len(found)


def test_a_filter_has_the_names_of_its_version(dated):
    """Interface 9: summary, start, modified_at in v1."""
    text = "summary eq 'it''s 1' and modified_at gt '2020-01-01'"
    page = dated.v1.get("/events", params={"filter": text}).json()
    assert [event["summary"] for event in page["_embedded"]["osdi:events"]] == ["it's 1"]
    assert dated.v1.get("/events", params={"filter": "title eq 'x'"}).status_code == 400


def test_any_other_filter_is_refused_with_an_example(dated):
    """Interface 4: a clear 400."""
    for text in (
        "",
        "title",
        "title eq x",
        "title ne 'x'",
        "title eq 'x' or title eq 'y'",
        "title eq 'x' andtitle eq 'y'",
        "title eq 'x' and",
        "description eq 'x'",
        "modified_date gt 'yesterday'",
        "modified_date gt '0001-01-01T00:00:00+14:00'",
        "title eq 'x'; DROP TABLE event",
    ):
        answer = dated.v2.get("/events", params={"filter": text})
        assert answer.status_code == 400
        assert "modified_date gt '2026-01-01'" in answer.json()["error"]


def test_next_keeps_the_filter(filled):
    """Interface 2.6 _links.next: leads to the next page of what was asked for."""
    path = "/events?filter=" + "origin_system eq 'Tests' and title lt '9'"
    read = list(pages(filled.v2, path))
    titles = [event["title"] for page in read for event in page["_embedded"]["osdi:events"]]
    assert len(read) == math.ceil(len(titles) / 25) > 1
    assert set(titles) == {str(number) for number in range(52)} - {"9"}
