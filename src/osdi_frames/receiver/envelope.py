"""One line of an archive: a body with the time at which it was received, its sequence number and a checksum.

A line reads ::

    {"checksum":"<32 hex>","sequence":7,"received_at":"2026-11-21T10:42:07.123456Z","body":[…]}

The checksum comes first and covers every byte after its own closing quote, so no byte of a line can
change unnoticed. The body comes last and verbatim: the received bytes are spliced in, not serialised again.
Three keys may precede it:

``received``
    the received bytes in base64, where a line cannot hold them as they were: a body with line breaks
    (its breaks are spaces in ``body``), one with a byte order mark or without its array (see `as_array`), and a body
    in quarantine (its ``body`` is an empty delivery).
``reason``
    why the body is in quarantine.
``erased_at``
    when elements of the body were erased; the received bytes cannot be restored.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import re
from dataclasses import dataclass

MARK = b'{"checksum":"'
_LINE = re.compile(
    rb'\{"checksum":"(?P<checksum>[0-9a-f]{32})"'
    rb'(?P<covered>,"sequence":(?P<sequence>[0-9]{1,18})'
    rb',"received_at":"(?P<received_at>[0-9T:.-]+Z)"'
    rb'(?:,"reason":"(?P<reason>[^"]*)")?'
    rb'(?:,"erased_at":"(?P<erased_at>[0-9T:.-]+Z)")?'
    rb'(?:,"received":"(?P<received>[A-Za-z0-9+/=]*)")?'
    rb',"body":(?P<body>.*)\})',
    re.DOTALL,
)
_BREAKS = bytes.maketrans(b"\r\n", b"  ")


@dataclass(frozen=True, slots=True)
class Envelope:
    """The content of one line.

    `body` is the JSON text in it, `received` the bytes that were received where these differ.
    """

    sequence: int
    received_at: str
    body: bytes
    received: bytes | None = None
    reason: str | None = None
    erased_at: str | None = None

    @classmethod
    def of(cls, received: bytes, *, sequence: int, at: str, reason: str | None) -> Envelope:
        """Put received bytes in an envelope, which is for the quarantine if there is a `reason`."""
        if reason is not None:
            return cls(sequence, at, b"[]", received, reason)
        body = as_array(received).translate(_BREAKS)
        return cls(sequence, at, body, None if body == received else received)

    @property
    def exact(self) -> bytes:
        """The bytes that were received; of an erased delivery what was left."""
        return self.body if self.received is None else self.received

    def line(self) -> bytes:
        """Write the envelope as one line, its line break included."""
        parts = [b',"sequence":%d,"received_at":"%s"' % (self.sequence, self.received_at.encode("ascii"))]
        if self.reason is not None:
            parts.append(b',"reason":"%s"' % self.reason.encode("utf-8"))
        if self.erased_at is not None:
            parts.append(b',"erased_at":"%s"' % self.erased_at.encode("ascii"))
        if self.received is not None:
            parts.append(b',"received":"%s"' % base64.b64encode(self.received))
        parts += (b',"body":', self.body, b"}")
        covered = b"".join(parts)
        return b'%s%s"%s\n' % (MARK, _checksum(covered), covered)


def as_array(body: bytes) -> bytes:
    """Return a body without a byte order mark; in an array, where it is a single object.

    >>> as_array(b'{"osdi:signature": {}}')
    b'[{"osdi:signature": {}}]'
    """
    body = body.removeprefix(codecs.BOM_UTF8)
    return b"[%b]" % body if body[:64].lstrip()[:1] == b"{" else body


def read(line: bytes) -> Envelope | None:
    """Read a line without its line break; return None when any byte of it is not as it was written.

    >>> line = Envelope.of(b"[]", sequence=7, at="2026-11-21T10:42:07.000000Z", reason=None).line()
    >>> read(line[:-1]).sequence
    7
    >>> read(line[:-1].replace(b"7", b"8")) is None
    True
    """
    found = _LINE.fullmatch(line)
    if found is None or _checksum(found["covered"]) != found["checksum"]:
        return None
    reason, erased_at = (
        None if found[name] is None else found[name].decode() for name in ("reason", "erased_at")
    )
    received = None if found["received"] is None else base64.b64decode(found["received"])
    at = found["received_at"].decode()
    return Envelope(int(found["sequence"]), at, found["body"], received, reason, erased_at)


def read_after_damage(line: bytes) -> Envelope | None:
    """Read the whole line that follows a damaged one whose line break was lost."""
    start = line.rfind(MARK)
    return read(line[start:]) if start > 0 else None


def _checksum(covered: bytes) -> bytes:
    return hashlib.blake2b(covered, digest_size=16).hexdigest().encode("ascii")
