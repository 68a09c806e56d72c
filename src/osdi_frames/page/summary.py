"""What the page says of all that was read: the figures at its head, and the problems at its end; never a value."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd

from osdi_frames.errors import counted
from osdi_frames.page.tables import Table, of_counts
from osdi_frames.problems import ProblemKind
from osdi_frames.reading.check import Inspection

_OUTCOMES = {"error": "left out", "warning": "mended", "info": "not read"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: what was met, and how many problems and keys that no table reads are among it."""

    found: Inspection
    problems: int
    unread: int
    table: Table | None


def cards(
    events: pd.DataFrame, signatures: pd.DataFrame, *, hidden: Collection[str] = ()
) -> list[tuple[str, str, str]]:
    """Return name, figure and note of events, RSVPs, signatures, people and period; no totals of `hidden` tables."""
    starts, created = events["start_date"], signatures["created_date"].dt.tz_localize(None)
    both = pd.concat([starts.dropna(), created.dropna()])
    years = [str(day.year) for day in _span(both)]
    rsvps = f"{events['total_accepted'].sum():,}"
    signed, people = f"{len(signatures):,}", f"{signatures['person_id'].nunique():,}"
    return [
        ("Events", f"{len(events):,}", _dates(starts)),
        (
            "RSVPs",
            "few" if "events" in hidden else rsvps,
            counted(events["event_campaign_id"].nunique(), "campaign"),
        ),
        ("Signatures", "few" if "signatures" in hidden else signed, _dates(created)),
        ("People", "few" if "signatures" in hidden else people, "who signed, each counted once"),
        ("Period", "–".join(dict.fromkeys(years)) or "–", _dates(both)),
    ]


def _span(times: pd.Series) -> list[pd.Timestamp]:
    return [day for day in (times.min(), times.max()) if pd.notna(day)]


def _dates(times: pd.Series) -> str:
    # A date breaks nowhere.
    dates = [f"{day.day}\u00a0{day:%b}\u00a0{day.year}" for day in _span(times)]
    return " – ".join(dict.fromkeys(dates)) or "no date"


def of_inspection(found: Inspection) -> Reading:
    """Return an inspection as the page shows it."""
    by_key = found.by_key[found.by_key["problem"] != ProblemKind.OTHER_TYPE]
    counts = by_key.groupby("severity")["count"].sum()
    unread = int(counts.get("info", 0))
    outcome = by_key["severity"].map(_OUTCOMES).mask(by_key["problem"] == ProblemKind.QUARANTINE, "not read")
    listed = by_key.assign(outcome=outcome).rename(columns={"key": "where"})
    table = of_counts(listed[["problem", "where", "outcome", "count"]]) if len(listed) else None
    return Reading(found, int(counts.sum()) - unread, unread, table)
