"""The secret in a receiver's address: the only proof that a delivery is the service's."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable

from osdi_frames.errors import WeakToken

TOKEN_SHOWN = "token_shown"  # noqa: S105 (a key of a request's state: what to call when the token is valid)

_TOKEN = re.compile(r"[A-Za-z0-9._~-]{20,}")


class Tokens:
    """The tokens that are valid now; only their digests are kept, so no log and no error can show one.

    >>> "a-token-that-is-long-enough" in Tokens(["a-token-that-is-long-enough"])
    True
    """

    __slots__ = ("_digests",)

    def __init__(self, tokens: Iterable[str]) -> None:
        given = list(tokens)
        if not given or not all(_TOKEN.fullmatch(token) for token in given):
            raise WeakToken("a token has at least 20 characters out of A-Z, a-z, 0-9 and . _ ~ -")
        self._digests = [_digest(token) for token in given]

    def __contains__(self, candidate: str) -> bool:
        asked, known = _digest(candidate), False
        for digest in self._digests:  # all of them, so that the time taken does not depend on the match
            known |= hmac.compare_digest(asked, digest)
        return known

    def __repr__(self) -> str:
        return f"<{len(self._digests)} tokens>"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
