"""Measures: what a report computes of each group of rows, with the columns, the unit and the total of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import pandas as pd

from osdi_frames.reports.columns import LOCAL, UTC, Convert, identity, local, utc, whole
from osdi_frames.tables.schema import NO_DATE, NONE

Grouped: TypeAlias = "pd.api.typing.DataFrameGroupBy[Any, Any]"
Made: TypeAlias = Mapping[str, pd.Series]
Compute: TypeAlias = Callable[[Grouped, Made], pd.Series]
"""Takes the rows by the number of their group, and the measures before; returns a value per group."""

Unit: TypeAlias = Literal["number", "share", "time"]

_FORMATS: Final[Mapping[Unit, str]] = {"number": ",", "share": ".1%", "time": "%Y-%m-%d"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of a report, computed and shown.

    Its total stands for several groups, where anything can: distinct people have none, and a rate, for which it names
    two measures, is that of their sums.
    """

    name: str
    meaning: str  # its sentence in the documentation
    compute: Compute
    needs: Mapping[str, Convert] = field(default_factory=dict)  # the columns that it reads
    dtype: str = "int64"  # groups without rows have 0 where it is this one
    unit: Unit = "number"
    total: Literal["sum", "min", "max"] | tuple[str, str] | None = "sum"
    unprotected: bool = False  # whether small counts can be computed from it: `suppress` leaves it out
    needs_any: str = ""  # the count that some row must have: a report without any leaves the column out


def show(value: Any, unit: Unit) -> str:
    """Return a value as terminal and page show it.

    >>> show(1234, "number"), show(0.125, "share"), show(pd.Timestamp("2026-05-01 18:00"), "time"), show(pd.NA, "share")
    ('1,234', '12.5%', '2026-05-01', '–')
    """
    if pd.isna(value):
        return "–"
    return f"{value:{_FORMATS[unit]}}"


def show_key(value: Any) -> str:
    """Return a value of an index as it is shown.

    Of a time this is the day, and the minute where it is not the first.

    >>> show_key("email"), show_key(pd.Timestamp("2026-05-01T18:00:59Z")), show_key(pd.NaT), show_key(pd.NA)
    ('email', '2026-05-01 18:00', '(no date)', '(none)')
    """
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    if value is pd.NaT:
        return NO_DATE
    return NONE if pd.isna(value) else str(value)


def count_rows(name: str, meaning: str = "how many") -> Measure:
    """Count the rows of each group."""
    return Measure(name, meaning, lambda rows, _: rows.size())


def _date(name: str, meaning: str, column: str, convert: Convert, which: Literal["min", "max"]) -> Measure:
    dtype = LOCAL if convert is local else UTC
    return Measure(
        name, meaning, lambda rows, _: rows[column].agg(which), {column: convert}, dtype, "time", which
    )


def _share_of(count: str) -> Measure:
    def compute(_: Grouped, before: Made) -> pd.Series:
        return before[count] / max(before[count].sum(), 1)

    return Measure("share", f"of all {count} of the frame, 0 to 1", compute, {}, "float64", "share")


def _attended(status: pd.Series) -> pd.Series:
    """Convert statuses to 1 for attended, 0 for others."""
    return status.eq("attended").fillna(False).astype("int64")


def _cumulative(count: str) -> Measure:
    meaning = f"{count} up to the end of the period"
    return Measure(
        "cumulative", meaning, lambda _, before: before[count].cumsum(), total="max", unprotected=True
    )


def _limited(rows: Grouped, _: Made) -> pd.Series:
    limited: pd.Series = rows.obj["total_accepted"].where(rows.obj["capacity"].notna())
    return limited.groupby(rows.obj["group"]).sum(min_count=1)


_LIMITED: Final = {"total_accepted": whole, "capacity": whole}
RSVPS: Final = Measure(
    "rsvps",
    "the sum of total_accepted; missing counts 0",
    lambda rows, _: rows["total_accepted"].sum(),
    {"total_accepted": whole},
)
PEOPLE: Final = Measure(
    "people",
    "how many distinct person_id; a row without one is nobody's",
    lambda rows, _: rows["person_id"].nunique(),
    {"person_id": identity},
    total=None,
    unprotected=True,
)
SIGNATURES: Final = count_rows("signatures")
ATTENDANCES: Final = count_rows("rsvps", "how many attendances")
#: Those who came, of the attendances: only where there are any.
ATTENDED: Final = (
    Measure(
        "attended",
        "how many of them have the status attended; no column where none has",
        lambda rows, _: rows["status"].sum(),
        {"status": _attended},
        unprotected=True,
        needs_any="attended",
    ),
    Measure(
        "attended_share",
        "attended over rsvps, the rate of those who came; no column where nobody did",
        lambda _, before: before["attended"] / before["rsvps"].where(before["rsvps"] > 0),
        dtype="float64",
        unit="share",
        total=("attended", "rsvps"),
        unprotected=True,
        needs_any="attended",
    ),
)
#: Times of single acts: as many different ones as there are in a month, so many acts it has at least.
_DATES: Final = (
    replace(_date("first", "the first created_date (UTC)", "created_date", utc, "min"), unprotected=True),
    replace(_date("last", "the last created_date (UTC)", "created_date", utc, "max"), unprotected=True),
)

OF_EVENTS: Final = (
    count_rows("events"),
    RSVPS,
    Measure(
        "limited_events",
        "how many events have a capacity (interface 2.1)",
        lambda rows, _: rows["capacity"].count(),
        _LIMITED,
    ),
    Measure("limited_rsvps", "the RSVPs of those events", _limited, _LIMITED, unprotected=True),
    Measure(
        "capacity",
        "the capacity of those events; missing when there are none",
        lambda rows, _: rows["capacity"].sum(min_count=1),
        _LIMITED,
        "Int64",
    ),
    Measure(
        "fill_rate",
        "limited_rsvps over capacity; missing when there is none, or 0, or no such event has a total_accepted",
        lambda rows, before: _limited(rows, before) / before["capacity"].where(before["capacity"] > 0),
        _LIMITED,
        dtype="float64",
        unit="share",
        total=("limited_rsvps", "capacity"),
        unprotected=True,
    ),
    _date("first_start", "wall clock at the place of the event", "start_date", local, "min"),
    _date("last_start", "wall clock at the place of the event", "start_date", local, "max"),
)
OF_SIGNATURES: Final = (SIGNATURES, PEOPLE, _share_of("signatures"), *_DATES)
OF_ATTENDANCES: Final = (ATTENDANCES, *ATTENDED, PEOPLE, _share_of("rsvps"), *_DATES)
#: Of what was known of each event at each pull.
KNOWN_RSVPS: Final = replace(RSVPS, needs={"event_id": identity, "fetched_at": utc, **RSVPS.needs})
#: Of growth, whose rows have a column for each value that the events are grouped by.
BY_PULL: Final = (
    replace(
        KNOWN_RSVPS,
        meaning="of all events, as they were last known",
        compute=lambda rows, _: rows.sum().sum(axis=1),
        total=None,
    ),
    Measure(
        "new_rsvps",
        "since the pull before; missing for the first",
        lambda _, before: before["rsvps"].diff(),
        dtype="Int64",
    ),
)
SIGNATURES_OVER_TIME: Final = (SIGNATURES, PEOPLE, _cumulative("signatures"))
ATTENDANCES_OVER_TIME: Final = (ATTENDANCES, *ATTENDED, PEOPLE, _cumulative("rsvps"))
