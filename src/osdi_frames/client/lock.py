"""One pull at a time in a folder: a lock that the system releases, and that is taken over where it could not."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from osdi_frames.archive.durable import try_lock
from osdi_frames.errors import PullRunning

try:
    import fcntl
except ImportError:  # Windows: two pulls at once are the caller's to avoid
    _FLOCK = False
else:
    _FLOCK = True

NAME = ".lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other pulls out of a folder.

    The system releases the lock when its process ends, but not while a child that the process forked lives on. The
    file names its owner; where that process has ended, a new lock replaces it.

    Raises
    ------
    PullRunning
        Another pull holds the lock; the message names its process.
    """
    if not _FLOCK:
        yield
        return
    with _one_at_a_time(folder):
        descriptor = _take(folder / NAME)
    try:
        yield
    finally:
        os.close(descriptor)


def _take(path: Path) -> int:
    descriptor = try_lock(path)
    if descriptor is None:
        owner = path.read_text(encoding="utf-8")
        if not _has_ended(owner):
            raise PullRunning(f"another pull is writing into {path.parent}{_named(owner)}")
        path.unlink()
        descriptor = try_lock(path)
        if descriptor is None:
            raise PullRunning(f"another pull is writing into {path.parent}")
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
    return descriptor


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let nobody else look at the lock meanwhile: two could take over the same one."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # not every file system can lock a folder
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _has_ended(owner: str) -> bool:
    """Return whether the process that a lock names is one of this machine, and has ended."""
    pid, host = _parsed(owner)
    if pid is None or host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _named(owner: str) -> str:
    pid, host = _parsed(owner)
    return f" (process {pid} on {host})" if pid else ""


def _parsed(owner: str) -> tuple[int | None, str]:
    try:
        found = json.loads(owner)
        return int(found["pid"]), str(found["host"])
    except (ValueError, TypeError, KeyError):
        return None, ""
