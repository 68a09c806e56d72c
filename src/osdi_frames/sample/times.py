"""When things happen in the sample."""

from datetime import UTC, datetime, timedelta

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


def growing(share: float) -> datetime:
    """Return when a share of all things was there, whose number grows more and more over six years."""
    moment: datetime = UNTIL - 6 * YEAR * (1 - share**0.5)
    return moment
