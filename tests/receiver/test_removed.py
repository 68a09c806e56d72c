"""No 200 into a file that is not there any more: what was removed is noticed, answered 503 and named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from osdi_frames.errors import SourceNotFound
from osdi_frames.receiver.verification import verify

from .process import HTTP, Receiver, stored
from .sender import TOKEN, delivery


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with Receiver(tmp_path / "archive") as running:
        assert [_post(running, number) for number in range(3)] == [200] * 3
        yield running


def _post(receiver: Receiver, number: int) -> int:
    return HTTP.post(f"http://127.0.0.1:{receiver.port}/{TOKEN}", content=delivery(number)).status_code


def _health(receiver: Receiver) -> tuple[int, str]:
    answer = HTTP.get(f"http://127.0.0.1:{receiver.port}/healthz")
    return answer.status_code, " ".join(answer.json()["warnings"])


def _segment(archive: Path) -> Path:
    (path,) = archive.glob("main/2*/*.ndjson")
    return path


def _replace(path: Path) -> None:
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    copy.rename(path)


SEGMENT_CHANGES: dict[str, Callable[[Path], object]] = {
    "the segment is removed": lambda archive: _segment(archive).unlink(),
    "its day is removed": lambda archive: shutil.rmtree(_segment(archive).parent),
    "its day is moved": lambda archive: _segment(archive).parent.rename(archive / "elsewhere"),
    "it is replaced by a copy": lambda archive: _replace(_segment(archive)),
    "it is emptied": lambda archive: os.truncate(_segment(archive), 0),
    "it grows": lambda archive: os.truncate(_segment(archive), 10_000),
}
FOLDER_CHANGES: dict[str, Callable[[Path], object]] = {
    "the lock file is removed": lambda archive: (archive / "main/.lock").unlink(),
    "the lock file is replaced": lambda archive: _replace(archive / "main/.lock"),
    "the worker's folder is removed": lambda archive: shutil.rmtree(archive / "main"),
    "the archive is removed": shutil.rmtree,
    "the archive is moved": lambda archive: archive.rename(archive.with_name("elsewhere")),
}


@pytest.mark.parametrize("change", SEGMENT_CHANGES.values(), ids=SEGMENT_CHANGES.keys())
def test_when_the_segment_is_not_what_was_written_the_answer_is_503_and_then_200_from_a_new_one(
    receiver, change
):
    change(receiver.archive)
    assert _post(receiver, 3) == 503
    assert _post(receiver, 4) == 200
    assert stored(receiver.archive)[delivery(4)] == 1
    status, warnings = _health(receiver)
    assert status == 200
    assert "000000000001.ndjson" in warnings
    assert "3 deliveries in it were acknowledged and may be lost" in warnings
    receiver.stop()


def test_the_health_page_names_a_removed_segment_before_any_delivery_comes(receiver):
    _segment(receiver.archive).unlink()
    status, warnings = _health(receiver)
    assert status == 503
    assert "000000000001.ndjson" in warnings


@pytest.mark.parametrize("change", FOLDER_CHANGES.values(), ids=FOLDER_CHANGES.keys())
def test_when_the_folder_or_its_lock_is_gone_the_answer_is_503_until_the_next_start(receiver, change):
    change(receiver.archive)
    assert [_post(receiver, number) for number in (3, 4)] == [503, 503]
    status, warnings = _health(receiver)
    assert status == 503
    assert "main/.lock" in warnings
    receiver.archive.mkdir(exist_ok=True)
    assert _post(receiver, 5) == 503
    receiver.stop()
    with Receiver(receiver.archive) as again:
        assert _post(again, 6) == 200
    assert stored(receiver.archive)[delivery(6)] == 1


def test_an_archive_that_comes_back_as_it_was_is_written_again(receiver):
    elsewhere = receiver.archive.with_name("elsewhere")
    receiver.archive.rename(elsewhere)
    assert _post(receiver, 3) == 503
    elsewhere.rename(receiver.archive)
    assert _post(receiver, 4) == 200
    receiver.stop()
    assert verify(receiver.archive).damages == []
    assert set(stored(receiver.archive)) == {delivery(number) for number in (0, 1, 2, 4)}


@pytest.mark.parametrize("noticed", [False, True], ids=["before the receiver notices", "after it noticed"])
def test_verify_names_a_segment_that_is_removed(receiver, noticed):
    _segment(receiver.archive).unlink()
    if noticed:
        assert [_post(receiver, 3), _post(receiver, 4)] == [503, 200]
    (damage,) = verify(receiver.archive).damages
    assert (
        "begins with 4 where 1 follows" if noticed else "the segment that it writes was removed"
    ) in damage.what


def test_verify_names_a_lock_file_that_is_removed(receiver):
    (receiver.archive / "main/.lock").unlink()
    assert [damage.path for damage in verify(receiver.archive).damages] == [receiver.archive / "main/.lock"]


def test_verify_finds_no_archive_where_the_folder_was_removed(receiver):
    shutil.rmtree(receiver.archive / "main")
    with pytest.raises(SourceNotFound):
        verify(receiver.archive)


def test_a_quarantine_that_is_removed_is_made_anew(receiver):
    def post_rubbish() -> int:
        return HTTP.post(f"http://127.0.0.1:{receiver.port}/{TOKEN}", content=b"rubbish").status_code

    assert post_rubbish() == 200
    shutil.rmtree(receiver.archive / "main/.quarantine")
    assert [post_rubbish(), post_rubbish()] == [503, 200]
