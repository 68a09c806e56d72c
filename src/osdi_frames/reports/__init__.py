"""Reports on events, attendances and signatures; each takes a DataFrame and returns one.

Each report by a key is declared once, in `osdi_frames.reports.declared`; its function, the plot of the same name, the
page, the terminal's text and the files of ``osdi-frames report`` read that declaration. Reports on people and change
have functions of their own: `engagement`, `retention`, `repeats`, `hosts`, `funnel`, `attribution` and `growth` take a
frame of acts, `compare` and `weekday_hours` any frame with times.

Every row of a frame is counted in some row of its report, so the sums equal the totals. Rows without a value are
counted in the row ``(none)``; in ``NaT`` or ``(no date)`` if the key is a time, in ``NA`` if it is a number or a
boolean. A key column without any value counts as text, unless its type is a time.

Frames that pandas, polars or DuckDB read back from Parquet give the same report: text may be ``object``, ``category``
or Arrow, counts may be ``float64``, the index may be any. Of a Dask DataFrame only the needed columns are computed. No
report changes its frame.

One report:

- `report`: the declaration of a report; `declared`: all reports
- `making`: computes a declared report of a frame; `columns`: checks and converts the columns of a caller's frame
- `groups`: groups rows by values and periods; `spelling`: merges the spellings of one value
- `measures`: the columns of reports, their computation and their format; `titles`: titles of ids, names of columns
- `exclusion`: the rows that are not counted; `known`: the newest date that is not doubtful

The functions, by the frame that they take:

- `rsvps`: events; `attendances`: attendances; `signatures`: signatures
- `change`, `participation`, `conversion`: acts; `goals`: signatures; `hours`: any frame with local times
- `upcoming`: the events to come
- `supporters`: acts, one row a person, and people by level
- `acts`: the acts that these count, and the rows that are their person's first act

The report of an archive:

- `request`: the reports to make and the columns to read; `archive_report`: makes them; `result`: reports with notes
- `headline`: the figures in its first line; `glance`: the last period in words; `printed`: a report as text;
  `movers`: the largest changes
- `suppression`: hides small counts; `protection`, `people_protection`: find the counts to hide
- `published`: the counts of the previous report, so that small changes are hidden, too
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
from osdi_frames.reports.change import activity, changes, compare
from osdi_frames.reports.conversion import attribution, funnel, growth
from osdi_frames.reports.declared import DECLARED, REPORTS, STANDARD
from osdi_frames.reports.goals import goals
from osdi_frames.reports.groups import By, Period
from osdi_frames.reports.hours import weekday_hours
from osdi_frames.reports.making import Counting, make
from osdi_frames.reports.participation import acts_by, amounts_by, engagement, repeats, retention
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
from osdi_frames.reports.supporters import Levels, hosts, people_by_level, supporter_amounts, supporters
from osdi_frames.reports.suppression import suppress
from osdi_frames.reports.upcoming import upcoming
from osdi_frames.tables.schema import NO_DATE, NONE

__all__ = [
    "DECLARED",
    "NONE",
    "NO_DATE",
    "REPORTS",
    "STANDARD",
    "By",
    "Counting",
    "Levels",
    "Period",
    "Report",
    "activity",
    "acts_by",
    "amounts_by",
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
    "growth",
    "hosts",
    "make",
    "people_by_level",
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
    "supporter_amounts",
    "supporters",
    "suppress",
    "upcoming",
    "weekday_hours",
]


def __dir__() -> list[str]:
    return sorted(__all__)
