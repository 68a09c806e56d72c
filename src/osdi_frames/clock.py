"""The team's clock: the zone whose wall clock decides periods, hours and bounds of days.

An instant is in UTC: it orders acts and measures durations. A period, an hour or a bound of days is of a wall clock, a
time without a zone; `wall_clock` is the only way from the one to the other, and `instants` gives the starts of periods
their zone back.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from osdi_frames.errors import InvalidArgument, UnknownValue
from osdi_frames.messages import quoted
from osdi_frames.tables.actions import ACTIONS, ACTS

TimeLike: TypeAlias = str | date
"""A time that a caller passes: a text, date, datetime or Timestamp."""

DEFAULT: Final = "UTC"
#: The acts that are dated by the wall clock of their place, as if it were UTC: no zone moves them to another day.
_AT_THEIR_PLACE: Final = [act.action for act in ACTS if act.at]
_DATE: Final = str(ACTIONS.element.month)
_EXAMPLE: Final = "America/New_York"

#: A year, a month or a day, which a bound includes as a whole.
_DAYS: Final = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_AGO: Final = re.compile(r"(\d{1,5})d")
_UNITS: Final = {"day": "D", "week": "W", "month": "M", "year": "Y"}


def zone_of(name: str | tzinfo | None) -> tzinfo:
    """Return the zone with a name, UTC for none; raise UnknownValue, with the nearest names, if there is none.

    >>> zone_of("America/New_York"), zone_of(None)
    (zoneinfo.ZoneInfo(key='America/New_York'), zoneinfo.ZoneInfo(key='UTC'))
    """
    if isinstance(name, tzinfo):
        return name
    try:
        return ZoneInfo(DEFAULT if name is None else name)
    except (TypeError, ValueError, OSError, ZoneInfoNotFoundError):
        raise UnknownValue(f"{quoted(name)} is no time zone{_nearest(name)}") from None


def _nearest(name: object) -> str:
    """Return the three names of zones that resemble a text most, or an example, as the end of a message."""
    if not isinstance(name, str):
        return f", as {quoted(_EXAMPLE)} is"
    names = _names()
    near = get_close_matches(name.casefold().replace(" ", "_"), names, n=6)
    found = [*dict.fromkeys(names[spelling] for spelling in near)][:3]
    return f"; nearest: {', '.join(found)}" if found else f", as {quoted(_EXAMPLE)} is"


@cache
def _names() -> dict[str, str]:
    """Return the names of zones by these in lower case, and by their last part: people write New York."""
    names: dict[str, str] = {}
    for zone in sorted(available_timezones()):
        for spelling in (zone, zone.rpartition("/")[2]):
            names.setdefault(spelling.casefold(), zone)
    return names


def is_utc(zone: tzinfo) -> bool:
    """Return whether the clock of a zone is always UTC."""
    return zone.utcoffset(None) == timedelta(0)


def name_of(zone: tzinfo) -> str:
    """Return what a zone is called; UTC under each of its names.

    >>> name_of(zone_of("Europe/Paris")), name_of(zone_of("Etc/UTC"))
    ('Europe/Paris', 'UTC')
    """
    return DEFAULT if is_utc(zone) else str(zone)


def wall_clock(times: pd.Series, zone: tzinfo) -> pd.Series:
    """Return the wall clock of instants, without a zone.

    >>> wall_clock(pd.Series(pd.to_datetime(["2026-05-01T02:00Z"])), zone_of("America/New_York"))[0]
    Timestamp('2026-04-30 22:00:00')
    """
    shown = times if is_utc(zone) else times.dt.tz_convert(zone)
    clock: pd.Series = shown.dt.tz_localize(None)
    return clock


def are_at_their_place(rows: pd.DataFrame | pa.Table, column: str) -> NDArray[np.bool_]:
    """Return which times of a column are the wall clock of a place, as if it were UTC: that of coming to an event."""
    names = rows.column_names if isinstance(rows, pa.Table) else rows.columns
    if column != _DATE or "action" not in names:
        return np.zeros(len(rows), dtype=bool)
    return pd.Series(rows["action"]).astype("str").isin(_AT_THEIR_PLACE).to_numpy(dtype=bool)


def clock_column(rows: pa.Table, column: str, zone: tzinfo | None) -> pa.ChunkedArray:
    """Return the wall clock of a column of times in a zone, else UTC; times without one are as they are."""
    times = rows[column]
    if times.type.tz is None or zone is None or is_utc(zone):
        return times
    instants = times.to_pandas()
    clock = wall_clock(instants, zone).mask(are_at_their_place(rows, column), instants.dt.tz_localize(None))
    return pa.chunked_array([pa.array(clock, pa.timestamp("us"))])


def on_clock(time: pd.Timestamp, zone: tzinfo) -> pd.Timestamp:
    """Return the wall clock of an instant; a time without a zone is one already."""
    return time if time.tz is None else time.tz_convert(zone).tz_localize(None)


def instants(clock: pd.DatetimeIndex, zone: tzinfo) -> pd.DatetimeIndex:
    """Return the instants of wall clocks, in their zone.

    Of a time that the clock shows twice it is the first; of one that it passes over the first that follows.

    >>> instants(pd.DatetimeIndex(["2026-05-01"]), zone_of("America/New_York"))[0].isoformat()
    '2026-05-01T00:00:00-04:00'
    """
    first = np.ones(len(clock), dtype=bool)
    found = clock.tz_localize(DEFAULT if is_utc(zone) else zone, ambiguous=first, nonexistent="NaT")
    passed_over = np.flatnonzero(np.asarray(found.isna()) & np.asarray(clock.notna())).tolist()
    if not passed_over:
        return found
    times = pd.Series(found)
    for number in passed_over:
        times.iloc[number] = _first_after(clock[number], zone)
    return pd.DatetimeIndex(times)


def _first_after(clock: pd.Timestamp, zone: tzinfo) -> pd.Timestamp:
    """Return the first instant after a wall clock that a zone passes over, to the second.

    The `shift_forward` of pandas misses the end of a day that is passed over as a whole.
    """
    second = clock.floor("s").tz_localize(DEFAULT)
    before, after = second - pd.Timedelta(days=2), second + pd.Timedelta(days=2)
    while after - before > pd.Timedelta(seconds=1):
        middle = (before + (after - before) / 2).floor("s")
        before, after = (middle, after) if on_clock(middle, zone) < clock else (before, middle)
    return after.tz_convert(zone)


def moment(value: Any) -> pd.Timestamp | None:
    """Return a text, date or datetime as a time, with its zone if it has one; None for anything else."""
    if isinstance(value, bool | int | float):  # pandas would read a number as nanoseconds
        return None
    try:
        time = pd.Timestamp(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if pd.isna(time) else time


def present(now: TimeLike | None, zone: tzinfo) -> pd.Timestamp:
    """Return the present that a caller gives, or that of the computer, in a zone."""
    if (time := moment(datetime.now(UTC) if now is None else now)) is None:
        raise InvalidArgument(f"now is a time, as '2026-06-01 12:00', not {quoted(now)}")
    return instants(pd.DatetimeIndex([time]), zone)[0] if time.tz is None else time.tz_convert(zone)


def named_days(value: Any, now: TimeLike | None, zone: tzinfo) -> str | None:
    """Return the year, month or day that a text or date names, as text; None for anything else.

    `7d` is the day seven days before that of `now` in the zone; `today`, `yesterday`, `last-week`, `last-month` and
    `last-year` are counted from it, too, and a week is returned as its Monday and Sunday, with a slash between.

    >>> [named_days(text, "2026-05-13", zone_of(None)) for text in ("7d", "yesterday", "last-month", "last-week")]
    ['2026-05-06', '2026-05-12', '2026-04', '2026-05-04/2026-05-10']
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if not isinstance(value, str):
        return None
    word = value.strip().casefold()
    ago = _AGO.fullmatch(word)
    unit = {"today": "D", "yesterday": "D"} | {f"last-{name}": code for name, code in _UNITS.items()}
    if not ago and word not in unit:
        return value if _DAYS.fullmatch(value) else None
    today = present(now, zone).tz_localize(None)
    if ago:
        try:
            return f"{today - timedelta(days=int(ago[1])):%Y-%m-%d}"
        except (ValueError, OverflowError):
            raise InvalidArgument(f"{quoted(value)} is too long ago") from None
    return str(today.to_period(unit[word]) - int(word != "today"))


def period_of_days(
    value: Any, now: TimeLike | None, zone: tzinfo
) -> tuple[pd.Timestamp, pd.Timestamp] | None:
    """Return the first moment of the days that a text or date names, and that after them; None for anything else.

    >>> period_of_days("2026-05", None, zone_of(None))
    (Timestamp('2026-05-01 00:00:00'), Timestamp('2026-06-01 00:00:00'))
    """
    if (named := named_days(value, now, zone)) is None:
        return None
    first, _, last = named.partition("/")
    try:
        return pd.Period(first).start_time, (pd.Period(last or first) + 1).start_time
    except (ValueError, OverflowError):
        return None
