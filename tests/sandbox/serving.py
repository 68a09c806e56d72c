"""How fast a sandbox serves pages: what the speed test and the benchmark measure."""

from __future__ import annotations

import http.client
import statistics
import threading
import time

from osdi_frames import sandbox
from tests.clocks import GUARD

BODY = {
    "origin_system": "Benchmark",
    "description": "<p>" + "A longer description of what will happen. " * 8 + "</p>",
    "start_date": "2026-05-01T18:30:00Z",
    "location": {"venue": "City Hall", "postal_code": "94607", "address_lines": ["1 Main St"]},
}


def fill(running: sandbox.Running, events: int) -> None:
    """Put events into the group's account, a thousand at a time."""
    for start in range(0, events, 1000):
        bodies = [{"title": str(number), **BODY} for number in range(start, min(start + 1000, events))]
        running.admin("POST", "events", account="group:sandbox", events=bodies)


def seconds(running: sandbox.Running, pages: list[int]) -> list[float]:
    """Return how long each of these pages took over one connection."""
    connection = http.client.HTTPConnection(running.host, running.port, timeout=GUARD)
    took = []
    for page in pages:
        begun = time.perf_counter()
        connection.request(
            "GET", f"/api/v2/events?page={page}", headers={"OSDI-API-Token": running.group_key}
        )
        response = connection.getresponse()
        body = response.read()
        took.append(time.perf_counter() - begun)
        assert response.status == 200, body
        assert body.count(b'"created_date"') == 25, page
    connection.close()
    return took


def first_and_last(running: sandbox.Running, *, last: int, repeats: int) -> tuple[float, float]:
    """Return the median seconds of page 1 and of the last page, measured in turns."""
    took = seconds(running, [1, last] * repeats)
    return statistics.median(took[0::2]), statistics.median(took[1::2])


def rate(running: sandbox.Running, *, last: int, requests: int, connections: int = 2) -> float:
    """Return pages a second over several connections that walk through the collection."""
    walks = [
        [1 + (start + step * 7) % last for step in range(requests // connections)]
        for start in range(connections)
    ]
    threads = [threading.Thread(target=seconds, args=(running, walk)) for walk in walks]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(map(len, walks)) / (time.perf_counter() - begun)
