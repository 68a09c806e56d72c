"""Documents inside of other JSON (interface 2.6, 2.7).

Queues, gateways, automation tools and warehouses hand on what the service sent inside of something of their own: below
other keys, in lists of rows, as text, in base64, in the body of a form, behind the prefix of a log line. What is not a
document itself is searched for one, `DEPTH` levels deep.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl

from osdi_frames.document_forms import COUNTS, form_of, is_wrapper
from osdi_frames.messages import field_name, value_form
from osdi_frames.problems import Finding, ProblemKind
from osdi_frames.sources.layout import split
from osdi_frames.sources.log_lines import Logged, logged
from osdi_frames.sources.wrapper_times import WrapperTime, time_in, time_of
from osdi_frames.tables import element_types, types_by_key
from osdi_frames.tables.schema import PREFIXES, ElementType, spelled

#: Levels of objects, lists and texts in which a document is looked for.
DEPTH = 12
#: Values that are looked at after which, without a document among them, the search ends.
VALUES = 1_000_000

WrittenAs: TypeAlias = Literal["json", "text", "base64", "form", "log"]

_MESSAGE_KEY = "idempotency_key"
#: How texts begin that are JSON.
_OBJECTS = re.compile(r"\ufeff?\s*(?:\[\s*)*\{\s*\"")
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\s]+={0,2}\s*")
_SHORTEST, _LOOKED_AT = 8, 256  # characters of base64
_FORM = re.compile(r"\A\s*(?:[\w.\[\]%-]{0,64}=[^=&\s]*&)*[\w.\[\]%-]{0,64}=?(?:%5B|%7B)", re.IGNORECASE)
_SIGNS = re.compile(r"osdi:|_embedded|identifiers")


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A document inside of other JSON."""

    document: Any
    key: str
    """Where it stands."""
    written_as: WrittenAs
    time: str | None
    """The time of what is around it."""


def unwrapped(value: Any, prefixes: Sequence[str] = PREFIXES, key: str = "") -> Iterator[Unwrapped | Finding]:
    """Yield the documents inside of a value that is not one, and what is broken there.

    A value without any yields nothing. Where one entry of a list holds a document, those that hold none are findings.

    >>> row = {"time": "2026-03-11 16:05:38", "payload": '[{"osdi:signature": {"comments": "Yes!"}}]'}
    >>> [found] = unwrapped(row)
    >>> found.key, found.written_as, found.time
    ('payload', 'text', '2026-03-11T16:05:38Z')
    """
    for lenient in (False, True):
        parts = [*_Search(prefixes, lenient).inside(value, _At(key))]
        if any(isinstance(part, Unwrapped) for part in parts) or lenient:
            yield from parts
            return


def holds_document(text: str, prefixes: Sequence[str] = PREFIXES) -> bool:
    """Return whether a text is a document, or holds one.

    >>> holds_document('{"data": {"title": "March", "total_accepted": 3}}'), holds_document('{"x": "1"}')
    (True, False)
    """
    return any(isinstance(part, Unwrapped) for part in _Search(prefixes).inside(text, _At()))


_Parts: TypeAlias = "Iterator[Unwrapped | Finding]"


@dataclass(frozen=True, slots=True)
class _At:
    """Where a search is: a key, what is around it, and how deep that is."""

    key: str = ""
    written_as: WrittenAs = "json"
    time: WrapperTime | None = None
    depth: int = 0

    def below(self, name: object) -> _At:
        """Return the place of an object's value."""
        key = field_name(name)
        return replace(self, key=f"{self.key}.{key}" if self.key else key, depth=self.depth + 1)

    def entry(self, number: int) -> _At:
        """Return the place of a list's entry."""
        return replace(self, key=f"{self.key}[{number}]", depth=self.depth + 1)

    def read_as(self, form: WrittenAs) -> _At:
        """Return the place of what a text is."""
        return replace(self, written_as=form, depth=self.depth + 1)


@dataclass(slots=True)
class _Search:
    """A search for documents."""

    prefixes: Sequence[str]
    lenient: bool = False
    """Whether a page without elements is a document, too."""
    left: int = field(default=VALUES)

    def value(self, value: Any, at: _At) -> _Parts:
        """Yield the documents that a value is, or holds."""
        if self._is_document(value):
            self.left = VALUES
            yield Unwrapped(value, at.key, at.written_as, at.time.utc if at.time else None)
        else:
            yield from self.inside(value, at)

    def inside(self, value: Any, at: _At) -> _Parts:
        """Yield the documents that a value holds."""
        self.left -= 1
        if at.depth >= DEPTH or self.left < 0 or (at.depth and _is_resource(value)):
            return
        if isinstance(value, dict):
            at = replace(at, time=time_of(value, at.time))
            for name, inner in value.items():
                if isinstance(inner, dict | list | str):
                    yield from self.value(inner, at.below(name))
        elif isinstance(value, list):
            yield from self._entries(value, at)
        elif isinstance(value, Logged):
            at = replace(at.read_as("log"), key=at.key or "line", time=time_in(value.prefix) or at.time)
            for one in value.values:
                yield from self.value(one, at)
        elif isinstance(value, str):
            yield from self._text(value, at)

    def _entries(self, entries: list[Any], at: _At) -> _Parts:
        empty, is_found = list[Finding](), False
        for number, entry in enumerate(entries):
            parts = [*self.value(entry, at.entry(number))]
            yield from parts
            if any(isinstance(part, Unwrapped) for part in parts):
                is_found = True
            elif not parts:
                empty.append(Finding(ProblemKind.NO_DOCUMENT, at.entry(number).key, value_form(entry)))
        yield from empty if is_found else ()

    def _text(self, text: str, at: _At) -> _Parts:
        """Yield the documents of a text, however it is written."""
        begins = text[:64].lstrip("\ufeff \t\r\n")[:1]
        if begins in ("{", "["):
            form = at.written_as if at.written_as in ("base64", "form") else "text"
            yield from self._json(text, at.read_as(form))
        elif begins == '"' and (inner := _json_text(text)) is not None:
            yield from self.inside(inner, at.read_as(at.written_as))
        elif (plain := _decoded(text)) is not None:
            yield from self.inside(plain, at.read_as("base64"))
        elif _FORM.match(text):
            pairs = dict(parse_qsl(text if "=" in text.partition("%")[0] else f"={text}"))
            for name, inner in pairs.items():
                yield from self.inside(inner, (at.below(name) if name else at).read_as("form"))
        elif _SIGNS.search(text) and (line := logged(text, 0)):
            yield from self.inside(line[0], at)

    def _json(self, text: str, at: _At) -> _Parts:
        """Yield the documents of JSON text, each with what is odd in it."""
        notes: list[Finding] = []
        for _, part in split(text.encode("utf-8", "surrogatepass")):
            if not isinstance(part, Finding):
                parts = [*self.value(part, at)]
                yield from (*notes, *parts) if parts else ()
                notes = []
            elif part.severity != "error":
                notes.append(part)
            elif _OBJECTS.match(text):
                yield replace(part, key=at.key)

    def _is_document(self, value: Any) -> bool:
        if isinstance(value, list):
            return any(isinstance(entry, dict) and self._is_element(entry) for entry in value)
        if not isinstance(value, dict):
            return False
        if self._is_element(value):
            return True
        if not value.keys() & _keys_of_documents(element_types(), tuple(self.prefixes)):
            return False
        form = form_of(value, self.prefixes)
        if self.lenient and not form.enveloped:
            return form.kind == "empty" and "_embedded" in value and bool(value.keys() & {*COUNTS})
        return form.kind in ("page", "single", "nested") or (
            form.kind == "delivery" and self._is_document(value["body"])
        )

    def _is_element(self, entry: Mapping[str, Any]) -> bool:
        """Return whether an object is an element of a delivery, also of a type that no table declares."""
        if entry.keys() & types_by_key(self.prefixes).keys():
            return True
        return is_wrapper(entry) and (_MESSAGE_KEY in entry or any(key.startswith("osdi:") for key in entry))


@cache
def _keys_of_documents(types: tuple[ElementType, ...], prefixes: tuple[str, ...]) -> frozenset[str]:
    """Return keys one of which every document has."""
    evidence = {path.partition(".")[0] for one in types for path in spelled(one.evidence, prefixes)}
    own = {key for one in types for key in one.keys}
    return frozenset({"_embedded", "_links", "identifiers", "body", *evidence, *own})


def _is_resource(value: Any) -> bool:
    """Return whether a value is a resource: where its type is not clear, what it holds is not read without it."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("identifiers"), list) or isinstance(value.get("person"), dict)


def _json_text(text: str) -> str | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def _decoded(text: str) -> str | None:
    """Return the text of base64; None for any other text."""
    if len(text) < _SHORTEST or not _BASE64.fullmatch(text, 0, _LOOKED_AT):
        return None
    try:
        head = _bytes(re.sub(r"\s", "", text[:_LOOKED_AT])[:32])
        is_json = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[", b'"')
        if not (is_json or b"=" in head or _BASE64.fullmatch(head.decode("latin-1"))):
            return None
        return _bytes(text).decode("utf-8")
    except (ValueError, binascii.Error):
        return None


def _bytes(text: str) -> bytes:
    text = re.sub(r"\s", "", text).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
