"""No input takes more time or memory than its limits allow, and the limit is named."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
import tarfile
import zlib

import pytest

import osdi_frames as of
from osdi_frames.errors import BadDocument, ProblemsWarning
from osdi_frames.sources.limits import Budget, LimitExceeded, Limits
from osdi_frames.sources.source import read
from tests.layouts import compact, lines, tarred, zipped, zstd

from .reading import documents, event, numbers

START = """
import json, re, sys, time
from pathlib import Path
"""
READ = """
from osdi_frames.sources.source import read
problems, rows = [], 0
for chunk in read(sys.argv[1], lambda problem: problems.append(str(problem))):
    rows += len(chunk.documents)
"""
END = """
print(json.dumps({
    "seconds": time.process_time(), "rows": rows, "problems": problems,
    # Unlike ru_maxrss this does not begin with what the parent had.
    "peak": int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024,
}))
"""


def bounded(path):
    """Read in a process of its own, within 1 GB; return rows, problems and seconds of processor time."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{START}{READ}{END}", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(ran.stdout)
    assert found["peak"] < 1e9, found
    return found["rows"], found["problems"], found["seconds"]


def repeated(unit: bytes, size: int, compressor=None) -> bytes:
    """Return a unit repeated up to a size, compressed without holding it: a gzip, if nothing else is said."""
    compressor, block = compressor or zlib.compressobj(9, wbits=31), unit * ((1 << 20) // len(unit))
    return b"".join(compressor.compress(block) for _ in range(size >> 20)) + compressor.flush()


MIB, GIB = 1 << 20, 1 << 30
SMALL = Limits(document_bytes=1000)
#: What makes each bomb of a size, and the end of its name.
BOMBS = {
    "brackets in gz": (".json.gz", lambda size: repeated(b"[", size)),
    "brackets in a line in gz": (".ndjson.gz", lambda size: repeated(b"[", size)),
    "line breaks in gz": (".ndjson.gz", lambda size: repeated(b"\n", size)),
    "blanks in gz": (".json.gz", lambda size: repeated(b" \n", size)),
    "nulls in zst": (".json.zst", lambda size: zstd(bytes(size))),
    "zst in zst": (".json.zst", lambda size: zstd(zstd(bytes(size)))),
    "brackets in bz2": (".json.bz2", lambda size: repeated(b"[", size, bz2.BZ2Compressor())),
    "line breaks in xz": (".ndjson.xz", lambda size: repeated(b"\n", size, lzma.LZMACompressor(preset=0))),
    "bz2 in bz2": (".json.bz2", lambda size: bz2.compress(repeated(b"[", size, bz2.BZ2Compressor()))),
    "holes in tar.xz": (
        ".tar.xz",
        lambda size: repeated(bytes(1 << 20), size, lzma.LZMACompressor(preset=0)),
    ),
    "gz in zip": (".zip", lambda size: zipped({"a.json.gz": repeated(b"[", size)})),
    "zips in zips": (".zip", lambda size: nested_zips(size, 3)),
    "holes in tar": (".tar", lambda _: sparse()),
    "a long name in tar.gz": (".tar.gz", lambda size: long_name(size)),
}


def nested_zips(size: int, depth: int) -> bytes:
    content = repeated(b"[", size // 4)
    for _ in range(depth):
        content = zipped(
            {f"{number}.{'zip' if content[:2] == b'PK' else 'json.gz'}": content for number in range(16)}
        )
    return content


def sparse() -> bytes:
    info = tarfile.TarInfo("a.json")
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % (1 << 32)  # the size with its holes
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))
    return bytes(header) + bytes(1024)


def long_name(size: int) -> bytes:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, size
    compressor = zlib.compressobj(wbits=31)
    head = compressor.compress(info.tobuf(tarfile.GNU_FORMAT))
    block = b"x" * MIB
    body = b"".join(compressor.compress(block) for _ in range(size // MIB))
    return head + body + compressor.flush()


@pytest.mark.parametrize(
    "bomb",
    [bomb if bomb == "zips in zips" else pytest.param(bomb, marks=pytest.mark.long) for bomb in BOMBS],
)
def test_a_bomb_ends_in_1_gb_and_is_a_problem(bomb, tmp_path):
    explode(bomb, 160 * MIB, tmp_path)  # the ratio counts from 128 MiB on


@pytest.mark.parametrize("bomb", BOMBS)
def test_whatever_is_decompressed_counts(bomb, tmp_path):
    suffix, make = BOMBS[bomb]
    path = tmp_path / f"a{suffix}"
    path.write_bytes(make(4 * MIB))
    _, problems = documents(path, Limits(decompressed_bytes=MIB))
    assert any("Limits.decompressed_bytes" in problem.detail for problem in problems) or "name" in bomb, (
        problems
    )
    assert "name" not in bomb or "impossible size" in problems[0].detail


@pytest.mark.long
@pytest.mark.parametrize("size", [256 * MIB, GIB])
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_large_bomb_ends_in_5_seconds_and_1_gb_and_is_a_problem(bomb, size, tmp_path):
    assert explode(bomb, size, tmp_path) < 5


def explode(bomb, size, folder):
    """Read a bomb, and return the seconds of processor time that it took."""
    suffix, make = BOMBS[bomb]
    path = folder / f"a{suffix}"
    path.write_bytes(make(size))
    _, problems, seconds = bounded(path)
    assert any("Limits." in problem or "impossible size" in problem for problem in problems), problems
    return seconds


@pytest.mark.long
def test_a_line_of_50_mb_is_read(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_bytes(lines([event(0), event(1) | {"description": "x" * 50_000_000}, event(2)]))
    assert bounded(path)[:2] == (3, [])


@pytest.mark.parametrize("name", ["a.ndjson", "a.json"])
@pytest.mark.parametrize("size", [2_000, 10_000_000])
def test_a_document_above_the_limit_is_skipped_with_where_it_ends_and_the_next_is_read(name, size, tmp_path):
    path = tmp_path / name
    path.write_bytes(lines([event(0), event(1) | {"description": "x" * size}, event(2), event(3)]))
    limit = Limits(document_bytes=size // 2)
    found, (problem,) = documents(path, limit)
    assert numbers(found) == [0, 2, 3]
    assert str(problem).startswith(f"{path}:2: limit exceeded: a document of {size:,}"[:-4])
    assert "skipped up to line 3" in problem.detail
    assert problem.detail.endswith(f"{size // 2:,} (Limits.document_bytes)")


@pytest.mark.parametrize("size", [2_000, 66_000, 140_000, 5_000_000])
def test_the_size_of_a_document_above_the_limit_is_the_same_wherever_it_stands(size, tmp_path):
    path, details = tmp_path / "a.ndjson", set()
    for before in (0, 16_000, 17_000):  # the first read takes 64 KiB
        path.write_bytes(b"[1]\n" * before + b"[" * size + b"\n" + b"[1]\n" * 3)
        problems = []
        assert sum(len(chunk.documents) for chunk in read(path, problems.append, limits=SMALL)) == before + 3
        details.update(problem.detail.partition(", skipped")[0] for problem in problems)
    assert details == {f"a document of {size:,} bytes"}


def test_a_pretty_document_above_the_limit_is_skipped_as_a_whole(tmp_path):
    large = {"list": [event(number) for number in range(10_000)]}
    path = tmp_path / "a.json"
    path.write_bytes(
        b"\n".join(json.dumps(document, indent=0).encode() for document in (event(0), large, event(2)))
    )
    found, (problem,) = documents(path, Limits(document_bytes=250_000))
    assert numbers(found) == [0, 2]
    assert problem.place.source_line == json.dumps(event(0), indent=0).count("\n") + 2


def test_a_document_of_just_the_limit_is_read_and_one_of_a_byte_more_is_a_problem(tmp_path):
    path, size = tmp_path / "a.ndjson", len(json.dumps(event(0)))
    path.write_text(
        "".join(f"{json.dumps(event(number))}{end}" for number, end in enumerate((" \n", "\n", "")))
    )
    assert numbers(documents(path, Limits(document_bytes=size))[0]) == [0, 1, 2]
    assert documents(path, Limits(document_bytes=size))[1] == []
    found, problems = documents(path, Limits(document_bytes=size - 1))
    assert (numbers(found), [problem.place.source_line for problem in problems]) == ([], [1, 2, 3])


@pytest.mark.parametrize(
    ("pack", "suffix"),
    [(gzip.compress, "gz"), (zstd, "zst"), (bz2.compress, "bz2"), (lzma.compress, "xz")],
)
def test_the_sum_of_what_is_decompressed_has_a_limit_and_what_came_before_is_read(pack, suffix, tmp_path):
    path = tmp_path / f"a.ndjson.{suffix}"
    path.write_bytes(b"".join(pack(lines([event(number)])) for number in range(200)))
    size = len(lines([event(number) for number in range(100)]))
    found, (problem,) = documents(path, Limits(decompressed_bytes=size))
    assert numbers(found) == list(range(100))
    assert str(problem) == (
        f"{path}: limit exceeded: more than {size:,} bytes decompressed (Limits.decompressed_bytes)"
    )


def test_containers_deeper_than_the_limit_are_not_opened_and_their_siblings_are_read(tmp_path):
    inner = tarred({"x.json.gz": gzip.compress(compact(event(1)))})
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"a.tar": inner, "b.json": compact(event(2))}))
    assert numbers(documents(path, Limits(nesting=3))[0]) == [1, 2]
    found, (problem,) = documents(path, Limits(nesting=2))
    assert numbers(found) == [2]
    assert str(problem) == (
        f"{path}!a.tar!x.json.gz: limit exceeded: more than 2 containers inside one another (Limits.nesting)"
    )


def test_a_ratio_counts_from_128_mib_on():
    budget = Budget(Limits(), lambda: MIB)
    for size in (128 * MIB, 72 * MIB):
        budget.spend(size)
    with pytest.raises(LimitExceeded, match=r"more than 200 times its size \(Limits\.ratio\)"):
        budget.spend(1)
    Budget(Limits(ratio=2), lambda: 1).spend(128 * MIB)
    with pytest.raises(LimitExceeded):
        Budget(Limits(ratio=2), lambda: 1).spend(128 * MIB + 1)


@pytest.mark.parametrize("limits", [{"ratio": 0}, {"document_bytes": 2 << 30}])
def test_a_limit_that_makes_no_sense_is_an_error(limits):
    with pytest.raises(ValueError, match=r"Limits\.\w+ is at"):
        Limits(**limits)


def test_the_limits_of_a_call_hold_in_every_view(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_bytes(lines([event(0), event(1) | {"description": "x" * 2000}]))
    limits = of.Limits(document_bytes=1000)
    with pytest.raises(BadDocument, match=r"a.ndjson:2: limit exceeded: .*Limits\.document_bytes"):
        of.read_table(path, "events", limits=limits)
    with pytest.warns(ProblemsWarning):
        assert of.read_table(path, "events", on_error="skip", limits=limits)["event_id"].tolist() == ["e0"]
    assert of.check(path, limits=limits)["problem"].tolist() == ["limit exceeded"]
    assert of.check(path).empty
