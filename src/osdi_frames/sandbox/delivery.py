"""The delivery of webhook messages (interface 6)."""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from contextlib import suppress

import httpx

from osdi_frames.errors import RequestRefused
from osdi_frames.sandbox.service import Service
from osdi_frames.sandbox.webhooks import deliverable

OVER_AN_HOUR = (300.0, 900.0, 2400.0)  # seconds before the first, second and third retry
TIME_LIMIT = 0.5  # seconds within which a receiver must have answered exactly 200
_AT_ONCE = 16
_HEADERS = {"Content-Type": "application/json", "Connection": "close"}
_LOG = logging.getLogger(__name__)
_ROUND = 128


class Deliverer:
    """The loop that sends due messages when it is woken."""

    def __init__(self, service: Service, retry_after: Sequence[float], timeout: float) -> None:
        self._service, self._retry_after, self._timeout = service, retry_after, timeout
        self._store = service.store
        self._woken = asyncio.Event()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self.wake = self._woken.set
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.AsyncClient(verify=self._tls, trust_env=False, timeout=timeout)

    def _now(self) -> float:
        return self._service.clock().timestamp()

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            self._woken.clear()
            try:
                await self._round()
            except RequestRefused as refusal:  # a full disk: what could not be marked is delivered again
                _LOG.warning("the outbox: %s", refusal)
                await asyncio.sleep(1)

    async def _round(self) -> None:
        """Deliver the messages that are due, or wait for one."""
        now, waiting = self._now(), self._store.waiting_messages(_ROUND)
        due = [message for message in waiting if message[-1] <= now]
        if not due:
            with suppress(TimeoutError):
                async with asyncio.timeout(waiting[0][-1] - now if waiting else None):
                    await self._woken.wait()
            return
        failures = await asyncio.gather(*(self._deliver(webhook, body) for _, webhook, body, _, _ in due))
        with self._store.transaction():
            for (message_id, _, _, attempts, _), failure in zip(due, failures, strict=True):
                self._mark(message_id, attempts + 1, failure)

    def _mark(self, message_id: str, attempts: int, failure: str | None) -> None:
        state, due = "delivered" if failure is None else "dead", self._now()
        if failure is not None and attempts <= len(self._retry_after):
            state, due = "waiting", due + self._retry_after[attempts - 1]
        self._store.mark_message(message_id, state=state, attempts=attempts, due=due, failure=failure)

    async def _deliver(self, webhook_id: str, body: str) -> str | None:
        """Send a message; return why that failed, or None."""
        url = self._store.entry("webhook", webhook_id)["url"]
        if not deliverable(url, self._service.webhook_hosts):
            return "the host is not this machine; --allow-webhook-hosts allows others"
        faults = self._service.faults.injected(("delivery",), "POST", url)
        injected = {injection.name for injection in faults}
        async with self._slots:
            failure = await self._attempt(url, body)
            if "webhook_duplicate" in injected:
                await self._attempt(url, body)
        return failure or ("injected fault: webhook_retry" if "webhook_retry" in injected else None)

    async def _attempt(self, url: str, body: str) -> str | None:
        """POST a message; return why that failed, or None."""
        if url.startswith("https:") and not self._tls.cert_store_stats()["x509_ca"]:
            self._tls.load_default_certs()  # takes a tenth of a second, which http is spared
        try:
            sending = self._client.stream("POST", url, content=body, headers=_HEADERS)
            async with asyncio.timeout(self._timeout), sending as answer:
                status = answer.status_code
        except (TimeoutError, httpx.TimeoutException):
            return f"no answer within {self._timeout:g} s"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{type(error).__name__}: {error}"
        return None if status == 200 else f"answered {status}"
