"""Take one person's data out of an archive, for people who ask to be forgotten."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote_to_bytes

from osdi_frames.errors import ArchiveLocked, SourceNotFound
from osdi_frames.receiver import envelope
from osdi_frames.receiver.envelope import Envelope, timestamp
from osdi_frames.receiver.sealing import seal_finished, write_sealed
from osdi_frames.receiver.segments import Segment, segments, write_whole
from osdi_frames.receiver.worker import Worker, quarantine, torn, worker_folders

_PAIRS = json.JSONDecoder(object_pairs_hook=tuple)  # every pair of an object, those with a repeated key too
_BETWEEN = re.compile(r"[ \t\r\n,]*")


@dataclass(slots=True)
class Erasure:
    """What was searched and erased, and what could not be: segments still written, lines that cannot be read."""

    searched: int = 0
    deliveries: int = 0
    elements: int = 0
    quarantined: int = 0
    torn: int = 0
    still_open: list[Path] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing of the person can be left."""
        return not self.still_open and not self.unreadable

    @property
    def found(self) -> bool:
        """Whether anything of the person was there."""
        return bool(self.deliveries or self.quarantined or self.torn or self.still_open)


def erase(
    archive: str | Path,
    *,
    persons: Iterable[str] = (),
    emails: Iterable[str] = (),
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Erasure:
    """Take every element about a person out of the sealed segments of an archive.

    An element is about a person when a link of it leads to one of `persons` (interface 2.7: the last
    segment of ``_links.osdi:person.href``), or one of its ``email_addresses`` is one of `emails`, whatever
    the case. The other elements of a delivery stay, byte for byte; the line keeps its number and says when
    something was erased. In quarantine the whole body goes.

    Where a receiver is writing, what it has not sealed yet is searched and named in `Erasure.still_open`, not
    changed; without one, everything is sealed first. A second erasure waits for the first.
    """
    folders = worker_folders(Path(archive))
    if not folders:
        raise SourceNotFound(f"{archive}: no archive of the receiver")
    eraser = _Eraser(Person(frozenset(persons), frozenset(email.strip().lower() for email in emails)), clock)
    for folder in folders:
        with _alone(folder), _sealed_if_at_rest(folder):
            eraser.erase_log(folder)
            eraser.erase_log(quarantine(folder))
            eraser.erase_torn(torn(folder))
    return eraser.done


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let no two erasures rewrite one segment: the later would bring back what the earlier took out."""
    descriptor = os.open(folder / ".erasing", os.O_RDONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _sealed_if_at_rest(folder: Path) -> Iterator[None]:
    try:
        worker = Worker(folder.parent, folder.name, segment_bytes=0)
    except ArchiveLocked:
        yield
        return
    try:
        for log in (worker.deliveries, worker.quarantine):
            seal_finished(log, stop=threading.Event())
        yield
    finally:
        worker.close()


@dataclass(frozen=True, slots=True)
class Person:
    """Whom an element can be about."""

    ids: frozenset[str]
    emails: frozenset[str]

    def in_element(self, node: object, key: str = "") -> bool:
        """Tell whether a part of an element, its objects as tuples of pairs, names the person."""
        if isinstance(node, tuple):
            return any(
                self._in_pair(name, value, key) or self.in_element(value, name) for name, value in node
            )
        if isinstance(node, list):
            return any(self.in_element(entry, key) for entry in node)
        return False

    def _in_pair(self, name: str, value: object, within: str) -> bool:
        if not isinstance(value, str):
            return False
        if name == "address" and within == "email_addresses":
            return value.strip().lower() in self.emails
        *_, before, last = ("/" + value.rstrip("/")).split("/")
        return name == "href" and last in self.ids and (within == "osdi:person" or before == "people")

    def in_bytes(self, data: bytes) -> bool:
        """Tell whether bytes that are no delivery name the person, in UTF-8, UTF-16 or as a form."""
        plain = unquote_to_bytes(data.replace(b"\0", b"")).lower()
        return any(
            re.search(rb"(?<![\w.+-])" + re.escape(name.lower().encode()) + rb"(?![\w-])", plain)
            for name in self.ids | self.emails
        )

    def may_be_in(self, body: bytes) -> bool:
        """Tell quickly whether a body has to be looked at: it is not when no name stands in it."""
        lowered = body.lower()
        return b"\\" in body or any(
            not name.isascii() or name.lower().encode() in lowered for name in self.ids | self.emails
        )


class _Eraser:
    def __init__(self, person: Person, clock: Callable[[], datetime]) -> None:
        self.done = Erasure()
        self._person = person
        self._clock = clock

    def erase_log(self, folder: Path) -> None:
        for segment in map(Segment.as_it_stands, segments(folder)):
            try:
                touched = {
                    number
                    for number, line in enumerate(segment.lines())
                    if self._names(line, segment, number)
                }
            except OSError as error:
                self.done.unreadable.append(f"{segment.path}: {error}")
                continue
            if touched and segment.sealed:
                write_sealed(self._rewritten(segment, touched), segment.path)
            elif touched:
                self.done.still_open.append(segment.path)

    def erase_torn(self, folder: Path) -> None:
        for path in folder.glob("*.torn"):
            if self._person.in_bytes(path.read_bytes()):
                write_whole(path, b"")  # the empty file is what tells that something was here
                self.done.torn += 1

    def _names(self, line: bytes, segment: Segment, number: int) -> bool:
        entry = envelope.read(line.removesuffix(b"\n"))
        if entry is None:
            self.done.unreadable.append(f"{segment.path}:{number + 1}")
            return False
        self.done.searched += 1
        if entry.reason is not None:
            return self._person.in_bytes(entry.exact)
        return self._person.may_be_in(entry.body) and any(
            self._person.in_element(element) for element, _ in elements(entry.body)
        )

    def _rewritten(self, segment: Segment, touched: set[int]) -> Iterator[bytes]:
        for number, line in enumerate(segment.lines()):
            entry = envelope.read(line.removesuffix(b"\n")) if number in touched else None
            yield self._without_person(entry).line() if entry else line

    def _without_person(self, entry: Envelope) -> Envelope:
        if entry.reason is not None:
            self.done.quarantined += 1
            body = b"[]"
        else:
            self.done.deliveries += 1
            found = list(elements(entry.body))
            kept = [text for element, text in found if not self._person.in_element(element)]
            self.done.elements += len(found) - len(kept)
            body = b"[" + b",".join(kept) + b"]"
        return replace(entry, body=body, received=None, erased_at=timestamp(self._clock()))


def elements(body: bytes) -> Iterator[tuple[object, bytes]]:
    """Yield the elements of a delivery, each with its own bytes; objects are tuples of their pairs.

    >>> list(elements(b'[{"a": 1}, {}]'))
    [((('a', 1),), b'{"a": 1}'), ((), b'{}')]
    """
    text = body.decode("utf-8")
    at = _BETWEEN.match(text, text.index("[") + 1).end()  # type: ignore[union-attr]
    while text[at] != "]":
        element, end = _PAIRS.raw_decode(text, at)
        yield element, text[at:end].encode("utf-8")
        at = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
