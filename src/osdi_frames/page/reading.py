"""What was read, as the page shows it: counts, repeats, problems; never a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from osdi_frames.page.tables import Table, of_counts
from osdi_frames.problems import ProblemKind
from osdi_frames.reading.check import Inspection

_OUTCOMES = {"error": "left out", "warning": "mended", "info": "not read"}


@dataclass(frozen=True, slots=True)
class Received:
    """How often elements of a type were received, and how many different ones they are."""

    name: str
    received: int
    kept: int

    @property
    def repeats(self) -> int:
        """Those that were received before, or again in a newer form."""
        return self.received - self.kept


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: how much, and what is to be said of it."""

    files: int
    documents: int
    elements: list[Received]
    problems: int
    unread: int
    others: Mapping[str, int]
    table: Table | None


def of_inspection(found: Inspection) -> Reading:
    """Return an inspection as the page shows it."""
    by_key = found.by_key
    is_other = by_key["problem"] == ProblemKind.OTHER_TYPE
    others, by_key = by_key[is_other], by_key[~is_other]
    counts = by_key.groupby("severity")["count"].sum()
    unread = int(counts.get("info", 0))
    outcome = by_key["severity"].map(_OUTCOMES).mask(by_key["problem"] == ProblemKind.QUARANTINE, "not read")
    listed = by_key.assign(outcome=outcome).rename(columns={"key": "where"})
    return Reading(
        found.files,
        found.documents,
        [
            Received("Events", found.elements["event"], found.kept.get("event", 0)),
            Received("Signatures", found.elements["signature"], found.kept.get("signature", 0)),
        ],
        int(counts.sum()) - unread,
        unread,
        dict(zip(others["key"], others["count"].astype(int), strict=True)),
        of_counts(listed[["problem", "where", "outcome", "count"]]) if len(listed) else None,
    )
