"""The manifest of a pull, and its proof.

It lists what was asked for and received, and proves that nothing is missing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from osdi_frames.durable import write_file
from osdi_frames.errors import counted, printable
from osdi_frames.quoting import located

#: The name of a manifest: hidden, so that no reader of archives takes it for a document.
MANIFEST = ".manifest.json"


def stamp(moment: datetime) -> str:
    """Write a moment as archives and manifests have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


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
    """What a pull asked for and received.

    `complete` is true only if it is proved that every record of every collection came; `why` says the proof, or what
    is missing. The proof counts: as many different records came as the service reports. It cannot see that a record
    left a collection while another entered it (events are not deleted, interface 7).
    `campaigns` are the ids that were given; None where the campaigns were listed.
    """

    folder: Path
    address: str
    version: str
    campaigns: tuple[str, ...] | None
    started_at: datetime
    finished_at: datetime | None = None
    collections: tuple[CollectionPulled, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it is proved that every record came."""
        return self.finished_at is not None and all(collection.complete for collection in self.collections)

    @property
    def why(self) -> str:
        """The proof for each collection, or its lack.

        Each has a line.
        """
        if self.finished_at is None:
            return "not finished: the pull is running, or was killed; call it again and it goes on"
        lacking = [collection for collection in self.collections if not collection.complete]
        # Where a pull stopped is said, not what it did not come to.
        begun = [collection for collection in lacking if collection.lists or collection.why != "not read"]
        shown = begun or lacking or self.collections
        return "\n".join(printable(f"{collection.path}: {collection.why}") for collection in shown)

    @property
    def requests(self) -> int:
        """How many answers were needed.

        Retries and redirects are not counted.
        """
        return sum(collection.pages for collection in self.collections)

    def __str__(self) -> str:
        rows = sum(collection.rows for collection in self.collections)
        distinct = sum(collection.distinct_ids for collection in self.collections)
        said = "yes" if self.complete else "no"
        came = f"{counted(self.requests, 'page')}, {counted(rows, 'row')}, {counted(distinct, 'distinct record')}"
        each = " (of each collection)" if len(self.collections) > 1 else ""  # an event can be in two of them
        return f"{located(self.folder)}: {came}{each}\ncomplete: {said}\n{self.why}"

    def as_json(self) -> dict[str, Any]:
        """Return the values of its JSON file."""
        derived = {"complete": self.complete, "why": self.why.split("\n"), "requests": self.requests}
        stored = derived | asdict(self)
        del stored["folder"]
        return dict(json.loads(json.dumps(stored, default=stamp)))

    def write(self) -> None:
        """Write it into its folder, atomically."""
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False)
        write_file(self.folder / MANIFEST, f"{text}\n".encode())


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a pull from its folder."""
    stored = json.loads((folder / MANIFEST).read_text(encoding="utf-8"), object_hook=_parsed)
    values = {field.name: stored[field.name] for field in fields(Manifest) if field.name != "folder"}
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return Manifest(folder, **values | lists)


def manifests(destination: Path) -> list[Manifest]:
    """Read the manifests of all pulls, oldest first."""
    found = (read_manifest(path.parent) for path in destination.glob(f"*/{MANIFEST}"))
    return sorted(found, key=lambda manifest: manifest.started_at)


def _parsed(values: dict[str, Any]) -> dict[str, Any] | CollectionPulled:
    for name in ("started_at", "finished_at", "since", "newest_modified_date"):
        if text := values.get(name):
            values[name] = datetime.fromisoformat(text)
    return CollectionPulled(**values) if "path" in values else values
