"""Archives on disk: one for load, of any size in a plain layout, and a small one that shows every layout."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, groupby, islice
from math import isqrt
from pathlib import Path

from osdi_frames.progress import bar
from osdi_frames.sample import files, pulls
from osdi_frames.sample.deliveries import Delivery, bodies, counted, deliveries
from osdi_frames.sample.deployment import Document, href_of
from osdi_frames.sample.world import UNTIL, World

PREFIXES = ("action_network", "platform")
ENVELOPES_SINCE = "2026-01"  # the month in which the archive's receiver began to note received_at
OTHERS_SHARE = 20  # one in so many is the other deployment's


def write(
    destination: str | os.PathLike[str],
    *,
    signatures: int = 2000,
    events: int = 200,
    seed: int = 7,
    prefix: str = "action_network",
    until: datetime = UNTIL,
    one_file: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> None:
    """Write a realistic archive of two deployments into a folder; the same arguments, the same bytes.

    One in twenty signatures and events belongs to a second deployment with another prefix, in a folder
    of that prefix's name. Each deployment has pages of events (``events/``), deliveries a line each by
    month (``deliveries/``, in envelopes since 2026) and a collection of signatures made over the API
    (``signatures/``), and its event campaigns and petitions (``event_campaigns/``, ``petitions/``), but no
    attendances. Deliveries are streamed: memory does not grow with their number.

    Parameters
    ----------
    destination
        A folder, which is made.
    signatures, events
        How many different ones; deliveries are about a tenth more than signatures, by retries and such.
    seed, prefix, until
        See `World.make`.
    one_file
        Write a deployment's deliveries, without envelopes, into one file ``deliveries.ndjson``.
    overwrite
        Write into a folder that holds something; files of other names stay.
    progress
        Show a progress bar on a terminal.

    Raises
    ------
    DestinationExists
        The folder holds something and `overwrite` is false.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder, signatures=200, events=20, one_file=True)
    ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
    ['deliveries.ndjson', 'event_campaigns', 'events', 'petitions', 'platform', 'signatures']
    """
    other = next(name for name in PREFIXES if name != prefix)
    rest = (events // OTHERS_SHARE, signatures // OTHERS_SHARE)
    most = (events - rest[0], signatures - rest[1])
    petitions = 5 + isqrt(signatures) // 3
    with files.whole(destination, overwrite=overwrite) as folder:
        for name, root, (made, signed) in ((prefix, folder, most), (other, folder / other, rest)):
            world = World.make(seed=seed, events=made, petitions=petitions, prefix=name, until=until)
            _write_events(world, root / "events")
            files.write(root / "event_campaigns" / "collection.ndjson", pulls.event_campaigns(world))
            _write_signatures(world, root, signed, one_file=one_file, progress=progress)


def _write_events(world: World, root: Path) -> None:
    files.write(root / "v2-2018" / "page-{}.json", pulls.old_v2(world))
    files.write(root / "v1" / "page-{}.json", pulls.v1(world))
    files.write(root / "v2" / "page-{}.json", pulls.v2(world))
    for when, documents in pulls.weekly(world):
        files.write(root / "pulls" / f"{when:%Y-%m-%d}.ndjson", documents)
    files.write(root / "campaigns.ndjson", pulls.campaigns(world))


def _write_signatures(world: World, root: Path, count: int, *, one_file: bool, progress: bool) -> None:
    collected = count // 50  # made over the API: a collection lists them, no webhook brings them
    files.write(root / "signatures" / "collection.ndjson", pulls.signature_pages(world, count=collected))
    signed = Counter({href_of(world.petitions[0]): collected})
    making = f"signatures of {world.prefix}"
    delivered = world.signatures(count - collected)
    shown = bar(making, None if progress else False, over=delivered, total=count - collected)
    sent = deliveries(world, counted(shown, signed))
    if one_file:
        files.write(root / "deliveries.ndjson", bodies(sent))
    else:
        for month, group in groupby(sent, key=Delivery.month):
            made = bodies(group, enveloped=month >= ENVELOPES_SINCE)
            files.write(root / "deliveries" / f"{month}.ndjson", made)
    files.write(root / "petitions" / "collection.ndjson", pulls.petitions(world, signed))


# Each layout that an archive may have: of the deliveries before a month, since the line above.
_PARTS = (
    ("2022-01", "2021.ndjson"),
    ("2022-12", "2022-without-keys.jsonl.gz"),
    ("2023-04", "2022-12-to-2023-03-lines.json"),
    ("2023-10", "2023-q2-q3-glued.json"),
    ("2024-01", "2023-q4.ndjson.zst"),
    ("2024-04", "2024-q1.jsonl"),
    ("2024-07", "2024-q2-glued.json.gz"),
    ("2024-10", "2024-q3-glued.json.zst"),
    ("2025-01", "2024-q4.zip"),
    ("2025-04", "2025-q1.tar"),
    ("2025-07", "2025-q2.tar.gz"),
    ("2025-08", "2025-07-one-a-file/{}.json"),
    ("2025-09", "2025-08-pretty/{}.json"),
    ("2025-10", "2025-09-one-a-file-gz/{}.json.gz"),
    ("2025-11", "2025-10-pretty-zst/{}.json.zst"),
    ("2026-01", "2025-11-to-12-lines.json.gz"),
    ("2026-04", "2026-q1-received.ndjson.gz"),
    ("2026-06", "2026-04-to-05-received.jsonl.zst"),
    ("2026-07", "2026-06-received.zip"),
    ("9999-12", "2026-07-received.ndjson"),
)


def write_showcase(destination: str | os.PathLike[str], *, seed: int = 7, overwrite: bool = False) -> None:
    """Write the small archive that shows every layout in which documents may lie on a disk.

    It holds 1,500 signatures and 150 events with their attendances, campaigns and petitions, a tenth of them
    from a second deployment with its own prefix.
    Among the files are two that a reader passes over: a hidden one with half a document, as a receiver
    leaves it that is still writing, and a text.

    Raises
    ------
    DestinationExists
        The folder holds something and `overwrite` is false.
    """
    world = World.make(seed=seed, events=135)
    other = World.make(seed=seed, events=15, petitions=5, prefix="platform")
    signed = Counter({href_of(world.petitions[0]): 30})  # those that were made over the API
    with files.whole(destination, overwrite=overwrite) as folder:
        _show_events(world, folder / "events")
        _show_deliveries(world, folder / "deliveries", counted(world.signatures(1320), signed))
        files.write(
            folder / "signatures" / "page-{}.json", pulls.signature_pages(world, count=30), pretty=True
        )
        files.write(folder / "event_campaigns" / "page-{}.json", pulls.event_campaigns(world))
        files.write(folder / "petitions" / "page-{}.json", pulls.petitions(world, signed), pretty=True)
        files.write(folder / "attendances.ndjson.zst", pulls.attendances(world))
        _show_mixed(other, folder / "platform", signatures=150)


def _show_events(world: World, root: Path) -> None:
    files.write(root / "v2" / "page-{}.json", pulls.v2(world))
    files.write(root / "v2-2018-with-people" / "page-{}.json", pulls.old_v2(world), pretty=True)
    files.write(root / "v1-glued.json", pulls.v1(world))
    files.write(root / "campaigns.jsonl.zst", pulls.campaigns(world))
    files.write(
        root / "single" / "event-{}.json",
        (pulls.single(world.deployment, e) for e in world.events[-2:]),
        pretty=True,
    )
    ends = (".ndjson.gz", "-glued.json.zst", ".tar.gz", ".zip")
    for (when, documents), end in zip(pulls.weekly(world), ends, strict=True):
        files.write(root / "pulls" / f"{when:%Y-%m-%d}{end}", documents)


def _show_deliveries(world: World, root: Path, signatures: Iterable[Document]) -> None:
    def part(delivery: Delivery) -> tuple[str, str]:
        return next(part for part in _PARTS if delivery.month() < part[0])

    for (before, name), group in groupby(deliveries(world, signatures), key=part):
        made = bodies(group, enveloped=before > ENVELOPES_SINCE)
        files.write(root / name, made, pretty="pretty" in name)
    (root / ".2026-08.ndjson").write_bytes(
        b'[{"osdi:signature": {"identifiers": ["action_network:half a docum'
    )


def _show_mixed(world: World, root: Path, *, signatures: int) -> None:
    """Mix events with deliveries, and documents with what is none: in a folder, and in a zip and a tar."""
    signed: Counter[str] = Counter()
    sent = deliveries(world, counted(world.signatures(signatures), signed))
    files.write(root / "events-2018-{}.json", pulls.old_v2(world), pretty=True)
    (root / "README.txt").write_bytes(b"Everything of the second deployment, as it came.\n")
    files.write(root / "events-{}.json", pulls.v2(world))
    files.write(root / "deliveries.ndjson", bodies(islice(sent, 40)))
    files.write(root / "both.ndjson", [*pulls.campaigns(world), *bodies(islice(sent, 20), enveloped=True)])
    files.pack(root / "both.zip", _members(world, islice(sent, 50)))
    files.pack(root / "both.tar.gz", _members(world, sent))
    collections = (pulls.event_campaigns(world), pulls.petitions(world, signed), pulls.attendances(world))
    files.write(root / "collections-glued.json.gz", chain.from_iterable(collections))


def _members(world: World, sent: Iterator[Delivery]) -> Iterator[files.Member]:
    yield "README.txt", b"An archive in an archive.\n"
    yield "events/.page-000.json", b'{"half a document'
    yield files.in_lines("events/pulls.ndjson", (page for _, pull in pulls.weekly(world) for page in pull))
    yield files.in_lines("deliveries/first.ndjson.gz", bodies(islice(sent, 15)))
    yield files.in_lines("deliveries/lines.json", bodies(sent))
