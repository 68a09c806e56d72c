"""One deployment: prefix, addresses, identifiers, random draws."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from itertools import accumulate
from random import Random
from typing import Any
from uuid import UUID

from osdi_frames.sample import times

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Name things as one deployment names them.

    Every identifier is a hash of the seed and a number. It does not depend on how many random draws came before it,
    so thing number 7 keeps its identifier when the archive around it grows. Without an `api`, the v2 API has a host
    under example.org.
    """

    seed: int = 7
    prefix: str = "action_network"
    api: str = ""

    @property
    def base_url(self) -> str:
        """The root of the v2 API."""
        return self.api.rstrip("/") or f"https://{self.prefix.replace('_', '-')}.example.org/api/v2"

    @property
    def site(self) -> str:
        """The public site, where people see pages and not JSON."""
        return "/".join(self.base_url.split("/")[:3])

    def own(self, name: str) -> str:
        """Write the name of something that is the service's own."""
        return f"{self.prefix}:{name}"

    def digest(self, kind: str, number: int) -> str:
        """Hash a thing's kind and number to 32 hex digits."""
        return blake2b(f"{self.seed}/{self.prefix}/{kind}/{number}".encode(), digest_size=16).hexdigest()

    def id(self, kind: str, number: int) -> str:
        """Return the UUID of thing `number` of a kind."""
        return str(UUID(self.digest(kind, number)))

    def href(self, *path: str) -> str:
        """Return an address in the v2 API."""
        return "/".join((self.base_url, *path))

    def link(self, *path: str) -> dict[str, str]:
        """Link to something in the v2 API."""
        return {"href": self.href(*path)}

    def identified(self, resource_id: str, made: str) -> Document:
        """Begin a resource that was not modified since."""
        return {"identifiers": [self.own(resource_id)], "created_date": made, "modified_date": made}

    def act_links(self, kind: str, own_id: str, parent: str, parent_id: str, person_id: str) -> Document:
        """Link an act to itself, its parent and its person."""
        return {
            "self": self.link(f"{parent}s", parent_id, f"{kind}s", own_id),
            f"osdi:{parent}": self.link(f"{parent}s", parent_id),
            "osdi:person": self.link("people", person_id),
        }

    def draws(self, subject: str) -> Random:
        """Open the random draws of one subject, which never change another's."""
        return Random(f"{self.seed}/{self.prefix}/{subject}")  # noqa: S311 (samples, no secrets)


def href_of(resource: Document) -> str:
    """Return the address under which a resource links to itself."""
    return str(resource["_links"]["self"]["href"])


def id_of(resource: Document) -> str:
    """Return the identifier at the end of that address."""
    return href_of(resource).rpartition("/")[2]


def power_law(items: Sequence[Any], *, exponent: float = 1.0) -> list[float]:
    """Weigh items by rank, cumulatively, for ``random.choices``.

    >>> power_law("abc")
    [1.0, 1.5, 1.8333333333333333]
    """
    return list(accumulate(rank**-exponent for rank in range(1, len(items) + 1)))


def attention(
    rng: Random, resources: Sequence[Document], *, months: float, floor: float
) -> Callable[[datetime], list[float]]:
    """Return a function from a moment to the cumulative weights by which resources draw people.

    The weights follow a power law, in random order. Each resource fades from its launch on, to 1/e in so many months,
    but not below `floor`.
    """
    weights = [rank**-0.9 for rank in range(1, len(resources) + 1)]
    rng.shuffle(weights)
    launched = [times.parse(resource["created_date"]) for resource in resources]

    def weigh(now: datetime) -> list[float]:
        ages = [(now - moment) / times.MONTH for moment in launched]
        fades = [floor + math.exp(-age / months) if age >= 0 else 0.0 for age in ages]
        return list(accumulate(weight * fade for weight, fade in zip(weights, fades, strict=True)))

    return weigh


def document(**fields: Any) -> Document:
    """Make a document; what is missing is left out, as the service does."""
    return {name: value for name, value in fields.items() if value is not None}
