"""The sample on disk: a document a line, in files named for the pull or the month of the delivery."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from math import isqrt
from operator import itemgetter

from osdi_frames.durable import make_folder, naming
from osdi_frames.progress import bar
from osdi_frames.sample import acts, pulls
from osdi_frames.sample.deliveries import deliveries
from osdi_frames.sample.deployment import Document, href_of
from osdi_frames.sample.world import World

ENVELOPES_SINCE = datetime(2026, 1, 1, tzinfo=UTC)  # since then the archive's receiver notes received_at

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def write(
    destination: str | os.PathLike[str],
    *,
    signatures: int = 2000,
    events: int = 200,
    seed: int = 7,
    overwrite: bool = False,
    progress: bool | None = None,
) -> None:
    """Write a realistic archive into a folder.

    The same arguments make the same bytes. There are pages of events (``events/``), deliveries a line each by month
    (``deliveries/``, in envelopes since 2026), a collection of signatures made over the API (``signatures/``), event
    campaigns, petitions, and what people do besides (``acts/``): submissions, donations, outreaches, responses, with
    what these belong to, their deliveries, tags and taggings. Deliveries are streamed: memory does not grow with their
    number.

    Parameters
    ----------
    destination
        A folder, which appears when everything is written, or never.
    signatures, events
        How many different ones; deliveries are about a tenth more than signatures, by retries and such. Of each kind of
        other acts there is one for thirty signatures.
    seed
        Decides every identifier and every draw.
    overwrite
        Replace an earlier sample.
    progress
        Whether to show a progress bar; None shows it on a terminal only.

    Raises
    ------
    DestinationExists
        The folder exists and `overwrite` is false, or osdi-frames did not write all of it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder, signatures=200, events=20)
    ...     sorted(path.name for path in pathlib.Path(folder).glob("[!.]*"))
    ['acts', 'deliveries', 'event_campaigns.ndjson', 'events', 'petitions.ndjson', 'signatures.ndjson']
    """
    from osdi_frames.output.folder import output_folder  # imports libraries that the sandbox does without

    petitions = max(isqrt(signatures) * 5 // 8 - 2, 5)
    world = World(seed=seed, event_count=events, petition_count=petitions)
    with output_folder(destination, kind="sample", source=(), overwrite=overwrite) as folder:
        for name, named in groupby(documents(world, signatures, progress), key=itemgetter(0)):
            make_folder((folder / name).parent)
            path = folder / name
            with naming(path), path.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{_COMPACT(document)}\n" for _, document in named)


def documents(
    world: World, signatures: int, progress: bool | None = None
) -> Iterator[tuple[str, Document | list[Document]]]:
    """Yield a world's documents, each with its file's name."""
    yield from _in("events/2018.ndjson", pulls.old_v2(world))
    for at in pulls.WEEKLY:
        yield from _in(f"events/{at:%Y-%m-%d}.ndjson", pulls.v2(world, at))
    yield from _in("events/campaigns.ndjson", pulls.campaigns(world))
    yield from _in("event_campaigns.ndjson", pulls.event_campaigns(world))
    collected = signatures // 45  # made over the API: a collection lists them, no webhook brings them
    yield from _in("signatures.ndjson", pulls.signatures(world, collected))
    signed = Counter({href_of(world.petitions[0]): collected})
    for delivery in deliveries(world, _counted(world, signatures - collected, signed, progress)):
        enveloped = delivery.received_at >= ENVELOPES_SINCE
        name = f"deliveries/{delivery.received_at:%Y-%m}.ndjson"
        yield name, delivery.envelope() if enveloped else delivery.body
    yield from _in("petitions.ndjson", pulls.petitions(world, signed))
    others = max(signatures // 30, 4)  # of each kind
    for name, page in acts.collections(world, others):
        yield f"acts/{name}.ndjson", page
    yield from _in("acts/deliveries.ndjson", acts.received(world, others))


def _in(name: str, pulled: Iterable[Document]) -> Iterator[tuple[str, Document]]:
    return ((name, document) for document in pulled)


def _counted(world: World, count: int, signed: Counter[str], progress: bool | None) -> Iterator[Document]:
    """Make signatures, counted by the address of their petition."""
    for signature in bar(
        f"signatures of {world.prefix}", progress, over=world.signatures(count), total=count
    ):
        signed[signature["_links"]["osdi:petition"]["href"]] += 1
        yield signature
