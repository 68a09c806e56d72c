"""Which bodies may stand in the archive, and which go to quarantine (interface 2.7)."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import NoReturn

MAX_DEPTH = 100  # a delivery nests about eight deep; recursive parsers give up somewhere above 1,000

# Possessive, and content with a string that never ends: linear on any bytes.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def validate_body(body: bytes) -> str | None:
    """Say why a body is no JSON array of objects; ``None`` when it is one.

    JSON is that of RFC 8259, stricter than Python's: no ``NaN``, no number that no float can hold, no byte
    order mark, UTF-8 only, and at most 100 levels deep. A lone surrogate escape and a repeated key are
    JSON, and what they mean is a question for whoever reads the archive.

    >>> validate_body(b'[{"osdi:signature": {}}]') is None
    True
    >>> validate_body(b'{"osdi:signature": {}}')
    'not an array'
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return "not UTF-8"
    if _deeper_than(body, MAX_DEPTH):
        return "nested too deep"
    try:
        elements = _STRICT.decode(text)
    except json.JSONDecodeError:
        return "not JSON"
    except ValueError:
        return "a number too large"
    if not isinstance(elements, list):
        return "not an array"
    if not all(isinstance(element, dict) for element in elements):
        return "not an array of objects"
    return None


def _deeper_than(body: bytes, limit: int) -> bool:
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    brackets = _STRING.sub(b"", body).translate(None, _NOT_BRACKETS)
    return any(depth > limit for depth in accumulate(_STEP[bracket] for bracket in brackets))


def _no_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError("not JSON", name, 0)


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is larger than any float")
    return value


_STRICT = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
