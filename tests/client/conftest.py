"""A served sandbox with events in it, what its store holds as a frame, and clients that do not wait long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from osdi_frames import Client, Manifest, sandbox
from osdi_frames.shortcuts import read_table
from tests.clocks import wait_for

GROUP, PERSON = "group:sandbox", "person:sandbox-person"
#: All that a caller can ask a pull for.
ALL = ("events", "event_campaigns", "petitions", "signatures", "attendances", "people")
#: Columns that say how an event was read, not what it is.
READ = ["fetched_at", "source_file", "source_line"]
#: States of a socket in /proc/net/tcp: established, and closed by the other side only.
_CONNECTED = ("01", "08")


#: Forks a process for each pull that it is asked for: the imports, which take a second, are done once.
FORKING = """
import json, os, sys
from osdi_frames import Client
for line in sys.stdin:
    base_url, key, folder, collections = json.loads(line)
    process = os.fork()
    if not process:
        try:
            with Client(base_url, key, rate=None, workers=4, backoff=0.01) as client:
                client.pull(folder, collections=collections)
        finally:
            os._exit(0)
    print(process, flush=True)
    os.waitpid(process, 0)
    print("ended", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Stocked:
    """A sandbox with events, and what can be known of it without its API."""

    running: sandbox.Running

    def add(self, count: int, account: str = GROUP, **fields: Any) -> list[str]:
        """Put events into the store, past the API."""
        events = [{"title": f"Event {number}", "origin_system": "Tests"} | fields for number in range(count)]
        return list(self.running.admin("POST", "events", account=account, events=events)["event_ids"])

    def truth(self, account: str = GROUP, version: str = "v2") -> pd.DataFrame:
        """Return what the store holds, as a frame in the order of ids."""
        events = self.running.admin("GET", f"events?account={account}&version={version}")
        return comparable(read_table([{"_embedded": {"osdi:events": events}}], "events"))

    def client(self, **settings: Any) -> Client:
        """Open a client that asks as often as it likes, and does not wait long before it asks again."""
        settings = {"rate": None, "backoff": 0.005, "retries": 2, "workers": 8} | settings
        version = settings.pop("speaks", "v2")
        base = self.running.base_url if version == "v2" else self.running.base_url_v1
        return Client(base, settings.pop("key", self.running.group_key), **settings)

    def asked(self) -> list[dict[str, Any]]:
        """Return the requests that the API saw."""
        return self.running.requests()

    def asked_for_events(self) -> list[dict[str, Any]]:
        """Return the requests for the list of all events; a pull asks for the event campaigns, too."""
        return [
            request for request in self.asked() if request["path"] in ("/api/v2/events", "/api/v1/events")
        ]

    def hear_out(self) -> None:
        """Wait until no connection is open: what a process that was killed had sent has arrived."""
        here = f":{self.running.port:04X}"

        def opened() -> list[str]:
            sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
            return [
                state for _, local, _, state, *_ in sockets if local.endswith(here) and state in _CONNECTED
            ]

        wait_for(lambda: not opened())

    def forget(self) -> None:
        """Take back faults and the list of requests."""
        self.running.clear_faults()
        self.running.admin("DELETE", "requests")


def comparable(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out where rows were read, and sort them."""
    return frame.drop(columns=READ).sort_values("event_id").reset_index(drop=True)


@dataclass(frozen=True, slots=True)
class Pulled:
    """The demo, pulled with all its collections by v2 and by v1."""

    served: Stocked
    folder: Path
    manifests: list[Manifest]
    requests: list[int]
    """How many requests each pull made, as the service counts them."""


@pytest.fixture(scope="session")
def demo(demo_db: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stocked]:
    """Serve the demo, which tests read and do not change."""
    with sandbox.serve(sandbox.create_app(demo_db(tmp_path_factory.mktemp("demo")))) as running:
        yield Stocked(running)


@pytest.fixture(scope="session")
def pulled(demo: Stocked, tmp_path_factory: pytest.TempPathFactory) -> Pulled:
    """Pull every collection of the demo by either version."""
    folder, manifests, requests = tmp_path_factory.mktemp("pull"), [], []
    for version in ("v2", "v1"):
        demo.forget()
        with demo.client(speaks=version) as client:
            manifests.append(client.pull(folder, collections=ALL))
        requests.append(len(demo.asked()))
    return Pulled(demo, folder, manifests, requests)


@dataclass(frozen=True, slots=True)
class Pulls:
    """Pulls in processes of their own, one after the other, that can be killed."""

    forking: subprocess.Popen[str]

    @contextmanager
    def killed(self, served: Stocked, folder: Path, *collections: str) -> Iterator[None]:
        """Pull while the context lasts, unless the pull ends before, and kill it."""
        assert self.forking.stdin
        assert self.forking.stdout
        asked = [served.running.base_url, served.running.group_key, str(folder), collections or ["events"]]
        print(json.dumps(asked), file=self.forking.stdin, flush=True)
        process = int(self.forking.stdout.readline())
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            assert self.forking.stdout.readline() == "ended\n"


@pytest.fixture(scope="session")
def pulls() -> Iterator[Pulls]:
    """Start the process that forks those that pull."""
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forking:
        yield Pulls(forking)


@pytest.fixture
def stocked() -> Callable[..., AbstractContextManager[Stocked]]:
    """Serve a sandbox with so many events on so many pages."""

    @contextmanager
    def serve(*, pages: int = 0, per_page: int = 25, **settings: Any) -> Iterator[Stocked]:
        with sandbox.serve(sandbox.create_app(per_page=per_page, **settings)) as running:
            served = Stocked(running)
            if pages:
                served.add(pages * per_page)
            yield served

    return serve
