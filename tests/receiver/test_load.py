"""How much the receiver takes, on a machine that runs the sender as well; the figures are in the README."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from osdi_frames.receiver import ReceiverLimits
from tests.clocks import wait_for

from .process import HTTP, Receiver, stored, tracing
from .sender import Connection, Outcome, delivery, offer, request

MEMORY = 256 << 20
#: The limits of a receiver in use, where other tests set none.
SENDERS = {"answer_seconds": ReceiverLimits().answer_seconds}
AT_ONCE = 1e6  # deliveries a second


def _offer(receiver: Receiver, *, rate: float, seconds: float) -> Outcome:
    outcome = asyncio.run(offer(receiver.port, rate=rate, seconds=seconds))
    print(f"{rate:g} a second for {seconds:g} s: {outcome}, {receiver.peak_memory >> 20} MB")
    return outcome


def _offer_with_slow_syncs(
    archive: Path, *, rate: float, seconds: float, slower: float, **limits: float
) -> tuple[Outcome, int]:
    """Offer deliveries while each sync takes so many seconds more; return the number of syncs, too."""
    trace, slow_sync = archive.with_name("trace"), f"inject=fsync:delay_exit={round(1e6 * slower)}"
    with Receiver(archive, **limits) as receiver:
        with tracing(receiver.threads["writer"], "-e", slow_sync, output=trace):
            outcome = _offer(receiver, rate=rate, seconds=seconds)
        assert receiver.peak_memory < MEMORY
        wait_for(lambda: _held(receiver) == (0, 0))
        receiver.stop()
    assert stored(archive).total() >= outcome.statuses[200]
    return outcome, trace.read_text().count("fsync(")


def _held(receiver: Receiver) -> tuple[int, int]:
    """Return how many deliveries and bytes the receiver holds."""
    health = HTTP.get(f"http://127.0.0.1:{receiver.port}/healthz").json()
    return health["waiting"], health["held_bytes"]


def test_deliveries_that_come_at_once_share_syncs_and_are_answered_200(tmp_path):
    outcome, syncs = _offer_with_slow_syncs(
        tmp_path / "archive", rate=AT_ONCE, seconds=500 / AT_ONCE, slower=0.1
    )
    assert outcome.statuses == {200: 500}
    assert stored(tmp_path / "archive").total() == 500
    assert syncs < 100


def test_at_more_than_it_can_hold_there_are_only_200_and_503(tmp_path):
    # 25 deliveries a sync of a second.
    outcome, _ = _offer_with_slow_syncs(
        tmp_path / "archive", rate=AT_ONCE, seconds=500 / AT_ONCE, slower=1, waiting=25
    )
    assert outcome.statuses.keys() == {200, 503}
    assert outcome.statuses[503] > outcome.statuses[200] > 0


@pytest.mark.long
@pytest.mark.parametrize(("rate", "seconds", "p99"), [(100, 60, 0.1), (500, 1, 0.45), (1000, 20, 0.25)])
def test_a_long_steady_load_is_answered_200_in_time(tmp_path, rate, seconds, p99):
    with Receiver(tmp_path / "archive", **SENDERS) as receiver:
        outcome = _offer(receiver, rate=rate, seconds=seconds)
        assert receiver.peak_memory < MEMORY
    assert outcome.statuses == {200: rate * seconds}
    assert outcome.percentile(0.99) < p99
    assert stored(tmp_path / "archive").total() == rate * seconds


@pytest.mark.long
@pytest.mark.parametrize("seconds", [1, 20])
def test_with_syncs_that_take_100_ms_more_500_a_second_are_answered_in_time(tmp_path, seconds):
    outcome, _ = _offer_with_slow_syncs(
        tmp_path / "archive", rate=500, seconds=seconds, slower=0.1, **SENDERS
    )
    assert outcome.statuses == {200: 500 * seconds}
    assert outcome.percentile(0.99) < 0.45


@pytest.mark.long
def test_at_four_times_what_it_can_hold_for_20_seconds_there_are_only_200_and_503(tmp_path):
    # 25 deliveries a sync of 100 ms are 250 a second.
    outcome, _ = _offer_with_slow_syncs(
        tmp_path / "archive", rate=1000, seconds=20, slower=0.1, waiting=25, **SENDERS
    )
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
        wait_for(lambda: _held(receiver) == (0, 0))
        print(f"200 bodies of 1 MiB at once: {answers.count(200)} stored, {receiver.peak_memory >> 20} MB")
        receiver.stop()
    assert stored(tmp_path / "archive").total() >= answers.count(200)
