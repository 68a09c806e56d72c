"""The standard reports of an archive, and what is to be said of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Unpack

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.archive.source import Source
from osdi_frames.client.folder import MANIFEST, manifests, read_manifest
from osdi_frames.errors import InvalidArgument, InvalidColumn, SourceWarning, counted
from osdi_frames.privacy import hide_in_rows
from osdi_frames.problems import OnError, Policy, warn_caller
from osdi_frames.reading.check import Inspection, Inspector
from osdi_frames.reading.frames import collect, read_table
from osdi_frames.reading.plan import Plan
from osdi_frames.reading.selection import FILTERS, Filters, Selection
from osdi_frames.reading.stream import Observer, scan_tables
from osdi_frames.reports import STANDARD, Report
from osdi_frames.reports.declared import ATTENDANCES, SNAPSHOTS
from osdi_frames.reports.making import make
from osdi_frames.reports.suppression import suppress_together
from osdi_frames.reports.titles import heading
from osdi_frames.tables import TABLES
from osdi_frames.tables.events import EVENT

#: What is read of a table besides the columns of its reports: for the headline figures, and for the map.
_HEADLINE: Final = {
    "events": ("event_campaign_id", "total_accepted", "start_date"),
    "signatures": ("person_id", "created_date"),
}
#: The headline figures of each table.
_FIGURES: Final[Mapping[str, Mapping[str, Callable[[pd.DataFrame], int]]]] = {
    "events": {"events": len, "rsvps": lambda events: int(events["total_accepted"].sum())},
    "signatures": {"signatures": len, "people": lambda signatures: signatures["person_id"].nunique()},
}
_STATES: Final = ("event_id", "fetched_at", "total_accepted", "event_campaign_id", "source_file")
_PLACES: Final = ("location_latitude", "location_longitude", "location_locality")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read for some reports: the tables, the reports, and what was met on the way, if it is to be shown."""

    tables: dict[str, pd.DataFrame] = field(repr=False)
    reports: list[tuple[Report, pd.DataFrame]]
    inspection: Inspection | None
    notes: tuple[str, ...]
    """What to say of what is counted."""
    below: int | None = None
    """The smallest count of people that is shown; None for every count."""
    hidden: frozenset[str] = frozenset()
    """The headline figures that are small, or would reveal small counts."""

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The frame of each report, by its name."""
        return {declared.name: frame for declared, frame in self.reports}

    @property
    def summary(self) -> dict[str, int | None]:
        """How many events, RSVPs, signatures and people there are, of what is read; None where that is not shown."""
        return {
            name: None if name in self.hidden else count(self.tables[table])
            for table, figures in _FIGURES.items()
            if table in self.tables
            for name, count in figures.items()
        }

    def __str__(self) -> str:
        """Sum the events and signatures up in one line, and say below what is not among them."""
        figures, parts = self.summary, []
        if "events" in figures:
            parts.append(f"{_few(figures['events'], 'event')} with {_few(figures['rsvps'], 'RSVP')}")
        if "signatures" in figures:
            people = figures["people"]
            of_people = "" if people is None else f" of {counted(people, 'person', 'people')}"
            parts.append(f"{_few(figures['signatures'], 'signature')}{of_people}")
        lines = ["; ".join(parts), *self.notes]
        others = self.inspection.others if self.inspection else {}
        if others:
            counts = ", ".join(f"{count:,} {name}" for name, count in others.items())
            lines.append(f"other types, in no report: {counts}")
        return "\n".join(lines)


def _few(count: int | None, noun: str) -> str:
    """Return a count with its noun; one that is not shown is small, or would reveal small ones."""
    return f"few {noun}s" if count is None else counted(count, noun)


class Options(Filters, total=False):
    """Keywords of `report` and `write_report`."""

    reports: Iterable[Report]
    prefix: str | None
    on_error: OnError
    show_addresses: bool
    min_count: int | None
    include: Iterable[str]
    progress: bool | None


def report(
    source: Source,
    *,
    reports: Iterable[Report] = STANDARD,
    prefix: str | None = None,
    on_error: OnError = "raise",
    show_addresses: bool = False,
    min_count: int | None = None,
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
    min_count
        Hide smaller counts of people, and whatever reveals them: rows, columns, and reports, which then have no
        rows. All reports of a call are published together; see `osdi_frames.reports.suppress`.
    include
        What is not counted by default: some of ``tests`` (what the service's "send test" sent), ``cancelled``
        and ``hidden`` (events). The attribute `note` of each frame says how many were left out.
    **filters
        What to count, as for `export`: since, until, petition, campaign, status. What has none of those that
        are asked for, as signatures have no campaign, is not reported.

    Returns
    -------
    dict
        The frame of each report, by its name. Its attribute `caveat` says what else is to be known of its counts.

    Raises
    ------
    UnknownValue
        A petition, campaign or status to filter by occurs nowhere.
    InvalidColumn
        A report by a column that identifies people, or with `min_count` one that has a column per value.

    Examples
    --------
    >>> import osdi_frames as of
    >>> pull = {"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"}
    >>> of.report(pull)["rsvps_by_month"]["rsvps"].to_dict()
    {'2026-05': 12}
    """
    return read(
        source,
        reports=reports,
        prefix=prefix,
        on_error=on_error,
        show_addresses=show_addresses,
        min_count=min_count,
        include=include,
        progress=progress,
        **filters,
    ).frames


def read(
    source: Source,
    *,
    reports: Iterable[Report] = STANDARD,
    prefix: str | None = None,
    on_error: OnError = "raise",
    show_addresses: bool = False,
    min_count: int | None = None,
    include: Iterable[str] = (),
    progress: bool | None = None,
    places: bool = False,
    **filters: Unpack[Filters],
) -> Reading:
    """Read the tables that reports need, and make them; see `report`.

    With `places` it is for the page: with its map, and with what was met while reading.
    """
    reports = list(reports)
    _refuse(reports)
    chosen = [name for name in Selection.of(filters).filters if name not in ("since", "until")]
    unfiltered = _unfiltered([*_HEADLINE, *(declared.read_from for declared in reports)], chosen)
    reports = [declared for declared in reports if declared.read_from not in unfiltered]
    columns = _columns(reports, [name for name in _HEADLINE if name not in unfiltered], places=places)
    plan = Plan.of(columns, prefix=prefix, include=include, filters=filters, inspects=places)
    observer = (Inspector if places else Observer)(Policy(on_error))
    rows = scan_tables(source, plan, observer, progress=progress)
    if not show_addresses:
        rows = ((name, hide_in_rows(some, TABLES[name])) for name, some in rows)
    keys = {key for declared in reports for key in declared.keys}
    tables = collect(plan, rows, condense=lambda some: _condensed(some, keys))
    parts = source if isinstance(source, list | tuple) else [source]
    paths = [os.fspath(part) for part in parts if isinstance(part, str | os.PathLike)]
    _warn_of_nothing(paths, tables, plan.selection)
    _warn_of_incomplete(paths)
    snapshots, notes = pd.DataFrame(), plan.selection.lines(*{TABLES[name].element for name in columns})
    if unfiltered:
        notes.insert(1, f"not reported: {', '.join(unfiltered)} (they have no {' or '.join(chosen)})")
    is_stream = any(hasattr(part, "read") for part in parts)  # it cannot be read a second time
    if any(declared.kind == "growth" for declared in reports) and not is_stream:
        snapshots, partial = _snapshots(source, tables["events"], prefix)
        notes += [f"{counted(partial, 'pull')} not complete, not drawn as growth"] if partial else []
    made = _make(reports, {**tables, SNAPSHOTS.table: snapshots})
    inspection = observer.inspection() if isinstance(observer, Inspector) else None
    reading = Reading(tables, made, inspection, tuple(notes))
    reading = reading if min_count is None else _suppressed(reading, min_count)
    _annotate(reading, snapshots, plan.selection)
    return reading


def _unfiltered(tables: Iterable[str], chosen: Collection[str]) -> list[str]:
    """Return the tables to which no filter applies, though some are asked for."""
    applied = {element for name in chosen for element in FILTERS[name]}
    return [name for name in dict.fromkeys(tables) if chosen and TABLES[name].element not in applied]


def _warn_of_nothing(paths: list[str], tables: Mapping[str, pd.DataFrame], selection: Selection) -> None:
    """Warn where there is nothing to report."""
    headline = [name for name in _HEADLINE if name in tables]
    if all(tables[name].empty for name in headline):
        nothing = " and ".join(f"no {TABLES[name].element.name}" for name in headline)
        named = ", ".join(paths) or "the source"
        why = " passes the filters" if selection.filters else ""
        warn_caller(f"{nothing} in {named}{why}", SourceWarning)


def _warn_of_incomplete(paths: list[str]) -> None:
    """Warn of a newest pull that is not complete."""
    for newest in [pull for path in paths for pull in manifests(Path(path))[-1:]]:
        if not newest.complete:
            said = str(newest).replace("\n", "; ")
            warn_caller(f"the newest pull is not complete: {said}", SourceWarning)


def _condensed(rows: pa.Table, keys: Collection[str]) -> pa.Table:
    """Return rows with keys as categories, and with numbers for people, who are only counted and have long ids."""
    for number, name in enumerate(rows.column_names):
        column = rows[name]
        if name == "person_id":
            blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), True)
            # Of 64 bits: two of a million people have the same with a probability of one to 37 million.
            hashed = pd.util.hash_array(pc.if_else(blank, "", column).to_numpy(), categorize=False)
            column = pa.chunked_array([pa.array(hashed.view("int64"), mask=blank.to_numpy())])
        elif name in keys and pa.types.is_string(column.type):
            column = column.dictionary_encode()
        rows = rows.set_column(number, name, column)
    return rows


def _snapshots(source: Source, events: pd.DataFrame, prefix: str | None) -> tuple[pd.DataFrame, int]:
    """Read each state of some events, as reports on growth take them, and count the pulls that are left out.

    A pull with a manifest is one moment: its end. One that is not complete would look like a loss or a
    sudden growth. Problems are not reported, as the reading of `events` did.
    """
    if events["fetched_at"].isna().all():
        return pd.DataFrame(), 0
    with warnings.catch_warnings(action="ignore"):
        states = read_table(
            source, "events", columns=_STATES, prefix=prefix, dedupe=False, on_error="skip", progress=False
        )
    states = states.dropna(subset=["event_id", "fetched_at"])
    states = states[states["event_id"].isin(events["event_id"].dropna())]
    partial = 0
    folders = {folder for name in states["source_file"].dropna().unique() for folder in Path(name).parents}
    for pull in (read_manifest(folder) for folder in sorted(folders) if (folder / MANIFEST).is_file()):
        inside = np.array([pull.folder in Path(str(name)).parents for name in states["source_file"]], bool)
        if pull.complete and pull.finished_at:
            states["fetched_at"] = states["fetched_at"].mask(inside, pd.Timestamp(pull.finished_at))
        else:
            partial += 1
            states = states[~inside]
    return states, partial


def _make(reports: Iterable[Report], frames: Mapping[str, pd.DataFrame]) -> list[tuple[Report, pd.DataFrame]]:
    """Make the reports, but those of growth without a second pull, and those of tables that few archives have."""
    made = (
        (declared, make(declared, frames[declared.table], titles=frames.get(declared.subject.titled.table)))
        for declared in reports
        if declared.table in _HEADLINE or len(frames[declared.table])
    )
    return [(declared, frame) for declared, frame in made if declared.kind != "growth" or len(frame) > 1]


def _annotate(reading: Reading, snapshots: pd.DataFrame, selection: Selection) -> None:
    """Say in the attributes of frames what is not counted in them."""
    uncounted = [
        f"{kind.word}s"
        for name, kind in selection.left_out.items()
        if EVENT in kind.elements and selection.counts[name]
    ]
    for declared, frame in reading.reports:
        caveats = []
        if declared.table == ATTENDANCES.table and uncounted:
            caveats.append(f"Attendances of {' and '.join(uncounted)} are counted.")
        if declared.kind == "growth":
            unseen = int((~reading.tables["events"]["event_id"].isin(snapshots["event_id"])).sum())
            if unseen:
                events = counted(unseen, "event that is", "events that are")
                caveats.append(f"Without {events} in no complete pull.")
        frame.attrs["caveat"] = " ".join(caveats)
        frame.attrs["note"] = "\n".join(selection.lines(TABLES[declared.read_from].element))


def _suppressed(reading: Reading, below: int) -> Reading:
    """Hide small counts of people, in the reports and around them."""
    frames = suppress_together(reading.reports, reading.tables, below=below)
    reports, columns, closed = [], dict[str, None](), []
    for (declared, made), frame in zip(reading.reports, frames, strict=True):
        protected = tuple(measure for measure in declared.measures if not measure.unprotected)
        columns |= dict.fromkeys(declared.unprotected)
        closed += [declared.heading] if len(made) > len(frame) else []
        reports.append((replace(declared, own_measures=protected), frame))
    notes = [f"counts of people below {below} are hidden (–), and others that reveal them"]
    if columns:
        notes.append(f"left out, as they would reveal some: {', '.join(map(heading, columns))}")
    if closed:
        notes.append(f"without rows, as their totals would reveal some: {', '.join(closed)}")
    return replace(
        reading,
        reports=reports,
        inspection=None,  # how much was read, and what else
        notes=(*reading.notes, *notes),
        below=below,
        hidden=_hidden_figures(reading.summary, below),
    )


def _hidden_figures(figures: Mapping[str, int | None], below: int) -> frozenset[str]:
    """Return the headline figures that are small, or reveal how few people signed more than once."""
    signatures, people = (figures.get(name) or 0 for name in ("signatures", "people"))
    hidden = {"rsvps"} if 0 < (figures.get("rsvps") or 0) < below else set()
    if 0 < signatures < below or 0 < people < below:
        hidden |= {"signatures", "people"}
    elif 0 < signatures - people < below:
        hidden.add("people")
    return frozenset(hidden)


def _refuse(reports: Sequence[Report]) -> None:
    """Refuse reports by columns that identify people."""
    for declared in reports:
        if not isinstance(declared, Report):
            raise InvalidArgument(f"reports is a list of osdi_frames.reports.Report, not {reports!r:.80}")
        for column in TABLES[declared.read_from].columns:
            if column.name in declared.keys and column.privacy.level == "identifying":
                raise InvalidColumn(f"{declared.name}: a report by {column.name} would identify people")


def _columns(reports: Sequence[Report], headline: Iterable[str], *, places: bool) -> dict[str, list[str]]:
    """Return the columns to read of each table: those of the reports, of the headline figures, and titles."""
    columns: dict[str, dict[str, None]] = {name: dict.fromkeys(_HEADLINE[name]) for name in headline}
    for declared in reports:
        columns.setdefault(declared.read_from, {}).update(dict.fromkeys(declared.columns))
        titled = declared.subject.titled
        if titled.table in TABLES:
            columns.setdefault(titled.table, {}).update(dict.fromkeys((titled.key, "title")))
    if places and "events" in columns:
        columns["events"].update(dict.fromkeys(_PLACES))
    return {name: list(chosen) for name, chosen in columns.items()}
