"""Append-only segments of lines: the durable half of the receiver, with no web in it.

A log is a folder of days, a day is a folder of segments, and a segment is named after the sequence number of
its first line::

    2026-11-21/000000000001.ndjson.zst     sealed: compressed, only ever replaced as a whole
    2026-11-21/000000000838.ndjson         not sealed yet

Numbers are given without gaps. A number is used again only where its line was never acknowledged.

At every moment the lines of a segment are complete under one of the two names: the compressed file is written,
read back and synced before the plain one is removed. Between these two steps both exist with the same content.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from osdi_frames.archive.durable import PARTIAL, replacing, sync, write_file
from osdi_frames.receiver import envelope

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError, ZstdFile
else:
    from backports.zstd import ZstdError, ZstdFile

_PLAIN, _SEALED = ".ndjson", ".zst"
_NAME = re.compile(r"(?P<first>[0-9]{12})\.ndjson(?P<sealed>\.zst)?")


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A segment file, described by its name; segments sort in the order of their lines."""

    first: int
    sealed: bool
    path: Path = field(compare=False)

    def current(self) -> Segment:
        """Return the segment, in its sealed form when it was sealed since it was listed."""
        if self.sealed or self.path.exists():
            return self
        return Segment(self.first, True, Path(f"{self.path}{_SEALED}"))

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the lines, a mebibyte or so at a time."""
        compressed = self.sealed and self.path.stat().st_size  # an empty file holds no line
        with ZstdFile(self.path) if compressed else self.path.open("rb") as file:
            try:
                while chunk := file.read(1 << 20):
                    yield chunk
            except (ZstdError, EOFError) as error:
                raise OSError(str(error)) from error

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its line break; a last one without is torn."""
        rest = b""
        for chunk in self.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line + b"\n" for line in whole)
        if rest:
            yield rest


def segments(folder: Path) -> list[Segment]:
    """List the segments of a log in the order of their lines, whatever their day."""
    return sorted(
        Segment(int(name["first"]), name["sealed"] is not None, path)
        for path in folder.glob("[0-9]*/*")
        if (name := _NAME.fullmatch(path.name))
    )


def whole_until(path: Path, below: int | None = None) -> tuple[int, int | None]:
    """Find where the last whole line of a plain segment ends, and that line's sequence number.

    What follows that point was never acknowledged: a torn line, or lines numbered from `below` on,
    which a later segment holds.
    """
    if not path.stat().st_size:
        return 0, None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = data.rfind(b"\n") + 1
        while end:
            start = data.rfind(b"\n", 0, end - 1) + 1
            line = data[start : end - 1]
            found = envelope.read(line) or envelope.read_after_damage(line)
            if found and (below is None or found.sequence < below):
                return end, found.sequence
            end = start
    return 0, None


class Removed(OSError):
    """A file that is open was removed, moved away, replaced or cut: what is written to it is lost."""


def check_identity(path: Path, descriptor: int, *, size: int | None = None) -> None:
    """Raise `Removed` unless a path leads to the file that is open, and that file has the size it should have.

    A write and a sync succeed in a deleted file as well.
    """
    opened = os.fstat(descriptor)
    try:
        same = os.path.samestat(opened, path.stat())
    except (FileNotFoundError, NotADirectoryError):
        same = False
    if not same:
        raise Removed(errno.ESTALE, "was removed or replaced while it was open", str(path))
    if size is not None and opened.st_size != size:
        raise Removed(errno.ESTALE, f"is {opened.st_size} bytes long where {size} were written", str(path))


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter, durably; its parent must exist.

    One that is there already may be left of a start that did not come to make it durable.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    sync(folder.parent)


def last_sequence(folder: Path) -> int:
    """Find the number of the last line of a log; 0 when it has none."""
    listed = segments(folder)
    if not listed:
        return 0
    last = listed[-1]
    if not last.sealed:
        return whole_until(last.path)[1] or last.first - 1
    # At least its first number is taken, even when nothing of it can be read any more.
    numbers = [last.first]
    with contextlib.suppress(OSError):
        tail = deque(last.lines(), maxlen=1)
        numbers += [found.sequence for line in tail if (found := envelope.read(line.rstrip(b"\n")))]
    return max(numbers)


def set_aside(path: Path, torn: Path, *, below: int | None = None) -> None:
    """Move what follows the last whole line of a plain segment into the folder `torn`.

    The copy is durable before the segment is cut, and its name says where it was cut and what it holds, so
    doing this twice is the same as doing it once. A segment without any whole line is moved as it is, which
    a full disk allows; an empty one goes. What stays is durable afterwards.
    """
    end, _ = whole_until(path, below)
    with path.open("r+b") as plain:
        plain.seek(end)
        tail = plain.read()
        digest = hashlib.blake2b(tail, digest_size=6).hexdigest()
        aside = torn / f"{path.name.removesuffix(_PLAIN)}-{end}-{digest}.torn"
        if tail:
            make_folder(torn)
        if tail and end:
            write_file(aside, tail)
            plain.truncate(end)
        if end:
            os.fsync(plain.fileno())
            return
    if tail:
        path.rename(aside)
        sync(torn)
    else:
        path.unlink()
    sync(path.parent)


class Log:
    """The writing end of a log; one process holds it, one thread calls it.

    Every start begins a new segment, so nothing is ever appended to a file whose end is in doubt.
    """

    def __init__(self, folder: Path, *, torn: Path, segment_bytes: int) -> None:
        self.folder = folder
        self.torn = torn
        self.next_sequence = last_sequence(folder) + 1
        self.losses: list[str] = []
        self._segment_bytes = segment_bytes
        self._open: _OpenSegment | None = None

    @property
    def writing_from(self) -> int:
        """The first number of the segment that is written now; all before it can be sealed."""
        # The sealer asks while the writer writes: were the number read last, a segment begun in between would
        # lie below it, and be sealed under the writer's hands.
        following, segment = self.next_sequence, self._open
        return segment.first if segment else following

    def append(self, lines: Sequence[bytes], *, day: str) -> bool:
        """Write and sync `lines`, numbered from `next_sequence` on; return whether a segment was begun.

        Without lines, a segment is begun ahead of its first line.

        Raises
        ------
        OSError
            Nothing of it counts: the segment is back at its last durable length, or is given up.
        """
        if self._open and (self._open.day != day or self._open.length >= self._segment_bytes):
            self.close()
        begun = self._open is None
        segment = self._open = self._open or self._begin(day)
        try:
            segment.append(b"".join(lines))
        except OSError as error:
            # What a failed sync left on the disk is unknown, and a second one can succeed without
            # having written anything: this file is not written again.
            if not segment.cut_back() or segment.in_doubt:
                self._give_up(segment, error)
            raise
        self.next_sequence += len(lines)
        return begun

    def check(self) -> None:
        """Raise `Removed` when the segment that is written now is not in its place; it is given up then.

        The next line begins a new segment, whose first number shows that some are missing before it.
        """
        if self._open is not None:
            try:
                self._open.check()
            except Removed as error:
                self._give_up(self._open, error)
                raise

    def _give_up(self, segment: _OpenSegment, error: OSError) -> None:
        if isinstance(error, Removed) and (count := self.next_sequence - segment.first):
            self.losses.append(f"{error}; {count} deliveries in it were acknowledged and may be lost")
        self.close()

    def close(self) -> None:
        """Leave the segment that is written now to be sealed."""
        if self._open is not None:
            segment, self._open = self._open, None
            with contextlib.suppress(OSError):  # the next start takes an empty one away as well
                segment.close()

    def _begin(self, day: str) -> _OpenSegment:
        folder = self.folder / day
        make_folder(self.folder)
        make_folder(folder)
        path = folder / f"{self.next_sequence:012}{_PLAIN}"
        if path.exists():  # left of an attempt of which nothing was acknowledged
            set_aside(path, self.torn, below=self.next_sequence)
        return _OpenSegment(path, first=self.next_sequence, day=day)


class _OpenSegment:
    """A segment file open for appending, with the length up to which it is durable."""

    __slots__ = ("_descriptor", "_named", "_written", "day", "first", "in_doubt", "length", "path")

    def __init__(self, path: Path, *, first: int, day: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        self._descriptor = os.open(path, flags, 0o600)
        self.path = path
        self._named = self.in_doubt = False
        self._written = 0
        self.first, self.day, self.length = first, day, 0

    def append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._written = self.length + len(data)
        self.in_doubt = True
        os.fsync(self._descriptor)
        if not self._named:
            sync(self.path.parent)
            self._named = True
        self.check()
        self.in_doubt = False
        self.length = self._written

    def check(self) -> None:
        check_identity(self.path, self._descriptor, size=self._written)

    def cut_back(self) -> bool:
        try:
            # Where somebody has cut it already, it is not made longer again.
            os.ftruncate(self._descriptor, min(self.length, os.fstat(self._descriptor).st_size))
        except OSError:
            return False
        return True

    def close(self) -> None:
        try:
            if self.length == 0:
                check_identity(self.path, self._descriptor)
                self.path.unlink()
        finally:
            os.close(self._descriptor)  # every line that counts is synced already


class Stopped(Exception):
    """Sealing was asked to stop; the next start takes it up again."""


def write_sealed(chunks: Iterable[bytes], path: Path, *, partial: str = PARTIAL) -> None:
    """Write a sealed segment durably, in place of one that may be there, and only once it reads back."""
    with replacing(path, partial=partial) as file:
        with ZstdFile(file, "wb", level=1) as stream:
            digest = _digest(chunks, copy=stream.write)
        file.flush()
        if _digest(Segment(0, True, Path(file.name)).chunks()) != digest:
            raise OSError(f"{path}: what was written cannot be read back")


def seal_finished(log: Log, *, stop: threading.Event) -> None:
    """Seal every segment of a log that is no longer written, the oldest first; `Stopped` when asked to stop."""
    bound = log.writing_from
    found = segments(log.folder)
    for segment in found:
        if segment.sealed or segment.first >= bound:
            continue
        below = min([bound, *(later.first for later in found if later.first > segment.first)])
        set_aside(segment.path, log.torn, below=below)
        if segment.path.exists():
            write_sealed(_until(stop, segment.chunks()), Path(f"{segment.path}{_SEALED}"))
            segment.path.unlink()
            sync(segment.path.parent)


def _digest(chunks: Iterable[bytes], *, copy: Callable[[bytes], object] = len) -> bytes:
    digest = hashlib.blake2b()
    for chunk in chunks:
        digest.update(chunk)
        copy(chunk)
    return digest.digest()


def _until(stop: threading.Event, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if stop.is_set():
            raise Stopped
        yield chunk
