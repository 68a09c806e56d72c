"""The headline figures: one number of RSVPs, and how it compares with the attendances that were read.

RSVPs are the service's own totals of the events that count. Where no event counts, they are the attendances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import pandas as pd

from osdi_frames.errors import counted
from osdi_frames.reports.measures import show

Tables: TypeAlias = Mapping[str, pd.DataFrame]
"""The rows that count, of each table that is reported."""

_FIGURES: Final[Mapping[str, Mapping[str, Callable[[pd.DataFrame], int]]]] = {
    "events": {"events": len, "rsvps": lambda events: int(events["total_accepted"].sum())},
    "attendances": {
        "attendances": len,
        "attended": lambda attendances: int(attendances["status"].eq("attended").sum()),
        "rsvp_people": lambda attendances: attendances["person_id"].nunique(),
    },
    "signatures": {"signatures": len, "people": lambda signatures: signatures["person_id"].nunique()},
}


def are_attendances(tables: Tables) -> bool:
    """Return whether the RSVPs are those read one by one."""
    return _size(tables, "attendances") > 0 and not _size(tables, "events")


def _size(tables: Tables, name: str) -> int:
    return len(tables[name]) if name in tables else 0


def figures(tables: Tables) -> dict[str, int]:
    """Count events, RSVPs, attendances, signatures, and people.

    Those of attendances are left out where there are none, and `attended` where nobody is.
    """
    read = {name: tables[name] for name in _FIGURES if name in tables}
    found = {name: count(rows) for table, rows in read.items() for name, count in _FIGURES[table].items()}
    if are_attendances(tables):
        found["rsvps"] = found["attendances"]
    if not found.get("attendances"):
        return {name: count for name, count in found.items() if name not in _FIGURES["attendances"]}
    return {name: count for name, count in found.items() if count or name != "attended"}


def hidden_figures(tables: Tables, below: int) -> frozenset[str]:
    """Return the headline figures to hide.

    They are small, or reveal how few people acted twice, how few came, or how few RSVPs one count alone has.
    """
    found, hidden = figures(tables), {"attended"}
    for acts, people in (("signatures", "people"), ("attendances", "rsvp_people")):
        number, persons = found.get(acts, 0), found.get(people, 0)
        if 0 < number < below or 0 < persons < below:
            hidden |= {acts, people}
        elif 0 < number - persons < below:
            hidden.add(people)
    if are_attendances(tables):
        return frozenset(hidden | ({"rsvps"} if "attendances" in hidden else set()))
    is_small = 0 < found.get("rsvps", 0) < below
    return frozenset(hidden | {"attendances", "rsvp_people"} | ({"rsvps"} if is_small else set()))


def notes(tables: Tables, *, of_period: bool, below: int | None) -> list[str]:
    """Return lines on RSVPs: totals, attendances, attended.

    Where small counts are hidden, they have no numbers.
    """
    if not _size(tables, "attendances"):
        return []
    found = figures(tables)
    compared = "" if are_attendances(tables) else _compared(tables, of_period=of_period)
    if below is not None:
        return [_WITHOUT_NUMBERS] if compared else []
    attended, attendances = found.get("attended", 0), found["attendances"]
    rate = show(attended / attendances, "share")
    came = f"attended: {attended:,} of {counted(attendances, 'attendance')} ({rate})" if attended else ""
    return [line for line in (compared, came) if line]


#: What is said where small counts are hidden: how many RSVPs one of both lacks may be few.
_WITHOUT_NUMBERS: Final = "RSVPs are the service's totals; the attendances in this archive are not the same."


def _compared(tables: Tables, *, of_period: bool) -> str:
    """Return what the totals and the attendances have in common.

    Nothing, if they are the same. Within a period they are not about the same RSVPs: events are filtered by another
    date.
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
    said = [rsvps, *([_in_common(common, total, both, totals)] if total else [])]
    others = (
        (besides, "that the totals do not count"),
        (number - common - besides, "of events that it lacks"),
    )
    if more := [f"{counted(some, 'attendance')} {which}" for some, which in others if some]:
        said.append(f"{'it also' if common else 'this archive'} has {' and '.join(more)}")
    return f"{'; '.join(said)}."


def _in_common(common: int, total: int, both: pd.Series, totals: pd.Series) -> str:
    """Return how many RSVPs, of how many events, are attendances."""
    if not common:
        return "none of them is in this archive as an attendance"
    some = "all" if common == total else f"{common:,}"
    are = "is in this archive as an attendance" if common == 1 else "are in this archive as attendances"
    begun, all_ = int((both > 0).sum()), int((totals > 0).sum())
    return f"{some} of them {are}" + (f", from {begun:,} of {counted(all_, 'event')}" if begun < all_ else "")
