"""Webhooks: which acts they are sent, and the loop that delivers the outbox, at least once (interface 2.7, 6)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from osdi_frames.errors import RequestRefused
from osdi_frames.listening import is_loopback
from osdi_frames.sandbox.resources import Resource

if TYPE_CHECKING:
    from osdi_frames.sandbox.service import Service

OVER_AN_HOUR = (300.0, 900.0, 2400.0)  # seconds before the first, second and third retry
TIME_LIMIT = 0.5  # seconds within which a receiver must have answered exactly 200
_AT_ONCE = 16
_LOG = logging.getLogger(__name__)
_ROUND = 128


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver and its trigger: one petition or one event, or all; of one account or any; with uploads or without."""

    webhook_id: str
    url: str
    petition: str | None = None
    event: str | None = None
    account: str | None = None
    uploads: bool = False

    def triggered(self, action: Resource, *, accounts: Sequence[str], upload: bool) -> bool:
        """Tell whether an act is delivered; `accounts` are that of its parent and the referring one."""
        parents = [one for one in (self.petition, self.event) if one]
        return (
            (not parents or action.parent in parents)
            and (self.account is None or self.account in accounts)
            and (self.uploads or not upload)
        )


def idempotency_key(message_id: str) -> str:
    """Return the hash of a message's id, the same over all of its retries (interface 2.7).

    >>> idempotency_key("m1")[:8]
    'ca0df2c9'
    """
    return hashlib.sha256(message_id.encode()).hexdigest()


def deliverable(url: str, hosts: Collection[str]) -> bool:
    """Tell whether a sandbox delivers to an address: to this machine, and to `hosts`, names that were allowed.

    >>> deliverable("http://localhost:9000/hook", []), deliverable("https://example.org/", [])
    (True, False)
    >>> deliverable("https://Example.org/", ["example.org"])
    True
    """
    host = urlsplit(url).hostname
    return is_loopback(host) or host in [name.lower() for name in hosts]


class Deliverer:
    """The loop that takes due messages from the outbox and sends them; whoever adds messages wakes it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._store = service.store
        self._woken = asyncio.Event()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    def _clock(self) -> float:
        return self._service.settings.now().timestamp()

    def wake(self) -> None:
        """Say that the outbox has changed."""
        self._woken.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            self._woken.clear()
            try:
                if not await self._round():
                    await self._wait()
            except RequestRefused as refusal:  # a full disk: what could not be marked is delivered again
                _LOG.warning("the outbox: %s", refusal)
                await asyncio.sleep(1)

    async def _round(self) -> int:
        """Deliver messages that are due, side by side; return how many."""
        due = self._store.due_messages(self._clock(), _ROUND)
        failures = await asyncio.gather(*(self._deliver(webhook_id, body) for _, webhook_id, body, _ in due))
        if due:
            with self._store.transaction():
                for (message_id, _, _, attempts), failure in zip(due, failures, strict=True):
                    self._mark(message_id, attempts + 1, failure)
        return len(due)

    async def _wait(self) -> None:
        due = self._store.next_due()
        with suppress(TimeoutError):
            async with asyncio.timeout(None if due is None else max(0.0, due - self._clock())):
                await self._woken.wait()

    def _mark(self, message_id: str, attempts: int, failure: str | None) -> None:
        due, retry_after = self._clock(), self._service.settings.retry_after
        state = "delivered" if failure is None else "dead"
        if failure is not None and attempts <= len(retry_after):
            state, due = "waiting", due + retry_after[attempts - 1]
        self._store.mark_message(message_id, state=state, attempts=attempts, due=due, failure=failure)

    async def _deliver(self, webhook_id: str, body: str) -> str | None:
        """Send a message; return why that failed, or None."""
        webhook = self._store.record("webhook", webhook_id)
        if webhook is None:
            return "the webhook was removed"
        if not deliverable(webhook["url"], self._service.settings.webhook_hosts):
            return "the host is not this machine; --allow-webhook-hosts allows others"
        faults = self._service.faults.injected(("delivery",), "POST", webhook["url"])
        injected = {injection.name for injection in faults}
        async with self._slots:
            failure = await _attempt(webhook["url"], body.encode())
            if "webhook_duplicate" in injected:
                await _attempt(webhook["url"], body.encode())
        return failure or ("injected fault: webhook_retry" if "webhook_retry" in injected else None)


async def _attempt(url: str, body: bytes) -> str | None:
    """POST in one write: a kill leaves no head without its body at the receiver. Return why that failed, or None."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = (
        f"POST {target} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    try:
        async with asyncio.timeout(TIME_LIMIT):
            tls = ssl.create_default_context() if parts.scheme == "https" else None
            reader, writer = await asyncio.open_connection(
                parts.hostname, parts.port or (443 if tls else 80), ssl=tls
            )
            with closing(writer):
                writer.write(head.encode("ascii") + body)
                await writer.drain()
                status = int((await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1])
    except TimeoutError:
        return f"no answer within {TIME_LIMIT} s"
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        return f"{type(error).__name__}: {error}"
    return None if status == 200 else f"answered {status}"
