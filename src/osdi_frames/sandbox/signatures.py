"""What a body makes of a signature, and what a signature looks like, read and delivered (interface 2.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from osdi_frames.sandbox.bodies import conform
from osdi_frames.sandbox.events import sponsor_in
from osdi_frames.sandbox.fields import DATED, SIGNATURE
from osdi_frames.sandbox.people import Person
from osdi_frames.sandbox.site import Site

# What the service writes into a signature of the API whose source or website is not given; deliveries leave both out.
UNKNOWN_REFERRER = {"source": "none", "website": "api"}


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature as it is kept, with what was entered in the shape of `fields.SIGNATURE`."""

    signature_id: str
    petition_id: str
    person_id: str
    created_date: str
    modified_date: str
    entered: Mapping[str, Any]


def enter_signature(body: Mapping[str, Any], site: Site) -> dict[str, Any]:
    """Return what of a body belongs to a signature; referrer data counts with and without the prefix."""
    prefixed = body.get(site.named("<p>:referrer_data"))
    return dict(conform({"referrer_data": prefixed, **body} if prefixed else body, SIGNATURE))


def represent_signature(signature: Signature, site: Site, *, person: Person) -> dict[str, Any]:
    """Return a signature as the API answers it."""
    shown = _represent(signature, site, person=person)
    shown[site.named("<p>:referrer_data")] = UNKNOWN_REFERRER | signature.entered.get("referrer_data", {})
    return shown


def webhook_element(
    signature: Signature, site: Site, *, person: Person, sponsor: Mapping[str, str], idempotency_key: str
) -> dict[str, Any]:
    """Return one element of a delivery: the signature with what was entered, and beside it sponsor and key."""
    return {
        "osdi:signature": _represent(signature, site, person=person),
        site.named("<p>:sponsor"): sponsor_in(sponsor, ("title", "url")),
        "idempotency_key": idempotency_key,
    }


def sample_element(site: Site, *, sponsor: Mapping[str, str], idempotency_key: str) -> dict[str, Any]:
    """Return the element of a "send test" delivery: as in real ones of deployments, much of it is missing."""
    links = {
        "self": site.link("petitions", "sample", "signatures", "sample"),
        "osdi:person": site.link("people", "sample"),
        "osdi:petition": site.link("petitions", "sample"),
    }
    signature = {
        "identifiers": [site.native("sample")],
        site.named("<p>:referrer_data"): {},
        "person": {
            "given_name": "Sample",
            "email_addresses": [{"primary": True, "address": "sample@example.org"}],
        },
        "_links": links,
    }
    return {
        "osdi:signature": signature,
        site.named("<p>:sponsor"): sponsor_in(sponsor, ("title", "url")),
        "idempotency_key": idempotency_key,
    }


def _represent(signature: Signature, site: Site, *, person: Person) -> dict[str, Any]:
    names = DATED[site.version]
    entered = dict(signature.entered)
    shown: dict[str, Any] = {
        "identifiers": [site.native(signature.signature_id), *entered.pop("identifiers", ())],
        names["created_date"]: signature.created_date,
        names["modified_date"]: signature.modified_date,
        "person": {
            names["created_date"]: person.created_date,
            names["modified_date"]: person.modified_date,
            **entered.pop("person", {}),
        },
    }
    if "referrer_data" in entered:
        shown[site.named("<p>:referrer_data")] = entered.pop("referrer_data")
    petition = ("petitions", signature.petition_id)
    links = {
        "self": site.link(*petition, "signatures", signature.signature_id),
        "osdi:person": site.link("people", signature.person_id),
        "osdi:petition": site.link(*petition),
    }
    return {**shown, **entered, "_links": links}
