"""The manifests of pulls in an archive: what each requested and received, and the proof that it is complete.

To find records that are gone, compare pulls of one service by one API key (`Manifest.key_digest`). If a collection is
`complete` and `Manifest.is_whole`, records that an earlier pull had and this one lacks were no longer listed by the
service at some moment between `started_at` and `finished_at`.

A collection with a `CollectionPulled.parent` is a list for each parent, whose id ``{id}`` in `path` stands for. The
pages of a collection are the lines in its `files` whose ``url``, without its query, is `Manifest.address`, ``/`` and
that path. The attendances of an event that only its campaign lists are at
``event_campaigns/{id}/events/{id}/attendances``.

Manifests of form 1 have neither ``form`` nor the collections' `files` and counts of records, and the pages of a
collection can be in any of the pull's `files`; those of form 2 have them. Unknown names are ignored.
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

#: The form of the manifests that this version writes.
MANIFEST_FORM = 2


@dataclass(frozen=True, slots=True)
class CollectionPulled:
    """The part of a manifest about one collection.

    `lists` is the number of lists that were read: one, or one for each parent (each event's attendances). `rows` is the
    number of rows on all pages, with those of pages that were read again, and `distinct_ids` that of distinct records
    among them. The totals are those that the service reported first and last, summed over the lists, or None if any
    list had none. A pull with ``since="last"`` continues at `newest_modified_date`.

    A pull of changes alone cannot see deletions. So it counts the `known_records`, on the pages of all pulls since the
    last whole one, and the `listed_records`, which the service listed without a filter afterwards. Both are None for
    whole pulls, for lists of parents, and without totals.
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
        """The path of the parents that have a list each, such as ``events`` for attendances; None for a single list."""
        return self.path.rpartition("/{id}/")[0] or None

    @property
    def fewer_records(self) -> int:
        """The least number of known records that are no longer listed; it can be more if there are new records."""
        if self.known_records is None or self.listed_records is None:
            return 0
        return max(0, self.known_records - self.listed_records)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pull requested and received, and the proof that it is complete.

    `complete` is true only if every record of every collection provably arrived, and `why` is the proof, or what is
    missing. The proof is a count: as many distinct records arrived as the service reports. It cannot see that a record
    left a collection while another entered it (events are not deleted, interface 7).

    `campaigns` are the ids that a caller passed; None if all campaigns were listed. `key_digest` identifies the API
    key, since each key lists only its own records; it is empty in older manifests.
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
        """Whether every record provably arrived."""
        return self.finished_at is not None and all(collection.complete for collection in self.collections)

    @property
    def why(self) -> str:
        """A line for each collection: the proof, or what is missing."""
        if self.finished_at is None:
            return "not finished: the pull is running, or was killed; call it again and it goes on"
        lacking = [collection for collection in self.collections if not collection.complete]
        # A pull that stopped is explained by the collections that it began, not by those it did not reach.
        begun = [collection for collection in lacking if collection.lists or collection.why != "not read"]
        shown = begun or lacking or self.collections
        return "\n".join(printable(f"{collection.path}: {collection.why}") for collection in shown)

    @property
    def requests(self) -> int:
        """The number of responses that the pull needed, without retries and redirects."""
        return sum(done.pages + (done.listed_records is not None) for done in self.collections)

    @property
    def is_full(self) -> bool:
        """Whether all records were requested, not only changed ones."""
        return all(collection.since is None for collection in self.collections)

    @property
    def fewer_records(self) -> int:
        """The least number of known records that are no longer listed; a full pull finds them."""
        return sum(collection.fewer_records for collection in self.collections)

    def is_whole(self, collection: CollectionPulled) -> bool:
        """Return whether a pull requested all of a collection: without a time, chosen campaigns, or unknown parents."""
        is_restricted = self.campaigns is not None and collection.parent in ("events", "event_campaigns")
        if collection.since or is_restricted:
            return False
        parents = [done for done in self.collections if done.path.rpartition("/")[2] == collection.parent]
        return all(done.complete and self.is_whole(done) for done in parents)

    def __str__(self) -> str:
        rows = sum(collection.rows for collection in self.collections)
        distinct = sum(collection.distinct_ids for collection in self.collections)
        complete = "yes" if self.complete else "no"
        counts = f"{counted(self.requests, 'page')}, {counted(rows, 'row')}, {counted(distinct, 'distinct record')}"
        counts += (
            " (of each collection)" if len(self.collections) > 1 else ""
        )  # an event can be in two of them
        fewer = [
            f"\n{done.path}: {done.listed_records:,} of {done.known_records:,} known records remain; a full pull finds"
            " which are gone (--full)"
            for done in self.collections
            if done.fewer_records
        ]
        return f"{quoted_path(self.folder)}: {counts}\ncomplete: {complete}\n{self.why}{''.join(fewer)}"

    def as_json(self) -> dict[str, Any]:
        """Return the manifest as the JSON object of its file."""
        derived = {"complete": self.complete, "why": self.why.split("\n"), "requests": self.requests}
        stored: dict[str, Any] = derived | asdict(self)
        del stored["folder"]
        for values, done in zip(stored["collections"], self.collections, strict=True):
            values |= {"parent": done.parent, "whole": self.is_whole(done)}
            values["fewer_records"] = done.fewer_records
        return dict(json.loads(json.dumps(stored, default=envelope_time)))

    def write(self) -> None:
        """Write the manifest atomically into its folder."""
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False)
        write_file(self.folder / MANIFEST, f"{text}\n".encode())


def manifests(source: Paths) -> list[Manifest]:
    """Read the manifests of all pulls in a source, oldest first.

    The source is a path, an address or a list of these: a pull, a folder with pulls at any depth, a pattern, or files.
    Invalid manifests and missing paths are ignored.
    """
    return [manifest for manifest, _ in _read(source)]


def proving_pulls(source: Paths) -> tuple[Manifest, ...]:
    """Read the manifests of all pulls in a source as proofs of absence.

    A pull of which the source lacks files counts as not finished, since records in these files would seem to be gone.
    Manifests inside of a zip or tar are not read.
    """
    return tuple(
        manifest if has_all else replace(manifest, finished_at=None) for manifest, has_all in _read(source)
    )


def _read(source: Paths) -> list[tuple[Manifest, bool]]:
    """Return each valid manifest, and whether all files of its pull are in the source."""
    paths = [source] if isinstance(source, str | os.PathLike) else source
    files, manifest_files = with_manifests(os.fspath(path) for path in paths)
    names = {str(file) for file in files} if manifest_files else set()
    valid = []
    for file in manifest_files:
        folder = str(file).removesuffix(MANIFEST)
        content = _content(file)
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # it is not the manifest of a pull
            manifest = _parsed(Path(folder), content)
            valid.append((manifest, {f"{folder}{name}" for name in manifest.files} <= names))
    return sorted(valid, key=lambda each: (each[0].started_at, str(each[0].folder)))


def _content(file: File) -> bytes:
    """Return the content of a manifest, empty if a local file cannot be read."""
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
    """Return the values of a dataclass's fields, without those that only later forms have."""
    return {field.name: values[field.name] for field in fields(of) if field.name in values}


def _with_times(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("started_at", "finished_at", "since", "newest_modified_date"):
        if (text := values.get(name)) is not None:
            values[name] = datetime.fromisoformat(text).astimezone(UTC)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
