"""Values as the texts that CSV and Excel can hold, which no spreadsheet runs."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.clock import DEFAULT

#: What a spreadsheet takes for the beginning of a formula: a sign, also fullwidth or small, also after blanks
#: and characters that are not seen; and the blanks that some programs drop before they look.
_FORMULA = (
    r"^([\pZ\p{Cc}\p{Cf}]*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}\x{fe66}\x{fe62}\x{fe63}\x{fe6b}]|[\t\r\n])"
)


def rows_as_text(rows: pa.Table, *, escape_formulas: bool) -> pa.Table:
    """Convert to what CSV can hold: lists to JSON, datetimes to ISO 8601, formulas to texts."""
    names, columns = rows.schema.names, [texts_of(column) for column in rows.columns]
    if escape_formulas:
        names = _escaped(pa.array(names, pa.string())).to_pylist()
        columns = [_escaped(column) if column.type == pa.string() else column for column in columns]
    return pa.table(columns, names=names)


def texts_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with texts for lists and times, and the values of a dictionary."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return texts_of(column.cast(kind.value_type))
    if pa.types.is_nested(kind):
        return pa.chunked_array([_json(part) for part in column.chunks], pa.string())
    if pa.types.is_timestamp(kind):
        zone = {None: "", DEFAULT: "Z"}.get(kind.tz, "%z")
        return pc.strftime(column, format=f"%Y-%m-%dT%H:%M:%S{zone}")
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return column.cast(pa.string()) if is_text else column


def _json(column: pa.Array) -> pa.Array:
    values = column.to_pylist()
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pa.array(texts, pa.string())


def _escaped(texts: pa.Array) -> pa.Array:
    """Write an apostrophe before formulas."""
    return pc.replace_substring_regex(texts, _FORMULA, r"'\1")
