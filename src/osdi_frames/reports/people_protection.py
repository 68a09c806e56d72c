"""Hide small counts in a report on people or change that is published alone.

Rows, or single cells, with a count of people from 1 to ``below - 1`` become missing, and so do others from which they
could be computed with sums that readers may know: those of each column of counts, and in a funnel those of each step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype

from osdi_frames.errors import InvalidArgument
from osdi_frames.reports.protection import Counts, RowMask, hide_in_line, hide_in_table, leaves_open
from osdi_frames.reports.titles import REFERRER

Protect: TypeAlias = Callable[[pd.DataFrame, int], pd.DataFrame]
"""A function that hides the counts of a report below a number."""


def protector_of(report: pd.DataFrame) -> Protect | None:
    """Return the function that hides small counts of a report on people or change, recognised by its columns.

    None is returned for every other report, and InvalidArgument raised for a report whose rows are people.
    """
    is_spread = list(report.columns.names) != [None]  # the columns are values, which can have any name
    columns = set() if is_spread else {*map(str, report.columns)}
    if "gifts" in columns:
        raise InvalidArgument(
            "amounts_by has sums of money, which can be what one person gave; it cannot be suppressed. acts_by counts "
            "the same acts"
        )
    if own := next((name for name, column in _OF_SINGLE_PEOPLE.items() if column in columns), None):
        raise InvalidArgument(
            f"{own} has a row for each person, whatever the counts are; it cannot be suppressed"
        )
    if report.index.name == "figure":
        return _changes
    if report.index.name == "participations" and {"people", "share"} <= columns:
        return _repeats
    if "people" in columns and len(columns) > 1 and all(name.isdecimal() for name in columns - {"people"}):
        return _retention
    if columns == {"people", "share"}:
        return _columns("people")
    if columns == {"new"}:
        return _columns("new")
    return next((protect for needed, protect in _BY_COLUMNS if needed <= columns), None)


#: The counts of `people_by_level`.
_OF_LEVELS: Final = ("before", "now", "first", "up", "down", "lapsing")
#: The reports whose rows are people, and a column of each.
_OF_SINGLE_PEOPLE: Final = {
    "hosts": "rsvps_per_event",
    "supporters": "days_since",
    "supporter_amounts": "amount",
}


def _levels(report: pd.DataFrame, below: int) -> pd.DataFrame:
    """Hide levels of few people, and single counts of those who came, moved or lapse.

    If a level is hidden, or no other moves would lead to the same counts, the columns of moves are left out.
    """
    before, now, first, up, down, lapsing = (counts_of(report[name]) for name in _OF_LEVELS)
    levels = _rows([before, now], below)
    if levels is None or 0 < first.sum() < below:  # how many came, the sums of `before` and `now` reveal
        return without(report, None)
    stayed = now - first - up - down
    moves = None if levels.any() else _moves(first, up, down, stayed, before - stayed, below)
    shown = without(report, levels, in_time=True)
    few_lapse = hide_in_line(lapsing, levels | _few(lapsing, below) | _few(now - lapsing, below), below=below)
    shown["lapsing"] = shown["lapsing"].mask(few_lapse)
    if lapsing[few_lapse].any() and not leaves_open(lapsing[few_lapse], below=below):
        shown = shown.drop(columns="lapsing")
    if moves is None:
        return shown.drop(columns=["first", "up", "down"])
    return shown.assign(**{name: shown[name].mask(hidden) for name, hidden in moves.items()})


def _few(counts: Counts, below: int) -> RowMask:
    return (counts > 0) & (counts < below)


def _moves(
    first: Counts, up: Counts, down: Counts, stayed: Counts, left: Counts, below: int
) -> dict[str, RowMask] | None:
    """Return which counts to hide of who came, moved up and moved down between levels whose people are shown.

    For each small one there are other moves with the same people at each level: one more person moves from a lower
    level to a higher one and another one back, or one more came to a level, from which another one moved to where one
    less came. None is returned where too few stayed at their level for such moves.
    """
    hide_first = hide_in_line(first, _few(first, below), below=below)
    if hide_first.any() and not leaves_open(first[hide_first], below=below):
        return None
    hide_up, hide_down = np.zeros((2, len(first)), dtype=bool)
    for level in np.flatnonzero(_few(first, below)):
        others = np.where(hide_first & (np.arange(len(first)) != level), first, 0)
        other = others.argmax()
        if others[other] < 2 or not stayed[level]:
            return None
        (hide_up if other > level else hide_down)[other] = True
    pairs = [pair for pair in itertools.combinations(range(len(first)), 2) if stayed[[*pair]].all()]
    few_stayed = np.flatnonzero(_few(stayed, below) | _few(left, below))
    choices = [[pair for pair in pairs if pair[1] == level] for level in np.flatnonzero(_few(up, below))]
    choices += [[pair for pair in pairs if pair[0] == level] for level in np.flatnonzero(_few(down, below))]
    choices += [[pair for pair in pairs if level in pair] for level in few_stayed]
    if not all(choices):
        return None
    for choice in choices:
        costs = [(up[high] + 1) * ~hide_up[high] + (down[low] + 1) * ~hide_down[low] for low, high in choice]
        low, high = choice[int(np.argmin(costs))]
        hide_up[high] = hide_down[low] = True
    return {"first": hide_first, "up": hide_up, "down": hide_down}


def _upcoming(report: pd.DataFrame, below: int) -> pd.DataFrame:
    """Hide the RSVPs of events, and all else but what is public of the event."""
    rows = _rows([counts_of(report["rsvps"])], below)
    if rows is None:
        return without(report, None)
    public = report.columns.intersection(["start_date", "place", "capacity", "status", "host"])
    return without(report, rows, in_time=True).assign(**{name: report[name] for name in public})


def _engagement(report: pd.DataFrame, below: int) -> pd.DataFrame:
    """Hide periods of few people, single counts of others, and the columns of acts and of who lapsed.

    The former would reveal how many people acted several times; the latter makes with `retained` the people of the
    period before. The people of a period are those who are first, retained or back, so these are a table with sums.
    """
    people, first, new = (counts_of(report[name]) for name in ("people", "first", "new"))
    parts = ["first", "retained", "back"]
    counts, periods = counts_of(report[parts]), _rows([people], below)
    if periods is None or _few(counts.sum(axis=0), below).any():
        return without(report, None)
    # Without counts in other rows and columns than its own, a count can be computed from their sums.
    others = counts.sum() - counts.sum(axis=1, keepdims=True) - counts.sum(axis=0) + counts
    if (_few(counts, below) & (others == 0))[~periods].any():
        return without(report, None)
    hidden = hide_in_table(counts, _few(counts, below) | periods[:, None])
    known = np.round(report["known"].to_numpy("float64", na_value=0) * first).astype("int64")
    of_new = hidden[:, 0] | _few(new, below) | _few(known - new, below) | _few(first - known, below)
    of_new = hide_in_line(new, of_new, below=below)
    shown = without(report.drop(columns=["actions", "lapsed"], errors="ignore"), periods, in_time=True)
    shown[parts] = shown[parts].mask(hidden)
    if new[of_new].any() and not leaves_open(new[of_new], below=below):
        return shown.drop(columns=["new", "known"])
    return shown.assign(new=shown["new"].mask(of_new), known=shown["known"].mask(of_new))


def _changes(report: pd.DataFrame, below: int) -> pd.DataFrame:
    """Hide rows of acts, whose sum may be known, and rows of people if few acted, few did so first, or few others."""
    counts = [counts_of(report[name]) for name in ("before", "now")]
    is_people = np.isin(report.index, ["people", "first time", "new people"])
    acts = _rows([np.where(is_people, 0, numbers) for numbers in counts], below)
    if acts is None:
        return without(report, None)
    small = np.zeros(len(report), dtype=bool)
    for numbers in counts:
        people = numbers[is_people]
        others = people[None, :] - people[:, None]  # those whom one figure counts and another does not
        few = ((others > 0) & (others < below)).any(axis=1)
        small[is_people] |= few | (people > 0) & (people < below)
    return without(report, acts | small, in_time=True)


def _columns(*names: str) -> Protect:
    """Return the function that hides rows with a small count in any of some columns."""
    return lambda report, below: without(report, _rows([counts_of(report[name]) for name in names], below))


def _repeats(report: pd.DataFrame, below: int) -> pd.DataFrame:
    """Hide rows of `repeats`, whose sums of people and participations may be known: two hidden rows are too few.

    Rows are hidden one by one until the hidden counts are open. A report of n participations has at most √(2n) rows.
    """
    counts, times = counts_of(report["people"]), np.asarray(report.index, dtype="int64")
    small = (counts > 0) & (counts < below)
    hidden = small.copy()
    for row in [*np.argsort(counts, kind="stable"), None]:
        if not hidden.any() or _are_open(counts, times, hidden, small, below):
            return without(report, hidden, in_time=True)
        if row is not None:
            hidden[row] |= counts[row] > 0
    return without(report, None)


def _are_open(counts: Counts, times: Counts, hidden: RowMask, small: RowMask, below: int) -> bool:
    """Return whether each small count could also be another number, with the same sums of people and participations.

    The function only tries to move people between the two largest hidden rows and each third one, which takes one step
    for each row. No hidden count may become 0, since a 0 would be shown.
    """
    if hidden.sum() < 3 or not leaves_open(counts[hidden], below=below):
        return False
    *thirds, second, first = np.flatnonzero(hidden)[np.argsort(counts[hidden], kind="stable")]
    # The smallest changes of the first, second and each third count that keep the sums of people and of acts.
    changes = np.stack(
        np.broadcast_arrays(
            times[thirds] - times[second], times[first] - times[thirds], times[second] - times[first]
        )
    )
    changes //= np.gcd.reduce(changes)
    current = np.stack(np.broadcast_arrays(counts[first], counts[second], counts[thirds]))
    is_open: RowMask = (current + changes >= 1).all(axis=0) | (current - changes >= 1).all(axis=0)
    return bool(is_open.any() and is_open[small[thirds]].all())


def _funnel(report: pd.DataFrame, below: int) -> pd.DataFrame:
    """Hide single steps of one funnel, or all steps of some of several funnels.

    A step is hidden if few people reach it, or few people do not. The share `of_previous` of the step after a hidden
    one is hidden, too, since the hidden count can be computed from it.
    """
    if not isinstance(report.index, pd.MultiIndex):
        hidden = _steps(counts_of(report["people"]), below)
        shown = without(report, hidden, in_time=True)
        is_after_hidden = np.append(False, hidden[:-1])
        return shown.assign(of_previous=shown["of_previous"].mask(is_after_hidden))
    values = report.index.droplevel(-1)
    number, names = pd.factorize(values)
    steps = counts_of(report["people"]).reshape(len(names), -1) if len(report) else np.zeros((0, 1), "int64")
    lost = -np.diff(steps, axis=1)
    rows = _rows([*steps.T, *lost.T], below)
    return without(report, None if rows is None else rows[number])


def _steps(counts: Counts, below: int) -> RowMask:
    """Return which steps of one funnel to hide."""
    hidden = (counts > 0) & (counts < below)
    if len(counts) and hidden[0]:
        return np.ones(len(counts), dtype=bool)
    last_shown = counts[0] if len(counts) else 0
    for step in range(1, len(counts)):
        hidden[step] |= 0 < last_shown - counts[step] < below
        last_shown = last_shown if hidden[step] else counts[step]
    return hidden


def _retention(report: pd.DataFrame, below: int) -> pd.DataFrame:
    """Hide small cohorts, and shares of few people or of all but few."""
    people = counts_of(report["people"])
    shares = report.drop(columns="people").astype("Float64").to_numpy("float64", na_value=np.nan)
    active = np.nan_to_num(np.round(shares * people[:, None])).astype("int64")
    few = (active > 0) & (active < below)
    passive = people[:, None] - active
    few |= (passive > 0) & (passive < below) & (active > 0)
    rows = _rows([people], below)
    if rows is None:
        return without(report, None)
    shown = without(report, rows, in_time=True)
    for number, name in enumerate(column for column in report.columns if column != "people"):
        shown[name] = shown[name].mask(few[:, number])
    return shown


#: The functions for reports with some columns; the first whose columns a report has is used.
_BY_COLUMNS: Final[Sequence[tuple[set[str], Protect]]] = (
    ({"people", "first", "new", "known", "retained", "back"}, _engagement),
    ({*_OF_LEVELS}, _levels),
    ({"start_date", "place", "rsvps", "seats_left"}, _upcoming),
    ({"people", "of_first", "of_previous", "low", "high"}, _funnel),
    ({"first_people", "first_share", "last_people", "last_share"}, _columns("first_people", "last_people")),
    ({"before", "now", "change", "change_share"}, _columns("before", "now")),
)


def _rows(columns: Sequence[Counts], below: int) -> RowMask | None:
    """Return which rows to hide if the sum of each column may be known; None if no choice of rows is enough."""
    hidden: RowMask = np.any([(counts > 0) & (counts < below) for counts in columns], axis=0)
    before = -1
    while before < hidden.sum():
        before = int(hidden.sum())
        for counts in columns:
            if counts[hidden].any():
                hidden = hide_in_line(counts, hidden, below=below)
    closed = [
        counts for counts in columns if counts[hidden].any() and not leaves_open(counts[hidden], below=below)
    ]
    return None if closed else hidden


def without(report: pd.DataFrame, hidden: RowMask | None, *, in_time: bool = False) -> pd.DataFrame:
    """Make all values of hidden rows missing, except for titles; None as `hidden` removes all rows.

    Referrers have a title only if they have some acts, so that of a hidden one is missing, too. Hidden rows come last,
    in the order of the index, unless the report is in the order of time or steps.
    """
    if hidden is None:
        return report.iloc[:0]
    shown = report.astype({name: "Int64" for name in report if is_integer_dtype(report[name].dtype)})
    for name in shown.columns.drop([] if REFERRER in shown.index.names else "title", errors="ignore"):
        shown[name] = shown[name].mask(hidden)
    last = shown[hidden] if "of_first" in report else shown[hidden].sort_index()
    return shown if in_time else pd.concat([shown[~hidden], last])


def counts_of(column: pd.Series | pd.DataFrame) -> Counts:
    """Return counts as an integer array, in which missing counts are 0."""
    return np.asarray(column.astype("Int64").fillna(0), dtype="int64")
