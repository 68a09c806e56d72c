"""Documents of one form, parsed by one query, and their elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from osdi_frames.reading import query
from osdi_frames.reading.arrays import Mask, child, entries, one, starts, valid
from osdi_frames.reading.engine import Engine
from osdi_frames.tables.forms import TIMESTAMPS, Form
from osdi_frames.tables.schema import ElementType

POSITIONS = 28  # bits of the number of an element that are its position in its document


@dataclass(frozen=True, slots=True)
class Parsed:
    """The elements of documents of one form."""

    form: Form
    numbers: np.ndarray
    """The number of the document of each element."""
    positions: np.ndarray
    """The position of each element in its document."""
    values: pa.Array
    """The elements; of a delivery with their siblings."""
    timestamps: pa.StructArray
    """The timestamps of the envelopes."""
    misplaced: Mask
    """Which elements have another value where a list is declared."""
    strict: bool
    """Whether none has another value where an object or a list is declared."""

    @property
    def keys(self) -> np.ndarray:
        """The number of the document and the position, as one number."""
        keys: np.ndarray = self.numbers << POSITIONS | self.positions
        return keys

    @classmethod
    def read(cls, engine: Engine, form: Form, structure: Any, documents: pa.Table) -> Parsed:
        """Look for a structure in each element of some documents."""
        found = engine.parse_strictly(form, structure, documents)
        strict = found is not None
        if found is None:  # the other way takes half as long again, and shows what is misplaced
            engine.put("documents", documents)
            found = engine.run(query.parse(form, structure)).to_arrow_table()
        values, owners = entries(one(found["list"]))
        misplaced = np.zeros(len(values), bool)
        if not strict:
            _mark(values, entries(one(found["present"]))[0], query.presence(structure), misplaced)
            values = _opened(engine, values, structure, misplaced, np.arange(len(values)))
        positions = np.arange(len(owners)) - np.searchsorted(owners, owners)
        at = pa.array(owners)
        return cls(
            form,
            documents["number"].to_numpy()[owners],
            positions + documents["start"].to_numpy()[owners],
            values,
            pa.StructArray.from_arrays(
                [_timestamps(found, name).take(at) for name in TIMESTAMPS], TIMESTAMPS
            ),
            misplaced,
            strict,
        )

    def of(self, element: ElementType) -> pa.Array:
        """Return the elements of a type, null for others."""
        return child(self.values, str(element.type_key)) if self.form.kind == "delivery" else self.values

    def only(self, condition: np.ndarray) -> Parsed:
        """Return the elements for which a condition holds."""
        if condition.all():
            return self
        at = pa.array(np.flatnonzero(condition))
        return replace(
            self,
            numbers=self.numbers[condition],
            positions=self.positions[condition],
            values=self.values.take(at),
            timestamps=self.timestamps.take(at),
            misplaced=self.misplaced[condition],
        )


def _timestamps(found: pa.Table, name: str) -> pa.Array:
    return one(found[name]) if name in found.column_names else pa.nulls(len(found), pa.string())


def _mark(values: pa.Array, present: pa.Array, presence: Any, misplaced: Mask) -> None:
    """Mark the elements in which something is present that came through as no list."""
    for key, below in presence.items():
        if below == query.PRESENT:
            misplaced |= valid(child(present, key)) & ~valid(child(values, key))
        else:
            _mark(child(values, key), child(present, key), below, misplaced)


def _opened(
    engine: Engine, values: pa.Array, structure: Any, misplaced: Mask, owners: np.ndarray
) -> pa.Array:
    """Return values with the lists inside of lists, which come as JSON; mark the elements where there is none."""
    if not query.has_lists(structure) or (
        pa.types.is_list(values.type) and not query.has_lists(structure[0])
    ):
        return values
    if isinstance(structure, dict):
        found = [
            _opened(engine, child(values, key), below, misplaced, owners) for key, below in structure.items()
        ]
        return pa.StructArray.from_arrays(found, list(structure), mask=pa.array(~valid(values)))
    is_list = valid(values)
    if pa.types.is_string(values.type):
        is_list = starts(values, "[")
        misplaced[owners[valid(values) & ~is_list]] = True
        values = engine.lists(values.filter(pa.array(is_list)), query.with_inner_lists_as_json(structure))
        numbers = np.flatnonzero(is_list)
    else:
        numbers = np.arange(len(values))
    inside, at = entries(values)
    inside = _opened(engine, inside, structure[0], misplaced, owners[numbers[at]])
    lengths = np.bincount(numbers[at], minlength=len(is_list))
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(ends, inside, mask=pa.array(~is_list))
