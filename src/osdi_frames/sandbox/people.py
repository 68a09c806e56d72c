"""People: links to them, contacts, records."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from osdi_frames.document_forms import value_at
from osdi_frames.listening import is_loopback
from osdi_frames.sandbox.site import Site
from osdi_frames.tables.fields import VERSIONS

# What an entry of a person's record is unless something else was entered.
_DEFAULTS = {
    "email_addresses": {"status": "subscribed"},
    "phone_numbers": {"status": "unsubscribed", "number_type": "Mobile"},
    "postal_addresses": {"country": "US"},
}


def named_creator(body: Mapping[str, Any], site: Site, *, any_host: bool) -> str | None:
    """Return the id of the creator that a body links to or, in v1, embeds (interface 2.8, 4)."""
    places: list[tuple[str, ...]] = [("_links", "osdi:creator")]
    if site.version == "v1":
        places += [("osdi:creator", "_links", "self"), ("_embedded", "osdi:creator", "_links", "self")]
    return next(filter(None, (linked_person(body, place, site, any_host=any_host) for place in places)), None)


def linked_person(body: Any, place: tuple[str, ...], site: Site, *, any_host: bool) -> str | None:
    """Return the id of a linked person.

    `place` are the keys under which the link stands in the body. With `any_host`, the link may lead to another host,
    as clients write that know the address of one service only.
    """
    href = value_at(body, (*place, "href"))
    try:
        there, here = urlsplit(href if isinstance(href, str) else ""), urlsplit(site.origin)
        same_host = there.hostname == here.hostname or (
            is_loopback(there.hostname) and is_loopback(here.hostname)
        )
        is_own = same_host and (there.scheme, there.port) == (here.scheme, here.port)
    except ValueError:
        return None
    path, _, person_id = there.path.rstrip("/").rpartition("/")
    is_person = path in [f"/api/{version}/people" for version in VERSIONS]
    return person_id if is_person and (is_own or any_host) else None


def contacts_of(entered: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a person is recognised by: e-mail addresses in any case, then phone numbers by their digits.

    >>> contacts_of({"phone_numbers": [{"number": "+1 (510) 555-0100"}], "email_addresses": [{"address": "A@b.org"}]})
    [('email', 'a@b.org'), ('phone', '15105550100')]
    """
    emails = (entry.get("address", "").strip().casefold() for entry in entered.get("email_addresses", ()))
    phones = (entry.get("number", "") for entry in entered.get("phone_numbers", ()))
    digits = ("".join(filter(str.isdecimal, number)) for number in phones)
    return [*(("email", name) for name in emails if name), *(("phone", name) for name in digits if name)]


def merge_person(known: Mapping[str, Any], entered: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record keeps of what was entered.

    It replaces what was known, custom fields one by one. The first of several entries is the primary one unless
    another is.
    """
    kept = dict(entered)
    if "custom_fields" in kept:
        kept["custom_fields"] = {**known.get("custom_fields", {}), **kept["custom_fields"]}
    for name in _DEFAULTS.keys() & kept.keys():
        primary = next((n for n, entry in enumerate(kept[name]) if entry.get("primary")), 0)
        kept[name] = [
            {**_DEFAULTS[name], **entry, "primary": number == primary}
            for number, entry in enumerate(kept[name])
        ]
    return kept
