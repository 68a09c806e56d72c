"""What the service answers is read within limits, and what is no resource is an error with its words."""

from __future__ import annotations

import gzip
import json

import pytest

from osdi_frames.client import transport
from osdi_frames.errors import BadAnswer, PageTooLarge, ServiceError, ServiceUnreachable

from .hostile import listening
from .test_key import PAGE, client_of


def zeros(size: int) -> bytes:
    return gzip.compress(b'{"page": 1, "filler": "' + b"0" * size + b'"}')


def test_a_page_over_the_largest_size_is_refused_while_it_is_read(monkeypatch):
    monkeypatch.setattr(transport, "LARGEST", 1 << 20)
    answers = {"/api/v2/bomb": zeros(80 << 20), "/api/v2/large": zeros((1 << 20) - 99)}
    with (
        listening(lambda path: (200, {"Content-Encoding": "gzip"}, answers[path])) as good,
        client_of(good.base_url) as client,
    ):
        with pytest.raises(PageTooLarge, match="larger than 1 MiB"):
            next(client.pages("bomb"))
        assert len(good.asked) == 1
        assert len(next(client.pages("large"))["filler"]) == (1 << 20) - 99


NOT_RESOURCES = [
    (b"<html><title>x</title><p>Down for\n<b>maintenance</b></html>", "no JSON: x Down for maintenance"),
    *((body, "no JSON") for body in (b'{"page": 1', b"", b'{"page": NaN}', b"\xff\xfe{}", b"[" * 100_000)),
    (b"{}", "an empty object"),
    (b"[]", "no JSON object"),
    (b'{"error": "no such thing"}', "an error: no such thing"),
]


def test_what_is_no_resource_is_an_error_with_status_address_and_words():
    bodies: list[bytes] = []
    with (
        listening(lambda _: (200, {"Content-Encoding": "br"}, bodies[-1])) as good,
        client_of(good.base_url, retries=0) as client,
    ):
        for body, what in NOT_RESOURCES:
            bodies.append(body)
            with pytest.raises(BadAnswer, match=what) as caught:
                client.events(filter="title eq 'x'")
            assert caught.value.status == 200
            assert caught.value.address == f"{good.base_url}/events?filter"
            assert len(str(caught.value)) < 500


def test_a_compressed_answer_that_breaks_off_is_asked_for_again():
    whole = gzip.compress(json.dumps(PAGE | {"total_pages": 1, "total_records": 0}).encode())
    bodies = [whole[:-9], whole]
    with (
        listening(lambda _: (200, {"Content-Encoding": "gzip"}, bodies.pop(0))) as good,
        client_of(good.base_url) as client,
    ):
        assert len(client.events()) == 0
        assert len(good.asked) == 2


def test_bytes_behind_a_compressed_answer_are_not_read_without_end():
    whole = gzip.compress(json.dumps(PAGE | {"total_pages": 1, "total_records": 0}).encode())
    with (
        listening(lambda _: (200, {"Content-Encoding": "gzip"}, whole + bytes(64 << 20))) as good,
        client_of(good.base_url, retries=0) as client,
        pytest.raises(ServiceUnreachable, match="bytes follow the compressed answer"),
    ):
        client.events()


def test_words_of_the_service_cannot_command_a_terminal():
    words = json.dumps({"error": "\x1b[31mred\r\n" + "long " * 200}).encode()
    with listening(lambda _: (400, {}, words)) as good, client_of(good.base_url) as client:
        with pytest.raises(ServiceError) as caught:
            client.events()
        assert str(caught.value).isprintable()
        assert len(caught.value.words) <= 201
