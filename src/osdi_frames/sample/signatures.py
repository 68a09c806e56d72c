"""Signatures in the order in which they were made, as webhooks carry them (interface 2.7)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from osdi_frames.sample import words
from osdi_frames.sample.campaigns import MONTH, attention, launches, popularity
from osdi_frames.sample.deployment import Deployment, Document, last_segment, power_law, stamp, stream
from osdi_frames.sample.people import signer

_SOURCE_WEIGHTS = power_law(words.SOURCES)
_TAG_WEIGHTS = power_law(words.TAGS, exponent=0.7)


def make_signatures(
    deployment: Deployment,
    moments: Iterator[datetime],
    *,
    petitions: list[Document],
    signers: int,
) -> Iterator[Document]:
    """Make one signature for each moment, one after the other, from a pool of so many signers."""
    rng = stream(deployment, "signatures")
    own = [deployment.id("referrer", number)[:13] for number in range(40)]
    maker = _Maker(deployment, rng, [*words.REFERRERS * 3, *own])
    weights = popularity(rng, len(petitions))
    launched = launches(petitions)
    drawing: list[float] = []
    weighed_until = None
    for number, signed in enumerate(moments):
        if weighed_until is None or signed >= weighed_until:
            drawing = attention(launched, weights, signed, months=3, floor=0.02)
            weighed_until = signed + MONTH / 4
        (petition,) = rng.choices(petitions, cum_weights=drawing)
        yield maker.signature(number, rng.randrange(signers), petition=petition, signed=signed)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Hold the pools that every signature draws from."""

    deployment: Deployment
    rng: random.Random
    referrers: Sequence[str]

    def signature(self, number: int, person: int, *, petition: Document, signed: datetime) -> Document:
        deployment, rng = self.deployment, self.rng
        signature_id = deployment.id("signature", number)
        petition_id = last_segment(petition["_links"]["self"]["href"])
        made: Document = {}
        identity = rng.random()
        if identity < 0.97:
            made["identifiers"] = [f"{deployment.prefix}:{signature_id}"]
        if 0.95 < identity < 0.985:  # signed elsewhere and brought in; some of them know only that
            made.setdefault("identifiers", []).insert(0, f"form_sync:{number}")
        made["created_date"] = made["modified_date"] = stamp(signed)
        comment = rng.random()
        if comment < 0.45:
            made["comments"] = rng.choice(words.COMMENTS) if comment < 0.38 else ""
        self._refer(made)
        made["person"] = signer(deployment, person, rng=rng, signed=signed)
        if rng.random() < 0.8:
            made["add_tags"] = self._tags()
        made["_links"] = {
            "self": deployment.link("petitions", petition_id, "signatures", signature_id),
            "osdi:petition": deployment.link("petitions", petition_id),
            "osdi:person": deployment.link("people", deployment.id("person", person)),
        }
        return made

    def _tags(self) -> list[str]:
        tags = self.rng.choices(words.TAGS, cum_weights=_TAG_WEIGHTS, k=int(self.rng.random() * 5))
        return list(dict.fromkeys(tags))

    def _refer(self, made: Document) -> None:
        """Say where it came from, in every way in which that is left open (service-facts: referrers)."""
        rng = self.rng
        draw = rng.random()
        if draw < 0.06:
            return
        # The prefix is missing now and then: both spellings are read.
        key = "referrer_data" if 0.06 <= draw < 0.09 else f"{self.deployment.prefix}:referrer_data"
        referrer: Document = {}
        made[key] = referrer
        if draw > 0.90:
            return
        if draw > 0.87:
            referrer.update(source="none", website="api")
            return
        if rng.random() < 0.8:
            (referrer["source"],) = rng.choices(words.SOURCES, cum_weights=_SOURCE_WEIGHTS)
        if rng.random() < 0.6:
            referrer["referrer"] = rng.choice(self.referrers)
        if rng.random() < 0.6:
            referrer["website"] = rng.choice(words.WEBSITES)
        if rng.random() < 0.08:
            referrer["email_referrer"] = f"https://example.org/emails/{rng.randrange(1000)}"
        if rng.random() < 0.02:
            referrer["mobile_message_referrer"] = f"https://example.org/messages/{rng.randrange(1000)}"
