"""Find one person in what a receiver wrote, however the name is spelled."""

from __future__ import annotations

import base64
import html
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from osdi_frames.errors import InvalidPerson

_LAYERS = 4  # how often text may have been escaped: JSON in JSON, percent signs in a form
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_RECEIVED = re.compile(rb'"received":"([A-Za-z0-9+/]*)')  # see `envelope`


@dataclass(frozen=True, slots=True)
class Person:
    """The ids and e-mail addresses of a person who is to be erased."""

    ids: frozenset[str]
    emails: frozenset[str]
    _pattern: re.Pattern[str]

    @classmethod
    def of(cls, ids: Iterable[str], emails: Iterable[str]) -> Person:
        """Prepare the search for a person; a link to the person serves as the id."""
        ids = frozenset(_path(id_)[-1] for id_ in ids)
        emails = frozenset(_folded(email.strip()) for email in emails)
        if "" in ids | emails or "people" in ids:
            raise InvalidPerson("an id or address of the person is empty: it would match everything")
        # me.ann@x.org and ann@x.organic are other addresses, joe-ann-1 is another id.
        patterns = [rf"(?<!\w)(?<!\w[.+-]){re.escape(email)}(?![\w-])" for email in emails]
        patterns += [rf"(?<![^\W_])(?<![^\W_]-){re.escape(_folded(id_))}(?![^\W_]|-\w)" for id_ in ids]
        return cls(ids, emails, re.compile("|".join(patterns) or "(?!)"))

    def is_subject_of(self, node: object, key: str = "") -> bool:
        """Return whether an element, its objects as tuples of pairs, is about the person.

        It is when a link of it leads to the person, when it has the person's id, or one of the addresses
        among its ``email_addresses``.
        """
        if isinstance(node, tuple):
            return any(
                self._is_meant_by(name, value, key) or self.is_subject_of(value, name) for name, value in node
            )
        if isinstance(node, list):
            return any(self.is_subject_of(entry, key) for entry in node)
        return False

    def _is_meant_by(self, name: str, value: object, within: str) -> bool:
        if name == "person_id" or name.endswith(":person_id"):
            return str(value) in self.ids
        if not isinstance(value, str):
            return False
        if name == "address" and within == "email_addresses":
            return any(form.strip() in self.emails for form in _forms(value))
        path = _path(value)
        in_people = any(before == "people" and id_ in self.ids for before, id_ in itertools.pairwise(path))
        return name == "href" and (in_people or (within == "osdi:person" and path[-1] in self.ids))

    def is_named_in(self, text: str) -> bool:
        """Return whether text holds an id or an address: in any case, escaped, percent-encoded, as HTML.

        >>> Person.of([], ["ann@x.org"]).is_named_in("mail ann%40x.org")
        True
        """
        return any(self._pattern.search(form) for form in _forms(text))

    def is_named_in_bytes(self, data: bytes) -> bool:
        """Return whether bytes of any kind hold an id or an address, also in an envelope's base64."""
        texts = [data.replace(b"\0", b"").decode("utf-8", "replace"), data.decode("latin-1")]
        if b"\0" in data:
            texts += [data.decode(encoding, "replace") for encoding in ("utf-16-le", "utf-16-be")]
        received = (base64.b64decode(found[: len(found) // 4 * 4]) for found in _RECEIVED.findall(data))
        return any(map(self.is_named_in, texts)) or any(map(self.is_named_in_bytes, received))

    def places(self, node: object, path: str = "") -> Iterator[str]:
        """Yield where in an element the person is named, as a path of keys."""
        if isinstance(node, tuple):
            for name, value in node:
                yield from (
                    [path] if self.is_named_in(name) else self.places(value, f"{path}.{name}".strip("."))
                )
        elif isinstance(node, list):
            for entry in node:
                yield from self.places(entry, path)
        elif self.is_named_in(str(node)):
            yield path

    def may_be_in(self, body: bytes) -> bool:
        """Return quickly whether bytes have to be searched; ``False`` only when no spelling of a name fits."""
        lowered = body.lower()
        return (
            not body.isascii()
            or any(sign in body for sign in (b"\\", b"%", b"&"))
            or any(not name.isascii() or name.lower().encode() in lowered for name in self.ids | self.emails)
        )


def _path(link: str) -> list[str]:
    return unquote(re.split("[?#]", link.strip(), maxsplit=1)[0]).rstrip("/").split("/")


def _forms(text: str) -> Iterator[str]:
    """Yield text as it is, and as it reads once its escapes are undone."""
    for _ in range(_LAYERS):
        yield _folded(text)
        if "+" in text:
            yield _folded(text.replace("+", " "))  # as in a form
        undone = html.unescape(unquote(_ESCAPE.sub(_unescaped, text)))
        if undone == text:
            return
        text = undone


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2])


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
