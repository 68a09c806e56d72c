"""One row a person: how they took part, and their level; what they gave; hosts; and how many are at each level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from osdi_frames.clock import TimeLike
from osdi_frames.errors import InvalidArgument
from osdi_frames.frames import as_frame
from osdi_frames.frames import frame as to_frame
from osdi_frames.messages import nearest, quoted
from osdi_frames.reports.acts import Acts, noted
from osdi_frames.reports.columns import converted, refuse_lacking, text
from osdi_frames.reports.known import end_of
from osdi_frames.reports.making import with_titles
from osdi_frames.reports.titles import names_of
from osdi_frames.tables.actions import ACTION_NAMES
from osdi_frames.tables.schema import NONE, Table
from osdi_frames.tables.supporters import SUPPORTER_AMOUNTS, SUPPORTERS

#: Months within which somebody acted who can lapse, and the last of these in which they did not.
_ACTIVE, _QUIET = 12, 3
#: The end of acts just after the newest one.
_AFTER: Final = pd.Timedelta(microseconds=1)
#: What levels can count.
_FIGURES: Final = ("acts", "participations", *ACTION_NAMES)
_COUNTS: Final = (*_FIGURES, "participations_12m", "participations_6m", "level")


@dataclass(frozen=True, slots=True)
class Levels:
    """The rules by which people are at a level: the highest of which they reach one number, else 0.

    A rule names ``acts``, ``participations`` or an action, and the smallest number of it in the last months.

    >>> Levels({1: {"acts": 1}, 2: {"attended": 1, "donated": 2}}, months=6).months
    6
    """

    rules: Mapping[int, Mapping[str, int]] = field(
        default_factory=lambda: {
            1: {"acts": 1},
            2: {"attended": 1, "participations": 3},
            3: {"hosted": 1, "participations": 10},
        }
    )
    months: int = 12

    def __post_init__(self) -> None:
        for level, rule in self.rules.items():
            if not isinstance(level, int) or level < 1:
                raise InvalidArgument(f"a level is a number from 1, not {quoted(level)}")
            for name, least in rule.items():
                if name not in _FIGURES:
                    raise InvalidArgument(f"a level counts no {quoted(name)}; {nearest(name, _FIGURES)}")
                if not isinstance(least, int) or least < 1:
                    raise InvalidArgument(f"level {level}: {name} is a number from 1, not {quoted(least)}")
        if not isinstance(self.months, int) or self.months < 1:
            raise InvalidArgument(f"months is a number from 1, not {quoted(self.months)}")

    @property
    def figures(self) -> list[str]:
        """What the rules count."""
        return [*dict.fromkeys(name for rule in self.rules.values() for name in rule)]

    def of(self, counts: pd.DataFrame) -> pd.Series:
        """Return the level of each person, given what they did in the last months."""
        level = pd.Series(0, counts.index, dtype="int64")
        for number, rule in sorted(self.rules.items()):
            reached = [counts[name] >= least for name, least in rule.items()]
            level = level.mask(np.logical_or.reduce(reached), number) if reached else level
        return level


@dataclass(frozen=True, slots=True)
class _Persons:
    """What people did, of acts in order of time."""

    rows: pd.DataFrame
    """Their acts; `person` is the number of the person, in the order of their first acts."""
    count: int
    """How many they are."""
    are_counted: Mapping[str, NDArray[np.bool_]]
    """Which acts each figure counts."""

    @classmethod
    def of(cls, acts: Acts) -> _Persons:
        """Return what the people of acts did, of which none is of an unknown person."""
        person, people = pd.factorize(acts.rows["person"])
        action, of_action = acts.rows["action"], acts.are_participations(of_action=True)
        are_counted = {
            "acts": np.ones(len(person), dtype=bool),
            "participations": acts.are_participations(),
            **{name: of_action & (action == name).to_numpy() for name in ACTION_NAMES},
        }
        return cls(acts.rows.assign(person=person), len(people), are_counted)

    def counts(
        self, end: pd.Timestamp, months: int | None = None, figures: Iterable[str] = _FIGURES
    ) -> pd.DataFrame:
        """Return what each person did before a time, ever or in the last months: a column for each figure."""
        is_within = ~(self.rows["clock"] >= end)
        if months is not None:
            is_within &= self.rows["clock"] >= _months_before(end, months)
        within, person = is_within.to_numpy(), self.rows["person"].to_numpy()
        counts = {
            name: np.bincount(person[within & self.are_counted[name]], minlength=self.count)
            for name in figures
        }
        return pd.DataFrame(counts, range(self.count)).astype("int64")

    def levels(self, end: pd.Timestamp, levels: Levels) -> pd.Series:
        """Return the level at a time of each person who had acted."""
        had_acted = self.counts(end, None, ["acts"])["acts"] > 0
        return levels.of(self.counts(end, levels.months, levels.figures))[had_acted]

    def are_lapsing(self, end: pd.Timestamp) -> pd.Series:
        """Return whether each person acted in the year before a time, and not in the last months."""
        year, quiet = (self.counts(end, months, ["acts"])["acts"] for months in (_ACTIVE, _QUIET))
        return (year > 0) & (quiet == 0)


def _months_before(end: pd.Timestamp, months: int) -> pd.Timestamp:
    """Return the time some months before another; of the first year there is, the beginning."""
    try:
        return end - pd.DateOffset(months=months)
    except (ValueError, OverflowError):
        return pd.Timestamp(year=1, month=1, day=1)


def _known(
    actions: pd.DataFrame,
    as_of: TimeLike | None,
    now: TimeLike | None,
    include: Iterable[str],
    timezone: str | None,
    *needs: str,
    report: str,
) -> tuple[Acts, pd.Timestamp, list[str]]:
    """Return the acts with their people, the end of those that count, and the note on doubtful dates."""
    needs = ("action", "subject_id", *needs)
    acts = Acts.of(
        actions, *needs, report=report, include=include, by="person_id", now=now, timezone=timezone
    )
    if as_of is not None:
        return acts, end_of(as_of, now, acts.zone, report=report, argument="as_of"), []
    acts, notes = acts.without_doubtful()
    newest = acts.known.newest
    return acts, (pd.Timestamp(0) if pd.isna(newest) else newest) + _AFTER, notes


def supporters(
    actions: pd.DataFrame,
    people: pd.DataFrame | None = None,
    *,
    as_of: TimeLike | None = None,
    levels: Levels = Levels(),
    now: TimeLike | None = None,
    timezone: str | None = None,
    include: Iterable[str] = (),
) -> pd.DataFrame:
    """Return one row a person: how often, when and how they took part, and their level.

    A person takes part in a subject once (see `repeats`), at the first act of it; when somebody acted is decided by any
    act. Acts without a date count ever, and in no last months. Do not publish it, as each of its rows is a person.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action, subject_id, source, title and received_at, as
        ``osdi_frames.open(source).actions()`` returns it
    people
        one row per person, with person_id: those who never acted are rows, too
    as_of
        the end of the acts that count: a day, month or year, the last one included, or a time. By default the newest
        act without a doubtful date (see `compare`)
    levels
        the rules of the levels. By default 1 is any act in twelve months, 2 who came to an event or took part three
        times, 3 who hosted or took part ten times
    now
        as for `compare`
    timezone
        the zone of days, as for `engagement`
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others

    Returns
    -------
    DataFrame
        in the order of person_id, with the columns and dtypes of the table ``supporters``

        - person_id: the person
        - acts: the number of acts
        - participations, participations_12m, participations_6m: the number of participations, ever, in the twelve and
          in the six months before `as_of`
        - signed, rsvped, attended, hosted, submitted, donated, wrote, responded: the number of participations by each
          action alone; who came after an RSVP has one of both
        - first, latest: the times of the first and of the latest act (UTC)
        - days_since: the number of whole days from the latest act to `as_of`
        - first_source, first_title: the source and the title of the first act
        - is_lapsing: whether they acted in the twelve months before `as_of`, and not in the last three
        - level: 0, or the highest level of `levels` that they reach

    Raises
    ------
    MissingColumn
        a frame lacks a needed column
    InvalidArgument
        `as_of` is not a time

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "ann"],
    ...     "date": pd.to_datetime(["2025-05-01", "2026-01-09", "2026-06-02", "2026-06-20"], utc=True),
    ...     "action": ["signed", "signed", "rsvped", "attended"],
    ...     "subject_id": ["park", "park", "march", "march"],
    ...     "source": ["email", None, "web", None],
    ...     "title": "Park",
    ... })
    >>> table = supporters(actions)
    >>> table[["person_id", "participations", "participations_6m", "days_since", "is_lapsing", "level"]]
      person_id  participations  participations_6m  days_since  is_lapsing  level
    0       ann               2                  1           0       False      2
    1       bob               1                  1         162        True      1
    """
    acts, end, notes = _known(actions, as_of, now, include, timezone, "source", "title", report="supporters")
    counted_acts = acts.only((acts.rows["person"] >= 0) & ~(acts.rows["clock"] >= end))
    persons = _Persons.of(counted_acts)
    first = persons.rows.drop_duplicates("person")
    ids = counted_acts.person_ids(first.index)
    by_person = persons.rows.groupby("person")
    dates = by_person["date"].agg(["min", "max"])
    table = (
        persons.counts(end)
        .assign(
            participations_12m=persons.counts(end, 12, ["participations"])["participations"],
            participations_6m=persons.counts(end, 6, ["participations"])["participations"],
            first=dates["min"],
            latest=dates["max"],
            days_since=(end - by_person["clock"].max()).dt.days.astype("Int64"),
            first_source=first["source"].array,
            first_title=first["title"].array,
            is_lapsing=persons.are_lapsing(end),
            level=persons.levels(end, levels),
        )
        .set_axis(pd.Index(ids, name="person_id"))
    )
    table = _with_others(table, people) if people is not None else table
    return noted(_declared(SUPPORTERS, table.sort_index()), acts.notes, notes)


def _declared(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows, indexed by their first columns, with the columns and dtypes of a declared table."""
    schema = table.schema()
    return to_frame(pa.Table.from_pandas(rows.reset_index()[schema.names], schema, preserve_index=False))


def _with_others(table: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the people who never acted."""
    people = as_frame(people, caller="supporters", columns=["person_id"])
    refuse_lacking(people, ["person_id"], name="people", report="supporters")
    ids = converted(people["person_id"], text, report="supporters").dropna()
    every = table.index.union(pd.Index(ids[ids.str.strip() != ""].unique()), sort=False).rename("person_id")
    nothing = dict.fromkeys(_COUNTS, 0) | {"is_lapsing": False}
    return table.reindex(every).fillna(nothing).astype({name: table[name].dtype for name in nothing})


def supporter_amounts(
    actions: pd.DataFrame,
    *,
    as_of: TimeLike | None = None,
    timezone: str | None = None,
    include: Iterable[str] = (),
) -> pd.DataFrame:
    """Return what each person gave, one row a person and currency: donations and tickets.

    Do not publish it, as each of its rows is a person. Amounts of different currencies are never added.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action, subject_id, amount and currency, as
        ``osdi_frames.open(source).actions()`` returns it
    as_of
        the end of the acts that count, as for `supporters`; by default all count
    timezone
        the zone of days, as for `engagement`
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others

    Returns
    -------
    DataFrame
        in the order of person_id and currency, with the columns and dtypes of the table ``supporter_amounts``

        - person_id, currency: the person, and the code of the currency, missing of amounts without one
        - amount: the sum, an exact decimal in units of the currency. As pandas has no ``nlargest`` of decimals, sort by
          it: ``.sort_values("amount", ascending=False).head(10)``

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        `as_of` is not a time

    Examples
    --------
    >>> from decimal import Decimal
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "ann", "bob"],
    ...     "date": pd.Timestamp("2026-05-01", tz="UTC"),
    ...     "action": "donated",
    ...     "subject_id": "park",
    ...     "amount": [Decimal("5.00"), Decimal("2.50"), Decimal("9.00")],
    ...     "currency": ["USD", "USD", "EUR"],
    ... })
    >>> supporter_amounts(actions).sort_values("amount", ascending=False)
      person_id currency  amount
    1       bob      EUR    9.00
    0       ann      USD    7.50
    """
    report = "supporter_amounts"
    acts = Acts.of(
        actions, "amount", "currency", report=report, include=include, by="person_id", timezone=timezone
    )
    rows = acts.rows.assign(person_id=acts.person_ids(acts.rows.index))
    if as_of is not None:
        rows = rows[~(rows["clock"] >= end_of(as_of, None, acts.zone, report=report, argument="as_of"))]
    given = rows.dropna(subset=["person_id", "amount"])
    sums = given.groupby(["person_id", "currency"], dropna=False)[["amount"]].sum()
    return noted(_declared(SUPPORTER_AMOUNTS, sums), acts.notes)


def hosts(
    actions: pd.DataFrame, people: pd.DataFrame | None = None, *, include: Iterable[str] = ()
) -> pd.DataFrame:
    """Count the events of each host, most first, and the RSVPs to them.

    An event with two hosts counts for both, so the columns have no total. RSVPs to events without a known host are
    counted in the row ``(none)``. Do not publish this report, as each of its rows is a person.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action and subject_id, which is the event's id in `hosted` and `rsvped`
    people
        one row per person, with person_id, given_name and family_name: adds the column `title`, the names of hosts
    include
        reasons of the column `excluded` whose acts to count nevertheless; the attribute `note` has the number of the
        others

    Returns
    -------
    DataFrame
        indexed by person_id, most events first, then most RSVPs, then in its order; the row ``(none)`` is last

        - events: the number of events that they hosted; in the row ``(none)`` that of events with an RSVP
        - rsvps: the number of RSVPs to these events, with those of the hosts themselves
        - rsvps_per_event: rsvps over events

    Raises
    ------
    MissingColumn
        the frame lacks a needed column

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "cat", "cat"],
    ...     "date": pd.Timestamp("2026-05-01", tz="UTC"),
    ...     "action": ["hosted", "rsvped", "rsvped", "rsvped"],
    ...     "subject_id": ["march", "march", "march", "picnic"],
    ... })
    >>> hosts(actions)["rsvps"].to_dict()
    {'ann': 2, '(none)': 1}
    """
    acts = Acts.of(actions, "action", "subject_id", report="hosts", include=include, by="person_id")
    rows = acts.rows.astype({"subject_id": "str"})
    rows = rows.assign(host=acts.person_ids(rows.index))
    hosted = rows[rows["action"] == "hosted"].dropna(subset=["host", "subject_id"])
    hosted = hosted[["host", "subject_id"]].drop_duplicates()
    rsvps = rows.loc[rows["action"] == "rsvped", ["subject_id"]].assign(rsvps=1)
    by_event = rsvps.groupby("subject_id", dropna=False, as_index=False).sum()
    pairs = hosted.merge(by_event, on="subject_id", how="outer").fillna({"host": NONE, "rsvps": 0})
    by_host = pairs.groupby("host")
    table = pd.DataFrame({"events": by_host["subject_id"].count(), "rsvps": by_host["rsvps"].sum()}).astype(
        "int64"
    )
    table["rsvps_per_event"] = table["rsvps"] / table["events"].where(table["events"] > 0)
    table = table.sort_values(["events", "rsvps"], ascending=False, kind="stable").rename_axis("person_id")
    is_known = table.index != NONE
    table = pd.concat([table[is_known], table[~is_known]])
    if people is not None:
        names = names_of(people, report="hosts")
        table = with_titles(table, names, "person_id", argument="people", report="hosts")
    return noted(table, [acts.note])


def people_by_level(
    actions: pd.DataFrame,
    before: TimeLike | None = None,
    *,
    as_of: TimeLike | None = None,
    levels: Levels = Levels(),
    now: TimeLike | None = None,
    timezone: str | None = None,
    include: Iterable[str] = (),
) -> pd.DataFrame:
    """Count the people at each level at two times, and those who moved between them.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action, subject_id and received_at, as
        ``osdi_frames.open(source).actions()`` returns it
    before
        the earlier end, as `as_of`: a day, month or year, the last one included, or a time; by default a month before
        `as_of`
    as_of, levels, now, timezone, include
        as for `supporters`

    Returns
    -------
    DataFrame
        indexed by level, from 0: those who acted, but reach none; without rows if nobody acted

        - before, now: the number of people at the level at the two times
        - first: the number of people at the level now whose first act is between the two times
        - up, down: the number of people at the level now who were at a lower or at a higher one before
        - lapsing: the number of people at the level now who acted in the twelve months before `as_of`, and not in the
          last three

    Raises
    ------
    MissingColumn
        the frame lacks a needed column
    InvalidArgument
        `before` or `as_of` is not a time

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-09", "2026-06-20"], utc=True),
    ...     "action": ["signed", "signed", "attended"],
    ...     "subject_id": ["park", "park", "march"],
    ... })
    >>> people_by_level(actions)[["before", "now", "up"]].loc[[1, 2]].to_dict("list")
    {'before': [2, 0], 'now': [1, 1], 'up': [0, 1]}

    Since the end of a day, of which its acts are a part:

    >>> people_by_level(actions, before="2026-05-01", as_of="2026-05-31")[["before", "now", "first"]].loc[1].to_dict()
    {'before': 1, 'now': 2, 'first': 1}
    """
    acts, end, notes = _known(actions, as_of, now, include, timezone, report="people_by_level")
    start = _months_before(end, 1)
    if before is not None:
        start = end_of(before, now, acts.zone, report="people_by_level", argument="before")
    persons = _Persons.of(acts.only(acts.rows["person"] >= 0))
    levels_before, levels_now = persons.levels(start, levels), persons.levels(end, levels)
    was = levels_before.reindex(levels_now.index)
    columns = {
        "before": levels_before,
        "now": levels_now,
        "first": levels_now[was.isna()],
        "up": levels_now[was < levels_now],
        "down": levels_now[was > levels_now],
        "lapsing": levels_now[persons.are_lapsing(end)[levels_now.index]],
    }
    index = pd.RangeIndex(max(levels.rules, default=0) + 1, name="level")
    counts = {name: level.value_counts().reindex(index, fill_value=0) for name, level in columns.items()}
    table = pd.DataFrame(counts, index).astype("int64")
    return noted(table if len(levels_now) else table.iloc[:0], acts.notes, notes)
