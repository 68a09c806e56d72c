"""A pull: collections are read into a folder page by page as they came, and proved complete.

A pull that was stopped goes on where it stopped.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from urllib.parse import quote

from osdi_frames.client.address import asked_page
from osdi_frames.client.answers import utc
from osdi_frames.client.collection_reader import CollectionReader
from osdi_frames.client.collections import COLLECTIONS, DeclaredCollection
from osdi_frames.client.folder import Batches, locked, read_pages
from osdi_frames.client.proof import Ledger, Page, latest, read_page
from osdi_frames.client.transport import Transport
from osdi_frames.durable import make_folder
from osdi_frames.errors import (
    InvalidField,
    KeyRefused,
    OsdiError,
    ResourceNotFound,
    ServiceWarning,
)
from osdi_frames.messages import quoted, quoted_path, shorten
from osdi_frames.problems import warn_caller
from osdi_frames.pulls import MANIFEST_FORM, CollectionPulled, Manifest, manifests
from osdi_frames.tables.fields import DATE_FIELDS, Version

#: In place of a time: since the last pull.
LAST = "last"

#: How far before the last change a pull since the last one begins: a service's search lags behind its writes.
OVERLAP = timedelta(minutes=10)

_MODIFIED = DATE_FIELDS[1]
_SHOWN = 5  # lists that are not complete, by name


def moment(since: datetime | str | None) -> datetime | str | None:
    """Return a time in UTC; None and ``"last"`` stay what they are."""
    if since is None or since == LAST:
        return since
    try:
        return utc(datetime.fromisoformat(since) if isinstance(since, str) else since)
    except ValueError:
        why = f"since is a time such as 2026-05-01T18:30:00Z, or 'last', not {quoted(since)}"
        raise InvalidField(why) from None


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What a pull is to read; see `Client.pull`."""

    resources: tuple[DeclaredCollection, ...]
    campaigns: tuple[str, ...] | None
    since: datetime | str | None
    resume: bool


def pull(
    transport: Transport, destination: Path, request: PullRequest, on_page: Callable[[Page], None]
) -> Manifest:
    """Read some collections into a folder of `destination`."""
    make_folder(destination)
    with locked(destination):
        digest = transport.key.digest(transport.address.origin)
        before = _before(transport, destination, request.campaigns, digest)
        asked = _asked(request, transport.address.version, before)
        unfinished = _unfinished(before, asked) if request.resume else None
        manifest = unfinished or _begun(transport, destination, request.campaigns, digest)
        manifest = replace(manifest, finished_at=None, collections=asked, form=MANIFEST_FORM)
        manifest.write()
        batches = Batches(manifest.folder)
        tallies = {done.name: _Tally(COLLECTIONS[done.name], done) for done in asked}
        try:
            earlier = _ledgers(transport, manifest.folder, batches.names())
            _Walk(transport, request.campaigns, batches, on_page, earlier, tallies).run()
            _compare(transport, tallies.values(), before)
            for said in [tally.standstill for tally in tallies.values() if tally.standstill]:
                warn_caller(f"{said}, and nothing shows that these are all", ServiceWarning)
        except (OsdiError, OSError, KeyboardInterrupt) as error:
            error.add_note(f"what was read stays in {quoted_path(manifest.folder)}; pull again to go on")
            raise
        finally:
            batches.close()
            done = tuple(tally.result() for tally in tallies.values())
            files = tuple(batches.names())
            manifest = replace(manifest, finished_at=transport.now(), collections=done, files=files)
            manifest.write()
    return manifest


def _before(
    transport: Transport, destination: Path, campaigns: tuple[str, ...] | None, digest: str
) -> list[Manifest]:
    """Return the earlier pulls of the same service, campaigns and key in a destination."""
    return [
        pulled
        for pulled in manifests(destination)
        if (pulled.address, pulled.campaigns) == (transport.address.base_url, campaigns)
        and pulled.key_digest in ("", digest)
        and pulled.folder.parent == Path(os.path.normpath(destination))
    ]


def _asked(
    request: PullRequest, version: Version, before: Iterable[Manifest]
) -> tuple[CollectionPulled, ...]:
    """Return each collection to read, with the time since which its changes are asked for.

    ``"last"`` is the newest change of the last pull in which the collection was complete; what changed while that pull
    ran is asked for again. A parent is listed from as early as any of its lists: one that was never read needs all
    parents.
    """
    start = request.since if isinstance(request.since, datetime) else None
    times = {resource.name: start for resource in request.resources}
    for manifest in before if request.since == LAST else ():
        newest_of_all = latest(done.newest_modified_date for done in manifest.collections)
        for done in manifest.collections:
            # Of a collection without records, the others show how far the service's clock was.
            newest = done.newest_modified_date or newest_of_all
            if done.complete and newest and done.name in times:
                times[done.name] = min(newest, manifest.started_at) - OVERLAP
    for resource in reversed(request.resources):
        if resource.ignores_since:
            times[resource.name] = None
        for parent in times.keys() & {*resource.parents}:
            own, earlier = times[resource.name], times[parent]
            times[parent] = min(own, earlier) if own and earlier else None
    return tuple(
        CollectionPulled(found.name, found.path_for(version), times[found.name])
        for found in request.resources
    )


def _unfinished(before: Iterable[Manifest], asked: Iterable[CollectionPulled]) -> Manifest | None:
    """Return the last such pull if it is not complete."""
    names = [(collection.name, collection.since) for collection in asked]
    same = [pulled for pulled in before if [(done.name, done.since) for done in pulled.collections] == names]
    return same[-1] if same and not same[-1].complete else None


def _begun(
    transport: Transport, destination: Path, campaigns: tuple[str, ...] | None, digest: str
) -> Manifest:
    """Return the manifest of a new pull, which has a folder of its own."""
    now, address = transport.now(), transport.address
    folders = (destination / f"{now:%Y%m%dT%H%M%SZ}{f'-{more}' if more else ''}" for more in count())
    folder = next(folder for folder in folders if not folder.exists())  # the destination is locked
    make_folder(folder)
    return Manifest(folder, address.base_url, address.version, campaigns, now, key_digest=digest)


@dataclass(slots=True)
class _Tally:
    """The lists of one collection, counted as they are read.

    `ids` has the path of the list in which each record was first found, `standstill` which page of the first list that
    is not proved did not advance. `is_cut` says that a list goes on after the limit of pages: then what its records
    lead to is not asked for.
    """

    resource: DeclaredCollection
    done: CollectionPulled
    ids: dict[str, str] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    proof: str = ""
    finished: bool = False
    files: set[str] = field(default_factory=set)
    standstill: str = ""
    is_cut: bool = False

    def add(self, collection: CollectionReader, *, proof: str | None, failure: str = "") -> None:
        """Count a list, which a proof makes complete."""
        done, ledger, totals = self.done, collection.ledger, collection.ledger.totals
        for row_id in ledger.ids:
            self.ids.setdefault(row_id, collection.path)
        new = len(self.ids) - done.distinct_ids
        rows = sum(len(page.ids) for page in ledger.pages)
        is_counted = totals and (done.total_records_at_start is not None or not done.lists)
        self.done = replace(
            done,
            lists=done.lists + 1,
            pages=done.pages + len(ledger.pages),
            rows=done.rows + rows,
            distinct_ids=len(self.ids),
            duplicates=done.duplicates + rows - ledger.rows_without_id - new,
            total_records_at_start=(done.total_records_at_start or 0) + totals[0] if is_counted else None,
            total_records_at_end=(done.total_records_at_end or 0) + totals[-1] if is_counted else None,
            newest_modified_date=latest([done.newest_modified_date, *(page.newest for page in ledger.pages)]),
        )
        self.files |= ledger.files
        self.is_cut = self.is_cut or ledger.is_cut
        if proof is not None:
            self.proof = proof
            return
        redact = collection.transport.redact  # ids are the service's words
        if ledger.standstill and not self.standstill:
            self.standstill = f"{shorten(redact(collection.path))}: {ledger.standstill}"
        reasons = [redact(failure), ledger.lack(redact) if ledger.pages else "not read"]
        at = f"{shorten(redact(collection.path))}: " if self.resource.parents else ""
        self.lacking.append(at + "; ".join(filter(None, reasons)))

    def result(self) -> CollectionPulled:
        """Return what came, and whether it is all."""
        is_complete = self.finished and not self.lacking
        return replace(self.done, complete=is_complete, why=self._why(), files=tuple(sorted(self.files)))

    def _why(self) -> str:
        lists, since = self.done.lists, self.done.since
        if self.lacking:
            more = len(self.lacking) - _SHOWN
            return "; ".join(self.lacking[:_SHOWN]) + (f"; and {more} more lists" if more > 0 else "")
        if not self.finished:
            return f"{lists} lists were read, not all" if lists else "not read"
        if not self.resource.parents:
            return self.proof
        parents = " and ".join(self.resource.parents)
        if since is None:
            return f"{lists} lists, one for each of {parents}; each is proved to be complete"
        return (
            f"{lists} lists, each proved to be complete: of {parents} that are new or changed since"
            f" {since:%Y-%m-%dT%H:%M:%SZ}; what changed without changing the modified_date there was not asked for"
        )


@dataclass(frozen=True, slots=True)
class _Walk:
    """Reads lists one after the other, parents first; `ledgers` are of an earlier call, by the list's address."""

    transport: Transport
    campaigns: tuple[str, ...] | None
    batches: Batches
    on_page: Callable[[Page], None]
    ledgers: dict[str, Ledger]
    tallies: dict[str, _Tally]

    def run(self) -> None:
        for tally in self.tallies.values():
            parents = [self.tallies[name] for name in tally.resource.parents if name in self.tallies]
            if cut := [parent.resource.name for parent in parents if parent.is_cut]:
                tally.lacking.append(f"not read: {cut[0]} go on after max_pages")
                continue
            for path, other in self._paths(tally.resource, parents):
                self._read(tally, path, other)
            tally.finished = True

    def _paths(self, resource: DeclaredCollection, parents: list[_Tally]) -> Iterator[tuple[str, str]]:
        """Yield the path of each list, and another one below the list in which its parent was found, if it differs.

        An event that only its campaign lists can be unknown to the service elsewhere.
        """
        version = self.transport.address.version
        if not resource.parents:
            yield resource.path_for(version), ""
        found: dict[str, str] = {}
        for parent in reversed(parents):
            found |= parent.ids
        if resource.name == "campaign_events" and self.campaigns is not None:
            found = dict.fromkeys(self.campaigns, "event_campaigns")
        for parent_id in sorted(found):
            own = quote(parent_id, safe="")
            path = resource.path_for(version, own)
            below = f"{found[parent_id]}/{own}/{path.rpartition('/')[2]}"
            yield path, below if below != path else ""

    def _read(self, tally: _Tally, path: str, other: str) -> None:
        address = self.transport.address
        collection = CollectionReader(
            self.transport,
            path,
            _changed_since(tally.done.since, address.version),
            keep=lambda answer: collection.ledger.files.add(self.batches.keep(answer.line())),
            on_page=self.on_page,
        )
        collection.ledger = self.ledgers.pop(address.collection(path), collection.ledger)
        try:
            tally.add(collection, proof=collection.resolve())
        except (OsdiError, OSError, KeyboardInterrupt) as error:
            is_unknown = isinstance(error, ResourceNotFound)
            if is_unknown and other and not collection.ledger.pages:
                self._read(tally, other, "")
                return
            failure = str(error) or "interrupted"
            if is_unknown and self.campaigns and "event_campaigns/" in path:
                failure += "; a campaign is named by its id, which the collection event_campaigns shows"
            tally.add(collection, proof=None, failure=failure)
            # One list that the key may not read does not keep the others from being read; the first one does,
            # but for a campaign that was named and is not there.
            is_first = tally.resource.name == next(iter(self.tallies)) and tally.done.lists == 1
            is_named = is_unknown and tally.resource.name == "campaign_events"
            if (is_first and not is_named) or not (is_unknown or isinstance(error, KeyRefused)):
                raise


def _changed_since(since: datetime | None, version: Version) -> str | None:
    """Return the filter for what changed since a time, in the names of a version (interface 9).

    >>> _changed_since(datetime(2026, 1, 1), "v1")
    "modified_at gt '2025-12-31T23:59:59Z'"
    """
    if since is None:
        return None
    # There is no "ge": a second earlier, or what changed in the very second of `since` would be left out.
    return f"{_MODIFIED.named(version)} gt '{since - timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}'"


def _compare(transport: Transport, tallies: Iterable[_Tally], before: Sequence[Manifest]) -> None:
    """Compare how many records the service lists with how many are known, where only changes were read.

    That is one request a collection. Lists of parents would need one for each parent: of them, only a full pull finds
    what is gone.
    """
    for tally in tallies:
        done = tally.done
        if not done.since or tally.resource.parents or done.total_records_at_end is None:
            continue
        address = transport.address.collection(done.path)
        # What was read is complete without it.
        with suppress(OsdiError, OSError, EOFError, ValueError, zlib.error):
            known = tally.ids.keys() | _known_ids(transport, done.path, before)
            body = transport.send("GET", address).body
            listed = read_page(body, number=1, prefixes=transport.prefixes).total_records
            if listed is not None:
                tally.done = replace(done, known_records=len(known), listed_records=listed)


def _known_ids(transport: Transport, path: str, before: Sequence[Manifest]) -> set[str]:
    """Return the ids on all pages of a collection, of the last pull of the whole of it and of later ones."""
    known: set[str] = set()
    address = transport.address.collection(path)
    for manifest in reversed(before):
        for pulled in manifest.collections:
            if pulled.path == path:
                files = pulled.files or manifest.files
                known |= _ledgers(transport, manifest.folder, files, only=address)[address].ids
                if pulled.complete and manifest.is_whole(pulled):
                    return known
    return known


def _ledgers(
    transport: Transport, folder: Path, files: Iterable[str], only: str | None = None
) -> dict[str, Ledger]:
    """Return the ledgers of the lists in some files by address without query, or of `only` one."""
    ledgers: defaultdict[str, Ledger] = defaultdict(lambda: Ledger(transport.limits.max_pages))
    for name in files:
        for envelope in read_pages(folder, name):
            address = envelope["url"].partition("?")[0]
            if only and address != only:
                continue
            ledger = ledgers[address]
            # An address without a number is that of the first page, or was found by the `next` of the one before.
            following = ledger.pages[-1].number + 1 if ledger.pages and ledger.pages[-1].next else 1
            number = asked_page(envelope["url"]) or following
            ledger.add(read_page(envelope["body"], number=number, prefixes=transport.prefixes))
            ledger.files.add(name)
    return ledgers
