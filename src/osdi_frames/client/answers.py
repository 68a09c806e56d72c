"""What the service answered: a JSON object, or an error with its words. Decided on bytes, without I/O."""

from __future__ import annotations

import html
import io
import json
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from osdi_frames.client.address import shown
from osdi_frames.errors import BadAnswer, DeletionRefused, KeyRefused, ResourceNotFound, ServiceError
from osdi_frames.privacy.addresses import without_addresses

_WORDS = 200  # characters of the service's words that an error repeats
_SAYING = ("error", "errors", "message", "error_description", "description", "detail", "title")
_ELEMENT = re.compile(r"(?is)<(script|style|head)\b.*?</\1\s*>|<[^>]*>")


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response, read to its end."""

    method: str
    url: str
    status: int
    content: bytes = field(repr=False)
    retry_after: str = ""
    location: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object from the service: the text as it came, and what it says."""

    url: str
    text: str
    body: dict[str, Any]
    fetched_at: datetime

    def line(self) -> bytes:
        r"""Write the envelope as one line; the body stays as it came, character by character.

        >>> Answer("http://x/v2/events", '{"page":\n 1.0}', {}, datetime(2026, 1, 1, tzinfo=UTC)).line()
        b'{"fetched_at": "2026-01-01T00:00:00.000000Z", "url": "http://x/v2/events", "body": {"page":  1.0}}\n'
        """
        # A newline of valid JSON is never inside a string.
        text = self.text.replace("\r", " ").replace("\n", " ")
        head = f'"fetched_at": "{stamp(self.fetched_at)}", "url": {json.dumps(self.url)}'
        return f'{{{head}, "body": {text}}}\n'.encode()


class Received(io.BytesIO):
    """Answers as a file of lines; in `source_file` and in errors its name is the service's address."""

    def __init__(self, lines: Iterable[bytes], name: str) -> None:
        super().__init__(b"".join(lines))
        self.name = name


def answer(reply: Reply, *, fetched_at: datetime) -> Answer:
    """Read a successful reply; `BadAnswer` where it is no JSON object in UTF-8, an empty one, or says an error."""
    try:
        text = reply.content.decode("utf-8-sig")
        body = json.loads(text, parse_constant=int)  # which refuses NaN and Infinity: they are not JSON
    except (ValueError, RecursionError) as error:
        raise _error(BadAnswer, reply, " with no JSON") from error
    if not isinstance(body, dict):
        raise _error(BadAnswer, reply, " with no JSON object")
    if not body:
        raise _error(BadAnswer, reply, " with an empty object")
    if "_links" not in body and "_embedded" not in body and any(key in body for key in _SAYING[:2]):
        raise _error(BadAnswer, reply, " with an error")
    return Answer(reply.url, text, body, fetched_at)


def failure(reply: Reply, *, now: datetime) -> ServiceError:
    """Make the error of a reply whose status is one."""
    kind = ServiceError
    # How a deletion is refused is open (interface 7): by any status that does not say something else.
    if reply.method == "DELETE" and 400 <= reply.status < 500 and reply.status not in (401, 404, 429):
        kind = DeletionRefused
    elif reply.status in (401, 403):
        kind = KeyRefused
    elif reply.status == 404:
        kind = ResourceNotFound
    return _error(kind, reply, retry_after=retry_after(reply.retry_after, now=now))


def retry_after(header: str, *, now: datetime) -> float | None:
    """Read a Retry-After: seconds, or a date.

    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> retry_after("7", now=now), retry_after("Thu, 01 Jan 2026 00:01:00 GMT", now=now), retry_after("?", now=now)
    (7.0, 60.0, None)
    """
    if re.fullmatch(r"\s*\d{1,300}(\.\d{1,6})?\s*", header, re.ASCII):
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
        return None  # email.utils raises any of them on a date that does not exist


def utc(moment: datetime) -> datetime:
    """Return a moment in UTC; one without a zone is taken to be there."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def stamp(moment: datetime) -> str:
    """Write a moment as archives and manifests have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def spoken(content: bytes) -> str:
    """Return what the service says in an error's body, as one short line of plain text without addresses.

    >>> spoken(b'{"error": "API key invalid"}'), spoken(b"<html><body><h1>Not   found</h1></body></html>")
    ('API key invalid', 'Not found')
    >>> spoken(b'{"error": "ann@example.org is no subscriber"}')
    '(e-mail) is no subscriber'
    """
    text = content[:65536].decode("utf-8", "replace")
    try:
        text = _said(json.loads(text)) or ""
    except (ValueError, RecursionError):
        text = html.unescape(_ELEMENT.sub(" ", text))
    line = without_addresses("".join(character if character.isprintable() else " " for character in text))
    # Cut between words: half a key that the service repeats would not be found and replaced.
    return textwrap.shorten(line, _WORDS, placeholder=" …")


def _said(body: Any) -> str | None:
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return next((words for entry in body if (words := _said(entry))), None)
    if isinstance(body, dict):
        return next((words for key in _SAYING if (words := _said(body.get(key)))), None)
    return None


def _error(kind: type[ServiceError], reply: Reply, what: str = "", **more: Any) -> ServiceError:
    words = spoken(reply.content)
    address, said = shown(reply.url), f": {words}" if words else ""
    text = f"{reply.method} {address} was answered {reply.status}{what}{said}"
    return kind(text, status=reply.status, address=address, words=words, **more)
