"""HTTP with one origin: the only module that imports httpx.

Foreign errors are mapped here, once. Their frames are dropped: locals of httpx and h11 hold the key's header.
"""

from __future__ import annotations

import json
import logging
import ssl
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import httpx
import stamina

from osdi_frames.client.address import Address, shown
from osdi_frames.client.answers import Answer, Reply, answer, failure, is_passing
from osdi_frames.client.deadline import Deadline
from osdi_frames.client.key import HEADERS, ApiKey
from osdi_frames.client.rate import RateLimit
from osdi_frames.errors import (
    BadAnswer,
    ClientClosed,
    ForeignAddress,
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


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait for an answer, and how often and how soon to ask again.

    `timeout` limits each wait for the service, `deadline` the whole request, in seconds.
    """

    timeout: float = 30.0
    deadline: float = 120.0
    retries: int = 5
    backoff: float = 0.5


class Transport:
    """Ask the service, within its rate limit, until it answers or the retry policy ends. Safe to share by threads."""

    def __init__(
        self,
        address: Address,
        key: ApiKey,
        *,
        limit: RateLimit,
        policy: RetryPolicy,
        connections: int,
        now: Callable[[], datetime],
        ca_file: str | None = None,
    ) -> None:
        self.address = address
        self._key = key
        self._limit = limit
        self._policy = policy
        self._now = now
        self._http = httpx.Client(
            auth=_KeyHeader(HEADERS[address.version], key),
            headers={"Accept": "application/hal+json, application/json", "User-Agent": "osdi-frames"}
            | {"Accept-Encoding": "gzip"},
            # Threads wait for a connection as long as it takes: that is no sign of the service.
            timeout=httpx.Timeout(policy.timeout, pool=None),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            verify=ssl.create_default_context(cafile=ca_file) if ca_file else httpx.create_ssl_context(),
            follow_redirects=False,
            event_hooks={"response": [_set_location_aside]},
            # A proxy would read the key of a request without TLS.
            trust_env=address.scheme == "https",
        )
        self._deadline = Deadline(policy.deadline)
        self._deadline.apply_to(self._http)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, url: str, wanted: Callable[[], bool] = lambda: True) -> Answer:
        """Read a resource; redirects are followed within the origin. Once it is not wanted, it is not asked again."""
        asked = url
        for _ in range(_REDIRECTS):
            reply = self._ask("GET", url, None, wanted=wanted)
            if not isinstance(reply, Reply):
                return replace(reply, url=self.redact(asked))
            url = self.own(reply.location, at=url)
        address = shown(self.redact(url))
        raise ServiceError(f"GET {address} is redirected without end", address=address)

    def own(self, link: str, *, at: str) -> str:
        """Return the address that a link leads to, if it lies at the service's origin; see `Address.own`."""
        return self.address.own(link, at=at, redact=self.redact)

    def redact(self, text: str) -> str:
        """Strike the key from a text that the service wrote."""
        return self._key.redact(text)

    def send(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Write a resource; a redirect is an error, since it would change what is written."""
        content = None if body is None else json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
        answered = self._ask(method, url, content)
        if isinstance(answered, Reply):
            raise failure(answered, now=self._now())
        return answered

    def _ask(
        self, method: str, url: str, content: bytes | None, *, wanted: Callable[[], bool] = lambda: True
    ) -> Answer | Reply:
        """Ask until there is an answer, or a redirect, which is given as it is."""
        policy = self._policy
        attempts = stamina.retry_context(
            # A service that used up the whole deadline would do so again.
            on=lambda error: wanted() and not self._deadline.exceeded and _may_ask_again(error, method),
            attempts=policy.retries + 1,
            timeout=None,
            wait_initial=policy.backoff,
            wait_max=max(30.0, policy.backoff),
            wait_jitter=policy.backoff,
        )
        for attempt in attempts:
            with attempt:
                return self._attempt(method, url, content)
        raise AssertionError("stamina raises the last error")

    def _attempt(self, method: str, url: str, content: bytes | None) -> Answer | Reply:
        try:
            with self._limit.slot():
                reply = self._exchange(method, url, content)
            if 300 <= reply.status < 400 and reply.location:
                return reply
            if 200 <= reply.status < 300:
                return answer(reply, fetched_at=self._now())
            raise failure(reply, now=self._now())
        except ServiceError as error:
            error.args, error.words = (self.redact(str(error)),), self.redact(error.words)
            if error.retry_after and error.retry_after <= _LONGEST_PAUSE:
                self._limit.hold(error.retry_after)
            raise

    def _exchange(self, method: str, url: str, content: bytes | None) -> Reply:
        if self._http.is_closed:
            raise ClientClosed("this client is closed; open a new one")
        headers = {} if content is None else {"Content-Type": "application/json"}
        asked = self.redact(url)
        self._deadline.reset()
        try:
            with self._http.stream(method, url, content=content, headers=headers) as response:
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
            late = f"no whole answer within {self._policy.deadline:g} s, the deadline of a request"
            return ServiceTimeout(
                f"{where}: {late if self._deadline.exceeded else 'no answer in time'}{unsure}"
            )
        at = f" (port {self.address.port})" if isinstance(error, httpx.ConnectError) else ""
        return ServiceUnreachable(f"{where}: {str(error) or type(error).__name__}{at}{unsure}")


class _KeyHeader(httpx.Auth):
    """The key's header, added last, so that no repr of headers on the way shows it."""

    def __init__(self, header: str, key: ApiKey) -> None:
        self._header = header
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override] # narrower
        request.headers[self._header] = self._key.reveal()
        yield request


def _set_location_aside(response: httpx.Response) -> None:
    """Take a redirect's address from httpx, which would prepare a request to it, the key's header included."""
    response.extensions[_LOCATION] = response.headers.pop("location", "")


def _read(response: httpx.Response, method: str, url: str) -> bytes:
    """Read a body to its end, and no further than the largest that is read."""
    content = bytearray()
    for block in _decoded(response, method, url):
        content += block
        if len(content) > LARGEST:
            raise PageTooLarge(
                f"{method} {shown(url)}: the answer is larger than {LARGEST >> 20} MiB",
                status=response.status_code,
                address=shown(url),
            )
    return bytes(content)


def _decoded(response: httpx.Response, method: str, url: str) -> Iterator[bytes]:
    """Decompress a body block by block: httpx would decompress what came at once, however much it becomes."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        yield from response.iter_raw(_BLOCK)
        return
    if encoding not in ("gzip", "x-gzip"):
        named = encoding if len(encoding) <= 20 else "…"
        raise BadAnswer(
            f"{method} {shown(url)}: the answer is compressed as nobody asked: {named!r}",
            status=response.status_code,
            address=shown(url),
        )
    member = zlib.decompressobj(wbits=31)
    for raw in response.iter_raw(_BLOCK):
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
    if isinstance(error, PageTooLarge | ForeignAddress):
        return False
    if isinstance(error, ServiceUnreachable | BadAnswer):
        return True
    if not (isinstance(error, ServiceError) and is_passing(error.status)):
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
