"""Whether a file still holds the bytes that were parsed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeAlias

from osdi_frames.sources.file_kinds import container, is_lines
from osdi_frames.sources.files import BROKEN
from osdi_frames.sources.remote import Remote
from osdi_frames.sources.source import Part
from osdi_frames.sources.streams import BufferedStream

#: Of a file its size, times of modification and of change in nanoseconds, and inode; of a remote one its version.
Status: TypeAlias = tuple[int | str, ...]

_BLOCK = 1 << 20
_RECENT = 2 * 10**9  # nanoseconds within which a file can change again without another time


@dataclass(frozen=True, slots=True)
class Stamp:
    """The bytes of a file that were parsed, and what they are recognised by."""

    name: str
    """That of the file, as the system has it, or an address."""
    start: int
    stop: int
    line: int
    """The line on which they begin."""
    next_line: int
    grows: bool
    """Whether more documents can follow: one a line, the last of which has ended."""
    status: Status | None
    """That of the file; None where it may change without notice, so that the digest decides."""
    digest: str

    @classmethod
    def of(cls, part: Part) -> Stamp | None:
        """Stamp a part; None where it cannot be recognised later."""
        now, found = time.time_ns(), status(part)
        if found is None:
            return None
        digest, lines, grows, ends = hashlib.blake2b(digest_size=16), 0, False, False
        if isinstance(part.file, str):
            try:
                with replace(part, stop=end_of(part)).open() as file:
                    reader = BufferedStream(file)
                    grows = has_lines(part, reader)
                    while block := reader.read(_BLOCK):
                        digest.update(block)
                        lines, ends = lines + block.count(b"\n"), block.endswith(b"\n")
            except OSError:
                return None
        return cls(
            name=name_of(part),
            start=part.start,
            stop=end_of(part),
            line=part.line,
            next_line=part.line + lines,
            grows=grows and ends,
            status=None if _is_recent(found, now) else found,
            digest=digest.hexdigest(),
        )

    def renewed(self, part: Part) -> Stamp | None:
        """Return the stamp with the status of a file that still holds these bytes; None where it does not."""
        found = status(part)
        if found is None or end_of(part) < self.stop:
            return None
        if found == self.status:
            return self
        if isinstance(part.file, Remote):
            return None
        again = Stamp.of(replace(part, start=self.start, stop=self.stop, line=self.line))
        return replace(self, status=again.status) if again and again.digest == self.digest else None


def status(part: Part) -> Status | None:
    """Return what changes with a file; None where there is none that can be read again, or nothing that says so."""
    if isinstance(part.file, Remote):
        return part.file.version
    try:
        found = Path(part.file).stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def name_of(part: Part) -> str:
    """Return what tells the file of a part from all others; names in rows are shown with escapes."""
    return part.file if isinstance(part.file, str) else part.name


def end_of(part: Part) -> int:
    """Return the byte at which a part ends, as far as that is known."""
    return part.start + part.size


def ranges(part: Part, size: int) -> list[Part]:
    """Cut a large file of lines at ends of lines.

    A range is at least of a size, and the last has no end, so that more can follow. Other files are returned as they
    are.
    """
    if isinstance(part.file, str) and part.stop is None and part.size >= 2 * size:
        with contextlib.suppress(*BROKEN), part.open() as file:
            if has_lines(part, BufferedStream(file)):
                file.seek(part.start)
                found = os.fstat(file.fileno())
                return [*_ranges(replace(part, inode=found.st_ino), size, file, found.st_size)]
    return [part]


def has_lines(part: Part, reader: BufferedStream) -> bool:
    """Return whether a part is of a file with a document a line."""
    return is_lines(part.name) and (part.start > 0 or container(part.name, reader.peek()) is None)


def inode_of(part: Part) -> int | None:
    """Return the inode of a local file."""
    found = status(part)
    return found[-1] if found and isinstance(found[-1], int) else None


def _ranges(part: Part, size: int, file: BinaryIO, end: int) -> Iterator[Part]:
    at, line = part.start, part.line
    while end - part.start >= 2 * size and (block := file.read(_BLOCK)):
        line += block.count(b"\n")
        at += len(block)
        stop = at - len(block) + block.rfind(b"\n") + 1
        if stop - part.start >= size and b"\n" in block:
            yield replace(part, stop=stop)
            part = replace(part, start=stop, line=line)
    if end > part.start or not part.start:
        yield part


def _is_recent(found: Status, now: int) -> bool:
    times = [at for at in found[1:3] if isinstance(at, int)]
    return bool(times) and now - max(times) < _RECENT
