"""Measures: the columns of reports, how they are computed for each group of rows, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd

from osdi_frames.reports.columns import (
    LOCAL,
    UTC,
    Convert,
    are_first,
    identity,
    local,
    maybe,
    numbers_of,
    utc,
    whether,
    whole,
)
from osdi_frames.tables.schema import NO_DATE, NONE

Grouped: TypeAlias = "pd.api.typing.DataFrameGroupBy[Any, Any]"
Computed: TypeAlias = Mapping[str, pd.Series]
Compute: TypeAlias = Callable[[Grouped, Computed], pd.Series]
"""A function of the grouped rows and of the measures computed before, which returns a value for each group."""

Unit: TypeAlias = Literal[
    "number", "decimal", "change", "share", "change share", "time", "clock", "amount", "text", "mark", "flag"
]

#: The quantile of the normal distribution for intervals of 95%.
Z: Final = NormalDist().inv_cdf(0.975)
#: The column that says whether an act is the first of a person who was not on the list before.
IS_NEW: Final = "is_new"

#: What is shown where a column of booleans is true.
_TRUE: Final[Mapping[Unit, str]] = {"mark": "=", "flag": "yes"}
_UNIT_FORMATS: Final[Mapping[Unit, str]] = {
    "number": ",",
    "decimal": ",.1f",
    "change": "+,",
    "share": ".1%",
    "change share": "+,.1%",
    "time": "%Y-%m-%d",
    "clock": "%a %Y-%m-%d %H:%M",
    "amount": ",.2f",
    "text": "",
}


def _number_of_rows(rows: Grouped, _: Computed) -> pd.Series:
    return rows.size()


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of a report: its computation, and its format."""

    name: str
    unit: Unit = "number"
    total: Literal["sum", "min", "max"] | tuple[str, str] | None = "sum"
    """How the values of several rows become one: two columns are the rate of their sums, None has no total."""
    dtype: str = "int64"
    """The dtype; groups without rows have 0 in int64, and are missing in others."""
    is_rare: bool = False
    """Whether it is shown only if a tenth of the rows have it, or of a text one row."""
    compute: Compute = field(default=_number_of_rows, kw_only=True)
    """The function that computes it, unless the report has a function of its own."""
    needs: Mapping[str, Convert] = field(default_factory=dict, kw_only=True)
    """The columns that it reads."""
    uses: Mapping[str, Convert] = field(default_factory=dict, kw_only=True)
    """The columns that it reads if a frame has them."""
    is_optional: bool = field(default=False, kw_only=True)
    """Whether a report leaves it out if the frame lacks its columns, instead of raising an error."""
    unprotected: bool = field(default=False, kw_only=True)
    """Whether small counts can be computed from it, so that `suppress` leaves it out."""
    needs_any: str = field(default="", kw_only=True)
    """A count: a report in which this count is 0 in all rows leaves the measure out."""


#: The column of a protected report that says whether a count is the same as in the previous report.
KEPT: Final = Measure("kept", "mark", None, "boolean")


def show(value: Any, unit: Unit) -> str:
    """Return a value as the terminal and the page show it.

    >>> show(1234, "number"), show(0.125, "share"), show(pd.Timestamp("2026-05-01 18:00"), "time"), show(pd.NA, "share")
    ('1,234', '12.5%', '2026-05-01', '–')
    >>> show(True, "mark"), show(False, "mark"), show(True, "flag"), show(False, "flag")
    ('=', '', 'yes', '')
    >>> show(7, "change"), show(0, "change"), show(0.0, "change share")
    ('+7', '±0', '±0.0%')
    """
    if unit in _TRUE:
        return _TRUE[unit] if pd.notna(value) and value else ""
    if pd.isna(value):
        return "–"
    text = f"{value:{_UNIT_FORMATS[unit]}}"
    return text.replace("+", "±") if "change" in unit and value == 0 else text


def show_key(value: Any) -> str:
    """Return a value of an index as it is shown; a time without its clock if that is midnight.

    >>> show_key("email"), show_key(pd.Timestamp("2026-05-01T18:00:59Z")), show_key(pd.NaT), show_key(pd.NA)
    ('email', '2026-05-01 18:00', '(no date)', '(none)')
    """
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    if value is pd.NaT:
        return NO_DATE
    return NONE if pd.isna(value) else str(value)


def _date(name: str, which: Literal["min", "max"], column: str, convert: Convert) -> Measure:
    dtype = LOCAL if convert is local else UTC
    return Measure(
        name, "time", which, dtype, compute=lambda rows, _: rows[column].agg(which), needs={column: convert}
    )


def _share_of(count: str) -> Measure:
    def compute(_: Grouped, before: Computed) -> pd.Series:
        return before[count] / max(before[count].sum(), 1)

    return Measure("share", "share", dtype="float64", compute=compute)


def _cumulative(count: str) -> Measure:
    return Measure(
        "cumulative", total="max", compute=lambda _, before: before[count].cumsum(), unprotected=True
    )


def _attended_of(rows: Grouped, before: Computed) -> pd.Series:
    if "event_id" not in rows.obj.columns:
        return before["rsvps"]
    is_counted = are_of_events_with_check_ins(rows.obj["attended"], rows.obj["event_id"])
    return is_counted.groupby(rows.obj["group"]).sum()


def are_of_events_with_check_ins(attended: pd.Series, event: pd.Series) -> pd.Series:
    """Return which attendances are at an event with any attendance marked as attended, or are marked themselves."""
    return attended | event.isin(event[attended].dropna())


def _new(rows: Grouped, before: Computed) -> pd.Series:
    index, is_new = before["people"].index, rows.obj[IS_NEW]
    if len(is_new) and is_new.isna().all():
        return pd.Series(pd.NA, index)
    return _people(rows, is_new.fillna(False)).reindex(index, fill_value=0)


def _people(grouped: Grouped, are_counted: pd.Series | bool = True) -> pd.Series:
    """Return the number of distinct people of each group, in the rows that are counted."""
    ids, group = pd.Series(grouped.obj["person_id"]), grouped.obj["group"].to_numpy()
    person = numbers_of(ids)[0]
    is_counted = np.asarray((person >= 0) & are_counted, dtype=bool)
    group = group[is_counted]
    return pd.Series(np.bincount(group[are_first(person[is_counted], group)]))


def _limited(rows: Grouped, _: Computed) -> pd.Series:
    limited: pd.Series = rows.obj["total_accepted"].where(rows.obj["capacity"].notna())
    return limited.groupby(rows.obj["group"]).sum(min_count=1)


SUM_OF_RSVPS: Final = Measure(
    "rsvps", compute=lambda rows, _: rows["total_accepted"].sum(), needs={"total_accepted": whole}
)
#: The number of distinct people, in which rows without a person_id count nobody.
DISTINCT_PEOPLE: Final = Measure(
    "people",
    total=None,
    compute=lambda rows, _: _people(rows),
    needs={"person_id": identity},
    unprotected=True,
)
#: The number of new people, only in frames with the column IS_NEW.
NEW_PEOPLE: Final = Measure(
    "new",
    dtype="Int64",
    is_rare=True,
    compute=_new,
    needs={"person_id": identity, IS_NEW: maybe},
    is_optional=True,
    unprotected=True,
)
COUNT_OF_SIGNATURES: Final = Measure("signatures")
COUNT_OF_ATTENDANCES: Final = Measure("rsvps")

_ATTENDED: Final = Measure(
    "attended",
    compute=lambda rows, _: rows["attended"].sum(),
    needs={"attended": whether},
    unprotected=True,
    needs_any="attended",
)
#: The attendances marked as attended, and their rate, only if there are any.
ATTENDED: Final = (
    _ATTENDED,
    replace(_ATTENDED, name="attended_of", compute=_attended_of, uses={"event_id": identity}),
    Measure(
        "attended_share",
        "share",
        ("attended", "attended_of"),
        "float64",
        compute=lambda _, before: before["attended"] / before["attended_of"].where(before["attended_of"] > 0),
        unprotected=True,
        needs_any="attended",
    ),
)
#: The times of single acts, which are unprotected: the number of distinct times is a lower bound of the acts.
_FIRST_AND_LAST: Final = (
    replace(_date("first", "min", "created_date", utc), unprotected=True),
    replace(_date("last", "max", "created_date", utc), unprotected=True),
)
#: The number of events that have a capacity (interface 2.1), from which the other columns about capacity follow.
_LIMITED: Final = Measure(
    "limited_events",
    is_rare=True,
    compute=lambda rows, _: rows["capacity"].count(),
    needs={"total_accepted": whole, "capacity": whole},
)

EVENT_MEASURES: Final = (
    Measure("events"),
    SUM_OF_RSVPS,
    _LIMITED,
    replace(_LIMITED, name="limited_rsvps", compute=_limited, unprotected=True),
    replace(
        _LIMITED, name="capacity", dtype="Int64", compute=lambda rows, _: rows["capacity"].sum(min_count=1)
    ),
    replace(
        _LIMITED,
        name="fill_rate",
        unit="share",
        total=("limited_rsvps", "capacity"),
        dtype="float64",
        compute=lambda rows, before: (
            _limited(rows, before) / before["capacity"].where(before["capacity"] > 0)
        ),
        unprotected=True,
    ),
    _date("first_start", "min", "start_date", local),
    _date("last_start", "max", "start_date", local),
)
SIGNATURE_MEASURES: Final = (
    COUNT_OF_SIGNATURES,
    DISTINCT_PEOPLE,
    NEW_PEOPLE,
    _share_of("signatures"),
    *_FIRST_AND_LAST,
)
ATTENDANCE_MEASURES: Final = (
    COUNT_OF_ATTENDANCES,
    *ATTENDED,
    DISTINCT_PEOPLE,
    NEW_PEOPLE,
    _share_of("rsvps"),
    *_FIRST_AND_LAST,
)
#: The last known RSVPs of events, for reports on growth.
KNOWN_RSVPS: Final = replace(
    SUM_OF_RSVPS, needs={"event_id": identity, "fetched_at": utc, **SUM_OF_RSVPS.needs}
)
#: The measures of a report by pull, computed from a table with a row for each pull and a column for each group.
BY_PULL: Final = (
    replace(KNOWN_RSVPS, compute=lambda rows, _: rows.sum().sum(axis=1), total=None),
    Measure("new_rsvps", dtype="Int64", compute=lambda _, before: before["rsvps"].diff()),
)
SIGNATURES_OVER_TIME: Final = (COUNT_OF_SIGNATURES, DISTINCT_PEOPLE, NEW_PEOPLE, _cumulative("signatures"))
ATTENDANCES_OVER_TIME: Final = (
    COUNT_OF_ATTENDANCES,
    *ATTENDED,
    DISTINCT_PEOPLE,
    NEW_PEOPLE,
    _cumulative("rsvps"),
)
