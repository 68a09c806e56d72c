"""The elements of documents of one form, as a query parsed them, and what stands at paths in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from osdi_frames.reading.arrays import Mask, child, chosen, entries, one, own, take, true, valid
from osdi_frames.reading.values import normal
from osdi_frames.tables.forms import TIMESTAMPS, Form
from osdi_frames.tables.schema import EACH, PAIRS, ElementType, Step, Type

#: The step to the timestamps of an envelope.
ENVELOPE = -4
POSITIONS = 28  # bits of the number of an element that are its position in its document

Steps = tuple[Step, ...]
Read = tuple[pa.Array, Mask]
"""Values, and which fit their type."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The elements of documents of one form; of a delivery with their siblings.

    Steps lead from an entry of the list of a document; after EACH and PAIRS, values are those of all entries.
    """

    form: Form
    numbers: np.ndarray
    """The number of the document of each element."""
    positions: np.ndarray
    """The position of each element in its document."""
    prefixes: tuple[str, ...]
    pairs: Callable[[pa.Array], pa.Array]
    """Gives the pairs of objects as lists, from their texts."""
    found: dict[Steps, pa.Array]
    """What was looked up, by its steps: without any the elements, at ENVELOPE the timestamps around them."""
    values: dict[tuple[Steps, str], Read] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        form: Form,
        documents: pa.Table,
        found: pa.Table,
        prefixes: tuple[str, ...],
        pairs: Callable[[pa.Array], pa.Array],
    ) -> Parsed:
        """Return the elements of documents, from what `query.parse` gives of these."""
        elements, owners = entries(one(found["list"]))
        at = pa.array(owners)
        timestamps = [
            one(found[name]).take(at) if name in found.column_names else pa.nulls(len(at), pa.string())
            for name in TIMESTAMPS
        ]
        return cls(
            form,
            documents["number"].to_numpy()[owners],
            np.arange(len(owners)) - np.searchsorted(owners, owners) + documents["start"].to_numpy()[owners],
            prefixes,
            pairs,
            {(): elements, (ENVELOPE,): pa.StructArray.from_arrays(timestamps, TIMESTAMPS)},
        )

    @property
    def keys(self) -> np.ndarray:
        """The number of the document and the position, as one number."""
        keys: np.ndarray = self.numbers << POSITIONS | self.positions
        return keys

    def head(self, element: ElementType) -> Steps:
        """Return where the elements of a type stand."""
        return (str(element.type_key),) if self.form.kind == "delivery" else ()

    def at(self, steps: Steps) -> pa.Array:
        """Return what stands at some steps; null where nothing does."""
        if steps not in self.found:
            before, step = steps[:-1], steps[-1]
            if step == PAIRS:
                values = entries(self.read(before, "pairs")[0])[0]
            elif isinstance(step, str):
                values = child(self.at(before), step)
            elif step == EACH:
                values = entries(self.at(before))[0]
            else:
                lists = self.at(before)
                values = take(entries(lists)[0], chosen(lists, step))
            self.found[steps] = values
        return self.found[steps]

    def owners(self, steps: Steps) -> np.ndarray:
        """Return the number of the element of each value at some steps."""
        if not steps:
            return np.arange(len(self.numbers))
        before = steps[:-1]
        if steps[-1] not in (EACH, PAIRS):
            return self.owners(before)
        lists = self.at(before) if steps[-1] == EACH else self.read(before, "pairs")[0]
        owners: np.ndarray = self.owners(before)[entries(lists)[1]]
        return owners

    def read(self, steps: Steps, kind: Type | Literal["pairs", "own"]) -> Read:
        """Return the values of a type at some steps, and where one fits or none is."""
        if (steps, kind) not in self.values:
            found = self.at(steps)
            if kind == "own":
                values = own(found, self.prefixes)
                read = values, valid(values)
            elif kind == "pairs":
                lists = self.pairs(found)
                fits = valid(lists) | ~valid(found)
                pairs, owners = entries(lists)
                fits[owners[true(child(pairs, "misplaced"))]] = False
                read = lists, fits
            else:
                read = normal(kind, found)
            self.values[steps, kind] = read
        return self.values[steps, kind]


def containers(structure: Any) -> Any:
    """Return the objects and lists of a structure; None for a text."""
    if isinstance(structure, list):
        return [containers(structure[0])]
    if isinstance(structure, str):
        return None
    inside = {key: containers(below) for key, below in structure.items()}
    return {key: below for key, below in inside.items() if below is not None}


#: Of equal keys the query reads the first.
_DECODER = json.JSONDecoder(object_pairs_hook=lambda pairs: dict(reversed(pairs)))


def is_plain(document: str, expected: Any) -> bool:
    """Return whether a document is JSON, and nothing but null stands in the place of expected objects and lists."""
    try:
        return _has(_DECODER.decode(document), expected)
    except (ValueError, RecursionError):
        return False


def _has(value: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and isinstance(value, dict):
        for key, below in expected.items():
            if (inner := value.get(key)) is not None and not _has(inner, below):
                return False
        return True
    if isinstance(expected, list) and isinstance(value, list):
        return all(entry is None or _has(entry, expected[0]) for entry in value)
    return expected is None
