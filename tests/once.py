"""What is made once in a run: by the first worker that needs it, in a folder that all of them share."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from osdi_frames.locking import release, wait_for_lock

Made = TypeVar("Made")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a file or folder, which no test may change; make it where no other worker has."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    path, unfinished = folder / name, folder / f"{name}.unfinished"
    lock = wait_for_lock(folder / f"{name}.lock")
    try:
        if not path.exists():
            make(unfinished)
            unfinished.rename(path)
    finally:
        release(lock)
    return path


def read_once(factory: pytest.TempPathFactory, name: str, read: Callable[[], Made]) -> Made:
    """Return a value; all workers have copies of the one that the first of them made."""
    path = made_once(factory, name, lambda path: path.write_bytes(pickle.dumps(read())))
    made: Made = pickle.loads(path.read_bytes())  # noqa: S301 (of this run)
    return made
