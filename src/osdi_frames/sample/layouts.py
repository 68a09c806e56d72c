"""Archives on disk: in a plain layout for load, or in every layout that documents may have.

The same documents make the same bytes: no file or member carries a clock, an owner or a host.
"""

import gzip
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, groupby, islice
from math import isqrt
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias, cast

from osdi_frames.errors import DestinationExists
from osdi_frames.progress import bar
from osdi_frames.sample import pulls
from osdi_frames.sample.deliveries import Delivery, deliveries
from osdi_frames.sample.deployment import Document, href_of
from osdi_frames.sample.world import World

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_PRETTY = json.JSONEncoder(ensure_ascii=True, indent=2).encode

Member: TypeAlias = tuple[str, bytes]

ENVELOPES_SINCE = datetime(2026, 1, 1, tzinfo=UTC)  # since then the archive's receiver notes received_at


class Layout(NamedTuple):
    """Where a deployment's documents lie, in the names of `_write_documents`."""

    pulls: Mapping[str, pulls.Pull]
    collection: str
    deliveries: Callable[[str], str]  # by the month of their receipt


_PLAIN = Layout(
    {
        "events/v2-2018/page-{compact}.json": pulls.old_v2,
        "events/v1/page-{compact}.json": pulls.v1,
        "events/v2/page-{compact}.json": pulls.v2,
        **{f"events/pulls/{day}.ndjson": pull for day, pull in pulls.WEEKLY.items()},
        "events/campaigns.ndjson": pulls.campaigns,
        "event_campaigns/collection.ndjson": pulls.event_campaigns,
    },
    collection="collection.ndjson",  # of signatures, and of petitions
    deliveries="{}.ndjson".format,
)

# Each layout that an archive may have: of the deliveries before a month, since the line above.
_PARTS = {
    "2022-01": "2021.ndjson",
    "2022-12": "2022-without-keys.jsonl.gz",
    "2023-04": "2022-12-to-2023-03-lines.json",
    "2023-10": "2023-q2-q3-glued.json",
    "2024-01": "2023-q4.ndjson.zst",
    "2024-04": "2024-q1.jsonl",
    "2024-07": "2024-q2-glued.json.gz",
    "2024-10": "2024-q3-glued.json.zst",
    "2025-01": "2024-q4.zip",
    "2025-04": "2025-q1.tar",
    "2025-07": "2025-q2.tar.gz",
    "2025-08": "2025-07-one-a-file/{compact}.json",
    "2025-09": "2025-08-pretty/{pretty}.json",
    "2025-10": "2025-09-one-a-file-gz/{compact}.json.gz",
    "2025-11": "2025-10-pretty-zst/{pretty}.json.zst",
    "2026-01": "2025-11-to-12-lines.json.gz",
    "2026-04": "2026-q1-received.ndjson.gz",
    "2026-06": "2026-04-to-05-received.jsonl.zst",
    "2026-07": "2026-06-received.zip",
    "9999-12": "2026-07-received.ndjson",
}

_SHOWCASE = Layout(
    {
        "events/v2/page-{compact}.json": pulls.v2,
        "events/v2-2018-with-people/page-{pretty}.json": pulls.old_v2,
        "events/v1-glued.json": pulls.v1,
        "events/pulls/2026-07-11.ndjson.gz": pulls.WEEKLY["2026-07-11"],
        "events/pulls/2026-07-18-glued.json.zst": pulls.WEEKLY["2026-07-18"],
        "events/pulls/2026-07-25.tar.gz": pulls.WEEKLY["2026-07-25"],
        "events/pulls/2026-08-01.zip": pulls.WEEKLY["2026-08-01"],
        "events/campaigns.jsonl.zst": pulls.campaigns,
        "events/single/event-{pretty}.json": pulls.single,
        "event_campaigns/page-{compact}.json": pulls.event_campaigns,
        "attendances.ndjson.zst": pulls.attendances,
    },
    collection="page-{pretty}.json",
    deliveries=lambda month: next(name for before, name in _PARTS.items() if month < before),
)


def write(
    destination: str | os.PathLike[str],
    *,
    signatures: int = 2000,
    events: int = 200,
    seed: int = 7,
    showcase: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
) -> None:
    """Write a realistic archive of two deployments into a folder; the same arguments, the same bytes.

    A tenth of the signatures and events belongs to a second deployment with another prefix, in a folder
    of that prefix's name. Each deployment has pages of events (``events/``), deliveries a line each by
    month (``deliveries/``, in envelopes since 2026), a collection of signatures made over the API
    (``signatures/``), its event campaigns and petitions. Deliveries are streamed: memory does not grow
    with their number.

    Parameters
    ----------
    destination
        A folder, which is made.
    signatures, events
        How many different ones; deliveries are about a tenth more than signatures, by retries and such.
    seed
        See `World.make`.
    showcase
        Write attendances, too, and each part in another of the layouts in which documents may lie on a
        disk; everything of the second deployment is mixed. A hidden file with half a document, as a
        receiver leaves it that is still writing, and texts are there to be passed over.
    overwrite
        Write into a folder that holds something; files of other names stay.
    progress
        Whether to show a progress bar; None shows it on a terminal only.

    Raises
    ------
    DestinationExists
        The folder holds something and `overwrite` is false.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder, signatures=200, events=20)
    ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
    ['deliveries', 'event_campaigns', 'events', 'petitions', 'platform', 'signatures']
    """
    with _whole(destination, overwrite=overwrite) as folder:
        for prefix, root, part in (("action_network", folder, 0), ("platform", folder / "platform", 1)):
            signed, made = ((n - n // 10, n // 10)[part] for n in (signatures, events))
            petitions = max(isqrt(signed) * 5 // 8 - 2, 5)
            world = World.make(seed=seed, events=made, petitions=petitions, prefix=prefix)
            if showcase and part:
                _write_mixed(world, root, signed, progress)
            else:
                _write(world, root, _SHOWCASE if showcase else _PLAIN, signed, progress)


def _write(world: World, root: Path, layout: Layout, signatures: int, progress: bool | None) -> None:
    """Write what a deployment holds."""
    for name, pull in layout.pulls.items():
        _write_documents(root / name, pull(world))
    collected = signatures // 45  # made over the API: a collection lists them, no webhook brings them
    _write_documents(root / "signatures" / layout.collection, pulls.signatures(world, collected))
    signed = Counter({href_of(world.petitions[0]): collected})
    stream = _sent(world, signatures - collected, signed, progress)
    for name, group in groupby(
        stream, key=lambda delivery: layout.deliveries(f"{delivery.received_at:%Y-%m}")
    ):
        documents = (sent.envelope() if sent.received_at >= ENVELOPES_SINCE else sent.body for sent in group)
        _write_documents(root / "deliveries" / name, documents)
    _write_documents(root / "petitions" / layout.collection, pulls.petitions(world, signed))


def _sent(world: World, count: int, signed: Counter[str], progress: bool | None) -> Iterator[Delivery]:
    """Deliver signatures of a world; `signed` counts them by the address of their petition."""

    def counted() -> Iterator[Document]:
        making = f"signatures of {world.deployment.prefix}"
        for signature in bar(making, progress, over=world.signatures(count), total=count):
            signed[signature["_links"]["osdi:petition"]["href"]] += 1
            yield signature

    return deliveries(world, counted())


def _write_mixed(world: World, root: Path, signatures: int, progress: bool | None) -> None:
    """Mix events with deliveries, and documents with what is none: in a folder, and in a zip and a tar."""
    signed: Counter[str] = Counter()
    sent = _sent(world, signatures, signed, progress)
    _write_documents(root / "events-2018-{pretty}.json", pulls.old_v2(world))
    _write_documents(root / "events-{compact}.json", pulls.v2(world))
    _write_documents(root / "deliveries.ndjson", (delivery.body for delivery in islice(sent, 40)))
    received = (delivery.envelope() for delivery in islice(sent, 20))
    _write_documents(root / "both.ndjson", chain(pulls.campaigns(world), received))
    _pack(root / "both.zip", _members(world, islice(sent, 50)))
    _pack(root / "both.tar.gz", _members(world, sent))
    collections = pulls.event_campaigns(world), pulls.petitions(world, signed), pulls.attendances(world)
    _write_documents(root / "collections-glued.json.gz", chain.from_iterable(collections))
    (root / "README.txt").write_bytes(b"Everything of the second deployment, as it came.\n")
    half = b'[{"osdi:signature": {"identifiers": ["action_network:half a docum'
    with _writing(root.parent / "deliveries" / ".2026-08.ndjson") as file:
        file.write(half)


def _members(world: World, sent: Iterator[Delivery]) -> Iterator[Member]:
    bodies = (delivery.body for delivery in sent)
    yield "README.txt", b"An archive in an archive.\n"
    yield "events/.page-000.json", b'{"half a document'
    yield _in_lines("events/pulls.ndjson", (page for pull in pulls.WEEKLY.values() for page in pull(world)))
    yield _in_lines("deliveries/first.ndjson.gz", islice(bodies, 15))
    yield _in_lines("deliveries/lines.json", bodies)


def _write_documents(path: Path, documents: Iterable[object]) -> None:
    """Write documents in the layout that a name says.

    Where it holds ``{compact}`` or ``{pretty}``, each is a file of that number, compact or as JSON libraries
    do by default; in a zip or a tar, a member; in a file named ``glued`` there is nothing between them; else
    each is a line.
    """
    if "{" in path.name:
        encode, end = (_PRETTY, "\n") if "{pretty}" in path.name else (_COMPACT, "")
        for number, document in enumerate(documents, start=1):
            with _writing(path.with_name(re.sub(r"\{\w+\}", f"{number:03d}", path.name))) as file:
                file.write((encode(document) + end).encode())
    elif {".zip", ".tar"} & {*path.suffixes}:
        members = enumerate(documents, start=1)
        _pack(path, ((f"{number:04d}.json", _COMPACT(document).encode()) for number, document in members))
    else:
        end = "" if "glued" in path.name else "\n"
        with _writing(path) as file:
            for document in documents:
                file.write((_COMPACT(document) + end).encode())


def _pack(path: Path, members: Iterable[Member]) -> None:
    """Write a zip, or a tar compressed as its name says, of members that are given as bytes."""
    with _writing(path) as file:
        if path.suffix == ".zip":
            with zipfile.ZipFile(file, "w") as archive:
                for name, content in members:
                    info = zipfile.ZipInfo(name)  # of 1980
                    info.create_system = 3  # the same on every system
                    info.external_attr = 0o644 << 16
                    archive.writestr(info, content, zipfile.ZIP_DEFLATED)
        else:
            with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                for name, content in members:
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))


def _in_lines(name: str, documents: Iterable[object]) -> Member:
    """Make a member that holds one document a line, compressed as its name says."""
    content = io.BytesIO()
    with _compressed(content, name) as file:
        file.write(b"".join(_COMPACT(document).encode() + b"\n" for document in documents))
    return name, content.getvalue()


@contextmanager
def _whole(destination: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """Return a folder to write into, whose files appear in `destination` when all are written, or never.

    The destination holds nothing before, unless `overwrite` says that it may.
    """
    target = Path(destination)
    if not overwrite and target.exists() and (target.is_file() or any(target.iterdir())):
        raise DestinationExists(f"{target} is there already: overwrite=True (--overwrite) replaces it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=target.parent) as drafts:
        yield Path(drafts)
        for draft in [path for path in Path(drafts).rglob("*") if path.is_file()]:
            path = target / draft.relative_to(drafts)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(draft, path)


@contextmanager
def _writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write, compressed as its name says, its folders made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, _compressed(raw, path.name) as file:
        yield file


@contextmanager
def _compressed(raw: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if name.endswith(".zst"):
        import pyarrow as pa  # nothing else here needs it, nor does the sandbox

        with pa.CompressedOutputStream(raw, "zstd") as file:
            yield cast("IO[bytes]", file)
    elif name.endswith(".gz"):
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield cast("IO[bytes]", file)
    else:
        yield raw
