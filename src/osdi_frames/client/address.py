"""The addresses of a service, which all lie at one origin.

An address that is asked for is always put together from the client's own scheme, host and port; of a link only path and
query are taken. So no difference between two parsers can carry the key elsewhere. Nothing here does I/O.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

from osdi_frames.errors import BadAddress, ForeignAddress, InsecureAddress
from osdi_frames.listening import is_loopback
from osdi_frames.messages import quoted, shorten
from osdi_frames.tables.fields import VERSIONS, Version

_PORTS = {"http": 80, "https": 443}
# What parsers of addresses disagree about: control characters, backslashes, spaces before the query, a scheme
# without slashes.
_DISPUTED = re.compile(r"[\x00-\x1f\x7f\\]|^[^?]*\s|^[A-Za-z][A-Za-z0-9+.-]*:(?!//)")
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_UNRESERVED = "%/:@!$&()*+,;=?-._~"


@dataclass(frozen=True, slots=True)
class Address:
    """The base address of a service (interface 4)."""

    scheme: str
    host: str
    port: int
    path: str
    version: Version

    @classmethod
    def parse(cls, base_url: str, *, version: str | None = None, allow_http: bool = False) -> Address:
        """Read a base address, which ends in its version unless `version` is given.

        >>> Address.parse("https://example.org/api/v2/").collection("events")
        'https://example.org/api/v2/events'
        """
        text = str(base_url).strip()
        scheme, host, port = _origin(text)
        parts = urlsplit(text)
        if parts.query or parts.fragment:
            raise BadAddress(f"a base address has no query and no fragment: {shown(text)}")
        if scheme == "http" and not (allow_http or is_loopback(host)):
            raise InsecureAddress(
                f"{shown(text)} would send the key in clear; write https:// or say allow_http=True (--allow-http)"
            )
        path = parts.path.rstrip("/")
        if inside := re.match(r"(.*/v[12])/.", path):
            raise BadAddress(
                f"{shown(text)} lies below a service: the service root is {shown(f'{scheme}://{parts.netloc}{inside[1]}')}"
            )
        stated = version or path.rpartition("/")[2]
        if stated not in VERSIONS:
            raise BadAddress(f"{shown(text)} does not end in v1 or v2; say version='v1' or 'v2' (--version)")
        return cls(scheme, host, port, quote(path, safe=_UNRESERVED), cast("Version", stated))

    @property
    def origin(self) -> str:
        """Scheme, host, and a port that is not the default."""
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"

    @property
    def base_url(self) -> str:
        """The service root (interface 4)."""
        return f"{self.origin}{self.path}"

    def collection(self, path: str, *, page: int | None = None, filter: str | None = None) -> str:  # noqa: A002 (the service's name for it)
        """Return the address of a collection's page (interface 2.6)."""
        query = {name: value for name, value in (("page", page), ("filter", filter)) if value}
        address = f"{self.base_url}/{quote(path.strip('/'), safe=_UNRESERVED.replace('?', ''))}"
        return f"{address}?{urlencode(query, quote_via=quote)}" if query else address

    def resource(self, collection: str, resource_id: str) -> str:
        """Return the address of a resource; `BadAddress` where its id is none."""
        return f"{self.base_url}/{collection}/{segment(resource_id)}"

    def own(self, link: str, *, at: str, redact: Callable[[str], str] = str) -> str:
        """Return the address at this origin to which a link of the page `at` leads.

        `ForeignAddress`, with both as `redact` leaves them, where the link leads elsewhere or parsers could disagree.
        """
        joined, found = "", None
        if not _DISPUTED.search(link):
            with suppress(ValueError):
                joined = urljoin(at, link)
                found = _origin(joined)
        if found != (self.scheme, self.host, self.port):
            raise ForeignAddress(
                f"a link of {shown(redact(at))} does not lead to {shown(self.origin)}, where alone the key goes:"
                f" {quoted(shown(redact(link)))}"
            )
        parts = urlsplit(joined)
        query = f"?{quote(parts.query, safe=_UNRESERVED)}" if parts.query else ""
        return f"{self.origin}{quote(parts.path or '/', safe=_UNRESERVED)}{query}"


def segment(resource_id: str) -> str:
    """Return an id as a segment of a path; `BadAddress` where it is blank or leads to another place in the path."""
    if not resource_id.strip().strip("."):
        raise BadAddress(f"{quoted(resource_id)} is no id")
    return quote(resource_id, safe="")


def shown(address: str) -> str:
    """Return an address on one line, shortened, and without user, password and the values of its query.

    >>> shown("https://me:secret@example.org/api/v2/events?page=2&filter=title eq 'x'")
    'https://example.org/api/v2/events?page&filter'
    """
    plain = "".join(character if character.isprintable() else "·" for character in address)
    head, _, query = plain.partition("#")[0].partition("?")
    scheme, slashes, rest = head.partition("//")
    authority, slash, path = rest.partition("/")
    names = "&".join(name for name, _ in parse_qsl(query, keep_blank_values=True))
    host = authority.rpartition("@")[2]
    return f"{shorten(scheme)}{slashes}{shorten(host)}{slash}{shorten(path)}{'?' if names else ''}{shorten(names)}"


def asked_page(address: str) -> int | None:
    """Return the page number in an address.

    >>> asked_page("https://example.org/api/v2/events?filter=x&page=7")
    7
    """
    number = dict(parse_qsl(urlsplit(address).query)).get("page", "")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None


def _origin(address: str) -> tuple[str, str, int]:
    parts, port = urlsplit(""), 0
    with suppress(ValueError):  # it repeats the address, which can hold the key
        parts, port = urlsplit(address), urlsplit(address).port or 0
    host = re.sub(r":\d*$", "", parts.netloc.rpartition("@")[2].lower())
    if parts.scheme not in _PORTS or not host:
        raise BadAddress(f"not an address of a service: {quoted(shown(address))}; write https://…/v2")
    if "@" in parts.netloc:
        raise InsecureAddress(f"no name and no password in an address: {shown(address)}")
    if not _HOST.fullmatch(host):
        raise BadAddress(f"write the host in its ASCII form (xn--…): {quoted(shown(address))}")
    return parts.scheme, host, port or _PORTS[parts.scheme]
