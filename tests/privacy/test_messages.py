"""No message shows what a file holds, or more than 60 characters of what a caller gave, or an address in these."""

from __future__ import annotations

import contextlib
import copy
import http.server
import inspect
import io
import itertools
import json
import logging
import os
import re
import shutil
import sys
import tarfile
import threading
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import click
import httpx
import pandas as pd
import pytest
import stamina

import osdi_frames as of
from osdi_frames import errors, locking, receiver, sample, sandbox
from osdi_frames.cli import COMMANDS
from osdi_frames.cli import group as commands
from osdi_frames.durable import try_lock
from osdi_frames.errors import OsdiError
from osdi_frames.reports.declared import DECLARED
from tests import acts
from tests.client.hostile import listening, speaking
from tests.commands import run
from tests.privacy.test_canary import (
    BROKEN,
    COMMENT,
    DOCUMENTS,
    EMAIL,
    ENCODED,
    FAMILY,
    GIVEN,
    PERSON,
    PHONE,
    SPELLED,
    traces,
)

CANARY = "peregrinus"
LONG = "x" * 70 + CANARY

#: What a caller can give by mistake, each with something personal after its 60th character.
TEXTS = {
    "word": LONG,
    "JSON": json.dumps({"person": PERSON, "comments": LONG}),
    "lines": "x\n" * 35 + CANARY,
    "path": f"/dev/null/{LONG}/{CANARY}.json",
    "parts": f"/dev/null/{'x/' * 35}{CANARY}.json",
    "pattern": f"nowhere/{LONG}*{CANARY}.json",
    "service": f"https://127.0.0.1:9/{LONG}",
    "file": f"https://127.0.0.1:9/{LONG}.json",
    "object": f"memory://{LONG}",
    "protocol": f"{'x' * 70}{CANARY}://a.json",
}
#: What it stands in.
SHAPES: dict[str, Callable[[str], Any]] = {
    "text": lambda text: text,
    "list": lambda text: [text],
    "delivery": lambda text: [{"osdi:signature": {text: text, "comments": [text]}}],
    "key": lambda text: {text: text},
    "frame": lambda text: pd.DataFrame({text: [text], "total_accepted": [text], "title": [[text]]}),
}
#: The arguments that are a place to read or write.
PLACES = {"source", "destination", "path", "archive", "db", "base_url", "store"}

EVENT = {"title": "March", "total_accepted": 3, "start_date": "2026-05-01T18:00:00Z"}
EVENTS = of.read_events(EVENT)
SIGNATURES = of.read_signatures([[{"osdi:signature": {"comments": "hi"}}]])
ARCHIVE = of.open(EVENT)
ACTS = acts.frame(
    [
        {
            "person_id": "p",
            "date": datetime(2026, 5, 1, tzinfo=UTC),
            "action": "signed",
            "subject_id": "march",
            "source": "email",
            "referrer": None,
            "number": 1,
            "excluded": None,
        }
    ]
)
REPORT = of.rsvps_by_campaign(EVENTS)
FILTERS = dict.fromkeys(("since", "until", "petition", "campaign", "status"))
SETTINGS = {"prefix": None, "on_error": "raise", "limits": None, "progress": None}
OPTIONS = {"reports": [], "show_addresses": False, "min_count": None, "include": ()}
EXPORT = {"destination": "out", "tables": ["events"], "format": "csv", "partition_by": None, "dedupe": True}
PRIVACY = {"pseudonymize": None, "drop": None, "coordinate_decimals": 1, "postal_characters": 3}
SERVICE = {"base_url": "http://127.0.0.1:9/api/v2", "api_key": "key"}

#: Each public function with a call that is right; what a function hands on to a method of the handle is tried there.
#: Those of reports and plots are made in one place each.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "open": (lambda **given: of.open(**given).check(), {"source": EVENT, **SETTINGS}),
    "check": (of.check, {"source": EVENT}),
    "describe": (of.describe, {}),
    "export": (of.export, {"source": EVENT, **EXPORT, "since": None}),
    "read_events": (of.read_events, {"source": EVENT}),
    "read_signatures": (of.read_signatures, {"source": EVENT}),
    "read_table": (of.read_table, {"source": EVENT, "table": "events"}),
    "report": (of.report, {"source": EVENT, "reports": [], **FILTERS}),
    "write_report": (of.write_report, {"source": EVENT, "destination": "report", "reports": []}),
    "Archive.actions": (ARCHIVE.actions, {}),
    "Archive.attendances": (ARCHIVE.attendances, {}),
    "Archive.campaigns": (ARCHIVE.campaigns, {}),
    "Archive.check": (ARCHIVE.check, {}),
    "Archive.dask": (of.open("a.json").dask, {"name": "events"}),
    "Archive.events": (ARCHIVE.events, {}),
    "Archive.export": (ARCHIVE.export, {"engine": None, **EXPORT, **PRIVACY}),
    "Archive.inspect": (ARCHIVE.inspect, {}),
    "Archive.partitions": (of.open("a.json").partitions, {}),
    "Archive.people": (ARCHIVE.people, {}),
    "Archive.petitions": (ARCHIVE.petitions, {}),
    "Archive.report": (ARCHIVE.report, OPTIONS),
    "Archive.scan": (ARCHIVE.scan, {"name": "events"}),
    "Archive.signatures": (ARCHIVE.signatures, {}),
    "Archive.table": (ARCHIVE.table, {"name": "events"}),
    "Archive.tables": (ARCHIVE.tables, {"names": ["events"]}),
    "Archive.where": (lambda **given: ARCHIVE.where(**given).events(), FILTERS),
    "Archive.write_report": (ARCHIVE.write_report, {"destination": "report", **OPTIONS}),
    "Client": (of.Client, SERVICE),
    "Limits": (of.Limits, {}),
    "local_to_utc": (of.local_to_utc, {"events": EVENTS}),
    "manifests": (of.manifests, {"source": "pulled"}),
    "pseudonymize": (of.pseudonymize, {"frame": EVENTS, "key": b"k" * 32}),
    "write_csv": (of.write_csv, {"frame": EVENTS, "path": "a.csv"}),
    "write_excel": (of.write_excel, {"frame": EVENTS, "path": "a.xlsx"}),
    "rsvps_by": (of.rsvps_by, {"events": EVENTS, "by": "title"}),
    "rsvps_over_time": (of.rsvps_over_time, {"events": EVENTS, "by": "title"}),
    "rsvps_by_campaign": (of.rsvps_by_campaign, {"events": EVENTS}),
    "rsvps_by_pull": (of.rsvps_by_pull, {"events": EVENTS}),
    "signatures_by_petition": (of.signatures_by_petition, {"signatures": SIGNATURES}),
    "signatures_over_time": (of.signatures_over_time, {"signatures": SIGNATURES}),
    "engagement": (of.engagement, {"actions": ACTS, "freq": "M"}),
    "retention": (of.retention, {"actions": ACTS, "until": "2026-06-01"}),
    "repeats": (of.repeats, {"actions": ACTS}),
    "hosts": (of.hosts, {"actions": ACTS}),
    "funnel": (of.funnel, {"actions": ACTS, "steps": ["signed", "rsvped"], "within": "30D"}),
    "attribution": (of.attribution, {"actions": ACTS, "to": "signed", "touch": "both"}),
    "utc_to_local": (of.utc_to_local, {"frame": ACTS, "timezone": "UTC"}),
    "weekday_hours": (of.weekday_hours, {"frame": EVENTS}),
    "compare": (of.compare, {"frame": ACTS, "period": "7D", "until": "2026-06-01"}),
    "changes": (of.changes, {"actions": ACTS, "period": "7D", "until": "2026-06-01"}),
    "goals": (of.goals, {"signatures": SIGNATURES, "goals": {"p": 3}, "until": "2026-06-01"}),
    "plots.rsvps_by_campaign": (of.plots.rsvps_by_campaign, {"report": REPORT}),
    "plots.engagement": (of.plots.engagement, {"report": of.engagement(ACTS)}),
    "plots.retention": (of.plots.retention, {"report": of.retention(ACTS)}),
    "plots.repeats": (of.plots.repeats, {"report": of.repeats(ACTS), "top": 2}),
    "plots.hosts": (of.plots.hosts, {"report": of.hosts(ACTS), "top": 2}),
    "plots.funnel": (of.plots.funnel, {"report": of.funnel(ACTS), "top": 2}),
    "plots.attribution": (of.plots.attribution, {"report": of.attribution(ACTS, "signed"), "top": 2}),
    "plots.compare": (of.plots.compare, {"report": of.compare(ACTS), "top": 2}),
    "plots.goals": (of.plots.goals, {"report": of.goals(SIGNATURES, {}), "top": 2}),
    "plots.weekday_hours": (of.plots.weekday_hours, {"report": of.weekday_hours(EVENTS)}),
    "plots.event_map": (of.plots.event_map, {"events": EVENTS}),
    "plots.signature_map": (of.plots.signature_map, {"signatures": EVENTS, "decimals": 1}),
    "reports.Report": (of.reports.Report, {}),
    "reports.suppress": (of.reports.suppress, {"report": REPORT, "below": 3}),
    "receiver.create_app": (receiver.create_app, {"archive": "received", "tokens": ["t" * 32]}),
    "receiver.erase": (receiver.erase, {"archive": "received", "persons": ["p"]}),
    "receiver.requeue": (receiver.requeue, {"archive": "received"}),
    "receiver.verify": (receiver.verify, {"archive": "received"}),
    "sandbox.create_app": (sandbox.create_app, {}),
    "sample.write": (sample.write, {"destination": "made", "signatures": 1, "events": 1}),
}
#: What only holds values, or is called by others of these.
OTHERS = {"Archive", "Manifest", "OsdiError", "ProblemsWarning", "ServiceWarning", "SourceWarning", "plots"}
OTHERS |= {
    "Archive.contents",
    "receiver.ReceiverLimits",
    "receiver.serve",
    "sample.World",
    "sample.deliveries",
}
OTHERS |= {
    f"reports.{name}"
    for name in (
        "DECLARED",
        "NONE",
        "NO_DATE",
        "REPORTS",
        "STANDARD",
        "Analysis",
        "By",
        "Counting",
        "Period",
        "make",
    )
}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a folder with one event; ask for addresses once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(EVENT))
    stamina.set_testing(True, attempts=1)
    yield
    stamina.set_testing(False)


@contextlib.contextmanager
def said() -> Iterator[list[str]]:
    """Yield a list that has at the end what this package logged and warned of, and the traceback of an error."""
    texts: list[str] = []
    log, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(log), root.level
    handler.addFilter(logging.Filter("osdi_frames"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield texts
        except Exception as error:  # noqa: BLE001 (whatever it is, it is shown to somebody)
            texts.append("".join(traceback.format_exception(error)))
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
    texts += [log.getvalue(), *(str(each.message) for each in caught)]


def leaked(call: Callable[[], Any]) -> str:
    """Return what a call said, if the canary is in it."""
    with said() as texts:
        call()
    everything = "\n".join(texts)
    leaks = (CANARY, "quillonfarth-mail", ENCODED)
    return everything[-2000:] if any(text in everything for text in leaks) else ""


def arguments(name: str) -> list[str]:
    """Return the arguments of a call, and one that it does not have."""
    function, valid = CALLS[name]
    declared = inspect.signature(function).parameters.values()
    named = [each.name for each in declared if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    # Where there are none, Python says what is not an argument.
    mistyped = [f"mistyped_{LONG}"] if any(each.kind == each.VAR_KEYWORD for each in declared) else []
    return [*dict.fromkeys([*valid, *named, *mistyped])]


@pytest.mark.parametrize("name", CALLS)
def test_no_call_quotes_a_long_argument(name: str) -> None:
    function, valid = CALLS[name]
    for argument in arguments(name):
        texts = TEXTS.values() if argument in PLACES else [TEXTS["word"], EMAIL, ENCODED]
        given = [SHAPES[shape](text) for text in texts for shape in ("text", "list")]
        declared = inspect.signature(function).parameters.get(argument)
        if declared is None or not re.fullmatch(r"(bool|int|float)( \| None)?", str(declared.annotation)):
            given += [shape(TEXTS["JSON"]) for shape in SHAPES.values()]
        calls = [lambda value=value, at=argument: function(**valid | {at: value}) for value in given]
        assert list(filter(None, map(leaked, calls))) == [], argument


def test_every_public_function_is_among_the_calls() -> None:
    public = {*of.__all__} | {f"Archive.{name}" for name in vars(of.Archive) if not name.startswith("_")}
    for module in (receiver, sample, of.reports, of.plots):
        name = module.__name__.rpartition(".")[2]
        public |= {f"{name}.{each}" for each in module.__all__}
    made = {*DECLARED} | {f"{where}.{name}" for where in ("reports", "plots") for name in DECLARED}
    # A report's function has two names.
    made |= {
        f"reports.{name}" for name in of.reports.__all__ if getattr(of.reports, name) is vars(of).get(name)
    }
    assert public - OTHERS - made <= CALLS.keys()


def options() -> Iterator[tuple[list[str], click.Parameter | None]]:
    """Yield the words of each command, with each of its parameters, and with none."""
    context = click.Context(commands)
    for name in COMMANDS:
        command = commands.get_command(context, name)
        for below in command.commands.values() if isinstance(command, click.Group) else [command]:
            words = [name] if below is command else [name, str(below.name)]
            yield from ((words, parameter) for parameter in [None, *below.params])


#: Arguments that are right, of commands that end by themselves.
RIGHT = {
    "report": ["a.json"],
    "export": ["a.json", "out"],
    "check": ["a.json"],
    "describe": ["events"],
    "pull": ["http://127.0.0.1:9/api/v2", "pulled"],
    "receive": ["received", "--token", "short"],
    "archive verify": ["received"],
    "archive requeue": ["received"],
    "archive erase": ["received", "--person", "p"],
    "sample": ["made", "--signatures", "1", "--events", "1"],
    "sandbox": ["--port", "70000"],
}


@pytest.mark.parametrize(
    ("words", "parameter"),
    list(options()),
    ids=lambda each: "-".join(each) if isinstance(each, list) else str(each),
)
def test_no_command_quotes_a_long_argument(words: list[str], parameter: click.Parameter | None) -> None:
    right = RIGHT[" ".join(words)]
    is_place = isinstance(parameter, click.Argument) or isinstance(
        getattr(parameter, "type", None), click.Path
    )
    for kind in TEXTS if is_place else ("word", "JSON", "lines"):
        text = TEXTS[kind]
        lines = [[*right, text], [*right, f"--{text}"]]
        if isinstance(parameter, click.Argument):
            at = [each.name for each in commands_arguments(words)].index(parameter.name)
            lines = [[*right[:at], text, *right[at + 1 :]]]
        elif parameter is not None:
            lines = [[*right, parameter.opts[0], text]]
            if kind == "word":
                lines.append([*right, f"{parameter.opts[0]}={text}"])
        for line in lines:
            ran = run(*words, *line, OSDI_API_KEY="key")
            assert CANARY not in ran.stderr + ran.stdout
            assert "quillonfarth-mail" not in ran.stderr + ran.stdout


def commands_arguments(words: list[str]) -> list[click.Parameter]:
    """Return the arguments of a command, in their order."""
    command: Any = commands
    for word in words:
        command = command.get_command(click.Context(command), word)
    return [each for each in command.params if isinstance(each, click.Argument)]


def test_neither_the_command_nor_a_group_quotes_a_long_word() -> None:
    for words in ([LONG], ["archive", LONG], [f"--{LONG}"], ["archive", f"--{LONG}=x"]):
        ran = run(*words)
        assert ran.returncode == 2
        assert CANARY not in ran.stderr


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


@pytest.mark.parametrize("name", METHODS)
def test_no_method_of_the_client_quotes_a_long_argument_also_where_the_service_repeats_it(name: str) -> None:
    assert METHODS.keys() == {each for each in vars(of.Client) if not each.startswith("_")} - {
        "base_url",
        "close",
    }
    rows = {column: [LONG] for column in ("title", "name", "location_locality", "event_id", "origin_system")}
    odd = [
        *(shape(TEXTS[kind]) for kind in ("word", "JSON") for shape in SHAPES.values()),
        *(
            {"title": "March", "origin_system": "Desk", field: LONG}
            for field in (LONG, "title", "start_date", "location")
        ),
        *(
            {"title": LONG, "origin_system": "Desk", "location": inner}
            for inner in ({LONG: 1}, {"venue": [LONG]})
        ),
        {"title": "March", "origin_system": "Desk", "_links": {LONG: LONG}},
        {"title": "March", "origin_system": "Desk", "identifiers": [LONG]},
        *(pd.DataFrame({**rows, "start_date": start}) for start in ([LONG], [None])),
    ]
    leaks = []
    with echoing() as base_url, client_of(base_url) as client:
        method = getattr(client, name)

        def call(**given: Any) -> None:
            found = method(**METHODS[name] | given)
            for row in found.get("error", []) if isinstance(found, pd.DataFrame) else found:
                assert CANARY not in str(row), row

        for argument in inspect.signature(method).parameters:
            leaks += [
                leaked(lambda value=value, argument=argument: call(**{argument: value})) for value in odd
            ]
    assert list(filter(None, leaks)) == []


@contextlib.contextmanager
def answering(status: int, body: Any = None, **headers: str) -> Iterator[of.Client]:
    """Yield a client of a service that always answers the same."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    with (
        listening(lambda _: (status, headers, text)) as service,
        client_of(service.base_url) as client,
    ):
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
    errors.InvalidColumn: lambda: of.rsvps_by_month(EVENTS.assign(start_date=[LONG])),
    errors.InvalidField: lambda: client_of("https://a.example/v2").create_event({LONG: LONG}),
    errors.InvalidSource: lambda: of.check(TEXTS["service"]),
    errors.KeyRefused: lambda: read(403, {"error": "no"}),
    errors.MissingColumn: lambda: of.rsvps_by(EVENTS, LONG),
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


@pytest.mark.parametrize("error", sorted({*every_error()}, key=lambda error: error.__name__))
def test_no_error_quotes_what_is_long(error: type[OsdiError], monkeypatch: pytest.MonkeyPatch) -> None:
    call = RAISED[error]
    needs = [monkeypatch] if inspect.signature(call).parameters else []
    with said() as texts, pytest.raises(error) as raised:
        call(*needs)
    assert type(raised.value) is error
    shown = "".join([*texts, *traceback.format_exception(raised.value), repr(raised.value)])
    assert CANARY not in shown
    assert "quillonfarth-mail" not in shown


#: Somebody's data, in each form that a value can have.
VALUES: list[Any] = [
    *(
        EMAIL,
        PHONE,
        f"{GIVEN} {FAMILY}",
        ENCODED,
        f"{ENCODED}==",
        quote(EMAIL),
        quote(quote(EMAIL)),
        *SPELLED,
    ),
    *(f"['river', '{EMAIL}']", json.dumps({"source": EMAIL}), f"2026-05-01T10:00:00Z {EMAIL}", 14158675309),
    *(4158675309.5, int("1" * 70 + "4158675309"), f"{'x' * 70}{EMAIL}", f"9e{PHONE}", f"{EMAIL}: {COMMENT}"),
]
#: What is around it.
AROUND: list[Callable[[Any], Any]] = [
    lambda value: value,
    lambda value: [value],
    lambda value: {"a": value},
    lambda value: {str(value): 1},
    lambda value: [[{"b": [value]}]],
    lambda value: {"a": {str(value): [{str(value): value}]}},
]


def leaves(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where each value of a document is, also each object and list."""
    if at:
        yield at
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            yield from leaves(document[key], (*at, key))


def changed(document: Any, at: tuple[Any, ...], value: Any, *, key: str | None = None) -> Any:
    """Return a document with another value at a place, or with the value under another key."""
    document = copy.deepcopy(document)
    inner = document
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = value
    if key is not None:
        inner[key] = inner.pop(at[-1])
    return document


def documents_with_somebody() -> Iterator[Any]:
    """Yield documents of each type, with somebody's data in place of a value, of an object, and of a key."""
    turns = itertools.cycle(itertools.product(VALUES, AROUND))
    for document in [*DOCUMENTS, *BROKEN.values()]:
        yield document
        for at in leaves(document):
            yield from (changed(document, at, around(value)) for value, around in itertools.islice(turns, 5))
            if isinstance(at[-1], str):
                for key, prefix in zip(itertools.islice(VALUES, 2), ("", "osdi:"), strict=True):
                    yield changed(document, at, None, key=f"{prefix}{key}")
                value, around = next(turns)
                yield changed(document, at, around(value), key=f"{at[-1]}.{value}")
    for value, around in itertools.islice(turns, len(VALUES) * len(AROUND)):
        yield around(value)
        yield [around(value)]
        yield {"received_at": around(value), "fetched_at": around(value), "body": DOCUMENTS[0]}
        yield {str(value): [{"payload": json.dumps(DOCUMENTS[0]), "at": around(value)}, around(value)]}


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
def test_nothing_that_is_said_of_documents_shows_what_is_in_them(step: int) -> None:
    documents = list(documents_with_somebody())[::step]
    assert len(documents) > 5000 / step
    lines = [json.dumps(document) for document in documents]
    Path("a.ndjson").write_text("".join(f"{line}\n" for line in [*lines, *(line[:-1] for line in lines)]))
    with said() as texts:
        of.open("a.ndjson", on_error="skip").tables()
    with said() as more:
        more.append(of.check("a.ndjson").to_csv())
        more.append(f"{of.open('a.ndjson').contents()!r} {of.open('a.ndjson')!r}")
    for number, document in enumerate(documents[:: len(documents) // 15]):
        Path(f"{number}.json").write_text(json.dumps(document))
        with said() as one:
            of.open(f"{number}.json").tables()
        more += one
    for line in (["check", "a.ndjson"], ["report", "a.ndjson"]):
        ran = run(*line)
        more.append(ran.stderr + ran.stdout)
    shown = "".join(texts + more)
    assert "not an object" in shown
    assert ENCODED not in shown
    assert traces(shown.encode()) == []


def test_what_is_shown_of_a_key_is_the_name_of_a_field() -> None:
    """New fields of the service are what `check` is read for."""
    new = ("shoe_size", "osdi:shoe_size", "action_network:line2", "shoeSize", "_links2")
    other = (EMAIL, ENCODED, "Ann", "ann smith", "ann.smith", "415_867_5309", "c0ffee00-1234", "é", "x" * 40)
    keys = dict.fromkeys(new + other, 1)
    found = of.check({"title": "March", "total_accepted": 1, **keys})
    shown = {*found[found["problem"] == "undeclared key"]["detail"]}
    assert shown == {f"event: {name}" for name in (*new, "(hidden)")}


@pytest.mark.parametrize("kind", ["file", "folder", "member of a zip", "member of a tar"])
def test_the_name_of_a_file_is_quoted_up_to_60_characters_of_each_part(kind: str) -> None:
    text = json.dumps({"total_accepted": "lots"})
    if kind == "member of a zip":
        with zipfile.ZipFile("a.zip", "w") as archive:
            archive.writestr(f"{LONG}/{LONG}.json", text)
    elif kind == "member of a tar":
        Path("made").mkdir()
        Path("made", f"{LONG}.json").write_text(text)
        with tarfile.open("a.tar", "w") as archive:
            archive.add(f"made/{LONG}.json")
        shutil.rmtree("made")
    else:
        path = Path(LONG, f"{LONG}.json") if kind == "folder" else Path(f"{LONG}.json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for line in (["report", "."], ["check", "."], ["report", ".", "--on-error", "skip"]):
        ran = run(*line)
        assert f"{'x' * 60}…" in ran.stderr + ran.stdout
        assert CANARY not in ran.stderr + ran.stdout


def test_what_is_said_of_a_receivers_archive_quotes_60_characters_of_a_name_in_its_path() -> None:
    worker = Path(LONG, "main")
    (worker / "2026-05-01").mkdir(parents=True)
    (worker / ".lock").touch()
    (worker / "2026-05-01" / "000000000001.ndjson").write_text(f"damaged {LONG}\n" * 3)
    assert f"{'x' * 60}…/main/2026-05-01/000000000001.ndjson:1: " in run("archive", "verify", LONG).stdout
    for line in (["verify", LONG], ["erase", LONG, "--person", "p"], ["erase", LONG, "--email", LONG]):
        ran = run("archive", *line)
        assert CANARY not in ran.stderr + ran.stdout


def test_no_refusal_of_the_sandbox_quotes_what_is_long() -> None:
    text = TEXTS["word"]
    bodies: list[Any] = [shape(text) for name, shape in SHAPES.items() if name != "frame"]
    bodies += [{"title": "March", "origin_system": text, "_links": {text: text}, key: text} for key in EVENT]
    asked = [
        (method, f"{base}/{path}")
        for base in ("/api/v2", "/api/v1", "/sandbox")
        for path in (
            text,
            "events",
            f"events/{text}",
            f"petitions/{text}/signatures",
            f"events?filter={text}",
            f"events?page={text}",
            f"faults/{text}",
            "faults",
            "webhooks",
            "requests",
            "people",
        )
        for method in ("GET", "POST", "PUT", "DELETE")
    ]
    with (
        sandbox.serve() as running,
        httpx.Client(headers={"OSDI-API-Token": running.group_key, "api-key": running.group_key}) as caller,
    ):
        for method, path in asked:
            for body in bodies if method in ("POST", "PUT") else [None]:
                answer = caller.request(method, f"{running.origin}{path}", json=body)
                assert answer.status_code < 400 or CANARY not in answer.text, (method, path)
