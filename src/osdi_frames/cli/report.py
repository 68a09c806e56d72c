"""``osdi-frames report``: the reports of an archive, as tables and files."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click
import pandas as pd
import pyarrow as pa

from osdi_frames.archive.output import output_folder
from osdi_frames.check import Inspection, inspect
from osdi_frames.cli.options import on_error, progress, sources
from osdi_frames.cli.text import table
from osdi_frames.client.manifest import manifests
from osdi_frames.files import write_tables
from osdi_frames.frames import read_events, read_signatures
from osdi_frames.problems import OnError
from osdi_frames.reports.standard import EVENT_COLUMNS, PLACE_COLUMNS, REPORTS, SIGNATURE_COLUMNS

PAGE = "report.html"


@click.command()
@sources
@click.option(
    "--out", type=click.Path(file_okay=False), help="Folder to write them to: a page, CSV and Parquet."
)
@click.option("--top", default=10, show_default=True, help="Rows of each report to print; files have all.")
@on_error
@progress
def command(
    source: tuple[str, ...],
    out: str | None,
    top: int,
    prefix: str | None,
    on_error: OnError,
    progress: bool | None,
) -> None:
    """Print the reports of SOURCE: RSVPs by campaign, signatures by source and referrer, and more.

    With --out they are also written: as report.html, one file with plots and tables to open in a browser or to
    forward, and as CSV and Parquet. An earlier report in the same folder is replaced; if the folder contains other
    files, or a file was changed since, nothing is written.

    \b
    Example:
      osdi-frames report data --out report
    """  # noqa: D301 (click takes \b for a paragraph to leave as it is)
    events = read_events(
        list(source),
        columns=[*EVENT_COLUMNS, *PLACE_COLUMNS] if out else EVENT_COLUMNS,
        prefix=prefix,
        on_error=on_error,
        progress=progress,
    )
    signatures = read_signatures(
        list(source), columns=SIGNATURE_COLUMNS, prefix=prefix, on_error=on_error, progress=progress
    )
    if events.empty and signatures.empty:
        warnings.warn(f"no event and no signature in {', '.join(source)}", stacklevel=1)
    _warn_of_incomplete_pulls(map(Path, source))
    frames = {"events": events, "signatures": signatures}
    made = [(report, report.make(frames[report.table])) for report in REPORTS]
    click.echo(_totals(events, signatures))
    for report, frame in made:
        click.echo(f"\n{report.heading}\n{table(frame, top=top)}")
    if out:
        found = inspect(list(source), prefix=prefix, progress=progress)
        _write({report.name: frame for report, frame in made}, _page(events, signatures, found), out, source)
        click.echo(f"\nwritten to {out}: {len(made)} reports, each as CSV and Parquet, and {PAGE}")


def _warn_of_incomplete_pulls(folders: Iterable[Path]) -> None:
    """Say where the newest pull into a folder lacks something, since the reports then lack it, too."""
    for folder in folders:
        newest = manifests(folder)[-1:] if folder.is_dir() else []
        for pull in newest:
            if not pull.complete:
                warnings.warn(f"the newest pull is not complete: {pull}", stacklevel=2)


def _totals(events: pd.DataFrame, signatures: pd.DataFrame) -> str:
    people = signatures["person_id"].nunique()
    return (
        f"{len(events):,} events with {events['total_accepted'].sum():,} RSVPs; "
        f"{len(signatures):,} signatures of {people:,} people"
    )


def _page(events: pd.DataFrame, signatures: pd.DataFrame, found: Inspection) -> str:
    from osdi_frames import page  # matplotlib takes its time, and only files need it

    return page.render(events, signatures, now=datetime.now(UTC), inspection=found)


def _write(frames: dict[str, pd.DataFrame], html: str, out: str, source: tuple[str, ...]) -> None:
    with output_folder(out, kind="report", source=source, overwrite=True) as folder:
        (folder / PAGE).write_text(html, encoding="utf-8")
        tables = {
            name: pa.Table.from_pandas(frame.reset_index(), preserve_index=False)
            for name, frame in frames.items()
        }
        for format in ("csv", "parquet"):  # noqa: A001 (as in `export`)
            write_tables(((name, table.to_reader()) for name, table in tables.items()), folder, format)
