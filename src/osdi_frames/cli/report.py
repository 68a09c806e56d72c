"""``osdi-frames report``: the reports of an archive, as tables and files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import click

from osdi_frames.cli.options import (
    HELP,
    as_json,
    bom,
    filters,
    listed,
    on_error,
    progress,
    sources,
    with_options,
)
from osdi_frames.cli.text import table
from osdi_frames.errors import counted
from osdi_frames.files import FORMATS
from osdi_frames.reporting import PAGE, read, write

_NAMES = {"csv": "CSV", "parquet": "Parquet", "xlsx": "Excel"}


@click.command(context_settings=HELP)
@sources
@click.option(
    "--out", type=click.Path(file_okay=False), help="Folder to write them to: a page, CSV and Parquet."
)
@click.option(
    "--top",
    default=10,
    show_default=True,
    type=click.IntRange(min=1),
    help="Rows of each report to print; files have all.",
)
@click.option(
    "--min-count", type=click.IntRange(min=1), help="Hide smaller counts of people, and what reveals them."
)
@click.option("--show-addresses", is_flag=True, help="Show e-mail addresses within sources and referrers.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS),
    default=("csv", "parquet"),
    show_default=True,
    help="The files of each report; repeat it for several.",
)
@bom
@click.option(
    "--include",
    default="",
    callback=listed,
    help="Count these, too: tests,cancelled,hidden, or some of them.",
)
@filters
@on_error
@as_json
@progress
def command(
    source: tuple[str, ...],
    *,
    out: str | None,
    top: int,
    formats: Any,
    bom: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the reports of SOURCE: RSVPs by campaign, signatures by source and referrer, and more.

    What "send test" sent, and cancelled and hidden events are not counted unless --include names them.
    With --out they are also written: as report.html, one file with plots and tables to open in a browser or to
    forward, and as CSV and Parquet. An earlier report in the same folder is replaced; if the folder contains other
    files, or a file was changed since, nothing is written.

    \b
    Example:
      osdi-frames report data --out report
    """  # noqa: D301 (click takes \b for a paragraph to leave as it is)
    reading = read(list(source), places=out is not None, **options)
    if as_json:
        frames = {report.name: frame.reset_index() for report, frame in reading.reports}
        values = {
            name: json.loads(frame.to_json(orient="records", date_format="iso"))
            for name, frame in frames.items()
        }
        caveats = {report.name: frame.attrs["caveat"] for report, frame in reading.reports}
        click.echo(
            json.dumps(
                {"summary": with_options(str(reading)), "caveats": caveats, "reports": values}, indent=2
            )
        )
    else:
        click.echo(with_options(str(reading)))
        for report, frame in reading.reports:
            lines = [report.heading, frame.attrs["caveat"], table(report, frame, top=top)]
            click.echo("\n".join(["", *filter(None, lines)]))
    if out:
        write(reading, out, now=datetime.now(UTC), formats=formats, bom=bom)
        count = counted(len(reading.reports), "report")
        click.echo(
            f"\nwritten to {out}: {count}, each as {' and '.join(_NAMES[name] for name in formats)}, and {PAGE}",
            err=as_json,
        )
