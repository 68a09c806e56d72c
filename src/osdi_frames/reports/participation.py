"""How people take part: who is retained, comes back or lapses, cohorts, participations, hosts, and what is given."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.clock import TimeLike
from osdi_frames.frames import as_frame
from osdi_frames.messages import counted
from osdi_frames.problems import FAR
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import Acts, noted
from osdi_frames.reports.columns import amount, are_first, convert_columns, text
from osdi_frames.reports.groups import By, group, group_periods, named_keys, period_of
from osdi_frames.reports.known import end_of
from osdi_frames.reports.making import with_titles
from osdi_frames.reports.spelling import NO_SOURCE, Spelling, checked_spelling, contexts

_OF_AMOUNTS: Final = {"amount": amount, "currency": text}
_NO_CURRENCY: Final = "(no currency)"
_YEARS: Final = pd.DatetimeIndex(["2000-01-01", f"{2000 + FAR}-01-01"])


def engagement(
    actions: pd.DataFrame, freq: str = "M", *, include: Iterable[str] = (), timezone: str | None = None
) -> pd.DataFrame:
    """Count the people of each period: those who acted first, were retained, or came back, and those who lapsed.

    Who acted in a period is one of three: it has their first act in the archive, or they acted in the period before,
    too, or they had acted before that and come back after at least one period without an act. Any act counts, also one
    that is no other participation. Periods without any act are included; gaps of more than ten years are left out.
    Acts without a date are counted in the last row ``NaT``, if there are any.

    Parameters
    ----------
    actions
        one row per act, with person_id, date and number, as ``osdi_frames.open(source).actions()`` returns it; without
        its column is_new it is known of nobody whether they are new
    freq
        a period of pandas: ``h``, ``D``, ``W`` (Monday to Sunday), ``M``, ``Q``, ``Y``
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others
    timezone
        the zone whose wall clock the periods are of, as ``America/New_York``; by default that of the column, if it has
        one that is not UTC, else that of the frame's handle (`open`), else UTC. What was done at an event, in
        frames with `action`, keeps the wall clock of the event

    Returns
    -------
    DataFrame
        indexed by date, the start of the period, in this zone

        - people: the number of distinct people who acted, ``first + retained + back``; it has no total, since a person
          can act in two periods
        - first: the number of these people whose first act in the archive is in the period
        - new: the number of people of `first` who are new to the list: created at most a day before or after this act
        - known: the share of `first` of whom it is known whether they are new, 0 to 1; missing if `first` is 0
        - retained: the number of people who acted in the period before, too
        - back: the number of people who acted earlier, and not in the period before
        - lapsed: the number of people who acted in the period before, and not in this; missing if this has not ended
          at the newest act, and without a date. It is a part of the people of the period before, not of this one
        - actions: the number of acts, with those of unknown people

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        `freq` is not a period

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "bob", None],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-09", "2026-06-02", "2026-07-02", "2026-07-03"], utc=True),
    ...     "number": [1, 1, 2, 2, None],
    ...     "is_new": [True, None, False, False, None],
    ... })
    >>> engagement(actions).set_axis(["May", "June", "July"])
          people  first  new  known  retained  back  lapsed  actions
    May        2      2    1    0.5         0     0       0        2
    June       1      0    0    NaN         1     0       1        1
    July       1      0    0    NaN         0     1    <NA>        2

    The share of the people of the period before who lapsed:

    >>> table = engagement(actions)
    >>> (table["lapsed"] / table["people"].shift()).tolist()
    [<NA>, 0.5, <NA>]
    """
    period = period_of(freq, report="engagement")
    acts = Acts.of(actions, "number", "is_new", report="engagement", include=include, timezone=timezone)
    periods = group_periods(acts.clock_of(acts.rows), period, report="engagement")
    ordinals = _ordinals(pd.DatetimeIndex(periods.labels), period)
    of_act, person = periods.number.to_numpy(), acts.rows["person"].to_numpy()
    # A person who is active in a period is one number, and one more in the period that follows it.
    active = pd.unique((person * len(ordinals) + of_act)[person >= 0])
    is_followed = np.append(np.diff(ordinals) == 1, False)
    expected = active[is_followed[active % len(ordinals)]] + 1
    first = acts.first_in_archive()
    of_first = of_act[first.index]
    numbers = {
        "people": active % len(ordinals),
        "first": of_first,
        "new": of_first[first["is_new"].fillna(False).to_numpy("bool")],
        "known": of_first[first["is_new"].notna()],
        "retained": expected[pd.Index(expected).isin(active)] % len(ordinals),
        "lapsed": expected % len(ordinals),
        "actions": of_act,
    }
    counts = {name: np.bincount(of, minlength=len(ordinals)) for name, of in numbers.items()}
    table = pd.DataFrame(counts, periods.labels).astype("int64")
    table["known"] = table["known"] / table["first"].where(table["first"] > 0)
    table.insert(5, "back", table["people"] - table["first"] - table["retained"])
    has_ended = ordinals < _ordinals(pd.DatetimeIndex([acts.known.newest]), period)[0]
    table["lapsed"] = (
        (table["lapsed"] - table["retained"]).astype("Int64").where(has_ended & periods.labels.notna())
    )
    return noted(table, acts.notes)


def retention(
    actions: pd.DataFrame,
    freq: str = "M",
    *,
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    timezone: str | None = None,
) -> pd.DataFrame:
    """Show the share of each cohort that takes part again in later periods.

    A cohort is the people whose first act is in one period. A share is the number of them with another participation
    0, 1, 2, … periods later, over the size of the cohort: signing the same petition again is none, nor is coming to an
    event after an RSVP. A period that has not ended has no shares, since they would be too low.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action, subject_id and number, as
        ``osdi_frames.open(source).actions()`` returns it
    freq
        a period of pandas: ``h``, ``D``, ``W`` (Monday to Sunday), ``M``, ``Q``, ``Y``
    until
        the day, month or year, itself included, or the time up to which all acts are known; see `compare`. By default
        that of the newest act without a doubtful date; acts with one are not counted, and `note` names them
    now
        as for `compare`
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others
    timezone
        as for `engagement`

    Returns
    -------
    DataFrame
        indexed by date, the start of the cohort's period in the zone, with every period between the first and the last
        cohort; people whose acts have no date are the row ``NaT``. Gaps of more than ten years are left out, of rows
        and of columns. People whose first act in the archive is not in the frame are in no cohort; `note` has their
        number

        - people: the number of people in the cohort
        - 0, 1, 2, …: the share of them who took part anew so many periods later, 0 to 1; missing if the period has not
          ended at `until`, or if the cohort has nobody

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        `freq` is not a period, or `until` not a time

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "cat"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-09", "2026-06-02", "2026-07-03"], utc=True),
    ...     "number": [1, 1, 2, 1],
    ...     "action": "signed",
    ...     "subject_id": ["park", "park", "river", "park"],
    ... })
    >>> retention(actions, until="2026-07-31").set_axis(["May", "June", "July"])
          people    0    1    2
    May        2  1.0  0.5  0.0
    June       0  NaN  NaN  NaN
    July       1  1.0  NaN  NaN
    """
    period = period_of(freq, report="retention")
    needs = ("action", "subject_id", "number")
    acts = Acts.of(actions, *needs, report="retention", include=include, now=now, timezone=timezone)
    acts, doubtful_notes = acts.without_doubtful() if until is None else (acts, [])
    end = acts.known.newest if until is None else end_of(until, now, acts.zone, report="retention")
    first = acts.first_of_each()
    in_cohorts = first[acts.started[first["person"]]].reset_index(drop=True)
    cohorts = group_periods(acts.clock_of(in_cohorts), period, report="retention")
    starts = _ordinals(pd.DatetimeIndex(cohorts.labels), period)
    people = np.bincount(cohorts.number, minlength=len(cohorts.labels))
    table = pd.DataFrame({"people": people.astype("int64")}, cohorts.labels)
    if in_cohorts["date"].notna().any():
        cohort_of = np.full(len(acts.started), -1)
        cohort_of[in_cohorts["person"]] = cohorts.number
        row = np.append(cohort_of, -1)[acts.rows["person"]]
        is_active = (row >= 0) & acts.rows["date"].notna() & acts.are_participations()
        active = acts.rows.loc[is_active, ["person", "clock"]].assign(row=row[is_active])
        later = _ordinals(pd.DatetimeIndex(active["clock"]), period) - starts[active["row"]]
        last_ended = _ordinals(pd.DatetimeIndex([end]), period)[0] - 1
        last_column = last_ended - starts[cohorts.labels.notna()].min()
        columns = _columns(later, last_column, *_ordinals(_YEARS, period))
        table = table.join(
            _shares(active.assign(later=later), columns, people, starts, last_ended, table.index)
        )
    notes = acts.notes
    if others := len(first) - len(in_cohorts):
        notes.append(
            f"in no cohort: {counted(others, 'person', 'people')} whose first act is not in the frame"
        )
    return noted(table, notes, doubtful_notes)


def _ordinals(times: pd.DatetimeIndex, period: str) -> NDArray[np.int64]:
    """Return the ordinal of each time's period, as pandas counts periods."""
    return np.asarray(times.tz_localize(None).to_period(period).asi8)


def _columns(later: NDArray[np.int64], last: int, start: int, ten_years_on: int) -> NDArray[np.int64]:
    """Return the columns to show, as numbers of periods, without gaps of more than ten years in which nobody acts."""
    acted = np.unique(np.append(later, 0))
    pairs = itertools.pairwise([*acted.tolist(), last + 1])
    without_gaps = [np.arange(one, other) for one, other in pairs if other - one <= ten_years_on - start]
    columns = np.unique(np.concatenate([acted, *without_gaps]))
    return columns[columns <= max(last, 0)]


def _shares(
    active: pd.DataFrame,
    columns: NDArray[np.int64],
    people: NDArray[np.int64],
    starts: NDArray[np.int64],
    last_ended: int,
    index: pd.Index,
) -> pd.DataFrame:
    """Return the share of each cohort in each column, missing for periods after the last that ended."""
    later = active["later"].to_numpy()
    shown = active[np.isin(later, columns) & are_first(active["person"].to_numpy(), later - later.min())]
    places = shown["row"].to_numpy() * len(columns) + np.searchsorted(columns, shown["later"])
    acted = np.bincount(places, minlength=len(index) * len(columns)).reshape(len(index), -1)
    is_known = (
        (people[:, None] > 0) & (starts[:, None] + columns <= last_ended) & np.asarray(index.notna())[:, None]
    )
    shares = acted / np.maximum(people, 1)[:, None]
    return pd.DataFrame(np.where(is_known, shares, np.nan), index, [*map(int, columns)])


def repeats(actions: pd.DataFrame, *, include: Iterable[str] = ()) -> pd.DataFrame:
    """Count the people who took part once, twice, and so on.

    A person takes part in a subject once: signing a petition again is no other participation, nor is coming to an event
    after an RSVP. Letters and forms are one a day and subject, each donation is one, as is an act without a subject.
    Acts without a person are not counted; `note` has their number.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action and subject_id, as
        ``osdi_frames.open(source).actions()`` returns it
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others

    Returns
    -------
    DataFrame
        indexed by participations, the number of a person's, in order; numbers that no person has are left out

        - people: the number of people with so many participations
        - share: their share of all people of the frame, 0 to 1

    Raises
    ------
    MissingColumn
        the frame lacks a needed column

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "bob"],
    ...     "date": pd.Timestamp("2026-05-01", tz="UTC"),
    ...     "action": ["signed", "rsvped", "rsvped", "attended"],
    ...     "subject_id": ["park", "march", "march", "march"],
    ... })
    >>> repeats(actions)["people"].to_dict()
    {1: 1, 2: 1}
    """
    acts = Acts.of(actions, "action", "subject_id", report="repeats", include=include)
    people = np.bincount(np.bincount(acts.rows.loc[acts.are_participations(), "person"]))
    numbers = np.flatnonzero(people[1:]) + 1
    index = pd.Index(numbers, dtype="int64", name="participations")
    table = pd.DataFrame({"people": people[numbers].astype("int64")}, index)
    table["share"] = table["people"] / max(table["people"].sum(), 1)
    return noted(table, acts.notes)


def acts_by(
    actions: pd.DataFrame,
    by: By = ("action", "title"),
    *,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count acts of any kind, most first: letters, forms and surveys by their title as signatures by petition.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action, subject_id and the columns of `by`, as
        ``osdi_frames.open(source).actions()`` returns it
    by
        a column, or several
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others
    spelling
        ``merged`` counts different spellings of one source, referrer, website, region or country in one row;
        ``exact`` keeps them apart
    timezone
        the zone of periods among `by`, as for `engagement`

    Returns
    -------
    DataFrame
        indexed by the columns of `by`, most acts first

        - acts: the number of acts
        - participations: the number of these that are another participation of their person (see `repeats`)
        - people: the number of distinct people; it has no total, since a person can be in two rows
        - first, last: the times of the first and the last act (UTC)

    Raises
    ------
    MissingColumn
        the frame lacks a needed column

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-05-03"], utc=True),
    ...     "action": "wrote",
    ...     "subject_id": ["mayor", "mayor", "bank"],
    ...     "title": ["Dear mayor", "Dear mayor", "Dear bank"],
    ... })
    >>> acts_by(actions)[["acts", "people"]].to_dict("index")[("wrote", "Dear mayor")]
    {'acts': 2, 'people': 2}
    """
    acts = Acts.of(
        actions, "action", "subject_id", report="acts_by", include=include, by=by, timezone=timezone
    )
    groups = acts.groups(acts.rows.index, by, spelling)
    number, person = groups.number.to_numpy(), acts.rows["person"].to_numpy()
    counted_acts = {
        "acts": number,
        "participations": number[acts.are_participations()],
        "people": number[are_first(number, person) & (person >= 0)],
    }
    table = pd.DataFrame(
        {name: np.bincount(some, minlength=len(groups.labels)) for name, some in counted_acts.items()}
    )
    table = table.join(acts.rows["date"].groupby(number).agg(first="min", last="max"))
    table = table.set_axis(groups.labels)
    return noted(table.iloc[groups.ranked(table["acts"])], [acts.note], groups.notes)


def amounts_by(
    frame: pd.DataFrame,
    by: By,
    titles: pd.DataFrame | None = None,
    *,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Sum up what was given by the columns of `by`, each currency in a column of its own.

    Amounts of different currencies are never added. Of `actions`, donations and tickets count; of `donations`,
    ``by=["fundraising_page_id", "recurring"]`` sets those apart that recur.

    Parameters
    ----------
    frame
        one row per act, donation or attendance, with amount, currency and the columns of `by`
    by
        a column, or several; ``osdi_frames.reports.Period("created_date")`` is the month
    titles
        one row per thing, with an id that is among `by`, and title, as ``osdi_frames.open(source).fundraising_pages()``
        or events: adds the column `title`
    include
        reasons of the column `excluded` whose rows to count nevertheless; the attribute `note` has the number of the
        others
    spelling
        ``merged`` counts different spellings of one source, referrer, website, region or country in one row;
        ``exact`` keeps them apart
    timezone
        the zone of the periods, as for `engagement`

    Returns
    -------
    DataFrame
        indexed by the columns of `by`, the most gifts first, periods in order; rows without an amount are in none

        - title: the title, with `titles` only; missing if it has none
        - gifts: the number of rows with an amount
        - USD, EUR, …: the sum of each currency, an exact decimal in its units; ``(no currency)`` of rows without one

    Raises
    ------
    MissingColumn, InvalidColumn
        the frame lacks a needed column, or a column is of another type

    Examples
    --------
    >>> from decimal import Decimal
    >>> donations = pd.DataFrame({
    ...     "fundraising_page_id": ["park", "park", "river"],
    ...     "amount": [Decimal("5.00"), Decimal("2.50"), Decimal("9.00")],
    ...     "currency": ["USD", "USD", "EUR"],
    ... })
    >>> pages = pd.DataFrame({"fundraising_page_id": ["park"], "title": ["Save the park"]})
    >>> amounts_by(donations, "fundraising_page_id", pages).to_dict("index")["park"]
    {'title': 'Save the park', 'gifts': 2, 'EUR': Decimal('0.00'), 'USD': Decimal('7.50')}
    """
    checked_spelling(spelling)
    include = exclusion.included(include)
    keys = [name for name, _ in named_keys(by, report="amounts_by")]
    columns = {*_OF_AMOUNTS, *keys, *contexts(keys), exclusion.COLUMN}
    frame = as_frame(frame, caller="amounts_by", columns=columns)
    frame, note = exclusion.counted_rows(frame.reset_index(drop=True), include, "gift")
    frame = frame.reset_index(drop=True)
    rows = convert_columns(frame, _OF_AMOUNTS, keys=keys, report="amounts_by")
    is_given = rows["amount"].notna()
    frame, rows = (some[is_given.to_numpy("bool")].reset_index(drop=True) for some in (frame, rows))
    groups = group(frame, by, nothing=NO_SOURCE, spelling=spelling, report="amounts_by", timezone=timezone)
    currency = rows["currency"].fillna(_NO_CURRENCY)
    sums = rows["amount"].groupby([groups.number, currency.rename("currency")]).sum().unstack()
    gifts = groups.number.value_counts().reindex(range(len(groups.labels)), fill_value=0)
    table = pd.DataFrame({"gifts": gifts}).join(sums)
    table = table.fillna(dict.fromkeys(sums.columns, 0)).set_axis(groups.labels).iloc[groups.ranked(gifts)]
    if titles is not None and (ids := [key for key in keys if key.endswith("_id")]):
        titles = as_frame(titles, caller="amounts_by", columns=[*ids, "title"])
        key = next((key for key in ids if key in titles), ids[0])
        table = with_titles(table, titles, key, argument="titles", report="amounts_by")
    return noted(table, [note], groups.notes)
