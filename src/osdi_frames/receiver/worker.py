"""One worker's folder: its lock, log and quarantine.

::

    archive/main/.lock                                   held by the process that writes here
    archive/main/2026-11-21/000000000001.ndjson.zst      deliveries
    archive/main/.quarantine/2026-11-21/000000000001.ndjson.zst   bodies that are not deliveries
    archive/main/.quarantine/torn/000000000838-5120-0a1b2c3d4e5f.torn   ends of files, cut off after a crash
"""

from __future__ import annotations

import logging
import os
import re
import time
from pathlib import Path

from osdi_frames.durable import flush, make_folder, naming, sync
from osdi_frames.errors import ArchiveLocked, InvalidArgument, SourceNotFound
from osdi_frames.locking import is_locked, try_lock
from osdi_frames.messages import quoted, quoted_path, shortened_paths
from osdi_frames.receiver.segments import Log, check_identity
from osdi_frames.sources.files import QUARANTINE

#: The folder in a worker's in which the torn ends of files are kept.
TORN = f"{QUARANTINE}/torn"

#: Seconds that a receiver waits at its start for an erasure, which owns the folder while it seals segments.
ERASURE_SECONDS = 60.0

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

logger = logging.getLogger(__name__)


class Worker:
    """A worker's folder, owned until it is closed; `ArchiveLocked` where another process owns it.

    A receiver waits until an erasure releases the folder; one that `erases` waits for nobody.
    """

    def __init__(self, archive: Path, name: str, *, segment_bytes: int, erases: bool = False) -> None:
        check_name(name)
        self.folder = archive / name
        make_folder(self.folder)
        self._lock = self._locked_to_erase() if erases else self._locked()
        make_folder(self.folder / QUARANTINE)
        for folder in (archive, self.folder, self.folder / QUARANTINE):
            sync(folder)  # a start that was killed can have made the folders in it
        self.deliveries, self.quarantine = (
            Log(folder, torn=self.folder / TORN, segment_bytes=segment_bytes)
            for folder in (self.folder, self.folder / QUARANTINE)
        )

    def check_lock(self) -> None:
        """Raise ``OSError`` when the lock file was moved, since another process could own the folder."""
        check_identity(self.folder / ".lock", self._lock)

    def probe(self) -> None:
        """Prove that an append and a sync work, or raise ``OSError``.

        The file is new each time: rewriting an old one would succeed on a full disk.
        """
        self.check_lock()
        self.deliveries.check()
        self.quarantine.check()
        path = self.folder / ".probe"
        try:
            with naming(path), path.open("ab") as file:
                file.write(bytes(4096))
                file.flush()
                flush(file.fileno())
        finally:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files and unlock the folder."""
        self.deliveries.close()
        self.quarantine.close()
        os.close(self._lock)

    def _locked(self) -> int:
        path, end, is_said = self.folder / ".lock", time.monotonic() + ERASURE_SECONDS, False
        while (descriptor := try_lock(path)) is None:
            if is_locked(path) or time.monotonic() > end:
                raise locked(self.folder)
            if is_locked(self.folder / ".erasing") and not is_said:  # else `is_locked` has it, for a moment
                logger.warning(
                    "%s: an erasure holds the archive; waiting for it, %g s at most",
                    quoted_path(self.folder),
                    ERASURE_SECONDS,
                )
                is_said = True
            time.sleep(0.05)
        return descriptor

    def _locked_to_erase(self) -> int:
        """Lock the folder shared, by which a receiver recognises an erasure."""
        descriptor = try_lock(self.folder / ".lock", shared=True)
        if descriptor is None:
            raise locked(self.folder)
        return descriptor


def check_name(name: str) -> None:
    """Raise `InvalidArgument` for a name that cannot be a folder's."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"a worker's name is made of letters, digits and . _ -, not {quoted(name)}")


def worker_folders(archive: Path) -> list[Path]:
    """List the workers' folders of an archive; raise `SourceNotFound` where no receiver has written."""
    with shortened_paths():
        found = {path.parent for name in (".lock", QUARANTINE) for path in archive.glob(f"*/{name}")}
    if not found:
        raise SourceNotFound(
            f"{quoted_path(archive)}: no archive of the receiver; osdi-frames check looks at any archive"
        )
    return sorted(found)


def locked(folder: Path) -> ArchiveLocked:
    """Return the error for another process's folder."""
    return ArchiveLocked(
        f"{quoted_path(folder)}: another receiver writes here, or an erasure does; "
        "give this one a name of its own with --worker"
    )
