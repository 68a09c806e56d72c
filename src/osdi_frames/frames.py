"""Frames of Arrow, and of other libraries, as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.errors import InvalidColumn

_TEXT = pd.StringDtype(na_value=float("nan"))
# Integers and booleans stay what they are when some are missing.
_NULLABLE = {
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), _TEXT),
}


class PrintedFrame(pd.DataFrame):
    """A frame that terminals and notebooks show as its `text`, as long as it has all of its columns.

    What is selected of it is one, too. With other columns it is shown as any frame, its texts whole.
    """

    ALL_COLUMNS: ClassVar[tuple[str, ...]]

    @property
    def _constructor(self) -> Any:
        return type(self)

    def text(self, *, all: bool = False) -> str:  # noqa: A002 (as the option --all)
        """Return what matters, or with `all` everything, in the width of the terminal."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.text() if (*self.columns,) == self.ALL_COLUMNS else super().__repr__()

    def _repr_html_(self) -> str | None:
        if (*self.columns,) == self.ALL_COLUMNS:
            return None  # notebooks show the text
        with pd.option_context("display.max_colwidth", None):
            shown: str | None = super()._repr_html_()  # type: ignore[misc] # pandas-stubs do not know it
            return shown


def _dtype(kind: pa.DataType) -> Any:
    """Return the dtype of an Arrow type, None for that of pandas.

    Amounts keep Arrow's: sums are exact, and the dtype is the same whatever rows come, as that of objects is not.
    """
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else _NULLABLE.get(kind)


#: The attribute of frames that names the zone of their handle, whose wall clock periods are of.
TIMEZONE: Final = "timezone"


def frame(table: pa.Table, timezone: str | None = None) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame of the dtypes that pandas users expect, with the zone of its handle."""
    # Most tables of a small archive are empty: to copy such a frame takes less than to make it. Schemas are compared
    # without metadata, of which those of pandas can name an index.
    is_known = not len(table) and table.schema.pandas_metadata is None
    made = _empty(table.schema).copy() if is_known else _converted(table)
    if timezone is not None:
        made.attrs[TIMEZONE] = timezone
    return made


@lru_cache(256)
def _empty(schema: pa.Schema) -> pd.DataFrame:
    return _converted(schema.empty_table())


def _converted(table: pa.Table) -> pd.DataFrame:
    flat, lists = table, {}
    for number, field in enumerate(table.schema):
        if pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
            # Lists, not arrays: they compare, and to_parquet and explode take them as they are.
            lists[field.name] = [entries for chunk in table[number].chunks for entries in _lists(chunk)]
            flat = flat.set_column(number, field.name, pa.nulls(len(table)))
    result: pd.DataFrame = flat.to_pandas(types_mapper=_dtype)
    for name, values in lists.items():
        result[name] = pd.Series(values, dtype=object, index=result.index)
    return result


def _lists(column: pa.ListArray) -> list[list[Any] | None]:
    """Return lists as `to_pylist` does; lists of texts take two thirds of its time."""
    if not pa.types.is_string(column.type.value_type):
        listed: list[list[Any] | None] = column.to_pylist()
        return listed
    texts = column.flatten().to_numpy(zero_copy_only=False).tolist()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    ends = np.cumsum(lengths).tolist()
    present = column.is_valid().to_pylist()
    return [
        texts[end - length : end] if is_present else None
        for end, length, is_present in zip(ends, lengths.tolist(), present, strict=True)
    ]


def as_frame(
    value: Any,
    *,
    caller: str,
    example: str = "osdi_frames.read_events(source)",
    columns: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Return a DataFrame, Arrow table or reader, DuckDB relation or other Arrow stream as a pandas DataFrame.

    Of a Dask DataFrame only the named `columns` are computed, if any are named. Raise InvalidColumn for
    anything else; the message names the `caller` that takes it, and an `example` of a call that returns one.

    >>> as_frame(pa.table({"title": ["March"]}), caller="rsvps_by")
       title
    0  March
    """
    if isinstance(value, pd.DataFrame):
        return value
    if hasattr(value, "dask") and hasattr(value, "compute"):
        needed = value if columns is None else value[[name for name in value.columns if name in {*columns}]]
        computed: pd.DataFrame = needed.compute()
        return computed
    if hasattr(value, "__arrow_c_stream__") and (hasattr(value, "columns") or hasattr(value, "schema")):
        return frame(pa.table(value))
    what = getattr(value, "__name__", None) if callable(value) else None
    hint = f"; call it: {what}(…)" if what else f", as {example} returns"
    raise InvalidColumn(
        f"{caller} takes a DataFrame{'' if what else hint}, not {type(value).__name__}{hint if what else ''}"
    )
