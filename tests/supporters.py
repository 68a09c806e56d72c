"""One row a person, and people by level, counted in plain Python."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd

import osdi_frames as of
from tests.acts import Act, counted, participations
from tests.people import by_label, label, newest

ACTIONS = ("signed", "rsvped", "attended", "submitted", "donated", "wrote", "responded", "hosted")
RULES = {1: {"acts": 1}, 2: {"attended": 1, "participations": 3}, 3: {"hosted": 1, "participations": 10}}


def months_before(time: datetime, months: int) -> datetime:
    """Return the same day and hour some months before; of a shorter month the last day."""
    month = time.year * 12 + time.month - 1 - months
    for day in range(time.day, 0, -1):
        try:
            return time.replace(year=month // 12, month=month % 12 + 1, day=day)
        except ValueError:
            continue
    raise AssertionError


def of_action(rows: list[Act]) -> list[Act]:
    """Return the acts that are another participation by their action alone."""
    return [
        row for action in ACTIONS for row in participations([row for row in rows if row["action"] == action])
    ]


def person(rows: list[Act], name: str, as_of: datetime) -> dict[str, Any]:
    """Return the row of a person, of acts up to a time."""
    own = [row for row in counted(rows) if row["person_id"] == name]
    figures = dict[str, Any](counts(rows, name, as_of, None))
    figures |= {
        f"participations_{months}m": counts(rows, name, as_of, months)["participations"] for months in (12, 6)
    }
    dates = [row["date"] for row in own if row["date"]]
    figures |= {"first": min(dates, default=None), "latest": max(dates, default=None)}
    figures["days_since"] = (as_of - figures["latest"]) // timedelta(days=1) if dates else None
    figures["first_source"] = own[0]["source"]
    figures["is_lapsing"] = (
        bool(counts(rows, name, as_of, 12)["acts"]) and not counts(rows, name, as_of, 3)["acts"]
    )
    figures["level"] = level(rows, name, as_of)
    return figures


def counts(rows: list[Act], name: str, as_of: datetime, months: int | None) -> Counter[str]:
    """Return what a person did, ever or in the last months."""

    def within(some: list[Act]) -> list[Act]:
        own = [row for row in some if row["person_id"] == name]
        return (
            own
            if months is None
            else [r for r in own if r["date"] and r["date"] >= months_before(as_of, months)]
        )

    found = Counter(row["action"] for row in within(of_action(rows)))
    found["acts"] = len(within(counted(rows)))
    found["participations"] = len(within(participations(rows)))
    return found


def level(rows: list[Act], name: str, as_of: datetime) -> int:
    done = counts(rows, name, as_of, 12)
    return max(
        (number for number, rule in RULES.items() if any(done[key] >= least for key, least in rule.items())),
        default=0,
    )


def up_to(rows: list[Act], as_of: datetime) -> list[Act]:
    return [row for row in rows if not row["date"] or row["date"] < as_of]


def end_of(as_of: datetime | str | None, rows: list[Act]) -> datetime | None:
    """Return the end of the acts that count: of a day its last moment; by default the newest act is the last."""
    if isinstance(as_of, str):
        return datetime.fromisoformat(f"{as_of}T00:00:00+00:00") + timedelta(days=1)
    last = newest(rows)
    return as_of or (last and last + timedelta(microseconds=1))


def declared_dtypes(table: str) -> pd.Series:
    return of.open([]).table(table).dtypes


def check_supporters(rows: list[Act], actions: pd.DataFrame, as_of: datetime | str | None) -> None:
    """Check one row a person, of acts up to a time."""
    end = end_of(as_of, rows) or datetime(1970, 1, 1, tzinfo=UTC)
    known = up_to(rows, end)
    people = sorted({row["person_id"] for row in counted(known) if row["person_id"]})
    made = of.supporters(actions, pd.DataFrame({"person_id": ["zoe", *people[:1]]}), as_of=as_of)
    assert made.dtypes.equals(declared_dtypes("supporters"))
    made = made.set_index("person_id")
    assert made.index.tolist() == [*people, "zoe"]
    assert made.loc["zoe"].drop(["first", "latest", "days_since", "first_source", "first_title"]).eq(0).all()
    for name in people:
        for figure, value in person(known, name, end).items():
            found = made.loc[name, figure]
            assert (None if pd.isna(found) else found) == value, (name, figure)


def check_levels(rows: list[Act], actions: pd.DataFrame, before: datetime | str | None) -> None:
    """Check the people of each level, and those who moved."""
    end = end_of(None, rows)
    if end is None:
        return
    start = end_of(before, rows) if before else months_before(end, 1)
    then, now = (
        {row["person_id"] for row in counted(up_to(rows, time)) if row["person_id"]} for time in (start, end)
    )
    was = {name: level(up_to(rows, start), name, start) for name in then}
    expected = {number: Counter() for number in range(4)}
    for number in was.values():
        expected[number]["before"] += 1
    for name in now:
        row = person(up_to(rows, end), name, end)
        found = expected[row["level"]]
        found["now"] += 1
        found["first"] += name not in was
        found["up"] += name in was and was[name] < row["level"]
        found["down"] += name in was and was[name] > row["level"]
        found["lapsing"] += row["is_lapsing"]
    made = of.people_by_level(actions, before)
    if not now:
        assert made.empty
        return
    assert made.T.to_dict() == {
        number: {name: found[name] for name in made} for number, found in expected.items()
    }


def check_amounts(rows: list[Act], actions: pd.DataFrame) -> None:
    """Check what each person gave, by currency."""
    expected = dict[tuple[str, str], Decimal]()
    for row in counted(rows):
        if row["person_id"] and row["amount"] is not None:
            key = row["person_id"], row["currency"] or ""
            expected[key] = expected.get(key, Decimal(0)) + row["amount"]
    made = of.supporter_amounts(actions)
    assert made.dtypes.equals(declared_dtypes("supporter_amounts"))
    assert made.fillna({"currency": ""}).set_index(["person_id", "currency"])["amount"].to_dict() == expected
    gifts = [row for row in counted(rows) if row["amount"] is not None]
    made = of.amounts_by(actions, "source")
    assert made["gifts"].is_monotonic_decreasing
    assert by_label(made, "gifts") == {
        source: (count,) for source, count in Counter(label(row["source"]) for row in gifts).items()
    }
    by_subject = of.amounts_by(actions, "subject_id")
    titles = pd.DataFrame({"subject_id": by_subject.index, "title": by_subject.index.str.upper()})
    titled = of.amounts_by(actions, "subject_id", titles)
    shown = {subject: "" if subject == "(none)" else subject.upper() for subject in by_subject.index}
    assert titled.pop("title").fillna("").to_dict() == shown
    pd.testing.assert_frame_equal(titled, by_subject)
    for currency in made.columns.drop("gifts"):
        of_currency = [row for row in gifts if (row["currency"] or "(no currency)") == currency]
        found = by_label(made, currency)
        assert found == {
            source: (
                sum((row["amount"] for row in of_currency if label(row["source"]) == source), Decimal(0)),
            )
            for source in found
        }
