"""What changed from one period to the next, by value: what moved most is first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from osdi_frames.errors import InvalidArgument, MissingColumn, counted
from osdi_frames.frames import as_frame
from osdi_frames.quoting import quoted
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import moment, noted, parsed
from osdi_frames.reports.declared import NO_SOURCE
from osdi_frames.reports.groups import By, Spelling, checked_spelling, contexts, group, named_keys
from osdi_frames.reports.measures import Convert, local, show_key, take, utc, whole


@dataclass(frozen=True, slots=True)
class _Dated:
    """Rows with a date: its column, and what is counted.

    `noun` is what a row is called.
    """

    column: str
    convert: Convert
    noun: str
    sums: str | None = None


#: The column of the date, by the first that a frame has. Events are compared by their RSVPs.
_DATED: Final = (
    _Dated("date", utc, exclusion.ACT),
    _Dated("start_date", local, "event", "total_accepted"),
    _Dated("created_date", utc, "row"),
)

#: Months and their like, which are no fixed time, and weeks, which begin on Monday.
_CALENDAR: Final = re.compile(r"(\d{0,3})([WMQY])[SE]?")
_STEPS: Final = {"W": "weeks", "M": "months", "Q": "months", "Y": "years"}


@dataclass(frozen=True, slots=True)
class _Length:
    """How long a period is, and where one can begin."""

    step: pd.DateOffset | pd.Timedelta
    unit: str

    @classmethod
    def of(cls, period: Any) -> _Length:
        found = _CALENDAR.fullmatch(period) if isinstance(period, str) else None
        if found:
            number = int(found[1] or 1) * (3 if found[2] == "Q" else 1)
            if number:
                step: dict[str, Any] = {_STEPS[found[2]]: number}
                return cls(pd.DateOffset(**step), found[2])
        is_unit = isinstance(period, str) and not any(map(str.isdigit, period))
        length = parsed(pd.Timedelta, f"1{period}" if is_unit else period)
        if length is None or length <= pd.Timedelta(0):
            raise InvalidArgument(f"compare: period is a time as '7D', or W, M, Q or Y, not {quoted(period)}")
        whole_days = length % pd.Timedelta(days=1) == pd.Timedelta(0)
        return cls(
            length, "D" if whole_days else "h" if length % pd.Timedelta(hours=1) == pd.Timedelta(0) else "min"
        )

    def last_end(self, newest: pd.Timestamp) -> pd.Timestamp:
        """Return the end of the last period that is complete."""
        if self.unit in _STEPS:
            return newest.tz_localize(None).to_period(self.unit).start_time.tz_localize(newest.tz)
        return newest.floor(self.unit)


def compare(
    frame: pd.DataFrame,
    period: str | pd.Timedelta = "7D",
    *,
    by: By = "source",
    until: Any = None,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Compare a period with the one before, by value.

    What moved most is first. The two periods are equally long and follow each other: `now` ends before `until`,
    `before` where `now` begins. Acts are counted by `date`, signatures and attendances by `created_date`, each in UTC,
    and of events the RSVPs, ``total_accepted``, by `start_date`, the wall clock at their place: a frame of events to
    come needs `until`.

    Parameters
    ----------
    frame
        one row per act, signature, attendance or event, with its date and what `by` names
    period
        how long: a time as ``7D`` or ``6h``, or a number of weeks from Monday, months, quarters or years, as ``W``
        or ``3M``
    by
        a column, or several
    until
        the end of the period, itself not in it; without a zone it is UTC. If not given, the end of the last that is
        complete before the newest date: for days a midnight, for months the first of a month
    include
        which rows to count though they are `excluded`; the attribute `note` says how many were not
    spelling
        ``merged`` counts spellings of one source, referrer, website, region or country as one row; ``exact`` keeps
        them apart

    Returns
    -------
    DataFrame
        indexed by what `by` names, the largest absolute change first, then in the order of the index; values
        without any row in both periods are left out. `note` says which periods these are, and whether the last one
        has not ended: when `until` is after the newest date

        - before: how many in the period before
        - now: how many in the last period
        - change: now less before
        - change_share: change over before; missing where before is 0

    Raises
    ------
    MissingColumn
        the frame lacks a date, or another column that is needed
    InvalidArgument
        `period` is no time, or `until` none

    Examples
    --------
    >>> signatures = pd.DataFrame({
    ...     "source": ["email", "web", "email", "email", "web"],
    ...     "created_date": pd.to_datetime(
    ...         ["2026-05-01", "2026-05-02", "2026-05-08", "2026-05-09", "2026-05-10"], utc=True
    ...     ),
    ... })
    >>> compare(signatures, until="2026-05-15")[["before", "now", "change"]].values.tolist()
    [[1, 2, 1], [1, 1, 0]]
    """
    checked_spelling(spelling)
    include, length = exclusion.included(include), _Length.of(period)
    keys = [name for name, _ in named_keys(by, report="compare")]
    names = [name for dated in _DATED for name in (dated.column, dated.sums) if name]
    columns = {*keys, *contexts(keys), *names, exclusion.COLUMN}
    frame = as_frame(frame, caller="compare", columns=columns).reset_index(drop=True)
    dated = next((dated for dated in _DATED if dated.column in frame.columns), None)
    if dated is None:
        raise MissingColumn("compare needs one of the columns date, start_date and created_date")
    frame, note = exclusion.counted_rows(frame, include, dated.noun)
    frame = frame.reset_index(drop=True)
    needs = {dated.column: dated.convert, **({dated.sums: whole} if dated.sums else {})}
    rows = take(frame, needs, keys=keys, report="compare")
    dates = rows[dated.column]
    newest = dates.max()
    bounds = _bounds(until, length, newest, zone=dates.dt.tz)
    # Rows before the first are of no period; searchsorted numbers the periods from 1.
    number = np.searchsorted(pd.DatetimeIndex(bounds).as_unit("us"), pd.DatetimeIndex(dates), side="right")
    within = rows.index[dates.notna() & (number > 0) & (number < len(bounds))]
    groups = group(frame.loc[within], by, nothing=NO_SOURCE, spelling=spelling, report="compare")
    counts = rows[dated.sums].fillna(0) if dated.sums else pd.Series(1, index=rows.index)
    made = pd.DataFrame(index=pd.RangeIndex(len(groups.labels)))
    for place, name in enumerate(("before", "now"), start=1):
        of_period = counts.loc[within].where(number[within] == place, 0)
        made[name] = (
            of_period.groupby(groups.number.to_numpy())
            .sum()
            .reindex(made.index, fill_value=0)
            .astype("int64")
        )
    made["change"] = made["now"] - made["before"]
    made["change_share"] = made["change"] / made["before"].where(made["before"] > 0)
    order = made["change"].abs().sort_values(ascending=False, kind="stable").index
    made = made.set_axis(groups.labels).iloc[order]
    return noted(made, [note, *_said_of(dates, bounds, dated.noun)], groups.notes)


def _bounds(until: Any, length: _Length, newest: pd.Timestamp, *, zone: Any) -> list[pd.Timestamp]:
    """Return where both periods begin, and the end."""
    if until is None:
        end = length.last_end(pd.Timestamp(0, tz=zone) if pd.isna(newest) else newest)
    else:
        end = moment(until, report="compare")
        end = end if zone is not None else end.tz_localize(None)
    try:
        return [end - 2 * length.step, end - length.step, end]
    except (ValueError, OverflowError):
        raise InvalidArgument(f"compare: period is too long before {show_key(end)}") from None


def _said_of(dates: pd.Series, bounds: list[pd.Timestamp], noun: str) -> list[str]:
    """Return sentences on the periods, and what is in neither."""
    newest, undated = dates.max(), int(dates.isna().sum())
    said = [f"without a date: {counted(undated, noun)}"] if undated else []
    if pd.isna(newest):
        return said
    _, start, end = map(show_key, bounds)
    said.insert(0, f"from {start} to {end}, and as long before")
    if bounds[-1] > newest:
        said.append(f"the period has not ended: the newest date is {show_key(newest)}")
    return said
