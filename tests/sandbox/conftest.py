"""A served sandbox, callers with accounts of their own in it, and a receiver of webhooks."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from osdi_frames import sandbox
from tests.clocks import GUARD, Clock

collect_ignore = ["clients"]  # scripts for the interpreters of other environments

RETRIES = (0.02, 0.04, 0.08)


@dataclass
class Caller:
    """An account with a key, calling both versions."""

    account: str
    person_id: str
    key: str
    v2: httpx.Client
    v1: httpx.Client
    ids: dict[str, str] = field(default_factory=dict)

    def read(self, path: str, **params: str) -> dict[str, Any]:
        """GET a path of v2, with the ids of what was made for the test in it."""
        answer = self.v2.get(f"/{path.format(**self.ids)}", params=params or None)
        return answer.raise_for_status().json()

    def rows(self, path: str, **params: str) -> list[dict[str, Any]]:
        """Return the resources of a collection's page."""
        [rows] = self.read(path, **params)["_embedded"].values()
        return rows

    def create(self, **fields: Any) -> dict[str, Any]:
        """POST a v2 event and return the answer."""
        body = {"title": "Picnic", "origin_system": "Tests"} | fields
        return self.v2.post("/events", json=body).raise_for_status().json()

    def create_v1(self, **fields: Any) -> dict[str, Any]:
        """POST a v1 event and return the answer."""
        body = {"summary": "Picnic", "originating_system": "Tests"} | fields
        return self.v1.post("/events", json=body).raise_for_status().json()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request that a receiver got."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A webhook receiver that answers as it is set to and keeps what it got."""

    url: str
    statuses: list[int] = field(default_factory=list)  # of the next answers; then 200
    answers: threading.Event = field(default_factory=threading.Event)  # while it is not set, it is silent
    got: list[Delivery] = field(default_factory=list)

    def deliveries(self) -> list[list[dict[str, Any]]]:
        return [json.loads(request.body) for request in self.got]

    def elements(self) -> list[dict[str, Any]]:
        return [element for delivery in self.deliveries() for element in delivery]


def event_id(event: dict[str, Any]) -> str:
    """Return the last segment of an event's own address."""
    return event["_links"]["self"]["href"].rpartition("/")[2]


@pytest.fixture(scope="session")
def running() -> Iterator[sandbox.Running]:
    """Serve a sandbox for tests that keep to accounts of their own and inject no faults."""
    with sandbox.serve(sandbox.create_app(retry_after=RETRIES, webhook_timeout=GUARD)) as served:
        yield served


@pytest.fixture
def alone() -> Iterator[sandbox.Running]:
    """Serve a sandbox of the test's own."""
    app = sandbox.create_app(retry_after=RETRIES, webhook_timeout=GUARD, per_page=5)
    with sandbox.serve(app) as served:
        yield served


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def clocked(clock: Clock) -> Iterator[sandbox.Running]:
    """Serve a sandbox of the test's own whose clock the test advances."""
    with sandbox.serve(sandbox.create_app(webhook_timeout=GUARD, now=clock)) as served:
        yield served


@pytest.fixture
def callers(running: sandbox.Running) -> Iterator[Callable[..., Caller]]:
    """Make a caller for an account; closed when the test ends."""
    opened: list[httpx.Client] = []

    def caller(account: str, *, person_id: str = "", at: sandbox.Running = running) -> Caller:
        key = at.admin("POST", "keys", account=account)["key"]
        # a TLS context of its own, without certificates, spares each client 40 ms of loading them
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        v2 = httpx.Client(base_url=at.base_url, headers={"OSDI-API-Token": key}, verify=tls)
        v1 = httpx.Client(base_url=at.base_url_v1, headers={"api-key": key}, verify=tls)
        opened.extend((v2, v1))
        return Caller(account, person_id, key, v2, v1)

    yield caller
    for client in opened:
        client.close()


@pytest.fixture
def person(running: sandbox.Running, callers: Callable[..., Caller]) -> Caller:
    """Make an individual account of the test's own."""
    made = running.admin("POST", "people", given_name="Ada", family_name="Baker")
    return callers(made["account"], person_id=made["person_id"])


@pytest.fixture
def group(running: sandbox.Running, callers: Callable[..., Caller]) -> Caller:
    """Make a group of the test's own; `person_id` is its founder."""
    founder = running.admin("POST", "people", given_name="Fay")["person_id"]
    made = running.admin(
        "POST", "groups", title="Clean Water", url="https://group.example.org", founder=founder
    )
    return callers(made["account_id"], person_id=founder)


@pytest.fixture
def stocked(alone: sandbox.Running, callers: Callable[..., Caller]) -> Caller:
    """Make a campaign with two events and three RSVPs, a petition with two signatures, and a tag, of the group."""
    caller = callers("group:sandbox", at=alone)
    campaign = alone.admin("POST", "campaigns", title="Spring", account=caller.account)["id"]
    inside = {"title": "Rally", "origin_system": "Tests", "platform:event_campaign_id": campaign}
    events = alone.admin(
        "POST", "events", account=caller.account, events=[inside, inside | {"listed": False}]
    )
    petition = alone.admin("POST", "petitions", title="Clean water", account=caller.account)["id"]
    caller.v2.post("/tags", json={"name": "volunteer"}).raise_for_status()
    for number, event in enumerate([*events["event_ids"], events["event_ids"][0]]):
        body = {"person": {"given_name": "Ada", "email_addresses": [{"address": f"{number}@example.org"}]}}
        caller.v2.post(f"/events/{event}/attendances", json=body).raise_for_status()
    for name in ("0", "ada"):
        body = {
            "person": {"email_addresses": [{"address": f"{name}@example.org"}]},
            "add_tags": ["volunteer"],
        }
        caller.v2.post(f"/petitions/{petition}/signatures", json=body).raise_for_status()
    caller.ids = {"campaign": campaign, "event": events["event_ids"][0], "petition": petition}
    return caller


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Run a receiver on a free loopback port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:  # the sandbox was killed before it sent the rest
                return
            received.got.append(Delivery(self.path, dict(self.headers), body))
            received.answers.wait()
            self.send_response(received.statuses.pop(0) if received.statuses else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, *_: object) -> None:
            pass  # the sandbox hangs up on a receiver that is too slow

    with Server(("127.0.0.1", 0), Handler) as server:
        received = Receiver(f"http://127.0.0.1:{server.server_port}/hook")
        received.answers.set()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield received
        received.answers.set()
        server.shutdown()
        thread.join()
