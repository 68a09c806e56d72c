"""Choose the picture for a report of one row per value: bars, or bars over time."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import categories, frame, periods

#: What each measure of a report counts, as axes name it.
UNITS: Final = {"rsvps": "RSVPs", "signatures": "signatures"}


def draw(
    report: pd.DataFrame,
    measure: str,
    *,
    ax: Axes | None,
    top: int,
    plot: str,
    by: str | None = None,
    capacity: bool | None = None,
) -> Axes:
    """Draw the counts of a report; `by` is what its values are, where the index does not say it well."""
    counts = frame.rows(report, measure, plot=plot)
    unit = UNITS[measure]
    title = f"{unit[0].upper()}{unit[1:]} by {by or frame.joined(counts.index.names)}"
    times = frame.time_levels(counts.index)
    if capacity is False or (capacity is None and times):
        counts = counts[["count"]]
    if isinstance(counts.index, pd.DatetimeIndex):
        return periods.draw_counts(counts, ax=ax, title=title, unit=unit)
    if len(times) == 1 and counts.index.is_unique:
        return periods.draw_stacked(frame.spread(counts), ax=ax, top=top, title=title, unit=unit)
    return categories.draw(counts, ax=ax, top=top, title=title, unit=unit)
