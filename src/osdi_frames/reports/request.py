"""The request for a report of an archive: the reports to make, their settings, and the columns to read for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from osdi_frames.arrow import same_texts
from osdi_frames.clock import name_of, zone_of
from osdi_frames.errors import InvalidArgument, InvalidColumn, UnknownReport
from osdi_frames.messages import nearest, quoted
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import FIRST_ACTS_NEED, OF_ACTS, joined_by
from osdi_frames.reports.declared import COUNTED_ACTS, COUNTED_ATTENDANCES, OF_ARCHIVES, STANDARD
from osdi_frames.reports.known import Duration
from osdi_frames.reports.report import Report
from osdi_frames.reports.spelling import Spelling, checked_spelling
from osdi_frames.resolving.filters import Filtering, Filters
from osdi_frames.tables import TABLES
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.resource import GONE_SINCE

#: The columns of tables that the headline figures and what needs attention are made of, whatever the reports.
HEADLINE: Final = {
    "events": ("event_id", "event_campaign_id", "total_accepted", "start_date", "status"),
    "signatures": ("person_id", "created_date"),
}
#: The same for attendances, which are read only if a report counts them.
_OF_RSVPS: Final = ("event_id", "person_id", "attended", "created_date", "status")
#: The columns of every version of events, for reports on growth.
_STATES: Final = ("event_id", "fetched_at", "total_accepted", "event_campaign_id", "source_file")
#: The columns for the map: without towns of people, whose coordinates it rounds to ten kilometres.
_PLACES: Final = {
    "events": ("location_latitude", "location_longitude", "location_locality"),
    "signatures": ("location_latitude", "location_longitude"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """The reports to make, and what they count and show."""

    reports: Sequence[Report] = STANDARD
    show_addresses: bool = False
    """Whether titles show e-mail addresses."""
    min_count: int | None = None
    """The smallest count of people to show; None shows all."""
    include: tuple[str, ...] = ()
    """The reasons of excluded rows that are counted nevertheless."""
    exclude_sources: tuple[str, ...] = ()
    """Patterns of sources and referrers of which acts are not counted."""
    spelling: Spelling = "merged"
    compare: Duration = "W"
    """The length of the two periods that are compared, as for `compare`."""
    now: datetime | None = None
    """The present, after which dates are doubtful in frames without a time of receipt."""
    goals: Mapping[str, int] = field(default_factory=dict)
    """The number of signatures that each petition should reach, by id or title."""
    filters: Filters = field(default_factory=Filters)
    timezone: str | None = None
    """The zone of the archive's handle, whose wall clock periods are of."""
    for_page: bool = False
    """Whether the page is made, which also shows the map and the problems of the archive."""

    def __post_init__(self) -> None:
        """Find reports by their names; add the reasons that the filters ask for to `include`."""
        object.__setattr__(self, "reports", _declared(self.reports))
        include = exclusion.included(self.include)
        # A filter for cancelled events by their status asks to count them.
        statuses = pa.array(Filtering(self.filters).asked.get("status", ()), pa.string())
        by_status = [
            rule.reason for rule in EVENT.exclusions if len(same_texts(statuses, rule.texts("status")))
        ]
        object.__setattr__(self, "include", tuple(dict.fromkeys([*include, *by_status])))
        object.__setattr__(self, "exclude_sources", exclusion.checked_patterns(self.exclude_sources))
        checked_spelling(self.spelling)
        if self.min_count is not None and (not isinstance(self.min_count, int) or self.min_count < 1):
            raise InvalidArgument(f"min_count is the smallest count to show, not {quoted(self.min_count)}")

    @property
    def settings(self) -> str:
        """The settings that the counts of a report with hidden counts depend on, as text."""
        settings: dict[str, Any] = {
            "min_count": self.min_count,
            "include": sorted(self.include),
            "spelling": self.spelling,
        }
        settings |= {"show_addresses": self.show_addresses, **Filtering(self.filters).asked}
        if self.exclude_sources:
            settings["exclude_sources"] = sorted(map(str.casefold, self.exclude_sources))
        if self.timezone is not None:
            settings["timezone"] = name_of(zone_of(self.timezone))
        return json.dumps(settings, sort_keys=True, default=str)

    @property
    def unreported(self) -> list[str]:
        """The tables that cannot be filtered, and so are not reported."""
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
        """The reports whose tables are reported; `goals` only with goals."""
        unreported = self.unreported
        reports = (declared for declared in self.reports if declared.name != "goals" or self.goals)
        return [declared for declared in reports if declared.read_from not in unreported]

    @property
    def unpublished(self) -> list[Report]:
        """The reports that would reveal hidden counts."""
        return [report for report in self._asked if self.min_count is not None and not report.is_published]

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns to read for the reports and the headline figures, by table."""
        filtering = Filtering(self.filters)
        headline = [name for name in HEADLINE if filtering.leads_to(TABLES[name].element)]
        columns = {name: dict.fromkeys(HEADLINE[name]) for name in headline}
        reads = [
            (name, needed)
            for declared in self.reported
            for name, needed in declared.reads.items()
            if filtering.leads_to(TABLES[name].element)
        ]
        if COUNTED_ACTS.table in (tables := dict(reads)):
            acts = OF_ACTS.keys() & (tables.keys() | columns.keys())
            joined = {name: joined_by(name) for name in acts}
            reads += [(COUNTED_ACTS.table, FIRST_ACTS_NEED), *joined.items()]
        for name, needed in reads:
            columns.setdefault(name, {}).update(dict.fromkeys(needed))
        if COUNTED_ATTENDANCES.table in columns:
            columns[COUNTED_ATTENDANCES.table].update(dict.fromkeys(_OF_RSVPS))
        for name, places in _PLACES.items() if self.for_page else ():
            if name in columns:
                columns[name].update(dict.fromkeys(places))
        for name, names in columns.items():
            declared_names = [column.name for column in TABLES[name].columns]
            if exclusion.COLUMN in declared_names:  # the table of all acts has it without GONE_SINCE
                excluding = [exclusion.COLUMN, GONE_SINCE.name]
                excluding += exclusion.CODES if self.exclude_sources else ()
                names |= dict.fromkeys(column for column in excluding if column in declared_names)
        return {name: list(names) for name, names in columns.items()}

    @property
    def titles(self) -> dict[str, tuple[str, ...]]:
        """The columns of the tables whose titles are shown, to read without filters."""
        return {
            titled.table: (titled.key, "title")
            for report in self.reported
            if (titled := report.titled) and titled.key in report.keys
        }

    @property
    def snapshots(self) -> tuple[str, ...]:
        """The columns to read of every version of events, for reports on growth; empty without such a report."""
        grows = "events" in self.columns and any(report.kind == "growth" for report in self.reported)
        return _STATES if grows else ()


def _declared(reports: Sequence[Report | str]) -> list[Report]:
    """Return declarations and names of reports as declarations; raise an error for one by an identifying column."""
    by_name = {report.name: report for report in OF_ARCHIVES}
    if isinstance(reports, str):
        raise InvalidArgument(f"reports is a list: reports=[{quoted(reports)}]")
    declared = []
    for name in reports:
        if isinstance(name, str) and name not in by_name:
            raise UnknownReport(f"there is no report {quoted(name)}; {nearest(name, by_name)}")
        report = by_name[name] if isinstance(name, str) else name
        if not isinstance(report, Report):
            raise InvalidArgument(
                f"reports is a list of names or of osdi_frames.reports.Report, not {quoted(reports)}"
            )
        for column in TABLES[report.read_from].columns:
            if column.name in report.keys and column.privacy.level == "identifying":
                raise InvalidColumn(f"{report.name}: a report by {column.name} would identify people")
        declared.append(report)
    return declared
