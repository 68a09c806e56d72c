"""A cluster exports the rows that one machine does."""

from __future__ import annotations

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.errors import BadDocument, DestinationExists, InvalidArgument, UnknownValue
from osdi_frames.tables import TABLES
from tests.workers import workers


@pytest.fixture(autouse=True)
def small():
    """Parse small parts of archives in this process."""
    with workers(200_000):
        yield


SOME = ("events", "signatures", "signature_tags", "people", "actions", "supporters")


@pytest.mark.parametrize("tables", [SOME, pytest.param(tuple(TABLES), marks=pytest.mark.long)], ids=len)
def test_tables_are_those_of_one_machine(tables, little, tmp_path):
    counts = of.export(little, tmp_path / "out", engine="dask", tables=tables)
    assert counts == of.export(little, tmp_path / "whole", tables=tables)
    for name in tables:
        one, other = (pd.read_parquet(tmp_path / made / f"{name}.parquet") for made in ("out", "whole"))
        assert_frame_equal(one, other)


def test_months_and_filters_are_those_of_one_machine(little, tmp_path):
    options = {"partition_by": "month", "since": "2025-07", "tables": ["signatures", "signature_tags"]}
    counts = of.export(little / "deliveries", tmp_path / "out", engine="dask", **options)
    assert counts == of.export(little / "deliveries", tmp_path / "whole", **options)
    keys = ["idempotency_key", "signature_id", "element"]
    one, other = (
        pd.read_parquet(tmp_path / name / "signatures").sort_values(keys).reset_index(drop=True)
        for name in ("out", "whole")
    )
    assert_frame_equal(one, other)


def test_it_is_whole_or_not_there(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"title": "a", "total_accepted": "lots"}')
    with pytest.raises(BadDocument):
        of.export(tmp_path / "in", tmp_path / "out", engine="dask")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_an_unknown_value_is_refused_as_on_one_machine(data, tmp_path):
    with pytest.raises(UnknownValue, match="no petition is 'x'"):
        of.export(data / "petitions", tmp_path / "out", engine="dask", tables=["petitions"], petition="x")
    assert not (tmp_path / "out").exists()


def test_it_replaces_what_an_export_wrote_alone(data, tmp_path):
    options = {"engine": "dask", "tables": ["petitions"]}
    of.export(data / "petitions", tmp_path / "out", **options)
    with pytest.raises(DestinationExists):
        of.export(data / "petitions", tmp_path / "out", **options)
    of.export(data / "petitions", tmp_path / "out", **options, overwrite=True)
    with pytest.raises(InvalidArgument, match="engine is None or 'dask'"):
        of.export(data / "petitions", tmp_path / "other", engine="spark")
