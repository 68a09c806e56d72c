"""Whatever a service does without end, a request and a pull end, and say why."""

from __future__ import annotations

import itertools
import json
import os
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osdi_frames import Client
from osdi_frames.client import transport
from osdi_frames.client.answers import retry_after
from osdi_frames.errors import IncompletePull, ServiceError, ServiceTimeout, ServiceWarning
from tests.clocks import Clock

from .hostile import listening, number_of, page_of, speaking

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/hal+json\r\n"


def bytes_one_by_one() -> Iterator[bytes]:
    yield OK + b"Content-Length: 1000000\r\n\r\n"
    while True:
        time.sleep(0.001)
        yield b" "


def headers_without_end() -> Iterator[bytes]:
    yield OK
    for number in itertools.count():
        time.sleep(0.001)
        yield b"X-%d: 1\r\n" % number


def one_header_without_end() -> Iterator[bytes]:
    yield OK + b"X: "
    while True:
        time.sleep(0.001)
        yield b"x"


def continues_without_end() -> Iterator[bytes]:
    while True:
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 100
        time.sleep(0.001)


def empty_chunks_slowly() -> Iterator[bytes]:
    yield OK + b"Transfer-Encoding: chunked\r\n\r\n"
    while True:
        time.sleep(0.001)
        yield b"1\r\n \r\n"


def gzip_of_nothing() -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    begun = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    yield OK + b"Content-Encoding: gzip\r\nContent-Length: 99999999999\r\n\r\n" + begun
    while True:
        yield b"\0\0\0\xff\xff" * 1000  # blocks of no bytes


ENDLESS = [
    bytes_one_by_one, headers_without_end, one_header_without_end, continues_without_end, empty_chunks_slowly,
    gzip_of_nothing,
]  # fmt: skip


def reads_the_time(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float]) -> None:
    """Let the deadlines of requests go by a clock."""
    monkeypatch.setattr(transport._loop(os.getpid()), "time", clock)


@pytest.mark.parametrize("pieces", ENDLESS)
def test_an_answer_without_end_is_a_timeout_at_the_deadline_and_is_not_asked_for_again(pieces, monkeypatch):
    asked = []
    reads_the_time(monkeypatch, itertools.count().__next__)  # whoever waits sees a second pass

    def write(connection: socket.socket, head: bytes) -> None:
        asked.append(head)
        for piece in pieces():
            connection.sendall(piece)

    with (
        speaking(write) as url,
        Client(url, "key", rate=None, timeout=10**6, deadline=30, backoff=0.01) as client,
        pytest.raises(ServiceTimeout, match="no whole answer within 30 s, the deadline"),
    ):
        client.events()
    # Pages are not read at once before the first one came.
    assert len(asked) == 1


def test_the_deadline_is_of_each_request_and_not_of_a_connection_or_a_pull(monkeypatch):
    def page(path: str) -> tuple[int, dict[str, str], bytes]:
        clock.advance(50)
        return page_of(path, total_pages=8, total_records=8)

    clock = Clock()
    reads_the_time(monkeypatch, clock.seconds)
    settings = {"rate": None, "workers": 1, "timeout": 10**6, "deadline": 120}
    with listening(page) as good, Client(good.base_url, "key", **settings) as client:
        assert len(client.events()) == 8


# -- collections without end --


def endless(**totals: Any) -> Any:
    def page(path: str) -> tuple[int, dict[str, str], bytes]:
        return page_of(path, **{name: value(number_of(path)) for name, value in totals.items()})

    return page


GROWING: dict[str, dict[str, Any]] = {
    "next without end": {},
    "totals that grow": {"total_pages": lambda number: number + 50, "total_records": lambda n: n + 50},
    "an absurd total": {"total_pages": lambda _: 10**8, "total_records": lambda _: 10**8},
}


def test_a_collection_without_end_is_read_to_the_limit_and_is_not_complete(tmp_path):
    for number, (name, totals) in enumerate(GROWING.items()):
        folder = tmp_path / str(number)
        with (
            listening(endless(**totals)) as good,
            Client(good.base_url, "key", rate=None, max_pages=40) as client,
        ):
            manifest = client.pull(folder, campaigns=())
            assert not manifest.complete
            assert "stopped at 40 pages (max_pages)" in manifest.why, name
            asked = len(good.asked)
            assert asked <= 41
            assert manifest.collections[0].distinct_ids == 40
            # Called again, it asks for nothing more, and says the same.
            assert "stopped at 40 pages (max_pages)" in client.pull(folder, campaigns=()).why
            assert len(good.asked) == asked
            with pytest.raises(IncompletePull, match="max_pages"):
                client.events()
            with pytest.raises(IncompletePull, match="max_pages"):
                list(client.pages())
    with pytest.raises(ValueError, match="max_pages"):
        Client(good.base_url, "key", max_pages=0)


def test_what_a_list_without_end_leads_to_is_not_asked_for(tmp_path):
    with listening(endless()) as good, Client(good.base_url, "key", rate=None, max_pages=40) as client:
        manifest = client.pull(tmp_path)
        assert manifest.requests == len(good.asked) == 80
    assert "event_campaigns/{id}/events: not read: event_campaigns go on after max_pages" in manifest.why


def repeating(*, last: int = 1, ids: bool = True, numbered: bool = False, **totals: int) -> Any:
    """Answer with the page `last` whatever later one is asked for."""

    def page(path: str) -> tuple[int, dict[str, str], bytes]:
        if urlsplit(path).path.endswith("/event_campaigns"):
            return page_of("", total_pages=1, total_records=1)
        status, headers, content = page_of(f"?page={min(number_of(path), last)}", **totals)
        body = json.loads(content)
        if not numbered:
            del body["page"]
        if not ids:
            del body["_embedded"]["osdi:events"][0]["identifiers"]
        return status, headers, json.dumps(body).encode()

    return page


STANDING: dict[str, dict[str, Any]] = {
    "the first page": {},
    "the first page, which says so": {"numbered": True},
    "the last page": {"last": 3},
    "the last page, which says so": {"last": 3, "numbered": True},
    "a page of rows without ids": {"ids": False},
    "a page of many": {"total_pages": 20_000, "total_records": 20_000},
    "a page of many, which says so": {"total_pages": 20_000, "total_records": 20_000, "numbered": True},
    "a page of many records": {"total_records": 20_000},
}


def test_pages_that_do_not_advance_prove_nothing_and_end(tmp_path):
    for number, (name, answered) in enumerate(STANDING.items()):
        last, folder = answered.get("last", 1), tmp_path / str(number)
        said = f"page {last + 1} has the rows of page {last} again: the service may"
        with listening(repeating(**answered)) as good, Client(good.base_url, "key", rate=None) as client:
            with pytest.warns(ServiceWarning, match=f"^events: {said} ignore page=, and nothing shows that"):
                manifest = client.pull(folder, campaigns=())
            assert len(good.asked) < 40, name
            assert not manifest.complete
            assert said in manifest.why
            assert "complete: no" in str(manifest)
            with pytest.warns(ServiceWarning, match=said):
                assert not client.pull(folder, campaigns=()).complete
            with pytest.raises(IncompletePull, match=said):
                client.events()
            with pytest.raises(IncompletePull, match=said):
                list(client.pages())
            assert len(good.asked) < 200


def test_a_page_that_is_all_is_complete_though_later_ones_would_repeat_it(tmp_path):
    answers = repeating(total_records=1, total_pages=1)
    with listening(answers) as good, Client(good.base_url, "key", rate=None) as client:
        assert client.pull(tmp_path, campaigns=()).complete


def test_a_collection_that_grows_faster_than_it_is_read_says_so(tmp_path):
    totals = {"total_pages": lambda number: 2 * number + 3, "total_records": lambda number: 2 * number + 3}
    growing = endless(**totals)

    def page(path: str) -> tuple[int, dict[str, str], bytes]:
        if urlsplit(path).path.endswith("/event_campaigns"):
            return page_of("", total_pages=1, total_records=1)
        return growing(path)

    with listening(page) as good, Client(good.base_url, "key", rate=None) as client:
        manifest = client.pull(tmp_path)
    assert not manifest.complete
    for collection in ("events", "event_campaigns/1/events"):
        assert f"{collection}: it grew faster than it was read" in manifest.why


# -- Retry-After --

DATES = [
    "Thu, 32 Jan 2026 00:00:00 GMT", "Thu, 01 Jan 99999 00:00:00 GMT", "Thu, 01 Jan 0000 00:00:00 GMT",
    "Thu, 01 Jan 2026 99:99:99 GMT", "Thu, 01 Jan 2026 00:00:00 +99999999999999999999", "Mon, 01 Jan",
    "Fri, 31 Dec 9999 23:59:59 -2359", "31 Feb 2026 00:00:00 +2500", ", ", "-1", "1e9", "1 Jan 2026 0:0:0 -0000",
]  # fmt: skip


def test_a_retry_after_with_an_impossible_date_leaves_the_waiting_to_the_backoff():
    page = page_of("", total_pages=1, total_records=1)
    answers: list[tuple[int, dict[str, str], bytes]] = []
    with (
        listening(lambda _: answers.pop(0)) as good,
        Client(good.base_url, "key", rate=None, backoff=0.001) as client,
    ):
        for date in DATES:
            answers[:] = [(503, {"Retry-After": date}, b""), page]
            if "9999 23:59:59" in date:  # a date that exists, and is too far away to wait for
                with pytest.raises(ServiceError, match="503"):
                    next(client.pages())
            else:
                assert next(client.pages())["total_records"] == 1


@settings(max_examples=25)
@given(
    st.text() | st.from_regex(r"\w{3}, \d{1,3} (Jan|Feb) \d{1,6} \d{1,3}:\d\d:\d\d ([+-]\d{1,25}|GMT|EST)")
)
def test_no_retry_after_is_a_traceback(header):
    seconds = retry_after(header, now=NOW)
    assert seconds is None or seconds >= 0
