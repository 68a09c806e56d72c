"""Reports count every row once, whoever made the frame."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise, product
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from osdi_frames import read_table, reports
from osdi_frames.errors import InvalidArgument, InvalidColumn, MissingColumn, OsdiError

EVENTS = {
    "event_id": "str",
    "event_campaign_id": "str",
    "location_region": "str",
    "total_accepted": "Int64",
    "capacity": "Int64",
    "hidden": "boolean",
    "start_date": "datetime64[us]",
    "fetched_at": "datetime64[us, UTC]",
}
SIGNATURES = {
    "source": "str",
    "referrer": "str",
    "website": "str",
    "petition_id": "str",
    "person_id": "str",
    "created_date": "datetime64[us, UTC]",
}
RSVP_REPORT = {
    "events": "int64",
    "rsvps": "int64",
    "limited_events": "int64",
    "limited_rsvps": "int64",
    "capacity": "Int64",
    "fill_rate": "float64",
    "first_start": "datetime64[us]",
    "last_start": "datetime64[us]",
}
SIGNATURE_REPORT = {
    "signatures": "int64",
    "people": "int64",
    "share": "float64",
    "first": "datetime64[us, UTC]",
    "last": "datetime64[us, UTC]",
}
MONTHLY = pd.Grouper(key="start_date", freq="MS")


def frame(columns: dict[str, str], rows: list[dict[str, object]]) -> pd.DataFrame:
    """Make a frame as the readers do: every column, every dtype, whatever the rows have."""
    return pd.DataFrame(
        {name: pd.Series([row.get(name) for row in rows], dtype=dtype) for name, dtype in columns.items()}
    )


def events(*rows: dict[str, object]) -> pd.DataFrame:
    return frame(EVENTS, list(rows))


def signatures(*rows: dict[str, object]) -> pd.DataFrame:
    return frame(SIGNATURES, list(rows))


def event(campaign: str | None, total: int | None = 0, **more: object) -> dict[str, object]:
    return {"event_campaign_id": campaign, "total_accepted": total, **more}


def seen(event_id: str, campaign: str | None, total: int | None, at: str) -> dict[str, object]:
    return event(campaign, total, event_id=event_id, fetched_at=pd.Timestamp(at, tz="UTC"))


def signed(source: str | None, person: str | None = None, at: str | None = None) -> dict[str, object]:
    return {"source": source, "person_id": person, "created_date": pd.Timestamp(at, tz="UTC") if at else None}


# ---------------------------------------------------------------------------------- frames, whoever made them


def objects(table: pd.DataFrame) -> pd.DataFrame:
    table = table.astype(object)
    return table.where(table.notna(), None)


def categories(table: pd.DataFrame) -> pd.DataFrame:
    text = table.select_dtypes("str").columns
    table = table.astype(dict.fromkeys(text, "category"))
    return table.assign(**{name: table[name].cat.add_categories("never seen") for name in text})


def floats_and_nanoseconds(table: pd.DataFrame) -> pd.DataFrame:
    to = {
        "Int64": "float64",
        "datetime64[us]": "datetime64[ns]",
        "datetime64[us, UTC]": "datetime64[ns, UTC]",
    }
    return table.astype({name: to[str(dtype)] for name, dtype in table.dtypes.items() if str(dtype) in to})


def large_strings(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(dict.fromkeys(table.select_dtypes("str").columns, pd.ArrowDtype(pa.large_string())))


def dictionaries(table: pd.DataFrame) -> pd.DataFrame:
    dtype = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    return table.astype(dict.fromkeys(table.select_dtypes("str").columns, dtype))


def duplicate_labels(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_axis(pd.Index([7] * len(table)))


# DuckDB's own df() calls DataFrame.drop(inplace=True), which pandas 3.1 deprecates.
by_duckdb = pytest.mark.filterwarnings("ignore:The inplace keyword")


def through_duckdb(table: pd.DataFrame) -> pd.DataFrame:
    with duckdb.connect() as connection:
        return connection.from_arrow(pa.Table.from_pandas(table, preserve_index=False)).df()


FORMS = {
    "objects": objects,
    "categories": categories,
    "floats and nanoseconds": floats_and_nanoseconds,
    "arrow": lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
    "nullable": lambda table: table.convert_dtypes(),
    "large strings": large_strings,
    "arrow dictionaries": dictionaries,
    "duplicate labels": duplicate_labels,
    "filtered": lambda table: pd.concat([table, table]).iloc[len(table) :],
    "polars": lambda table: pl.from_pandas(table).to_pandas(),
    "polars as arrow": lambda table: pl.from_pandas(table).to_pandas(use_pyarrow_extension_array=True),
    "duckdb": through_duckdb,
}

EVENT_REPORTS = {
    "rsvps_by_campaign": reports.rsvps_by_campaign,
    "rsvps_by region": lambda table: reports.rsvps_by(table, "location_region"),
    "rsvps_by hidden": lambda table: reports.rsvps_by(table, "hidden"),
    "rsvps_by capacity": lambda table: reports.rsvps_by(table, "capacity"),
    "rsvps_by start": lambda table: reports.rsvps_by(table, "start_date"),
    "rsvps_by month": lambda table: reports.rsvps_by(table, MONTHLY),
    "rsvps_by campaign and month": lambda table: reports.rsvps_by(table, ["event_campaign_id", MONTHLY]),
    "rsvps_by region and hidden": lambda table: reports.rsvps_by(table, ["location_region", "hidden"]),
}
SIGNATURE_REPORTS = {
    "signatures_by_source": reports.signatures_by_source,
    "signatures_by_referrer": reports.signatures_by_referrer,
    "signatures_by_website": reports.signatures_by_website,
    "signatures_by two": lambda table: reports.signatures_by(table, ["petition_id", "source"]),
    "signatures_by created": lambda table: reports.signatures_by(table, "created_date"),
    "signatures_over_time": reports.signatures_over_time,
    "signatures_over_time weekly by source": lambda table: reports.signatures_over_time(
        table, "source", freq="W"
    ),
}

LABELS = st.sampled_from([None, "", " ", "none", "None", "(none)", "a", "b", "B", "a_b", "a-b", "é", "=1"])
IDS = st.sampled_from([None, "", "1", "2", "3"])
DAYS = st.integers(0, 100).map(
    lambda days: pd.Timestamp("2026-01-01") + timedelta(days=days, hours=days % 24)
)
COUNTS = st.none() | st.integers(0, 1000)
EVENT = st.fixed_dictionaries(
    {
        "event_id": st.sampled_from(["1", "2", "3", "4"]),
        "event_campaign_id": LABELS,
        "location_region": LABELS,
        "total_accepted": COUNTS,
        "capacity": COUNTS,
        "hidden": st.none() | st.booleans(),
        "start_date": st.none() | DAYS,
        "fetched_at": DAYS.map(lambda day: day.tz_localize("UTC")),
    }
)
SIGNATURE = st.fixed_dictionaries(
    {
        "source": LABELS,
        "referrer": LABELS,
        "website": LABELS,
        "petition_id": LABELS,
        "person_id": IDS,
        "created_date": st.none() | DAYS.map(lambda day: day.tz_localize("UTC")),
    }
)
EVENT_FRAMES = st.lists(EVENT, max_size=12).map(lambda rows: frame(EVENTS, rows))
SIGNATURE_FRAMES = st.lists(SIGNATURE, max_size=12).map(lambda rows: frame(SIGNATURES, rows))


FEW = settings(max_examples=4)  # each example makes every report
FEWER = settings(max_examples=2)  # in every form of its frame


def same(report: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert_frame_equal(report, expected, check_freq=False)


# ------------------------------------------------------------------------------------------ RSVPs by anything


def test_rsvps_by_campaign_puts_most_rsvps_first_and_events_without_a_campaign_under_none():
    report = reports.rsvps_by_campaign(
        events(event("a", 3), event("b", 10), event(None, 4), event("", 5), event("  ", 2), event("a", None))
    )
    assert report["rsvps"].to_dict() == {"(none)": 11, "b": 10, "a": 3}
    assert list(report["rsvps"]) == [11, 10, 3]
    assert report["events"].to_dict() == {"(none)": 3, "b": 1, "a": 2}
    assert report.index.name == "event_campaign_id"


def test_campaigns_with_equal_rsvps_stand_in_the_order_of_their_names():
    names = [f"campaign {number:03}" for number in range(200)]
    table = events(
        *(event(name, number % 3) for number, name in reversed([*enumerate(names)])), event(None, 2)
    )
    report = reports.rsvps_by_campaign(table)
    assert list(report.index) == ["(none)", *names[2::3], *names[1::3], *names[0::3]]


def test_fill_rate_is_of_the_events_that_have_a_capacity():
    report = reports.rsvps_by_campaign(
        events(
            event("some", 30, capacity=40),
            event("some", 99, capacity=None),
            event("some", None, capacity=10),
            event("nowhere", 7, capacity=None),
            event("zero", 7, capacity=0),
        )
    )
    assert report.loc["some", ["rsvps", "capacity", "fill_rate"]].tolist() == [129, 50, 0.6]
    assert pd.isna(report.loc["nowhere", "capacity"])
    assert report.loc["zero", "capacity"] == 0
    assert report["fill_rate"].isna().to_dict() == {"some": False, "nowhere": True, "zero": True}


def test_a_fill_rate_is_unknown_where_no_event_says_how_many_come():
    report = reports.rsvps_by_campaign(
        events(
            event("unknown", None, capacity=40),
            event("unknown", None, capacity=10),
            event("unknown", 7, capacity=None),
            event("nobody", 0, capacity=50),
        )
    )
    assert report.loc["unknown", ["rsvps", "limited_rsvps", "capacity"]].tolist() == [7, 0, 50]
    assert report["fill_rate"].fillna(-1).to_dict() == {"unknown": -1, "nobody": 0}


def test_start_times_stay_wall_clock_even_when_a_frame_gave_them_a_zone():
    table = events(
        event("a", start_date=pd.Timestamp("2026-05-01T18:00")),
        event("a", start_date=pd.Timestamp("2026-07-01T09:00")),
    )
    zoned = table.assign(start_date=table["start_date"].dt.tz_localize("America/New_York"))
    for given_ in (table, zoned):
        report = reports.rsvps_by_campaign(given_)
        assert report.loc["a", "first_start"] == pd.Timestamp("2026-05-01 18:00")
        assert report.loc["a", "last_start"] == pd.Timestamp("2026-07-01 09:00")


def test_a_grouper_gives_periods_in_the_order_of_time_with_gaps_at_zero_and_no_date_last():
    report = reports.rsvps_by(
        events(
            event("a", 9, start_date=pd.Timestamp("2026-04-30T23:00")),
            event("a", 1, start_date=None),
            event("a", 2, start_date=pd.Timestamp("2026-01-01")),
        ),
        MONTHLY,
    )
    assert list(report["rsvps"]) == [2, 0, 0, 9, 1]
    assert list(report["events"]) == [1, 0, 0, 1, 1]
    assert list(report.index[:4]) == list(pd.date_range("2026-01-01", periods=4, freq="MS"))
    assert report.index[4] is pd.NaT


def test_a_grouper_keeps_the_labels_its_maker_asked_for():
    table = events(event("a", 5, start_date=pd.Timestamp("2026-05-06T12:00")))
    weekly = reports.rsvps_by(table, pd.Grouper(key="start_date", freq="W"))
    assert list(weekly.index) == [pd.Timestamp("2026-05-10")]


def test_missing_truths_and_numbers_stay_missing_in_the_index():
    report = reports.rsvps_by(events(event("a", 2, hidden=True), event("a", 1, hidden=None)), "hidden")
    assert report.index.dtype == "boolean"
    assert report.index.isna().tolist() == [False, True]


# ------------------------------------------------------------------------------------- signatures by anything


def test_signatures_count_rows_and_people_count_persons():
    report = reports.signatures_by_source(
        signatures(
            signed("email", "1", "2026-05-02"),
            signed("email", "1", "2026-05-01"),
            signed("email", None, None),
            signed("email", "", "2026-05-03"),
            signed("ads", "1", "2026-05-04"),
        )
    )
    assert report["signatures"].to_dict() == {"email": 4, "ads": 1}
    assert report["people"].to_dict() == {"email": 1, "ads": 1}
    assert report["share"].to_dict() == {"email": 0.8, "ads": 0.2}
    assert report.loc["email", "first"] == pd.Timestamp("2026-05-01", tz="UTC")
    assert report.loc["email", "last"] == pd.Timestamp("2026-05-03", tz="UTC")


def test_missing_blank_and_literal_none_are_one_row():
    report = reports.signatures_by_source(
        signatures(
            *(signed(text) for text in (None, "", " \t", "none", "NONE", " None ")), signed("nonexistent")
        )
    )
    assert report["signatures"].to_dict() == {"(none)": 6, "nonexistent": 1}


def test_each_referrer_column_has_its_report():
    for column in ("source", "referrer", "website"):
        table = signatures({column: "x", "person_id": "1"}, {column: None, "person_id": "2"}, {column: "x"})
        report = getattr(reports, f"signatures_by_{column}")(table)
        assert report["signatures"].to_dict() == {"x": 2, "(none)": 1}
        same(report, reports.signatures_by(table, column))


def test_signatures_by_several_columns_count_each_combination():
    report = reports.signatures_by(
        signatures(*[{"petition_id": "p", "source": "s"}] * 2, {"petition_id": "p"}),
        ["petition_id", "source"],
    )
    assert report["signatures"].to_dict() == {("p", "s"): 2, ("p", "(none)"): 1}


@pytest.mark.parametrize("tags", [["a", "b"], [], None], ids=["two", "empty", "missing"])
@pytest.mark.parametrize("backend", ["object", "arrow"])
def test_a_list_valued_column_is_refused_with_the_way_out(tags, backend):
    dtype = object if backend == "object" else pd.ArrowDtype(pa.list_(pa.string()))
    table = signatures(signed("a"), signed("a")).assign(add_tags=pd.Series([tags, ["c"]], dtype=dtype))
    with pytest.raises(
        InvalidColumn, match=r"signatures_by: add_tags holds lists; .*frame\.explode\('add_tags'\)"
    ):
        reports.signatures_by(table, "add_tags")
    assert reports.signatures_by(table.explode("add_tags"), "add_tags")["signatures"].sum() >= 2


# --------------------------------------------------------------------------------------- signatures over time

TIMES = [
    "2025-12-31T23:59:59",
    "2026-01-01T00:00:00",
    "2026-01-04T23:59:59",
    "2026-01-05T00:00:00",
    "2026-03-15T12:30:00",
]


@pytest.mark.parametrize(
    ("freq", "starts", "counts"),
    [
        (
            "D",
            ("2025-12-31", "2026-03-15"),
            {"2025-12-31": 1, "2026-01-01": 1, "2026-01-04": 1, "2026-01-05": 1},
        ),
        ("W", ("2025-12-29", "2026-03-09"), {"2025-12-29": 3, "2026-01-05": 1}),
        ("W-WED", ("2025-12-25", "2026-03-12"), {"2025-12-25": 1, "2026-01-01": 3}),
        ("2W", ("2025-12-22", "2026-03-02"), {"2025-12-22": 3, "2026-01-05": 1}),
        ("MS", ("2025-12-01", "2026-03-01"), {"2025-12-01": 1, "2026-01-01": 3, "2026-02-01": 0}),
        ("ME", ("2025-12-01", "2026-03-01"), {"2025-12-01": 1, "2026-01-01": 3, "2026-02-01": 0}),
        ("QE", ("2025-10-01", "2026-01-01"), {"2025-10-01": 1, "2026-01-01": 4}),
        ("YE", ("2025-01-01", "2026-01-01"), {"2025-01-01": 1, "2026-01-01": 4}),
        ("YS", ("2025-01-01", "2026-01-01"), {"2025-01-01": 1, "2026-01-01": 4}),
        (
            "h",
            ("2025-12-31T23", "2026-03-15T12"),
            {"2025-12-31T23": 1, "2026-01-01T00": 1, "2026-01-01T01": 0},
        ),
        ("6h", ("2025-12-31T18", "2026-03-15T12"), {"2025-12-31T18": 1, "2026-01-01T00": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_periods_are_named_by_their_start_and_none_between_is_left_out(freq, starts, counts):
    report = reports.signatures_over_time(signatures(*(signed("a", "1", at) for at in TIMES)), freq=freq)
    assert [report.index[0], report.index[-1]] == [pd.Timestamp(start, tz="UTC") for start in starts]
    found = {start: report["signatures"][pd.Timestamp(start, tz="UTC")] for start in counts}
    assert found == counts
    assert report["signatures"].sum() == len(TIMES)
    assert report.index.is_monotonic_increasing
    assert report.index.is_unique


def test_people_are_distinct_within_a_period_and_cumulative_counts_signatures():
    report = reports.signatures_over_time(
        signatures(
            signed("a", "1", "2026-05-01"), signed("a", "1", "2026-05-01"), signed("a", "1", "2026-05-03")
        )
    )
    assert report["signatures"].tolist() == [2, 0, 1]
    assert report["people"].tolist() == [1, 0, 1]
    assert report["cumulative"].tolist() == [2, 2, 3]


def test_a_week_is_named_by_its_monday_and_by_its_sunday_of_a_grouper_():
    table = signatures(signed("email", "p", "2026-05-06"))
    over_time = reports.signatures_over_time(table, freq="W")
    grouped = reports.signatures_by(table, pd.Grouper(key="created_date", freq="W"))
    assert [frame.index[0].day_name() for frame in (over_time, grouped)] == ["Monday", "Sunday"]


@pytest.mark.parametrize("freq", ["D", "W", "ME"])
@pytest.mark.parametrize("by", [None, "source"])
def test_signatures_without_a_created_date_are_the_last_row(freq, by):
    report = reports.signatures_over_time(
        signatures(signed("a", "1", None), signed("a", "1", "2026-05-01")), by, freq=freq
    )
    assert report.index.isna().tolist() == [False, True]
    assert report["a" if by else "signatures"].tolist() == [1, 1]


def test_by_gives_a_column_for_each_value_the_largest_first():
    report = reports.signatures_over_time(
        signatures(
            signed("few", at="2026-05-01"), signed(None, at="2026-05-03"), signed("none", at="2026-05-01")
        ),
        by="source",
    )
    assert list(report.columns) == ["(none)", "few"]
    assert report.columns.name == "source"
    assert report["(none)"].tolist() == [1, 0, 1]


def test_a_time_with_another_offset_falls_into_its_utc_day():
    table = signatures(signed("a", "1", "2026-05-02T03:00"))
    table["created_date"] = table["created_date"].dt.tz_convert("America/Los_Angeles")  # still the 1st there
    assert reports.signatures_over_time(table).index[0] == pd.Timestamp("2026-05-02", tz="UTC")


# -------------------------------------------------------------------------------------------- RSVPs over time


def test_an_event_that_a_partial_pull_lacks_keeps_what_was_last_known():
    report = reports.rsvps_over_time(
        events(
            seen("1", "a", 3, "2026-05-01"), seen("2", "b", 4, "2026-05-01"), seen("1", "a", 9, "2026-05-02")
        )
    )
    assert report.to_dict("list") == {"a": [3, 9], "b": [4, 4]}
    assert report.columns.name == "event_campaign_id"
    assert list(report.index) == list(pd.date_range("2026-05-01", periods=2, tz="UTC"))


def test_the_pages_of_one_pull_are_one_row_at_the_last_of_them():
    report = reports.rsvps_over_time(
        events(
            seen("1", "a", 3, "2026-05-01T06:00:00"),
            seen("2", "a", 4, "2026-05-01T06:00:50"),
            seen("3", "a", 5, "2026-05-01T06:01:50"),
            seen("1", "a", 4, "2026-05-01T06:02:51"),
        )
    )
    assert list(report.index) == [pd.Timestamp(f"2026-05-01T06:0{at}", tz="UTC") for at in ("1:50", "2:51")]
    assert report["a"].tolist() == [12, 13]


def test_pause_decides_what_is_one_pull():
    table = events(seen("1", "a", 1, "2026-05-01T06:00"), seen("1", "a", 2, "2026-05-01T07:00"))
    assert reports.rsvps_over_time(table)["a"].tolist() == [1, 2]
    assert reports.rsvps_over_time(table, pause="1h")["a"].tolist() == [2]


def test_an_event_that_moves_takes_its_rsvps_along():
    report = reports.rsvps_over_time(
        events(
            seen("1", "a", 3, "2026-05-01"), seen("1", "b", 4, "2026-05-02"), seen("1", None, 2, "2026-05-03")
        )
    )
    assert report.loc[:, ["a", "b", "(none)"]].to_numpy().tolist() == [[3, 0, 0], [0, 4, 0], [0, 0, 2]]


def test_a_count_that_is_missing_later_is_not_a_loss():
    report = reports.rsvps_over_time(
        events(seen("1", "a", 3, "2026-05-01"), seen("1", "a", None, "2026-05-02"))
    )
    assert report["a"].tolist() == [3, 3]


def test_growth_is_by_any_column_the_largest_at_the_end_first():
    table = events(
        seen("1", "a", 9, "2026-05-01"), seen("2", "b", 1, "2026-05-01"), seen("2", "b", 20, "2026-05-02")
    ).assign(location_region=["CA", "NY", "NY"])
    report = reports.rsvps_over_time(table, by="location_region")
    assert report.to_dict("list") == {"NY": [1, 20], "CA": [9, 9]}
    assert list(report.columns) == ["NY", "CA"]
    pairs = reports.rsvps_over_time(table, by=["location_region", "event_campaign_id"])
    assert list(pairs.columns) == [("NY", "b"), ("CA", "a")]


@pytest.mark.parametrize("column", ["event_id", "fetched_at"])
def test_rows_that_cannot_be_followed_through_time_are_refused(column):
    table = events(seen("1", "a", 3, "2026-05-01"), seen("1", "a", 3, "2026-05-02"))
    table.loc[1, column] = None
    with pytest.raises(
        InvalidColumn, match=rf"1 of 2 rows have no {column} .*frame\[frame\.{column}\.notna\(\)\]"
    ):
        reports.rsvps_over_time(table)


def naive_growth(rows: list[dict[str, object]], pause: timedelta) -> list[tuple[datetime, Counter[str]]]:
    """Walk through the rows in time and note the totals whenever a pull ends."""
    rows = sorted(rows, key=lambda row: row["fetched_at"])
    known: dict[object, tuple[str, int]] = {}
    growth = []
    for row, following in pairwise([*rows, None]):
        label = (str(row["event_campaign_id"] or "").strip() and row["event_campaign_id"]) or "(none)"
        total = row["total_accepted"]
        known[row["event_id"]] = (label, known.get(row["event_id"], ("", 0))[1] if total is None else total)
        if following is None or following["fetched_at"] - row["fetched_at"] > pause:
            totals: Counter[str] = Counter()
            for name, count in known.values():
                totals[name] += count
            growth.append((row["fetched_at"], totals))
    return growth


@FEW
@given(st.lists(EVENT, max_size=15, unique_by=lambda row: row["fetched_at"]), st.integers(1, 30))
def test_growth_equals_a_walk_through_the_pulls(rows, days):
    pause = timedelta(days=days)
    report = reports.rsvps_over_time(frame(EVENTS, rows), pause=pd.Timedelta(pause))
    expected = naive_growth(rows, pause)
    assert list(report.index) == [at for at, _ in expected]
    for totals, (_, row) in zip((counts for _, counts in expected), report.iterrows(), strict=True):
        assert {name: count for name, count in row.items() if count} == {
            name: count for name, count in totals.items() if count
        }


# ------------------------------------------------------------------------------------------------- invariants


@FEW
@given(table=EVENT_FRAMES, order=st.randoms())
def test_sums_of_rsvps_equal_the_totals_and_the_order_of_events_does_not_matter(table, order):
    shuffled = table.iloc[order.sample(range(len(table)), len(table))]
    for name, make in EVENT_REPORTS.items():
        report = make(table)
        assert report["events"].sum() == len(table), name
        assert report["rsvps"].sum() == table["total_accepted"].sum(), name
        assert report["capacity"].sum() == table["capacity"].sum(), name
        assert report.dtypes.astype(str).to_dict() == RSVP_REPORT, name
        assert report.index.is_unique, name
        same(make(shuffled), report)
    same(reports.rsvps_over_time(shuffled), reports.rsvps_over_time(table))


@FEW
@given(table=SIGNATURE_FRAMES, order=st.randoms())
def test_sums_of_signatures_equal_the_totals_and_the_order_of_signatures_does_not_matter(table, order):
    shuffled = table.iloc[order.sample(range(len(table)), len(table))]
    for name, make in SIGNATURE_REPORTS.items():
        report = make(table)
        if "by source" in name:
            assert report.to_numpy().sum() == len(table)
            assert dict(report.sum()) == reports.signatures_by_source(table)["signatures"].to_dict()
        else:
            assert report["signatures"].sum() == len(table), name
            assert (report["people"] <= report["signatures"]).all(), name
        if "share" in report:
            assert report["share"].sum() == pytest.approx(1 if len(table) else 0), name
            assert report.dtypes.astype(str).to_dict() == SIGNATURE_REPORT, name
        same(make(shuffled), report)


@FEW
@given(table=SIGNATURE_FRAMES)
def test_exact_signatures_by_source_equal_a_plain_count(table):
    def label(text: object) -> str:
        return "(none)" if pd.isna(text) or str(text).strip().lower() in ("", "none") else str(text)

    labels = table["source"].map(label)
    report = reports.signatures_by_source(table, spelling="exact")
    assert report["signatures"].to_dict() == Counter(labels)
    assert report["people"].to_dict() == {
        source: len({person for person in table["person_id"][labels == source].dropna() if person})
        for source in set(labels)
    }
    assert list(report["signatures"]) == sorted(report["signatures"], reverse=True)


ALIKE = {"rsvps_by region", "rsvps_by hidden", "signatures_by_referrer", "signatures_by_website"}
"""Reports whose keys have the dtype of another report's, or are keys of one by several."""


def same_of_every_form(makers, table, form_has_values):
    """Compare the reports of a table with those of each form of it, which they leave as it is."""
    expected = [make(table) for make in makers]
    for name, form in FORMS.items():
        if name == "objects" and not form_has_values:  # None alone is text to anyone
            continue
        note(f"form: {name}")
        formed = form(table)
        before = formed.copy(deep=True)
        for make, report in zip(makers, expected, strict=True):
            same(make(formed), report)
        assert_frame_equal(formed, before)


@by_duckdb
@FEWER
@given(table=EVENT_FRAMES)
def test_reports_on_events_are_the_same_whoever_made_the_frame(table):
    makers = [make for name, make in EVENT_REPORTS.items() if name not in ALIKE]
    makers.append(reports.rsvps_over_time)
    same_of_every_form(makers, table, table["start_date"].notna().any())


@by_duckdb
@FEWER
@given(table=SIGNATURE_FRAMES)
def test_reports_on_signatures_are_the_same_whoever_made_the_frame(table):
    makers = [make for name, make in SIGNATURE_REPORTS.items() if name not in ALIKE]
    same_of_every_form(makers, table, table["created_date"].notna().any())


READERS = {
    "pandas": pd.read_parquet,
    "pandas with arrow": lambda path: pd.read_parquet(path, dtype_backend="pyarrow"),
    "polars": lambda path: pl.read_parquet(path).to_pandas(),
    "duckdb": lambda path: duckdb.connect().read_parquet(str(path)).df(),
}


@by_duckdb
@pytest.mark.parametrize("reader", READERS)
def test_a_frame_read_back_from_parquet_gives_the_same_reports(reader, tmp_path: Path):
    table = events(
        seen("1", "a", 3, "2026-05-01"),
        seen("2", None, None, "2026-05-01"),
        seen("1", "b", 9, "2026-05-02")
        | {"capacity": 12, "start_date": pd.Timestamp("2026-06-01T18:00"), "hidden": True},
    )
    people = signatures(
        signed("email", "1", "2026-05-01"), signed(None, None, None), signed("none", "1", "2026-05-04")
    )
    table.to_parquet(tmp_path / "events.parquet")
    people.to_parquet(tmp_path / "signatures.parquet")
    for make in (*EVENT_REPORTS.values(), reports.rsvps_over_time):
        same(make(READERS[reader](tmp_path / "events.parquet")), make(table))
    for make in SIGNATURE_REPORTS.values():
        same(make(READERS[reader](tmp_path / "signatures.parquet")), make(people))


# -------------------------------------------------------------------------------------- empty, missing, unfit


@pytest.mark.parametrize("form", ["as read", "no dtypes"])
def test_an_empty_frame_gives_an_empty_report_with_its_columns_and_dtypes(form):
    for name, make in (EVENT_REPORTS | SIGNATURE_REPORTS).items():
        of_events = name in EVENT_REPORTS
        table = events() if of_events else signatures()
        report = make(pd.DataFrame(columns=list(table)) if form == "no dtypes" else table)
        assert len(report) == 0
        expected = RSVP_REPORT if of_events else SIGNATURE_REPORT
        if name == "signatures_over_time":
            expected = dict.fromkeys(["signatures", "people", "cumulative"], "int64")
        if "by source" in name:
            expected = {}
            assert report.columns.name == "source"
        assert report.dtypes.astype(str).to_dict() == expected, name


def test_time_indexes_keep_their_dtype_when_empty():
    assert reports.signatures_over_time(signatures()).index.dtype == "datetime64[us, UTC]"
    assert reports.rsvps_over_time(events()).index.dtype == "datetime64[us, UTC]"
    assert reports.rsvps_by(events(), MONTHLY).index.dtype == "datetime64[us]"


def test_all_missing_columns_are_named_with_the_report_that_needs_them():
    with pytest.raises(
        MissingColumn,
        match=r"rsvps_by_campaign needs event_campaign_id, capacity, start_date, which the frame",
    ):
        reports.rsvps_by_campaign(pd.DataFrame({"total_accepted": [1]}))


def test_a_mistyped_column_is_answered_with_the_nearest():
    with pytest.raises(MissingColumn, match=r"signatures_by needs sorce, .*; nearest: source"):
        reports.signatures_by(signatures(), "sorce")


def test_a_frame_without_the_columns_that_are_counted_is_answered_with_the_reader():
    with pytest.raises(MissingColumn, match=r"person_id, .* have; osdi_frames.open\(source\).table\('attend"):
        reports.attendances_by_source(pd.DataFrame({"source": ["email"], "sources": [1]}))


COUNTED = [
    (reports.rsvps_by_campaign, "events"),
    (reports.rsvps_over_time, "events"),
    (reports.attendances_by_source, "attendances"),
    (reports.attendances_over_time, "attendances"),
    (reports.signatures_by_source, "signatures"),
    (reports.signatures_by_petition, "signatures"),
]


@pytest.mark.parametrize("other", ["events", "attendances", "signatures", "petitions", "people"])
def test_a_frame_of_another_table_is_refused_with_the_reader_of_the_right_one(other):
    frame = read_table([], other)
    for form, (make, table) in product((frame, frame.assign(week=1), pl.from_pandas(frame)), COUNTED):
        if table == other:
            make(form)
            continue
        with pytest.raises(InvalidColumn) as caught:
            make(form)
        assert f"counts {table}, and the frame seems to be one of {other}; " in str(caught.value)
        assert f"osdi_frames.open(source).table('{table}'" in str(caught.value)
        assert "nearest" not in str(caught.value)


def test_frames_that_a_caller_put_together_are_counted():
    signed = pd.DataFrame({"source": ["email"], "person_id": ["p"], "created_date": ["2026-05-01"]})
    held = events(event("a", 1, event_id="e"))
    joined = signed.assign(event_id="e", attended=False).merge(held, on="event_id")
    assert reports.attendances_by_source(signed.assign(title="x", attended=False))["rsvps"].sum() == 1
    assert reports.signatures_by_source(signed)["signatures"].sum() == 1
    assert reports.attendances_by(joined, "event_campaign_id")["rsvps"].sum() == 1


@pytest.mark.parametrize(
    ("make", "needed"),
    [
        (reports.rsvps_by_campaign, "event_campaign_id total_accepted capacity start_date"),
        (reports.rsvps_over_time, "event_campaign_id event_id fetched_at total_accepted"),
        (reports.signatures_by_source, "source person_id created_date"),
        (reports.signatures_over_time, "created_date person_id"),
    ],
    ids=["rsvps_by_campaign", "rsvps_over_time", "signatures_by_source", "signatures_over_time"],
)
def test_only_what_is_counted_is_needed(make, needed):
    table = pd.concat([events(), signatures()], axis="columns")[needed.split()]
    make(table)
    for column in table:
        with pytest.raises(MissingColumn, match=f"needs {column}, "):
            make(table.drop(columns=column))


@pytest.mark.parametrize(
    ("column", "value"),
    [("total_accepted", 1.5), ("capacity", "lots"), ("start_date", "soon"), ("start_date", 1_700_000_000)],
    ids=["a fraction", "text for a number", "text for a time", "a number for a time"],
)
def test_a_column_of_another_kind_is_named_in_one_line(column, value):
    table = events(event("a", 1)).astype({column: object})
    table[column] = [value]
    with pytest.raises(InvalidColumn, match=f"rsvps_by_campaign cannot use the column {column}: ") as caught:
        reports.rsvps_by_campaign(table)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, (OsdiError, ValueError))


def test_no_key_and_a_grouper_without_one_are_refused():
    for by in (pd.Grouper(freq="MS"), []):
        with pytest.raises(InvalidColumn, match="by is a column, a pandas Grouper with a key, a Period, or"):
            reports.rsvps_by(events(), by)


def test_a_key_that_is_also_counted_works():
    report = reports.rsvps_by(events(event("a", 3), event("b", 3), event("c", None)), "total_accepted")
    assert report["rsvps"].tolist() == [6, 0]
    assert report["events"].tolist() == [2, 1]


def test_two_periods_of_one_column_are_two_levels():
    yearly = pd.Grouper(key="start_date", freq="YS")
    table = events(event("a", 3, start_date=pd.Timestamp("2026-05-06")), event("b", 4))
    report = reports.rsvps_by(table, [yearly, MONTHLY])
    assert list(report.index.names) == ["start_date", "start_date"]
    assert report.index[0] == (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-05-01"))
    assert report["rsvps"].tolist() == [3, 4]
    assert reports.rsvps_by(table, [MONTHLY, "start_date"])["rsvps"].tolist() == [3, 4]


def test_what_is_no_frame_is_refused():
    with pytest.raises(
        InvalidColumn, match=r"signatures_by_source takes a DataFrame, as .* returns, not str"
    ):
        reports.signatures_by_source("data")


def test_a_sum_that_does_not_fit_64_bits_is_an_error_that_names_the_column():
    for values in ([2**62, 2**62], [2**63 - 1, 1], [-(2**62), -(2**62), -1]):
        for column in ("total_accepted", "capacity"):
            table = frame(EVENTS, [{"event_campaign_id": "c", column: value} for value in values])
            message = f"use the column {column}: the sum of its values does not fit 64 bits"
            with pytest.raises(InvalidColumn, match=message):
                reports.rsvps_by_campaign(table)


def test_growth_beyond_64_bits_is_an_error_too():
    pulled = pd.Timestamp("2026-05-01", tz="UTC")
    rows = [{"event_id": name, "total_accepted": 2**62, "fetched_at": pulled} for name in "ab"]
    with pytest.raises(InvalidColumn, match="total_accepted: the sum of its values"):
        reports.rsvps_over_time(frame(EVENTS, rows))


def test_the_largest_sum_that_fits_is_exact():
    rows = [{"event_campaign_id": "c", "total_accepted": 2**62 + part} for part in (-1, 0)]
    assert reports.rsvps_by_campaign(frame(EVENTS, rows))["rsvps"].tolist() == [2**63 - 1]


@pytest.mark.parametrize("value", [1e300, 2**63 + 1, 2**70], ids=["float", "unsigned", "object"])
def test_a_count_beyond_64_bits_is_an_error_that_names_the_column(value):
    events = frame(EVENTS, [{"event_campaign_id": "c"}]).assign(total_accepted=[value])
    with pytest.raises(InvalidColumn, match="cannot use the column total_accepted"):
        reports.rsvps_by_campaign(events)


# -- shares --


@FEW
@given(table=SIGNATURE_FRAMES)
def test_shares_within_the_first_key_sum_to_one_for_each_of_its_values(table):
    total = reports.signatures_by(table, ["source", "referrer"])
    within = reports.signatures_by(table, ["source", "referrer"], share="within")
    sums = total["signatures"].groupby(level=0).sum()
    assert within["share"].tolist() == [
        count / sums[source] for (source, _), count in total["signatures"].items()
    ]
    same(within.drop(columns="share"), total.drop(columns="share"))
    assert "share" in reports.suppress(total)
    if len(sums) > 1:
        assert "share" not in reports.suppress(within)


def test_a_share_within_needs_several_keys():
    table = signatures(signed("email", "1", "2026-05-02"))
    with pytest.raises(InvalidArgument, match="share='within' is of the first of several keys"):
        reports.signatures_by(table, "source", share="within")
    with pytest.raises(InvalidArgument, match="share is 'total' or 'within', not 'all'"):
        reports.signatures_by_region(table.assign(location_region=None, location_country=None), share="all")
    with pytest.raises(TypeError, match="unexpected keyword argument 'share'"):
        reports.signatures_by_source(table, share="within")
