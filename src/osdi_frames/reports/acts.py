"""The acts that reports on people count: those that are not excluded, in order of time, and whose they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from osdi_frames.errors import InvalidArgument
from osdi_frames.frames import as_frame
from osdi_frames.messages import counted, nearest, quoted
from osdi_frames.reports import exclusion
from osdi_frames.reports.columns import Convert, convert_columns, identity, text, utc, whole, zone_note
from osdi_frames.reports.groups import By, Groups, group, named_keys
from osdi_frames.reports.known import RECEIPTS, Known, TimeLike, latest_time
from osdi_frames.reports.spelling import NO_SOURCE, Spelling, checked_spelling, contexts
from osdi_frames.tables.actions import ACTS

#: What people do, as the column `action` names it: those who host last.
ACTION_NAMES: Final = tuple(act.action for act in sorted(ACTS, key=lambda act: act.table.name == "events"))
#: The call that reads a frame of acts.
READER: Final = "osdi_frames.open(source).actions()"

_NEEDS: Final[Mapping[str, Convert]] = {
    "person_id": identity,
    "date": utc,
    "action": text,
    "subject_id": text,
    "number": whole,
}


@dataclass(frozen=True, slots=True)
class Acts:
    """The acts that count, in order of time.

    `rows` has the converted columns, numbered from 0, and `frame` the columns to group by as they came. Acts without
    a date are last. `started` are the people whose first act in the archive is in the frame, excluded or not, and
    `latest` is the last time that an act can have, if that is known.
    """

    report: str
    rows: pd.DataFrame
    frame: pd.DataFrame
    started: pd.Series
    latest: pd.Timestamp | None
    note: str

    @classmethod
    def of(
        cls,
        actions: pd.DataFrame,
        *needs: str,
        report: str,
        include: Iterable[str],
        by: By | None = None,
        now: TimeLike | None = None,
    ) -> Acts:
        """Take the columns that a report needs."""
        include = exclusion.included(include)
        needs = ("person_id", "date", *needs)
        keys = [name for name, _ in named_keys(by, report=report)]
        grouping = dict.fromkeys([*keys, *contexts(keys)])
        columns = {*needs, *grouping, *RECEIPTS, exclusion.COLUMN}
        frame = as_frame(actions, caller=report, example=READER, columns=columns).reset_index(drop=True)
        rows = convert_columns(
            frame,
            {name: _NEEDS[name] for name in needs},
            keys=keys,
            report=report,
            reader=f"{READER} reads them",
        )
        people = rows["person_id"]
        started = people[rows["number"] == 1] if "number" in needs else people.head(0)
        kept, left_out = exclusion.counted_rows(frame.filter([exclusion.COLUMN]), include, exclusion.ACT)
        note = "\n".join(filter(None, [left_out, zone_note(frame, _NEEDS)]))
        latest = latest_time([frame], now, report=report)
        order = rows["date"].loc[kept.index].sort_values(kind="stable").index
        rows, frame = (some.loc[order].reset_index(drop=True) for some in (rows, frame.filter([*grouping])))
        return cls(report, rows, frame, started, latest, note)

    @property
    def known(self) -> Known:
        """Up to when acts are known."""
        return Known.of(self.rows["date"], self.latest, exclusion.ACT)

    @property
    def notes(self) -> list[str]:
        """Which acts are not counted, and whose person is unknown."""
        missing = int(self.rows["person_id"].isna().sum())
        return [self.note, f"of unknown people: {counted(missing, 'act')}" if missing else ""]

    def known_ones(self) -> tuple[Acts, list[str]]:
        """Return the acts without those of doubtful dates, and a sentence on these if there are any."""
        known = self.known
        if not known.note:
            return self, []
        kept = self.rows.index[~known.later]
        rows, frame = (some.loc[kept].reset_index(drop=True) for some in (self.rows, self.frame))
        return replace(self, rows=rows, frame=frame), [known.note]

    def first_of_each(self, action: str | None = None) -> pd.DataFrame:
        """Return each person's first act, or of a kind."""
        rows = self.rows if action is None else self.rows[self.rows["action"] == action]
        return rows.dropna(subset="person_id").drop_duplicates("person_id")

    def groups(self, places: pd.Index, by: By, spelling: Spelling) -> Groups:
        """Group some of the acts by what `by` names."""
        some = self.frame.loc[places]
        return group(some, by, nothing=NO_SOURCE, spelling=checked_spelling(spelling), report=self.report)


def known_action(name: str, rows: pd.DataFrame, *, report: str, argument: str) -> str:
    """Return an action that is declared or occurs in the frame; refuse another text."""
    if not isinstance(name, str):
        raise InvalidArgument(
            f"{report}: {argument} takes actions, as {quoted(ACTION_NAMES[0])}, not {quoted(name)}"
        )
    if name not in ACTION_NAMES and not rows["action"].eq(name).any():
        raise InvalidArgument(f"{report}: nobody {quoted(name)}; {nearest(name, ACTION_NAMES)}")
    return name


def noted(report: pd.DataFrame, notes: Iterable[str], groups: Collection[str] = ()) -> pd.DataFrame:
    """Write notes to a report's attributes, as all have."""
    report.attrs["note"] = "\n".join(filter(None, [*notes, *groups]))
    report.attrs["caveat"] = "\n".join(groups)
    return report
