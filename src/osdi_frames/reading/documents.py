"""The elements of a parsed document (interface 2.6, 2.7); the precise form of what `parsed` does in bulk."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from osdi_frames.problems import NOTHING, Finding, ProblemKind, outlined
from osdi_frames.tables import element_types
from osdi_frames.tables.forms import BODY, PAGE_KEYS, RESOURCE_KEYS, SIBLING, TIMESTAMPS, Form, form_of
from osdi_frames.tables.schema import PREFIXES, ElementType

#: The key of a delivery's element that its retries share (interface 2.7).
MESSAGE_KEY = "idempotency_key"

#: The position of an entry in a key.
POSITION = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a document."""

    type: ElementType
    value: dict[str, Any]
    position: int = 0
    key: str = ""
    """Where it stands in its document: ``[0].osdi:signature``."""
    wrapper: dict[str, Any] | None = None
    """The object of the delivery that holds it, with its siblings."""
    wrapper_key: str = ""
    """Where that stands."""
    timestamps: Mapping[str, Any] | None = None
    """The timestamps of the envelope, if there is one."""

    def relative(self, key: str) -> str:
        """Return a key as the element has it, so that the same key in another element is counted with it."""
        if key.startswith(self.key):
            key = key[len(self.key) :].lstrip(".")
        elif self.wrapper is not None and key.startswith(self.wrapper_key):
            key = f"../{key[len(self.wrapper_key) :].lstrip('.')}"
        return f"{self.type.name}: {POSITION.sub('[]', key)}"


def elements(document: Any, prefixes: Sequence[str] = PREFIXES) -> Iterator[Element | Finding]:
    """Yield the elements of a parsed document, what else it holds, and what no table can take.

    >>> [str(met.problem) for met in elements({"fetched_at": "2026-01-01T00:00:00Z", "body": 7})]
    ['not a page, an event or a delivery']
    """
    for met in _Walk(prefixes).document(document, ""):
        if isinstance(met, Finding) and met.value is not NOTHING:
            met = replace(met, value=outlined(met.value))
        yield met


def is_wrapper(keys: Iterable[str]) -> bool:
    """Whether keys are those of a delivery's element, and not of a resource or a document."""
    return any(map(is_type_key, keys)) and not {*RESOURCE_KEYS, *PAGE_KEYS, BODY}.intersection(keys)


def is_type_key(key: str) -> bool:
    """Whether a key names an element type."""
    return ":" in key and not key.endswith(SIBLING)


def foreign_identifier(resource: Mapping[str, Any], prefixes: Sequence[str]) -> str | None:
    """Return the identifier that the service gave to a resource, if its prefix is not a known one.

    >>> foreign_identifier({"identifiers": ["change_desk:9"]}, PREFIXES)
    'change_desk:9'
    """
    found = resource.get("identifiers")
    identifiers = [text for text in found if isinstance(text, str)] if isinstance(found, list) else []
    if any(identifier.startswith(tuple(f"{prefix}:" for prefix in prefixes)) for identifier in identifiers):
        return None
    href: Any = resource
    for key in ("_links", "self", "href"):
        href = href.get(key) if isinstance(href, dict) else None
    own = str(href or "").rstrip("/").rpartition("/")[2]
    end = f":{own}" if own else ""
    return next((text for text in identifiers if ":" in text and text.endswith(end)), None)


@dataclass(frozen=True, slots=True)
class _Walk:
    prefixes: Sequence[str]
    timestamps: Mapping[str, Any] | None = None

    def document(self, body: Any, key: str, position: int | None = None) -> Iterator[Element | Finding]:
        """Walk through a document, or the entry at a position of an array: an element, or a document of its own."""
        form = form_of(body, self.prefixes)
        if position is not None and self._is_element(body, position):
            yield from self._elements(body, key, position)
        elif form.enveloped:
            inside = replace(self, timestamps={name: body.get(name) for name in TIMESTAMPS})
            yield from inside._document(body[BODY], _joined(key, BODY), form, None)
        else:
            yield from self._document(body, key, form, position)

    def _document(self, body: Any, key: str, form: Form, position: int | None) -> Iterator[Element | Finding]:
        if form.kind == "delivery":
            for number, entry in enumerate(body):
                yield from self.document(entry, f"{key}[{number}]", number)
        elif form.kind == "single":
            yield Element(form.types[0], body, key=key, timestamps=self.timestamps)
        elif form.types:
            yield from _unknown_keys(body)
            yield from self._page(body, form, key)
        elif self._is_element(body, position) or (_has(body, MESSAGE_KEY) and is_wrapper(body)):
            yield from self._elements(body, key, 0)  # an element without its array
        elif _has(body, BODY) and isinstance(body[BODY], dict | list):
            yield Finding(ProblemKind.NO_TIME, _joined(key, BODY), severity="warning")
            yield from self.document(body[BODY], _joined(key, BODY))
        elif _has(body, *PAGE_KEYS):
            yield from _other(body, key)
        else:
            of_entry = ProblemKind.NO_TYPE if isinstance(body, dict) else ProblemKind.NO_OBJECT
            kind = ProblemKind.NO_DOCUMENT if position is None else of_entry
            yield Finding(ProblemKind.UNCLEAR if _has(body, *RESOURCE_KEYS) else kind, key, body)

    def _is_element(self, body: Any, position: int | None) -> bool:
        """Whether an object is the entry of a delivery; one that is no entry has to have a declared type."""
        is_declared = _has(body, *(str(element.type_key) for element in element_types()))
        return is_declared or (position is not None and isinstance(body, dict) and is_wrapper(body))

    def _page(self, body: Any, form: Form, key: str) -> Iterator[Element | Finding]:
        positions: defaultdict[ElementType, Iterator[int]] = defaultdict(count)
        for element, name in zip(form.types, form.keys, strict=True):
            at, entries = _joined(key, f"_embedded.{name}"), body["_embedded"][name]
            if not isinstance(entries, list | None):
                yield Finding(ProblemKind.NO_LIST, at, entries)
                continue
            for number, entry in enumerate(entries or ()):
                position, place = next(positions[element]), f"{at}[{number}]"
                if isinstance(entry, dict):
                    yield Element(element, entry, position, place, timestamps=self.timestamps)
                else:
                    yield Finding(ProblemKind.NO_OBJECT, place, entry)

    def _elements(self, entry: dict[str, Any], key: str, position: int) -> Iterator[Element | Finding]:
        declared = {element.type_key: element for element in element_types()}
        for name in filter(is_type_key, entry):
            value, at = entry[name], _joined(key, name)
            if name not in declared:
                yield _of_type(name)
            elif isinstance(value, dict):
                yield Element(declared[name], value, position, at, entry, key, self.timestamps)
            else:
                yield Finding(ProblemKind.NO_OBJECT, at, value)


def _has(value: Any, *keys: str) -> bool:
    """Whether a value is an object with one of some keys."""
    return isinstance(value, dict) and any(key in value for key in keys)


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _unknown_keys(body: dict[str, Any]) -> Iterator[Finding]:
    """Yield the keys of a page that the contract does not name (interface 2.6)."""
    for key in body:
        if key not in PAGE_KEYS:
            yield Finding(ProblemKind.UNDECLARED, f"page: {key}", severity="info")


def _of_type(name: str) -> Finding:
    """Return what is said of an element of a type that no table declares; it is left in the archive."""
    return Finding(ProblemKind.OTHER_TYPE, name, severity="info")


def _other(body: dict[str, Any], key: str) -> Iterator[Finding]:
    yield from _unknown_keys(body)
    embedded = body.get("_embedded")
    if not isinstance(embedded, dict | None):
        yield Finding(ProblemKind.NO_OBJECT, _joined(key, "_embedded"), embedded)
        return
    names = [name for name in embedded or {} if ":" in name]
    yield from map(_of_type, names or ["page or resource without elements"])
