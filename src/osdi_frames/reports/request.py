"""What the report of an archive is to have: which reports, of which rows, and so which columns are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from osdi_frames.arrow import same_texts
from osdi_frames.errors import InvalidArgument, InvalidColumn, UnknownReport
from osdi_frames.messages import nearest, quoted
from osdi_frames.reports import exclusion, first_acts
from osdi_frames.reports.declared import COUNTED_ACTS, COUNTED_ATTENDANCES, STANDARD
from osdi_frames.reports.known import Duration
from osdi_frames.reports.report import Report
from osdi_frames.reports.spelling import Spelling, checked_spelling
from osdi_frames.resolving.filters import Filtering, Filters
from osdi_frames.tables import TABLES
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.resource import GONE_SINCE

#: What is read of a table besides the columns of its reports: for the headline figures, and for the map.
HEADLINE: Final = {
    "events": ("event_id", "event_campaign_id", "total_accepted", "start_date"),
    "signatures": ("person_id", "created_date"),
}
#: The same of attendances, which are read where a report counts them.
_OF_RSVPS: Final = ("event_id", "person_id", "attended", "created_date")
_STATES: Final = ("event_id", "fetched_at", "total_accepted", "event_campaign_id", "source_file")
#: Of people no town, and what is drawn of them is rounded to ten kilometres.
_PLACES: Final = {
    "events": ("location_latitude", "location_longitude", "location_locality"),
    "signatures": ("location_latitude", "location_longitude"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Which reports to make, and what they count and show."""

    reports: Sequence[Report] = STANDARD
    show_addresses: bool = False
    min_count: int | None = None
    include: tuple[str, ...] = ()
    spelling: Spelling = "merged"
    compare: Duration = "W"
    """The period that is compared with the one before, as `compare` takes it."""
    now: datetime | None = None
    """The present: of what has no receipt, no later date is compared."""
    goals: Mapping[str, int] = field(default_factory=dict)
    """How many signatures petitions are to have, by id or title."""
    filters: Filters = field(default_factory=Filters)
    for_page: bool = False
    """With what the page shows in addition: the map, and what was met while reading."""

    def __post_init__(self) -> None:
        """Find reports by their names; complete `include`."""
        object.__setattr__(self, "reports", _declared(self.reports))
        include = exclusion.included(self.include)
        # Who asks for cancelled events by their status wants to count them.
        statuses = pa.array(Filtering(self.filters).asked.get("status", ()), pa.string())
        asked = [rule.reason for rule in EVENT.exclusions if len(same_texts(statuses, rule.texts("status")))]
        object.__setattr__(self, "include", tuple(dict.fromkeys([*include, *asked])))
        checked_spelling(self.spelling)
        if self.min_count is not None and (not isinstance(self.min_count, int) or self.min_count < 1):
            raise InvalidArgument(f"min_count is the smallest count to show, not {quoted(self.min_count)}")

    @property
    def settings(self) -> str:
        """What counts of a report with hidden counts depend on, as text."""
        said: dict[str, Any] = {
            "min_count": self.min_count,
            "include": sorted(self.include),
            "spelling": self.spelling,
        }
        said |= {"show_addresses": self.show_addresses, **Filtering(self.filters).asked}
        return json.dumps(said, sort_keys=True, default=str)

    @property
    def unreported(self) -> list[str]:
        """The tables that the filters do not lead to."""
        filtering = Filtering(self.filters)
        tables = dict.fromkeys([*HEADLINE, *(declared.read_from for declared in self.reports)])
        return [name for name in tables if not filtering.leads_to(TABLES[name].element)]

    @property
    def reported(self) -> list[Report]:
        """The reports that are made."""
        unpublished = self.unpublished
        return [declared for declared in self._asked if declared not in unpublished]

    @property
    def _asked(self) -> list[Report]:
        unreported = self.unreported
        wanted = (declared for declared in self.reports if declared.name != "goals" or self.goals)
        return [declared for declared in wanted if declared.read_from not in unreported]

    @property
    def unpublished(self) -> list[Report]:
        """The reports that would reveal hidden counts."""
        return [report for report in self._asked if self.min_count is not None and not report.is_published]

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns to read of each table, for the reports and the headline figures."""
        filtering = Filtering(self.filters)
        headline = [name for name in HEADLINE if filtering.leads_to(TABLES[name].element)]
        columns = {name: dict.fromkeys(HEADLINE[name]) for name in headline}
        reads = [
            (name, needed)
            for declared in self.reported
            for name, needed in declared.reads.items()
            if filtering.leads_to(TABLES[name].element)
        ]
        if COUNTED_ACTS.table in (read := dict(reads)):
            acts = first_acts.OF_ACTS.keys() & (read.keys() | columns.keys())
            joined = {name: first_acts.joined_by(name) for name in acts}
            reads += [(COUNTED_ACTS.table, first_acts.NEEDS), *joined.items()]
        for name, needed in reads:
            columns.setdefault(name, {}).update(dict.fromkeys(needed))
        if COUNTED_ATTENDANCES.table in columns:
            columns[COUNTED_ATTENDANCES.table].update(dict.fromkeys(_OF_RSVPS))
        for name, places in _PLACES.items() if self.for_page else ():
            if name in columns:
                columns[name].update(dict.fromkeys(places))
        for name, chosen in columns.items():
            has = [column.name for column in TABLES[name].columns]
            if (
                exclusion.COLUMN in has
            ):  # of acts of all kinds, their own tables have since when they are gone
                chosen |= dict.fromkeys(one for one in (exclusion.COLUMN, GONE_SINCE.name) if one in has)
        return {name: list(chosen) for name, chosen in columns.items()}

    @property
    def titles(self) -> dict[str, tuple[str, ...]]:
        """The columns of the tables whose titles are shown, which filters do not take away."""
        return {
            titled.table: (titled.key, "title")
            for report in self.reported
            if (titled := report.titled) and titled.key in report.keys
        }

    @property
    def snapshots(self) -> tuple[str, ...]:
        """The columns of events to read of every version."""
        grows = "events" in self.columns and any(report.kind == "growth" for report in self.reported)
        return _STATES if grows else ()


def _declared(reports: Sequence[Report | str]) -> list[Report]:
    """Return the reports, also those that are named; refuse reports by columns that identify people."""
    by_name = {report.name: report for report in STANDARD}
    if isinstance(reports, str):
        raise InvalidArgument(f"reports is a list: reports=[{quoted(reports)}]")
    declared = []
    for asked in reports:
        if isinstance(asked, str) and asked not in by_name:
            raise UnknownReport(f"there is no report {quoted(asked)}; {nearest(asked, by_name)}")
        report = by_name[asked] if isinstance(asked, str) else asked
        if not isinstance(report, Report):
            raise InvalidArgument(
                f"reports is a list of names or of osdi_frames.reports.Report, not {quoted(reports)}"
            )
        for column in TABLES[report.read_from].columns:
            if column.name in report.keys and column.privacy.level == "identifying":
                raise InvalidColumn(f"{report.name}: a report by {column.name} would identify people")
        declared.append(report)
    return declared
