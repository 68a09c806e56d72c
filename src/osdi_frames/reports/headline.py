"""The headline figures of the report of an archive, and a comparison of its two counts of RSVPs.

The figure of RSVPs is the sum of the service's own totals of the counted events; without any such event, it is the
number of attendances in the archive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import pandas as pd

from osdi_frames.messages import counted
from osdi_frames.reports.columns import whether
from osdi_frames.reports.measures import are_of_events_with_check_ins, show

CountedRows: TypeAlias = Mapping[str, pd.DataFrame]
"""The counted rows of each reported table."""

_FIGURES: Final[Mapping[str, Mapping[str, Callable[[pd.DataFrame], int]]]] = {
    "events": {"events": len, "rsvps": lambda events: int(events["total_accepted"].sum())},
    "attendances": {
        "attendances": len,
        "attended": lambda attendances: int(attendances["attended"].sum()),
        "rsvp_people": lambda attendances: attendances["person_id"].nunique(),
    },
    "signatures": {"signatures": len, "people": lambda signatures: signatures["person_id"].nunique()},
}

#: The note on RSVPs if small counts are hidden, since the difference between both counts may be small.
_WITHOUT_NUMBERS: Final = "RSVPs are the service's totals; the attendances in this archive are not the same."


def rsvps_are_attendances(tables: CountedRows) -> bool:
    """Return whether the figure of RSVPs is the number of attendances, since no event counts."""
    return _size(tables, "attendances") > 0 and not _size(tables, "events")


def _size(tables: CountedRows, name: str) -> int:
    return len(tables[name]) if name in tables else 0


def headline_figures(tables: CountedRows) -> dict[str, int]:
    """Count events, RSVPs, attendances, signatures, and people.

    Without attendances their figures are left out, and `attended` if nobody is marked as attended.
    """
    figures = {
        name: count(tables[table])
        for table, counts in _FIGURES.items()
        if table in tables
        for name, count in counts.items()
    }
    if rsvps_are_attendances(tables):
        figures["rsvps"] = figures["attendances"]
    if not figures.get("attendances"):
        return {name: count for name, count in figures.items() if name not in _FIGURES["attendances"]}
    return {name: count for name, count in figures.items() if count or name != "attended"}


def hidden_figures(tables: CountedRows, below: int) -> frozenset[str]:
    """Return the headline figures to hide if counts of people below `below` are hidden.

    These are small themselves, or reveal a small number of people who acted twice, of people who attended, or of RSVPs
    that only one of both counts has.
    """
    figures, hidden = headline_figures(tables), {"attended"}
    for acts, people in (("signatures", "people"), ("attendances", "rsvp_people")):
        number, persons = figures.get(acts, 0), figures.get(people, 0)
        if 0 < number < below or 0 < persons < below:
            hidden |= {acts, people}
        elif 0 < number - persons < below:
            hidden.add(people)
    if rsvps_are_attendances(tables):
        return frozenset(hidden | ({"rsvps"} if "attendances" in hidden else set()))
    is_small = 0 < figures.get("rsvps", 0) < below
    return frozenset(hidden | {"attendances", "rsvp_people"} | ({"rsvps"} if is_small else set()))


def rsvp_notes(tables: CountedRows, *, of_period: bool, below: int | None) -> list[str]:
    """Return notes that compare RSVPs with attendances, and count who attended; with `below` they have no numbers."""
    if not _size(tables, "attendances"):
        return []
    compared = "" if rsvps_are_attendances(tables) else _compared(tables, of_period=of_period)
    if below is not None:
        return [_WITHOUT_NUMBERS] if compared else []
    attended, rsvps = check_ins(tables["attendances"])
    rate = show(attended / max(rsvps, 1), "share")
    check_in = f"attended: {attended:,} of {counted(rsvps, 'RSVP')} of events with check-ins ({rate})"
    return [line for line in (compared, check_in if rsvps else "") if line]


def check_ins(attendances: pd.DataFrame) -> tuple[int, int]:
    """Count the attendances marked as attended, and all attendances at events with such a mark."""
    attended = whether(attendances["attended"])
    return int(attended.sum()), int(are_of_events_with_check_ins(attended, attendances["event_id"]).sum())


def _compared(tables: CountedRows, *, of_period: bool) -> str:
    """Return a sentence that compares the totals with the attendances, or an empty text if they are the same.

    Within a period they cannot be matched, since filters apply to the dates of events and to those of attendances.
    """
    events, attendances = tables["events"], tables["attendances"]
    total, number = int(events["total_accepted"].sum()), len(attendances)
    rsvps = f"{counted(total, 'RSVP')} by the service's totals"
    if of_period:
        in_archive = f"{counted(number, 'attendance')} in this archive"
        return f"{rsvps}, of events by start_date; {in_archive}, by created_date." if total != number else ""
    totals = events.groupby("event_id")["total_accepted"].sum().astype("int64")
    by_event = attendances["event_id"].value_counts()
    by_event = by_event.set_axis(by_event.index.astype("str")).reindex(totals.index, fill_value=0)
    in_both = totals.clip(upper=by_event)
    common, beyond_totals = int(in_both.sum()), int(by_event.sum() - in_both.sum())
    if common == total == number:
        return ""
    parts = [rsvps, *([_in_common(common, total, in_both, totals)] if total else [])]
    others = (
        (beyond_totals, "that the totals do not count"),
        (number - common - beyond_totals, "of events that it lacks"),
    )
    if more := [f"{counted(count, 'attendance')} {which}" for count, which in others if count]:
        parts.append(f"{'it also' if common else 'this archive'} has {' and '.join(more)}")
    return f"{'; '.join(parts)}."


def _in_common(common: int, total: int, in_both: pd.Series, totals: pd.Series) -> str:
    """Return the number of RSVPs that are also attendances, and the number of their events."""
    if not common:
        return "none of them is in this archive as an attendance"
    number = "all" if common == total else f"{common:,}"
    are = "is in this archive as an attendance" if common == 1 else "are in this archive as attendances"
    with_some, events = int((in_both > 0).sum()), int((totals > 0).sum())
    of_events = f", from {with_some:,} of {counted(events, 'event')}" if with_some < events else ""
    return f"{number} of them {are}{of_events}"
