"""Answers brought to one form, so that contestants of different libraries can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa


def digest(answer: Any) -> dict[str, Any]:
    """Return a figure for each column of a table, whatever the order of its rows; a mapping is its own digest.

    A column's figure covers each of its values together with the row's key: the signature's address, or the
    source. Timestamps count in microseconds of UTC, JSON without its spaces.
    """
    if isinstance(answer, Mapping):
        return dict(answer)
    table = _arrow(answer)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("answer", table)
    key = "self_url" if "self_url" in table.column_names else "source"
    figures = {name: f"sum(hash({key}, {_text(name)})::HUGEINT)::VARCHAR" for name in table.column_names}
    columns = ", ".join(f'{figure} AS "{name}"' for name, figure in figures.items())
    return connection.sql(f"SELECT {columns} FROM answer").to_arrow_table().to_pylist()[0]


def _text(name: str) -> str:
    if name == "custom_fields":
        return f"json({name})::VARCHAR"
    if name.endswith("_date") or name in ("first", "last"):
        return f'epoch_us("{name}"::TIMESTAMPTZ)::VARCHAR'
    return f'"{name}"::VARCHAR'


def _arrow(answer: Any) -> pa.Table:
    if isinstance(answer, pa.Table):
        return answer
    if hasattr(answer, "to_arrow"):  # polars
        return answer.to_arrow()
    return pa.Table.from_pandas(answer, preserve_index=False)
