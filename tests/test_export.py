"""Exports: whole or not at all, equal when read back, harmless in a spreadsheet."""

import csv
import os
import signal
import subprocess
import sys
import time

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import osdi_frames as of
from osdi_frames.errors import DestinationExists, UnfitColumn, UnknownColumn
from osdi_frames.tables import TABLES

HOSTILE = ["=1+1", "+1", "-1", "@x", "\tx", "\rx"]


def read(data, table):
    return of.scan(data, table).read_all()


@pytest.fixture(scope="module")
def exported(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "tables"
    counts = of.export(data, folder)
    return folder, counts


@pytest.mark.parametrize("table", TABLES)
def test_a_table_reads_back_equal_with_pyarrow_pandas_polars_and_duckdb(table, data, exported):
    folder, counts = exported
    path, expected = folder / f"{table}.parquet", read(data, table)
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
    assert metadata.num_rows or table in ("event_campaigns", "petitions", "people")  # not in the sample
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


def test_a_partition_by_a_column_leaves_the_column_as_it_is(data, tmp_path):
    of.export(data, tmp_path / "out", tables=["events"], partition_by="location_postal_code")
    files = str(tmp_path / "out" / "events" / "**" / "*.parquet")
    again = pl.read_parquet(files, hive_partitioning=True).sort("event_id")
    expected = pl.from_arrow(read(data, "events")).sort("event_id")
    assert again.drop("by_location_postal_code").equals(expected)
    assert (tmp_path / "out" / "events" / "by_location_postal_code=none").is_dir()


@pytest.mark.parametrize("column", ["identifiers", "created_date"])
def test_lists_and_times_are_no_partitions(column, data, tmp_path):
    with pytest.raises(UnfitColumn, match=column):
        of.export(data, tmp_path / "out", tables=["events"], partition_by=column)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_partition_names_the_nearest(data, tmp_path):
    with pytest.raises(UnknownColumn, match=r"'regon'.*location_region"):
        of.export(data, tmp_path / "out", partition_by="regon")


def test_what_exists_is_refused_and_stays(data, tmp_path):
    of.export(data, tmp_path / "out", tables=["events"])
    with pytest.raises(DestinationExists, match="overwrite=True"):
        of.export(data, tmp_path / "out", tables=["signatures"])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["events.parquet"]


def test_overwrite_replaces_the_whole_export(data, tmp_path):
    of.export(data, tmp_path / "out", tables=["events"])
    of.export(data, tmp_path / "out", tables=["signatures"], overwrite=True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["signatures.parquet"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_overwrite_never_replaces_a_folder_with_other_things_in_it(data, tmp_path):
    (tmp_path / "thesis.txt").write_text("five years of work")
    with pytest.raises(DestinationExists, match="is not replaced"):
        of.export(data, tmp_path, tables=["events"], overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "five years of work"


def test_an_export_that_fails_leaves_nothing_behind(tmp_path):
    source = tmp_path / "a.ndjson"
    source.write_text('{"title": "ok", "total_accepted": 1}\n{"title": "bad", "total_accepted": "lots"}\n')
    with pytest.raises(of.OsdiError, match=r"a\.ndjson:2"):
        of.export(source, tmp_path / "out", tables=["events"])
    assert [path.name for path in tmp_path.iterdir()] == ["a.ndjson"]


@pytest.mark.parametrize("after", [0.3, 0.8, 1.0, 1.2, 1.5])
def test_a_run_that_is_killed_leaves_the_old_export_whole(after, data, tmp_path):
    of.export(data, tmp_path / "out", tables=["events"])
    before = (tmp_path / "out" / "events.parquet").read_bytes()
    program = "import sys, osdi_frames as of\nwhile True: of.export(*sys.argv[1:], tables=['events'], overwrite=True)"
    with subprocess.Popen([sys.executable, "-c", program, str(data), str(tmp_path / "out")]) as process:
        time.sleep(after)
        os.kill(process.pid, signal.SIGKILL)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["events.parquet"]
    assert pq.read_table(tmp_path / "out" / "events.parquet").equals(pq.read_table(pa.BufferReader(before)))


@pytest.mark.parametrize("text", HOSTILE)
def test_csv_makes_formulas_harmless(text, tmp_path):
    of.export({"title": text, "total_accepted": 1}, tmp_path / "out", tables=["events"], format="csv")
    with (tmp_path / "out" / "events.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["title"] == f"'{text}"


@pytest.mark.parametrize("text", HOSTILE)
def test_csv_leaves_formulas_when_asked(text, tmp_path):
    event = {"title": text, "total_accepted": 1}
    of.export(event, tmp_path / "out", tables=["events"], format="csv", formulas=True)
    with (tmp_path / "out" / "events.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["title"] == text


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


def test_an_unknown_format_is_refused(data, tmp_path):
    with pytest.raises(ValueError, match="'parquet' or 'csv', not 'xlsx'"):
        of.export(data, tmp_path / "out", format="xlsx")


def test_one_table_that_is_no_list_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"tables is a list of names: tables=\['events'\]"):
        of.export({}, tmp_path / "out", tables="events")
