"""Group the rows of a frame by values and periods of time; every row is in one group, even without a value."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_list_like, is_numeric_dtype
from pandas.tseries.frequencies import to_offset
from pandas.tseries.offsets import BaseOffset

from osdi_frames.clock import on_clock
from osdi_frames.errors import InvalidArgument, InvalidColumn
from osdi_frames.messages import quoted, shorten
from osdi_frames.problems import FAR
from osdi_frames.reports.columns import Clock, time
from osdi_frames.reports.known import is_trusted
from osdi_frames.reports.spelling import CONTEXTS, Spelling, TextKey
from osdi_frames.reports.titles import words
from osdi_frames.tables.schema import NO_DATE


@dataclass(frozen=True, slots=True)
class Period:
    """A key of the periods of a column of times, each named by its start, as text: ``2026-05``.

    Times far from most others are in ``before 2024-01`` and ``after 2026-12``, rows without a time in ``(no date)``.
    """

    column: str
    freq: Literal["D", "W", "M", "Q", "Y"] = "M"

    def __post_init__(self) -> None:
        if self.freq not in PERIOD_NAMES:
            raise InvalidArgument(f"Period: freq is D, W, M, Q or Y, not {quoted(self.freq)}")

    @property
    def name(self) -> str:
        """The name of the index."""
        return PERIOD_NAMES[self.freq]


By: TypeAlias = str | pd.Grouper | Period | Sequence[str | pd.Grouper | Period]
"""What to group by: a column, a pandas Grouper with a key, a Period, or a list of them."""

KeyCodes: TypeAlias = tuple[NDArray[Any], pd.Index]
"""The code of each row's value, and the sorted labels by code."""

PERIOD_NAMES: Final = {"D": "day", "W": "week", "M": "month", "Q": "quarter", "Y": "year"}
#: A pandas period, or the pandas offset of its start or end.
_FREQ: Final = re.compile(r"(?:(?P<unit>[MQY])(?P<edge>[SE])?|[hDW])(?P<anchor>-[A-Z]{3})?")
_FREQS: Final = "h, D, W, M, Q or Y"
#: The formats of the names of periods, applied to their first day.
_FORMATS: Final = {"M": "%Y-%m", "Q": "%Y-%m", "Y": "%Y"}
#: The names of periods in reports.
_PERIOD: Final = re.compile(r"(?:(?:before |after )?\d{4}(?:-\d\d){0,2})|\(no date\)")


def time_levels(index: pd.Index) -> list[int]:
    """Return the levels of an index that are times or periods."""
    levels = [index.get_level_values(number) for number in range(index.nlevels)]
    return [
        number
        for number, level in enumerate(levels)
        if is_datetime64_any_dtype(level.dtype)
        or (level.name in PERIOD_NAMES.values() and all(map(_PERIOD.fullmatch, map(str, level))))
    ]


def named_keys(by: By | None, *, report: str) -> list[tuple[str, str | pd.Grouper | Period]]:
    """Return the keys of `by`, each with the name of its column."""
    if by is None:
        return []
    keys = by if isinstance(by, Sequence) and not isinstance(by, str) else [by]
    names = [key.column if isinstance(key, Period) else getattr(key, "key", key) for key in keys]
    if not keys or not all(isinstance(name, str) for name in names):
        expected = "by is a column, a pandas Grouper with a key, a Period, or a list of them"
        raise InvalidColumn(f"{report}: {expected}")
    return [(str(name), key) for name, key in zip(names, keys, strict=True)]


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of rows, numbered so that neither missing keys nor unused categories lose or add rows."""

    number: pd.Series
    """For each row the number of its group."""
    labels: pd.Index
    """For each group its label, in order."""
    in_time: bool
    """Whether any key is a time, so that reports keep the order of the labels."""
    notes: tuple[str, ...] = ()
    """Notes on the spellings that were merged."""

    def ranked(self, counts: pd.Series) -> NDArray[np.int64]:
        """Return the order of the groups in a report: largest count first, then by label; times by label only."""
        counts = counts.reset_index(drop=True)
        ranked = counts if self.in_time else counts.sort_values(ascending=False, kind="stable")
        return ranked.index.to_numpy(dtype="int64")

    def spread(self, values: pd.Series, row: pd.Series, number: pd.Series) -> pd.DataFrame:
        """Return a table of sums of values, with a row for each `row` and a column for each group `number`."""
        sums = values.groupby([row.rename("row"), number.rename("column")]).sum().unstack(fill_value=0)
        return sums.reindex(columns=range(len(self.labels)), fill_value=0).astype("int64")

    def label_columns(self, table: pd.DataFrame, counts: pd.Series) -> pd.DataFrame:
        """Return a table with a column for each group, ranked by counts, with the groups' labels."""
        order = self.ranked(counts)
        return table.iloc[:, order].set_axis(self.labels.take(order), axis="columns")


def group(
    frame: pd.DataFrame,
    by: By,
    *,
    nothing: Collection[str],
    spelling: Spelling,
    report: str,
    timezone: str | tzinfo | None = None,
) -> Groups:
    """Group rows by the keys of `by`, periods by the clock of a zone; texts in `nothing` count as no value."""
    keys: list[KeyCodes] = []
    names: list[str] = []
    notes: list[str] = []
    in_time = False
    for name, key in named_keys(by, report=report):
        column = frame[name].reset_index(drop=True)
        if isinstance(key, Period):
            keys.append(_in_periods(Clock.of(frame, name, timezone, report=report).times, key))
        elif isinstance(key, pd.Grouper) and key.freq is not None:
            keys.append(_binned(Clock.of(frame, name, timezone, report=report), key))
        else:
            column = _one_dtype(column, report=report)
            if isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype):
                context = frame[CONTEXTS[name]] if CONTEXTS.get(name) in frame else None
                codes, note = _of_texts(name, column, context, nothing=nothing, spelling=spelling)
                keys.append(codes)
                notes += [note] if note else []
            else:
                keys.append(_of_values(column))
        names.append(key.name if isinstance(key, Period) else name)
        in_time |= isinstance(key, Period) or is_datetime64_any_dtype(keys[-1][1].dtype)
    number, labels = keys[0] if len(keys) == 1 else _combined(keys)
    return Groups(pd.Series(number, dtype="int64"), labels.set_names(names), in_time, tuple(notes))


def period_of(freq: str, *, report: str) -> str:
    """Return the alias of a pandas period, from this alias or from that of its start or end offset.

    >>> [period_of(freq, report="engagement") for freq in ("M", "ME", "QS", "W")]
    ['M', 'M', 'Q', 'W']
    """
    parsed = _FREQ.fullmatch(freq) if isinstance(freq, str) else None
    period = f"{parsed['unit']}{parsed['anchor'] or ''}" if parsed and parsed["unit"] else freq
    if parsed is None or _offset(period) is None:
        raise InvalidArgument(f"{report}: freq is {_FREQS}, not {quoted(freq)}")
    return period


def _offset(freq: Any) -> BaseOffset | None:
    """Return the offset of a pandas alias, which may be that of a period; None for any other text."""
    parsed = _FREQ.fullmatch(freq) if isinstance(freq, str) else None
    if parsed and parsed["unit"] and not parsed["edge"]:
        freq = f"{parsed['unit']}E{parsed['anchor'] or ''}"
    try:
        offset: BaseOffset | None = to_offset(freq)
    except (TypeError, ValueError):
        return None
    return offset


def group_periods(clock: Clock, freq: str, *, report: str) -> Groups:
    """Group rows by the periods of a clock, each labelled by its start."""
    offset = _offset(freq)
    if offset is None or offset.n < 1:
        others = "a number of them, as 6h, or another offset of pandas"
        raise InvalidArgument(f"{report}: freq is {_FREQS}, {others}, not {quoted(freq)}")
    grouper = pd.Grouper(key=str(clock.times.name), freq=offset, label="left")
    # Offsets like "W" and "ME" are labelled left with the last day of the period before.
    days = int(grouper.closed == "right")
    number, labels = _binned(clock, grouper, days=days)
    return Groups(pd.Series(number), labels.set_names(clock.times.name), in_time=True)


def _combined(keys: Sequence[KeyCodes]) -> KeyCodes:
    """Return the codes and labels of the combinations of several keys that occur."""
    codes = pd.DataFrame({level: codes for level, (codes, _) in enumerate(keys)})
    by_combination = codes.groupby(list(codes))
    combinations = by_combination.size().index
    labels = [label[combinations.get_level_values(level)] for level, (_, label) in enumerate(keys)]
    return by_combination.ngroup().to_numpy(), pd.MultiIndex.from_arrays(labels)


def _binned(clock: Clock, grouper: pd.Grouper, *, days: int = 0) -> KeyCodes:
    """Return the period of each time, among all periods from the first to the last but for long gaps.

    The periods are labelled so many days later than pandas does.
    """
    # ngroup() would not do: with a Grouper, pandas returns its numbers in the order of the times, not of the rows.
    times, grouper = clock.times.rename(grouper.key), copy.copy(grouper)
    origin = getattr(grouper, "origin", None)
    if isinstance(origin, pd.Timestamp) and origin.tz is not None:
        vars(grouper)["origin"] = on_clock(origin, clock.zone or origin.tz)
    in_order = times.dropna().sort_values()
    longest_gap = pd.Timedelta(days=FAR * 365.25)
    ends = np.flatnonzero(in_order.diff() > longest_gap).tolist()
    parts = [in_order.iloc[first:end] for first, end in itertools.pairwise([0, *ends, len(in_order)])]
    # pandas stores state in a Grouper, so each part gets a copy.
    sizes = pd.concat([part.to_frame(grouper.key).groupby(copy.copy(grouper)).size() for part in parts])
    number = np.full(len(times), len(sizes))
    number[in_order.index] = np.repeat(np.arange(len(sizes)), sizes)
    missing = times[times.isna()].head(1)
    starts = pd.DatetimeIndex(sizes.index) + pd.Timedelta(days=days)
    return clock.labelled(number, pd.DatetimeIndex(starts.append(pd.DatetimeIndex(missing))))


def _in_periods(times: pd.Series, period: Period) -> KeyCodes:
    """Return the named period of each time, among all periods from the first to the last trusted date.

    Doubtful dates (see `is_trusted`) are in one period before all others, or in one after them.
    """
    periods = pd.PeriodIndex(times.dt.to_period(period.freq))
    present = periods.dropna()
    if present.empty:
        return np.zeros(len(times), "int64"), pd.Index([NO_DATE] if len(times) else [], dtype="str")
    trusted = present[is_trusted(times)[times.notna()]]
    window = pd.period_range(trusted.min(), trusted.max())
    inside = window.asfreq("D", how="S").strftime(_FORMATS.get(period.freq, "%Y-%m-%d"))
    names = np.array([f"before {inside[0]}", *inside, f"after {inside[-1]}", NO_DATE])
    codes = np.clip(periods.asi8 - window[0].ordinal + 1, 0, len(inside) + 1)
    codes[periods.isna()] = len(names) - 1
    used = np.union1d(codes, np.arange(1, len(inside) + 1))
    return np.searchsorted(used, codes), pd.Index(names[used], dtype="str")


def _one_dtype(column: pd.Series, *, report: str) -> pd.Series:
    """Convert a key to texts (`str`, or categories of them), times, numbers or booleans."""
    dtype = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    if isinstance(dtype, pd.StringDtype) or is_datetime64_any_dtype(column.dtype):
        return column
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.empty:
        return column.cat.set_categories(pd.Index([], dtype="str"))
    # Objects reduce the dtypes of all backends and categories to a few; a column without any value becomes text.
    objects = column.astype(object)
    column = objects.where(objects.notna(), None).convert_dtypes()
    if is_datetime64_any_dtype(column.dtype) or is_numeric_dtype(column.dtype):
        return column
    if column.dtype == object and any(map(is_list_like, column)):
        name = column.name
        raise InvalidColumn(
            f"{report}: {shorten(str(name))} holds lists;"
            f" to count each entry, explode it: frame.explode({quoted(name)})"
        )
    return column.astype("str")


def _of_values(column: pd.Series) -> KeyCodes:
    """Return the codes and labels of a key of times, numbers or booleans."""
    values = time(column) if is_datetime64_any_dtype(column.dtype) else column
    number, labels = pd.factorize(values, sort=True, use_na_sentinel=False)
    return number, pd.Index(labels)


def _of_texts(
    name: str, column: pd.Series, context: pd.Series | None, *, nothing: Collection[str], spelling: Spelling
) -> tuple[KeyCodes, str]:
    """Return the codes and labels of a key of texts, and a note on merged spellings."""
    key, note = TextKey.of(column, nothing), ""
    if spelling == "merged":
        merged = key.merged(name, None if context is None else TextKey.of(context, nothing))
        if merged.count != key.count:
            note = f"{key.count} spellings of {words(name)} became {merged.count}"
            note = f'{note}; spelling="exact" (--exact) keeps them apart'
        key = merged
    labels = {text: number for number, text in enumerate(sorted({*key.texts}))}
    codes = np.array([labels[text] for text in key.texts], dtype="int64")[key.number]
    is_used = np.bincount(codes, minlength=len(labels)) > 0  # np.unique would sort the rows
    return ((np.cumsum(is_used) - 1)[codes], pd.Index([*labels], dtype="str")[is_used]), note
