"""Compute a declared report from a frame."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import pandas_dtype

from osdi_frames.errors import InvalidArgument, InvalidColumn, MissingColumn
from osdi_frames.frames import as_frame
from osdi_frames.messages import quoted
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import joined_by, mark_first_acts
from osdi_frames.reports.columns import (
    Clock,
    Convert,
    convert_columns,
    in_zone,
    refuse_lacking,
    text,
    utc,
    zone_for,
    zone_note,
)
from osdi_frames.reports.groups import By, Groups, group, group_periods, named_keys
from osdi_frames.reports.known import Duration
from osdi_frames.reports.measures import Grouped
from osdi_frames.reports.report import Joined, Report
from osdi_frames.reports.spelling import Spelling, checked_spelling, contexts
from osdi_frames.reports.titles import REFERRER, SPONSOR, distinct_labels
from osdi_frames.tables import TABLES, element_types, main_table
from osdi_frames.tables.schema import NONE

#: The columns of each table with a row per element.
_COLUMNS: Final = {
    table.name: frozenset(column.name for column in table.columns)
    for table in map(main_table, element_types())
}
#: The number of acts from which a sponsor that all of them have is taken for that of the referrer.
_FEWEST: Final = 5
_DECLARED: Final = frozenset().union(*_COLUMNS.values())

Share: TypeAlias = Literal["total", "within"]


@dataclass(frozen=True, slots=True)
class Counting:
    """The keyword arguments that callers of a report's function may choose."""

    by: By | None = None
    freq: str = "D"
    pause: Duration = "1min"
    include: Collection[str] = ()
    spelling: Spelling = "merged"
    share: Share = "total"
    timezone: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "include", exclusion.included(self.include))
        checked_spelling(self.spelling)
        if self.share not in ("total", "within"):
            raise InvalidArgument(f"share is 'total' or 'within', not {quoted(self.share)}")


def make(
    report: Report,
    frame: pd.DataFrame,
    counting: Counting = Counting(),
    *,
    titles: pd.DataFrame | None = None,
    joined: pd.DataFrame | None = None,
    actions: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compute a report from a frame of its table.

    `titles` is a frame with titles of ids; `joined` one with a key that the frame lacks; `actions` one of acts, which
    show the rows that are a new person's first act.
    """
    counting = replace(counting, by=_by(report, counting.by))
    keys = [name for name, _ in named_keys(counting.by, report=report.name)]
    frame = _with_needed_columns(report, frame, keys, joined, with_actions=actions is not None)
    frame, note = _counted(report, frame, counting.include)
    unknown_note = ""
    if actions is not None:
        frame, unknown_note = mark_first_acts(frame, actions, table=report.table, report=report.name)
    titled = report.titled
    if titles is not None and titled:
        titles = as_frame(titles, caller=report.name, columns=(titled.key, "title"))
    needs = _needs(report, counting.by, *frame.columns)
    reader = f"{report.reader} reads {report.read_from}"
    rows = convert_columns(frame, needs, keys=keys, report=report.name, reader=reader)
    groups = _groups(report, frame, counting)
    result = _compute(report, frame, rows, groups, counting)
    if titles is not None and titled:
        result = with_titles(result, titles, titled.key, argument=titled.argument, report=report.name)
    if keys == [REFERRER] and report.kind == "groups" and SPONSOR in frame:
        result = _with_sponsors(result, frame[SPONSOR], groups)
    notes = [note, unknown_note, zone_note(frame, needs), *groups.notes]
    result = in_zone(result, zone_for(frame, counting.timezone, "created_date"))
    result.attrs["note"] = "\n".join(filter(None, notes))
    result.attrs["caveat"] = "\n".join(groups.notes)
    return result


def _by(report: Report, by: By | None) -> By | None:
    """Return the keys of a report: the caller's, the declared ones, or the default of its kind."""
    by = report.by if by is None else by
    if by is None and report.kind != "over time":
        return "event_campaign_id" if report.kind == "growth" else []
    return by


def _with_needed_columns(
    report: Report,
    frame: pd.DataFrame,
    keys: Sequence[str],
    joined: pd.DataFrame | None,
    *,
    with_actions: bool,
) -> pd.DataFrame:
    """Return a frame with the columns that a report reads, as pandas, with its joined key."""
    optional = (name for measure in report.measures for name in (*measure.needs, *measure.uses))
    columns = {*_needs(report, None), *optional, *keys, *contexts(keys), *report.columns}
    columns |= {exclusion.COLUMN, SPONSOR, *(joined_by(report.table) if with_actions else ())}
    original, frame = frame, as_frame(frame, caller=report.name, example=report.reader, columns=columns)
    _refuse_other_table(report, original.columns if hasattr(original, "dask") else frame.columns)
    return _join(report, report.joined, frame, joined) if report.joined else frame


def _compute(
    report: Report, frame: pd.DataFrame, rows: pd.DataFrame, groups: Groups, counting: Counting
) -> pd.DataFrame:
    """Compute a report from grouped rows."""
    if counting.by is None or report.kind == "groups":
        result = _measured(report, rows, groups)
        if counting.share == "within":
            result["share"] = _share_within(result[report.count], report)
        return result.iloc[groups.ranked(result[report.count])]
    if report.kind == "over time":
        return _over_time(rows, groups, _periods(report, frame, counting))
    return _growth(report, rows, groups, pd.Timedelta(counting.pause))


def _join(report: Report, joined: Joined, frame: pd.DataFrame, others: pd.DataFrame | None) -> pd.DataFrame:
    """Add a key from the rows of another table, or return a frame that has this key if there is no other table.

    The key is missing if the other table has no such row; if it has several, the last one counts.
    """
    if others is None and joined.column in frame.columns:
        return frame
    if others is None:
        call = f"{report.name}({report.table}, {joined.table})"
        raise MissingColumn(f"{report.name} needs the {joined.table}, which have {joined.column}: {call}")
    needs = (joined.key, joined.column)
    others = as_frame(others, caller=report.name, columns=needs)
    refuse_lacking(others, needs, name=joined.table, report=report.name)
    refuse_lacking(frame, needs[:1], name=report.table, report=report.name)
    known = others.loc[others[joined.key].notna(), [*needs]].astype("str")
    values = known.drop_duplicates(joined.key, keep="last").set_index(joined.key)[joined.column]
    return frame.assign(**{joined.column: frame[joined.key].astype("str").map(values).astype("str").array})


def _counted(report: Report, frame: pd.DataFrame, include: Collection[str]) -> tuple[pd.DataFrame, str]:
    """Return the rows that count, and a note on the others."""
    if report.kind == "growth" and {"event_id", "fetched_at", exclusion.COLUMN} <= {*frame.columns}:
        # The last version of an event decides for all of them.
        last = frame.sort_values("fetched_at", kind="stable").drop_duplicates("event_id", keep="last")
        reasons = frame["event_id"].map(last.set_index("event_id")[exclusion.COLUMN])
        frame = frame.assign(**{exclusion.COLUMN: reasons})
    return exclusion.counted_rows(frame, include, TABLES[report.read_from].element.name)


def row_numbers(
    report: Report, frame: pd.DataFrame, result: pd.DataFrame, *, spelling: Spelling = "merged"
) -> NDArray[np.int64]:
    """Return for each row of a frame the number of the report's row that counts it."""
    needs = {"created_date": utc} if report.by is None else {}
    convert_columns(frame, needs, keys=report.keys, report=report.name)  # raises an error for a missing one
    groups = _groups(report, frame, Counting(by=report.by, spelling=spelling))
    return result.index.get_indexer(groups.labels)[groups.number]


def _groups(report: Report, frame: pd.DataFrame, counting: Counting) -> Groups:
    """Group the rows of a frame as a report does."""
    if counting.by is None:
        return _periods(report, frame, counting)
    return group(
        frame,
        counting.by,
        nothing=report.subject.nothing,
        spelling=counting.spelling,
        report=report.name,
        timezone=counting.timezone,
    )


def _periods(report: Report, frame: pd.DataFrame, counting: Counting) -> Groups:
    """Group the rows of a frame by the periods of when they were created."""
    clock = Clock.of(frame, "created_date", counting.timezone, report=report.name)
    return group_periods(clock, counting.freq, report=report.name)


def _needs(report: Report, by: By | None, *columns: str) -> dict[str, Convert]:
    """Return the columns that a report of a frame with some columns reads, with their conversions.

    Columns that a measure can do without, and those of optional measures, are only read from frames that have them.
    """
    if report.kind == "over time" and by is not None:
        return {"created_date": utc}
    measures = report.made_of(columns)
    needs = {column: convert for measure in measures for column, convert in measure.needs.items()}
    used = {column: convert for measure in measures for column, convert in measure.uses.items()}
    needs |= {column: convert for column, convert in used.items() if column in columns}
    return {"created_date": utc, **needs} if report.kind == "over time" else needs


def _refuse_other_table(report: Report, columns: Iterable[object]) -> None:
    """Raise InvalidColumn if the frame seems to be one of another table that has the needed columns, too.

    Such a frame has the id of the other table, and no declared column that this one lacks, but one that the report's
    table lacks.
    """
    known = _DECLARED.intersection(columns)
    others = [
        name
        for name, declared in _COLUMNS.items()
        if known <= declared and known.issuperset(TABLES[name].element.identities[0])
    ]
    if others and not known <= _COLUMNS.get(report.read_from, known):
        raise InvalidColumn(
            f"{report.name} counts {report.read_from}, and the frame seems to be one of {others[0]}; "
            f"{report.reader} reads {report.read_from}"
        )


def _measured(report: Report, rows: pd.DataFrame, groups: Groups) -> pd.DataFrame:
    """Compute the measures of each group, also of groups without rows."""
    numbers = pd.RangeIndex(len(groups.labels))
    grouped = rows.assign(group=groups.number).groupby("group")
    return _computed(report, grouped, numbers).set_axis(groups.labels)


def _share_within(counts: pd.Series, report: Report) -> pd.Series:
    """Return the share of each count in the sum of the counts with the same first key."""
    if counts.index.nlevels < 2:
        raise InvalidArgument(
            f"{report.name}: share='within' is of the first of several keys, and by names one"
        )
    first = counts.index.codes[0] if isinstance(counts.index, pd.MultiIndex) else counts.index
    return counts / counts.groupby(np.asarray(first)).transform("sum").clip(lower=1)


def _computed(report: Report, grouped: Grouped, index: pd.Index) -> pd.DataFrame:
    computed: dict[str, pd.Series] = {}
    measures = report.made_of(grouped.obj.columns)
    for measure in measures:
        values = measure.compute(grouped, computed).reindex(index)
        values = values.fillna(0) if measure.dtype == "int64" else values
        computed[measure.name] = values.astype(pandas_dtype(measure.dtype))
    names = [each.name for each in measures if not each.needs_any or computed[each.needs_any].any()]
    return pd.DataFrame({name: computed[name] for name in names}, index)


def _over_time(rows: pd.DataFrame, groups: Groups, periods: Groups) -> pd.DataFrame:
    """Return the number of rows in each period, with a column for each group."""
    counts = groups.spread(pd.Series(1, index=rows.index), periods.number, groups.number)
    counts = counts.reindex(range(len(periods.labels)), fill_value=0).set_axis(periods.labels)
    return groups.label_columns(counts, counts.sum())


def _growth(report: Report, rows: pd.DataFrame, groups: Groups, pause: pd.Timedelta) -> pd.DataFrame:
    """Return the sum of the last known RSVPs at each pull, with a column for each group, or with the own measures."""
    for column in ("event_id", "fetched_at"):
        missing = int(rows[column].isna().sum())
        if missing:
            raise InvalidColumn(
                f"{report.name}: {missing} of {len(rows)} rows have no {column} and cannot be followed "
                f"through time; read every state, with dedupe=False, and leave these out: "
                f"frame[frame.{column}.notna()]"
            )
    states = _states(rows.assign(group=groups.number), pause=pause)
    # Each state adds to its group, and subtracts the event's state before from the group that the event was in.
    before = states.groupby("event_id")[["group", "rsvps"]].shift().dropna(subset="group").astype("int64")
    subtracted = states.loc[before.index].assign(group=before["group"], rsvps=-before["rsvps"])
    changes = pd.concat([states, subtracted])
    growth = groups.spread(changes["rsvps"], changes["pull"], changes["group"]).cumsum()
    growth.index = pd.DatetimeIndex(states.groupby("pull")["fetched_at"].max(), name="fetched_at")
    if not report.own_measures:
        return groups.label_columns(growth, growth.iloc[-1:].sum())
    return _computed(report, growth.groupby(level=0), growth.index)


def _states(rows: pd.DataFrame, *, pause: pd.Timedelta) -> pd.DataFrame:
    """Return the last state of each event in each pull, with the number of the pull and the RSVPs known then."""
    # Among rows with the same time, the larger count is taken for the later one.
    rows = rows.sort_values(["fetched_at", "total_accepted", "group"], na_position="first", ignore_index=True)
    rows["pull"] = (rows["fetched_at"].diff() > pause).cumsum()
    rows["rsvps"] = rows.groupby("event_id")["total_accepted"].ffill().fillna(0).astype("int64")
    return rows.drop_duplicates(["pull", "event_id"], keep="last")


def with_titles(
    made: pd.DataFrame, titles: pd.DataFrame, key: str, *, argument: str, report: str
) -> pd.DataFrame:
    """Add the column `title` to a report by id; in a report with a column per id, replace the ids by titles."""
    if key not in made.index.names and list(made.columns.names) != [key]:
        return made
    refuse_lacking(titles, (key, "title"), name=argument, report=report)
    named = titles[[key, "title"]].astype("str").dropna()
    named = named[(named["title"].str.strip() != "") & (named[key] != NONE)]
    known = dict(zip(named[key], named["title"], strict=True))  # the last row of an id counts
    if key in made.index.names:
        ids = made.index.get_level_values(key)
        made.insert(0, "title", pd.Series([known.get(id_) for id_ in ids], made.index, dtype="str"))
        return made
    return made.rename(columns=distinct_labels({column: known.get(column) for column in made.columns}))


def _with_sponsors(report: pd.DataFrame, sponsors: pd.Series, groups: Groups) -> pd.DataFrame:
    """Add the column `title`, with the group whose code a referrer is: the one sponsor of all of its acts.

    Few acts can have the same one by chance, and those of a group's own archive all have that group.
    """
    sponsors = text(sponsors).str.strip().reset_index(drop=True)
    by_referrer = sponsors.mask(sponsors == "").groupby(groups.number)
    count = by_referrer.count()
    is_same = (by_referrer.nunique() == 1) & (count == by_referrer.size()) & (count >= _FEWEST)
    titles = by_referrer.first().where(is_same).reindex(range(len(groups.labels)))
    titles = titles.set_axis(groups.labels).drop(NONE, errors="ignore").reindex(report.index)
    if sponsors.nunique() > 1 and titles.notna().any():
        report.insert(0, "title", titles.astype("str"))
    return report
