"""Webhooks: which acts they are sent, what is delivered, and the loop that delivers it (interface 2.7, 6)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from osdi_frames.errors import RequestRefused
from osdi_frames.listening import is_loopback
from osdi_frames.sandbox.accounts import Account
from osdi_frames.sandbox.faults import Injection
from osdi_frames.sandbox.resources import Fields, Resource, links, represent
from osdi_frames.sandbox.site import Site

if TYPE_CHECKING:
    from osdi_frames.sandbox.service import Service

OVER_AN_HOUR = (300.0, 900.0, 2400.0)  # seconds before the first, second and third retry
TIME_LIMIT = 0.5  # seconds within which a receiver must have answered exactly 200
_AT_ONCE = 16
_HEADERS = {"Content-Type": "application/json", "Connection": "close"}
_LOG = logging.getLogger(__name__)
_ROUND = 128


@dataclass(frozen=True, slots=True)
class Act:
    """A signature or an attendance as it was made: what was entered and by whom.

    `accounts` are its parent's and, after it, the one whose referrer code was used.
    """

    recorded: Resource
    entered: Fields
    person: Resource
    accounts: Sequence[Account]
    uploaded: bool

    def triggers(self, webhook: Mapping[str, Any]) -> bool:
        """Tell whether a webhook is sent the act: one of its petition or event, of its account, an upload or not."""
        parents = {webhook["petition"], webhook["event"]} - {None}
        accounts = {None, *(account.account_id for account in self.accounts)}
        of_parent = not parents or self.recorded.parent in parents
        return of_parent and webhook["account"] in accounts and (webhook["uploads"] or not self.uploaded)

    def element(self, site: Site, message_id: str) -> Fields:
        """Return one element of a delivery: the act with what was entered, its siblings sponsor and idempotency_key.

        The hash names its person and its parent by links only (interface 2.7), and has v2 names (interface 9).
        """
        site = replace(site, version="v2")
        shown = represent(replace(self.recorded, parent=None, person_id=None), site)
        shown["_links"] = links(self.recorded, site)
        del shown[own_name := site.named("<p>:referrer_data")]
        for name, field in ((own_name, "referrer_data"), ("add_tags", "add_tags")):
            if field in self.entered:
                shown[name] = self.entered[field]
        dates = {"created_date": self.person.created_date, "modified_date": self.person.modified_date}
        shown["person"] = dates | self.entered.get("person", {})
        # only a group's code changes where an act originated (interface 2.4)
        sponsor = self.accounts[0] if self.accounts[-1].roles is None else self.accounts[-1]
        return _element(f"osdi:{self.recorded.kind}", shown, site, sponsor, message_id)


def sample_element(site: Site, sponsor: Account) -> Fields:
    """Return the element of a "send test" delivery: as in real ones of deployments, much of it is missing."""
    sample = Resource("signature", "sample", "", "", {}, parent="sample", person_id="sample")
    email = {"primary": True, "address": "sample@example.org"}
    signature = {
        "identifiers": [site.native("sample")],
        site.named("<p>:referrer_data"): {},
        "person": {"given_name": "Sample", "email_addresses": [email]},
        "_links": links(sample, site),
    }
    return _element("osdi:signature", signature, site, sponsor, "test")


def _element(name: str, shown: Fields, site: Site, sponsor: Account, message_id: str) -> Fields:
    # the key is the same over all retries of a message
    key = hashlib.sha256(message_id.encode()).hexdigest()
    return {name: shown, site.named("<p>:sponsor"): sponsor.sponsor, "idempotency_key": key}


def announce(service: Service, act: Act, site: Site) -> None:
    """Put an act into the outbox for every webhook that it triggers (interface 6)."""
    for webhook_id, webhook in service.store.names("webhook").items():
        if not act.triggers(webhook):
            continue
        faults = service.faults.injected(("signature",), "POST", webhook["url"])
        injected = {injection.name: injection for injection in faults}
        overlap = injected.get("webhook_overlap")
        for _ in range(overlap.settings["copies"] if overlap else 1):
            message_id, before, due = _message(service, webhook_id, injected)
            body = [*before, act.element(site, message_id)]
            service.store.put_message(message_id, webhook_id, body, due=due)


def _message(
    service: Service, webhook_id: str, injected: Mapping[str, Injection]
) -> tuple[str, list[Any], float]:
    """Return the message that an element goes into: its id, the elements before it, when it is due."""
    due = now = service.clock().timestamp()
    if batch := injected.get("webhook_batch"):
        unfilled = service.store.unfilled_message(webhook_id, batch.settings["size"], now=now)
        if unfilled:
            return (*unfilled, now)
        due += batch.settings["seconds"]
    elif reorder := injected.get("webhook_reorder"):
        due += reorder.chance.uniform(0, reorder.settings["seconds"])
    return service.new_id(), [], due


def deliverable(url: str, hosts: Collection[str]) -> bool:
    """Tell whether a sandbox delivers to an address: to this machine, and to `hosts`, names that were allowed."""
    host = urlsplit(url).hostname
    return is_loopback(host) or host in [name.lower() for name in hosts]


class Deliverer:
    """The loop that takes due messages from the outbox and sends them; whoever adds messages wakes it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._store = service.store
        self._woken = asyncio.Event()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self.wake = self._woken.set
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.AsyncClient(verify=self._tls, trust_env=False, timeout=service.webhook_timeout)

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
        """Deliver the messages that are due, side by side; without any, wait for the next one."""
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
        due, retry_after = self._now(), self._service.retry_after
        state = "delivered" if failure is None else "dead"
        if failure is not None and attempts <= len(retry_after):
            state, due = "waiting", due + retry_after[attempts - 1]
        self._store.mark_message(message_id, state=state, attempts=attempts, due=due, failure=failure)

    async def _deliver(self, webhook_id: str, body: str) -> str | None:
        """Send a message; return why that failed, or None."""
        url = self._store.named("webhook", webhook_id)["url"]
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
        seconds = self._service.webhook_timeout
        if url.startswith("https:") and not self._tls.cert_store_stats()["x509_ca"]:
            self._tls.load_default_certs()  # takes a tenth of a second, which http is spared
        try:
            sending = self._client.stream("POST", url, content=body, headers=_HEADERS)
            async with asyncio.timeout(seconds), sending as answer:
                status = answer.status_code
        except (TimeoutError, httpx.TimeoutException):
            return f"no answer within {seconds:g} s"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{type(error).__name__}: {error}"
        return None if status == 200 else f"answered {status}"
