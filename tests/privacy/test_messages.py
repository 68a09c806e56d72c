"""No message shows what a file holds, or more than 60 characters of what a caller gave, or an address in these."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

import osdi_frames as of
from osdi_frames import receiver, sample
from osdi_frames.cli import COMMANDS
from osdi_frames.cli import group as commands
from osdi_frames.reports.declared import DECLARED
from osdi_frames.tables import TABLES
from tests.commands import run

from .said import LONG, SHAPES, TEXTS, WORD, folder_with_an_event, leaked, of_leaks

pytestmark = pytest.mark.usefixtures("in_a_folder")

#: The arguments that are a place to read or write.
PLACES = {"source", "destination", "path", "archive", "db", "base_url", "store"}

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
    from .calls import CALLS  # which reads archives

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
    from .calls import CALLS

    methods = {*vars(of.Archive)} - {*TABLES, "campaigns"} | {"donations"}  # tables are read in one way
    public = {*of.__all__} | {f"Archive.{name}" for name in methods if not name.startswith("_")}
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
    "overlap": ["a.json", "a.json"],
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
