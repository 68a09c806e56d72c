"""HTTP with one origin: the only module that imports httpx.

Foreign errors are mapped here, once, and are no cause of ours: their frames hold the key's header.
A request has a deadline: httpx limits each wait only, and a service can make any number of them with one byte a
second, headers or 100-continue without end, a gzip stream of nothing.
"""

from __future__ import annotations

import logging
import math
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

import httpcore
import httpx
import stamina

from osdi_frames.client.address import Address, ApiKey, shown
from osdi_frames.client.answers import WORDS, Answer, Reply, answer
from osdi_frames.errors import (
    BadAnswer,
    ClientClosed,
    PageTooLarge,
    ServiceError,
    ServiceTimeout,
    ServiceUnreachable,
)
from osdi_frames.quoting import cut, cut_within, quoted
from osdi_frames.tables.fields import KEY_HEADERS

# Python prints warnings that nobody handles; a retry is no news, and the error that ends retries says so itself.
logging.getLogger("stamina").addHandler(logging.NullHandler())

#: The largest answer that is read, in bytes after decompression.
LARGEST = 64 << 20

_LONGEST_PAUSE = 300.0  # seconds of a Retry-After that are waited for
_REDIRECTS = 5
_BLOCK = 1 << 16
_LOCATION = "osdi_frames_location"


@dataclass(eq=False)
class Transport:
    """Ask the service, within its rate limit, until it answers or the retry policy ends. Safe to share by threads."""

    address: Address
    key: ApiKey
    limit: RateLimit
    timeout: float
    deadline: float
    retries: int
    backoff: float
    workers: int
    max_pages: int
    prefixes: tuple[str, ...]
    now: Callable[[], datetime]

    def __post_init__(self) -> None:
        self.redact = self.key.redact  # strikes the key from what the service wrote
        self._request = _Request(self.deadline)
        self._http = _opened(self, self._request)
        self._retrying = stamina.RetryingCaller(
            attempts=self.retries + 1,
            timeout=None,
            wait_initial=self.backoff,
            wait_max=max(30.0, self.backoff),
            wait_jitter=self.backoff,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        *,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Answer:
        """Read or write a resource; what is no longer wanted is not asked for again."""
        return self._retrying(
            lambda error: wanted() and self._may_ask_again(error, method), self._attempt, method, url, body
        )

    def own(self, link: str, *, at: str) -> str:
        """Return the address that a link leads to, if it lies at the service's origin; see `Address.own`."""
        return self.address.own(link, at=at, redact=self.redact)

    def _attempt(self, method: str, url: str, body: Mapping[str, Any] | None) -> Answer:
        """Send a request; a GET follows redirects within the origin, anything else would change what is written."""
        at = url
        for _ in range(_REDIRECTS):
            with self.limit.slot():
                reply = self._exchange(method, at, body)
            if not (300 <= reply.status < 400 and reply.location and method == "GET"):
                break
            at = self.own(reply.location, at=at)
        try:
            return answer(reply, url=self.redact(url), now=self.now())
        except ServiceError as error:
            if error.retry_after and error.retry_after <= _LONGEST_PAUSE:
                self.limit.hold(error.retry_after)
            raise

    def _exchange(self, method: str, url: str, body: Mapping[str, Any] | None) -> Reply:
        if self._http.is_closed:
            raise ClientClosed("this client is closed; open a new one")
        asked = self.redact(url)
        self._request.begin()
        try:
            with self._http.stream(method, url, json=body) as response:
                sent = (*_texts(body), *map(unquote, re.split("[/?&=]", url)))
                return Reply(
                    method,
                    asked,
                    response.status_code,
                    _read(response, method, shown(asked)),
                    lambda said: cut_within(self.redact(said), sent),
                    response.headers.get("retry-after", ""),
                    response.extensions.get(_LOCATION, ""),
                )
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, zlib.error) as error:
            failure = self._mapped(error, f"{method} {shown(asked)}", method)
        raise failure  # here, where the foreign error is no context of it

    def _mapped(self, error: Exception, where: str, method: str) -> ServiceUnreachable:
        """Return an error of httpx as one of our own."""
        unsure = "; whether it was done is not known" if method == "POST" and self._request.is_sent else ""
        if isinstance(error, httpx.TimeoutException):
            late = f"no whole answer within {self._request.seconds:g} s, the deadline of a request"
            return ServiceTimeout(
                f"{where}: {late if self._request.is_late else 'no answer in time'}{unsure}"
            )
        return ServiceUnreachable(
            f"{where}: {cut(self.redact(str(error)), WORDS) or type(error).__name__}{unsure}"
        )

    def _may_ask_again(self, error: Exception, method: str) -> bool | float:
        """Return whether stamina is to ask again, or after how many seconds (Retry-After)."""
        status = error.status if isinstance(error, ServiceError) else 0
        if method == "POST":  # which would create something twice
            again = status == 429 or (isinstance(error, ServiceUnreachable) and not self._request.is_sent)
        else:
            again = status == 429 or status >= 500 or isinstance(error, ServiceUnreachable | BadAnswer)
        # A service that used up the whole deadline would do so again.
        if not again or self._request.is_late or isinstance(error, PageTooLarge):
            return False
        # A Retry-After of 0 leaves the waiting to the backoff.
        pause = error.retry_after if isinstance(error, ServiceError) else None
        return (pause or 0) <= _LONGEST_PAUSE and (pause or True)


def _opened(transport: Transport, sending: _Request) -> httpx.Client:
    """Return the connections to the service; each wait on one of them ends with the time of its request."""
    header, is_https = KEY_HEADERS[transport.address.version], transport.address.scheme == "https"

    def with_key(request: httpx.Request) -> httpx.Request:
        """Add the key's header: last, so that no repr of headers on the way shows it."""
        request.headers[header] = transport.key.secret
        return request

    client = httpx.Client(
        auth=with_key,
        headers={"Accept-Encoding": "gzip", "User-Agent": "osdi-frames"},
        # Threads wait for a connection as long as it takes: that is no sign of the service.
        timeout=httpx.Timeout(transport.timeout, pool=None),
        limits=httpx.Limits(max_connections=transport.workers, max_keepalive_connections=transport.workers),
        # Certificates take a while to load; a context without them trusts nobody.
        verify=httpx.create_ssl_context() if is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        follow_redirects=False,
        event_hooks={"response": [_set_location_aside]},
        # A proxy would read the key of a request without TLS.
        trust_env=is_https,
    )
    for inner in (client._transport, *client._mounts.values()):  # those of proxies included
        if isinstance(inner, httpx.HTTPTransport):
            # httpx has no argument for it, and calls no trace between the parts of a head, which can go on without
            # end; httpcore has, and the tests with slow servers see that it holds.
            inner._pool._network_backend = _Limited(inner._pool._network_backend, sending)  # type: ignore[assignment]
    return client


class RateLimit:
    """Let at most `calls` requests reach the service in any `per` seconds.

    There are as many slots as calls. A request holds one from before it is sent until it has been answered, and the
    slot then rests for `per` seconds. Whenever a request reached the service, the one that follows it in its slot
    reaches it at least `per` seconds later, however long either was on its way. A slow service is asked more slowly.
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


class _Request(threading.local):
    """The request that each thread is sending: the time left of it, from its first wait on a socket on.

    Waiting for a free connection does not count: that is no sign of the service.
    """

    _until: float | None = None
    is_sent = False
    """Whether the service can have taken it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def begin(self) -> None:
        self._until, self.is_sent = None, False

    @property
    def is_late(self) -> bool:
        return self._until is not None and self._until <= time.monotonic()

    def wait(self, timeout: float | None) -> float:
        """Return how long the next wait may take, at most `timeout`."""
        if self._until is None:
            self._until = time.monotonic() + self.seconds
        left = self._until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout(f"not complete after {self.seconds:g} seconds")
        return left if timeout is None else min(timeout, left)


class _Limited:
    """A network backend of httpcore, or one of its streams, whose waits end with the request's time."""

    def __init__(self, inner: Any, request: _Request) -> None:
        self._inner = inner
        self._request = request

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, timeout: float | None = None, **more: Any) -> _Limited:
        stream = self._inner.connect_tcp(*args, timeout=self._request.wait(timeout), **more)
        return _Limited(stream, self._request)

    def start_tls(self, *args: Any, timeout: float | None = None, **more: Any) -> _Limited:
        stream = self._inner.start_tls(*args, timeout=self._request.wait(timeout), **more)
        return _Limited(stream, self._request)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._inner.read(max_bytes, self._request.wait(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._request.is_sent = True
        self._inner.write(buffer, self._request.wait(timeout))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def _set_location_aside(response: httpx.Response) -> None:
    """Take a redirect's address from httpx, which would prepare a request to it, the key's header included."""
    response.extensions[_LOCATION] = response.headers.pop("location", "")


def _read(response: httpx.Response, method: str, address: str) -> bytes:
    """Read a body to its end, and no further than the largest that is read.

    It is decompressed here: httpx would decompress what came at once, however much it becomes.
    """
    member = zlib.decompressobj(wbits=31)
    is_packed = "gzip" in response.headers.get("content-encoding", "").lower()
    content = bytearray()
    for block in response.iter_raw(_BLOCK):
        content += member.decompress(block, LARGEST + 1 - len(content)) if is_packed else block
        if len(content) > LARGEST:
            why = f"{method} {address}: the answer is larger than {LARGEST >> 20} MiB"
            raise PageTooLarge(why, status=response.status_code, address=address)
        if member.unused_data:  # more of it could come without end
            raise zlib.error("bytes follow the compressed answer")
    if is_packed and not member.eof:
        raise zlib.error("the compressed answer breaks off")
    return bytes(content)
