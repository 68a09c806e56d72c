"""The events of an archive as repeated pulls saw them, for reports on growth."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from osdi_frames.archive.source import Source
from osdi_frames.errors import SourceWarning, counted
from osdi_frames.problems import warn_caller
from osdi_frames.reading.frames import read_table

if TYPE_CHECKING:
    from osdi_frames.client import Manifest

_MANIFEST: Final = ".manifest.json"
_COLUMNS: Final = ("event_id", "fetched_at", "total_accepted", "event_campaign_id", "source_file")


def read_snapshots(
    source: Source, *, events: pd.DataFrame, prefix: str | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read each state of some events, as `rsvps_over_time` takes them, and lines that say what is not among them.

    A pull with a manifest is one moment: its end. One that is not complete would look like a loss or a
    sudden growth: it is left out. Problems are not reported, as the reading of `events` did. There are none
    without a time, nor where the source cannot be read a second time.
    """
    parts = source if isinstance(source, list | tuple) else [source]
    if any(hasattr(part, "read") for part in parts) or events["fetched_at"].isna().all():
        return pd.DataFrame(), ()
    with warnings.catch_warnings(action="ignore"):
        states = read_table(
            source, "events", columns=_COLUMNS, prefix=prefix, dedupe=False, on_error="skip", progress=False
        )
    states = states.dropna(subset=["event_id", "fetched_at"])
    states = states[states["event_id"].isin(events["event_id"].dropna())]
    partial = 0
    files = states["source_file"].dropna().unique()
    for pull in _manifests({folder for name in files for folder in Path(name).parents}):
        inside = np.array([pull.folder in Path(str(name)).parents for name in states["source_file"]], bool)
        if pull.complete and pull.finished_at:
            states["fetched_at"] = states["fetched_at"].mask(inside, pd.Timestamp(pull.finished_at))
        else:
            partial += 1
            states = states[~inside]
    said = f"{counted(partial, 'pull')} not complete, not drawn as growth"
    return states, (said,) if partial else ()


def warn_of_incomplete_pulls(folders: Iterable[Path]) -> None:
    """Warn where the newest pull into a folder lacks something, since the reports then lack it, too."""
    for folder in folders:
        newest = max(_manifests(folder.glob("*/")), key=lambda pull: pull.started_at, default=None)
        if newest and not newest.complete:
            warn_caller(f"the newest pull is not complete: {newest}", SourceWarning)


def _manifests(folders: Iterable[Path]) -> list[Manifest]:
    """Read the manifests of the folders that are pulls."""
    pulled = sorted(folder for folder in folders if (folder / _MANIFEST).is_file())
    if not pulled:
        return []
    from osdi_frames.client.folder import read_manifest  # with it comes the HTTP library

    return [read_manifest(folder) for folder in pulled]
