"""Reports are the same whoever made the frame, and their sums are those of its rows."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from osdi_frames import reports
from osdi_frames.errors import InvalidArgument
from tests.report_frames import (
    EVENT,
    EVENT_FRAMES,
    EVENT_REPORTS,
    EVENTS,
    FEW,
    FEWER,
    FORMS,
    RSVP_REPORT,
    SIGNATURE_FRAMES,
    SIGNATURE_REPORT,
    SIGNATURE_REPORTS,
    by_duckdb,
    events,
    frame,
    same,
    seen,
    signatures,
    signed,
)


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
