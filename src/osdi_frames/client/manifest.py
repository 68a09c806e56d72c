"""The manifest of a pull: what was asked, what came, and whether that is all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from osdi_frames.archive.durable import write_file
from osdi_frames.client.reading import Collection

#: Its name in the folder of the pull: hidden, so that no reader of archives takes it for a document.
NAME = ".manifest.json"

UNFINISHED = "not finished: the pull is running, or was killed; call it again and it goes on"


@dataclass(frozen=True, slots=True)
class CollectionPulled:
    """What came of one collection.

    `rows` counts every row of every page that was read, `distinct_ids` the different records among them; a page that
    was read again counts again. The totals are what the service reported first and last; None where it reported none.
    """

    path: str
    complete: bool = False
    why: str = "not read"
    pages: int = 0
    rows: int = 0
    distinct_ids: int = 0
    duplicates: int = 0
    total_records_at_start: int | None = None
    total_records_at_end: int | None = None

    @classmethod
    def of(cls, collection: Collection, *, proof: str | None, failure: str | None = None) -> CollectionPulled:
        """Count the ledger of a collection; it is complete if there is a proof."""
        ledger = collection.ledger
        distinct, totals = len(ledger.ids), ledger.totals
        reasons = [each for each in (failure, collection.lack() if ledger.pages else "not read") if each]
        return cls(
            path=ledger.path,
            complete=proof is not None,
            why=proof or "; ".join(reasons),
            pages=len(ledger.pages),
            rows=ledger.rows,
            distinct_ids=distinct,
            duplicates=ledger.rows - distinct - ledger.rows_without_id,
            total_records_at_start=totals[0] if totals else None,
            total_records_at_end=totals[-1] if totals else None,
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pull asked for, what came, and whether it is complete.

    `complete` is true only if it is proved that every record of every collection came; `why` says the proof, or what
    is missing. The proof counts: as many different records came as the service reports. It cannot see that a record
    left a collection while another entered it (events are not deleted, interface 7, but a filter can let them go).
    `newest_modified_date` is where ``since="last"`` goes on.
    """

    folder: Path
    address: str
    version: str
    filter: str | None
    since: datetime | None
    started_at: datetime
    finished_at: datetime | None
    collections: tuple[CollectionPulled, ...]
    files: tuple[str, ...] = ()
    newest_modified_date: datetime | None = None

    @property
    def complete(self) -> bool:
        """Whether it is proved that every record came."""
        return self.finished_at is not None and all(each.complete for each in self.collections)

    @property
    def why(self) -> str:
        """The proof for each collection, or what is missing; a line each."""
        if self.finished_at is None:
            return UNFINISHED
        return "\n".join(
            f"{each.path}: {each.why}" for each in self.collections if self.complete or not each.complete
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """The collections, as paths below the service root."""
        return tuple(each.path for each in self.collections)

    def __str__(self) -> str:
        rows = sum(each.rows for each in self.collections)
        distinct = sum(each.distinct_ids for each in self.collections)
        pages = sum(each.pages for each in self.collections)
        said = "yes" if self.complete else "no"
        came = f"{_counted(pages, 'page')}, {_counted(rows, 'row')}, {_counted(distinct, 'distinct record')}"
        return f"{self.folder}: {came}\ncomplete: {said}\n{self.why}"

    def write(self) -> None:
        """Write it into its folder, as a whole or not at all."""
        stored = {"complete": self.complete, "why": self.why.split("\n")} | asdict(self)
        del stored["folder"]
        text = json.dumps(stored, indent=2, ensure_ascii=False, default=_written)
        write_file(self.folder / NAME, f"{text}\n".encode())


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a pull from its folder; None where there is none."""
    try:
        stored = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return _manifest(folder, stored)


def manifests(destination: Path) -> list[Manifest]:
    """Read the manifests of all pulls into a destination, the oldest first."""
    found = [read_manifest(path.parent) for path in destination.glob(f"*/{NAME}")]
    return sorted((each for each in found if each), key=lambda each: each.started_at)


def _manifest(folder: Path, stored: Mapping[str, Any]) -> Manifest:
    return Manifest(
        folder=folder,
        address=stored["address"],
        version=stored["version"],
        filter=stored["filter"],
        since=_moment(stored["since"]),
        started_at=datetime.fromisoformat(stored["started_at"]),
        finished_at=_moment(stored["finished_at"]),
        collections=tuple(CollectionPulled(**each) for each in stored["collections"]),
        files=tuple(stored["files"]),
        newest_modified_date=_moment(stored["newest_modified_date"]),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _written(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    raise TypeError(f"a manifest cannot hold {type(value).__name__}")
