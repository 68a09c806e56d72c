"""``osdi-frames report``: the reports of an archive, as tables and files."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import click
import pandas as pd
import pyarrow as pa

from osdi_frames import reports
from osdi_frames.cli.options import on_error, progress, sources
from osdi_frames.cli.text import table
from osdi_frames.files import whole_folder, write_batches
from osdi_frames.frames import read_events, read_signatures
from osdi_frames.problems import OnError


@dataclass(frozen=True, slots=True)
class _Report:
    """One report of the command: its file's name, its heading, and what makes it."""

    name: str
    heading: str
    make: Callable[[pd.DataFrame], pd.DataFrame]


_OF_EVENTS = (
    _Report("rsvps_by_campaign", "RSVPs by campaign", reports.rsvps_by_campaign),
    _Report("rsvps_by_region", "RSVPs by region", lambda events: reports.rsvps_by(events, "location_region")),
    _Report(
        "rsvps_by_month",
        "RSVPs by month of the event",
        lambda events: reports.rsvps_by(events, pd.Grouper(key="start_date", freq="MS")),
    ),
)
_OF_SIGNATURES = (
    _Report("signatures_by_source", "Signatures by source", reports.signatures_by_source),
    _Report("signatures_by_referrer", "Signatures by referrer", reports.signatures_by_referrer),
    _Report("signatures_by_website", "Signatures by website", reports.signatures_by_website),
    _Report(
        "signatures_by_region",
        "Signatures by region",
        lambda frame: reports.signatures_by(frame, "location_region"),
    ),
    _Report(
        "signatures_by_month", "Signatures by month", lambda frame: reports.signatures_over_time(frame, "MS")
    ),
)

_EVENT_COLUMNS = ["event_campaign_id", "total_accepted", "capacity", "start_date", "location_region"]
_SIGNATURE_COLUMNS = ["source", "referrer", "website", "location_region", "person_id", "created_date"]


@click.command()
@sources
@click.option("--out", type=click.Path(file_okay=False), help="Folder to write them to, as CSV and Parquet.")
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

    A report written earlier to the same folder is replaced.

    \b
    Example:
      osdi-frames report data --out report
    """  # noqa: D301 (click takes \b for a paragraph to leave as it is)
    events = read_events(
        list(source), columns=_EVENT_COLUMNS, prefix=prefix, on_error=on_error, progress=progress
    )
    signatures = read_signatures(
        list(source), columns=_SIGNATURE_COLUMNS, prefix=prefix, on_error=on_error, progress=progress
    )
    if events.empty and signatures.empty:
        warnings.warn(f"no event and no signature in {', '.join(source)}", stacklevel=1)
    made = [(report, report.make(events)) for report in _OF_EVENTS]
    made += [(report, report.make(signatures)) for report in _OF_SIGNATURES]
    click.echo(_totals(events, signatures))
    for report, frame in made:
        click.echo(f"\n{report.heading}\n{table(frame, top=top)}")
    if out:
        _write({report.name: frame for report, frame in made}, out)
        click.echo(f"\nwritten to {out}: {len(made)} reports, each as CSV and Parquet")


def _totals(events: pd.DataFrame, signatures: pd.DataFrame) -> str:
    people = signatures["person_id"].nunique()
    return (
        f"{len(events):,} events with {events['total_accepted'].sum():,} RSVPs; "
        f"{len(signatures):,} signatures of {people:,} people"
    )


def _write(frames: dict[str, pd.DataFrame], out: str) -> None:
    with whole_folder(out, names=frames, overwrite=True) as folder:
        for name, frame in frames.items():
            for kind in ("csv", "parquet"):
                batches = pa.Table.from_pandas(frame.reset_index(), preserve_index=False).to_reader()
                write_batches(batches, folder / name, kind)
