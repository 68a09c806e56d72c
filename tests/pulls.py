"""Pulls as a client leaves them in a folder: pages, and a manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from osdi_frames.pulls import CollectionPulled, Manifest

#: Collections of a pull, in the order in which a client reads them.
PATHS = {
    "events": "events",
    "event_campaigns": "event_campaigns",
    "campaign_events": "event_campaigns/{id}/events",
    "petitions": "petitions",
    "signatures": "petitions/{id}/signatures",
    "attendances": "events/{id}/attendances",
    "people": "people",
}


def manifest_of(
    folder: Path,
    began: datetime,
    *,
    lasted: timedelta = timedelta(),
    names: Iterable[str] = ("events",),
    why: str = "",
    files: Sequence[str] = (),
    **fields: Any,
) -> Manifest:
    """Make the manifest of a pull of some collections; they are complete unless there is a reason `why` not."""
    collections = tuple(
        CollectionPulled(name, PATHS[name], complete=not why, why=why, files=tuple(files)) for name in names
    )
    fields = {
        "address": "https://example.org/api/v2",
        "version": "v2",
        "campaigns": None,
        "key_digest": "k",
    } | fields
    return Manifest(
        folder,
        started_at=began,
        finished_at=began + lasted,
        collections=collections,
        files=tuple(files),
        **fields,
    )


def write_pull(folder: Path, began: datetime, pages: dict[str, Sequence[Any]], **options: Any) -> Path:
    """Write a pull with the documents of each of its pages; return its folder."""
    folder.mkdir(parents=True)
    for name, documents in pages.items():
        (folder / name).write_text("".join(f"{json.dumps(document)}\n" for document in documents))
    manifest_of(folder, began, files=[*pages], **options).write()
    return folder
