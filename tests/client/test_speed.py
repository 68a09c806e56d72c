"""Fast where the service is slow, and never more often than the limit allows."""

from __future__ import annotations

import heapq
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from osdi_frames import Client, sandbox
from osdi_frames.client.transport import RateLimit
from tests.clocks import GUARD, Clock

from .conftest import Stocked
from .hostile import listening, number_of, page_of

SERVE = """
from osdi_frames import sandbox
with sandbox.bind() as listening:
    print(listening.getsockname()[1], flush=True)
    sandbox.run(sandbox.create_app(per_page=%d), listening)
"""


@contextmanager
def apart(per_page: int) -> Iterator[Stocked]:
    """Serve a sandbox in a process of its own, so that it does not take the client's time."""
    with subprocess.Popen([sys.executable, "-c", SERVE % per_page], stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            yield Stocked(sandbox.Running("127.0.0.1", int(process.stdout.readline())))
        finally:
            process.terminate()


def pull_times(pages: int, per_page: int) -> tuple[float, float]:
    """Return the seconds that events take one request after the other, and with the client's defaults."""
    with apart(per_page) as served:
        served.add(pages * per_page)
        served.running.inject("latency", seconds=0.05)
        times = []
        for workers in ({"workers": 1}, {"workers": 16}):
            with served.client(**workers) as client:
                began = time.monotonic()
                count = sum(len(page["_embedded"]["osdi:events"]) for page in client.pages())
                times.append(time.monotonic() - began)
                assert count == pages * per_page
    return times[0], times[1]


def test_sixteen_pages_are_read_at_once():
    together = threading.Barrier(16)

    def page(path: str) -> tuple[int, dict[str, str], bytes]:
        if number_of(path) > 1:  # says how many there are
            together.wait(GUARD)
        return page_of(path, total_pages=33, total_records=33)

    with listening(page) as service, Client(service.base_url, "key", rate=None) as client:
        assert len(client.events()) == 33


@pytest.mark.long
def test_four_hundred_pages_take_an_eighth_of_the_time():
    alone, together = pull_times(400, 25)
    print(f"400 pages at 50 ms: one after the other {alone:.1f} s, together {together:.1f} s")
    assert together <= alone / 8


def most_in_a_window(moments: list[float], per: float) -> int:
    moments = sorted(moments)
    return max(sum(begin <= moment < begin + per for moment in moments) for begin in moments)


def test_no_period_ever_holds_more_requests_than_the_rate(stocked):
    for rate, per, pages in ((4, 1.0, 9), (1, 0.5, 3)):
        clock = Clock()  # goes on while the client waits for its limit
        limit = RateLimit(rate, per=per, clock=clock.seconds, sleep=clock.advance)
        with stocked(pages=pages, per_page=2, now=clock) as served, served.client() as client:
            client._transport.rate = limit
            served.running.inject("status", status=503, page=2, times=1)  # retries count
            list(client.pages())
            seen = [request["at"] for request in served.asked()]
            assert len(seen) == pages + 1
            assert most_in_a_window(seen, per) <= rate


def test_retry_after_holds_back_every_thread():
    clock, moments, held, together = Clock(), [], threading.Event(), threading.Barrier(8)

    class Limit(RateLimit):
        def hold(self, seconds: float) -> None:
            super().hold(seconds)
            held.set()

    def page(path: str) -> tuple[int, dict[str, str], bytes]:
        moments.append(clock.seconds())
        if number_of(path) > 1 and not held.is_set():  # one of eight that are on their way at once
            together.wait(GUARD)
            if number_of(path) == 2:
                return 429, {"Retry-After": "1"}, b""
            assert held.wait(GUARD)
        return page_of(path, total_pages=20, total_records=20)

    with listening(page) as service, Client(service.base_url, "key", workers=8) as client:
        client._transport.rate = Limit(None, clock=clock.seconds, sleep=clock.advance)
        assert len(client.events()) == 20
    assert len(moments) == 21
    assert {moment - moments[0] for moment in moments[:9]} == {0}
    assert min(moments[9:]) >= moments[0] + 1


@pytest.mark.long
def test_no_second_holds_more_with_faults_and_several_threads(stocked):
    with stocked(pages=20, per_page=2) as served, served.client(rate=4, retries=5) as client:
        served.running.inject("status", status=503, probability=0.2, seed=3)
        served.running.inject("drop", probability=0.1, seed=4)
        served.running.inject("latency", seconds=0.4, probability=0.3, seed=5)
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda _: client.events(), range(3)))
        seen = [request["at"] for request in served.asked()]
        assert len(seen) > 60
        assert most_in_a_window(seen, 1.0) <= 4


def test_a_slot_rests_from_the_answer_on_however_late_it_came():
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    limit = RateLimit(2, per=1.0, clock=lambda: now[0], sleep=sleep)
    began = []
    for took in (0.7, 0.0, 0.0, 0.2, 0.0):
        with limit.slot():
            began.append(now[0])
            now[0] += took
    assert began == pytest.approx([0.0, 0.7, 1.7, 1.7, 2.7])


def reached(ways: Iterable[tuple[float, float]]) -> list[float]:
    """Return when requests reach a service, by the seconds of their ways there and back, at four a second."""
    now, moments, on_their_way = [0.0], [], []

    def advance(end: float) -> None:
        while on_their_way and on_their_way[0][0] <= end:
            now[0], _, slot = heapq.heappop(on_their_way)
            slot.close()
        now[0] = end

    limit = RateLimit(4, clock=lambda: now[0], sleep=lambda seconds: advance(now[0] + seconds))
    for number, (there, back) in enumerate(ways):
        if len(on_their_way) == 4:
            advance(on_their_way[0][0])
        slot = ExitStack()
        slot.enter_context(limit.slot())
        moments.append(now[0] + there)
        heapq.heappush(on_their_way, (now[0] + there + back, number, slot))
    return moments


LATE = {
    "by any time up to 0.3 s": lambda chance: (chance.uniform(0, 0.3), 0.0),
    "by 0.1 to 0.3 s": lambda chance: (chance.uniform(0.1, 0.3), 0.0),
    "every second one": lambda chance: (chance.choice([0.03, 0.13]), 0.01),
    "a few": lambda chance: (chance.choices([0.03, 0.33], [19, 1])[0], 0.01),
    "most by little, some by much": lambda chance: (0.03 + chance.expovariate(50), 0.03),
    "on the way back": lambda chance: (0.02, chance.uniform(0, 0.3)),
}


def test_no_second_holds_more_however_late_requests_are():
    for name, way in LATE.items():
        for seed in range(4):
            chance = random.Random(seed)
            moments = reached(way(chance) for _ in range(150))
            assert most_in_a_window(moments, 1.0) <= 4, name


def test_a_pause_holds_back_whoever_waits_and_what_is_no_limit_is_refused():
    slept: list[float] = []
    limit = RateLimit(None, clock=lambda: sum(slept), sleep=slept.append)
    limit.hold(2.5)
    limit.hold(1.0)
    with limit.slot():
        assert slept == [2.5]
    for wrong in ({"calls": 0}, {"calls": 2.5}, {"calls": 4, "per": 0}):
        with pytest.raises(ValueError, match=r"rate|per"):
            RateLimit(**wrong)
