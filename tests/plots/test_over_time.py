"""Over time: every period has its bar, every pull its point, and dates can be read."""

from __future__ import annotations

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.dates import num2date

from osdi_frames import reports
from osdi_frames.plots.colors import GREY
from osdi_frames.reports import Period

from .drawn import EVENTS, MONTHLY, SIGNATURES, axes, draw, heights, legend, render, texts


def signed(days: pd.DatetimeIndex, **columns: object) -> pd.DataFrame:
    return pd.DataFrame({"created_date": days, "person_id": "1", "source": "email"} | columns)


def dates(ax) -> list[str]:
    """Return the dates that are written below the axis, left to right."""
    render(ax)
    left, right = ax.get_xlim()
    return [
        label.get_text()
        for place, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        if left <= place <= right and label.get_text()
    ]


def test_each_period_is_a_bar_in_its_place_and_one_without_anything_shows_as_0():
    dated = SIGNATURES.dropna(subset="created_date")
    ax = draw("signatures_over_time", reports.signatures_over_time(dated, freq="MS"))
    assert heights(ax) == [[2, 0, 2]]
    assert texts(ax) == ["2", "0", "2"]
    middles = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    assert [f"{num2date(day):%Y-%m-%d}" for day in middles] == ["2026-03-01", "2026-04-01", "2026-05-01"]
    assert dates(ax) == ["2026-03", "2026-04", "2026-05"]
    assert ax.get_xlabel() == "created date (UTC)"
    assert ax.get_ylabel() == "signatures: 4 in all"


def test_what_has_no_date_stands_last_apart_and_is_named():
    ax = draw("signatures_over_time", reports.signatures_over_time(SIGNATURES, freq="MS"))
    assert heights(ax) == [[2, 0, 2, 1]]
    assert texts(ax) == ["2", "0", "2", "(no date)\n1"]
    *_, before, last = ax.patches
    assert last.get_x() > before.get_x() + 2 * before.get_width()
    assert dates(ax) == ["2026-03", "2026-04", "2026-05"]


def test_no_date_below_the_bar_that_has_none():
    months = pd.date_range("2020-01-01", periods=80, freq="MS", tz="UTC").append(pd.DatetimeIndex([pd.NaT]))
    ax = draw("signatures_over_time", reports.signatures_over_time(signed(months), freq="MS"))
    assert texts(ax) == ["(no date)\n1"]
    render(ax)
    assert max(ax.get_xticks()) <= ax.patches[-2].get_x() + ax.patches[-2].get_width()


def test_rows_in_another_order_give_the_same_picture():
    report = reports.signatures_over_time(SIGNATURES, freq="MS")
    ax = draw("signatures_over_time", report.sample(frac=1, random_state=3))
    assert heights(ax) == [[2, 0, 2, 1]]


def test_rsvps_by_a_period_are_bars_over_time():
    ax = draw("rsvps_by", reports.rsvps_by(EVENTS, MONTHLY))
    assert heights(ax) == [[30, 0, 21, 5]]
    assert ax.get_xlabel() == "start date"  # a wall clock, so no zone
    assert ax.get_title(loc="left") == "RSVPs by start date"


# ------------------------------------------------------------------------------------------------- stacked


def test_values_are_stacked_the_largest_at_the_bottom_and_the_legend_reads_as_they_stand():
    ax = draw("signatures_over_time", reports.signatures_over_time(SIGNATURES, freq="MS", by="source"))
    assert heights(ax) == [[2, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert [[bar.get_y() for bar in container] for container in ax.containers] == [
        [0, 0, 0, 0],
        [2, 0, 1, 0],
        [2, 0, 2, 0],
    ]
    assert legend(ax) == ["ads", "(none)", "email"]
    assert texts(ax) == ["(no date)\n1"]
    assert [to_hex(container[0].get_facecolor()) == GREY for container in ax.containers] == [
        False,
        True,
        False,
    ]


def test_the_other_values_are_one_part_of_each_bar_and_the_sum_is_the_total():
    report = reports.signatures_over_time(SIGNATURES, freq="MS", by="source")
    ax = draw("signatures_over_time", report, top=1)
    assert heights(ax) == [[2, 0, 1, 0], [0, 0, 1, 1]]
    assert legend(ax) == ["(other: 2)", "email"]
    assert np.array(heights(ax)).sum(axis=0).tolist() == report.sum(axis=1).tolist()


def test_a_thousand_values_over_time_are_eight_and_the_others():
    days = pd.date_range("2026-01-01", periods=1000, freq="h", tz="UTC")
    table = signed(days, source=[f"s{number}" for number in range(1000)])
    report = reports.signatures_over_time(table, freq="W", by="source")
    ax = draw("signatures_over_time", report)
    assert len(legend(ax)) == 9
    assert np.array(heights(ax)).sum(axis=0).tolist() == report.sum(axis=1).tolist()
    looks = {(to_hex(c[0].get_facecolor()), c[0].get_hatch()) for c in ax.containers}
    assert len(looks) == 9


def test_values_that_are_named_like_the_columns_of_a_report_are_values():
    table = SIGNATURES.assign(source=["signatures", "people", "cumulative", "people", "people"])
    ax = draw("signatures_over_time", reports.signatures_over_time(table, freq="MS", by="source"))
    assert legend(ax) == ["signatures", "cumulative", "people"]


def test_keys_with_a_period_among_them_are_stacked_over_time():
    report = reports.rsvps_by(EVENTS, ["location_region", MONTHLY])
    ax = draw("rsvps_by", report)
    assert legend(ax) == ["NY", "(none)", "CA"]
    assert heights(ax) == [[30, 0, 5], [0, 12, 0], [0, 9, 0]]  # March, May, no date
    assert texts(ax) == ["(no date)\n5"]
    assert np.sum(heights(ax)) == report["rsvps"].sum()


def test_two_periods_are_joined_to_a_label():
    report = reports.rsvps_by(EVENTS, [pd.Grouper(key="start_date", freq="YS"), MONTHLY])
    ax = draw("rsvps_by", report)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["2026-01-01 · 2026-03-01", "2026-01-01 · 2026-05-01", "(no date) · (no date)"]


# --------------------------------------------------------------------------------------------- many periods


@settings(max_examples=5)
@given(st.integers(81, 3000), st.sampled_from([None, "source"]))
def test_of_many_periods_several_are_one_bar_and_the_axis_says_so(number, by):
    hours = pd.date_range("2026-01-01", periods=number, freq="h", tz="UTC")
    sources = ["a", "b", None] * number
    report = reports.signatures_over_time(
        signed([*hours, pd.NaT], source=sources[: number + 1]), freq="h", by=by
    )
    ax = draw("signatures_over_time", report)
    together = -(-number // 80)
    assert ax.get_xlabel() == f"created date (UTC); each bar is {together} hours"
    counts = [[int(bar.get_height()) for bar in container] for container in ax.containers]
    assert sum(map(sum, counts)) == number + 1
    assert {sum(column) for column in [*zip(*counts, strict=True)][1:-1]} == {together}
    assert len(counts[0]) <= 81


# --------------------------------------------------------------------------------------------------- growth


def test_each_campaign_is_a_line_with_a_point_for_each_pull():
    report = reports.rsvps_over_time(EVENTS)
    ax = draw("rsvps_over_time", report)
    assert [list(line.get_ydata()) for line in ax.lines] == [[42, 42], [0, 9], [0, 5]]
    assert legend(ax) == ["climate", "housing", "(none)"]
    assert [to_hex(line.get_color()) == GREY for line in ax.lines] == [False, False, True]
    assert ax.get_ylabel() == "RSVPs: 56 in all at the end"
    assert ax.get_title(loc="left") == "RSVPs over time by campaign"
    assert [f"{num2date(day):%F}" for day in ax.lines[0].get_xdata()] == ["2026-05-01", "2026-05-02"]


def test_the_other_lines_are_one_their_sum():
    ax = draw("rsvps_over_time", reports.rsvps_over_time(EVENTS), top=1)
    assert [list(line.get_ydata()) for line in ax.lines] == [[42, 42], [0, 14]]
    assert legend(ax) == ["climate", "(other: 2)"]


def test_up_to_twenty_lines_differ_by_colour_or_dashes():
    pulls = pd.DataFrame(
        {
            "event_id": [str(number) for number in range(1000)],
            "event_campaign_id": [f"c{number}" for number in range(1000)],
            "total_accepted": range(1000),
            "fetched_at": pd.Timestamp("2026-05-01", tz="UTC"),
        }
    )
    ax = draw("rsvps_over_time", reports.rsvps_over_time(pulls))
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == len(ax.lines) == 21
    assert sum(line.get_ydata()[0] for line in ax.lines) == sum(range(1000))


def test_other_lines_that_would_dwarf_every_value_leave_the_picture_and_say_so():
    report = pd.DataFrame({f"c{number}": [5, 10] for number in range(100)})
    report = report.set_axis(pd.date_range("2026-05-01", periods=2, tz="UTC")).rename_axis(columns="c")
    ax = draw("rsvps_over_time", report, top=2)
    assert legend(ax) == ["c0", "c1", "(other: 98): 980, above"]
    assert 10 < ax.get_ylim()[1] < 30
    assert list(ax.lines[-1].get_ydata()) == [490, 980]


# -------------------------------------------------------------------------------------- periods as text

FAR = EVENTS.assign(
    start_date=pd.to_datetime(["2026-03-04", "9999-05-09", None, "1970-01-01"]).astype("datetime64[us]"),
    total_accepted=[30, 12, 5, 9],
)
NEAR = pd.concat([EVENTS, FAR], ignore_index=True)


def test_months_far_outside_and_what_has_no_date_stand_apart_and_are_named():
    ax = draw("rsvps_by_month", reports.rsvps_by_month(NEAR))
    assert heights(ax) == [[9, 60, 0, 21, 12, 10]]
    assert texts(ax) == ["before 2026-03\n9", "60", "0", "21", "after 2026-05\n12", "(no date)\n10"]
    assert dates(ax) == ["Mar", "May"]  # no date below those that stand apart
    assert ax.get_title(loc="left") == "RSVPs by month of the event"
    assert ax.get_xlabel() == "month"


def test_months_and_weeks_are_stacked_by_another_key():
    by_week = [Period("created_date", "W"), "source"]
    ax = draw("signatures_by", reports.signatures_by(SIGNATURES, by_week))
    assert legend(ax) == ["ads", "(none)", "email"]
    assert heights(ax) == [[1, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert ax.get_title(loc="left") == "Signatures by week and source"


def test_years_that_are_sources_are_no_times():
    ax = draw("signatures_by", reports.signatures_by(SIGNATURES.assign(source="2026"), "source"))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2026"]


# ---------------------------------------------------------------------------------------------------- dates

SPANS = {
    "one day": pd.date_range("2026-05-01", periods=1, freq="D"),
    "six days": pd.date_range("2026-05-01", periods=6, freq="D"),
    "hours": pd.date_range("2026-05-01 14:00", periods=5, freq="h"),
    "weeks": pd.date_range("2026-03-02", periods=9, freq="W-MON"),
    "a year of days": pd.date_range("2025-07-01", periods=365, freq="D"),
    "months": pd.date_range("2017-06-01", periods=112, freq="MS"),
    "centuries": pd.date_range("1700-01-01", periods=300, freq="YS"),
    "years far apart": pd.DatetimeIndex(["2023-08-02", "2026-07-11", "2026-07-18"]),
    "the first and the last day": pd.DatetimeIndex(["0001-01-01", "9999-12-31"]),
    "the last day": pd.DatetimeIndex(["9999-12-31"]),
}


@pytest.mark.parametrize("name", ["signatures_over_time", "rsvps_over_time"])
def test_dates_are_there_and_do_not_touch(name):
    for span, days in SPANS.items():
        times = days.as_unit("us").tz_localize("UTC")
        report = pd.DataFrame({"a": 1}, index=times).rename_axis(columns="source")
        ax = draw(name, report, ax=axes(4, 3))
        assert dates(ax), span
        left, right = ax.get_xlim()
        shown = [
            label.get_window_extent()
            for place, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
            if left <= place <= right and label.get_text()
        ]
        assert not any(one.overlaps(other) for one, other in pairwise(shown)), span


def test_a_report_that_was_brought_to_another_zone_shows_its_clock():
    report = reports.signatures_over_time(SIGNATURES.dropna(subset="created_date"), freq="MS")
    there = report.set_axis(report.index.tz_localize(None).tz_localize("America/New_York"))
    ax = draw("signatures_over_time", there.rename_axis(index="created_date"))
    assert dates(ax) == ["2026-03", "2026-04", "2026-05"]
    assert ax.get_xlabel() == "created date (America/New_York)"


def test_periods_are_named_by_their_start_in_utc_whatever_time_zone_is_set():
    report = reports.signatures_over_time(SIGNATURES, freq="MS")
    long = reports.signatures_over_time(
        signed(pd.date_range("2020-01-01", periods=90, freq="MS", tz="UTC")), freq="MS"
    )
    here, long_here = (draw("signatures_over_time", counts) for counts in (report, long))
    with mpl.rc_context({"timezone": "America/Los_Angeles"}):
        for table, expected in ((report, here), (long, long_here)):
            there = draw("signatures_over_time", table)
            assert dates(there) == dates(expected)
            assert list(there.get_xticks()) == list(expected.get_xticks())
    assert "2024" in dates(long_here)
