"""Small counts hidden in a report, with others from which they could be computed."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_integer_dtype

from osdi_frames.errors import InvalidArgument
from osdi_frames.reports.columns import time_levels
from osdi_frames.reports.declared import REPORTS

Counts: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

_MEASURES: Final = {measure.name: measure for report in REPORTS for measure in report.measures}
_PULL: Final = "fetched_at"


def suppress(report: pd.DataFrame, below: int = 5) -> pd.DataFrame:
    """Hide small counts of people, and others from which they could be computed.

    A row with a count of RSVPs, signatures or people from 1 to ``below - 1`` is missing as a whole, but for its
    title. So are the next larger rows, until the total leaves open what their counts are: at least two are
    missing, and their sum is not small. 0 is shown. Missing rows come last, in the order of the index, unless
    rows are in the order of time; cumulative counts are missing if any row is.

    Of a report with a column per value single counts are missing, so that the totals of its rows and columns
    leave them open; of repeated pulls those are missing from which a count grew by little to the next.

    Other totals are not known here: those of one key of a report by several, and reports of nearly the same
    rows, as of the day before, can still be compared with it.

    Parameters
    ----------
    report
        A report, as its function returns it.
    below
        The smallest count that is shown, besides 0.

    Returns
    -------
    DataFrame
        The same columns and rows; counts are ``Int64``.

    Raises
    ------
    InvalidArgument
        `below` is not a count.

    Examples
    --------
    >>> signatures = pd.DataFrame({"source": ["email"] * 20 + ["web"] * 9 + ["flyer"] * 7 + ["ann"]})
    >>> signatures["person_id"], signatures["created_date"] = range(37), pd.Timestamp("2026-05-01")
    >>> from osdi_frames.reports import signatures_by_source
    >>> suppress(signatures_by_source(signatures))["signatures"].to_dict()
    {'email': 20, 'web': 9, 'ann': None, 'flyer': None}
    """
    if not isinstance(below, int) or below < 1:
        raise InvalidArgument(f"below is the smallest count to show, not {below!r}")
    is_spread = list(report.columns.names) != [None]
    if report.index.name == _PULL:
        return _without_steps(report, below, is_spread=is_spread)
    if not is_spread:
        return _without_rows(report, below)
    counts = _counts(report)
    small = (counts > 0) & (counts < below)
    if min(counts.shape) > 1:
        return report.astype("Int64").mask(_in_table(counts, small))
    return report.astype("Int64").mask(_in_line(counts.ravel(), below, small.ravel()).reshape(counts.shape))


def _without_rows(report: pd.DataFrame, below: int) -> pd.DataFrame:
    known = [name for name in map(str, report) if name in _MEASURES and _MEASURES[name].of_people]
    names = known or [str(name) for name in report if is_integer_dtype(report[name].dtype)]
    if not names or report.empty:
        return report
    counts = _counts(report[names])
    hidden = _in_line(counts[:, 0], below, np.any((counts > 0) & (counts < below), axis=1))
    shown = report.astype({name: "Int64" for name in report if is_integer_dtype(report[name].dtype)})
    for name in shown.columns.drop("title", errors="ignore"):
        rows = np.full_like(hidden, hidden.any()) if name == "cumulative" else hidden
        shown[name] = shown[name].mask(rows)
    return shown if time_levels(report.index) else pd.concat([shown[~hidden], shown[hidden].sort_index()])


def _counts(frame: pd.DataFrame) -> Counts:
    return frame.astype("Int64").fillna(0).to_numpy("int64")


def _in_line(counts: Counts, below: int, hidden: Mask) -> Mask:
    """Return which of some counts with a known sum are hidden: some, and the smallest of the others as needed.

    Each hidden one is at least 1, as 0 is shown, and at most what is shown: their sum must leave room.
    """
    hidden = hidden.copy()
    for number in np.argsort(counts, kind="stable"):
        inside = int(hidden.sum())
        if inside == 0 or (inside > 1 and counts[hidden].sum() >= max(below, inside + 1)):
            break
        hidden[number] |= counts[number] > 0
    return hidden


def _in_table(counts: Counts, hidden: Mask) -> Mask:
    """Return which counts are hidden of a table whose rows and columns have known sums: some, and others as needed.

    Each is a corner of a rectangle of hidden counts of which two opposite ones are not 0: one more at these and
    one less at the others, or the reverse, gives the same sums.
    """
    hidden = hidden.copy()
    for row in np.flatnonzero(hidden.any(axis=1)):
        chosen = np.flatnonzero(hidden[row] & (counts[row] > 0))
        costs = np.where(hidden, 0, np.maximum(counts, 1)).astype("float64")
        per_row = costs[:, chosen].sum(axis=1)
        per_row[(counts[:, chosen] == 0).all(axis=1)] = np.inf
        per_row[row] = np.inf
        if len(chosen) > 1 and np.isfinite(per_row.min()):
            hidden[per_row.argmin(), chosen] = True
            continue
        for column in chosen:
            _complete(hidden, counts, int(row), int(column))
    return hidden


def _complete(hidden: Mask, counts: Counts, row: int, column: int) -> None:
    """Hide the other corners of the rectangle around one count that hides the least."""
    costs = np.where(hidden, 0, np.maximum(counts, 1)).astype("float64")
    around = costs + costs[[row], :] + costs[:, [column]]
    around[counts == 0] = np.inf
    around[row], around[:, column] = np.inf, np.inf
    opposite, other = np.unravel_index(around.argmin(), around.shape)
    if np.isfinite(around[opposite, other]):
        hidden[[row, opposite, opposite], [other, column, other]] = True
    else:  # all counts stand in its row and its column
        hidden[row], hidden[:, column] = True, True


def _without_steps(report: pd.DataFrame, below: int, *, is_spread: bool) -> pd.DataFrame:
    """Hide the pulls from which a count grew by little to the next that is shown, and columns with small counts."""
    counts = _counts(report if is_spread else report[["rsvps"]])
    after = counts[-1:].copy()
    hidden = np.zeros(len(counts), dtype=bool)
    for row in range(len(counts) - 2, -1, -1):
        steps = np.append(after - counts[row], (after - counts[row]).sum())
        hidden[row] = ((steps != 0) & (abs(steps) < below)).any()
        after = after if hidden[row] else counts[[row]]
    small = (counts > 0) & (counts < below)
    if not is_spread:
        hidden |= small[:, 0]
        after_hidden = np.append(False, hidden[:-1])
        shown = report.astype("Int64").mask(np.broadcast_to(hidden[:, None], report.shape))
        return shown.assign(new_rsvps=shown["new_rsvps"].mask(after_hidden))
    kept = counts[~hidden]
    columns: Mask = np.any(small[~hidden], axis=0)
    for line in kept:
        columns = _in_line(line, below, columns) if line[columns].any() else columns
    return report.astype("Int64").mask(hidden[:, None] | columns)
