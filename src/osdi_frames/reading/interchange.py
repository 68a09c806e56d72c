"""Frames of Arrow, and of other libraries, as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyarrow as pa

from osdi_frames.errors import InvalidColumn

# Integers and booleans stay what they are when some are missing.
_NULLABLE = {
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.string(): pd.StringDtype(na_value=float("nan")),
}


def frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame with the dtypes that pandas users expect."""
    result: pd.DataFrame = table.to_pandas(types_mapper=_NULLABLE.get)
    for field in table.schema:
        if pa.types.is_list(field.type):
            # Lists, not arrays: they compare, and to_parquet and explode take them as they are.
            result[field.name] = pd.Series(table[field.name].to_pylist(), dtype=object, index=result.index)
    return result


def _classic(kind: pa.DataType) -> pa.DataType:
    """Return the type of Arrow that pandas takes, for a newer one of text or lists."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_classic(kind.value_type))
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if is_text else kind


def as_frame(
    value: Any,
    *,
    caller: str,
    example: str = "osdi_frames.read_events(source)",
    columns: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Return a frame of any library that speaks the Arrow interchange as a pandas DataFrame.

    Parameters
    ----------
    value
        A DataFrame of pandas, Dask or polars, an Arrow table or reader, a DuckDB relation.
    caller
        The function that takes it.
    example
        A call that returns such a frame.
    columns
        Of a Dask DataFrame, the columns that are needed; the others are not computed.

    Raises
    ------
    InvalidColumn
        It is no frame; the message names the example.

    Examples
    --------
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
        table = pa.table(value)
        return frame(table.cast(pa.schema([field.with_type(_classic(field.type)) for field in table.schema])))
    what = getattr(value, "__name__", None) if callable(value) else None
    hint = f"; call it: {what}(…)" if what else f", as {example} returns"
    raise InvalidColumn(
        f"{caller} takes a DataFrame{'' if what else hint}, not a {type(value).__name__}{hint if what else ''}"
    )
