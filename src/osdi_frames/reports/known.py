"""Find the newest date of a frame that is not doubtful, at which comparisons and predictions end.

A frame can have dates in the future, by a typing error, or since an event was moved after an attendance was marked as
`attended`. A date is doubtful if its year is far from those of most rows, as for `check`, or if it is more than a day
after the newest receipt; a day, since the wall clock of an attendance can be 14 hours ahead of UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import Final, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.clock import TimeLike, moment, on_clock, period_of_days
from osdi_frames.errors import InvalidArgument
from osdi_frames.messages import counted, quoted
from osdi_frames.problems import trusted_years
from osdi_frames.reports.columns import UTC, converted, utc
from osdi_frames.reports.measures import show_key

Duration: TypeAlias = str | timedelta
"""A length of time that a caller passes: a text, timedelta or Timedelta."""

#: The columns with the time of a row's receipt; a frame may lack them.
RECEIPTS: Final = ("received_at", "fetched_at")
_AHEAD: Final = pd.Timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Known:
    """The wall clocks of rows, with the newest that is not doubtful (NaT if none is) and the noun for a row."""

    dates: pd.Series
    newest: pd.Timestamp
    noun: str

    @classmethod
    def of(cls, dates: pd.Series, latest: pd.Timestamp | None, noun: str) -> Self:
        """Find the newest date that is in trusted years and, if it is known, not after the `latest` possible time."""
        possible = dates
        if latest is not None:
            possible = dates[dates <= latest]
        return cls(dates, possible[is_trusted(possible)].max(), noun)

    @property
    def later(self) -> pd.Series:
        """Whether each date is after the newest that is not doubtful."""
        later: pd.Series = self.dates > self.newest if pd.notna(self.newest) else self.dates.notna()
        return later

    @property
    def note(self) -> str:
        """A note on the later dates, empty without any."""
        later = self.dates[self.later]
        if later.empty:
            return ""
        days = dict.fromkeys(show_key(day.normalize()) for day in (later.min(), later.max()))
        dates = "a doubtful date" if len(later) == 1 else "doubtful dates"
        return f"set aside: {counted(len(later), self.noun)} with {dates} ({' to '.join(days)})"


def is_trusted(dates: pd.Series) -> NDArray[np.bool_]:
    """Return which dates are in `trusted_years`, the years around most of them."""
    days = dates.dt.floor("D")
    counts = days.value_counts()  # the years of days, since there are fewer of them
    if counts.empty:
        return np.zeros(len(dates), dtype=bool)
    of_years = counts.groupby(counts.index.year).sum()
    trusted = trusted_years(dict(zip(of_years.index.tolist(), of_years.tolist(), strict=True)))
    within = counts.index[(counts.index.year >= trusted.start) & (counts.index.year < trusted.stop)]
    return np.asarray(days.between(within.min(), within.max()), dtype=bool)


def latest_time(
    frames: Iterable[pd.DataFrame], now: TimeLike | None, zone: tzinfo, *, report: str
) -> pd.Timestamp | None:
    """Return the latest time that rows can have, on the clock of a zone.

    It is a day after the newest receipt, or without receipts `now`.
    """
    columns = [frame[name] for frame in frames for name in RECEIPTS if name in frame.columns]
    newest = pd.Series([converted(column, utc, report=report).max() for column in columns], dtype=UTC).max()
    if pd.notna(newest):
        return on_clock(pd.Timestamp(newest), zone) + _AHEAD
    return None if now is None else _on_clock(now, zone, report=report, argument="now")


def end_of(
    until: TimeLike, now: TimeLike | None, zone: tzinfo, *, report: str, argument: str = "until"
) -> pd.Timestamp:
    """Return the end that a caller chose, on the clock of a zone: that of the day, month or year, or a time."""
    if days := period_of_days(until, now, zone):
        return days[1]
    return _on_clock(until, zone, report=report, argument=argument)


def _on_clock(value: TimeLike, zone: tzinfo, *, report: str, argument: str) -> pd.Timestamp:
    if (time := moment(value)) is None:
        raise InvalidArgument(f"{report}: {argument} is a time, as '2026-06-01', not {quoted(value)}")
    return on_clock(time, zone)


def duration(value: Duration) -> pd.Timedelta | None:
    """Return a text or timedelta as a Timedelta; None for anything else."""
    if isinstance(value, bool | int | float):  # pandas would read a number as nanoseconds
        return None
    try:
        length = pd.Timedelta(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if pd.isna(length) else length
