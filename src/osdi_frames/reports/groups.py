"""The groups that a report counts by: every row is in one, also when it has no value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_list_like, is_numeric_dtype

from osdi_frames.errors import UnfitColumn
from osdi_frames.reports.columns import By, converted, named_keys, time
from osdi_frames.tables.schema import NONE


@dataclass(frozen=True, slots=True)
class Groups:
    """The number of each row's group, and the label of each number, labels in order.

    All counting goes by the number: missing keys and unused categories can then neither lose nor add rows.
    """

    number: pd.Series
    labels: pd.Index
    in_time: bool

    def label(self, table: pd.DataFrame, dtypes: Mapping[str, str]) -> pd.DataFrame:
        """Give a table of one row per number its labels, the groups without rows, and its dtypes."""
        table = table.reindex(range(len(self.labels)))
        counts = {column: 0 for column, dtype in dtypes.items() if dtype == "int64"}
        return table.fillna(counts).astype(dict(dtypes)).set_axis(self.labels)

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
    for name, key in named:
        column = frame[name]
        if isinstance(key, pd.Grouper) and key.freq is not None:
            key_of_row, periods = _binned(converted(column, time, report=report), key)
        else:
            key_of_row = _labelled(column.reset_index(drop=True), nothing=nothing, report=report)
        keys.append(key_of_row)
    table = pd.DataFrame(dict(enumerate(keys)))  # by position: two periods of one column have one name
    same = table.groupby(list(table), dropna=False, observed=True)
    number, labels = same.ngroup(), same.size().index
    if periods is not None and len(keys) == 1:  # the periods without rows are groups, too
        labels = periods.append(labels[labels.isna()])
        number = pd.Series(labels.get_indexer(pd.Index(keys[0])), index=table.index)
    labels = labels.set_names([name for name, _ in named])
    return Groups(number, labels, in_time=any(map(is_datetime64_any_dtype, table.dtypes)))


def group_periods(rows: pd.DataFrame, column: str, freq: str, *, report: str) -> Groups:
    """Group the rows by period, each named by its start."""
    try:
        grouper = pd.Grouper(key=column, freq=freq, label="left")
    except ValueError as error:
        raise UnfitColumn(f"{report}: {freq!r} is no period; h, D, W, MS, QS and YS are") from error
    periods = group(rows, grouper, nothing=(), report=report)
    # "W", "ME" and their like end with a day, and to the left of such a period is the day before it starts.
    ends_with_a_day = grouper.closed == "right"
    return replace(periods, labels=periods.labels + pd.Timedelta(days=1)) if ends_with_a_day else periods


def _binned(times: pd.Series, grouper: pd.Grouper) -> tuple[pd.Series, pd.Index]:
    """Give each time its period, and every period from the first to the last."""
    # Not ngroup(): with a Grouper it numbers the rows in the order of time, not in their own.
    in_order = times.dropna().sort_values()
    sizes = in_order.to_frame(grouper.key).groupby(grouper).size()
    period = pd.Series(sizes.index.repeat(sizes), index=in_order.index)
    return period.reindex(times.index), sizes.index


def _labelled(column: pd.Series, *, nothing: Collection[str], report: str) -> pd.Series:
    """Bring a key to text with ``(none)``, or to times, numbers or booleans that may be missing."""
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
        raise UnfitColumn(
            f"{report}: {name} holds lists; to count each entry, explode it: frame.explode({name!r})"
        )
    text = column.astype("str")
    return text.mask(text.isna() | text.str.strip().str.lower().isin(nothing), NONE)
