"""Documents of one form, parsed by one query, and their elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from osdi_frames.reading import query
from osdi_frames.reading.arrays import child, entries, with_strings
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

    @property
    def keys(self) -> np.ndarray:
        """The number of the document and the position, as one number."""
        return self.numbers << POSITIONS | self.positions

    @classmethod
    def read(cls, engine: Engine, form: Form, structure: Any, documents: pa.Table) -> Parsed:
        """Look for a structure in each element of some documents."""
        engine.put("documents", documents)
        found = engine.run(query.parse(form, structure)).to_arrow_table()
        values, owners = entries(_column(found, "list"))
        positions = np.arange(len(owners)) - np.searchsorted(owners, owners)
        at = pa.array(owners)
        timestamps = [_column(found, name).take(at) for name in TIMESTAMPS]
        return cls(
            form,
            found["number"].to_numpy()[owners],
            positions + found["start"].to_numpy()[owners],
            values,
            pa.StructArray.from_arrays(timestamps, TIMESTAMPS),
        )

    def of(self, element: ElementType) -> pa.Array:
        """Return the elements of a type, null for others."""
        return child(self.values, str(element.type_key)) if self.form.kind == "delivery" else self.values

    def only(self, condition: np.ndarray) -> Parsed:
        """Return the elements for which a condition holds."""
        if condition.all():
            return self
        at = pa.array(np.flatnonzero(condition))
        return Parsed(
            self.form,
            self.numbers[condition],
            self.positions[condition],
            self.values.take(at),
            self.timestamps.take(at),
        )


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table[name].combine_chunks()
    return column.cast(with_strings(column.type))
