"""Find the newest date of a frame that is not doubtful, and the periods that have ended before it.

A frame can have dates in the future, by a typing error, or since an event was moved after an attendance was marked as
`attended`. A date is doubtful if its year is far from those of most rows, as for `check`, or if it is more than a day
after the newest receipt; a day, since the wall clock of an attendance can be 14 hours ahead of UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import Any, Final, Self, TypeAlias

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
_FEWEST: Final = 2  # periods, which reports on change compare


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


#: Periods of the calendar: months, quarters and years, which differ in length, and weeks, which begin on Monday.
_CALENDAR: Final = re.compile(r"(\d{0,3})([WMQY])[SE]?")
_STEPS: Final = {"W": "weeks", "M": "months", "Q": "months", "Y": "years"}


@dataclass(frozen=True, slots=True)
class _Length:
    """The length of a period."""

    step: pd.DateOffset | pd.Timedelta
    unit: str
    """The unit that a period without `until` is aligned to: W, M, Q, Y, D, h or min."""

    @classmethod
    def of(cls, period: Duration, *, report: str) -> _Length:
        calendar = _CALENDAR.fullmatch(period) if isinstance(period, str) else None
        if calendar:
            number = int(calendar[1] or 1) * (3 if calendar[2] == "Q" else 1)
            if number:
                step: dict[str, Any] = {_STEPS[calendar[2]]: number}
                return cls(pd.DateOffset(**step), calendar[2])
        is_unit = isinstance(period, str) and not any(map(str.isdigit, period))
        length = duration(f"1{period}" if is_unit else period)
        if length is None or length <= pd.Timedelta(0):
            raise InvalidArgument(
                f"{report}: period is a time as '7D', or W, M, Q or Y, not {quoted(period)}"
            )
        is_days, is_hours = (length % unit == pd.Timedelta(0) for unit in map(pd.Timedelta, ("1D", "1h")))
        return cls(length, "D" if is_days else "h" if is_hours else "min")

    def last_end(self, newest: pd.Timestamp) -> pd.Timestamp:
        """Return the end of the last period that ended before the newest date."""
        if self.unit in _STEPS:
            return newest.to_period(self.unit).start_time
        return newest.floor(self.unit)


@dataclass(frozen=True, slots=True)
class Periods:
    """Consecutive periods of one length, of which the last ends before the newest date, or where the caller says."""

    known: Known
    bounds: list[pd.Timestamp]
    """The start of each period, and the end of the last."""
    number: NDArray[np.int64]
    """For each date the number of its period, from 0, and -1 outside of all."""
    is_chosen: bool
    """Whether the caller chose the end."""

    @classmethod
    def of(
        cls, known: Known, period: Duration, chosen: pd.Timestamp | None, *, report: str, count: int = 2
    ) -> Periods:
        """Find so many periods of a length, the last of which ends at a chosen time.

        They are fewer, but two at least, where the first would begin before all times that pandas has.
        """
        dates, newest = known.dates, known.newest
        length = _Length.of(period, report=report)
        end = length.last_end(pd.Timestamp(0) if pd.isna(newest) else newest) if chosen is None else chosen
        bounds = [end]
        try:
            while len(bounds) <= count:
                bounds.insert(0, end - len(bounds) * length.step)
        except (ValueError, OverflowError):
            if len(bounds) <= _FEWEST:
                raise InvalidArgument(f"{report}: period is too long before {show_key(end)}") from None
        number = np.searchsorted(
            pd.DatetimeIndex(bounds).as_unit("us"), pd.DatetimeIndex(dates), side="right"
        )
        return cls(
            known,
            bounds,
            np.where(dates.notna() & (number < len(bounds)), number - 1, -1),
            chosen is not None,
        )

    @staticmethod
    def start_of(report: pd.DataFrame) -> pd.Timestamp:
        """Return the start of the period before, of a report that `noted` wrote periods to."""
        return pd.Timestamp(report.attrs["periods"]["before"].partition(" to ")[0])

    def noted(self, report: pd.DataFrame) -> pd.DataFrame:
        """Write the last two periods to a report's attributes `period` and `periods`, and what is newer to `newer`."""
        newer = "".join(self.newer_notes)
        report.attrs |= {"period": self._compared, "periods": self._names, "newer": newer}
        return report

    @property
    def _names(self) -> dict[str, str]:
        """The first and last day of each period, by the name of its column."""
        before, start, end = self.bounds[-3:]
        return {"before": period_name(before, start), "now": period_name(start, end)}

    @property
    def _compared(self) -> str:
        return f"{self._names['now']}, against {self._names['before']}"

    @property
    def notes(self) -> list[str]:
        """Notes on the periods, on rows without a date, and on a period that has not ended."""
        newest, undated = self.known.newest, int(self.known.dates.isna().sum())
        notes = [f"without a date: {counted(undated, self.known.noun)}"] if undated else []
        if pd.isna(newest):
            return notes
        notes.insert(0, self._compared)
        if self.bounds[-1] > newest:
            notes.append(f"the period has not ended: the newest date is {show_key(newest)}")
        return notes

    @property
    def newer_notes(self) -> list[str]:
        """A note on the days after the last period, unless the caller chose its end."""
        newest, end = self.known.newest, self.bounds[-1]
        if self.is_chosen or pd.isna(newest):
            return []
        return [f"{_days(end, newest)} not compared: the period may not have ended"]

    @property
    def doubtful_notes(self) -> list[str]:
        """A note on doubtful dates, unless the caller chose the end."""
        return [self.known.note] if self.known.note and not self.is_chosen else []


def period_name(start: pd.Timestamp, end: pd.Timestamp) -> str:
    """Return a period's first and last day; its start and end if these are not midnights.

    >>> period_name(pd.Timestamp("2026-05-04"), pd.Timestamp("2026-05-11"))
    '2026-05-04 to 2026-05-10'
    """
    is_of_days = start == start.normalize() and end == end.normalize()
    last = end - pd.Timedelta(days=1) if is_of_days else end
    return show_key(start) if start == last else f"{show_key(start)} to {show_key(last)}"


def _days(start: pd.Timestamp, last: pd.Timestamp) -> str:
    """Return the first and last day from one time to another.

    >>> _days(pd.Timestamp("2026-07-27"), pd.Timestamp("2026-08-01 17:30"))
    '2026-07-27 to 2026-08-01'
    """
    is_one_day = start.normalize() == last.normalize()
    return show_key(start) if is_one_day else f"{show_key(start)} to {show_key(last.normalize())}"
