"""What a store keeps, when it parses again, and who may read and write it."""

from __future__ import annotations

import errno
import gc
import itertools
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
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
    ProblemsWarning,
    SourceNotFound,
    SourceWarning,
    UnknownValue,
)
from osdi_frames.parsing import group
from osdi_frames.receiver import erase
from osdi_frames.sources.source import Part
from osdi_frames.store import matching, stamps, store
from tests.commands import run
from tests.layouts import lines, zstd
from tests.receiver.test_archive import ANN, signature
from tests.receiver.test_archive import write as receive

from .kept import comments, every, opened, segments, signed

pytestmark = pytest.mark.usefixtures("long_ago")


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


@pytest.mark.parametrize("pattern", ["*/*.zst", "**/*.zst"])
def test_no_file_of_a_store_matches_a_pattern_of_documents(pattern: str, archive: Path, kept: Path) -> None:
    for path in [*archive.iterdir()]:
        path.with_name(f"{path.name}.zst").write_bytes(zstd(path.read_bytes()))
    found = [comments(f"{archive.parent}/{pattern}", kept) for _ in range(3)]  # type: ignore[arg-type]
    assert found == [comments(archive, None)] * 3


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


@pytest.mark.parametrize("ends", ["broken", "unknown", "closed"])
def test_what_is_no_longer_in_the_archive_goes_from_the_store_however_a_reading_ends(
    ends: str, archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "RESOLVED_BYTES", 0)
    comments(archive, kept), comments(archive, kept)
    assert [*kept.glob("resolved-*")]
    (archive / "a.ndjson").unlink()
    if ends == "broken":
        (archive / "e.ndjson").write_bytes(b"broken\n")
        with pytest.raises(BadDocument):
            comments(archive, kept)
    elif ends == "unknown":
        with pytest.raises(UnknownValue):
            of.open(archive, store=kept).where(petition="nowhere").signatures()
    else:
        reader = of.open(archive, store=kept).scan("signatures", dedupe=False)
        reader.read_next_batch()
        del reader
        gc.collect()
    rows = [pq.read_table(path).to_pylist() for path in kept.rglob("*signatures.parquet")]
    assert "a1" not in str(rows)


@pytest.mark.usefixtures("a_file_a_segment")
def test_a_reading_that_is_closed_early_leaves_what_it_did_not_reach(archive: Path, kept: Path) -> None:
    (archive / "d.ndjson").write_bytes(b"".join(signed(f"d{number}") for number in range(200)))
    comments(archive, kept)
    reader = of.open(archive, store=kept).scan("signatures", dedupe=False)
    reader.read_next_batch()
    del reader
    gc.collect()
    assert not opened(archive, lambda: comments(archive, kept))


@pytest.mark.usefixtures("a_file_a_segment")
def test_a_reading_of_some_files_leaves_the_others_in_the_store(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    before = {*segments(kept)}
    assert comments(archive / "b.ndjson", kept) == ["b1", "b2"]
    assert {*segments(kept)} == before


def test_a_reading_that_stops_keeps_the_segments_that_it_has_ended(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "SEGMENT_BYTES", 1)
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


def test_documents_that_do_not_fit_are_counted_once_whichever_group_is_read_first(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are read in threads, and the documents of several groups are parsed together."""
    monkeypatch.setattr(group, "_GROUP_SIZE", 1)
    for path in archive.iterdir():
        path.write_bytes(b'{"broken": \n' + path.read_bytes() + b'{"a": 1}{"b": 2}\n')
    expected = of.open(archive).check()

    def backwards(function: Any, items: Any, _: int) -> Iterator[Any]:
        results = [function(item) for item in [*items][::-1]]
        yield from (lambda result=result: result for result in results[::-1])

    of.check(archive, store=kept)
    with monkeypatch.context() as patch:
        patch.setattr(store, "ahead", backwards)
        found = of.check(archive, store=kept)
    assert found.equals(expected)
    assert found.attrs == expected.attrs
    for number, name in itertools.product(range(4), ("signatures", "documents")):
        damaged = sorted(kept.rglob(f"*-{name}.parquet"))[number]
        damaged.write_bytes(damaged.read_bytes()[:-9] + b"\0" * 9)
        with pytest.warns(SourceWarning, match="is made anew"):
            found = of.check(archive, store=kept)
        assert found.equals(expected)
        assert found.attrs == expected.attrs


@pytest.mark.parametrize("cut", [1, 64 << 20], ids=["in ranges", "whole"])
def test_a_file_that_is_sealed_while_it_is_read_is_read_to_its_end(
    cut: int, archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressed as a receiver does it, after the first rows came; some is in the store already, more was added."""
    monkeypatch.setattr(group, "_GROUP_SIZE", 1)
    monkeypatch.setattr(matching, "SEGMENT_BYTES", cut)
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
    monkeypatch.setattr(matching, "SEGMENT_BYTES", 1000)
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


def test_what_the_system_refused_is_read_another_time(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, read, times = comments(archive, None), Part._local, Counter[str]()

    def refuse(part: Part, path: str) -> Any:
        times[path] += 1
        if path.endswith("b.ndjson") and times[path] == 2:  # it was stamped before
            raise OSError(errno.EMFILE, "Too many open files", path)
        return read(part, path)

    monkeypatch.setattr(Part, "_local", refuse)
    with pytest.warns(ProblemsWarning, match="Too many open files"):
        comments(archive, kept, on_error="skip")
    monkeypatch.undo()
    assert comments(archive, kept) == expected
    assert of.check(archive, store=kept).empty


def test_problems_of_types_that_are_not_asked_for_are_none_with_a_store(tmp_path: Path, kept: Path) -> None:
    page = {"page": 1, "_embedded": {"osdi:signatures": [None]}}
    (tmp_path / "a.ndjson").write_bytes(lines([page, {"title": "March", "total_accepted": 3}]))
    for folder in (None, kept, kept):
        archive = of.open(tmp_path / "a.ndjson", store=folder)
        assert archive.events(["title"])["title"].tolist() == ["March"]
        with pytest.raises(BadDocument, match="not an object"):
            archive.signatures()


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
    writer = Thread(target=(tmp_path / "a.ndjson").write_bytes, args=(signed("a1", "a2"),))
    writer.start()
    with pytest.warns(SourceWarning, match="the source holds signature elements"):
        assert of.read_events(tmp_path / "a.ndjson", store=kept).empty
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
    (segment / ".segment.about.partial").write_bytes(b"x")
    (segment / "segment.about").unlink()
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
    other = signature("bob-2", "bob@example.org", identifiers=["platform:2"])
    receive(received, [f"[{ANN}]".encode(), f"[{other}]".encode()])
    archive = of.open(received, store=kept)
    for _ in range(2):
        assert archive.tables(["signatures", "supporters"])["supporters"]["person_id"].tolist() == [
            "ann-1",
            "bob-2",
        ]
    for name in ("segment-*", "resolved-*"):
        assert "ann-1" in str([pq.read_table(path).to_pylist() for path in kept.glob(f"{name}/*.parquet")])
    erase(received, persons=["ann-1"], store=kept)
    assert not [*kept.rglob("*.parquet")]
    assert "ann-1" not in str(archive.signatures().to_dict())
    assert archive.supporters()["person_id"].tolist() == ["bob-2"]


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
