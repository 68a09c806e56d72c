"""What reports on people and change must say of acts, by loops over them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from math import sqrt
from statistics import median

import pandas as pd
import pytest

import osdi_frames as of
from tests.acts import START, Act, counted, participations


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


def label(source: str | None) -> str:
    """Return one label for all spellings of a source."""
    return "(none)" if source in (None, "", "none") else source.strip().casefold().replace("_", "-")


def by_label(report: pd.DataFrame, *names: str) -> dict[str, tuple[int, ...]]:
    """Return numbers by label, whatever spelling is shown."""
    return {
        label(key): tuple(row) for key, row in zip(report.index, report[[*names]].to_numpy(), strict=True)
    }


def newest(rows: list[Act]) -> datetime | None:
    """Return the newest date of what counts that is at most a day after the newest receipt, if there is one."""
    receipts = [row["received_at"] for row in rows if row.get("received_at")]
    dates = [row["date"] for row in counted(rows) if row["date"]]
    latest = max(receipts) + timedelta(days=1) if receipts else None
    near: list[list[datetime]] = []  # what is more than ten years from any other is far from it
    for date in sorted(date for date in dates if latest is None or date <= latest):
        if not near or date.year - near[-1][-1].year > 10:
            near.append([])
        near[-1].append(date)
    return max(near, key=lambda some: (len(some), some[-1].year >= 2000, some[0]), default=[None])[-1]


def known(rows: list[Act]) -> list[Act]:
    """Return the acts that are not later than the newest known date."""
    last = newest(rows)
    return [row for row in rows if not last or not row["date"] or row["date"] <= last]


# -- engagement, retention, repeats, hosts --


def check_engagement(rows: list[Act], actions: pd.DataFrame) -> None:
    people, first, acts = defaultdict(set), defaultdict(list), Counter()
    for row in counted(rows):
        acts[month(row["date"])] += 1
        if row["person_id"]:
            people[month(row["date"])].add(row["person_id"])
    for person, row in first_acts(rows).items():
        if person in begun(rows):
            first[month(row["date"])].append(row["is_new"])
    made = of.engagement(actions)
    assert (made["first"] + made["retained"] + made["back"] == made["people"]).all()
    last = newest(rows)
    for start, row in made.iterrows():
        assert (row["people"], row["actions"]) == (len(people[start]), acts[start])
        assert (row["first"], row["new"]) == (len(first[start]), first[start].count(True))
        known = len(first[start]) - first[start].count(None)
        assert row["known"] == known / len(first[start]) if first[start] else pd.isna(row["known"])
        before = set() if pd.isna(start) else people.get(start - pd.DateOffset(months=1), set())
        assert row["retained"] == len(people[start] & before)
        if pd.isna(start) or start >= month(last):
            assert pd.isna(row["lapsed"])
        else:
            assert row["lapsed"] == len(before - people[start])
    assert acts.keys() <= {*made.index}
    dated = made.index.dropna()
    steps = [months_since(after, before) for before, after in pairwise(dated)]
    assert all(step == 1 or step > 119 for step in steps)


def after(day: str) -> pd.Timestamp:
    """Return the end of a day, which `until` includes, or the time at which it ends."""
    return pd.Timestamp(day, tz="UTC") + timedelta(days="T" not in day)


def check_retention(rows: list[Act], actions: pd.DataFrame, until) -> None:
    made = of.retention(actions, until=until)
    started = begun(rows)  # also by an act that is set aside
    end = after(until) if until else newest(rows)
    rows = rows if until else known(rows)
    cohorts, active = defaultdict(set), defaultdict(set)
    for person, row in first_acts(rows).items():
        if person in started:
            cohorts[month(row["date"])].add(person)
    for row in participations(rows):
        active[month(row["date"])].add(row["person_id"])
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


def check_repeats(rows: list[Act], actions: pd.DataFrame) -> None:
    expected = Counter(Counter(row["person_id"] for row in participations(rows)).values())
    made = of.repeats(actions)
    assert made["people"].to_dict() == dict(sorted(expected.items()))
    assert made["share"].sum() == pytest.approx(1 if expected else 0)


def check_hosts(rows: list[Act], actions: pd.DataFrame) -> None:
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
    made = of.hosts(actions)
    assert by_label(made, "events", "rsvps") == expected
    order = [*made.drop("(none)", errors="ignore")[["events", "rsvps"]].itertuples(index=False, name=None)]
    assert order == sorted(order, reverse=True)
    assert "(none)" not in made.index[:-1]


# -- funnel, attribution --


def reached(rows: list[Act], steps: list[str], limit: timedelta) -> tuple[dict[str, tuple[Act, list]], int]:
    """Return each person's best start with the times of its steps, and how many have no start that counts."""
    last, found, begun = newest(rows), {}, set()
    dated = [row for row in counted(known(rows)) if row["person_id"] and row["date"]]
    for row in dated:
        person = row["person_id"]
        if row["action"] != steps[0]:
            continue
        begun.add(person)
        if row["date"] > last - limit:
            continue
        times = [row["date"]]
        for step in steps[1:]:
            later = [
                other["date"]
                for other in dated
                if (other["person_id"], other["action"]) == (person, step)
                and times[-1] <= other["date"] <= row["date"] + limit
            ]
            if not later:
                break
            times.append(min(later))
        if person not in found or len(found[person][1]) < len(times):
            found[person] = (row, times)
    return found, len(begun - found.keys())


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


def check_steps(rows: list[Act], actions: pd.DataFrame, steps, days) -> None:
    found, aside = reached(rows, steps, timedelta(days=days))
    made = of.funnel(actions, steps, within=f"{days}D")
    assert made.index.tolist() == steps
    chains = [times for _, times in found.values()]
    check_funnel(made, [sum(len(times) > step for times in chains) for step in range(len(steps))])
    for number, median_days in enumerate(made["median_days"]):
        took = [(times[number] - times[0]) / timedelta(days=1) for times in chains if len(times) > number]
        assert median_days == pytest.approx(median(took)) if number and took else pd.isna(median_days)
    shown = re.findall(r"not counted: (\d+) p\w+ who began", made.attrs["note"])
    assert shown == ([str(aside)] if aside else [])
    first = first_acts(known(rows))
    for touch in "start", "first":
        split = of.funnel(actions, steps, within=timedelta(days=days), by="source", touch=touch)
        starts = defaultdict(list)
        for person, (row, times) in found.items():
            starts[label((row if touch == "start" else first[person])["source"])].append(len(times))
        values = split.index.get_level_values(0).unique()
        assert {label(value) for value in values} == starts.keys()
        assert len(values) == len(starts)
        for value in values:
            numbers = starts[label(value)]
            expected = [sum(number > step for number in numbers) for step in range(len(steps))]
            check_funnel(split.loc[value], expected)


def last_touch(rows: list[Act], act: Act, days: int) -> Act:
    """Return the latest act of its person with a source, up to an act and not long before it; else the act."""
    own = [row for row in counted(rows) if row["person_id"] == act["person_id"]]
    up_to = own[: next(number for number, row in enumerate(own) if row is act) + 1]
    with_source = next((row for row in reversed(up_to) if label(row["source"]) != "(none)"), act)
    if not (act["date"] and with_source["date"]) or act["date"] - with_source["date"] > timedelta(days=days):
        return act
    return with_source


def check_attribution(rows: list[Act], actions: pd.DataFrame, to, days) -> None:
    acted: dict[str, Act] = {}
    for row in counted(rows):
        if row["person_id"] and row["action"] == to:
            acted.setdefault(row["person_id"], row)
    first = {person: row for person, row in first_acts(rows).items() if person in acted}
    last = {person: last_touch(rows, row, days) for person, row in acted.items()}
    expected = {
        touch: Counter(label(row["source"]) for row in acts.values())
        for touch, acts in {"first": first, "last": last}.items()
    }
    for touch, people in expected.items():
        made = of.attribution(actions, to, touch=touch, lookback=f"{days}D")
        assert by_label(made, "people") == {source: (count,) for source, count in people.items()}
        assert len(made) == len(people)
        assert made["share"].sum() == pytest.approx(1 if people else 0)
        assert made["people"].is_monotonic_decreasing
    passed = sum(last[person] is not act for person, act in acted.items())
    assert ("last touch: of" in made.attrs["note"]) == bool(passed)
    both = of.attribution(actions, to, touch="both", lookback=f"{days}D")
    assert by_label(both, "first_people", "last_people") == {
        source: (expected["first"][source], expected["last"][source])
        for source in expected["first"] | expected["last"]
    }


def check_growth(rows: list[Act], actions: pd.DataFrame) -> None:
    """Check who is new in each month, by the source of their first act."""
    first = {person: row for person, row in first_acts(rows).items() if person in begun(rows)}
    expected = Counter(
        (month(row["date"]), label(row["source"])) for row in first.values() if row["is_new"] is True
    )
    made = of.growth(actions)
    found = {
        (date, label(source)): count
        for source, column in made.items()
        for date, count in column.items()
        if count
    }
    assert {key: count for key, count in expected.items() if key[0]} == {
        key: count for key, count in found.items() if not pd.isna(key[0])
    }
    assert made.to_numpy().sum() == expected.total()
    assert made.sum().is_monotonic_decreasing
    unknown = sum(row["is_new"] is None for row in first.values())
    without = of.growth(actions.drop(columns="is_new"))
    for each, people in ((made, unknown), (without, len(first))):
        found = re.findall(r"not known: whether (\d+) p", each.attrs["caveat"])
        assert found == ([str(people)] if people else [])


def check_acts_by(rows: list[Act], actions: pd.DataFrame) -> None:
    """Check acts, participations and people by source, and the times of the first and the last."""
    expected = defaultdict[str, list[Act]](list)
    for row in counted(rows):
        expected[label(row["source"])].append(row)
    another = Counter(label(row["source"]) for row in participations(rows))
    made = of.acts_by(actions, "source")
    assert made["acts"].is_monotonic_decreasing
    assert by_label(made, "acts", "participations", "people") == {
        source: (len(some), another[source], len({row["person_id"] for row in some if row["person_id"]}))
        for source, some in expected.items()
    }
    for source, first, last in made[["first", "last"]].itertuples():
        dates = [row["date"] for row in expected[label(source)] if row["date"]]
        assert [None if pd.isna(time) else time for time in (first, last)] == [
            min(dates, default=None),
            max(dates, default=None),
        ]


# -- compare --


def periods(rows: list[Act], days: int, until) -> tuple[pd.Timestamp, pd.Timestamp, pd.Timestamp]:
    """Return where two periods begin, and the end: if not given, the midnight before the newest act."""
    day = (newest(rows) or START).replace(hour=0, minute=0, second=0, microsecond=0)
    end = after(until) if until else pd.Timestamp(day)
    return end - timedelta(days=2 * days), end - timedelta(days=days), end


#: The columns of `activity`.
FIGURES = (
    *("people", "first time", "new people", "signed", "rsvped", "attended"),
    *("submitted", "donated", "wrote", "responded", "hosted"),
)


def check_activity(rows: list[Act], actions: pd.DataFrame, days, until) -> None:
    """Check the people and acts of three periods, and the change from the second to the third."""
    *_, end = periods(rows, days, until)
    starts = [end - timedelta(days=days * before) for before in (3, 2, 1)]
    first, expected = first_acts(rows), {figure: [0, 0, 0] for figure in FIGURES}
    for place, start in enumerate(starts):
        stop = start + timedelta(days=days)
        within = [row for row in counted(rows) if row["date"] and start <= row["date"] < stop]
        people = {row["person_id"] for row in within if row["person_id"]}
        begin = [
            first[person]
            for person in people & begun(rows)
            if first[person]["date"] and start <= first[person]["date"] < stop
        ]
        for figure, count in [
            ("people", len(people)),
            ("first time", len(begin)),
            ("new people", sum(row["is_new"] is True for row in begin)),
            *Counter(row["action"] for row in within).items(),
        ]:
            expected[figure][place] = count
    made = of.activity(actions, f"{days}D", count=3, until=until)
    if newest(rows) or until:
        assert made.index.tolist() == [pd.Timestamp(start) for start in starts]
        assert made.to_dict("list") == expected
    else:
        assert made.empty
    changed = of.changes(actions, f"{days}D", until=until)
    assert changed[["before", "now"]].apply(list, axis=1).to_dict() == {
        figure: counts[1:] for figure, counts in expected.items() if any(counts[1:])
    }
    assert changed["change"].tolist() == (changed["now"] - changed["before"]).tolist()


def check_goals(rows: list[Act], actions: pd.DataFrame, goal: int, until) -> None:
    """Check goals of the petitions that were signed, of acts as signatures."""
    signed = [row for row in rows if row["action"] == "signed" and row["subject_id"]]
    named = {"subject_id": "petition_id", "date": "created_date"}
    signatures = actions[actions["action"].eq("signed")].rename(columns=named)
    made = of.goals(
        signatures, dict.fromkeys(sorted({row["subject_id"] for row in signed}), goal), until=until
    )
    last = newest([row for row in rows if row["action"] == "signed"])
    end = after(until) if until else pd.Timestamp(last or START).floor("D") + timedelta(days=1)
    for petition, row in made.iterrows():
        own = [each for each in counted(signed) if each["subject_id"] == petition]
        known = [each["date"] for each in own if each["date"] and (until or (last and each["date"] <= last))]
        dated = sorted(known)
        recent = sum(end - timedelta(days=28) <= date < end for date in dated)
        assert (row["signatures"], row["share"]) == (len(own), len(own) / goal)
        assert row["per_week"] == recent / 4
        reached = dated[goal - 1] if len(dated) >= goal else None
        assert (None if pd.isna(row["reached"]) else row["reached"]) == reached
        assert pd.isna(row["expected"]) == (len(own) >= goal or not recent)
        if not pd.isna(row["expected"]):
            late = timedelta(days=28) * ((goal - len(own)) / recent)
            assert abs(row["expected"] - end - late) < timedelta(milliseconds=1)


def check_comparison(rows: list[Act], actions: pd.DataFrame, days, until) -> None:
    start, middle, end = periods(rows, days, until)
    counts = {"before": Counter(), "now": Counter()}
    for row in counted(rows):
        if row["date"] and start <= row["date"] < end and row["action"] != "attended":
            period = "before" if row["date"] < middle else "now"
            counts[period][label(row["source"])] += 1
    made = of.compare(actions, f"{days}D", until=until)
    assert by_label(made, "before", "now") == {
        source: (counts["before"][source], counts["now"][source])
        for source in counts["before"] | counts["now"]
    }
    assert made["change"].tolist() == (made["now"] - made["before"]).tolist()
    assert made["change"].abs().is_monotonic_decreasing
    for row in made.itertuples():
        assert pd.isna(row.change_share) if not row.before else row.change_share == row.change / row.before
        assert row.by_chance == (row.change**2 <= 1.959963984540054**2 * (row.before + row.now))
    note, last = made.attrs["note"], newest(rows)
    assert ("the period has not ended: the newest date is" in note) == bool(last and end > last)
    assert ("not compared: the period may not have ended" in note) == bool(last and not until)
