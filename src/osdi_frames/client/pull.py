"""A pull: every page of some collections into a folder, kept as it came, resumed where it stopped, proved complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain, count
from pathlib import Path
from urllib.parse import quote, urlsplit

from osdi_frames.archive.durable import make_folder
from osdi_frames.client.address import asked_page
from osdi_frames.client.answers import utc
from osdi_frames.client.folder import Batches, locked
from osdi_frames.client.manifest import CollectionPulled, Manifest, manifests
from osdi_frames.client.paging import Ledger, Page, latest, read_page
from osdi_frames.client.reading import Collection, Service
from osdi_frames.client.resources import Resource
from osdi_frames.errors import InvalidField, KeyRefused, OsdiError, ResourceNotFound
from osdi_frames.tables.fields import DATES, Version

_MODIFIED = DATES[1]
_SHOWN = 5  # lists that are not complete, by name


@dataclass(frozen=True, slots=True)
class Order:
    """What a pull asks of a service, and where it goes.

    `campaigns` are the ids of the event campaigns whose events are read; None for all that the service lists.
    """

    service: Service
    destination: Path
    resources: tuple[Resource, ...]
    asked: tuple[str, ...]
    campaigns: tuple[str, ...] | None
    filter: str | None
    since: Mapping[str, datetime | None] = field(default_factory=dict)

    def with_since(self, since: datetime | str, *, overlap: timedelta) -> Order:
        """Return the order for what changed only, as far as each collection can be asked for that.

        A parent is listed from as early as any of its lists: one that was never read needs all parents.
        """
        names = [resource.name for resource in self.resources]
        earliest: dict[str, datetime | None] = (
            self._last_changes(overlap) if since == "last" else dict.fromkeys(names, _moment(since))
        )
        for resource in reversed(self.resources):
            if resource.is_whole:
                earliest[resource.name] = None
            own = earliest.get(resource.name)
            for parent in resource.parents:
                before = earliest.get(parent)
                earliest[parent] = min(own, before) if own and before else None
        return replace(self, since={name: earliest.get(name) for name in names})

    def collections(self) -> tuple[CollectionPulled, ...]:
        """Return the collections to read, of which nothing came yet."""
        version = self.service.address.version
        return tuple(
            CollectionPulled(resource.name, resource.path_for(version), self.since.get(resource.name))
            for resource in self.resources
        )

    def begun(self, now: datetime) -> Manifest:
        """Return a new pull, in a folder of its own."""
        return Manifest(
            folder=_new_folder(self.destination, now),
            address=self.service.address.base_url,
            version=self.service.address.version,
            filter=self.filter,
            campaigns=self.campaigns,
            started_at=now,
            finished_at=None,
            collections=self.collections(),
        )

    def unfinished(self) -> Manifest | None:
        """Return the last pull of the same collections if it is not complete."""
        asked = [(collection.name, collection.since) for collection in self.collections()]
        same = [
            manifest
            for manifest in self._before()
            if [(collection.name, collection.since) for collection in manifest.collections] == asked
        ]
        return replace(same[-1], finished_at=None) if same and not same[-1].complete else None

    def _before(self) -> list[Manifest]:
        """Return the pulls into the destination with the same address, campaigns and filter, the oldest first."""
        asked = (self.service.address.base_url, self.campaigns, self.filter)
        return [
            manifest
            for manifest in manifests(self.destination)
            if (manifest.address, manifest.campaigns, manifest.filter) == asked
        ]

    def _last_changes(self, overlap: timedelta) -> dict[str, datetime | None]:
        """Return the `since` time of each collection, implied by the last pull in which it was complete.

        What changed while that pull ran is asked for again, however late its newest modified_date is.
        """
        found: dict[str, datetime | None] = {}
        for manifest in self._before():
            for collection in manifest.collections:
                # Of a collection without records, the others show how far the service's clock was.
                newest = collection.newest_modified_date or manifest.newest_modified_date
                if collection.complete and newest:
                    found[collection.name] = min(newest, manifest.started_at) - overlap
        return found


def pull(
    order: Order, *, resume: bool, now: Callable[[], datetime], on_page: Callable[[Page], None]
) -> Manifest:
    """Carry out an order; see `Client.pull`."""
    make_folder(order.destination)
    with locked(order.destination):
        manifest = (order.unfinished() if resume else None) or order.begun(now())
        manifest.write()
        with closing(Batches(manifest.folder)) as batches:
            tallies = {
                resource.name: _Tally(resource, counts)
                for resource, counts in zip(order.resources, order.collections(), strict=True)
            }
            walk = _Walk(order, batches, on_page, _ledgers(order.service, batches), tallies)
            try:
                walk.run()
            except (OsdiError, OSError, KeyboardInterrupt) as error:
                error.add_note(f"what was read stays in {manifest.folder}; pull again to go on")
                raise
            finally:
                batches.close()
                manifest = replace(
                    manifest,
                    finished_at=now(),
                    collections=tuple(tally.result() for tally in tallies.values()),
                    files=tuple(batches.names()),
                )
                manifest.write()
    return manifest


@dataclass(slots=True)
class _Tally:
    """The lists of one collection, as they are read."""

    resource: Resource
    counts: CollectionPulled
    """What came so far, without what only the end shows."""
    ids: dict[str, str] = field(default_factory=dict)
    """The path of the list that each record was first found in."""
    lacking: list[str] = field(default_factory=list)
    finished: bool = False
    is_cut: bool = False
    """Whether a list goes on after the limit of pages: then what its records lead to is not asked for."""
    _proof: str = ""
    _totals: list[tuple[int, int]] = field(default_factory=list)

    def add(self, collection: Collection, *, proof: str | None, failure: str | None = None) -> None:
        """Count a list; it is complete if there is a proof."""
        ledger, counts, distinct = collection.ledger, self.counts, len(self.ids)
        for row_id in ledger.ids:
            self.ids.setdefault(row_id, collection.path)
        new = len(self.ids) - distinct
        self.counts = replace(
            counts,
            lists=counts.lists + 1,
            pages=counts.pages + len(ledger.pages),
            rows=counts.rows + ledger.rows,
            distinct_ids=distinct + new,
            duplicates=counts.duplicates + ledger.rows - ledger.rows_without_id - new,
            newest_modified_date=latest(
                [counts.newest_modified_date, *(page.newest for page in ledger.pages)]
            ),
        )
        self.is_cut = self.is_cut or ledger.is_cut
        if totals := ledger.totals:
            self._totals.append((totals[0], totals[-1]))
        if proof is not None:
            self._proof = proof
            return
        reasons = [failure, collection.lack() if ledger.pages else "not read"]
        at = f"{collection.path}: " if self.resource.parents else ""
        redact = collection.service.transport.redact  # ids are the service's words
        self.lacking.append(redact(at + "; ".join(filter(None, reasons))))

    def result(self) -> CollectionPulled:
        """Return the counts."""
        known = 0 < len(self._totals) == self.counts.lists
        return replace(
            self.counts,
            complete=self.finished and not self.lacking,
            why=self._why(),
            total_records_at_start=sum(first for first, _ in self._totals) if known else None,
            total_records_at_end=sum(last for _, last in self._totals) if known else None,
        )

    def _why(self) -> str:
        lists, since = self.counts.lists, self.counts.since
        if self.lacking:
            more = len(self.lacking) - _SHOWN
            return "; ".join(self.lacking[:_SHOWN]) + (f"; and {more} more lists" if more > 0 else "")
        if not self.resource.parents:
            return self._proof or "not read"
        if not self.finished:
            return f"{lists} lists were read, not all" if lists else "not read"
        parents = " and ".join(self.resource.parents)
        if since is None:
            return f"{lists} lists, one for each of {parents}; each is proved to be complete"
        return (
            f"{lists} lists, each proved to be complete: of {parents} that are new or changed since"
            f" {since:%Y-%m-%dT%H:%M:%SZ}; what changed without changing the modified_date there was not asked for"
        )


@dataclass(frozen=True, slots=True)
class _Walk:
    """Read the collections of an order, one list after the other, parents before what they lead to."""

    order: Order
    batches: Batches
    on_page: Callable[[Page], None]
    ledgers: dict[str, Ledger]
    """What an earlier call has read, by the path of its address."""
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

    def _paths(self, resource: Resource, parents: list[_Tally]) -> Iterator[tuple[str, str]]:
        """Yield the path of each list, and where else it can be: below the list that its parent was found in.

        An event that only its campaign lists can be unknown to the service elsewhere.
        """
        version = self.order.service.address.version
        if not resource.parents:
            yield resource.path_for(version), ""
        found: dict[str, str] = {}
        for parent in reversed(parents):
            found |= parent.ids
        if resource.name == "campaign_events" and self.order.campaigns is not None:
            found = dict.fromkeys(self.order.campaigns, "event_campaigns")
        for parent_id in sorted(found):
            own = quote(parent_id, safe="")
            path = resource.path_for(version, own)
            below = f"{found[parent_id]}/{own}/{path.rpartition('/')[2]}"
            yield path, below if below != path else ""

    def _read(self, tally: _Tally, path: str, other: str) -> None:
        order = self.order
        own_filter = order.filter if tally.resource.key == "events" else None
        collection = Collection(
            order.service,
            path,
            _filter(own_filter, tally.counts.since, order.service.address.version),
            keep=lambda answer: self.batches.keep(answer.line()),
            on_page=self.on_page,
        )
        address = urlsplit(order.service.address.collection(path)).path
        collection.ledger = self.ledgers.pop(address, collection.ledger)
        try:
            tally.add(collection, proof=collection.resolve())
        except (OsdiError, OSError, KeyboardInterrupt) as error:
            is_unknown = isinstance(error, ResourceNotFound)
            if is_unknown and other and not collection.ledger.pages:
                self._read(tally, other, "")
                return
            failure = str(error) or "interrupted"
            if is_unknown and order.campaigns and "event_campaigns/" in path:
                failure += "; a campaign is named by its id, which the collection event_campaigns shows"
            tally.add(collection, proof=None, failure=failure)
            # One list that the key may not read does not keep the others from being read.
            is_asked = tally.resource.name in order.asked and not tally.resource.parents
            if is_asked or not (is_unknown or isinstance(error, KeyRefused)):
                raise


def _filter(own: str | None, since: datetime | None, version: Version) -> str | None:
    """Write the filter of a collection, in the names of a version (interface 9).

    >>> _filter("title eq 'x'", datetime(2026, 1, 1), "v1")
    "modified_at gt '2025-12-31T23:59:59Z' and title eq 'x'"
    """
    if since is None:
        return own or None
    # There is no "ge": a second earlier, or what changed in the very second of `since` would be left out.
    after = f"{_MODIFIED.named(version)} gt '{since - timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}'"
    return f"{after} and {own}" if own else after


def _moment(since: datetime | str) -> datetime:
    try:
        return utc(datetime.fromisoformat(since) if isinstance(since, str) else since)
    except ValueError as error:
        raise InvalidField(
            f"since is a time such as 2026-05-01T18:30:00Z, or 'last', not {since!r}"
        ) from error


def _ledgers(service: Service, batches: Batches) -> dict[str, Ledger]:
    """Return what an earlier call has read, by the path of its address."""
    ledgers: dict[str, Ledger] = {}
    for envelope in batches.read():
        ledger = ledgers.setdefault(urlsplit(envelope["url"]).path, Ledger(service.max_pages))
        # An address without a number is that of the first page, or was found by the `next` of the one before.
        following = ledger.pages[-1].number + 1 if ledger.pages and ledger.pages[-1].next else 1
        number = asked_page(envelope["url"]) or following
        ledger.add(read_page(envelope["body"], number=number, prefixes=service.prefixes))
    return ledgers


def _new_folder(destination: Path, started: datetime) -> Path:
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    folders = (destination / f"{started:%Y%m%dT%H%M%SZ}{suffix}" for suffix in suffixes)
    folder = next(folder for folder in folders if not folder.exists())  # the destination is locked
    make_folder(folder)
    return folder
