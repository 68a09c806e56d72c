"""How much the receiver takes, on a machine that runs the sender as well; the figures are in the README."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import pytest

from .process import Receiver, stored, tracing
from .sender import Connection, Outcome, delivery, offer, request

MEMORY = 256 << 20
SLOW_SYNC = ("-e", "inject=fsync:delay_exit=100000")  # microseconds


def _offer(receiver: Receiver, *, rate: float, seconds: float) -> Outcome:
    outcome = asyncio.run(offer(receiver.port, rate=rate, seconds=seconds))
    print(f"{rate:g} a second for {seconds:g} s: {outcome}, {receiver.peak_memory >> 20} MB")
    return outcome


def _offer_with_slow_syncs(archive: Path, *, rate: float, seconds: float, **limits: int) -> Outcome:
    with Receiver(archive, **limits) as receiver:
        with tracing(receiver.threads["writer"], *SLOW_SYNC):
            outcome = _offer(receiver, rate=rate, seconds=seconds)
        assert receiver.peak_memory < MEMORY
        assert _held_at_rest(receiver) == (0, 0)
        receiver.stop()
    assert stored(archive).total() >= outcome.statuses[200]
    return outcome


def test_a_steady_load_is_answered_200(tmp_path):
    with Receiver(tmp_path / "archive") as receiver:
        outcome = _offer(receiver, rate=500, seconds=1)
    assert outcome.statuses == {200: 500}
    assert stored(tmp_path / "archive").total() == 500


def _held_at_rest(receiver: Receiver) -> tuple[int, int]:
    """Return how many deliveries and bytes the receiver still holds, the late ones given a second to go."""
    end = time.monotonic() + 1
    while True:
        health = httpx.get(f"http://127.0.0.1:{receiver.port}/healthz").json()
        held = health["waiting"], health["held_bytes"]
        if held == (0, 0) or time.monotonic() > end:
            return held
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize(("rate", "seconds", "p99"), [(100, 60, 0.1), (1000, 20, 0.25)])
def test_a_long_steady_load_is_answered_200_in_time(tmp_path, rate, seconds, p99):
    with Receiver(tmp_path / "archive") as receiver:
        outcome = _offer(receiver, rate=rate, seconds=seconds)
        assert receiver.peak_memory < MEMORY
    assert outcome.statuses == {200: rate * seconds}
    assert outcome.percentile(0.99) < p99
    assert stored(tmp_path / "archive").total() == rate * seconds


@pytest.mark.parametrize("seconds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_with_syncs_that_take_100_ms_more_500_a_second_are_answered_in_time(tmp_path, seconds):
    outcome = _offer_with_slow_syncs(tmp_path / "archive", rate=500, seconds=seconds)
    assert outcome.statuses == {200: 500 * seconds}
    assert outcome.percentile(0.99) < 0.45


@pytest.mark.parametrize("seconds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_at_four_times_what_it_can_hold_there_are_only_200_and_503(tmp_path, seconds):
    # 25 deliveries a sync of 100 ms are 250 a second.
    outcome = _offer_with_slow_syncs(tmp_path / "archive", rate=1000, seconds=seconds, waiting=25)
    assert outcome.statuses.keys() == {200, 503}
    assert outcome.statuses[503] > outcome.statuses[200] > 0


def test_more_large_bodies_than_memory_should_hold_are_answered_503(tmp_path):
    async def crowd(port: int) -> list[int]:
        connections = [await Connection.to(port) for _ in range(200)]
        bodies = [request(delivery(number, padding=1 << 20)) for number in range(20)]
        sent = [connection.send(bodies[number % 20]) for number, connection in enumerate(connections)]
        answers = await asyncio.gather(*sent)
        for connection in connections:
            connection.close()
        return answers

    with Receiver(tmp_path / "archive") as receiver:
        answers = asyncio.run(crowd(receiver.port))
        assert set(answers) <= {200, 503}
        assert 200 in answers
        assert receiver.peak_memory < MEMORY
        assert _held_at_rest(receiver) == (0, 0)
        print(f"200 bodies of 1 MiB at once: {answers.count(200)} stored, {receiver.peak_memory >> 20} MB")
        receiver.stop()
    assert stored(tmp_path / "archive").total() >= answers.count(200)
