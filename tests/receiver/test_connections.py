"""Whoever opens connections without the token keeps nobody out who has it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clocks import GUARD

from .process import PATIENT, SERVE, Receiver, stored
from .sender import TOKEN, Connection, delivery, request


@contextlib.contextmanager
def receiver_with_files(archive: Path, files: int, **limits: Any) -> Iterator[Receiver]:
    """Start a receiver that may have so many files open."""
    program = ["sh", "-c", f'ulimit -n {files} && exec "$0" "$@"', sys.executable, "-c", SERVE]
    with Receiver(archive, program=[*program, str(archive), TOKEN, json.dumps(PATIENT | limits)]) as running:
        yield running


@contextlib.asynccontextmanager
async def idle(port: int, count: int) -> AsyncIterator[list[Connection]]:
    connections = [await Connection.to(port) for _ in range(count)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


async def _deliver(port: int, numbers: range) -> list[int]:
    """Send each delivery over a connection of its own, all at once."""
    connections = await asyncio.gather(*(Connection.to(port) for _ in numbers))
    answers = await asyncio.gather(
        *(
            connection.send(request(delivery(number)))
            for connection, number in zip(connections, numbers, strict=True)
        )
    )
    for connection in connections:
        connection.close()
    return answers


async def _wait_until_closed(connections: list[Connection]) -> None:
    async with asyncio.timeout(GUARD):
        while any(connection.open for connection in connections):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("files", [256, 1024])
def test_600_idle_connections_do_not_keep_8_deliveries_out_and_hardly_log(tmp_path, files):
    async def deliver(port: int) -> list[int]:
        async with idle(port, 600):
            return await _deliver(port, range(8))

    with receiver_with_files(tmp_path / "archive", files) as receiver:
        assert asyncio.run(deliver(receiver.port)) == [200] * 8
        receiver.stop()
    assert stored(tmp_path / "archive").total() == 8
    assert receiver.log.read_text().count("connections are open") == 1
    assert receiver.log.stat().st_size < 10_000


def test_connections_that_open_without_end_keep_no_delivery_out(tmp_path):
    async def flood(port: int, connections: list[socket.socket]) -> None:
        while True:
            for _ in range(20):  # in a turn of the loop; so many turns as a delivery takes leave it its place
                connections.append(socket.create_connection(("127.0.0.1", port)))
                if len(connections) > 700:
                    connections.pop(0).close()
            await asyncio.sleep(0.01)

    async def deliver(port: int) -> list[int]:
        connections: list[socket.socket] = []
        flooding = asyncio.create_task(flood(port, connections))
        while len(connections) < 400:
            await asyncio.sleep(0.01)
        answers = [
            status for start in range(5) for status in await _deliver(port, range(8 * start, 8 * start + 8))
        ]
        flooding.cancel()
        for connection in connections:
            connection.close()
        return answers

    with receiver_with_files(tmp_path / "archive", 400) as receiver:
        assert asyncio.run(deliver(receiver.port)) == [200] * 40
    assert receiver.log.stat().st_size < 10_000


def test_a_connection_that_has_shown_the_token_outlasts_those_that_have_not(tmp_path):
    async def deliver_again(port: int) -> list[int]:
        sender = await Connection.to(port)
        first = await sender.send(request(delivery(1)))
        async with idle(port, 60) as others:
            second = await sender.send(request(delivery(2)))
            await _wait_until_closed(others[:45])
        sender.close()
        return [first, second]

    with Receiver(tmp_path / "archive", connections=16) as receiver:
        assert asyncio.run(deliver_again(receiver.port)) == [200, 200]


def test_connections_that_have_shown_the_token_and_are_idle_make_room_for_a_new_one(tmp_path):
    async def deliver_over_many(port: int) -> list[int]:
        senders = [await Connection.to(port) for _ in range(40)]
        answers = [await sender.send(request(delivery(number))) for number, sender in enumerate(senders)]
        for sender in senders:
            sender.close()
        return answers

    with Receiver(tmp_path / "archive", connections=16) as receiver:
        answers = asyncio.run(deliver_over_many(receiver.port))
        answers += asyncio.run(_deliver(receiver.port, range(100, 108)))
    assert answers.count(200) >= 8 + 16
    assert answers[-8:] == [200] * 8


@pytest.mark.parametrize("sent", [b"", b"POST /"], ids=["nothing", "a head that trickles in"])
def test_a_head_that_does_not_arrive_in_time_is_cut_off(tmp_path, sent):
    async def trickle(port: int) -> None:
        async with idle(port, 200) as connections:
            waiting = asyncio.create_task(_wait_until_closed(connections))
            while not waiting.done():
                for connection in connections:
                    if sent and connection.open:
                        connection.write(sent)
                await asyncio.sleep(0.1)
            await waiting

    with Receiver(tmp_path / "archive", head_seconds=0.3) as receiver:
        asyncio.run(trickle(receiver.port))


def test_the_second_head_of_a_connection_is_cut_off_too(tmp_path):
    async def trickle(port: int) -> int:
        async with idle(port, 1) as (connection,):
            status = await connection.send(request(delivery(1)))
            await asyncio.sleep(1.2)  # a connection may be idle longer than a head may take
            assert connection.open
            connection.write(b"POST /")
            await _wait_until_closed([connection])
            return status

    with Receiver(tmp_path / "archive", head_seconds=1) as receiver:
        assert asyncio.run(trickle(receiver.port)) == 200


def test_bodies_that_trickle_in_are_cut_off_and_keep_no_delivery_out(tmp_path):
    async def trickle(port: int) -> list[int]:
        async with idle(port, 100) as slow:
            for number, connection in enumerate(slow):
                path = TOKEN if number % 2 else "wrong"
                connection.write(
                    f"POST /{path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n[".encode()
                )
            answers = await _deliver(port, range(8))
            await _wait_until_closed(slow)
            return answers

    with Receiver(tmp_path / "archive", body_seconds=0.6) as receiver:
        assert asyncio.run(trickle(receiver.port)) == [200] * 8


def test_requests_that_are_not_http_are_not_logged(tmp_path):
    async def send_rubbish(port: int) -> None:
        for _ in range(4):
            async with idle(port, 50) as connections:
                for connection in connections:
                    connection.write(b"\x16\x03\x01 no HTTP\r\n\r\n")
                await _wait_until_closed(connections)

    with Receiver(tmp_path / "archive") as receiver:
        asyncio.run(send_rubbish(receiver.port))
    assert "Invalid HTTP request" not in receiver.log.read_text()
