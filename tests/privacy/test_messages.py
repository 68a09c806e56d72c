"""No message shows what a file holds, or more than 60 characters of what a caller gave, or an address in these."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import click

import osdi_frames as of
from osdi_frames import receiver, sample, sandbox
from osdi_frames.cli import COMMANDS
from osdi_frames.cli import group as commands
from osdi_frames.reports.declared import DECLARED
from tests import acts
from tests.commands import run

from .said import EVENT, EVENTS, LONG, SHAPES, TEXTS, WORD, folder_with_an_event, leaked, of_leaks

#: The arguments that are a place to read or write.
PLACES = {"source", "destination", "path", "archive", "db", "base_url", "store"}

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
    for name in ("DECLARED", "NONE", "NO_DATE", "REPORTS", "STANDARD", "By", "Counting", "Period", "make")
}


def arguments(function: Callable[..., Any], valid: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the arguments of a call with their annotations, and one that it does not have."""
    declared = inspect.signature(function).parameters
    for name, each in declared.items():
        if each.kind == each.VAR_KEYWORD:  # where there are none, Python says what is not an argument
            yield f"mistyped_{LONG}", ""
        elif each.kind != each.VAR_POSITIONAL:
            yield name, str(each.annotation)
    yield from ((name, "") for name in valid.keys() - declared.keys())


def test_no_call_quotes_a_long_argument() -> None:
    """Of an argument of the same name and type, each form is given to the first function that has it."""
    seen = set()
    for name, (function, valid) in CALLS.items():
        for argument, annotation in arguments(function, valid):
            is_new, is_place = (argument, annotation) not in seen, argument in PLACES
            is_small = re.fullmatch(r"(bool|int|float)( \| None)?", annotation)
            text = LONG if is_place else WORD
            given = [shape(text) for shape in (SHAPES.values() if is_new and not is_small else [str])]
            given += TEXTS.values() if is_new and is_place else ()
            seen.add((argument, annotation))
            calls = [lambda value=value: function(**valid | {argument: value}) for value in given]  # noqa: B023 (called here)
            assert list(filter(None, map(leaked, calls))) == [], (name, argument)


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


def lines_with(text: str, words: list[str], parameter: click.Parameter | None) -> Iterator[list[str]]:
    """Yield command lines with a text as one of their parameters, or as a word and an option too many."""
    right = RIGHT[" ".join(words)]
    if isinstance(parameter, click.Argument):
        at = [each.name for each in commands_arguments(words)].index(parameter.name)
        yield [*right[:at], text, *right[at + 1 :]]
    elif parameter is None:
        yield from ([*right, text], [*right, f"--{text}"])
    else:
        yield [*right, parameter.opts[0], text]
        if text.startswith(LONG):
            yield [*right, f"{parameter.opts[0]}={text}"]


def test_no_command_quotes_a_long_argument() -> None:
    """Of an option that several commands have, each form is given to the first of them."""
    seen = set()
    for words, parameter in options():
        is_path = isinstance(getattr(parameter, "type", None), click.Path)
        name = parameter and (parameter.name, type(parameter.type))
        texts = [f"{LONG}\n{TEXTS['JSON']}" if isinstance(parameter, click.Option) and not is_path else LONG]
        if isinstance(parameter, click.Argument) and name not in seen:
            texts = list(TEXTS.values())
        for text in texts:
            for line in lines_with(text, words, parameter):
                with folder_with_an_event():
                    ran = run(*words, *line, OSDI_API_KEY="key")
                assert not of_leaks(ran.stderr + ran.stdout), (words, line)
        seen.add(name)
    for words in ([LONG], ["archive", LONG], [f"--{LONG}"], ["archive", f"--{LONG}=x"]):
        ran = run(*words)
        assert (ran.returncode, of_leaks(ran.stderr)) == (2, "")


def commands_arguments(words: list[str]) -> list[click.Parameter]:
    """Return the arguments of a command, in their order."""
    command: Any = commands
    for word in words:
        command = command.get_command(click.Context(command), word)
    return [each for each in command.params if isinstance(each, click.Argument)]
