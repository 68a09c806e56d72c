"""Every report, declared once: its function, plot, page, terminal text, files and documentation read it here.

To add a report is to add it to `REPORTS`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

import pandas as pd

from osdi_frames.reports import measures
from osdi_frames.reports.groups import By, Period, contexts, named_keys
from osdi_frames.reports.measures import Measure
from osdi_frames.reports.titles import CAMPAIGN, EVENT, PETITION, TITLED, Titled, heading


@dataclass(frozen=True, slots=True)
class Subject:
    """What several reports count.

    It has a table, the main count and its unit, the measures, and what to know of them.

    `titled` is the id that has titles, `nothing` are the texts that stand for no value, `rows` is a frame for
    the examples, `verb` says how its documentation begins.
    """

    table: str
    count: str
    unit: str
    measures: tuple[Measure, ...]
    titled: Titled
    note: str
    rows: str
    nothing: tuple[str, ...] = ("",)
    verb: str = "Count"


# A webhook leaves a missing source out; the service's REST API writes the literal `none`.
NO_SOURCE: Final = ("", "none")
_NONE: Final = "What has no value is the row ``(none)``, so the counts sum to the total"
_NONE_SOURCE: Final = f"{_NONE}, and so is the literal\n``none`` of the service's API"

EVENTS: Final = Subject(
    "events",
    "rsvps",
    "RSVPs",
    measures.OF_EVENTS,
    CAMPAIGN,
    f"Counts RSVPs (attendances), not people. {_NONE}. The frame is to hold each event once, as\n"
    "`read_events` reads it; `rsvps_over_time` takes repeated pulls.",
    """>>> events = pd.DataFrame({
...     "event_campaign_id": ["climate", "climate", None],
...     "location_country": ["US", "US", "CA"],
...     "location_region": ["CA", "", "ON"],
...     "total_accepted": [30, 12, 5],
...     "capacity": [40, None, None],
...     "start_date": pd.to_datetime(["2026-05-01 18:00", "2026-07-09 10:00", "2026-05-02 09:30"]),
... })""",
    verb="Sum",
)
GROWTH: Final = Subject(
    "snapshots",
    "rsvps",
    "RSVPs",
    (measures.KNOWN_RSVPS,),
    CAMPAIGN,
    "Counts RSVPs (attendances), not people.",
    """>>> snapshots = pd.DataFrame({
...     "event_id": ["a", "b", "a"],
...     "event_campaign_id": ["climate", "housing", "climate"],
...     "total_accepted": [3, 4, 9],
...     "fetched_at": pd.to_datetime(["2026-05-01T06:00:00Z", "2026-05-01T06:00:02Z", "2026-05-02T06:00:00Z"]),
... })""",
)
ATTENDANCES: Final = Subject(
    "attendances",
    "rsvps",
    "attendances",
    measures.OF_ATTENDANCES,
    EVENT,
    "Counts attendances, the RSVPs that an archive has one by one, and people: the sum can differ from the service's\n"
    f"own totals, which reports of events count. {_NONE_SOURCE};\n"
    "`people` has no total, as one person can RSVP to two events.",
    """>>> attendances = pd.DataFrame({
...     "source": ["email", "email", None],
...     "referrer": ["group-a", None, None],
...     "location_country": ["US", "US", None],
...     "location_region": ["CA", "California", None],
...     "event_id": ["march", "march", "picnic"],
...     "person_id": ["p1", "p2", "p1"],
...     "attended": False,
...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-06-02"], utc=True),
... })""",
    NO_SOURCE,
)
SIGNATURES: Final = Subject(
    "signatures",
    "signatures",
    "signatures",
    measures.OF_SIGNATURES,
    PETITION,
    "Counts signatures and people: the service's own charts count people once, its tables count\n"
    f"signatures. {_NONE_SOURCE};\n"
    "`people` has no total, as one person can sign through two sources.",
    """>>> signatures = pd.DataFrame({
...     "source": ["email", "email", "none", "email"],
...     "referrer": ["group-a", None, None, None],
...     "website": ["example.org", "example.org", None, None],
...     "location_country": ["US", "US", "US", None],
...     "location_region": ["CA", "CA", "CA", None],
...     "petition_id": ["x", "x", "y", "y"],
...     "person_id": ["p1", "p1", "p2", None],
...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", None, "2026-07-03"], utc=True),
... })""",
    NO_SOURCE,
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
    about
        The first sentence of its documentation, and what else is to be known.
    by
        What it groups by, and ``osdi-frames report`` makes it; None where the caller says it.
    kind
        ``groups``: a row for each value; ``over time``: a row for each period, with `by` a column for each
        value; ``growth``: the same for repeated pulls.
    own_measures
        Its columns, where they are not those of the subject.
    joined
        The key that the rows of another table have.
    example
        The values of its count that its documentation shows, and then the arguments where there are any.
    """

    subject: Subject = field(repr=False)
    name: str
    heading: str = field(repr=False)
    about: str = field(repr=False)
    by: By | None = field(default=None, repr=False)
    kind: Literal["groups", "over time", "growth"] = field(default="groups", repr=False)
    own_measures: tuple[Measure, ...] = field(default=(), repr=False)
    example: tuple[str, ...] = field(default=(), repr=False)
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

    def shown(self, frame: pd.DataFrame) -> tuple[Measure, ...]:
        """Return the measures that are shown of a frame."""
        found = (measure for measure in self.measures if measure.name in frame.columns)
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
        """The columns that it needs of each table.

        Its own table is the first.
        """
        own = {self.read_from: (*self.columns, *contexts(self.keys))}
        titled = self.titled
        return own | ({titled.table: (titled.key, "title")} if titled.table != self.read_from else {})

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
_STATES: Final = """\
At each pull an event counts with what was last known of it, so one that a later, partial pull does not have keeps its
RSVPs, and one that moved to another campaign takes them along. So does a deleted one, unless the column `excluded`
says of its last row that it is ``gone``: that is known of resolved events, as in `Archive.report`, and not of rows that
were read with ``dedupe=False``.

The pages of one pull are fetched seconds apart. Rows belong to one pull as long as no `pause` lies between one
fetched_at and the next, and the pull is shown at its last. Too short a pause makes a slow pull two points, the first
of which may be a part of the events; too long a pause makes two pulls one."""


def _ranked(subject: Subject, word: str, by: By, of_each: str, example: str, more: str = "") -> Report:
    """Declare a report by value, largest count first."""
    about = f"{subject.verb} the {subject.unit} {of_each}, most first.{more}"
    name = f"{subject.count}_by_{word}"
    return Report(subject, name, f"{heading(subject.unit)} by {word}", about, by, example=(example,))


def _by_any(subject: Subject, name: str, argument: str, example: str) -> Report:
    """Declare a report by what the caller names."""
    about = f"""{subject.verb} the {subject.unit} by any column, by several, or by a period of time.

With a time among the keys the rows are in the order of the keys; a single Grouper shows every period between the
first and the last, with 0 where there was nothing, but no gap of more than ten years. A list-valued column is
refused: a row with two values would count twice."""
    return Report(subject, name, heading(subject.unit), about, example=(example, argument))


def _over_time(subject: Subject, columns: tuple[Measure, ...], example: str) -> Report:
    """Declare a report by periods that the caller chooses."""
    about = f"""Count the {subject.unit} of each day, week, month or other period, periods without any included.

Periods are named by their start, in UTC: a week ("W" is Monday to Sunday) by its Monday, where a pandas Grouper takes
its Sunday; a month by its first day. Gaps of more than ten years are left out. What has no created_date (the service's
"send test") is the row ``NaT``, last, and only there if there is any; ``report[report.index.notna()]`` is without
it."""
    name, title = f"{subject.table}_over_time", f"{heading(subject.unit)} over time"
    return Report(
        subject, name, title, about, kind="over time", own_measures=columns, example=(example, "freq='MS'")
    )


REPORTS: Final = (
    _ranked(
        EVENTS, "campaign", "event_campaign_id", "of each event campaign", "{'climate': 42, '(none)': 5}"
    ),
    _ranked(
        EVENTS,
        "region",
        _REGION,
        "of each region and country",
        "{('US', 'CA'): 30, ('US', '(none)'): 12, ('CA', 'ON'): 5}",
    ),
    Report(
        EVENTS,
        "rsvps_by_month",
        "RSVPs by month of the event",
        "Sum the RSVPs of the events of each month, months without any included.",
        Period("start_date"),
        example=("{'2026-05': 35, '2026-06': 0, '2026-07': 12}",),
    ),
    _by_any(EVENTS, "rsvps_by", "'location_region'", "{'CA': 30, '(none)': 12, 'ON': 5}"),
    Report(
        GROWTH,
        "rsvps_by_pull",
        "RSVPs by the service's totals at each pull",
        f"Sum the RSVPs that were known at each pull.\n\n{_STATES}",
        "event_campaign_id",
        "growth",
        measures.BY_PULL,
        ("[[7, <NA>], [13, 6]]",),
    ),
    Report(
        GROWTH,
        "rsvps_over_time",
        "RSVPs over time",
        f"Show how the RSVPs of each campaign grew from pull to pull.\n\n{_STATES}",
        kind="growth",
        example=("[[3, 4], [9, 4]]",),
    ),
    _ranked(ATTENDANCES, "source", "source", "of each source code", "{'email': 2, '(none)': 1}"),
    _ranked(ATTENDANCES, "referrer", "referrer", "of each referrer code", "{'(none)': 2, 'group-a': 1}"),
    Report(
        ATTENDANCES,
        "attendances_by_campaign",
        "Attendances by campaign",
        "Count the attendances of the events of each event campaign, most first.",
        "event_campaign_id",
        example=(
            "{'climate': 2, '(none)': 1}",
            "pd.DataFrame({'event_id': ['march', 'picnic'], 'event_campaign_id': ['climate', None]})",
        ),
        joined=Joined("events", "event_id", "event_campaign_id"),
    ),
    Report(
        ATTENDANCES,
        "attendances_by_region",
        "Attendances by region",
        "Count the attendances of the people of each region and country, most first.",
        _REGION,
        example=("{('US', 'CA'): 2, ('(none)', '(none)'): 1}",),
    ),
    Report(
        ATTENDANCES,
        "attendances_by_month",
        "Attendances by the month of the RSVP",
        "Count the attendances whose RSVP was made in each month (UTC), months without any included.",
        Period("created_date"),
        own_measures=measures.ATTENDANCES_OVER_TIME,
        example=("{'2026-05': 2, '2026-06': 1}",),
    ),
    _by_any(
        ATTENDANCES,
        "attendances_by",
        "['source', 'referrer']",
        "{('(none)', '(none)'): 1, ('email', '(none)'): 1, ('email', 'group-a'): 1}",
    ),
    _over_time(ATTENDANCES, measures.ATTENDANCES_OVER_TIME, "[[2, 2, 2], [1, 1, 3]]"),
    _ranked(SIGNATURES, "petition", "petition_id", "of each petition", "{'x': 2, 'y': 2}"),
    _ranked(
        SIGNATURES,
        "source",
        "source",
        "of each source code",
        "{'email': 3, '(none)': 1}",
        "\n\n``_`` and ``-`` are the same to the service's targeting, and here.",
    ),
    _ranked(
        SIGNATURES,
        "referrer",
        "referrer",
        "of each referrer code",
        "{'(none)': 3, 'group-a': 1}",
        "\n\nA referrer often is the sponsoring group's own code, not a person's (interface 2.7).",
    ),
    _ranked(
        SIGNATURES,
        "website",
        "website",
        "that came from each website",
        "{'(none)': 2, 'example.org': 2}",
        "\n\nThe service sends a host or a whole address (interface 2.7); the host is shown, without ``www.``, or by\n"
        '``spelling="exact"`` what was sent.',
    ),
    _ranked(
        SIGNATURES,
        "region",
        _REGION,
        "of each region and country",
        "{('US', 'CA'): 3, ('(none)', '(none)'): 1}",
    ),
    Report(
        SIGNATURES,
        "signatures_by_month",
        "Signatures by month",
        "Count the signatures of each month (UTC), months without any included.",
        Period("created_date"),
        own_measures=measures.SIGNATURES_OVER_TIME,
        example=("{'2026-05': 2, '2026-06': 0, '2026-07': 1, '(no date)': 1}",),
    ),
    _by_any(
        SIGNATURES,
        "signatures_by",
        "['petition_id', 'source']",
        "{('x', 'email'): 2, ('y', '(none)'): 1, ('y', 'email'): 1}",
    ),
    _over_time(SIGNATURES, measures.SIGNATURES_OVER_TIME, "[[2, 1, 2], [0, 0, 2], [1, 0, 3], [1, 1, 4]]"),
)
"""Every report; those of the standard set in the order in which ``osdi-frames report`` makes them."""

#: Those of the standard set. An archive's report does not join: its filters on events by date would leave attendances
#: without a campaign.
KEYED: Final = tuple(report for report in REPORTS if report.by is not None and report.joined is None)
