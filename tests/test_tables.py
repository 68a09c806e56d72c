"""The vocabulary: what is declared is what users are shown and what they get."""

import json
import re

import pandas as pd
import pyarrow as pa
import pytest

import osdi_frames as of
from osdi_frames.errors import UnknownColumn, UnknownTable
from osdi_frames.resolving.people import ACTS
from osdi_frames.tables import TABLES

DTYPES = {
    "string": "str",
    "json": "str",
    "bool": "boolean",
    "int64": "Int64",
    "float64": "float64",
    "decimal": "decimal128(15, 2)[pyarrow]",
    "decimal(38)": "decimal128(38, 2)[pyarrow]",
    "utc": "datetime64[us, UTC]",
    "local": "datetime64[us]",
    "list<string>": "object",
}


def test_every_column_has_a_meaning_and_says_where_it_comes_from():
    described = of.describe()
    columns = [(table.name, column.name) for table in TABLES.values() for column in table.columns]
    assert [*described[["table", "column"]].itertuples(index=False, name=None)] == columns
    assert described["meaning"].str.endswith(".").all()
    assert described["meaning"].str.len().max() <= pd.get_option("display.max_colwidth")
    assert ((described["v2"] != "–") | (described["v1"] != "–")).all()


def test_empty_archives_and_others_give_every_column_with_its_dtype(frames):
    for name, empty in of.open([]).tables().items():
        expected = {column.name: DTYPES[column.type] for column in TABLES[name].columns}
        assert {column: str(dtype) for column, dtype in empty.dtypes.items()} == expected
        assert len(empty) == 0
        assert frames[name].dtypes.equals(empty.dtypes)


NOTHING = {"source": "none", "website": "api"}


@pytest.mark.parametrize(
    ("kind", "prefix"), [("signature", "platform:"), ("attendance", "action_network:"), ("signature", "")]
)
def test_what_the_service_writes_for_no_source_and_no_website_is_missing(tmp_path, kind, prefix):
    """In pages and in deliveries, and only there: elsewhere these are texts like others."""
    others = {"referrer": "none", "email_referrer": "api", "mobile_message_referrer": "none"}
    texts = [
        NOTHING | others,
        {"source": "none", "website": "none"},
        {"source": "api", "website": "None"},
        {"source": " none", "website": "api.example.org"},
    ]
    acts = [
        {
            "identifiers": [f"platform:{at}"],
            "created_date": "2026-01-01T00:00:00Z",
            f"{prefix}referrer_data": referrer,
        }
        | {
            "status": "none",
            "comments": "none",
            "add_tags": ["none", "api"],
            "person": {"given_name": "none"},
        }
        for at, referrer in enumerate(texts)
    ]
    (tmp_path / "page.json").write_text(json.dumps({"_embedded": {f"osdi:{kind}s": acts}}))
    for number, act in enumerate(acts):
        delivered = act | {"identifiers": [f"platform:{len(acts) + number}"]}
        (tmp_path / f"{number}.json").write_text(json.dumps([{f"osdi:{kind}": delivered}]))
    frame = of.read_table(tmp_path, f"{kind}s").sort_values(f"{kind}_id")
    assert frame["source"].fillna("").tolist() == ["", "", "api", " none"] * 2
    assert frame["website"].fillna("").tolist() == ["", "", "None", "api.example.org"] * 2
    assert frame["referrer"].dropna().tolist() == ["none"] * 2
    assert frame["email_referrer"].dropna().tolist() == ["api"] * 2
    assert frame["mobile_message_referrer"].dropna().tolist() == ["none"] * 2
    assert frame["given_name"].tolist() == ["none"] * 8
    assert frame["comments" if kind == "signature" else "status"].tolist() == ["none"] * 8
    assert [list(tags) for tags in frame["add_tags"]] == [["none", "api"]] * 8


def test_where_a_text_that_means_nothing_stands_first_the_next_place_is_looked_at(tmp_path):
    referrers = {
        "platform:referrer_data": NOTHING,
        "referrer_data": {"source": "mail", "website": "example.org"},
    }
    act = {"identifiers": ["platform:1"], "created_date": "2026-01-01T00:00:00Z", **referrers}
    (tmp_path / "page.json").write_text(json.dumps({"_embedded": {"osdi:signatures": [act]}}))
    assert of.read_signatures(tmp_path)[["source", "website"]].values.tolist() == [["mail", "example.org"]]


def test_the_dictionary_names_the_texts_that_count_as_missing():
    declared = [
        (table.name, column) for table in TABLES.values() for column in table.columns if column.absent
    ]
    assert {(table, column.name) for table, column in declared} == {
        (table.name, name) for table in ACTS for name in ("source", "website")
    }
    for table, column in declared:
        [meaning] = of.describe(table).set_index("column").loc[[column.name], "meaning"]
        assert set(column.absent) <= set(re.findall(r"\w+", meaning)), meaning
        assert "missing" in meaning


@pytest.fixture(scope="module")
def frames(little_of_all):
    return of.open(little_of_all).tables()


def test_the_stream_carries_the_meaning_of_each_field():
    schema = of.open([]).scan("events").schema
    assert schema.field("total_accepted").metadata[b"meaning"] == b"RSVPs: the number of attendances."
    assert schema.field("created_date").type == pa.timestamp("us", "UTC")
    assert schema.field("start_date").type == pa.timestamp("us")


def test_an_unknown_column_names_the_nearest():
    with pytest.raises(UnknownColumn, match=r"events has no column 'modified'; nearest: modified_date"):
        of.read_events([], columns=["modified"])


def test_of_an_unknown_table_the_nearest_are_named():
    with pytest.raises(
        UnknownTable, match=r"no table 'event'; nearest: events, event_people, event_reminders"
    ):
        of.read_table([], "event")
    with pytest.raises(
        UnknownTable, match=r"no table 'x'; there are: events, event_campaigns, attendances, .*actions"
    ):
        of.read_table([], "x")


def test_columns_come_in_the_order_asked():
    assert list(of.read_events([], columns=["title", "event_id"])) == ["title", "event_id"]


def test_a_name_in_place_of_a_list_of_columns_is_refused():
    with pytest.raises(TypeError, match=r"columns=\['title'\]"):
        of.read_events([], columns="title")


def test_what_pandas_users_do_with_the_frames_works(frames, tmp_path):
    signatures = frames["signatures"]
    late = signatures[signatures.created_date >= "2026-01-01"]
    assert 0 < len(late) < len(signatures)
    months = frames["events"].start_date.dt.to_period("M")
    assert months.dropna().astype(str).str.match(r"\d{4}-\d{2}$").all()
    exploded = signatures.explode("add_tags")
    assert len(exploded) == signatures.add_tags.map(lambda tags: max(1, len(tags)) if tags else 1).sum()
    signatures.to_parquet(tmp_path / "signatures.parquet")
    again = pd.read_parquet(tmp_path / "signatures.parquet")
    again["add_tags"] = again["add_tags"].map(lambda tags: None if tags is None else list(tags))
    for name in ("signature_id", "created_date", "add_tags", "location_latitude"):
        pd.testing.assert_series_equal(again[name], signatures[name])


def test_an_unknown_way_of_deduplication_is_refused():
    with pytest.raises(ValueError, match="dedupe is True, False or 'message', not 'none'"):
        of.read_signatures([], dedupe="none")
