"""What changed from one period to the next, by value: what moved most is first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.errors import InvalidArgument, MissingColumn
from osdi_frames.frames import as_frame
from osdi_frames.messages import counted, quoted
from osdi_frames.reports import exclusion
from osdi_frames.reports.acts import ACTION_NAMES, Acts, noted
from osdi_frames.reports.columns import Convert, convert_columns, local, text, utc, whole, zone_note
from osdi_frames.reports.groups import By, group, named_keys
from osdi_frames.reports.known import RECEIPTS, Duration, Known, TimeLike, latest_time, moment, parsed
from osdi_frames.reports.measures import show_key
from osdi_frames.reports.spelling import NO_SOURCE, Spelling, checked_spelling, contexts


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

#: What brought somebody to act.
_BROUGHT_BY: Final = {"source", "referrer"}


@dataclass(frozen=True, slots=True)
class _Length:
    """How long a period is, and where one can begin."""

    step: pd.DateOffset | pd.Timedelta
    unit: str

    @classmethod
    def of(cls, period: Duration, *, report: str) -> _Length:
        calendar = _CALENDAR.fullmatch(period) if isinstance(period, str) else None
        if calendar:
            number = int(calendar[1] or 1) * (3 if calendar[2] == "Q" else 1)
            if number:
                step: dict[str, Any] = {_STEPS[calendar[2]]: number}
                return cls(pd.DateOffset(**step), calendar[2])
        is_unit = isinstance(period, str) and not any(map(str.isdigit, period))
        length = parsed(pd.Timedelta, f"1{period}" if is_unit else period)
        if length is None or length <= pd.Timedelta(0):
            raise InvalidArgument(
                f"{report}: period is a time as '7D', or W, M, Q or Y, not {quoted(period)}"
            )
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
    period: Duration = "7D",
    *,
    by: By = "source",
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Compare a period with the one before, by value.

    What moved most is first. The two periods are equally long and follow each other: `now` ends before `until`,
    `before` where `now` begins. Acts are counted by `date`, signatures and attendances by `created_date`, each in UTC,
    and of events the RSVPs, ``total_accepted``, by `start_date`, the wall clock at their place.

    A date far from most others, or more than a day after the newest receipt (`received_at`, `fetched_at`, where the
    frame has them), is doubtful: without `until` it is set aside, and `note` names it.

    By source or referrer, acts that are `attended` are left out, unless `by` names action, too: what a source brought
    is the RSVP, often weeks before, and an act `rsvped` of the same person and event has it.

    Parameters
    ----------
    frame
        one row per act, signature, attendance or event, with its date and what `by` names; of acts also action, where
        there is one
    period
        how long: a time as ``7D`` or ``6h``, or a number of weeks from Monday, months, quarters or years, as ``W``
        or ``3M``
    by
        a column, or several
    until
        the end of the period, itself not in it; without a zone it is UTC. If not given, the end of the last that is
        complete before the newest date that is not doubtful: for days a midnight, for months the first of a month
    now
        the present, for a frame without `received_at` and `fetched_at`: no later date counts
    include
        which rows to count though they are `excluded`; the attribute `note` says how many were not
    spelling
        ``merged`` counts spellings of one source, referrer, website, region or country as one row, by the most
        frequent of the whole frame; ``exact`` keeps them apart

    Returns
    -------
    DataFrame
        indexed by what `by` names, the largest absolute change first, then in the order of the index; values
        without any row in both periods are left out. `note` says which periods these are, whether the last one has not
        ended, when `until` is after the newest date, and if there is no `until`, which newer days are not compared

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
    include = exclusion.included(include)
    keys = [name for name, _ in named_keys(by, report="compare")]
    names = [name for dated in _DATED for name in (dated.column, dated.sums) if name]
    columns = {*keys, *contexts(keys), *names, *RECEIPTS, "action", exclusion.COLUMN}
    frame = as_frame(frame, caller="compare", columns=columns).reset_index(drop=True)
    dated = next((dated for dated in _DATED if dated.column in frame.columns), None)
    if dated is None:
        raise MissingColumn("compare needs one of the columns date, start_date and created_date")
    latest = latest_time([frame], now, report="compare")
    frame, note = exclusion.counted_rows(frame, include, dated.noun)
    frame = frame.reset_index(drop=True)
    needs = {dated.column: dated.convert, **({dated.sums: whole} if dated.sums else {})}
    rows = convert_columns(frame, needs, keys=keys, report="compare")
    known = Known.of(rows[dated.column], latest, dated.noun)
    periods = _Periods.of(known, period, until, report="compare")
    is_within = periods.number >= 0
    came = is_within & _attended_by_rsvp(frame, keys)
    within = rows.index[is_within & ~came]
    groups = group(frame, by, nothing=NO_SOURCE, spelling=spelling, report="compare")
    counts = rows[dated.sums].fillna(0) if dated.sums else pd.Series(1, index=rows.index)
    sums = counts[within].groupby([groups.number[within], periods.number[within]]).sum()
    made = sums.unstack(fill_value=0).reindex(columns=range(2))
    made = _changed(made.set_axis(groups.labels.take(made.index.to_numpy())))
    made = made.iloc[(-made["change"].abs()).argsort(kind="stable")]
    left_out = f"without {came.sum():,} attended: their RSVPs have the source" if came.any() else ""
    caveats = [*periods.set_aside, *filter(None, [left_out]), *groups.notes]
    notes = [note, zone_note(frame, needs), *periods.said, *periods.newer]
    return periods.noted(noted(made, notes, caveats))


def _attended_by_rsvp(frame: pd.DataFrame, keys: Collection[str]) -> NDArray[np.bool_]:
    """Return which acts a source brought by their RSVP."""
    if "action" not in frame.columns or "action" in keys or _BROUGHT_BY.isdisjoint(keys):
        return np.zeros(len(frame), dtype=bool)
    return text(frame["action"]).eq("attended").fillna(False).to_numpy(dtype=bool)


def changes(
    actions: pd.DataFrame,
    period: Duration = "W",
    *,
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
) -> pd.DataFrame:
    """Compare people and acts of two periods.

    The periods are those of `compare`, which also says which dates are doubtful and set aside: name the column
    `received_at` of `Archive.actions` where you read some columns only.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action and number, as ``osdi_frames.open(source).actions()`` returns it
    period, until, now
        as for `compare`
    include
        which acts to count though they are `excluded`; the attribute `note` says how many were not

    Returns
    -------
    DataFrame
        indexed by figure: ``people``, those who acted; ``new people``, those of them who had no act before in the
        archive; then each action of either period, as ``signed``, in the order of `Archive.actions`

        - before: how many in the period before
        - now: how many in the last period
        - change: now less before
        - change_share: change over before; missing where before is 0

    Raises
    ------
    MissingColumn
        the frame lacks a column that is needed
    InvalidArgument
        `period` is no time, or `until` none

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann"],
    ...     "date": pd.to_datetime(["2026-05-05", "2026-05-12", "2026-05-13"], utc=True),
    ...     "action": "signed",
    ...     "number": [1, 1, 2],
    ... })
    >>> changes(actions, until="2026-05-18")[["before", "now"]].T.to_dict("list")
    {'people': [1, 2], 'new people': [1, 1], 'signed': [1, 2]}
    """
    acts = Acts.of(actions, "action", "number", report="changes", include=include, now=now)
    periods = _Periods.of(acts.known, period, until, report="changes")
    firsts = acts.first_of_each()
    first = firsts.index[firsts["person_id"].isin(acts.started)]
    counts: dict[str, list[int]] = {"people": [], "new people": [], **{action: [] for action in ACTION_NAMES}}
    for place in range(2):
        within = acts.rows[periods.number == place]
        counts["people"].append(within["person_id"].nunique())
        counts["new people"].append(int((periods.number[first] == place).sum()))
        for action in ACTION_NAMES:
            counts[action].append(int(within["action"].eq(action).sum()))
    made = pd.DataFrame.from_dict(counts, orient="index").rename_axis("figure")
    made = _changed(made[made.any(axis=1)])
    notes = [*acts.notes, *periods.said]
    return periods.noted(noted(made, notes, [*periods.newer, *periods.set_aside]))


def news(
    tables: Mapping[str, pd.DataFrame],
    period: Duration = "W",
    *,
    until: TimeLike | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
) -> pd.DataFrame:
    """List the events and petitions that are new, or gone, since the last period of `compare` began.

    What was created since then is new; what a pull since then lacked is gone.

    Parameters
    ----------
    tables
        ``actions`` with date; ``events``, ``petitions`` or both with title, created_date, gone_since and excluded
    period, until, now
        as for `compare`, of the acts; without `until`, what has a doubtful date is not listed
    include
        which events to list though they are `excluded`

    Returns
    -------
    DataFrame
        indexed by title, the newest first

        - kind: ``event`` or ``petition``
        - news: ``new`` or ``gone``
        - date: when (UTC)
    """
    latest = latest_time(tables.values(), now, report="news")
    dates = convert_columns(tables["actions"], {"date": utc}, report="news")["date"]
    periods, parts = _Periods.of(Known.of(dates, latest, exclusion.ACT), period, until, report="news"), []
    aside: list[str] = []
    for name in (name for name in ("events", "petitions") if name in tables):
        frame = tables[name]
        gone = frame.assign(news="gone", date=frame["gone_since"])
        new = exclusion.split(frame, exclusion.included(include))[0]
        known = Known.of(new["created_date"], latest, name[:-1])
        if not periods.is_chosen:
            new, aside = new[~known.later], [*aside, known.note]
        both = pd.concat([new.assign(news="new", date=new["created_date"]), gone])
        parts.append(
            both.loc[both["date"] >= periods.bounds[1], ["title", "news", "date"]].assign(kind=name[:-1])
        )
    made = pd.concat(parts).sort_values(["date", "title"], ascending=[False, True], kind="stable")
    made = noted(made.set_index("title")[["kind", "news", "date"]], [], [*filter(None, aside)])
    made.attrs["period"] = f"since {show_key(periods.bounds[1])}"
    return made


def _changed(counts: pd.DataFrame) -> pd.DataFrame:
    """Return counts before and now with their change."""
    made = counts.fillna(0).astype("int64").set_axis(["before", "now"], axis="columns")
    made["change"] = made["now"] - made["before"]
    made["change_share"] = made["change"] / made["before"].where(made["before"] > 0)
    return made


@dataclass(frozen=True, slots=True)
class _Periods:
    """The last period, and the one before it.

    `number` is 1 for dates in the last, 0 in the one before, and -1 for all others.
    """

    known: Known
    bounds: list[pd.Timestamp]
    number: NDArray[np.int64]
    is_chosen: bool
    """Whether the caller says where they end."""

    @classmethod
    def of(cls, known: Known, period: Duration, until: TimeLike | None, *, report: str) -> _Periods:
        dates, newest = known.dates, known.newest
        length, zone = _Length.of(period, report=report), dates.dt.tz
        if until is None:
            end = length.last_end(pd.Timestamp(0, tz=zone) if pd.isna(newest) else newest)
        else:
            end = moment(until, report=report)
            end = end if zone is not None else end.tz_localize(None)
        try:
            bounds = [end - 2 * length.step, end - length.step, end]
        except (ValueError, OverflowError):
            raise InvalidArgument(f"{report}: period is too long before {show_key(end)}") from None
        number = np.searchsorted(
            pd.DatetimeIndex(bounds).as_unit("us"), pd.DatetimeIndex(dates), side="right"
        )
        return cls(
            known, bounds, np.where(dates.notna() & (number < len(bounds)), number - 1, -1), until is not None
        )

    def noted(self, report: pd.DataFrame) -> pd.DataFrame:
        """Write to a report's attributes `period` and `periods` which periods are compared."""
        report.attrs |= {"period": self._compared, "periods": self._names}
        return report

    @property
    def _names(self) -> dict[str, str]:
        """The days of each period, by the name of its column."""
        before, start, end = self.bounds
        return {"before": _named(before, start), "now": _named(start, end)}

    @property
    def _compared(self) -> str:
        return f"{self._names['now']}, against {self._names['before']}"

    @property
    def said(self) -> list[str]:
        """Sentences on the periods, and what is in neither."""
        newest, undated = self.known.newest, int(self.known.dates.isna().sum())
        said = [f"without a date: {counted(undated, self.known.noun)}"] if undated else []
        if pd.isna(newest):
            return said
        end = self.bounds[-1]
        said.insert(0, self._compared)
        if end > newest:
            said.append(f"the period has not ended: the newest date is {show_key(newest)}")
        return said

    @property
    def newer(self) -> list[str]:
        """A sentence on newer days, where no end is given."""
        newest, end = self.known.newest, self.bounds[-1]
        if self.is_chosen or pd.isna(newest):
            return []
        return [f"{_days(end, newest)} not compared: the period has not ended"]

    @property
    def set_aside(self) -> list[str]:
        """A sentence on doubtful dates, where no end is given."""
        return [self.known.note] if self.known.note and not self.is_chosen else []


def _named(start: pd.Timestamp, end: pd.Timestamp) -> str:
    """Return a period's first and last day, or its times.

    >>> _named(pd.Timestamp("2026-05-04"), pd.Timestamp("2026-05-11"))
    '2026-05-04 to 2026-05-10'
    """
    is_of_days = start == start.normalize() and end == end.normalize()
    last = end - pd.Timedelta(days=1) if is_of_days else end
    return show_key(start) if start == last else f"{show_key(start)} to {show_key(last)}"


def _days(start: pd.Timestamp, last: pd.Timestamp) -> str:
    """Return from where to where newer dates are.

    >>> _days(pd.Timestamp("2026-07-27"), pd.Timestamp("2026-08-01 17:30"))
    '2026-07-27 to 2026-08-01'
    """
    is_one_day = start.normalize() == last.normalize()
    return show_key(start) if is_one_day else f"{show_key(start)} to {show_key(last.normalize())}"
