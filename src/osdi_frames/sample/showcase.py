"""The small archive that shows every layout, for the eye and for tests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path

from osdi_frames.sample import files, pulls
from osdi_frames.sample.deployment import Document, href_of
from osdi_frames.sample.documents import Delivery, bodies, counted, deliveries, signature_pages, single
from osdi_frames.sample.world import World


@dataclass(frozen=True, slots=True)
class _Part:
    """The deliveries before a month, since the part above, in one layout."""

    before: str
    name: str
    writer: Callable[[Path, Iterable[object]], None]
    enveloped: bool = False


# Each layout that an archive may have; the table is the list of them.
_PARTS = (
    _Part("2022-01", "2021.ndjson", files.lines),
    _Part("2022-12", "2022-without-keys.jsonl.gz", files.lines),
    _Part("2023-04", "2022-12-to-2023-03-lines.json", files.lines),
    _Part("2023-10", "2023-q2-q3-glued.json", files.glued),
    _Part("2024-01", "2023-q4.ndjson.zst", files.lines),
    _Part("2024-04", "2024-q1.jsonl", files.lines),
    _Part("2024-07", "2024-q2-glued.json.gz", files.glued),
    _Part("2024-10", "2024-q3-glued.json.zst", files.glued),
    _Part("2025-01", "2024-q4.zip", files.packed),
    _Part("2025-04", "2025-q1.tar", files.packed),
    _Part("2025-07", "2025-q2.tar.gz", files.packed),
    _Part("2025-08", "2025-07-one-a-file/{}.json", files.compact),
    _Part("2025-09", "2025-08-pretty/{}.json", files.pretty),
    _Part("2025-10", "2025-09-one-a-file-gz/{}.json.gz", files.compact),
    _Part("2025-11", "2025-10-pretty-zst/{}.json.zst", files.pretty),
    _Part("2026-01", "2025-11-to-12-lines.json.gz", files.lines),
    _Part("2026-04", "2026-q1-received.ndjson.gz", files.lines, enveloped=True),
    _Part("2026-06", "2026-04-to-05-received.jsonl.zst", files.lines, enveloped=True),
    _Part("2026-07", "2026-06-received.zip", files.packed, enveloped=True),
    _Part("9999-12", "2026-07-received.ndjson", files.lines, enveloped=True),
)


@files.whole
def write_showcase(
    destination: str | os.PathLike[str],
    *,
    seed: int = 7,
    overwrite: bool = False,
) -> None:
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
    folder = files.folder(destination, overwrite=overwrite)
    world = World.make(seed=seed, events=135)
    _show_events(world, folder / "events")
    signed = Counter({href_of(world.petitions[0]): 30})  # those that were made over the API
    _show_deliveries(world, folder / "deliveries", counted(world.signatures(1320), signed))
    files.pretty(folder / "signatures" / "page-{}.json", signature_pages(world, count=30))
    files.compact(folder / "event_campaigns" / "page-{}.json", pulls.event_campaigns(world))
    files.pretty(folder / "petitions" / "page-{}.json", pulls.petitions(world, signed))
    files.lines(folder / "attendances.ndjson.zst", pulls.attendances(world))
    other = World.make(seed=seed, events=15, petitions=5, prefix="platform")
    _show_mixed(other, folder / "platform", signatures=150)


def _show_events(world: World, root: Path) -> None:
    files.compact(root / "v2" / "page-{}.json", pulls.v2(world))
    files.pretty(root / "v2-2018-with-people" / "page-{}.json", pulls.old_v2(world))
    files.glued(root / "v1-glued.json", pulls.v1(world))
    files.lines(root / "campaigns.jsonl.zst", pulls.campaigns(world))
    files.pretty(root / "single" / "event-{}.json", (single(world.deployment, e) for e in world.events[-2:]))
    first, second, third, last = pulls.weekly(world)
    files.lines(root / "pulls" / f"{first[0]:%Y-%m-%d}.ndjson.gz", first[1])
    files.glued(root / "pulls" / f"{second[0]:%Y-%m-%d}-glued.json.zst", second[1])
    files.packed(root / "pulls" / f"{third[0]:%Y-%m-%d}.tar.gz", third[1])
    files.packed(root / "pulls" / f"{last[0]:%Y-%m-%d}.zip", last[1])


def _show_deliveries(world: World, root: Path, signatures: Iterable[Document]) -> None:
    sent = deliveries(world, signatures)
    for part, group in groupby(sent, key=_part):
        part.writer(root / part.name, bodies(group, enveloped=part.enveloped))
    files.text(root / ".2026-08.ndjson", '[{"osdi:signature": {"identifiers": ["action_network:half a docum')


def _part(delivery: Delivery) -> _Part:
    return next(part for part in _PARTS if delivery.month() < part.before)


def _show_mixed(world: World, root: Path, *, signatures: int) -> None:
    """Mix events with deliveries, and documents with what is none: in a folder, and in a zip and a tar."""
    signed: Counter[str] = Counter()
    sent = deliveries(world, counted(world.signatures(signatures), signed))
    files.text(root / "README.txt", "Everything of the second deployment, as it came.\n")
    files.pretty(root / "events-2018-{}.json", pulls.old_v2(world))
    files.compact(root / "events-{}.json", pulls.v2(world))
    files.lines(root / "deliveries.ndjson", bodies(islice(sent, 40)))
    files.lines(
        root / "both.ndjson",
        [*pulls.campaigns(world), *bodies(islice(sent, 20), enveloped=True)],
    )
    files.pack(root / "both.zip", _members(world, islice(sent, 50)))
    files.pack(root / "both.tar.gz", _members(world, sent))
    collections = (pulls.event_campaigns(world), pulls.petitions(world, signed), pulls.attendances(world))
    files.glued(root / "collections-glued.json.gz", chain.from_iterable(collections))


def _members(world: World, sent: Iterator[Delivery]) -> Iterator[files.Member]:
    yield "README.txt", b"An archive in an archive.\n"
    yield "events/.page-000.json", b'{"half a document'
    yield files.in_lines("events/pulls.ndjson", (page for _, pull in pulls.weekly(world) for page in pull))
    yield files.in_lines("deliveries/first.ndjson.gz", bodies(islice(sent, 15)))
    yield files.in_lines("deliveries/lines.json", bodies(sent))
