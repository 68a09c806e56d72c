"""What plots of reports share: what they refuse to draw, with what to call instead, and their documentation."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, Final, cast

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.errors import InvalidArgument
from osdi_frames.messages import quoted, shorten
from osdi_frames.plots.axes import Plot, complete
from osdi_frames.reports.declared import REPORTS

#: What declared reports call their columns; another name is the caller's.
MEASURES: Final = frozenset(measure.name for report in REPORTS for measure in report.measures)

_DOCUMENTATION: Final = """{first}

Takes the report of the same name, ``of.plots.{name}(of.{name}({arguments}))``. {text}

Parameters
----------
report
    the report of the same name
ax
    the axes to draw on; those of a new pyplot figure if not given, which a notebook shows by itself{top}

Returns
-------
Axes
    the axes; nothing is shown or saved

Raises
------
InvalidArgument
    the frame is no such report, the message says what to call{no_count}
"""
_TOP: Final = """
top
    how many values; all others are one, ``(other: 980)``, so that what is drawn sums to the total"""


def documentation(name: str, arguments: str, *, first: str, text: str, has_top: bool = True) -> str:
    """Return the docstring of a plot.

    `first` is its first line, `text` what it draws.
    """
    top, no_count = (_TOP, "; or `top` is no count") if has_top else ("", "")
    return _DOCUMENTATION.format(
        name=name, arguments=arguments, first=first, text=text, top=top, no_count=no_count
    )


def draws(
    arguments: str, *forms: Collection[str], others: Collection[str] = (), has_times: bool = False
) -> Callable[[Plot], Plot]:
    """Make a function the plot of a report.

    The report has its name. Its arguments are checked, and its docstring is completed.

    Parameters
    ----------
    arguments
        those of the report
    forms
        the columns of each form of the report
    others
        columns that it may have in addition
    has_times
        whether its index is one of times
    """

    def made(function: Plot) -> Plot:
        name = function.__name__

        @wraps(function)
        def plot(report: pd.DataFrame, *, ax: Axes | None = None, **options: int) -> Axes:
            checked_top(options.get("top", 1))
            present = checked_frame(report, name, arguments).columns
            columns = next((form for form in forms if {*form} <= {*present}), forms[0])
            report = checked_columns(report, name, arguments, columns, others=others)
            if has_times and not isinstance(report.index, pd.DatetimeIndex):
                raise not_a_report(name, arguments, "is not indexed by time")
            return function(report, ax=ax, **options)

        first, _, text = cleandoc(function.__doc__ or "").partition("\n\n")
        has_top = "top" in signature(function).parameters
        plot.__doc__ = documentation(name, arguments, first=first, text=text, has_top=has_top)
        return complete(cast(Plot, plot))

    return made


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
        raise not_a_report(name, arguments, f"has no column {shorten(missing[0])}")
    if type(frame.index) is pd.RangeIndex:
        raise not_a_report(name, arguments, "is not indexed by its values, as set_index makes it")
    return frame


def checked_top(top: Any) -> int:
    """Return how many values to show."""
    if not isinstance(top, int) or top < 1:
        raise InvalidArgument(f"top is how many values to show, 1 or more, not {quoted(top)}")
    return top
