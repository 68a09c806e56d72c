"""A deadline for a whole request: httpx limits each wait only, and a service can make any number of them.

One byte a second, headers or 100-continue without end, a gzip stream of nothing: each wait is short, and the
request never ends. Here every wait on a socket is cut to what is left of the request's time.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterable
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
                pool._network_backend = _Backend(pool._network_backend, self)


class _Backend(httpcore.NetworkBackend):
    """Connections whose waits are cut to the deadline."""

    def __init__(self, inner: httpcore.NetworkBackend, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect."""
        limit = self._deadline.limit(timeout)
        return _Stream(
            self._inner.connect_tcp(host, port, limit, local_address, socket_options), self._deadline
        )

    def sleep(self, seconds: float) -> None:
        """Wait between httpcore's own attempts; there are none."""
        self._inner.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """A connection whose waits are cut to the deadline of the request that uses it."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has arrived."""
        return self._inner.read(max_bytes, self._deadline.limit(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        self._inner.write(buffer, self._deadline.limit(timeout))

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Begin TLS on the connection."""
        limit = self._deadline.limit(timeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, limit), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore asks about the socket."""
        return self._inner.get_extra_info(info)
