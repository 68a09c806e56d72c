"""The same in osdi-frames."""

from __future__ import annotations

import duckdb  # noqa: F401 (a reading imports it; of no contestant are imports counted)
import pandas as pd
import pyarrow as pa

import osdi_frames as of
from osdi_frames import reader  # noqa: F401 (as well)


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
    columns = ["source", "person_id", "created_date"]
    signatures = of.read_signatures(path, columns=columns)
    return of.signatures_by_source(signatures, spelling="exact").reset_index()


def streamed(path: str) -> dict[str, int]:
    """Read every column of every signature, a batch at a time, and keep none."""
    return {"rows": sum(batch.num_rows for batch in of.open(path).scan("signatures", dedupe=False))}


def streamed_deduped(path: str) -> dict[str, int]:
    """Read the same of the newest version of every signature."""
    return {"rows": sum(batch.num_rows for batch in of.open(path).scan("signatures"))}
