"""The folder of a pull: a lock, and pages.

A page is one gzip member, so a page that was written whole stays readable whatever happens to the next one. A file
that still grows is hidden; it takes its name when it is full, or when the pull ends.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from osdi_frames.durable import create_file, naming, publish_file
from osdi_frames.errors import ArchiveLocked
from osdi_frames.locking import release, try_lock
from osdi_frames.messages import quoted_path

#: Pages in a file.
PAGES_IN_FILE = 100

_LOCK = ".lock"
_SUFFIX = ".ndjson.gz"
_GROWING = ".part"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other pulls out of a folder; `ArchiveLocked` where another one is writing."""
    lock = try_lock(folder / _LOCK)
    if lock is None:
        raise ArchiveLocked(f"another pull is writing into {quoted_path(folder)}")
    try:
        yield
    finally:
        release(lock)


def read_pages(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the envelopes of a file, in order."""
    with gzip.open(folder / name, "rb") as lines:
        yield from map(json.loads, lines)


class Batches:
    """The pages of one pull on disk, which several threads may add to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._part: Path | None = None
        self._pages = 0
        for part in sorted(folder.glob(f".pages-*{_SUFFIX}{_GROWING}")):
            with part.open("r+b") as file:
                file.truncate(_whole_members(file))  # a killed process may have left half a page behind them
            _publish(part)

    def keep(self, line: bytes) -> str:
        """Append one page, which stays even if the process is killed; return the name of its file."""
        member = gzip.compress(line, 6, mtime=0)
        with self._lock:
            part = self._part = self._part or self._next_part()
            size = part.stat().st_size
            try:
                with naming(_published(part)), part.open("ab") as file:
                    file.write(member)
            except OSError:
                os.truncate(part, size)  # the disk is full: no torn page before the next one
                raise
            self._pages += 1
            if self._pages >= PAGES_IN_FILE:
                self.close()
            return _published(part).name

    def names(self) -> list[str]:
        """Return the names of the files that are finished."""
        return sorted(path.name for path in self._folder.glob(f"pages-*{_SUFFIX}"))

    def close(self) -> None:
        """Publish the file that still grows; the next page begins another."""
        with self._lock:
            if self._part is not None:
                _publish(self._part)
            self._part, self._pages = None, 0

    def _next_part(self) -> Path:
        # After the last name, not the count: somebody may have taken a file away, and none is written over.
        last = (self.names() or ["pages-0000."])[-1]
        number = int(last.partition(".")[0].removeprefix("pages-")) + 1
        part = self._folder / f".pages-{number:04}{_SUFFIX}{_GROWING}"
        create_file(part).close()
        return part


def _publish(part: Path) -> None:
    """Rename a finished file; remove an empty one."""
    if part.stat().st_size == 0:
        part.unlink()
    else:
        publish_file(part, _published(part))


def _published(part: Path) -> Path:
    return part.with_name(part.name.removeprefix(".").removesuffix(_GROWING))


def _whole_members(file: BinaryIO) -> int:
    """Return how many bytes are whole gzip members."""
    whole, member = 0, zlib.decompressobj(wbits=31)
    with suppress(zlib.error):
        for piece in iter(lambda: file.read(1 << 16), b""):
            rest = piece
            while rest:
                member.decompress(rest)
                rest = member.unused_data
                if member.eof:
                    whole, member = file.tell() - len(rest), zlib.decompressobj(wbits=31)
    return whole
