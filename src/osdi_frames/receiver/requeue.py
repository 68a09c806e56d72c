"""Take bodies of the quarantine that hold deliveries after all back into the archive.

They become lines of a worker of their own, so that receivers can go on writing. The quarantine stays as it was
received; a list in it has the numbers of what was taken back, so that readers do not report it as unread.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from osdi_frames.document_forms import envelope_time
from osdi_frames.durable import make_folder, write_file
from osdi_frames.locking import require_shared_locks, wait_for_lock
from osdi_frames.problems import Finding
from osdi_frames.receiver import envelope
from osdi_frames.receiver.envelope import Envelope, as_array
from osdi_frames.receiver.segments import segments
from osdi_frames.receiver.validation import validate_body
from osdi_frames.receiver.worker import Worker, worker_folders
from osdi_frames.sources.files import QUARANTINE, REQUEUED, requeued_numbers

#: The worker that writes what is taken back.
WORKER = "requeued"
_SEGMENT_BYTES = 64 << 20
_BATCH_BYTES = 8 << 20


@dataclass(slots=True)
class Requeue:
    """How many bodies of the quarantine were searched, taken back now or before, and hold no delivery."""

    searched: int = 0
    requeued: int = 0
    before: int = 0
    left: int = 0


def requeue(archive: str | Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Requeue:
    """Take the bodies of the quarantine that hold deliveries after all back into the archive, each once.

    A delivery is looked for as readers do: without its array, behind a byte order mark, as text, base64 or form, below
    other keys. It keeps the time at which it was received. What is taken back is durable before it is listed as such,
    and a run that was killed is ended by the next. Receivers can run meanwhile; an erasure waits.

    Raises
    ------
    SourceNotFound
        No receiver has written here.
    ArchiveLocked
        Another process takes bodies back.
    UnsupportedSystem
        On Windows.
    """
    require_shared_locks()
    folders = [folder for folder in worker_folders(Path(archive)) if folder.name != WORKER]
    make_folder(Path(archive) / WORKER)
    done = Requeue()
    with contextlib.ExitStack() as stack:
        for folder in sorted([*folders, Path(archive) / WORKER]):  # else an erased person could come back
            stack.callback(os.close, wait_for_lock(folder / ".erasing"))
        worker = Worker(Path(archive), WORKER, segment_bytes=_SEGMENT_BYTES)
        stack.callback(worker.close)
        known = {_digest(entry) for entry in _entries(worker.folder)}
        for folder in folders:
            _requeue(folder / QUARANTINE, worker, known, done, day=envelope_time(now())[:10])
    return done


def _requeue(quarantine: Path, worker: Worker, known: set[bytes], done: Requeue, *, day: str) -> None:
    """Take back what a quarantine holds."""
    listed = requeued_numbers(quarantine)
    waiting, size, numbers = list[Envelope](), 0, set(listed)

    def write() -> None:
        lines = [entry.line() for entry in waiting]
        if lines:
            worker.check_lock()
            worker.deliveries.append(lines, day=day)
        waiting.clear()

    for entry in _entries(quarantine):
        if entry.reason is None or entry.received is None:  # what was erased
            continue
        done.searched += 1
        if entry.sequence in listed:
            done.before += 1
        elif (body := _delivery(entry.received)) is None:
            done.left += 1
        else:
            number = worker.deliveries.next_sequence + len(waiting)
            taken = Envelope(number, entry.received_at, body)
            numbers.add(entry.sequence)
            if _digest(taken) in known:  # by a run that was killed before it could list it
                done.before += 1
                continue
            known.add(_digest(taken))
            waiting.append(taken)
            done.requeued += 1
            size += len(body)
            if size > _BATCH_BYTES:
                write()
                size = 0
    write()
    if numbers != listed:
        write_file(quarantine / REQUEUED, "".join(f"{number}\n" for number in sorted(numbers)).encode())


def _entries(log: Path) -> Iterator[Envelope]:
    """Yield the lines of a log that are whole; `verify` reports the others."""
    for segment in segments(log):
        with contextlib.suppress(FileNotFoundError):  # a receiver took an empty one away
            for line in segment.lines():
                if entry := envelope.read(line.removesuffix(b"\n")):
                    yield entry


def _delivery(received: bytes) -> bytes | None:
    """Return the delivery that a body holds, as an array on one line; None where it holds none."""
    from osdi_frames.sources.wrapped import unwrapped  # a receiver needs no library of reading

    if validate_body(received) is None:
        return Envelope.of(received, sequence=0, at="", reason=None).body
    try:
        text = received.decode()
    except UnicodeDecodeError:
        return None
    found: list[object] = []
    for part in unwrapped(text):
        if isinstance(part, Finding):
            if part.severity == "error":
                return None
            continue
        found += part.document if isinstance(part.document, list) else [part.document]
    body = json.dumps(found, separators=(",", ":")).encode()
    return body if found and validate_body(body) is None else None


def _digest(entry: Envelope) -> bytes:
    return hashlib.blake2b(entry.received_at.encode() + as_array(entry.body), digest_size=16).digest()
