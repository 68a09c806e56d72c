"""The elements of a parsed document (interface 2.6, 2.7); the precise form of what `query` does in bulk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from osdi_frames.problems import Finding
from osdi_frames.tables.forms import BODY, PAGE_KEYS, SIBLING, STAMPS, Form, form_of
from osdi_frames.tables.schema import PREFIXES, ElementType

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
    stamps: Mapping[str, Any] | None = None
    """The timestamps of the envelope, if there is one."""
    outer: int | None = None
    """The position of its document, in a list of documents."""

    @property
    def place(self) -> int:
        """Its position, or that of its document, in the outermost list."""
        return self.position if self.outer is None else self.outer

    @property
    def wrapper_key(self) -> str:
        """Where its wrapper stands in its document."""
        return self.key.removesuffix(f".{self.type.type_key}")

    def relative(self, key: str) -> str:
        """Return a key as the element has it, so that the same key in another element is counted with it."""
        if key.startswith(self.key):
            key = key[len(self.key) :].lstrip(".")
        elif self.wrapper is not None and key.startswith(self.wrapper_key):
            key = f"../{key[len(self.wrapper_key) :].lstrip('.')}"
        return f"{self.type.name}: {POSITION.sub('[]', key)}"


@dataclass(frozen=True, slots=True)
class Other:
    """An element or resource of a type that no table declares; no problem, and left in the archive."""

    type: str


def elements(
    document: Any, types: Sequence[ElementType], prefixes: Sequence[str] = PREFIXES
) -> Iterator[Element | Other | Finding]:
    """Yield the elements of a parsed document, what else it holds, and what no table can take.

    >>> list(elements({"fetched_at": "2026-01-01T00:00:00Z", "body": 7}, ()))
    [Finding(problem='not a page, an event or a delivery', key='body', value=7, severity='error')]
    """
    yield from _Walk(types, prefixes).document(document, "")


def type_keys(element: Mapping[str, Any]) -> list[str]:
    """Return the keys that name the type of a delivery's element."""
    return [key for key in element if is_type_key(key)]


def is_type_key(key: str) -> bool:
    """Whether a key names an element type."""
    return ":" in key and not key.endswith(SIBLING)


@dataclass(frozen=True, slots=True)
class _Walk:
    types: Sequence[ElementType]
    prefixes: Sequence[str]

    def document(
        self, document: Any, key: str, stamps: Mapping[str, Any] | None = None
    ) -> Iterator[Element | Other | Finding]:
        decided = form_of(document, self.types, self.prefixes)
        body = document
        if decided.enveloped:
            body, key = document[BODY], _joined(key, BODY)
            stamps = {stamp: document.get(stamp) for stamp in STAMPS}
        if decided.kind == "delivery":
            yield from self._delivery(body, key, stamps)
        elif decided.kind != "single" and decided.types:
            yield from _unknown_keys(body)
            yield from self._page(body, decided, key, stamps)
        elif decided.kind == "single":
            yield Element(decided.types[0], body, key=key, stamps=stamps)
        elif isinstance(body, dict) and any(name in body for name in PAGE_KEYS):
            yield from _other(body, key)
        else:
            yield Finding("not a page, an event or a delivery", key, body)

    def _page(
        self, body: Any, form: Form, key: str, stamps: Mapping[str, Any] | None
    ) -> Iterator[Element | Finding]:
        before: Counter[ElementType] = Counter()
        for each, name in zip(form.types, form.keys, strict=True):
            at, entries = _joined(key, f"_embedded.{name}"), body["_embedded"][name]
            if entries is not None and not isinstance(entries, list):
                yield Finding("not a list", at, entries)
                continue
            for position, entry in enumerate(entries or ()):
                if isinstance(entry, dict):
                    yield Element(each, entry, before[each] + position, f"{at}[{position}]", stamps=stamps)
                else:
                    yield Finding("not an object", f"{at}[{position}]", entry)
            before[each] += len(entries or ())

    def _delivery(
        self, body: list[Any], key: str, stamps: Mapping[str, Any] | None
    ) -> Iterator[Element | Other | Finding]:
        for position, entry in enumerate(body):
            at = f"{key}[{position}]"
            if not self._is_delivered(entry) and self._is_document(entry):
                for each in self.document(entry, at, stamps):
                    yield replace(each, outer=position) if isinstance(each, Element) else each
            elif not isinstance(entry, dict):
                yield Finding("not an object", at, entry)
            elif not type_keys(entry):
                yield Finding("an element without a type key", at, entry)
            else:
                yield from self._delivered(entry, position, at, stamps)

    def _is_delivered(self, entry: Any) -> bool:
        return isinstance(entry, dict) and any(each.type_key in entry for each in self.types)

    def _is_document(self, entry: Any) -> bool:
        """Whether an entry of an array is a document of its own: the array is then a list of documents."""
        if not isinstance(entry, dict):
            return isinstance(entry, list)
        decided = form_of(entry, self.types, self.prefixes)
        return decided.enveloped or decided.kind != "undecided"

    def _delivered(
        self, entry: dict[str, Any], position: int, key: str, stamps: Mapping[str, Any] | None
    ) -> Iterator[Element | Other | Finding]:
        declared = {each.type_key: each for each in self.types}
        for name in type_keys(entry):
            value = entry[name]
            if name not in declared:
                yield Other(name)
            elif isinstance(value, dict):
                yield Element(declared[name], value, position, f"{key}.{name}", entry, stamps)
            else:
                yield Finding("not an object", f"{key}.{name}", value)


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _unknown_keys(body: dict[str, Any]) -> Iterator[Finding]:
    """Yield the keys of a page that the contract does not name (interface 2.6)."""
    yield from (
        Finding("undeclared key", f"page: {key}", severity="info") for key in body if key not in PAGE_KEYS
    )


def _other(body: dict[str, Any], key: str) -> Iterator[Other | Finding]:
    yield from _unknown_keys(body)
    embedded = body.get("_embedded")
    if embedded is not None and not isinstance(embedded, dict):
        yield Finding("not an object", _joined(key, "_embedded"), embedded)
        return
    names = [name for name in embedded or {} if ":" in name]
    yield from (Other(name) for name in names) if names else [Other("page or resource without elements")]
