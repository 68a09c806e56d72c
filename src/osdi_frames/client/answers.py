"""What the service answered, an object or an error, decided on bytes and without I/O."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from osdi_frames.client.address import shown
from osdi_frames.document_forms import envelope_time
from osdi_frames.errors import BadAnswer, DeletionRefused, KeyRefused, ResourceNotFound, ServiceError
from osdi_frames.json_decoding import STRICT_DECODER
from osdi_frames.messages import shorten

#: Characters of the words of a service, or of the network, that an error repeats.
WORDS_LENGTH = 200
_SAYING = ("error", "errors", "message", "error_description", "description", "detail", "title")
_ELEMENT = re.compile(r"(?is)<(script|style|head)\b.*?</\1\s*>|<[^>]*>")


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response, read to its end; `redact` strikes the key, and what was sent, from the service's words."""

    method: str
    url: str
    status: int
    content: bytes = field(repr=False)
    redact: Callable[[str], str] = field(default=str, repr=False)
    retry_after: str = ""
    location: str = field(default="", repr=False)

    def error(self, kind: type[ServiceError], what: str = "", **more: Any) -> ServiceError:
        """Return an error that names the request, the status and the service's words."""
        address, words = shown(self.url), spoken(self.content, redact=self.redact)
        text = f"{self.method} {address} was answered {self.status}{what}{f': {words}' if words else ''}"
        return kind(text, status=self.status, address=address, words=words, **more)


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object from the service, with its text."""

    url: str
    text: str
    body: dict[str, Any]
    fetched_at: datetime

    def line(self) -> bytes:
        r"""Return the envelope as one line, in which the body stays as it came, character by character.

        >>> Answer("http://x/v2/events", '{"page":\n 1.0}', {}, datetime(2026, 1, 1, tzinfo=UTC)).line()
        b'{"fetched_at": "2026-01-01T00:00:00.000000Z", "url": "http://x/v2/events", "body": {"page":  1.0}}\n'
        """
        # A newline of valid JSON is never inside a string.
        text = self.text.replace("\r", " ").replace("\n", " ")
        head = f'"fetched_at": "{envelope_time(self.fetched_at)}", "url": {json.dumps(self.url)}'
        return f'{{{head}, "body": {text}}}\n'.encode()


def answer(reply: Reply, *, url: str, now: datetime) -> Answer:
    """Return the JSON object of a reply, under the requested address.

    `ServiceError` where its status is an error's; `BadAnswer` where it is no JSON object, an empty one, or an error.
    """
    if not 200 <= reply.status < 300:
        raise reply.error(_kind(reply), retry_after=retry_after(reply.retry_after, now=now))
    try:
        text = reply.content.decode("utf-8-sig")
        body = STRICT_DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise reply.error(BadAnswer, " with no JSON") from error
    if not isinstance(body, dict):
        raise reply.error(BadAnswer, " with no JSON object")
    if not body:
        raise reply.error(BadAnswer, " with an empty object")
    if not {"_links", "_embedded"} & body.keys() and {"error", "errors"} & body.keys():
        raise reply.error(BadAnswer, " with an error")
    return Answer(url, text, body, now)


def _kind(reply: Reply) -> type[ServiceError]:
    # How a deletion is refused is open (interface 7): by any status that does not say something else.
    if reply.method == "DELETE" and 400 <= reply.status < 500 and reply.status not in (401, 404, 429):
        return DeletionRefused
    return {401: KeyRefused, 403: KeyRefused, 404: ResourceNotFound}.get(reply.status, ServiceError)


def retry_after(header: str, *, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header, which is a number or a date; None of any other.

    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> retry_after("7", now=now), retry_after("Thu, 01 Jan 2026 00:01:00 GMT", now=now), retry_after("?", now=now)
    (7.0, 60.0, None)
    """
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
        return None  # email.utils raises any of them on a date that does not exist


def utc(moment: datetime) -> datetime:
    """Return a moment in UTC, the zone of those without."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def spoken(content: bytes, *, redact: Callable[[str], str] = str) -> str:
    """Return the words of an error's body as one short line of plain text, without addresses and the key.

    >>> spoken(b'{"error": "API key invalid"}'), spoken(b"<html><body><h1>Not   found</h1></body></html>")
    ('API key invalid', 'Not found')
    >>> spoken(b'{"error": "ann@example.org is no subscriber"}')
    '(e-mail) is no subscriber'
    """
    text = content[:65536].decode("utf-8", "replace")
    try:
        text = _said(json.loads(text))
    except (ValueError, RecursionError):
        text = html.unescape(_ELEMENT.sub(" ", text))
    line = "".join(character if character.isprintable() else " " for character in text)
    # The key first, and whole: of one with an address in it, or that is cut, the rest would not be found.
    return shorten(" ".join(redact(line).split()), WORDS_LENGTH)


def _said(body: Any) -> str:
    if isinstance(body, dict):
        body = [body.get(key) for key in _SAYING]
    if isinstance(body, list):
        return next(filter(None, map(_said, body)), "")
    return body if isinstance(body, str) else ""
