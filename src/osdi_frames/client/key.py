"""The API key: it is in the header of requests, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from osdi_frames.errors import MissingKey

#: Where a key is looked for when none is given.
VARIABLE = "OSDI_API_KEY"

#: The header of each version (interface 5).
HEADERS = {"v1": "api-key", "v2": "OSDI-API-Token"}


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key that shows itself to no one: not in its repr, not in a pickle."""

    _secret: str = field(repr=False)

    @classmethod
    def find(cls, given: str | None, environment: Mapping[str, str]) -> ApiKey:
        """Take the key that was given, else the environment's."""
        return cls((environment.get(VARIABLE, "") if given is None else given).strip())

    def check(self) -> None:
        """Refuse what is no key.

        Raises
        ------
        MissingKey
            There is none, or it has characters that no header can carry.
        """
        if not self._secret:
            raise MissingKey(f"no API key: set {VARIABLE}, or give api_key")
        if not (self._secret.isascii() and self._secret.isprintable()):
            raise MissingKey("the API key has characters that no header can carry")

    def reveal(self) -> str:
        """Return the key itself, for the header of a request to its own origin."""
        return self._secret

    def redact(self, text: str) -> str:
        """Strike the key from a text that the service wrote, in any case and with any of it percent-encoded."""
        spelled = "".join(f"(?:{re.escape(character)}|%{ord(character):02x})" for character in self._secret)
        return re.sub(spelled, "[key]", text, flags=re.IGNORECASE)

    def __reduce__(self) -> NoReturn:
        raise TypeError("an API key is not pickled; open a new client where one is needed")
