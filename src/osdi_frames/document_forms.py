"""Recognise the form of a document: a page, a single resource, or a delivery, in an envelope or without (2.6, 2.7).

`form_by_types` decides by the JSON types at the paths that `probes` returns, so it serves both a query over many
documents and a decoded document. `form_of` also looks at values, such as a resource's address, if the types do not
decide.
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

#: The keys of an envelope: its timestamps, its document, and the address that the document was fetched from.
TIMESTAMPS = ("received_at", "fetched_at")
BODY = "body"
URL = "url"

#: The keys that only a collection page has (interface 2.6), and all keys of a page.
COUNTS = ("total_pages", "per_page", "page", "total_records")
PAGE_KEYS = (*COUNTS, "_embedded", "_links")

#: The keys of resources. The entry of a delivery has none of them: its resource is the value of a type key.
RESOURCE_KEYS = ("identifiers", "created_date", "person")

#: The collections of OSDI that no table declares; a resource with an address in one has another type.
OTHER_COLLECTIONS = frozenset(
    {
        *("campaigns", "items", "lists", "messages", "metadata", "mobile_messages", "queries", "questions"),
        "wrappers",
    }
)

#: The reasons for which a receiver keeps a body in quarantine: an envelope with an empty delivery as `body`, the
#: received text as `received`, and one of these as `reason`.
QUARANTINE_REASONS = (
    *("not UTF-8", "not JSON", "nested too deep", "a number too large", "not an array"),
    "not an array of objects",
)

KeyPath: TypeAlias = "tuple[str, ...]"
DocumentKind = Literal["delivery", "page", "single", "nested", "empty", "undecided"]

#: The fields that resources of any type can have.
_OF_ANY = frozenset({"_embedded", "_links", "origin_system", "originating_system"})

_HREF = ("_links", "self", "href")


def envelope_time(moment: datetime) -> str:
    """Return a time in the format of envelopes and manifests: ISO 8601 in UTC with microseconds and a Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a document, which tells where its elements are."""

    kind: DocumentKind
    """`single` is a resource, `nested` one that can embed collections, `empty` a page without collections."""
    enveloped: bool = False
    types: tuple[ElementType, ...] = ()
    """The types of a page's collections, or of a single resource; empty for deliveries, which can have any."""
    keys: tuple[str, ...] = ()
    """The keys of a page's collections, in the order of `types`."""


def probes(prefixes: Sequence[str] = PREFIXES) -> tuple[KeyPath, ...]:
    """Return the paths whose JSON types decide a document's form."""
    return _probes(element_types(), tuple(prefixes))


@cache
def _probes(types: tuple[ElementType, ...], prefixes: tuple[str, ...]) -> tuple[KeyPath, ...]:
    paths: list[KeyPath] = [()]
    paths += [("_embedded", key) for element in types for key in element.collections(prefixes)]
    own_keys = (key for element in types for key in element.keys)
    paths += [(key,) for key in dict.fromkeys((*own_keys, *RESOURCE_KEYS, *COUNTS))]
    return (*((key,) for key in TIMESTAMPS), *paths, *((BODY, *path) for path in paths))


@cache
def _by_collection(types: tuple[ElementType, ...], prefixes: tuple[str, ...]) -> dict[str, ElementType]:
    return {key: element for element in types for key in element.collections(prefixes)}


def form_by_types(json_types: Mapping[KeyPath, str], prefixes: Sequence[str] = PREFIXES) -> Form:
    """Return a document's form by the JSON types (``ARRAY``, ``OBJECT``, ``VARCHAR`` …) at its `probes`.

    The form is undecided if the document has none of the others, or if its values decide.

    >>> form_by_types({(): "OBJECT", ("body",): "ARRAY", ("received_at",): "VARCHAR"}).kind
    'delivery'
    """
    enveloped = (BODY,) in json_types and any((key,) in json_types for key in TIMESTAMPS)
    body = (BODY,) if enveloped else ()
    if json_types.get(body) == "ARRAY":
        return Form("delivery", enveloped)
    if json_types.get(body) != "OBJECT":
        return Form("undecided", enveloped)
    types = element_types()
    collections = _by_collection(types, tuple(prefixes))
    lists = {key: element for key, element in collections.items() if (*body, "_embedded", key) in json_types}
    single = tuple(one for one in types if any((*body, key) in json_types for key in one.keys))[:1]
    is_resource = single or any((*body, key) in json_types for key in RESOURCE_KEYS)
    if lists and (not is_resource or any((*body, key) in json_types for key in COUNTS)):
        valid = all(json_types[*body, "_embedded", key] in ("ARRAY", "NULL") for key in lists)
        # Positions are counted over all collections of a type, which a query of one collection cannot do.
        valid = valid and len({*lists.values()}) == len(lists)
        return Form("page" if valid else "undecided", enveloped, tuple(lists.values()), tuple(lists))
    if single:
        return Form("nested" if lists else "single", enveloped, single)
    return Form("undecided", enveloped)


def form_of(document: Any, prefixes: Sequence[str] = PREFIXES) -> Form:
    """Return a decoded document's form by its keys, or else by its address or by fields that only one type has."""
    paths = probes(prefixes) if isinstance(document, dict) else [()]
    json_types = {
        path: _json_type(value)
        for path in paths
        if (not path or path[0] in document)  # a quick test that most paths fail
        and (value := value_at(document, path, _MISSING)) is not _MISSING
    }
    form = form_by_types(json_types, prefixes)
    body = document[BODY] if form.enveloped else document
    if form.kind != "undecided" or form.types or not isinstance(body, dict):
        return form
    if element := _type_of(body, prefixes):
        return Form("nested", form.enveloped, (element,))
    is_resource = body.keys() & {*RESOURCE_KEYS} or isinstance(body.get(BODY), dict | list)
    is_page = body.keys() & {*PAGE_KEYS} and not is_resource
    return Form("empty", form.enveloped) if is_page else form


def _type_of(resource: Mapping[str, Any], prefixes: Sequence[str]) -> ElementType | None:
    """Return the type of a resource by its address or by fields that only one type has; None for anything else."""
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
    shown = [one for one, paths in evidence if any(value_at(resource, path) is not None for path in paths)]
    return shown[0] if len(shown) == 1 else None


@cache
def _evidence(
    types: tuple[ElementType, ...], prefixes: tuple[str, ...]
) -> tuple[tuple[ElementType, tuple[KeyPath, ...]], ...]:
    """Return each type with the paths that only its resources have."""
    return tuple(
        (one, tuple(cast("KeyPath", Path.parse(path).steps) for path in spelled(one.evidence, prefixes)))
        for one in types
    )


def other_collection(resource: Mapping[str, Any]) -> str | None:
    """Return the undeclared collection of OSDI in a resource's address, or None.

    >>> other_collection({"_links": {"self": {"href": "https://host.example/api/v2/lists/l1"}}})
    'lists'
    """
    address = value_at(resource, _HREF)
    path = re.split("[?#]", address, maxsplit=1)[0] if isinstance(address, str) else ""
    collection = re.sub("^[^/]*//[^/]*", "", path).rstrip("/").rpartition("/")[0].rpartition("/")[2]
    return collection if collection in OTHER_COLLECTIONS else None


@cache
def field_suffixes() -> tuple[str, ...]:
    """Return the suffixes of the service's own fields, such as ``:sponsor``; keys with one are not types."""
    paths = (
        path for table in TABLES.values() for column in table.columns for path in (*column.v2, *column.v1)
    )
    steps = (str(step) for path in paths for step in Path.parse(path).steps[:1])
    return tuple(sorted({step.removeprefix("<p>") for step in steps if step.startswith("<p>")}))


def is_quarantined(envelope: Mapping[str, Any]) -> bool:
    """Whether an envelope is a line of a receiver's quarantine that still has the received body."""
    return envelope.get(BODY) == [] and all(
        isinstance(envelope.get(key), str) for key in ("reason", "received")
    )


def is_wrapper(keys: Iterable[str]) -> bool:
    """Whether an object with some keys is a delivery's entry, not a resource, page or envelope."""
    return any(map(is_type_key, keys)) and not {*RESOURCE_KEYS, *PAGE_KEYS, BODY}.intersection(keys)


def is_type_key(key: str) -> bool:
    """Whether a key names an element type."""
    return ":" in key and not key.endswith(field_suffixes())


def fits(resource: Mapping[str, Any], element: ElementType, prefixes: Sequence[str]) -> bool:
    """Return whether an object can be a resource of a type: it has no field that only other types have.

    >>> [one.name for one in element_types() if fits({"identifiers": [], "title": "March"}, one, PREFIXES)]
    ['event', 'event_campaign', 'petition', 'form', 'fundraising_page', 'advocacy_campaign', 'survey']
    """
    if not resource.keys() & {*RESOURCE_KEYS}:
        return False
    others = frozenset[str]().union(*(_fields(other, tuple(prefixes)) for other in element_types()))
    return not resource.keys() & (others - _fields(element, tuple(prefixes)))


@cache
def _fields(element: ElementType, prefixes: tuple[str, ...]) -> frozenset[str]:
    """Return the keys that the tables of a type read, without those that resources of any type can have."""
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
