"""Pulls in an archive: the manifest of each says what was requested, what came, and why that is all.

Who looks for what is gone compares pulls of one service by one key (`Manifest.key_digest`). A collection proves absence
where it is `complete` and `Manifest.is_whole`: what was seen of it earlier, and this one has not, the service listed no
more at some moment between `started_at` and `finished_at`. Where `CollectionPulled.parent` names what the lists are of,
``{id}`` in `path` stands for each parent's id. The pages of a collection are the lines in its `files` whose ``url``,
without its query, is `Manifest.address`, ``/`` and that path. An event that only its campaign knows has its attendances
below the campaign: ``event_campaigns/{id}/events/{id}/attendances``.

Forms: 1 has neither ``form`` nor the collections' `files` and counts of records; the pages of a collection can be in
any of the pull's `files`. 2 has them. Names that this version does not know are passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from osdi_frames.document_forms import envelope_time
from osdi_frames.durable import write_file
from osdi_frames.messages import counted, printable, quoted_path
from osdi_frames.sources.files import MANIFEST, File, with_manifests
from osdi_frames.sources.remote import Remote

Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

#: The form in which manifests are written; the forms are described above.
MANIFEST_FORM = 2


@dataclass(frozen=True, slots=True)
class CollectionPulled:
    """What a pull read of one collection.

    `lists` counts the lists that were read: one, or one for each parent (each event's attendances). `rows` counts every
    row of every page, `distinct_ids` the different records among them; a page that was read again counts again. The
    totals are what the service reported first and last, summed over the lists; None where one reported none.
    `newest_modified_date` is where ``since="last"`` goes on.

    A pull of what changed cannot see deletions. It counts the `known_records`, those on the pages of all pulls from the
    last whole one on, and the `listed_records`, those that the service listed without a filter afterwards. Both are
    None where that is not known: after a whole pull, of lists that belong to parents, without totals.
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
    known_records: int | None = None
    listed_records: int | None = None
    files: tuple[str, ...] = ()

    @property
    def parent(self) -> str | None:
        """The path of what has a list each, such as ``events`` of attendances; None of a single list."""
        return self.path.rpartition("/{id}/")[0] or None

    @property
    def fewer_records(self) -> int:
        """How many known records are no longer listed, at least: new records make up for others."""
        if self.known_records is None or self.listed_records is None:
            return 0
        return max(0, self.known_records - self.listed_records)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pull requested, what came, and the proof that this is all.

    `complete` is true only if it is proved that every record of every collection came; `why` says the proof, or what
    is missing. The proof counts: as many different records came as the service reports. It cannot see that a record
    left a collection while another entered it (events are not deleted, interface 7).
    `campaigns` are the ids that were given; None where the campaigns were listed. `key_digest` tells keys of a service
    apart, since each lists what is its own; empty in older manifests.
    """

    folder: Path
    address: str
    version: str
    campaigns: tuple[str, ...] | None
    started_at: datetime
    finished_at: datetime | None = None
    collections: tuple[CollectionPulled, ...] = ()
    files: tuple[str, ...] = ()
    form: int = MANIFEST_FORM
    key_digest: str = ""

    @property
    def complete(self) -> bool:
        """Whether it is proved that every record came."""
        return self.finished_at is not None and all(collection.complete for collection in self.collections)

    @property
    def why(self) -> str:
        """The proof for each collection, or what is missing, a line each."""
        if self.finished_at is None:
            return "not finished: the pull is running, or was killed; call it again and it goes on"
        lacking = [collection for collection in self.collections if not collection.complete]
        # Show where a pull stopped, not what it never reached.
        begun = [collection for collection in lacking if collection.lists or collection.why != "not read"]
        shown = begun or lacking or self.collections
        return "\n".join(printable(f"{collection.path}: {collection.why}") for collection in shown)

    @property
    def requests(self) -> int:
        """How many answers were needed, without retries and redirects."""
        return sum(done.pages + (done.listed_records is not None) for done in self.collections)

    @property
    def is_full(self) -> bool:
        """Whether everything was asked for, not only what changed."""
        return all(collection.since is None for collection in self.collections)

    @property
    def fewer_records(self) -> int:
        """How many known records are no longer listed; a full pull finds which."""
        return sum(collection.fewer_records for collection in self.collections)

    def is_whole(self, collection: CollectionPulled) -> bool:
        """Return whether all of a collection was requested.

        Then nothing was left out by a time, by campaigns that were named, or by a parent that is not known.
        """
        is_restricted = self.campaigns is not None and collection.parent in ("events", "event_campaigns")
        if collection.since or is_restricted:
            return False
        parents = [done for done in self.collections if done.path.rpartition("/")[2] == collection.parent]
        return all(done.complete and self.is_whole(done) for done in parents)

    def __str__(self) -> str:
        rows = sum(collection.rows for collection in self.collections)
        distinct = sum(collection.distinct_ids for collection in self.collections)
        said = "yes" if self.complete else "no"
        came = f"{counted(self.requests, 'page')}, {counted(rows, 'row')}, {counted(distinct, 'distinct record')}"
        each = " (of each collection)" if len(self.collections) > 1 else ""  # an event can be in two of them
        fewer = [
            f"\n{done.path}: {done.listed_records:,} of {done.known_records:,} known records remain; a full pull finds"
            " which are gone (--full)"
            for done in self.collections
            if done.fewer_records
        ]
        return f"{quoted_path(self.folder)}: {came}{each}\ncomplete: {said}\n{self.why}{''.join(fewer)}"

    def as_json(self) -> dict[str, Any]:
        """Return the manifest as it is written to its file."""
        derived = {"complete": self.complete, "why": self.why.split("\n"), "requests": self.requests}
        stored: dict[str, Any] = derived | asdict(self)
        del stored["folder"]
        for values, done in zip(stored["collections"], self.collections, strict=True):
            values |= {"parent": done.parent, "whole": self.is_whole(done)}
            values["fewer_records"] = done.fewer_records
        return dict(json.loads(json.dumps(stored, default=envelope_time)))

    def write(self) -> None:
        """Write the manifest into its folder, whole or not at all."""
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False)
        write_file(self.folder / MANIFEST, f"{text}\n".encode())


def manifests(source: Paths) -> list[Manifest]:
    """Read the manifests of all pulls in a source, oldest first.

    The source is a path, an address or a list of these: of a pull, of a folder of pulls at any depth, a pattern, or
    files. What cannot be read as a manifest is passed over; so is a path where nothing is.
    """
    return [manifest for manifest, _ in _read(source)]


def proving_pulls(source: Paths) -> tuple[Manifest, ...]:
    """Read the manifests of all pulls in a source, as far as they prove something of it.

    A pull whose files are not all in the source counts as not finished: what the source lacks would seem to be gone.
    Inside a zip or tar, none is read.
    """
    return tuple(
        manifest if has_all else replace(manifest, finished_at=None) for manifest, has_all in _read(source)
    )


def _read(source: Paths) -> list[tuple[Manifest, bool]]:
    """Return each manifest, and whether all of its files are there."""
    paths = [source] if isinstance(source, str | os.PathLike) else source
    files, found = with_manifests(os.fspath(path) for path in paths)
    names = {str(file) for file in files} if found else set()
    read = []
    for file in found:
        folder = str(file).removesuffix(MANIFEST)
        content = _content(file)
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # it is none of a pull
            manifest = _parsed(Path(folder), content)
            read.append((manifest, {f"{folder}{name}" for name in manifest.files} <= names))
    return sorted(read, key=lambda each: (each[0].started_at, str(each[0].folder)))


def _content(file: File) -> bytes:
    """Return the content of a manifest; nothing of one that may not be read."""
    if isinstance(file, Remote):
        with file.open() as stream:
            return stream.read()
    with suppress(OSError):
        return Path(file).read_bytes()
    return b""


def _parsed(folder: Path, content: bytes) -> Manifest:
    stored = json.loads(content, object_hook=_with_times)
    collections = (CollectionPulled(**_known(CollectionPulled, done)) for done in stored["collections"])
    known = {"form": 1} | _known(Manifest, stored) | {"collections": tuple(collections)}
    if known["started_at"] is None:
        raise ValueError("a pull has begun at some time")
    return Manifest(folder, **known)


def _known(of: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of declared fields; later forms can hold more."""
    return {field.name: values[field.name] for field in fields(of) if field.name in values}


def _with_times(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("started_at", "finished_at", "since", "newest_modified_date"):
        if (text := values.get(name)) is not None:
            values[name] = datetime.fromisoformat(text).astimezone(UTC)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
