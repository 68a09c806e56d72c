"""What plots refuse to draw, with what to call instead."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import pandas as pd

from osdi_frames.errors import InvalidArgument
from osdi_frames.quoting import cut, quoted
from osdi_frames.reports import REPORTS

#: What declared reports call their columns; another name is the caller's.
MEASURES: Final = frozenset(measure.name for report in REPORTS for measure in report.measures)


def not_a_report(name: str, arguments: str, why: str, *, this: str = "this frame") -> InvalidArgument:
    """Return the error that says what to call.

    `name` is that of the plot and of its report, `arguments` are those of the report.
    """
    return InvalidArgument(
        f"plots.{name} draws the report of the same name, and {this} {why}: "
        f"of.plots.{name}(of.{name}({arguments}))"
    )


def checked_frame(report: Any, name: str, arguments: str) -> pd.DataFrame:
    """Return a report; refuse what is no DataFrame."""
    if isinstance(report, pd.DataFrame):
        return report
    library = f"{type(report).__module__.partition('.')[0]} " if hasattr(report, "columns") else ""
    raise not_a_report(name, arguments, f"is a {library}{type(report).__name__}", this="what it was given")


def checked_columns(
    report: Any, name: str, arguments: str, columns: Collection[str], *, others: Collection[str] = ()
) -> pd.DataFrame:
    """Return a report; refuse one without its columns.

    So is one with those of another, except `others`, and one whose index became columns, as of a report read back
    from a file.
    """
    frame = checked_frame(report, name, arguments)
    if foreign := sorted(MEASURES.intersection(map(str, frame.columns)).difference(columns, others)):
        raise not_a_report(name, arguments, f"has the column {foreign[0]}")
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise not_a_report(name, arguments, f"has no column {cut(missing[0])}")
    if type(frame.index) is pd.RangeIndex:
        raise not_a_report(name, arguments, "is not indexed by its values, as set_index makes it")
    return frame


def checked_top(top: Any) -> int:
    """Return how many values to show."""
    if not isinstance(top, int) or top < 1:
        raise InvalidArgument(f"top is how many values to show, 1 or more, not {quoted(top)}")
    return top
