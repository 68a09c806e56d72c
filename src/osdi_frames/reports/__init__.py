"""Reports: what staff ask of events and signatures, DataFrame in, DataFrame out.

::

    rsvps_by_campaign     RSVPs and capacity of each campaign     counts RSVPs
    rsvps_by              the same by any column, or by period    counts RSVPs
    rsvps_over_time       growth, from repeated pulls             counts RSVPs
    signatures_by_source  and _by_referrer, _by_website           counts signatures; people beside
    signatures_by         the same by any column, or by period    counts signatures; people beside
    signatures_over_time  by hour, day, week, month               counts signatures; people beside

Every row of a frame is counted in some row of its report, so the sums equal the totals: what has no value
is the row ``(none)``, for times ``NaT``, for numbers and booleans ``NA``. A key column without any value
counts as text, unless it is one of times.

A report takes a frame with the columns of the tables `events` and `signatures`, whoever made it: read back
from Parquet by pandas, polars or DuckDB, with text as ``object``, ``category`` or Arrow, with counts as
``float64``, with any index. The report is the same, and the frame is left as it was.
"""

from osdi_frames.reports.columns import By
from osdi_frames.reports.rsvps import rsvps_by, rsvps_by_campaign, rsvps_over_time
from osdi_frames.reports.signatures import (
    signatures_by,
    signatures_by_referrer,
    signatures_by_source,
    signatures_by_website,
    signatures_over_time,
)
from osdi_frames.tables.schema import NONE

__all__ = [
    "NONE",
    "By",
    "rsvps_by",
    "rsvps_by_campaign",
    "rsvps_over_time",
    "signatures_by",
    "signatures_by_referrer",
    "signatures_by_source",
    "signatures_by_website",
    "signatures_over_time",
]
