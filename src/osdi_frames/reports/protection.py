"""Which groups to hide of reports that are published together, so that every hidden count stays open.

A hidden count is open if another archive has the same publication: one in which a person's act lies in another
hidden group. To get there, acts may be exchanged between groups that are shown. Groups that can be reached in this
way have a sum that anybody can compute: at least two of them are hidden, their sum is not small, and it leaves each
of them several values.
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
    """A report as groups of rows.

    `group` is the number of the group of each kind of row, where rows of one kind are in the same group of every
    report. Of reports with a key in common it is taken as known which groups have rows in common.
    """

    group: Numbers
    counts: Counts
    keys: frozenset[str] = frozenset()
    hidden: RowMask = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.hidden = np.zeros(len(self.counts), dtype=bool)


def protect(breakdowns: Sequence[Breakdown], *, below: int) -> list[RowMask | None]:
    """Return which groups of each report to hide, None for a report that cannot be published with the others."""
    kept = list(breakdowns)
    while True:
        for breakdown in kept:
            breakdown.hidden = (breakdown.counts > 0) & (breakdown.counts < below)
        closed = _hide_more(kept, below)
        if closed is None:
            return [breakdown.hidden if breakdown in kept else None for breakdown in breakdowns]
        kept.remove(closed)


def hide_in_line(counts: Counts, hidden: RowMask, *, below: int, others: int = 0) -> RowMask:
    """Return which counts with a known sum to hide: the `hidden` ones, and the smallest of the others as needed."""
    hidden = hidden.copy()
    for number in np.argsort(counts, kind="stable"):
        if not hidden.any() or leaves_open(counts[hidden], below=below, others=others):
            break
        hidden[number] |= counts[number] > 0
    return hidden


def leaves_open(counts: Counts, *, below: int, others: int = 0) -> bool:
    """Return whether hidden counts, whose sum is known, could have other values.

    Each is at least 1, as 0 is shown, and at most what is shown. The `others` are hidden counts of other reports that
    have rows in common with these: there has to be an act that is needed for none of them.
    """
    return len(counts) > 1 and bool(counts.sum() >= max(below, len(counts) + others + 1))


@dataclass(frozen=True, slots=True)
class _View:
    """What somebody knows of a report who sees others, too.

    `kinds` are the kinds of rows: of each the group in the report, and then those in the others. They are public
    where the reports have a key in common.
    """

    breakdown: Breakdown
    others: Sequence[Breakdown]
    kinds: Numbers
    is_public: bool

    @classmethod
    def of(cls, breakdown: Breakdown, others: Sequence[Breakdown], *, is_public: bool) -> _View:
        groups = pd.DataFrame({number: seen.group for number, seen in enumerate([breakdown, *others])})
        return cls(breakdown, others, groups.drop_duplicates().to_numpy(), is_public)

    def hidden_with(self, rows: RowMask) -> int:
        """Count the hidden groups of the other reports that kinds of rows are in, if that is public."""
        groups = zip(self.others, self.kinds[rows, 1:].T, strict=True) if self.is_public else ()
        return sum(int(other.hidden[np.unique(numbers)].sum()) for other, numbers in groups)

    def seen(self) -> Numbers:
        """Return each kind's groups in the other reports; a hidden group is -1."""
        seen = self.kinds[:, 1:].copy()
        for number, other in enumerate(self.others):
            seen[other.hidden[seen[:, number]], number] = -1
        return seen


def _hide_more(breakdowns: Sequence[Breakdown], below: int) -> Breakdown | None:
    """Hide groups until those that are hidden are open, or return a report of which all would have to be hidden."""
    views = [view for breakdown in breakdowns for view in _views(breakdown, breakdowns)]
    before = -1
    while before < sum(breakdown.hidden.sum() for breakdown in breakdowns):
        before = sum(breakdown.hidden.sum() for breakdown in breakdowns)
        for view in views:
            if view.breakdown.hidden.any() and not _open(view, below):
                return view.breakdown
    return None


def _views(breakdown: Breakdown, breakdowns: Sequence[Breakdown]) -> Iterator[_View]:
    """Yield the views on a report: with all that have a key in common, and with each of the others alone."""
    keys = breakdown.keys
    for _ in breakdowns:  # also by way of others
        keys = keys.union(*(other.keys for other in breakdowns if keys & other.keys))
    others = [other for other in breakdowns if other is not breakdown]
    related = [other for other in others if keys & other.keys]
    if related or not others:
        yield _View.of(breakdown, related, is_public=True)
    for other in others:
        if other not in related:
            yield _View.of(breakdown, [other], is_public=False)


def _open(view: _View, below: int) -> bool:
    """Hide groups of one view until the hidden ones are open; return whether they can be."""
    breakdown, group, seen = view.breakdown, view.kinds[:, 0], view.seen()
    parts = _connected(len(breakdown.counts), group, _numbered(seen))
    for part in np.unique(parts[breakdown.hidden]):
        inside = np.flatnonzero(parts == part)
        others = view.hidden_with((parts[group] == part) & breakdown.hidden[group])
        hidden = hide_in_line(breakdown.counts[inside], breakdown.hidden[inside], below=below, others=others)
        breakdown.hidden[inside] = hidden
        if not leaves_open(breakdown.counts[inside][hidden], below=below, others=others):
            return _connect(view, seen, parts[group] == part)
    return True


def _numbered(rows: Numbers) -> Numbers:
    """Return a number for each row, equal ones alike."""
    if not rows.shape[1]:
        return np.zeros(len(rows), dtype="int64")
    numbers = pd.DataFrame(rows).groupby([*range(rows.shape[1])], sort=False).ngroup()
    return np.asarray(numbers, dtype="int64")


def _connected(size: int, group: Numbers, context: Numbers) -> Numbers:
    """Return the part that each group is in; groups with a row in the same context are in the same part."""
    parts = np.arange(size)
    while True:
        nearest = np.full(context.max(initial=-1) + 1, size)
        np.minimum.at(nearest, context, parts[group])
        joined = parts.copy()
        np.minimum.at(joined, group, nearest[context])
        joined = joined[joined]
        if np.array_equal(joined, parts):
            return parts
        parts = joined


def _connect(view: _View, seen: Numbers, inside: RowMask) -> bool:
    """Connect some rows with the rest by hiding what keeps them apart in other reports; return whether it can be.

    As little as possible is hidden, also in the report itself, which then has to hide a group of the rest.
    """
    if inside.all():
        return False
    here, there = np.unique(seen[inside], axis=0), seen[~inside]
    cost = _costs(view.breakdown)[view.kinds[~inside, 0]][None, :]
    for number, other in enumerate(view.others):
        costs, ours, theirs = _costs(other), here[:, [number]], there[None, :, number]
        cost = cost + np.where(ours == theirs, 0, costs[ours] + costs[theirs])
    one, another = np.unravel_index(cost.argmin(), cost.shape)
    for other, ours, theirs in zip(view.others, here[one], there[another], strict=True):
        if ours != theirs:
            other.hidden[[group for group in (ours, theirs) if group >= 0]] = True
    return True


def _costs(breakdown: Breakdown) -> Counts:
    """Return what is lost by hiding each group; the last number, that of -1, stands for groups already hidden."""
    return np.append(np.where(breakdown.hidden, 0, breakdown.counts), 0)
