"""Find the groups to hide in reports that are published together, so that no hidden count can be computed.

A hidden count is open, so it cannot be computed, if another archive with other values of it would lead to the same
publication: one in which one act is in another hidden group, while acts may also be exchanged between shown groups.
Groups between which acts can move in this way form a part, whose sum readers can compute. In each part with hidden
groups at least two are hidden, their sum is not small, and it allows several values for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Counts: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int64]
RowMask: TypeAlias = NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Breakdown:
    """A report as groups of rows; rows of one kind are in the same groups of all reports."""

    group: Numbers
    """For each kind of rows the number of its group."""
    counts: Counts
    """For each group its count."""
    keys: frozenset[str] = frozenset()
    """The columns that it groups by: which groups of reports with a common key share rows counts as public."""
    hidden: RowMask = field(init=False, repr=False)
    """For each group whether it is hidden."""

    def __post_init__(self) -> None:
        self.hidden = np.zeros(len(self.counts), dtype=bool)


def protect(breakdowns: Sequence[Breakdown], *, below: int) -> list[RowMask | None]:
    """Return which groups of each report to hide, or None for a report that cannot be published with the others."""
    publishable = list(breakdowns)
    while True:
        for breakdown in publishable:
            breakdown.hidden = (breakdown.counts > 0) & (breakdown.counts < below)
        unpublishable = _hide_more(publishable, below)
        if unpublishable is None:
            return [breakdown.hidden if breakdown in publishable else None for breakdown in breakdowns]
        publishable.remove(unpublishable)


def hide_in_line(counts: Counts, hidden: RowMask, *, below: int, others: int = 0) -> RowMask:
    """Return which counts with a known sum to hide: the `hidden` ones, and as many of the smallest as needed.

    A count of 0 is never hidden.

    >>> hide_in_line(np.array([0, 1, 9, 30]), np.array([False, True, False, False]), below=5).tolist()
    [False, True, True, False]
    """
    hidden = hidden.copy()
    for number in np.argsort(counts, kind="stable"):
        if not hidden.any() or leaves_open(counts[hidden], below=below, others=others):
            break
        hidden[number] |= counts[number] > 0
    return hidden


def leaves_open(counts: Counts, *, below: int, others: int = 0) -> bool:
    """Return whether hidden counts with a known sum could have other values; each is at least 1, since 0 is shown.

    `others` is the number of hidden counts of other reports that share rows with these: one act more is needed for
    each, so that an act can move without making one of them 0.
    """
    return len(counts) > 1 and bool(counts.sum() >= max(below, len(counts) + others + 1))


def hide_in_table(counts: Counts, hidden: RowMask) -> RowMask:
    """Return which counts of a table to hide if the sums of its rows and columns may be known.

    These are the `hidden` ones and as many others as needed: each becomes a corner of a rectangle of hidden counts in
    which two opposite corners are not 0. One more at these corners and one less at the other two, or the reverse, gives
    the same sums.
    """
    hidden = hidden.copy()
    for row in np.flatnonzero(hidden.any(axis=1)):
        columns = np.flatnonzero(hidden[row] & (counts[row] > 0))
        costs = np.where(hidden, 0, np.maximum(counts, 1)).astype("float64")
        cost_of_row = costs[:, columns].sum(axis=1)
        cost_of_row[(counts[:, columns] == 0).all(axis=1)] = np.inf
        cost_of_row[row] = np.inf
        if len(columns) > 1 and np.isfinite(cost_of_row.min()):
            hidden[cost_of_row.argmin(), columns] = True
            continue
        for column in columns:
            _hide_rectangle(hidden, counts, int(row), int(column))
    return hidden


def _hide_rectangle(hidden: RowMask, counts: Counts, row: int, column: int) -> None:
    """Hide the other corners of the rectangle around a count that hides least; without one, its row and column."""
    costs = np.where(hidden, 0, np.maximum(counts, 1)).astype("float64")
    cost = costs + costs[[row], :] + costs[:, [column]]
    cost[counts == 0] = np.inf
    cost[row], cost[:, column] = np.inf, np.inf
    opposite, other = np.unravel_index(cost.argmin(), cost.shape)
    if np.isfinite(cost[opposite, other]):
        hidden[[row, opposite, opposite], [other, column, other]] = True
    else:
        hidden[row], hidden[:, column] = True, True


@dataclass(frozen=True, slots=True)
class _View:
    """What a reader of several reports knows of one of them."""

    breakdown: Breakdown
    others: Sequence[Breakdown]
    kinds: Numbers
    """A row for each kind of rows: its group in the report, then its groups in the others."""
    is_public: bool
    """Whether the kinds are public, since the reports have a key in common."""

    @classmethod
    def of(cls, breakdown: Breakdown, others: Sequence[Breakdown], *, is_public: bool) -> _View:
        groups = pd.DataFrame({number: one.group for number, one in enumerate([breakdown, *others])})
        return cls(breakdown, others, groups.drop_duplicates().to_numpy(), is_public)

    def hidden_with(self, kinds: RowMask) -> int:
        """Count the hidden groups of the other reports that share some kinds of rows, if the kinds are public."""
        groups = zip(self.others, self.kinds[kinds, 1:].T, strict=True) if self.is_public else ()
        return sum(int(other.hidden[np.unique(numbers)].sum()) for other, numbers in groups)

    def shown_groups(self) -> Numbers:
        """Return for each kind its groups in the other reports, or -1 for hidden ones."""
        groups = self.kinds[:, 1:].copy()
        for number, other in enumerate(self.others):
            groups[other.hidden[groups[:, number]], number] = -1
        return groups


def _hide_more(breakdowns: Sequence[Breakdown], below: int) -> Breakdown | None:
    """Hide groups until all hidden ones are open, or return a report that would have to be hidden as a whole."""
    views = [view for breakdown in breakdowns for view in _views(breakdown, breakdowns)]
    hidden_before = -1
    while hidden_before < (hidden := sum(breakdown.hidden.sum() for breakdown in breakdowns)):
        hidden_before = hidden
        for view in views:
            if view.breakdown.hidden.any() and not _hide_until_open(view, below):
                return view.breakdown
    return None


def _views(breakdown: Breakdown, breakdowns: Sequence[Breakdown]) -> Iterator[_View]:
    """Yield the views on a report: one with all reports of a common key, and one with each other report alone."""
    keys = breakdown.keys
    for _ in breakdowns:  # reports can also have a key in common through a third one
        keys = keys.union(*(other.keys for other in breakdowns if keys & other.keys))
    others = [other for other in breakdowns if other is not breakdown]
    related = [other for other in others if keys & other.keys]
    if related or not others:
        yield _View.of(breakdown, related, is_public=True)
    for other in others:
        if other not in related:
            yield _View.of(breakdown, [other], is_public=False)


def _hide_until_open(view: _View, below: int) -> bool:
    """Hide groups of one view until the hidden ones are open; return False if that is impossible."""
    breakdown, group, shown = view.breakdown, view.kinds[:, 0], view.shown_groups()
    parts = _connected(len(breakdown.counts), group, _numbered(shown))
    for part in np.unique(parts[breakdown.hidden]):
        inside = np.flatnonzero(parts == part)
        others = view.hidden_with((parts[group] == part) & breakdown.hidden[group])
        hidden = hide_in_line(breakdown.counts[inside], breakdown.hidden[inside], below=below, others=others)
        breakdown.hidden[inside] = hidden
        if not leaves_open(breakdown.counts[inside][hidden], below=below, others=others):
            return _connect(view, shown, parts[group] == part)
    return True


def _numbered(rows: Numbers) -> Numbers:
    """Return a number for each row of a table, the same for equal rows."""
    if not rows.shape[1]:
        return np.zeros(len(rows), dtype="int64")
    numbers = pd.DataFrame(rows).groupby([*range(rows.shape[1])], sort=False).ngroup()
    return np.asarray(numbers, dtype="int64")


def _connected(size: int, group: Numbers, context: Numbers) -> Numbers:
    """Return the part of each group, where groups of kinds with the same context are in the same part.

    A part is the smallest number among its groups; numbers spread over contexts until none changes.
    """
    parts = np.arange(size)
    while True:
        smallest = np.full(context.max(initial=-1) + 1, size)
        np.minimum.at(smallest, context, parts[group])
        joined = parts.copy()
        np.minimum.at(joined, group, smallest[context])
        joined = joined[joined]
        if np.array_equal(joined, parts):
            return parts
        parts = joined


def _connect(view: _View, shown: Numbers, inside: RowMask) -> bool:
    """Connect the kinds of one part with another part, by hiding groups of other reports in which they differ.

    Of all pairs of kinds the one is chosen for which the least counts are hidden, with the group of the other part that
    the report itself then hides. False is returned if there is no other part.
    """
    if inside.all():
        return False
    inner, outer = np.unique(shown[inside], axis=0), shown[~inside]
    cost = _costs(view.breakdown)[view.kinds[~inside, 0]][None, :]
    for number, other in enumerate(view.others):
        costs, inner_groups, outer_groups = _costs(other), inner[:, [number]], outer[None, :, number]
        cost = cost + np.where(inner_groups == outer_groups, 0, costs[inner_groups] + costs[outer_groups])
    cheapest_inner, cheapest_outer = np.unravel_index(cost.argmin(), cost.shape)
    for other, *groups in zip(view.others, inner[cheapest_inner], outer[cheapest_outer], strict=True):
        if groups[0] != groups[1]:
            other.hidden[[group for group in groups if group >= 0]] = True
    return True


def _costs(breakdown: Breakdown) -> Counts:
    """Return the count that hiding each group loses: 0 for hidden ones, and for the index -1 that stands for them."""
    return np.append(np.where(breakdown.hidden, 0, breakdown.counts), 0)
