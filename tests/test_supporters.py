"""Supporters are tables as others are: every way to them has the same rows, those of the functions."""

import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import osdi_frames as of
from osdi_frames import sample
from osdi_frames.cli import group
from osdi_frames.errors import InvalidArgument
from osdi_frames.frames import frame
from osdi_frames.reports import suppress
from tests.workers import workers

TABLES = ["supporters", "supporter_amounts"]


def by_dask(archive, _):
    read = {table: archive.dask(table, npartitions=3).compute() for table in TABLES}
    return {table: rows.reset_index(drop=True) for table, rows in read.items()}


def exported(archive, folder, **options):
    archive.export(folder / "out", tables=[*TABLES, "people"], **options)
    return {table: frame(pq.read_table(folder / "out" / f"{table}.parquet")) for table in TABLES}


def by_command_line(archive, folder):
    words = ["export", *archive.paths, str(folder / "out"), *(f"--table={table}" for table in TABLES)]
    words += [f"--{name}={value}" for name, value in archive.filters.items()]
    made = CliRunner().invoke(group, words, catch_exceptions=False)
    assert "supporters and supporter amounts by what they did" in made.output or not archive.filters
    return {table: frame(pq.read_table(folder / "out" / f"{table}.parquet")) for table in TABLES}


WAYS = {
    "methods": lambda archive, _: {table: getattr(archive, table)() for table in TABLES},
    "streams": lambda archive, _: {table: frame(archive.scan(table).read_all()) for table in TABLES},
    "one pass": lambda archive, _: archive.tables([*TABLES, "signatures"]),
    "a store": lambda archive, folder: (
        of.open(archive.paths, store=folder).where(**archive.filters).tables(TABLES)
    ),
    "Dask": by_dask,
    "an export": exported,
    "an export by Dask": lambda archive, folder: exported(archive, folder, engine="dask"),
    "the command line": by_command_line,
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive") / "made"
    sample.write(folder, signatures=40, events=20)
    return of.open(folder)


@pytest.fixture(scope="module", params=[{}, {"since": "2024"}], ids=["all", "a period"])
def part(request, archive):
    return archive.where(**request.param)


@pytest.fixture(scope="module")
def expected(part):
    read = part.tables(["actions", "people"])
    supporters = of.supporters(read["actions"], read["people"])
    return dict(zip(TABLES, [supporters, of.supporter_amounts(read["actions"])], strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_supporters_has_the_rows_of_the_functions(way, part, expected, tmp_path):
    with workers():
        found = WAYS[way](part, tmp_path)
    for table in TABLES:
        assert len(expected[table])
        pd.testing.assert_frame_equal(found[table], expected[table])


def test_columns_of_supporters_can_be_chosen_and_are_made_pseudonyms_of(archive, tmp_path):
    key = b"not a secret, and 32 bytes long."
    chosen = archive.table("supporters", ["level", "person_id"])
    pd.testing.assert_frame_equal(chosen, archive.supporters()[["level", "person_id"]])
    archive.export(tmp_path / "out", tables={"supporters": None, "people": ["person_id"]}, pseudonymize=key)
    read = {name: pq.read_table(tmp_path / f"out/{name}.parquet") for name in ("supporters", "people")}
    assert "first_title" not in read["supporters"].column_names
    ids = read["supporters"]["person_id"].to_pylist()
    assert {*ids} >= {*read["people"]["person_id"].to_pylist()}
    assert ids == of.pseudonymize(archive.supporters(), key)["person_id"].tolist()


def test_supporters_are_neither_suppressed_nor_read_without_deduplication(archive):
    for table in TABLES:
        with pytest.raises(InvalidArgument, match=f"{table} has a row for each person"):
            suppress(archive.table(table), 5)
        with pytest.raises(InvalidArgument, match=f"{table} are made of resolved acts"):
            archive.table(table, dedupe=False)


def test_a_sum_has_room_for_more_than_an_amount_and_the_first_year_has_months_before_it():
    links = {"osdi:person": {"href": "/people/ann"}}
    gifts = [
        {
            "osdi:donation": {"identifiers": [f"platform:{number}"], "created_date": "0001-01-02T00:00:00Z"}
            | {"amount": "9999999999999.99", "currency": "USD", "_links": links}
        }
        for number in range(9)
    ]
    read = of.open([gifts]).tables(TABLES)
    assert [str(amount) for amount in read["supporter_amounts"]["amount"]] == ["89999999999999.91"]
    assert read["supporters"]["participations_12m"].tolist() == [9]
