"""Reports of events, and of repeated pulls of them: how many RSVPs they have."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from osdi_frames.reports.declared import DECLARED
from osdi_frames.reports.groups import By
from osdi_frames.reports.known import Duration
from osdi_frames.reports.making import Counting, make
from osdi_frames.reports.spelling import Spelling


def rsvps_by_campaign(
    events: pd.DataFrame,
    campaigns: pd.DataFrame | None = None,
    *,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Sum the RSVPs of each event campaign, most first.

    See `rsvps_by`.

    >>> import osdi_frames as of
    >>> event = {"title": "March", "total_accepted": 12, "platform:event_campaign_id": "climate"}
    >>> events = of.read_events(event)
    >>> of.rsvps_by_campaign(events)["rsvps"].to_dict()
    {'climate': 12}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["rsvps_by_campaign"], events, counting, titles=campaigns)


def rsvps_by_region(
    events: pd.DataFrame,
    campaigns: pd.DataFrame | None = None,
    *,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Sum the RSVPs of each region and country, most first.

    See `rsvps_by`.

    >>> import osdi_frames as of
    >>> event = {"title": "March", "total_accepted": 12, "location": {"country": "US", "region": "CA"}}
    >>> events = of.read_events(event)
    >>> of.rsvps_by_region(events)["rsvps"].to_dict()
    {('US', 'CA'): 12}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["rsvps_by_region"], events, counting, titles=campaigns)


def rsvps_by_month(
    events: pd.DataFrame,
    campaigns: pd.DataFrame | None = None,
    *,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Sum the RSVPs of the events of each month, months without any included.

    See `rsvps_by`.

    >>> import osdi_frames as of
    >>> event = {"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"}
    >>> events = of.read_events(event)
    >>> of.rsvps_by_month(events)["rsvps"].to_dict()
    {'2026-05': 12}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["rsvps_by_month"], events, counting, titles=campaigns)


def rsvps_by(
    events: pd.DataFrame,
    by: By,
    campaigns: pd.DataFrame | None = None,
    *,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Sum the RSVPs by any column, by several, or by a period of time.

    RSVPs are counted, not people. Rows without a value are counted in the row ``(none)``, so the counts sum to the
    total. With a time among the keys the rows are in the order of the keys; a single Grouper shows every period between
    the first and the last, with 0 if nothing was in it; gaps of more than ten years are left out.

    Parameters
    ----------
    events
        Each event once, as `read_events` returns them, with total_accepted, capacity and start_date;
        `rsvps_over_time` takes repeated pulls.
    by
        A column, a Grouper, as ``pd.Grouper(key="start_date", freq="MS")``, or a list of them.
    campaigns
        One row per event campaign, with event_campaign_id and title, which adds the column `title` if
        event_campaign_id is a key.
    include
        Reasons of the column `excluded` whose rows to count nevertheless: any of ``gone``, ``cancelled``, ``hidden``,
        ``test`` and ``unaccepted``. The report's ``attrs["note"]`` has the number of rows that are not counted.
    spelling
        ``"merged"`` counts different spellings of one source, referrer, website, region or country in one row, and
        notes their number; ``"exact"`` keeps them apart.
    timezone
        The zone whose wall clock periods of created_date are of, as for `signatures_by`; start_date is a wall clock.

    Returns
    -------
    DataFrame
        Indexed by its keys, most `rsvps` first, times in order. Its columns:

    events, rsvps
        The number of events; the sum of their total_accepted, in which a missing value is 0.
    limited_events, limited_rsvps, capacity
        The number of events with a capacity (interface 2.1), and the sums of their RSVPs and of their capacities.
    fill_rate
        limited_rsvps over capacity; missing if the capacity is missing or 0, or no such event has a total_accepted.
    first_start, last_start
        The first and the last start, as wall clock at the place of the event.

    Raises
    ------
    MissingColumn
        A frame lacks needed columns; the message names all of them.
    InvalidColumn
        `by` names a list-valued column (a row with two values would count twice), a column has a value that is not
        a whole number or not a time, or a sum does not fit 64 bits.
    InvalidArgument
        `freq` or another argument is invalid.

    Examples
    --------
    >>> import osdi_frames as of
    >>> events = of.read_events({"title": "March", "total_accepted": 12, "location": {"venue": "Library"}})
    >>> of.rsvps_by(events, ["location_venue", "status"])["rsvps"].to_dict()
    {('Library', '(none)'): 12}
    """
    counting = Counting(by=by, include=include, spelling=spelling, timezone=timezone)
    return make(DECLARED["rsvps_by"], events, counting, titles=campaigns)


def rsvps_by_pull(
    snapshots: pd.DataFrame,
    campaigns: pd.DataFrame | None = None,
    *,
    pause: Duration = "1min",
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Sum the RSVPs that were known at each pull.

    `rsvps` is the sum over all events, each with its last total known at the pull; `new_rsvps` is the difference to
    the pull before, missing for the first. See `rsvps_over_time`.

    >>> import osdi_frames as of
    >>> bodies = [{"identifiers": ["platform:5f"], "total_accepted": total} for total in (13, 14)]
    >>> pulls = [{"fetched_at": f"2026-05-0{day}T06:00:00Z", "body": body} for day, body in enumerate(bodies, 1)]
    >>> of.rsvps_by_pull(of.read_events(pulls, dedupe=False))["rsvps"].tolist()
    [13, 14]
    """
    counting = Counting(pause=pause, include=include, spelling=spelling)
    return make(DECLARED["rsvps_by_pull"], snapshots, counting, titles=campaigns)


def rsvps_over_time(
    snapshots: pd.DataFrame,
    by: By | None = None,
    campaigns: pd.DataFrame | None = None,
    *,
    pause: Duration = "1min",
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Show how the RSVPs of each campaign grew from pull to pull.

    Each pull counts every event with its last known total. So an event that a later, partial pull lacks keeps its
    RSVPs, and an event that moved to another campaign takes them along. A deleted event keeps them, too, unless the
    last row of the event has ``gone`` in the column `excluded`: resolved events have it, as in `Archive.report`, but
    rows that were read with ``dedupe=False`` do not.

    Parameters
    ----------
    snapshots
        One row per event and pull, as ``read_events(…, dedupe=False)`` returns them, with event_id, fetched_at and
        total_accepted.
    by
        A column, a pandas Grouper, or a list of them; event_campaign_id if not given.
    campaigns, include, spelling
        As for `rsvps_by`.
    pause
        The longest time between two pages of one pull, which are fetched seconds apart. The row of a pull has the time
        of its last page. Too short a pause splits a slow pull in two, too long a pause joins two pulls.

    Returns
    -------
    DataFrame
        Indexed by fetched_at (UTC), one row per pull; one column per value, that with most RSVPs in the last pull
        first, with 0 in earlier pulls without the value. ``.sum(axis=1)`` is the total. Errors are those of `rsvps_by`.

    Examples
    --------
    >>> import osdi_frames as of
    >>> bodies = [{"identifiers": ["platform:5f"], "total_accepted": total} for total in (13, 14)]
    >>> pulls = [{"fetched_at": f"2026-05-0{day}T06:00:00Z", "body": body} for day, body in enumerate(bodies, 1)]
    >>> of.rsvps_over_time(of.read_events(pulls, dedupe=False)).to_dict("list")
    {'(none)': [13, 14]}
    """
    counting = Counting(by=by, pause=pause, include=include, spelling=spelling)
    return make(DECLARED["rsvps_over_time"], snapshots, counting, titles=campaigns)
