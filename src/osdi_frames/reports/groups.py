"""The groups that a report counts by: every row is in one, also when it has no value."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_list_like, is_numeric_dtype

from osdi_frames.errors import InvalidColumn
from osdi_frames.reading.doubtful import FAR, trusted_years
from osdi_frames.reports.columns import By, Period, converted, named_keys, time
from osdi_frames.tables.schema import NO_DATE, NONE


@dataclass(frozen=True, slots=True)
class Groups:
    """The number of each row's group, and the label of each number, labels in order.

    All counting goes by the number: missing keys and unused categories can then neither lose nor add rows.
    """

    number: pd.Series
    labels: pd.Index
    in_time: bool

    def rank(self, table: pd.DataFrame, measure: str) -> pd.DataFrame:
        """Put the largest first, equal ones in the order of the labels; times stay in order."""
        return table if self.in_time else table.sort_values(measure, ascending=False, kind="stable")

    def spread(self, values: pd.Series, row: pd.Series, number: pd.Series) -> pd.DataFrame:
        """Sum values to one row per `row` and one column per number."""
        sums = values.groupby([row.rename("row"), number.rename("column")]).sum().unstack(fill_value=0)
        return sums.reindex(columns=range(len(self.labels)), fill_value=0).astype("int64")

    def label_columns(self, table: pd.DataFrame, measure: pd.Series) -> pd.DataFrame:
        """Give a spread table its labels, the column with the largest measure first, as `rank` does."""
        if not self.in_time:
            measure = measure.sort_values(ascending=False, kind="stable")
        return table[measure.index].set_axis(
            self.labels.take(measure.index.to_numpy(dtype="int64")), axis="columns"
        )


def group(frame: pd.DataFrame, by: By, *, nothing: Collection[str], report: str) -> Groups:
    """Group the rows by the keys that `by` names; `nothing` are the texts that stand for no value."""
    keys: list[pd.Series] = []
    periods: pd.Index | None = None
    named = named_keys(by, report=report)
    for column_name, key in named:
        column = frame[column_name]
        if isinstance(key, Period):
            key_of_row, periods = _in_periods(converted(column, time, report=report), key)
        elif isinstance(key, pd.Grouper) and key.freq is not None:
            key_of_row, periods = _binned(converted(column, time, report=report), key)
        else:
            key_of_row = _labelled(column.reset_index(drop=True), nothing=nothing, report=report)
        keys.append(key_of_row)
    if len(keys) == 1:
        number, labels = _numbered(keys[0], periods)
    else:
        table = pd.DataFrame(dict(enumerate(keys)))  # by position: two periods of one column have one name
        same = table.groupby(list(table), dropna=False, observed=True)
        number, labels = same.ngroup(), same.size().index
    names = [key.name if isinstance(key, Period) else column_name for column_name, key in named]
    return Groups(
        number,
        _without_categories(labels).set_names(names),
        in_time=any(
            is_datetime64_any_dtype(key) or (isinstance(key.dtype, pd.CategoricalDtype) and key.dtype.ordered)
            for key in keys
        ),
    )


def _numbered(key: pd.Series, periods: pd.Index | None) -> tuple[pd.Series, pd.Index]:
    """Return the number of each row's group, by one key, and the labels; periods without rows are groups, too."""
    if isinstance(key.dtype, pd.CategoricalDtype):
        key = key if key.dtype.ordered else key.cat.remove_unused_categories()
        return key.cat.codes.astype("int64"), key.cat.categories
    same = key.groupby(key, dropna=False)
    number, labels = same.ngroup(), same.size().index
    if periods is None:
        return number, labels
    labels = periods.append(labels[labels.isna()])
    return pd.Series(labels.get_indexer(pd.Index(key)).astype("int64")), labels


def group_periods(rows: pd.DataFrame, column: str, freq: str, *, report: str) -> Groups:
    """Group the rows by period, each named by its start."""
    try:
        grouper = pd.Grouper(key=column, freq=freq, label="left")
    except ValueError as error:
        raise InvalidColumn(f"{report}: {freq!r} is no period; h, D, W, MS, QS and YS are") from error
    periods = group(rows, grouper, nothing=(), report=report)
    # "W", "ME" and their like end with a day, and to the left of such a period is the day before it starts.
    ends_with_a_day = grouper.closed == "right"
    return replace(periods, labels=periods.labels + pd.Timedelta(days=1)) if ends_with_a_day else periods


def _binned(times: pd.Series, grouper: pd.Grouper) -> tuple[pd.Series, pd.Index]:
    """Return the period of each time, and every period from the first to the last, without long gaps."""
    # Not ngroup(): with a Grouper it numbers the rows in the order of time, not in their own.
    in_order = times.dropna().sort_values()
    far = pd.Timedelta(days=FAR * 365.25)
    parts = [part for _, part in in_order.groupby((in_order.diff() > far).cumsum())] or [in_order]
    # Copied, since pandas keeps notes in a Grouper.
    sizes = [part.to_frame(grouper.key).groupby(copy.copy(grouper)).size() for part in parts]
    counted = pd.concat(sizes) if len(sizes) > 1 else sizes[0]
    period = pd.Series(counted.index.repeat(counted), index=in_order.index)
    return period.reindex(times.index), counted.index


def _in_periods(times: pd.Series, period: Period) -> tuple[pd.Series, pd.Index]:
    """Return the name of each time's period, and every name in order, those far outside as one.

    Far outside are the dates that `check` lists as doubtful.
    """
    known = pd.PeriodIndex(times.dt.tz_localize(None).dt.to_period(period.freq))
    present = known.dropna()
    if present.empty:
        undated = pd.Index([NO_DATE] if len(times) else [], dtype="str")
        return pd.Series(
            pd.Categorical.from_codes(np.zeros(len(times), "int8"), undated, ordered=True)
        ), undated
    window = _window(present)
    inside = window.asfreq("D", how="S").strftime(period.format)
    names = [f"before {inside[0]}", *inside, f"after {inside[-1]}", NO_DATE]
    place = np.clip(known.asi8 - window[0].ordinal + 1, 0, len(inside) + 1)
    place[known.isna()] = len(names) - 1
    used = np.union1d(place, np.arange(1, len(inside) + 1))
    categories = pd.Index([names[number] for number in used], dtype="str")
    codes = np.searchsorted(used, place)
    return pd.Series(pd.Categorical.from_codes(codes, categories, ordered=True)), categories


def _window(present: pd.PeriodIndex) -> pd.PeriodIndex:
    """Return every period from the first to the last of those whose dates are not doubtful."""
    years = present.year
    trusted = trusted_years(dict(zip(*np.unique(years, return_counts=True), strict=True)))
    together = present[(years >= trusted.start) & (years < trusted.stop)]
    return pd.period_range(together.min(), together.max())


def _without_categories(labels: pd.Index) -> pd.Index:
    """Turn categories into text; their order is that of the rows already."""
    if isinstance(labels, pd.MultiIndex):
        texts = [
            level.astype("str") if isinstance(level, pd.CategoricalIndex) else level
            for level in labels.levels
        ]
        return labels.set_levels(texts)  # type: ignore[arg-type] # an Index is a sequence
    return labels.astype("str") if isinstance(labels, pd.CategoricalIndex) else labels


def _labelled(column: pd.Series, *, nothing: Collection[str], report: str) -> pd.Series:
    """Bring a key to categories of text with ``(none)``, or to times, numbers or booleans that may be missing."""
    if isinstance(column.dtype, pd.CategoricalDtype) and isinstance(
        column.cat.categories.dtype, pd.StringDtype
    ):
        return _named(column.cat.codes.to_numpy(), column.cat.categories, nothing)
    if not isinstance(column.dtype, pd.StringDtype) and not is_datetime64_any_dtype(column.dtype):
        # By way of objects, all backends and categories become a few dtypes; a column of nothing, text.
        objects = column.astype(object)
        column = objects.where(objects.notna(), None).convert_dtypes()
    if is_datetime64_any_dtype(column.dtype):
        return time(column)
    if is_numeric_dtype(column.dtype):
        return column
    if column.dtype == object and any(map(is_list_like, column)):
        name = column.name
        raise InvalidColumn(
            f"{report}: {name} holds lists; to count each entry, explode it: frame.explode({name!r})"
        )
    return _named(*pd.factorize(column.astype("str")), nothing)


def _named(codes: NDArray[Any], values: Iterable[object], nothing: Collection[str]) -> pd.Series:
    """Return the values of codes as categories in their order; those of `nothing`, and of code -1, are one."""
    texts = pd.Series([*values, NONE], dtype="str")
    texts = texts.mask(texts.str.strip().str.lower().isin(nothing), NONE)
    number, names = pd.factorize(texts, sort=True)
    return pd.Series(pd.Categorical.from_codes(number[codes], names))
