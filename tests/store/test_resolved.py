"""Rows that a store or a handle keeps are those that a reading without it resolves, whatever is asked."""

from __future__ import annotations

import errno
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.errors import OsdiError, SourceWarning
from osdi_frames.parsing.check import Inspector
from osdi_frames.parsing.parse import Observer
from osdi_frames.problems import Policy
from osdi_frames.resolving import actions
from osdi_frames.resolving.resolver import Decisions
from osdi_frames.sources.files import MANIFEST
from osdi_frames.store import resolved, temporary
from osdi_frames.tables import TABLES, element_types
from tests.layouts import lines
from tests.pulls import manifest_of, write_pull

from .kept import comments, signed
from .test_flips import flip
from .test_histories import CHANGES, LINES, NAMES, SIZES, cut, write

#: Columns of every version, and of titles, as reports ask for them.
STATES = ("event_id", "fetched_at", "total_accepted", "source_file")
TITLES = {"petitions": ("petition_id", "title")}
#: Values that occur, and one that does not.
FILTERS = st.fixed_dictionaries(
    {}, optional={"since": st.just("2026-03"), "until": st.just("2026-05")}
) | st.sampled_from(
    [
        {"status": "confirmed"},
        {"status": "nowhere"},
        {"petition": "x0"},
        {"petition": "none"},
        {"campaign": "c1", "since": "2026"},
    ]
)


@dataclass(frozen=True)
class Asked:
    """What is asked of an archive."""

    tables: dict[str, list[str] | None]
    filters: dict[str, Any] = field(default_factory=dict)
    dedupe: Any = True
    people: bool = True
    reports: bool = False
    """Whether it is asked as reports do."""
    inspects: bool = False

    def of(self, handle: of.Archive) -> tuple[Any, ...]:
        """Return rows, counts and problems, or the error; and warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = self._found(handle.where(**self.filters))
            except OsdiError as error:
                found = (type(error), str(error))
        return found, [str(warning.message) for warning in caught]

    def _found(self, archive: of.Archive) -> tuple[Any, ...]:
        resolution = archive.resolution(
            self.tables,
            dedupe=self.dedupe,
            people=self.people,
            snapshots=STATES if self.reports else (),
            whole=TITLES if self.reports and not {"status", "campaign"} & self.filters.keys() else {},
            inspects=self.inspects,
            lists=self.reports,
        )
        observer = (Inspector if self.inspects else Observer)(Policy("skip"))
        rows: dict[str, list[pa.Table]] = {}
        for name, some in archive.rows(resolution, observer):
            rows.setdefault(name, []).append(some)
        tables = {name: pa.concat_tables(some) for name, some in rows.items()}
        found = [(name, some.schema, some.to_pydict()) for name, some in sorted(tables.items()) if len(some)]
        problems = observer.inspection(resolution.kept) if isinstance(observer, Inspector) else None
        said = (str(problems), problems.problems.to_dict(), problems.kept) if problems else ()
        counts = (+observer.elements, +resolution.unplaced, resolution.known_by_address, resolution.kept)
        return found, counts, [each.text for each in observer.incomplete], said


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    """Draw what is asked: some tables, all columns or some, as reports ask, whatever the filters."""
    often = st.sampled_from(["actions", "people", "signatures", "attendances", "events"])
    names = draw(st.lists(st.sampled_from([*TABLES]) | often, min_size=1, max_size=4, unique=True))
    columns = {name: [column.name for column in TABLES[name].columns] for name in names}
    some = {
        name: draw(st.none() | st.lists(st.sampled_from(of_table), min_size=1, max_size=5, unique=True))
        for name, of_table in columns.items()
    }
    return Asked(
        some,
        filters=draw(st.just({}) | FILTERS),
        dedupe=draw(st.sampled_from([True, True, True, True, False])),
        people=draw(st.sampled_from([True, True, True, False])),
        reports=draw(st.booleans()),
        inspects=draw(st.booleans()),
    )


def finish(path: Path, _: bytes) -> None:
    """Write the manifest of the second pull alone: only then it proves that an event is gone."""
    folder = next(parent / "second" for parent in path.parents if (parent / "second").is_dir())
    manifest_of(folder, datetime(2026, 7, 1, tzinfo=UTC), files=["1.ndjson"]).write()


def pulled(folder: Path) -> None:
    """Write two pulls, of which the second lacks an event and a manifest."""
    for number, (name, ids) in enumerate({"first": "ab", "second": "b"}.items()):
        events = [{"identifiers": [f"platform:{id_}"], "title": id_, "total_accepted": 3} for id_ in ids]
        page = {
            "url": "https://example.org/api/v2/events?page=1",
            "fetched_at": f"2026-0{6 + number}-01T00:00:00Z",
            "body": {"total_records": 3, "page": 1, "_embedded": {"osdi:events": events}},
        }
        write_pull(folder / name, datetime(2026, 6 + number, 1, tzinfo=UTC), {"1.ndjson": [page]})
    (folder / "second" / MANIFEST).unlink()


def restore(backup: Path, kept: Path) -> Path:
    """Put the store back as it was once."""
    shutil.rmtree(kept)
    return shutil.copytree(backup, kept)


def restore_over(backup: Path, kept: Path) -> Path:
    """Put what the store held once beside what it holds, as a program does that removes nothing."""
    return shutil.copytree(backup, kept, dirs_exist_ok=True)


def restore_some(backup: Path, kept: Path) -> Path:
    """Put each other file of the store back, and leave the folders as they are."""
    for path in sorted(backup.rglob("*"))[::2]:
        if path.is_file() and (target := kept / path.relative_to(backup)).parent.is_dir():
            shutil.copy2(path, target)
    return kept


def move(_: Path, kept: Path) -> Path:
    """Move the store."""
    return kept.rename(kept.with_name("moved" if kept.name == "store" else "store"))


#: What somebody does to the store between readings, given what it was at the beginning.
RESTORED = st.lists(
    st.sampled_from([restore, restore_over, restore_some, move, lambda _, kept: kept]), min_size=4, max_size=4
)
#: What happens between readings: to files, or to a proof; and nothing.
HAPPENS: list[Callable[[Path, bytes], None]] = [*CHANGES, finish, lambda _, __: None]
FIRST = st.lists(st.tuples(NAMES, LINES), min_size=1, max_size=4)
STEPS = st.lists(st.tuples(st.sampled_from(HAPPENS), NAMES, LINES), max_size=3)


def assert_same(found: Any, expected: Any, request: Asked) -> None:
    if repr(found) != repr(expected):  # of NaN, too
        pairs = zip(flat(found), flat(expected), strict=False)
        differ = next((pair for pair in pairs if repr(pair[0]) != repr(pair[1])), "length")
        raise AssertionError(f"{request}: {differ}")


def flat(value: Any) -> list[Any]:
    """Return what is inside of lists, tuples and dictionaries."""
    if isinstance(value, dict):
        value = [*value.items()]
    return [inner for each in value for inner in flat(each)] if isinstance(value, list | tuple) else [value]


def kept_rows_are_resolved_rows(
    first: Iterable[Any],
    steps: Iterable[Any],
    requests: list[Asked],
    sizes: tuple[int, ...],
    restored: list[Callable[[Path, Path], Path]],
) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        cut(patch, *sizes)
        patch.setattr(temporary, "KEPT_BYTES", 0)
        folder, kept = Path(name, "archive"), Path(name, "store")
        opened = partial(of.open, folder, on_error="skip", progress=False)
        folder.mkdir()
        pulled(folder)
        handle = opened()
        for file, data in first:
            write(folder / file, data)
        for (change, file, data), put_back in zip(
            [(lambda _, __: None, "", b""), *steps], restored, strict=False
        ):
            path = folder / file
            if path.exists() or change in (write, finish):
                change(path, data)
            expected = [request.of(opened(keep=False)) for request in requests]
            for request, of_fresh in [*zip(requests, expected, strict=True)] * 3:
                assert_same(request.of(opened(store=kept)), of_fresh, request)
                assert_same(request.of(handle), of_fresh, request)
            if not kept.exists():  # there was nothing to keep
                continue
            backup = Path(name, "backup")
            if not backup.exists():
                shutil.copytree(kept, backup)
            kept = put_back(backup, kept)


@settings(max_examples=6, deadline=None)
@given(FIRST, STEPS, st.lists(asked(), min_size=1, max_size=3), SIZES, RESTORED)
def test_resolved_rows_that_are_kept_or_restored_change_nothing(
    first: Any, steps: Any, requests: list[Asked], sizes: tuple[int, ...], restored: list[Any]
) -> None:
    kept_rows_are_resolved_rows(first, steps, requests, sizes, restored)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(FIRST, STEPS, st.lists(asked(), min_size=1, max_size=4), SIZES, RESTORED)
def test_of_300_archives_resolved_rows_that_are_kept_or_restored_change_nothing(
    first: Any, steps: Any, requests: list[Asked], sizes: tuple[int, ...], restored: list[Any]
) -> None:
    kept_rows_are_resolved_rows(first, steps, requests, sizes, restored)


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("resolved again")


def test_a_reading_that_finds_nothing_new_resolves_nothing(
    archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = of.open(archive, store=kept)
    for _ in range(2):
        expected = handle.tables(["signatures", "actions"])["signatures"]["comments"].tolist()
    monkeypatch.setattr(Decisions, "of", refuse)
    monkeypatch.setattr(actions, "actions", refuse)
    assert comments(archive, kept) == expected
    assert len(handle.table("actions", ["date"])) == len(expected)
    assert handle.where(since="2999").signatures(["comments"]).empty
    with pytest.raises(AssertionError, match="resolved again"):
        handle.events()
    with pytest.raises(AssertionError, match="resolved again"):
        handle.table("signatures", people=False)
    (archive / "e.ndjson").write_bytes(signed("e1"))
    with pytest.raises(AssertionError, match="resolved again"):
        comments(archive, kept)


def test_people_that_filters_keep_by_who_acted_are_read_after_the_actions(archive: Path, kept: Path) -> None:
    """Of a filter it is not known before which actions are shown: they are not kept, and people come after them."""
    person = {"osdi:person": {"href": "https://example.org/api/v2/people/ann"}}
    act = {"identifiers": ["platform:e1"], "created_date": "2026-05-01T10:00:00Z", "_links": person}
    (archive / "e.ndjson").write_bytes(lines([[{"osdi:signature": act}]]))
    handle = of.open(archive, store=kept)
    expected = of.open(archive).where(since="2020").tables(["actions", "people"])
    assert len(expected["people"])
    handle.signatures(["comments"])
    for _ in range(3):
        for name, rows in handle.where(since="2020").tables(["actions", "people"]).items():
            assert_frame_equal(rows, expected[name])


def test_the_rows_of_few_requests_are_kept(archive: Path, kept: Path) -> None:
    for column in (
        "comments",
        "source",
        "created_date",
        "email",
        "person_id",
        "petition_id",
        "referrer",
    ):
        for _ in range(2):
            of.open(archive, store=kept).signatures([column])
    assert len([*kept.glob("resolved-*")]) == 4
    of.open(archive / "a.ndjson", store=kept).signatures()
    assert not [*kept.glob("resolved-*")]


def test_readers_of_resolved_rows_go_on_while_another_parses_and_removes(archive: Path, kept: Path) -> None:
    for _ in range(2):
        expected = comments(archive, kept)
    slow = of.open(archive, store=kept).scan("signatures", ["comments"])
    first = slow.read_next_batch()
    [shown] = kept.glob("resolved-*")
    (archive / "d.ndjson").unlink()
    assert comments(archive, kept) == comments(archive, None)
    assert shown.is_dir()
    assert first["comments"].to_pylist() + slow.read_all()["comments"].to_pylist() == expected
    comments(archive, kept)
    assert not shown.exists()


def test_types_have_identities() -> None:
    """Else rows of some would come before all versions are known, and could not be kept."""
    assert all(element.identities for element in element_types())


@pytest.mark.parametrize("flips", [10, pytest.param(300, marks=pytest.mark.long)])
def test_resolved_rows_with_a_flipped_bit_are_not_shown(
    flips: int, archive: Path, kept: Path, tmp_path: Path
) -> None:
    (archive / "z.ndjson").write_bytes(signed(*(f"No. {number}" for number in range(99))))
    expected, drawn = comments(archive, None), random.Random(3)
    for _ in range(2):
        comments(archive, kept)
    [folder] = kept.glob("resolved-*")
    whole, seen = shutil.copytree(folder, tmp_path / "whole"), 0
    for _ in range(flips):
        [folder] = kept.glob("resolved-*")
        shutil.rmtree(folder)
        place = flip(shutil.copytree(whole, folder), drawn)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SourceWarning)
            assert comments(archive, kept) == expected, place
        seen += len(caught)
        with warnings.catch_warnings(action="error"):
            assert comments(archive, kept) == expected
    assert seen


@pytest.mark.parametrize(
    "call", [(tempfile, "mkdtemp"), (resolved, "create_file"), (resolved, "flush"), (Path, "rename")]
)
def test_where_resolved_rows_cannot_be_written_a_reading_goes_on_and_says_so(
    call: tuple[Any, str], archive: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = comments(archive, kept)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(*call, fail)
        with pytest.warns(SourceWarning, match=r"cannot keep resolved rows \(No space left on device\)"):
            assert comments(archive, kept) == expected
    assert not [*kept.glob(".draft-*"), *kept.glob("resolved-*")]
    assert comments(archive, kept) == expected
    assert [*kept.glob("resolved-*")]


def test_a_reading_that_stops_keeps_no_resolved_rows(archive: Path, kept: Path) -> None:
    comments(archive, kept)
    rows = of.open(archive, store=kept).scan("signatures", ["comments"])
    rows.read_next_batch()
    rows.close()
    del rows
    assert not [*kept.glob("resolved-*"), *kept.glob(".draft-*")]
