"""The standard set of reports: those that ``osdi-frames report`` makes, in its order."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import pandas as pd

from osdi_frames.reports.rsvps import rsvps_by, rsvps_by_campaign
from osdi_frames.reports.signatures import (
    signatures_by,
    signatures_by_referrer,
    signatures_by_source,
    signatures_by_website,
    signatures_over_time,
)

EVENT_COLUMNS: Final = ("event_campaign_id", "total_accepted", "capacity", "start_date", "location_region")
SIGNATURE_COLUMNS: Final = (
    "source",
    "referrer",
    "website",
    "location_region",
    "person_id",
    "created_date",
)
"""The columns of a table that its standard reports need, all together."""

PLACE_COLUMNS: Final = ("location_latitude", "location_longitude")
"""The columns of the events that a map beside the reports needs, too."""


@dataclass(frozen=True, slots=True)
class StandardReport:
    """A report of the set: what it is called, of which table it is, and what makes it."""

    name: str
    heading: str
    table: Literal["events", "signatures"]
    report: Callable[..., pd.DataFrame]
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make the report of a frame of the table."""
        # Copied, since pandas keeps notes in a Grouper.
        return self.report(frame, **copy.deepcopy(dict(self.options)))


REPORTS: Final = (
    StandardReport("rsvps_by_campaign", "RSVPs by campaign", "events", rsvps_by_campaign),
    StandardReport("rsvps_by_region", "RSVPs by region", "events", rsvps_by, {"by": "location_region"}),
    StandardReport(
        "rsvps_by_month",
        "RSVPs by month of the event",
        "events",
        rsvps_by,
        {"by": pd.Grouper(key="start_date", freq="MS")},
    ),
    StandardReport("signatures_by_source", "Signatures by source", "signatures", signatures_by_source),
    StandardReport("signatures_by_referrer", "Signatures by referrer", "signatures", signatures_by_referrer),
    StandardReport("signatures_by_website", "Signatures by website", "signatures", signatures_by_website),
    StandardReport(
        "signatures_by_region",
        "Signatures by region",
        "signatures",
        signatures_by,
        {"by": "location_region"},
    ),
    StandardReport(
        "signatures_by_month", "Signatures by month", "signatures", signatures_over_time, {"freq": "MS"}
    ),
)
