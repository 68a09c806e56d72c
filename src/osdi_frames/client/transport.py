"""HTTP with one origin: the only module that imports httpx.

Foreign errors are mapped here, once. Their frames are dropped: locals of httpx and h11 hold the key's header.
A request has a deadline: httpx limits each wait only, and a service can make any number of them with one byte a
second, headers or 100-continue without end, a gzip stream of nothing.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import httpcore
import httpx
import stamina

from osdi_frames.client.address import HEADERS, Address, ApiKey, shown
from osdi_frames.client.answers import Answer, Reply, answer, failure
from osdi_frames.client.rate import RateLimit
from osdi_frames.errors import (
    BadAnswer,
    ClientClosed,
    OsdiError,
    PageTooLarge,
    ServiceError,
    ServiceTimeout,
    ServiceUnreachable,
)

# Python prints warnings that nobody handles; a retry is no news, and the error that ends retries says so itself.
logging.getLogger("stamina").addHandler(logging.NullHandler())

#: The largest answer that is read, in bytes after decompression.
LARGEST = 64 << 20

_LONGEST_PAUSE = 300.0  # seconds of a Retry-After that are waited for
_REDIRECTS = 5
_BLOCK = 1 << 16
_LOCATION = "osdi_frames_location"
# The request cannot have been taken: it may be sent again even if it would create something twice.
_NOT_TAKEN = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Transport:
    """Ask the service, within its rate limit, until it answers or the retry policy ends. Safe to share by threads."""

    def __init__(
        self,
        address: Address,
        key: ApiKey,
        *,
        limit: RateLimit,
        timeout: float,
        deadline: float,
        retries: int,
        backoff: float,
        connections: int,
        now: Callable[[], datetime],
        ca_file: str | None = None,
    ) -> None:
        self.address = address
        self._key = key
        self.redact = key.redact  # strikes the key from what the service wrote
        self._limit = limit
        self._now = now
        self._deadline = _Deadline(deadline)
        self._retrying = stamina.RetryingCaller(
            attempts=retries + 1,
            timeout=None,
            wait_initial=backoff,
            wait_max=max(30.0, backoff),
            wait_jitter=backoff,
        )
        self._http = httpx.Client(
            auth=self._with_key,
            headers={
                "Accept": "application/hal+json, application/json",
                "Accept-Encoding": "gzip",
                "User-Agent": "osdi-frames",
            },
            # Threads wait for a connection as long as it takes: that is no sign of the service.
            timeout=httpx.Timeout(timeout, pool=None),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            verify=_trusted(address.scheme, ca_file),
            follow_redirects=False,
            event_hooks={"response": [_set_location_aside]},
            # A proxy would read the key of a request without TLS.
            trust_env=address.scheme == "https",
        )
        for transport in (self._http._transport, *self._http._mounts.values()):  # those of proxies included
            if isinstance(transport, httpx.HTTPTransport):
                # httpx has no argument for it; httpcore has, and the tests with slow servers see that it holds.
                pool = transport._pool
                pool._network_backend = _Limited(pool._network_backend, self._deadline)  # type: ignore[assignment]

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
            # A service that used up the whole deadline would do so again.
            lambda error: wanted() and not self._deadline.exceeded and _may_ask_again(error, method),
            self._attempt,
            method,
            url,
            body,
        )

    def own(self, link: str, *, at: str) -> str:
        """Return the address that a link leads to, if it lies at the service's origin; see `Address.own`."""
        return self.address.own(link, at=at, redact=self.redact)

    def _with_key(self, request: httpx.Request) -> httpx.Request:
        """Add the key's header: last, so that no repr of headers on the way shows it."""
        request.headers[HEADERS[self.address.version]] = self._key.reveal()
        return request

    def _attempt(self, method: str, url: str, body: Mapping[str, Any] | None) -> Answer:
        try:
            return self._follow(method, url, body)
        except ServiceError as error:
            error.args, error.words = (self.redact(str(error)),), self.redact(error.words)
            if error.retry_after and error.retry_after <= _LONGEST_PAUSE:
                self._limit.hold(error.retry_after)
            raise

    def _follow(self, method: str, url: str, body: Mapping[str, Any] | None) -> Answer:
        """Send a request; a GET follows redirects within the origin, anything else would change what is written."""
        at = url
        for _ in range(_REDIRECTS):
            with self._limit.slot():
                reply = self._exchange(method, at, body)
            if 200 <= reply.status < 300:
                return replace(answer(reply, fetched_at=self._now()), url=self.redact(url))
            if not (300 <= reply.status < 400 and reply.location and method == "GET"):
                raise failure(reply, now=self._now())
            at = self.own(reply.location, at=at)
        address = shown(self.redact(at))
        raise ServiceError(f"GET {address} is redirected without end", address=address)

    def _exchange(self, method: str, url: str, body: Mapping[str, Any] | None) -> Reply:
        if self._http.is_closed:
            raise ClientClosed("this client is closed; open a new one")
        asked = self.redact(url)
        self._deadline.reset()
        try:
            with self._http.stream(method, url, json=body) as response:
                return Reply(
                    method,
                    asked,
                    response.status_code,
                    _read(response, method, asked),
                    response.headers.get("retry-after", ""),
                    response.extensions.get(_LOCATION, ""),
                )
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, zlib.error) as error:
            _silence(error, self._key)
            raise self._mapped(error, f"{method} {shown(asked)}", method) from error

    def _mapped(self, error: Exception, where: str, method: str) -> OsdiError:
        """Return an error of httpx as one of our own."""
        sent = method == "POST" and not isinstance(error, _NOT_TAKEN)
        unsure = "; whether it was done is not known" if sent else ""
        if isinstance(error, httpx.TimeoutException):
            late = f"no whole answer within {self._deadline.seconds:g} s, the deadline of a request"
            return ServiceTimeout(
                f"{where}: {late if self._deadline.exceeded else 'no answer in time'}{unsure}"
            )
        at = f" (port {self.address.port})" if isinstance(error, httpx.ConnectError) else ""
        return ServiceUnreachable(f"{where}: {str(error) or type(error).__name__}{at}{unsure}")


class _Deadline(threading.local):
    """The time left of the request that each thread is sending; it starts with the first wait on a socket.

    Waiting for a free connection does not count: that is no sign of the service.
    """

    _until: float | None = None

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def reset(self) -> None:
        """Begin a new request in this thread."""
        self._until = None

    @property
    def exceeded(self) -> bool:
        """Whether the last request of this thread has used up its time."""
        return self._until is not None and self._until <= time.monotonic()

    def limit(self, timeout: float | None) -> float:
        """Return how long the next wait may take, at most `timeout`."""
        if self._until is None:
            self._until = time.monotonic() + self.seconds
        left = self._until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout(f"not complete after {self.seconds:g} seconds")
        return left if timeout is None else min(timeout, left)


class _Limited:
    """A network backend of httpcore, or one of its streams, whose waits are cut to the deadline."""

    def __init__(self, inner: Any, deadline: _Deadline) -> None:
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


def _trusted(scheme: str, ca_file: str | None) -> ssl.SSLContext:
    if ca_file:
        return ssl.create_default_context(cafile=ca_file)
    if scheme == "https":
        return httpx.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody; certificates take a while to load


def _set_location_aside(response: httpx.Response) -> None:
    """Take a redirect's address from httpx, which would prepare a request to it, the key's header included."""
    response.extensions[_LOCATION] = response.headers.pop("location", "")


def _read(response: httpx.Response, method: str, url: str) -> bytes:
    """Read a body to its end, and no further than the largest that is read."""

    def refused(kind: type[BadAnswer], why: str) -> BadAnswer:
        address = shown(url)
        return kind(f"{method} {address}: the answer is {why}", status=response.status_code, address=address)

    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip"):
        named = encoding if len(encoding) <= 20 else "…"
        raise refused(BadAnswer, f"compressed as nobody asked: {named!r}")
    blocks = response.iter_raw(_BLOCK)
    content = bytearray()
    for block in _gunzipped(blocks) if encoding.endswith("gzip") else blocks:
        content += block
        if len(content) > LARGEST:
            raise refused(PageTooLarge, f"larger than {LARGEST >> 20} MiB")
    return bytes(content)


def _gunzipped(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress a body block by block: httpx would decompress what came at once, however much it becomes."""
    member = zlib.decompressobj(wbits=31)
    for raw in blocks:
        rest = raw
        while rest:
            if member.eof:  # more of it could come without end
                raise zlib.error("bytes follow the compressed answer")
            yield member.decompress(rest, _BLOCK)
            rest = member.unconsumed_tail or member.unused_data
    yield member.flush()
    if not member.eof:
        raise zlib.error("the compressed answer breaks off")


def _may_ask_again(error: Exception, method: str) -> bool | float:
    """Return whether stamina is to ask again, or after how many seconds (Retry-After)."""
    if method == "POST" and not (
        isinstance(error.__cause__, _NOT_TAKEN) or (isinstance(error, ServiceError) and error.status == 429)
    ):
        return False
    if isinstance(error, ServiceUnreachable | BadAnswer):
        return not isinstance(error, PageTooLarge)
    if not isinstance(error, ServiceError) or (error.status != 429 and error.status < 500):
        return False
    if error.retry_after is None:
        return True
    # A Retry-After of 0 leaves the waiting to the backoff.
    return error.retry_after <= _LONGEST_PAUSE and (error.retry_after or True)


def _silence(error: BaseException, key: ApiKey) -> None:
    """Drop what shows the key from a foreign error and all that led to it: frames, the request, repeated words."""
    inner: BaseException | None = error
    while inner is not None:
        inner.__traceback__ = None
        inner.args = tuple(
            key.redact(argument) if isinstance(argument, str) else argument for argument in inner.args
        )
        if isinstance(inner, httpx.RequestError):
            inner._request = None  # its header is the key's; the public setter takes no None
        inner = inner.__cause__ or inner.__context__
