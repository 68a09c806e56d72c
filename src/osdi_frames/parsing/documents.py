"""Find the elements of one decoded document in Python, and name what is not an element (interface 2.6, 2.7).

Documents that the query cannot parse go this way; it is slower, and accepts documents of any shape.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final, Literal, TypeAlias

from osdi_frames.document_forms import (
    BODY,
    COUNTS,
    PAGE_KEYS,
    QUARANTINE_REASONS,
    RESOURCE_KEYS,
    TIMESTAMPS,
    URL,
    Form,
    fits,
    form_of,
    is_quarantined,
    is_type_key,
    is_wrapper,
    other_collection,
)
from osdi_frames.messages import HIDDEN, field_name, value_form
from osdi_frames.problems import Finding, ProblemKind
from osdi_frames.sources.wrapped import unwrapped
from osdi_frames.sources.wrapper_times import time_of
from osdi_frames.tables import element_types, types_by_key
from osdi_frames.tables.schema import PREFIXES, ElementType

#: The key next to a delivery's element that is equal in all retries of the delivery (interface 2.7).
MESSAGE_KEY = "idempotency_key"

#: The levels around elements. Each is the prefix by which findings name the keys of that level.
IN_ENVELOPE: Final = "envelope: "
IN_PAGE: Final = "page: "
IN_LINKS: Final = "page: _links."
IN_COLLECTIONS: Final = "page: _embedded."
Surroundings: TypeAlias = Literal["envelope: ", "page: ", "page: _links.", "page: _embedded."]

#: The keys that the contract or a receiver defines at each level; collections are declared by element types.
_KNOWN: Mapping[str, Collection[str]] = {
    IN_ENVELOPE: {*TIMESTAMPS, BODY, URL, "checksum", "sequence", "received", "reason", "erased_at"},
    IN_PAGE: {*PAGE_KEYS},
    IN_LINKS: {"self", "next", "previous", "first", "last", "curies"},
}

#: The position of a list's entry in the key of a finding.
ENTRY_NUMBER = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a document."""

    type: ElementType
    value: dict[str, Any]
    position: int = 0
    key: str = ""
    """Its path in the document: ``[0].osdi:signature``."""
    wrapper: dict[str, Any] | None = None
    """The entry of the delivery that holds it and its siblings; None outside of deliveries."""
    wrapper_key: str = ""
    """The path of the wrapper in the document."""
    timestamps: Mapping[str, Any] | None = None
    """The timestamps of the envelope; None without one."""
    page: Mapping[str, Any] | None = None
    """The enveloped page that lists it and no other type; None outside of pages."""

    def relative(self, key: str) -> str:
        """Return a key relative to the element, without positions, so that findings of many elements count as one."""
        if key.startswith(self.key):
            key = key[len(self.key) :].lstrip(".")
        elif self.wrapper is not None and key.startswith(self.wrapper_key):
            key = f"../{key[len(self.wrapper_key) :].lstrip('.')}"
        return f"{self.type.name}: {ENTRY_NUMBER.sub('[]', key)}"


def elements(
    document: Any,
    prefixes: Sequence[str] = PREFIXES,
    named: ElementType | None = None,
    types: Collection[ElementType] | None = None,
) -> Iterator[Element | Finding]:
    """Yield the elements of a decoded document, and findings of everything else in it.

    `named` is the type of resources that do not show their own, if the caller knows it. A value that stands for an
    element, or for a list of them, and is none, is found only if it is of one of some `types`; None stands for all.

    >>> [str(part.problem) for part in elements({"fetched_at": "2026-01-01T00:00:00Z", "body": 7})]
    ['not a page, an event or a delivery']
    """
    open_walks = [_Walk(prefixes, named, element_types() if types is None else types).document(document, "")]
    while open_walks:  # a stack instead of recursion: documents can be nested deeper than Python can call
        part = next(open_walks[-1], None)
        if part is None:
            open_walks.pop()
        elif isinstance(part, Element | Finding):
            yield part
        else:
            open_walks.append(part)


_Parts: TypeAlias = "Iterator[Element | Finding | _Parts]"


@dataclass(frozen=True, slots=True)
class _Walk:
    """Walks through a document; its methods yield elements, findings, and iterators over parts of the document.

    `key` is the path of a part in the document, `position` that of an entry in its array.
    """

    prefixes: Sequence[str]
    named: ElementType | None
    types: Collection[ElementType]
    timestamps: Mapping[str, Any] | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    page: Mapping[str, Any] | None = None

    def document(self, body: Any, key: str, position: int | None = None) -> _Parts:
        """Walk through a document, or through an entry of an array, which can be a document of its own."""
        if position is not None and self._is_wrapper(body, position):
            yield from self._wrapper(body, key, position)
            return
        form = form_of(body, self.prefixes)
        if form.enveloped:
            yield from undeclared(body, IN_ENVELOPE, self.prefixes)
            times = {name: body.get(name) for name in TIMESTAMPS}
            inside = replace(self, timestamps=times, envelope={**times, URL: body.get(URL)})
            if is_quarantined(body):
                yield inside._quarantined(body, key)
            else:
                yield inside._without_envelope(body[BODY], _joined(key, BODY), form, None)
        else:
            yield self._without_envelope(body, key, form, position)

    def _without_envelope(self, body: Any, key: str, form: Form, position: int | None) -> _Parts:
        if form.kind == "delivery":
            yield from (self.document(entry, f"{key}[{index}]", index) for index, entry in enumerate(body))
        elif form.kind in ("single", "nested"):
            yield self._resource(Element(form.types[0], body, key=key, timestamps=self.timestamps))
        elif form.types:
            yield self._page(body, key)
        elif self._is_wrapper(body, position) or (_has(body, MESSAGE_KEY) and is_wrapper(body)):
            yield from self._wrapper(body, key, 0)  # a delivery's entry without its array
        elif form.kind == "empty":
            yield from self._empty(body, key)
        elif _has(body, BODY) and isinstance(body[BODY], dict | list) and not time_of(body):
            yield Finding(ProblemKind.NO_TIME, _joined(key, BODY), severity="warning")
            yield from undeclared(body, IN_ENVELOPE, self.prefixes)
            yield self.document(body[BODY], _joined(key, BODY))
        elif _has(body, *RESOURCE_KEYS):
            scalars = {name: value for name, value in body.items() if not isinstance(value, dict | list)}
            yield self._unwrapped(scalars, key, self._of_unclear_type(body, key))
        else:
            of_entry = ProblemKind.NO_TYPE if isinstance(body, dict) else ProblemKind.NO_OBJECT
            kind = ProblemKind.NO_DOCUMENT if position is None else of_entry
            yield self._unwrapped(body, key, iter([Finding(kind, key, value_form(body))]))

    def _unwrapped(self, value: Any, key: str, otherwise: _Parts) -> _Parts:
        """Walk through the documents that another format's value contains; yield `otherwise` if it contains none."""
        is_found = False
        for part in unwrapped(value, self.prefixes, key):
            if isinstance(part, Finding):
                yield part
                is_found = is_found or part.severity == "error"
                continue
            is_found = True
            path = ENTRY_NUMBER.sub("[]", part.key).lstrip(".")
            yield Finding(ProblemKind.UNWRAPPED, f"{part.written_as}: {path}", severity="info")
            is_fetched = form_of(part.document, self.prefixes).kind in ("page", "single", "nested")
            stamp = "fetched_at" if is_fetched else "received_at"
            times = self.timestamps or ({stamp: part.time} if part.time else None)
            yield replace(self, timestamps=times).document(part.document, part.key)
        if not is_found:
            yield otherwise

    def _quarantined(self, envelope: dict[str, Any], key: str) -> _Parts:
        """Walk through a body that a receiver did not accept as a delivery (`osdi_frames.receiver`)."""
        reason = envelope["reason"] if envelope["reason"] in QUARANTINE_REASONS else HIDDEN
        key = _joined(key, "received")
        finding = Finding(ProblemKind.QUARANTINE, key, reason)
        yield self._unwrapped(envelope["received"], key, iter([finding]))

    def _is_wrapper(self, body: Any, position: int | None) -> bool:
        """Whether an object is an entry of a delivery; outside of an array it needs a declared type."""
        if not isinstance(body, dict):
            return False
        is_declared = not types_by_key(self.prefixes).keys().isdisjoint(body)
        return is_declared or (position is not None and is_wrapper(body))

    def _of_unclear_type(self, body: dict[str, Any], key: str) -> _Parts:
        """Walk through a resource that does not show its type."""
        if collection := other_collection(body):
            yield Finding(ProblemKind.OTHER_TYPE, field_name(collection), severity="warning")
        elif self.named and fits(body, self.named, self.prefixes):
            yield self._resource(Element(self.named, body, key=key, timestamps=self.timestamps))
            return
        else:
            yield Finding(ProblemKind.UNCLEAR, key, value_form(body))
        yield self._embedded(body, key)

    def _resource(self, element: Element) -> _Parts:
        """Yield a resource without its embedded collections, then walk through these."""
        body = element.value
        embedded: Any = body.get("_embedded")
        lists = {name for name, _ in self._collections(body) if isinstance(embedded[name], list)}
        if lists:
            others = {name: value for name, value in embedded.items() if name not in lists}
            without = {name: value for name, value in body.items() if name != "_embedded"}
            element = replace(element, value=without | ({"_embedded": others} if others else {}))
        yield element
        yield replace(self, page=None)._embedded(body, element.key)

    def _page(self, body: dict[str, Any], key: str) -> _Parts:
        yield from _around_page(body, self.prefixes)
        collections = [*self._collections(body)]
        for name, kind in collections:
            if kind in self.types and not isinstance(body["_embedded"][name], list | None):
                yield Finding(
                    ProblemKind.NO_LIST,
                    _joined(key, f"_embedded.{name}"),
                    value_form(body["_embedded"][name]),
                )
        # The total of a page with collections of two types is of neither.
        page = {**self.envelope, BODY: body} if len({kind for _, kind in collections}) == 1 else None
        yield replace(self, page=page)._embedded(body, key)

    def _embedded(self, body: dict[str, Any], key: str) -> _Parts:
        """Walk through the embedded collections of a page or a resource."""
        positions: defaultdict[ElementType, Iterator[int]] = defaultdict(count)
        for name, kind in self._collections(body):
            entries = body["_embedded"][name]
            for index, entry in enumerate(entries if isinstance(entries, list) else ()):
                position, entry_key = next(positions[kind]), _joined(key, f"_embedded.{name}[{index}]")
                if isinstance(entry, dict):
                    element = Element(
                        kind, entry, position, entry_key, timestamps=self.timestamps, page=self.page
                    )
                    yield self._resource(element)
                elif kind in self.types:
                    yield Finding(ProblemKind.NO_OBJECT, entry_key, value_form(entry))

    def _collections(self, body: dict[str, Any]) -> Iterator[tuple[str, ElementType]]:
        """Yield the key and the element type of each declared collection that an object embeds."""
        embedded: Any = body.get("_embedded")
        for element in element_types() if isinstance(embedded, dict) else ():
            for name in element.collections(self.prefixes):
                if name in embedded:
                    yield name, element

    def _empty(self, body: dict[str, Any], key: str) -> _Parts:
        """Walk through an object with keys of a page and no declared collection."""
        embedded = body.get("_embedded")
        if not isinstance(embedded, dict | None):
            yield Finding(ProblemKind.NO_OBJECT, _joined(key, "_embedded"), value_form(embedded))
            return
        around = _around_page(body, self.prefixes)
        others = {name: value for name, value in body.items() if name not in PAGE_KEYS}
        holds_more = any(isinstance(value, dict | list) and value for value in others.values())
        if embedded:
            yield from around
        elif _has(body, *COUNTS, "_embedded") and not holds_more:
            yield from (*around, Finding(ProblemKind.NO_ELEMENTS, key, severity="info"))
        else:
            empty = Finding(ProblemKind.NO_ELEMENTS, key, value_form(body), "warning")
            yield self._unwrapped(others, key, iter([*around, empty]))

    def _wrapper(self, wrapper: dict[str, Any], key: str, position: int) -> Iterator[Element | Finding]:
        """Yield the elements in an entry of a delivery."""
        declared = types_by_key(self.prefixes)
        for name in filter(is_type_key, wrapper):
            value, element_key = wrapper[name], _joined(key, name)
            if name not in declared:
                yield _other_type(name)
            elif isinstance(value, dict):
                yield Element(declared[name], value, position, element_key, wrapper, key, self.timestamps)
            elif declared[name] in self.types:
                yield Finding(ProblemKind.NO_OBJECT, element_key, value_form(value))


def _has(value: Any, *keys: str) -> bool:
    """Whether a value is an object with any of some keys."""
    return isinstance(value, dict) and any(key in value for key in keys)


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def undeclared(keys: Iterable[str], level: Surroundings, prefixes: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each key at a level around elements that the contract does not define (interface 2.6).

    >>> [finding.detail for finding in undeclared(["page", "motd"], IN_PAGE, PREFIXES)]
    ['page: motd']
    """
    collections = {name for element in element_types() for name in element.collections(prefixes)}
    for key in keys:
        if level == IN_COLLECTIONS:
            if key not in collections:
                yield _other_type(key)
        elif key not in _KNOWN[level] and not (level == IN_LINKS and key in collections):
            yield Finding(ProblemKind.UNDECLARED, f"{level}{field_name(key)}", severity="info")


def _around_page(body: dict[str, Any], prefixes: Sequence[str]) -> Iterator[Finding]:
    links, embedded = (
        value if isinstance(value := body.get(key), dict) else {} for key in ("_links", "_embedded")
    )
    yield from undeclared(body, IN_PAGE, prefixes)
    yield from undeclared([key for key in links if key not in embedded], IN_LINKS, prefixes)
    yield from undeclared(embedded, IN_COLLECTIONS, prefixes)


def _other_type(name: str) -> Finding:
    """Return the finding of an element type that no table declares."""
    return Finding(ProblemKind.OTHER_TYPE, field_name(name), severity="info")
