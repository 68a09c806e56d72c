"""When things happen in the sample: more of them in spring and autumn, on weekdays, at noon and in the evening."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

MINUTE = timedelta(minutes=1)
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY
MONTH = 30 * DAY
YEAR = 365 * DAY

UNTIL = datetime(2026, 8, 1, tzinfo=UTC)  # time stands still here: nothing was modified later
EMBEDDED_UNTIL = datetime(2018, 6, 1, tzinfo=UTC)  # until then v2 embedded the people of an event
BEGINNING = EMBEDDED_UNTIL - YEAR  # of the oldest events

#: Read a moment that the service wrote.
parse = datetime.fromisoformat


def iso(when: datetime) -> str:
    """Write a UTC moment as the service does."""
    return f"{when.isoformat()[:19]}Z"


#: How much is done in each month of a year that begins on the first of August.
_MONTHS = (8, 12, 15, 10, 6, 9, 10, 13, 14, 12, 10, 10)
#: … on each day, from Friday on, …
_DAYS = (9, 8, 6, 11, 13, 12, 11)
#: … and in each hour of a day of American clocks, four hours behind UTC.
_HOURS = (2, 1, 1, 1, 1, 2, 4, 8, 12, 14, 14, 16, 22, 19, 15, 14, 14, 16, 20, 24, 26, 22, 13, 6)
_BEHIND = (
    4  # hours; a week of UTC begins on Friday at 20:00 there, as UNTIL is the first minute of a Saturday
)

_WEEK_HOURS = [day * hour for day in _DAYS for hour in _HOURS]
_WEEK_HOURS = _WEEK_HOURS[24 - _BEHIND :] + _WEEK_HOURS[: 24 - _BEHIND]


class _Cycle(NamedTuple):
    """A stretch of time that repeats, cut into equal parts, and the share of it that has happened at each cut."""

    length: timedelta
    cuts: Sequence[float]
    happened: Sequence[float]

    @classmethod
    def of(cls, length: timedelta, weights: Sequence[int]) -> _Cycle:
        """Make a cycle of parts in which as much is done as their weights say."""
        cuts = [number / len(weights) for number in range(len(weights) + 1)]
        return cls(length, cuts, [0, *(done / sum(weights) for done in accumulate(weights))])

    def lived(self, moment: datetime) -> datetime:
        return self._moved(moment, self.happened, self.cuts)

    def evened(self, moment: datetime) -> datetime:
        return self._moved(moment, self.cuts, self.happened)

    def _moved(self, moment: datetime, shares: Sequence[float], moved: Sequence[float]) -> datetime:
        """Move a moment so that it lies between the moved shares as it did between the shares of the cycle."""
        number, rest = divmod(moment - UNTIL, self.length)
        share = rest / self.length
        end = bisect(shares, share)  # a share is less than 1, the last of the shares
        begin = end - 1
        within = (share - shares[begin]) / (shares[end] - shares[begin])
        return UNTIL + self.length * (number + moved[begin] + (moved[end] - moved[begin]) * within)


_YEARLY, _WEEKLY = _Cycle.of(YEAR, _MONTHS), _Cycle.of(WEEK, _WEEK_HOURS)


def lived(moment: datetime) -> datetime:
    """Move a moment of an even stream to the season, the day and the hour at which people act.

    The order of moments stays, and so does `UNTIL`.
    """
    return _WEEKLY.lived(_YEARLY.lived(moment))


def evened(moment: datetime) -> datetime:
    """Move a moment back to that of the even stream, from which `lived` moved it."""
    return _YEARLY.evened(_WEEKLY.evened(moment))


def growing(share: float) -> datetime:
    """Return when a share of all things was there, whose number grows more and more over six years."""
    return lived(UNTIL - 6 * YEAR * (1 - share**0.5))


def between(first: datetime, last: datetime, share: float) -> datetime:
    """Return when a share of what happens between two moments has happened."""
    begin, end = evened(first), evened(last)
    return lived(begin + (end - begin) * share)


def share_until(moment: datetime, first: datetime, last: datetime) -> float:
    """Return the share of what happens between two moments that has happened until a third."""
    begin = evened(first)
    return (evened(moment) - begin) / (evened(last) - begin)
