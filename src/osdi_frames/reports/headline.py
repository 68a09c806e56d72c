"""The headline figures of a report, and how the two counts of RSVPs compare.

RSVPs are the service's own totals of the events that count; where no event counts, they are the attendances that were
read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import pandas as pd

from osdi_frames.messages import counted
from osdi_frames.reports.columns import whether
from osdi_frames.reports.measures import are_of_events_with_check_ins, show

CountedRows: TypeAlias = Mapping[str, pd.DataFrame]
"""The rows that count, of each table that is reported."""

_FIGURES: Final[Mapping[str, Mapping[str, Callable[[pd.DataFrame], int]]]] = {
    "events": {"events": len, "rsvps": lambda events: int(events["total_accepted"].sum())},
    "attendances": {
        "attendances": len,
        "attended": lambda attendances: int(attendances["attended"].sum()),
        "rsvp_people": lambda attendances: attendances["person_id"].nunique(),
    },
    "signatures": {"signatures": len, "people": lambda signatures: signatures["person_id"].nunique()},
}

#: The note on RSVPs where small counts are hidden: how many RSVPs one of both lacks may be few.
_WITHOUT_NUMBERS: Final = "RSVPs are the service's totals; the attendances in this archive are not the same."


def rsvps_are_attendances(tables: CountedRows) -> bool:
    """Return whether no event counts, so that the RSVPs are the attendances."""
    return _size(tables, "attendances") > 0 and not _size(tables, "events")


def _size(tables: CountedRows, name: str) -> int:
    return len(tables[name]) if name in tables else 0


def headline_figures(tables: CountedRows) -> dict[str, int]:
    """Count events, RSVPs, attendances, signatures, and people.

    Figures of attendances are left out where there are none, and `attended` where nobody is.
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
    """Return the headline figures to hide where small counts are hidden.

    These are small, or reveal how few people acted twice, how few came, or how few RSVPs one count alone has.
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
    """Return lines that compare RSVPs with attendances, and count who attended.

    Where small counts are hidden, the lines have no numbers.
    """
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
    """Count who attended, and the RSVPs of events at which anybody did."""
    came = whether(attendances["attended"])
    return int(came.sum()), int(are_of_events_with_check_ins(came, attendances["event_id"]).sum())


def _compared(tables: CountedRows, *, of_period: bool) -> str:
    """Return what the totals and the attendances have in common, or nothing if they are the same.

    Within a period they are not about the same RSVPs, since events are filtered by another date.
    """
    events, attendances = tables["events"], tables["attendances"]
    total, number = int(events["total_accepted"].sum()), len(attendances)
    rsvps = f"{counted(total, 'RSVP')} by the service's totals"
    if of_period:
        read = f"{counted(number, 'attendance')} in this archive"
        return f"{rsvps}, of events by start_date; {read}, by created_date." if total != number else ""
    totals = events.groupby("event_id")["total_accepted"].sum().astype("int64")
    of_event = attendances["event_id"].value_counts()
    of_event = of_event.set_axis(of_event.index.astype("str")).reindex(totals.index, fill_value=0)
    both = totals.clip(upper=of_event)
    common, besides = int(both.sum()), int(of_event.sum() - both.sum())
    if common == total == number:
        return ""
    parts = [rsvps, *([_in_common(common, total, both, totals)] if total else [])]
    others = (
        (besides, "that the totals do not count"),
        (number - common - besides, "of events that it lacks"),
    )
    if more := [f"{counted(some, 'attendance')} {which}" for some, which in others if some]:
        parts.append(f"{'it also' if common else 'this archive'} has {' and '.join(more)}")
    return f"{'; '.join(parts)}."


def _in_common(common: int, total: int, both: pd.Series, totals: pd.Series) -> str:
    """Return how many RSVPs, of how many events, are attendances."""
    if not common:
        return "none of them is in this archive as an attendance"
    some = "all" if common == total else f"{common:,}"
    are = "is in this archive as an attendance" if common == 1 else "are in this archive as attendances"
    begun, all_ = int((both > 0).sum()), int((totals > 0).sum())
    return f"{some} of them {are}" + (f", from {begun:,} of {counted(all_, 'event')}" if begun < all_ else "")
