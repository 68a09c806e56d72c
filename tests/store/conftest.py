"""Archives and stores of tests of what a store keeps, and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from osdi_frames.store import matching, stamps

from .kept import signed


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.ndjson").write_bytes(signed(f"{name}1", f"{name}2"))
    return folder


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files were changed an hour ago: what is a second old is compared by its content."""
    now = stamps.time.time_ns
    monkeypatch.setattr(stamps.time, "time_ns", lambda: now() + 3600 * 10**9)


@pytest.fixture
def a_file_a_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SEGMENT_BYTES", 1)
