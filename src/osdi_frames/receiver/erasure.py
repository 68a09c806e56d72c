"""Erase one person's data from an archive."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from osdi_frames.archive.durable import write_file
from osdi_frames.errors import ArchiveLocked
from osdi_frames.receiver import envelope
from osdi_frames.receiver.envelope import Envelope, timestamp
from osdi_frames.receiver.person import Person
from osdi_frames.receiver.sealing import seal_finished, write_sealed
from osdi_frames.receiver.segments import Segment, segments
from osdi_frames.receiver.validation import elements
from osdi_frames.receiver.worker import ERASING, Worker, quarantine, torn, worker_folders

_PAIRS = json.JSONDecoder(object_pairs_hook=tuple)  # every pair of an object, those with a repeated key too


@dataclass(slots=True)
class Erasure:
    """What was searched and erased, and what could not be.

    `still_open` are segments that a receiver writes to, `unreadable` files and lines that cannot be read, and
    `mentions` the places where an element about someone else names the person.
    """

    searched: int = 0
    deliveries: int = 0
    elements: int = 0
    quarantined: int = 0
    torn: int = 0
    still_open: list[Path] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether none of the ids and addresses is left in what the receiver wrote."""
        return not (self.still_open or self.unreadable or self.mentions)

    @property
    def found(self) -> bool:
        """Whether anything of the person was there."""
        return bool(self.deliveries or self.quarantined or self.torn or self.still_open or self.mentions)


def erase(
    archive: str | Path,
    *,
    persons: Iterable[str] = (),
    emails: Iterable[str] = (),
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Erasure:
    """Take every element about a person out of the sealed segments of an archive.

    An element is about a person when a link of it leads to one of `persons` (interface 2.7: the id in
    ``_links.osdi:person.href``, whatever query or fragment follows), or one of its ``email_addresses`` is one
    of `emails`, whatever the case. The other elements of a delivery stay, byte for byte; the line keeps its
    number and records when something was erased. An element about someone else that names the person, in a
    comment or a custom field, is not changed and is listed in `Erasure.mentions`. In quarantine the whole
    body goes wherever it names the person, also escaped.

    Where a receiver is writing, what it has not sealed yet is searched and named in `Erasure.still_open`, not
    changed; without one, everything is sealed first. A second erasure waits for the first.

    Raises
    ------
    InvalidPerson
        An id or address is empty.
    SourceNotFound
        No receiver has written here.
    """
    folders = worker_folders(Path(archive))
    eraser = _Eraser(Person.of(persons, emails), now)
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
        for log in (folder, quarantine(folder)):
            for partial in log.glob(f"*/.*{ERASING}"):
                partial.unlink()  # left by an erasure that was killed
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


class _Eraser:
    def __init__(self, person: Person, now: Callable[[], datetime]) -> None:
        self.done = Erasure()
        self._person = person
        self._now = now

    def erase_log(self, folder: Path) -> None:
        for segment in map(Segment.current, segments(folder)):
            try:
                touched = {
                    number
                    for number, line in enumerate(segment.lines(), 1)
                    if self._is_touched(line, f"{segment.path}:{number}")
                }
            except OSError as error:
                self.done.unreadable.append(f"{segment.path}: {error}")
                continue
            if touched and segment.sealed:
                write_sealed(self._rewritten(segment, touched), segment.path, partial=ERASING)
            elif touched:
                self.done.still_open.append(segment.path)

    def erase_torn(self, folder: Path) -> None:
        for path in folder.glob("*.torn"):
            if self._person.is_named_in_bytes(path.read_bytes()):
                write_file(path, b"")  # the empty file shows that something was here
                self.done.torn += 1

    def _is_touched(self, line: bytes, place: str) -> bool:
        """Return whether a line has to be rewritten; list what of it is not erased."""
        entry = envelope.read(line.removesuffix(b"\n"))
        if entry is None:
            self.done.unreadable.append(place)
            return False
        self.done.searched += 1
        if entry.reason is not None:
            return self._person.is_named_in_bytes(entry.exact)
        if not self._person.may_be_in(entry.body) or not self._person.is_named_in(entry.body.decode()):
            return False
        touched = False
        for number, (element, text) in enumerate(_elements(entry.body), 1):
            if self._person.is_subject_of(element):
                touched = True
            elif self._person.is_named_in(text.decode()):
                where = next(self._person.places(element), "")
                self.done.mentions.append(f"{place}: element {number}: {where}")
        return touched

    def _rewritten(self, segment: Segment, touched: set[int]) -> Iterator[bytes]:
        for number, line in enumerate(segment.lines(), 1):
            entry = envelope.read(line.removesuffix(b"\n")) if number in touched else None
            yield self._without_person(entry).line() if entry else line

    def _without_person(self, entry: Envelope) -> Envelope:
        if entry.reason is not None:
            self.done.quarantined += 1
            body = b"[]"
        else:
            self.done.deliveries += 1
            found = list(_elements(entry.body))
            kept = [text for element, text in found if not self._person.is_subject_of(element)]
            self.done.elements += len(found) - len(kept)
            body = b"[" + b",".join(kept) + b"]"
        return replace(entry, body=body, received=None, erased_at=timestamp(self._now()))


def _elements(body: bytes) -> Iterator[tuple[object, bytes]]:
    text = body.decode("utf-8")
    return ((element, text[start:end].encode()) for element, start, end in elements(text, _PAIRS))
