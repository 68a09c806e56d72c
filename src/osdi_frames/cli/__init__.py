"""The command line: words to calls of the library, one module a command."""

import atexit
import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from enum import IntEnum
from io import TextIOWrapper
from types import FrameType
from typing import Any, NoReturn

import click

from osdi_frames.cli.options import HELP, Group, with_options
from osdi_frames.errors import OsdiError
from osdi_frames.messages import printable, shorten_within, with_shortened_paths

#: Each command, and its line in `osdi-frames --help`. It lives in the module of its name, which is imported when
#: the command is asked for: the list of commands needs no pandas, and no optional dependency.
COMMANDS = {
    "report": "Print reports, or write them as a page, CSV and Parquet.",
    "export": "Write tables as Parquet or CSV.",
    "check": "List every problem, and every key that no table reads.",
    "describe": "Show every table and its columns.",
    "overlap": "Count the people that two archives have in common.",
    "pull": "Read a service's events, and more, into an archive.",
    "receive": "Receive webhook deliveries into an archive.",
    "archive": "Verify a receiver's archive, or erase a person from it.",
    "sample": "Write a realistic archive of invented data.",
    "sandbox": "Serve the whole interface on this machine.",
}


_PATIENCE = 0.8  # seconds after Ctrl-C in which what is open is closed


class Status(IntEnum):
    """The exit status of a command; see README.md."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    STOPPED = 130
    UNREAD = 141


class _Commands(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            module = importlib.import_module(f"osdi_frames.cli.{name}")
            self.add_command(module.command, name)
        return super().get_command(ctx, name)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _unread_ends_it():  # click would end with 1
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _unread_ends_it():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _warn(message: Warning | str, *_: object) -> None:
    _complain(f"osdi-frames: warning: {message}")


def _complain(*lines: str) -> None:
    for line in lines:
        click.echo(printable(with_options(line)), err=True)


@click.group(cls=_Commands, context_settings=HELP)
@click.version_option(package_name="osdi-frames")
def group() -> None:
    """Read OSDI archives, report on them, export them."""


def run() -> None:
    """Run `main` as a process, and end at once, since Python takes 0.2 seconds to free memory at the end."""
    gc.set_threshold(50_000)  # modules and plots are many objects, of which none is garbage
    if sys.stdout is None:  # closed, as by >&-: an error if something is printed, and no file gets its number
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    # Where Windows writes to a file or a pipe, its encoding lacks most characters.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # a shell lets background jobs ignore it
        signal.signal(signal.SIGINT, _interrupt)
    status: list[int] = []
    atexit.register(lambda: status and _end_at_once(status[0]))  # what is registered first is called last
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            status.append(end.code or Status.DONE)
        raise


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, after a library was imported, and end the process soon in any case.

    Extension modules that are interrupted while they are made abort the process, or are said to be missing. What is
    written appears when it is whole, so that a process can end at any moment.
    """
    at_last = threading.Timer(_PATIENCE, _stop)
    at_last.daemon = True
    at_last.start()
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            again = threading.Timer(0.05, signal.raise_signal, [number])
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def main() -> None:
    """Run a command, print a user's error as one line on standard error, and end with its `Status`."""
    warnings.showwarning = _warn  # type: ignore[assignment] # the place in the code is nothing to a user
    with _unread_ends_it():
        sys.exit(_status())


def _status() -> int:
    try:
        return int(group.main(prog_name="osdi-frames", standalone_mode=False) or Status.DONE)
    except click.ClickException as error:
        words = [part for word in sys.argv[1:] for part in (word, *word.split("=", 1))]
        vars(error)["message"] = shorten_within(error.message, words)  # click declares it as final
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as stop:
        _stop(*getattr(stop.__cause__ or stop, "__notes__", []))
    except (OsdiError, OSError) as error:
        _complain(f"osdi-frames: {with_shortened_paths(error)}", *getattr(error, "__notes__", []))
        return Status.FAILED


@contextlib.contextmanager
def _unread_ends_it() -> Iterator[None]:
    """End in silence when nobody reads the output."""
    try:
        yield
    except BrokenPipeError:
        _end_at_once(Status.UNREAD)


def _stop(*notes: str) -> NoReturn:
    _complain("osdi-frames: stopped", *notes)
    _end_at_once(Status.STOPPED)


def _end_at_once(status: int) -> NoReturn:
    """End the process, whatever its threads wait for."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, AttributeError):  # one that is closed is None
            stream.flush()
    os._exit(status)
