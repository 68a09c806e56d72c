"""Check an archive: every checksum, every sequence number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from osdi_frames.locking import is_locked
from osdi_frames.messages import quoted_path
from osdi_frames.receiver import envelope
from osdi_frames.receiver.segments import Segment, segments
from osdi_frames.receiver.worker import TORN, worker_folders
from osdi_frames.sources.files import QUARANTINE

_TORN = "a torn line"


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not as it was written; `line` counts from 1, and 0 is the whole file."""

    path: Path
    line: int
    what: str

    def __str__(self) -> str:
        return f"{quoted_path(self.path)}:{self.line}: {self.what}"


@dataclass(slots=True)
class Verification:
    """How much of an archive is whole, and damages."""

    segments: int = 0
    deliveries: int = 0
    quarantined: int = 0
    erased: int = 0
    torn: int = 0
    damages: list[Damage] = field(default_factory=list)


def verify(archive: str | Path) -> Verification:
    """Check every line's checksum and every worker's sequence.

    A receiver may write to the archive meanwhile; where its lock file or the segment that it writes was
    removed, that is a damage. The numbers of a log begin with 1, so what was removed is named by the first
    segment that follows. A torn end was never acknowledged, so it is counted and
    is no damage: in quarantine, where a start of the receiver moves it, or still behind the last line.

    Raises
    ------
    SourceNotFound
        No receiver has written here.
    """
    found = Verification()
    for folder in worker_folders(Path(archive)):
        found.damages += _missing(folder)
        found.deliveries += _verify_log(folder, found)
        found.quarantined += _verify_log(folder / QUARANTINE, found)
        found.torn += sum(1 for _ in (folder / TORN).glob("*.torn"))
    return found


def _missing(folder: Path) -> Iterator[Damage]:
    """Yield what is missing in a receiver's folder."""
    lock = folder / ".lock"
    if not lock.exists():
        yield Damage(lock, 0, "was removed, and another receiver can write here: restart the receiver")
    elif is_locked(lock) and all(segment.sealed for segment in segments(folder)):
        yield Damage(folder, 0, "a receiver runs, and the segment that it writes was removed or failed")


def _verify_log(folder: Path, found: Verification) -> int:
    """Check a log; return its number of whole lines."""

    def follows(number: int) -> bool:
        return number == expected or (lost and number > expected)

    expected, lost, lines = 1, False, 0
    # Of a segment that is just being sealed both forms are listed, the sealed one last.
    listed = {segment.first: segment for segment in segments(folder)}
    for segment in listed.values():
        found.segments += 1
        if not follows(segment.first):
            what = f"begins with {segment.first} where {expected} follows"
            found.damages.append(Damage(segment.path, 0, what))
        expected = segment.first
        for number, entry in _entries(segment):
            if isinstance(entry, envelope.Envelope):
                lines += 1
                found.erased += entry.erased_at is not None
                if not follows(entry.sequence):
                    what = f"number {entry.sequence} where {expected} follows"
                    found.damages.append(Damage(segment.path, number, what))
                expected, lost = entry.sequence + 1, False
            elif entry == _TORN and segment.first == max(listed):
                found.torn += 1
            else:
                found.damages.append(Damage(segment.path, number, entry))
                lost = True  # the next number only has to be a later one
    return lines


def _entries(segment: Segment) -> Iterator[tuple[int, envelope.Envelope | str]]:
    """Yield each line's content, or its damage."""
    number = 0
    try:
        for number, line in enumerate(segment.lines(), 1):
            if entry := envelope.read(line[:-1]) if line.endswith(b"\n") else None:
                yield number, entry
            elif line.endswith(b"\n") or envelope.read(line[:-1]):
                yield number, "the checksum or the line break does not match"
                if after := envelope.read_after_damage(line[:-1]):
                    yield number, after
            else:
                yield number, _TORN
    except FileNotFoundError:
        pass  # a receiver took an empty one away since it was listed; lines that are gone are missed by number
    except OSError as error:
        yield number + 1, f"cannot be read: {error}"
