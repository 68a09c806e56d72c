"""A flipped bit of a store ends no reading: where it is seen, what it was in is made anew."""

from __future__ import annotations

import random
import shutil
import warnings
from pathlib import Path

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames.errors import SourceWarning
from tests.layouts import lines


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Three files: of clean documents, with some that do not fit, and of pages."""
    folder = tmp_path / "archive"
    folder.mkdir()
    people = [
        {"given_name": f"Ann {n}", "email_addresses": [{"address": f"a{n}@example.org"}]} for n in range(20)
    ]
    signed = [
        [{"osdi:signature": {"identifiers": [f"platform:{n}"], "comments": f"No. {n}", "person": people[n]}}]
        for n in range(20)
    ]
    (folder / "a.ndjson").write_bytes(lines(signed))
    odd = [
        [{"osdi:signature": {"identifiers": [f"platform:o{n}"], "created_date": "never"}}] for n in range(3)
    ]
    (folder / "b.ndjson").write_bytes(
        lines([*odd, *signed[:3], {"title": "March", "total_accepted": 3, "mood": "x"}])
    )
    events = [
        {"identifiers": [f"platform:e{n}"], "title": f"Event {n}", "total_accepted": n} for n in range(9)
    ]
    (folder / "c.ndjson").write_bytes(
        lines([{"page": 1, "_embedded": {"osdi:events": events[at : at + 3]}} for at in (0, 3, 6)])
    )
    return folder


READ = ["events", "signatures", "signature_emails"]


def read(archive: Path, store: Path | None, *, checks: bool) -> tuple[dict[str, pd.DataFrame], bool]:
    """Return the problems, or the tables that have rows, and whether it was said that the store is made anew."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        handle = of.open(archive, on_error="skip", store=store)
        tables = {"check": handle.check()} if checks else handle.tables(READ)
    said = [str(one.message) for one in caught if issubclass(one.category, SourceWarning)]
    return tables, any("is damaged: it is made anew" in message for message in said)


def are_equal(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]) -> bool:
    return all(frame.equals(other[name]) for name, frame in one.items())


def flip(folder: Path, drawn: random.Random) -> str:
    """Flip a bit of a store, each as likely as any other."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    (path,) = drawn.choices(files, [path.stat().st_size for path in files])
    data = bytearray(path.read_bytes())
    at = drawn.randrange(len(data))
    data[at] ^= 1 << drawn.randrange(8)
    path.write_bytes(data)
    return f"{path.relative_to(folder)}:{at}"


@pytest.mark.usefixtures("long_ago")
@pytest.mark.parametrize(
    "flips", [pytest.param(6, id="some"), pytest.param(500, id="500", marks=pytest.mark.long)]
)
def test_a_reading_after_a_flipped_bit_ends_and_is_right_where_the_bit_is_seen(
    flips: int, archive: Path, tmp_path: Path
) -> None:
    whole, drawn = tmp_path / "whole", random.Random(7)
    expected = [read(archive, None, checks=checks)[0] for checks in (False, True)]
    assert are_equal(read(archive, whole, checks=False)[0], expected[False])
    seen = wrong = 0
    for number in range(flips):
        kept, checks = shutil.copytree(whole, tmp_path / "kept"), number % 2 == 1
        place = flip(kept, drawn)
        found, is_seen = read(archive, kept, checks=checks)
        if is_seen:
            assert are_equal(found, expected[checks]), place
            if number % 10 == 0:
                assert read(archive, kept, checks=False)[1] is False, place
        seen, wrong = seen + is_seen, wrong + (not are_equal(found, expected[checks]))
        shutil.rmtree(kept)
    print(f"{flips} flips: {seen} seen, {wrong} of the others changed something")
    assert seen > flips // 4
