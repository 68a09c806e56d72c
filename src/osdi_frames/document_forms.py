"""What a document is: a page, a single resource, a delivery, or an envelope around one (interface 2.6, 2.7).

The decision needs no values, only which keys there are and of which JSON type: `form_by_types` takes what stands at
the paths that `probes` names. So it serves a query over many documents and a parsed document alike. Where it needs
values, as the address of a resource, `form_of` decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, TypeAlias, cast

from osdi_frames.tables import TABLES, element_types, types_by_key
from osdi_frames.tables.schema import PREFIXES, ElementType, Path, spelled

#: Keys of an envelope: the time, what it holds, and where it came from.
TIMESTAMPS = ("received_at", "fetched_at")
BODY = "body"
URL = "url"

#: Keys that only a collection page has (interface 2.6), and all of its keys.
COUNTS = ("total_pages", "per_page", "page", "total_records")
PAGE_KEYS = (*COUNTS, "_embedded", "_links")

#: Keys of resources: what has one of them is no element of a delivery, which has its resource under its type.
RESOURCE_KEYS = ("identifiers", "created_date", "person")

#: Collections of OSDI that no table declares: what has an address in one is a resource of another type.
OTHER_COLLECTIONS = frozenset(
    {
        *("campaigns", "items", "lists", "messages", "metadata", "mobile_messages", "queries", "questions"),
        "wrappers",
    }
)

#: Why a receiver keeps a body in quarantine; its `received` has the bytes, its `body` is an empty delivery.
QUARANTINE_REASONS = (
    *("not UTF-8", "not JSON", "nested too deep", "a number too large", "not an array"),
    "not an array of objects",
)

KeyPath: TypeAlias = "tuple[str, ...]"
DocumentKind = Literal["delivery", "page", "single", "nested", "empty", "undecided"]

#: Fields of resources of any type, whether a table reads them or not.
_OF_ANY = frozenset({"_embedded", "_links", "origin_system", "originating_system"})

_HREF = ("_links", "self", "href")


def envelope_time(moment: datetime) -> str:
    """Return a moment as envelopes and manifests have it: UTC, with microseconds and a Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True)
class Form:
    """Where a document holds its elements."""

    kind: DocumentKind
    """Nested is a single resource that can embed collections; empty is a page without any."""
    enveloped: bool = False
    types: tuple[ElementType, ...] = ()
    """The element types that it holds, or of which it is; a delivery can hold any."""
    keys: tuple[str, ...] = ()
    """Of a page, the key of the collection of each type."""


def probes(prefixes: Sequence[str] = PREFIXES) -> tuple[KeyPath, ...]:
    """Return the paths that decide a document's form."""
    return _probes(element_types(), tuple(prefixes))


@cache
def _probes(types: tuple[ElementType, ...], prefixes: tuple[str, ...]) -> tuple[KeyPath, ...]:
    inside: list[KeyPath] = [()]
    inside += [("_embedded", key) for element in types for key in element.collections(prefixes)]
    own = (key for element in types for key in element.keys)
    inside += [(key,) for key in dict.fromkeys((*own, *RESOURCE_KEYS, *COUNTS))]
    return (*((key,) for key in TIMESTAMPS), *inside, *((BODY, *path) for path in inside))


@cache
def _by_collection(types: tuple[ElementType, ...], prefixes: tuple[str, ...]) -> dict[str, ElementType]:
    return {key: element for element in types for key in element.collections(prefixes)}


def form_by_types(found: Mapping[KeyPath, str], prefixes: Sequence[str] = PREFIXES) -> Form:
    """Decide a document's form by the JSON types (``ARRAY``, ``OBJECT``, ``VARCHAR`` …) at its probes.

    A document is undecided when it has none of the forms, or when values decide.

    >>> form_by_types({(): "OBJECT", ("body",): "ARRAY", ("received_at",): "VARCHAR"}).kind
    'delivery'
    """
    enveloped = (BODY,) in found and any((key,) in found for key in TIMESTAMPS)
    at = (BODY,) if enveloped else ()
    if found.get(at) == "ARRAY":
        return Form("delivery", enveloped)
    if found.get(at) != "OBJECT":
        return Form("undecided", enveloped)
    types = element_types()
    collections = _by_collection(types, tuple(prefixes))
    lists = {key: element for key, element in collections.items() if (*at, "_embedded", key) in found}
    single = tuple(one for one in types if any((*at, key) in found for key in one.keys))[:1]
    is_resource = single or any((*at, key) in found for key in RESOURCE_KEYS)
    if lists and (not is_resource or any((*at, key) in found for key in COUNTS)):
        valid = all(found[*at, "_embedded", key] in ("ARRAY", "NULL") for key in lists)
        valid = valid and len({*lists.values()}) == len(lists)  # their positions are counted through
        return Form("page" if valid else "undecided", enveloped, tuple(lists.values()), tuple(lists))
    if single:
        return Form("nested" if lists else "single", enveloped, single)
    return Form("undecided", enveloped)


def form_of(document: Any, prefixes: Sequence[str] = PREFIXES) -> Form:
    """Decide a parsed document's form by its keys, else by its address or by what only one type has."""
    paths = probes(prefixes) if isinstance(document, dict) else [()]
    found = {
        path: _json_type(value)
        for path in paths
        if (not path or path[0] in document)  # most are not
        and (value := value_at(document, path, _MISSING)) is not _MISSING
    }
    decided = form_by_types(found, prefixes)
    body = document[BODY] if decided.enveloped else document
    if decided.kind != "undecided" or decided.types or not isinstance(body, dict):
        return decided
    if element := _type_of(body, prefixes):
        return Form("nested", decided.enveloped, (element,))
    is_resource = body.keys() & {*RESOURCE_KEYS} or isinstance(body.get(BODY), dict | list)
    is_page = body.keys() & {*PAGE_KEYS} and not is_resource
    return Form("empty", decided.enveloped) if is_page else decided


def _type_of(resource: Mapping[str, Any], prefixes: Sequence[str]) -> ElementType | None:
    """Return the type of a resource by its address or by what only one type has; None for an element."""
    types = element_types()
    if types_by_key(prefixes).keys() & resource.keys():
        return None
    address = value_at(resource, _HREF)
    if isinstance(address, str):
        for element in types:
            if element.address and re.search(element.address, address):
                return element
    if resource.keys() & {*COUNTS} or other_collection(resource):
        return None
    evidence = _evidence(types, tuple(prefixes))
    found = [one for one, paths in evidence if any(value_at(resource, path) is not None for path in paths)]
    return found[0] if len(found) == 1 else None


@cache
def _evidence(
    types: tuple[ElementType, ...], prefixes: tuple[str, ...]
) -> tuple[tuple[ElementType, tuple[KeyPath, ...]], ...]:
    """Return the paths that only resources of one type have, by type."""
    return tuple(
        (one, tuple(cast("KeyPath", Path.parse(path).steps) for path in spelled(one.evidence, prefixes)))
        for one in types
    )


def other_collection(resource: Mapping[str, Any]) -> str | None:
    """Return the collection of OSDI that a resource is in by its address, if no table declares it.

    >>> other_collection({"_links": {"self": {"href": "https://host.example/api/v2/lists/l1"}}})
    'lists'
    """
    address = value_at(resource, _HREF)
    path = re.split("[?#]", address, maxsplit=1)[0] if isinstance(address, str) else ""
    collection = re.sub("^[^/]*//[^/]*", "", path).rstrip("/").rpartition("/")[0].rpartition("/")[2]
    return collection if collection in OTHER_COLLECTIONS else None


@cache
def field_suffixes() -> tuple[str, ...]:
    """Return the suffixes of the service's own fields, such as ``:sponsor``: keys that end so are no types."""
    paths = (
        path for table in TABLES.values() for column in table.columns for path in (*column.v2, *column.v1)
    )
    steps = (str(step) for path in paths for step in Path.parse(path).steps[:1])
    return tuple(sorted({step.removeprefix("<p>") for step in steps if step.startswith("<p>")}))


def is_quarantined(envelope: Mapping[str, Any]) -> bool:
    """Whether an envelope is a line of a receiver's quarantine, and still has what was received."""
    return envelope.get(BODY) == [] and all(
        isinstance(envelope.get(key), str) for key in ("reason", "received")
    )


def is_wrapper(keys: Iterable[str]) -> bool:
    """Whether keys are those of a delivery's entry, and not of a resource or a document."""
    return any(map(is_type_key, keys)) and not {*RESOURCE_KEYS, *PAGE_KEYS, BODY}.intersection(keys)


def is_type_key(key: str) -> bool:
    """Whether a key names an element type."""
    return ":" in key and not key.endswith(field_suffixes())


def fits(resource: Mapping[str, Any], element: ElementType, prefixes: Sequence[str]) -> bool:
    """Return whether an object is a resource that has no field of other types alone.

    >>> [one.name for one in element_types() if fits({"identifiers": [], "title": "March"}, one, PREFIXES)]
    ['event', 'event_campaign', 'petition', 'form', 'fundraising_page', 'advocacy_campaign', 'survey']
    """
    if not resource.keys() & {*RESOURCE_KEYS}:
        return False
    others = frozenset[str]().union(*(_fields(other, tuple(prefixes)) for other in element_types()))
    return not resource.keys() & (others - _fields(element, tuple(prefixes)))


@cache
def _fields(element: ElementType, prefixes: tuple[str, ...]) -> frozenset[str]:
    """Return the keys that a type's tables read, without those that any resource may have."""
    tables = [table for table in TABLES.values() if table.element == element]
    columns = (column for table in tables for column in table.keys if column.origin == "paths")
    paths = (path for column in columns for path in column.paths(prefixes) if not path.sibling)
    heads = (head for table in tables for head in table.heads(prefixes))
    return frozenset(str(steps[0]) for steps in (*(path.steps for path in paths), *heads)) - _OF_ANY


_MISSING: Any = object()
_JSON_TYPES: dict[type, str] = {type(None): "NULL", dict: "OBJECT", list: "ARRAY", str: "VARCHAR"}


def value_at(document: Any, path: KeyPath, missing: Any = None) -> Any:
    """Return the value at a path of keys, or `missing` where there is none."""
    for key in path:
        document = document.get(key, missing) if isinstance(document, dict) else missing
    return document


def _json_type(value: Any) -> str:
    return _JSON_TYPES.get(type(value), "SCALAR")
