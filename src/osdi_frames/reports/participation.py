"""How people take part: who is new, who comes back, how often, and whom hosts bring."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.messages import counted
from osdi_frames.problems import FAR
from osdi_frames.reports.acts import Acts, noted
from osdi_frames.reports.groups import group_periods, period_of
from osdi_frames.reports.known import TimeLike, moment
from osdi_frames.tables.schema import NONE

_YEARS: Final = pd.DatetimeIndex(["2000-01-01", f"{2000 + FAR}-01-01"])


def engagement(actions: pd.DataFrame, freq: str = "M", *, include: Iterable[str] = ()) -> pd.DataFrame:
    """Count the people of each period, new and returning.

    A person is new in the period of their first act, if the archive has none before it, and returning in every
    other period with an act. Acts that are not counted make nobody returning. Periods without any act are
    included, but no gap of more than ten years. Acts without a date are the row ``NaT``, last, and only there if
    there are any.

    Parameters
    ----------
    actions
        one row per act, with person_id, date and number, as ``osdi_frames.open(source).actions()`` returns it
    freq
        a period of pandas: ``h``, ``D``, ``W`` (Monday to Sunday), ``M``, ``Q``, ``Y``
    include
        which acts to count though they are `excluded`; the attribute `note` says how many were not

    Returns
    -------
    DataFrame
        indexed by date, the start of the period (UTC)

        - people: how many distinct people acted; ``new + returning``. It has no total, as a person can act in
          two periods
        - new: of them, those who had no act before in the archive
        - returning: of them, those who had
        - actions: how many acts, also of people who are not known

    Raises
    ------
    MissingColumn
        the frame lacks a column that is needed
    InvalidArgument
        `freq` is no period

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", None],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-09", "2026-07-02", "2026-07-03"], utc=True),
    ...     "number": [1, 1, 2, None],
    ... })
    >>> engagement(actions).set_axis(["May", "June", "July"])
          people  new  returning  actions
    May        2    2          0        2
    June       0    0          0        0
    July       1    0          1        2
    """
    period = period_of(freq, report="engagement")
    acts = Acts.of(actions, "number", report="engagement", include=include)
    periods = group_periods(acts.rows, "date", period, report="engagement")
    first = acts.first_of_each()
    counts = {
        "people": acts.rows["person_id"].groupby(periods.number).nunique(),
        "new": periods.number[first.index[first["person_id"].isin(acts.started)]].value_counts(),
        "actions": periods.number.value_counts(),
    }
    made = pd.DataFrame(counts, pd.RangeIndex(len(periods.labels))).fillna(0).astype("int64")
    made.insert(2, "returning", made["people"] - made["new"])
    return noted(made.set_axis(periods.labels), acts.notes)


def retention(
    actions: pd.DataFrame,
    freq: str = "M",
    *,
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
) -> pd.DataFrame:
    """Show which share of each cohort is active later.

    A cohort is the people whose first act is in one period. A share is of the cohort: those with an act in the
    period that comes 0, 1, 2, … periods after it, over all of them. A period that has not ended has no shares, as
    they would be too low.

    Parameters
    ----------
    actions
        one row per act, with person_id, date and number, as ``osdi_frames.open(source).actions()`` returns it
    freq
        a period of pandas: ``h``, ``D``, ``W`` (Monday to Sunday), ``M``, ``Q``, ``Y``
    until
        up to when all acts are known; a time without a zone is UTC. The newest act of the frame if not given, of those
        whose date is not doubtful, as `compare` says: the others are set aside, and `note` names them
    now
        as for `compare`
    include
        which acts to count though they are `excluded`; the attribute `note` says how many were not

    Returns
    -------
    DataFrame
        indexed by date, the start of the cohort's period (UTC), with every period between the first and the last
        cohort; people whose acts have no date are the row ``NaT``. Gaps of more than ten years are left out, of rows
        and of columns. People whose first act in the archive is not in the frame are in no cohort, as `note` says

        - people: how many people the cohort has
        - 0, 1, 2, …: the share of them who acted so many periods later, 0 to 1; missing where the period has not
          ended at `until`, and where the cohort has nobody

    Raises
    ------
    MissingColumn
        the frame lacks a column that is needed
    InvalidArgument
        `freq` is no period, or `until` no time

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "cat"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-09", "2026-06-02", "2026-07-03"], utc=True),
    ...     "number": [1, 1, 2, 1],
    ... })
    >>> retention(actions, until="2026-08-01").set_axis(["May", "June", "July"])
          people    0    1    2
    May        2  1.0  0.5  0.0
    June       0  NaN  NaN  NaN
    July       1  1.0  NaN  NaN
    """
    period = period_of(freq, report="retention")
    acts = Acts.of(actions, "number", report="retention", include=include, now=now)
    acts, aside = acts.known_ones() if until is None else (acts, [])
    end = acts.known.newest if until is None else moment(until, report="retention")
    first = acts.first_of_each()
    ours = first[first["person_id"].isin(acts.started)].reset_index(drop=True)
    cohorts = group_periods(ours, "date", period, report="retention")
    starts = _ordinals(pd.DatetimeIndex(cohorts.labels), period)
    people = np.bincount(cohorts.number, minlength=len(cohorts.labels))
    made = pd.DataFrame({"people": people.astype("int64")}, cohorts.labels)
    if ours["date"].notna().any():
        cohort_of = pd.Series(cohorts.number.array, ours["person_id"])
        active = acts.rows[acts.rows["date"].notna()]
        active = active.assign(cohort=cohort_of.reindex(active["person_id"]).array).dropna(subset="cohort")
        row = active["cohort"].to_numpy("int64")
        later = _ordinals(pd.DatetimeIndex(active["date"]), period) - starts[row]
        ended = _ordinals(pd.DatetimeIndex([end]), period)[0] - 1
        columns = _columns(later, ended - starts[cohorts.labels.notna()].min(), *_ordinals(_YEARS, period))
        made = made.join(
            _shares(active.assign(row=row, later=later), columns, people, starts, ended, made.index)
        )
    others = len(first) - len(ours)
    began = (
        f"in no cohort: {counted(others, 'person', 'people')} whose first act is not in the frame"
        if others
        else ""
    )
    return noted(made, [*acts.notes, began], aside)


def _ordinals(times: pd.DatetimeIndex, period: str) -> NDArray[np.int64]:
    """Return the number of each time's period."""
    return np.asarray(times.tz_localize(None).to_period(period).asi8)


def _columns(later: NDArray[np.int64], last: int, start: int, ten_years_on: int) -> NDArray[np.int64]:
    """Return how many periods later to show, without gaps of more than ten years in which nobody acts."""
    acted = np.unique(np.append(later, 0))
    pairs = itertools.pairwise([*acted.tolist(), last + 1])
    near = [np.arange(one, other) for one, other in pairs if other - one <= ten_years_on - start]
    columns = np.unique(np.concatenate([acted, *near]))
    return columns[columns <= max(last, 0)]


def _shares(
    active: pd.DataFrame,
    columns: NDArray[np.int64],
    people: NDArray[np.int64],
    starts: NDArray[np.int64],
    ended: int,
    index: pd.Index,
) -> pd.DataFrame:
    """Return each cohort's shares, where they are known."""
    acted = (
        active.drop_duplicates(["person_id", "later"]).groupby(["row", "later"]).size().unstack(fill_value=0)
    )
    acted = acted.reindex(index=range(len(index)), columns=columns, fill_value=0)
    is_known = (
        (people[:, None] > 0) & (starts[:, None] + columns <= ended) & np.asarray(index.notna())[:, None]
    )
    shares = acted.to_numpy() / np.maximum(people, 1)[:, None]
    return pd.DataFrame(np.where(is_known, shares, np.nan), index, [*map(int, columns)])


def repeats(actions: pd.DataFrame, *, include: Iterable[str] = ()) -> pd.DataFrame:
    """Count the people who acted once, twice, and so on.

    Acts whose person is not known are in no row; `note` says how many there are.

    Parameters
    ----------
    actions
        one row per act, with person_id and date, as ``osdi_frames.open(source).actions()`` returns it
    include
        which acts to count though they are `excluded`; the attribute `note` says how many were not

    Returns
    -------
    DataFrame
        indexed by acts, how many acts a person has, in order; numbers that nobody has are left out

        - people: how many people have so many
        - share: of all people of the frame, 0 to 1

    Raises
    ------
    MissingColumn
        the frame lacks a column that is needed

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "cat", None],
    ...     "date": pd.Timestamp("2026-05-01", tz="UTC"),
    ... })
    >>> repeats(actions)["people"].to_dict()
    {1: 2, 2: 1}
    """
    acts = Acts.of(actions, report="repeats", include=include)
    people = acts.rows["person_id"].value_counts().value_counts().sort_index().astype("int64")
    made = pd.DataFrame({"people": people, "share": people / max(people.sum(), 1)})
    made.index = pd.Index(made.index.astype("int64"), name="acts")
    return noted(made, acts.notes)


def hosts(actions: pd.DataFrame, *, include: Iterable[str] = ()) -> pd.DataFrame:
    """Count the RSVPs to each host's events.

    Most RSVPs are first. An event with two hosts counts for both, so the columns have no total. The RSVPs to events
    whose host is not known are the row ``(none)``. A row is a person: not for publication.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action and subject_id: `hosted` and `rsvped` have the id of the event
    include
        which acts to count though they are `excluded`; the attribute `note` says how many were not

    Returns
    -------
    DataFrame
        indexed by person_id, most RSVPs first, then in its order

        - events: how many events they hosted; of ``(none)`` those with an RSVP
        - rsvps: how many RSVPs these have, also those of the hosts themselves
        - rsvps_per_event: rsvps over events

    Raises
    ------
    MissingColumn
        the frame lacks a column that is needed

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "cat", "cat"],
    ...     "date": pd.Timestamp("2026-05-01", tz="UTC"),
    ...     "action": ["hosted", "rsvped", "rsvped", "rsvped"],
    ...     "subject_id": ["march", "march", "march", "picnic"],
    ... })
    >>> hosts(actions)["rsvps"].to_dict()
    {'ann': 2, '(none)': 1}
    """
    acts = Acts.of(actions, "action", "subject_id", report="hosts", include=include, by="person_id")
    rows = acts.rows.assign(host=acts.frame["person_id"].astype("str").where(acts.rows["person_id"].notna()))
    hosted = rows[rows["action"] == "hosted"].dropna(subset=["host", "subject_id"])
    hosted = hosted[["host", "subject_id"]].drop_duplicates()
    rsvps = rows.loc[rows["action"] == "rsvped", ["subject_id"]].assign(rsvps=1)
    by_event = rsvps.groupby("subject_id", dropna=False, as_index=False).sum()
    pairs = hosted.merge(by_event, on="subject_id", how="outer").fillna({"host": NONE, "rsvps": 0})
    by_host = pairs.groupby("host")
    made = pd.DataFrame({"events": by_host["subject_id"].count(), "rsvps": by_host["rsvps"].sum()}).astype(
        "int64"
    )
    made["rsvps_per_event"] = made["rsvps"] / made["events"].where(made["events"] > 0)
    made = made.sort_values("rsvps", ascending=False, kind="stable").rename_axis("person_id")
    return noted(made, [acts.note])
