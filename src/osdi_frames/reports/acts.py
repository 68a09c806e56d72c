"""The acts that reports on people count, in order of time; and the rows that are their person's first act."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.clock import TimeLike
from osdi_frames.errors import InvalidArgument
from osdi_frames.frames import as_frame
from osdi_frames.messages import counted, nearest, quoted
from osdi_frames.reports import exclusion
from osdi_frames.reports.columns import (
    Clock,
    Convert,
    amount,
    are_first,
    category,
    convert_columns,
    converted,
    identity,
    maybe,
    numbers_of,
    refuse_lacking,
    text,
    utc,
    whole,
    zone_for,
    zone_note,
)
from osdi_frames.reports.groups import By, Groups, group, named_keys
from osdi_frames.reports.known import RECEIPTS, Known, latest_time
from osdi_frames.reports.measures import IS_NEW
from osdi_frames.reports.spelling import NO_SOURCE, Spelling, checked_spelling, contexts
from osdi_frames.tables.actions import ACTION_NAMES, ACTS

#: The table of each action, and the actions that are another participation each day, and each time.
_TABLES: Final = {act.action: act.table.name for act in ACTS}
_DAILY, _EACH = ([act.action for act in ACTS if act.once == once] for once in ("a day", "each"))
#: The call that reads a frame of acts.
READER: Final = "osdi_frames.open(source).actions()"

#: The tables of which each row is an act, with the declaration of this act.
OF_ACTS: Final = {act.table.name: act for act in ACTS if act.person == "person_id" and not act.only}
#: What a note begins with that says of how many people it is not known whether they are new.
UNKNOWN_NEW: Final = "not known: whether"
#: The columns of acts that `mark_first_acts` needs.
FIRST_ACTS_NEED: Final = ("person_id", "date", "action", "subject_id", "is_first", IS_NEW)

_NEEDS: Final[Mapping[str, Convert]] = {
    "person_id": identity,
    "date": utc,
    "action": category,
    "subject_id": category,
    "number": whole,
    IS_NEW: maybe,
    "source": text,
    "title": text,
    "amount": amount,
    "currency": text,
}


@dataclass(frozen=True)
class Acts:
    """The counted acts of a frame in order of time, those without a date last."""

    report: str
    """The name of the report that counts them."""
    rows: pd.DataFrame
    """The converted columns that the report needs, numbered from 0, and the wall clock of `date`, as `clock`.

    Instead of `person_id` they have `person`, the number of the person from 0, and -1 for an unknown one; and `place`,
    the number of the row in `frame`.
    """
    frame: pd.DataFrame
    """The columns to group by, not converted, of all acts in their order."""
    started: NDArray[np.bool_]
    """Whether each person's first act in the archive is in the frame, counted or not."""
    latest: pd.Timestamp | None
    """The latest time that an act can have, by the clock; None if unknown."""
    zone: tzinfo
    """The zone of the clock."""
    note: str
    """A note on acts that are not counted, and on times without a zone."""

    @classmethod
    def of(
        cls,
        actions: pd.DataFrame,
        *needs: str,
        report: str,
        include: Iterable[str],
        by: By | None = None,
        now: TimeLike | None = None,
        timezone: str | None = None,
    ) -> Acts:
        """Convert and sort the columns of a frame of acts that a report needs."""
        include = exclusion.included(include)
        needs = ("person_id", "date", *needs)
        keys = [name for name, _ in named_keys(by, report=report)]
        grouping = dict.fromkeys([*keys, *contexts(keys), "action"])
        columns = {*needs, *grouping, *RECEIPTS, exclusion.COLUMN}
        frame = as_frame(actions, caller=report, example=READER, columns=columns).reset_index(drop=True)
        if IS_NEW in needs and IS_NEW not in frame:  # it is known of nobody
            frame = frame.assign(**{IS_NEW: pd.array([pd.NA] * len(frame), dtype="boolean")})
        rows = convert_columns(
            frame,
            {name: _NEEDS[name] for name in needs},
            keys=keys,
            report=report,
            reader=f"{READER} reads them",
        )
        zone = zone_for(frame, timezone, "date")
        rows["clock"] = Clock.of(frame, "date", timezone, report=report).times
        rows["person"], count = numbers_of(rows.pop("person_id"))
        started = np.zeros(count, dtype=bool)
        if "number" in needs:
            is_first = (rows.pop("number") == 1).fillna(False) & (rows["person"] >= 0)
            started[rows["person"].to_numpy()[is_first.to_numpy("bool")]] = True
        are_left_out, counts = exclusion.left_out(frame, include)
        notes = exclusion.note_on(frame, counts, exclusion.ACT), zone_note(frame, _NEEDS)
        latest = latest_time([frame], now, zone, report=report)
        rows["place"] = np.arange(len(rows))
        rows = rows[~are_left_out].reset_index(drop=True) if counts else rows
        order = rows["date"].array.argsort(kind="stable")  # those without a date are last
        if (order[1:] < order[:-1]).any():
            rows = rows.take(order).reset_index(drop=True)
        frame = frame.filter([*grouping])
        return cls(report, rows, frame, started, latest, zone, "\n".join(filter(None, notes)))

    @cached_property
    def known(self) -> Known:
        """The dates of the acts, and the newest that is not doubtful."""
        return Known.of(self.rows["clock"], self.latest, exclusion.ACT)

    def clock_of(self, rows: pd.DataFrame) -> Clock:
        """Return the clock of some of the acts, numbered from 0."""
        return Clock(rows["clock"].rename("date").reset_index(drop=True), self.zone)

    @property
    def notes(self) -> list[str]:
        """Notes on the acts that are not counted, and on acts without a person."""
        missing = int((self.rows["person"] < 0).sum())
        return [self.note, f"of unknown people: {counted(missing, 'act')}" if missing else ""]

    def without_doubtful(self) -> tuple[Acts, list[str]]:
        """Return the acts without those of doubtful dates, and the note on these, if there are any."""
        known = self.known
        if not known.note:
            return self, []
        return self.only(~known.later), [known.note]

    def only(self, is_kept: pd.Series) -> Acts:
        """Return some of the acts."""
        return replace(self, rows=self.rows[is_kept].reset_index(drop=True))

    def first_of_each(self, action: str | None = None) -> pd.DataFrame:
        """Return each person's first act, or first act of one kind."""
        rows = self.rows if action is None else self.rows[self.rows["action"] == action]
        return rows[rows["person"] >= 0].drop_duplicates("person")

    def first_in_archive(self) -> pd.DataFrame:
        """Return the first act of each person whose first act in the archive is in the frame."""
        first = self.first_of_each()
        return first[self.started[first["person"]]]

    def are_participations(self, *, of_action: bool = False) -> NDArray[np.bool_]:
        """Return which acts are another participation of their person, by action and subject.

        A person takes part in a subject once, by letters and forms once a day, and by each donation. An RSVP and
        coming are one, or, with `of_action`, one each. An act without a subject is one of its own.
        """
        rows, person = self.rows, self.rows["person"].to_numpy()
        action, subject = (rows[name].cat.codes.to_numpy("int64") for name in ("action", "subject_id"))
        names = rows["action"].cat.categories
        tables = pd.factorize(names.map(lambda name: _TABLES.get(name, name)))[0]
        kind = action if of_action else np.append(tables, -1)[action]
        is_daily, is_each = (np.append(names.isin(some), False)[action] for some in (_DAILY, _EACH))
        day = np.full(len(rows), -1)
        day[is_daily] = pd.factorize(rows["date"][is_daily].dt.floor("D"))[0]
        is_another = are_first(person, kind, subject, day)
        return np.asarray((is_another | (subject < 0) | is_each) & (person >= 0))

    def person_ids(self, indices: pd.Index) -> pd.Series:
        """Return the id of the person of some of the acts, of a frame that is grouped by `person_id`, as text."""
        places = self.rows["place"].loc[indices]
        ids = self.frame["person_id"].iloc[places].astype("str").set_axis(indices)
        return ids.where(self.rows["person"].loc[indices] >= 0)

    def groups(self, indices: pd.Index, by: By, spelling: Spelling) -> Groups:
        """Group the acts at some indices by the columns of `by`."""
        return group(
            self.frame.iloc[self.rows["place"].loc[indices]],
            by,
            nothing=NO_SOURCE,
            spelling=checked_spelling(spelling),
            report=self.report,
            timezone=self.zone,
        )


def known_action(name: str, rows: pd.DataFrame, *, report: str, argument: str) -> str:
    """Return an action; raise InvalidArgument if it is neither declared nor in the frame."""
    if not isinstance(name, str):
        raise InvalidArgument(
            f"{report}: {argument} takes actions, as {quoted(ACTION_NAMES[0])}, not {quoted(name)}"
        )
    if name not in ACTION_NAMES and not rows["action"].eq(name).any():
        raise InvalidArgument(f"{report}: no act is {quoted(name)}; {nearest(name, ACTION_NAMES)}")
    return name


def not_known_to_be_new(first: pd.DataFrame) -> list[str]:
    """Return a note on the people of whose first acts it is not known whether they are new to the list, if any."""
    unknown = int(first[IS_NEW].isna().sum())
    people = f"{counted(unknown, 'person', 'people')} who acted for the first time {'is' if unknown == 1 else 'are'}"
    return [f"{UNKNOWN_NEW} {people} new"] if unknown else []


def noted(report: pd.DataFrame, notes: Iterable[str], groups: Collection[str] = ()) -> pd.DataFrame:
    """Write notes to a report's attributes `note` and `caveat`; the notes on `groups` belong to both."""
    report.attrs["note"] = "\n".join(filter(None, [*notes, *groups]))
    report.attrs["caveat"] = "\n".join(groups)
    return report


def joined_by(table: str) -> tuple[str, ...]:
    """Return the columns of a table by which its rows are found among the acts.

    >>> joined_by("signatures")
    ('person_id', 'created_date', 'petition_id')
    """
    return ("person_id", "created_date", OF_ACTS[table].subject)


def mark_first_acts(
    frame: pd.DataFrame, actions: pd.DataFrame, *, table: str, report: str
) -> tuple[pd.DataFrame, str]:
    """Add the column IS_NEW, whether a row is a new person's first act; also return a note on people who may be new.

    The column is missing in all rows if it is known of nobody.
    """
    act = OF_ACTS[table]
    actions = as_frame(actions, caller=report, example=READER, columns=FIRST_ACTS_NEED)
    refuse_lacking(actions, FIRST_ACTS_NEED, name="actions", report=report)
    refuse_lacking(frame, joined_by(table), name=table, report=report)
    is_first = maybe(actions["is_first"]).fillna(False) & actions["action"].eq(act.action).fillna(False)
    first = actions.loc[is_first.astype("bool"), ["person_id", "date", "subject_id", IS_NEW]]
    first_of_row = first.drop_duplicates("person_id").set_index("person_id").reindex(frame["person_id"])
    first_of_row, rows = first_of_row.reset_index(drop=True), frame.reset_index(drop=True)
    is_first = converted(first_of_row["date"], utc, report=report).eq(
        converted(rows["created_date"], utc, report=report)
    )
    is_first &= text(first_of_row["subject_id"]).fillna("").eq(text(rows[act.subject]).fillna(""))
    is_new = maybe(first_of_row[IS_NEW]).where(is_first, other=False)
    unknown = int(rows["person_id"][is_new.isna()].nunique())
    note = ""
    if unknown and not is_new.fillna(False).any():
        is_new = pd.Series(pd.NA, is_new.index, dtype="boolean")
        note = f"{UNKNOWN_NEW} people with {table} are new"
    elif unknown:
        people = f"{counted(unknown, 'person', 'people')} with {table} {'is' if unknown == 1 else 'are'} new"
        note = f"{UNKNOWN_NEW} {people}; they are not counted as new"
    return frame.assign(**{IS_NEW: is_new.array}), note
