"""Make the standard reports of an archive from its rows, with notes on what they count."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.errors import SourceWarning
from osdi_frames.frames import frame
from osdi_frames.messages import counted, listed
from osdi_frames.parsing.check import Inspection
from osdi_frames.parsing.listings import Incomplete
from osdi_frames.privacy import hide_in_rows
from osdi_frames.problems import warn_caller
from osdi_frames.pulls import Manifest, manifests
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import OF_ACTS, mark_first_acts
from osdi_frames.reports.declared import COUNTED_ACTS, COUNTED_ATTENDANCES, EVENT_GROWTH
from osdi_frames.reports.headline import hidden_figures, rsvp_notes, rsvps_are_attendances
from osdi_frames.reports.known import Periods
from osdi_frames.reports.making import Counting, make
from osdi_frames.reports.measures import IS_NEW
from osdi_frames.reports.published import Made, Published, protect_reports
from osdi_frames.reports.request import HEADLINE, ReportRequest
from osdi_frames.reports.result import ReportResult
from osdi_frames.reports.titles import SPONSOR
from osdi_frames.resolving.filters import Filtering
from osdi_frames.resolving.resolution import SNAPSHOTS, WHOLE
from osdi_frames.tables import TABLES
from osdi_frames.tables.people import by_address_alone

#: The text columns with few distinct values, besides those that reports group by.
_REPEATED: Final = {
    "attendances": {"event_id"},
    COUNTED_ACTS.table: {"action", "subject_id", "title", "source"},
}


def collect(
    batches: Iterable[tuple[str, pa.Table]], schemas: Mapping[str, pa.Schema], request: ReportRequest
) -> dict[str, pd.DataFrame]:
    """Collect batches of rows into a frame for each table; each batch is condensed at once, to save memory."""
    keys = {key for report in request.reported for key in report.keys} | {exclusion.COLUMN, SPONSOR}
    parts: dict[str, list[pa.Table]] = {}
    titles = ((name, TABLES[name].schema(TABLES[name].select(ids))) for name, ids in request.titles.items())
    all_schemas = {**schemas, **{f"{WHOLE}{name}": schema for name, schema in titles}}
    empty = ((name, schema.empty_table()) for name, schema in all_schemas.items())
    for name, rows in itertools.chain(empty, batches):
        if name != SNAPSHOTS:
            table = name.removeprefix(WHOLE)
            rows = exclusion.exclude_sources(rows, request.exclude_sources)
            rows = _condensed(rows, keys | _REPEATED.get(table, set()))
            rows = rows if request.show_addresses else hide_in_rows(rows, TABLES[table])
        parts.setdefault(name, []).append(rows)
    tables = {name: frame(pa.concat_tables(parts.pop(name)), request.timezone) for name in [*parts]}
    _number_people(tables)
    return tables


def _number_people(tables: Mapping[str, pd.DataFrame]) -> None:
    """Write numbers from 0 for the hashes of people's ids, so that not each report has to."""
    people = [tables[name] for name in sorted(tables) if "person_id" in tables[name].columns]
    if not people:
        return
    numbers = pd.factorize(pd.concat([rows["person_id"] for rows in people], ignore_index=True))[0]
    ends = np.cumsum([len(rows) for rows in people])
    for rows, number in zip(people, np.split(numbers, ends[:-1]), strict=True):
        rows["person_id"] = pd.arrays.IntegerArray(number, number < 0)


def make_reports(
    request: ReportRequest,
    tables: dict[str, pd.DataFrame],
    *,
    inspection: Inspection | None,
    paths: Sequence[str],
    unplaced: Mapping[str, int],
    known_by_address: int,
    incomplete: Iterable[Incomplete] = (),
    last: Published | None = None,
) -> ReportResult:
    """Make the requested reports from collected tables; warn if no row counts, or if the newest pull is not complete.

    `unplaced` counts the acts for which the filters' columns are unknown, `known_by_address` the people without an id;
    `incomplete` lists collections of which the archive lacks records; `last` has the counts of the previous report.
    """
    filtering, pulls = Filtering(request.filters), manifests(paths)
    states = tables.pop(SNAPSHOTS, pd.DataFrame())
    titles = {name: tables.pop(f"{WHOLE}{name}") for name in request.titles}
    rows, left_out = _split(tables, request.include)
    _warn_of_nothing(paths, rows, filtering, exclusion.note(left_out))
    _warn_of_incomplete(pulls)
    frames, unknown_notes = _with_new_people(tables)
    snapshots, partial = _snapshots(states, rows["events"], pulls) if len(states) else (pd.DataFrame(), 0)
    reports = _make(request, {**frames, EVENT_GROWTH.table: snapshots}, titles)
    numbers, bounds = request.min_count is None, {"since", "until"}
    lacking = _incomplete_notes(incomplete, numbers=numbers)
    notes = [
        *_counting_notes(request, filtering, rows, left_out, unplaced, tables.values()),
        *lacking,
        *rsvp_notes(rows, of_period=not bounds.isdisjoint(filtering.asked), below=request.min_count),
        *(unknown_notes if numbers else ()),
        by_address_alone(known_by_address if numbers else None) if known_by_address else "",
        f"{counted(partial, 'pull')} not complete, not drawn as growth" if partial else "",
    ]
    result = ReportResult(rows, reports, inspection, tuple(filter(None, notes)), tuple(lacking))
    attributes = {report.name: dict(table.attrs) for report, table in reports}
    if request.min_count is not None:
        result = _protected(result, request, request.min_count, last)
    _annotate(result, attributes, snapshots, filtering, left_out)
    return result


def _split(
    tables: Mapping[str, pd.DataFrame], include: Collection[str]
) -> tuple[dict[str, pd.DataFrame], list[tuple[str, int, str]]]:
    """Return the rows of each table that count, and for the others the reason, their number and their noun.

    The numbers do not include acts, which are rows of the other tables once more.
    """
    rows, left_out = {}, []
    for name, table in tables.items():
        rows[name], reasons = exclusion.split(table, include)
        if name != COUNTED_ACTS.table:
            left_out += [(reason, number, TABLES[name].element.name) for reason, number in reasons.items()]
    return rows, left_out


def _with_new_people(tables: Mapping[str, pd.DataFrame]) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Mark the rows that are a new person's first act; also return notes on people who may be new or not."""
    frames, notes = dict(tables), []
    for name in OF_ACTS if COUNTED_ACTS.table in tables else ():
        if name in tables:
            frames[name], note = mark_first_acts(
                tables[name], tables[COUNTED_ACTS.table], table=name, report="report"
            )
            notes += [note] if note and frames[name][IS_NEW].notna().any() else []
    return frames, notes


def _warn_of_nothing(
    paths: Sequence[str], tables: Mapping[str, pd.DataFrame], filtering: Filtering, excluded: str
) -> None:
    """Warn if the archive has no events, signatures or attendances that count."""
    headline = [name for name in HEADLINE if name in tables]
    if all(tables[name].empty for name in headline) and not rsvps_are_attendances(tables):
        missing = " and ".join(f"no {TABLES[name].element.name}" for name in headline)
        source = listed(paths) or "the source"
        reason = " passes the filters" if filtering.asked else ""
        reason = f"{reason}{' and' if reason else ''} counts; {excluded}" if excluded else reason
        warn_caller(f"{missing} in {source}{reason}", SourceWarning)


def _warn_of_incomplete(pulls: Iterable[Manifest]) -> None:
    """Warn if a folder's newest pull is not complete."""
    for newest in {pull.folder.parent: pull for pull in pulls}.values():
        if not newest.complete:
            pull = str(newest).replace("\n", "; ")
            warn_caller(f"the newest pull is not complete: {pull}", SourceWarning)


def _condensed(rows: pa.Table, keys: Collection[str]) -> pa.Table:
    """Return rows in less memory: keys become categories, and people's ids, which are only counted, 64-bit hashes."""
    for number, name in enumerate(rows.column_names):
        column = rows[name]
        if name == "person_id":
            blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), True)
            # Among a million people, two have the same hash with a probability of one to 37 million.
            hashed = pd.util.hash_array(pc.if_else(blank, "", column).to_numpy(), categorize=False)
            column = pa.chunked_array([pa.array(hashed.view("int64"), mask=blank.to_numpy())])
        elif name in keys and pa.types.is_string(column.type):
            column = column.dictionary_encode()
        rows = rows.set_column(number, name, column)
    return rows


def _snapshots(
    states: pd.DataFrame, events: pd.DataFrame, pulls: Iterable[Manifest]
) -> tuple[pd.DataFrame, int]:
    """Return the states of events for reports on growth, and the number of pulls that are left out of these.

    All states of a pull with a manifest get the time of its end. Incomplete pulls are left out, since they would look
    like a loss followed by sudden growth.
    """
    states = states.dropna(subset=["event_id", "fetched_at"])
    states = states[states["event_id"].isin(events["event_id"].dropna())]
    by_folder = {pull.folder: pull for pull in pulls}
    files = states["source_file"].dropna().unique()
    pull_of = {
        file: by_folder[folder] for file in files for folder in Path(str(file)).parents if folder in by_folder
    }
    ends = {file: pull.finished_at for file, pull in pull_of.items() if pull.complete}
    partial = {pull.folder for pull in pull_of.values() if not pull.complete}
    states = states[~states["source_file"].isin(pull_of.keys() - ends.keys())]
    end_of_pull = pd.to_datetime(states["source_file"].map(ends), utc=True)
    end_of_pull = end_of_pull.astype(states["fetched_at"].dtype)
    states = states.assign(fetched_at=end_of_pull.fillna(states["fetched_at"]))
    return states.assign(**{exclusion.COLUMN: None}), len(partial)


def _counting_notes(
    request: ReportRequest,
    filtering: Filtering,
    rows: Mapping[str, pd.DataFrame],
    left_out: Collection[tuple[str, int, str]],
    unplaced: Mapping[str, int],
    tables: Iterable[pd.DataFrame],
) -> Iterator[str]:
    """Yield notes on the filters, on tables and acts that they exclude, and on rows that are not counted."""
    numbers = request.min_count is None
    yield from filtering.lines(*(TABLES[name].element for name in rows if name != COUNTED_ACTS.table))
    if request.unreported:
        yield f"not reported: {', '.join(request.unreported)} ({filtering.name} does not lead to them)"
    if unknown := {noun: count for noun, count in unplaced.items() if count}:
        counts = ", ".join(counted(count, noun) if numbers else f"{noun}s" for noun, count in unknown.items())
        columns = " and ".join(filtering.columns_asked)
        yield f"not known: the {columns} of {counts}; they are left out"
    yield exclusion.note(left_out, numbers=numbers)
    reasons = {reason for reason, _, _ in left_out}
    for pattern in request.exclude_sources:
        if exclusion.reason_of(pattern) not in reasons:
            yield f"no act was left out for {exclusion.reason_of(pattern)}"
    if "gone" not in request.include:
        yield exclusion.proofs(tables)


def _incomplete_notes(incomplete: Iterable[Incomplete], *, numbers: bool) -> list[str]:
    """Return notes on incomplete collections, without numbers of people if `numbers` are hidden."""
    return [
        collections.text if numbers or not collections.is_of_people else collections.text_without_counts
        for collections in incomplete
    ]


def _make(
    request: ReportRequest, frames: Mapping[str, pd.DataFrame], titles: Mapping[str, pd.DataFrame]
) -> list[Made]:
    """Make the reports whose tables have rows; without growth if attendances have the dates of the RSVPs."""
    has_dates = len(frames.get(COUNTED_ATTENDANCES.table, ())) > 0
    counting = Counting(include=request.include, spelling=request.spelling)
    since, made = Filtering(request.filters, request.timezone).start, []
    start = None if since is None else pd.Timestamp(since, unit="us")
    for report in request.reported:
        # A table of titles that the filters do not lead to is not there.
        read = report.reads if report.function else [report.table]
        has_rows = any(len(frames.get(name, ())) for name in read)
        has_rows |= report.table in HEADLINE and report.function is None
        if not has_rows or (report.kind == "growth" and has_dates):
            continue
        if report.function:
            table = report.function(frames, request)
        else:
            titles_of = titles.get(report.titled.table) if report.titled else None
            table = make(report, frames[report.table], counting, titles=titles_of)
        table = _since(table, report.name, start)
        if len(table) >= report.least_rows:
            made.append((report, table))
    return made


def _since(table: pd.DataFrame, name: str, start: pd.Timestamp | None) -> pd.DataFrame:
    """Return the periods of a report that a filter by `since` has left whole.

    Of a comparison nothing is left where the period before began earlier: it would be too low.
    """
    if start is None:
        return table
    if name == "activity":
        return table[pd.DatetimeIndex(table.index).tz_localize(None) >= start]
    return table[:0] if "periods" in table.attrs and Periods.start_of(table) < start else table


def _annotate(
    result: ReportResult,
    attributes: Mapping[str, Mapping[Any, str]],
    snapshots: pd.DataFrame,
    filtering: Filtering,
    left_out: Sequence[tuple[str, int, str]],
) -> None:
    """Write the attributes `note` and `caveat` of the reports' frames, from those that they had when made."""
    for report, table in result.reports:
        element, grows = TABLES[report.read_from].element, report.kind == "growth"
        caveats = [table.attrs.get("period", "")]
        if grows:
            caveats += _not_drawn(result.tables["events"], snapshots, table, below=result.below)
        # With hidden counts no notes on spellings, since the number of spellings may be small, too.
        caveats += [] if result.below else [attributes[report.name]["caveat"]]
        note = attributes[report.name]["note"]
        if grows or result.below:
            note = exclusion.note(
                (count for count in left_out if count[2] == element.name), numbers=result.below is None
            )
        table.attrs["caveat"] = "\n".join(filter(None, caveats))
        table.attrs["note"] = "\n".join(filter(None, [*filtering.lines(element), note]))


def _not_drawn(
    events: pd.DataFrame, snapshots: pd.DataFrame, report: pd.DataFrame, *, below: int | None
) -> list[str]:
    """Return sentences on events and RSVPs that the last complete pull lacks; with hidden counts without RSVPs."""
    unseen = events[~events["event_id"].isin(snapshots["event_id"])]
    rsvps = int(unseen["total_accepted"].sum())
    sentences = []
    if len(unseen):
        which = counted(len(unseen), "event that is", "events that are")
        of_rsvps = "" if below else f"the {counted(rsvps, 'RSVP')} of "
        sentences.append(f"Without {of_rsvps}{which} in no complete pull.")
    if not below and (more := int(events["total_accepted"].sum()) - rsvps - int(report["rsvps"].iloc[-1])):
        sentences.append(f"RSVPs since the last complete pull: {more:+,}.")
    return sentences


def _protected(
    result: ReportResult, request: ReportRequest, below: int, last: Published | None
) -> ReportResult:
    """Hide small counts of people and small changes since the last report in all reports, figures and notes."""
    protected = protect_reports(
        result.reports,
        result.tables,
        below=below,
        spelling=request.spelling,
        settings=request.settings,
        last=last,
    )
    notes = [*result.notes, *protected.notes]
    if unpublished := request.unpublished:
        which = ", ".join(report.heading for report in unpublished)
        notes.append(f"not made, as they would reveal some: {which}")
    return replace(
        result,
        reports=protected.reports,
        inspection=None,  # its counts are not protected
        notes=tuple(notes),
        below=below,
        hidden=hidden_figures(result.tables, below),
        published=protected.published,
    )
