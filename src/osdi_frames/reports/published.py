"""Protect a report of an archive with hidden counts so that small changes since the previous report are hidden, too.

Shown counts are rounded down to multiples of the smallest count that may be shown, and a count that changed by less
than this since the previous report is repeated from there. So the counts of two consecutive reports, and their sums,
differ by such multiples, and no reader can see in which row one more person signed.
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

#: The file in the folder of a report with its shown counts, which the next report reads.
FILE: Final = "published.json"
#: The key of the headline figures among the reports.
FIGURES: Final = "(figures)"

ShownCounts: TypeAlias = Mapping[str, int]
"""The shown counts of a report, by the text of their row."""

Made: TypeAlias = tuple[Report, pd.DataFrame]
"""A report's declaration and its frame."""


@dataclass(frozen=True, slots=True)
class Published:
    """The counts that the report of an archive showed, by report and row, and the settings that they depend on."""

    settings: str
    counts: Mapping[str, ShownCounts]

    @classmethod
    def parsed(cls, text: bytes | None) -> Self | None:
        """Read the content of the file; return None if there is none or it is not valid."""
        with suppress(ValueError, RecursionError):
            match json.loads(text or b""):
                case {"settings": str(settings), "counts": dict(counts)} if FIGURES in counts:
                    return cls(settings, {name: _counts(by_row) for name, by_row in counts.items()})
        return None

    def dumped(self) -> bytes:
        """Return the content of the file."""
        return json.dumps({"settings": self.settings, "counts": self.counts}, indent=1).encode()


@dataclass(frozen=True, slots=True)
class ProtectedReports:
    """Reports with hidden counts, notes on what is hidden, and the counts that they show."""

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
    protected, hidden_columns, without_rows = list[Made](), dict[str, None](), []
    for (declared, report), shown in zip(reports, frames, strict=True):
        names = (column.name for column in declared.shown(report) if column.name not in shown)
        hidden_columns |= dict.fromkeys(names)
        without_rows += [declared.heading] if len(report) > len(shown) else []
        if not declared.function:
            shown = steady(declared, shown, before.get(declared.name, {}), below)
            shown_counts[declared.name] = _counts_by_row(declared, shown)
        protected.append((declared, shown))
    notes = [
        f"counts of people below {below} are hidden (–), and others that reveal them",
        f"other counts of people are rounded down to multiples of {below}; shares are of these",
    ]
    if before:
        same = (name for name, count in shown_counts[FIGURES].items() if before[FIGURES].get(name) == count)
        notes.append(
            f"counts that changed by less than {below} since the report before are as they were there (=); of the"
            f" headline figures: {', '.join(map(heading, same)) or 'none'}"
        )
    if hidden_columns:
        notes.append(f"left out, as they would reveal some: {', '.join(map(heading, hidden_columns))}")
    if without_rows:
        notes.append(f"without rows, as their totals would reveal some: {', '.join(without_rows)}")
    return ProtectedReports(protected, notes, Published(settings, shown_counts))


def _steady_figures(tables: Mapping[str, pd.DataFrame], before: ShownCounts, below: int) -> ShownCounts:
    """Return the headline figures to show of people, rounded and without small changes."""
    hidden = {"events", *hidden_figures(tables, below)}
    figures = {name: count for name, count in headline_figures(tables).items() if name not in hidden}
    return {name: steady_count(count, before.get(name), below) for name, count in figures.items()}


def _counts(value: object) -> ShownCounts:
    """Return the counts in a JSON object from the file."""
    items = value.items() if isinstance(value, dict) else ()
    return {row: count for row, count in items if type(count) is int}


def _counts_by_row(report: Report, frame: pd.DataFrame) -> dict[str, int]:
    """Return the counts that a report shows, by the text of their row."""
    counts = frame[report.count].set_axis([_row_text(label) for label in frame.index]).dropna()
    return {str(row): int(count) for row, count in counts.items()}


def _row_text(label: Hashable) -> str:
    return json.dumps([str(key) for key in (label if isinstance(label, tuple) else (label,))])


def steady_count(count: int, before: int | None, below: int) -> int:
    """Return the count to show: rounded down, or that of the previous report if it changed by less than `below`.

    >>> steady_count(34, None, 5), steady_count(34, 30, 5), steady_count(29, 30, 5), steady_count(38, 30, 5)
    (30, 30, 30, 35)
    """
    return before if before is not None and abs(count - before) < below else count // below * below


def steady(report: Report, frame: pd.DataFrame, before: ShownCounts, below: int) -> pd.DataFrame:
    """Return a report with steady counts, the largest first, and with shares and differences of these.

    If there is a previous report, the column `kept` says which counts are the same as there.
    """
    previous = [before.get(_row_text(label)) for label in frame.index]
    counts = frame[report.count].astype("Int64").tolist()
    shown = [
        pd.NA if pd.isna(count) else steady_count(count, old, below)
        for count, old in zip(counts, previous, strict=True)
    ]
    column = pd.Series(shown, frame.index, dtype="Int64")
    result = frame.assign(**{report.count: column})
    if "share" in result:
        result["share"] = (column / max(column.sum(), 1)).astype("Float64")
    if "new_rsvps" in result:
        result["new_rsvps"] = column.diff().mask(frame["new_rsvps"].isna())
    if before:
        is_kept = [old is not None and old == count for old, count in zip(previous, shown, strict=True)]
        result[KEPT.name] = pd.Series(is_kept, frame.index, dtype="boolean")
    if time_levels(frame.index):
        return result
    by_label = result.sort_index()
    return by_label.iloc[np.argsort(-counts_of(by_label[report.count].fillna(-1)), kind="stable")]
