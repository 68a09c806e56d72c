"""The archive for load: as many events and signatures as are asked for, in a plain layout."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime
from itertools import groupby
from math import isqrt
from pathlib import Path

from osdi_frames.progress import bar
from osdi_frames.sample import files, pulls
from osdi_frames.sample.deployment import href_of
from osdi_frames.sample.documents import Delivery, bodies, counted, deliveries, signature_pages
from osdi_frames.sample.world import UNTIL, World

PREFIXES = ("action_network", "platform")
ENVELOPES_SINCE = "2026-01"  # the month in which the archive's receiver began to note received_at
OTHERS_SHARE = 20  # one in so many is the other deployment's


@files.whole
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
    folder = files.folder(destination, overwrite=overwrite)
    other = next(name for name in PREFIXES if name != prefix)
    rest = (events // OTHERS_SHARE, signatures // OTHERS_SHARE)
    most = (events - rest[0], signatures - rest[1])
    petitions = 5 + isqrt(signatures) // 3
    for name, root, (made, signed) in ((prefix, folder, most), (other, folder / other, rest)):
        world = World.make(seed=seed, events=made, petitions=petitions, prefix=name, until=until)
        _write_events(world, root / "events")
        files.lines(root / "event_campaigns" / "collection.ndjson", pulls.event_campaigns(world))
        _write_signatures(world, root, signed, one_file=one_file, progress=progress)


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
    signed = Counter({href_of(world.petitions[0]): collected})
    making = f"signatures of {world.prefix}"
    delivered = world.signatures(count - collected)
    shown = bar(making, None if progress else False, over=delivered, total=count - collected)
    sent = deliveries(world, counted(shown, signed))
    if one_file:
        files.lines(root / "deliveries.ndjson", bodies(sent))
    else:
        for month, group in groupby(sent, key=Delivery.month):
            made = bodies(group, enveloped=month >= ENVELOPES_SINCE)
            files.lines(root / "deliveries" / f"{month}.ndjson", made)
    files.lines(root / "petitions" / "collection.ndjson", pulls.petitions(world, signed))
