"""What is empty: a file that its name promises more of is listed, a segment without lines is not."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest

from tests.layouts import tarred, zipped, zstd

from .reading import agreed

NOTHING: dict[str, tuple[bytes, str]] = {
    "a.json.gz": (gzip.compress(b""), "empty file: holds no document"),
    "a.ndjson.zst": (zstd(b""), "empty file: holds no document"),
    "a.json.bz2": (bz2.compress(b""), "empty file: holds no document"),
    "a.ndjson.xz": (lzma.compress(b""), "empty file: holds no document"),
    "a.json": (b"", "empty file: holds no document"),
    "b.zip": (zipped({}), "empty file: holds no document"),
    "b.tar": (tarred({}), "empty file: holds no document"),
    "b.tgz": (gzip.compress(tarred({})), "empty file: holds no document"),
    "c.gz": (b"", "unreadable file: truncated gzip"),
    "c.json.gz": (b"", "unreadable file: truncated gzip"),
    "c.ndjson.zst": (b"", "unreadable file: truncated zstd"),
    "c.json.bz2": (b"", "unreadable file: truncated bzip2"),
    "c.json.xz": (b"", "unreadable file: truncated xz"),
    "c.tar.xz": (lzma.compress(b""), "unreadable file: empty file"),
    "c.zip": (b"", "unreadable file: File is not a zip file"),
    "c.tar": (b"", "unreadable file: empty file"),
    "c.tar.gz": (gzip.compress(b""), "unreadable file: empty file"),
}
INSIDE: dict[str, Callable[[dict[str, bytes]], bytes]] = {"zip": zipped, "tar": tarred}


@pytest.mark.parametrize("name", NOTHING)
def test_an_empty_file_is_listed(name, tmp_path):
    content, problem = NOTHING[name]
    path = tmp_path / name
    path.write_bytes(content)
    assert agreed(path) == ([], [f"{path}: {problem}"])


@pytest.mark.parametrize("kind", INSIDE)
def test_an_empty_member_is_listed(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(INSIDE[kind]({"a.json": b""}))
    assert agreed(path) == ([], [f"{path}!a.json: empty file: holds no document"])


def test_a_segment_that_has_no_line_yet_is_no_problem(tmp_path):
    (tmp_path / "000000000001.ndjson").touch()
    assert agreed(tmp_path) == ([], [])
