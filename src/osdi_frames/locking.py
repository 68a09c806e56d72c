"""Files as locks between processes, in the way of each system; a lock ends with its process."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from osdi_frames.errors import UnsupportedSystem

try:
    import fcntl
except ModuleNotFoundError:  # on Windows, whose locks are not shared
    fcntl = None  # type: ignore[assignment]
    import msvcrt


def try_lock(path: Path, *, shared: bool = False) -> int | None:
    """Open and lock a file, alone or `shared`, until the descriptor is closed.

    Return None if another process holds it or has removed the file.
    """
    # A file system that is only read has shared locks, too.
    descriptor = os.open(path, (os.O_RDONLY if shared else os.O_RDWR) | os.O_CREAT, 0o600)
    taken = False
    try:
        with contextlib.suppress(OSError):  # another user's file; one that was removed, or can only be read
            path.chmod(0o600)  # whatever the umask
        taken = _taken(descriptor, shared=shared) and os.fstat(descriptor).st_nlink > 0
    finally:
        if not taken:
            os.close(descriptor)
    return descriptor if taken else None


def wait_for_lock(path: Path) -> int:
    """Open and lock a file alone, as soon as no other process holds it; not on Windows."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def release(descriptor: int) -> None:
    """Give a lock back, which a process that was forked meanwhile would keep, and close the file."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether a process holds a file alone, as the receiver does; not on Windows, where it does not run."""
    if fcntl is None:
        return False
    try:
        with path.open("rb") as file:
            return not _taken(file.fileno(), shared=True)
    except OSError:
        return False


def require_shared_locks() -> None:
    """Raise `UnsupportedSystem` where locks cannot be shared, which the receiver and erasures need."""
    if fcntl is None:
        raise UnsupportedSystem(
            "the receiver runs on Linux and macOS, not on Windows, which has no locks that processes share;"
            " run it in WSL, or on a server"
        )


def _taken(descriptor: int, *, shared: bool) -> bool:
    if fcntl is None:
        with contextlib.suppress(PermissionError, BlockingIOError):
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            return True
        return False
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return True
    return False
