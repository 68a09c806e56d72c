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


@pytest.mark.contract("2.6 total_pages, per_page, page, total_records, _embedded.osdi:events", "8 25 a page")
def test_the_pages_hold_every_event_once_newest_first(filled):
    for version in ("v2", "v1"):
        client, title = (filled.v2, "title") if version == "v2" else (filled.v1, "summary")
        read = list(pages(client))
        assert [page["page"] for page in read] == [1, 2, 3]
        assert [len(page["_embedded"]["osdi:events"]) for page in read] == [25, 25, 2]
        for page in read:
            assert (page["total_pages"], page["per_page"], page["total_records"]) == (3, 25, 52)
            assert_valid(
                page,
                collection("osdi:events", event_v2() if version == "v2" else event_v1(), version=version),
            )
        titles = [event[title] for page in read for event in page["_embedded"]["osdi:events"]]
        assert titles == [str(number) for number in reversed(range(52))]


@pytest.mark.contract("2.6 _links.self, _links.osdi:events, _links.curies")
def test_links_of_a_page_are_self_the_events_and_curies(running, filled):
    """Interface 2.6 _links.self, _links.osdi:events, _links.curies; the event links are those of the page."""
    page = filled.v2.get("/events?page=2").json()
    assert page["_links"]["self"] == {"href": f"{running.base_url}/events"}
    own = [event["_links"]["self"] for event in page["_embedded"]["osdi:events"]]
    assert page["_links"]["osdi:events"] == own
    assert [curie["name"] for curie in page["_links"]["curies"]] == ["osdi", "platform"]


@pytest.mark.contract("2.6 _links.next")
def test_next_is_the_collection_with_the_next_page(running, filled):
    """Interface 2.6 _links.next: `<collection_url>?page=<n>`, present when a next page exists."""
    assert filled.v2.get("/events").json()["_links"]["next"] == {"href": f"{running.base_url}/events?page=2"}
    assert "next" not in filled.v2.get("/events?page=3").json()["_links"]


def test_a_page_past_the_end_is_empty(filled):
    """Interface 2.6: an empty page, with totals, without next."""
    for page in (4, 10**6, 10**30):
        answer = filled.v2.get("/events", params={"page": page})
        assert answer.status_code == 200
        assert answer.json()["_embedded"]["osdi:events"] == []
        assert answer.json()["total_records"] == 52
        assert "next" not in answer.json()["_links"]


@pytest.mark.contract("4 page")
def test_an_impossible_page_is_refused_clearly(filled):
    """Interface 4: paging is by the query parameter page, a page number."""
    for page in ("0", "00", "x", "-1", "1.5", "", "²", "1 ", "9" * 5000):
        answer = filled.v2.get("/events", params={"page": page})
        if page.startswith("9"):
            assert answer.json()["_embedded"]["osdi:events"] == []
        else:
            assert answer.status_code == 400
            assert answer.json()["error"].startswith("page must be a number from 1 on")


def test_an_empty_collection_has_one_empty_page(person):
    """Interface 2.6: totals of nothing."""
    page = person.v2.get("/events").json()
    assert (page["total_pages"], page["total_records"], page["page"]) == (0, 0, 1)
    assert_valid(page, collection("osdi:events", event_v2()))


@pytest.mark.contract("4 GET events")
def test_a_trailing_slash_is_the_same_address(filled):
    """Interface 4: GET {base_url}/events, a trailing slash is also used."""
    assert filled.v2.get("/events/").json() == filled.v2.get("/events").json()
    first = event_id(filled.v2.get("/events").json()["_embedded"]["osdi:events"][0])
    assert filled.v2.get(f"/events/{first}/").json() == filled.v2.get(f"/events/{first}").json()


@pytest.mark.contract("2.6 an individual event")
def test_one_event_is_the_same_alone_and_in_its_collection(filled):
    """Interface 2.6: an individual event is returned directly, with curies."""
    listed = filled.v2.get("/events").json()["_embedded"]["osdi:events"][0]
    alone = filled.v2.get(f"/events/{event_id(listed)}").json()
    assert alone == listed
    assert "curies" in alone["_links"]


@pytest.mark.contract("4 GET event_campaigns/<event_campaign_id>/events")
def test_a_campaign_has_the_events_of_it_even_those_that_no_other_collection_shows(running, person):
    """Interface 4: GET {base_url}/event_campaigns/<event_campaign_id>/events."""
    campaign = running.admin("POST", "campaigns", title="Spring", account=person.account)["id"]
    inside = {"origin_system": "Tests", "platform:event_campaign_id": campaign}
    bodies = [{"title": "listed", **inside}, {"title": "only here", "listed": False, **inside}]
    running.admin(
        "POST", "events", account=person.account, events=[*bodies, {"title": "out", "origin_system": "x"}]
    )
    for client, name in ((person.v2, "title"), (person.v1, "summary")):
        page = client.get(f"/event_campaigns/{campaign}/events").json()
        assert [event[name] for event in page["_embedded"]["osdi:events"]] == ["only here", "listed"]
        assert page["_links"]["self"]["href"].endswith(f"/event_campaigns/{campaign}/events")
        assert [event[name] for event in client.get("/events").json()["_embedded"]["osdi:events"]] == [
            "out",
            "listed",
        ]


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
    page = dated.v1.get(
        "/events", params={"filter": "summary eq 'it''s 1' and modified_at gt '2020-01-01'"}
    ).json()
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
