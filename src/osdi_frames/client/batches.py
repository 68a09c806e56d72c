"""The files of a pull: each page is appended as it comes, a file a batch.

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
from pathlib import Path
from typing import Any, BinaryIO

from osdi_frames.archive.durable import create_file, sync

#: Pages in a file.
FULL = 100

_SUFFIX = ".ndjson.gz"
_GROWING = ".part"
_BLOCK = 1 << 16


class Batches:
    """The pages of one pull on disk. Several threads may keep pages."""

    def __init__(self, folder: Path, *, full: int = FULL) -> None:
        self._folder = folder
        self._full = full
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._pages = 0
        for part in sorted(folder.glob(f".pages-*{_SUFFIX}{_GROWING}")):
            _mend(part)
            _publish(part)

    def keep(self, line: bytes) -> None:
        """Append one page; it stays when this returns, even if the process is killed."""
        member = gzip.compress(line, 6, mtime=0)
        with self._lock:
            file = self._file = self._file or self._next_file()
            size = file.tell()
            try:
                _write_all(file, member)
            except OSError:
                file.truncate(size)  # the disk is full: no torn page before the next one
                file.seek(size)
                raise
            self._pages += 1
            if self._pages >= self._full:
                self._finish()

    def read(self) -> Iterator[dict[str, Any]]:
        """Return every envelope that was kept, in the order in which it came."""
        for path in _finished(self._folder):
            with gzip.open(path, "rb") as lines:
                yield from (json.loads(line) for line in lines)

    def names(self) -> list[str]:
        """Return the names of the files that are finished."""
        return [path.name for path in _finished(self._folder)]

    def close(self) -> None:
        """Let the file that still grows take its name; the next page begins another."""
        with self._lock:
            self._finish()

    def _next_file(self) -> BinaryIO:
        # After the last name, not the count: somebody may have taken a file away, and none is written over.
        last = _finished(self._folder)[-1:]
        number = int(last[0].name.split(".")[0].removeprefix("pages-")) + 1 if last else 1
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


def _finished(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"pages-*{_SUFFIX}"))


def _publish(part: Path) -> None:
    """Let a file take its name; one without a page is removed."""
    if part.stat().st_size == 0:
        part.unlink()
        return
    part.replace(part.with_name(part.name.removeprefix(".").removesuffix(_GROWING)))
    sync(part.parent)


def _mend(part: Path) -> None:
    """Cut off what a killed process left of its last page."""
    with part.open("r+b") as file:
        file.truncate(_whole_members(file))
        os.fsync(file.fileno())


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


def _write_all(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
