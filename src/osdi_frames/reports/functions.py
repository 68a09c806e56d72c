"""A function for each declared report, with its documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import pandas as pd

from osdi_frames.reports.declared import Report
from osdi_frames.reports.making import make

_BY = 'a column, a pandas Grouper, as ``pd.Grouper(key={!r}, freq="MS")``, or a list of them'
_RAISES = """MissingColumn
    a frame lacks a column that is needed; all that are missing are named
InvalidColumn
    a list-valued column in `by`, a column that holds what is no whole number or no time, or numbers whose sum does
    not fit 64 bits"""


def function_of(report: Report) -> Callable[..., pd.DataFrame]:
    """Return the function that makes a declared report.

    >>> from osdi_frames.reports.declared import REPORTS
    >>> function_of(REPORTS[0]).__name__
    'rsvps_by_campaign'
    """
    titled = report.subject.titled
    arguments = _arguments(report)
    signature = Signature(list(arguments), return_annotation=pd.DataFrame)

    def function(*args: Any, **options: Any) -> pd.DataFrame:
        given = signature.bind(*args, **options).arguments
        titles = given.pop(titled.argument, None)
        return make(report, given.pop(report.table), titles=titles, **given)

    function.__name__ = function.__qualname__ = report.name
    function.__doc__ = _documentation(report, arguments)
    function.__module__ = __package__
    function.__signature__ = signature  # type: ignore[attr-defined] # what `inspect` and Jupyter show
    return function


def _documentation(report: Report, arguments: dict[Parameter, str]) -> str:
    """Write the docstring of a report's function from its declaration."""
    parts = {
        "Parameters": "\n".join(f"{name.name}\n    {text}" for name, text in arguments.items()),
        "Returns": f"DataFrame\n{textwrap.indent(_result(report), '    ')}",
        "Raises": _RAISES,
        "Examples": _example(report),
    }
    sections = [f"{name}\n{'-' * len(name)}\n{text}" for name, text in parts.items()]
    return "\n\n".join([report.about, report.subject.note, *sections])


def _example(report: Report) -> str:
    shown, *arguments = report.example or ("",)
    value = f'["{report.count}"].to_dict()' if report.kind == "groups" else ".to_numpy().tolist()"
    call = f"{report.name}({', '.join([report.table, *arguments])}){value}"
    return f"{report.subject.rows}\n>>> {call}\n{shown}"


def _arguments(report: Report) -> dict[Parameter, str]:
    """Return the parameters of a report's function, each with what is said of it."""
    given, option = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    row, needed, columns = report.table[:-1], report.columns, ""
    last: dict[Parameter, str] = {}
    if report.kind == "growth":
        row = "event and pull (``read_events(…, dedupe=False)``)"
        needed, columns = ("event_id", "fetched_at", *needed), "; event_campaign_id if not given"
        last[Parameter("pause", option, default="1min")] = "the longest time between two pages of one pull"
    elif report.kind == "over time":
        columns = "; for one column of counts per value"
        aliases = 'a pandas offset alias: "h", "6h", "D", "W", "MS" or "ME", "QS", "YS"'
        last[Parameter("freq", option, default="D")] = aliases
    arguments = {Parameter(report.table, given): f"one row per {row}, with {', '.join(needed)}"}
    if report.by is None:
        time = "start_date" if report.table == "events" else "created_date"
        by = Parameter("by", given, default=Parameter.empty if report.kind == "groups" else None)
        arguments[by] = _BY.format(time) + columns
    titled = report.subject.titled
    arguments[Parameter(titled.argument, given, default=None)] = (
        f"one row per {titled.table[:-1].replace('_', ' ')}, with {titled.key} and title: its titles are shown"
        f" where {titled.key} is a key"
    )
    return arguments | last


def _result(report: Report) -> str:
    columns = "\n".join(f"- {measure.name}: {measure.meaning}" for measure in report.measures)
    if report.kind == "groups":
        keys = "what `by` names" if report.by is None else "its keys"
        return f"indexed by {keys}, in the order of `{report.count}`, then of the index; times in order\n\n{columns}"
    if report.kind == "growth" and report.own_measures:
        return f"indexed by fetched_at (UTC), one row per pull\n\n{columns}"
    if report.kind == "over time":
        return (
            "indexed by created_date, the start of the period (UTC); with `by`, the "
            f"{report.subject.unit} of each value, the value with most of them first; else\n\n{columns}"
        )
    return (
        "indexed by fetched_at (UTC), one row per pull; one column per value, most RSVPs in the last pull\n"
        "first, and 0 before it was first seen; ``.sum(axis=1)`` is the total"
    )
