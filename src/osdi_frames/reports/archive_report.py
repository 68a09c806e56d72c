"""The standard reports of an archive, and their notes."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.errors import SourceWarning, UnknownReport, counted
from osdi_frames.frames import frame
from osdi_frames.messages import listed, quoted
from osdi_frames.parsing.check import Inspection
from osdi_frames.parsing.listings import Incomplete
from osdi_frames.privacy import hide_in_rows
from osdi_frames.problems import warn_caller
from osdi_frames.pulls import Manifest, manifests
from osdi_frames.reports import Report, exclusion, first_acts
from osdi_frames.reports.analyses import ACTIONS, Analysis
from osdi_frames.reports.declared import ATTENDANCES, GROWTH
from osdi_frames.reports.making import Counting, make
from osdi_frames.reports.measures import IS_NEW, are_attendances, headline_figures, hidden_figures, rsvp_notes
from osdi_frames.reports.published import FIGURES, Made, Published, protect_reports
from osdi_frames.reports.request import HEADLINE, ReportRequest, is_growth
from osdi_frames.resolving.filters import Filtering
from osdi_frames.resolving.resolution import SNAPSHOTS, WHOLE
from osdi_frames.tables import TABLES, element_types, main_table
from osdi_frames.tables.actions import ACTS
from osdi_frames.tables.people import by_address_alone

#: Texts that are the same in many rows.
_REPEATED: Final = {"attendances": {"event_id"}, ACTIONS: {"action", "subject_id", "title", "source"}}


@dataclass(frozen=True, slots=True, repr=False)
class ReportResult(Mapping[str, pd.DataFrame]):
    """The frame of each report, by its name.

    Printed, it is the figures in one line, and what is not among them.
    """

    tables: dict[str, pd.DataFrame]
    """The rows that are counted, and the titles."""
    reports: list[Made]
    inspection: Inspection | None
    notes: tuple[str, ...]
    """What to say of what is counted."""
    below: int | None = None
    """The smallest count of people that is shown; None for every count."""
    hidden: frozenset[str] = frozenset()
    """The headline figures that are small, or would reveal small counts."""
    published: Published | None = None
    """Where small counts are hidden, what is shown of the others."""

    def __getitem__(self, name: str) -> pd.DataFrame:
        made = {declared.name: frame for declared, frame in self.reports}
        if name not in made:
            raise UnknownReport(
                f"no report {quoted(name)} was made of this archive; there are: {', '.join(made)}"
            )
        return made[name]

    def __iter__(self) -> Iterator[str]:
        return (declared.name for declared, _ in self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def summary(self) -> dict[str, int | None]:
        """Count events, RSVPs, attendances, signatures, and people.

        A count is None where it is not shown.
        """
        found = headline_figures(self.tables)
        if self.published:
            found |= self.published.counts[FIGURES]
        return {name: None if name in self.hidden else count for name, count in found.items()}

    @property
    def others(self) -> dict[str, int]:
        """Elements of types that no report counts, most first."""
        if self.inspection is None:
            return {}
        counted_ones = {*HEADLINE, ATTENDANCES.table, *(declared.read_from for declared, _ in self.reports)}
        counted_ones |= {act.table.name for act in ACTS} if ACTIONS in counted_ones else set()
        received = {
            element.type_key: self.inspection.elements[element.name]
            for element in element_types()
            if element.type_key and main_table(element).name not in counted_ones
        }
        found = {name: count for name, count in received.items() if count} | self.inspection.others
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @property
    def rsvps_are_attendances(self) -> bool:
        """Whether the RSVPs are attendances: no event counts."""
        return are_attendances(self.tables)

    def __repr__(self) -> str:
        """Return the figures in one line, then the notes."""
        figures, parts = self.summary, []
        if self.rsvps_are_attendances:
            parts.append(f"{_few(figures['rsvps'], 'RSVP')}{_of_people(figures['rsvp_people'])}")
        elif "events" in figures:
            parts.append(f"{_few(figures['events'], 'event')} with {_few(figures['rsvps'], 'RSVP')}")
        if "signatures" in figures and not (self.rsvps_are_attendances and figures["signatures"] == 0):
            parts.append(f"{_few(figures['signatures'], 'signature')}{_of_people(figures['people'])}")
        lines = ["; ".join(parts), *self.notes]
        if others := self.others:
            counts = ", ".join(f"{count:,} {name}" for name, count in others.items())
            lines.append(f"other types, in no report: {counts}")
        return "\n".join(lines)


def _few(count: int | None, noun: str) -> str:
    """Return a count with its noun; None is few.

    A hidden count is small, or would reveal small ones.
    """
    return f"few {noun}s" if count is None else counted(count, noun)


def _of_people(count: int | None) -> str:
    return "" if count is None else f" of {counted(count, 'person', 'people')}"


def collect(
    rows: Iterable[tuple[str, pa.Table]], schemas: Mapping[str, pa.Schema], wanted: ReportRequest
) -> dict[str, pd.DataFrame]:
    """Collect the rows for some reports, by table.

    Rows are condensed as they come, to save memory.
    """
    keys = {key for declared in wanted.reported if isinstance(declared, Report) for key in declared.keys}
    keys |= {exclusion.COLUMN}
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
    filtering, states = Filtering(wanted.filters), tables.pop(SNAPSHOTS, pd.DataFrame())
    titles = {name: tables.pop(f"{WHOLE}{name}") for name in wanted.titles}
    shown = [TABLES[name].element for name in tables if name != ACTIONS]  # these are rows of the other tables
    notes, counts, counting = filtering.lines(*shown), [], dict(tables)
    for name in tables:
        counting[name], reasons = exclusion.split(tables[name], wanted.include)
        if name != ACTIONS:
            counts += [(reason, number, TABLES[name].element.name) for reason, number in reasons.items()]
    pulls = manifests(paths)
    _warn_of_nothing(paths, counting, filtering, exclusion.note(counts))
    _warn_of_incomplete(pulls)
    of_period = not {"since", "until"}.isdisjoint(filtering.asked)
    notes += filter(None, [exclusion.note(counts, numbers=wanted.min_count is None)])
    gone = exclusion.proofs(tables.values()) if "gone" not in wanted.include else ""
    notes += [gone] if gone else []
    notes += _not_all(incomplete, numbers=wanted.min_count is None)
    notes += rsvp_notes(counting, of_period=of_period, below=wanted.min_count)
    notes[1:1] = _not_reported(wanted.unreported, unplaced, filtering, numbers=wanted.min_count is None)
    marked = {name: _marked(name, tables) for name in first_acts.OF_ACTS if {name, ACTIONS} <= tables.keys()}
    tables |= {name: frame for name, (frame, _) in marked.items()}
    if wanted.min_count is None:
        notes += [said for frame, said in marked.values() if said and frame[IS_NEW].notna().any()]
    if known_by_address:  # the number of them is as small as others that are hidden
        notes.append(by_address_alone(None if wanted.min_count else known_by_address))
    snapshots = pd.DataFrame()
    if len(states):
        snapshots, partial = _snapshots(states, counting["events"], pulls)
        notes += [f"{counted(partial, 'pull')} not complete, not drawn as growth"] if partial else []
    made = _make(wanted, {**tables, GROWTH.table: snapshots}, titles)
    result = ReportResult(counting, made, inspection, tuple(notes))
    own = {declared.name: dict(frame.attrs) for declared, frame in made}
    if wanted.min_count is not None:
        result = _protected(result, wanted, wanted.min_count, last)
    _annotate(result, own, snapshots, filtering, counts)
    return result


def _not_all(incomplete: Iterable[Incomplete], *, numbers: bool) -> list[str]:
    """Say what the archive lacks of collections, without numbers of people where these are hidden."""
    return [
        lacking.text if numbers or not lacking.is_of_people else lacking.text_without_counts
        for lacking in incomplete
    ]


def _marked(name: str, tables: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, str]:
    return first_acts.marked(tables[name], tables[ACTIONS], table=name, report="report")


def _warn_of_nothing(
    paths: Sequence[str], tables: Mapping[str, pd.DataFrame], filtering: Filtering, excluded: str
) -> None:
    """Warn where there is nothing to report, or nothing that counts."""
    headline = [name for name in HEADLINE if name in tables]
    if all(tables[name].empty for name in headline) and not are_attendances(tables):
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
    """Return rows in less memory.

    Keys become categories, and the long ids of people, who are only counted, become numbers.
    """
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
    """Return the states of events, for reports on growth.

    The second value counts the pulls that are left out.

    A pull with a manifest is one moment: its end. One that is not complete would look like a loss or a
    sudden growth.
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


def _not_reported(
    tables: Sequence[str], unplaced: Mapping[str, int], filtering: Filtering, *, numbers: bool
) -> Iterator[str]:
    """Yield which tables filters do not lead to, and how many acts they cannot place, or only which."""
    if tables:
        yield f"not reported: {', '.join(tables)} ({filtering.name} does not lead to them)"
    if found := {name: count for name, count in unplaced.items() if count}:
        counts = ", ".join(
            counted(count, name) if numbers else exclusion.several(name) for name, count in found.items()
        )
        about = " and ".join(filtering.columns_asked)
        yield f"not known: the {about} of {counts}; they are left out"


def _make(
    wanted: ReportRequest, frames: Mapping[str, pd.DataFrame], titles: Mapping[str, pd.DataFrame]
) -> list[Made]:
    """Make the reports for which there are rows.

    Growth needs a second pull, and is not made where attendances say when the RSVPs were; some tables are in few
    archives.
    """
    has_dates = len(frames.get(ATTENDANCES.table, ())) > 0
    made = [
        (declared, _made(declared, wanted, frames, titles))
        for declared in wanted.reported
        if (declared.table in HEADLINE or len(frames[declared.table]))
        and not (is_growth(declared) and has_dates)
    ]
    return [
        (declared, frame)
        for declared, frame in made
        if len(frame) > (1 if is_growth(declared) else 0 if isinstance(declared, Analysis) else -1)
    ]


def _made(
    declared: Report | Analysis,
    wanted: ReportRequest,
    frames: Mapping[str, pd.DataFrame],
    titles: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    if isinstance(declared, Analysis):
        return declared.make(frames, wanted)
    return make(
        declared,
        frames[declared.table],
        Counting(include=wanted.include, spelling=wanted.spelling),
        titles=titles.get(declared.titled.table),
    )


def _annotate(
    result: ReportResult,
    own: Mapping[str, Mapping[Any, str]],
    snapshots: pd.DataFrame,
    filtering: Filtering,
    counts: Sequence[tuple[str, int, str]],
) -> None:
    """Note in the frames' attributes what is not counted."""
    for declared, report in result.reports:
        caveats, element = [], TABLES[declared.read_from].element
        if is_growth(declared):
            caveats += _not_drawn(result.tables["events"], snapshots, report, below=result.below)
        # No spellings of what is hidden: how many there are may be few, too.
        caveats += [] if result.below else own[declared.name]["caveat"].splitlines()
        caveats = [*filter(None, [report.attrs.get("period")]), *caveats]
        report.attrs["caveat"] = "\n".join(caveats)
        note = own[declared.name]["note"]
        if is_growth(declared) or result.below:  # of the events; no spellings
            own_counts = (count for count in counts if count[2] == element.name)
            note = exclusion.note(own_counts, numbers=result.below is None)
        report.attrs["note"] = "\n".join(filter(None, [*filtering.lines(element), note]))


def _not_drawn(
    events: pd.DataFrame, snapshots: pd.DataFrame, report: pd.DataFrame, *, below: int | None
) -> list[str]:
    """Return sentences on what the last pull lacks.

    Where small counts are hidden, without a number of RSVPs.
    """
    unseen = events[~events["event_id"].isin(snapshots["event_id"])]
    rsvps = int(unseen["total_accepted"].sum())
    said = []
    if len(unseen):
        which = counted(len(unseen), "event that is", "events that are")
        of_rsvps = "" if below else f"the {counted(rsvps, 'RSVP')} of "
        said.append(f"Without {of_rsvps}{which} in no complete pull.")
    if not below and (more := int(events["total_accepted"].sum()) - rsvps - int(report["rsvps"].iloc[-1])):
        said.append(f"RSVPs since the last complete pull: {more:+,}.")
    return said


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
        which = ", ".join(declared.heading for declared in unpublished)
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
