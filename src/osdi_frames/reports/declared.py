"""Every report, declared once: its function, plot, page, terminal text, files and documentation read it here.

To add a report is to add it to `REPORTS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from osdi_frames.reports import measures
from osdi_frames.reports.columns import By, Period, named_keys
from osdi_frames.reports.measures import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report.

    Attributes
    ----------
    name
        The name of its function, its plot and its files.
    heading
        The heading in the page and the terminal, and the title of the plot.
    about
        What its documentation says: a sentence, and what else is to be known.
    table
        The table whose frame it takes.
    count
        The measure by which rows are ranked, and which is drawn.
    measures
        Its columns.
    kind
        ``groups``: a row for each value; ``over time``: a row for each period, with `by` a column for each
        value; ``growth``: the same for repeated pulls.
    by
        What it groups by; None where the caller says it.
    nothing
        Texts that stand for no value.
    standard
        Whether ``osdi-frames report`` makes it.
    example
        A doctest.
    """

    name: str
    heading: str
    about: str = field(repr=False)
    table: str
    count: str
    measures: tuple[Measure, ...] = field(repr=False)
    kind: Literal["groups", "over time", "growth"] = "groups"
    by: By | None = None
    nothing: tuple[str, ...] = ("",)
    standard: bool = False
    example: str = field(default="", repr=False)

    @property
    def unit(self) -> str:
        """What is counted, as axes name it."""
        return "RSVPs" if self.count == "rsvps" else self.count

    @property
    def periods(self) -> tuple[str, ...]:
        """The names of the keys that are periods."""
        keys = [] if self.by is None else named_keys(self.by, report=self.name)
        return tuple(key.name for _, key in keys if isinstance(key, Period))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it needs."""
        keys = [] if self.by is None else [name for name, _ in named_keys(self.by, report=self.name)]
        needs = [name for measure in self.measures for name in measure.needs]
        return tuple(dict.fromkeys([*keys, *needs]))


def columns_of(reports: Iterable[Report], table: str) -> list[str]:
    """List the columns of a table that reports need, all together."""
    return list(dict.fromkeys(name for report in reports if report.table == table for name in report.columns))


# A webhook leaves a missing source out; the service's REST API writes the literal `none`.
_NO_SOURCE: Final = ("", "none")
_REGION: Final = ("location_country", "location_region")

_COUNTS_RSVPS: Final = """Counts RSVPs (attendances), not people. Events without a value are the row ``(none)``,
so `rsvps` sums to the total. The frame is to hold each event once, as `read_events` reads it."""
_COUNTS_SIGNATURES: Final = """Counts signatures, and people beside: the service's own charts count people once,
its tables count signatures. Missing, blank and the literal ``none`` are the row ``(none)``, so `signatures`
sums to the total; `people` does not, as one person can sign through two sources."""
_COUNTS_ATTENDANCES: Final = """Counts attendances, and people beside. What has no value is the row ``(none)``, so
`rsvps` sums to the total; `people` does not, as one person can RSVP to two events."""

_EVENTS_EXAMPLE: Final = """
>>> events = pd.DataFrame({
...     "event_campaign_id": ["climate", "climate", None],
...     "location_country": ["US", "US", "CA"],
...     "location_region": ["CA", "", "ON"],
...     "total_accepted": [30, 12, 5],
...     "capacity": [40, None, None],
...     "start_date": pd.to_datetime(["2026-05-01 18:00", "2026-07-09 10:00", "2026-05-02 09:30"]),
... })"""
_SIGNATURES_EXAMPLE: Final = """
>>> signatures = pd.DataFrame({
...     "source": ["email", "email", "none", "email"],
...     "referrer": ["group-a", None, None, None],
...     "website": ["example.org", "example.org", None, None],
...     "petition_id": ["x", "x", "y", "y"],
...     "person_id": ["p1", "p1", "p2", None],
...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", None, "2026-07-03"], utc=True),
... })"""
_ATTENDANCES_EXAMPLE: Final = """
>>> attendances = pd.DataFrame({
...     "source": ["email", "email", None],
...     "referrer": ["group-a", None, None],
...     "person_id": ["p1", "p2", "p1"],
...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-06-02"], utc=True),
... })"""


def _of_events(name: str, heading: str, about: str, *, by: By | None, example: str) -> Report:
    return Report(
        name=name,
        heading=heading,
        about=f"{about}\n\n{_COUNTS_RSVPS}",
        table="events",
        count="rsvps",
        measures=measures.OF_EVENTS,
        by=by,
        standard=by is not None,
        example=f"{_EVENTS_EXAMPLE}{example}",
    )


def _of_signatures(
    name: str,
    heading: str,
    about: str,
    *,
    by: By | None,
    example: str,
    columns: tuple[Measure, ...] = measures.OF_SIGNATURES,
) -> Report:
    return Report(
        name=name,
        heading=heading,
        about=f"{about}\n\n{_COUNTS_SIGNATURES}",
        table="signatures",
        count="signatures",
        measures=columns,
        by=by,
        nothing=_NO_SOURCE,
        standard=by is not None,
        example=f"{_SIGNATURES_EXAMPLE}{example}",
    )


def _of_attendances(
    name: str,
    heading: str,
    about: str,
    *,
    by: By | None,
    example: str,
    columns: tuple[Measure, ...] = measures.OF_ATTENDANCES,
) -> Report:
    return Report(
        name=name,
        heading=heading,
        about=f"{about}\n\n{_COUNTS_ATTENDANCES}",
        table="attendances",
        count="rsvps",
        measures=columns,
        by=by,
        nothing=_NO_SOURCE,
        standard=by is not None,
        example=f"{_ATTENDANCES_EXAMPLE}{example}",
    )


REPORTS: Final = (
    _of_events(
        "rsvps_by_campaign",
        "RSVPs by campaign",
        "Sum the RSVPs of each event campaign, most RSVPs first.",
        by="event_campaign_id",
        example="""
>>> report = rsvps_by_campaign(events)
>>> report[["events", "rsvps", "limited_rsvps", "capacity", "fill_rate"]]  # doctest: +NORMALIZE_WHITESPACE
                   events  rsvps  limited_rsvps  capacity  fill_rate
event_campaign_id
climate                 2     42             30        40       0.75
(none)                  1      5              0      <NA>        NaN
>>> campaigns = pd.DataFrame({"event_campaign_id": ["climate"], "title": ["Climate strike"]})
>>> rsvps_by_campaign(events, campaigns)["title"].tolist()
['Climate strike', nan]""",
    ),
    _of_events(
        "rsvps_by_region",
        "RSVPs by region",
        "Sum the RSVPs of each region, told apart by country, most RSVPs first.",
        by=_REGION,
        example="""
>>> rsvps_by_region(events)["rsvps"].to_dict()
{('US', 'CA'): 30, ('US', '(none)'): 12, ('CA', 'ON'): 5}""",
    ),
    _of_events(
        "rsvps_by_month",
        "RSVPs by month of the event",
        "Sum the RSVPs of the events of each month, months without any included.",
        by=Period("start_date"),
        example="""
>>> rsvps_by_month(events)["rsvps"].to_dict()
{'2026-05': 35, '2026-06': 0, '2026-07': 12}""",
    ),
    _of_events(
        "rsvps_by",
        "RSVPs",
        """Sum the RSVPs by any column of the events, by several, or by a period of time.

With a time among the keys the rows are in the order of the keys; a single Grouper shows every period between
the first and the last, with 0 where there was nothing, but no gap of more than ten years.""",
        by=None,
        example="""
>>> rsvps_by(events, "location_region")["rsvps"].to_dict()
{'CA': 30, '(none)': 12, 'ON': 5}
>>> by_month = rsvps_by(events, pd.Grouper(key="start_date", freq="MS"))
>>> by_month[["events", "rsvps"]]  # doctest: +NORMALIZE_WHITESPACE
            events  rsvps
start_date
2026-05-01       2     35
2026-06-01       0      0
2026-07-01       1     12""",
    ),
    Report(
        name="rsvps_over_time",
        heading="RSVPs over time",
        about="""Show how the RSVPs of each campaign grew from pull to pull.

Counts RSVPs. At each pull an event counts with what was last known of it, so one that a later, partial pull
does not have keeps its RSVPs, and one that moved to another campaign takes them along. A deleted event cannot
be told from one that was not pulled: it stays.

The pages of one pull are fetched seconds apart. Rows belong to one pull as long as no `pause` lies between one
fetched_at and the next, and the pull is shown at its last. Too short a pause makes a slow pull two points, the
first of which may be a part of the events; too long a pause makes two pulls one.""",
        table="snapshots",
        count="rsvps",
        measures=(measures.RSVPS,),
        kind="growth",
        example="""
>>> snapshots = pd.DataFrame({
...     "event_id": ["a", "b", "a"],
...     "event_campaign_id": ["climate", "housing", "climate"],
...     "total_accepted": [3, 4, 9],
...     "fetched_at": pd.to_datetime(
...         ["2026-05-01T06:00:00Z", "2026-05-01T06:00:02Z", "2026-05-02T06:00:00Z"]
...     ),
... })
>>> rsvps_over_time(snapshots)  # doctest: +NORMALIZE_WHITESPACE
event_campaign_id          climate  housing
fetched_at
2026-05-01 06:00:02+00:00        3        4
2026-05-02 06:00:00+00:00        9        4""",
    ),
    _of_attendances(
        "rsvps_by_source",
        "RSVPs by source",
        "Count the RSVPs of each source code, most first.",
        by="source",
        example="""
>>> rsvps_by_source(attendances)["rsvps"].to_dict()
{'email': 2, '(none)': 1}""",
    ),
    _of_attendances(
        "rsvps_by_referrer",
        "RSVPs by referrer",
        "Count the RSVPs of each referrer code, most first.",
        by="referrer",
        example="""
>>> rsvps_by_referrer(attendances)["rsvps"].to_dict()
{'(none)': 2, 'group-a': 1}""",
    ),
    _of_attendances(
        "attendances_by_month",
        "RSVPs by the month in which they were made",
        "Count the RSVPs that were made in each month (UTC), months without any included.",
        by=Period("created_date"),
        columns=measures.ATTENDANCES_OVER_TIME,
        example="""
>>> attendances_by_month(attendances)["cumulative"].to_dict()
{'2026-05': 2, '2026-06': 3}""",
    ),
    _of_attendances(
        "attendances_by",
        "RSVPs",
        "Count the RSVPs by any column of the attendances, by several, or by a period of time.",
        by=None,
        example="""
>>> attendances_by(attendances, ["source", "referrer"])["rsvps"].tolist()
[1, 1, 1]""",
    ),
    Report(
        name="attendances_over_time",
        heading="RSVPs over time",
        about="""Count the RSVPs made on each day, week, month or other period, periods without any included.

Periods are as in `signatures_over_time`. No repeated pulls are needed: every attendance has its date.""",
        table="attendances",
        count="rsvps",
        measures=measures.ATTENDANCES_OVER_TIME,
        kind="over time",
        nothing=_NO_SOURCE,
        example=f"""{_ATTENDANCES_EXAMPLE}
>>> attendances_over_time(attendances, "MS")["rsvps"].tolist()
[2, 1]""",
    ),
    _of_signatures(
        "signatures_by_petition",
        "Signatures by petition",
        "Count the signatures of each petition, most first.",
        by="petition_id",
        example="""
>>> petitions = pd.DataFrame({"petition_id": ["x", "y"], "title": ["Save the park", "Save the park"]})
>>> signatures_by_petition(signatures, petitions)[["title", "signatures"]]  # doctest: +NORMALIZE_WHITESPACE
                     title  signatures
petition_id
x            Save the park           2
y            Save the park           2""",
    ),
    _of_signatures(
        "signatures_by_source",
        "Signatures by source",
        "Count the signatures of each source code, most first."
        "\n\n``_`` and ``-`` are the same to the service's targeting but are not merged here.",
        by="source",
        example="""
>>> signatures_by_source(signatures)[["signatures", "people", "share"]]  # doctest: +NORMALIZE_WHITESPACE
        signatures  people  share
source
email            3       1   0.75
(none)           1       1   0.25""",
    ),
    _of_signatures(
        "signatures_by_referrer",
        "Signatures by referrer",
        "Count the signatures of each referrer code, most first."
        "\n\nA referrer often is the sponsoring group's own code, not a person's (interface 2.7).",
        by="referrer",
        example="""
>>> signatures_by_referrer(signatures)["signatures"].to_dict()
{'(none)': 3, 'group-a': 1}""",
    ),
    _of_signatures(
        "signatures_by_website",
        "Signatures by website",
        "Count the signatures that came from each website, most first."
        "\n\nThe service sends a host or a whole address (interface 2.7); each is shown as it was sent.",
        by="website",
        example="""
>>> signatures_by_website(signatures)["people"].to_dict()
{'(none)': 1, 'example.org': 1}""",
    ),
    _of_signatures(
        "signatures_by_region",
        "Signatures by region",
        "Count the signatures of each region, told apart by country, most first.",
        by=_REGION,
        example="""
>>> signatures_by_region(signatures.assign(location_country="US", location_region="CA"))["signatures"].to_dict()
{('US', 'CA'): 4}""",
    ),
    _of_signatures(
        "signatures_by_month",
        "Signatures by month",
        "Count the signatures of each month (UTC), months without any included.",
        by=Period("created_date"),
        columns=measures.SIGNATURES_OVER_TIME,
        example="""
>>> signatures_by_month(signatures)["signatures"].to_dict()
{'2026-05': 2, '2026-06': 0, '2026-07': 1, '(no date)': 1}""",
    ),
    _of_signatures(
        "signatures_by",
        "Signatures",
        """Count the signatures by any column, by several, or by a period of time.

With a time among the keys the rows are in the order of the keys. A list-valued column is refused: a signature
with two tags would count twice.""",
        by=None,
        example="""
>>> signatures_by(signatures, ["petition_id", "source"])["signatures"].to_dict()
{('x', 'email'): 2, ('y', '(none)'): 1, ('y', 'email'): 1}""",
    ),
    Report(
        name="signatures_over_time",
        heading="Signatures over time",
        about="""Count the signatures of each day, week, month or other period, periods without any included.

Counts signatures, and people beside. Periods are named by their start, in UTC: a week by its first day ("W" is
Monday to Sunday), a month by its first; gaps of more than ten years are left out. Signatures without a
created_date (the service's "send test") are the row ``NaT``, last, and only there if there are any:
``report[report.index.notna()]`` is without it.""",
        table="signatures",
        count="signatures",
        measures=measures.SIGNATURES_OVER_TIME,
        kind="over time",
        nothing=_NO_SOURCE,
        example=f"""{_SIGNATURES_EXAMPLE}
>>> signatures_over_time(signatures, "MS")  # doctest: +NORMALIZE_WHITESPACE
                           signatures  people  cumulative
created_date
2026-05-01 00:00:00+00:00           2       1           2
2026-06-01 00:00:00+00:00           0       0           2
2026-07-01 00:00:00+00:00           1       0           3
NaT                                 1       1           4
>>> signatures_over_time(signatures, "YS", by="source")  # doctest: +NORMALIZE_WHITESPACE
source                     email  (none)
created_date
2026-01-01 00:00:00+00:00      3       0
NaT                            0       1""",
    ),
)
"""Every report; those of the standard set in the order in which ``osdi-frames report`` makes them."""

STANDARD: Final = tuple(report for report in REPORTS if report.standard)
