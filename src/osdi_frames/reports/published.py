"""What is published of a report whose small counts are hidden, so that the next one shows no small change either.

Where small counts are hidden, shown counts are multiples of the smallest one, rounded down, and a count that changed by
less than this since the report before is as it was there. So two consecutive reports differ by such multiples, and so
do their sums; in which row one more person signed, nobody sees.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

import numpy as np
import pandas as pd

from osdi_frames.reports.groups import time_levels
from osdi_frames.reports.headline import headline_figures, hidden_figures
from osdi_frames.reports.measures import KEPT
from osdi_frames.reports.people_protection import counts_of
from osdi_frames.reports.report import Report
from osdi_frames.reports.spelling import Spelling
from osdi_frames.reports.suppression import suppress_together
from osdi_frames.reports.titles import heading

#: The file of a report in which the next one finds what was published.
FILE: Final = "published.json"
#: The name of the headline figures among the reports.
FIGURES: Final = "(figures)"

ShownCounts: TypeAlias = Mapping[str, int]
"""Shown counts, by the text of their row."""

Made: TypeAlias = tuple[Report, pd.DataFrame]
"""A report with its frame."""


@dataclass(frozen=True, slots=True)
class Published:
    """The counts that a report showed, by report and row, and the settings by which they were counted."""

    settings: str
    counts: Mapping[str, ShownCounts]

    @classmethod
    def parsed(cls, text: bytes | None) -> Self | None:
        """Read what `dumped` wrote; None where there is nothing, or nothing that can be read."""
        with suppress(ValueError, RecursionError):
            match json.loads(text or b""):
                case {"settings": str(settings), "counts": dict(counts)} if FIGURES in counts:
                    return cls(settings, {name: _counts(some) for name, some in counts.items()})
        return None

    def dumped(self) -> bytes:
        """Return the content of the file."""
        return json.dumps({"settings": self.settings, "counts": self.counts}, indent=1).encode()


@dataclass(frozen=True, slots=True)
class ProtectedReports:
    """Reports with small counts hidden, sentences on what is hidden, and what they show."""

    reports: list[Made]
    notes: list[str]
    published: Published


def protect_reports(
    reports: Sequence[Made],
    tables: Mapping[str, pd.DataFrame],
    *,
    below: int,
    spelling: Spelling,
    settings: str,
    last: Published | None,
) -> ProtectedReports:
    """Hide small counts of reports that are published together, and small changes since the last report."""
    frames = suppress_together(reports, tables, below=below, spelling=spelling)
    before = last.counts if last and last.settings == settings else {}
    shown_counts = {FIGURES: _steady_figures(tables, before.get(FIGURES, {}), below)}
    made, columns, closed = list[Made](), dict[str, None](), []
    for (declared, report), shown in zip(reports, frames, strict=True):
        columns |= dict.fromkeys(column.name for column in declared.shown(report) if column.name not in shown)
        closed += [declared.heading] if len(report) > len(shown) else []
        if not declared.function:
            shown = steady(declared, shown, before.get(declared.name, {}), below)
            shown_counts[declared.name] = _rows(declared, shown)
        made.append((declared, shown))
    notes = [
        f"counts of people below {below} are hidden (–), and others that reveal them",
        f"other counts of people are rounded down to multiples of {below}; shares are of these",
    ]
    if before:
        kept = (name for name, count in shown_counts[FIGURES].items() if before[FIGURES].get(name) == count)
        notes.append(
            f"counts that changed by less than {below} since the report before are as they were there (=); of the"
            f" headline figures: {', '.join(map(heading, kept)) or 'none'}"
        )
    if columns:
        notes.append(f"left out, as they would reveal some: {', '.join(map(heading, columns))}")
    if closed:
        notes.append(f"without rows, as their totals would reveal some: {', '.join(closed)}")
    return ProtectedReports(made, notes, Published(settings, shown_counts))


def _steady_figures(tables: Mapping[str, pd.DataFrame], before: ShownCounts, below: int) -> ShownCounts:
    """Return the shown headline figures of people, without small changes."""
    hidden = {"events", *hidden_figures(tables, below)}
    figures = {name: count for name, count in headline_figures(tables).items() if name not in hidden}
    return {name: steady_count(count, before.get(name), below) for name, count in figures.items()}


def _counts(read: object) -> ShownCounts:
    named = read.items() if isinstance(read, dict) else ()
    return {name: count for name, count in named if type(count) is int}


def _rows(report: Report, frame: pd.DataFrame) -> dict[str, int]:
    """Return the counts that a report shows, by their row."""
    counts = frame[report.count].set_axis([_row(label) for label in frame.index]).dropna()
    return {str(row): int(count) for row, count in counts.items()}


def _row(label: Hashable) -> str:
    return json.dumps([str(key) for key in (label if isinstance(label, tuple) else (label,))])


def steady_count(count: int, before: int | None, below: int) -> int:
    """Return a count as it is shown, given how it was shown before.

    >>> steady_count(34, None, 5), steady_count(34, 30, 5), steady_count(29, 30, 5), steady_count(38, 30, 5)
    (30, 30, 30, 35)
    """
    return before if before is not None and abs(count - before) < below else count // below * below


def steady(report: Report, frame: pd.DataFrame, before: ShownCounts, below: int) -> pd.DataFrame:
    """Return a report with counts that show no small change, largest first, and what is computed of them.

    Where a report came before, the column `kept` says which counts are as they were there.
    """
    rows = [_row(label) for label in frame.index]
    counts = frame[report.count].astype("Int64").tolist()
    was = [before.get(row) for row in rows]
    shown = [
        pd.NA if pd.isna(count) else steady_count(count, old, below)
        for count, old in zip(counts, was, strict=True)
    ]
    column = pd.Series(shown, frame.index, dtype="Int64")
    made = frame.assign(**{report.count: column})
    if "share" in made:
        made["share"] = (column / max(column.sum(), 1)).astype("Float64")
    if "new_rsvps" in made:
        made["new_rsvps"] = column.diff().mask(frame["new_rsvps"].isna())
    if before:
        is_kept = [old is not None and old == count for old, count in zip(was, shown, strict=True)]
        made[KEPT.name] = pd.Series(is_kept, frame.index, dtype="boolean")
    if time_levels(frame.index):
        return made
    labelled = made.sort_index()
    return labelled.iloc[np.argsort(-counts_of(labelled[report.count].fillna(-1)), kind="stable")]
