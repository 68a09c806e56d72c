"""Hide small counts in reports, and other counts from which they could be computed."""

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
from osdi_frames.reports.protection import Breakdown, Counts, RowMask, hide_in_line, hide_in_table, protect
from osdi_frames.reports.report import Report
from osdi_frames.reports.spelling import Spelling

#: The columns of `goals` from which small counts could be computed.
_OF_GOALS: Final = ("per_week", "reached", "expected")
#: The column of `acts_by` that shows with `acts` who acted several times.
_OF_ACTS: Final = "participations"
_UNPROTECTED: Final = {*_OF_GOALS, _OF_ACTS, *(name for report in REPORTS for name in report.unprotected)}
_COUNTS: Final = (*dict.fromkeys(report.count for report in REPORTS), "acts")
_PULL: Final = "fetched_at"


def suppress(report: pd.DataFrame, below: int = 5) -> pd.DataFrame:
    """Hide small counts of people, and other values from which they could be computed.

    A row with a count of RSVPs, signatures or people from 1 to ``below - 1`` becomes missing, except for its title. So
    do the next larger rows, until the hidden counts cannot be computed from the total: at least two rows are hidden,
    and their sum is not small. 0 is shown. Hidden rows come last, in the order of the index, unless rows are in the
    order of time. If hiding rows is not enough, as for ten signatures from ten sources, the report has no rows.

    Columns from which small counts could be computed are left out: people, the times of the first and the last act,
    RSVPs of events with a capacity and their fill rate, the columns on attendance, cumulative counts, and shares within
    the first of several keys; of `goals` the rate of a week, and the dates at which a goal was or will be reached.

    In a report with a column per value, single counts are hidden, so that they cannot be computed from the totals of
    rows and columns; in one of repeated pulls, the pulls before a small growth are hidden.

    In reports on people and change, rows are hidden that could be computed from the sums of columns: in `attribution`,
    in `compare`, and in `repeats`, in which at least three rows are hidden, since the sum of acts may be known, too. In
    `engagement`, which loses its columns `actions` and `lapsed`, single counts are hidden. In `funnel` steps are hidden
    that few people reach, or few do not, and with `by` whole funnels; in `retention` cohorts, and shares of few people
    or of all but few. In `people_by_level` single counts are hidden of who came, moved and lapses; if a level has few
    people, it and another one, and all columns of moves are left out. `acts_by` keeps its acts, `upcoming` its events,
    of which RSVPs and seats are hidden. `hosts`, `supporters` and `supporter_amounts` cannot be suppressed, since each
    of their rows is a person, nor `amounts_by`, since a sum can be what one person gave.

    Each report is protected alone: counts could still be computed by comparing suppressed reports of nearly the same
    rows. `osdi_frames.report` with `min_count` protects reports that are published together, and against a comparison
    with those of the day before.

    Parameters
    ----------
    report
        A report as its function returned it.
    below
        The smallest count that is shown, apart from 0.

    Returns
    -------
    DataFrame
        The same rows, without some columns; counts are ``Int64``.

    Raises
    ------
    InvalidArgument
        `below` is not a count, the frame has no column of counts, or its rows are people or sums of money.

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
            return report.astype("Int64").mask(hide_in_table(counts, small))
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
    """Hide small counts in reports that are published together, and other values from which they could be computed.

    `tables` has the frames that the reports were made from, with this spelling.
    """
    if spread := [declared.name for declared, frame in reports if _is_spread(frame)]:
        raise InvalidColumn(f"{spread[0]} has a column per value: with min_count make and suppress it alone")
    shown = [frame for _, frame in reports]
    by_table = defaultdict[str, list[tuple[int, Report, pd.DataFrame]]](list)
    for number, (declared, frame) in enumerate(reports):
        if declared.function:
            hide = protector_of(frame)
            shown[number] = frame if hide is None else hide(frame, below)
        elif declared.kind == "growth":
            total = int(tables[declared.read_from]["total_accepted"].sum())
            shown[number] = _without_steps(frame, below, total)
        else:
            by_table[declared.table].append((number, declared, frame))
    for table, of_table in by_table.items():
        breakdowns = _breakdowns([(keyed, frame) for _, keyed, frame in of_table], tables[table], spelling)
        masks = protect(breakdowns, below=below)
        for (number, keyed, frame), hidden in zip(of_table, masks, strict=True):
            shown[number] = _without_rows(frame, hidden, keyed.unprotected)
    return shown


def _breakdowns(
    reports: Sequence[tuple[Report, pd.DataFrame]], rows: pd.DataFrame, spelling: Spelling
) -> list[Breakdown]:
    """Return the reports of one table as breakdowns of its rows."""
    is_of_events = reports[0][0].table == COUNTED_EVENTS.table
    numbers = pd.DataFrame(
        {
            place: row_numbers(declared, rows, frame, spelling=spelling)
            for place, (declared, frame) in enumerate(reports)
        }
    )
    if is_of_events:
        numbers = numbers[(rows["total_accepted"].fillna(0) > 0).to_numpy(dtype=bool)]
    kinds = numbers.drop_duplicates()
    breakdowns = []
    for place, (declared, frame) in enumerate(reports):
        # The campaign, place and month of an event are public, so each report counts as one by event, too.
        row = ["event_id"] if is_of_events else ["created_date"] if declared.kind == "over time" else []
        keys = frozenset([*declared.keys, *row])
        breakdowns.append(Breakdown(kinds[place].to_numpy(), _effective(frame, declared.count), keys))
    return breakdowns


def _is_spread(report: pd.DataFrame) -> bool:
    return list(report.columns.names) != [None]


def _effective(report: pd.DataFrame, count: str) -> Counts:
    """Return the counts of rows, or the numbers of people if these are smaller."""
    counts = counts_of(report[count])
    people = counts_of(report["people"]) if "people" in report else counts
    return np.where(people > 0, np.minimum(people, counts), counts)


def _without_rows(report: pd.DataFrame, hidden: RowMask | None, unprotected: Iterable[str]) -> pd.DataFrame:
    """Drop unprotected columns and hide some rows; None as `hidden` removes all rows."""
    report = report.drop(columns=[*unprotected], errors="ignore")
    return without(report, hidden, in_time=bool(time_levels(report.index)))


def _is_of_total(share: pd.Series, count: pd.Series) -> bool:
    """Return whether shares are of the total, and not of sums within the first key."""
    counts = counts_of(count)
    return bool(
        np.allclose(share.astype("Float64").fillna(0).astype("float64"), counts / max(counts.sum(), 1))
    )


def _without_steps(report: pd.DataFrame, below: int, total: int | None = None) -> pd.DataFrame:
    """Hide pulls from which a count changes by little to the next shown pull, and columns with small counts.

    `total` is the published total of all events, with those in no pull; it counts as the pull after the last.
    """
    is_spread = _is_spread(report)
    counts = counts_of(report if is_spread else report[["rsvps"]])
    next_shown = counts[-1:].copy() if total is None else np.array([[total]])
    small = (counts > 0) & (counts < below)
    hidden = np.zeros(len(counts), dtype=bool) if is_spread else small[:, 0].copy()
    for pull in range(len(counts) - 1, -1, -1):
        changes = np.append(next_shown - counts[pull], (next_shown - counts[pull]).sum())
        hidden[pull] |= ((changes != 0) & (abs(changes) < below)).any()
        next_shown = next_shown if hidden[pull] else counts[[pull]]
    if not is_spread:
        is_after_hidden = np.append(False, hidden[:-1])
        shown = report.astype("Int64").mask(np.broadcast_to(hidden[:, None], report.shape))
        return shown.assign(new_rsvps=shown["new_rsvps"].mask(is_after_hidden))
    hidden_columns: RowMask = np.any(small[~hidden], axis=0)
    for line in counts[~hidden]:
        if line[hidden_columns].any():
            hidden_columns = hide_in_line(line, hidden_columns, below=below)
    return report.astype("Int64").mask(hidden[:, None] | hidden_columns)
