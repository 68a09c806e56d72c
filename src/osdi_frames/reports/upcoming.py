"""The events to come: when and where they are, how many come, and how many seats there are and are left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pandas as pd

from osdi_frames.clock import TimeLike, present
from osdi_frames.errors import InvalidArgument
from osdi_frames.frames import as_frame
from osdi_frames.messages import quoted
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import noted
from osdi_frames.reports.columns import convert_columns, local, text, whole, zone_for
from osdi_frames.reports.known import period_name
from osdi_frames.reports.titles import names_of

_CONFIRMED: Final = "confirmed"
_PLACE: Final = ("location_venue", "location_locality", "location_region")
_NEEDS: Final = {
    **dict.fromkeys(("title", "status", *_PLACE), text),
    "start_date": local,
    "total_accepted": whole,
    "capacity": whole,
}


def upcoming(
    events: pd.DataFrame,
    people: pd.DataFrame | None = None,
    *,
    days: int = 14,
    now: TimeLike | None = None,
    timezone: str | None = None,
    include: Iterable[str] = (),
) -> pd.DataFrame:
    """List the events of the next days, the soonest first.

    Days are those of the clock at the place of the event (interface 2.1), from the day of `now` in the team's zone on:
    an event that began in the morning is listed until the day ends.

    Parameters
    ----------
    events
        one row per event, with title, status, start_date, total_accepted, capacity, location_venue, location_locality
        and location_region, as ``osdi_frames.open(source).events()`` returns it; for hosts also creator_id
    people
        one row per person, with person_id, given_name and family_name: adds the column `host`
    days
        the number of days, with that of `now`
    now
        the present, by default that of the computer
    timezone
        the zone of the day of `now`, as for `engagement`
    include
        reasons of the column `excluded` whose events to list nevertheless; the attribute `note` has the number of the
        others

    Returns
    -------
    DataFrame
        indexed by title, in the order of the start

        - start_date: the wall clock at the place of the event
        - place: venue, town and region
        - rsvps: the number of RSVPs by the service's total
        - capacity: how many can come; missing if the event has no capacity
        - fill_rate: rsvps over capacity; missing if the capacity is missing or 0, or the service reports no total
        - seats_left: capacity less rsvps, not below 0; missing if the event has no capacity
        - status: as ``tentative`` or ``postponed``; missing if the event is confirmed, or the service says nothing
        - host: the name of the person who created it, with `people` only

        The attribute `period` names the days, and `later` is the number of later events.

    Raises
    ------
    MissingColumn
        a frame lacks a needed column
    InvalidArgument
        `days` is not a number from 1, or `now` not a time

    Examples
    --------
    >>> import osdi_frames as of
    >>> march = {"title": "March", "start_date": "2026-05-02T18:00:00Z", "total_accepted": 12, "capacity": 40}
    >>> listed = of.upcoming(of.read_events(march), now="2026-05-01")
    >>> listed.drop(columns=["start_date", "place", "status"]).to_dict("index")
    {'March': {'rsvps': 12, 'capacity': 40, 'fill_rate': 0.3, 'seats_left': 28}}
    """
    if not isinstance(days, int) or days < 1:
        raise InvalidArgument(f"upcoming: days is a number from 1, not {quoted(days)}")
    hosts = () if people is None else ("creator_id",)
    frame = as_frame(events, caller="upcoming", columns=[*_NEEDS, *hosts, exclusion.COLUMN])
    today = present(now, zone_for(frame, timezone)).tz_localize(None).normalize()
    frame, note = exclusion.counted_rows(frame, exclusion.included(include), "event")
    rows = convert_columns(frame, {**_NEEDS, **dict.fromkeys(hosts, text)}, report="upcoming")
    end = today + pd.Timedelta(days=days)
    later = int((rows["start_date"] >= end).sum())
    rows = rows[(rows["start_date"] >= today) & (rows["start_date"] < end)]
    parts = rows[[*_PLACE]].fillna("").itertuples(index=False, name=None)
    places = [", ".join(filter(None, map(str.strip, place))) for place in parts]
    rsvps = rows["total_accepted"].fillna(0)
    listed = pd.DataFrame(
        {
            "start_date": rows["start_date"],
            "place": pd.Series(places, rows.index, dtype="str"),
            "rsvps": rsvps.astype("int64"),
            "capacity": rows["capacity"],
            "fill_rate": (rows["total_accepted"] / rows["capacity"].where(rows["capacity"] > 0)).astype(
                "float64"
            ),
            "seats_left": (rows["capacity"] - rsvps).clip(lower=0),
            "status": rows["status"].where(rows["status"].str.lower() != _CONFIRMED),
        }
    )
    if people is not None:
        names = names_of(people, report="upcoming").set_index("person_id")["title"]
        listed["host"] = rows["creator_id"].map(names).astype("str")
    listed = listed.set_index(pd.Index(rows["title"], name="title"))
    listed = noted(listed.sort_values("start_date", kind="stable"), [note])
    listed.attrs |= {"period": period_name(today, end), "later": later}
    return listed
