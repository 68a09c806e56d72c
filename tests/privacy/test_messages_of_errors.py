"""No error and no method of the client shows what is long, also where the service repeats it."""

from __future__ import annotations

import contextlib
import http.server
import inspect
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames import errors, locking, receiver, sandbox
from osdi_frames.durable import try_lock
from osdi_frames.errors import OsdiError
from tests.client.hostile import listening, speaking

from .said import CANARY, EVENT, LONG, SHAPES, TEXTS, events, folder_with_an_event, leaked, of_leaks, said

pytestmark = pytest.mark.usefixtures("in_a_folder")


@contextlib.contextmanager
def echoing() -> Iterator[str]:
    """Serve errors that repeat all that was asked, path and body; yield the base address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            texts = json.dumps(json.loads(body or "{}"), ensure_ascii=False)
            words = json.dumps({"error": f"not possible: {unquote(self.path)} {texts}"}).encode()
            self.send_response(422)
            self.send_header("Content-Length", str(len(words)))
            self.end_headers()
            self.wfile.write(words)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 (http.server's names)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/api/v2"
        server.shutdown()
        thread.join()


def client_of(base_url: str, **settings: Any) -> of.Client:
    return of.Client(base_url, "key", **{"rate": None, "retries": 0, "backoff": 0.001} | settings)


#: Each method of the client, with a call that is right.
METHODS: dict[str, dict[str, Any]] = {
    "events": {"campaign": "c", "filter": "f"},
    "campaign_events": {"campaigns": ["c"]},
    "event": {"event_id": "e"},
    "pages": {"path": "events", "filter": "f"},
    "pull": {"destination": "pulled", "campaigns": ["c"]},
    "create_event": {"event": {"title": "March", "origin_system": "Desk"}},
    "update_event": {"event_id": "e", "changed": {"title": "March"}},
    "create_events": {"frame": pd.DataFrame({"title": ["March"], "origin_system": ["Desk"]})},
    "update_events": {"frame": pd.DataFrame({"title": ["March"], "event_id": ["e"]})},
    "delete_event": {"event_id": "e"},
}


def test_no_method_of_the_client_quotes_a_long_argument_also_where_the_service_repeats_it() -> None:
    assert METHODS.keys() | {"base_url", "close"} == {name for name in vars(of.Client) if name[0] != "_"}
    rows = {column: [LONG] for column in ("title", "name", "location_locality", "event_id", "origin_system")}
    event = {"title": "March", "origin_system": "Desk"}
    odd = [
        *(shape(LONG) for shape in SHAPES.values()),
        *(event | {field: LONG} for field in (LONG, "title", "start_date", "location")),
        *(event | {"title": LONG, "location": inner} for inner in ({LONG: 1}, {"venue": [LONG]})),
        event | {"_links": {LONG: LONG}},
        event | {"identifiers": [LONG]},
        *(pd.DataFrame({**rows, "start_date": start}) for start in ([LONG], [None])),
    ]

    def call(name: str, **given: Any) -> None:
        found = getattr(client, name)(**METHODS[name] | given)
        for row in found.get("error", []) if isinstance(found, pd.DataFrame) else found:
            assert not of_leaks(str(row)), row

    with echoing() as base_url, client_of(base_url) as client:
        for name in METHODS:
            for argument in inspect.signature(getattr(client, name)).parameters:
                calls = [lambda value=value: call(name, **{argument: value}) for value in odd]  # noqa: B023 (called here)
                assert list(filter(None, map(leaked, calls))) == [], (name, argument)


@contextlib.contextmanager
def answering(status: int, body: Any = None, **headers: str) -> Iterator[of.Client]:
    """Yield a client of a service that always answers the same."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    with listening(lambda _: (status, headers, text)) as service, client_of(service.base_url) as client:
        yield client


def read(status: int, body: Any = None, **headers: str) -> None:
    with answering(status, body, **headers) as client:
        client.event(LONG)


def read_foreign() -> None:
    with answering(
        200, {"_links": {"next": {"href": f"https://{LONG}.example/{LONG}"}}, "_embedded": {}}
    ) as client:
        list(client.pages(LONG))


def read_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("osdi_frames.client.transport.LARGEST", 10)
    read(200, {LONG: LONG})


def read_nothing() -> None:
    with (
        speaking(lambda *_: time.sleep(0.2)) as base_url,
        of.Client(base_url, "key", retries=0, timeout=0.05) as client,
    ):
        client.event(LONG)


def read_closed() -> None:
    with answering(200, {}) as client:
        client.close()
        client.event(LONG)


def read_in_part() -> None:
    page = {
        "page": 1,
        "total_pages": 1,
        "total_records": 9,
        "_embedded": {"osdi:events": [{"identifiers": [f"platform:{LONG}"]}]},
    }
    with answering(200, page) as client:
        client.events(LONG)


def delete() -> None:
    with answering(405, {"error": "no"}) as client:
        client.delete_event(LONG)


def refuse_in_the_sandbox() -> None:
    with sandbox.serve() as running:
        running.inject(LONG)


def write_over_a_file() -> None:
    of.export(EVENT, "out", tables=["events"])
    Path("out", LONG).touch()
    of.export(EVENT, "out", tables=["events"], overwrite=True)


def lock_twice() -> None:
    Path(LONG, "main").mkdir(parents=True)
    held = try_lock(Path(LONG, "main", ".lock"))
    try:
        receiver.create_app(LONG, tokens=["t" * 32])
    finally:
        os.close(held or 0)


def receive_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "fcntl", None)
    receiver.create_app(LONG, tokens=["t" * 32])


def read_without_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    of.check(f"s3://{LONG}/{CANARY}.json")


#: Every error, and a call that raises it, with something personal in all that is given and found.
RAISED: dict[type[OsdiError], Callable[..., Any]] = {
    errors.ArchiveLocked: lock_twice,
    errors.BadAddress: lambda: client_of(f"https://{LONG}"),
    errors.BadAnswer: lambda: read(200, LONG.encode()),
    errors.BadDocument: lambda: of.read_events({"total_accepted": LONG, "title": LONG}),
    errors.ClientClosed: read_closed,
    errors.DatabaseUnusable: lambda: sandbox.create_app(f"{LONG}/{CANARY}.db"),
    errors.DeletionRefused: delete,
    errors.DestinationExists: write_over_a_file,
    errors.ForeignAddress: read_foreign,
    errors.IncompletePull: read_in_part,
    errors.InsecureAddress: lambda: client_of(f"http://{LONG}.example/v2"),
    errors.InvalidArgument: lambda: of.read_events(EVENT, on_error=LONG),
    errors.InvalidColumn: lambda: of.rsvps_by_month(events().assign(start_date=[LONG])),
    errors.InvalidField: lambda: client_of("https://a.example/v2").create_event({LONG: LONG}),
    errors.InvalidSource: lambda: of.check(TEXTS["service"]),
    errors.KeyRefused: lambda: read(403, {"error": "no"}),
    errors.MissingColumn: lambda: of.rsvps_by(events(), LONG),
    errors.MissingExtra: read_without_an_extra,
    errors.MissingKey: lambda: of.Client("https://a.example/v2", f"\N{BULLET}{LONG}"),
    errors.PageTooLarge: read_too_much,
    errors.RequestRefused: refuse_in_the_sandbox,
    errors.ResourceNotFound: lambda: read(404, {"error": "no"}),
    errors.ServiceError: lambda: read(500, {"error": "no"}),
    errors.ServiceTimeout: read_nothing,
    errors.ServiceUnreachable: lambda: client_of("http://127.0.0.1:9/v2").event(LONG),
    errors.SourceNotFound: lambda: of.check(TEXTS["JSON"]),
    errors.UnknownColumn: lambda: of.read_events(EVENT, columns=[LONG]),
    errors.UnknownReport: lambda: of.report(EVENT)[LONG],
    errors.UnknownTable: lambda: of.read_table(EVENT, LONG),
    errors.UnsupportedSystem: receive_on_windows,
    errors.UnknownValue: lambda: of.report({**EVENT, "status": LONG}, status=TEXTS["JSON"]),
}


def every_error(base: type[OsdiError] = OsdiError) -> Iterator[type[OsdiError]]:
    for error in base.__subclasses__():
        yield error
        yield from every_error(error)


def test_no_error_quotes_what_is_long() -> None:
    assert {*every_error()} == RAISED.keys()
    for error, call in RAISED.items():
        contexts = folder_with_an_event(), pytest.MonkeyPatch.context(), said(), pytest.raises(error)
        with contexts[0], contexts[1] as patched, contexts[2] as texts, contexts[3] as raised:
            call(*[patched] * len(inspect.signature(call).parameters))
        assert type(raised.value) is error
        assert not of_leaks(
            "".join([*texts, *traceback.format_exception(raised.value), repr(raised.value)])
        ), error
