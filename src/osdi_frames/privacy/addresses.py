"""Personal data within texts: e-mail addresses, phone numbers, and what a web address hands on."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.reading.arrays import one
from osdi_frames.tables.schema import Table

_DOMAIN: Final = r"[^\s@/?&=<>;,]+\.[^\s@/?&=<>;,]+"
#: What a text may hold of a person, and what stands there instead; queries hold tokens and addresses.
#: Matches begin at a boundary and try one sign of each kind, or a long text would take quadratic time.
_PERSONAL: Final = [
    (re.compile(pattern), shown)
    for pattern, shown in {
        r"(?<![^\s?#])((?>[^\s?#]*?(?:://|[\w-]\.\w\w))[^\s?#]*)(?:[?#]|%(?:25)*3[fF])\S+": r"\1?…",
        rf"(?<![^\s@/?&=<>:;,])(?:[^\s@/?&=<>:;,]++@|(?>[^\s@/?&=<>:;,]+?(?:\uff20|%(?:25)*40))){_DOMAIN}": "(e-mail)",
        r"(?:\+|%(?:25)*2[bB])\d[\d\s().-]{5,}\d": "(phone)",
    }.items()
]
#: Each of these texts has one of these signs.
_SIGNS: Final = "[@\uff20%+?#]"


def without_addresses(text: str) -> str:
    """Hide e-mail addresses, phone numbers and queries of web addresses within a text.

    >>> [without_addresses(text) for text in ("to-a@b.example", "b.example/x?t=1", "call +1 510 555 0199", "2026-03")]
    ['(e-mail)', 'b.example/x?…', 'call (phone)', '2026-03']
    """
    for pattern, shown in _PERSONAL:
        text = pattern.sub(shown, text)
    return text


def hide_addresses(texts: pa.Array) -> pa.Array:
    """Hide addresses within the texts, or the lists of texts, of an array."""
    if pa.types.is_list(texts.type):
        flat = hide_addresses(texts.flatten())
        lengths = pc.fill_null(pc.list_value_length(texts), 0).to_numpy()
        offsets = pa.array([0, *lengths.cumsum()], pa.int32())
        return pa.ListArray.from_arrays(offsets, flat, mask=texts.is_null())
    found = pc.fill_null(pc.match_substring_regex(texts, _SIGNS), False)
    if not pc.any(found).as_py():
        return texts
    coded = texts.filter(found).dictionary_encode()
    hidden = pa.array(map(without_addresses, coded.dictionary.to_pylist()), texts.type)
    return pc.replace_with_mask(texts, found, hidden.take(coded.indices))


def hide_in_rows(rows: pa.Table, table: Table) -> pa.Table:
    """Hide addresses within the texts of rows of a table, but for columns that are counted and never shown."""
    for number, field in enumerate(rows.schema):
        column = table.column(field.name)
        if column.type == "string" and column.privacy.level != "identifying":
            rows = rows.set_column(number, field, hide_addresses(one(rows[field.name])))
    return rows
