"""A damaged tar: every member is read, or a problem is listed."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from tests.layouts import compact, tarred

from .reading import agreed, documents, event, numbers

MEMBERS = 6  # 12 blocks of header and content, and the end marker: 14
FILES = {f"in/{number:03}.json": compact(event(number)) for number in range(MEMBERS)}
WHOLE = tarred(FILES)[: 14 * 512]
PACK = {"tar": bytes, "tar.gz": gzip.compress}


@pytest.mark.parametrize("kind", PACK)
def test_of_a_damaged_tar_what_precedes_the_damage_is_read_and_one_problem_is_listed(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    for number in range(MEMBERS):
        for offset in (0, 130, 156, 257, 400):  # name, size, type, magic, prefix
            damaged = bytearray(WHOLE)
            damaged[number * 1024 + offset] ^= 0x15
            path.write_bytes(PACK[kind](bytes(damaged)))
            found, problems = documents(path)
            assert (numbers(found), len(problems)) == (list(range(number)), 1)


@pytest.mark.parametrize("kind", PACK)
def test_of_every_truncation_all_whole_members_are_read_and_a_problem_is_listed(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    for blocks in range(14):
        for size in (blocks * 512, blocks * 512 + 7):
            path.write_bytes(PACK[kind](WHOLE[:size]))
            found, problems = documents(path)
            whole = [
                number
                for number in range(MEMBERS)
                if size >= number * 1024 + 512 + len(compact(event(number)))
            ]
            assert numbers(found) == whole
            assert problems or size > 13 * 512 - 1, size  # one block of the end marker is there
    path.write_bytes(PACK[kind](WHOLE))
    assert not documents(path)[1]


def test_a_broken_member_of_a_tar_leaves_those_after_it(tmp_path):
    files = {
        "a.json.gz": gzip.compress(compact(event(0)))[:-9],
        "b.zip": b"PK\3\4",
        "c.json": compact(event(2)),
    }
    (tmp_path / "a.tar").write_bytes(tarred(files))
    rows, problems = agreed(tmp_path)
    assert rows[-1] == "e2"
    assert {problem.split(":")[0].rpartition("!")[2] for problem in problems} >= {"a.json.gz", "b.zip"}


def test_a_tar_after_another_is_read_too(tmp_path):
    (tmp_path / "a.tar").write_bytes(
        tarred({"a.json": compact(event(0))}) + tarred({"b.json": compact(event(1))})
    )
    assert agreed(tmp_path) == (["e0", "e1"], [])


def test_members_above_the_folder_of_a_tar_are_read(tmp_path):
    (tmp_path / "a.tar").write_bytes(
        tarred({"../a.json": compact(event(0)), "./b/../c.json": compact(event(1))})
    )
    assert agreed(tmp_path) == (["e0", "e1"], [])


def linked(*links: tuple[str, str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, target, kind in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            content = compact(event(0)) if kind == tarfile.REGTYPE else b""
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "kind", [tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE], ids=["hard", "symbolic", "pipe"]
)
def test_a_link_or_pipe_in_a_tar_is_listed(kind, tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(linked(("a.json", "", tarfile.REGTYPE), ("b.json", "a.json", kind)))
    assert agreed(path) == (["e0"], [f"{path}!b.json: unreadable file: a link, pipe or device"])


def test_long_and_foreign_names_are_read_and_shown_as_text(tmp_path):
    long = f"{'x' * 300}.json"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for number, name in enumerate([long, "caf\udce9.json"]):
            info = tarfile.TarInfo(name)
            info.size = len(compact(event(number)))
            archive.addfile(info, io.BytesIO(compact(event(number))))
    (tmp_path / "a.tar").write_bytes(buffer.getvalue())
    assert agreed(tmp_path) == (["e0", "e1"], [])
