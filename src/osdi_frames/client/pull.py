"""A pull: every page of some collections into a folder, kept as it came, resumed where it stopped, proved complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from urllib.parse import quote, urlsplit

from osdi_frames.archive.durable import make_folder
from osdi_frames.client.address import asked_page
from osdi_frames.client.batches import Batches
from osdi_frames.client.lock import locked
from osdi_frames.client.manifest import CollectionPulled, Manifest, manifests
from osdi_frames.client.paging import Ledger, Page, read_page
from osdi_frames.client.reading import Collection, Service
from osdi_frames.client.resources import Resource
from osdi_frames.errors import InvalidField, KeyRefused, OsdiError, ResourceNotFound
from osdi_frames.tables.fields import DATES, Version

_MODIFIED = DATES[1]
_SHOWN = 5  # lists that are not complete, by name


@dataclass(frozen=True, slots=True)
class Order:
    """What a pull asks for, and where it goes.

    `campaigns` are the ids of the event campaigns whose events are read; None for all that the service lists.
    """

    destination: Path
    resources: tuple[Resource, ...]
    asked: tuple[str, ...] = ("events",)
    campaigns: tuple[str, ...] | None = None
    filter: str | None = None
    since: Mapping[str, datetime | None] = field(default_factory=dict)
    resume: bool = True

    def filter_for(self, resource: Resource, version: Version) -> str | None:
        """Write the whole filter of a collection, in the names of a version (interface 9).

        >>> from datetime import UTC
        >>> from osdi_frames.client.resources import RESOURCES
        >>> order = Order(Path(), (), filter="title eq 'x'", since={"events": datetime(2026, 1, 1, tzinfo=UTC)})
        >>> order.filter_for(RESOURCES["events"], "v1")
        "modified_at gt '2025-12-31T23:59:59Z' and title eq 'x'"
        """
        # There is no "ge": a second earlier, or what changed in the very second of `since` would be left out.
        after = self.since.get(resource.name)
        after = after - timedelta(seconds=1) if after else None
        since = f"{_MODIFIED.named(version)} gt '{after:%Y-%m-%dT%H:%M:%SZ}'" if after else None
        own = self.filter if resource.key == "events" else None
        return " and ".join(part for part in (since, own) if part) or None

    def with_since(self, since: Mapping[str, datetime | None]) -> Order:
        """Return the order for what changed only, as far as each collection can be asked for that.

        A parent is listed from as early as any of its lists: one that was never read needs all parents.
        """
        earliest = dict(since)
        for resource in reversed(self.resources):
            if resource.is_whole:
                earliest[resource.name] = None
            for parent in resource.parents:
                moments = [earliest.get(parent), earliest.get(resource.name)]
                known = [moment for moment in moments if moment]
                earliest[parent] = min(known) if len(known) == len(moments) else None
        return replace(
            self, since={resource.name: earliest.get(resource.name) for resource in self.resources}
        )


def pull(
    service: Service, order: Order, *, now: Callable[[], datetime], on_page: Callable[[Page], None]
) -> Manifest:
    """Carry out an order; see `Client.pull`."""
    make_folder(order.destination)
    with locked(order.destination):
        manifest = _unfinished(service, order) or _begun(service, order, now=now)
        manifest.write()
        with closing(Batches(manifest.folder)) as batches:
            tallies = {resource.name: _tally(resource, service, order) for resource in order.resources}
            walk = _Walk(service, order, batches, on_page, _ledgers(service, batches), tallies)
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
class Tally:
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
    _rows_without_id: int = 0
    _totals: list[tuple[int, int] | None] = field(default_factory=list)

    def add(self, collection: Collection, *, proof: str | None, failure: str | None = None) -> None:
        """Count a list; it is complete if there is a proof."""
        ledger, totals, counts = collection.ledger, collection.ledger.totals, self.counts
        for row_id in ledger.ids:
            self.ids.setdefault(row_id, collection.path)
        moments = [moment for moment in (counts.newest_modified_date, ledger.newest) if moment]
        self.counts = replace(
            counts,
            lists=counts.lists + 1,
            pages=counts.pages + len(ledger.pages),
            rows=counts.rows + ledger.rows,
            newest_modified_date=max(moments, default=None),
        )
        self._rows_without_id += ledger.rows_without_id
        self.is_cut = self.is_cut or ledger.is_cut
        self._totals.append((totals[0], totals[-1]) if totals else None)
        if proof is not None:
            self._proof = proof
            return
        reasons = [
            reason for reason in (failure, collection.lack() if ledger.pages else "not read") if reason
        ]
        at = f"{collection.path}: " if self.resource.parents else ""
        redact = collection.service.transport.redact  # ids are the service's words
        self.lacking.append(redact(at + "; ".join(reasons)))

    def result(self) -> CollectionPulled:
        """Return the counts."""
        totals = [total for total in self._totals if total]
        known = bool(totals) and len(totals) == len(self._totals)
        return replace(
            self.counts,
            complete=self.finished and not self.lacking,
            why=self._why(),
            distinct_ids=len(self.ids),
            duplicates=self.counts.rows - len(self.ids) - self._rows_without_id,
            total_records_at_start=sum(first for first, _ in totals) if known else None,
            total_records_at_end=sum(last for _, last in totals) if known else None,
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

    service: Service
    order: Order
    batches: Batches
    on_page: Callable[[Page], None]
    ledgers: dict[str, Ledger]
    """What an earlier call has read."""
    tallies: dict[str, Tally]

    def run(self) -> None:
        for tally in self.tallies.values():
            cut = [
                name for name in tally.resource.parents if name in self.tallies and self.tallies[name].is_cut
            ]
            if cut:
                tally.lacking.append(f"not read: {cut[0]} go on after max_pages")
                continue
            for path, other in self._paths(tally.resource):
                self._read(tally, path, other)
            tally.finished = True

    def _paths(self, resource: Resource) -> Iterator[tuple[str, str]]:
        """Yield the path of each list, and where else it can be: below the list that its parent was found in.

        An event that only its campaign lists can be unknown to the service elsewhere.
        """
        version = self.service.transport.address.version
        if not resource.parents:
            yield resource.path_for(version), ""
        found: dict[str, str] = {}
        for name in reversed(resource.parents):
            found |= self.tallies[name].ids if name in self.tallies else {}
        if resource.name == "campaign_events" and self.order.campaigns is not None:
            found = dict.fromkeys(self.order.campaigns, "event_campaigns")
        for parent_id in sorted(found):
            own = quote(parent_id, safe="")
            path = resource.path_for(version, own)
            below = f"{found[parent_id]}/{own}/{path.rpartition('/')[2]}"
            yield path, below if below != path else ""

    def _read(self, tally: Tally, path: str, other: str) -> None:
        collection = Collection(
            self.service,
            path,
            self.order.filter_for(tally.resource, self.service.transport.address.version),
            keep=lambda answer: self.batches.keep(answer.line()),
            on_page=self.on_page,
        )
        address = urlsplit(self.service.transport.address.collection(path)).path
        collection.ledger = self.ledgers.pop(address, collection.ledger)
        try:
            tally.add(collection, proof=collection.resolve())
        except (OsdiError, OSError, KeyboardInterrupt) as error:
            if other and isinstance(error, ResourceNotFound) and not collection.ledger.pages:
                self._read(tally, other, "")
                return
            failure = str(error) or "interrupted"
            if isinstance(error, ResourceNotFound) and self.order.campaigns and "event_campaigns/" in path:
                failure = (
                    f"{failure}; a campaign is named by its id, which the collection event_campaigns shows"
                )
            tally.add(collection, proof=None, failure=failure)
            # One list that the key may not read does not keep the others from being read.
            asked = tally.resource.name in self.order.asked and not tally.resource.parents
            if asked or not isinstance(error, ResourceNotFound | KeyRefused):
                raise


def moment(since: datetime | str) -> datetime:
    """Read the time from when on changes are asked for; UTC unless it has a zone.

    Raises
    ------
    InvalidField
        It is no time.
    """
    try:
        found = datetime.fromisoformat(since) if isinstance(since, str) else since
    except ValueError as error:
        raise InvalidField(
            f"since is a time such as 2026-05-01T18:30:00Z, or 'last', not {since!r}"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def last_changes(service: Service, order: Order, *, overlap: timedelta) -> dict[str, datetime | None]:
    """Return the `since` time of each collection, implied by the last pull in which it was complete.

    What changed while that pull ran is asked for again, however late its newest modified_date is.
    """
    found: dict[str, datetime | None] = {}
    for manifest in manifests(order.destination):
        if _is_of(manifest, service, order):
            for collection in manifest.collections:
                # Of a collection without records, the others show how far the service's clock was.
                newest = collection.newest_modified_date or manifest.newest_modified_date
                if collection.complete and newest:
                    found[collection.name] = min(newest, manifest.started_at) - overlap
    return found


def _unfinished(service: Service, order: Order) -> Manifest | None:
    """Return the last pull of the same collections if it is not complete."""
    since = tuple(order.since.get(resource.name) for resource in order.resources)
    before = [
        manifest
        for manifest in manifests(order.destination)
        if _is_of(manifest, service, order)
        and manifest.names == tuple(resource.name for resource in order.resources)
        and tuple(collection.since for collection in manifest.collections) == since
    ]
    if not (order.resume and before) or before[-1].complete:
        return None
    return replace(before[-1], finished_at=None)


def _begun(service: Service, order: Order, *, now: Callable[[], datetime]) -> Manifest:
    started = now()
    return Manifest(
        folder=_new_folder(order.destination, started),
        address=service.transport.address.base_url,
        version=service.transport.address.version,
        filter=order.filter,
        campaigns=order.campaigns,
        started_at=started,
        finished_at=None,
        collections=tuple(_tally(resource, service, order).result() for resource in order.resources),
    )


def _tally(resource: Resource, service: Service, order: Order) -> Tally:
    path = resource.path_for(service.transport.address.version)
    return Tally(resource, CollectionPulled(resource.name, path, order.since.get(resource.name)))


def _ledgers(service: Service, batches: Batches) -> dict[str, Ledger]:
    """Return what an earlier call has read, by the path of its address."""
    ledgers: dict[str, Ledger] = {}
    for envelope in batches.read():
        path = urlsplit(envelope["url"]).path
        ledger = ledgers.setdefault(path, Ledger(path, service.max_pages))
        # An address without a number is that of the first page, or was found by the `next` of the one before.
        following = ledger.pages[-1].number + 1 if ledger.pages and ledger.pages[-1].next else 1
        number = asked_page(envelope["url"]) or following
        ledger.add(read_page(envelope["body"], number=number, prefixes=service.prefixes))
    return ledgers


def _is_of(manifest: Manifest, service: Service, order: Order) -> bool:
    asked = (service.transport.address.base_url, order.campaigns, order.filter)
    return (manifest.address, manifest.campaigns, manifest.filter) == asked


def _new_folder(destination: Path, started: datetime) -> Path:
    name = f"{started:%Y%m%dT%H%M%SZ}"
    for number in count(1):
        folder = destination / (name if number == 1 else f"{name}-{number}")
        if not folder.exists():  # nobody else makes one: the destination is locked
            make_folder(folder)
            return folder
    raise AssertionError("there is always a next number")
