"""What a document is: a page, a single resource, a delivery, or an envelope around one (interface 2.6, 2.7).

The decision needs no values, only which keys there are and of which JSON type: `form` takes what stands at
the paths that `probes` names. So it serves a query over many documents and a parsed document alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from osdi_frames.tables import element_types
from osdi_frames.tables.schema import PREFIXES, ElementType

#: Keys of an envelope: the time, and what it holds.
TIMESTAMPS = ("received_at", "fetched_at")
BODY = "body"

#: Keys of a collection page (interface 2.6), and so of an empty one without anything embedded.
PAGE_KEYS = ("total_pages", "per_page", "page", "total_records", "_embedded", "_links")

#: Keys of resources: what has one of them is no element of a delivery, which has its resource under its type.
RESOURCE_KEYS = ("identifiers", "created_date", "person")

#: Suffix of sibling keys of a delivery's element that are not element types (interface 2.7).
SIBLING = ":sponsor"

Keys: TypeAlias = "tuple[str, ...]"
Kind = Literal["delivery", "page", "single", "other", "undecided"]

_HREF = ("_links", "self", "href")


@dataclass(frozen=True, slots=True)
class Form:
    """Where a document holds its elements."""

    kind: Kind
    enveloped: bool = False
    types: tuple[ElementType, ...] = ()
    """The element types that it holds; of a delivery, those that it can hold."""
    keys: tuple[str, ...] = ()
    """Of a page, the key of the collection of each type."""


def probes(prefixes: Sequence[str] = PREFIXES) -> list[Keys]:
    """Return the paths at which the JSON type decides what a document is."""
    types = element_types()
    inside: list[Keys] = [(), _HREF]
    inside += [("_embedded", key) for element in types for key in element.collections(prefixes)]
    inside += dict.fromkeys((key,) for element in types for key in element.keys)
    inside += [(key,) for key in PAGE_KEYS]
    return [*((key,) for key in TIMESTAMPS), *inside, *((BODY, *path) for path in inside)]


def form(found: Mapping[Keys, str], prefixes: Sequence[str] = PREFIXES) -> Form:
    """Decide what a document is by the JSON types at its probes (``ARRAY``, ``OBJECT``, ``VARCHAR`` …).

    A document is undecided when it is none of these, or when values decide.

    >>> form({(): "OBJECT", ("body",): "ARRAY", ("received_at",): "VARCHAR"}).kind
    'delivery'
    """
    types = element_types()
    enveloped = (BODY,) in found and any((key,) in found for key in TIMESTAMPS)
    at = (BODY,) if enveloped else ()
    if found.get(at) == "ARRAY":
        return Form("delivery", enveloped, tuple(element for element in types if element.type_key))
    if found.get(at) != "OBJECT":
        return Form("undecided", enveloped)
    embeds = (
        (element, key, (*at, "_embedded", key)) for element in types for key in element.collections(prefixes)
    )
    lists = {key: (element, found[path]) for element, key, path in embeds if path in found}
    if lists:
        present = tuple(element for element, _ in lists.values())
        valid = all(kind in ("ARRAY", "NULL") for _, kind in lists.values())
        valid = valid and len(set(present)) == len(present)  # their positions are counted through
        return Form("page" if valid else "undecided", enveloped, present, tuple(lists))
    single = tuple(element for element in types if any((*at, key) in found for key in element.keys))
    if single:
        return Form("single", enveloped, single[:1])
    embedded = found.get((*at, "_embedded"), "NULL") in ("OBJECT", "NULL")
    is_page = any((*at, key) in found for key in PAGE_KEYS)
    by_address = found.get((*at, *_HREF)) == "VARCHAR" and any(element.address for element in types)
    return Form("other" if is_page and embedded and not by_address else "undecided", enveloped)


def form_of(document: Any, prefixes: Sequence[str] = PREFIXES) -> Form:
    """Decide what a parsed document is, by its address where its keys do not tell."""
    found = {
        path: _json_type(value)
        for path in probes(prefixes)
        if (value := value_at(document, path, _MISSING)) is not _MISSING
    }
    decided = form(found, prefixes)
    if decided.kind != "undecided" or decided.types:
        return decided
    href = value_at(document, (BODY, *_HREF) if decided.enveloped else _HREF)
    for element in element_types():
        if element.address and isinstance(href, str) and re.search(element.address, href):
            return Form("single", decided.enveloped, (element,))
    return form({path: kind for path, kind in found.items() if path[-3:] != _HREF}, prefixes)


_MISSING: Any = object()


def value_at(document: Any, path: Keys, missing: Any = None) -> Any:
    """Return what stands at a path of keys in something parsed, or `missing`."""
    for key in path:
        document = document.get(key, missing) if isinstance(document, dict) else missing
    return document


def _json_type(value: Any) -> str:
    if value is None:
        return "NULL"
    named: dict[type, str] = {dict: "OBJECT", list: "ARRAY", str: "VARCHAR"}
    return named.get(type(value), "SCALAR")
