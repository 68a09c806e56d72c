"""Whom an act brought: the people whose first act it is, if they were not on the list before."""

from __future__ import annotations

from typing import Final

import pandas as pd

from osdi_frames.errors import MissingColumn, counted
from osdi_frames.frames import as_frame
from osdi_frames.reports.acts import READER
from osdi_frames.reports.measures import IS_NEW, converted, flag, utc
from osdi_frames.tables.actions import ACTS

#: The acts that are the rows of a table, by its name.
OF_ACTS: Final = {act.table.name: act for act in ACTS if act.person == "person_id" and not act.status}
#: What is needed of the acts.
NEEDS: Final = ("person_id", "date", "action", "subject_id", "is_first", IS_NEW)


def joined_by(table: str) -> tuple[str, ...]:
    """Return the columns by which rows of a table are found among acts.

    >>> joined_by("signatures")
    ('person_id', 'created_date', 'petition_id')
    """
    return ("person_id", "created_date", OF_ACTS[table].subject)


def marked(
    frame: pd.DataFrame, actions: pd.DataFrame, *, table: str, report: str
) -> tuple[pd.DataFrame, str]:
    """Add to rows of acts whether each is its person's first and brought them.

    The second value says of how many people this is not known. Where it is known of none, no column is added.
    """
    act = OF_ACTS[table]
    actions = as_frame(actions, caller=report, example=READER, columns=NEEDS)
    for rows, name, needs in ((actions, "actions", NEEDS), (frame, table, joined_by(table))):
        if missing := [column for column in needs if column not in rows.columns]:
            raise MissingColumn(f"{report}: {name} needs {', '.join(missing)}")
    first = actions[flag(actions["is_first"]) & actions["action"].eq(act.action).fillna(False)]
    found = first.drop_duplicates("person_id").set_index("person_id").reindex(frame["person_id"])
    found, rows = found.reset_index(drop=True), frame.reset_index(drop=True)
    date, subject = converted(found["date"], utc, report=report), found["subject_id"].astype("str")
    is_first = date.eq(converted(rows["created_date"], utc, report=report))
    is_first &= subject.fillna("").eq(rows[act.subject].astype("str").fillna(""))
    is_new = found[IS_NEW].astype("boolean").where(is_first, other=False)
    unknown = int(rows["person_id"][is_new.isna()].nunique())
    if unknown and not flag(is_new).any():
        return frame, "how many people are new is not known: the archive does not say when they came"
    said = (
        f"new does not count {counted(unknown, 'person', 'people')} of whom it is not known"
        if unknown
        else ""
    )
    return frame.assign(**{IS_NEW: flag(is_new).array}), said
