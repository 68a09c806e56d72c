"""The manifest of a pull: what was asked, what came, and whether that is all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from osdi_frames.archive.durable import write_file
from osdi_frames.client.tally import CollectionPulled
from osdi_frames.errors import counted, printable

#: Its name in the folder of the pull: hidden, so that no reader of archives takes it for a document.
NAME = ".manifest.json"

UNFINISHED = "not finished: the pull is running, or was killed; call it again and it goes on"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pull asked for, what came, and whether it is complete.

    `complete` is true only if it is proved that every record of every collection came; `why` says the proof, or what
    is missing. The proof counts: as many different records came as the service reports. It cannot see that a record
    left a collection while another entered it (events are not deleted, interface 7, but a filter can let them go).
    `campaigns` are the ids that were given; None where the campaigns were listed.
    """

    folder: Path
    address: str
    version: str
    filter: str | None
    campaigns: tuple[str, ...] | None
    started_at: datetime
    finished_at: datetime | None
    collections: tuple[CollectionPulled, ...]
    files: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it is proved that every record came."""
        return self.finished_at is not None and all(each.complete for each in self.collections)

    @property
    def why(self) -> str:
        """The proof for each collection, or what is missing; a line each."""
        if self.finished_at is None:
            return UNFINISHED
        lacking = [each for each in self.collections if not each.complete]
        # Where a pull stopped is said, not what it did not come to.
        begun = [each for each in lacking if each.lists or each.why != "not read"]
        return "\n".join(
            printable(f"{each.path}: {each.why}") for each in begun or lacking or self.collections
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the collections, parents first."""
        return tuple(each.name for each in self.collections)

    @property
    def requests(self) -> int:
        """How many answers were needed; retries and redirects are not counted."""
        return sum(each.pages for each in self.collections)

    @property
    def since(self) -> datetime | None:
        """From when on changes were asked for, in the first collection."""
        return self.collections[0].since if self.collections else None

    @property
    def newest_modified_date(self) -> datetime | None:
        """The newest change that was read."""
        return max(
            (each.newest_modified_date for each in self.collections if each.newest_modified_date),
            default=None,
        )

    def __str__(self) -> str:
        rows = sum(each.rows for each in self.collections)
        distinct = sum(each.distinct_ids for each in self.collections)
        pages = sum(each.pages for each in self.collections)
        said = "yes" if self.complete else "no"
        came = f"{counted(pages, 'page')}, {counted(rows, 'row')}, {counted(distinct, 'distinct record')}"
        return f"{self.folder}: {came}\ncomplete: {said}\n{self.why}"

    def as_json(self) -> dict[str, Any]:
        """Return it as the values of JSON that its file holds."""
        derived = {"complete": self.complete, "why": self.why.split("\n"), "requests": self.requests}
        stored = derived | asdict(self)
        del stored["folder"]
        values: dict[str, Any] = json.loads(json.dumps(stored, default=_written))
        return values

    def write(self) -> None:
        """Write it into its folder, as a whole or not at all."""
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False)
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
        campaigns=None if stored["campaigns"] is None else tuple(stored["campaigns"]),
        started_at=datetime.fromisoformat(stored["started_at"]),
        finished_at=_moment(stored["finished_at"]),
        collections=tuple(_collection(each) for each in stored["collections"]),
        files=tuple(stored["files"]),
    )


def _collection(stored: Mapping[str, Any]) -> CollectionPulled:
    moments = {name: _moment(stored[name]) for name in ("since", "newest_modified_date")}
    return CollectionPulled(**{**stored, **moments})


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _written(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    raise TypeError(f"a manifest cannot hold {type(value).__name__}")
