"""Small counts hidden in reports, with others from which they could be computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from osdi_frames.errors import InvalidArgument, InvalidColumn
from osdi_frames.messages import quoted
from osdi_frames.reports.declared import COUNTED_EVENTS, REPORTS
from osdi_frames.reports.groups import time_levels
from osdi_frames.reports.making import row_numbers
from osdi_frames.reports.people_protection import counts_of, protector_of, without
from osdi_frames.reports.protection import Breakdown, Counts, RowMask, hide_in_line, protect
from osdi_frames.reports.report import Report
from osdi_frames.reports.spelling import Spelling

#: Of a goal: how many signed in 28 days, when the last one did that was needed, and what follows from both.
_OF_GOALS: Final = ("per_week", "reached", "expected")
_UNPROTECTED: Final = {*_OF_GOALS, *(name for report in REPORTS for name in report.unprotected)}
_COUNTS: Final = tuple(dict.fromkeys(report.count for report in REPORTS))
_PULL: Final = "fetched_at"


def suppress(report: pd.DataFrame, below: int = 5) -> pd.DataFrame:
    """Hide small counts of people, and what reveals them.

    A row with a count of RSVPs, signatures or people from 1 to ``below - 1`` is missing as a whole, but for its
    title. So are the next larger rows, until the total leaves open what their counts are: at least two are
    missing, and their sum is not small. 0 is shown. Missing rows come last, in the order of the index, unless
    rows are in the order of time. Where the total leaves nothing open, as of ten signatures from ten sources, the
    report has no rows. Columns from which small counts could be computed are left out: people, the times of
    the first and the last act, RSVPs of events with a capacity and their fill rate, how many attended, of how many, and
    their rate, cumulative counts, and shares within the first of several keys; of `goals` what came in a week, and when
    a goal was reached or will be.

    Of a report with a column per value single counts are missing, so that the totals of its rows and columns
    leave them open; of repeated pulls those are missing from which a count grew by little to the next.

    Of reports on people rows are missing as well, as far as the sums of their columns reveal them: of `engagement`,
    without `actions`, of `repeats`, where three rows have to be hidden, since the sum of acts is known, too, of
    `attribution` and `compare`. Of `funnel` the steps that few reach, or few do not, and with `by` whole funnels; of
    `retention` cohorts, and shares of few or of all but few. A row of `hosts` is a person: it is refused.

    Other reports are not known here: `osdi_frames.report` with `min_count` protects reports that are published
    together, and from the report of the day before. Reports of nearly the same rows that are suppressed alone can still
    be compared.

    Parameters
    ----------
    report
        A report, as its function returns it.
    below
        The smallest count that is shown, besides 0.

    Returns
    -------
    DataFrame
        The same rows, in columns of which some are left out; counts are ``Int64``.

    Raises
    ------
    InvalidArgument
        `below` is not a count, or the frame has none, or its rows are people.

    Examples
    --------
    >>> signatures = pd.DataFrame({"source": ["email"] * 20 + ["web"] * 9 + ["flyer"] * 7 + ["ann"]})
    >>> signatures["person_id"], signatures["created_date"] = range(37), pd.Timestamp("2026-05-01")
    >>> from osdi_frames.reports import signatures_by_source
    >>> suppress(signatures_by_source(signatures))["signatures"].to_dict()
    {'email': 20, 'web': 9, 'ann': None, 'flyer': None}
    """
    if not isinstance(below, int) or below < 1:
        raise InvalidArgument(f"below is the smallest count to show, not {quoted(below)}")
    if protect_people := protector_of(report):
        return protect_people(report, below)
    if report.index.name == _PULL:
        return _without_steps(report, below)
    if _is_spread(report):
        counts = counts_of(report)
        small = (counts > 0) & (counts < below)
        if min(counts.shape) > 1:
            return report.astype("Int64").mask(_in_table(counts, small))
        hidden = hide_in_line(counts.ravel(), small.ravel(), below=below)
        return report.astype("Int64").mask(hidden.reshape(counts.shape))
    count = next((name for name in _COUNTS if name in report), None)
    if count is None:
        raise InvalidArgument(f"a report has a column {' or '.join(_COUNTS)}, or a column per value")
    if "share" in report and "goal" not in report and not _is_of_total(report["share"], report[count]):
        report = report.drop(columns="share")
    counts = _effective(report, count)
    [rows] = protect([Breakdown(np.flatnonzero(counts > 0), counts)], below=below)
    return _without_rows(report, rows, _UNPROTECTED)


def suppress_together(
    reports: Sequence[tuple[Report, pd.DataFrame]],
    tables: Mapping[str, pd.DataFrame],
    *,
    below: int,
    spelling: Spelling = "merged",
) -> list[pd.DataFrame]:
    """Hide small counts in reports that are published together, and whatever reveals them.

    `tables` are the frames of which the reports were made, with this spelling.
    """
    if spread := [declared.name for declared, frame in reports if _is_spread(frame)]:
        raise InvalidColumn(f"{spread[0]} has a column per value: with min_count make and suppress it alone")
    shown = [frame for _, frame in reports]
    by_table = defaultdict[str, list[tuple[int, Report, pd.DataFrame]]](list)
    for number, (declared, frame) in enumerate(reports):
        if declared.function:
            shown[number] = _of_people(frame, below)
        elif declared.kind == "growth":
            total = int(tables[declared.read_from]["total_accepted"].sum())
            shown[number] = _without_steps(frame, below, total)
        else:
            by_table[declared.table].append((number, declared, frame))
    for table, some in by_table.items():
        breakdowns = _breakdowns([(keyed, frame) for _, keyed, frame in some], tables[table], spelling)
        for (number, keyed, frame), hidden in zip(some, protect(breakdowns, below=below), strict=True):
            shown[number] = _without_rows(frame, hidden, keyed.unprotected)
    return shown


def _of_people(report: pd.DataFrame, below: int) -> pd.DataFrame:
    """Hide small counts of a report on people."""
    hide = protector_of(report)
    return report if hide is None else hide(report, below)


def _breakdowns(
    reports: Sequence[tuple[Report, pd.DataFrame]], rows: pd.DataFrame, spelling: Spelling
) -> list[Breakdown]:
    """Return reports of one table as groups of its rows."""
    is_of_events = reports[0][0].table == COUNTED_EVENTS.table
    numbers = pd.DataFrame(
        {
            place: row_numbers(declared, rows, made, spelling=spelling)
            for place, (declared, made) in enumerate(reports)
        }
    )
    if is_of_events:
        numbers = numbers[(rows["total_accepted"].fillna(0) > 0).to_numpy(dtype=bool)]
    kinds = numbers.drop_duplicates()
    breakdowns = []
    for place, (declared, made) in enumerate(reports):
        # Anybody can look up in which campaign, place and month an event is, as if each report were by event.
        row = ["event_id"] if is_of_events else ["created_date"] if declared.kind == "over time" else []
        keys = frozenset([*declared.keys, *row])
        breakdowns.append(Breakdown(kinds[place].to_numpy(), _effective(made, declared.count), keys))
    return breakdowns


def _is_spread(report: pd.DataFrame) -> bool:
    return list(report.columns.names) != [None]


def _effective(report: pd.DataFrame, count: str) -> Counts:
    """Return the counts of rows, or of fewer people."""
    counts = counts_of(report[count])
    people = counts_of(report["people"]) if "people" in report else counts
    return np.where(people > 0, np.minimum(people, counts), counts)


def _without_rows(report: pd.DataFrame, hidden: RowMask | None, unprotected: Iterable[str]) -> pd.DataFrame:
    """Leave columns out, and hide some rows; where `hidden` is None, no row is left, not even its name."""
    report = report.drop(columns=[*unprotected], errors="ignore")
    return without(report, hidden, in_time=bool(time_levels(report.index)))


def _is_of_total(share: pd.Series, count: pd.Series) -> bool:
    """Return whether shares reveal no sum but the total."""
    counts = counts_of(count)
    return bool(
        np.allclose(share.astype("Float64").fillna(0).astype("float64"), counts / max(counts.sum(), 1))
    )


def _in_table(counts: Counts, hidden: RowMask) -> RowMask:
    """Return which counts to hide of a table whose rows and columns have known sums: some, and others as needed.

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


def _complete(hidden: RowMask, counts: Counts, row: int, column: int) -> None:
    """Hide the other corners of the cheapest rectangle."""
    costs = np.where(hidden, 0, np.maximum(counts, 1)).astype("float64")
    around = costs + costs[[row], :] + costs[:, [column]]
    around[counts == 0] = np.inf
    around[row], around[:, column] = np.inf, np.inf
    opposite, other = np.unravel_index(around.argmin(), around.shape)
    if np.isfinite(around[opposite, other]):
        hidden[[row, opposite, opposite], [other, column, other]] = True
    else:  # all counts stand in its row and its column
        hidden[row], hidden[:, column] = True, True


def _without_steps(report: pd.DataFrame, below: int, total: int | None = None) -> pd.DataFrame:
    """Hide pulls with little growth to the next one that is shown, and small columns.

    `total` is what is published of all events, also of those in no pull.
    """
    is_spread = _is_spread(report)
    counts = counts_of(report if is_spread else report[["rsvps"]])
    after = counts[-1:].copy() if total is None else np.array([[total]])
    small = (counts > 0) & (counts < below)
    hidden = np.zeros(len(counts), dtype=bool) if is_spread else small[:, 0].copy()
    for row in range(len(counts) - 1, -1, -1):
        steps = np.append(after - counts[row], (after - counts[row]).sum())
        hidden[row] |= ((steps != 0) & (abs(steps) < below)).any()
        after = after if hidden[row] else counts[[row]]
    if not is_spread:
        after_hidden = np.append(False, hidden[:-1])
        shown = report.astype("Int64").mask(np.broadcast_to(hidden[:, None], report.shape))
        return shown.assign(new_rsvps=shown["new_rsvps"].mask(after_hidden))
    kept = counts[~hidden]
    columns: RowMask = np.any(small[~hidden], axis=0)
    for line in kept:
        columns = hide_in_line(line, columns, below=below) if line[columns].any() else columns
    return report.astype("Int64").mask(hidden[:, None] | columns)
