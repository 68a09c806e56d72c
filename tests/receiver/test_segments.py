import os
import stat
import threading
from pathlib import Path

import pytest

from osdi_frames.errors import ArchiveLocked
from osdi_frames.receiver import erase, erasure, verification
from osdi_frames.receiver.envelope import Envelope
from osdi_frames.receiver.segments import Log, seal_finished, segments
from osdi_frames.receiver.verification import verify
from osdi_frames.receiver.worker import TORN, Worker
from osdi_frames.sources.files import QUARANTINE

from .process import stored

DAY = "2026-11-21"
SIZE = 1 << 20


def _lines(log: Log, count: int) -> list[bytes]:
    return [
        Envelope.of(b'[{"n":"line %d"}]' % n, sequence=n, at=f"{DAY}T10:42:07.000000Z", reason=None).line()
        for n in range(log.next_sequence, log.next_sequence + count)
    ]


def _archive(tmp_path: Path, *, lines: int, segment_bytes: int = SIZE) -> Path:
    worker = Worker(tmp_path / "archive", "main", segment_bytes=segment_bytes)
    for _ in range(lines):
        worker.deliveries.append(_lines(worker.deliveries, 1), day=DAY)
    worker.close()
    return tmp_path / "archive"


def _seal_all(log: Log) -> None:
    seal_finished(log)


def _torn(archive: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((archive / "main" / TORN).glob("*"))]


def _truncate_and_start(tmp_path: Path, *, step: int) -> None:
    archive = _archive(tmp_path, lines=8)
    (segment,) = segments(archive / "main")
    whole = segment.path.read_bytes()
    ends = [0, *(at + 1 for at, byte in enumerate(whole) if byte == 0x0A)]
    for size in range(ends[-4], len(whole) + 1, step):
        segment.path.write_bytes(whole[:size])
        for aside in (archive / "main" / TORN).glob("*"):
            aside.unlink()
        worker = Worker(archive, "main", segment_bytes=SIZE)
        worker.close()
        end = max(end for end in ends if end <= size)
        assert segment.path.read_bytes() == whole[:end]
        assert _torn(archive) == ([whole[end:size]] if size > end else [])
        assert worker.deliveries.next_sequence == ends.index(end) + 1


def test_a_truncation_in_the_last_three_lines_leaves_exactly_the_valid_prefix(tmp_path):
    _truncate_and_start(tmp_path, step=13)


@pytest.mark.long
def test_every_truncation_of_the_last_three_lines_leaves_exactly_the_valid_prefix(tmp_path):
    _truncate_and_start(tmp_path, step=1)


def test_a_torn_segment_without_any_whole_line_is_moved_as_it_is(tmp_path):
    archive = _archive(tmp_path, lines=1)
    (segment,) = segments(archive / "main")
    segment.path.write_bytes(segment.path.read_bytes()[:-1])
    Worker(archive, "main", segment_bytes=SIZE).close()
    assert segments(archive / "main") == []
    assert len(_torn(archive)) == 1


def test_a_line_that_is_damaged_before_whole_ones_stays_where_verify_finds_it(tmp_path):
    archive = _archive(tmp_path, lines=4)
    (segment,) = segments(archive / "main")
    segment.path.write_bytes(segment.path.read_bytes().replace(b"line 2", b"line X"))
    worker = Worker(archive, "main", segment_bytes=SIZE)
    worker.close()
    assert worker.deliveries.next_sequence == 5
    assert [damage.line for damage in verify(archive).damages] == [2]


def test_segments_turn_over_by_size_and_by_day_and_the_sequence_goes_on(tmp_path):
    worker = Worker(tmp_path / "archive", "main", segment_bytes=300)
    for day in (DAY, DAY, "2026-11-22"):
        worker.deliveries.append(_lines(worker.deliveries, 3), day=day)
    worker.close()
    names = [str(s.path.relative_to(worker.folder)) for s in segments(worker.folder)]
    assert names == [
        f"{DAY}/000000000001.ndjson",
        f"{DAY}/000000000004.ndjson",
        "2026-11-22/000000000007.ndjson",
    ]
    assert verify(tmp_path / "archive").damages == []


def test_sealing_compresses_what_is_finished_and_leaves_what_is_written(tmp_path):
    worker = Worker(tmp_path / "archive", "main", segment_bytes=300)
    for _ in range(3):
        worker.deliveries.append(_lines(worker.deliveries, 3), day=DAY)
    before = stored(tmp_path / "archive")
    _seal_all(worker.deliveries)
    assert [(s.first, s.sealed) for s in segments(worker.folder)] == [(1, True), (4, True), (7, False)]
    assert stored(tmp_path / "archive") == before
    worker.close()
    assert verify(tmp_path / "archive").deliveries == 9


def test_a_segment_that_is_written_is_not_sealed_and_one_that_a_failure_ended_is(tmp_path):
    log = Log(tmp_path, torn=tmp_path / "torn", segment_bytes=SIZE)
    log.append(_lines(log, 2), day=DAY)
    _seal_all(log)
    assert [(s.first, s.sealed) for s in segments(tmp_path)] == [(1, False)]
    path = segments(tmp_path)[0].path
    os.truncate(path, path.stat().st_size + 5)
    with pytest.raises(OSError, match="changed while it was open"):
        log.append(_lines(log, 1), day=DAY)
    log.append(_lines(log, 1), day=DAY)
    _seal_all(log)
    assert [(s.first, s.sealed) for s in segments(tmp_path)] == [(1, True), (3, False)]
    log.close()


def test_a_segment_that_is_sealed_between_its_listing_and_its_opening_is_read(tmp_path):
    archive = _archive(tmp_path, lines=3)
    (listed,) = segments(archive / "main")
    before = [*listed.lines()]
    worker = Worker(archive, "main", segment_bytes=SIZE)
    _seal_all(worker.deliveries)
    worker.close()
    assert not listed.path.exists()
    assert [*listed.lines()] == before


def test_while_segments_are_sealed_none_is_missed(tmp_path):
    count, day = 500, tmp_path / DAY
    day.mkdir()
    for number in range(count):
        (day / f"{number:012}.ndjson").touch()

    def seal():
        for number in range(count):
            plain, partial = day / f"{number:012}.ndjson", day / ".partial"
            partial.touch()
            partial.rename(f"{plain}.zst")
            plain.unlink()

    sealing = threading.Thread(target=seal)
    sealing.start()
    while sealing.is_alive():
        assert {segment.first for segment in segments(tmp_path)} == {*range(count)}
    sealing.join()


def test_sealing_that_was_cut_off_between_its_last_two_steps_is_finished_by_the_next(tmp_path):
    archive = _archive(tmp_path, lines=3)
    (segment,) = segments(archive / "main")
    plain = segment.path.read_bytes()
    worker = Worker(archive, "main", segment_bytes=SIZE)
    _seal_all(worker.deliveries)
    segment.path.write_bytes(plain)
    assert verify(archive).deliveries == 3
    _seal_all(worker.deliveries)
    worker.close()
    assert [s.sealed for s in segments(archive / "main")] == [True]


def test_sealing_that_is_stopped_leaves_the_plain_segment_and_no_remains(tmp_path):
    archive = _archive(tmp_path, lines=3)
    (segment,) = segments(archive / "main")
    worker = Worker(archive, "main", segment_bytes=SIZE)
    seal_finished(worker.deliveries, stopped=lambda: True)
    worker.close()
    assert [path.name for path in segment.path.parent.iterdir()] == [segment.path.name]


def test_lines_that_a_later_segment_numbers_again_are_moved_to_quarantine_when_sealed(tmp_path):
    # What a failed sync and a failed truncation leave: unacknowledged lines behind the acknowledged ones.
    archive = _archive(tmp_path, lines=5)
    (segment,) = segments(archive / "main")
    whole = segment.path.read_bytes()
    cut = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    (segment.path.with_name("000000000003.ndjson")).write_bytes(whole[cut:])
    worker = Worker(archive, "main", segment_bytes=SIZE)
    _seal_all(worker.deliveries)
    worker.close()
    assert verify(archive).damages == []
    assert stored(archive).total() == 5
    assert _torn(archive) == [whole[cut:]]


def test_a_segment_that_was_empty_and_went_since_it_was_listed_is_no_damage(tmp_path, monkeypatch):
    archive = _archive(tmp_path, lines=3)
    worker = Worker(archive, "main", segment_bytes=SIZE)
    worker.deliveries.append([], day=DAY)
    listed = {folder: segments(folder) for folder in (worker.folder, worker.folder / QUARANTINE)}
    worker.close()
    assert len(segments(worker.folder)) < len(listed[worker.folder])
    for module in (verification, erasure):
        monkeypatch.setattr(module, "segments", listed.__getitem__)
    verified, erased = verify(archive), erase(archive, persons=["nobody"])
    assert (verified.deliveries, verified.damages) == (3, [])
    assert (erased.searched, erased.left) == (3, [])


def test_a_start_never_appends_to_an_old_segment(tmp_path):
    archive = _archive(tmp_path, lines=2)
    worker = Worker(archive, "main", segment_bytes=SIZE)
    worker.deliveries.append(_lines(worker.deliveries, 1), day=DAY)
    worker.close()
    assert [s.first for s in segments(archive / "main")] == [1, 3]


def test_the_sequence_goes_on_after_a_sealed_segment(tmp_path):
    archive = _archive(tmp_path, lines=4)
    worker = Worker(archive, "main", segment_bytes=SIZE)
    _seal_all(worker.deliveries)
    worker.close()
    worker = Worker(archive, "main", segment_bytes=SIZE)
    worker.close()
    assert worker.deliveries.next_sequence == 5


def test_a_sealed_last_segment_that_cannot_be_read_does_not_keep_the_receiver_from_starting(tmp_path):
    archive = _archive(tmp_path, lines=4)
    worker = Worker(archive, "main", segment_bytes=SIZE)
    _seal_all(worker.deliveries)
    worker.close()
    (segment,) = segments(archive / "main")
    segment.path.write_bytes(b"rubbish")
    worker = Worker(archive, "main", segment_bytes=SIZE)
    worker.deliveries.append(_lines(worker.deliveries, 1), day=DAY)
    worker.close()
    assert "cannot be read" in verify(archive).damages[0].what


def test_only_the_owner_can_read_what_is_written(tmp_path):
    archive = _archive(tmp_path, lines=3, segment_bytes=100)
    worker = Worker(archive, "main", segment_bytes=100)
    worker.quarantine.append(
        [Envelope.of(b"x", sequence=1, at=f"{DAY}T00:00:00Z", reason="no").line()], day=DAY
    )
    _seal_all(worker.deliveries)
    worker.close()
    modes = {path.is_dir(): set() for path in archive.rglob("*")}
    for path in [archive, *archive.rglob("*")]:
        modes[path.is_dir()].add(stat.S_IMODE(path.stat().st_mode))
    assert modes == {True: {0o700}, False: {0o600}}
    assert (archive / "main" / QUARANTINE).is_dir()


def test_a_second_owner_of_a_folder_is_refused_and_another_worker_is_not(tmp_path):
    first = Worker(tmp_path, "main", segment_bytes=SIZE)
    with pytest.raises(ArchiveLocked, match="another receiver writes here"):
        Worker(tmp_path, "main", segment_bytes=SIZE)
    Worker(tmp_path, "second", segment_bytes=SIZE).close()
    first.close()
    Worker(tmp_path, "main", segment_bytes=SIZE).close()
