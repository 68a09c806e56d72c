"""RSVPs: summed by campaign or by anything else, and their growth."""

from __future__ import annotations

import pandas as pd

from osdi_frames.errors import UnfitColumn
from osdi_frames.reports.columns import LOCAL, By, identity, local, take, utc, whole
from osdi_frames.reports.groups import group

_COLUMNS = {
    "events": "int64",
    "rsvps": "int64",
    "capacity": "Int64",
    "fill_rate": "float64",
    "first_start": LOCAL,
    "last_start": LOCAL,
}

# Text that stands for no value. The literal `none` of signatures is not known of events.
_NOTHING = ("",)


def rsvps_by_campaign(events: pd.DataFrame) -> pd.DataFrame:
    """Sum the RSVPs of each event campaign, most RSVPs first.

    Counts RSVPs (attendances), not people. Events without a campaign are the row ``(none)``, so `rsvps`
    sums to the total. The frame is to hold each event once, as `read_events` reads it; `rsvps_over_time`
    takes repeated pulls.

    Parameters
    ----------
    events
        one row per event, with event_campaign_id, total_accepted, capacity and start_date

    Returns
    -------
    DataFrame
        indexed by event_campaign_id, in the order of `rsvps`, then of the index:

        - events: how many
        - rsvps: the sum of total_accepted; missing counts 0
        - capacity: the sum of the events that have one (interface 2.1); missing when none has
        - fill_rate: RSVPs over capacity, both of the events that have a capacity; missing if none, or 0
        - first_start, last_start: wall clock at the place of the event

    Raises
    ------
    MissingColumn
        the frame lacks one of the four columns
    UnfitColumn
        a column holds what is no whole number, or no time

    Examples
    --------
    >>> events = pd.DataFrame({
    ...     "event_campaign_id": ["climate", "climate", None],
    ...     "total_accepted": [30, 12, 5],
    ...     "capacity": [40, None, None],
    ...     "start_date": pd.to_datetime(["2026-05-01 18:00", "2026-05-09 10:00", "2026-05-02 09:30"]),
    ... })
    >>> report = rsvps_by_campaign(events)
    >>> report[["events", "rsvps", "capacity", "fill_rate"]]  # doctest: +NORMALIZE_WHITESPACE
                       events  rsvps  capacity  fill_rate
    event_campaign_id
    climate                 2     42        40       0.75
    (none)                  1      5      <NA>        NaN
    """
    return _rsvps(events, "event_campaign_id", report="rsvps_by_campaign")


def rsvps_by(events: pd.DataFrame, by: By) -> pd.DataFrame:
    """Sum the RSVPs by any column of the events, by several, or by a period of time.

    Counts RSVPs, as `rsvps_by_campaign` does, with the same columns. With a time among the keys the rows
    are in the order of the keys; a single Grouper shows every period between the first and the last, with
    0 where there was nothing.

    Parameters
    ----------
    events
        one row per event, with total_accepted, capacity, start_date and what `by` names
    by
        a column, ``pd.Grouper(key="start_date", freq="MS")``, or a list of them (the index has a level
        for each)

    Returns
    -------
    DataFrame
        the columns of `rsvps_by_campaign`

    Raises
    ------
    MissingColumn
        the frame lacks a column; all that are missing are named
    UnfitColumn
        a list-valued column in `by`; a column that holds what is no whole number, or no time

    Examples
    --------
    >>> events = pd.DataFrame({
    ...     "location_region": ["CA", "", "CA"],
    ...     "total_accepted": [30, 12, 5],
    ...     "capacity": [40, None, None],
    ...     "start_date": pd.to_datetime(["2026-05-01 18:00", "2026-07-09 10:00", "2026-05-02 09:30"]),
    ... })
    >>> rsvps_by(events, "location_region")[["events", "rsvps"]]  # doctest: +NORMALIZE_WHITESPACE
                     events  rsvps
    location_region
    CA                    2     35
    (none)                1     12
    >>> by_month = rsvps_by(events, pd.Grouper(key="start_date", freq="MS"))
    >>> by_month[["events", "rsvps"]]  # doctest: +NORMALIZE_WHITESPACE
                events  rsvps
    start_date
    2026-05-01       2     35
    2026-06-01       0      0
    2026-07-01       1     12
    """
    return _rsvps(events, by, report="rsvps_by")


def rsvps_over_time(
    snapshots: pd.DataFrame, by: By | None = None, *, pause: str | pd.Timedelta = "1min"
) -> pd.DataFrame:
    """Show how the RSVPs of each campaign grew from pull to pull.

    Counts RSVPs. At each pull an event counts with what was last known of it, so one that a later,
    partial pull does not have keeps its RSVPs, and one that moved to another campaign takes them along. A
    deleted event cannot be told from one that was not pulled: it stays.

    The pages of one pull are fetched seconds apart. Rows belong to one pull as long as no `pause` lies
    between one fetched_at and the next, and the pull is shown at its last. Too short a pause makes a slow
    pull two points, the first of which may be a part of the events; too long a pause makes two pulls one.
    Pulls at intervals near a minute need a shorter one.

    Parameters
    ----------
    snapshots
        one row per event and pull (``read_events(…, dedupe=False)``), with event_id, fetched_at,
        total_accepted and what `by` names
    by
        what the columns are: event_campaign_id unless told otherwise; as in `rsvps_by`
    pause
        the longest time between two pages of one pull

    Returns
    -------
    DataFrame
        indexed by fetched_at (UTC), one row per pull; one column per value, most RSVPs in the last pull
        first, and 0 before it was first seen; ``.sum(axis=1)`` is the total

    Raises
    ------
    MissingColumn
        the frame lacks a column; all that are missing are named
    UnfitColumn
        rows without event_id or fetched_at, which cannot be followed through time; else as `rsvps_by`

    Examples
    --------
    >>> snapshots = pd.DataFrame({
    ...     "event_id": ["a", "b", "a"],
    ...     "event_campaign_id": ["climate", "housing", "climate"],
    ...     "total_accepted": [3, 4, 9],
    ...     "fetched_at": pd.to_datetime(
    ...         ["2026-05-01T06:00:00Z", "2026-05-01T06:00:02Z", "2026-05-02T06:00:00Z"]
    ...     ),
    ... })
    >>> rsvps_over_time(snapshots)  # doctest: +NORMALIZE_WHITESPACE
    event_campaign_id          climate  housing
    fetched_at
    2026-05-01 06:00:02+00:00        3        4
    2026-05-02 06:00:00+00:00        9        4
    """
    report = "rsvps_over_time"
    by = "event_campaign_id" if by is None else by
    needs = {"event_id": identity, "fetched_at": utc, "total_accepted": whole}
    rows = take(snapshots, needs, by=by, report=report)
    for column in ("event_id", "fetched_at"):
        _refuse_missing(rows[column], report=report)
    groups = group(snapshots, by, nothing=_NOTHING, report=report)
    states = _states(rows.assign(group=groups.number), pause=pd.Timedelta(pause))
    changes = _changes(states)
    growth = groups.spread(changes["rsvps"], changes["pull"], changes["group"]).cumsum()
    growth.index = pd.DatetimeIndex(states.groupby("pull")["fetched_at"].max(), name="fetched_at")
    return groups.label_columns(growth, growth.iloc[-1:].sum())


def _rsvps(events: pd.DataFrame, by: By, *, report: str) -> pd.DataFrame:
    needs = {"total_accepted": whole, "capacity": whole, "start_date": local}
    rows = take(events, needs, by=by, report=report)
    groups = group(events, by, nothing=_NOTHING, report=report)
    rows["limited"] = rows["total_accepted"].where(rows["capacity"].notna())
    of_group = rows.groupby(groups.number)
    capacity = of_group["capacity"].sum(min_count=1)
    table = pd.DataFrame(
        {
            "events": of_group.size(),
            "rsvps": of_group["total_accepted"].sum(),
            "capacity": capacity,
            "fill_rate": of_group["limited"].sum() / capacity.where(capacity > 0),
            "first_start": of_group["start_date"].min(),
            "last_start": of_group["start_date"].max(),
        }
    )
    return groups.rank(groups.label(table, _COLUMNS), "rsvps")


def _refuse_missing(column: pd.Series, *, report: str) -> None:
    count = int(column.isna().sum())
    if count:
        raise UnfitColumn(
            f"{report}: {count} of {len(column)} rows have no {column.name} and cannot be followed "
            f"through time; to leave them out: frame[frame.{column.name}.notna()]"
        )


def _states(rows: pd.DataFrame, *, pause: pd.Timedelta) -> pd.DataFrame:
    """Keep what was last known of each event in each pull."""
    # Rows of one instant have no order of their own: the larger count is taken for the later.
    rows = rows.sort_values(["fetched_at", "total_accepted", "group"], na_position="first", ignore_index=True)
    rows["pull"] = (rows["fetched_at"].diff() > pause).cumsum()
    rows["rsvps"] = rows.groupby("event_id")["total_accepted"].ffill().fillna(0).astype("int64")
    return rows.drop_duplicates(["pull", "event_id"], keep="last")


def _changes(states: pd.DataFrame) -> pd.DataFrame:
    """Turn states into what each pull adds to a group, and takes from the group the event was in before."""
    before = states.groupby("event_id")[["group", "rsvps"]].shift()
    taken = states.assign(group=before["group"], rsvps=-before["rsvps"]).dropna(subset="group")
    return pd.concat([states, taken.astype({"group": "int64", "rsvps": "int64"})])
