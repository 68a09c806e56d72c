"""Which bodies are deliveries (interface 2.7), and do not go to quarantine."""

from __future__ import annotations

import codecs
import gc
import json
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from osdi_frames.document_forms import is_wrapper
from osdi_frames.json_decoding import STRICT_DECODER
from osdi_frames.receiver.envelope import as_array

MAX_DEPTH = 100  # a delivery nests about eight deep; recursive parsers give up somewhere above 1,000

# Possessive, and content with a string that never ends: linear on any bytes.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # as signed bytes: one level deeper, one less deep
_OPENING = re.compile(r"[ \t\r\n]*\[[ \t\r\n]*(\][ \t\r\n]*)?")
_SEPARATOR = re.compile(r"[ \t\r\n]*(?:,[ \t\r\n]*|(\])[ \t\r\n]*)")


def validate_body(body: bytes) -> str | None:
    """Return why a body is no delivery.

    ``None`` when it is a JSON array of objects, or the only element of one that a relay has unwrapped; a byte order
    mark may precede it. JSON is that of RFC 8259, stricter than Python's: no ``NaN``, no number that no float can hold,
    UTF-8 only, and at most 100 levels deep. A lone surrogate escape and a repeated key are JSON, and what they mean is
    a question for whoever reads the archive.

    >>> validate_body(b'[{"osdi:signature": {}}]'), validate_body(b'{"osdi:signature": {}}')
    (None, None)
    >>> validate_body(b'{"title": "March"}')
    'not an array'
    """
    received, body = body, as_array(body)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return "not UTF-8"
    if _deeper_than(body, MAX_DEPTH):
        return "nested too deep"
    gc.disable()  # it would go through a million new lists again and again, and none of them is garbage
    try:
        if not _OPENING.match(text):
            STRICT_DECODER.decode(text)
            return "not an array"
        # One element at a time: a million of them at once take seconds and 100 MB.
        is_single = body not in (received, received.removeprefix(codecs.BOM_UTF8))
        found = (element for element, _, _ in elements(text, STRICT_DECODER))
        objects = all(type(element) is dict and (not is_single or is_wrapper(element)) for element in found)
    except json.JSONDecodeError:
        return "not JSON"
    except ValueError:
        return "a number too large"
    finally:
        gc.enable()
    return None if objects else "not an array" if is_single else "not an array of objects"


def elements(text: str, decoder: json.JSONDecoder) -> Iterator[tuple[Any, int, int]]:
    """Yield the elements of a JSON array with where their texts begin and end, until a JSONDecodeError.

    >>> list(elements('[{"a": 1}, {}]', json.JSONDecoder()))
    [({'a': 1}, 1, 9), ({}, 11, 13)]
    """
    scan = decoder.scan_once  # type: ignore[attr-defined]  # `raw_decode` takes a million twice as long
    found = _OPENING.match(text)
    at = end = 0
    try:
        while found and not found[1]:
            at = found.end()
            element, end = scan(text, at)
            yield element, at, end
            while text[end : end + 2] == ",{":  # no white space: the common case, in half the time
                at = end + 1
                element, end = scan(text, at)
                yield element, at, end
            found = _SEPARATOR.match(text, end)
    except StopIteration as error:
        raise json.JSONDecodeError("not a value", text, at) from error
    if not found or found.end() < len(text):
        raise json.JSONDecodeError("no separator, or text after the array", text, end)


def _deeper_than(body: bytes, limit: int) -> bool:
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    brackets = _STRING.sub(b"", body).translate(None, _NOT_BRACKETS)
    steps = memoryview(brackets.translate(_STEPS)).cast("b")
    return max(accumulate(steps), default=0) > limit
