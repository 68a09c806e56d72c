"""``osdi-frames check``: every problem of an archive, and every key that no table declares."""

from __future__ import annotations

import sys

import click
import pandas as pd

from osdi_frames.cli.options import progress, sources
from osdi_frames.errors import printable
from osdi_frames.reading.check import check


@click.command()
@sources
@progress
def command(source: tuple[str, ...], prefix: str | None, progress: bool | None) -> None:
    """List every problem in SOURCE, and every key that no table declares.

    The exit status is 1 if there is an error, something that no table can take.

    \b
    Example:
      osdi-frames check data
    """  # noqa: D301 (click takes \b for a paragraph to leave as it is)
    found = check(list(source), prefix=prefix, progress=progress)
    for row in found.to_dict("records"):
        line = "" if pd.isna(row["source_line"]) else f":{row['source_line']}"
        what = f"{row['severity']:<7}  {row['count']:>6} ×  {row['problem']}: {row['detail']}"
        click.echo(printable(f"{what}  ({row['source_file']}{line})"))
    counts = found.groupby("severity")["count"].sum()
    errors, warnings = int(counts.get("error", 0)), int(counts.get("warning", 0))
    left = f"{int(counts.get('info', 0))} values that no table takes (info: they stay in the archive)"
    click.echo(f"{errors} errors, {warnings} warnings, {left}")
    sys.exit(1 if errors else 0)
