"""HTTP with one origin: the only module that imports httpx.

Foreign errors are mapped here, once, and are no cause of ours: their frames hold the key's header.
A request has a deadline: httpx limits each wait only, and a service can make any number of them with one byte a
second, headers or 100-continue without end, a gzip stream of nothing. Threads that wait for sockets cannot be stopped,
tasks can: requests are tasks of one event loop, in a thread of its own.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import os
import re
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from queue import SimpleQueue
from typing import Any
from urllib.parse import unquote

import httpx
import stamina

from osdi_frames.client.address import Address, shown
from osdi_frames.client.answers import WORDS_LENGTH, Answer, Reply, answer
from osdi_frames.client.key import ApiKey
from osdi_frames.errors import (
    BadAnswer,
    ClientClosed,
    PageTooLarge,
    ServiceError,
    ServiceTimeout,
    ServiceUnreachable,
)
from osdi_frames.messages import quoted, shorten, shorten_within
from osdi_frames.tables.fields import KEY_HEADERS

# Python prints warnings that nobody handles; retries are expected, and an error names the last one.
logging.getLogger("stamina").addHandler(logging.NullHandler())

#: The largest answer that is read, in bytes after decompression.
LARGEST = 64 << 20

_LONGEST_PAUSE = 300.0  # seconds of a Retry-After that are waited for
_REDIRECTS = 5
_BLOCK = 1 << 16
_LOCATION = "osdi_frames_location"


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How long requests may take, and how many there may be; see `Client` for each."""

    timeout: float
    deadline: float
    retries: int
    backoff: float
    workers: int
    max_pages: int


@dataclass(slots=True)
class _Request:
    """A call of the service, and its last attempt.

    `is_sent` says that the service can have taken it, `is_late` that it used up its deadline.
    """

    method: str
    url: str
    body: Mapping[str, Any] | None
    is_sent: bool = False
    is_late: bool = False


@dataclass(eq=False)
class Transport:
    """Asks the service until it answers or retries end, within the rate limit; threads can share it."""

    address: Address
    key: ApiKey
    rate: RateLimit
    limits: RequestLimits
    prefixes: tuple[str, ...]
    now: Callable[[], datetime]

    def __post_init__(self) -> None:
        self.redact = self.key.redact  # strikes the key from what the service wrote
        self._open()
        backoff = self.limits.backoff
        self._retrying = stamina.RetryingCaller(
            attempts=self.limits.retries + 1,
            timeout=None,
            wait_initial=backoff,
            wait_max=max(30.0, backoff),
            wait_jitter=backoff,
        )

    def close(self) -> None:
        """Close the connections."""
        if not self._http.is_closed:
            asyncio.run_coroutine_threadsafe(self._http.aclose(), self._loop).result()

    def send(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        *,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Answer:
        """Read or write a resource, and ask again as long as that can help and the answer is `wanted`."""
        request = _Request(method, url, body)
        return self._retrying(
            lambda error: wanted() and _may_ask_again(error, request), self._attempt, request
        )

    def own(self, link: str, *, at: str) -> str:
        """Return a link's address at the service's origin; see `Address.own`."""
        return self.address.own(link, at=at, redact=self.redact)

    def _open(self) -> None:
        self._process = os.getpid()
        self._loop = _loop(self._process)
        self._http = _opened(self.address, self.key, self.limits)

    def _attempt(self, request: _Request) -> Answer:
        """Send a request once; a GET follows redirects within the origin, as nothing is written by it."""
        at = request.url
        for _ in range(_REDIRECTS):
            with self.rate.slot():
                reply = self._wait_for(request, at)
            if not (300 <= reply.status < 400 and reply.location and request.method == "GET"):
                break
            at = self.own(reply.location, at=at)
        try:
            return answer(reply, url=self.redact(request.url), now=self.now())
        except ServiceError as error:
            if error.retry_after and error.retry_after <= _LONGEST_PAUSE:
                self.rate.hold(error.retry_after)
            raise

    def _wait_for(self, request: _Request, url: str) -> Reply:
        """Exchange a request and its reply in the event loop."""
        if self._http.is_closed:
            raise ClientClosed("this client is closed; open a new one")
        if self._process != os.getpid():  # a fork has no threads of its parent
            self._open()
        reply = asyncio.run_coroutine_threadsafe(self._exchange(request, url), self._loop)
        try:
            return reply.result()
        finally:
            reply.cancel()  # after an interrupt

    async def _exchange(self, request: _Request, url: str) -> Reply:
        method, asked = request.method, self.redact(url)
        request.is_sent = request.is_late = False
        loop = asyncio.get_running_loop()

        async def trace(event: str, _: Mapping[str, Any]) -> None:
            # Waiting for a free connection does not count: that is no sign of the service.
            if limit.when() is None:
                limit.reschedule(loop.time() + self.limits.deadline)
            request.is_sent = request.is_sent or event.endswith("send_request_headers.started")

        try:
            async with (
                asyncio.timeout(None) as limit,
                self._http.stream(method, url, json=request.body, extensions={"trace": trace}) as response,
            ):
                sent = (*_texts(request.body), *map(unquote, re.split("[/?&=]", url)))
                return Reply(
                    method,
                    asked,
                    response.status_code,
                    await _read(response, method, shown(asked)),
                    lambda said: shorten_within(self.redact(said), sent),
                    response.headers.get("retry-after", ""),
                    response.extensions.get(_LOCATION, ""),
                )
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, zlib.error) as error:
            request.is_late = isinstance(error, TimeoutError)
            failure = self._mapped(error, f"{method} {shown(asked)}", request)
        raise failure  # here, where the foreign error is no context of it

    def _mapped(self, error: Exception, where: str, request: _Request) -> ServiceUnreachable:
        """Return an error of httpx as one of our own."""
        unsure = "; whether it was done is not known" if request.method == "POST" and request.is_sent else ""
        if request.is_late:
            deadline = f"{self.limits.deadline:g} s, the deadline of a request"
            return ServiceTimeout(f"{where}: no whole answer within {deadline}{unsure}")
        if isinstance(error, httpx.TimeoutException):
            return ServiceTimeout(f"{where}: no answer in time{unsure}")
        words = shorten(self.redact(_system_error(error) or str(error)), WORDS_LENGTH) or type(error).__name__
        return ServiceUnreachable(f"{where}: {words}{unsure}")


def _may_ask_again(error: Exception, request: _Request) -> bool | float:
    """Return whether to repeat a request, or the seconds to wait before that (Retry-After)."""
    status = error.status if isinstance(error, ServiceError) else 0
    if request.method == "POST":  # which would create something twice
        again = status == 429 or (isinstance(error, ServiceUnreachable) and not request.is_sent)
    else:
        again = status == 429 or status >= 500 or isinstance(error, ServiceUnreachable | BadAnswer)
    # A service that used up the whole deadline would do so again.
    if not again or request.is_late or isinstance(error, PageTooLarge):
        return False
    # A Retry-After of 0 leaves the waiting to the backoff.
    pause = error.retry_after if isinstance(error, ServiceError) else None
    return (pause or 0) <= _LONGEST_PAUSE and (pause or True)


def _system_error(error: BaseException | None) -> str:
    """Return the system's reason why no connection was made, which anyio's own words omit."""
    while isinstance(error, Exception):
        if isinstance(error, ExceptionGroup):  # one for each of the host's addresses
            error = error.exceptions[0]
        if isinstance(error, OSError) and error.errno and type(error).__module__ == "builtins":
            return os.strerror(error.errno)  # not of SSL or of names, whose numbers are their own
        error = error.__cause__ or error.__context__
    return ""


@functools.cache
def _loop(_process: int) -> asyncio.AbstractEventLoop:
    """Return the event loop of a process, which runs as long as the process does."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="osdi-frames", daemon=True).start()
    return loop


def _opened(address: Address, key: ApiKey, limits: RequestLimits) -> httpx.AsyncClient:
    """Return a client of httpx with the connections to the service."""
    header, is_https = KEY_HEADERS[address.version], address.scheme == "https"

    def with_key(request: httpx.Request) -> httpx.Request:
        """Add the key's header last: no repr shows it."""
        request.headers[header] = key.secret
        return request

    return httpx.AsyncClient(
        auth=with_key,
        headers={"Accept-Encoding": "gzip", "User-Agent": "osdi-frames"},
        # Threads wait for a connection as long as it takes: that is no sign of the service.
        timeout=httpx.Timeout(limits.timeout, pool=None),
        limits=httpx.Limits(max_connections=limits.workers, max_keepalive_connections=limits.workers),
        # Certificates take a while to load; a context without them trusts nobody.
        verify=httpx.create_ssl_context() if is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        follow_redirects=False,
        event_hooks={"response": [_set_location_aside]},
        # A proxy would read the key of a request without TLS.
        trust_env=is_https,
    )


class RateLimit:
    """Limit the requests that reach the service to `calls` in any `per` seconds.

    There are as many slots as calls. A request holds one from before it is sent until it has been answered, and the
    slot then rests for `per` seconds. So the request that follows in a slot reaches the service at least `per` seconds
    after the one before, however long either was on its way.
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
            raise ValueError(f"rate is a whole number of calls from 1 on, or None, not {quoted(calls)}")
        if not (per > 0 and math.isfinite(per)):
            raise ValueError(f"per is a number of seconds above 0, not {quoted(per)}")
        self._is_limited = calls is not None
        self._per = per
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._not_before = -math.inf
        # When each slot that nobody holds has rested.
        self._rested: SimpleQueue[float] = SimpleQueue()
        for _ in range(calls or 0):
            self._rested.put(-math.inf)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a slot, and hold it while a request is on its way."""
        rested = self._rested.get() if self._is_limited else -math.inf
        try:
            while (seconds := max(rested, self._not_before) - self._clock()) > 0:
                self._sleep(seconds)
            yield
        finally:
            if self._is_limited:
                self._rested.put(self._clock() + self._per)

    def hold(self, seconds: float) -> None:
        """Begin no request for some seconds, as the service asked for (Retry-After)."""
        with self._lock:
            self._not_before = max(self._not_before, self._clock() + seconds)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


async def _set_location_aside(response: httpx.Response) -> None:
    """Take a redirect's address away from httpx, which would prepare a request to it with the key's header."""
    response.extensions[_LOCATION] = response.headers.pop("location", "")


async def _read(response: httpx.Response, method: str, address: str) -> bytes:
    """Read a body of `LARGEST` bytes at most.

    The body is decompressed here: httpx would decompress what came at once, however much it becomes.
    """
    member = zlib.decompressobj(wbits=31)
    is_packed = "gzip" in response.headers.get("content-encoding", "").lower()
    content = bytearray()
    async for block in response.aiter_raw(_BLOCK):
        content += member.decompress(block, LARGEST + 1 - len(content)) if is_packed else block
        if len(content) > LARGEST:
            why = f"{method} {address}: the answer is larger than {LARGEST >> 20} MiB"
            raise PageTooLarge(why, status=response.status_code, address=address)
        if member.unused_data:  # more of it could come without end
            raise zlib.error("bytes follow the compressed answer")
    if is_packed and not member.eof:
        raise zlib.error("the compressed answer breaks off")
    return bytes(content)
