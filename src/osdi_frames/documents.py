"""What a document is: a page, an event, a delivery, or an envelope around one; and its elements.

Decided on parsed JSON, without I/O (interface 2.6, 2.7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from osdi_frames.problems import Finding
from osdi_frames.tables.events import EVENT_ADDRESS, EVENT_KEYS
from osdi_frames.tables.schema import ElementKind

#: Keys of an envelope: the time, and what it holds.
STAMPS = ("received_at", "fetched_at")
BODY = "body"

#: Where a collection page embeds its elements, and of which kind they are.
EMBEDDED: dict[str, ElementKind] = {"osdi:events": "event", "osdi:signatures": "signature"}

#: Keys of a collection page (interface 2.6), and so of an empty one without anything embedded.
PAGE_KEYS = ("total_pages", "per_page", "page", "total_records", "_embedded", "_links")

#: The type key of a signature in a delivery (interface 6).
SIGNATURE = "osdi:signature"

#: Keys of a delivery's element that end so stand beside the hash and are no type (interface 2.7).
BESIDE = ":sponsor"


@dataclass(frozen=True, slots=True)
class Element:
    """One event or signature of a document."""

    kind: ElementKind
    value: dict[str, Any]
    position: int = 0
    key: str = ""
    """Where it stands in its document: ``[0].osdi:signature``."""
    beside: dict[str, Any] | None = None
    """The object of the delivery that holds the signature."""
    stamps: dict[str, Any] | None = None
    """The envelope, if there is one."""


@dataclass(frozen=True, slots=True)
class Other:
    """An element or resource of a type that no table declares; no problem, and left in the archive."""

    type: str


def elements(document: Any) -> Iterator[Element | Other | Finding]:
    """Give the elements of a document, what else it holds, and what no table can take.

    >>> [each.position for each in elements([{"osdi:signature": {}}, {"osdi:signature": {}}])]
    [0, 1]
    >>> list(elements({"fetched_at": "2026-01-01T00:00:00Z", "body": 7}))
    [Finding(problem='not a page, an event or a delivery', key='body', value=7, severity='error')]
    """
    if is_envelope(document):
        yield from _body(document[BODY], BODY, {stamp: document.get(stamp) for stamp in STAMPS})
    else:
        yield from _body(document, "", None)


def is_delivery(document: Any) -> bool:
    """Tell whether a document is a webhook delivery, in an envelope or without."""
    return isinstance(document[BODY] if is_envelope(document) else document, list)


def unknown_keys(document: Any) -> Iterator[str]:
    """Give the keys beside the elements of a page that the contract does not name (interface 2.6)."""
    body = document[BODY] if is_envelope(document) else document
    if isinstance(body, dict) and not is_event(body):
        yield from (key for key in body if key not in PAGE_KEYS)


def is_envelope(document: Any) -> bool:
    """Tell whether a document is an envelope around another."""
    return isinstance(document, dict) and BODY in document and any(stamp in document for stamp in STAMPS)


def is_event(document: dict[str, Any]) -> bool:
    """Tell whether an object is a single event: by keys that only events have, or by its address."""
    if any(key in document for key in EVENT_KEYS):
        return True
    links = document.get("_links")
    link = links.get("self") if isinstance(links, dict) else None
    href = link.get("href") if isinstance(link, dict) else None
    return isinstance(href, str) and re.search(EVENT_ADDRESS, href) is not None


def type_keys(element: dict[str, Any]) -> list[str]:
    """Give the keys that say of which type an element of a delivery is."""
    return [key for key in element if ":" in key and not key.endswith(BESIDE)]


def _body(body: Any, key: str, stamps: dict[str, Any] | None) -> Iterator[Element | Other | Finding]:
    if isinstance(body, list):
        for position, element in enumerate(body):
            yield from _delivered(element, position, f"{key}[{position}]", stamps)
        return
    embedded = body.get("_embedded") if isinstance(body, dict) else None
    if isinstance(embedded, dict) and any(name in embedded for name in EMBEDDED):
        dot = f"{key}." if key else ""
        for name, kind in EMBEDDED.items():
            yield from _listed(embedded.get(name), kind, f"{dot}_embedded.{name}", stamps)
    elif isinstance(body, dict) and is_event(body):
        yield Element("event", body, key=key, stamps=stamps)
    elif isinstance(body, dict) and any(name in body for name in PAGE_KEYS):
        yield from _other(body, key)
    else:
        yield Finding("not a page, an event or a delivery", key, body)


def _delivered(
    element: Any, position: int, key: str, stamps: dict[str, Any] | None
) -> Iterator[Element | Other | Finding]:
    if not isinstance(element, dict):
        yield Finding("not an object", key, element)
        return
    types = type_keys(element)
    if not types:
        yield Finding("an element without a type key", key, element)
    for name in types:
        value = element[name]
        if name != SIGNATURE:
            yield Other(name)
        elif isinstance(value, dict):
            yield Element("signature", value, position, f"{key}.{name}", element, stamps)
        else:
            yield Finding("not an object", f"{key}.{name}", value)


def _listed(
    entries: Any, kind: ElementKind, key: str, stamps: dict[str, Any] | None
) -> Iterator[Element | Finding]:
    if entries is None:
        return
    if not isinstance(entries, list):
        yield Finding("not a list", key, entries)
        return
    for position, entry in enumerate(entries):
        if isinstance(entry, dict):
            yield Element(kind, entry, position, f"{key}[{position}]", stamps=stamps)
        else:
            yield Finding("not an object", f"{key}[{position}]", entry)


def _other(body: dict[str, Any], key: str) -> Iterator[Other | Finding]:
    embedded = body.get("_embedded")
    if embedded is not None and not isinstance(embedded, dict):
        yield Finding("not an object", f"{key}._embedded".lstrip("."), embedded)
        return
    names = [name for name in embedded or {} if ":" in name]
    yield from (Other(name) for name in names) if names else [Other("page or resource without elements")]
