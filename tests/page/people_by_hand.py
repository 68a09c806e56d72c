"""What each figure of the page on people is: computed with pandas from the acts of `figures_by_hand`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd

from tests.page.figures_by_hand import (
    DAY,
    NONE,
    Cells,
    Labels,
    Table,
    Weeks,
    days,
    grouped,
    number,
    share,
    shown,
    takes_part,
)


def engagement(acts: pd.DataFrame) -> Table:
    """Return for each month who acted: for the first time, as in the month before, or again; and who did so no more."""
    of_month = {each: set(rows["person"].dropna()) for each, rows in acts.groupby("month")}

    def cells(this: pd.Period) -> Cells:
        rows, people, before = acts[acts["month"] == this], of_month[this], of_month.get(this - 1, set())
        first, retained = rows["is_first"].sum(), len(people & before)
        counts = [len(people), first, rows["is_new"].sum()]
        others = [retained, len(people) - first - retained]
        lapsed = "–" if this == acts["month"].max() else number(len(before - people))
        known = share(rows["is_known"].sum(), first)
        return [*map(number, counts), known, *map(number, others), lapsed, number(len(rows))]

    def together(months: list[Labels]) -> Cells:
        rows = acts[acts["month"].astype("str").isin([label for (label,) in months])]
        first = [number(rows["is_first"].sum()), number(rows["is_new"].sum())]
        return ["–", *first, "–", "–", "–", "–", number(len(rows))]

    return Table({(str(this),): cells(this) for this in of_month}, together)


def growth(acts: pd.DataFrame, *keys: tuple[str, Callable[[Any], str]]) -> Table:
    """Return the people whom acts brought who were not on the list before, by columns as they are shown.

    Of the last week those who took part for the first time, and those of whom nobody knows whether they are new, are
    counted beside.
    """
    is_now = Weeks.of(acts).both(acts["date"])[1] & acts["is_first"]
    first = acts[acts["is_new"] | is_now]

    def measure(rows: pd.DataFrame, **_: Any) -> Cells:
        now = rows[is_now[rows.index]]
        counts = (rows["is_new"].sum(), now["is_new"].sum(), len(now), (~now["is_known"]).sum())
        return [number(count) for count in counts]

    return grouped(first, [first[name].map(as_shown) for name, as_shown in keys], measure)


def furthest(times: dict[str, list[pd.Timestamp]], steps: Sequence[str]) -> list[pd.Timestamp]:
    """Return when one person's longest chain of steps within 30 days was reached, of equal ones the earliest."""
    best: list[pd.Timestamp] = []
    for start in times[steps[0]]:
        chain = [start]
        for step in steps[1:]:
            later = [time for time in times.get(step, ()) if chain[-1] <= time <= start + 30 * DAY]
            if not later:
                break
            chain.append(min(later))
        best = chain if len(chain) > len(best) else best
    return best


def wilson(part: int, whole: int) -> Cells:
    """Return the 95% interval of a share, by Wilson."""
    z, p = 1.959964, part / whole
    middle = (p + z**2 / (2 * whole)) / (1 + z**2 / whole)
    half = z * math.sqrt(p * (1 - p) / whole + z**2 / (4 * whole**2)) / (1 + z**2 / whole)
    return [f"{max(middle - half, 0):.1%}", f"{min(middle + half, 1):.1%}"]


def funnel(acts: pd.DataFrame, newest: pd.Timestamp) -> Table:
    """Return how far people came within 30 days, of whom these have passed."""
    steps = ("signed", "rsvped", "attended")
    is_late = (acts["action"] == "signed") & (acts["date"] > newest - 30 * DAY)
    times: dict[str, dict[str, list[pd.Timestamp]]] = defaultdict(lambda: defaultdict(list))
    for act in acts[~is_late].dropna(subset="person").itertuples():
        times[act.person][act.action].append(act.date)
    chains = [furthest(of, steps) for of in times.values() if "signed" in of]
    counts = [sum(len(chain) > step for chain in chains) for step in range(len(steps))]
    rows: dict[Labels, Cells] = {("signed",): [number(counts[0]), "100.0%", "–", "–", "–", "–"]}
    for step in range(1, len(steps)):
        took = pd.Series([chain[step] - chain[0] for chain in chains if len(chain) > step])
        median = f"{took.median() / DAY:,.1f}" if len(took) else "–"
        shares = [share(counts[step], counts[0]), share(counts[step], counts[step - 1])]
        rows[(shown(steps[step]),)] = [
            number(counts[step]),
            *shares,
            *wilson(counts[step], counts[0]),
            median,
        ]
    return Table(rows)


def attribution(acts: pd.DataFrame) -> Table:
    """Return the people who RSVPed by the source of their first act, and by that of their first RSVP.

    Where this has none, it is that of their latest act with a source in the 90 days before.
    """
    first = acts.drop_duplicates("person").set_index("person")["source"]
    rsvped = acts[acts["action"] == "rsvped"].dropna(subset="person").drop_duplicates("person")
    last = dict(zip(rsvped["person"], rsvped["source"], strict=True))
    with_source = acts[acts["source"] != NONE]
    for rsvp in rsvped[rsvped["source"] == NONE].itertuples():
        earlier = with_source.loc[: rsvp.Index]
        sources = earlier["source"][
            (earlier["person"] == rsvp.person) & (earlier["date"] >= rsvp.date - 90 * DAY)
        ]
        last[rsvp.person] = sources.iloc[-1] if len(sources) else NONE
    people = pd.DataFrame({"first": first[rsvped["person"]], "last": pd.Series(last)})

    def cells(sources: Iterable[Labels]) -> Cells:
        counts = [people[touch].isin([source for (source,) in sources]).sum() for touch in people]
        return [cell for count in counts for cell in (number(count), share(count, len(people)))]

    every = {(source,) for touch in people for source in people[touch]}
    return Table({label: cells([label]) for label in every}, cells)


def retention(acts: pd.DataFrame) -> Table:
    """Return the shares of those of one first month who took part anew in each later month that has ended."""
    first = acts[acts["is_first"]].set_index("person")["month"]
    newest = acts["month"].max()
    active = acts[acts["takes_part"]].groupby("month")["person"].agg(set)

    def cells(this: pd.Period) -> Cells:
        cohort = set(first.index[first == this])
        months = [this + later for later in range(13)]
        again = [len(cohort & active.get(each, set())) for each in months]
        shares = [share(count, len(cohort)) for count in again]
        return [
            number(len(cohort)),
            *("–" if each >= newest else of for each, of in zip(months, shares, strict=True)),
        ]

    def together(months: list[Labels]) -> Cells:
        return [number(first.astype("str").isin([label for (label,) in months]).sum()), *["–"] * 13]

    return Table({(str(this),): cells(this) for this in first.unique()}, together)


def levels(acts: pd.DataFrame, end: pd.Timestamp) -> pd.Series:
    """Return the level at a time of each person who had acted."""
    until = acts[acts["person"].notna() & (acts["date"] <= end)]
    year = until[until["date"] > end - pd.DateOffset(months=12)]
    acted, hosted = (
        year["person"][year["is_new_kind"] & (year["action"] == action)] for action in ("attended", "hosted")
    )
    times = year["person"][year["takes_part"]].value_counts()
    level = pd.Series(0, until["person"].unique())
    level[level.index.isin(year["person"])] = 1
    level[level.index.isin(acted) | level.index.isin(times.index[times >= 3])] = 2
    level[level.index.isin(hosted) | level.index.isin(times.index[times >= 10])] = 3
    return level


def people_by_level(acts: pd.DataFrame, newest: pd.Timestamp) -> Table:
    """Return the people at each level a month ago and now, who moved, and who acted in a year but no quarter."""
    acts = acts.assign(is_new_kind=takes_part(acts, {}))
    before, now = levels(acts, newest - pd.DateOffset(months=1)), levels(acts, newest)
    year, quarter = (
        set(
            acts["person"][
                acts["date"].between(newest - pd.DateOffset(months=months), newest, inclusive="right")
            ]
        )
        for months in (12, 3)
    )
    was = before.reindex(now.index)
    people = {
        "before": before,
        "now": now,
        "first": now[was.isna()],
        "up": now[was < now],
        "down": now[was > now],
        "lapsing": now[now.index.isin(year - quarter)],
    }

    def cells(wanted: Iterable[Labels]) -> Cells:
        return [number(of.isin([int(level) for (level,) in wanted]).sum()) for of in people.values()]

    return Table({(str(level),): cells([(str(level),)]) for level in range(4)}, cells)


def repeats(acts: pd.DataFrame) -> Table:
    """Return the people who took part once, twice, and so on."""
    times = acts["person"][acts["takes_part"]].value_counts()

    def cells(wanted: Iterable[Labels]) -> Cells:
        people = times.isin([int(count) for (count,) in wanted]).sum()
        return [number(people), share(people, len(times))]

    return Table({(str(count),): cells([(str(count),)]) for count in times.unique()}, cells)


def written(acts: pd.DataFrame) -> Table:
    """Return letters, forms and answers to surveys, participations by these, and their people, who are no sum."""
    some = acts[acts["action"].isin(["wrote", "submitted", "responded"])]

    def measure(rows: pd.DataFrame, *, alone: bool) -> Cells:
        people = number(rows["person"].nunique()) if alone else "–"
        return [number(len(rows)), number(rows["takes_part"].sum()), people, *days(rows["date"])]

    return grouped(some, [some["action"].map(shown), some["title"]], measure)


def amounts(acts: pd.DataFrame) -> Table:
    """Return the gifts with an amount, and their sum; all of the sample are in one currency."""
    given = acts[acts["amount"].notna()]
    assert {*given["currency"].str.upper()} == {"USD"}
    given = given.assign(amount=given["amount"].map(Decimal))

    def measure(rows: pd.DataFrame, *, alone: bool) -> Cells:
        return [number(len(rows)), f"{rows['amount'].sum():,.2f}"]

    return grouped(given, [given["action"].map(shown), given["title"]], measure)
