"""Compare two consecutive periods: by value, by figure, or by what is new and gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.clock import TimeLike, instants, wall_clock
from osdi_frames.errors import InvalidArgument, MissingColumn
from osdi_frames.frames import as_frame
from osdi_frames.messages import quoted
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import Acts, not_known_to_be_new, noted
from osdi_frames.reports.columns import (
    Clock,
    Convert,
    convert_columns,
    in_zone,
    local,
    text,
    utc,
    whole,
    zone_for,
    zone_note,
)
from osdi_frames.reports.groups import By, group, named_keys
from osdi_frames.reports.known import RECEIPTS, Duration, Known, Periods, end_of, latest_time
from osdi_frames.reports.measures import IS_NEW, Z, show_key
from osdi_frames.reports.spelling import NO_SOURCE, Spelling, checked_spelling, contexts
from osdi_frames.tables.actions import ACTION_NAMES


@dataclass(frozen=True, slots=True)
class _Dated:
    """A kind of rows with a date, by the name of that column."""

    column: str
    convert: Convert
    noun: str
    sums: str | None = None
    """The column that is summed up; None counts rows."""


#: The kinds of rows that can be compared, by the first date column that a frame has.
_DATED: Final = (
    _Dated("date", utc, exclusion.ACT),
    _Dated("start_date", local, "event", "total_accepted"),
    _Dated("created_date", utc, "row"),
)

#: The columns that an attendance has in common with its RSVP.
_BROUGHT_BY: Final = {"source", "referrer"}


def compare(
    frame: pd.DataFrame,
    period: Duration = "7D",
    *,
    by: By = "source",
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Compare a period with the one before, by value, the largest change first.

    The two periods are equally long and consecutive: `now` ends at `until`, `before` where `now` begins. Acts are
    counted by `date`, signatures and attendances by `created_date`, each by the wall clock of a zone. Of events the
    RSVPs, ``total_accepted``, are summed by `start_date`, the wall clock at their place.

    A date far from most others, or more than a day after the newest receipt (`received_at`, `fetched_at`, if the
    frame has them), is doubtful: without `until` it is set aside, and `note` names it.

    By source or referrer, acts `attended` are left out, unless `by` names action, too: the source brought the RSVP,
    often weeks before, which is an act `rsvped` of the same person and event.

    Parameters
    ----------
    frame
        one row per act, signature, attendance or event, with its date and the columns of `by`; acts also with
        `action`, if they have it
    period
        the length of a period: a time as ``7D`` or ``6h``, or a number of weeks from Monday, months, quarters or
        years, as ``W`` or ``3M``
    by
        a column, or several
    until
        the last day of the last period, or its last month or year, as ``2026-05-10``, ``2026-05``, ``7d`` (seven days
        before that of `now`), ``yesterday``, ``last-week``, ``last-month``; a datetime or a text with an hour is the
        time at which it ends. Without a zone it is of the clock that counts. By default the end of the last period that
        is complete before the newest date that is not doubtful: for days a midnight, for months the first of a month
    now
        the present, from which `until` is counted, by default that of the computer; for a frame without `received_at`
        and `fetched_at` dates after it are doubtful
    include
        reasons of the column `excluded` whose rows to count nevertheless; the attribute `note` has the number of the
        others
    spelling
        ``merged`` counts spellings of one source, referrer, website, region or country in one row, named by the most
        frequent spelling of the whole frame; ``exact`` keeps them apart
    timezone
        the zone whose wall clock the days are of, as ``America/New_York``; by default that of the column, if it has one
        that is not UTC, else that of the frame's handle (`open`), else UTC. An act ``attended`` keeps the wall
        clock of its event

    Returns
    -------
    DataFrame
        indexed by the columns of `by`, the largest absolute change first, then in the order of the index; values
        without a row in either period are left out. `note` names the periods, and the period that has not ended if
        `until` is after the newest date; without `until` it names the newer days that are not compared

        - before: the number in the period before
        - now: the number in the last period
        - change: now less before
        - change_share: change over before; missing if before is 0
        - by_chance: whether chance alone can make such a change of so few: 0 lies in the 95% interval of the difference
          of two Poisson counts, change ± 1.96 √(before + now)

    Raises
    ------
    MissingColumn
        the frame lacks a date, or another needed column
    InvalidArgument
        `period` is not a length of time, or `until` not a time

    Examples
    --------
    >>> signatures = pd.DataFrame({
    ...     "source": ["email", "web", "email", "email", "web"],
    ...     "created_date": pd.to_datetime(
    ...         ["2026-05-01", "2026-05-02", "2026-05-08", "2026-05-09", "2026-05-10"], utc=True
    ...     ),
    ... })
    >>> compare(signatures, until="2026-05-14")[["before", "now", "change"]].values.tolist()
    [[1, 2, 1], [1, 1, 0]]
    """
    checked_spelling(spelling)
    include = exclusion.included(include)
    keys = [name for name, _ in named_keys(by, report="compare")]
    frame, dated = _dated_frame(frame, keys)
    zone = zone_for(frame, timezone, *([dated.column] if dated.convert is utc else []))
    latest = latest_time([frame], now, zone, report="compare")
    frame, note = exclusion.counted_rows(frame, include, dated.noun)
    frame = frame.reset_index(drop=True)
    needs = {dated.column: dated.convert, **({dated.sums: whole} if dated.sums else {})}
    rows = convert_columns(frame, needs, keys=keys, report="compare")
    dates = rows[dated.column]
    if dated.convert is utc:
        dates = Clock.of(frame, dated.column, timezone, report="compare").times
    end = None if until is None else end_of(until, now, zone, report="compare")
    periods = Periods.of(Known.of(dates, latest, dated.noun), period, end, report="compare")
    is_within = periods.number >= 0
    is_left_out = is_within & _attended_by_rsvp(frame, keys)
    within = rows.index[is_within & ~is_left_out]
    groups = group(frame, by, nothing=NO_SOURCE, spelling=spelling, report="compare", timezone=timezone)
    counts = rows[dated.sums].fillna(0) if dated.sums else pd.Series(1, index=rows.index)
    sums = counts[within].groupby([groups.number[within], periods.number[within]]).sum()
    result = sums.unstack(fill_value=0).reindex(columns=range(2))
    result = _with_change(result.set_axis(groups.labels.take(result.index.to_numpy())))
    result = result.iloc[(-result["change"].abs()).argsort(kind="stable")]
    caveats = periods.doubtful_notes
    if is_left_out.any():
        caveats.append(f"without {is_left_out.sum():,} attended: their RSVPs have the source")
    caveats += groups.notes
    notes = [note, zone_note(frame, needs), *periods.notes, *periods.newer_notes]
    return periods.noted(noted(result, notes, caveats))


def _dated_frame(frame: pd.DataFrame, keys: Collection[str]) -> tuple[pd.DataFrame, _Dated]:
    """Return a frame as pandas, with the columns that `compare` reads, and the kind of its rows."""
    names = [name for dated in _DATED for name in (dated.column, dated.sums) if name]
    columns = {*keys, *contexts(keys), *names, *RECEIPTS, "action", exclusion.COLUMN}
    frame = as_frame(frame, caller="compare", columns=columns).reset_index(drop=True)
    dated = next((dated for dated in _DATED if dated.column in frame.columns), None)
    if dated is None:
        raise MissingColumn("compare needs one of the columns date, start_date and created_date")
    return frame, dated


def _attended_by_rsvp(frame: pd.DataFrame, keys: Collection[str]) -> NDArray[np.bool_]:
    """Return which acts are attendances that are left out by source or referrer, since their RSVPs are counted."""
    if "action" not in frame.columns or "action" in keys or _BROUGHT_BY.isdisjoint(keys):
        return np.zeros(len(frame), dtype=bool)
    return text(frame["action"]).eq("attended").fillna(False).to_numpy(dtype=bool)


def changes(
    actions: pd.DataFrame,
    period: Duration = "W",
    *,
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    timezone: str | None = None,
) -> pd.DataFrame:
    """Compare the numbers of people and acts in two consecutive periods.

    `compare` describes the periods, and the doubtful dates that are set aside. If you read only some columns of
    `Archive.actions`, read `received_at`, too, which shows doubtful dates.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action and number, as ``osdi_frames.open(source).actions()`` returns it;
        without its column is_new it is known of nobody whether they are new
    period, until, now, timezone
        as for `compare`
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others

    Returns
    -------
    DataFrame
        indexed by figure: ``people``, who acted in the period; ``first time``, those of them whose first act in the
        archive is in it; ``new people``, those of `first time` who are new to the list (see `engagement`; the attribute
        `caveat` says of how many this is not known); then each action of either period, as ``signed``, in the order of
        `Archive.actions`

        - before: the number in the period before
        - now: the number in the last period
        - change: now less before
        - change_share: change over before; missing if before is 0
        - by_chance: whether chance alone can make such a change of so few: 0 lies in the 95% interval of the difference
          of two Poisson counts, change ± 1.96 √(before + now)

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        `period` is not a length of time, or `until` not a time

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann"],
    ...     "date": pd.to_datetime(["2026-05-05", "2026-05-12", "2026-05-13"], utc=True),
    ...     "action": "signed",
    ...     "number": [1, 1, 2],
    ...     "is_new": [False, True, False],
    ... })
    >>> changes(actions, until="2026-05-17")[["before", "now"]].T.to_dict("list")
    {'people': [1, 2], 'first time': [1, 1], 'new people': [0, 1], 'signed': [1, 2]}
    """
    acts = _counted(actions, "changes", include=include, now=now, timezone=timezone)
    periods = _periods(acts, period, until, now)
    figures, unknown = _figures(acts, periods)
    figures = figures.T.rename_axis("figure")
    figures = _with_change(figures[figures.any(axis=1)])
    caveats = [*unknown, *periods.newer_notes, *periods.doubtful_notes]
    return periods.noted(noted(figures, [*acts.notes, *periods.notes], caveats))


def activity(
    actions: pd.DataFrame,
    period: Duration = "W",
    *,
    count: int = 52,
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count the people and acts of consecutive periods, the last of which are those of `changes`.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action and number, as ``osdi_frames.open(source).actions()`` returns it;
        without its column is_new it is known of nobody whether they are new
    period, until, now, timezone
        as for `compare`
    count
        the number of periods; there are fewer where the first would begin before all times that pandas has
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others

    Returns
    -------
    DataFrame
        indexed by date, the start of each period, in this zone; without rows if no act has a date and there is no
        `until`

        - people: the number of people who acted
        - first time: the number of people whose first act in the archive is in the period
        - new people: the number of these who are new to the list, as in `changes`
        - then the number of acts of each action, as ``signed``, in the order of `Archive.actions`

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        `period` is not a length of time, `until` not a time, or `count` not a number of periods

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann"],
    ...     "date": pd.to_datetime(["2026-05-05", "2026-05-12", "2026-05-13"], utc=True),
    ...     "action": "signed",
    ...     "number": [1, 1, 2],
    ... })
    >>> activity(actions, until="2026-05-17", count=3)[["people", "signed"]].values.tolist()
    [[0, 0], [1, 1], [2, 2]]
    """
    if not isinstance(count, int) or count < 1:
        raise InvalidArgument(f"activity: count is a number of periods, not {quoted(count)}")
    acts = _counted(actions, "activity", include=include, now=now, timezone=timezone)
    periods = _periods(acts, period, until, now, count)
    figures, unknown = _figures(acts, periods)
    if pd.isna(periods.known.newest) and not periods.is_chosen:
        figures, periods = figures[:0], replace(periods, bounds=periods.bounds[:1])
    figures = figures.set_axis(instants(pd.DatetimeIndex(periods.bounds[:-1]), acts.zone).rename("date"))
    caveats = [*unknown, *periods.newer_notes, *periods.doubtful_notes]
    return noted(figures, [*acts.notes, *periods.notes], caveats)


def _counted(actions: pd.DataFrame, report: str, **choices: Any) -> Acts:
    return Acts.of(actions, "action", "number", IS_NEW, report=report, **choices)


def _periods(
    acts: Acts, period: Duration, until: TimeLike | None, now: TimeLike | None, count: int = 2
) -> Periods:
    """Return so many periods of acts, the last of which ends at `until`, or else before the newest act."""
    end = None if until is None else end_of(until, now, acts.zone, report=acts.report)
    return Periods.of(acts.known, period, end, report=acts.report, count=count)


def _figures(acts: Acts, periods: Periods) -> tuple[pd.DataFrame, list[str]]:
    """Return the people, the new people and the acts of each action by period; and a note on who may be new."""
    number = pd.Series(periods.number, acts.rows.index)
    number = number[number >= 0]
    rows = acts.rows.loc[number.index]
    first = acts.first_in_archive()
    first = first[first.index.isin(number.index)]
    new = first[first[IS_NEW].fillna(False)]
    counts = {
        "people": rows["person"].where(rows["person"] >= 0).groupby(number).nunique(),
        "first time": number[first.index].value_counts(),
        "new people": number[new.index].value_counts(),
        **{action: number[rows["action"].eq(action)].value_counts() for action in ACTION_NAMES},
    }
    every = pd.DataFrame(counts, index=range(len(periods.bounds) - 1))
    return every.fillna(0).astype("int64"), not_known_to_be_new(first)


def newcomers(
    actions: pd.DataFrame,
    by: By,
    period: Duration = "W",
    *,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the people who are new to the list by what brought them, as `growth` does, in all and in the last period.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, number, is_new and the columns of `by`
    by
        the columns of what brought them
    period, now
        as for `compare`
    include, spelling
        as for `growth`

    Returns
    -------
    DataFrame
        indexed by the columns of `by`, most people first

        - new: the number of people whom it brought
        - now: the number of those whom it brought in the last period of `changes`
        - first: the number of people whose first act in the archive it brought in this period, new to the list or not
        - unknown: the number of these of whom it is not known whether they are new

        The attribute `unknown` is the number of all people of whom it is not known.
    """
    acts = Acts.of(actions, "number", IS_NEW, report="growth", include=include, by=by, now=now)
    first = acts.first_in_archive()
    is_now, is_new = _periods(acts, period, None, now).number[first.index] == 1, first[IS_NEW]
    are_counted = {
        "new": is_new.fillna(False),
        "now": is_now & is_new.fillna(False),
        "first": is_now,
        "unknown": is_now & is_new.isna(),
    }
    groups = acts.groups(first.index, by, spelling)
    counts = pd.DataFrame(are_counted).astype("int64").groupby(groups.number.to_numpy()).sum()
    order = groups.ranked(counts["new"])
    table = counts.iloc[order].set_axis(groups.labels.take(order))
    table = noted(table[table.any(axis=1)], acts.notes, [*not_known_to_be_new(first), *groups.notes])
    table.attrs["unknown"] = int(is_new.isna().sum())
    return table


def news(
    tables: Mapping[str, pd.DataFrame],
    period: Duration = "W",
    *,
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
) -> pd.DataFrame:
    """List the events and petitions that were created, or found to be gone, since the last period of `compare` began.

    Parameters
    ----------
    tables
        ``actions`` with date; ``events``, ``petitions`` or both with title, created_date, gone_since and excluded
    period, until, now
        as for `compare`, of the acts; without `until`, rows with a doubtful date are not listed
    include
        reasons of the column `excluded` whose events to list nevertheless

    Returns
    -------
    DataFrame
        indexed by title, the newest first

        - kind: ``event`` or ``petition``
        - news: ``new`` or ``gone``
        - date: created_date of what is new, gone_since of what is gone, in the zone of the acts
    """
    zone = zone_for(tables["actions"], None, "date")
    latest = latest_time(tables.values(), now, zone, report="news")
    dates = Clock.of(tables["actions"], "date", report="news").times
    end = None if until is None else end_of(until, now, zone, report="news")
    periods = Periods.of(Known.of(dates, latest, exclusion.ACT), period, end, report="news")
    start = periods.bounds[1]
    parts: list[pd.DataFrame] = []
    doubtful_notes: list[str] = []
    for name in (name for name in ("events", "petitions") if name in tables):
        frame, kind = tables[name], name[:-1]
        gone = frame.assign(news="gone", date=frame["gone_since"])
        new = exclusion.split(frame, exclusion.included(include))[0]
        clock = wall_clock(new["created_date"], zone)
        known = Known.of(clock, latest, kind)
        if not periods.is_chosen:
            new, doubtful_notes = new[~known.later], [*doubtful_notes, known.note]
        both = pd.concat([new.assign(news="new", date=new["created_date"]), gone])
        is_news = wall_clock(both["date"], zone) >= start
        parts.append(both.loc[is_news, ["title", "news", "date"]].assign(kind=kind))
    if pd.isna(periods.known.newest) and not periods.is_chosen:
        parts = [part[:0] for part in parts]
    listed = pd.concat(parts).sort_values(["date", "title"], ascending=[False, True], kind="stable")
    listed = in_zone(listed.set_index("title")[["kind", "news", "date"]], zone)
    listed = noted(listed, [], [*filter(None, doubtful_notes)])
    listed.attrs["period"] = f"since {show_key(start)}"
    return listed


def _with_change(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the counts of two periods with their change."""
    result = counts.fillna(0).astype("int64").set_axis(["before", "now"], axis="columns")
    result["change"] = result["now"] - result["before"]
    result["change_share"] = result["change"] / result["before"].where(result["before"] > 0)
    spread = Z * np.sqrt(result["before"] + result["now"])
    result["by_chance"] = (result["change"].abs() <= spread).astype("boolean")
    return result
