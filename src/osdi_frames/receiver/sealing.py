"""Seal finished segments in the background: cut a torn tail off, compress, replace.

At every moment the lines are complete under one of the two names: the compressed file is written, synced and
read back before the plain one is removed. Between these two steps both exist with the same content.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from osdi_frames.archive.durable import PARTIAL, replacing, sync
from osdi_frames.receiver.segments import Log, Segment, ZstdFile, segments, set_aside

_RETRY_SECONDS = 30.0

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """Sealing was asked to stop; the next start takes it up again."""


def seal(segment: Segment, *, torn: Path, below: int, stop: threading.Event) -> None:
    """Replace a plain segment by its compressed form, after its tail was cut off."""
    set_aside(segment.path, torn, below=below)
    if not segment.path.exists():
        return
    write_sealed(_until(stop, segment.chunks()), segment.sealed_path)
    segment.path.unlink()
    sync(segment.path.parent)


def write_sealed(chunks: Iterable[bytes], path: Path, *, partial: str = PARTIAL) -> None:
    """Write a sealed segment durably, in place of one that may be there, and only once it reads back."""
    with replacing(path, partial=partial) as file:
        with ZstdFile(file, "wb", level=1) as stream:
            digest = _digest(chunks, copy=stream.write)
        file.flush()
        if _digest(Segment(0, True, Path(file.name)).chunks()) != digest:
            raise OSError(f"{path}: what was written cannot be read back")


def seal_finished(log: Log, *, stop: threading.Event) -> None:
    """Seal every segment of a log that is no longer written, the oldest first."""
    bound = log.writing_from
    found = segments(log.folder)
    for segment in found:
        if not segment.sealed and segment.first < bound:
            below = min((later.first for later in found if later.first > segment.first), default=bound)
            seal(segment, torn=log.torn, below=min(below, bound), stop=stop)


class Sealer(threading.Thread):
    """Seals the finished segments of some logs whenever it is woken, and again after a failure."""

    def __init__(self, logs: Sequence[Log]) -> None:
        super().__init__(name="osdi-frames-sealer", daemon=True)
        self._logs = logs
        self._wake = threading.Event()
        self._stopping = threading.Event()

    def wake(self) -> None:
        """Signal that a segment was finished."""
        self._wake.set()

    def stop(self) -> None:
        """Stop within one chunk of work, and wait for it."""
        self._stopping.set()
        self._wake.set()
        self.join()

    def run(self) -> None:
        """Seal until it is stopped."""
        wait: float | None = 0.0
        while not self._stopping.is_set():
            self._wake.wait(wait)
            self._wake.clear()
            wait = None
            try:
                for log in self._logs:
                    seal_finished(log, stop=self._stopping)
            except Stopped:
                return
            except OSError as error:
                logger.warning("a segment stays uncompressed for now: %s", error)
                wait = _RETRY_SECONDS


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
