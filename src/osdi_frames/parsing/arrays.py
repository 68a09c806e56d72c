"""Nested Arrow arrays, as a query gives them for many documents at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.tables.schema import FIRST

Mask = npt.NDArray[np.bool_]


def child(objects: pa.StructArray, key: str) -> pa.Array:
    """Return what stands at a key of each object; null where there is no object."""
    return pc.struct_field(objects, [objects.type.get_field_index(key)])


def entries(lists: pa.ListArray) -> tuple[pa.Array, np.ndarray]:
    """Return the entries of all lists, and the number of the list of each."""
    return lists.flatten(), pc.list_parent_indices(lists).to_numpy()


def chosen(lists: pa.ListArray, step: int) -> np.ndarray:
    """Return for each list which of all entries is read, -1 for none.

    That is the first (FIRST), or the object whose ``primary`` is true, else the first object (PRIMARY).
    """
    found, _ = entries(lists)
    if step == FIRST:
        return first(lists, np.ones(len(found), bool))
    return first(lists, valid(found), true(pc.equal(child(found, "primary"), "true")))


def first(lists: pa.ListArray, *conditions: Mask) -> np.ndarray:
    """Return for each list which of all entries is the first for which the last condition holds that does for any."""
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
    """Return what stands after the first separator, or after the last one; the whole text where there is none."""
    parts = pc.split_pattern(texts, separator, max_splits=1, reverse=reverse)
    return take(parts.values, np.where(valid(parts), parts.offsets.to_numpy()[1:] - 1, -1))


def own(lists: pa.ListArray, prefixes: Sequence[str]) -> pa.Array:
    """Return the first identifier of the service itself in each list, without its prefix."""
    identifiers, _ = entries(lists)
    is_own = np.logical_or.reduce([true(pc.starts_with(identifiers, f"{prefix}:")) for prefix in prefixes])
    found = last_part(take(identifiers, first(lists, is_own)), ":")
    return pc.if_else(pc.equal(found, ""), None, found)


def valid(values: pa.Array) -> Mask:
    """Return where there is a value."""
    return np.asarray(values.is_valid())


def true(conditions: pa.Array) -> Mask:
    """Return where a condition is true; it is not where it is null."""
    return np.asarray(pc.fill_null(conditions, False))


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


def has(texts: pa.StringArray, *characters: str) -> bool:
    """Return whether one of these ASCII characters is in the memory of any text."""
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return any((data == ord(character)).any() for character in characters)


def one(values: pa.ChunkedArray) -> pa.Array:
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


def only(documents: pa.Table, numbers: Collection[int] | np.ndarray, *, invert: bool = False) -> pa.Table:
    """Return the documents with some numbers, or those without them."""
    if len(numbers) == (0 if invert else documents.num_rows):
        return documents
    found = pc.is_in(documents["number"], value_set=pa.array(list(numbers), pa.int64()))
    return documents.filter(pc.invert(found) if invert else found)
