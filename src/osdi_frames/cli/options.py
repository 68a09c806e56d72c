"""Options that several commands have, said once."""

import contextlib
import io
import json
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from osdi_frames.messages import nearest, quoted

Function = TypeVar("Function", bound=Callable[..., Any])

natural, positive = click.IntRange(min=0), click.IntRange(min=1)

prefix = click.option("--prefix", help="The service's own prefix, besides platform and action_network.")

bom = click.option("--bom", is_flag=True, help="CSV: a byte-order mark, by which Excel knows UTF-8.")

as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document, for programs; also with --quiet."
)

progress = click.option(
    "--progress/--no-progress", default=None, help="A progress bar; by default on a terminal."
)

store = click.option(
    "--store",
    type=click.Path(file_okay=False),
    help="A folder that keeps what was parsed: the next reading parses only new and changed files.",
)

on_error = click.option(
    "--on-error",
    type=click.Choice(["raise", "skip"]),
    default="raise",
    help="Stop at the first problem, or skip problems and say how many.",
)

timezone = click.option(
    "--timezone",
    envvar="OSDI_TIMEZONE",
    show_envvar=True,
    help="The zone of days, months and hours, as America/New_York; UTC when not given.",
)

_now = click.option(
    "--now", metavar="TIME", help="The present, from which 7d, yesterday and last-month are counted."
)

#: Filters by time, of which one value is asked for.
_PERIOD = {
    "since": "Only from this year, month, day or time on, as 2026-05, 7d, yesterday or last-month: events by "
    "start_date, others by created_date.",
    "until": "Only up to this year, month, day or time, itself included.",
}


def sources(function: Function) -> Function:
    """Take the sources to read, and their prefix."""
    return click.argument("source", nargs=-1, metavar="SOURCE...", callback=_given)(prefix(function))


def _given(ctx: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse an empty list of sources, and name the last argument as missing, since the one before it was given."""
    if not value and not ctx.resilient_parsing:
        last = [parameter for parameter in ctx.command.params if isinstance(parameter, click.Argument)][-1]
        raise click.MissingParameter(ctx=ctx, param=last)
    return value


def reading(function: Function) -> Function:
    """Take filters, `--timezone`, `--now`, `--on-error`, `--store` and `--progress`."""
    # Imported here: the list of commands needs no pandas.
    from osdi_frames.resolving.filters import FILTERS, OF_THINGS, named

    function = timezone(_now(on_error(store(progress(function)))))
    for name, columns in reversed([*FILTERS.items()]):
        types = ", ".join(map(named, columns))
        by = f"{name}, an id or title" if name in OF_THINGS else name
        about = _PERIOD.get(name, f"Only {types} of this {by}; repeat it for several.")
        function = click.option(f"--{name}", multiple=name not in _PERIOD, help=about)(function)
    return function


def port(default: int) -> Callable[[Function], Function]:
    """Take the port to listen on."""
    kind = click.IntRange(0, 65535)
    return click.option("--port", default=default, type=kind, help="Port to listen on; 0 takes a free one.")


def listed(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Read names with commas between them."""
    return [name.strip() for name in ",".join(value).split(",") if name.strip()]


#: Settings of every command, and of the group of all.
HELP = {"help_option_names": ["-h", "--help"], "show_default": True}


#: An argument in a message, and after it in parentheses the option that is the same.
_ARGUMENT = re.compile(r"\b(\w+)=[^;()]*\(--([\w-]+)([^()]*)\)")


def with_options(message: str) -> str:
    """Replace arguments by options in a message.

    >>> with_options('prefix="our" (--prefix our) makes it known; osdi_frames.check lists all')
    '--prefix our makes it known; osdi-frames check lists all'
    """
    said = _ARGUMENT.sub(
        lambda found: f"--{found[2]}{found[3]}" if found[2].replace("-", "_") == found[1] else found[0],
        message,
    )
    return said.replace("osdi_frames.check", "osdi-frames check")


#: Where a quiet command keeps the stream that it prints nothing to but JSON.
_STDOUT = f"{__name__}.stdout"


def _silence(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.default_map = {"progress": False}
        ctx.meta[_STDOUT] = sys.stdout
        ctx.with_resource(contextlib.redirect_stdout(io.StringIO()))


def is_quiet() -> bool:
    """Return whether the command is quiet."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and _STDOUT in ctx.meta


def print_json(document: Any) -> None:
    """Print JSON, also of a quiet command."""
    stdout = click.get_current_context().meta.get(_STDOUT)
    click.echo(json.dumps(document, default=str, indent=2), file=stdout)


def note(line: str) -> None:
    """Print a line to standard error, unless quiet."""
    if not is_quiet():
        click.echo(line, err=True)


_QUIET = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_silence,
    help="Print nothing but warnings, and the error that stops it.",
)


def runs(*example: str, group: click.Group | None = None) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command with `--quiet` and an example."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        # click leaves the lines after a backspace as they are.
        epilog = "\n  ".join(["\b\nExample:", *example])
        command = (group.command if group else click.command)(context_settings=HELP, epilog=epilog)(function)
        command.params.append(_QUIET)
        return command

    return decorate


class Group(click.Group):
    """Commands that answer a mistyped one with the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {quoted(args[0])}; {nearest(args[0], names)}")
        return super().resolve_command(ctx, args)
