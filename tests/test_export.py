"""Exports: whole or not at all, equal when read back, harmless in a spreadsheet."""

import csv
import os
import signal
import warnings

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import osdi_frames as of
from osdi_frames.errors import DestinationExists, InvalidColumn, UnknownColumn
from osdi_frames.output.folder import output_folder
from osdi_frames.tables import TABLES
from tests.clocks import wait_for
from tests.forks import Program
from tests.once import read_once
from tests.one_pass import scanned

HOSTILE = [
    *("=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx"),
    *("\n=1+1", " =1+1", "\u00a0=1+1", "\u200b=1+1", "\ufeff=1+1", " \x01-1"),
    *("\uff1d1", "\uff0b1", "\uff0d1", "\uff20x", " \uff1d1", "\ufe661"),
]


#: What is exported where it does not matter what.
SMALL = [{"title": "March", "total_accepted": 1}, [{"osdi:signature": {"comments": "Yes"}}]]


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.fixture(scope="module")
def exported(little_of_all, tmp_path_factory):
    def export():
        folder = tmp_path_factory.mktemp("export") / "tables"
        return folder, of.export(little_of_all, folder), scanned(little_of_all, [*TABLES])

    with warnings.catch_warnings(action="ignore", category=of.SourceWarning):  # of tables that are not there
        return read_once(tmp_path_factory, "export", export)


def test_every_table_reads_back_equal_with_pyarrow_pandas_polars_and_duckdb(exported):
    folder, counts, tables = exported
    assert sum(counts.values()) > 1000
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table, expected in tables.items():
            path = folder / f"{table}.parquet"
            assert counts[table] == expected.num_rows
            assert pq.read_table(path).equals(expected)
            if not expected.num_rows:  # which pyarrow alone shows
                continue
            pd.testing.assert_frame_equal(pd.read_parquet(path), expected.to_pandas())
            assert pl.read_parquet(path).equals(pl.from_arrow(expected))
            arrow = connection.sql(f"FROM read_parquet('{path}')").to_arrow_table()
            assert arrow.cast(expected.schema).equals(expected)


def test_a_file_says_what_its_columns_mean_and_which_schema_it_has(exported):
    for table in TABLES:
        file = pq.ParquetFile(exported[0] / f"{table}.parquet")
        schema = file.schema_arrow
        assert schema.metadata[b"osdi-frames.schema_version"]
        assert schema.metadata[b"osdi-frames.table"] == table.encode()
        assert all(field.metadata[b"meaning"] for field in schema)
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        assert all(group.column(0).compression == "ZSTD" for group in groups)


def test_a_partition_by_month_reads_back_with_the_same_rows(little, tmp_path):
    tables = ["signatures", "signature_tags"]
    of.export(little, tmp_path / "out", tables=tables, partition_by="month")
    expected = of.read_signatures(little).sort_values("signature_id", ignore_index=True)
    again = pd.read_parquet(tmp_path / "out" / "signatures")
    months = again.pop("month").astype("str")
    again = again.sort_values("signature_id", ignore_index=True)
    pd.testing.assert_series_equal(again["signature_id"], expected["signature_id"])
    pd.testing.assert_series_equal(again["created_date"], expected["created_date"])
    assert set(months) == set(expected["created_date"].dt.strftime("%Y-%m").fillna("none"))
    assert (tmp_path / "out" / "signature_tags.parquet").is_file()


def test_a_partition_by_a_column_leaves_the_column_as_it_is(little, exported, tmp_path):
    of.export(little, tmp_path / "out", tables=["events"], partition_by="location_postal_code")
    files = str(tmp_path / "out" / "events" / "**" / "*.parquet")
    again = pl.read_parquet(files, hive_partitioning=True).sort("event_id").drop("by_location_postal_code")
    expected = pl.from_arrow(exported[2]["events"]).sort("event_id")
    places = ["source_file", "source_line"]
    assert again.drop(places).equals(expected.drop(places))
    assert (tmp_path / "out" / "events" / "by_location_postal_code=none").is_dir()


def test_a_column_that_makes_no_names_of_folders_is_an_error_that_names_it(tmp_path):
    for column in ("identifiers", "created_date"):
        with pytest.raises(InvalidColumn, match=column):
            of.export(SMALL, tmp_path / "out", tables=["events"], partition_by=column)
    by_title = {"tables": ["events"], "partition_by": "title"}
    for number, title in enumerate(["a" * 247, "/" * 83, "é" * 42, "日" * 28]):
        for form in ("parquet", "csv"):
            with pytest.raises(InvalidColumn, match=r"^title cannot be partitioned by: .* 255 bytes"):
                of.export({"title": title, "total_accepted": 1}, tmp_path / "out", format=form, **by_title)
        assert len([*tmp_path.iterdir()]) == number
        shorter = {"title": title[:-1], "total_accepted": 1}
        assert of.export(shorter, tmp_path / f"out {number}", **by_title) == {"events": 1}


def test_a_column_of_too_many_values_for_folders_is_an_error_that_names_it(tmp_path):
    events = [{"title": str(number), "total_accepted": 1} for number in range((1 << 14) + 1)]
    with pytest.raises(
        InvalidColumn, match=r"^title cannot be partitioned by: it has more than 16,384 values"
    ):
        of.export(events, tmp_path / "out", tables=["events"], partition_by="title")
    assert list(tmp_path.iterdir()) == []


def test_only_the_columns_that_are_asked_for_are_written(tmp_path):
    columns = {"signatures": ["source", "comments"], "events": None}
    of.export(SMALL, tmp_path / "out", tables=columns)
    assert pq.read_schema(tmp_path / "out/signatures.parquet").names == ["source", "comments"]
    assert pq.read_schema(tmp_path / "out/events.parquet").names == [c.name for c in TABLES["events"].columns]
    of.export(SMALL, tmp_path / "hidden", tables=columns, drop="identifying")  # which comments are
    assert pq.read_schema(tmp_path / "hidden/signatures.parquet").names == ["source"]


def test_what_exists_is_refused_and_stays_and_overwrite_replaces_the_whole_export(tmp_path):
    of.export(SMALL, tmp_path / "out", tables=["events"])
    with pytest.raises(DestinationExists, match="overwrite=True"):
        of.export(SMALL, tmp_path / "out", tables=["signatures"])
    assert visible(tmp_path / "out") == ["events.parquet"]
    of.export(SMALL, tmp_path / "out", tables=["signatures"], overwrite=True)
    assert visible(tmp_path / "out") == ["signatures.parquet"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_export_that_fails_leaves_nothing_behind(tmp_path):
    source = tmp_path / "a.ndjson"
    source.write_text('{"title": "ok", "total_accepted": 1}\n{"title": "bad", "total_accepted": "lots"}\n')
    with pytest.raises(of.OsdiError, match=r"a\.ndjson:2"):
        of.export(source, tmp_path / "out", tables=["events"])
    assert [path.name for path in tmp_path.iterdir()] == ["a.ndjson"]


# What is to be on disk, next to the destination, when the process is killed.
STAGES = {
    "draft": ".out.osdi-frames-*",
    "table": ".out.osdi-frames-*/new/events.parquet",
    "manifest": ".out.osdi-frames-*/new/.osdi-frames.json",
    "replaced": ".out.osdi-frames-*/replaced",
}


def kill_when(process, folder, pattern):
    """Kill a process as soon as something matches the pattern; say how many were there."""
    found = []

    def is_there():
        assert process.poll() is None, process.stderr.read()
        found[:] = folder.glob(pattern)
        return found

    wait_for(is_there, interval=0)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return found


def kill_exports(data, tmp_path, stages):
    of.export(data, tmp_path / "out", tables=["events"])
    expected = pq.read_table(tmp_path / "out" / "events.parquet")
    program = "import sys, osdi_frames as of\nwhile True: of.export(*sys.argv[1:], tables=['events'], overwrite=True)"
    for stage in stages:
        with Program(program, data, tmp_path / "out") as process:
            kill_when(process, tmp_path, STAGES[stage])
        assert pq.read_table(tmp_path / "out" / "events.parquet").equals(expected)
        drafts = list(tmp_path.glob(".out.osdi-frames-*"))
        assert len(drafts) <= 1, "a run clears what the one before it left"
    of.export(data, tmp_path / "out", tables=["events"], overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_killed_export_leaves_the_old_one_whole_and_the_next_clears_its_draft(little, tmp_path):
    kill_exports(little, tmp_path, STAGES)


@pytest.mark.long
def test_thirty_killed_exports_leave_the_old_one_whole_and_no_draft(data, tmp_path):
    kill_exports(data, tmp_path, list(STAGES) * 10)


def test_a_draft_of_a_running_export_is_not_cleared(tmp_path):
    with output_folder(tmp_path / "out", kind="export", source=[], overwrite=True) as first:
        (first / "a.parquet").write_bytes(b"first")
        with output_folder(tmp_path / "out", kind="export", source=[], overwrite=True) as second:
            (second / "b.parquet").write_bytes(b"second")
        assert (first / "a.parquet").read_bytes() == b"first"
    assert visible(tmp_path / "out") == ["a.parquet"]


@pytest.mark.parametrize("escape", [True, False])
def test_csv_makes_formulas_harmless_unless_asked_to_leave_them(escape, tmp_path):
    events = [{"title": text, "total_accepted": 1} for text in HOSTILE]
    of.export(events, tmp_path / "out", tables=["events"], format="csv", escape_formulas=escape)
    with (tmp_path / "out" / "events.csv").open(newline="") as file:
        titles = [row["title"] for row in csv.DictReader(file)]
    assert titles == [f"'{text}" if escape else text for text in HOSTILE]


def test_csv_has_iso_datetimes_json_lists_and_negative_numbers_as_they_are(tmp_path):
    event = {
        "identifiers": ["platform:1", "b:2"],
        "created_date": "2026-01-02T03:04:05.678901Z",
        "start_date": "2026-05-01T18:00:00Z",
        "location": {"location": {"longitude": -122.25}},
    }
    of.export(event, tmp_path / "out", tables=["events"], format="csv")
    with (tmp_path / "out" / "events.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["identifiers"] == '["platform:1", "b:2"]'
    assert pd.Timestamp(row["created_date"]) == pd.Timestamp(event["created_date"])
    assert pd.Timestamp(row["start_date"]) == pd.Timestamp("2026-05-01T18:00:00")
    assert row["location_longitude"] == "-122.25"


def test_what_cannot_be_exported_says_what_can(tmp_path):
    with pytest.raises(ValueError, match="'parquet', 'csv', 'xlsx', not 'xls'"):
        of.export(SMALL, tmp_path / "out", format="xls")
    with pytest.raises(TypeError, match=r"tables is a list of names: tables=\['events'\]"):
        of.export({}, tmp_path / "out", tables="events")
    with pytest.raises(UnknownColumn, match=r"'regon'.*location_region"):
        of.export(SMALL, tmp_path / "out", partition_by="regon")


@pytest.mark.parametrize("write", [of.write_csv, of.write_excel])
def test_a_single_file_is_replaced_whoever_wrote_it_and_the_help_says_so(tmp_path, write):
    (tmp_path / "mine").write_text("mine")
    write(pd.DataFrame({"count": [1]}), tmp_path / "mine")
    assert (tmp_path / "mine").read_bytes() != b"mine"
    assert "is replaced, whoever wrote it" in " ".join(write.__doc__.split())


def test_write_csv_escapes_texts_categories_and_names_and_leaves_numbers(tmp_path):
    frame = pd.DataFrame(
        {
            "=name": ["=1+1", "ok"],
            "category": pd.Categorical(["+1", "ok"]),
            "large": pd.array(["@x", "ok"], pd.ArrowDtype(pa.large_string())),
            "number": [-1, 2],
        },
        index=pd.Index(["-key", "b"], name="source"),
    )
    of.write_csv(frame, tmp_path / "a.csv")
    written = (tmp_path / "a.csv").read_text().splitlines()
    assert written[0] == '"source","\'=name","category","large","number"'
    assert written[1] == '"\'-key","\'=1+1","\'+1","\'@x",-1'
    of.write_csv(frame, tmp_path / "a.csv", escape_formulas=False)
    assert (tmp_path / "a.csv").read_text().splitlines()[1] == '"-key","=1+1","+1","@x",-1'
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_exports_are_readable_by_their_owner_only_whatever_the_umask(tmp_path):
    for mask in (0o000, 0o077):
        new = tmp_path / oct(mask)
        before = os.umask(mask)
        try:
            of.export(SMALL, new / "out", tables=["events"], partition_by="location_region")
            of.write_csv(pd.DataFrame({"a": [1]}), new / "a.csv")
        finally:
            os.umask(before)
        modes = {path.stat().st_mode & 0o777 for path in [new, *new.rglob("*")] if path.is_dir()}
        assert modes == {0o700}
        assert {path.stat().st_mode & 0o777 for path in new.rglob("*") if path.is_file()} == {0o600}


def test_a_folder_that_was_there_keeps_its_mode(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(0o750)
    for _ in range(2):
        of.export(SMALL, tmp_path / "out", tables=["events"], overwrite=True)
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750
