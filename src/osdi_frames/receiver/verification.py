"""Check an archive of the receiver: every checksum, every sequence number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from osdi_frames.errors import SourceNotFound
from osdi_frames.receiver import envelope
from osdi_frames.receiver.segments import Segment, segments
from osdi_frames.receiver.worker import owned, quarantine, torn, worker_folders


@dataclass(frozen=True, slots=True)
class Damage:
    """Something in an archive that is not as it was written; `line` counts from 1, 0 is the whole file."""

    path: Path
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(slots=True)
class Verification:
    """What was found in an archive: how much of it is whole, and every damage."""

    segments: int = 0
    deliveries: int = 0
    quarantined: int = 0
    erased: int = 0
    torn: int = 0
    damages: list[Damage] = field(default_factory=list)


def verify(archive: str | Path) -> Verification:
    """Check every line's checksum and that the sequence of every worker is whole.

    A receiver may write to the archive meanwhile; its last line can then be one that is being written.
    A torn end that a start of the receiver moved to quarantine is counted and is no damage.

    Raises
    ------
    SourceNotFound
        No receiver has written here.
    """
    folders = worker_folders(Path(archive))
    if not folders:
        raise SourceNotFound(f"{archive}: no archive of the receiver")
    found = Verification()
    for folder in folders:
        with owned(folder) as at_rest:
            found.deliveries += _verify_log(folder, found, at_rest=at_rest)
            found.quarantined += _verify_log(quarantine(folder), found, at_rest=at_rest)
        found.torn += sum(1 for _ in torn(folder).glob("*.torn"))
    return found


def _verify_log(folder: Path, found: Verification, *, at_rest: bool) -> int:
    check = _Sequence()
    lines = 0
    listed = segments(folder)
    for segment in listed:
        if not segment.sealed and segment.sealed_path.exists():
            continue  # sealed already, or meanwhile; what it holds stands in the sealed one
        found.segments += 1
        found.damages += check.begins(segment)
        for number, entry in _entries(segment):
            if isinstance(entry, str):
                if entry == TORN and segment is listed[-1] and not at_rest:
                    continue
                found.damages.append(Damage(segment.path, number, entry))
                check.lose()
                continue
            lines += 1
            found.erased += entry.erased_at is not None
            found.damages += check.follows(segment, number, entry.sequence)
    return lines


TORN = "a torn line"


def _entries(segment: Segment) -> Iterator[tuple[int, envelope.Envelope | str]]:
    """Yield what each line says, or what is wrong with it."""
    number = 0
    try:
        for number, line in enumerate(segment.lines(), 1):
            if not line.endswith(b"\n"):
                yield number, TORN
            elif entry := envelope.read(line[:-1]):
                yield number, entry
            else:
                yield number, "the checksum does not match"
                if after := envelope.read_after_damage(line[:-1]):
                    yield number, after
    except OSError as error:
        yield number + 1, f"cannot be read: {error}"


class _Sequence:
    """Follows the numbers of a log; after a damage, the next number only has to be a later one."""

    def __init__(self) -> None:
        self._expected: int | None = None
        self._lost = False

    def lose(self) -> None:
        self._lost = True

    def begins(self, segment: Segment) -> Iterator[Damage]:
        if self._expected is None:
            self._expected = segment.first
        if segment.first != self._expected and not (self._lost and segment.first > self._expected):
            yield Damage(segment.path, 0, f"begins with {segment.first} where {self._expected} follows")
        self._expected = segment.first

    def follows(self, segment: Segment, number: int, sequence: int) -> Iterator[Damage]:
        if sequence != self._expected and not (self._lost and sequence > (self._expected or 0)):
            yield Damage(segment.path, number, f"number {sequence} where {self._expected} follows")
        self._expected = sequence + 1
        self._lost = False
