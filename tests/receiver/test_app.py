from __future__ import annotations

import asyncio
import re
import socket
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from osdi_frames.receiver import ReceiverLimits, create_app
from osdi_frames.receiver.app import Tokens
from osdi_frames.receiver.envelope import Envelope
from osdi_frames.receiver.segments import seal_finished
from osdi_frames.receiver.worker import Worker
from tests.clocks import GUARD, wait_for

from .process import HTTP, Receiver, quarantined, stored, tracing
from .sender import TOKEN, Connection, delivery, request

LIMIT = 100_000


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    archive = tmp_path_factory.mktemp("receiver") / "archive"
    with Receiver(archive, body_bytes=LIMIT) as running:
        yield running


def _exchange(port: int, sent: bytes) -> bytes:
    """Send raw bytes, and read an answer's head, or until the other side closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=GUARD) as connection:
        connection.sendall(sent)
        answer = b""
        while b"\r\n\r\n" not in answer and (chunk := connection.recv(65536)):
            answer += chunk
        return answer


def _status(answer: bytes) -> int:
    return int(answer[9:12])


def _health(receiver: Receiver) -> dict[str, Any]:
    return HTTP.get(f"http://127.0.0.1:{receiver.port}/healthz").json()


def _post(receiver: Receiver, body: bytes, *, path: str = f"/{TOKEN}", **options: object) -> httpx.Response:
    return HTTP.post(f"http://127.0.0.1:{receiver.port}{path}", content=body, **options)


def test_a_delivery_is_in_the_archive_when_it_is_answered(receiver):
    body = delivery(1)
    assert _post(receiver, body).status_code == 200
    assert stored(receiver.archive)[body] == 1


def test_a_slash_behind_the_token_is_the_same_address(receiver):
    body = delivery(10)
    assert _post(receiver, body, path=f"/{TOKEN}/").status_code == 200
    assert stored(receiver.archive)[body] == 1
    assert HTTP.get(f"http://127.0.0.1:{receiver.port}/{TOKEN}/").status_code == 405


def test_a_content_length_with_a_transfer_encoding_is_400_and_closes_the_connection(receiver):
    for path in (f"/{TOKEN}", "/wrong", "/healthz"):
        before = stored(receiver.archive)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer = _exchange(receiver.port, head.encode() + b"2\r\n[]\r\n0\r\n\r\n")
        assert _status(answer) == 400
        assert b"connection: close" in answer
        assert stored(receiver.archive) == before


def test_elements_of_every_type_are_kept(receiver):
    body = b'[{"osdi:attendance":{}},{"action_network:upload":{}},{}]'
    assert _post(receiver, body).status_code == 200
    assert stored(receiver.archive)[body] == 1


def test_an_unknown_address_is_404_and_stores_nothing(receiver):
    for path in ("/", "/wrong", f"/{TOKEN}x", f"/{TOKEN}//", f"/{TOKEN}/x", f"/x/{TOKEN}"):
        for method in ("GET", "POST"):
            before = stored(receiver.archive)
            answer = HTTP.request(method, f"http://127.0.0.1:{receiver.port}{path}", content=delivery(2))
            assert answer.status_code == 404
            assert stored(receiver.archive) == before


def test_a_method_other_than_post_is_405_and_says_what_is_allowed(receiver):
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = HTTP.request(method, f"http://127.0.0.1:{receiver.port}/{TOKEN}")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"


def test_a_compressed_body_is_415(receiver):
    for encoding in ("gzip", "br", "deflate, gzip"):
        assert _post(receiver, b"[]", headers={"content-encoding": encoding}).status_code == 415


def test_a_body_that_says_it_is_not_encoded_is_taken(receiver):
    assert _post(receiver, b"[]", headers={"content-encoding": "identity"}).status_code == 200


def test_a_body_at_the_limit_is_stored_and_one_byte_more_is_413(receiver):
    body = b"[" + b" " * (LIMIT - 2) + b"]"
    assert _post(receiver, body).status_code == 200
    assert _post(receiver, body + b" ").status_code == 413
    assert max(map(len, stored(receiver.archive))) == LIMIT


def test_a_body_without_a_length_is_cut_off_at_the_limit(receiver):
    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 10_000

    assert HTTP.post(f"http://127.0.0.1:{receiver.port}/{TOKEN}", content=endless()).status_code == 413


def test_a_length_that_promises_too_much_is_413_before_the_body_comes(receiver):
    head = f"POST /{TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n".encode()
    assert _status(_exchange(receiver.port, head)) == 413


def test_a_body_that_stays_shorter_than_its_length_is_not_stored(receiver):
    before = stored(receiver.archive)
    head = f"POST /{TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n[]".encode()
    with socket.create_connection(("127.0.0.1", receiver.port)) as connection:
        connection.sendall(head)
    assert _post(receiver, delivery(5)).status_code == 200
    assert stored(receiver.archive) - before == Counter([delivery(5)])


def test_a_body_that_is_longer_than_its_length_is_stored_as_long_as_it_said(receiver):
    head = f"POST /{TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n".encode()
    answer = _exchange(receiver.port, head + b'[{"lies":1}]' + b"and more")
    assert _status(answer) == 200
    assert stored(receiver.archive)[b'[{"lies":1}]'] == 1


def test_a_body_that_does_not_arrive_in_time_is_cut_off(tmp_path):
    head = f"POST /{TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n".encode()
    with Receiver(tmp_path / "archive", body_seconds=0.3) as receiver:
        answer = _exchange(receiver.port, head + b"[")
    assert _status(answer) == 408
    assert b"connection: close" in answer


def test_the_default_limits_are_those_of_the_documentation():
    limits = ReceiverLimits()
    assert (limits.body_bytes, limits.body_seconds, limits.answer_seconds) == (5 * 1024 * 1024, 10, 0.45)
    assert (limits.head_seconds, limits.probe_seconds) == (5, 1)


def test_a_body_that_is_no_delivery_is_quarantined_and_answered_200(receiver):
    before = _health(receiver)["quarantined"]
    assert _post(receiver, b'{"title":"March"}').status_code == 200
    assert quarantined(receiver.archive)[b'{"title":"March"}'] == 1
    assert _health(receiver)["quarantined"] == before + 1


def test_the_health_page_shows_what_the_receiver_does(receiver):
    _post(receiver, delivery(3))
    answer = HTTP.get(f"http://127.0.0.1:{receiver.port}/healthz")
    assert answer.status_code == 200
    health = answer.json()
    assert health["append_and_sync"] is True
    assert health["waiting"] == health["held_bytes"] == 0
    assert health["stored"] >= 1
    assert health["per_second"] > 0
    assert health["p99_ms"] > 0
    assert health["free_bytes"] > 0


def test_the_health_page_tries_an_append_and_a_sync_at_most_once_in_probe_seconds(tmp_path):
    trace = tmp_path / "trace"
    options = ("-e", "trace=write,fsync,unlink")
    with (
        Receiver(tmp_path / "archive") as receiver,  # which no test outlasts
        tracing(receiver.threads["writer"], *options, output=trace),
    ):
        for _ in range(20):
            assert _health(receiver)["append_and_sync"]
    calls = Counter(re.findall(r"^(\w+)\(", trace.read_text(), re.MULTILINE))
    assert calls["unlink"] == calls["write"] == calls["fsync"] == 1


def test_a_length_that_is_none_is_400(receiver):
    for length in ("-1", "many", "9" * 30, "5, 6"):
        head = f"POST /{TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()
        assert _status(_exchange(receiver.port, head)) == 400


def test_the_health_page_warns_when_little_of_the_disk_is_free(tmp_path):
    with Receiver(tmp_path / "archive", free_share=1.1) as receiver:
        health = _health(receiver)
    assert health["status"] == "warning"
    assert health["warnings"] == ["less than 110% of the disk is free"]


def test_the_token_is_in_no_log_and_no_answer(receiver):
    answers = [_post(receiver, b"[]"), _post(receiver, b"x" * (LIMIT + 1)), _post(receiver, b"", path="/x")]
    answers += [HTTP.get(f"http://127.0.0.1:{receiver.port}/{TOKEN}")]
    _exchange(receiver.port, f"POST /{TOKEN} HTTP/9\r\n\r\n".encode())
    shown = receiver.log.read_text() + "".join(f"{answer.headers}{answer.text}" for answer in answers)
    assert TOKEN not in shown
    assert TOKEN not in repr(Tokens([TOKEN]))
    assert all(TOKEN not in path.read_text() for path in receiver.archive.glob("*/*/*") if path.is_file())


def test_two_tokens_are_valid_during_a_change():
    tokens = Tokens([TOKEN, "the-token-that-comes-after-it"])
    assert TOKEN in tokens
    assert "the-token-that-comes-after-it" in tokens
    assert "the-token-that-never-was-one" not in tokens


def test_a_token_that_could_be_guessed_is_refused_and_not_shown(tmp_path):
    for tokens in ([], ["short"], ["with spaces in it, though long"], [TOKEN, ""]):
        with pytest.raises(ValueError, match="at least 20 characters") as refused:
            create_app(tmp_path / "archive", tokens=tokens)
        assert "short" not in str(refused.value)
        assert not (tmp_path / "archive").exists()


def test_a_second_receiver_for_the_same_folder_does_not_start(receiver):
    with pytest.raises(AssertionError, match="another receiver writes here"):
        Receiver(receiver.archive)


def test_sigterm_answers_what_is_in_flight_and_loses_nothing(tmp_path):
    async def deliver_and_stop(receiver: Receiver) -> dict[bytes, int]:
        connections = [await Connection.to(receiver.port) for _ in range(50)]
        bodies = [delivery(number) for number in range(50)]
        sent = [
            asyncio.create_task(c.send(request(body))) for c, body in zip(connections, bodies, strict=True)
        ]
        await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
        receiver.process.terminate()
        answers = await asyncio.gather(*sent)
        for connection in connections:
            connection.close()
        return dict(zip(bodies, answers, strict=True))

    with Receiver(tmp_path / "archive") as receiver:
        answers = asyncio.run(deliver_and_stop(receiver))
        receiver.process.wait(GUARD)
    acknowledged = {body for body, status in answers.items() if status == 200}
    assert acknowledged
    assert acknowledged - set(stored(tmp_path / "archive")) == set()


@pytest.mark.parametrize("seconds", [GUARD, pytest.param(5, marks=pytest.mark.long)])
def test_sigterm_does_not_wait_for_a_body_that_trickles_in(tmp_path, seconds):
    with (
        Receiver(tmp_path / "archive") as receiver,
        socket.create_connection(("127.0.0.1", receiver.port)) as connection,
    ):
        connection.sendall(f"POST /{TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n[".encode())
        wait_for(lambda: _health(receiver)["held_bytes"] == 1)
        receiver.process.terminate()
        connection.settimeout(seconds)
        assert _status(connection.recv(1000)) == 503
        receiver.process.wait(seconds)
    assert "Traceback" not in receiver.log.read_text()


def _archive_with_1000_sealed_segments(archive: Path) -> Path:
    worker = Worker(archive, "main", segment_bytes=1)
    for number in (1, 2):
        line = Envelope.of(delivery(number), sequence=number, at="2026-11-21T10:00:00Z", reason=None).line()
        worker.deliveries.append([line], day="2026-11-21")
    seal_finished(worker.deliveries)
    worker.close()
    (archive / "main/2026-11-21/000000000002.ndjson").unlink()
    first = archive / "main/2026-11-21/000000000001.ndjson.zst"
    for number in range(2, 1001):
        first.with_name(f"{number:012}.ndjson.zst").write_bytes(first.read_bytes())
    return archive


def test_an_archive_of_1000_sealed_segments_is_opened_with_a_few_reads(tmp_path):
    archive = _archive_with_1000_sealed_segments(tmp_path / "archive")

    def reads() -> int:
        return int(re.search(r"syscr: (\d+)", Path("/proc/self/io").read_text())[1])

    before = reads()
    worker = Worker(archive, "main", segment_bytes=1)
    assert reads() - before < 50
    worker.close()
    assert worker.deliveries.next_sequence == 1001


@pytest.mark.long
def test_a_start_with_1000_sealed_segments_takes_less_than_two_seconds(tmp_path):
    archive = _archive_with_1000_sealed_segments(tmp_path / "archive")
    began = time.monotonic()
    with Receiver(archive, fresh=True) as receiver:
        assert _post(receiver, delivery(1)).status_code == 200
        seconds = time.monotonic() - began
    print(f"started and answered in {seconds:.2f} s")
    assert seconds < 2
