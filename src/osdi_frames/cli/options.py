"""Options that several commands have, said once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def sources(function: Function) -> Function:
    """Take the files, folders and patterns to read, and how to read them."""
    argument = click.argument("source", nargs=-1, required=True)
    prefix = click.option("--prefix", help="The service's own prefix, beside platform and action_network.")
    return argument(prefix(function))


on_error = click.option(
    "--on-error",
    type=click.Choice(["raise", "skip"]),
    default="raise",
    show_default=True,
    help="Stop at the first problem, or pass over problems and say how many.",
)

progress = click.option(
    "--progress/--no-progress", default=None, help="A progress bar; on a terminal by default, for long work."
)


def filters(function: Function) -> Function:
    """Take what to count or to write: a period, a petition, a campaign, a status."""
    for name, about in reversed(_FILTERS.items()):
        many = name not in ("since", "until")
        function = click.option(f"--{name}", multiple=many, help=f"Only {about}.")(function)
    return function


_FILTERS = {
    "since": "from this year, month, day or time on, as 2026-05 (events by start_date, others by created_date)",
    "until": "up to this year, month, day or time, itself included",
    "petition": "signatures of the petition with this id; repeat it for several",
    "campaign": "events of the event campaign with this id; repeat it for several",
    "status": "events of this status; repeat it for several",
}
