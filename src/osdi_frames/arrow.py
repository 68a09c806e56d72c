"""Null-safe functions of Arrow arrays.

A `Mask` is a boolean NumPy array, in which a null of the Arrow array is False.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


def combined(values: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast values to a type; a value that cannot be cast becomes null."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        if len(values) == 1:
            return pa.nulls(1, kind)
        half = len(values) // 2
        return pa.concat_arrays([cast(values[:half], kind), cast(values[half:], kind)])


def valid(values: pa.Array) -> Mask:
    """Return which values are not null."""
    return np.asarray(values.is_valid())


def true(conditions: pa.Array) -> Mask:
    """Return which conditions are true, counting null as false."""
    return np.asarray(pc.fill_null(conditions, False))


def child(objects: pa.StructArray, key: str) -> pa.Array:
    """Return the values of a field of structs, which are null where the struct is null."""
    return pc.struct_field(objects, [objects.type.get_field_index(key)])


def entries(lists: pa.ListArray) -> tuple[pa.Array, np.ndarray]:
    """Return the entries of all lists, and for each the index of its list."""
    return lists.flatten(), pc.list_parent_indices(lists).to_numpy()


def first_entry(lists: pa.ListArray, *conditions: Mask) -> np.ndarray:
    """Return for each list the index of its first entry that meets the last condition which any entry meets, or -1."""
    owners = entries(lists)[1]
    indices = np.full(len(lists), -1)
    for condition in conditions:
        meeting = np.flatnonzero(condition)
        first = meeting[np.diff(owners[meeting], prepend=-1) > 0]
        indices[owners[first]] = first
    return indices


def take(values: pa.Array, indices: np.ndarray) -> pa.Array:
    """Return the values at indices, of which -1 stands for null."""
    return values.take(pa.array(indices, mask=indices < 0))


def last_part(texts: pa.Array, separator: str, *, reverse: bool = False) -> pa.Array:
    """Return the text after the first separator, or after the last (`reverse`); texts without any stay whole."""
    parts = pc.split_pattern(texts, separator, max_splits=1, reverse=reverse)
    return take(parts.values, np.where(valid(parts), parts.offsets.to_numpy()[1:] - 1, -1))


def starts_with(texts: pa.StringArray, *characters: str) -> Mask:
    """Return which texts start with one of these ASCII characters."""
    first, has_text = _first_bytes(texts)
    starts: Mask = np.logical_or.reduce([first == ord(character) for character in characters])
    return starts & has_text if starts.any() else starts


def not_blank(texts: pa.StringArray) -> Mask:
    """Return which texts have a character that is not white space."""
    first, has_text = _first_bytes(texts)
    may_be_blank = np.flatnonzero(has_text & ((first <= ord(" ")) | (first > ord("~"))))
    if len(may_be_blank):
        trimmed = pc.utf8_trim_whitespace(texts.take(pa.array(may_be_blank)))
        has_text[may_be_blank] = pc.binary_length(trimmed).to_numpy() > 0
    return has_text


def _first_bytes(texts: pa.StringArray) -> tuple[np.ndarray, Mask]:
    """Return the first byte of each text, which is arbitrary for an empty or null text, and which texts have one."""
    _, offsets, data = texts.buffers()
    if not data:
        return np.zeros(len(texts), np.uint8), np.zeros(len(texts), bool)
    offsets = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    first = np.frombuffer(data, np.uint8).take(offsets[:-1], mode="clip")
    return first, (np.diff(offsets) > 0) & valid(texts)


def holding(values: pa.Array) -> Mask:
    """Return which values have content: texts that are not blank, lists with such a text, other non-null values."""
    if pa.types.is_list(values.type):
        texts, owners = entries(values)
        mask = np.zeros(len(values), bool)
        mask[owners[not_blank(texts)]] = True
        return mask
    return not_blank(values) if pa.types.is_string(values.type) else valid(values)


def folded(texts: pa.StringArray) -> pa.StringArray:
    """Return texts for comparison: trimmed and case-folded; a blank text becomes null."""
    trimmed = pc.utf8_trim_whitespace(texts)
    lower = pc.ascii_lower(trimmed)
    is_unicode = ~true(pc.string_is_ascii(trimmed)) & valid(trimmed)
    if is_unicode.any():
        case_folded = [text.casefold() for text in trimmed.filter(pa.array(is_unicode)).to_pylist()]
        lower = pc.replace_with_mask(lower, is_unicode, pa.array(case_folded, pa.string()))
    return pc.if_else(pc.equal(lower, ""), None, lower)


def contains_any(texts: pa.StringArray, *characters: str) -> bool:
    """Return whether the buffer behind texts has any of these ASCII characters, in these texts or next to them."""
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return any((data == ord(character)).any() for character in characters)


def same_texts(texts: pa.Array | pa.ChunkedArray, known: Iterable[str]) -> pa.Array:
    """Return the distinct texts that equal a known one but for case, spaces, hyphens and underscores.

    >>> same_texts(pa.array(["Checked-in", "accepted", None, "checked_in"]), ["checked in"]).to_pylist()
    ['Checked-in', 'checked_in']
    """
    distinct = pc.unique(texts).drop_null()
    return distinct.filter(pc.is_in(_without_joints(distinct), _without_joints(pa.array(known, pa.string()))))


def _without_joints(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(pc.utf8_lower(texts), r"[\s_-]+", "")


def among(numbers: np.ndarray, sorted_numbers: np.ndarray) -> Mask:
    """Return which numbers occur in a sorted array, more quickly than `numpy.isin`."""
    if not len(sorted_numbers):
        return np.zeros(len(numbers), bool)
    found: Mask = sorted_numbers.take(np.searchsorted(sorted_numbers, numbers), mode="clip") == numbers
    return found


def are_parts(rows: pa.Table, others: pa.Table) -> np.ndarray:
    """Return which rows have fewer columns than others, and in these the same values."""
    is_equal, is_less = np.ones(len(rows), bool), np.zeros(len(rows), bool)
    for name in rows.column_names:
        mine, other = combined(rows[name]), combined(others[name])
        if pa.types.is_string(mine.type):
            mine, other = folded(mine), folded(other)
        has = np.asarray(mine.is_valid())
        is_equal &= ~has | np.asarray(pc.fill_null(pc.equal(mine, other), False))
        is_less |= ~has & np.asarray(other.is_valid())
    return is_equal & is_less


def replaced(rows: pa.Table, at: np.ndarray, values: pa.Table) -> pa.Table:
    """Return rows in which the columns of `values` are replaced by these at the indices `at`."""
    indices = np.arange(len(rows))
    indices[at] = len(rows) + np.arange(len(at))
    for name in values.column_names:
        field = rows.schema.field(name)
        both = pa.chunked_array([*rows[name].chunks, *values[name].cast(field.type).chunks], field.type)
        rows = with_column(rows, field, both.combine_chunks().take(pa.array(indices)))
    return rows


def concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of tables, some of which may lack columns."""
    return pa.concat_tables(tables, promote_options="default")


def with_column(rows: pa.Table, field: pa.Field, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return rows with a column replaced, or appended where they lack it."""
    index = rows.schema.get_field_index(field.name)
    return rows.append_column(field, values) if index < 0 else rows.set_column(index, field, values)


def last_segment(addresses: pa.Array) -> pa.Array:
    """Return the last path segment of each address.

    >>> last_segment(pa.array(["https://a.org/events/1", "https://a.org/events/2/?page=3", "https://a.org"])).to_pylist()
    ['1', '2', None]
    """
    last = last_part(addresses, "/", reverse=True)
    # The text after the last slash is the segment, unless that slash belongs to "https://" or a query follows.
    sizes, lengths = (pc.fill_null(pc.binary_length(texts), 0).to_numpy() for texts in (addresses, last))
    is_simple = (sizes - lengths > len("https://")) & (lengths > 0)
    is_simple &= np.logical_or(
        *(true(pc.starts_with(addresses, scheme)) for scheme in ("https://", "http://"))
    )
    if contains_any(addresses, "?", "#"):
        is_simple &= ~true(pc.match_substring_regex(addresses, "[?#]"))
    others = valid(addresses) & ~is_simple
    if not others.any():
        return last
    paths = pc.replace_substring_regex(addresses.filter(pa.array(others)), r"^([^:/?#]+:)?//[^/?#]*", "")
    segments = pc.struct_field(
        pc.extract_regex(paths, r"^(?s:(?:[^?#]*/)?(?P<last>[^/?#]+)/*(?:[?#].*)?)$"), [0]
    )
    return pc.replace_with_mask(last, others, segments)
