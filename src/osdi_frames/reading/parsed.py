"""Documents of one form, parsed by one query, and their elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from osdi_frames.reading import query
from osdi_frames.reading.arrays import Mask, child, entries, plain, starts, valid
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

    @property
    def keys(self) -> np.ndarray:
        """The number of the document and the position, as one number."""
        return np.bitwise_or(self.numbers << POSITIONS, self.positions)

    @classmethod
    def read(cls, engine: Engine, form: Form, structure: Any, documents: pa.Table) -> Parsed:
        """Look for a structure in each element of some documents."""
        engine.put("documents", documents)
        found = engine.run(query.parse(form, query.flat(structure))).to_arrow_table()
        texts, owners = entries(plain(found["list"]))
        misplaced = np.zeros(len(texts), bool)
        values = _opened(engine, texts, structure, misplaced, np.arange(len(texts)))
        positions = np.arange(len(owners)) - np.searchsorted(owners, owners)
        at = pa.array(owners)
        return cls(
            form,
            found["number"].to_numpy()[owners],
            positions + found["start"].to_numpy()[owners],
            values,
            pa.StructArray.from_arrays([plain(found[name]).take(at) for name in TIMESTAMPS], TIMESTAMPS),
            misplaced,
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


def _opened(
    engine: Engine, values: pa.Array, structure: Any, misplaced: Mask, owners: np.ndarray
) -> pa.Array:
    """Return values with their lists, which come as JSON; mark the elements with something else in their place.

    To parse lists apart shows what is no list, which `json_transform` leaves out in silence.
    """
    if isinstance(structure, dict):
        found = [
            _opened(engine, child(values, key), below, misplaced, owners) for key, below in structure.items()
        ]
        return pa.StructArray.from_arrays(found, list(structure), mask=pa.array(~valid(values)))
    if not isinstance(structure, list):
        return values
    is_list = starts(values, "[")
    misplaced[owners[valid(values) & ~is_list]] = True
    lists = engine.lists(values.filter(pa.array(is_list)), query.flat(structure))
    inside, at = entries(lists)
    lengths = np.zeros(len(values), np.int32)
    lengths[is_list] = np.bincount(at, minlength=len(lists))
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    inside = _opened(engine, inside, structure[0], misplaced, owners[is_list][at])
    return pa.ListArray.from_arrays(ends, inside, mask=pa.array(~is_list))
