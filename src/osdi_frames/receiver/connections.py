"""Limits on connections and on log lines: clients without the token cannot lock the service out."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from osdi_frames.receiver.tokens import TOKEN_SHOWN

logger = logging.getLogger(__name__)


class Connection(H11Protocol):
    """An HTTP/1.1 connection with a time limit for each request's head, one of at most `connections`.

    Where a new connection is one too many, the oldest that has not shown the token is closed; without any of
    these the one that has been idle for the longest time, and without any of these the new one.
    """

    def __init__(
        self,
        connections: int,
        head_seconds: float,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state | {TOKEN_SHOWN: self._trust}, _loop)
        self._most = connections
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._trusted = False
        self._since = self.loop.time()  # when it was made; with the token, when it was last used

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Wait for a head, and close another connection where this is one too many."""
        super().connection_made(transport)
        self._limit_head()
        if len(self.connections) > self._most:
            self._close_one()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once the head is complete; begin again with the first byte of the next."""
        super().data_received(data)
        self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._stop_timer()

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _trust(self) -> None:
        self._trusted = True
        self._since = self.loop.time()

    def _limit_head(self) -> None:
        if not self._is_idle:
            self._stop_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self._head_seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
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
