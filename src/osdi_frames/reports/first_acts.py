"""Mark the rows that are the first act of a person who was not on the list before."""

from __future__ import annotations

from typing import Final

import pandas as pd

from osdi_frames.frames import as_frame
from osdi_frames.messages import counted
from osdi_frames.reports.acts import READER
from osdi_frames.reports.columns import converted, maybe, refuse_lacking, text, utc
from osdi_frames.reports.measures import IS_NEW
from osdi_frames.tables.actions import ACTS

#: The tables of which each row is an act, with the declaration of this act.
OF_ACTS: Final = {act.table.name: act for act in ACTS if act.person == "person_id" and not act.only}
#: The columns of acts that are needed.
NEEDS: Final = ("person_id", "date", "action", "subject_id", "is_first", IS_NEW)


def joined_by(table: str) -> tuple[str, ...]:
    """Return the columns of a table by which its rows are found among the acts.

    >>> joined_by("signatures")
    ('person_id', 'created_date', 'petition_id')
    """
    return ("person_id", "created_date", OF_ACTS[table].subject)


def marked(
    frame: pd.DataFrame, actions: pd.DataFrame, *, table: str, report: str
) -> tuple[pd.DataFrame, str]:
    """Add the column IS_NEW, whether a row is a new person's first act; also return a note on people who may be new.

    The column is missing in all rows if it is known of nobody.
    """
    act = OF_ACTS[table]
    actions = as_frame(actions, caller=report, example=READER, columns=NEEDS)
    refuse_lacking(actions, NEEDS, name="actions", report=report)
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
        note = f"not known: which people with {table} are new"
    elif unknown:
        people = f"{counted(unknown, 'person', 'people')} with {table} {'is' if unknown == 1 else 'are'} new"
        note = f"not known: whether {people}; they are not counted as new"
    return frame.assign(**{IS_NEW: is_new.array}), note
