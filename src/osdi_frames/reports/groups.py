"""The groups that a report counts by: every row is in one, also when it has no value."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_list_like, is_numeric_dtype

from osdi_frames.errors import InvalidColumn
from osdi_frames.reading.doubtful import FAR, trusted_years
from osdi_frames.reports.columns import By, Period, coded, converted, named_keys, time
from osdi_frames.tables.schema import NO_DATE, NONE

Key: TypeAlias = tuple[NDArray[Any], pd.Index]
"""The number of each row's value, and the label of each number, labels in order."""

#: How a period is written, by the day on which it starts.
_FORMATS: Final = {"M": "%Y-%m", "Q": "%Y-%m", "Y": "%Y"}


@dataclass(frozen=True, slots=True)
class Groups:
    """The number of each row's group, and the label of each number, labels in order.

    All counting goes by the number: missing keys and unused categories can then neither lose nor add rows.
    """

    number: pd.Series
    labels: pd.Index
    in_time: bool

    def ranked(self, counts: pd.Series) -> NDArray[np.int64]:
        """Return the groups by their counts, the largest first, equal ones in the order of the labels.

        Times stay in order.
        """
        counts = counts.reset_index(drop=True)
        ranked = counts if self.in_time else counts.sort_values(ascending=False, kind="stable")
        return ranked.index.to_numpy(dtype="int64")

    def spread(self, values: pd.Series, row: pd.Series, number: pd.Series) -> pd.DataFrame:
        """Sum values to one row per `row` and one column per number."""
        sums = values.groupby([row.rename("row"), number.rename("column")]).sum().unstack(fill_value=0)
        return sums.reindex(columns=range(len(self.labels)), fill_value=0).astype("int64")

    def label_columns(self, table: pd.DataFrame, counts: pd.Series) -> pd.DataFrame:
        """Give a spread table its labels, the column with the largest count first."""
        order = self.ranked(counts)
        return table.iloc[:, order].set_axis(self.labels.take(order), axis="columns")


def group(frame: pd.DataFrame, by: By, *, nothing: Collection[str], report: str) -> Groups:
    """Group the rows by the keys that `by` names; `nothing` are the texts that stand for no value."""
    keys: list[Key] = []
    names, in_time = [], False
    for name, key in named_keys(by, report=report):
        column = frame[name].reset_index(drop=True)
        if isinstance(key, Period):
            keys.append(_in_periods(converted(column, time, report=report), key))
        elif isinstance(key, pd.Grouper) and key.freq is not None:
            keys.append(_binned(converted(column, time, report=report), key))
        else:
            keys.append(_labelled(column, nothing=nothing, report=report))
        names.append(key.name if isinstance(key, Period) else name)
        in_time |= isinstance(key, Period) or is_datetime64_any_dtype(keys[-1][1].dtype)
    number, labels = keys[0] if len(keys) == 1 else _together(keys)
    return Groups(pd.Series(number, dtype="int64"), labels.set_names(names), in_time)


def group_periods(rows: pd.DataFrame, column: str, freq: str, *, report: str) -> Groups:
    """Group the rows by period, each named by its start."""
    try:
        grouper = pd.Grouper(key=column, freq=freq, label="left")
    except ValueError as error:
        raise InvalidColumn(f"{report}: {freq!r} is no period; h, D, W, MS, QS and YS are") from error
    number, labels = _binned(rows[column], grouper)
    # "W", "ME" and their like end with a day, and to the left of such a period is the day before it starts.
    labels = labels + pd.Timedelta(days=1) if grouper.closed == "right" else labels
    return Groups(pd.Series(number), labels.set_names(column), in_time=True)


def _together(keys: Sequence[Key]) -> Key:
    """Return the combinations of several keys that occur."""
    numbers = pd.DataFrame({place: number for place, (number, _) in enumerate(keys)})
    same = numbers.groupby(list(numbers))
    found = same.size().index
    labels = [label[found.get_level_values(place)] for place, (_, label) in enumerate(keys)]
    return same.ngroup().to_numpy(), pd.MultiIndex.from_arrays(labels)


def _binned(times: pd.Series, grouper: pd.Grouper) -> Key:
    """Return the period of each time, and every period from the first to the last, without long gaps."""
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


def _in_periods(times: pd.Series, period: Period) -> Key:
    """Return the name of each time's period, and every name in order, those far outside as one.

    Far outside are the dates that `check` lists as doubtful.
    """
    known = pd.PeriodIndex(times.dt.tz_localize(None).dt.to_period(period.freq))
    present = known.dropna()
    if present.empty:
        return np.zeros(len(times), "int64"), pd.Index([NO_DATE] if len(times) else [], dtype="str")
    years = present.year
    trusted = trusted_years(dict(zip(*np.unique(years, return_counts=True), strict=True)))
    together = present[(years >= trusted.start) & (years < trusted.stop)]
    window = pd.period_range(together.min(), together.max())
    inside = window.asfreq("D", how="S").strftime(_FORMATS.get(period.freq, "%Y-%m-%d"))
    names = np.array([f"before {inside[0]}", *inside, f"after {inside[-1]}", NO_DATE])
    place = np.clip(known.asi8 - window[0].ordinal + 1, 0, len(inside) + 1)
    place[known.isna()] = len(names) - 1
    used = np.union1d(place, np.arange(1, len(inside) + 1))
    return np.searchsorted(used, place), pd.Index(names[used], dtype="str")


def _labelled(column: pd.Series, *, nothing: Collection[str], report: str) -> Key:
    """Return the values of a key: texts with ``(none)``, or times, numbers or booleans that may be missing."""
    dtype = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    if not isinstance(dtype, pd.StringDtype) and not is_datetime64_any_dtype(column.dtype):
        # By way of objects, all backends and categories become a few dtypes; a column of nothing, text.
        objects = column.astype(object)
        column = objects.where(objects.notna(), None).convert_dtypes()
    if is_datetime64_any_dtype(column.dtype) or is_numeric_dtype(column.dtype):
        values = time(column) if is_datetime64_any_dtype(column.dtype) else column
        number, labels = pd.factorize(values, sort=True, use_na_sentinel=False)
        return number, pd.Index(labels)
    if column.dtype == object and any(map(is_list_like, column)):
        name = column.name
        raise InvalidColumn(
            f"{report}: {name} holds lists; to count each entry, explode it: frame.explode({name!r})"
        )
    codes, known = coded(column)
    texts = pd.Series([*known, NONE], dtype="str")  # the last one is that of -1
    texts = texts.mask(texts.str.strip().str.lower().isin(nothing), NONE)
    number, names = pd.factorize(texts, sort=True)
    used, number = np.unique(number[codes], return_inverse=True)
    return number, names[used]
