"""The receiver as an ASGI application: check each request and its token, store its body, answer."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from osdi_frames.errors import InvalidArgument
from osdi_frames.receiver.delivery_queue import DeliveryQueue, Limits
from osdi_frames.receiver.worker import Worker, check_name

TOKEN_SHOWN = "token_shown"  # noqa: S105 (a key of a request's state: what to call when the token is valid)

_TOKEN = re.compile(r"[A-Za-z0-9._~-]{20,}")
_LINGER_SECONDS = 2.0
_CLOSE = {"connection": "close"}
_AGAIN = {"retry-after": "1"}

TWO_LENGTHS = PlainTextResponse("Content-Length or Transfer-Encoding, not both\n", 400, headers=_CLOSE)
STORED = PlainTextResponse("stored\n", 200)
UNKNOWN = PlainTextResponse("not found\n", 404, headers=_CLOSE)
NOT_A_POST = PlainTextResponse("deliveries are posted\n", 405, headers={"allow": "POST", **_CLOSE})
TOO_SLOW = PlainTextResponse("the body took too long\n", 408, headers=_CLOSE)
TOO_LARGE = PlainTextResponse("the body is too large\n", 413, headers=_CLOSE)
ENCODED = PlainTextResponse("send the body as it is, not compressed\n", 415, headers=_CLOSE)
BUSY = PlainTextResponse("not stored, send it again\n", 503, headers=_AGAIN)
CLOSING = PlainTextResponse("not stored, send it again\n", 503, headers=_AGAIN | _CLOSE)
_BEFORE_THE_BODY = (UNKNOWN, NOT_A_POST, ENCODED, TOO_LARGE)


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
    InvalidArgument
        No token, or one that could be guessed.

    Examples
    --------
    >>> import tempfile
    >>> app = create_app(tempfile.mkdtemp(), tokens=["a-token-that-is-long-enough"])
    >>> [route.path for route in app.routes]
    ['/healthz', '/{token}', '/{token}/']
    """
    limits = limits or Limits()
    check_name(worker)  # before the tokens, which the command line may make
    known = Tokens(tokens)
    queue = DeliveryQueue(
        Worker(Path(archive), worker, segment_bytes=limits.segment_bytes), limits=limits, now=now
    )

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await queue.start()
        try:
            yield
        finally:
            await queue.stop()

    async def health(_request: Request) -> Response:
        report = await queue.health()
        return JSONResponse(report, 200 if report["append_and_sync"] else 503)

    deliveries = Deliveries(queue, known, limits)
    routes = [Route("/healthz", health), Route("/{token}", deliveries), Route("/{token}/", deliveries)]
    app = Starlette(routes=routes, middleware=[Middleware(one_length)], lifespan=lifespan)
    app.router.redirect_slashes = False  # a redirect would repeat the token in a header
    return app


def one_length(app: ASGIApp) -> ASGIApp:
    """Refuse a request with two lengths: a proxy that uses the other length sees another end of the body."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope.get("headers", ())}
        if {b"content-length", b"transfer-encoding"} <= names:
            await _answer_and_linger(TWO_LENGTHS, receive, send)
        else:
            await app(scope, receive, send)

    return checked


class Tokens:
    """The tokens that are valid now; only their digests are kept, so no log and no error can show one.

    >>> "a-token-that-is-long-enough" in Tokens(["a-token-that-is-long-enough"])
    True
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        given = list(tokens)
        if not given or not all(_TOKEN.fullmatch(token) for token in given):
            raise InvalidArgument("a token has at least 20 characters out of A-Z, a-z, 0-9 and . _ ~ -")
        self._digests = [_digest(token) for token in given]

    def __contains__(self, candidate: str) -> bool:
        asked, known = _digest(candidate), False
        for digest in self._digests:  # all of them, so that the time taken does not depend on the match
            known |= hmac.compare_digest(asked, digest)
        return known


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Deliveries:
    """The address that deliveries are posted to."""

    def __init__(self, queue: DeliveryQueue, tokens: Tokens, limits: Limits) -> None:
        self._queue = queue
        self._tokens = tokens
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            answer = await self._answer(scope, receive)
        except ClientDisconnect:
            return
        if answer in _BEFORE_THE_BODY:
            await _answer_and_linger(answer, receive, send)
        else:
            await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        known = scope["path_params"]["token"] in self._tokens
        if known and (token_shown := scope.get("state", {}).get(TOKEN_SHOWN)):
            token_shown()
        answer = refusal(scope["method"], dict(scope["headers"]), known=known, limits=self._limits)
        if answer is not None:
            return answer
        if self._queue.full:
            return BUSY
        chunks: list[bytes] = []
        refused: Response | None = CLOSING  # also where the sender has gone
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                refused = await self._read(Request(scope, receive), chunks)
        except TimeoutError:
            refused = TOO_SLOW
        except asyncio.CancelledError:  # the server is shutting down and waited for this body long enough
            refused = CLOSING
        finally:
            if refused:
                self._queue.held -= sum(map(len, chunks))
        if refused:
            return refused
        body = b"".join(chunks)
        chunks.clear()  # or a large body is in memory twice
        return STORED if await self._queue.store(body) else BUSY

    async def _read(self, request: Request, chunks: list[bytes]) -> Response | None:
        """Read a body, which counts as held in the queue from then on; return the refusal that ends it early."""
        size = 0
        async for chunk in request.stream():
            chunks.append(chunk)
            size += len(chunk)
            self._queue.held += len(chunk)
            if size > self._limits.body_bytes:
                return TOO_LARGE
            if self._queue.overfull:
                return BUSY
        return None


def refusal(method: str, headers: Mapping[bytes, bytes], *, known: bool, limits: Limits) -> Response | None:
    """Return the refusal that a request's head calls for; ``None`` when its body is to be read.

    >>> refusal("POST", {b"content-encoding": b"gzip"}, known=True, limits=Limits()).status_code
    415
    """
    if not known:
        return UNKNOWN
    if method != "POST":
        return NOT_A_POST
    if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"identity", b""):
        return ENCODED
    if int(headers.get(b"content-length", b"0")) > limits.body_bytes:
        return TOO_LARGE
    return None


async def _answer_and_linger(answer: Response, receive: Receive, send: Send) -> None:
    """Answer before the body's end, and read on for a moment.

    A connection that is closed while bytes are on their way is reset, and the sender never sees the answer.
    """
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                pass
    await send({"type": "http.response.body"})
