"""The receiver as an ASGI application, under uvicorn.

Each request and its token are checked, its body is stored and answered. The number of connections is limited, and no
client can fill the log: those without the token cannot lock the service out.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import logging
import re
import signal
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from osdi_frames.errors import InvalidArgument
from osdi_frames.listening import BACKLOG, listen
from osdi_frames.locking import require_shared_locks
from osdi_frames.receiver.delivery_queue import DeliveryQueue, ReceiverLimits
from osdi_frames.receiver.worker import Worker, check_name

_TOKEN = re.compile(r"[A-Za-z0-9._~-]{20,}")
_TOKEN_SHOWN = "token_shown"  # noqa: S105 (a key of a request's state: what to call when the token is valid)
_LINGER_SECONDS = 2.0
_FILES = 64  # open files other than connections
_DRAIN_AT_ONCE = 0.4
_DRAIN_SECONDS = 2  # of the five that a stop may take; what is then still arriving is answered 503
_KEEP_ALIVE_SECONDS = 65  # longer than a sender's pool keeps a connection, so that the sender closes it

logger = logging.getLogger(__name__)
_connection_errors = logger.getChild("connections")


class _Early(PlainTextResponse):
    """An answer before the body's end, after which the body is read for a moment.

    A connection that is closed while bytes arrive is reset, and the sender never sees the answer.
    """

    def __init__(self, text: str, status: int, **headers: str) -> None:
        super().__init__(text, status, headers={"connection": "close"} | headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (as in Starlette)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                    pass
        await send({"type": "http.response.body"})


TWO_LENGTHS = _Early("Content-Length or Transfer-Encoding, not both\n", 400)
STORED = PlainTextResponse("stored\n", 200)
UNKNOWN = _Early("not found\n", 404)
NOT_A_POST = _Early("deliveries are posted\n", 405, allow="POST")
TOO_SLOW = PlainTextResponse("the body took too long\n", 408, headers={"connection": "close"})
TOO_LARGE = _Early("the body is too large\n", 413)
ENCODED = _Early("send the body as it is, not compressed\n", 415)
BUSY = PlainTextResponse("not stored, send it again\n", 503, headers={"retry-after": "1"})


def create_app(
    archive: str | Path,
    *,
    tokens: Iterable[str],
    worker: str = "main",
    limits: ReceiverLimits | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Starlette:
    """Make the application that receives deliveries into an archive.

    It answers ``POST /<token>``, with or without a slash behind it, and ``GET /healthz``. The worker's folder is
    locked here, not at the first request, until the application shuts down.

    Parameters
    ----------
    archive
        The folder to receive into; made if it is not there.
    tokens
        The secrets that are valid in the address; two during a change.
    worker
        The folder inside the archive that this process owns; every process needs one of its own.
    limits
        Sizes and times, see `ReceiverLimits`; those on connections and heads are the server's, see `serve`.
    now
        Returns the current time, for ``received_at`` and the folders of days.

    Raises
    ------
    ArchiveLocked
        Another process owns the worker's folder.
    InvalidArgument
        No token, or one that could be guessed.
    UnsupportedSystem
        On Windows.

    Examples
    --------
    >>> import tempfile
    >>> create_app(tempfile.mkdtemp(), tokens=["a-token-that-is-long-enough"])  # uvicorn.run(…) serves it
    <starlette.applications.Starlette object at 0x...>
    """
    require_shared_locks()
    limits = limits or ReceiverLimits()
    check_name(worker)  # before the tokens, which the command line may make
    known = Tokens(tokens)
    owner = Worker(Path(archive), worker, segment_bytes=limits.segment_bytes)
    queue = DeliveryQueue(owner, limits=limits, now=now)
    # One route for all: a redirect to an address with a slash would repeat the token in a header.
    routes = [Route("/{path:path}", _Endpoint(queue, known, limits))]
    return Starlette(routes=routes, lifespan=lambda _app: queue.running())


def serve(
    archive: str | Path,
    *,
    tokens: Iterable[str],
    host: str = "127.0.0.1",
    port: int = 8080,
    worker: str = "main",
    limits: ReceiverLimits | None = None,
) -> None:
    """Receive deliveries until SIGTERM or SIGINT.

    See `create_app` for the arguments. Ctrl-C ends in a KeyboardInterrupt, raised when everything that was acknowledged
    is on disk. Connections are limited as `ReceiverLimits` says.

    Raises
    ------
    OSError
        The address cannot be listened on, or the archive cannot be written.
    """
    limits = limits or ReceiverLimits()
    with listen(host, port) as listener:
        app = create_app(archive, tokens=tokens, worker=worker, limits=limits)
        logger.info("running on http://%s:%d", host, listener.getsockname()[1])
        _Server(_config(app, limits)).run(sockets=[listener])


class Tokens:
    """The tokens that are valid now; the time of a comparison does not show which one was sent.

    >>> "a-token-that-is-long-enough" in Tokens(["a-token-that-is-long-enough"])
    True
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        given = list(tokens)
        if not given or not all(_TOKEN.fullmatch(token) for token in given):
            raise InvalidArgument("a token has at least 20 characters out of A-Z, a-z, 0-9 and . _ ~ -")
        self._tokens = [token.encode() for token in given]

    def __contains__(self, candidate: str) -> bool:
        asked = candidate.encode("utf-8", "surrogatepass")
        return sum(hmac.compare_digest(asked, token) for token in self._tokens) > 0


class _Endpoint:
    """Answers every request."""

    def __init__(self, queue: DeliveryQueue, tokens: Tokens, limits: ReceiverLimits) -> None:
        self._queue = queue
        self._tokens = tokens
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path, headers = request.path_params["path"], request.headers
        if {"content-length", "transfer-encoding"} <= {*headers}:
            return TWO_LENGTHS  # a proxy that uses the other length sees another end of the body
        if path == "healthz" and request.method in ("GET", "HEAD"):
            report = await self._queue.health()
            return JSONResponse(report, 200 if report["append_and_sync"] else 503)
        if path.removesuffix("/") not in self._tokens:
            return UNKNOWN
        if token_shown := request.scope.get("state", {}).get(_TOKEN_SHOWN):
            token_shown()
        if request.method != "POST":
            return NOT_A_POST
        if headers.get("content-encoding", "").strip().lower() not in ("identity", ""):
            return ENCODED
        if int(headers.get("content-length", 0)) > self._limits.body_bytes:
            return TOO_LARGE
        if self._queue.full:
            return BUSY
        read = bytearray()
        if refused := await self._read(request, read):
            self._queue.held -= len(read)
            return refused
        body = bytes(read)
        read.clear()  # or a large body is in memory twice
        return STORED if await self._queue.store(body) else BUSY

    async def _read(self, request: Request, read: bytearray) -> Response | None:
        """Read a body, which counts as held in the queue from then on; return a refusal if it ends early."""
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for chunk in request.stream():
                    read += chunk
                    self._queue.held += len(chunk)
                    if len(read) > self._limits.body_bytes:
                        return TOO_LARGE
                    if self._queue.overfull:
                        return BUSY
        except TimeoutError:
            return TOO_SLOW
        except (ClientDisconnect, asyncio.CancelledError):  # the server stops, and has waited long enough
            return BUSY
        return None


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let somebody who presses Ctrl-C wait less than a service that stops."""
        if sig == signal.SIGINT:
            self.config.timeout_graceful_shutdown = _DRAIN_AT_ONCE  # type: ignore[assignment] # asyncio takes fractions
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():  # asyncio made the queue as short as what it accepts at once
            listener.listen(BACKLOG)


def _config(app: Starlette, limits: ReceiverLimits) -> uvicorn.Config:
    # Out of files, nothing can be accepted, and asyncio's loop logs a traceback for each that waits. It accepts
    # `backlog` connections before the first of them can close another one, and again while that one closes.
    import resource  # Windows has none, nor a receiver

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    connections = max(8, min(limits.connections, (files - _FILES) // 2))
    http: Any = functools.partial(_Connection, _ConnectionLimits(connections, limits.head_seconds))
    _connection_errors.setLevel(logging.ERROR)
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


@dataclass(slots=True)
class _ConnectionLimits:
    """How many connections are open at most, seconds that a request's head may take, and whether any was closed."""

    connections: int
    head_seconds: float
    was_reached: bool = False


class _Connection(H11Protocol):
    """An HTTP/1.1 connection, one of a limited number, with a time limit for the head of each request.

    Where a new connection is one too many, the oldest that has not shown the token is closed; without any of these the
    one that has been idle for the longest time, and without any of these the new one.
    """

    def __init__(self, limits: _ConnectionLimits, *, app_state: dict[str, Any], **given: Any) -> None:
        super().__init__(app_state=app_state | {_TOKEN_SHOWN: self._trust}, **given)
        self.logger = _connection_errors  # a client can send as much that is not HTTP as it likes
        self._limits = limits
        self._head_timer: asyncio.TimerHandle | None = None
        self._trusted = False
        self._since = self.loop.time()  # when it was made; with the token, when it was last used

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._limit_head(waits=True)
        if len(self.connections) > self._limits.connections:
            self._close_one()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._limit_head(waits=self._is_idle)

    def connection_lost(self, exc: Exception | None) -> None:
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
            self._head_timer = self.loop.call_later(self._limits.head_seconds, self.transport.abort)
        elif self._head_timer is not None and not waits:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_one(self) -> None:
        if not self._limits.was_reached:  # else somebody could fill the log
            what = "more than %d connections are open; from now on the oldest without the token is closed"
            logger.warning(what, self._limits.connections)
        self._limits.was_reached = True
        everyone = cast("set[_Connection]", self.connections)
        others = [other for other in everyone - {self} if other._is_idle or not other._trusted]
        closed = min(others, key=lambda other: (other._trusted, other._since), default=self)
        self.connections.discard(closed)  # at once: the next new connection closes another one
        closed.transport.abort()
