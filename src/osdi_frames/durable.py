"""Durable, private writing of files and folders, which appear as a whole or not at all.

Everything that is created here is readable by its owner only, mode 0600 and 0700, whatever the umask; folders that
exist keep their mode. What is published was synced to disk first.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from osdi_frames.locking import try_lock
from osdi_frames.messages import shortened_paths

try:
    import fcntl
except ModuleNotFoundError:  # on Windows
    fcntl = None  # type: ignore[assignment]

#: Ends the hidden name of a file that is being written.
PARTIAL = ".partial"

_NO_COMMAND = (
    errno.ENOTSUP,
    errno.EINVAL,
    errno.ENOTTY,
)  # of a file system that cannot empty its disk's cache
_LOCK, _NEW, _REPLACED = "lock", "new", "replaced"  # what a draft holds


#: What says that a disk or a quota is full, or a file as large as the system lets it be.
FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let the error of a full disk, or of a limit of the size of files, name the file that is written.

    The system names no file where a write fails, as opening one does.

    >>> with naming("out/signatures.csv"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'out/signatures.csv'
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error


def make_folder(path: Path) -> None:
    """Create a folder and its parents durably, readable by their owner alone."""
    with shortened_paths():
        if path.is_dir():
            return
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        path.chmod(0o700)  # mkdir applies the umask
        sync(path.parent)


def create_file(path: Path) -> BinaryIO:
    """Create a file that its owner alone can read, open for writing; raise FileExistsError if something is there."""
    path.touch(0o600, exist_ok=False)
    path.chmod(0o600)  # whatever the umask
    return path.open("wb")


@contextlib.contextmanager
def replacing(path: Path, *, partial: str = PARTIAL) -> Iterator[BinaryIO]:
    """Write a file that appears as a whole: a hidden file next to `path` takes its name at the end."""
    hidden = path.with_name(f".{path.name}{partial}")
    hidden.unlink(missing_ok=True)  # left by a process that was killed
    try:
        with naming(path), create_file(hidden) as file:
            yield file
            file.flush()
            flush(file.fileno())
        hidden.replace(path)
    except BaseException:
        hidden.unlink(missing_ok=True)  # a full disk needs the space
        raise
    sync(path.parent)


def write_file(path: Path, data: bytes) -> None:
    """Replace a file as a whole: readers see the old content or the new one, also after a power failure.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder, "a.txt"), b"one")
    ...     write_file(Path(folder, "a.txt"), b"two")
    ...     Path(folder, "a.txt").read_bytes(), os.listdir(folder)
    (b'two', ['a.txt'])
    """
    with replacing(path) as file:
        file.write(data)


def publish_file(new: Path, path: Path) -> None:
    """Move a finished file to its place, where it replaces another."""
    new.chmod(0o600)
    sync(new)
    new.replace(path)
    sync(path.parent)


def publish_folder(new: Path, target: Path) -> None:
    """Move the finished folder of a draft to its place; one that is there moves into the draft.

    That is one step where the system has it, so that there is a folder at any time. A replaced folder passes its mode
    on.
    """
    for path in (new, *new.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
        sync(path)
    if target.is_dir():
        new.chmod(target.stat().st_mode & 0o7777)
    try:
        new.rename(target)  # where nothing is, or an empty folder
    except OSError:
        if not os.path.lexists(target):
            raise
        _exchange(new, target)
    sync(target.parent)


@contextlib.contextmanager
def draft(target: Path, discard: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """Create a folder in a hidden one next to `target`, in which `target` or its content is prepared.

    It is removed at the end. Drafts of the same target that killed processes left are removed at the beginning, and
    folders above `target` that are empty at the end and were not there at the beginning. `discard` is called with each
    folder that `publish_folder` has replaced: others may have written into it until then.
    """
    with shortened_paths(), contextlib.suppress(FileNotFoundError):
        target.lstat()  # no name, as it is too long or below a file
    above = [folder for folder in target.parents if not folder.exists()]
    make_folder(target.parent)
    clear_drafts(target, discard)
    descriptor = None
    while descriptor is None:  # else another process took it for a dead one's before it was locked
        folder = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        with contextlib.suppress(FileNotFoundError):
            descriptor = try_lock(folder / _LOCK)
    try:
        make_folder(folder / _NEW)
        with _named_as_published(folder / _NEW, target):
            yield folder / _NEW
    finally:
        try:
            _clear(folder, descriptor, target, discard)
        finally:
            with contextlib.suppress(OSError):  # in one that is not empty
                for made in above:
                    made.rmdir()


@contextlib.contextmanager
def _named_as_published(new: Path, target: Path) -> Iterator[None]:
    """Let the error of a full disk name what a file of a draft was to become."""
    try:
        with naming(target):
            yield
    except OSError as error:
        path = Path(error.filename) if error.errno in FULL and isinstance(error.filename, str) else Path()
        if new not in path.parents:
            raise
        inside = path.relative_to(new)
        published = target if inside == Path(target.name) else target / inside
        raise OSError(error.errno, error.strerror, str(published)) from error


def clear_drafts(target: Path, discard: Callable[[Path], None] | None = None) -> None:
    """Remove the drafts that ended processes left."""
    for folder in target.parent.iterdir():
        descriptor = None
        if folder.name.startswith(_prefix(target)) and folder.is_dir() and not folder.is_symlink():
            with contextlib.suppress(OSError):  # another's, or a file system without locks
                descriptor = try_lock(folder / _LOCK)
        if descriptor is not None:
            _clear(folder, descriptor, target, discard)


def _clear(folder: Path, lock: int, target: Path, discard: Callable[[Path], None] | None) -> None:
    """Remove a locked draft; put back what it replaced if nothing took its place, else discard it."""
    shutil.rmtree(folder / _NEW, ignore_errors=True)
    replaced_ones: list[Path] = []
    try:
        with contextlib.suppress(
            FileNotFoundError
        ):  # a process that was at its end has just removed the draft
            replaced_ones = sorted(folder.glob(f"{_REPLACED}*"))
        for replaced in replaced_ones:
            if not os.path.lexists(target):
                replaced.rename(target)
            elif discard:
                discard(replaced)
    finally:
        os.close(lock)  # Windows removes no open file; who locks it now finds nothing left to do
        with contextlib.suppress(OSError):  # what was not discarded stays
            (folder / _LOCK).unlink(missing_ok=True)
            folder.rmdir()


def _prefix(target: Path) -> str:
    return f".{target.name[:40]}.osdi-frames-"  # file systems allow 255 bytes


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, to disk; Windows cannot open a folder."""
    is_folder = path.is_dir()
    if is_folder and not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)  # Windows syncs what can be written
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def flush(descriptor: int) -> None:
    """Write what an open file holds to disk, and not only to its cache, where macOS leaves it."""
    command = getattr(fcntl, "F_FULLFSYNC", None)
    try:
        if command is not None:
            fcntl.fcntl(descriptor, command)
            return
    except OSError as error:
        if error.errno not in _NO_COMMAND:
            raise
    os.fsync(descriptor)


def _exchange(new: Path, target: Path) -> None:
    """Exchange what is at two paths: what was at `target` is in the draft then."""
    replaced = new.with_name(_REPLACED)
    new.rename(replaced)  # whoever clears the draft looks at it from here on, whichever of the two it is
    if _swapped(replaced, target):
        return
    replaced.rename(new)
    for number in itertools.count():  # again where others have made something between the two steps
        with contextlib.suppress(FileNotFoundError):
            target.rename(new.with_name(f"{_REPLACED}-{number}"))
        try:
            new.rename(target)
        except OSError:
            if not os.path.lexists(target):
                raise
        else:
            return


def _swapped(path: Path, other: Path) -> bool:
    """Exchange two paths in one step, and return whether the system can do that."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)  # not in every libc
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename is not None and rename(here, os.fsencode(path), here, os.fsencode(other), exchange) == 0
