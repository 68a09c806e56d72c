"""Whatever happens to an archive, a reading with a store gives what a fresh reading gives."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.parsing import group
from osdi_frames.store import matching, segments
from osdi_frames.tables import TABLES
from tests.layouts import zipped, zstd
from tests.strategies import documents

#: A line each; also what is no document at all, and what no query parses.
ONES = st.one_of(
    documents(most=2).map(lambda document: json.dumps(document).encode()),
    st.sampled_from(
        [b'{"broken": ', b"\xff", b"[]", b'{"a": 1}{"b": 2}', b'[{"osdi:signature": {"a": NaN}}]']
    ),
)
LINES = st.lists(ONES, max_size=4).map(lambda lines: b"".join(line + b"\n" for line in lines))
NAMES = st.sampled_from(["a.ndjson", "b.jsonl", "c/a.ndjson", "d.json", "e.zip", "f.ndjson.zst", "g.ndjson"])
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".zip": lambda data: zipped({"in.ndjson": data, "notes.txt": b"not read"}),
    ".zst": zstd,
}


def write(path: Path, lines: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(PACKED.get(path.suffix, bytes)(lines))


def grow(path: Path, lines: bytes) -> None:
    """Append, as a receiver does; a file that does not end with a line, too."""
    if path.suffix in (".ndjson", ".jsonl", ".json"):
        with path.open("ab") as file:
            file.write(lines)


def tear(path: Path, _: bytes) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def rewrite_unnoticed(path: Path, _: bytes) -> None:
    """Write other bytes of the same number, and set the old times, as someone does who hides it."""
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"a", b"o"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def seal(path: Path, _: bytes) -> None:
    if path.suffix == ".ndjson":
        path.with_name(f"{path.name}.zst").write_bytes(zstd(path.read_bytes()))
        path.unlink()


CHANGES: list[Callable[[Path, bytes], None]] = [
    write, grow, grow, tear, rewrite_unnoticed, seal, lambda path, _: path.unlink(), lambda path, _: path.touch()
]  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(CHANGES), NAMES, LINES), min_size=1, max_size=3)
SOME = {"events": ["title", "excluded"], "signatures": ["source", "email"], "signature_emails": None}
#: A table of each kind of element, of entries, of a list, and of people.
SEVERAL = ["events", "event_people", "attendances", "signature_tags", "submissions", "taggings", "people"]


def findings(folder: Path, tables: list[str], **options: Any) -> tuple[list[pd.DataFrame], list[str]]:
    """Read tables, some columns of others, and every problem, with the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        archive = of.open(folder, on_error="skip", progress=False, **options)
        read = [*archive.tables(tables).values(), *archive.tables(SOME, dedupe=False).values()]
        problems = archive.check()
        found = [*read, problems, pd.DataFrame([problems.attrs])]
    return found, [str(warning.message) for warning in caught]


def a_store_changes_nothing(history: list[Any], sizes: tuple[int, ...], tables: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        cut(patch, *sizes)
        folder, kept = Path(name, "archive"), Path(name, "store")
        folder.mkdir()
        for steps in history:
            for change, file, lines in steps:
                path = folder / file
                if path.exists() or change is write:
                    change(path, lines)
            expected, warned = findings(folder, tables)
            found, warned_with_store = findings(folder, tables, store=kept)
            for one, other in zip(expected, found, strict=True):
                if not one.equals(other):  # which is faster, and does not say what differs
                    pd.testing.assert_frame_equal(one, other)
            assert warned == warned_with_store


def histories(*, most: int) -> st.SearchStrategy[list[Any]]:
    first = st.lists(st.tuples(st.just(write), NAMES, LINES), min_size=2, max_size=5)
    return st.tuples(first, st.lists(STEPS, min_size=1, max_size=most)).map(
        lambda parts: [parts[0], *parts[1]]
    )


#: Of a segment, of a group, and of the documents of groups that are parsed together.
SIZES = st.tuples(
    st.sampled_from([1, 500, 3000, 64 << 20]), st.sampled_from([1, 16 << 20]), st.sampled_from([1, 1 << 18])
)


def cut(patch: pytest.MonkeyPatch, of_segment: int, of_group: int, together: int) -> None:
    """Let readings cut files so small that several segments and groups come of them."""
    patch.setattr(matching, "SEGMENT_BYTES", of_segment)
    patch.setattr(group, "_GROUP_SIZE", of_group)
    patch.setattr(segments, "_TOGETHER", together)


@settings(max_examples=3, deadline=None)
@given(histories(most=2), SIZES)
def test_a_reading_with_a_store_is_a_fresh_reading(history: list[Any], sizes: tuple[int, ...]) -> None:
    a_store_changes_nothing(history, sizes, SEVERAL)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(histories(most=5), SIZES)
def test_of_200_histories_every_reading_with_a_store_is_a_fresh_one(
    history: list[Any], sizes: tuple[int, ...]
) -> None:
    a_store_changes_nothing(history, sizes, [*TABLES])
