"""What tests of stores write, and look for in them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import osdi_frames as of
from osdi_frames.sources import streams
from tests.layouts import lines


def signed(*names: str) -> bytes:
    return lines(
        [{"osdi:signature": {"identifiers": [f"platform:{name}"], "comments": name}}] for name in names
    )


def comments(archive: Path, kept: Path | None, **options: Any) -> list[str]:
    return of.open(archive, store=kept, **options).signatures(["comments"])["comments"].tolist()


def every(archive: Path, kept: Path | None) -> list[str]:
    rows = of.open(archive, store=kept).signatures(["comments"], dedupe=False)
    return rows["comments"].tolist()


def segments(kept: Path) -> dict[str, dict[str, Any]]:
    return {
        path.parent.name: json.loads(streams.zstd.decompress(path.read_bytes()))
        for path in kept.glob("*/segment.about")
    }


_opened: list[str] = []
sys.addaudithook(lambda event, arguments: _opened.append(str(arguments[0])) if event == "open" else None)


def opened(folder: Path, call: Callable[[], object]) -> set[str]:
    """Return the names of the files in a folder that a call opens."""
    _opened.clear()
    call()
    return {Path(path).name for path in _opened if path.startswith(f"{folder}/")}
