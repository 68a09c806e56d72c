"""Reports count every row once."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from osdi_frames import reports
from osdi_frames.errors import InvalidColumn
from tests.report_frames import (
    MONTHLY,
    event,
    events,
    same,
    seen,
    signatures,
    signed,
)

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


def test_a_column_with_a_zone_keeps_its_days_and_one_with_an_offset_has_those_of_utc():
    table = signatures(signed("a", "1", "2026-05-02T03:00"))
    table["created_date"] = table["created_date"].dt.tz_convert("America/Los_Angeles")  # still the 1st there
    first = reports.signatures_over_time(table).index[0]
    assert first == pd.Timestamp("2026-05-01", tz="America/Los_Angeles")
    table["created_date"] = "2026-05-01T20:00:00-07:00"
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
