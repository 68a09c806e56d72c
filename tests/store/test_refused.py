"""What a store refuses, and what is made anew."""

from __future__ import annotations

import errno
import itertools
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames.errors import (
    DestinationExists,
    InvalidArgument,
    InvalidSource,
    ProblemsWarning,
    SourceWarning,
)
from osdi_frames.locking import try_lock
from osdi_frames.store import segments as written
from osdi_frames.store import store
from tests.layouts import zstd
from tests.test_structure import modules

from .kept import comments, opened, segments, signed

pytestmark = pytest.mark.usefixtures("long_ago")


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


def test_the_version_is_of_all_code_that_rows_depend_on() -> None:
    """What they do not depend on: errors and warnings, locks, files that are written, frames, bars of progress.

    Nor do they on the clock and on names, by which resolved rows are filtered.
    """
    others = {
        "clock",
        "names",
        "errors",
        "locking",
        "durable",
        "frames",
        "progress",
        "listening",
        "collector",
    }
    named = {pattern.partition("/")[0].removesuffix(".py") for pattern in store._CODE}
    used = {
        name.split(".")[1]
        for package, names in modules()
        if package in named
        for name in names
        if name.startswith("osdi_frames.")
    }
    assert used - others <= named


def test_limits_that_hold_anyway_are_no_other_version(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    assert not opened(archive, lambda: comments(archive, kept, limits=of.Limits()))


#: What can happen to a file of a store.
DAMAGES: list[Callable[[Path], object]] = [
    Path.unlink,
    lambda path: path.write_bytes(path.read_bytes()[:-9]),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(b"\0" * path.stat().st_size),
]


def test_what_is_damaged_is_made_anew(archive: Path, kept: Path) -> None:
    expected = comments(archive, kept)
    for file, damage in itertools.product(["*-signatures.parquet", "segment.about"], DAMAGES):
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
