"""Functions of Arrow arrays that know missing values.

A mask is an array of NumPy: where a condition is true, which a missing value never meets.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


def combined(values: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values as a type, null where one cannot be."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        if len(values) == 1:
            return pa.nulls(1, kind)
        half = len(values) // 2
        return pa.concat_arrays([cast(values[:half], kind), cast(values[half:], kind)])


def valid(values: pa.Array) -> Mask:
    """Return where there is a value."""
    return np.asarray(values.is_valid())


def true(conditions: pa.Array) -> Mask:
    """Return where a condition is true, not null."""
    return np.asarray(pc.fill_null(conditions, False))


def child(objects: pa.StructArray, key: str) -> pa.Array:
    """Return the values at a key of objects; null where there is no object."""
    return pc.struct_field(objects, [objects.type.get_field_index(key)])


def entries(lists: pa.ListArray) -> tuple[pa.Array, np.ndarray]:
    """Return the entries of lists, with list numbers."""
    return lists.flatten(), pc.list_parent_indices(lists).to_numpy()


def first(lists: pa.ListArray, *conditions: Mask) -> np.ndarray:
    """Return the index of each list's first entry that meets the last satisfiable condition, or -1."""
    owners = entries(lists)[1]
    numbers = np.full(len(lists), -1)
    for condition in conditions:
        at = np.flatnonzero(condition)
        at = at[np.diff(owners[at], prepend=-1) > 0]
        numbers[owners[at]] = at
    return numbers


def take(values: pa.Array, numbers: np.ndarray) -> pa.Array:
    """Return the values at positions; null at -1."""
    return values.take(pa.array(numbers, mask=numbers < 0))


def last_part(texts: pa.Array, separator: str, *, reverse: bool = False) -> pa.Array:
    """Return the text after the first separator, or the last (`reverse`); the whole text where there is none."""
    parts = pc.split_pattern(texts, separator, max_splits=1, reverse=reverse)
    return take(parts.values, np.where(valid(parts), parts.offsets.to_numpy()[1:] - 1, -1))


def starts(texts: pa.StringArray, *characters: str) -> Mask:
    """Return which texts start with one of these ASCII characters."""
    _, ends, data = texts.buffers()
    if not data:
        return np.zeros(len(texts), bool)
    ends = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    first = np.frombuffer(data, np.uint8).take(ends[:-1], mode="clip")
    found: Mask = np.logical_or.reduce([first == ord(character) for character in characters])
    # Of a text that is empty or null, another one's character was looked at.
    if found.any():
        found &= (np.diff(ends) > 0) & valid(texts)
    return found


def held(texts: pa.StringArray) -> Mask:
    """Return which texts are not blank."""
    _, ends, data = texts.buffers()
    if not data:
        return np.zeros(len(texts), bool)
    ends = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    found: Mask = (np.diff(ends) > 0) & valid(texts)
    first = np.frombuffer(data, np.uint8).take(ends[:-1], mode="clip")
    doubtful = np.flatnonzero(found & ((first <= ord(" ")) | (first > ord("~"))))
    if len(doubtful):  # a text of blanks begins with one, which need not be of ASCII
        bare = pc.utf8_trim_whitespace(texts.take(pa.array(doubtful)))
        found[doubtful] = pc.binary_length(bare).to_numpy() > 0
    return found


def holding(values: pa.Array) -> Mask:
    """Return which values hold something: texts that are not blank, lists of them, and whatever else is not missing."""
    if pa.types.is_list(values.type):
        found, owners = entries(values)
        mask = np.zeros(len(values), bool)
        mask[owners[held(found)]] = True
        return mask
    return held(values) if pa.types.is_string(values.type) else valid(values)


def folded(texts: pa.StringArray) -> pa.StringArray:
    """Return texts as they are compared: without blanks around them and case; a blank one is null."""
    bare = pc.utf8_trim_whitespace(texts)
    small = pc.ascii_lower(bare)
    others = np.flatnonzero(~true(pc.string_is_ascii(bare)) & valid(bare))
    if len(others):
        chosen = [text.casefold() for text in bare.take(pa.array(others)).to_pylist()]
        mask = np.isin(np.arange(len(bare)), others)
        small = pc.replace_with_mask(small, mask, pa.array(chosen, pa.string()))
    return pc.if_else(pc.equal(small, ""), None, small)


def contains_any(texts: pa.StringArray, *characters: str) -> bool:
    """Return whether the memory of texts has any of these ASCII characters."""
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return any((data == ord(character)).any() for character in characters)


def same_texts(texts: pa.Array | pa.ChunkedArray, known: Iterable[str]) -> pa.Array:
    """Return the different texts that are known ones in another case, or with their words joined otherwise.

    >>> same_texts(pa.array(["Checked-in", "accepted", None, "checked_in"]), ["checked in"]).to_pylist()
    ['Checked-in', 'checked_in']
    """
    different = pc.unique(texts).drop_null()
    return different.filter(pc.is_in(_joined(different), _joined(pa.array(known, pa.string()))))


def _joined(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(pc.utf8_lower(texts), r"[\s_-]+", "")


def among(numbers: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return which numbers are among sorted others."""
    is_among: np.ndarray = np.zeros(len(numbers), bool)
    if len(kept):
        is_among = kept.take(np.searchsorted(kept, numbers), mode="clip") == numbers
    return is_among


def replaced(rows: pa.Table, at: np.ndarray, values: pa.Table) -> pa.Table:
    """Return rows with other values at some places."""
    numbers = np.arange(len(rows))
    numbers[at] = len(rows) + np.arange(len(at))
    for name in values.column_names:
        field = rows.schema.field(name)
        both = pa.chunked_array([*rows[name].chunks, *values[name].cast(field.type).chunks], field.type)
        rows = with_column(rows, field, both.combine_chunks().take(pa.array(numbers)))
    return rows


def with_column(rows: pa.Table, field: pa.Field, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return rows with a column set, or added."""
    place = rows.schema.get_field_index(field.name)
    return rows.append_column(field, values) if place < 0 else rows.set_column(place, field, values)


def last_segment(addresses: pa.Array) -> pa.Array:
    """Return the last path segment of each address.

    >>> last_segment(pa.array(["https://a.org/events/1", "https://a.org/events/2/?page=3", "https://a.org"])).to_pylist()
    ['1', '2', None]
    """
    last = last_part(addresses, "/", reverse=True)
    # Of an address of the web, more slashes than those before the host are looked for.
    sizes, lengths = (pc.fill_null(pc.binary_length(texts), 0).to_numpy() for texts in (addresses, last))
    is_simple = (sizes - lengths > len("https://")) & (lengths > 0)
    is_simple &= np.logical_or(
        *(true(pc.starts_with(addresses, scheme)) for scheme in ("https://", "http://"))
    )
    if contains_any(addresses, "?", "#"):
        is_simple &= ~true(pc.match_substring_regex(addresses, "[?#]"))
    others = np.flatnonzero(valid(addresses) & ~is_simple)
    if not len(others):
        return last
    paths = pc.replace_substring_regex(addresses.take(pa.array(others)), r"^([^:/?#]+:)?//[^/?#]*", "")
    found = pc.struct_field(
        pc.extract_regex(paths, r"^(?s:(?:[^?#]*/)?(?P<last>[^/?#]+)/*(?:[?#].*)?)$"), [0]
    )
    return pc.replace_with_mask(last, np.isin(np.arange(len(last)), others), found)
