"""``osdi-frames overlap``: how many people two archives have in common."""

from typing import Any

import click
import pandas as pd

from osdi_frames.cli.options import as_json, on_error, positive, prefix, print_json, progress, runs
from osdi_frames.messages import quoted_path, wrapped
from osdi_frames.shared_people import overlap
from osdi_frames.shortcuts import open as open_archive


@runs("osdi-frames overlap north south")
@click.argument("a")
@click.argument("b")
@click.option(
    "--by", type=click.Choice(["email", "person_id"]), default="email", help="What they have in common."
)
@click.option("--min-count", type=positive, default=5, help="Hide smaller counts of people; 1 shows all.")
@prefix
@as_json
@on_error
@progress
def command(a: str, b: str, *, by: Any, min_count: int, as_json: bool, **settings: Any) -> None:
    """Count the people of the archives A and B, and those in both; nothing else is shown.

    They are compared by e-mail address in any case, or by their id in one service. Who is gone is not counted.
    """
    one, other = (open_archive(source, **settings) for source in (a, b))
    found = overlap(one, other, by=by, min_count=min_count)
    people = {str(name): None if pd.isna(count) else int(count) for name, count in found["people"].items()}
    notes = found.attrs["note"].splitlines()
    if as_json:
        print_json({"people": people, "notes": notes})
        return
    for name, source in {"a": quoted_path(a), "b": quoted_path(b), "both": ""}.items():
        count = people[name]
        click.echo(f"{name:<4}  {'hidden' if count is None else f'{count:,}':>9}  {source}".rstrip())
    for note in notes:
        click.echo(wrapped(note))
