"""Waiting for what another thread or process does: until it is so, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds after which a test fails that waits for something: against hanging only, no fact depends on it.
GUARD = 120.0


def wait_for(condition: Callable[[], object], *, interval: float = 0.01, seconds: float = GUARD) -> None:
    """Wait until something is so, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(interval)
