"""How many people go from one act to another, and what brought them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.clock import DEFAULT, TimeLike
from osdi_frames.errors import InvalidArgument
from osdi_frames.messages import counted, quoted
from osdi_frames.reports.acts import Acts, known_action, not_known_to_be_new, noted
from osdi_frames.reports.groups import By, Groups, group_periods
from osdi_frames.reports.known import Duration, duration
from osdi_frames.reports.measures import IS_NEW, Z
from osdi_frames.reports.spelling import Spelling, checked_spelling
from osdi_frames.tables.schema import NONE

_STEPS: Final = ("signed", "rsvped", "attended")


def funnel(
    actions: pd.DataFrame,
    steps: Sequence[str] = _STEPS,
    *,
    within: Duration = "30D",
    by: By | None = None,
    touch: Literal["start", "first"] = "start",
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the people who reach each of several steps.

    Any act of the first step can be a person's start. From a start, each later step is reached by the first act of it
    at or after that of the step before, and no later than `within` after the start; other acts may lie between. Of a
    person's starts that counts from which they reach most steps, and of equal ones the earliest. A start counts only if
    `within` has passed since it; people who have none that counts are set aside, and `note` has their number. Acts
    without a date or a person reach no step, nor do acts with a doubtful date (see `compare`), which `note` names.

    The interval is Wilson's, with z = 1.96, of the share p of the n people of the first step:
    ``(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)``.

    Parameters
    ----------
    actions
        one row per act, with person_id, date and action, as ``osdi_frames.open(source).actions()`` returns it
    steps
        two or more different values of `action`, in order
    within
        the longest time from the first step to any other
    by
        a column, or several, as source, referrer or title: a funnel for each value of it
    touch
        ``start`` takes the values of `by` from the act with which a person starts, ``first`` from the person's first
        act of any kind
    now
        as for `compare`
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others
    spelling
        ``merged`` counts different spellings of one source, referrer, website, region or country as one value of
        `by`; ``exact`` keeps them apart

    Returns
    -------
    DataFrame
        indexed by step, in order; with `by` by its values and step, most people at the first step first. The attribute
        `within` is the longest time in words

        - people: the number of people who reached the step
        - of_first: their share of the people of the first step, 0 to 1; missing if these are none
        - of_previous: their share of the people of the step before; missing for the first step, and if these are none
        - low, high: the 95% interval of of_first; missing for the first step, whose share is 1
        - median_days: the median of the time since their starts, in days; missing for the first step, and if nobody
          reached it

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        a step is mistyped or repeated, there are fewer than two, `within` is not a length of time, or `touch` mistyped

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "bob", "cat"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-05-09", "2026-07-01", "2026-07-02"], utc=True),
    ...     "action": ["signed", "signed", "rsvped", "rsvped", "signed"],
    ... })
    >>> table = funnel(actions, ["signed", "rsvped"], within="30D").round(2)
    >>> table["people"].to_dict(), table["of_first"].to_dict(), table.loc["rsvped", ["low", "high"]].tolist()
    ({'signed': 2, 'rsvped': 1}, {'signed': 1.0, 'rsvped': 0.5}, [0.09, 0.91])
    >>> table["median_days"].tolist(), table.attrs["note"].splitlines()[-1]
    ([nan, 8.0], 'not counted: 1 person who began less than 30 days before the newest act')
    """
    checked_spelling(spelling)
    if touch not in ("start", "first"):
        raise InvalidArgument(f"funnel: touch is 'start' or 'first', not {quoted(touch)}")
    limit = _duration(within, "funnel", "within")
    acts, doubtful_notes = Acts.of(
        actions, "action", report="funnel", include=include, by=by, now=now, timezone=DEFAULT
    ).without_doubtful()
    steps = _checked_steps(steps, acts.rows)
    chains = _chains(acts, steps, limit)
    has_passed = chains[steps[0]].dt.tz_localize(None) <= acts.known.newest - limit
    chains, begun = _best(chains[has_passed], steps), chains["person"].nunique()
    if by is None:
        table = _shares(chains[steps], np.zeros(len(chains), np.int64), np.zeros(1, np.int64))
        table.index, notes = pd.Index(steps, name="step"), doubtful_notes
    else:
        groups = acts.groups(pd.Index(_touched(acts, chains, touch)), by, spelling)
        number = groups.number.to_numpy()
        order = groups.ranked(pd.Series(np.bincount(number, minlength=len(groups.labels))))
        table = _shares(chains[steps], number, order)
        table.index, notes = _with_steps(groups.labels.take(order), steps), [*doubtful_notes, *groups.notes]
    length = _in_words(within, limit)
    if aside := begun - len(chains):
        people = counted(aside, "person", "people")
        notes = [*notes, f"not counted: {people} who began less than {length} before the newest act"]
    table = noted(table, acts.notes, notes)
    table.attrs["within"] = length
    return table


def _touched(acts: Acts, chains: pd.DataFrame, touch: str) -> NDArray[np.int64]:
    """Return the rows of the acts from which the people of chains have the values to group by."""
    if touch == "start":
        return chains.index.to_numpy("int64")
    first = acts.first_of_each()
    of_person = np.zeros(len(acts.started), np.int64)
    of_person[first["person"]] = first.index
    return of_person[chains["person"]]


def _with_steps(labels: pd.Index, steps: Sequence[str]) -> pd.MultiIndex:
    """Return the index of several funnels: each label with each step."""
    levels = [labels.get_level_values(level).repeat(len(steps)) for level in range(labels.nlevels)]
    of_rows = pd.Index([*steps] * len(labels), dtype="str")
    return pd.MultiIndex.from_arrays([*levels, of_rows], names=[*labels.names, "step"])


def _duration(length: Duration, report: str, argument: str) -> pd.Timedelta:
    limit = duration(length)
    if limit is None or limit < pd.Timedelta(0):
        raise InvalidArgument(f"{report}: {argument} is a time, as '30D', not {quoted(length)}")
    return limit


def _in_words(within: Duration, limit: pd.Timedelta) -> str:
    """Return a length of time as a number of days if it has no fraction of a day, else as the caller wrote it.

    >>> _in_words("30D", pd.Timedelta("30D")), _in_words("6h", pd.Timedelta("6h"))
    ('30 days', '6h')
    """
    return counted(limit.days, "day") if limit == pd.Timedelta(days=limit.days) else str(within)


def _checked_steps(steps: Any, rows: pd.DataFrame) -> list[str]:
    if isinstance(steps, str) or not isinstance(steps, Iterable):
        raise InvalidArgument(
            f"funnel: steps is a list of actions, as {quoted(list(_STEPS))}, not {quoted(steps)}"
        )
    known = [known_action(step, rows, report="funnel", argument="steps") for step in steps]
    if len(known) < 2 or len(set(known)) < len(known):
        raise InvalidArgument(f"funnel: steps are two or more different actions, not {quoted(known)}")
    return known


def _chains(acts: Acts, steps: Sequence[str], limit: pd.Timedelta) -> pd.DataFrame:
    """Return for each start, by the row of its act, its person and the times at which the steps are reached from it."""
    rows = acts.rows[(acts.rows["person"] >= 0) & acts.rows["date"].notna()]
    rows = rows.assign(reached=rows["date"])
    starts = rows[rows["action"] == steps[0]]
    chains = starts[["person", "date"]].rename(columns={"date": steps[0]})
    before = starts[["person", "date"]]
    for step in steps[1:]:
        before = before.sort_values("date", kind="stable")
        later = rows.loc[rows["action"] == step, ["person", "date", "reached"]]
        found = pd.merge_asof(before, later, on="date", by="person", direction="forward")
        reached = pd.Series(found["reached"].array, before.index)
        reached = reached[reached - starts["date"].loc[before.index] <= limit]
        chains[step] = reached.reindex(chains.index)
        before = before.loc[reached.index].assign(date=reached)
    return chains


def _best(chains: pd.DataFrame, steps: Sequence[str]) -> pd.DataFrame:
    """Return the chain of each person that reaches most steps, of equal ones the earliest."""
    missing = np.sum([chains[step].isna() for step in steps], axis=0, dtype=np.int64)
    order = np.argsort(missing, kind="stable")
    is_best = ~chains["person"].iloc[order].duplicated().to_numpy()
    return chains.iloc[np.sort(order[is_best])]


def _shares(chains: pd.DataFrame, number: NDArray[np.int64], order: NDArray[np.int64]) -> pd.DataFrame:
    """Return the report's columns, a row per group and step, of people who are in the group of a number each."""
    start, day = chains.iloc[:, 0], np.timedelta64(1, "D")
    times = {step: (chains[step] - start).to_numpy("timedelta64[us]") / day for step in chains}
    grouped = pd.DataFrame(times, chains.index).groupby(number)
    counts = grouped.count().reindex(order, fill_value=0).to_numpy("float64")
    median = grouped.median().reindex(order).to_numpy("float64", copy=True)
    first, previous = counts[:, :1], counts[:, :-1]
    share = np.divide(counts, first, out=np.full_like(counts, np.nan), where=first > 0)
    of_previous = np.full_like(counts, np.nan)
    np.divide(counts[:, 1:], previous, out=of_previous[:, 1:], where=previous > 0)
    n, p = np.where(first > 0, first, np.nan), share.copy()
    p[:, :1] = np.nan
    median[:, 0] = np.nan
    middle, spread = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    columns = {
        "of_first": share,
        "of_previous": of_previous,
        "low": np.maximum((middle - spread) / (1 + Z**2 / n), 0),
        "high": np.minimum((middle + spread) / (1 + Z**2 / n), 1),
        "median_days": median,
    }
    shares = {name: values.ravel() for name, values in columns.items()}
    return pd.DataFrame({"people": counts.astype("int64").ravel(), **shares})


def attribution(
    actions: pd.DataFrame,
    to: str = "rsvped",
    *,
    by: By = "source",
    touch: Literal["first", "last", "both"] = "first",
    lookback: Duration = "90D",
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the people who acted by the source that brought them.

    ``touch="first"`` takes the source of their first act of any kind, which brought them into the archive.
    ``touch="last"`` takes that of their first act of the kind `to`, or, if this has none, that of their latest act with
    a source in the time of `lookback` before it; `note` has the number of these people. Each person is in one row, so
    the sum is the number of people. Acts without a date come after those with one.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action and the columns of `by`, as
        ``osdi_frames.open(source).actions()`` returns it
    to
        a value of `action`: the people who did this are counted
    by
        a column, or several: source, referrer, website, title, …
    touch
        ``first``, ``last``, or ``both``
    lookback
        the longest time from an act with a source to a later act `to` without one
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others
    spelling
        ``merged`` counts different spellings of one source, referrer, website, region or country in one row;
        ``exact`` keeps them apart

    Returns
    -------
    DataFrame
        indexed by the columns of `by`, most people first, then in the order of the index

        - people: the number of people
        - share: their share of all people who did it, 0 to 1

        With ``both`` its columns are first_people, first_share, last_people and last_share, most first_people first

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        `to` or `touch` is mistyped

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "cat"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-05-09", "2026-05-10"], utc=True),
    ...     "action": ["signed", "rsvped", "rsvped", "signed"],
    ...     "source": ["email", "web", "web", "web"],
    ...     "number": [1, 1, 2, 1],
    ... })
    >>> attribution(actions)["people"].to_dict(), attribution(actions, touch="last")["people"].to_dict()
    ({'email': 1, 'web': 1}, {'web': 2})
    """
    if touch not in ("first", "last", "both"):
        raise InvalidArgument(f"attribution: touch is 'first', 'last' or 'both', not {quoted(touch)}")
    checked_spelling(spelling)
    acts = Acts.of(actions, "action", "number", report="attribution", include=include, by=by)
    known_action(to, acts.rows, report="attribution", argument="to")
    limit = _duration(lookback, "attribution", "lookback")
    last = acts.first_of_each(to)
    first = acts.first_of_each()
    first = first[first["person"].isin(last["person"])]
    last_touched = _with_value(acts, last, limit, acts.groups(acts.rows.index, by, spelling))
    touched = {
        name: index
        for name, index in (("first", first.index.to_numpy()), ("last", last_touched))
        if touch in (name, "both")
    }
    groups = acts.groups(pd.Index(np.concatenate([*touched.values()]), dtype="int64"), by, spelling)
    numbers = np.split(groups.number.to_numpy(), len(touched))
    table = pd.DataFrame(index=groups.labels)
    for name, number in zip(touched, numbers, strict=True):
        people = np.bincount(number, minlength=len(groups.labels)).astype("int64")
        prefix = f"{name}_" if touch == "both" else ""
        table[f"{prefix}people"], table[f"{prefix}share"] = people, people / max(len(last), 1)
    table = table.iloc[groups.ranked(table.iloc[:, 0])]
    notes = acts.notes
    if touch != "last" and (earlier := int((~acts.started[first["person"]]).sum())):
        notes.append(f"{counted(earlier, 'person', 'people')} acted before the first act in the frame")
    if touch != "first" and (passed := int((last_touched != last.index).sum())):
        length = _in_words(lookback, limit)
        notes.append(f"last touch: of {counted(passed, 'person', 'people')} an act up to {length} before")
    return noted(table, notes, groups.notes)


def _with_value(acts: Acts, rows: pd.DataFrame, limit: pd.Timedelta, groups: Groups) -> NDArray[np.int64]:
    """Return for each of some acts the row of the latest act of its person, up to it, that has a value to group by.

    It is the act itself where the other is earlier than `limit` before, or where none has a value.
    """
    has_value = np.asarray((groups.labels.to_frame().astype("str") != NONE).any(axis=1))[groups.number]
    own, with_value = rows.index.to_series(), acts.rows.index.to_series().where(has_value)
    latest = with_value.groupby(acts.rows["person"]).ffill().loc[rows.index].fillna(own).astype("int64")
    is_recent = rows["date"] - acts.rows["date"].loc[latest].set_axis(rows.index) <= limit
    return np.asarray(latest.where(is_recent, own), dtype="int64")


def growth(
    actions: pd.DataFrame,
    by: By = "source",
    freq: str = "M",
    *,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count the people who are new to the list in each period, by what brought them.

    People are new to the list whose first act in the archive is at most a day from their created date (see
    `engagement`). They are counted in the period of this act, by its source, its title or another column. The sum of a
    column is the number of people whom one value brought.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, number, is_new and the columns of `by`, as
        ``osdi_frames.open(source).actions()`` returns it
    by
        a column, or several: source, referrer, title, action, …
    freq
        a period of pandas: ``D``, ``W`` (Monday to Sunday), ``M``, ``Q``, ``Y``, …
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others
    spelling
        ``merged`` counts different spellings of one source, referrer, website, region or country in one column;
        ``exact`` keeps them apart
    timezone
        the zone of the periods, as for `engagement`

    Returns
    -------
    DataFrame
        indexed by date, the start of the period in this zone, with a column per value, most people first: the number of
        new people. The attribute `caveat` says of how many people it is not known whether they are new, who are not
        counted

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        `freq` is not a period

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "cat"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-09", "2026-06-02", "2026-06-03"], utc=True),
    ...     "number": [1, 1, 2, 1],
    ...     "is_new": [True, False, False, True],
    ...     "source": ["email", "email", "web", "web"],
    ... })
    >>> growth(actions).to_dict("list")
    {'email': [1, 0], 'web': [0, 1]}
    """
    checked_spelling(spelling)
    acts = Acts.of(actions, "number", IS_NEW, report="growth", include=include, by=by, timezone=timezone)
    first = acts.first_in_archive()
    new = first[first[IS_NEW].fillna(False)]
    groups = acts.groups(new.index, by, spelling)
    periods = group_periods(acts.clock_of(new), freq, report="growth")
    counts = groups.spread(pd.Series(1, range(len(new))), periods.number, groups.number)
    counts = counts.reindex(range(len(periods.labels)), fill_value=0).set_axis(periods.labels)
    table = groups.label_columns(counts, counts.sum())
    return noted(table, acts.notes, [*not_known_to_be_new(first), *groups.notes])
