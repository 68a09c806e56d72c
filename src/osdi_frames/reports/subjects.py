"""What reports count: RSVPs of events, of attendances, and signatures, each of the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from osdi_frames.reports import measures
from osdi_frames.reports.measures import Measure
from osdi_frames.reports.titles import CAMPAIGN, EVENT, PETITION, Titled


@dataclass(frozen=True, slots=True)
class Subject:
    """What several reports count: a table, the main count and its unit, the measures, and what to know of them.

    `titled` is the id that has titles, `nothing` are the texts that stand for no value, `rows` is a frame for
    the examples.
    """

    table: str
    count: str
    unit: str
    measures: tuple[Measure, ...]
    titled: Titled
    note: str
    rows: str
    nothing: tuple[str, ...] = ("",)


# A webhook leaves a missing source out; the service's REST API writes the literal `none`.
_NO_SOURCE: Final = ("", "none")
_NONE: Final = "What has no value is the row ``(none)``, so the counts sum to the total"

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
)
SNAPSHOTS: Final = Subject(
    "snapshots",
    "rsvps",
    "RSVPs",
    (measures.RSVPS,),
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
    "RSVPs",
    measures.OF_ATTENDANCES,
    EVENT,
    f"Counts attendances and people. {_NONE}; `people` does not,\nas one person can RSVP to two events.",
    """>>> attendances = pd.DataFrame({
...     "source": ["email", "email", None],
...     "referrer": ["group-a", None, None],
...     "person_id": ["p1", "p2", "p1"],
...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-06-02"], utc=True),
... })""",
    _NO_SOURCE,
)
SIGNATURES: Final = Subject(
    "signatures",
    "signatures",
    "signatures",
    measures.OF_SIGNATURES,
    PETITION,
    "Counts signatures and people: the service's own charts count people once, its tables count\n"
    f"signatures. {_NONE}, and so is the literal ``none`` of the service's API;\n"
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
    _NO_SOURCE,
)
