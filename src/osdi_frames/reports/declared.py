"""Every report, declared once: its function, plot, page, terminal text and files read it here.

To add a report is to add it to `REPORTS`, and a function to the module of its table where people are to call it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

import pandas as pd

from osdi_frames.reports import measures
from osdi_frames.reports.groups import By, Period, contexts, named_keys
from osdi_frames.reports.measures import Measure, Shown
from osdi_frames.reports.titles import CAMPAIGN, EVENT, PETITION, TITLED, Titled, heading


@dataclass(frozen=True, slots=True)
class Subject:
    """What several reports count.

    Attributes
    ----------
    table, count, unit
        The table whose rows are counted; the column of the main count, and what it counts.
    measures
        Its columns.
    titled
        The id that has titles.
    nothing
        The texts that stand for no value.
    """

    table: str
    count: str
    unit: str
    measures: tuple[Measure, ...]
    titled: Titled
    nothing: tuple[str, ...] = ("",)


# A webhook leaves a missing source out; the service's REST API writes the literal `none`.
NO_SOURCE: Final = ("", "none")

EVENTS: Final = Subject("events", "rsvps", "RSVPs", measures.OF_EVENTS, CAMPAIGN)
GROWTH: Final = Subject("snapshots", "rsvps", "RSVPs", (measures.KNOWN_RSVPS,), CAMPAIGN)
ATTENDANCES: Final = Subject("attendances", "rsvps", "attendances", measures.OF_ATTENDANCES, EVENT, NO_SOURCE)
SIGNATURES: Final = Subject(
    "signatures", "signatures", "signatures", measures.OF_SIGNATURES, PETITION, NO_SOURCE
)


@dataclass(frozen=True, slots=True)
class Joined:
    """A key that the rows of another table have.

    It is `column` of the row of `table` with the same `key`.
    """

    table: str
    key: str
    column: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes
    ----------
    subject
        What it counts: the table, the measures, and what they have in common.
    name, heading
        The name of its function, plot and files; its heading, and the title of its plot.
    by
        What it groups by, and ``osdi-frames report`` makes it; None where the caller says it.
    kind
        ``groups``: a row for each value; ``over time``: a row for each period, with `by` a column for each
        value; ``growth``: the same for repeated pulls.
    own_measures
        Its columns, where they are not those of the subject.
    joined
        The key that the rows of another table have.
    """

    subject: Subject = field(repr=False)
    name: str
    heading: str = field(repr=False)
    by: By | None = field(default=None, repr=False)
    kind: Literal["groups", "over time", "growth"] = field(default="groups", repr=False)
    own_measures: tuple[Measure, ...] = field(default=(), repr=False)
    joined: Joined | None = field(default=None, repr=False)
    caption: ClassVar[str] = ""

    @property
    def titled(self) -> Titled:
        """The id that has titles: its key, or the subject's."""
        return next((titled for titled in TITLED if titled.key in self.keys), self.subject.titled)

    @property
    def table(self) -> str:
        """The table whose frame it takes."""
        return self.subject.table

    @property
    def count(self) -> str:
        """The measure that ranks rows and is drawn."""
        return self.subject.count

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Its columns."""
        return self.own_measures or self.subject.measures

    def made_of(self, columns: Collection[Hashable]) -> tuple[Measure, ...]:
        """Return the measures of a frame with these columns.

        Optional ones are among them where it has what they need.
        """
        return tuple(
            measure
            for measure in self.measures
            if not measure.is_optional or measure.needs.keys() <= {*columns}
        )

    def shown(self, frame: pd.DataFrame) -> tuple[Shown, ...]:
        """Return the measures that are shown of a frame."""
        found = (measure for measure in (*self.measures, measures.KEPT) if measure.name in frame.columns)
        return tuple(measure for measure in found if not measure.is_rare or _is_common(frame[measure.name]))

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The columns from which small counts could be computed."""
        return tuple(measure.name for measure in self.measures if measure.unprotected)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the columns that it groups by."""
        return tuple(name for name, _ in named_keys(self.by, report=self.name))

    @property
    def periods(self) -> tuple[str, ...]:
        """The names of the keys that are periods."""
        return tuple(key.name for _, key in named_keys(self.by, report=self.name) if isinstance(key, Period))

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of its index, where these are declared."""
        if self.kind != "groups":
            return ("fetched_at" if self.kind == "growth" else "created_date",)
        keys = named_keys(self.by, report=self.name)
        return tuple(key.name if isinstance(key, Period) else name for name, key in keys)

    @property
    def is_over_time(self) -> bool:
        """Whether its rows are in the order of time."""
        return bool(self.periods) or self.kind != "groups"

    @property
    def read_from(self) -> str:
        """The table whose rows its frame holds."""
        return EVENTS.table if self.subject is GROWTH else self.table

    @property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """The columns that it needs of its table."""
        return {self.read_from: (*self.columns, *contexts(self.keys))}

    @property
    def reader(self) -> str:
        """The call that reads its frame."""
        repeated = ", dedupe=False" if self.kind == "growth" else ""
        return f"osdi_frames.open(source).table('{self.read_from}'{repeated})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it needs."""
        needs = [name for measure in self.made_of(()) for name in measure.needs]
        found = self.joined
        keys = [found.key if found and name == found.column else name for name in self.keys]
        return tuple(dict.fromkeys([*keys, *needs]))


def _is_common(column: pd.Series) -> bool:
    """Return whether a tenth of the rows have a value."""
    return bool((column.notna() & (column != 0)).sum() * _RARE >= len(column))


_RARE: Final = 10  # rows of which one has a value at least, for its column to be shown

_REGION: Final = ("location_country", "location_region")


def _ranked(subject: Subject, word: str, by: By) -> Report:
    """Declare a report by value, largest count first."""
    return Report(subject, f"{subject.unit.lower()}_by_{word}", f"{heading(subject.unit)} by {word}", by)


def _over_time(subject: Subject, columns: tuple[Measure, ...]) -> Report:
    """Declare a report by periods that the caller chooses."""
    name, title = f"{subject.table}_over_time", f"{heading(subject.unit)} over time"
    return Report(subject, name, title, kind="over time", own_measures=columns)


REPORTS: Final = (
    _ranked(EVENTS, "campaign", "event_campaign_id"),
    _ranked(EVENTS, "region", _REGION),
    Report(EVENTS, "rsvps_by_month", "RSVPs by month of the event", Period("start_date")),
    Report(EVENTS, "rsvps_by", heading(EVENTS.unit)),
    Report(
        GROWTH,
        "rsvps_by_pull",
        "RSVPs by the service's totals at each pull",
        "event_campaign_id",
        "growth",
        measures.BY_PULL,
    ),
    Report(GROWTH, "rsvps_over_time", "RSVPs over time", kind="growth"),
    _ranked(ATTENDANCES, "source", "source"),
    _ranked(ATTENDANCES, "referrer", "referrer"),
    Report(
        ATTENDANCES,
        "attendances_by_campaign",
        "Attendances by campaign",
        "event_campaign_id",
        joined=Joined("events", "event_id", "event_campaign_id"),
    ),
    _ranked(ATTENDANCES, "region", _REGION),
    Report(
        ATTENDANCES,
        "attendances_by_month",
        "Attendances by the month of the RSVP",
        Period("created_date"),
        own_measures=measures.ATTENDANCES_OVER_TIME,
    ),
    Report(ATTENDANCES, "attendances_by", heading(ATTENDANCES.unit)),
    _over_time(ATTENDANCES, measures.ATTENDANCES_OVER_TIME),
    _ranked(SIGNATURES, "petition", "petition_id"),
    _ranked(SIGNATURES, "source", "source"),
    _ranked(SIGNATURES, "referrer", "referrer"),
    _ranked(SIGNATURES, "website", "website"),
    _ranked(SIGNATURES, "region", _REGION),
    Report(
        SIGNATURES,
        "signatures_by_month",
        "Signatures by month",
        Period("created_date"),
        own_measures=measures.SIGNATURES_OVER_TIME,
    ),
    Report(SIGNATURES, "signatures_by", heading(SIGNATURES.unit)),
    _over_time(SIGNATURES, measures.SIGNATURES_OVER_TIME),
)
"""Every report; those of the standard set in the order in which ``osdi-frames report`` makes them."""

#: The same by their names.
DECLARED: Final = {report.name: report for report in REPORTS}

#: Those of the standard set. An archive's report does not join: its filters on events by date would leave attendances
#: without a campaign.
KEYED: Final = tuple(report for report in REPORTS if report.by is not None and report.joined is None)
