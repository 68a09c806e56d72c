"""Decode JSON texts that may hold constants which JSON does not have."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from typing import Any

#: A string, up to the end of its line where it is not closed; or a constant.
_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|(-?(?:nan|inf(?:inity)?))', re.IGNORECASE | re.ASCII)


class Decoder:
    """Decodes the documents of a text, with NaN and infinity in any spelling: each is its own text, as in DuckDB.

    Python knows three spellings. At the first other one, all constants of the text are replaced by one that it
    knows, of the same length: no document is decoded again for each, and an error keeps its place.
    """

    def __init__(self, text: str, **hooks: Any) -> None:
        self.text = text
        self._decoder = json.JSONDecoder(parse_constant=self._spelling, **hooks)
        self._constants: list[tuple[int, str]] = []
        self._next = 0

    def decode(self, at: int) -> tuple[Any, int]:
        """Return the document at a position, and where it ends; raise what `json.JSONDecoder.raw_decode` raises.

        >>> Decoder('{"a": [-inf, NaN]}').decode(0)
        ({'a': ['-inf', 'NaN']}, 18)
        """
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

    def _spelling(self, constant: str) -> str:
        """Return how a constant is spelled in the text, of which Python meets one after the other."""
        if not self._constants:
            return constant
        self._next += 1
        return self._constants[self._next - 1][1]
