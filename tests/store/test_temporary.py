"""A handle that is read again keeps what it parses, in a temporary folder that goes with it."""

from __future__ import annotations

import copy
import errno
import gc
import io
import os
import pickle
import stat
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import osdi_frames as of
from osdi_frames.store import segments, store, temporary

from .kept import opened, signed

FILES = {"a.ndjson", "b.ndjson", "c.ndjson", "d.ndjson"}


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep of archives of any size; return the folder of temporary ones."""
    monkeypatch.setattr(temporary, "KEPT_BYTES", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def comments(handle: of.Archive) -> list[str]:
    return handle.signatures(["comments"])["comments"].tolist()


def test_what_a_handle_has_read_twice_is_not_parsed_again(
    archive: Path, folders: Path, long_ago: None
) -> None:
    handle = of.open(archive)
    first = comments(handle)
    assert not [*folders.iterdir()]  # a handle that is read once keeps nothing
    assert comments(handle) == first
    assert opened(archive, lambda: comments(handle)) == set()
    assert opened(archive, lambda: handle.where(since="2999").signatures(["comments"])) == set()
    assert opened(archive, lambda: handle.signatures(["comments"], dedupe=False)) == set()
    assert opened(archive, handle.signatures) == FILES  # other columns are parsed, and kept as well
    assert opened(archive, handle.signatures) == set()
    assert opened(archive, lambda: comments(handle)) == set()


def test_a_file_that_has_changed_is_parsed(archive: Path, long_ago: None) -> None:
    handle = of.open(archive)
    before = [comments(handle) for _ in range(3)][-1]
    (archive / "b.ndjson").write_bytes(signed("new"))
    (archive / "d.ndjson").unlink()
    assert comments(handle) == [*before[:2], "new", *before[4:6]]
    assert opened(archive, lambda: comments(handle)) == set()


def test_a_check_of_a_part_is_kept(archive: Path, long_ago: None) -> None:
    part = of.open(archive).where(petition=["of", "whatever"], since="2026")
    part.check(), part.check()
    assert opened(archive, part.check) == set()


def test_what_is_gone_from_the_archive_goes_from_all_that_a_handle_keeps(
    archive: Path, folders: Path
) -> None:
    handle = of.open(archive)
    for _ in range(2):
        comments(handle), handle.signatures(["email"]), handle.people()
    assert len([*folders.iterdir()]) == 3
    (archive / "a.ndjson").unlink()
    handle.signatures(["email"])
    assert "platform:a1" not in str([pq.read_table(path).to_pylist() for path in folders.rglob("*.parquet")])
    assert len([*folders.iterdir()]) == 1


@pytest.mark.parametrize(
    "handle",
    [
        lambda archive: of.open(archive, keep=False),
        lambda _: of.open([{"osdi:signature": {"comments": "Yes!"}}]),
        lambda archive: of.open(io.BytesIO((archive / "a.ndjson").read_bytes())),
        lambda archive: of.open(archive, store=archive.parent / "kept"),
        lambda archive: of.open(archive.parent),  # the folder of temporary ones is within
    ],
    ids=["keep=False", "objects", "stream", "store", "around"],
)
def test_nothing_temporary_is_kept_of(handle: Any, archive: Path, folders: Path) -> None:
    handle = handle(archive)
    for _ in range(3):
        comments(handle)
    assert not [*folders.iterdir()]


def test_nothing_is_kept_of_a_small_archive(
    archive: Path, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporary, "KEPT_BYTES", sum(path.stat().st_size for path in archive.iterdir()) + 1)
    handle = of.open(archive)
    comments(handle), comments(handle)
    assert not [*folders.iterdir()]


def test_others_can_read_nothing_and_the_folders_go_with_the_handle(archive: Path, folders: Path) -> None:
    handle = of.open(archive)
    for _ in range(2):
        handle.signatures(), handle.report(include=["test"])
    part = handle.where(since="2026")
    del handle
    paths = [*folders.rglob("*")]
    assert len([*folders.iterdir()]) > 1
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    del part
    gc.collect()
    assert not [*folders.iterdir()]


def test_few_columns_of_readings_are_kept(archive: Path, folders: Path) -> None:
    handle = of.open(archive)
    for column in ("comments", "source", "referrer", "website", "email", "phone"):
        handle.signatures([column], people=False)
    assert len([*folders.iterdir()]) == 3


def test_a_copy_of_a_handle_keeps_for_itself(archive: Path, folders: Path) -> None:
    handle = of.open(archive)
    comments(handle), comments(handle)
    for other in (copy.deepcopy(handle), pickle.loads(pickle.dumps(handle))):  # noqa: S301 (of this line)
        assert other == handle
        assert comments(other) == comments(handle)
    del other
    gc.collect()
    assert len([*folders.iterdir()]) == 1


_CHILD = """
import os, sys, osdi_frames as of
from osdi_frames.store import temporary
temporary.KEPT_BYTES = 1
handle = of.open(sys.argv[1])
handle.signatures(), handle.signatures()
if sys.argv[2] == "forked" and not os.fork():
    sys.exit()
print(os.listdir(sys.argv[3]), flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
os.wait() if sys.argv[2] == "forked" else None
print(len(os.listdir(sys.argv[3])), flush=True)
"""


def run(archive: Path, folders: Path, how: str) -> list[str]:
    command = [sys.executable, "-c", _CHILD, archive, how, folders]
    ran = subprocess.run(
        command, env=os.environ | {"TMPDIR": str(folders)}, capture_output=True, text=True, check=False
    )
    return ran.stdout.splitlines()


def test_what_a_killed_process_left_goes_when_another_keeps_something(archive: Path, folders: Path) -> None:
    living = of.open(archive)
    comments(living), comments(living)
    [mine] = folders.iterdir()
    run(archive, folders, "killed")
    assert len([*folders.iterdir()]) == 2
    run(archive, folders, "ended")
    assert [*folders.iterdir()] == [mine]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_that_was_forked_removes_nothing(archive: Path, folders: Path) -> None:
    assert run(archive, folders, "forked")[-1] == "1"
    assert not [*folders.iterdir()]


_WORKERS = """
import multiprocessing, sys, osdi_frames as of
from concurrent.futures import ProcessPoolExecutor
from osdi_frames.store import temporary

def open_there(path):
    global handle
    temporary.KEPT_BYTES = 1
    handle = of.open(path)

def read(_):
    return len(handle.signatures())

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    with ProcessPoolExecutor(1, context, open_there, (sys.argv[1],)) as workers:
        print([*workers.map(read, range(3))])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_worker_of_multiprocessing_removes_what_it_kept(
    archive: Path, folders: Path, tmp_path: Path
) -> None:
    (tmp_path / "workers.py").write_text(_WORKERS)
    command = [sys.executable, tmp_path / "workers.py", archive, "fork"]
    ran = subprocess.run(
        command, env=os.environ | {"TMPDIR": str(folders)}, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[8, 8, 8]\n"
    assert not [*folders.glob(".osdi*")]


@pytest.mark.parametrize(
    "call",
    [
        (tempfile, "mkdtemp"),
        (segments, "create_file"),
        (store, "make_folder"),
        (temporary, "try_lock"),
    ],
)
def test_on_a_full_disk_a_reading_goes_on_without_a_word(
    call: tuple[Any, str], archive: Path, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    handle = of.open(archive)
    expected = comments(handle)
    monkeypatch.setattr(*call, fail)
    with warnings.catch_warnings(action="error"):
        assert [comments(handle) for _ in range(2)] == [expected] * 2
    del handle
    gc.collect()
    assert not [*folders.iterdir()]
