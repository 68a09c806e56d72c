"""Reports: what staff ask of events, attendances and signatures; each takes a DataFrame and returns one.

Each report is declared once, in `osdi_frames.reports.declared`; its function, the plot of the same name, the page,
the terminal's text and the files of ``osdi-frames report`` read that declaration.
Those on people and change are functions of their own: `engagement`, `retention`, `repeats`, `hosts`, `funnel` and
`attribution` of a frame of acts, `compare` and `weekday_hours` of any frame with times.

Every row of a frame is counted in some row of its report, so the sums equal the totals: what has no value
is the row ``(none)``, for times ``NaT`` or ``(no date)``, for numbers and booleans ``NA``. A key column
without any value counts as text, unless it is one of times.

Frames read back from Parquet work too, by pandas, polars or DuckDB, with text as ``object``, ``category`` or
Arrow, with counts as ``float64``, with any index; and Dask DataFrames, of which the columns that are counted are
computed. The report is the same, and the frame is left as it was.

What a report is, and how one is made:

- `report`: what a report is; `declared`: every report
- `making`: computes a declared report of a frame; `columns`: the columns of a caller's frame, converted
- `groups`: values and periods to count by; `spelling`: the spellings of one value
- `measures`: what is computed of each group, and how it is shown; `titles`: what ids and columns are called
- `exclusion`: the rows that are not counted; `known`: up to when dates are known

The functions, by what they take:

- `rsvps`: events; `attendances`: attendances; `signatures`: signatures
- `change`, `participation`, `conversion`: acts; `goals`: signatures; `hours`: any frame with local times
- `acts`: the acts that these count; `first_acts`: whom rows brought

The report of an archive:

- `request`: which reports, of which rows; `archive_report`: makes them; `result`: the reports with what to say of them
- `headline`: its figures, and how RSVPs compare with attendances; `printed`: text; `movers`: the largest changes
- `suppression`: small counts hidden in reports; `protection`, `people_protection`: which counts these are
- `published`: what the report before showed, so that small changes are hidden, too
"""

from __future__ import annotations

from osdi_frames.reports.attendances import (
    attendances_by,
    attendances_by_campaign,
    attendances_by_month,
    attendances_by_referrer,
    attendances_by_region,
    attendances_by_source,
    attendances_over_time,
)
from osdi_frames.reports.change import changes, compare
from osdi_frames.reports.conversion import attribution, funnel
from osdi_frames.reports.declared import DECLARED, REPORTS, STANDARD
from osdi_frames.reports.goals import goals
from osdi_frames.reports.groups import By, Period
from osdi_frames.reports.hours import weekday_hours
from osdi_frames.reports.making import Counting, make
from osdi_frames.reports.participation import engagement, hosts, repeats, retention
from osdi_frames.reports.report import Report
from osdi_frames.reports.rsvps import (
    rsvps_by,
    rsvps_by_campaign,
    rsvps_by_month,
    rsvps_by_pull,
    rsvps_by_region,
    rsvps_over_time,
)
from osdi_frames.reports.signatures import (
    signatures_by,
    signatures_by_month,
    signatures_by_petition,
    signatures_by_referrer,
    signatures_by_region,
    signatures_by_source,
    signatures_by_website,
    signatures_over_time,
)
from osdi_frames.reports.suppression import suppress
from osdi_frames.tables.schema import NO_DATE, NONE

__all__ = [
    "DECLARED",
    "NONE",
    "NO_DATE",
    "REPORTS",
    "STANDARD",
    "By",
    "Counting",
    "Period",
    "Report",
    "attendances_by",
    "attendances_by_campaign",
    "attendances_by_month",
    "attendances_by_referrer",
    "attendances_by_region",
    "attendances_by_source",
    "attendances_over_time",
    "attribution",
    "changes",
    "compare",
    "engagement",
    "funnel",
    "goals",
    "hosts",
    "make",
    "repeats",
    "retention",
    "rsvps_by",
    "rsvps_by_campaign",
    "rsvps_by_month",
    "rsvps_by_pull",
    "rsvps_by_region",
    "rsvps_over_time",
    "signatures_by",
    "signatures_by_month",
    "signatures_by_petition",
    "signatures_by_referrer",
    "signatures_by_region",
    "signatures_by_source",
    "signatures_by_website",
    "signatures_over_time",
    "suppress",
    "weekday_hours",
]


def __dir__() -> list[str]:
    return sorted(__all__)
