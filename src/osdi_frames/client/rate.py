"""How often the service may be asked: a limit that all threads of a client share."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue


class RateLimit:
    """Let at most `calls` requests reach the service in any `per` seconds.

    There are as many slots as calls. A request holds one from before it is sent until it has been answered, and the
    slot then rests for `per` seconds. Whenever a request reached the service, the one that follows it in its slot
    reaches it at least `per` seconds later, however long either was on its way. A slow service is asked more slowly.

    >>> with RateLimit(4, per=1.0).slot():
    ...     pass
    """

    def __init__(
        self,
        calls: int | None,
        *,
        per: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if calls is not None and not (isinstance(calls, int) and calls >= 1):
            raise ValueError(f"rate is a whole number of calls from 1 on, or None, not {calls!r}")
        if not (per > 0 and math.isfinite(per)):
            raise ValueError(f"per is a number of seconds above 0, not {per!r}")
        self._per = per
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._not_before = -math.inf
        # When each slot that nobody holds has rested; earliest first, since slots are given back in time.
        self._rested: SimpleQueue[float] | None = None if calls is None else SimpleQueue()
        for _ in range(calls or 0):
            self._give_back(-math.inf)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait until a request may be sent, and hold its slot while it is on its way."""
        rested = -math.inf if self._rested is None else self._rested.get()
        try:
            while (seconds := max(rested, self._not_before) - self._clock()) > 0:
                self._sleep(seconds)
            yield
        finally:
            self._give_back(self._clock() + self._per)

    def hold(self, seconds: float) -> None:
        """Let no request begin for some seconds: the service asked for a pause (Retry-After)."""
        with self._lock:
            self._not_before = max(self._not_before, self._clock() + seconds)

    def _give_back(self, rested: float) -> None:
        if self._rested is not None:
            self._rested.put(rested)
