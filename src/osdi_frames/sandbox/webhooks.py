"""Webhooks: what they are sent of which acts (interface 2.7, 6)."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from osdi_frames.listening import is_loopback
from osdi_frames.sandbox.accounts import Account
from osdi_frames.sandbox.faults import Faults, Injection
from osdi_frames.sandbox.resource_kinds import ACTED_ON
from osdi_frames.sandbox.resources import Fields, Resource, links, represent
from osdi_frames.sandbox.site import Site
from osdi_frames.sandbox.store import Store


@dataclass(frozen=True, slots=True)
class Act:
    """A signature, an attendance or another act, as it was made.

    `accounts` are its parent's and, after it, the one whose referrer code was used.
    """

    recorded: Resource
    entered: Fields
    person: Resource
    accounts: Sequence[Account]
    uploaded: bool

    def triggers(self, webhook: Mapping[str, Any]) -> bool:
        """Return whether a webhook is sent the act."""
        parents = {webhook.get(kind) for kind in ACTED_ON} - {None}
        accounts = {None, *(account.account_id for account in self.accounts)}
        of_parent = not parents or self.recorded.parent in parents
        return of_parent and webhook["account"] in accounts and (webhook["uploads"] or not self.uploaded)

    def element(self, site: Site, message_id: str) -> Fields:
        """Return one element of a delivery.

        That is the act with what was entered, and its siblings sponsor and idempotency_key. The hash names its person
        and its parent by links only (interface 2.7), and has v2 names (interface 9).
        """
        site = replace(site, version="v2")
        shown = represent(replace(self.recorded, parent=None, person_id=None), site)
        shown["_links"] = links(self.recorded, site)
        del shown[own_name := site.prefixed("<p>:referrer_data")]
        for name, field in ((own_name, "referrer_data"), ("add_tags", "add_tags")):
            if field in self.entered:
                shown[name] = self.entered[field]
        dates = {"created_date": self.person.created_date, "modified_date": self.person.modified_date}
        shown["person"] = dates | self.entered.get("person", {})
        # only a group's code changes where an act originated (interface 2.4)
        sponsor = self.accounts[0] if self.accounts[-1].roles is None else self.accounts[-1]
        name = site.prefixed(f"{self.recorded.declared.prefix}:{self.recorded.kind}")
        return _element(name, shown, site, sponsor, message_id)


def sample_element(site: Site, sponsor: Account) -> Fields:
    """Return the element of a "send test" delivery, of which much is missing, as in those of deployments."""
    sample = Resource("signature", "sample", "", "", {}, parent="sample", person_id="sample")
    email = {"primary": True, "address": "sample@example.org"}
    signature = {
        "identifiers": [site.native("sample")],
        site.prefixed("<p>:referrer_data"): {},
        "person": {"given_name": "Sample", "email_addresses": [email]},
        "_links": links(sample, site),
    }
    return _element("osdi:signature", signature, site, sponsor, "test")


def _element(name: str, shown: Fields, site: Site, sponsor: Account, message_id: str) -> Fields:
    # the key is the same over all retries of a message
    key = hashlib.sha256(message_id.encode()).hexdigest()
    return {name: shown, site.prefixed("<p>:sponsor"): sponsor.sponsor, "idempotency_key": key}


@dataclass(frozen=True, slots=True)
class Outbox:
    """The messages of a store that are to be delivered."""

    store: Store
    faults: Faults
    new_id: Callable[[], str]

    def put(self, act: Act, site: Site, *, now: float) -> None:
        """Put an act into a message for every triggered webhook."""
        for webhook_id, webhook in self.store.entries("webhook").items():
            if act.triggers(webhook):
                faults = self.faults.injected(("signature",), "POST", webhook["url"])
                injected = {injection.name: injection for injection in faults}
                overlap = injected.get("webhook_overlap")
                for _ in range(overlap.settings["copies"] if overlap else 1):
                    message_id, before, due = self._message(webhook_id, injected, now)
                    body = [*before, act.element(site, message_id)]
                    self.store.put_message(message_id, webhook_id, body, due=due)

    def _message(
        self, webhook_id: str, injected: Mapping[str, Injection], now: float
    ) -> tuple[str, list[Any], float]:
        """Return an element's message: id, elements before it, due time."""
        due = now
        if batch := injected.get("webhook_batch"):
            unfilled = self.store.unfilled_message(webhook_id, batch.settings["size"], now=now)
            if unfilled:
                return (*unfilled, now)
            due += batch.settings["seconds"]
        elif reorder := injected.get("webhook_reorder"):
            due += reorder.chance.uniform(0, reorder.settings["seconds"])
        return self.new_id(), [], due


def deliverable(url: str, hosts: Collection[str]) -> bool:
    """Return whether an address may be delivered to: one of this machine, or of `hosts`, names that were allowed."""
    host = urlsplit(url).hostname
    return is_loopback(host) or host in [name.lower() for name in hosts]
