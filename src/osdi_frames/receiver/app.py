"""The receiver as an ASGI application: check each request and its token, store its body, answer."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from osdi_frames.errors import WeakToken
from osdi_frames.receiver.delivery_queue import DeliveryQueue, Limits
from osdi_frames.receiver.worker import Worker, check_name

TOKEN_SHOWN = "token_shown"  # noqa: S105 (a key of a request's state: what to call when the token is valid)

_TOKEN = re.compile(r"[A-Za-z0-9._~-]{20,}")
_LINGER_SECONDS = 2.0


class _Early(PlainTextResponse):
    """An answer before the body's end, which is still read for a moment, and the end of the connection.

    A connection that is closed while bytes are on their way is reset, and the sender never sees the answer.
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
    limits: Limits | None = None,
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
        Sizes and times, see `Limits`; those on connections and heads are the server's, see `serve`.
    now
        Returns the current time, for ``received_at`` and the folders of days.

    Raises
    ------
    ArchiveLocked
        Another process owns the worker's folder.
    WeakToken
        No token, or one that could be guessed.

    Examples
    --------
    >>> import tempfile
    >>> create_app(tempfile.mkdtemp(), tokens=["a-token-that-is-long-enough"])  # uvicorn.run(…) serves it
    <starlette.applications.Starlette object at 0x...>
    """
    limits = limits or Limits()
    check_name(worker)  # before the tokens, which the command line may make
    known = Tokens(tokens)
    owner = Worker(Path(archive), worker, segment_bytes=limits.segment_bytes)
    queue = DeliveryQueue(owner, limits=limits, now=now)
    # One route for all: a redirect to an address with a slash would repeat the token in a header.
    routes = [Route("/{path:path}", _Endpoint(queue, known, limits))]
    return Starlette(routes=routes, lifespan=lambda _app: queue.running())


class Tokens:
    """The tokens that are valid now; only their digests are kept, so no log and no error can show one.

    >>> "a-token-that-is-long-enough" in Tokens(["a-token-that-is-long-enough"])
    True
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        given = list(tokens)
        if not given or not all(_TOKEN.fullmatch(token) for token in given):
            raise WeakToken("a token has at least 20 characters out of A-Z, a-z, 0-9 and . _ ~ -")
        self._digests = [_digest(token) for token in given]

    def __contains__(self, candidate: str) -> bool:
        asked = _digest(candidate)
        # All of them, so that the time taken does not depend on the match.
        return sum(hmac.compare_digest(asked, digest) for digest in self._digests) > 0


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class _Endpoint:
    """Answers every request."""

    def __init__(self, queue: DeliveryQueue, tokens: Tokens, limits: Limits) -> None:
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
        if token_shown := request.scope.get("state", {}).get(TOKEN_SHOWN):
            token_shown()
        if request.method != "POST":
            return NOT_A_POST
        if headers.get("content-encoding", "").strip().lower() not in ("identity", ""):
            return ENCODED
        if int(headers.get("content-length", 0)) > self._limits.body_bytes:
            return TOO_LARGE
        if self._queue.full:
            return BUSY
        chunks: list[bytes] = []
        if refused := await self._read(request, chunks):
            self._queue.held -= sum(map(len, chunks))
            return refused
        body = b"".join(chunks)
        chunks.clear()  # or a large body is in memory twice
        return STORED if await self._queue.store(body) else BUSY

    async def _read(self, request: Request, chunks: list[bytes]) -> Response | None:
        """Read a body, which counts as held in the queue from then on; return the refusal that ends it early."""
        size = 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for chunk in request.stream():
                    chunks.append(chunk)
                    size += len(chunk)
                    self._queue.held += len(chunk)
                    if size > self._limits.body_bytes:
                        return TOO_LARGE
                    if self._queue.overfull:
                        return BUSY
        except TimeoutError:
            return TOO_SLOW
        except (
            ClientDisconnect,
            asyncio.CancelledError,
        ):  # cancelled: the server stops, and has waited long enough
            return BUSY
        return None
