"""A deadline for a whole request: httpx limits each wait only, and a service can make any number of them.

One byte a second, headers or 100-continue without end, a gzip stream of nothing: each wait is short, and the
request never ends. Here every wait on a socket is cut to what is left of the request's time.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

import httpcore
import httpx


class Deadline:
    """The time left of the request that each thread is sending; it starts with the first wait on a socket.

    Waiting for a free connection does not count: that is no sign of the service.
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._until = threading.local()

    def reset(self) -> None:
        """Begin a new request in this thread."""
        self._until.moment = None

    @property
    def exceeded(self) -> bool:
        """Whether the last request of this thread has used up its time."""
        return self._left() <= 0

    def limit(self, timeout: float | None) -> float:
        """Return how long the next wait may take, at most `timeout`.

        Raises
        ------
        httpcore.ReadTimeout
            Nothing is left.
        """
        if getattr(self._until, "moment", None) is None:
            self._until.moment = self._clock() + self.seconds
        left = self._left()
        if left <= 0:
            raise httpcore.ReadTimeout(f"not complete after {self.seconds:g} seconds")
        return left if timeout is None else min(timeout, left)

    def _left(self) -> float:
        moment: float | None = getattr(self._until, "moment", None)
        return self.seconds if moment is None else moment - self._clock()

    def apply_to(self, client: httpx.Client) -> None:
        """Use this deadline for every connection of a client, those through proxies included."""
        for transport in (client._transport, *client._mounts.values()):
            if isinstance(transport, httpx.HTTPTransport):
                # httpx has no argument for it; httpcore has, and the tests with slow servers see that it holds.
                pool = transport._pool
                pool._network_backend = _Limited(pool._network_backend, self)  # type: ignore[assignment]


class _Limited:
    """A network backend of httpcore, or one of its streams, whose waits are cut to the deadline."""

    def __init__(self, inner: Any, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **more: Any) -> _Limited:
        limit = self._deadline.limit(timeout)
        return _Limited(self._inner.connect_tcp(host, port, timeout=limit, **more), self._deadline)

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Limited:
        limit = self._deadline.limit(timeout)
        return _Limited(self._inner.start_tls(ssl_context, server_hostname, limit), self._deadline)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._inner.read(max_bytes, self._deadline.limit(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.limit(timeout))
