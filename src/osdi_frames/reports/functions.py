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
_RAISES = {
    "MissingColumn": "a frame lacks a column that is needed; all that are missing are named",
    "InvalidColumn": "a list-valued column in `by`, a column that holds what is no whole number or no time, or "
    "numbers whose sum does not fit 64 bits",
}


def function_of(report: Report) -> Callable[..., pd.DataFrame]:
    """Return the function that makes a declared report.

    >>> from osdi_frames.reports.declared import REPORTS
    >>> function_of(REPORTS[0]).__name__
    'rsvps_by_campaign'
    """
    titled = report.subject.titled
    signature = Signature(_parameters(report), return_annotation=pd.DataFrame)

    def function(*args: Any, **options: Any) -> pd.DataFrame:
        given = signature.bind(*args, **options).arguments
        titles = given.pop(titled.argument, None)
        return make(report, given.pop(report.table), titles=titles, **given)

    function.__name__ = function.__qualname__ = report.name
    function.__doc__ = _documentation(report)
    function.__module__ = __package__
    function.__signature__ = signature  # type: ignore[attr-defined] # what `inspect` and Jupyter show
    return function


def _parameters(report: Report) -> list[Parameter]:
    def plain(name: str, default: Any = Parameter.empty) -> Parameter:
        return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default)

    parameters = [plain(report.table)]
    if report.by is None:
        parameters.append(plain("by", Parameter.empty if report.kind == "groups" else None))
    parameters.append(plain(report.subject.titled.argument, None))
    own = {"over time": ("freq", "D"), "growth": ("pause", "1min")}.get(report.kind)
    if own:
        parameters.append(Parameter(own[0], Parameter.KEYWORD_ONLY, default=own[1]))
    return parameters


def _documentation(report: Report) -> str:
    """Write the docstring of a report's function from its declaration."""
    parts = {
        "Parameters": _described(_arguments(report)),
        "Returns": f"DataFrame\n{textwrap.indent(_result(report), '    ')}",
        "Raises": _described(_RAISES),
        "Examples": _example(report),
    }
    sections = [f"{name}\n{'-' * len(name)}\n{text}" for name, text in parts.items()]
    return "\n\n".join([report.about, report.subject.note, *sections])


def _example(report: Report) -> str:
    shown, *arguments = report.example or ("",)
    value = f'["{report.count}"].to_dict()' if report.kind == "groups" else ".to_numpy().tolist()"
    return (
        f"{report.subject.rows}\n>>> {report.name}({', '.join([report.table, *arguments])}){value}\n{shown}"
    )


def _described(items: dict[str, str]) -> str:
    return "\n".join(f"{name}\n    {text}" for name, text in items.items())


def _arguments(report: Report) -> dict[str, str]:
    titled = report.subject.titled
    row = (
        "event and pull (``read_events(…, dedupe=False)``)" if report.kind == "growth" else report.table[:-1]
    )
    needed = ["event_id", "fetched_at", *report.columns] if report.kind == "growth" else report.columns
    arguments = {report.table: f"one row per {row}, with {', '.join(needed)}"}
    if report.by is None:
        time = "start_date" if report.table == "events" else "created_date"
        columns = {
            "over time": "; for one column of counts per value",
            "growth": "; event_campaign_id if not given",
        }
        arguments["by"] = _BY.format(time) + columns.get(report.kind, "")
    arguments[titled.argument] = (
        f"one row per {titled.table[:-1].replace('_', ' ')}, with {titled.key} and title: its titles are shown"
        f" where {titled.key} is a key"
    )
    if report.kind == "over time":
        arguments["freq"] = 'a pandas offset alias: "h", "6h", "D", "W", "MS" or "ME", "QS", "YS"'
    if report.kind == "growth":
        arguments["pause"] = "the longest time between two pages of one pull"
    return arguments


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
