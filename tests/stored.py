"""Readings with a store, in tests of readings: `both_ways` runs those of a module once more, as their long form."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from typing import Any

import pytest

from osdi_frames.parsing.parse import Observer
from osdi_frames.reader import Reader

__name__ = "osdi_frames.stored"  # warnings point at the first caller outside of the package


@pytest.fixture(autouse=True, params=["parsed", pytest.param("stored", marks=pytest.mark.long)])
def both_ways(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Read files as they are, or from a store that a reading before has filled."""
    if request.param == "parsed":
        return
    rows = Reader.rows

    @functools.wraps(rows)
    def stored(reader: Reader, *arguments: Any) -> Any:
        parts = reader.source if isinstance(reader.source, list | tuple) else [reader.source]
        if (
            len(reader.paths) < len(parts) or reader.store is not None
        ):  # parsed objects, open files, partitions
            return rows(reader, *arguments)
        kept = replace(reader, store=tmp_path_factory.mktemp("store"))
        with warnings.catch_warnings(action="ignore"):
            for _ in rows(kept, kept.resolution({}), Observer(None)):
                pass
        return rows(kept, *arguments)

    monkeypatch.setattr(Reader, "rows", stored)
