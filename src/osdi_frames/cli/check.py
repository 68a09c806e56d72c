"""``osdi-frames check``: every problem of an archive, and every key that no table reads."""

import json
import sys
from typing import Any

import click

from osdi_frames.cli import Status
from osdi_frames.cli.options import as_json, print_json, progress, runs, sources, store, with_options
from osdi_frames.shortcuts import open as open_archive


@runs("osdi-frames check data")
@sources
@click.option("--all", "every", is_flag=True, help="List all keys that no table reads, not ten.")
@as_json
@store
@progress
def command(source: tuple[str, ...], *, every: bool, as_json: bool, **settings: Any) -> None:
    """List every problem in SOURCE, and keys that no table reads.

    The exit status is 1 if there is an error, something that no table can take.
    """
    found = open_archive(list(source), **settings).check()
    counts = found.totals()
    if as_json:
        listed = {"errors": counts["error"], "warnings": counts["warning"]}
        print_json(found.attrs | listed | {"problems": json.loads(found.to_json(orient="records"))})
    else:
        click.echo(with_options(found.text(all=every)))
    sys.exit(Status.FAILED if counts["error"] else Status.DONE)
