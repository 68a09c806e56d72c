"""Decode JSON with repeated keys and unusual numbers.

Other decoders refuse these, or pass over them.
"""

from __future__ import annotations

import json
import math
import re
import sys
from array import array
from bisect import bisect_left
from collections import Counter
from typing import Any

#: A string, up to the end of its line where it is not closed; or a constant.
_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|(-?(?:nan|inf(?:inity)?))', re.IGNORECASE | re.ASCII)
_UTF_32 = "utf-32-le"  # four bytes a character
_DIGITS = 4300  # of an integer; Python makes no number of more, which then stay text


class Decoder:
    """Decodes the documents of a text.

    A key that occurs twice has its first value, a number without one is its text.
    That is NaN or infinity in any spelling, as DuckDB reads them, of which Python knows three. At the first other
    one, all constants of the text are replaced by one that it knows, of the same length: no document is decoded
    again for each, and an error keeps its place.
    """

    def __init__(self, text: str) -> None:
        self.twice: Counter[str] = Counter()
        """The keys that objects of the last document have twice."""
        self.unusual: Counter[str] = Counter()
        """The numbers of the last document that JSON does not have, or that have no value of 64 bits."""
        self._text = self._known = text
        self._constants = array("q")  # where they begin, once they are replaced
        self._next = 0
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._number,
            parse_constant=self._constant,
        )

    def decode(self, at: int) -> tuple[Any, int]:
        """Return the document at a position, and its end.

        What `json.JSONDecoder.raw_decode` raises is raised.

        >>> Decoder('{"a": [-inf, NaN]}').decode(0)
        ({'a': ['-inf', 'NaN']}, 18)
        """
        self.twice.clear()
        self.unusual.clear()
        self._next = bisect_left(self._constants, at)
        try:
            return self._decoder.raw_decode(self._known, at)
        except json.JSONDecodeError as error:
            found = None if self._constants else _TOKEN.match(self._text, error.pos)
            if not (found and found[1]):
                raise
        self._replace()
        return self.decode(at)

    def _replace(self) -> None:
        characters = bytearray(self._text, _UTF_32)
        for token in _TOKEN.finditer(self._text):
            if constant := token[1]:
                self._constants.append(token.start())
                known = "NaN".rjust(len(constant)).encode(_UTF_32)
                characters[4 * token.start() : 4 * token.end()] = known
        self._known = characters.decode(_UTF_32)

    def _constant(self, found: str) -> str:
        """Return how a constant is spelled in the text.

        Python finds one after the other.
        """
        if self._constants:
            token = _TOKEN.match(self._text, self._constants[self._next])
            found = sys.intern(token[0]) if token else found  # there can be millions
            self._next += 1
        self.unusual[found] += 1
        return found

    def _integer(self, digits: str) -> int | str:
        if len(digits) > 308 and math.isinf(float(digits)):
            self.unusual[digits] += 1
        return int(digits) if len(digits) <= _DIGITS else digits

    def _number(self, digits: str) -> float | str:
        if math.isfinite(number := float(digits)):
            return number
        self.unusual[digits] += 1
        return digits

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            self.twice.update(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
            found = dict(reversed(pairs))
        return found
