"""The report of an archive: the frame of each report, the headline figures, and notes on both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from osdi_frames.errors import UnknownReport
from osdi_frames.messages import counted, nearest, quoted
from osdi_frames.parsing.check import Inspection
from osdi_frames.reports.declared import COUNTED_ACTS, COUNTED_ATTENDANCES
from osdi_frames.reports.headline import headline_figures, rsvps_are_attendances
from osdi_frames.reports.published import FIGURES, Made, Published
from osdi_frames.reports.request import HEADLINE
from osdi_frames.tables import element_types, main_table
from osdi_frames.tables.actions import ACTS


@dataclass(frozen=True, slots=True, repr=False)
class ReportResult(Mapping[str, pd.DataFrame]):
    """The frames of reports by their names; printed, the headline figures in one line, then the notes."""

    tables: dict[str, pd.DataFrame]
    """The counted rows, by table."""
    reports: list[Made]
    inspection: Inspection | None
    """The problems and counts of the archive; None if they were not collected, or would reveal small counts."""
    notes: tuple[str, ...]
    """Notes on the rows that are counted, and on those that are not."""
    incomplete: tuple[str, ...] = ()
    """Those of the notes that name collections of which the archive lacks records."""
    below: int | None = None
    """The smallest count of people that is shown; None shows every count."""
    hidden: frozenset[str] = frozenset()
    """The headline figures that are small, or would reveal small counts."""
    published: Published | None = None
    """If small counts are hidden, the counts that are shown."""

    def __getitem__(self, name: str) -> pd.DataFrame:
        frames = {declared.name: frame for declared, frame in self.reports}
        if name not in frames:
            raise UnknownReport(f"no report {quoted(name)} was made of this archive; {nearest(name, frames)}")
        return frames[name]

    def __iter__(self) -> Iterator[str]:
        return (declared.name for declared, _ in self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def summary(self) -> dict[str, int | None]:
        """The headline figures: events, RSVPs, attendances, signatures, and people; None for a hidden one."""
        figures = headline_figures(self.tables)
        if self.published:
            figures |= self.published.counts[FIGURES]
        return {name: None if name in self.hidden else count for name, count in figures.items()}

    @property
    def others(self) -> dict[str, int]:
        """The number of elements of each type that no report counts, the most frequent first."""
        if self.inspection is None:
            return {}
        reported = {
            *HEADLINE,
            COUNTED_ATTENDANCES.table,
            *(declared.read_from for declared, _ in self.reports),
        }
        reported |= {act.table.name for act in ACTS} if COUNTED_ACTS.table in reported else set()
        received = {
            element.type_key: self.inspection.elements[element.name]
            for element in element_types()
            if element.type_key and main_table(element).name not in reported
        }
        others = {name: count for name, count in received.items() if count} | self.inspection.others
        return dict(sorted(others.items(), key=lambda pair: -pair[1]))

    @property
    def rsvps_are_attendances(self) -> bool:
        """Whether the figure of RSVPs is the number of attendances, since no event counts."""
        return rsvps_are_attendances(self.tables)

    def __repr__(self) -> str:
        """Return the figures in one line, then the notes."""
        figures, parts = self.summary, []
        if self.rsvps_are_attendances:
            parts.append(f"{count_or_few(figures['rsvps'], 'RSVP')}{_of_people(figures['rsvp_people'])}")
        elif "events" in figures:
            parts.append(
                f"{count_or_few(figures['events'], 'event')} with {count_or_few(figures['rsvps'], 'RSVP')}"
            )
        if "signatures" in figures and not (self.rsvps_are_attendances and figures["signatures"] == 0):
            parts.append(f"{count_or_few(figures['signatures'], 'signature')}{_of_people(figures['people'])}")
        lines = ["; ".join(parts), *self.notes]
        if others := self.others:
            counts = ", ".join(f"{count:,} {name}" for name, count in others.items())
            lines.append(f"in no report: {counts}")
        return "\n".join(lines)


def count_or_few(count: int | None, noun: str) -> str:
    """Return a count with its noun; None, a hidden count, as "few"."""
    return f"few {noun}s" if count is None else counted(count, noun)


def _of_people(count: int | None) -> str:
    return "" if count is None else f" of {counted(count, 'person', 'people')}"
