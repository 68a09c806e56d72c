"""The folder of a pull: a lock, the pages as they came, and the manifest that says whether they are all.

A page is one gzip member, so a page that was written whole stays readable whatever happens to the next one. A file
that still grows is hidden; it takes its name when it is full, or when the pull ends.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from osdi_frames.archive.durable import create_file, publish_file, write_file
from osdi_frames.client.answers import stamp
from osdi_frames.errors import ArchiveLocked, counted, printable
from osdi_frames.quoting import located

#: The name of a manifest: hidden, so that no reader of archives takes it for a document.
MANIFEST = ".manifest.json"

#: Pages in a file.
FULL = 100

_LOCK = ".lock"
_SUFFIX = ".ndjson.gz"
_GROWING = ".part"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other pulls out of a folder; `ArchiveLocked` where another one is writing.

    A database without content is the lock: SQLite's own are released when their process ends, though a child that it
    forked lives on, and hold between the threads of one process, too.
    """
    with suppress(FileExistsError):
        create_file(folder / _LOCK).close()
    with closing(sqlite3.connect(folder / _LOCK, timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise ArchiveLocked(f"another pull is writing into {located(folder)} ({error})") from error
        yield


class Batches:
    """The pages of one pull on disk. Several threads may keep pages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._part: Path | None = None
        self._pages = 0
        for part in sorted(folder.glob(f".pages-*{_SUFFIX}{_GROWING}")):
            with part.open("r+b") as file:
                file.truncate(_whole_members(file))  # a killed process may have left half a page behind them
            _publish(part)

    def keep(self, line: bytes) -> None:
        """Append one page; it stays when this returns, even if the process is killed."""
        member = gzip.compress(line, 6, mtime=0)
        with self._lock:
            part = self._part = self._part or self._next_part()
            size = part.stat().st_size
            try:
                with part.open("ab") as file:
                    file.write(member)
            except OSError:
                os.truncate(part, size)  # the disk is full: no torn page before the next one
                raise
            self._pages += 1
            if self._pages >= FULL:
                self.close()

    def read(self) -> Iterator[dict[str, Any]]:
        """Return every envelope that was kept, in the order in which it came."""
        for name in self.names():
            with gzip.open(self._folder / name, "rb") as lines:
                yield from map(json.loads, lines)

    def names(self) -> list[str]:
        """Return the names of the files that are finished."""
        return sorted(path.name for path in self._folder.glob(f"pages-*{_SUFFIX}"))

    def close(self) -> None:
        """Let the file that still grows take its name; the next page begins another."""
        with self._lock:
            if self._part is not None:
                _publish(self._part)
            self._part, self._pages = None, 0

    def _next_part(self) -> Path:
        # After the last name, not the count: somebody may have taken a file away, and none is written over.
        last = (self.names() or ["pages-0000."])[-1]
        number = int(last.partition(".")[0].removeprefix("pages-")) + 1
        part = self._folder / f".pages-{number:04}{_SUFFIX}{_GROWING}"
        create_file(part).close()
        return part


def _publish(part: Path) -> None:
    """Let a file take its name; one without a page is removed."""
    if part.stat().st_size == 0:
        part.unlink()
    else:
        publish_file(part, part.with_name(part.name.removeprefix(".").removesuffix(_GROWING)))


def _whole_members(file: BinaryIO) -> int:
    """Return how many bytes of a file are whole gzip members."""
    whole, member = 0, zlib.decompressobj(wbits=31)
    with suppress(zlib.error):
        for piece in iter(lambda: file.read(1 << 16), b""):
            rest = piece
            while rest:
                member.decompress(rest)
                rest = member.unused_data
                if member.eof:
                    whole, member = file.tell() - len(rest), zlib.decompressobj(wbits=31)
    return whole


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
        """The proof for each collection, or what is missing; a line each."""
        if self.finished_at is None:
            return "not finished: the pull is running, or was killed; call it again and it goes on"
        lacking = [collection for collection in self.collections if not collection.complete]
        # Where a pull stopped is said, not what it did not come to.
        begun = [collection for collection in lacking if collection.lists or collection.why != "not read"]
        shown = begun or lacking or self.collections
        return "\n".join(printable(f"{collection.path}: {collection.why}") for collection in shown)

    @property
    def requests(self) -> int:
        """How many answers were needed; retries and redirects are not counted."""
        return sum(collection.pages for collection in self.collections)

    def __str__(self) -> str:
        rows = sum(collection.rows for collection in self.collections)
        distinct = sum(collection.distinct_ids for collection in self.collections)
        said = "yes" if self.complete else "no"
        came = f"{counted(self.requests, 'page')}, {counted(rows, 'row')}, {counted(distinct, 'distinct record')}"
        each = " (of each collection)" if len(self.collections) > 1 else ""  # an event can be in two of them
        return f"{located(self.folder)}: {came}{each}\ncomplete: {said}\n{self.why}"

    def as_json(self) -> dict[str, Any]:
        """Return it as the values of JSON that its file holds."""
        derived = {"complete": self.complete, "why": self.why.split("\n"), "requests": self.requests}
        stored = derived | asdict(self)
        del stored["folder"]
        return dict(json.loads(json.dumps(stored, default=stamp)))

    def write(self) -> None:
        """Write it into its folder, as a whole or not at all."""
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False)
        write_file(self.folder / MANIFEST, f"{text}\n".encode())


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a pull from its folder."""
    stored = json.loads((folder / MANIFEST).read_text(encoding="utf-8"), object_hook=_parsed)
    values = {field.name: stored[field.name] for field in fields(Manifest) if field.name != "folder"}
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return Manifest(folder, **values | lists)


def manifests(destination: Path) -> list[Manifest]:
    """Read the manifests of all pulls into a destination, the oldest first."""
    found = (read_manifest(path.parent) for path in destination.glob(f"*/{MANIFEST}"))
    return sorted(found, key=lambda manifest: manifest.started_at)


def _parsed(values: dict[str, Any]) -> dict[str, Any] | CollectionPulled:
    for name in ("started_at", "finished_at", "since", "newest_modified_date"):
        if text := values.get(name):
            values[name] = datetime.fromisoformat(text)
    return CollectionPulled(**values) if "path" in values else values
