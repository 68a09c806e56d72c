"""A pull: every page of some collections into a folder, kept as it came, resumed where it stopped, proved complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from osdi_frames.archive.durable import make_folder
from osdi_frames.client.address import Version, asked_page
from osdi_frames.client.batches import Batches
from osdi_frames.client.lock import locked
from osdi_frames.client.manifest import CollectionPulled, Manifest, manifests
from osdi_frames.client.paging import Page, read_page
from osdi_frames.client.reading import Collection, Service
from osdi_frames.errors import OsdiError

#: The collection of all events, and that of an event campaign's events (interface 4).
EVENTS = "events"
CAMPAIGN = "event_campaigns/{}/events"

_MODIFIED = {"v1": "modified_at", "v2": "modified_date"}  # interface 9


@dataclass(frozen=True, slots=True)
class Order:
    """What a pull asks for, and where it goes."""

    destination: Path
    paths: tuple[str, ...]
    filter: str | None = None
    since: datetime | None = None
    resume: bool = True

    def filter_for(self, version: Version) -> str | None:
        """Write the whole filter, in the names of a version (interface 9).

        >>> from datetime import UTC
        >>> Order(Path(), (), "title eq 'x'", datetime(2026, 1, 1, tzinfo=UTC)).filter_for("v1")
        "modified_at gt '2025-12-31T23:59:59Z' and title eq 'x'"
        """
        # There is no "ge": a second earlier, or what changed in the very second of `since` would be left out.
        after = self.since - timedelta(seconds=1) if self.since else None
        since = f"{_MODIFIED[version]} gt '{after:%Y-%m-%dT%H:%M:%SZ}'" if after else None
        return " and ".join(each for each in (since, self.filter) if each) or None


def pull(
    service: Service, order: Order, *, now: Callable[[], datetime], on_page: Callable[[Page], None]
) -> Manifest:
    """Carry out an order; see `Client.pull`."""
    make_folder(order.destination)
    with locked(order.destination):
        manifest = _unfinished(service, order) or _begun(service, order, now=now)
        manifest.write()
        with Batches(manifest.folder) as batches:
            collections = _collections(service, order, batches, on_page=on_page)
            done: list[CollectionPulled] = []
            try:
                for collection in collections:
                    done.append(CollectionPulled.of(collection, proof=collection.settle()))  # noqa: PERF401 (what came before a failure counts)
            except (OsdiError, OSError, KeyboardInterrupt) as error:
                reached = collections[len(done)]
                done.append(CollectionPulled.of(reached, proof=None, failure=str(error) or "interrupted"))
                error.add_note(f"what was read stays in {manifest.folder}; pull again to go on")
                raise
            finally:
                batches.finish()
                manifest = _finished(manifest, collections, done, files=batches.names(), now=now)
                manifest.write()
    return manifest


def last_change(service: Service, order: Order, *, overlap: timedelta) -> datetime | None:
    """Return from when on changes are to be asked for, by the last complete pull of the same collections.

    What changed while that pull ran is asked for again, however late its newest modified_date is.
    """
    complete = [
        each
        for each in manifests(order.destination)
        if each.complete and each.newest_modified_date and _is_of(each, service, order)
    ]
    if not complete:
        return None
    newest, started = complete[-1].newest_modified_date, complete[-1].started_at
    return min(newest or started, started) - overlap


def _unfinished(service: Service, order: Order) -> Manifest | None:
    """Return the last pull of the same collections if it is not complete."""
    before = [
        each
        for each in manifests(order.destination)
        if _is_of(each, service, order) and each.since == order.since
    ]
    if not (order.resume and before) or before[-1].complete:
        return None
    return replace(before[-1], finished_at=None)


def _begun(service: Service, order: Order, *, now: Callable[[], datetime]) -> Manifest:
    started = now()
    return Manifest(
        folder=_new_folder(order.destination, started),
        address=service.address.base_url,
        version=service.address.version,
        filter=order.filter,
        since=order.since,
        started_at=started,
        finished_at=None,
        collections=tuple(CollectionPulled(path) for path in order.paths),
    )


def _finished(
    manifest: Manifest,
    collections: Sequence[Collection],
    done: Sequence[CollectionPulled],
    *,
    files: Sequence[str],
    now: Callable[[], datetime],
) -> Manifest:
    untouched = manifest.collections[len(done) :]
    newest = [each.ledger.newest for each in collections if each.ledger.newest]
    return replace(
        manifest,
        finished_at=now(),
        collections=(*done, *untouched),
        files=tuple(files),
        newest_modified_date=max(newest, default=None),
    )


def _collections(
    service: Service, order: Order, batches: Batches, *, on_page: Callable[[Page], None]
) -> list[Collection]:
    """Make the collections of a pull; in their ledgers stands what an earlier call has read."""
    whole = order.filter_for(service.address.version)
    collections = {
        urlsplit(service.address.collection(path)).path: Collection(
            service, path, whole, keep=lambda answer: batches.keep(answer.line()), on_page=on_page
        )
        for path in order.paths
    }
    for envelope in batches.read():
        collection = collections[urlsplit(envelope["url"]).path]
        number = asked_page(envelope["url"]) or _next_number(collection)
        collection.ledger.add(read_page(envelope["body"], number=number, prefixes=service.prefixes))
    return list(collections.values())


def _next_number(collection: Collection) -> int:
    """Return a number to a page whose address has none: the first, or one that was found by its `next`."""
    pages = collection.ledger.pages
    return pages[-1].number + 1 if pages and pages[-1].next else 1


def _is_of(manifest: Manifest, service: Service, order: Order) -> bool:
    asked = (service.address.base_url, order.paths, order.filter)
    return (manifest.address, manifest.paths, manifest.filter) == asked


def _new_folder(destination: Path, started: datetime) -> Path:
    name = f"{started:%Y%m%dT%H%M%SZ}"
    for number in count(1):
        folder = destination / (name if number == 1 else f"{name}-{number}")
        if not folder.exists():  # nobody else makes one: the destination is locked
            make_folder(folder)
            return folder
    raise AssertionError("there is always a next number")
