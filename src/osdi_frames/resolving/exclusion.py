"""The column `excluded`: why reports leave elements out."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.tables.schema import ElementType, ExclusionRule

#: The columns of the events that `excluded` takes for attendances.
OF_EVENTS = ("event_id", "excluded")


def excluded(element: ElementType, rows: pa.Table, events: pa.Table | None = None) -> pa.ChunkedArray:
    """Return why reports leave out each row.

    The rows are those of the main table of a type, as they were resolved; a rule about a column that they do not have
    leaves nothing out. `events` are resolved events, with the columns `OF_EVENTS`: attendances that count themselves
    have their event's reason. The reason is null where the row counts.
    """
    found = pa.chunked_array([pa.nulls(len(rows), pa.string())])
    for rule in reversed(element.exclusions):
        if {*rule.columns} <= {*rows.column_names}:
            holds = reduce(pc.and_, (_holds(rule, rows[name]) for name in rule.columns))
            if pc.any(holds).as_py():
                found = pc.if_else(holds, rule.reason, found)
    return found if events is None else pc.coalesce(found, _reasons(rows["event_id"], events))


def _holds(rule: ExclusionRule, column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_one = pc.is_in(column, pa.array(rule.values, column.type))
    return pc.invert(is_one) if rule.unless else is_one


def _reasons(event_ids: pa.ChunkedArray, events: pa.Table) -> pa.ChunkedArray:
    """Return the reason of each id's event."""
    left_out = events.filter(pc.and_(*(pc.is_valid(events[name]) for name in OF_EVENTS)))
    ids, reasons = (left_out[name].combine_chunks() for name in OF_EVENTS)
    return reasons.take(pc.index_in(event_ids, ids))
