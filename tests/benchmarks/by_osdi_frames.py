"""The same in osdi-frames."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb  # noqa: F401 (a reading imports it; of no contestant are imports counted)
import pandas as pd
import pyarrow as pa

import osdi_frames as of
from osdi_frames import reader  # noqa: F401 (as well)
from osdi_frames.errors import ProblemsWarning

_HANDLES: dict[str, of.Archive] = {}


def scan(path: str) -> pa.Table:
    """Read every column of every signature, of a file or of a folder."""
    return of.open(path).scan("signatures", dedupe=False).read_all()


def to_pandas(path: str) -> pd.DataFrame:
    """Read every column of every signature into pandas."""
    return of.read_signatures(path, dedupe=False)


def by_source(path: str) -> pd.DataFrame:
    """Count signatures and people by source, of each signature the newest version.

    The queries by hand do not know which spellings are one source.
    """
    return _by_source(of.open(path))


def _by_source(archive: of.Archive) -> pd.DataFrame:
    signatures = archive.signatures(["source", "person_id", "created_date"])
    return of.signatures_by_source(signatures, spelling="exact").reset_index()


def skipped(path: str) -> dict[str, int]:
    """Read every column of every signature, and pass over values that do not fit."""
    with warnings.catch_warnings(action="ignore", category=ProblemsWarning):
        rows = of.open(path, on_error="skip").scan("signatures", dedupe=False).read_all()
    return {"rows": len(rows)}


def again(path: str) -> pd.DataFrame:
    """Count signatures and people by source, with a handle that has been asked before."""
    return _by_source(_HANDLES[path])


@contextmanager
def again_within(path: str) -> Iterator[None]:
    """Ask the handle before the time is taken, so that it keeps what it parses and resolves."""
    _HANDLES[path] = of.open(path)
    for _ in range(3):
        _by_source(_HANDLES[path])
    yield


def streamed(path: str) -> dict[str, int]:
    """Read every column of every signature, a batch at a time, and keep none."""
    return {"rows": sum(batch.num_rows for batch in of.open(path).scan("signatures", dedupe=False))}


def streamed_deduped(path: str) -> dict[str, int]:
    """Read the same of the newest version of every signature."""
    return {"rows": sum(batch.num_rows for batch in of.open(path).scan("signatures"))}
