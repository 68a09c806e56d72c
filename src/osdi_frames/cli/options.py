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
