"""What was read, as the page shows it: counts, repeats, problems; never a value."""

from __future__ import annotations

from dataclasses import dataclass

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


def of_inspection(found: Inspection) -> Reading:
    """Return an inspection as the page shows it."""
    by_key = found.by_key[found.by_key["problem"] != ProblemKind.OTHER_TYPE]
    counts = by_key.groupby("severity")["count"].sum()
    unread = int(counts.get("info", 0))
    outcome = by_key["severity"].map(_OUTCOMES).mask(by_key["problem"] == ProblemKind.QUARANTINE, "not read")
    listed = by_key.assign(outcome=outcome).rename(columns={"key": "where"})
    table = of_counts(listed[["problem", "where", "outcome", "count"]]) if len(listed) else None
    return Reading(found, int(counts.sum()) - unread, unread, table)
