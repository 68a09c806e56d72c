"""The receiver is killed at the worst moments; what it acknowledged is there afterwards."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from osdi_frames.receiver import erase
from osdi_frames.receiver.segments import seal_finished, segments
from osdi_frames.receiver.verification import verify
from osdi_frames.receiver.worker import Worker
from tests.clocks import GUARD

from .process import Receiver, stored, tracing, wait_for_tracer
from .sender import Connection, delivery, request

SEGMENT_BYTES = 100_000
DELIVERIES = 150  # of about 1.9 KB: two rotations, and 300 calls of the writer alone


async def _deliver_until_cut_off(port: int, numbers: itertools.count[int], acknowledged: set[bytes]) -> None:
    connection = await Connection.to(port)
    while connection.open:
        body = delivery(next(numbers))
        if await connection.send(request(body)) == 200:
            acknowledged.add(body)


async def _kill_under_load(receiver: Receiver, after: int, numbers: itertools.count[int]) -> set[bytes]:
    """Kill a receiver when it has acknowledged so many deliveries."""
    acknowledged: set[bytes] = set()
    clients = [
        asyncio.create_task(_deliver_until_cut_off(receiver.port, numbers, acknowledged)) for _ in range(16)
    ]
    async with asyncio.timeout(GUARD):
        while len(acknowledged) < after:
            await asyncio.sleep(0.001)
    receiver.kill()
    await asyncio.gather(*clients)
    return acknowledged


def _erase_after(seconds: float, archive: Path, person: str) -> None:
    time.sleep(seconds)
    erase(archive, persons=[person])


def _kill_again_and_again(archive: Path, *, times: int, erases: bool = False) -> None:
    """Kill receivers under load; with erasures, one begins around every second start."""
    acknowledged: set[bytes] = set()
    numbers = itertools.count()
    chance = random.Random(5)
    erased = []
    with ThreadPoolExecutor(1) as pool:
        for number in range(times):
            if erases and number % 2:
                erased.append(chance.randrange(20 * number))
                erasure = pool.submit(_erase_after, chance.uniform(0, 1), archive, f"person-{erased[-1]}")
            with Receiver(archive, fresh=True, segment_bytes=SEGMENT_BYTES) as receiver:
                acknowledged |= asyncio.run(_kill_under_load(receiver, chance.randint(1, 300), numbers))
            if erases and number % 2:
                erasure.result()
    Worker(archive, "main", segment_bytes=SEGMENT_BYTES).close()
    if erases:  # what was in the open segment
        assert erase(archive, persons=[f"person-{number}" for number in erased]).left == []
    gone = {delivery(number) for number in erased}
    found = stored(archive)
    assert len(acknowledged) > 20 * times
    assert acknowledged - gone - set(found) == set()
    assert set(found) <= ({delivery(n) for n in range(next(numbers))} - gone) | ({b"[]"} if erases else set())
    assert verify(archive).damages == []
    waited = receiver.log.read_text().count("an erasure holds the archive")
    print(
        f"{times} kills, {len(acknowledged)} acknowledged, 0 lost;"
        f" {found[b'[]']} erased, {waited} starts waited for an erasure"
    )


def test_nothing_acknowledged_is_lost_or_changed_by_kills_at_random_moments(tmp_path):
    _kill_again_and_again(tmp_path / "archive", times=4)


def test_nothing_acknowledged_but_what_is_erased_is_lost_where_erasures_run_between_kills(tmp_path):
    _kill_again_and_again(tmp_path / "archive", times=4, erases=True)


@pytest.mark.long
@pytest.mark.parametrize(("times", "erases"), [(200, False), (100, True)], ids=["200", "100 with erasures"])
def test_nothing_acknowledged_is_lost_or_changed_by_many_kills_at_random_moments(tmp_path, times, erases):
    _kill_again_and_again(tmp_path / "archive", times=times, erases=erases)
    began = time.monotonic()
    with Receiver(tmp_path / "archive", fresh=True):
        assert time.monotonic() - began < 2


CALLS = "write,fsync,rename,unlink"


async def _deliver(port: int, count: int) -> set[bytes]:
    acknowledged: set[bytes] = set()
    connection = await Connection.to(port)
    for number in range(count):
        if not connection.open:
            break
        body = delivery(number)
        if await connection.send(request(body)) == 200:
            acknowledged.add(body)
    connection.close()
    return acknowledged


def _calls_of_a_run(archive: Path) -> list[tuple[str, str, int]]:
    """Name each call of a run by its thread, its name and how often that thread had called it."""
    trace = archive.with_suffix(".trace")
    with Receiver(archive, segment_bytes=SEGMENT_BYTES) as receiver:
        threads = {thread: name for name, thread in receiver.threads.items()}
        with tracing(receiver.process.pid, "-f", "-e", f"trace={CALLS}", output=trace):
            wait_for_tracer(receiver.threads["sealer"])
            asyncio.run(_deliver(receiver.port, DELIVERIES))
            receiver.stop()
    counts: Counter[tuple[str, str]] = Counter()
    calls = []
    for thread, call in re.findall(r"^(\d+) +(\w+)\(", trace.read_text(), re.MULTILINE):
        if name := threads.get(int(thread)):
            counts[name, call] += 1
            calls.append((name, call, counts[name, call]))
    return calls


def _kill_at(archive: Path, thread: str, call: str, nth: int) -> None:
    # A busy machine makes some calls later, or fewer of them: it gets more deliveries until the kill comes.
    count = DELIVERIES if thread == "loop" else 4 * DELIVERIES
    with Receiver(archive, segment_bytes=SEGMENT_BYTES) as receiver:
        with tracing(receiver.threads[thread], "-e", f"inject={call}:signal=KILL:when={nth}"):
            acknowledged = asyncio.run(_deliver(receiver.port, count))
            receiver.stop()
        assert receiver.process.returncode == -signal.SIGKILL
    worker = Worker(archive, "main", segment_bytes=SEGMENT_BYTES)
    seal_finished(worker.deliveries)
    worker.close()
    assert acknowledged - set(stored(archive)) == set()
    assert set(stored(archive)) <= {delivery(n) for n in range(count)}
    assert all(segment.sealed for segment in segments(worker.folder))
    assert verify(archive).damages == []


def test_nothing_acknowledged_is_lost_by_kills_at_calls_of_every_thread(tmp_path):
    calls = _calls_of_a_run(tmp_path / "traced")
    assert {("writer", "write"), ("writer", "fsync"), ("sealer", "rename")} <= {call[:2] for call in calls}
    first_of_each = [call for call in calls if call[2] == 1 and call[0] != "loop"]
    for number, call in enumerate(first_of_each):
        _kill_at(tmp_path / f"archive-{number}", *call)


@pytest.mark.long
@pytest.mark.parametrize("share", range(10), ids=lambda share: f"calls-{30 * share + 1}-to-{30 * share + 30}")
def test_nothing_acknowledged_is_lost_by_kills_at_each_of_the_first_300_calls(tmp_path, share):
    calls = _calls_of_a_run(tmp_path / "traced")
    assert len(calls) >= 300
    for number, call in enumerate(calls[30 * share : 30 * share + 30]):
        _kill_at(tmp_path / f"archive-{number}", *call)
