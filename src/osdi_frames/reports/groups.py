"""The groups that a report counts by: values and periods of time.

Every row is in one group, also when it has no value.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_list_like, is_numeric_dtype
from pandas.tseries.frequencies import to_offset
from pandas.tseries.offsets import BaseOffset

from osdi_frames.errors import InvalidArgument, InvalidColumn
from osdi_frames.messages import quoted, shorten
from osdi_frames.problems import FAR
from osdi_frames.reports.columns import converted, time
from osdi_frames.reports.known import is_trusted
from osdi_frames.reports.spelling import CONTEXTS, Spelling, TextKey
from osdi_frames.tables.schema import NO_DATE


@dataclass(frozen=True, slots=True)
class Period:
    """The periods of a column of times, each named by its start, as text: ``2026-05``.

    Rows far outside of most others are ``before 2024-01`` and ``after 2026-12``, those without a time
    ``(no date)``.
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
"""The number of each row's value, and the label of each number, labels in order."""

PERIOD_NAMES: Final = {"D": "day", "W": "week", "M": "month", "Q": "quarter", "Y": "year"}
#: A period of pandas, or the offset of its start or end.
_FREQ: Final = re.compile(r"(?:(?P<unit>[MQY])(?P<edge>[SE])?|[hDW])(?P<anchor>-[A-Z]{3})?")
_FREQS: Final = "h, D, W, M, Q or Y"
#: How a period is written, by the day on which it starts.
_FORMATS: Final = {"M": "%Y-%m", "Q": "%Y-%m", "Y": "%Y"}
#: The names of periods, as reports write them.
_PERIOD: Final = re.compile(r"(?:(?:before |after )?\d{4}(?:-\d\d){0,2})|\(no date\)")


def time_levels(index: pd.Index) -> list[int]:
    """Return which keys of a report are times or periods."""
    levels = [index.get_level_values(number) for number in range(index.nlevels)]
    return [
        number
        for number, level in enumerate(levels)
        if is_datetime64_any_dtype(level.dtype)
        or (level.name in PERIOD_NAMES.values() and all(map(_PERIOD.fullmatch, map(str, level))))
    ]


def named_keys(by: By | None, *, report: str) -> list[tuple[str, str | pd.Grouper | Period]]:
    """List the keys of `by` with their columns' names."""
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
    """Groups of rows: their numbers, and their labels in order.

    All counting goes by the number: missing keys and unused categories can then neither lose nor add rows.
    """

    number: pd.Series
    labels: pd.Index
    in_time: bool
    notes: tuple[str, ...] = ()
    """How many spellings became how many values."""

    def ranked(self, counts: pd.Series) -> NDArray[np.int64]:
        """Return the groups by their counts, largest first, then in the order of the labels; times stay in order."""
        counts = counts.reset_index(drop=True)
        ranked = counts if self.in_time else counts.sort_values(ascending=False, kind="stable")
        return ranked.index.to_numpy(dtype="int64")

    def spread(self, values: pd.Series, row: pd.Series, number: pd.Series) -> pd.DataFrame:
        """Sum values by row and by number, a column each."""
        sums = values.groupby([row.rename("row"), number.rename("column")]).sum().unstack(fill_value=0)
        return sums.reindex(columns=range(len(self.labels)), fill_value=0).astype("int64")

    def label_columns(self, table: pd.DataFrame, counts: pd.Series) -> pd.DataFrame:
        """Label the columns of a table, largest count first."""
        order = self.ranked(counts)
        return table.iloc[:, order].set_axis(self.labels.take(order), axis="columns")


def group(
    frame: pd.DataFrame, by: By, *, nothing: Collection[str], spelling: Spelling, report: str
) -> Groups:
    """Group the rows by the keys that `by` names; the texts `nothing` stand for no value."""
    keys: list[KeyCodes] = []
    names: list[str] = []
    notes: list[str] = []
    in_time = False
    for name, key in named_keys(by, report=report):
        column = frame[name].reset_index(drop=True)
        if isinstance(key, Period):
            keys.append(_in_periods(converted(column, time, report=report), key))
        elif isinstance(key, pd.Grouper) and key.freq is not None:
            keys.append(_binned(converted(column, time, report=report), key))
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
    number, labels = keys[0] if len(keys) == 1 else _together(keys)
    return Groups(pd.Series(number, dtype="int64"), labels.set_names(names), in_time, tuple(notes))


def period_of(freq: str, *, report: str) -> str:
    """Return the pandas alias of a period, which can be named by the offset of its start or end.

    >>> [period_of(freq, report="engagement") for freq in ("M", "ME", "QS", "W")]
    ['M', 'M', 'Q', 'W']
    """
    parsed = _FREQ.fullmatch(freq) if isinstance(freq, str) else None
    period = f"{parsed['unit']}{parsed['anchor'] or ''}" if parsed and parsed["unit"] else freq
    if parsed is None or _offset(period) is None:
        raise InvalidArgument(f"{report}: freq is {_FREQS}, not {quoted(freq)}")
    return period


def _offset(freq: Any) -> BaseOffset | None:
    """Return an offset, also of one named by its period."""
    parsed = _FREQ.fullmatch(freq) if isinstance(freq, str) else None
    if parsed and parsed["unit"] and not parsed["edge"]:
        freq = f"{parsed['unit']}E{parsed['anchor'] or ''}"
    try:
        offset: BaseOffset | None = to_offset(freq)
    except (TypeError, ValueError):
        return None
    return offset


def group_periods(rows: pd.DataFrame, column: str, freq: str, *, report: str) -> Groups:
    """Group the rows by period, each named by its start."""
    offset = _offset(freq)
    if offset is None or offset.n < 1:
        several = "a number of them, as 6h, or another offset of pandas"
        raise InvalidArgument(f"{report}: freq is {_FREQS}, {several}, not {quoted(freq)}")
    grouper = pd.Grouper(key=column, freq=offset, label="left")
    number, labels = _binned(rows[column], grouper)
    # "W", "ME" and their like end with a day, and to the left of such a period is the day before it starts.
    labels = labels + pd.Timedelta(days=1) if grouper.closed == "right" else labels
    return Groups(pd.Series(number), labels.set_names(column), in_time=True)


def _together(keys: Sequence[KeyCodes]) -> KeyCodes:
    """Return the combinations of several keys that occur."""
    numbers = pd.DataFrame({place: number for place, (number, _) in enumerate(keys)})
    same = numbers.groupby(list(numbers))
    combinations = same.size().index
    labels = [label[combinations.get_level_values(place)] for place, (_, label) in enumerate(keys)]
    return same.ngroup().to_numpy(), pd.MultiIndex.from_arrays(labels)


def _binned(times: pd.Series, grouper: pd.Grouper) -> KeyCodes:
    """Return each time's period, and every period between but for long gaps."""
    # Not ngroup(): with a Grouper it numbers the rows in the order of time, not in their own.
    in_order = times.dropna().sort_values()
    far = pd.Timedelta(days=FAR * 365.25)
    parts = [part for _, part in in_order.groupby((in_order.diff() > far).cumsum())] or [in_order]
    # Copied, since pandas keeps notes in a Grouper.
    sizes = pd.concat([part.to_frame(grouper.key).groupby(copy.copy(grouper)).size() for part in parts])
    number = np.full(len(times), len(sizes))
    number[in_order.index] = np.repeat(np.arange(len(sizes)), sizes)
    missing = times[times.isna()].head(1)
    return number, sizes.index.append(pd.DatetimeIndex(missing))


def _in_periods(times: pd.Series, period: Period) -> KeyCodes:
    """Return each time's period by name, and every name in order.

    The periods of the dates that `check` lists as doubtful are one before all others, and one after them.
    """
    known = pd.PeriodIndex(times.dt.tz_localize(None).dt.to_period(period.freq))
    present = known.dropna()
    if present.empty:
        return np.zeros(len(times), "int64"), pd.Index([NO_DATE] if len(times) else [], dtype="str")
    together = present[is_trusted(times)[times.notna()]]
    window = pd.period_range(together.min(), together.max())
    inside = window.asfreq("D", how="S").strftime(_FORMATS.get(period.freq, "%Y-%m-%d"))
    names = np.array([f"before {inside[0]}", *inside, f"after {inside[-1]}", NO_DATE])
    place = np.clip(known.asi8 - window[0].ordinal + 1, 0, len(inside) + 1)
    place[known.isna()] = len(names) - 1
    used = np.union1d(place, np.arange(1, len(inside) + 1))
    return np.searchsorted(used, place), pd.Index(names[used], dtype="str")


def _one_dtype(column: pd.Series, *, report: str) -> pd.Series:
    """Convert a key to texts (`str`, or categories of it), times, numbers or booleans."""
    dtype = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    if isinstance(dtype, pd.StringDtype) or is_datetime64_any_dtype(column.dtype):
        return column
    # By way of objects, all backends and categories become a few dtypes; a column of nothing, text.
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
    """Return the times, numbers or booleans of a key."""
    values = time(column) if is_datetime64_any_dtype(column.dtype) else column
    number, labels = pd.factorize(values, sort=True, use_na_sentinel=False)
    return number, pd.Index(labels)


def _of_texts(
    name: str, column: pd.Series, context: pd.Series | None, *, nothing: Collection[str], spelling: Spelling
) -> tuple[KeyCodes, str]:
    """Return the texts of a key, and a note on their spellings."""
    key, note = TextKey.of(column, nothing), ""
    if spelling == "merged":
        key, note = key.merged(name, None if context is None else TextKey.of(context, nothing))
    number, names = pd.factorize(pd.Series(key.texts, dtype="str"), sort=True)
    used, number = np.unique(number[key.number], return_inverse=True)
    return (number, names[used]), note
