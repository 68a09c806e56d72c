"""Pseudonyms made by Dask are those of one machine, and the key is where nobody sees it."""

from __future__ import annotations

import json

import dask
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.frames import frame as to_frame
from osdi_frames.privacy import Pseudonyms
from osdi_frames.resolving import resolver
from tests.workers import workers

KEY = b"a key that is 32 bytes long, yes"
TABLES = ["signatures", "signature_tags", "people"]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parse small parts of archives in this process, and resolve few things at once, so that there are partitions."""
    monkeypatch.setattr(resolver, "_AT_ONCE", 100)
    with workers(200_000):
        yield


@pytest.fixture(scope="module")
def archive(little, tmp_path_factory):
    """Return sources of signatures and people."""
    people = [
        {"identifiers": [f"platform:p{number}"], "email_addresses": [{"address": f"Ann.{number}@b.org"}]}
        for number in range(9)
    ]
    pages = [{"_embedded": {"osdi:people": people[start::3]}} for start in range(3)]
    path = tmp_path_factory.mktemp("people") / "people.ndjson"
    path.write_text("\n".join(map(json.dumps, pages)))
    return [little / "deliveries", path]


@pytest.mark.parametrize(
    "options", [{"pseudonymize": KEY}, {"drop": "identifying"}], ids=lambda options: next(iter(options))
)
def test_exports_of_both_engines_and_frames_of_pandas_and_dask_are_equal(options, archive, tmp_path):
    tables = TABLES if "pseudonymize" in options else TABLES[:1]
    counts = of.export(archive, tmp_path / "out", engine="dask", tables=tables, **options)
    assert counts == of.export(archive, tmp_path / "whole", tables=tables, **options)
    key, drop = options.get("pseudonymize"), options.get("drop")
    for table in tables:
        whole = pq.read_table(tmp_path / "whole" / f"{table}.parquet")
        assert pq.read_table(tmp_path / "out" / f"{table}.parquet").equals(whole, check_metadata=True)
        in_pandas = of.pseudonymize(of.read_table(archive, table), key, table=table, drop=drop)
        read = of.open(archive).dask(table, npartitions=2)
        in_dask = of.pseudonymize(read, key, table=table, drop=drop)
        assert read.npartitions == 2
        assert_frame_equal(in_dask.compute().reset_index(drop=True), in_pandas)
        assert_frame_equal(in_dask._meta, in_pandas.iloc[:0], check_index_type=False)
        assert_frame_equal(in_pandas, to_frame(whole))
        assert whole.num_rows


def test_a_join_on_dask_by_pseudonyms_equals_the_join_by_the_keys(little):
    keys = ["idempotency_key", "element"]
    source = sorted((little / "deliveries").rglob("*.ndjson*"))
    tags, signatures = (of.open(source).dask(table, npartitions=3) for table in TABLES[1::-1])
    joined = [
        left.dropna(subset=keys)
        .merge(right.dropna(subset=keys), on=keys)
        .groupby(["petition_id", "created_date", "tag"])
        .size()
        .compute()
        .sort_index()
        for left, right in (
            (tags, signatures),
            (of.pseudonymize(tags, KEY), of.pseudonymize(signatures, KEY)),
        )
    ]
    assert len(joined[0])
    pd.testing.assert_series_equal(*joined)


def test_the_ids_of_a_dask_index_are_neither_in_the_cells_nor_in_the_divisions():
    frame = pd.DataFrame({"source": ["email", "web"], "person_id": ["p1", "p2"]}).set_index("person_id")
    made = of.pseudonymize(dask.dataframe.from_pandas(frame, npartitions=2), KEY, table="signatures")
    assert made.divisions == (None, None, None)
    whole = of.pseudonymize(frame, KEY, table="signatures")
    assert_frame_equal(made.compute().reset_index(drop=True), whole)


def test_neither_the_key_nor_its_hash_is_in_what_a_graph_prints(little):
    read = of.open(little).dask("signatures", npartitions=2)
    made, other = (of.pseudonymize(read, key) for key in (KEY, KEY[::-1]))
    assert made._name != other._name
    shown = [repr(made), str(made), made.expr.tree_repr(), repr(made.dask), repr([*made.dask.values()])]
    assert not any(KEY.decode() in text for text in shown)
    hidden = [Pseudonyms.of(key, None) for key in (KEY, KEY[::-1])]
    assert len({dask.base.tokenize(pseudonyms) for pseudonyms in hidden}) == 1
