"""Append-only segments of lines, durable.

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
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from osdi_frames.durable import PARTIAL, flush, make_folder, naming, replacing, sync, write_file
from osdi_frames.receiver import envelope
from osdi_frames.sources.files import SEALED, SEGMENT
from osdi_frames.sources.streams import zstd

_COMPRESSION: dict[int, int] = {
    zstd.CompressionParameter.compression_level: 1,
    zstd.CompressionParameter.checksum_flag: 1,
}


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A segment file, described by its name; segments sort in the order of their lines."""

    first: int
    sealed: bool
    path: Path = field(compare=False)

    def current(self) -> Segment:
        """Return the segment, sealed if it is now."""
        if self.sealed or self.path.exists():
            return self
        return Segment(self.first, True, Path(f"{self.path}{SEALED}"))

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its line break unless it is torn, of the sealed form if it is sealed now."""
        with self._opened() as file:
            try:
                yield from file
            except (zstd.ZstdError, EOFError) as error:
                raise OSError(str(error)) from error

    def _opened(self) -> BinaryIO | zstd.ZstdFile:
        if not self.sealed:
            with contextlib.suppress(FileNotFoundError):  # it is sealed just now
                return self.path.open("rb")
        return zstd.ZstdFile(self.current().path)


def segments(folder: Path) -> list[Segment]:
    """List a log's segments in the order of their lines.

    Their day does not matter. Folders are listed twice, because one that is sealed while its folder is listed can be
    missed in both of its forms; in the second listing the sealed one is there from the beginning.
    """
    found = {
        path: Segment(int(name["first"]), name["sealed"] is not None, path)
        for _ in range(2)
        for path in folder.glob("[0-9]*/*")
        if (name := SEGMENT.fullmatch(path.name))
    }
    return sorted(found.values())


def whole_until(path: Path, below: int | None = None) -> tuple[int, int | None]:
    """Find the end of a segment's last whole line.

    That line's sequence number comes with it. What follows that point was never acknowledged: a torn line, or lines
    numbered from `below` on, which a later segment holds.
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
    """An open file was removed, moved, replaced or cut: what is written to it is lost."""


def check_identity(path: Path, descriptor: int, *, size: int | None = None) -> None:
    """Raise `Removed` unless a path leads to the open file.

    It must have the size that it should have. A write and a sync succeed in a deleted file as well.
    """
    opened = os.fstat(descriptor)
    try:
        same = os.path.samestat(opened, path.stat()) and size in (None, opened.st_size)
    except (FileNotFoundError, NotADirectoryError):
        same = False
    if not same:
        raise Removed(errno.ESTALE, "was removed, replaced or changed while it was open", str(path))


def last_sequence(last: Segment) -> int:
    """Find the number of a segment's last line, of a sealed one at least that of its first line."""
    if not last.sealed:
        return whole_until(last.path)[1] or last.first - 1
    tail = deque[bytes](maxlen=1)
    with contextlib.suppress(OSError):
        tail.extend(last.lines())
    entry = envelope.read(tail[0].removesuffix(b"\n")) if tail else None
    return max(last.first, entry.sequence if entry else 0)


def set_aside(path: Path, torn: Path, *, below: int | None = None) -> None:
    """Move a segment's torn end into the folder `torn`.

    It follows the last whole line of a plain segment. The copy is durable before the segment is cut, and its name says
    where it was cut and what it holds, so doing this twice is the same as doing it once. A segment without any whole
    line goes. What stays is durable afterwards.
    """
    end, _ = whole_until(path, below)
    with path.open("r+b") as plain:
        plain.seek(end)
        if tail := plain.read():
            digest = hashlib.blake2b(tail, digest_size=6).hexdigest()
            make_folder(torn)
            write_file(torn / f"{path.stem}-{end}-{digest}.torn", tail)
            plain.truncate(end)
        flush(plain.fileno())
    if not end:
        path.unlink()
        sync(path.parent)


class Log:
    """The writing end of a log.

    One process holds it, one thread calls it. Every start begins a new segment, and so does what follows a failure:
    nothing is ever appended to a file whose end is in doubt. A torn end is set aside. `writing_from` is the first
    number of the segment that is written now, or comes next; all before it can be sealed.
    """

    def __init__(self, folder: Path, *, torn: Path, segment_bytes: int) -> None:
        self.folder = folder
        self.torn = torn
        self.losses: list[str] = []
        self._segment_bytes = segment_bytes
        self._open: _OpenSegment | None = None
        last = segments(folder)[-1:]
        self.next_sequence = self.writing_from = 1 + sum(map(last_sequence, last))
        if last and not last[0].sealed:
            with contextlib.suppress(OSError):  # a full disk, for example: sealing tries again
                set_aside(last[0].path, torn)

    def append(self, lines: Sequence[bytes], *, day: str) -> bool:
        """Write and sync `lines`; return whether a segment began.

        They are numbered from `next_sequence` on. Without lines, a segment is begun ahead of its first line. After an
        OSError nothing of them counts: the segment is cut back to its last durable length and given up.
        """
        if self._open and (self._open.path.parent.name != day or self._open.length >= self._segment_bytes):
            self.close()
        begun = self._open is None
        segment = self._open = self._open or self._begin(day)
        with self._given_up_on_failure():
            if begun:
                sync(segment.path.parent)
            segment.append(b"".join(lines))
        self.next_sequence += len(lines)
        return begun

    def check(self) -> None:
        """Raise `Removed` when the open segment was moved, and give it up.

        The next line begins a new segment, whose first number shows that lines are missing before it.
        """
        if self._open:
            with self._given_up_on_failure():
                self._open.check(self._open.length)

    def close(self) -> None:
        """Leave the segment that is written now to be sealed."""
        if self._open:
            with contextlib.suppress(OSError):  # sealing cuts it as well, and takes an empty one away
                self._open.close()
            self._open = None
            self.writing_from = self.next_sequence

    @contextlib.contextmanager
    def _given_up_on_failure(self) -> Iterator[None]:
        # What a failed sync left on the disk is unknown, and a second one can succeed without having written
        # anything: the file is not written again.
        try:
            yield
        except OSError as error:
            count = self.next_sequence - self.writing_from
            if isinstance(error, Removed) and count:
                self.losses.append(f"{error}; {count} deliveries in it were acknowledged and may be lost")
            self.close()
            raise

    def _begin(self, day: str) -> _OpenSegment:
        make_folder(self.folder / day)
        sync(self.folder)  # a start that was killed can have left the folder without making it durable
        path = self.folder / day / f"{self.next_sequence:012}.ndjson"
        if path.exists():  # left of an attempt of which nothing was acknowledged
            set_aside(path, self.torn, below=self.next_sequence)
        return _OpenSegment(path)


class _OpenSegment:
    """A segment file open for appending, durable up to `length`."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        self._descriptor = os.open(path, flags, 0o600)
        self.path = path
        self.length = 0

    def append(self, data: bytes) -> None:
        rest = memoryview(data)
        with naming(self.path):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            flush(self._descriptor)
        self.check(self.length + len(data))
        self.length += len(data)

    def check(self, size: int) -> None:
        check_identity(self.path, self._descriptor, size=size)

    def close(self) -> None:
        """Cut off what is not durable, and remove a file without anything durable."""
        try:
            check_identity(self.path, self._descriptor)
            if self.length == 0:
                self.path.unlink()
            elif os.fstat(self._descriptor).st_size > self.length:
                os.ftruncate(self._descriptor, self.length)
        finally:
            os.close(self._descriptor)


def write_sealed(lines: Iterable[bytes], path: Path, *, partial: str = PARTIAL) -> None:
    """Write a sealed segment durably in place of one that may be there, and read it back."""
    with replacing(path, partial=partial) as file:
        with zstd.ZstdFile(file, "wb", options=_COMPRESSION) as stream:
            stream.writelines(lines)
        file.flush()
        for _ in Segment(0, True, Path(file.name)).lines():
            pass  # an error is raised where the checksum of the frame differs


def seal_finished(log: Log, *, stopped: Callable[[], bool] = lambda: False) -> None:
    """Seal a log's finished segments, oldest first, until this is stopped."""
    bound = log.writing_from
    found = segments(log.folder)
    for segment in found:
        if stopped():
            return
        if segment.sealed or segment.first >= bound:
            continue
        below = min([bound, *(later.first for later in found if later.first > segment.first)])
        set_aside(segment.path, log.torn, below=below)
        if segment.path.exists():
            write_sealed(segment.lines(), Path(f"{segment.path}{SEALED}"))
            segment.path.unlink()
            sync(segment.path.parent)
