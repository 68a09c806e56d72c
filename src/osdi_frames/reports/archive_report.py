"""The standard reports of an archive, made of its rows, with what to say of them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

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
from osdi_frames.reports import exclusion, first_acts
from osdi_frames.reports.declared import COUNTED_ACTS, COUNTED_ATTENDANCES, EVENT_GROWTH
from osdi_frames.reports.headline import hidden_figures, rsvp_notes, rsvps_are_attendances
from osdi_frames.reports.making import Counting, make
from osdi_frames.reports.measures import IS_NEW
from osdi_frames.reports.published import Made, Published, protect_reports
from osdi_frames.reports.report import Report
from osdi_frames.reports.request import HEADLINE, ReportRequest
from osdi_frames.reports.result import ReportResult
from osdi_frames.resolving.filters import Filtering
from osdi_frames.resolving.resolution import SNAPSHOTS, WHOLE
from osdi_frames.tables import TABLES
from osdi_frames.tables.people import by_address_alone

#: Texts that are the same in many rows.
_REPEATED: Final = {
    "attendances": {"event_id"},
    COUNTED_ACTS.table: {"action", "subject_id", "title", "source"},
}


def collect(
    rows: Iterable[tuple[str, pa.Table]], schemas: Mapping[str, pa.Schema], wanted: ReportRequest
) -> dict[str, pd.DataFrame]:
    """Collect the rows for some reports, by table, condensed as they come, to save memory."""
    keys = {key for report in wanted.reported for key in report.keys} | {exclusion.COLUMN}
    parts: dict[str, list[pa.Table]] = {}
    titles = ((name, TABLES[name].schema(TABLES[name].select(ids))) for name, ids in wanted.titles.items())
    every = {**schemas, **{f"{WHOLE}{name}": schema for name, schema in titles}}
    empty = ((name, schema.empty_table()) for name, schema in every.items())
    for name, some in itertools.chain(empty, rows):
        if name != SNAPSHOTS:
            table = name.removeprefix(WHOLE)
            some = _condensed(some, keys | _REPEATED.get(table, set()))
            some = some if wanted.show_addresses else hide_in_rows(some, TABLES[table])
        parts.setdefault(name, []).append(some)
    return {name: frame(pa.concat_tables(parts.pop(name))) for name in [*parts]}


def make_reports(
    wanted: ReportRequest,
    tables: dict[str, pd.DataFrame],
    *,
    inspection: Inspection | None,
    paths: Sequence[str],
    unplaced: Mapping[str, int],
    known_by_address: int,
    incomplete: Iterable[Incomplete] = (),
    last: Published | None = None,
) -> ReportResult:
    """Make the reports of collected tables.

    Warn where there is nothing to report, or not everything. `unplaced` counts the acts that filters cannot place,
    `known_by_address` the people without an id; of `incomplete` collections the service lists more than was read;
    `last` is what the report before showed.
    """
    filtering, pulls = Filtering(wanted.filters), manifests(paths)
    states = tables.pop(SNAPSHOTS, pd.DataFrame())
    titles = {name: tables.pop(f"{WHOLE}{name}") for name in wanted.titles}
    rows, left_out = _split(tables, wanted.include)
    _warn_of_nothing(paths, rows, filtering, exclusion.note(left_out))
    _warn_of_incomplete(pulls)
    frames, unknown = _with_new_people(tables)
    snapshots, partial = _snapshots(states, rows["events"], pulls) if len(states) else (pd.DataFrame(), 0)
    reports = _make(wanted, {**frames, EVENT_GROWTH.table: snapshots}, titles)
    numbers, bounds = wanted.min_count is None, {"since", "until"}
    notes = [
        *_counting_notes(wanted, filtering, rows, left_out, unplaced, tables.values()),
        *_not_all(incomplete, numbers=numbers),
        *rsvp_notes(rows, of_period=not bounds.isdisjoint(filtering.asked), below=wanted.min_count),
        *(unknown if numbers else ()),
        by_address_alone(known_by_address if numbers else None) if known_by_address else "",
        f"{counted(partial, 'pull')} not complete, not drawn as growth" if partial else "",
    ]
    result = ReportResult(rows, reports, inspection, tuple(filter(None, notes)))
    own = {report.name: dict(made.attrs) for report, made in reports}
    if wanted.min_count is not None:
        result = _protected(result, wanted, wanted.min_count, last)
    _annotate(result, own, snapshots, filtering, left_out)
    return result


def _split(
    tables: Mapping[str, pd.DataFrame], include: Collection[str]
) -> tuple[dict[str, pd.DataFrame], list[tuple[str, int, str]]]:
    """Return the rows that count, and reason, number and noun of the others; acts are rows of the other tables."""
    rows, left_out = {}, []
    for name, every in tables.items():
        rows[name], reasons = exclusion.split(every, include)
        if name != COUNTED_ACTS.table:
            left_out += [(reason, number, TABLES[name].element.name) for reason, number in reasons.items()]
    return rows, left_out


def _with_new_people(tables: Mapping[str, pd.DataFrame]) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Mark the acts that brought their people; also return notes on people of whom that is not known."""
    frames, notes = dict(tables), []
    for name in first_acts.OF_ACTS if COUNTED_ACTS.table in tables else ():
        if name in tables:
            frames[name], note = first_acts.marked(
                tables[name], tables[COUNTED_ACTS.table], table=name, report="report"
            )
            notes += [note] if note and frames[name][IS_NEW].notna().any() else []
    return frames, notes


def _warn_of_nothing(
    paths: Sequence[str], tables: Mapping[str, pd.DataFrame], filtering: Filtering, excluded: str
) -> None:
    """Warn where there is nothing to report, or nothing that counts."""
    headline = [name for name in HEADLINE if name in tables]
    if all(tables[name].empty for name in headline) and not rsvps_are_attendances(tables):
        nothing = " and ".join(f"no {TABLES[name].element.name}" for name in headline)
        named = listed(paths) or "the source"
        why = " passes the filters" if filtering.asked else ""
        why = f"{why}{' and' if why else ''} counts; {excluded}" if excluded else why
        warn_caller(f"{nothing} in {named}{why}", SourceWarning)


def _warn_of_incomplete(pulls: Iterable[Manifest]) -> None:
    """Warn if a folder's newest pull is not complete."""
    for newest in {pull.folder.parent: pull for pull in pulls}.values():
        if not newest.complete:
            said = str(newest).replace("\n", "; ")
            warn_caller(f"the newest pull is not complete: {said}", SourceWarning)


def _condensed(rows: pa.Table, keys: Collection[str]) -> pa.Table:
    """Return rows in less memory: keys as categories, and the long ids of people, who are only counted, as numbers."""
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


def _snapshots(
    states: pd.DataFrame, events: pd.DataFrame, pulls: Iterable[Manifest]
) -> tuple[pd.DataFrame, int]:
    """Return the states of events, for reports on growth, and the number of pulls that are left out.

    A pull with a manifest is one moment: its end. A pull that is not complete would look like a loss or sudden growth.
    """
    states = states.dropna(subset=["event_id", "fetched_at"])
    states = states[states["event_id"].isin(events["event_id"].dropna())]
    folders = {pull.folder: pull for pull in pulls}
    names = {str(name): Path(str(name)).parents for name in states["source_file"].dropna().unique()}
    pull_of = {
        name: folders[folder] for name, above in names.items() for folder in above if folder in folders
    }
    ends = {name: pull.finished_at for name, pull in pull_of.items() if pull.complete}
    partial = {pull.folder for pull in pull_of.values() if not pull.complete}
    states = states[~states["source_file"].isin(pull_of.keys() - ends.keys())]
    ended = pd.to_datetime(states["source_file"].map(ends), utc=True).astype(states["fetched_at"].dtype)
    states = states.assign(fetched_at=ended.fillna(states["fetched_at"]))
    return states.assign(**{exclusion.COLUMN: None}), len(partial)


def _counting_notes(
    wanted: ReportRequest,
    filtering: Filtering,
    rows: Mapping[str, pd.DataFrame],
    left_out: Iterable[tuple[str, int, str]],
    unplaced: Mapping[str, int],
    tables: Iterable[pd.DataFrame],
) -> Iterator[str]:
    """Yield what is counted, and what is not: by the filters, and of the rows that filters leave."""
    numbers = wanted.min_count is None
    yield from filtering.lines(*(TABLES[name].element for name in rows if name != COUNTED_ACTS.table))
    if wanted.unreported:
        yield f"not reported: {', '.join(wanted.unreported)} ({filtering.name} does not lead to them)"
    if lacking := {name: count for name, count in unplaced.items() if count}:
        counts = ", ".join(
            counted(count, name) if numbers else exclusion.several(name) for name, count in lacking.items()
        )
        about = " and ".join(filtering.columns_asked)
        yield f"not known: the {about} of {counts}; they are left out"
    yield exclusion.note(left_out, numbers=numbers)
    if "gone" not in wanted.include:
        yield exclusion.proofs(tables)


def _not_all(incomplete: Iterable[Incomplete], *, numbers: bool) -> list[str]:
    """Say what the archive lacks of collections, without numbers of people where these are hidden."""
    return [
        lacking.text if numbers or not lacking.is_of_people else lacking.text_without_counts
        for lacking in incomplete
    ]


def _make(
    wanted: ReportRequest, frames: Mapping[str, pd.DataFrame], titles: Mapping[str, pd.DataFrame]
) -> list[Made]:
    """Make the reports for which there are rows.

    Growth is not made where attendances say when the RSVPs were; some tables are in few archives.
    """
    has_dates = len(frames.get(COUNTED_ATTENDANCES.table, ())) > 0
    made = (
        (report, _made(report, wanted, frames, titles))
        for report in wanted.reported
        if (report.table in HEADLINE or len(frames[report.table]))
        and not (report.kind == "growth" and has_dates)
    )
    return [(report, rows) for report, rows in made if len(rows) >= report.least_rows]


def _made(
    report: Report,
    wanted: ReportRequest,
    frames: Mapping[str, pd.DataFrame],
    titles: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    if report.function:
        return report.function(frames, wanted)
    counting = Counting(include=wanted.include, spelling=wanted.spelling)
    titled = report.titled
    return make(report, frames[report.table], counting, titles=titles.get(titled.table) if titled else None)


def _annotate(
    result: ReportResult,
    own: Mapping[str, Mapping[Any, str]],
    snapshots: pd.DataFrame,
    filtering: Filtering,
    left_out: Sequence[tuple[str, int, str]],
) -> None:
    """Note in the frames' attributes what is not counted."""
    for report, made in result.reports:
        element, grows = TABLES[report.read_from].element, report.kind == "growth"
        caveats = [made.attrs.get("period", "")]
        if grows:
            caveats += _not_drawn(result.tables["events"], snapshots, made, below=result.below)
        # No spellings of what is hidden: how many there are may be few, too.
        caveats += [] if result.below else [own[report.name]["caveat"]]
        note = own[report.name]["note"]
        if grows or result.below:  # of the events; no spellings
            note = exclusion.note(
                (count for count in left_out if count[2] == element.name), numbers=result.below is None
            )
        made.attrs["caveat"] = "\n".join(filter(None, caveats))
        made.attrs["note"] = "\n".join(filter(None, [*filtering.lines(element), note]))


def _not_drawn(
    events: pd.DataFrame, snapshots: pd.DataFrame, report: pd.DataFrame, *, below: int | None
) -> list[str]:
    """Return sentences on what the last pull lacks, without a number of RSVPs where small counts are hidden."""
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
    result: ReportResult, wanted: ReportRequest, below: int, last: Published | None
) -> ReportResult:
    """Hide small counts of people, and small changes since the last report, wherever they show."""
    protected = protect_reports(
        result.reports,
        result.tables,
        below=below,
        spelling=wanted.spelling,
        settings=wanted.settings,
        last=last,
    )
    notes = [*result.notes, *protected.notes]
    if unpublished := wanted.unpublished:
        which = ", ".join(report.heading for report in unpublished)
        notes.append(f"not made, as they would reveal some: {which}")
    return replace(
        result,
        reports=protected.reports,
        inspection=None,  # how much was read, and what else
        notes=tuple(notes),
        below=below,
        hidden=hidden_figures(result.tables, below),
        published=protected.published,
    )
