"""Readings of what does not fit: what stops them, what skipping keeps, what `check` lists."""

from __future__ import annotations

from typing import Any

import pytest

import osdi_frames as of
from osdi_frames.errors import BadDocument, ProblemsWarning
from osdi_frames.problems import ProblemKind

GOOD = {"identifiers": ["platform:good"], "title": "Good", "total_accepted": 1}
SIGNED = [{"osdi:signature": {"identifiers": ["platform:good"]}}]


#: What may have lost what it should hold, so that nobody is advised to pass over it.
NOTHING_INSIDE = (ProblemKind.NO_DOCUMENT, ProblemKind.NO_TYPE, ProblemKind.QUARANTINE)


def event(**keys: Any) -> dict[str, Any]:
    return {"identifiers": ["platform:bad"], "total_accepted": 1} | keys


def signature(**keys: Any) -> list[Any]:
    return [{"osdi:signature": {"identifiers": ["platform:bad"]} | keys}]


def skipped(source: Any, table: str) -> tuple[list[dict[str, Any]], str]:
    """Read a table passing over problems; give its rows and the one warning."""
    with pytest.warns(ProblemsWarning) as caught:
        rows = of.open(source, on_error="skip").scan(table).read_all().to_pylist()
    assert len(caught) == 1
    return rows, str(caught[0].message)


def message(source: Any, table: str) -> str:
    """Read a table strictly, and give what stops it, without the remedy that each names."""
    with pytest.raises(BadDocument) as stopped:
        of.open(source).scan(table).read_all()
    said, _, remedy = str(stopped.value).rpartition("; ")
    assert remedy == "osdi_frames.check lists all"
    said, _, remedy = said.rpartition("; ")
    holds_nothing = any(kind in said for kind in NOTHING_INSIDE)
    assert remedy.startswith(
        "nothing that the service sends" if holds_nothing else 'open it with on_error="skip"'
    )
    return said


def listed(source: Any) -> list[tuple[Any, ...]]:
    """Return what `check` lists but for what is merely not read."""
    found = of.check(source)
    found = found[found["severity"] != "info"]
    found = found.astype(object).where(found.notna(), None)
    return list(found.itertuples(index=False, name=None))
