"""Injected faults: each does what it says, where and as often as it is to (issue of the sandbox, item 7)."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest

from osdi_frames.errors import RequestRefused
from osdi_frames.sandbox.faults import FAULTS
from tests.clocks import wait_for

from .conftest import event_id


@pytest.fixture
def pull(alone, callers):
    """Make a caller with 12 events on three pages of five; titles are their age."""
    caller = callers("person:sandbox-person", at=alone)
    bodies = [{"title": str(number), "origin_system": "Tests"} for number in range(12)]
    alone.admin("POST", "events", events=bodies)
    return caller


def titles(answer):
    return [
        int(event["title"]) for event in answer.json()["_embedded"]["osdi:events"] if event["title"].isdigit()
    ]


def test_every_fault_has_a_test():
    """The table of faults has no row that nothing here orders."""
    source = Path(__file__).read_text(encoding="utf-8")
    assert not [fault.name for fault in FAULTS if f'"{fault.name}"' not in source]


# requests


def test_rate_limit_answers_429_above_so_many_calls_and_lets_through_again(clocked, clock, callers):
    caller = callers("group:sandbox", at=clocked)
    clocked.inject("rate_limit", calls=2, per=60, retry_after=1)
    answers = [caller.v2.get("/events") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["Retry-After"] == "1"
    clock.advance(59)
    assert caller.v2.get("/events").status_code == 429
    clock.advance(1)
    assert caller.v2.get("/events").status_code == 200


def test_latency_grows_with_depth(alone, pull, sleeping):
    alone.inject("latency", seconds=0.05, per_page=0.1)
    sleeping.wake()
    for page in (1, 3):
        pull.v2.get(f"/events?page={page}")
    assert sleeping.seconds == [0.05, 0.25]


def test_status_answers_an_error_instead_and_does_nothing(alone, pull):
    for status in (500, 503, 404):
        alone.clear_faults()
        alone.inject("status", status=status, retry_after=7, method="POST")
        answer = pull.v2.post("/events", json={"title": "A", "origin_system": "B"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (status, "7")
        assert pull.v2.get("/events").json()["total_records"] == 12


def test_html_error_answers_html(alone, pull):
    alone.inject("html_error", status=404, path="/events/")
    answer = pull.v2.get("/events/unknown")
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")


def test_drop_closes_the_connection_without_a_byte(alone, pull):
    alone.inject("drop", page=2)
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        pull.v2.get("/events?page=2")
    assert pull.v2.get("/events?page=1").status_code == 200


def test_a_dropped_post_was_done(alone, pull):
    alone.inject("drop", method="POST")
    with pytest.raises(httpx.RemoteProtocolError):
        pull.v2.post("/events", json={"title": "99", "origin_system": "B"})
    assert titles(pull.v2.get("/events"))[0] == 99


def test_half_body_breaks_off(alone, pull):
    alone.inject("half_body", page=2)
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        pull.v2.get("/events?page=2")


def test_insert_rows_pushes_rows_to_later_pages(alone, pull):
    alone.inject("insert_rows", count=2, page=2)
    assert titles(pull.v2.get("/events")) == [11, 10, 9, 8, 7]
    assert titles(pull.v2.get("/events?page=2")) == [8, 7, 6, 5, 4]
    assert pull.v2.get("/events").json()["total_records"] == 14


def test_move_row_lets_a_reader_miss_one(alone, pull):
    alone.inject("move_row", page=3)
    read = [number for page in (1, 2, 3) for number in titles(pull.v2.get(f"/events?page={page}"))]
    assert len(read) == 12
    assert set(range(12)) - set(read) == {0}
    assert len(set(read)) == 11


# pages


def test_faults_of_pages_change_next_totals_and_rows(alone, pull):
    """Each is injected alone; then a page is asked for, and has this `next`, these totals and these rows."""
    base, first, second = f"{alone.base_url}/events?page=", [11, 10, 9, 8, 7], [6, 5, 4, 3, 2]
    for fault, settings, page, following, rows in (
        ("next_on_last", {}, 2, f"{base}3", second),
        ("next_on_last", {}, 3, f"{base}4", [1, 0]),
        ("next_on_last", {}, 4, None, []),
        ("next_repeats", {"page": 2}, 2, f"{base}2", second),
        ("next_repeats", {"page": 2}, 1, f"{base}2", first),
        (
            "next_elsewhere",
            {"origin": "http://evil.example"},
            1,
            "http://evil.example/api/v2/events?page=2",
            first,
        ),
        ("next_missing", {}, 1, None, first),
        ("repeat_row", {"page": 2}, 1, f"{base}2", first),
        ("repeat_row", {"page": 2}, 2, f"{base}3", [7, *second]),
        ("repeat_row", {"page": 2, "instead": True}, 2, f"{base}3", [7, *second[1:]]),
        ("page_ignored", {}, 3, f"{base}2", first),
        ("row_twice", {"page": 1}, 1, f"{base}2", [11, *first]),
    ):
        alone.clear_faults()
        alone.inject(fault, **settings)
        answer = pull.v2.get(f"/events?page={page}")
        assert (fault, titles(answer)) == (fault, rows)
        assert (fault, answer.json()["_links"].get("next", {}).get("href")) == (fault, following)
        assert answer.json()["total_pages"] == 3
        assert answer.json()["page"] == (1 if fault == "page_ignored" else page)


def test_next_unescaped_has_raw_spaces_and_quotes(alone, pull):
    alone.inject("next_unescaped")
    answer = pull.v2.get("/events", params={"filter": "origin_system eq 'Tests'"})
    following = answer.json()["_links"]["next"]["href"]
    assert following == f"{alone.base_url}/events?page=2&filter=origin_system eq 'Tests'"


def test_totals_missing(alone, pull):
    alone.inject("totals_missing", nth=2)
    assert "total_pages" in pull.v2.get("/events").json()
    assert not {"total_pages", "total_records"} & pull.v2.get("/events").json().keys()


# webhooks


@pytest.fixture
def petition(alone, receiver):
    alone.admin("POST", "webhooks", url=receiver.url, uploads=True)
    return alone.admin("POST", "petitions", title="Clean water")["id"]


def upload(alone, petition, count):
    bodies = [{"comments": str(number), "person": {}} for number in range(count)]
    alone.admin("POST", "uploads", petition=petition, signatures=bodies)


def comments(receiver):
    return [element["osdi:signature"]["comments"] for element in receiver.elements()]


def test_webhook_retry_and_duplicate_send_a_message_again_and_overlap_another_one(alone, petition, receiver):
    expected = 0
    for fault, settings, sent, keys in (
        ("webhook_retry", {"times": 2}, 3, 1),
        ("webhook_duplicate", {}, 2, 1),
        ("webhook_overlap", {"copies": 3}, 3, 3),
    ):
        alone.clear_faults()
        alone.inject(fault, **settings)
        upload(alone, petition, 1)
        expected += sent
        wait_for(lambda: len(receiver.got) == expected)  # noqa: B023 (waited for here)
        assert comments(receiver)[-sent:] == ["0"] * sent
        assert len({element["idempotency_key"] for element in receiver.elements()[-sent:]}) == keys, fault
        assert len({request.body for request in receiver.got[-sent:]}) == keys, fault


def test_webhook_reorder_delivers_in_another_order(alone, petition, receiver):
    alone.inject("webhook_reorder", seconds=0.5, seed=1)
    upload(alone, petition, 20)
    wait_for(lambda: len(receiver.got) == 20)
    assert comments(receiver) != sorted(comments(receiver), key=int)
    assert sorted(comments(receiver), key=int) == [str(number) for number in range(20)]


def test_webhook_batch_puts_several_into_one_message(clocked, clock, receiver):
    clocked.admin("POST", "webhooks", url=receiver.url, uploads=True)
    petition = clocked.admin("POST", "petitions", title="Clean water")["id"]
    clocked.inject("webhook_batch", size=4, seconds=60)
    upload(clocked, petition, 10)
    assert receiver.got == []
    clock.advance(60)
    clocked.admin("GET", "")  # which wakes the deliveries
    wait_for(lambda: len(receiver.got) == 3)
    assert sorted(len(delivery) for delivery in receiver.deliveries()) == [2, 4, 4]
    for delivery in receiver.deliveries():
        assert len({element["idempotency_key"] for element in delivery}) == 1


# ordering


def test_a_fault_strikes_the_chosen_requests_only(alone, pull):
    alone.inject("status", page=[2, 3], times=2)
    alone.inject("status", nth=[1], path="/people/", method="GET", status=503)
    statuses = [pull.v2.get(f"/events?page={page}").status_code for page in (1, 2, 3, 2, 3)]
    assert statuses == [200, 500, 500, 200, 200]
    assert pull.v2.get("/people/sandbox-person").status_code == 503
    assert pull.v2.get("/people/sandbox-person").status_code == 200


def test_the_same_seed_strikes_the_same_requests(alone, pull):
    struck = []
    for _ in range(2):
        alone.clear_faults()
        alone.inject("status", probability=0.5, seed=11)
        struck.append([pull.v2.get("/events").status_code for _ in range(20)])
    assert struck[0] == struck[1]
    assert set(struck[0]) == {200, 500}


def test_orders_are_listed_with_their_count_and_taken_back_one_by_one(alone, pull):
    first = alone.inject("status", page=1)
    alone.inject("latency", seconds=0.001)
    pull.v2.get("/events")
    assert [(order["fault"], order["injected"]) for order in alone.admin("GET", "faults")["injections"]] == [
        ("status", 1),
        ("latency", 1),
    ]
    alone.admin("DELETE", f"faults/{first}")
    assert pull.v2.get("/events").status_code == 200
    alone.clear_faults()
    assert alone.admin("GET", "faults")["injections"] == []


def test_an_impossible_order_says_what_would_be_right(alone):
    for order, words in (
        ({"fault": "statis"}, "nearest: status"),
        ({"fault": "status", "pages": 1}, "nearest: page"),
        ({"fault": "status", "status": 200}, "status cannot be '200'"),
        ({"fault": "latency", "seconds": "long"}, "seconds cannot be 'long'"),
        ({"fault": "drop", "page": [1, "x"]}, "page cannot be"),
    ):
        with pytest.raises(RequestRefused, match=words):
            alone.inject(order.pop("fault"), **order)


def test_the_requests_are_listed_with_their_times_and_without_keys(clocked, clock, callers):
    caller = callers("group:sandbox", at=clocked)
    begun = clock.seconds()
    caller.v2.get("/events?page=2")
    clock.advance(7)
    caller.v1.get("/events", params={"filter": "summary eq 'secret'"})
    listed = clocked.requests()
    assert [(one["at"], one["method"], one["path"], one["page"], one["status"]) for one in listed] == [
        (begun, "GET", "/api/v2/events", 2, 200),
        (begun + 7, "GET", "/api/v1/events", 1, 200),
    ]
    assert caller.key not in str(listed)


def test_a_latency_holds_up_nobody_else(alone, pull, sleeping):
    alone.inject("latency", seconds=60, page=2)
    waiting = threading.Thread(target=pull.v2.get, args=("/events?page=2",))
    waiting.start()
    wait_for(lambda: sleeping.seconds == [60])
    alone.admin("GET", "")
    assert pull.v1.get("/events").status_code == 200
    assert waiting.is_alive()
    sleeping.wake()
    waiting.join()


def test_ids_stay_the_same_under_faults(alone, pull):
    """What a fault shows twice is the same event, links included."""
    alone.inject("row_twice")
    first, second, *_ = pull.v2.get("/events").json()["_embedded"]["osdi:events"]
    assert first == second
    assert pull.v2.get(f"/events/{event_id(first)}").json() == first
