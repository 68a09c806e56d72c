"""The API key: where it is looked for, and how it is struck from what a service repeats."""

from __future__ import annotations

import hashlib
import os
import re
from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import NoReturn

from osdi_frames.errors import MissingKey

#: The environment variable that holds the key where none is given.
KEY_VARIABLE = "OSDI_API_KEY"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key that neither its repr nor a pickle shows; `secret` is for the header of requests only."""

    secret: str = field(repr=False)

    @classmethod
    def find(cls, given: str | None) -> ApiKey:
        """Return the key that was given, else the environment's."""
        return cls((os.environ.get(KEY_VARIABLE, "") if given is None else given).strip())

    def check(self) -> None:
        """Raise `MissingKey` where no header can carry the key."""
        if not self.secret:
            raise MissingKey(f"no API key: set {KEY_VARIABLE} in the environment, or pass api_key= in Python")
        if not (self.secret.isascii() and self.secret.isprintable()):
            raise MissingKey("the API key has characters that no header can carry")

    def digest(self, service: str) -> str:
        """Return eight digits that tell a service's keys apart, and are too few to lead to the key."""
        return hashlib.sha256(f"{service} {self.secret}".encode()).hexdigest()[:8]

    def redact(self, text: str) -> str:
        """Write ``[key]`` in place of the key, also in another case, percent-encoded or in base64.

        >>> ApiKey("my-key").redact("'my-key' and MY%2DKEY and bXkta2V5 are unknown")
        "'[key]' and [key] and [key] are unknown"
        """
        return re.sub("|".join(self._patterns()), "[key]", text, flags=re.IGNORECASE)

    def _patterns(self) -> list[str]:
        secret = self.secret.encode()
        # Of a longer text that begins with the key ("key:" as credentials), the letters that are the key's alone.
        letters = len(secret) * 8 // 6
        spellings = (
            self.secret,
            *(encode(secret).decode()[:letters] for encode in (b64encode, urlsafe_b64encode)),
        )
        return [
            "".join(f"(?:{re.escape(letter)}|%{ord(letter):02x})" for letter in text) for text in spellings
        ]

    def __reduce__(self) -> NoReturn:
        raise TypeError("an API key is not pickled; open a new client where one is needed")
