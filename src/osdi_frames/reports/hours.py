"""Count rows by weekday and hour, by the wall clock of their place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import pandas as pd

from osdi_frames.clock import is_utc
from osdi_frames.errors import MissingColumn
from osdi_frames.frames import TIMEZONE, as_frame
from osdi_frames.messages import counted
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import noted
from osdi_frames.reports.columns import Clock, convert_columns, local, zone_for

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def weekday_hours(
    frame: pd.DataFrame, *, include: Iterable[str] = (), timezone: str | None = None
) -> pd.DataFrame:
    """Count rows by weekday and hour of the wall clock.

    The wall clock is the column `local_time`, which ``osdi_frames.utc_to_local`` adds to acts, signatures and
    attendances, or without it `start_date` of events; each event counts once, whatever its RSVPs. In a zone that is
    known it is that of `date` or `created_date`. Rows without a time are not counted; `note` has their number.

    Parameters
    ----------
    frame
        one row per act, signature, attendance or event, with local_time or start_date, or with date or created_date
    include
        reasons of the column `excluded` whose rows to count nevertheless; the attribute `note` has the number of the
        others
    timezone
        the zone of date or created_date, as ``America/New_York``; by default that of the column, if it has one that is
        not UTC, else that of the frame's handle (`open`)

    Returns
    -------
    DataFrame
        the number of rows, indexed by weekday, Monday to Sunday; columns are the hours, 0 to 23, of which 9 is from
        9:00 to 9:59

    Raises
    ------
    MissingColumn
        the frame has neither of the first two columns, and no zone for the others
    InvalidColumn
        the column has a value that is not a time

    Examples
    --------
    >>> events = pd.DataFrame({"start_date": pd.to_datetime(["2026-05-01 18:00", "2026-05-08 18:30"])})
    >>> weekday_hours(events).loc["Friday", 18]
    np.int64(2)
    """
    include = exclusion.included(include)
    local_columns, instants = ("local_time", "start_date"), ("date", "created_date")
    columns = [*local_columns, *instants, "action", exclusion.COLUMN]
    frame = as_frame(frame, caller="weekday_hours", columns=columns)
    zone = zone_for(frame, timezone, *instants)
    has_zone = timezone is not None or TIMEZONE in frame.attrs or not is_utc(zone)
    known_columns = (*local_columns, *(instants if has_zone else ()))
    column = next((name for name in known_columns if name in frame.columns), None)
    if column is None:
        raise MissingColumn(
            "weekday_hours needs local_time, which osdi_frames.utc_to_local(frame) adds, or start_date,"
            " or the timezone of date or created_date"
        )
    frame, note = exclusion.counted_rows(frame, include, "event" if column == "start_date" else "row")
    if column in local_columns:
        times = convert_columns(frame, {column: local}, report="weekday_hours")[column]
    else:
        times = Clock.of(frame, column, timezone, report="weekday_hours").times
    known = times.dropna()
    numbers = np.bincount(known.dt.day_of_week * 24 + known.dt.hour, minlength=len(WEEKDAYS) * 24)
    hours = pd.DataFrame(
        numbers.astype("int64").reshape(len(WEEKDAYS), 24),
        pd.Index(WEEKDAYS, name="weekday", dtype="str"),
        pd.RangeIndex(24, name="hour"),
    )
    missing = len(times) - len(known)
    return noted(hours, [note, f"without a local time: {counted(missing, 'row')}" if missing else ""])
