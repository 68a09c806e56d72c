"""Everything that an archive may hold, in every layout: `python -m tests.showcase` writes it into data/.

It is what the sample of two deployments holds, laid out anew, and what a sample does not hold: pulls of v1, of
single events and of attendances, texts that are to be ignored, and half a document.

The same documents make the same bytes: no file or member carries a clock, an owner or a host.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from osdi_frames.sample import World, acts, deliveries, pulls, times
from osdi_frames.sample.deployment import href_of, id_of
from osdi_frames.sample.people import make_attendances
from osdi_frames.sample.writing import documents
from tests.layouts import compact, lines, tarred, zipped

Document = dict[str, Any]

DATA = Path(__file__).parents[1] / "data"

MAIN, SIGNATURES = World(seed=12, event_count=135, petition_count=20), 1350
SECOND_ACTS = 6  # of each kind of other acts
SECOND, SECOND_SIGNATURES = World(event_count=15, petition_count=5, prefix="platform"), 150

#: The layout of each file of the sample; that of deliveries follows.
LAYOUTS = {
    "events/2018.ndjson": "events/v2-2018-with-people/page-{pretty}.json",
    "events/2026-07-04.ndjson": "events/v2/page-{compact}.json",
    "events/2026-07-11.ndjson": "events/pulls/2026-07-11.ndjson.gz",
    "events/2026-07-18.ndjson": "events/pulls/2026-07-18-glued.json.zst",
    "events/2026-07-25.ndjson": "events/pulls/2026-07-25.tar.gz",
    "events/2026-08-01.ndjson": "events/pulls/2026-08-01.zip",
    "events/campaigns.ndjson": "events/campaigns.jsonl.zst",
    "event_campaigns.ndjson": "event_campaigns/page-{compact}.json",
    "signatures.ndjson": "signatures/page-{pretty}.json",
    "petitions.ndjson": "petitions/page-{pretty}.json",
    "acts/donations.ndjson": "acts/donations.ndjson.zst",
    "acts/outreaches.ndjson": "acts/outreaches-glued.json.gz",
    "acts/taggings.ndjson": "acts/taggings.zip",
    "acts/deliveries.ndjson": "acts/deliveries-received.ndjson.gz",
}

#: The layout of the deliveries before a month, since that of the line above.
DELIVERIES = {
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


def write(folder: Path) -> None:
    """Write the showcase into a folder; its other files stay."""
    named = ((layout_of(name), document) for name, document in documents(MAIN, SIGNATURES))
    for name, group in groupby(named, key=itemgetter(0)):
        write_documents(folder / name, (document for _, document in group))
    write_documents(folder / "events/v1-glued.json", v1(MAIN))
    write_documents(folder / "events/single/event-{pretty}.json", single_events(MAIN))
    write_documents(folder / "attendances.ndjson.zst", attendances(MAIN))
    half = b'[{"osdi:signature": {"identifiers": ["action_network:half a docum'
    write_bytes(folder / "deliveries" / ".2026-08.ndjson", half)  # by a receiver that is at work
    write_mixed(folder / "platform")


def layout_of(name: str) -> str:
    """Return the layout of a file of the sample."""
    kind, _, month = name.removesuffix(".ndjson").partition("/")
    if kind == "deliveries":
        return "deliveries/" + next(layout for before, layout in DELIVERIES.items() if month < before)
    return LAYOUTS.get(name, name)


def write_mixed(folder: Path) -> None:
    """Mix events with deliveries, and documents with others: in a folder, and in a zip and a tar."""
    signed = Counter(signature["_links"]["osdi:petition"]["href"] for signature in signatures_of_second())
    sent = deliveries(SECOND, signatures_of_second())
    write_documents(folder / "events-2018-{pretty}.json", pulls.old_v2(SECOND))
    write_documents(folder / "events-{compact}.json", pulls.v2(SECOND, pulls.WEEKLY[0]))
    write_documents(folder / "deliveries.ndjson", (delivery.body for delivery in islice(sent, 40)))
    received = (delivery.envelope() for delivery in islice(sent, 20))
    write_documents(folder / "both.ndjson", chain(pulls.campaigns(SECOND), received))
    pack(folder / "both.zip", members(delivery.body for delivery in islice(sent, 50)))
    pack(folder / "both.tar.gz", members(delivery.body for delivery in sent))
    collections = pulls.event_campaigns(SECOND), pulls.petitions(SECOND, signed), attendances(SECOND)
    write_documents(folder / "collections-glued.json.gz", chain.from_iterable(collections))
    others = (page for _, page in acts.collections(SECOND, SECOND_ACTS))
    sent_others = acts.received(SECOND, SECOND_ACTS)
    write_documents(folder / "acts-glued.json.gz", chain(others, sent_others))
    (folder / "README.txt").write_bytes(b"Everything of the second deployment, as it came.\n")


def signatures_of_second() -> Iterator[Document]:
    return SECOND.signatures(SECOND_SIGNATURES)


def members(bodies: Iterator[list[Document]]) -> dict[str, bytes]:
    return {
        "README.txt": b"An archive in an archive.\n",
        "events/.page-000.json": b'{"half a document',
        "events/pulls.ndjson": lines(page for at in pulls.WEEKLY[1:] for page in pulls.v2(SECOND, at)),
        "deliveries/first.ndjson.gz": gzipped(lines(islice(bodies, 15))),
        "deliveries/lines.json": lines(bodies),
    }


# -- pulls that a sample does not have --


def single_events(world: World) -> Iterator[Document]:
    """Ask for the last two events one by one; each then carries the curies itself (interface 2.6)."""
    for event in world.events[-2:]:
        yield {**event, "_links": {"curies": pulls.curies(world), **event["_links"]}}


def attendances(world: World) -> Iterator[Document]:
    """Pull the attendances of each event that has any; the links to them have a key of their own."""
    for event in world.events:
        if event["total_accepted"]:
            path, made = f"events/{id_of(event)}/attendances", list(make_attendances(world, event))
            for page in pulls.in_envelopes(pulls.pages(world, made, path, "osdi:attendances")):
                page["body"]["_links"] = renamed(
                    page["body"]["_links"], {"osdi:attendances": "osdi:attendance"}
                )
                yield page


V1_NAMES = {
    "origin_system": "originating_system",
    "created_date": "created_at",
    "modified_date": "modified_at",
    "title": "summary",
    "browser_url": "url",
    "start_date": "start",
    "guests_can_invite_others": "guestsCanInviteOthers",
}
NOT_IN_V1 = {"name", "end_date", "featured_image_url", "capacity"}


def v1(world: World) -> Iterator[Document]:
    """Pull v1 three years before the end; the oldest of its events are in no v2 pull but the one of 2018."""
    at = times.UNTIL - 3 * times.YEAR
    events = pulls.visible(world.listed, since=datetime(2018, 1, 1, tzinfo=UTC), at=at)
    pages = list(pulls.pages(world, [in_v1(world, event) for event in events]))
    return pulls.in_envelopes([{**page, "_links": moved_to_v1(world, page["_links"])} for page in pages], at)


def in_v1(world: World, event: Document) -> Document:
    """Return a v2 event as v1 has it, with its people embedded (interface 2.8 and 9)."""
    own = world.own
    shown = renamed({name: value for name, value in event.items() if name not in NOT_IN_V1}, V1_NAMES)
    if "instructions" in event:
        shown[own("event_instructions")] = shown.pop("instructions")
    if sponsor := event.get(own("sponsor")):
        shown[own("sponsor")] = {"summary": sponsor["title"], "url": sponsor["browser_url"]}
    del shown[own("hidden")]
    links = {name: value for name, value in event["_links"].items() if "attendance" not in name}
    links["osdi:attendance"] = {"href": f"{href_of(event)}/attendance"}
    people = pulls.embedded_people(world, event)
    del shown["_links"]
    return shown | {
        "_embedded": {role: moved_to_v1(world, person_in_v1(person)) for role, person in people.items()},
        "_links": moved_to_v1(world, links),
    }


def person_in_v1(person: Document) -> Document:
    links = dict(person["_links"])
    links["osdi:attendance"] = {"href": links.pop("osdi:attendances")["href"].removesuffix("s")}
    return {**renamed(person, V1_NAMES), "_links": links}


def moved_to_v1(world: World, part: Document) -> Document:
    """Let the links of a document lead to v1."""
    text = json.dumps(part).replace(world.base_url, world.base_url.removesuffix("v2") + "v1")
    moved: Document = json.loads(text.replace("docs.example.org/v2", "docs.example.org/v1"))
    return moved


def renamed(document: Document, names: dict[str, str]) -> Document:
    return {names.get(name, name): value for name, value in document.items()}


# -- layouts --


def write_documents(path: Path, values: Iterable[object]) -> None:
    """Write documents in the layout that a name says.

    Where it holds ``{compact}`` or ``{pretty}``, each is a file of that number, compact or as JSON libraries
    do by default; in a zip or a tar, a member; in a file named ``glued`` there is nothing between them; else
    each is a line.
    """
    if "{" in path.name:
        encode = pretty if "{pretty}" in path.name else compact
        for number, value in enumerate(values, start=1):
            write_bytes(path.with_name(re.sub(r"\{\w+\}", f"{number:03d}", path.name)), encode(value))
    elif {".zip", ".tar"} & {*path.suffixes}:
        pack(path, {f"{number:04d}.json": compact(value) for number, value in enumerate(values, start=1)})
    else:
        write_bytes(path, b"".join(map(compact, values)) if "glued" in path.name else lines(values))


def pretty(document: object) -> bytes:
    return json.dumps(document, indent=2).encode() + b"\n"


def pack(path: Path, members: dict[str, bytes]) -> None:
    write_bytes(path, zipped(members) if path.suffix == ".zip" else tarred(members))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, compressed as its name says, its folders made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    compress = {".gz": gzipped, ".zst": streamed_zstd}.get(path.suffix, bytes)
    path.write_bytes(compress(content))


def gzipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:
        file.write(content)
    return packed.getvalue()


def streamed_zstd(content: bytes) -> bytes:
    """Compress as a stream is, whose length is not known when it begins."""
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as file:
        file.write(content)
    return packed.getvalue().to_pybytes()


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else DATA)
