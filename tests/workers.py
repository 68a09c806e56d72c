"""Workers of a cluster in this process: what they are given and what they find is pickled, as between machines."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

import dask
import pytest

import osdi_frames.dask
from osdi_frames.sources.partitions import SIZE


class Here(Executor):
    """Calls functions at once."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Call a function, of which and of whose result nothing but bytes travels."""
        future: Future[Any] = Future()
        function, args = _travelled((function, args))
        future.set_result(_travelled(function(*args)))
        return future


def _travelled(what: Any) -> Any:
    return pickle.loads(pickle.dumps(what))  # noqa: S301 (it was pickled here)


class Workers:
    """As much of a client of Dask as osdi-frames asks for."""

    def get_executor(self, *, pure: bool) -> Executor:
        """Return what parses parts; nothing that was found before is found again."""
        assert not pure
        return Here()

    def nthreads(self) -> dict[str, int]:
        """Return how many threads each worker has."""
        return {"here": 2}


@contextmanager
def workers(size: int = SIZE) -> Iterator[None]:
    """Let workers in this process parse parts of so many bytes."""
    with dask.config.set(scheduler="sync"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(osdi_frames.dask, "_client", Workers)
        patch.setattr(osdi_frames.dask, "SIZE", size)
        yield
