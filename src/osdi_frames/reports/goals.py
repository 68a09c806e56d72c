"""Compare petitions with their goals, and predict at the present rate when they reach them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pandas as pd

from osdi_frames.clock import TimeLike, instants
from osdi_frames.errors import InvalidArgument
from osdi_frames.frames import as_frame
from osdi_frames.messages import quoted
from osdi_frames.names import id_named
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import noted
from osdi_frames.reports.columns import (
    UTC,
    Clock,
    convert_columns,
    in_zone,
    refuse_lacking,
    text,
    utc,
    zone_for,
    zone_note,
)
from osdi_frames.reports.known import RECEIPTS, Known, end_of, latest_time

#: The time before the end over which the present rate is measured.
_RECENT: Final = pd.Timedelta(days=28)
_DAY: Final = pd.Timedelta(days=1)
_WEEK: Final = pd.Timedelta(days=7)
_DTYPES: Final = {
    "title": "str",
    "signatures": "int64",
    "goal": "int64",
    "share": "float64",
    "per_week": "float64",
    "reached": UTC,
    "expected": UTC,
}


def goals(
    signatures: pd.DataFrame,
    goals: Mapping[str, int],
    petitions: pd.DataFrame | None = None,
    *,
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    timezone: str | None = None,
) -> pd.DataFrame:
    """Compare the signatures of petitions with their goals.

    The present rate is that of the 28 days before `until`. At this rate the goal is reached after
    ``(goal - signatures) / per_week`` weeks.

    Parameters
    ----------
    signatures
        one row per signature, with petition_id and created_date
    goals
        the number of signatures that each petition should reach, by its id or title
    petitions
        one row per petition, with petition_id and title
    until
        the day, month or year, itself included, or the time up to which all signatures are known; see `compare`. By
        default the day of the newest signature without a doubtful date; signatures with one are counted, but not dated
    now
        as for `compare`
    include
        reasons of the column `excluded` whose rows to count nevertheless; the attribute `note` has the number of the
        others
    timezone
        as for `compare`: the zone of the days

    Returns
    -------
    DataFrame
        indexed by petition_id, in the order of `goals`

        - title: the petition's title; missing if unknown
        - signatures: the number of its signatures
        - goal: the number that it should reach
        - share: signatures over goal
        - per_week: the mean number of signatures in a week of the last 28 days
        - reached: when the goal was reached; missing if it was not, or if too few signatures have a date
        - expected: when the goal will be reached at the present rate; missing if it was, or never will be

    Raises
    ------
    MissingColumn
        a frame lacks a needed column
    UnknownValue
        no petition has such an id or title, or several have this title
    InvalidArgument
        a goal is not a whole number above 0, or `until` not a time

    Examples
    --------
    >>> dates = pd.date_range("2026-05-01", "2026-05-28", freq="D", tz="UTC")
    >>> signatures = pd.DataFrame({"petition_id": "park", "created_date": dates})
    >>> goals(signatures, {"park": 56}, until="2026-05-28")[["signatures", "share", "per_week"]].values.tolist()
    [[28.0, 0.5, 7.0]]
    """
    include = exclusion.included(include)
    needs = {"petition_id": text, "created_date": utc}
    frame = as_frame(signatures, caller="goals", columns=(*needs, *RECEIPTS, exclusion.COLUMN))
    rows = convert_columns(frame, needs, report="goals")
    titles = _titles(petitions)
    ids = [*dict.fromkeys([*titles, *rows["petition_id"].dropna()])]
    counted, note = exclusion.counted_rows(frame.reset_index(drop=True), include, "signature")
    zone = zone_for(frame, timezone, "created_date")
    rows["clock"] = Clock.of(frame, "created_date", timezone, report="goals").times
    rows = rows.loc[counted.index]
    known = Known.of(rows["clock"], latest_time([frame], now, zone, report="goals"), "signature")
    if until is None:
        rows["created_date"] = rows["created_date"].mask(known.later)
    end = known.newest.floor("D") + _DAY if until is None else end_of(until, now, zone, report="goals")
    recent = instants(pd.DatetimeIndex([end - _RECENT, end]), zone).tz_convert("UTC")
    by_petition = dict(iter(rows["created_date"].groupby(rows["petition_id"])))
    progress = {}
    for named, goal in goals.items():
        if not isinstance(goal, int) or isinstance(goal, bool) or goal < 1:
            raise InvalidArgument(f"goals: a goal is a whole number above 0, not {quoted(goal)}")
        petition = id_named(named, ids, titles.items(), noun="petition")
        dates = by_petition.get(petition, rows["created_date"].head(0))
        progress[petition] = {"title": titles.get(petition), **_progress(dates, goal, *recent)}
    table = pd.DataFrame.from_dict(progress, orient="index", columns=[*_DTYPES])
    doubtful_notes = [known.note] if known.note and until is None else []
    notes = [note, zone_note(frame, needs)]
    times = {name: pd.to_datetime(table[name], utc=True) for name in ("reached", "expected")}
    table = in_zone(table.assign(**times).astype(_DTYPES).rename_axis("petition_id"), zone)
    return noted(table, notes, doubtful_notes)


def _progress(dates: pd.Series, goal: int, start: pd.Timestamp, end: pd.Timestamp) -> dict[str, Any]:
    """Return the row of a petition from the dates of its signatures, its rate from a start to an end."""
    signatures, dated = len(dates), dates.dropna().sort_values()
    recent = int(((dated >= start) & (dated < end)).sum())
    missing = goal - signatures
    is_reached = missing <= 0 and len(dated) >= goal
    return {
        "signatures": signatures,
        "goal": goal,
        "share": signatures / goal,
        "per_week": recent * _WEEK / _RECENT,
        "reached": dated.iloc[goal - 1] if is_reached else pd.NaT,
        "expected": end + missing / recent * _RECENT if missing > 0 and recent else pd.NaT,
    }


def _titles(petitions: pd.DataFrame | None) -> dict[str, str]:
    """Return the titles of petitions by id."""
    if petitions is None:
        return {}
    petitions = as_frame(petitions, caller="goals", columns=("petition_id", "title"))
    refuse_lacking(petitions, ("petition_id", "title"), name="petitions", report="goals")
    known = petitions[["petition_id", "title"]].astype("str").dropna()
    return dict(zip(known["petition_id"], known["title"], strict=True))
