"""Reports on people and change are what loops over the acts compute."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import dask.dataframe
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.errors import InvalidArgument, InvalidColumn, MissingColumn
from osdi_frames.reports import Period
from tests.acts import ACTS, START, TOUCHES, frame
from tests.people import (
    check_activity,
    check_acts_by,
    check_attribution,
    check_comparison,
    check_engagement,
    check_goals,
    check_growth,
    check_hosts,
    check_repeats,
    check_retention,
    check_steps,
)
from tests.supporters import check_amounts, check_levels, check_supporters

FEW = settings(max_examples=12)


def times(most):
    """Draw a day as text, or its first moment."""
    days = st.integers(0, most).map(lambda days: START + timedelta(days=days))
    return days | days.map(lambda day: f"{day:%Y-%m-%d}")


AMOUNTS = st.fixed_dictionaries(
    {
        "amount": st.none() | st.integers(0, 10**6).map(lambda cents: Decimal(cents) / 100),
        "currency": st.sampled_from([None, "USD", "EUR"]),
    }
)
REPORTS = {
    "engagement": of.engagement,
    "retention": of.retention,
    "repeats": of.repeats,
    "hosts": of.hosts,
    "funnel": of.funnel,
    "funnel by source": lambda actions: of.funnel(actions, by="source"),
    "attribution": of.attribution,
    "attribution of both": lambda actions: of.attribution(actions, touch="both", by=["source", "referrer"]),
    "compare": of.compare,
}


STEPS = st.lists(st.sampled_from(["signed", "rsvped", "attended", "donated"]), min_size=2, unique=True)


@FEW
@given(ACTS)
def test_engagement_counts_who_acts_first_is_kept_comes_back_and_lapses_in_each_month(rows):
    check_engagement(rows, frame(rows))


@FEW
@given(ACTS, st.none() | st.sampled_from(["2026-02-14", "2026-03-01", "2026-08-20"]))
def test_retention_is_the_share_of_a_cohort_that_takes_part_anew_and_missing_where_a_month_has_not_ended(
    rows, until
):
    check_retention(rows, frame(rows), until)


@FEW
@given(ACTS)
def test_repeats_counts_people_by_their_participations(rows):
    check_repeats(rows, frame(rows))


@FEW
@given(ACTS)
def test_hosts_have_the_rsvps_of_their_events(rows):
    check_hosts(rows, frame(rows))


def test_a_host_of_events_to_which_nobody_came_has_none():
    hosted = of.hosts(frame([row | {"subject_id": "vigil"} for row in ROWS if row["action"] == "hosted"]))
    assert hosted[["events", "rsvps"]].values.tolist() == [[1, 0]]


@FEW
@given(ACTS, STEPS, st.sampled_from([0, 1, 5, 30, 9999]))
def test_a_funnel_counts_each_person_at_the_steps_that_they_reach_in_time(rows, steps, days):
    check_steps(rows, frame(rows), steps, days)


@settings(max_examples=40)
@given(TOUCHES | ACTS, st.sampled_from(["rsvped", "rsvped", "signed"]), st.sampled_from([0, 1, 30, 90]))
def test_attribution_counts_each_person_who_did_it_by_one_source(rows, to, days):
    check_attribution(rows, frame(rows), to, days)


@pytest.mark.parametrize(
    "ids", [["ann", "bob"], pd.array([3, None], "UInt64"), pd.array([None, None], "Int64")]
)
def test_acts_by_month_have_a_row_for_months_without_any(ids):
    dates = pd.to_datetime(["2026-05-01", "2026-07-03"], utc=True)
    actions = pd.DataFrame({"person_id": ids, "date": dates, "action": "signed", "subject_id": "park"})
    table = of.acts_by(actions, Period("date"))
    assert table["acts"].to_dict() == {"2026-05": 1, "2026-06": 0, "2026-07": 1}
    assert table["people"].sum() == pd.Series(ids).notna().sum()


@FEW
@given(ACTS)
def test_acts_by_source_are_counted_with_their_people_and_times(rows):
    check_acts_by(rows, frame(rows))


@FEW
@given(TOUCHES | ACTS)
def test_growth_counts_who_is_new_to_the_list_by_what_brought_them(rows):
    check_growth(rows, frame(rows))


@FEW
@given(
    ACTS, st.sampled_from([1, 7, 30]), st.none() | st.sampled_from(["2026-03-01", "2026-04-20T07:00", "2050"])
)
def test_a_comparison_counts_the_rows_of_two_periods_by_value(rows, days, until):
    check_comparison(rows, frame(rows), days, until)


@FEW
@given(
    ACTS, st.sampled_from([1, 7, 30]), st.none() | st.sampled_from(["2026-03-01", "2026-04-20T07:00", "2050"])
)
def test_activity_and_changes_are_people_new_people_and_acts_of_periods(rows, days, until):
    check_activity(rows, frame(rows), days, until)


@FEW
@given(ACTS, st.sampled_from([1, 3, 100]), st.none() | st.sampled_from(["2026-03-01", "2050"]))
def test_goals_are_reached_at_the_rate_of_the_last_four_weeks(rows, goal, until):
    check_goals(rows, frame(rows), goal, until)


def test_retention_shows_no_column_of_decades_without_an_act():
    made = of.retention(frame(ROWS[:1]), until="2060-01-01")
    assert made.columns.tolist() == ["people", 0]
    made = of.retention(frame(ROWS[:1]), until="2026-04-15")
    assert made.columns.tolist() == ["people", 0, 1, 2]


# -- frames, errors --


def test_months_and_weeks_are_those_of_the_calendar():
    days = pd.date_range("2026-01-01", "2026-03-20", freq="D", tz="UTC")
    acts = pd.DataFrame({"date": days, "source": "email"})
    assert of.compare(acts, "M")[["before", "now"]].values.tolist() == [[31, 28]]
    assert of.compare(acts, "6h", until="2026-03-01T02:00")[["before", "now"]].values.tolist() == [[0, 1]]


def test_a_comparison_says_which_days_it_is_of_and_which_are_newer():
    days = pd.date_range("2026-01-01", "2026-03-20T18:30", freq="12h", tz="UTC")
    acts = pd.DataFrame({"date": days, "source": "email"})
    made = of.compare(acts, "W")
    compared = "2026-03-09 to 2026-03-15, against 2026-03-02 to 2026-03-08"
    newer = "2026-03-16 to 2026-03-20 not compared: the period may not have ended"
    assert made.attrs["period"] == compared
    assert made.attrs["note"].splitlines()[1:] == [compared, newer]
    note = of.compare(acts, "7D").attrs["note"]
    assert note.endswith("2026-03-20 not compared: the period may not have ended")
    changed = of.changes(acts.assign(person_id="ann", action="signed", number=2), "W")
    assert changed.attrs["caveat"] == newer
    assert "not compared" not in of.compare(acts, "W", until="2026-03-16").attrs["note"]


def test_events_are_compared_by_their_rsvps_at_the_wall_clock_of_their_place():
    events = pd.DataFrame(
        {
            "start_date": pd.to_datetime(["2026-05-01 23:30", "2026-05-02 00:30", "2026-05-03 12:00"]),
            "created_date": pd.Timestamp("2026-01-01", tz="UTC"),
            "total_accepted": [3, 40, None],
            "event_campaign_id": "c",
        }
    )
    made = of.compare(events, "D", by="event_campaign_id", until="2026-05-02")
    assert made[["before", "now"]].values.tolist() == [[3, 40]]


def test_by_source_those_who_came_count_by_their_rsvp_alone():
    rsvp = {"person_id": "ann", "subject_id": "march", "source": "facebook", "referrer": None, "number": 1}
    rows = [
        rsvp | {"date": START, "action": "rsvped", "excluded": None},
        rsvp | {"date": START + timedelta(days=8), "action": "attended", "excluded": None},
        rsvp | {"date": START + timedelta(days=9), "action": "signed", "source": "email", "excluded": None},
    ]
    acts, until = frame(rows), "2026-01-14"
    made = of.compare(acts, until=until)
    assert made[["before", "now"]].T.to_dict("list") == {"email": [0, 1], "facebook": [1, 0]}
    assert made.attrs["caveat"] == "without 1 attended: their RSVPs have the source"
    assert made.attrs["caveat"] in made.attrs["note"]
    assert of.compare(acts, by="referrer", until=until)["now"].tolist() == [1]
    for by in "subject_id", ["action", "source"]:
        assert of.compare(acts, by=by, until=until)["now"].sum() == 2
    assert of.compare(acts.drop(columns="action"), until=until)["now"].sum() == 2


# -- any frame --


ROWS = [
    {
        "person_id": person,
        "date": START + timedelta(days=day),
        "action": action,
        "subject_id": "march",
        "source": source,
        "referrer": None,
        "number": number,
        "excluded": excluded,
    }
    for person, day, action, source, number, excluded in [
        ("ann", 0, "signed", "email", 1, None),
        ("bob", 1, "hosted", "E-Mail", 1, None),
        ("ann", 3, "rsvped", "ads", 2, None),
        ("cat", 4, "signed", "ads", 1, "test"),
        ("bob", 40, "rsvped", "none", 2, "cancelled"),
        (None, 50, "signed", "ads", None, None),
        ("ann", 70, "attended", None, 3, None),
    ]
]


@pytest.mark.parametrize("name", REPORTS)
def test_frames_of_other_libraries_and_dtypes_make_the_same_report(name):
    actions = frame(ROWS)
    expected = REPORTS[name](actions)
    shapes = {
        "pyarrow": pa.Table.from_pandas(actions),
        "polars": pl.from_pandas(actions),
        "dask": dask.dataframe.from_pandas(actions, npartitions=2),
        "objects": actions.astype(object).set_axis([9] * len(actions)),
        "categories": actions.astype({"source": "category", "person_id": "category", "action": "category"}),
        "in any order": actions.sample(frac=1, random_state=3),
    }
    before = actions.copy(deep=True)
    with duckdb.connect() as connection:
        shapes["duckdb"] = connection.from_arrow(shapes["pyarrow"]).arrow()
    for shape, same in shapes.items():
        made = REPORTS[name](same)
        assert_frame_equal(made, expected, obj=shape, check_freq=False)
        assert made.attrs == expected.attrs, shape
    assert_frame_equal(actions, before)


def test_a_frame_without_acts_makes_a_report_with_the_same_columns():
    for name, make in REPORTS.items():
        empty, full = make(frame([])), make(frame(ROWS))
        assert {*empty.columns} <= {*full.columns}, name
        assert empty.reset_index().dtypes.equals(full[list(empty.columns)].reset_index().dtypes), name
        assert not empty.select_dtypes("int64").to_numpy().any(), name


def test_what_is_excluded_is_left_out_and_named():
    actions, whole = frame(ROWS), frame(ROWS).drop(columns="excluded")
    for name, make in REPORTS.items():
        note = make(actions).attrs["note"]
        assert note.startswith("not counted: 1 act of cancelled events, 1 test act; include= (--include"), (
            name
        )
        assert make(whole).attrs["note"].startswith("counted whole"), name
        function = getattr(of, name.partition(" ")[0])
        included = function(actions, include=["test", "cancelled"])
        assert "not counted" not in included.attrs["note"], name
        assert_frame_equal(included, function(whole), check_freq=False)
        with pytest.raises(InvalidArgument, match="nearest: cancelled"):
            function(actions, include="canceled")


def test_a_column_that_is_missing_is_named():
    for make in REPORTS.values():
        with pytest.raises(MissingColumn, match="date"):
            make(frame(ROWS).drop(columns="date"))
        with pytest.raises(InvalidColumn, match="DataFrame"):
            make("archive")


def test_spellings_are_one_source_unless_they_are_kept_apart():
    actions = frame(ROWS)
    made = of.attribution(actions, "rsvped", include="cancelled")
    assert made["people"].to_dict() == {"E-Mail": 1, "email": 1}
    actions["source"] = actions["source"].replace({"E-Mail": "Email"})
    assert of.attribution(actions, "rsvped", include="cancelled")["people"].to_dict() == {"Email": 2}
    exact = of.attribution(actions, "rsvped", include="cancelled", spelling="exact")
    assert exact["people"].to_dict() == {"Email": 1, "email": 1}


def test_a_comparison_shows_the_spelling_that_is_the_most_frequent_in_the_frame():
    days = pd.to_datetime(["2026-01-01"] * 3 + ["2026-03-08"] * 2, utc=True)
    signatures = pd.DataFrame({"created_date": days, "source": ["mail"] * 3 + ["Mail", "ads"]})
    made = of.compare(signatures, until="2026-03-09")
    assert made["now"].to_dict() == {"ads": 1, "mail": 1}
    assert made.attrs["caveat"].startswith("3 spellings of source became 2")
    assert of.compare(signatures, until="2026-03-09", spelling="exact").index.tolist() == ["Mail", "ads"]


def test_an_act_that_does_not_count_makes_nobody_returning():
    rows = [ROWS[0] | {"excluded": "test"}, ROWS[6] | {"number": 2}]
    assert of.engagement(frame(rows))[["people", "first"]].values.tolist() == [[1, 1]]
    assert of.engagement(frame(rows[1:]))[["people", "first"]].values.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("call", "said"),
    {
        "an unknown period": (lambda acts: of.engagement(acts, "fortnight"), "freq is h, D, W, M, Q or Y"),
        "several periods": (lambda acts: of.retention(acts, "2M"), "not '2M'"),
        "a number for a time": (lambda acts: of.retention(acts, until=3), "until is a time"),
        "one step": (lambda acts: of.funnel(acts, ["signed"]), "two or more different actions"),
        "a step twice": (lambda acts: of.funnel(acts, ["signed", "signed"]), "two or more different"),
        "a text for steps": (lambda acts: of.funnel(acts, "signed"), "steps is a list of actions"),
        "a mistyped step": (
            lambda acts: of.funnel(acts, ["signed", "rsvpd"]),
            "no act is 'rsvpd'; nearest: rsvped",
        ),
        "no time within": (lambda acts: of.funnel(acts, within="soon"), "within is a time"),
        "a mistyped act": (lambda acts: of.attribution(acts, "rsvp"), "nearest: rsvped"),
        "an unknown touch": (lambda acts: of.attribution(acts, touch="middle"), "'first', 'last' or 'both'"),
        "a mistyped column": (lambda acts: of.attribution(acts, by="sorce"), "nearest: source"),
        "no period": (lambda acts: of.compare(acts, "0D"), "period is a time as '7D'"),
        "an unknown spelling": (lambda acts: of.compare(acts, spelling="any"), "'merged' or 'exact'"),
        "an age for a period": (lambda acts: of.compare(acts, "999Y", until="1"), "until is a time|too long"),
    }.values(),
)
def test_a_wrong_argument_says_what_would_be_right(call, said):
    with pytest.raises((InvalidArgument, MissingColumn), match=said):
        call(frame(ROWS))


@FEW
@given(TOUCHES | ACTS, st.none() | times(900))
def test_supporters_are_what_a_plain_count_of_each_person_says(rows, as_of):
    check_supporters(rows, frame(rows).assign(title="Park"), as_of)


@FEW
@given(TOUCHES | ACTS, st.none() | times(120))
def test_people_by_level_are_counted_at_two_times(rows, before):
    check_levels(rows, frame(rows), before)


@FEW
@given(ACTS, st.lists(AMOUNTS, min_size=30, max_size=30))
def test_amounts_of_supporters_are_exact_sums_by_currency(rows, amounts):
    paid = [row | amount for row, amount in zip(rows, amounts, strict=False)]
    check_amounts(paid, frame(paid).assign(**{name: [row[name] for row in paid] for name in amounts[0]}))
