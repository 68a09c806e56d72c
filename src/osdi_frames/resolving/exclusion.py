"""The column `excluded`: why reports leave elements out."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.tables.schema import ElementType


def excluded(element: ElementType, rows: pa.Table) -> pa.ChunkedArray:
    """Return why reports leave out each row.

    The rows are those of the main table of a type; the reason is null where the row counts.
    """
    found = pa.chunked_array([pa.nulls(len(rows), pa.string())])
    for rule in reversed(element.exclusions):
        holds = reduce(pc.and_, (_is(rows[name], value) for name, value in rule.values))
        if pc.any(holds).as_py():
            found = pc.if_else(holds, rule.reason, found)
    return found


def _is(column: pa.ChunkedArray, value: str | bool | None) -> pa.ChunkedArray:
    return pc.is_null(column) if value is None else pc.fill_null(pc.equal(column, value), False)
