"""Whatever an authenticated sender sends: no 5xx, and every byte is found again."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osdi_frames.receiver import ReceiverLimits
from osdi_frames.receiver.validation import validate_body

from .process import Receiver, quarantined, stored
from .sender import Connection, delivery, request

DELIVERIES = {
    "a signature": delivery(1),
    "nothing": b"[]",
    "empty objects": b"[{},{}]",
    "white space around": b" \t\r\n[ {} ]\r\n",
    "pretty-printed": json.dumps([{"a": [1, {"b": None}]}], indent=2).encode(),
    "lone surrogate": rb'[{"a":"\ud800"}]',
    "NUL escaped": rb'[{"a":"\u0000"}]',
    "repeated key": b'[{"a":1,"a":2}]',
    "line separators": '[{"a":"\u2028\u2029\x85"}]'.encode(),
    "minus zero": b'[{"a":-0,"b":1e-999}]',
    "nested 99 deep": b'[{"a":' + b"[" * 97 + b"]" * 97 + b"}]",
    "brackets in text": b'[{"a":"' + b"[{" * 1000 + rb"\"[" + b'"}]',
    "byte order mark": b"\xef\xbb\xbf[{}]",
    "an element without its array": b' {"osdi:signature":{},\n"idempotency_key":"a"}',
    "both": b'\xef\xbb\xbf{"osdi:signature":{}}',
    "many elements": b"[" + b",".join([b'{"a":{}}'] * 500) + b"]",
}
QUARANTINED = {
    "empty": (b"", "not JSON"),
    "no array": (b'{"title":"March"}', "not an array"),
    "an object and more": (b'{"osdi:signature":{}},{}', "not an array"),
    "array of text": (b'["a"]', "not an array of objects"),
    "null": (b"null", "not an array"),
    "NaN": (b'[{"a":NaN}]', "not JSON"),
    "Infinity": (b'[{"a":-Infinity}]', "not JSON"),
    "1e999": (b'[{"a":1e999}]', "a number too large"),
    "5,000 digits": (b'[{"a":' + b"9" * 5000 + b"}]", "a number too large"),
    "100,000 brackets": (b"[" * 100_000, "nested too deep"),
    "100,000 objects": (b'{"a":' * 100_000, "nested too deep"),
    "nested 101 deep": (b'[{"a":' + b"[" * 99 + b"]" * 99 + b"}]", "nested too deep"),
    "text that never ends": (b'["' + b'\\"[' * 100_000, "not JSON"),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbf[{}]", "not JSON"),
    "UTF-16": ("[{}]".encode("utf-16"), "not UTF-8"),
    "UTF-16 without mark": ("[{}]".encode("utf-16-le"), "not JSON"),
    "bad UTF-8": (b'[{"a":"\xff"}]', "not UTF-8"),
    "surrogate in UTF-8": (b'[{"a":"\xed\xa0\x80"}]', "not UTF-8"),
    "NUL": (b'[{"a":"\0"}]', "not JSON"),
    "line break in text": (b'[{"a":"\n"}]', "not JSON"),
    "trailing text": (b"[{}] and more", "not JSON"),
    "two documents": (b"[{}][{}]", "not JSON"),
    "form": (b"email=ann%40example.org", "not JSON"),
}


def test_an_array_of_objects_is_a_delivery():
    for body in DELIVERIES.values():
        assert validate_body(body) is None


def test_anything_else_goes_to_quarantine_with_the_reason():
    for body, reason in QUARANTINED.values():
        assert validate_body(body) == reason


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with Receiver(tmp_path_factory.mktemp("bodies") / "archive", segment_bytes=200_000) as running:
        yield running


async def _answers(port: int, bodies: list[bytes]) -> list[int]:
    connection = await Connection.to(port)
    answers = [await connection.send(request(body)) for body in bodies]
    connection.close()
    return answers


def test_every_kind_of_body_is_answered_200_and_found_again_where_it_belongs(receiver):
    set_aside = [body for body, _ in QUARANTINED.values()]
    bodies = [*DELIVERIES.values(), *set_aside]
    deliveries, others = stored(receiver.archive), quarantined(receiver.archive)
    assert asyncio.run(_answers(receiver.port, bodies)) == [200] * len(bodies)
    assert stored(receiver.archive) - deliveries == Counter(DELIVERIES.values())
    assert quarantined(receiver.archive) - others == Counter(set_aside)


DENSE = {
    "a million empty objects": b"[" + b",".join([b"{}"] * 1_000_000) + b"]",
    "a million with spaces": b"[" + b" , ".join([b"{}"] * 1_000_000) + b"]",
    "a million numbers": b"[" + b",".join([b"1"] * 1_000_000) + b"]",
    "a million empty lists in one": b'[{"a":[' + b",".join([b"[]"] * 1_000_000) + b"]}]",
    "half a million objects of one key": b"[" + b",".join([b'{"a":{}}'] * 500_000) + b"]",
    "two million lists, 90 deep": b"[" + b",".join([b'{"a":' + b"[" * 90 + b"]" * 90 + b"}"] * 25_000) + b"]",
}


def test_a_body_of_very_many_values_is_answered(receiver):
    for body in DENSE.values():
        assert asyncio.run(_answers(receiver.port, [body])) == [200]


@pytest.mark.long
@pytest.mark.parametrize("body", DENSE.values(), ids=DENSE.keys())
def test_a_body_of_very_many_values_is_answered_in_time_and_so_are_others_meanwhile(tmp_path, body):
    async def dense_and_small(port: int) -> list[tuple[int, float]]:
        connections = [await Connection.to(port) for _ in range(2)]

        async def one(connection: Connection, sent: bytes) -> tuple[int, float]:
            began = time.monotonic()
            return await connection.send(sent), time.monotonic() - began

        answers = await asyncio.gather(*map(one, connections, [request(body), request(delivery(2))]))
        for connection in connections:
            connection.close()
        return answers

    with Receiver(tmp_path / "archive", answer_seconds=ReceiverLimits().answer_seconds) as receiver:
        (status, seconds), (small, small_seconds) = asyncio.run(dense_and_small(receiver.port))
    print(f"{status} after {seconds:.3f} s, meanwhile {small} after {small_seconds:.3f} s")
    assert (status in (200, 503), small) == (True, 200)
    assert max(seconds, small_seconds) < 0.5


def _mutated() -> st.SearchStrategy[bytes]:
    """Replace a few bytes of a delivery, or cut it."""
    whole = st.sampled_from([body for body in DELIVERIES.values() if len(body) < 2000])
    return st.builds(
        lambda body, at, new: body[: at % (len(body) + 1)] + new + body[at % (len(body) + 1) + len(new) :],
        whole, st.integers(0, 10_000), st.binary(max_size=3),
    )  # fmt: skip


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
bodies = st.lists(
    st.one_of(
        st.binary(max_size=300),
        values.map(lambda value: json.dumps(value).encode()),
        st.lists(st.dictionaries(st.text(), values, max_size=3), max_size=3).map(
            lambda made: json.dumps(made, indent=len(made) or None).encode()
        ),
        _mutated(),
        st.sampled_from([body for body, _ in QUARANTINED.values() if len(body) < 1000]),
    ),
    min_size=20,
    max_size=20,
)


def _post(receiver: Receiver, *, examples: int) -> None:
    before = stored(receiver.archive) + quarantined(receiver.archive)
    sent: Counter[bytes] = Counter()

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(bodies)
    def post(made: list[bytes]) -> None:
        assert asyncio.run(_answers(receiver.port, made)) == [200] * len(made)
        sent.update(made)

    post()
    assert sent.total() >= 20 * examples
    assert stored(receiver.archive) + quarantined(receiver.archive) - before == sent
    assert all(validate_body(body) is None for body in stored(receiver.archive))


def test_100_made_bodies_are_answered_200_and_every_byte_is_found_again(receiver):
    _post(receiver, examples=5)


@pytest.mark.long
def test_2000_made_bodies_are_answered_200_and_every_byte_is_found_again(receiver):
    _post(receiver, examples=100)
