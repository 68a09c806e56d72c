"""The elements of a parsed document (interface 2.6, 2.7); the precise form of what `parsed` does in bulk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from osdi_frames.problems import NOTHING, Finding, ProblemKind, outlined
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
    timestamps: Mapping[str, Any] | None = None
    """The timestamps of the envelope, if there is one."""

    @property
    def wrapper_key(self) -> str:
        """Where its wrapper stands in its document."""
        return self.key.removesuffix(str(self.type.type_key)).removesuffix(".")

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

    >>> [str(met.problem) for met in elements({"fetched_at": "2026-01-01T00:00:00Z", "body": 7}, ())]
    ['not a page, an event or a delivery']
    """
    for met in _Walk(types, prefixes).document(document, ""):
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
    identifiers = (
        [identifier for identifier in found if isinstance(identifier, str)] if isinstance(found, list) else []
    )
    if any(identifier.startswith(tuple(f"{prefix}:" for prefix in prefixes)) for identifier in identifiers):
        return None
    links = resource.get("_links")
    self_link = links.get("self") if isinstance(links, dict) else None
    address = str(self_link.get("href") or "") if isinstance(self_link, dict) else ""
    own = address.rstrip("/").rpartition("/")[2]
    return next(
        (
            identifier
            for identifier in identifiers
            if identifier.endswith(f":{own}" if own else "") and ":" in identifier
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class _Walk:
    types: Sequence[ElementType]
    prefixes: Sequence[str]

    def document(
        self, document: Any, key: str, timestamps: Mapping[str, Any] | None = None
    ) -> Iterator[Element | Other | Finding]:
        decided = form_of(document, self.types, self.prefixes)
        body = document
        if decided.enveloped:
            body, key = document[BODY], _joined(key, BODY)
            timestamps = {timestamp: document.get(timestamp) for timestamp in TIMESTAMPS}
        if decided.kind == "delivery":
            yield from self._delivery(body, key, timestamps)
        elif decided.kind != "single" and decided.types:
            yield from _unknown_keys(body)
            yield from self._page(body, decided, key, timestamps)
        elif decided.kind == "single":
            yield Element(decided.types[0], body, key=key, timestamps=timestamps)
        elif self._is_delivered(body) or (
            isinstance(body, dict) and MESSAGE_KEY in body and is_wrapper(body)
        ):
            yield from self._delivered(body, 0, key, timestamps)  # an element without its array
        elif _is_bare(body):
            yield Finding(ProblemKind.NO_TIME, _joined(key, BODY), severity="warning")
            yield from self.document(body[BODY], _joined(key, BODY))
        elif isinstance(body, dict) and any(name in body for name in PAGE_KEYS):
            yield from _other(body, key)
        else:
            yield Finding(_unknown(body, ProblemKind.NO_DOCUMENT), key, body)

    def _page(
        self, body: Any, form: Form, key: str, timestamps: Mapping[str, Any] | None
    ) -> Iterator[Element | Finding]:
        before: Counter[ElementType] = Counter()
        for element, name in zip(form.types, form.keys, strict=True):
            at, entries = _joined(key, f"_embedded.{name}"), body["_embedded"][name]
            if entries is not None and not isinstance(entries, list):
                yield Finding(ProblemKind.NO_LIST, at, entries)
                continue
            for position, entry in enumerate(entries or ()):
                if isinstance(entry, dict):
                    yield Element(
                        element, entry, before[element] + position, f"{at}[{position}]", timestamps=timestamps
                    )
                else:
                    yield Finding(ProblemKind.NO_OBJECT, f"{at}[{position}]", entry)
            before[element] += len(entries or ())

    def _delivery(
        self, body: list[Any], key: str, timestamps: Mapping[str, Any] | None
    ) -> Iterator[Element | Other | Finding]:
        for position, entry in enumerate(body):
            at = f"{key}[{position}]"
            if not self._is_delivered(entry) and self._is_document(entry):
                yield from self.document(entry, at, timestamps)
            elif not isinstance(entry, dict):
                yield Finding(ProblemKind.NO_OBJECT, at, entry)
            elif self._is_delivered(entry) or is_wrapper(entry):
                yield from self._delivered(entry, position, at, timestamps)
            else:
                yield Finding(_unknown(entry, ProblemKind.NO_TYPE), at, entry)

    def _is_delivered(self, entry: Any) -> bool:
        return isinstance(entry, dict) and any(element.type_key in entry for element in self.types)

    def _is_document(self, entry: Any) -> bool:
        """Whether an entry of an array is a document of its own: the array is then a list of documents."""
        if not isinstance(entry, dict):
            return isinstance(entry, list)
        if _is_bare(entry):
            return True
        decided = form_of(entry, self.types, self.prefixes)
        return decided.enveloped or decided.kind != "undecided"

    def _delivered(
        self, entry: dict[str, Any], position: int, key: str, timestamps: Mapping[str, Any] | None
    ) -> Iterator[Element | Other | Finding]:
        declared = {element.type_key: element for element in self.types}
        for name in filter(is_type_key, entry):
            value = entry[name]
            if name not in declared:
                yield Other(name)
            elif isinstance(value, dict):
                yield Element(declared[name], value, position, _joined(key, name), entry, timestamps)
            else:
                yield Finding(ProblemKind.NO_OBJECT, _joined(key, name), value)


def _unknown(value: Any, kind: ProblemKind) -> ProblemKind:
    """Return what a value is that is no document: a resource, or a problem of a kind."""
    is_resource = isinstance(value, dict) and any(key in value for key in RESOURCE_KEYS)
    return ProblemKind.UNCLEAR if is_resource else kind


def _is_bare(body: Any) -> bool:
    """Return whether a document is an envelope without a time."""
    return isinstance(body, dict) and isinstance(body.get(BODY), dict | list)


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _unknown_keys(body: dict[str, Any]) -> Iterator[Finding]:
    """Yield the keys of a page that the contract does not name (interface 2.6)."""
    yield from (
        Finding(ProblemKind.UNDECLARED, f"page: {key}", severity="info")
        for key in body
        if key not in PAGE_KEYS
    )


def _other(body: dict[str, Any], key: str) -> Iterator[Other | Finding]:
    yield from _unknown_keys(body)
    embedded = body.get("_embedded")
    if embedded is not None and not isinstance(embedded, dict):
        yield Finding(ProblemKind.NO_OBJECT, _joined(key, "_embedded"), embedded)
        return
    names = [name for name in embedded or {} if ":" in name]
    yield from (Other(name) for name in names) if names else [Other("page or resource without elements")]
