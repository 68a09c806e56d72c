"""Time in tests: clocks that the test advances, and waiting for what another thread or process does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

#: Seconds after which a test that waits fails: against hanging only, no machine is too slow for it.
GUARD = 120.0


def wait_for(condition: Callable[[], object], *, interval: float = 0.01, seconds: float = GUARD) -> None:
    """Wait until something is so, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(interval)


def cpu_seconds(process: int) -> float:
    """Return how long a process has worked: less than it has run, where others work, too."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Clock:
    """A clock that stands still until it is advanced."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return self.moment.timestamp()

    def advance(self, seconds: float = 0, *, days: int = 0) -> None:
        self.moment += timedelta(days=days, seconds=seconds)
