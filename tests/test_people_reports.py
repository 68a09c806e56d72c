"""Reports on people and change are what loops over the acts compute."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from math import sqrt

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
from tests.acts import ACTS, START, Act, counted, frame

FEW = settings(max_examples=60)
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


def months_since(date: datetime, start: datetime = START) -> int:
    return (date.year - start.year) * 12 + date.month - start.month


def month(date: datetime | None) -> pd.Timestamp:
    return pd.NaT if date is None else pd.Timestamp(date.year, date.month, 1, tz="UTC")


def first_acts(rows: list[Act]) -> dict[str, Act]:
    """Return the first act that counts of each person."""
    found: dict[str, Act] = {}
    for row in counted(rows):
        if row["person_id"]:
            found.setdefault(row["person_id"], row)
    return found


def begun(rows: list[Act]) -> set[str]:
    """Return the people whose first act in the archive is among the rows."""
    return {row["person_id"] for row in rows if row["number"] == 1}


SPELLED = {"E-Mail": "e-mail", "e_mail": "e-mail", "e-mail": "e-mail"}


def label(source: str | None) -> str:
    return "(none)" if source in (None, "", "none") else SPELLED.get(source, source)


def by_label(report: pd.DataFrame, *names: str) -> dict[str, tuple[int, ...]]:
    """Return numbers by label, whatever spelling is shown."""
    return {
        label(key): tuple(row) for key, row in zip(report.index, report[[*names]].to_numpy(), strict=True)
    }


# -- engagement, retention, repeats, hosts --


@FEW
@given(ACTS)
def test_engagement_counts_new_and_returning_people_of_each_month(rows):
    people, new, acts = defaultdict(set), Counter(), Counter()
    for row in counted(rows):
        acts[month(row["date"])] += 1
        if row["person_id"]:
            people[month(row["date"])].add(row["person_id"])
    for person, row in first_acts(rows).items():
        new[month(row["date"])] += person in begun(rows)
    made = of.engagement(frame(rows))
    assert (made["new"] + made["returning"] == made["people"]).all()
    for start, row in made.iterrows():
        assert (row["people"], row["new"], row["actions"]) == (len(people[start]), new[start], acts[start])
    assert acts.keys() <= {*made.index}
    dated = made.index.dropna()
    steps = [months_since(after, before) for before, after in itertools.pairwise(dated)]
    assert all(step == 1 or step > 119 for step in steps)


@FEW
@given(ACTS, st.none() | st.sampled_from(["2026-02-14", "2026-03-01", "2026-08-20"]))
def test_retention_is_the_share_of_a_cohort_that_acts_again_and_missing_where_a_month_has_not_ended(
    rows, until
):
    made = of.retention(frame(rows), until=until)
    cohorts, active = defaultdict(set), defaultdict(set)
    for person, row in first_acts(rows).items():
        if person in begun(rows):
            cohorts[month(row["date"])].add(person)
    for row in counted(rows):
        active[month(row["date"])].add(row["person_id"])
    dates = [row["date"] for row in counted(rows) if row["date"]]
    end = datetime.fromisoformat(until).replace(tzinfo=UTC) if until else max(dates, default=None)
    assert {start: len(cohorts[start]) for start in made.index} == made["people"].to_dict()
    assert cohorts.keys() <= {*made.index}
    seen = defaultdict(set)
    for start in made.index:
        for later in made.columns[1:]:
            period = pd.NaT if pd.isna(start) else start + pd.DateOffset(months=later)
            share = made.loc[start, later] if pd.notna(start) else made[later].iloc[-1]
            has_ended = pd.notna(start) and end and start + pd.DateOffset(months=later + 1) <= end
            if not has_ended or not cohorts[start]:
                assert pd.isna(share)
            else:
                assert share == len(active[period] & cohorts[start]) / len(cohorts[start])
                seen[start].add(period)
    for start, people in cohorts.items():  # nobody's act is in a column that is left out
        for period, others in active.items():
            if (
                pd.notna(start)
                and people & others
                and pd.notna(period)
                and period + pd.DateOffset(months=1) <= end
            ):
                assert period in seen[start]


def test_retention_shows_no_column_of_decades_without_an_act():
    made = of.retention(frame(ROWS[:1]), until="2060-01-01")
    assert made.columns.tolist() == ["people", 0]
    made = of.retention(frame(ROWS[:1]), until="2026-04-15")
    assert made.columns.tolist() == ["people", 0, 1, 2]


@FEW
@given(ACTS)
def test_repeats_counts_people_by_their_acts(rows):
    expected = Counter(Counter(row["person_id"] for row in counted(rows) if row["person_id"]).values())
    made = of.repeats(frame(rows))
    assert made["people"].to_dict() == dict(sorted(expected.items()))
    assert made["share"].sum() == pytest.approx(1 if expected else 0)


@FEW
@given(ACTS)
def test_hosts_have_the_rsvps_of_their_events(rows):
    hosted, rsvps = defaultdict(set), Counter()
    for row in counted(rows):
        if row["action"] == "hosted" and row["person_id"] and row["subject_id"]:
            hosted[row["person_id"]].add(row["subject_id"])
        if row["action"] == "rsvped":
            rsvps[row["subject_id"]] += 1
    expected = {host: (len(events), sum(rsvps[event] for event in events)) for host, events in hosted.items()}
    rest = {event: number for event, number in rsvps.items() if event not in set().union(*hosted.values())}
    if rest:
        expected["(none)"] = (len(rest.keys() - {None}), sum(rest.values()))
    made = of.hosts(frame(rows))
    assert by_label(made, "events", "rsvps") == expected
    assert made["rsvps"].is_monotonic_decreasing


# -- funnel, attribution --


def reached(rows: list[Act], steps: list[str], limit: timedelta) -> dict[str, tuple[Act, int]]:
    """Return each person's start, and how many steps they reach."""
    found = {}
    for row in counted(rows):
        person = row["person_id"]
        if not person or not row["date"] or row["action"] != steps[0] or person in found:
            continue
        at, number = row["date"], 1
        for step in steps[1:]:
            later = [
                other["date"]
                for other in counted(rows)
                if other["person_id"] == person
                and other["action"] == step
                and other["date"]
                and at <= other["date"] <= row["date"] + limit
            ]
            if not later:
                break
            at, number = min(later), number + 1
        found[person] = (row, number)
    return found


def wilson(reached: int, people: int) -> tuple[float, float]:
    z, share = 1.959963984540054, reached / people
    middle, spread = (
        share + z * z / (2 * people),
        z * sqrt(share * (1 - share) / people + z * z / (4 * people**2)),
    )
    return (middle - spread) / (1 + z * z / people), (middle + spread) / (1 + z * z / people)


def check_funnel(made: pd.DataFrame, people: list[int]) -> None:
    assert made["people"].tolist() == people
    for number, (row, count) in enumerate(zip(made.itertuples(), people, strict=True)):
        if not people[0]:
            assert pd.isna([*row[2:]]).all()
            continue
        assert row.of_first == count / people[0]
        previous = people[number - 1] if number else 0
        assert pd.isna(row.of_previous) if not previous else row.of_previous == count / previous
        if number:
            assert (row.low, row.high) == pytest.approx(wilson(count, people[0]), abs=1e-12)
            assert 0 <= row.low <= row.of_first <= row.high + 1e-12 <= 1 + 1e-12


STEPS = st.lists(st.sampled_from(["signed", "rsvped", "attended", "donated"]), min_size=2, unique=True)


@FEW
@given(ACTS, STEPS, st.sampled_from([0, 1, 5, 30, 9999]))
def test_a_funnel_counts_each_person_at_the_steps_that_they_reach_in_time(rows, steps, days):
    found = reached(rows, steps, timedelta(days=days))
    made = of.funnel(frame(rows), steps, within=f"{days}D")
    assert made.index.tolist() == steps
    check_funnel(made, [sum(number > step for _, number in found.values()) for step in range(len(steps))])
    split = of.funnel(frame(rows), steps, within=timedelta(days=days), by="source")
    starts = defaultdict(list)
    for row, number in found.values():
        starts[label(row["source"])].append(number)
    values = split.index.get_level_values(0).unique()
    assert {label(value) for value in values} == starts.keys()
    assert len(values) == len(starts)
    for value in values:
        numbers = starts[label(value)]
        check_funnel(
            split.loc[value], [sum(number > step for number in numbers) for step in range(len(steps))]
        )


@FEW
@given(ACTS, st.sampled_from(["rsvped", "signed", "donated"]))
def test_attribution_counts_each_person_who_did_it_by_one_source(rows, to):
    last: dict[str, Act] = {}
    for row in counted(rows):
        if row["person_id"] and row["action"] == to:
            last.setdefault(row["person_id"], row)
    first = {person: row for person, row in first_acts(rows).items() if person in last}
    expected = {
        touch: Counter(label(row["source"]) for row in acts.values())
        for touch, acts in {"first": first, "last": last}.items()
    }
    for touch, people in expected.items():
        made = of.attribution(frame(rows), to, touch=touch)
        assert by_label(made, "people") == {source: (count,) for source, count in people.items()}
        assert len(made) == len(people)
        assert made["share"].sum() == pytest.approx(1 if people else 0)
        assert made["people"].is_monotonic_decreasing
    both = of.attribution(frame(rows), to, touch="both")
    assert by_label(both, "first_people", "last_people") == {
        source: (expected["first"][source], expected["last"][source])
        for source in expected["first"] | expected["last"]
    }


# -- compare --


@FEW
@given(
    ACTS, st.sampled_from([1, 7, 30]), st.none() | st.sampled_from(["2026-03-01", "2026-04-20T07:00", "2050"])
)
def test_a_comparison_counts_the_rows_of_two_periods_by_value(rows, days, until):
    dates = [row["date"] for row in counted(rows) if row["date"]]
    end = pd.Timestamp(until, tz="UTC") if until else max(dates, default=START).replace(hour=0, minute=0)
    counts = {"before": Counter(), "now": Counter()}
    for row in counted(rows):
        if row["date"] and end - timedelta(days=2 * days) <= row["date"] < end:
            period = "before" if row["date"] < end - timedelta(days=days) else "now"
            counts[period][label(row["source"])] += 1
    made = of.compare(frame(rows), f"{days}D", until=until)
    assert by_label(made, "before", "now") == {
        source: (counts["before"][source], counts["now"][source])
        for source in counts["before"] | counts["now"]
    }
    assert made["change"].tolist() == (made["now"] - made["before"]).tolist()
    assert made["change"].abs().is_monotonic_decreasing
    for row in made.itertuples():
        assert pd.isna(row.change_share) if not row.before else row.change_share == row.change / row.before
    assert ("has not ended" in made.attrs["note"]) == bool(dates and end > max(dates))


def test_months_and_weeks_are_those_of_the_calendar():
    days = pd.date_range("2026-01-01", "2026-03-20", freq="D", tz="UTC")
    acts = pd.DataFrame({"date": days, "source": "email"})
    assert of.compare(acts, "M")[["before", "now"]].values.tolist() == [[31, 28]]
    assert of.compare(acts, "W").attrs["note"].endswith("from 2026-03-09 to 2026-03-16, and as long before")
    assert of.compare(acts, "6h", until="2026-03-01T02:00")[["before", "now"]].values.tolist() == [[0, 1]]


def test_events_are_compared_by_their_rsvps_at_the_wall_clock_of_their_place():
    events = pd.DataFrame(
        {
            "start_date": pd.to_datetime(["2026-05-01 23:30", "2026-05-02 00:30", "2026-05-03 12:00"]),
            "created_date": pd.Timestamp("2026-01-01", tz="UTC"),
            "total_accepted": [3, 40, None],
            "event_campaign_id": "c",
        }
    )
    made = of.compare(events, "D", by="event_campaign_id", until="2026-05-03")
    assert made[["before", "now"]].values.tolist() == [[3, 40]]


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


@pytest.mark.parametrize("name", REPORTS)
def test_a_frame_without_acts_makes_a_report_with_the_same_columns(name):
    empty, full = REPORTS[name](frame([])), REPORTS[name](frame(ROWS))
    assert {*empty.columns} <= {*full.columns}
    assert empty.reset_index().dtypes.equals(full[list(empty.columns)].reset_index().dtypes)
    assert not empty.select_dtypes("int64").to_numpy().any()


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_excluded_is_left_out_and_named(name):
    everything, actions = REPORTS[name](frame(ROWS).drop(columns="excluded")), frame(ROWS)
    note = REPORTS[name](actions).attrs["note"]
    assert note.startswith("not counted: 1 act of cancelled events, 1 test act; include= (--include")
    assert everything.attrs["note"].startswith("counted whole")
    function = getattr(of, name.partition(" ")[0])
    included = function(actions, include=["test", "cancelled"])
    assert "not counted" not in included.attrs["note"]
    assert_frame_equal(included, function(frame(ROWS).drop(columns="excluded")), check_freq=False)
    with pytest.raises(InvalidArgument, match="nearest: cancelled"):
        function(actions, include="canceled")


@pytest.mark.parametrize("name", REPORTS)
def test_a_column_that_is_missing_is_named(name):
    with pytest.raises(MissingColumn, match="date"):
        REPORTS[name](frame(ROWS).drop(columns="date"))
    with pytest.raises(InvalidColumn, match="DataFrame"):
        REPORTS[name]("archive")


def test_spellings_are_one_source_unless_they_are_kept_apart():
    actions = frame(ROWS)
    made = of.attribution(actions, "rsvped", include="cancelled")
    assert made["people"].to_dict() == {"E-Mail": 1, "email": 1}
    actions["source"] = actions["source"].replace({"E-Mail": "Email"})
    assert of.attribution(actions, "rsvped", include="cancelled")["people"].to_dict() == {"Email": 2}
    exact = of.attribution(actions, "rsvped", include="cancelled", spelling="exact")
    assert exact["people"].to_dict() == {"Email": 1, "email": 1}


def test_an_act_that_does_not_count_makes_nobody_returning():
    rows = [ROWS[0] | {"excluded": "test"}, ROWS[6] | {"number": 2}]
    assert of.engagement(frame(rows))[["people", "new"]].values.tolist() == [[1, 1]]
    assert of.engagement(frame(rows[1:]))[["people", "new"]].values.tolist() == [[1, 0]]


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
            "nobody 'rsvpd'; nearest: rsvped",
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
