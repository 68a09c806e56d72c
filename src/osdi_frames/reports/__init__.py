"""Reports: what staff ask of events, attendances and signatures; each takes a DataFrame and returns one.

Each report is declared once, in `osdi_frames.reports.declared`; the functions here, the plots of the same
names, the page, the terminal's text and the files of ``osdi-frames report`` are made from that declaration.
Those on people and change are functions of their own: `engagement`, `retention`, `repeats`, `hosts`, `funnel` and
`attribution` of a frame of acts, `compare` and `weekday_hours` of any frame with times.

Every row of a frame is counted in some row of its report, so the sums equal the totals: what has no value
is the row ``(none)``, for times ``NaT`` or ``(no date)``, for numbers and booleans ``NA``. A key column
without any value counts as text, unless it is one of times.

Frames read back from Parquet work too, by pandas, polars or DuckDB, with text as ``object``, ``category`` or
Arrow, with counts as ``float64``, with any index; and Dask DataFrames, of which the columns that are counted are
computed. The report is the same, and the frame is left as it was.

- `declared`: every report; `making`: a report computed of a frame, as declared
- `measures`: what is computed of each group, and of all rows; `groups`: values, spellings and periods to count by
- `exclusion`: the rows that are not counted; `titles`: what ids and columns are shown as
- `archive_report`: the standard reports of an archive; `suppression`, `protection`: small counts that are hidden
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from osdi_frames.reports.analyses import CHANGES, PEOPLE, Analysis
from osdi_frames.reports.change import changes, compare
from osdi_frames.reports.conversion import attribution, funnel
from osdi_frames.reports.declared import KEYED, REPORTS, Report
from osdi_frames.reports.goals import goals
from osdi_frames.reports.groups import By, Period
from osdi_frames.reports.hours import weekday_hours
from osdi_frames.reports.making import function_of
from osdi_frames.reports.participation import engagement, hosts, repeats, retention
from osdi_frames.reports.suppression import suppress
from osdi_frames.tables.schema import NO_DATE, NONE

#: What an archive's report is made of, in its order.
STANDARD: tuple[Report | Analysis, ...] = (*CHANGES, *KEYED, *PEOPLE)

FUNCTIONS = {report.name: function_of(report) for report in REPORTS}
globals().update(FUNCTIONS)

__all__ = ["NONE", "NO_DATE", "REPORTS", "STANDARD", "Analysis", "By", "Period", "Report"]
__all__ += ["function_of", "suppress"]
__all__ += [
    "attribution",
    "changes",
    "compare",
    "engagement",
    "funnel",
    "goals",
    "hosts",
    "repeats",
    "retention",
    "weekday_hours",
]
__all__ += FUNCTIONS  # noqa: PLE0605 (names)
__test__ = FUNCTIONS  # where doctest finds their examples


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., pd.DataFrame]: ...
