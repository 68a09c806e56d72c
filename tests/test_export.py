"""Exports: whole or not at all, equal when read back, harmless in a spreadsheet."""

import csv
import os
import signal

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
def exported(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "tables"
    counts = of.export(data, folder)
    return folder, counts


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")  # of tables that are not there
@pytest.mark.parametrize("table", TABLES)
def test_a_table_reads_back_equal_with_pyarrow_pandas_polars_and_duckdb(table, sample_tables, exported):
    folder, counts = exported
    path, expected = folder / f"{table}.parquet", sample_tables[table]
    assert counts[table] == expected.num_rows
    assert pq.read_table(path).equals(expected)
    pd.testing.assert_frame_equal(pd.read_parquet(path), expected.to_pandas())
    assert pl.read_parquet(path).equals(pl.from_arrow(expected))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        arrow = connection.sql(f"FROM read_parquet('{path}')").to_arrow_table()
    assert arrow.cast(expected.schema.remove_metadata()).to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("table", TABLES)
def test_a_file_says_what_its_columns_mean_and_which_schema_it_has(table, exported):
    schema = pq.read_schema(exported[0] / f"{table}.parquet")
    assert schema.metadata[b"osdi-frames.schema_version"]
    assert schema.metadata[b"osdi-frames.table"] == table.encode()
    assert all(field.metadata[b"meaning"] for field in schema)
    metadata = pq.ParquetFile(exported[0] / f"{table}.parquet").metadata
    of_few = table.endswith(("_tags", "_tickets"))  # the sample has tags of signatures only, and no tickets
    assert metadata.num_rows or of_few or table in ("event_campaigns", "petitions", "people")
    groups = range(metadata.num_row_groups)
    assert all(metadata.row_group(group).column(0).compression == "ZSTD" for group in groups)


def test_a_partition_by_month_reads_back_with_the_same_rows(data, tmp_path):
    of.export(data, tmp_path / "out", tables=["signatures", "signature_tags"], partition_by="month")
    expected = of.read_signatures(data).sort_values("signature_id", ignore_index=True)
    again = pd.read_parquet(tmp_path / "out" / "signatures")
    months = again.pop("month").astype("str")
    again = again.sort_values("signature_id", ignore_index=True)
    pd.testing.assert_series_equal(again["signature_id"], expected["signature_id"])
    pd.testing.assert_series_equal(again["created_date"], expected["created_date"])
    assert set(months) == set(expected["created_date"].dt.strftime("%Y-%m").fillna("none"))
    assert (tmp_path / "out" / "signature_tags.parquet").is_file()


def test_a_partition_by_a_column_leaves_the_column_as_it_is(data, sample_tables, tmp_path):
    of.export(data, tmp_path / "out", tables=["events"], partition_by="location_postal_code")
    files = str(tmp_path / "out" / "events" / "**" / "*.parquet")
    again = pl.read_parquet(files, hive_partitioning=True).sort("event_id")
    expected = pl.from_arrow(sample_tables["events"]).sort("event_id")
    assert again.drop("by_location_postal_code").equals(expected)
    assert (tmp_path / "out" / "events" / "by_location_postal_code=none").is_dir()


@pytest.mark.parametrize("column", ["identifiers", "created_date"])
def test_lists_and_times_are_no_partitions(column, tmp_path):
    with pytest.raises(InvalidColumn, match=column):
        of.export(SMALL, tmp_path / "out", tables=["events"], partition_by=column)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("title", ["a" * 247, "/" * 83, "é" * 42, "日" * 28], ids=["letters", "/", "é", "日"])
def test_a_value_too_long_for_the_name_of_a_folder_is_an_error_that_names_its_column(title, form, tmp_path):
    by_title = {"tables": ["events"], "partition_by": "title", "format": form}
    with pytest.raises(InvalidColumn, match=r"^title cannot be partitioned by: .* 255 bytes"):
        of.export({"title": title, "total_accepted": 1}, tmp_path / "out", **by_title)
    assert list(tmp_path.iterdir()) == []
    assert of.export({"title": title[:-1], "total_accepted": 1}, tmp_path / "out", **by_title) == {
        "events": 1
    }


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


def test_an_unknown_partition_names_the_nearest(tmp_path):
    with pytest.raises(UnknownColumn, match=r"'regon'.*location_region"):
        of.export(SMALL, tmp_path / "out", partition_by="regon")


def test_what_exists_is_refused_and_stays(tmp_path):
    of.export(SMALL, tmp_path / "out", tables=["events"])
    with pytest.raises(DestinationExists, match="overwrite=True"):
        of.export(SMALL, tmp_path / "out", tables=["signatures"])
    assert visible(tmp_path / "out") == ["events.parquet"]


def test_overwrite_replaces_the_whole_export(tmp_path):
    of.export(SMALL, tmp_path / "out", tables=["events"])
    of.export(SMALL, tmp_path / "out", tables=["signatures"], overwrite=True)
    assert visible(tmp_path / "out") == ["signatures.parquet"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_overwrite_never_replaces_a_folder_with_other_things_in_it(tmp_path):
    (tmp_path / "thesis.txt").write_text("five years of work")
    with pytest.raises(DestinationExists, match=r"did not create \(thesis.txt\); move them away"):
        of.export(SMALL, tmp_path, tables=["events"], overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "five years of work"


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


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'parquet', 'csv', 'xlsx', not 'xls'"):
        of.export(SMALL, tmp_path / "out", format="xls")


def test_one_table_that_is_no_list_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"tables is a list of names: tables=\['events'\]"):
        of.export({}, tmp_path / "out", tables="events")


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


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077], ids=oct)
def test_exports_are_readable_by_their_owner_only_whatever_the_umask(mask, tmp_path):
    before = os.umask(mask)
    try:
        of.export(SMALL, tmp_path / "new" / "out", tables=["events"], partition_by="location_region")
        of.write_csv(pd.DataFrame({"a": [1]}), tmp_path / "new" / "a.csv")
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_dir()}
    assert modes == {0o700}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()} == {0o600}


def test_a_folder_that_was_there_keeps_its_mode(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(0o750)
    for _ in range(2):
        of.export(SMALL, tmp_path / "out", tables=["events"], overwrite=True)
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750
