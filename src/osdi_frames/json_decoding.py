"""Decode JSON: strictly, as others have to read it; leniently, as much as there is; or as pairs, with repeated keys."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import accumulate
from typing import Any, Final, NoReturn

_DIGITS = 4300  # of an integer; Python makes no number of more, which then stay text
_DEEPEST = 500  # levels of a document, half of what Python decodes from a short stack

#: Patterns of what may nest deeper than is decoded: it closes two hundred levels in a row. A search for each is quick,
#: since it begins with one certain character.
DEEP: Final = tuple(rf"\{bracket}(?:\s*[\]}}]){{199}}" for bracket in "]}")

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKET = re.compile(r"[\[{\]}]")


def _is_too_deep(document: str) -> bool:
    """Return whether JSON nests deeper than is decoded."""
    if not any(re.search(pattern, document) for pattern in DEEP):
        return False
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(_STRING.sub("", document)))
    return max(accumulate(steps)) > _DEEPEST


def _refuse(constant: str) -> NoReturn:
    raise json.JSONDecodeError(f"{constant} is not JSON", constant, 0)


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise ValueError(f"{digits} is larger than any float")
    return number


#: Decodes JSON of RFC 8259 only: NaN and Infinity are a JSONDecodeError, a number that no float holds is a ValueError.
STRICT_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)

#: Decodes objects as tuples of all of their pairs.
PAIRS_DECODER: Final = json.JSONDecoder(object_pairs_hook=tuple)


class LenientDecoder:
    """Decodes documents, and counts what is unusual in the last one.

    A key that occurs twice has its first value; NaN, infinity and a number beyond 64 bits are their text.
    """

    def __init__(self) -> None:
        self.twice: Counter[str] = Counter()
        """The keys that objects have twice."""
        self.unusual: Counter[str] = Counter()
        """The numbers that JSON does not have, or that have no value of 64 bits."""
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._number,
            parse_constant=self._as_text,
        )

    def decode(self, text: str, at: int = 0) -> tuple[Any, int]:
        """Return the document at a position of a text, and its end.

        What `json.JSONDecoder.raw_decode` raises is raised; a RecursionError for all that nests deeper than 500 levels,
        so that it does not depend on the caller's stack.

        >>> LenientDecoder().decode('{"a": [-Infinity, NaN, 1e400]}')
        ({'a': ['-Infinity', 'NaN', '1e400']}, 30)
        """
        self.twice.clear()
        self.unusual.clear()
        value, end = self._decoder.raw_decode(text, at)
        if _is_too_deep(text[at:end]):
            raise RecursionError(f"more than {_DEEPEST} levels")
        return value, end

    def _as_text(self, found: str) -> str:
        self.unusual[found] += 1
        return found

    def _integer(self, digits: str) -> int | str:
        if len(digits) > 308 and math.isinf(float(digits)):
            self.unusual[digits] += 1
        return int(digits) if len(digits) <= _DIGITS else digits

    def _number(self, digits: str) -> float | str:
        number = float(digits)
        return number if math.isfinite(number) else self._as_text(digits)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            self.twice.update(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
            found = dict(reversed(pairs))
        return found
