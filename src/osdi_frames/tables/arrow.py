"""The declared types in Arrow, apart from the declarations: these are read without loading pyarrow."""

from __future__ import annotations

import pyarrow as pa

from osdi_frames.tables.schema import Type

#: The Arrow type of each declared type. ``local`` is the wall clock at the place of the event.
ARROW: dict[Type, pa.DataType] = {
    "string": pa.string(),
    "bool": pa.bool_(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "utc": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "list<string>": pa.list_(pa.string()),
    "json": pa.string(),
}
