"""Measures: what a report computes of each group of rows, with the columns, the unit and the total of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import pandas as pd

from osdi_frames.reports.columns import LOCAL, UTC, Convert, identity, local, utc, whole

Compute: TypeAlias = Callable[[pd.DataFrame, pd.Series, pd.DataFrame], pd.Series]
"""Takes the rows, the number of each row's group, and the measures before; returns a value per group."""

Unit: TypeAlias = Literal["number", "share", "time"]


_FORMATS: Final[Mapping[Unit, str]] = {"number": ",", "share": ".1%", "time": "%Y-%m-%d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A column of a report.

    Attributes
    ----------
    name, meaning
        The column, and its sentence in the documentation.
    dtype
        The dtype; groups without rows have 0 where it is ``int64``.
    needs
        The columns that it reads, each with the conversion to its dtype.
    compute
        How it is computed.
    unit
        How it is shown: a number, a percentage, a date.
    total
        What stands for several groups, where anything can: distinct people and rates have no total.
    heading
        Its heading in the page, where it is not the name.
    """

    name: str
    meaning: str
    dtype: str
    compute: Compute
    needs: Mapping[str, Convert] = field(default_factory=dict)
    unit: Unit = "number"
    total: Literal["sum", "min", "max"] | None = None
    heading: str | None = None


def show(value: Any, unit: Unit) -> str:
    """Return a value as it is shown, in the terminal and on the page.

    >>> show(1234, "number"), show(0.125, "share"), show(pd.Timestamp("2026-05-01 18:00"), "time"), show(pd.NA, "share")
    ('1,234', '12.5%', '2026-05-01', '–')
    """
    if pd.isna(value):
        return "–"
    return f"{value:{_FORMATS[unit]}}"


def count_rows(name: str, meaning: str, heading: str | None = None) -> Measure:
    """Count the rows of each group."""
    return Measure(
        name=name,
        meaning=meaning,
        dtype="int64",
        compute=lambda _, number, __: number.groupby(number).size(),
        total="sum",
        heading=heading,
    )


def date(name: str, meaning: str, column: str, convert: Convert, which: Literal["min", "max"]) -> Measure:
    """Take the first or last date of each group."""
    return Measure(
        name=name,
        meaning=meaning,
        dtype=LOCAL if convert is local else UTC,
        compute=lambda rows, number, _: rows[column].groupby(number).agg(which),
        needs={column: convert},
        unit="time",
        total=which,
    )


def share_of(count: str) -> Measure:
    """Compute the part of all rows that are in each group."""
    return Measure(
        name="share",
        meaning=f"of all {count} of the frame, 0 to 1",
        dtype="float64",
        compute=lambda _, __, before: before[count] / max(before[count].sum(), 1),
        unit="share",
        total="sum",
    )


def cumulative(count: str) -> Measure:
    """Sum a count up to the end of each period."""
    return Measure(
        name="cumulative",
        meaning=f"{count} up to the end of the period",
        dtype="int64",
        compute=lambda _, __, before: before[count].cumsum(),
        total="max",
    )


def _limited(rows: pd.DataFrame, number: pd.Series, _: pd.DataFrame) -> pd.Series:
    return rows["total_accepted"].where(rows["capacity"].notna()).groupby(number).sum()


EVENTS: Final = count_rows("events", "how many")
RSVPS: Final = Measure(
    name="rsvps",
    meaning="the sum of total_accepted; missing counts 0",
    dtype="int64",
    compute=lambda rows, number, _: rows["total_accepted"].groupby(number).sum(),
    needs={"total_accepted": whole},
    total="sum",
    heading="RSVPs",
)
LIMITED_EVENTS: Final = Measure(
    name="limited_events",
    meaning="how many events have a capacity (interface 2.1)",
    dtype="int64",
    compute=lambda rows, number, _: rows["capacity"].groupby(number).count(),
    needs={"capacity": whole},
    total="sum",
)
LIMITED_RSVPS: Final = Measure(
    name="limited_rsvps",
    meaning="the RSVPs of those events",
    dtype="int64",
    compute=_limited,
    needs={"total_accepted": whole, "capacity": whole},
    total="sum",
    heading="Limited RSVPs",
)
CAPACITY: Final = Measure(
    name="capacity",
    meaning="the capacity of those events; missing when there are none",
    dtype="Int64",
    compute=lambda rows, number, _: rows["capacity"].groupby(number).sum(min_count=1),
    needs={"capacity": whole},
    total="sum",
)
FILL_RATE: Final = Measure(
    name="fill_rate",
    meaning="limited_rsvps over capacity; missing when there is none, or 0",
    dtype="float64",
    compute=lambda _, __, before: before["limited_rsvps"] / before["capacity"].where(before["capacity"] > 0),
    unit="share",
)
PEOPLE: Final = Measure(
    name="people",
    meaning="how many distinct person_id; a row without one is nobody's",
    dtype="int64",
    compute=lambda rows, number, _: rows["person_id"].groupby(number).nunique(),
    needs={"person_id": identity},
)
SIGNATURES: Final = count_rows("signatures", "how many")
ATTENDANCES: Final = count_rows("rsvps", "how many attendances", heading="RSVPs")
FIRST_START: Final = date("first_start", "wall clock at the place of the event", "start_date", local, "min")
LAST_START: Final = date("last_start", "wall clock at the place of the event", "start_date", local, "max")
FIRST: Final = date("first", "the first created_date (UTC)", "created_date", utc, "min")
LAST: Final = date("last", "the last created_date (UTC)", "created_date", utc, "max")

OF_EVENTS: Final = (
    EVENTS,
    RSVPS,
    LIMITED_EVENTS,
    LIMITED_RSVPS,
    CAPACITY,
    FILL_RATE,
    FIRST_START,
    LAST_START,
)
OF_SIGNATURES: Final = (SIGNATURES, PEOPLE, share_of("signatures"), FIRST, LAST)
OF_ATTENDANCES: Final = (ATTENDANCES, PEOPLE, share_of("rsvps"), FIRST, LAST)
SIGNATURES_OVER_TIME: Final = (SIGNATURES, PEOPLE, cumulative("signatures"))
ATTENDANCES_OVER_TIME: Final = (ATTENDANCES, PEOPLE, cumulative("rsvps"))
