"""The archives that are read: made once, kept in a folder, and named for what they hold.

``python -m tests.benchmarks.archives FOLDER NAME…`` makes them: ``sample-200000`` (deliveries of
`osdi_frames.sample`, a line each), ``other-200000`` (of the maker in this file, which shares nothing with it)
``files-20000`` (the first deliveries of the sample, a file each), ``parts-200000`` (the sample in 30 files),
``people-200000`` (the sample, but each signature of another person) and ``odd-20000`` (with a text in place of a date).
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


def path_of(keep: Path, name: str) -> Path:
    """Return where an archive is, or is to be."""
    return keep / (name if name.startswith(("files-", "parts-")) else f"{name}.ndjson")


def make(keep: Path, name: str) -> None:
    """Make an archive: whole, or not at all."""
    maker, _, count = name.rpartition("-")
    with tempfile.TemporaryDirectory(dir=keep) as folder:
        made = _MAKERS[maker](Path(folder), int(count))
        made.rename(path_of(keep, name))


def _sample(folder: Path, count: int, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Path:
    """Write deliveries of the sample, each element of which is changed."""
    from osdi_frames import sample

    world = sample.World(event_count=0, petition_count=160)
    path = folder / "deliveries"
    with path.open("w", encoding="utf-8") as file:
        # Retries and other messages come on top.
        for delivery in itertools.islice(sample.deliveries(world, world.signatures(count)), count):
            for signature in (each["osdi:signature"] for each in delivery.body if "osdi:signature" in each):
                change(signature)
            file.write(json.dumps(delivery.body, ensure_ascii=False, separators=(",", ":")) + "\n")
    return path


def _people(folder: Path, count: int) -> Path:
    def change(signature: dict[str, Any]) -> None:
        name = signature["_links"]["self"]["href"].rpartition("/")[2]
        if link := signature["_links"].get("osdi:person"):
            link["href"] = f"{link['href'].rpartition('/')[0]}/{name}"
        for mail in signature.get("person", {}).get("email_addresses", ()):
            mail["address"] = f"{name}@{mail['address'].rpartition('@')[2]}"

    return _sample(folder, count, change)


def _odd(folder: Path, count: int) -> Path:
    return _sample(folder, count, lambda signature: signature.update(created_date="soon"))


def _files(folder: Path, count: int) -> Path:
    made = folder / "files"
    made.mkdir()
    with _sample(folder, count).open("rb") as lines:
        for number, line in enumerate(lines):
            (made / f"{number:06}.json").write_bytes(line)
    return made


def _parts(folder: Path, count: int) -> Path:
    made = folder / "parts"
    made.mkdir()
    with _sample(folder, count).open("rb") as lines:
        for number, some in enumerate(iter(lambda: [*itertools.islice(lines, -(-count // 30))], [])):
            (made / f"{number:02}.ndjson").write_bytes(b"".join(some))
    return made


def _other(folder: Path, count: int) -> Path:
    path = folder / "deliveries"
    with path.open("w", encoding="utf-8") as file:
        for number, envelope in enumerate(itertools.islice(_envelopes(random.Random(11)), count)):
            file.write(json.dumps(envelope, ensure_ascii=number % 2 == 0) + "\n")
    return path


_START = datetime(2023, 3, 1, tzinfo=UTC)
_NAMES = ["Åsa", "Zoë", "李雷", "Ünal", "O'Neil", "Đỗ", "Smith", "مريم", "Игорь", "María José"]
_SOURCES = ["letter", "Straße 7", "街头", "door/knock", "", "none", "radio", "🐝", "web\u00a0banner", "QR"]
_WORDS = [
    "save",
    "the",
    "river",
    "\u2028",
    '"quoted"',
    "back\\slash",
    "naïve",
    "明日",
    "🌊",
    "half-price",
    "again",
]


def _envelopes(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Deliver signatures, some several at once, some repeated, some changed later, and other things between."""
    now, bodies = _START, []
    while True:
        now += timedelta(seconds=rng.randrange(1, 400), milliseconds=rng.randrange(1000))
        draw = rng.random()
        if bodies and draw < 0.06:
            body = rng.choice(bodies)
        elif bodies and draw < 0.10:
            body = _changed(rng, rng.choice(bodies), now)
        else:
            body = [_element(rng, now) for _ in range(rng.choice((1, 1, 1, 1, 2, 4)))]
            bodies = [*bodies[-40:], body]
        yield {"received_at": now.isoformat(timespec="milliseconds"), "body": body}


def _changed(rng: random.Random, body: list[Any], now: datetime) -> list[Any]:
    later = {"modified_date": _stamp(now), "comments": "\n".join(rng.sample(_WORDS, 3))}
    return [
        {
            **element,
            "osdi:signature": element["osdi:signature"] | later,
            "idempotency_key": f"{rng.getrandbits(64):x}",
        }
        if "osdi:signature" in element
        else element
        for element in body
    ]


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _element(rng: random.Random, now: datetime) -> dict[str, Any]:
    key = {"idempotency_key": f"{rng.getrandbits(64):x}"}
    if rng.random() < 0.03:
        return key | {"osdi:outreach": {"type": "call", "duration": rng.randrange(900)}}
    sponsor = {"title": f"Verein {rng.choice(_NAMES)}", "browser_url": "https://verein.example/über"}
    return key | {"platform:sponsor": sponsor, "osdi:signature": _signature(rng, now)}


def _signature(rng: random.Random, now: datetime) -> dict[str, Any]:
    number, petition = uuid.UUID(int=rng.getrandbits(128)), f"p{rng.randrange(30)}"
    root = "https://osdi.example/api/v2"
    links = {
        "osdi:petition": {"href": f"{root}/petitions/{petition}"},
        "osdi:person": {"href": f"{root}/people/{rng.randrange(300_000):06x}"},
        "self": {"href": f"{root}/petitions/{petition}/signatures/{number}"},
    }
    abroad = (now + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S+02:00")
    parts: dict[str, Any] = {
        "_links": links,
        "person": _person(rng, now),
        "platform:referrer_data": {"website": "zeitung.example", "source": rng.choice(_SOURCES)},
        "add_tags": rng.sample(_WORDS, rng.randrange(3)),
        "comments": " ".join(rng.choices(_WORDS, k=rng.randrange(30))),
        "modified_date": _stamp(now),
        "created_date": abroad if rng.random() < 0.1 else _stamp(now),
        "identifiers": [f"paper:{rng.randrange(10**6)}", f"platform:{number}"],
    }
    always = {"_links", "modified_date", "created_date"}
    return {name: value for name, value in parts.items() if name in always or rng.random() < 0.85}


def _person(rng: random.Random, now: datetime) -> dict[str, Any]:
    name = rng.choice(_NAMES)
    mail = {"status": "subscribed", "address": f"{rng.randrange(10**6)}@post.example"}
    place = {
        "country": "DE",
        "locality": "Köln",
        "location": {"longitude": 6.95, "latitude": rng.uniform(47, 55)},
    }
    parts: dict[str, Any] = {
        "custom_fields": {"Straße": "ja", "b": "", name: "x y"},
        "email_addresses": [mail, {"primary": True, "address": f"zwei.{mail['address']}"}][
            : rng.randrange(3)
        ],
        "phone_numbers": [{"number": f"+49{rng.randrange(10**9)}", "number_type": "Mobile"}],
        "postal_addresses": [place | {"address_lines": [f"Weg {rng.randrange(99)}", "Hinterhaus"]}],
        "languages_spoken": ["de"],
        "modified_date": _stamp(now),
        "family_name": name,
        "given_name": rng.choice(_NAMES),
    }
    return {name: value for name, value in parts.items() if rng.random() < 0.7}


_MAKERS = {
    "sample": _sample,
    "other": _other,
    "files": _files,
    "parts": _parts,
    "people": _people,
    "odd": _odd,
}

if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        make(Path(sys.argv[1]), wanted)
