"""JSON behind the prefix of a log line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from osdi_frames.json_decoding import LenientDecoder

#: How an object, or the text of an object or a list of some, begins; what else stands in brackets in a log is no JSON.
_OPENING = re.compile(r'"(?=[\[ \t]*\{[ \t]*\\")|\{\s*"')
#: What stands before an object in lists: brackets and white space, the last of which is U+3000.
_BRACKETS = "[" + "".join(filter(str.isspace, map(chr, range(0x3001))))
_JSON = r"""[{"\]},]|\[[ \t\r]*(?:[\[{"\]\-\n]|\d+(?:\.\d+)?[ \t\r]*[,\n]|null|true|false|$)"""
#: How a line begins that is JSON itself.
_JSON_LINE = re.compile(rf"[ \t]*(?:{_JSON})")
#: A line of a file that is a log: text, JSON, and at most some text. What is matched before is not tried again, so that
#: the search takes a time in proportion to the length of the line.
_LOG = re.compile(
    rf'^[ \t]*(?!\s|{_JSON})(?=[^\n{{"]*[A-Za-z:])(?>[^\n]*?\{{[ \t]*\\?")[^\n]*[}}\]]'.encode(),
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Logged:
    """A line of a log that holds JSON."""

    prefix: str
    values: tuple[Any, ...]


def logged(text: str, at: int, decoder: LenientDecoder | None = None) -> tuple[Logged, int] | None:
    """Return what a line of a log holds, and where what follows begins; None for another line.

    A line that breaks off in its JSON, or begins in the middle of it, is none: what is inside of a torn delivery
    is not a document of its own.

    >>> logged('[10:00] posted: [{"title": "March"}] by 192.0.2.1', 0)[0].values
    ([{'title': 'March'}],)
    """
    if _JSON_LINE.match(text, at):
        return None
    decoder = decoder or LenientDecoder()
    stop = _end_of_line(text, at)
    besides, values = list[str](), list[Any]()
    while found := _OPENING.search(text, at, stop):
        before = text[at : found.start()]
        before = before if found[0] == '"' else _without_brackets(before)
        besides.append(before)
        try:
            value, at = decoder.decode(text, at + len(before))
        except (ValueError, RecursionError):
            return None
        values.append(value)
        stop = _end_of_line(text, at)
    around = "".join((*besides, text[at:stop]))
    is_torn = around.count("}") > around.count("{")
    return (Logged(besides[0], tuple(values)), stop) if values and not is_torn else None


def is_log(head: bytes) -> bool:
    r"""Return whether a file begins as a log does, so that each of its lines is read alone.

    >>> is_log(b'[10:00] Started\n[10:01] posted: [{"title": "March"}]\n'), is_log(b'{"title": "March"}')
    (True, False)
    """
    return not _JSON_LINE.match(head[:64].decode("latin-1").lstrip()) and bool(_LOG.search(head))


def next_line(text: str, at: int) -> int:
    """Return where, after a line of text, the next line begins that may hold a document."""
    found = _NEXT.search(text, at)
    return found.end() if found else len(text)


_NEXT = re.compile(r'\n(?=[{\[]|[ \t]*[^\s"{\[\]},][^\n]*\{[ \t]*\\?")')


def _without_brackets(text: str) -> str:
    """Return a text before an object without the brackets of the lists that hold it."""
    at = text.find("[", len(text.rstrip(_BRACKETS)))
    return text if at < 0 else text[:at]


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
