"""Up to when the dates of a frame are known: what is compared, measured or foretold ends there.

A frame can have dates that are still to come: a typing error, or an attendance marked `attended` at an event that was
moved. The newest date counts that is in the years of most rows, as `check` has them, and at most a day after the newest
receipt: the wall clock of an attendance is up to 14 hours ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final, Self, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.errors import InvalidArgument
from osdi_frames.messages import counted, quoted
from osdi_frames.problems import trusted_years
from osdi_frames.reports.columns import UTC, converted, utc
from osdi_frames.reports.measures import show_key

T = TypeVar("T", pd.Timestamp, pd.Timedelta)
TimeLike: TypeAlias = str | date
"""A time as callers write it: a text, or a date, datetime or Timestamp."""
Duration: TypeAlias = str | timedelta
"""A length of time as callers write it: a text, or a timedelta or Timedelta."""

#: The columns that say when a row was received; a frame may lack them.
RECEIPTS: Final = ("received_at", "fetched_at")
_AHEAD: Final = pd.Timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Known:
    """Dates, the newest of them that is known (NaT where there is none), and what a row is called."""

    dates: pd.Series
    newest: pd.Timestamp
    noun: str

    @classmethod
    def of(cls, dates: pd.Series, latest: pd.Timestamp | None, noun: str) -> Self:
        """Find the newest of the dates up to the `latest` possible time that is trusted among these."""
        possible = dates
        if latest is not None:
            possible = dates[dates <= (latest if dates.dt.tz else latest.tz_localize(None))]
        return cls(dates, possible[is_trusted(possible)].max(), noun)

    @property
    def later(self) -> pd.Series:
        """Whether each date is after the newest known one."""
        later: pd.Series = self.dates > self.newest if pd.notna(self.newest) else self.dates.notna()
        return later

    @property
    def note(self) -> str:
        """A sentence on the dates that are later, if there are any."""
        aside = self.dates[self.later]
        if aside.empty:
            return ""
        days = dict.fromkeys(show_key(day.normalize()) for day in (aside.min(), aside.max()))
        which = "a doubtful date" if len(aside) == 1 else "doubtful dates"
        return f"set aside: {counted(len(aside), self.noun)} with {which} ({' to '.join(days)})"


def is_trusted(dates: pd.Series) -> NDArray[np.bool_]:
    """Return which dates are in the years near most of them; those of other years are doubtful, as in `check`."""
    years = dates.dt.year
    counts = years.value_counts()
    if counts.empty:
        return np.zeros(len(years), dtype=bool)
    trusted = trusted_years(dict(zip(counts.index.astype("int64"), counts, strict=True)))
    return np.asarray(years.between(trusted.start, trusted.stop - 1), dtype=bool)


def latest_time(frames: Iterable[pd.DataFrame], now: TimeLike | None, *, report: str) -> pd.Timestamp | None:
    """Return the last time (UTC) that rows can have: a day after the newest receipt, else `now`, if known."""
    columns = [frame[name] for frame in frames for name in RECEIPTS if name in frame.columns]
    newest = pd.Series([converted(column, utc, report=report).max() for column in columns], dtype=UTC).max()
    if pd.notna(newest):
        return pd.Timestamp(newest) + _AHEAD
    return None if now is None else moment(now, report=report, argument="now")


def moment(value: TimeLike, *, report: str, argument: str = "until") -> pd.Timestamp:
    """Convert an argument to a time in UTC."""
    time = parsed(pd.Timestamp, value)
    if time is None:
        raise InvalidArgument(f"{report}: {argument} is a time, as '2026-06-01', not {quoted(value)}")
    return time.tz_localize("UTC") if time.tz is None else time.tz_convert("UTC")


def parsed(kind: type[T], value: Any) -> T | None:
    """Convert a text or time; of others return None."""
    if isinstance(value, bool | int | float):  # pandas takes it for nanoseconds
        return None
    try:
        found: Any = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if pd.isna(found) else found
