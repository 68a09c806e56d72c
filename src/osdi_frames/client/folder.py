"""Where a pull writes: one pull at a time in a folder, and each page appended as it comes, a file a batch.

A page is one gzip member, so a page that was written whole stays readable whatever happens to the next one. A file
that still grows is hidden; it takes its name when it is full, or when the pull ends.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from osdi_frames.archive.durable import create_file, sync, try_lock
from osdi_frames.errors import ArchiveLocked

if sys.platform != "win32":
    import fcntl

#: Pages in a file.
FULL = 100

_LOCK = ".lock"
_SUFFIX = ".ndjson.gz"
_GROWING = ".part"
_BLOCK = 1 << 16


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other pulls out of a folder; on Windows that is the caller's to do.

    The system releases the lock when its process ends, but not while a child that the process forked lives on. The
    file names its owner, and so does the `ArchiveLocked` of the next one; where that process has ended, a new lock
    replaces it.
    """
    if sys.platform == "win32":
        yield
        return
    at = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # not every file system can lock a folder
            fcntl.flock(at, fcntl.LOCK_EX)  # two that look at the lock at once could take over the same one
        lock = _take(folder / _LOCK)
    finally:
        os.close(at)
    try:
        yield
    finally:
        os.close(lock)


def _take(path: Path) -> int:
    named = ""
    descriptor = try_lock(path)
    if descriptor is None:
        pid, host = _owner(path)
        if pid and host == socket.gethostname() and _has_ended(pid):
            path.unlink()
            descriptor = try_lock(path)
        elif pid:
            named = f" (process {pid} on {host})"
    if descriptor is None:
        raise ArchiveLocked(f"another pull is writing into {path.parent}{named}")
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
    return descriptor


def _owner(path: Path) -> tuple[int, str]:
    """Return the process that a lock names, and its machine; 0 where it names none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return int(found["pid"]), str(found["host"])
    except (ValueError, TypeError, KeyError):
        return 0, ""


def _has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:  # another user's is there
        return isinstance(error, ProcessLookupError)
    return False


class Batches:
    """The pages of one pull on disk. Several threads may keep pages."""

    def __init__(self, folder: Path, *, full: int = FULL) -> None:
        self._folder = folder
        self._full = full
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._pages = 0
        for part in sorted(folder.glob(f".pages-*{_SUFFIX}{_GROWING}")):
            with part.open("r+b") as file:
                file.truncate(_whole_members(file))  # a killed process may have left half a page behind them
                os.fsync(file.fileno())
            _publish(part)

    def keep(self, line: bytes) -> None:
        """Append one page; it stays when this returns, even if the process is killed."""
        member = gzip.compress(line, 6, mtime=0)
        with self._lock:
            file = self._file = self._file or self._next_file()
            size = file.tell()
            try:
                rest = memoryview(member)
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(size)  # the disk is full: no torn page before the next one
                file.seek(size)
                raise
            self._pages += 1
            if self._pages >= self._full:
                self._finish()

    def read(self) -> Iterator[dict[str, Any]]:
        """Return every envelope that was kept, in the order in which it came."""
        for path in self._finished():
            with gzip.open(path, "rb") as lines:
                yield from map(json.loads, lines)

    def names(self) -> list[str]:
        """Return the names of the files that are finished."""
        return [path.name for path in self._finished()]

    def close(self) -> None:
        """Let the file that still grows take its name; the next page begins another."""
        with self._lock:
            self._finish()

    def _finished(self) -> list[Path]:
        return sorted(self._folder.glob(f"pages-*{_SUFFIX}"))

    def _next_file(self) -> BinaryIO:
        # After the last name, not the count: somebody may have taken a file away, and none is written over.
        last = self.names()[-1:]
        number = int(last[0].split(".")[0].removeprefix("pages-")) + 1 if last else 1
        self._pages = 0
        part = self._folder / f".pages-{number:04}{_SUFFIX}{_GROWING}"
        create_file(part).close()
        return part.open("r+b", buffering=0)

    def _finish(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            _publish(Path(self._file.name))
            self._file = None


def _publish(part: Path) -> None:
    """Let a file take its name; one without a page is removed."""
    if part.stat().st_size == 0:
        part.unlink()
        return
    part.replace(part.with_name(part.name.removeprefix(".").removesuffix(_GROWING)))
    sync(part.parent)


def _whole_members(file: BinaryIO) -> int:
    """Return how many bytes of a file are whole gzip members."""
    whole = at = 0
    member = zlib.decompressobj(wbits=31)
    while block := file.read(_BLOCK):
        while block:
            try:
                member.decompress(block)
            except zlib.error:
                return whole
            at += len(block) - len(member.unused_data)
            block = member.unused_data
            if member.eof:
                whole, member = at, zlib.decompressobj(wbits=31)
    return whole
