"""What a handle keeps of its own readings: stores in temporary folders, which are removed with it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Final

from osdi_frames.errors import InvalidArgument
from osdi_frames.locking import release, try_lock
from osdi_frames.store.stamps import Status, status

if TYPE_CHECKING:
    from osdi_frames.parsing.plan import Plan
    from osdi_frames.sources.limits import Limits
    from osdi_frames.sources.source import Part
    from osdi_frames.store.store import Store

#: Bytes of files from which on a handle keeps what it reads: fewer are parsed as quickly as they are read.
KEPT_BYTES = 8 << 20
_MOST: Final = 3  # stores of a handle
_PREFIX: Final = ".osdi-frames-handle-"  # hidden, so that readers of what is around it pass it over
_LIVING: Final = ".living"  # a file that a process locks as long as it has the folder


class TemporaryStores(list["Store"]):
    """The stores of a handle, each with the columns of one of its readings; of the first reading nothing is kept."""

    is_read = False
    """Whether the handle has been read."""
    statuses: Sequence[Status | None] = ()
    """Those of the files when one of the stores was last asked for."""

    def __reduce__(self) -> tuple[type[TemporaryStores], tuple[()]]:
        return TemporaryStores, ()  # what is kept is of this process

    def find(
        self, paths: Iterable[str], parts: Iterable[Part], plan: Plan, shown: Plan, limits: Limits
    ) -> Store | None:
        """Return a store that has the columns of both plans, or else one of the first; None where none can be made.

        After a file has changed, as by an erasure, no other is kept: a reading brings only its own up to date.
        """
        self[:] = [store for store in self if store.folder.is_dir()]
        found = next((one for one in self if one.whole.covers(plan) and one.whole.covers(shown)), None)
        before, self.statuses = self.statuses, [*map(status, parts)]
        if before != self.statuses:
            self[:] = [found] if found else []
        if found is None:
            # An archive can be around temporary files, and their disk full.
            with contextlib.suppress(OSError, InvalidArgument):
                found = _made(paths, plan, limits)
                self[:] = [found, *self][:_MOST]
        return found


def _made(paths: Iterable[str], whole: Plan, limits: Limits) -> Store:
    """Make a store whose folder is removed when nothing refers to it, or when this process ends."""
    from osdi_frames.store.store import Store  # a handle that is read once needs no Parquet

    folder, lock = Path(tempfile.mkdtemp(prefix=_PREFIX)), None
    try:
        lock = try_lock(folder / _LIVING)
        _remove_left(folder)
        store = replace(Store.of(folder, paths, whole, limits), is_temporary=True)
    except BaseException:
        _end(folder, lock)
        raise
    # Unlike `weakref.finalize` it also runs when a worker of multiprocessing ends, and never in a forked process.
    Finalize(store, _end, (folder, lock), exitpriority=0)
    return store


def _end(folder: Path, lock: int | None) -> None:
    """Remove a folder, whose file may be locked by this process."""
    if lock is not None:
        release(lock)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_left(folder: Path) -> None:
    """Remove the folders beside one that killed processes of its owner have left."""
    owner = folder.stat().st_uid
    for left in folder.parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another process removes it, too
            if left.lstat().st_uid == owner and (left / _LIVING).exists():
                lock = try_lock(left / _LIVING)
                if lock is not None:
                    _end(left, lock)
