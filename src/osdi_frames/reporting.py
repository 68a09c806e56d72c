"""The standard reports of an archive: as frames, and as a folder with a page, CSV and Parquet."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Unpack

import pandas as pd
import pyarrow as pa

from osdi_frames.archive import Source
from osdi_frames.archive.output import output_folder
from osdi_frames.errors import InvalidArgument, counted
from osdi_frames.files import Format, write_tables
from osdi_frames.problems import OnError
from osdi_frames.pulls import read_snapshots, warn_of_incomplete_pulls
from osdi_frames.reading.check import Inspection, read_inspected
from osdi_frames.reading.frames import collect
from osdi_frames.reading.scan import scan_tables
from osdi_frames.reading.selection import Filters, Selection
from osdi_frames.reports import STANDARD, Report
from osdi_frames.reports.declared import columns_of
from osdi_frames.reports.making import make
from osdi_frames.reports.privacy import hide_personal
from osdi_frames.tables import TABLES

PAGE: Final = "report.html"

#: What is read of a table besides the columns of its reports: for the headline figures, and for the map.
_HEADLINE: Final = {
    "events": ("event_campaign_id", "total_accepted", "start_date"),
    "signatures": ("person_id", "created_date"),
}
_PLACES: Final = ("location_latitude", "location_longitude", "location_locality")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read for some reports: the tables, the reports, and what was met on the way, if it is to be shown."""

    source: Source
    tables: dict[str, pd.DataFrame]
    reports: list[tuple[Report, pd.DataFrame]]
    inspection: Inspection | None
    notes: tuple[str, ...]
    """What to say of what is counted."""

    def __str__(self) -> str:
        """Sum the events and signatures up in one line, and say below what is not among them."""
        events, signatures = self.tables["events"], self.tables["signatures"]
        people = signatures["person_id"].nunique()
        found = self.inspection.others if self.inspection else {}
        counts = ", ".join(f"{count:,} {name}" for name, count in found.items())
        summed = (
            f"{counted(len(events), 'event')} with {counted(int(events['total_accepted'].sum()), 'RSVP')}; "
            f"{counted(len(signatures), 'signature')} of {counted(people, 'person', 'people')}"
        )
        others = [f"other types, in no report: {counts}"] if counts else []
        return "\n".join([summed, *self.notes, *others])


def report(
    source: Source,
    *,
    reports: Iterable[Report] = STANDARD,
    prefix: str | None = None,
    on_error: OnError = "raise",
    show_addresses: bool = False,
    include: Iterable[str] = (),
    progress: bool | None = None,
    **filters: Unpack[Filters],
) -> dict[str, pd.DataFrame]:
    """Make the standard reports of an archive.

    Parameters
    ----------
    source, prefix, on_error, progress
        As for `read_table`.
    reports
        The reports to make; the standard set when not given. `osdi_frames.reports.Report` declares others.
    show_addresses
        Leave e-mail addresses, phone numbers and queries of web addresses within sources, referrers,
        websites and titles as they are. By default they are hidden, and what then looks alike is one row.
    include
        What is not counted by default: some of ``tests`` (what the service's "send test" sent), ``cancelled``
        and ``hidden`` (events). The attribute `note` of each frame says how many were left out.
    **filters
        What to count, as for `export`: since, until, petition, campaign, status.

    Returns
    -------
    dict
        The frame of each report, by its name.

    Raises
    ------
    UnknownValue
        A petition, campaign or status to filter by occurs nowhere.

    Examples
    --------
    >>> import osdi_frames as of
    >>> pull = {"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"}
    >>> of.report(pull)["rsvps_by_month"]["rsvps"].to_dict()
    {'2026-05': 12}
    """
    reading = read(
        source,
        reports=reports,
        prefix=prefix,
        on_error=on_error,
        show_addresses=show_addresses,
        include=include,
        progress=progress,
        **filters,
    )
    return {declared.name: frame for declared, frame in reading.reports}


def write_report(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    reports: Iterable[Report] = STANDARD,
    prefix: str | None = None,
    on_error: OnError = "raise",
    show_addresses: bool = False,
    formats: Iterable[Format] = ("csv", "parquet"),
    bom: bool = False,
    include: Iterable[str] = (),
    progress: bool | None = None,
    now: datetime | None = None,
    **filters: Unpack[Filters],
) -> dict[str, pd.DataFrame]:
    """Write the standard reports of an archive into a folder: a page with plots, and CSV and Parquet of each.

    An earlier report in the folder is replaced as a whole; if the folder contains other files, or a file was
    changed since, nothing is written.

    Parameters
    ----------
    source, reports, prefix, on_error, show_addresses, include, progress, **filters
        As for `report`.
    destination
        The folder to make.
    formats, bom
        The formats of each report's files: ``"csv"``, ``"parquet"``, ``"xlsx"``; see `export`.
    now
        The time that the page says it was made at; the present when not given.

    Returns
    -------
    dict
        The frame of each report, by its name.

    Raises
    ------
    DestinationExists
        Something at `destination` is not to be replaced, or it is, holds or lies in the source.

    Examples
    --------
    >>> import osdi_frames as of, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = of.write_report({"title": "March", "total_accepted": 12}, f"{folder}/report")
    ...     "report.html" in os.listdir(f"{folder}/report")
    True
    """
    reading = read(
        source,
        reports=reports,
        prefix=prefix,
        on_error=on_error,
        show_addresses=show_addresses,
        include=include,
        progress=progress,
        places=True,
        **filters,
    )
    write(reading, destination, now=now or datetime.now(UTC), formats=formats, bom=bom)
    return {declared.name: frame for declared, frame in reading.reports}


def read(
    source: Source,
    *,
    reports: Iterable[Report] = STANDARD,
    prefix: str | None = None,
    on_error: OnError = "raise",
    show_addresses: bool = False,
    include: Iterable[str] = (),
    progress: bool | None = None,
    places: bool = False,
    **filters: Unpack[Filters],
) -> Reading:
    """Read the tables that reports need, and make them; see `report`.

    With `places` it is for the page: with its map, and with what was met while reading.
    """
    reports = list(reports)
    if not all(isinstance(declared, Report) for declared in reports):
        raise InvalidArgument(f"reports is a list of osdi_frames.reports.Report, not {reports!r:.80}")
    growing = [declared for declared in reports if declared.kind == "growth"]
    reports = [declared for declared in reports if declared.table in TABLES]
    columns = _columns(reports, places=places)
    if growing:
        columns["events"] = list(dict.fromkeys([*columns["events"], "event_id", "fetched_at"]))
    selection = Selection.of(filters, include=include)
    inspection = None
    if places:
        frames, inspection = read_inspected(
            source, columns, prefix=prefix, on_error=on_error, progress=progress, selection=selection
        )
    else:
        rows = scan_tables(
            source, columns, prefix=prefix, on_error=on_error, progress=progress, selection=selection
        )
        frames = collect(columns, rows)
    tables = frames if show_addresses else {name: hide_personal(frame) for name, frame in frames.items()}
    if tables["events"].empty and tables["signatures"].empty:
        warnings.warn(f"no event and no signature in {_named(source)}", stacklevel=3)
    warn_of_incomplete_pulls(map(Path, _paths(source)))
    titles = {name: frame for name, frame in tables.items() if len(frame)}
    made = [
        (declared, make(declared, tables[declared.table], titles=titles.get(declared.subject.titled.table)))
        for declared in reports
        if declared.table in _HEADLINE or len(tables[declared.table])
    ]
    partial: tuple[str, ...] = ()
    if growing and tables["events"]["fetched_at"].notna().any() and not _is_read_once(source):
        snapshots, partial = read_snapshots(source, events=tables["events"], prefix=prefix)
        grown = ((declared, make(declared, snapshots)) for declared in growing if len(snapshots))
        last = sum(declared.table == "events" for declared, _ in made)
        made[last:last] = [(declared, frame) for declared, frame in grown if len(frame) > 1]
    for declared, frame in made:
        frame.attrs["note"] = "\n".join(selection.lines(TABLES[declared.read_from].element))
    return Reading(source, tables, made, inspection, (*selection.lines(), *partial))


def _columns(reports: Sequence[Report], *, places: bool) -> dict[str, list[str]]:
    """Return the columns to read of each table: those of the reports, of the headline figures, and titles."""
    columns: dict[str, dict[str, None]] = {name: dict.fromkeys(more) for name, more in _HEADLINE.items()}
    for declared in reports:
        columns.setdefault(declared.table, {}).update(dict.fromkeys(columns_of(reports, declared.table)))
        titled = declared.subject.titled
        if titled.table in TABLES:
            columns.setdefault(titled.table, {}).update(dict.fromkeys((titled.key, "title")))
    if places:
        columns["events"].update(dict.fromkeys(_PLACES))
    return {name: list(chosen) for name, chosen in columns.items()}


def write(
    reading: Reading,
    destination: str | os.PathLike[str],
    *,
    now: datetime,
    formats: Iterable[Format] = ("csv", "parquet"),
    bom: bool = False,
) -> None:
    """Write what was read and made into a folder; see `write_report`."""
    from osdi_frames import page  # matplotlib takes its time, and only files need it

    with output_folder(destination, kind="report", source=reading.source, overwrite=True) as folder:
        html = page.render(
            reading.reports,
            reading.tables,
            now=now,
            inspection=reading.inspection,
            notes=reading.notes,
        )
        (folder / PAGE).write_text(html, encoding="utf-8")
        rows = {
            declared.name: pa.Table.from_pandas(frame.reset_index(), preserve_index=False)
            for declared, frame in reading.reports
        }
        schemas = {name: table.schema for name, table in rows.items()}
        for format in formats:  # noqa: A001 (as in `export`)
            write_tables(schemas, rows.items(), folder, format, bom=bom)


def _is_read_once(source: Source) -> bool:
    """Return whether a source is an open file, or has one: growth takes a second look at the events."""
    return any(hasattr(part, "read") for part in (source if isinstance(source, list | tuple) else [source]))


def _paths(source: Source) -> list[str]:
    parts = source if isinstance(source, list | tuple) else [source]
    return [os.fspath(part) for part in parts if isinstance(part, str | os.PathLike)]


def _named(source: Source) -> str:
    return ", ".join(_paths(source)) or "the source"
