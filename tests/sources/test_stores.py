"""Archives in an object store are read, and tables written to it, as on this machine; a broken network is no end."""

from __future__ import annotations

import bz2
import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pytest
from click.testing import CliRunner
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.cli import group
from osdi_frames.errors import (
    DestinationExists,
    InvalidArgument,
    InvalidSource,
    MissingExtra,
    ServiceUnreachable,
    SourceNotFound,
)
from osdi_frames.sources import remote
from tests.layouts import compact, lines, zipped
from tests.sources.reading import event
from tests.sources.stores import BUCKET, Store, serving
from tests.workers import workers


@pytest.fixture(scope="module")
def server():
    """Start a store with a bucket."""
    with serving() as store:
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        fsspec.filesystem("s3").makedirs(BUCKET, exist_ok=True)  # a busy server may be asked twice
        yield store


@pytest.fixture
def store(server, monkeypatch) -> Store:
    """Forget what was asked for, and cut nothing off."""
    server.asked.clear()
    server.cut = lambda _: None
    monkeypatch.setattr(remote, "_LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(fsspec.get_filesystem_class("s3"), "retries", 1)  # ours are what is tested
    return server


def put(folder: str, files: dict[str, bytes]) -> str:
    filesystem = fsspec.filesystem("s3")
    for name, data in files.items():
        filesystem.pipe_file(f"{BUCKET}/{folder}/{name}", data)
    return f"s3://{BUCKET}/{folder}"


def mixed(count: int) -> dict[str, bytes]:
    """Return so many files of events and deliveries, with repeats."""

    def delivery(number: int) -> list[Any]:
        signature = {"identifiers": [f"platform:s{number // 2}"], "created_date": "2026-05-01T10:00:00Z"}
        return [{"osdi:signature": signature, "idempotency_key": str(number // 2)}]

    files = {f"events/{number:04}.json": compact(event(number % 40)) for number in range(count // 2)}
    files |= {f"deliveries/{number:04}.json": compact(delivery(number)) for number in range(count // 2)}
    return files | {
        "events/.hidden.json": compact(event(99)),
        "notes.txt": b"not for us",
        "more.zip": zipped({"a.json": compact(event(41))}),
        "more.ndjson": lines([event(number) for number in range(40)]),
        "more.json.bz2": bz2.compress(compact(event(42))),
        "more.ndjson.xz": lzma.compress(lines([event(43)])),
    }


@pytest.fixture
def both(store, tmp_path, request) -> tuple[str, Path]:
    """Return the same archive in the store and on this machine."""
    files = mixed(request.param)
    for name, data in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    return put(f"both{request.param}", files), tmp_path / "in"


def relative(frame: pd.DataFrame, source: object) -> pd.DataFrame:
    if "source_file" in frame:
        frame["source_file"] = frame["source_file"].str.removeprefix(f"{source}/")
    return frame


SIZES = [8, pytest.param(2000, marks=pytest.mark.long)]


@pytest.mark.filterwarnings("ignore:1 file not read")
@pytest.mark.parametrize("both", SIZES, indirect=True)
def test_every_reader_gives_what_it_does_on_this_machine(both):
    for table in ("events", "signatures"):
        frames = [relative(of.read_table(source, table), source) for source in both]
        assert_frame_equal(*frames)
    checked = [relative(of.check(source), source) for source in both]
    assert_frame_equal(*checked)


@pytest.mark.filterwarnings("ignore:1 file not read")
@pytest.mark.parametrize("both", SIZES, indirect=True)
def test_dask_reads_and_writes_a_store(both):
    with workers():
        found = of.open(both[0]).dask("events", npartitions=2).compute().reset_index(drop=True)
        assert_frame_equal(relative(found, both[0]), relative(of.read_events(both[1]), both[1]))
        out = f"s3://{BUCKET}/tables-of-dask"
        for tables in (["signatures"], ["events"]):
            counts = of.export(both[0], out, tables=tables, engine="dask", overwrite=True)
    assert counts == {"events": 43} == {"events": len(pd.read_parquet(f"{out}/events.parquet"))}
    names = [name.rpartition("/")[2] for name in fsspec.filesystem("s3").find(f"{BUCKET}/tables-of-dask")]
    assert len(names) == 2, names  # of the second export alone


@pytest.mark.filterwarnings("ignore:1 file not read")
@pytest.mark.parametrize("both", SIZES, indirect=True)
def test_every_command_works_on_a_store(both):
    out = f"s3://{BUCKET}/by-command"
    for command in (
        ["report", both[0]],
        ["export", both[0], f"{out}/tables", "--table", "events", "--overwrite"],
    ):
        ran = CliRunner().invoke(group, command)
        assert ran.exit_code == 0, (command, ran.output)
    assert len(pd.read_parquet(f"{out}/tables/events.parquet")) == 43


@pytest.mark.filterwarnings("ignore:1 file not read")
@pytest.mark.parametrize("both", [8], indirect=True)
def test_a_store_is_listed_twice_and_each_object_asked_for_once(both, store):
    store.asked.clear()
    of.read_events(both[0])
    objects = Counter(line.split()[1] for line in store.lines("GET") if "list-type" not in line)
    assert objects
    assert set(objects.values()) == {1}
    assert (
        len([line for line in store.asked if "list-type" in line and "delimiter=&" in line]) == 2
    )  # manifests, documents


def test_new_objects_are_read_by_the_next_reading(store):
    source = put("growing", {"a.json": compact(event(1))})
    assert len(of.read_events(source)) == 1
    boto = fsspec.get_filesystem_class("s3")(skip_instance_cache=True)
    boto.pipe_file(f"{BUCKET}/growing/b.json", compact(event(2)))
    assert len(of.read_events(source)) == 2


def long(number: int) -> dict[str, Any]:
    return event(number) | {"description": "ä" * 3000}


def large() -> bytes:
    return lines(map(long, range(2000)))


def once(part: str, size: int):
    """Cut the first answer off to a request with a part."""
    left = [1]

    def cut(line: str) -> int | None:
        if part in line and line.startswith("GET") and left[0]:
            left[0] -= 1
            return size
        return None

    return cut


@pytest.mark.parametrize("size", [0, 2000])
def test_an_answer_that_breaks_off_is_asked_for_again(store, size):
    source = put("broken", {f"{number}.json": compact(long(number)) for number in range(8)})
    whole = of.read_events(source)
    store.cut = once("/broken/7.json", size)
    assert_frame_equal(of.read_events(source), whole)
    assert len(store.lines("GET /archive/broken/7.json")) == 3


def test_a_large_object_that_breaks_off_in_the_middle_is_read_to_its_end(store):
    source = put("large", {"a.ndjson": large()})
    store.cut = once("/large/a.ndjson", 3 << 20)
    read = of.read_events(source, columns=["total_accepted", "source_line"])
    assert read["total_accepted"].tolist() == list(range(2000))
    store.cut = once("/large/a.ndjson", 5 << 20)
    cut = [part.source for part in of.open(source).partitions(count=5)]
    assert len(cut) == 5
    parts = pd.concat([of.read_events(part, columns=["total_accepted", "source_line"]) for part in cut])
    assert_frame_equal(parts.reset_index(drop=True), read)


def test_what_stays_broken_is_an_error_and_never_a_short_frame(store):
    files = {f"{number}.json": compact(long(number)) for number in range(8)} | {"big.ndjson": large()}
    source = put("gone", files)
    for on_error in ("raise", "skip"):
        for name in ("7.json", "big.ndjson") if on_error == "raise" else ("7.json",):
            store.cut = lambda line, name=name: 2000 if f"/gone/{name}" in line else None
            with pytest.raises(ServiceUnreachable, match=f"s3://archive/gone/{name}: "):
                of.read_events(source, on_error=on_error)
        store.cut = lambda line: 0 if "list-type" in line else None
        with pytest.raises(ServiceUnreachable):
            of.read_events(source, on_error=on_error)


def test_what_is_not_there_is_said(store):
    with pytest.raises(SourceNotFound, match="nothing at s3://archive/nowhere"):
        of.read_events(f"s3://{BUCKET}/nowhere")
    with pytest.raises(SourceNotFound, match="nothing at s3://no-bucket"):
        of.read_events("s3://no-bucket/a")


def test_patterns_and_folders_that_they_match_are_read(store):
    source = put("pattern", {"2025/a.json": compact(event(1)), "2026/b.json": compact(event(2))})
    assert of.read_events(f"{source}/20*")["event_id"].tolist() == ["e1", "e2"]
    assert of.read_events(f"{source}/*/b.json")["source_file"].tolist() == [f"{source}/2026/b.json"]


def test_a_signed_address_is_read_and_shown_without_its_signature(store):
    put("signed", {"a.ndjson": lines([event(1), {"title": "x", "total_accepted": "lots"}])})
    address = f"http://127.0.0.1:{store.port}/{BUCKET}/signed/a.ndjson"
    signed = f"{address}?X-Amz-Signature=5f5f"
    with pytest.warns(of.ProblemsWarning):
        read = of.read_events(signed, on_error="skip")
    assert read["source_file"].tolist() == [address] * 2
    with pytest.raises(of.errors.BadDocument, match=r"a\.ndjson:2:") as caught:
        of.read_events(signed)
    store.cut = lambda line: 300 if line.startswith("GET") else None
    with pytest.raises(ServiceUnreachable) as broken:
        of.read_events(signed)
    (part,) = of.open("s3://archive/signed/a.ndjson").partitions()
    shown = json.dumps([str(caught.value), str(broken.value), repr(part), repr(part.source.parts)])
    assert "5f5f" not in shown
    assert "very-secret" not in shown


def test_a_service_is_still_told_from_an_archive():
    for address in (
        "https://actionnetwork.org/api/v2/",
        "https://actionnetwork.org/api/v2/events?key=secret",
    ):
        with pytest.raises(InvalidSource, match="an address, and no archive; osdi-frames pull") as caught:
            of.read_events(address)
        assert "secret" not in str(caught.value)


def test_an_export_to_a_store_replaces_only_what_an_export_wrote(store):
    source, out = put("exported", {"a.json": compact(event(1))}), f"s3://{BUCKET}/out"
    of.export(source, out, tables=["events", "petitions"])
    with pytest.raises(DestinationExists, match="overwrite"):
        of.export(source, out, tables=["events"])
    of.export(source, out, tables=["events"], overwrite=True)
    filesystem = fsspec.filesystem("s3")
    filesystem.invalidate_cache()
    assert {name.rpartition("/")[2] for name in filesystem.find(f"{BUCKET}/out")} == {
        ".osdi-frames.json",
        "events.parquet",
    }
    filesystem.pipe_file(f"{BUCKET}/out/mine.txt", b"mine")
    with pytest.raises(DestinationExists, match=r"mine\.txt"):
        of.export(source, out, tables=["events"], overwrite=True)
    with pytest.raises(DestinationExists, match="the source"):
        of.export(source, f"{source}/out", tables=["events"])
    with pytest.raises(InvalidArgument, match="HTTP does not write"):
        of.export(source, "https://host/out", tables=["events"])


def test_an_upload_that_breaks_off_can_be_repeated(store):
    source, out = put("again", {"a.json": compact(event(1))}), f"s3://{BUCKET}/again-out"
    of.export(source, out, tables=["events"])
    store.cut = lambda line: 0 if line.startswith("PUT") and "events.parquet" in line else None
    with pytest.raises(ServiceUnreachable):
        of.export(source, out, tables=["events"], overwrite=True)
    store.cut = lambda _: None
    assert of.export(source, out, tables=["events"], overwrite=True) == {"events": 1}


def test_what_opens_an_address_is_named_where_it_is_missing():
    with pytest.raises(MissingExtra, match=r"gs://archive/1.json: .*install gcsfs[^;]*$"):
        of.read_events("gs://archive/1.json")  # which no extra opens
