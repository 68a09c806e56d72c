"""Decode the documents of a text, with what other decoders of JSON refuse or pass over: constants and repeated keys."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections import Counter
from typing import Any

#: A string, up to the end of its line where it is not closed; or a constant.
_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|(-?(?:nan|inf(?:inity)?))', re.IGNORECASE | re.ASCII)
_DIGITS = 4300  # of an integer; Python makes no number of more, which then stay text


class Decoder:
    """Decodes the documents of a text: a key that occurs twice has its first value, a number without one is its text.

    That is NaN or infinity in any spelling, as DuckDB reads them, of which Python knows three. At the first other
    one, all constants of the text are replaced by one that it knows, of the same length: no document is decoded
    again for each, and an error keeps its place.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.twice: list[str] = []
        """The keys that an object of the last document has twice."""
        self.unusual: list[str] = []
        """The numbers of the last document that JSON does not have, or that have no value of 64 bits."""
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._number,
            parse_constant=self._constant,
        )
        self._constants: list[tuple[int, str]] = []
        self._next = 0

    def decode(self, at: int) -> tuple[Any, int]:
        """Return the document at a position, and where it ends; raise what `json.JSONDecoder.raw_decode` raises.

        >>> Decoder('{"a": [-inf, NaN]}').decode(0)
        ({'a': ['-inf', 'NaN']}, 18)
        """
        self.twice, self.unusual = [], []
        self._next = bisect_left(self._constants, (at,))
        try:
            return self._decoder.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            found = None if self._constants else _TOKEN.match(self.text, error.pos)
            if not (found and found[1]):
                raise
        self.text = _TOKEN.sub(self._replaced, self.text)
        return self.decode(at)

    def _replaced(self, token: re.Match[str]) -> str:
        if not token[1]:
            return token[0]
        self._constants.append((token.start(), token[1]))
        return "NaN".rjust(len(token[1]))

    def _constant(self, found: str) -> str:
        """Return how a constant is spelled in the text, of which Python finds one after the other."""
        if self._constants:
            found = self._constants[self._next][1]
            self._next += 1
        self.unusual.append(found)
        return found

    def _integer(self, digits: str) -> int | str:
        if len(digits) > 308 and math.isinf(float(digits)):
            self.unusual.append(digits)
        return int(digits) if len(digits) <= _DIGITS else digits

    def _number(self, digits: str) -> float | str:
        if math.isfinite(number := float(digits)):
            return number
        self.unusual.append(digits)
        return digits

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            self.twice += (key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
            found = dict(reversed(pairs))
        return found
