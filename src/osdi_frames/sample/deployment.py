"""One deployment of the service: its prefix, its addresses, its identifiers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from itertools import accumulate
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Deployment:
    """Name things as one deployment names them; every identifier is a hash of the seed and a number.

    An identifier does not hang on how many random draws came before it, so thing number 7 keeps its
    identifier when the archive around it grows.
    """

    seed: int
    prefix: str
    base_url: str

    @property
    def base_url_v1(self) -> str:
        """The root of the v1 API."""
        return self.base_url.removesuffix("v2") + "v1"

    @property
    def site(self) -> str:
        """The public site, where people see pages and not JSON."""
        scheme, _, rest = self.base_url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"

    def digest(self, kind: str, number: int) -> str:
        """Hash what a thing is and its number to 32 hex digits."""
        return blake2b(f"{self.seed}/{self.prefix}/{kind}/{number}".encode(), digest_size=16).hexdigest()

    def id(self, kind: str, number: int) -> str:
        """Give thing `number` of a kind its identifier, in the form of a UUID."""
        digest = self.digest(kind, number)
        return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}"

    def href(self, *path: str) -> str:
        """Address something in the v2 API."""
        return "/".join((self.base_url, *path))

    def link(self, *path: str) -> dict[str, str]:
        """Link to something in the v2 API."""
        return {"href": self.href(*path)}

    def curies(self, version: str = "v2") -> list[Document]:
        """Say where the relations are explained (interface 2.5)."""
        docs = f"https://docs.example.org/{version}/{{rel}}"
        return [{"name": name, "href": docs, "templated": True} for name in ("osdi", self.prefix)]


def stream(deployment: Deployment, subject: str) -> random.Random:
    """Open the random stream of one subject, so that one subject's draws never move another's."""
    return random.Random(f"{deployment.seed}/{deployment.prefix}/{subject}")  # noqa: S311 (samples, no secrets)


def stamp(when: datetime) -> str:
    """Write a UTC moment as the service does."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def href_of(resource: Document) -> str:
    """Take the address under which a resource knows itself."""
    href: str = resource["_links"]["self"]["href"]
    return href


def id_of(resource: Document) -> str:
    """Take the identifier at the end of that address."""
    return href_of(resource).rpartition("/")[2]


def power_law(items: Sequence[Any], *, exponent: float = 1.0) -> list[float]:
    """Weigh items by rank, the first most, and add the weights up for ``random.choices``.

    >>> power_law("abc")
    [1.0, 1.5, 1.8333333333333333]
    """
    return list(accumulate(rank**-exponent for rank in range(1, len(items) + 1)))
