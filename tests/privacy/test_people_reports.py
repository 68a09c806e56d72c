"""Small counts of reports on people: who knows what is shown, and the sums, cannot solve for them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy.optimize import LinearConstraint, milp

import osdi_frames as of
from osdi_frames.errors import InvalidArgument
from osdi_frames.reports import suppress
from osdi_frames.reports.declared import STANDARD
from tests.acts import START, Act, frame

BELOW = 5
#: Solving takes 50 ms an example.
few = pytest.mark.parametrize("examples", [10, pytest.param(300, marks=pytest.mark.long)])

_GROUPS = st.fixed_dictionaries(
    {
        "people": st.sampled_from([1, 1, 2, 3, 4, 5, 6, 9, 14, 30]),
        "month": st.integers(0, 3),
        "source": st.sampled_from([None, "email", "web", "ads", "flyer"]),
        "then": st.lists(
            st.tuples(
                st.sampled_from(["signed", "rsvped", "rsvped", "attended"]),
                st.integers(0, 2),
                st.sampled_from([None, "email", "web"]),
            ),
            max_size=4,
        ),
    }
)


def rows_of(groups: list[dict]) -> list[Act]:
    """Return acts of groups of people who do the same."""
    rows: list[Act] = []
    for group, each in enumerate(groups):
        for person in range(each["people"]):
            month = each["month"]
            acts = [("signed", month, each["source"])]
            for action, later, source in each["then"]:
                month += later
                acts.append((action, month, source))
            rows += [
                {
                    "person_id": f"{group}-{person}",
                    "date": START + pd.Timedelta(days=31 * months + number),
                    "action": action,
                    "subject_id": "march",
                    "source": source,
                    "referrer": None,
                    "number": number + 1,
                    "is_new": number == 0 and (True, False, None)[group % 3],
                    "excluded": None,
                }
                for number, (action, months, source) in enumerate(acts)
            ]
    return sorted(rows, key=lambda row: row["date"])


ACTIONS = st.lists(_GROUPS, min_size=1, max_size=8).map(rows_of).map(frame)


def assert_open(true: Sequence[int], shown: pd.Series, *weights: Sequence[int]) -> None:
    """Solve for each small hidden count with the sum of all, and with weighted sums; 0 is shown."""
    true = np.asarray(true)
    hidden = np.flatnonzero(shown.isna())
    small = [row for row in hidden if 0 < true[row] < BELOW]
    assert not (shown.dropna().gt(0) & shown.dropna().lt(BELOW)).any()
    if not small:
        return
    sums = np.array([np.ones(len(true)), *weights])[:, hidden]
    known = LinearConstraint(sums, sums @ true[hidden], sums @ true[hidden])
    least = LinearConstraint(np.eye(len(hidden)), np.minimum(true[hidden], 1), np.inf)
    for row in small:
        objective = (hidden == row).astype("float64")
        found = [
            round(
                sign
                * milp(sign * objective, constraints=[known, least], integrality=np.ones(len(hidden))).fun
            )
            for sign in (1, -1)
        ]
        assert found[0] < found[1], (true, hidden, row)


def solved(row: np.ndarray, known: LinearConstraint) -> list[int]:
    """Return the smallest and the largest number that a sum of whole numbers from 0 can be."""
    found = [milp(sign * row, constraints=known, integrality=np.ones(len(row))) for sign in (1, -1)]
    assert all(each.status in (0, 3) for each in found)  # solved, or without bound
    return [
        sign * round(each.fun) if each.status == 0 else np.inf
        for sign, each in zip((1, -1), found, strict=True)
    ]


def in_order(suppressed: pd.DataFrame, report: pd.DataFrame) -> pd.DataFrame | None:
    """Return a suppressed report with the rows of the report, or None where it has none."""
    if suppressed.empty:
        return None
    assert {*suppressed.index} == {*report.index}
    return suppressed.reindex(report.index)


def for_actions(examples, check):
    settings(max_examples=examples)(given(ACTIONS)(check))()


def check_counts(actions):
    for report, columns in (
        (of.attribution(actions, "signed"), ["people"]),
        (of.attribution(actions, "signed", touch="both"), ["first_people", "last_people"]),
        (of.compare(actions, "M", until="2026-02"), ["before", "now"]),
        (of.repeats(actions), ["people"]),
        (of.growth(actions).sum().to_frame("new"), ["new"]),
        (of.acts_by(actions, ["action", "source"]), ["acts"]),
        (
            of.changes(actions, "M", until="2026-02").drop(
                ["people", "first time", "new people"], errors="ignore"
            ),
            ["before", "now"],
        ),
    ):
        shown = in_order(suppress(report, BELOW), report)
        for column in columns if shown is not None else ():
            weights = [report.index] if report.index.name == "participations" else []
            assert_open(report[column], shown[column], *weights)
        assert "participations" not in suppress(report, BELOW)


_PERIODS = st.lists(
    st.tuples(*[st.sampled_from([0, 0, 1, 2, 4, 5, 9, 30])] * 3, st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=6,
)


def check_engagement(periods):
    """Solve for who is first, retained and back, new, and known to be so or not, of each period."""
    true = np.array(
        [(*parts, min(new, parts[0]), min(max(new, known), parts[0])) for *parts, new, known in periods]
    )
    count, size = len(true), true.size
    one = np.eye(size).reshape(count, 5, size)
    sums = dict(zip(("first", "retained", "back", "new", "known"), one.transpose(1, 0, 2), strict=True))
    sums["people"] = sums["first"] + sums["retained"] + sums["back"]
    sums["not new"], sums["unknown"] = sums["known"] - sums["new"], sums["first"] - sums["known"]
    of_all = {name: (rows @ true.ravel()).astype(int) for name, rows in sums.items()}
    report = pd.DataFrame(
        {name: of_all[name] for name in ("people", "first", "new", "known", "retained", "back")}
    )
    report["known"] /= report["first"].where(report["first"] > 0)
    shown = in_order(suppress(report.assign(lapsed=1, actions=report["people"] + 3), BELOW), report)
    if shown is None:
        return
    assert not {"lapsed", "actions"} & {*shown}
    rows, low, high = [], [], []
    for name, each in sums.items():
        is_shown = shown[name].notna() if name in shown else np.zeros(count, bool)
        if name == "known":
            assert not (is_shown & shown["first"].isna()).any()
        least = np.minimum(of_all[name], 1) if name == "people" else 0
        rows += [*each]
        low += [*np.where(is_shown, of_all[name], least)]
        high += [*np.where(is_shown, of_all[name], np.inf)]
        if name in shown and name != "known":  # whose sum may be known
            rows.append(each.sum(axis=0))
            low.append(of_all[name].sum()), high.append(of_all[name].sum())
    constraint = LinearConstraint(np.array(rows), low, high)
    for name, each in sums.items():
        for period in np.flatnonzero((of_all[name] > 0) & (of_all[name] < BELOW)):
            bounds = solved(each[period], constraint)
            assert bounds[0] < bounds[1], (name, period, report, shown)


def check_funnel(actions):
    later = actions.iloc[:1].assign(person_id=None, date=actions["date"].max() + pd.Timedelta(days=100))
    actions = pd.concat([actions, later])  # so that everybody's time has passed
    report = of.funnel(actions, within="99D")
    shown = suppress(report, BELOW)
    people = shown["people"].dropna().tolist()
    assert not {*people} & {*range(1, BELOW)}
    assert not {before - after for before, after in itertools.pairwise(people)} & {*range(1, BELOW)}
    assert shown.index.tolist() == report.index.tolist()
    for step, row in shown.iterrows():  # shares and other columns are of counts that are shown
        before = [*report.index][max([*report.index].index(step) - 1, 0)]
        assert pd.isna(row["people"]) <= pd.isna([*row]).all()
        assert pd.isna(row["of_previous"]) or pd.notna(shown.loc[before, "people"])
    split = of.funnel(actions, within="99D", by="source")
    hidden = suppress(split, BELOW)
    for step in ("signed", "rsvped", "attended"):
        of_step = split.xs(step, level="step")
        if len(hidden):
            assert_open(of_step["people"], hidden.xs(step, level="step").reindex(of_step.index)["people"])


def check_retention(actions):
    report = of.retention(actions, until="2026-08-31")
    shown = in_order(suppress(report, BELOW), report)
    if shown is None:
        return
    assert_open(report["people"], shown["people"])
    for later in report.columns[1:]:
        active = (shown[later] * report["people"]).dropna().astype("float64").round()
        passive = (report["people"] - active).dropna()
        assert not active.between(1, BELOW - 1).any()
        assert not passive[active > 0].between(1, BELOW - 1).any()
        assert shown[later][shown["people"].isna()].isna().all()


#: How many people were at no level or at one before, a row each, and at which they are now, a column each.
_MOVES = st.integers(2, 4).flatmap(
    lambda levels: st.lists(
        st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 6, 30]), min_size=levels, max_size=levels),
        min_size=levels + 1,
        max_size=levels + 1,
    )
)


def levels_of(moves: np.ndarray, lapsing: np.ndarray) -> pd.DataFrame:
    """Return people by level, as `people_by_level` does."""
    since = moves[1:]
    columns = {
        "before": since.sum(axis=1),
        "now": moves.sum(axis=0),
        "first": moves[0],
        "up": np.triu(since, 1).sum(axis=0),
        "down": np.tril(since, -1).sum(axis=0),
        "lapsing": lapsing,
    }
    return pd.DataFrame(columns, pd.RangeIndex(len(since), name="level"))


def sums_of(size: int, levels: int) -> dict[tuple[str, int], np.ndarray]:
    """Return each count as a sum of unknown numbers: of people by both levels, then of who lapses."""
    one = [np.eye(1, size + levels, number, dtype=int)[0] for number in range(size + levels)]
    reports = [levels_of(each[:size].reshape(-1, levels), each[size:]) for each in one]
    sums = {
        (name, level): np.array([report[name][level] for report in reports])
        for name in reports[0]
        for level in range(levels)
    }
    for level in range(levels):
        came, moved = sums["first", level], sums["up", level] + sums["down", level]
        sums["stayed", level] = sums["now", level] - came - moved
        sums["left", level] = sums["before", level] - sums["stayed", level]
        sums["active", level] = sums["now", level] - sums["lapsing", level]
    return sums


def check_levels(moves, stayed, lapse):
    moves = np.array(moves)
    levels = moves.shape[1]
    moves[1:] += np.diag(stayed[:levels])
    true = np.append(moves, np.minimum(lapse[:levels], moves.sum(axis=0)))
    report = levels_of(moves, true[moves.size :])
    shown = in_order(suppress(report, BELOW), report)
    if shown is None:
        return
    sums = sums_of(moves.size, levels)
    known = {}
    for (name, level), row in sums.items():
        count = shown[name][level] if name in shown else pd.NA
        least = min(row @ true, 1) if name in shown else 0  # where 0 would be shown
        known[name, level] = (row, least, np.inf) if pd.isna(count) else (row, count, count)
    for name in shown.columns.intersection(["before", "now", "lapsing"]):  # whose sums may be known
        row = sum(sums[name, level] for level in range(levels))
        known[name, levels] = (row, row @ true, row @ true)
    constraint = LinearConstraint(*map(np.array, zip(*known.values(), strict=True)))
    for name, row in sums.items():
        if 0 < row @ true < BELOW:
            low, high = solved(row, constraint)
            assert low < high, (name, report, shown)


@few
def test_people_who_moved_between_levels_cannot_be_solved_for(examples):
    check = given(
        _MOVES,
        st.lists(st.sampled_from([0, 1, 4, 20, 90]), min_size=4, max_size=4),
        st.lists(st.sampled_from([0, 0, 2, 5, 30]), min_size=4, max_size=4),
    )(check_levels)
    settings(max_examples=10 * examples)(check)()


@few
def test_no_small_count_of_a_report_on_people_can_be_solved_for(examples):
    for_actions(examples, check_counts)


@few
def test_who_is_first_retained_or_back_cannot_be_solved_for(examples):
    settings(max_examples=5 * examples)(given(_PERIODS)(check_engagement))()


@few
def test_a_funnel_shows_no_step_of_few_people_and_none_that_few_do_not_reach(examples):
    for_actions(examples, check_funnel)


@few
def test_retention_shows_no_small_cohort_and_no_share_of_few(examples):
    for_actions(examples, check_retention)


def test_a_report_with_hidden_counts_has_no_report_on_people_and_says_so():
    source = [
        [{"osdi:signature": {"identifiers": [f"platform:{number}"], "created_date": f"2026-05-{day:02}T10:00:00Z",
          "_links": {"osdi:person": {"href": f"https://a.example/people/{person}"}}}}]
        for number, (person, day) in enumerate([*((person, 4) for person in range(30)), (1, 12), (2, 13), (2, 14)])
    ]  # fmt: skip
    made = of.report(source, min_count=BELOW)
    names = {report.name for report in STANDARD if report.function} & {*of.report(source)}
    assert {"changes", "engagement", "repeats"} <= names
    assert not names & {*made}
    [line] = [line for line in made.notes if line.startswith("not made, as they would reveal some: ")]
    assert {"People retained and lapsed by month", "People by how often they took part"} <= {
        *line.partition(": ")[2].split(", ")
    }


def test_people_who_acted_any_number_of_times_are_hidden_in_few_steps():
    """A search through all exchanges of three rows would take hours here."""
    acts = pd.Index([1, 2, *range(3, 1000)], name="participations")
    people = pd.Series([5000, 3000, *[1] * 997], acts)
    shown = suppress(pd.DataFrame({"people": people, "share": people / people.sum()}), BELOW)
    assert shown["people"].isna().all()
    assert len(shown) == len(acts)


def test_hosts_are_people_and_are_not_published():
    with pytest.raises(InvalidArgument, match="a row for each person"):
        suppress(of.hosts(frame(rows_of([]))))


def test_sums_of_money_are_not_published():
    given = pd.DataFrame({"page": ["park"] * 9, "amount": 5, "currency": "USD"})
    with pytest.raises(InvalidArgument, match="acts_by counts the same acts"):
        suppress(of.amounts_by(given, "page"))


def test_events_to_come_stay_when_their_rsvps_are_hidden():
    events = [
        {"title": title, "start_date": f"2026-05-0{day}T18:00:00Z", "total_accepted": rsvps, "capacity": 50}
        for day, (title, rsvps) in enumerate({"March": 3, "Picnic": 30, "Vigil": 9}.items(), 1)
    ]
    listed = of.upcoming(of.read_events(events), now="2026-05-01")
    shown = suppress(listed)
    assert shown.index.tolist() == ["March", "Picnic", "Vigil"]
    assert shown["rsvps"].fillna(-1).tolist() == [-1, 30, -1]
    assert shown["seats_left"].fillna(-1).tolist() == [-1, 20, -1]
    public = ["start_date", "place", "capacity", "status"]
    pd.testing.assert_frame_equal(shown[public], listed[public])
    assert shown.loc[["March", "Vigil"]].drop(columns=public).isna().all(axis=None)
    assert suppress(listed.iloc[:1]).empty


def test_of_people_by_level_only_single_counts_are_hidden():
    """One person moved to level 3, one back from it, and three came to level 2."""
    moves = np.array([[0, 63, 3, 0], [1367, 111, 1, 0], [76, 679, 28, 0], [0, 0, 697, 1], [0, 0, 1, 20]])
    report = levels_of(moves, [0, 483, 517, 7])
    shown = suppress(report, BELOW)
    assert {name: shown.index[shown[name].isna()].tolist() for name in report} == {
        "before": [],
        "now": [],
        "first": [1, 2],
        "up": [3],
        "down": [1, 2],
        "lapsing": [],
    }


def test_what_is_suppressed_is_drawn():
    people = {
        "people": 6,
        "month": 0,
        "source": "email",
        "then": [("rsvped", 1, "web"), ("attended", 1, None)],
    }
    actions = frame(
        rows_of([people, people | {"people": 2, "source": "ads"}, people | {"people": 30, "month": 2}])
    )
    for name, report in {
        "engagement": of.engagement(actions),
        "retention": of.retention(actions),
        "repeats": of.repeats(actions),
        "funnel": of.funnel(actions, by="source"),
        "attribution": of.attribution(actions, "signed", touch="both"),
        "growth": of.growth(actions),
        "compare": of.compare(actions, "M"),
        "weekday_hours": of.weekday_hours(of.utc_to_local(actions, timezone="UTC")),
    }.items():
        getattr(of.plots, name)(
            suppress(report, BELOW), ax=Figure().subplots()
        ).figure.draw_without_rendering()


def test_of_what_is_not_small_as_little_as_possible_is_hidden():
    report = pd.DataFrame(
        {"people": [20, 9, 7, 1], "share": [0.5, 0.2, 0.2, 0.1]}, ["email", "web", "flyer", "ann"]
    )
    assert suppress(report)["people"].dropna().tolist() == [20, 9]
    change = pd.DataFrame(
        {"before": [20, 9, 7, 0], "now": [21, 9, 6, 1], "change": [1, 0, -1, 1], "change_share": 0.1}
    )
    assert suppress(change)["now"].dropna().tolist() == [21, 9]
    acts = pd.DataFrame(
        {"people": [50, 40, 30, 20, 2], "share": 0.2}, pd.Index([1, 2, 3, 4, 5], name="participations")
    )
    assert suppress(acts)["people"].dropna().tolist() == [50, 40]
