"""An archive cut into partitions is the same archive, wherever the cuts fall."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import osdi_frames as of
from osdi_frames.errors import InvalidArgument, InvalidSource, SourceNotFound
from tests.layouts import LAYOUTS, compact, gzip, lines, pretty, tarred, zipped
from tests.sources.reading import placed

COUNTS = (1, 3, 50)
WORDS = ("März 🗳️", "集会", "a}\n{", "Ð", "]\\n[")


def event(number: int) -> dict[str, Any]:
    title = f"{WORDS[number % len(WORDS)]} {number}"
    return {"identifiers": [f"platform:{number}"], "title": title, "total_accepted": number}


EVENTS = [event(number) for number in range(20)]


def rows(source: Any) -> pa.Table:
    return of.open(source).scan("events", dedupe=False).read_all()


def partitions(source: Any, **options: Any) -> list[Any]:
    """Return the source of each part of an archive."""
    return [part.source for part in of.open(source).partitions(**options)]


def in_partitions(source: Any, **options: Any) -> list[tuple[str, int, Any]]:
    """Return each document with its file and line, partition by partition, each sent to another process and back."""
    cut = partitions(source, **options)
    assert [partition.number for partition in cut] == list(range(len(cut)))
    return [one for partition in cut for one in placed(pickle.loads(pickle.dumps(partition)))]  # noqa: S301


def laid(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.filterwarnings("ignore:1 file not read")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_partitions_hold_the_rows_of_the_archive_in_their_order_with_file_and_line(layout, tmp_path):
    laid(tmp_path, LAYOUTS[layout](EVENTS))
    for count in COUNTS:
        assert in_partitions(tmp_path, count=count) == placed(tmp_path), count


@pytest.mark.parametrize("count", COUNTS)
def test_lines_are_cut_into_as_many_partitions_as_asked_for(count, tmp_path):
    laid(tmp_path, {"a.ndjson": lines([event(7)] * 1024)})
    cut = partitions(tmp_path, count=count)
    assert len(cut) == count
    sizes = [len(placed(partition)) for partition in cut]
    assert max(sizes) - min(sizes) <= 2


def test_the_rows_of_all_partitions_are_those_of_the_archive(tmp_path):
    laid(tmp_path, {"a.ndjson": lines(EVENTS), "b.json": b"".join(map(pretty, EVENTS))})
    cut = partitions(tmp_path, count=8)
    assert pa.concat_tables(map(rows, cut)) == rows(tmp_path)


def test_small_files_share_partitions(tmp_path):
    laid(tmp_path, {f"{number}.json": compact(EVENTS[number]) for number in range(20)})
    assert [len(partition.parts) for partition in partitions(tmp_path)] == [20]
    assert len(partitions(tmp_path, count=6)) == 6


MEMBERS = {f"{number:02}.json": pretty(value) for number, value in enumerate(EVENTS)}


@pytest.mark.parametrize("data", [gzip.compress(lines(EVENTS)), tarred(MEMBERS), zipped(MEMBERS)])
def test_a_container_is_not_cut(data, tmp_path):
    laid(tmp_path, {"a.json": data, "b.json": compact(EVENTS[0])})
    assert in_partitions(tmp_path, count=64) == placed(tmp_path)
    assert 1 <= len(partitions(tmp_path, count=64)) <= 2


@pytest.mark.parametrize("end", ["", "\n", "\n\n \n", "\r\n"])
@pytest.mark.parametrize("name", ["a.json", "a.ndjson"])
def test_every_cut_leaves_every_document_whole(name, end, tmp_path):
    def text(value: Any) -> bytes:
        return compact(value) if name == "a.ndjson" else pretty(value).strip()

    data = b"\xef\xbb\xbf" + b"\n\r\n ".join(map(text, EVENTS[:4])) + end.encode()
    laid(tmp_path, {name: data})
    whole = placed(tmp_path)
    for size in range(10, len(data), 11):
        assert in_partitions(tmp_path, size=size) == whole, size


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_at_random_cuts_mixed_documents_are_read_as_in_one_piece(seed, tmp_path):
    chance = random.Random(seed)
    files = {}
    for number in range(chance.randint(1, 5)):
        between, write = chance.choice(
            [(b"\n", compact), (b"\r\n \n", compact), (b"\n", pretty), (b"", compact)]
        )
        name = "a.ndjson" if write is compact and between else "a.json"
        values = chance.choices(EVENTS, k=chance.randint(1, 200))
        files[f"{number}/{name}"] = between.join(map(write, values))
    laid(tmp_path, files)
    for _ in range(20):
        assert in_partitions(tmp_path, count=chance.randint(1, 200)) == placed(tmp_path)


def test_a_problem_in_a_partition_names_the_line_in_the_file(tmp_path):
    data = lines([*EVENTS[:12], {"title": "x", "total_accepted": "lots"}, *EVENTS[12:]])
    laid(tmp_path, {"a.ndjson": data})
    with pytest.raises(of.errors.BadDocument, match=r"a\.ndjson:13:"):
        [rows(partition) for partition in partitions(tmp_path, count=8)]


def test_what_a_zip_lacks_as_a_whole_is_reported_once(tmp_path):
    data = bytearray(zipped(MEMBERS))
    data[-12] += 1  # members, by the end record
    data[-14] += 1
    laid(tmp_path, {"a.zip": bytes(data)})
    (only,) = partitions(tmp_path, count=8)
    with pytest.raises(of.errors.BadDocument, match="the index lists 20 members, and the end record 21"):
        rows(only)


def test_a_folder_without_documents_is_one_empty_partition(tmp_path):
    (only,) = partitions(tmp_path)
    assert rows(only).num_rows == 0


@pytest.mark.parametrize("source", [{"title": "March"}, [{"title": "March"}]])
def test_what_only_this_process_has_cannot_be_cut(source):
    with pytest.raises(InvalidSource, match="read by other processes"):
        partitions(source)


def test_bad_calls_are_refused(tmp_path):
    with pytest.raises(InvalidArgument, match="at least 1"):
        partitions(tmp_path, count=0)
    with pytest.raises(SourceNotFound, match="no file or folder"):
        partitions(tmp_path / "gone")


def test_malformed_json_is_mended_whatever_characters_the_database_cuts_in_two(tmp_path):
    for shift in range(0, 8, 3):
        titles = [
            {"title": "x" * shift + "ä🗳️集" * 40, "total_accepted": 1},
            {"title": "b", "total_accepted": 2},
        ]
        (tmp_path / "a.json").write_bytes(b"".join(map(compact, titles)))
        assert rows(tmp_path)["title"].to_pylist() == [value["title"] for value in titles]
