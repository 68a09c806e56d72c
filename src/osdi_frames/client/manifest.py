"""The manifest of a pull: what was asked, what came, and whether that is all of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from osdi_frames.archive.durable import write_file
from osdi_frames.client.answers import stamp
from osdi_frames.client.paging import latest
from osdi_frames.errors import counted, printable

#: Its name in the folder of the pull: hidden, so that no reader of archives takes it for a document.
NAME = ".manifest.json"


@dataclass(frozen=True, slots=True)
class CollectionPulled:
    """What came of one collection.

    `lists` counts the lists that were read: one, or one for each parent (each event's attendances). `rows` counts every
    row of every page, `distinct_ids` the different records among them; a page that was read again counts again. The
    totals are what the service reported first and last, summed over the lists; None where one reported none.
    `newest_modified_date` is where ``since="last"`` goes on.
    """

    name: str
    path: str
    since: datetime | None = None
    complete: bool = False
    why: str = "not read"
    lists: int = 0
    pages: int = 0
    rows: int = 0
    distinct_ids: int = 0
    duplicates: int = 0
    total_records_at_start: int | None = None
    total_records_at_end: int | None = None
    newest_modified_date: datetime | None = None


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
        return self.finished_at is not None and all(collection.complete for collection in self.collections)

    @property
    def why(self) -> str:
        """The proof for each collection, or what is missing; a line each."""
        if self.finished_at is None:
            return "not finished: the pull is running, or was killed; call it again and it goes on"
        lacking = [collection for collection in self.collections if not collection.complete]
        # Where a pull stopped is said, not what it did not come to.
        begun = [collection for collection in lacking if collection.lists or collection.why != "not read"]
        return "\n".join(
            printable(f"{collection.path}: {collection.why}")
            for collection in begun or lacking or self.collections
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the collections, parents first."""
        return tuple(collection.name for collection in self.collections)

    @property
    def requests(self) -> int:
        """How many answers were needed; retries and redirects are not counted."""
        return sum(collection.pages for collection in self.collections)

    @property
    def since(self) -> datetime | None:
        """From when on changes were asked for, in the first collection."""
        return self.collections[0].since if self.collections else None

    @property
    def newest_modified_date(self) -> datetime | None:
        """The newest change that was read."""
        return latest(collection.newest_modified_date for collection in self.collections)

    def __str__(self) -> str:
        rows = sum(collection.rows for collection in self.collections)
        distinct = sum(collection.distinct_ids for collection in self.collections)
        said = "yes" if self.complete else "no"
        came = f"{counted(self.requests, 'page')}, {counted(rows, 'row')}, {counted(distinct, 'distinct record')}"
        return f"{self.folder}: {came}\ncomplete: {said}\n{self.why}"

    def as_json(self) -> dict[str, Any]:
        """Return it as the values of JSON that its file holds."""
        derived = {"complete": self.complete, "why": self.why.split("\n"), "requests": self.requests}
        stored = derived | asdict(self)
        del stored["folder"]
        values: dict[str, Any] = json.loads(json.dumps(stored, default=stamp))
        return values

    def write(self) -> None:
        """Write it into its folder, as a whole or not at all."""
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False)
        write_file(self.folder / NAME, f"{text}\n".encode())


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a pull from its folder."""
    stored = json.loads((folder / NAME).read_text(encoding="utf-8"), object_hook=_with_moments)
    values = {name: stored[name] for name in _STORED}
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    values["collections"] = tuple(CollectionPulled(**collection) for collection in stored["collections"])
    return Manifest(folder, **values)


def manifests(destination: Path) -> list[Manifest]:
    """Read the manifests of all pulls into a destination, the oldest first."""
    found = (read_manifest(path.parent) for path in destination.glob(f"*/{NAME}"))
    return sorted(found, key=lambda manifest: manifest.started_at)


_STORED = [field.name for field in fields(Manifest) if field.name != "folder"]
_MOMENTS = ("started_at", "finished_at", "since", "newest_modified_date")


def _with_moments(values: dict[str, Any]) -> dict[str, Any]:
    moments = {name: values[name] for name in _MOMENTS if values.get(name)}
    return values | {name: datetime.fromisoformat(text) for name, text in moments.items()}
