"""Acts made by chance, as rows and as a frame."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
from hypothesis import strategies as st

Act = dict[str, Any]

START = datetime(2026, 1, 1, tzinfo=UTC)
#: Texts that stand for no source, spellings of one, and others.
SOURCES = st.sampled_from(
    [None, "", "none", "email", "E-Mail", "e_mail", "e-mail", "ads", "(other: 2)", "$x$"]
)
_TIMES = st.none() | st.integers(0, 150 * 24).map(lambda hours: START + timedelta(hours=hours))
_FAR = st.sampled_from([START.replace(year=1999), START.replace(year=2038)])
_ACTS = st.fixed_dictionaries(
    {
        "person_id": st.sampled_from([None, "", "ann", "bob", "cat", "dan", "eve"]),
        "date": st.one_of(_TIMES, _TIMES, _TIMES, _TIMES, _TIMES, _FAR),
        "action": st.sampled_from(
            ["signed", "signed", "rsvped", "rsvped", "attended", "hosted", "donated", "wrote", "submitted"]
        ),
        "subject_id": st.sampled_from([None, "march", "picnic", "vigil"]),
        "source": SOURCES,
        "referrer": SOURCES,
        "is_new": st.sampled_from([None, True, False]),
        "excluded": st.sampled_from([None] * 9 + ["test", "cancelled", "unaccepted"]),
    }
)

#: Acts of two people, most of them without a source, near each other.
_TOUCHES = st.fixed_dictionaries(
    {
        "person_id": st.sampled_from(["ann", "bob"]),
        "date": st.integers(0, 120).map(lambda days: START + timedelta(days=days)),
        "action": st.sampled_from(["signed", "signed", "signed", "rsvped", "attended"]),
        "subject_id": st.sampled_from([None, "march"]),
        "source": st.sampled_from([None, None, "none", "email", "ads"]),
        "referrer": st.none(),
        "is_new": st.sampled_from([None, True, False]),
        "excluded": st.sampled_from([None] * 9 + ["test"]),
    }
)


def _numbered(rows: list[Act], dropped: int) -> list[Act]:
    """Put acts in order of time, number those of each person, and take the first ones away."""
    rows = sorted(rows, key=lambda row: (row["date"] is None, row["date"] or START))
    numbers: dict[str, int] = {}
    for row in rows:
        person = row["person_id"]
        row["number"] = numbers[person] = numbers.get(person, 0) + 1
        row["number"] = row["number"] if person else None
        row["is_new"] = row["is_new"] if row["number"] == 1 else (False if person else None)
    return rows[dropped:]


#: Acts in order of time, as an archive has them, perhaps without the first ones.
ACTS = st.builds(_numbered, st.lists(_ACTS, max_size=30), st.sampled_from([0, 0, 0, 2]))
TOUCHES = st.builds(_numbered, st.lists(_TOUCHES, min_size=8, max_size=16), st.sampled_from([0, 2]))


def frame(rows: list[Act]) -> pd.DataFrame:
    """Return acts as `Archive.actions` does."""
    names = ["person_id", "date", "action", "subject_id", "source", "referrer", "number"]
    names += ["is_new", "excluded"]
    made = pd.DataFrame({name: [row.get(name) for row in rows] for name in names})
    texts = dict.fromkeys(["person_id", "action", "subject_id", "source", "referrer", "excluded"], "str")
    return made.astype({**texts, "date": "datetime64[us, UTC]", "number": "Int64", "is_new": "boolean"})


def counted(rows: list[Act]) -> list[Act]:
    return [row for row in rows if row["excluded"] is None]


def participations(rows: list[Act]) -> list[Act]:
    """Return the counted acts of people that are another participation of theirs."""
    known, found = set(), []
    for row in counted(rows):
        action, subject = row["action"], row["subject_id"]
        day = row["date"] and row["date"].date() if action in ("wrote", "submitted") else None
        same = row["person_id"], "rsvped" if action == "attended" else action, subject, day
        if row["person_id"] and (not subject or action == "donated" or same not in known):
            found.append(row)
        known.add(same)
    return found
