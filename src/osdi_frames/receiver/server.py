"""Run the receiver under uvicorn.

Connections and log lines are limited: clients without the token cannot lock the service out.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import resource
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from osdi_frames.listening import BACKLOG, listen
from osdi_frames.receiver.app import TOKEN_SHOWN, create_app
from osdi_frames.receiver.delivery_queue import Limits

_FILES = 64  # open files other than connections
_LOGGERS = ("asyncio", "uvicorn.error", __name__, "osdi_frames.receiver.delivery_queue")
_DRAIN_SECONDS = 2  # of the five that a stop may take; what is then still arriving is answered 503
_KEEP_ALIVE_SECONDS = 65  # longer than a sender's pool keeps a connection, so that the sender closes it

logger = logging.getLogger(__name__)


def serve(
    archive: str | Path,
    *,
    tokens: Iterable[str],
    host: str = "127.0.0.1",
    port: int = 8080,
    worker: str = "main",
    limits: Limits | None = None,
) -> None:
    """Receive deliveries into an archive until SIGTERM or SIGINT; see `create_app` for the arguments.

    Ctrl-C ends in a KeyboardInterrupt, raised when everything that was acknowledged is on disk.
    Connections are limited as `Limits` says, and no statement logs more than ten lines a minute.

    Raises
    ------
    OSError
        The address cannot be listened on, or the archive cannot be written.
    """
    limits, repeats = limits or Limits(), RepeatLimit()
    with listen(host, port) as listener, contextlib.ExitStack() as at_the_end:
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(repeats)
            at_the_end.callback(logging.getLogger(name).removeFilter, repeats)
        app = create_app(archive, tokens=tokens, worker=worker, limits=limits)
        logger.info("running on http://%s:%d", host, listener.getsockname()[1])
        _Server(_config(app, limits)).run(sockets=[listener])


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():  # asyncio made the queue as short as what it accepts at once
            listener.listen(BACKLOG)


def _config(app: Starlette, limits: Limits) -> uvicorn.Config:
    # Out of files, nothing can be accepted, and asyncio's loop logs a traceback for each that waits. It accepts
    # `backlog` connections before the first of them can close another one, and again while that one closes.
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    connections = max(8, min(limits.connections, (files - _FILES) // 2))
    http: Any = functools.partial(Connection, connections, limits.head_seconds)
    return uvicorn.Config(
        app,
        http=http,
        loop="asyncio",
        backlog=connections // 8,
        lifespan="on",
        ws="none",
        access_log=False,  # it would show the token with every line
        log_config=None,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )


class Connection(H11Protocol):
    """An HTTP/1.1 connection with a time limit for each request's head, one of at most `connections`.

    Where a new connection is one too many, the oldest that has not shown the token is closed; without any of
    these the one that has been idle for the longest time, and without any of these the new one.
    """

    def __init__(
        self, connections: int, head_seconds: float, *, app_state: dict[str, Any], **given: Any
    ) -> None:
        super().__init__(app_state=app_state | {TOKEN_SHOWN: self._trust}, **given)
        self._most = connections
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._trusted = False
        self._since = self.loop.time()  # when it was made; with the token, when it was last used

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Wait for a head, and close another connection where this is one too many."""
        super().connection_made(transport)
        self._limit_head(waits=True)
        if len(self.connections) > self._most:
            self._close_one()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once the head is complete; begin again with the first byte of the next."""
        super().data_received(data)
        self._limit_head(waits=self._is_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._limit_head(waits=False)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _trust(self) -> None:
        self._trusted = True
        self._since = self.loop.time()

    def _limit_head(self, *, waits: bool) -> None:
        if self._head_timer is None and waits:
            self._head_timer = self.loop.call_later(self._head_seconds, self.transport.abort)
        elif self._head_timer is not None and not waits:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_one(self) -> None:
        logger.warning(
            "more than %d connections are open; the oldest without the token is closed", self._most
        )
        everyone = cast("set[Connection]", self.connections)
        others = [other for other in everyone - {self} if other._is_idle or not other._trusted]
        closed = min(others, key=lambda other: (other._trusted, other._since), default=self)
        self.connections.discard(closed)  # at once: the next new connection closes another one
        closed.transport.abort()


class RepeatLimit(logging.Filter):
    """Log each statement of the program at most `most` times a minute, and count the records left out.

    >>> limit = RepeatLimit(most=2)
    >>> [limit.filter(logging.makeLogRecord({"created": second})) for second in (0, 1, 2, 61)]
    [True, True, False, True]
    """

    def __init__(self, most: int = 10) -> None:
        super().__init__()
        self._most = most
        self._seen: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged."""
        place = record.pathname, record.lineno
        began, count = self._seen.get(place, (record.created, 0))
        if record.created - began >= 60:
            if count > self._most:
                record.msg = f"{record.msg} ({count - self._most} more like this were left out)"
            began, count = record.created, 0
        self._seen[place] = began, count + 1
        return count < self._most
