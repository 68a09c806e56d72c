"""What a store keeps, when it parses again, what it refuses, and who may read it."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
import signal
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import fsspec
import pandas as pd
import pyarrow.parquet as pq
import pytest

import osdi_frames as of
from osdi_frames.errors import (
    BadDocument,
    DestinationExists,
    InvalidArgument,
    InvalidSource,
    ProblemsWarning,
    SourceNotFound,
    SourceWarning,
)
from osdi_frames.locking import try_lock
from osdi_frames.parsing import group
from osdi_frames.receiver import erase
from osdi_frames.sources import streams
from osdi_frames.sources.source import Part
from osdi_frames.store import segments as written
from osdi_frames.store import stamps, store
from tests.commands import run
from tests.layouts import lines, zstd
from tests.receiver.test_archive import ANN, BOB
from tests.receiver.test_archive import write as receive


def signed(*names: str) -> bytes:
    return lines(
        [{"osdi:signature": {"identifiers": [f"platform:{name}"], "comments": name}}] for name in names
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.ndjson").write_bytes(signed(f"{name}1", f"{name}2"))
    return folder


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture(autouse=True)
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files were changed an hour ago: what is a second old is compared by its content."""
    now = stamps.time.time_ns
    monkeypatch.setattr(stamps.time, "time_ns", lambda: now() + 3600 * 10**9)


@pytest.fixture
def a_file_a_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SEGMENT_BYTES", 1)


def comments(archive: Path, kept: Path | None, **options: Any) -> list[str]:
    return of.open(archive, store=kept, **options).signatures(["comments"])["comments"].tolist()


def every(archive: Path, kept: Path | None) -> list[str]:
    rows = of.open(archive, store=kept).signatures(["comments"], dedupe=False)
    return rows["comments"].tolist()


def segments(kept: Path) -> dict[str, dict[str, Any]]:
    return {
        path.parent.name: json.loads(streams.zstd.decompress(path.read_bytes()))
        for path in kept.glob("*/segment.json.zst")
    }


_opened: list[str] = []
sys.addaudithook(lambda event, arguments: _opened.append(str(arguments[0])) if event == "open" else None)


def opened(folder: Path, call: Callable[[], object]) -> set[str]:
    """Return the names of the files in a folder that a call opens."""
    _opened.clear()
    call()
    return {Path(path).name for path in _opened if path.startswith(f"{folder}/")}


# --- what is parsed, and what is read ------------------------------------------------------------------


def test_no_file_is_opened_again_that_is_as_it_was(archive: Path, kept: Path) -> None:
    expected = comments(archive, None)
    assert comments(archive, kept) == expected
    assert not opened(archive, lambda: comments(archive, kept))
    assert comments(archive, kept) == expected


@pytest.mark.usefixtures("a_file_a_segment")
def test_only_new_and_changed_files_are_parsed(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    (archive / "e.ndjson").write_bytes(signed("e1"))
    (archive / "b.ndjson").write_bytes(signed("b3"))
    assert opened(archive, lambda: comments(archive, kept)) == {"b.ndjson", "e.ndjson"}
    assert comments(archive, kept) == comments(archive, None)


def test_a_file_that_only_grew_is_parsed_from_where_it_had_ended(archive: Path, kept: Path) -> None:
    live = archive / "d.ndjson"
    live.write_bytes(signed(*(f"d{number}" for number in range(200))))
    comments(archive, kept)
    before = segments(kept)
    with live.open("ab") as file:
        file.write(signed("more"))
    assert comments(archive, kept) == comments(archive, None)
    (added,) = [about for name, about in segments(kept).items() if name not in before]
    assert added["documents"] == 1
    assert of.read_signatures(archive, store=kept)["source_line"].tolist()[-1] == 201


def test_a_file_that_was_touched_is_compared_and_not_parsed(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    before = {*segments(kept)}
    (archive / "a.ndjson").touch()
    comments(archive, kept)
    assert {*segments(kept)} == before
    assert not opened(archive, lambda: comments(archive, kept))


def test_a_store_of_many_readings_has_few_segments(archive: Path, kept: Path) -> None:
    for number in range(16):
        (archive / f"e{number:02}.ndjson").write_bytes(signed(f"e{number}"))
        comments(archive, kept)
    assert len(segments(kept)) < 6
    assert comments(archive, kept) == comments(archive, None)


@pytest.mark.usefixtures("a_file_a_segment")
def test_what_is_no_longer_in_the_archive_is_no_longer_in_the_store(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    (archive / "a.ndjson").unlink()
    (archive / "b.ndjson").write_bytes(signed("b3"))
    comments(archive, kept)
    found = [
        row
        for path in kept.glob("*/*-signatures.parquet")
        for row in pq.read_table(path)["comments"].to_pylist()
    ]
    assert sorted(found) == ["b3", "c1", "c2", "d1", "d2"]


@pytest.mark.usefixtures("a_file_a_segment")
def test_a_reading_of_some_files_leaves_the_others_in_the_store(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    before = {*segments(kept)}
    assert comments(archive / "b.ndjson", kept) == ["b1", "b2"]
    assert {*segments(kept)} == before


def test_a_reading_that_stops_keeps_the_segments_that_it_has_ended(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SEGMENT_BYTES", 1)
    (archive / "d.ndjson").write_bytes(b"broken\n")
    with pytest.raises(BadDocument, match=r"d\.ndjson:1"):
        comments(archive, kept)
    assert len(segments(kept)) >= 2
    assert not [*kept.glob(".draft*")]


# --- who reads and writes ------------------------------------------------------------------------------


@pytest.mark.usefixtures("a_file_a_segment")
def test_readers_go_on_while_another_writes_and_removes(archive: Path, kept: Path) -> None:
    expected = comments(archive, kept)
    slow = of.open(archive, store=kept).scan("signatures", ["comments"], dedupe=False)
    first = slow.read_next_batch()
    (archive / "e.ndjson").write_bytes(signed("e1"))
    (archive / "d.ndjson").unlink()
    assert comments(archive, kept) == comments(archive, None)
    rest = slow.read_all()
    assert first["comments"].to_pylist() + rest["comments"].to_pylist() == expected


@pytest.mark.parametrize("cut", [1, 64 << 20], ids=["in ranges", "whole"])
def test_a_file_that_is_sealed_while_it_is_read_is_read_to_its_end(
    cut: int, archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressed as a receiver does it, after the first rows came; some is in the store already, more was added."""
    monkeypatch.setattr(group, "_GROUP", 1)
    monkeypatch.setattr(store, "SEGMENT_BYTES", cut)
    comments(archive, kept)
    for path in archive.iterdir():
        with path.open("ab") as file:
            file.write(signed(*map(str, range(9))))
    expected = every(archive, None)
    found = of.open(archive, store=kept).scan("signatures", ["comments"], dedupe=False)
    first = found.read_next_batch()["comments"].to_pylist()
    for path in [*archive.iterdir()]:
        path.with_name(f"{path.name}.zst").write_bytes(zstd(path.read_bytes()))
        path.unlink()
    assert first + found.read_all()["comments"].to_pylist() == expected
    assert every(archive, kept) == expected


def test_a_large_file_that_is_sealed_while_it_is_cut_is_read_to_its_end(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive / "b.ndjson"
    path.write_bytes(signed(*map(str, range(400))))
    expected = every(archive, None)
    cut = stamps._ranges

    def sealed_meanwhile(*arguments: Any) -> Iterator[Any]:
        for number, part in enumerate(cut(*arguments)):
            if number == 1 and path.exists():
                path.with_name("b.ndjson.zst").write_bytes(zstd(path.read_bytes()))
                path.unlink()
            yield part

    monkeypatch.setattr(stamps, "_ranges", sealed_meanwhile)
    monkeypatch.setattr(stamps, "_BLOCK", 256)
    monkeypatch.setattr(store, "SEGMENT_BYTES", 1000)
    assert every(archive, kept) == expected


def test_partitions_give_their_rows_once_after_a_reading_has_joined_what_they_were_cut_from(
    archive: Path, kept: Path
) -> None:
    for number in (3, 4, 500):
        with (archive / "a.ndjson").open("ab") as file:
            file.write(signed(*(f"{number}-{at}" for at in range(number))))
        every(archive / "a.ndjson", kept)
        if number == 4:
            parts = of.open(archive / "a.ndjson", store=kept).partitions()
    assert sum(len(part.signatures(dedupe=False)) for part in parts) == 2 + 3 + 4 + 500


def test_what_could_not_be_read_behind_an_address_is_asked_for_again(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = fsspec.filesystem("memory")
    for name in "ab":
        system.pipe_file(f"/refused/{name}.ndjson", signed(name))

    def refuse(*_: Any, **__: Any) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(type(system), "cat_file", refuse)
    with pytest.warns(ProblemsWarning, match="Permission denied"):
        comments("memory://refused", kept, on_error="skip")  # type: ignore[arg-type]
    monkeypatch.undo()
    assert comments("memory://refused", kept) == ["a", "b"]  # type: ignore[arg-type]
    system.rm("/refused", recursive=True)


def test_what_grows_by_byte_order_marks_has_the_problem_of_a_fresh_reading(archive: Path, kept: Path) -> None:
    of.check(archive, store=kept)
    with (archive / "a.ndjson").open("ab") as file:
        file.write(b"\xef\xbb\xbf" * 2 + signed("x"))
    expected = of.check(archive)
    assert len(expected) == 1
    pd.testing.assert_frame_equal(of.check(archive, store=kept), expected)


@pytest.mark.parametrize("is_cut", [False, True], ids=["store", "partition"])
def test_what_is_erased_and_sealed_while_it_is_read_takes_nothing_else_along(
    is_cut: bool, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "live" / "1.ndjson"
    file.parent.mkdir()
    file.write_bytes(signed(*(f"person {number}" for number in range(300))))
    every(file.parent, kept)
    if is_cut:
        rest = of.open(file.parent).partitions(size=4000)
    with file.open("ab") as live:
        live.write(signed("later"))
    opened_as_it_was = Part.open

    def erased_meanwhile(part: Part) -> Any:
        if part.start and file.exists():
            text = file.read_bytes().replace(b"person 3", b"")
            file.with_name("1.ndjson.zst").write_bytes(zstd(text))
            file.unlink()
        return opened_as_it_was(part)

    monkeypatch.setattr(Part, "open", erased_meanwhile)
    if is_cut:
        with pytest.raises(BadDocument, match="replaced by another file while it was read"):
            rest[1].signatures()
    else:
        assert every(file.parent, kept)[299:] == ["person 299", "later"]


def replace_last(archive: Path, data: bytes) -> None:
    (archive / "new").write_bytes(data)
    (archive / "new").replace(archive / "d.ndjson")


def test_a_file_that_is_replaced_before_it_is_read_is_read_as_it_is(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = store.read_parts
    more = signed("a longer name", "another", "third")
    monkeypatch.setattr(
        store, "read_parts", lambda *args, **kwargs: replace_last(archive, more) or read(*args, **kwargs)
    )
    assert comments(archive, kept)[6:] == ["a longer name", "another", "third"]
    assert comments(archive, kept) == comments(archive, None)


def test_the_rest_of_a_file_that_another_takes_the_place_of_is_an_error(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments(archive, kept)
    with (archive / "d.ndjson").open("ab") as file:
        file.write(signed("d3"))
    read = store.read_parts
    monkeypatch.setattr(
        store,
        "read_parts",
        lambda *args, **kwargs: replace_last(archive, b"x" * 999) or read(*args, **kwargs),
    )
    with pytest.raises(BadDocument, match=r"d\.ndjson: .*replaced by another file while it was read"):
        comments(archive, kept)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_named_pipe_is_read_once(tmp_path: Path, kept: Path) -> None:
    os.mkfifo(tmp_path / "a.ndjson")
    writer = Thread(target=(tmp_path / "a.ndjson").write_bytes, args=(signed("a1", "a2"),))
    writer.start()
    assert comments(tmp_path / "a.ndjson", kept) == ["a1", "a2"]
    writer.join()


def test_a_draft_that_lacks_nothing_but_its_name_goes_with_the_next_reading(
    archive: Path, kept: Path
) -> None:
    comments(archive, kept)
    [segment] = kept.glob("segment-*")
    shutil.copytree(segment, kept / ".draft-left")
    comments(archive, kept)
    assert not [*kept.glob(".draft-*")]


def test_what_killed_processes_left_goes_with_the_next_erasure(tmp_path: Path, kept: Path) -> None:
    received = tmp_path / "received"
    receive(received, [f"[{ANN}]".encode()])
    of.read_signatures(received, store=kept)
    [segment] = kept.glob("segment-*")
    (segment / ".segment.json.zst.partial").write_bytes(b"x")
    (segment / "segment.json.zst").unlink()
    erase(received, persons=["nobody"], store=kept)
    assert not [*kept.rglob("*.parquet")]


def test_an_erasure_begins_only_where_the_store_is_one(tmp_path: Path, kept: Path) -> None:
    received, other = tmp_path / "received", tmp_path / "exported"
    receive(received, [f"[{ANN}]".encode()])
    (other / "tables").mkdir(parents=True)
    (other / "tables" / "part.parquet").write_bytes(b"the only copy")
    with pytest.raises(DestinationExists, match="holds something else"):
        erase(received, persons=["ann-1"], store=other)
    (tmp_path / "empty").mkdir()
    for folder in (kept, tmp_path / "empty"):
        with pytest.raises(SourceNotFound, match="there is no store at"):
            erase(received, persons=["ann-1"], store=folder)
    assert [path.name for path in other.rglob("*")] == ["tables", "part.parquet"]
    assert len(of.read_signatures(received)) == 1
    of.read_signatures(received, store=kept)
    erase(received, persons=["ann-1"], store=f"file://{kept}")
    assert not [*kept.rglob("*.parquet")]


def test_others_can_read_nothing(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    for path in (kept, *kept.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_an_erasure_takes_the_person_out_of_the_store(tmp_path: Path, kept: Path) -> None:
    received = tmp_path / "received"
    receive(received, [f"[{ANN}]".encode(), f"[{BOB}]".encode()])
    of.read_signatures(received, store=kept)
    assert "ann-1" in str([pq.read_table(path).to_pylist() for path in kept.rglob("*.parquet")])
    erase(received, persons=["ann-1"], store=kept)
    assert not [*kept.rglob("*.parquet")]
    assert "ann-1" not in str(of.read_signatures(received, store=kept).to_dict())


# --- what is refused, and what is made anew ------------------------------------------------------------


def test_a_store_is_not_inside_an_archive_nor_around_it(archive: Path) -> None:
    for folder in (archive, archive / "store", archive.parent):
        with pytest.raises(InvalidArgument, match="neither inside of an archive nor around it"):
            comments(archive, folder)


@pytest.mark.parametrize("pattern", ["*", "../arch*", "**/*"])
def test_a_store_that_a_pattern_matches_is_refused(pattern: str, archive: Path) -> None:
    with pytest.raises(InvalidArgument, match="neither inside of an archive nor around it"):
        comments(f"{archive}/{pattern}", archive / "store")  # type: ignore[arg-type]


def test_a_store_is_a_folder_of_this_machine(archive: Path) -> None:
    with pytest.raises(InvalidArgument, match="a folder of this machine: object stores have no locks"):
        comments(archive, "s3://bucket/store")  # type: ignore[arg-type]


def test_a_store_without_a_name_is_refused(archive: Path) -> None:
    with pytest.raises(InvalidArgument, match="store is empty"):
        comments(archive, "")  # type: ignore[arg-type]


def test_nothing_is_written_into_a_folder_that_holds_something_else(archive: Path, kept: Path) -> None:
    kept.mkdir()
    (kept / "thesis.odt").write_text("the only copy")
    with pytest.raises(DestinationExists, match="holds something else"):
        comments(archive, kept)
    assert [path.name for path in kept.iterdir()] == ["thesis.odt"]
    with pytest.raises(DestinationExists, match="holds something else"):
        comments(archive, kept / "thesis.odt")


def test_a_folder_with_a_hidden_one_is_left_alone(archive: Path, kept: Path) -> None:
    (kept / ".git").mkdir(parents=True)
    with pytest.raises(DestinationExists, match="holds something else"):
        comments(archive, kept)
    assert [path.name for path in kept.iterdir()] == [".git"]


def test_what_somebody_puts_into_a_store_stays_there(archive: Path, kept: Path) -> None:
    expected = comments(archive, kept)
    (kept / "notes").mkdir()
    (kept / "notes" / "thesis.odt").write_text("the only copy")
    (kept / "exported").mkdir()
    (kept / "exported" / "events.parquet").write_bytes(b"the only copy")
    (archive / next(archive.iterdir()).name).touch()
    with warnings.catch_warnings(action="error"):
        assert comments(archive, kept) == expected
    store.remove_stale(kept)
    assert (kept / "notes" / "thesis.odt").read_text() == "the only copy"
    assert (kept / "exported" / "events.parquet").read_text() == "the only copy"


def test_a_reading_whose_clean_up_fails_gives_its_rows_and_says_so(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments(archive, kept)
    (archive / "a.ndjson").write_bytes(signed("a3"))

    def refuse(_: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(store, "remove_folder", refuse)
    with pytest.warns(SourceWarning, match="keeps what is not needed, which cannot be removed"):
        assert comments(archive, kept)[0] == "a3"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes that are forked")
def test_a_process_that_was_forked_during_a_reading_holds_no_lock(archive: Path, kept: Path) -> None:
    reading = of.open(archive, store=kept).scan("signatures", ["comments"], dedupe=False)
    reading.read_next_batch()
    other = multiprocessing.get_context("fork").Process(target=signal.pause)
    other.start()
    try:
        reading.read_all()
        lock = try_lock(kept / ".reading")
        assert lock is not None
        os.close(lock)
    finally:
        other.kill()
        other.join()


@pytest.mark.parametrize("call", [(tempfile, "mkdtemp"), (written, "create_file"), (Path, "rename")])
def test_on_a_full_disk_a_reading_goes_on_and_says_so(
    call: tuple[Any, str], archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments(archive, kept)
    (archive / "e.ndjson").write_bytes(signed("e1"))
    (archive / "a.ndjson").touch()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        patch.setattr(*call, fail)
        assert comments(archive, kept)[8:] == ["e1"]
    assert ["kept cannot be written" in str(warning.message) for warning in warned] == [True]
    assert not [*kept.glob(".draft-*")]
    assert comments(archive, kept) == comments(archive, None)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_files_that_are_shown_alike_are_told_apart(archive: Path, kept: Path, a_file_a_segment: None) -> None:
    raw, escaped = (os.fsencode(archive) + name for name in (b"/caf\xe9.ndjson", b"/caf\\xe9.ndjson"))
    for made, removed in ((raw, None), (escaped, None), (None, raw), (raw, escaped)):
        if made:
            Path(os.fsdecode(made)).write_bytes(signed("e1"))
        if removed:
            Path(os.fsdecode(removed)).unlink()
        for _ in range(2):
            pd.testing.assert_frame_equal(of.check(archive, store=kept), of.check(archive))


@pytest.mark.usefixtures("a_file_a_segment")
def test_the_first_problem_that_is_named_is_the_first_by_file_and_line(archive: Path, kept: Path) -> None:
    (archive / "a.ndjson").write_bytes(b'{"broken": \n')
    (archive / "z.ndjson.zst").write_bytes(zstd(signed("z1"))[:-3])
    for folder in (None, kept, kept):
        with pytest.warns(ProblemsWarning, match=r"the first: .*a\.ndjson:1"):
            comments(archive, folder, on_error="skip")


def test_parsed_objects_have_no_store(kept: Path) -> None:
    with pytest.raises(InvalidSource, match="a store keeps what was parsed of files"):
        of.open({"title": "March"}, store=kept).events()


@pytest.mark.parametrize(
    "options", [{"prefix": "group"}, {"limits": of.Limits(nesting=3)}], ids=lambda one: next(iter(one))
)
def test_a_store_of_another_version_is_made_anew(options: dict[str, Any], archive: Path, kept: Path) -> None:
    comments(archive, kept)
    with pytest.warns(
        SourceWarning, match="another version of osdi-frames, or another prefix or limits, has made"
    ):
        assert comments(archive, kept, **options) == comments(archive, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not opened(archive, lambda: comments(archive, kept, **options))


def test_limits_that_hold_anyway_are_no_other_version(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    assert not opened(archive, lambda: comments(archive, kept, limits=of.Limits()))


def damages() -> Iterator[tuple[str, Callable[[Path], object]]]:
    yield "missing", Path.unlink
    yield "cut off", lambda path: path.write_bytes(path.read_bytes()[:-9])
    yield "empty", lambda path: path.write_bytes(b"")
    yield "other bytes", lambda path: path.write_bytes(b"\0" * path.stat().st_size)


@pytest.mark.parametrize("file", ["*-signatures.parquet", "segment.json.zst"])
@pytest.mark.parametrize(("name", "damage"), [*damages()])
def test_what_is_damaged_is_made_anew(
    name: str, damage: Callable[[Path], object], file: str, archive: Path, kept: Path
) -> None:
    expected = comments(archive, kept)
    (path,) = kept.glob(f"*/{file}")
    damage(path)
    with pytest.warns(SourceWarning, match=r"kept holds what .*, or is damaged: it is made anew"):
        assert comments(archive, kept) == expected
    with warnings.catch_warnings(action="error"):
        assert not opened(archive, lambda: comments(archive, kept))


def test_a_copy_without_hidden_files_is_a_store(archive: Path, kept: Path, tmp_path: Path) -> None:
    expected = comments(archive, kept)
    copied = shutil.copytree(kept, tmp_path / "copied", ignore=shutil.ignore_patterns(".*"))
    assert not opened(archive, lambda: comments(archive, copied))
    assert comments(archive, copied) == expected


def test_a_store_that_cannot_be_written_serves_what_it_holds(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments(archive, kept)
    (archive / "e.ndjson").write_bytes(signed("e1"))
    before = segments(kept)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.warns(SourceWarning, match="cannot be written: what it lacks is parsed by each reading"):
        assert opened(archive, lambda: comments(archive, kept)) == {"e.ndjson"}
    assert segments(kept) == before


def test_parts_of_a_store_warn_as_those_of_files_do(archive: Path, kept: Path) -> None:
    (archive / "e.ndjson").write_bytes(signed("e1") + b"[{")
    for options in ({}, {"store": kept}):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for part in of.open(archive, on_error="skip", **options).partitions():
                part.signatures(dedupe=False)
        assert len(found) == 1


# --- every command -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["report"], ["check"], ["export"]], ids=lambda words: words[0])
def test_commands_take_a_store(words: list[str], archive: Path, kept: Path, tmp_path: Path) -> None:
    (archive / "e.ndjson.zst").write_bytes(zstd(signed("e1")))
    more = [[tmp_path / f"out-{number}"] if words == ["export"] else [] for number in range(3)]
    plain = run(*words, archive, *more[0])
    first, second = (run(*words, archive, *out, "--store", kept) for out in more[1:])
    assert plain.returncode == first.returncode == second.returncode == 0
    if words != ["export"]:
        assert plain.stdout == first.stdout == second.stdout
    else:
        for path in (tmp_path / "out-0").glob("*.parquet"):
            pd.testing.assert_frame_equal(
                pd.read_parquet(path), pd.read_parquet(tmp_path / "out-2" / path.name)
            )
    assert segments(kept)
