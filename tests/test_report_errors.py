"""Frames that a report cannot count are refused with what is wrong, and empty ones give empty reports."""

from __future__ import annotations

from itertools import product

import pandas as pd
import polars as pl
import pytest

from osdi_frames import read_table, reports
from osdi_frames.errors import InvalidColumn, MissingColumn, OsdiError
from tests.report_frames import (
    EVENT_REPORTS,
    EVENTS,
    MONTHLY,
    RSVP_REPORT,
    SIGNATURE_REPORT,
    SIGNATURE_REPORTS,
    event,
    events,
    frame,
    signatures,
)

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
