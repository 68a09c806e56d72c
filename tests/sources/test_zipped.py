"""A zip, whole or damaged: every member is read, or a problem is listed."""

from __future__ import annotations

import io
import stat
import zipfile
from typing import Any

import pytest

from osdi_frames.sources.source import read
from tests.layouts import compact, zipped

from .reading import agreed, documents, event, numbers

MEMBERS = 4
FILES = {f"{number:03}.json": compact(event(number)) for number in range(MEMBERS)}


def test_any_flipped_byte_of_a_zip_is_reported_or_harmless(tmp_path):
    path, whole = tmp_path / "a.zip", zipped(FILES)
    silent = []
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x41
        path.write_bytes(damaged)
        found, problems = documents(path)
        if not problems and sorted(numbers(found)) != list(range(MEMBERS)):
            silent.append(at)
    assert not silent


def test_of_every_truncation_of_a_zip_a_problem_is_listed(tmp_path):
    path, whole = tmp_path / "a.zip", zipped(FILES)
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        assert documents(path)[1], size


def test_text_that_kept_the_name_of_a_zip_is_read(tmp_path):
    (tmp_path / "a.zip").write_bytes(compact(event(0)))
    assert agreed(tmp_path) == (["e0"], [])


def test_members_above_the_folder_of_a_zip_are_read(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped({"../a.json": compact(event(0)), "/b.json": compact(event(1))}))
    assert agreed(tmp_path) == (["e0", "e1"], [])


def test_a_link_in_a_zip_is_listed(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("in/a.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "b.json")
        archive.writestr("in/b.json", compact(event(0)))
    (tmp_path / "a.zip").write_bytes(buffer.getvalue())
    assert agreed(tmp_path) == (
        ["e0"],
        [f"{tmp_path}/a.zip!in/a.json: unreadable file: a link, pipe or device"],
    )


def test_an_encrypted_member_is_listed(tmp_path):
    damaged = bytearray(zipped({"a.json": compact(event(0))}))
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        damaged[damaged.index(magic) + flags] |= 1
    (tmp_path / "a.zip").write_bytes(damaged)
    rows, (problem,) = agreed(tmp_path)
    assert rows == []
    assert "encrypted" in problem


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_members_are_read_and_damage_in_one_is_listed(method, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for number in range(3):
            archive.writestr(f"{number}.json", compact(event(number)))
        damaged = archive.getinfo("1.json").header_offset + 30 + len("1.json") + 20
    assert documents(path) == ([event(number) for number in range(3)], [])
    data = bytearray(path.read_bytes())
    data[damaged] ^= 0x20
    path.write_bytes(data)
    found, problems = documents(path)
    assert [number for number in numbers(found) if number != 1] == [0, 2]
    assert problems
    assert all(str(problem.place).startswith(f"{path}!1.json") for problem in problems)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_a_member_of_another_compression_is_listed_and_the_others_are_read(method, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", compact(event(0)), compress_type=method)
        archive.writestr("b.json", compact(event(1)))
    problem = f"{path}!a.json: unreadable file: neither stored nor deflated"
    assert agreed(path) == (["e1"], [problem])


def test_members_are_opened_one_after_the_other(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(FILES))
    opened: list[str] = []
    original = zipfile.ZipFile.open

    def noted(archive: zipfile.ZipFile, info: zipfile.ZipInfo, *args: Any) -> Any:
        opened.append(info.filename)
        return original(archive, info, *args)

    monkeypatch.setattr(zipfile.ZipFile, "open", noted)
    found = [(len(chunk.documents), len(opened)) for chunk in read(path, print)]
    assert found == [(1, number + 1) for number in range(MEMBERS)]
