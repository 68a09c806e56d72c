"""Archives on disk: the large one for load, the showcase for the eye and for tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from math import isqrt
from pathlib import Path

from tqdm.auto import tqdm

from osdi_frames.errors import DestinationExists
from osdi_frames.sample import files, pulls
from osdi_frames.sample.documents import Delivery, deliveries, signature_pages, single
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
    (``signatures/``). Deliveries are streamed: memory does not grow with their number.

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
    ['deliveries.ndjson', 'events', 'platform', 'signatures']
    """
    folder = _made(destination, overwrite=overwrite)
    other = next(name for name in PREFIXES if name != prefix)
    shares = ((prefix, folder, _most), (other, folder / other, _rest))
    for name, root, share in shares:
        world = World.make(
            seed=seed, events=share(events), petitions=_petitions(signatures), prefix=name, until=until
        )
        _write_events(world, root / "events")
        _write_signatures(world, root, share(signatures), one_file=one_file, progress=progress)


def _most(count: int) -> int:
    return count - count // OTHERS_SHARE


def _rest(count: int) -> int:
    return count // OTHERS_SHARE


def _petitions(signatures: int) -> int:
    return 5 + isqrt(signatures) // 3


def _write_events(world: World, root: Path) -> None:
    files.compact(root / "v2-2018" / "page-{}.json", pulls.old_v2(world))
    files.compact(root / "v1" / "page-{}.json", pulls.v1(world))
    files.compact(root / "v2" / "page-{}.json", pulls.v2(world))
    for when, documents in pulls.weekly(world):
        files.lines(root / "pulls" / f"{when:%Y-%m-%d}.ndjson", documents)
    files.lines(root / "campaigns.ndjson", pulls.campaigns(world))


def _write_signatures(world: World, root: Path, count: int, *, one_file: bool, progress: bool) -> None:
    collected = count // 50  # made over the API: a collection lists them, no webhook brings them
    files.lines(root / "signatures" / "collection.ndjson", signature_pages(world, count=collected))
    delivered = tqdm(
        world.signatures(count - collected),
        total=count - collected,
        desc=f"signatures of {world.prefix}",
        disable=None if progress else True,
    )
    sent = deliveries(world, delivered)
    if one_file:
        files.lines(root / "deliveries.ndjson", _bodies(sent))
        return
    for month, group in groupby(sent, key=_month):
        made = _envelopes(group) if month >= ENVELOPES_SINCE else _bodies(group)
        files.lines(root / "deliveries" / f"{month}.ndjson", made)


def _month(delivery: Delivery) -> str:
    return f"{delivery.received_at:%Y-%m}"


def _made(destination: str | os.PathLike[str], *, overwrite: bool) -> Path:
    folder = Path(destination)
    if not overwrite and folder.exists() and (folder.is_file() or any(folder.iterdir())):
        raise DestinationExists(f"{folder} is there already: choose another folder, or overwrite")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


Writer = Callable[[Path, Iterable[object]], None]


@dataclass(frozen=True, slots=True)
class _Part:
    """The deliveries before a month, since the part above, in one layout."""

    before: str
    name: str
    writer: Writer
    enveloped: bool = False


# Each layout that an archive may have; the table is the list of them.
_PARTS = (
    _Part("2022-01", "2021.ndjson", files.lines),
    _Part("2022-12", "2022-without-keys.jsonl.gz", files.lines),
    _Part("2023-04", "2023-q1-lines.json", files.lines),
    _Part("2023-10", "2023-glued.json", files.glued),
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
    _Part("2026-01", "2025-q4-lines.json.gz", files.lines),
    _Part("2026-04", "2026-q1-received.ndjson.gz", files.lines, enveloped=True),
    _Part("2026-06", "2026-q2-received.jsonl.zst", files.lines, enveloped=True),
    _Part("2026-07", "2026-06-received-pretty.zip", files.packed, enveloped=True),
    _Part("9999-12", "2026-07-received.ndjson", files.lines, enveloped=True),
)


def showcase(
    destination: str | os.PathLike[str],
    *,
    seed: int = 7,
    overwrite: bool = False,
) -> None:
    """Write the small archive that shows every layout in which documents may lie on a disk.

    It holds 1,500 signatures and 150 events, a tenth of them from a second deployment with its own prefix.
    Among the files are two that a reader passes over: a hidden one with half a document, as a receiver
    leaves it that is still writing, and a text.

    Raises
    ------
    DestinationExists
        The folder holds something and `overwrite` is false.
    """
    folder = _made(destination, overwrite=overwrite)
    world = World.make(seed=seed, events=135)
    _show_events(world, folder / "events")
    _show_deliveries(world, folder / "deliveries", signatures=1320)
    files.pretty(folder / "signatures" / "page-{}.json", signature_pages(world, count=30))
    _show_mixed(World.make(seed=seed, events=15, prefix="platform"), folder / "platform", signatures=150)


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


def _show_deliveries(world: World, root: Path, *, signatures: int) -> None:
    sent = deliveries(world, world.signatures(signatures))
    for part, group in groupby(sent, key=_part):
        made = _envelopes(group) if part.enveloped else _bodies(group)
        part.writer(root / part.name, made)
    files.text(root / ".2026-08.ndjson", '[{"osdi:signature": {"identifiers": ["action_network:half a docum')


def _part(delivery: Delivery) -> _Part:
    return next(part for part in _PARTS if _month(delivery) < part.before)


def _show_mixed(world: World, root: Path, *, signatures: int) -> None:
    """Mix events with deliveries, and documents with what is none: in a folder, and in a zip and a tar."""
    sent = deliveries(world, world.signatures(signatures))
    files.text(root / "README.txt", "Everything of the second deployment, as it came.\n")
    files.compact(root / "events-{}.json", pulls.v2(world))
    files.lines(root / "deliveries.ndjson", _bodies(islice(sent, 40)))
    files.lines(
        root / "both.ndjson",
        [*pulls.campaigns(world), *_envelopes(islice(sent, 20))],
    )
    files.pack(root / "both.zip", _members(world, islice(sent, 50)))
    files.pack(root / "both.tar.gz", _members(world, sent))


def _members(world: World, sent: Iterable[Delivery]) -> Iterator[files.Member]:
    yield "README.txt", b"An archive in an archive.\n"
    yield "events/.page-000.json", b'{"half a document'
    yield files.in_lines("events/pulls.ndjson", (page for _, pull in pulls.weekly(world) for page in pull))
    yield files.in_lines("deliveries/all.json", _bodies(sent))


def _bodies(sent: Iterable[Delivery]) -> Iterator[object]:
    return (delivery.body for delivery in sent)


def _envelopes(sent: Iterable[Delivery]) -> Iterator[object]:
    return (delivery.envelope() for delivery in sent)
