"""The elements of documents of one form, as a query parsed them, and what stands at paths in them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing import query
from osdi_frames.parsing.arrays import Mask, child, chosen, entries, one, own, take, true, valid
from osdi_frames.parsing.documents import foreign_identifier
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.parsing.values import normal
from osdi_frames.tables.forms import TIMESTAMPS, Form
from osdi_frames.tables.schema import EACH, PAIRS, ElementType, Step, Type
from osdi_frames.tables.shape import Shape

#: The step to the timestamps of an envelope.
ENVELOPE = -4
POSITIONS = 28  # bits of the number of an element; before these is the number of its document

Steps = tuple[Step, ...]
_Leaf = tuple[Steps, Type | Literal["pairs"]]
_TIMESTAMPS: Final[list[_Leaf]] = [((ENVELOPE, name), "utc") for name in TIMESTAMPS]
Read = tuple[pa.Array, Mask]
"""Values, and which fit their type."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The elements of documents of one form; of a delivery with their siblings.

    Steps lead from an entry of the list of a document; after EACH and PAIRS, values are those of all entries.
    """

    form: Form
    documents: pa.Table
    owners: np.ndarray
    """The row of the document of each element."""
    elements: np.ndarray
    """The number of each element."""
    positions: np.ndarray
    """The position of each element in its document."""
    prefixes: tuple[str, ...]
    pairs: Callable[[pa.Array], pa.Array]
    """Gives the pairs of objects as lists, from their texts."""
    found: dict[Steps, tuple[pa.Array, np.ndarray]]
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
        around = pa.StructArray.from_arrays(timestamps, TIMESTAMPS)
        every = np.arange(len(owners))
        inside = every - np.searchsorted(owners, owners)
        return cls(
            form,
            documents,
            owners,
            documents[ELEMENT].to_numpy()[owners] + inside,
            documents["position"].to_numpy()[owners] + inside,
            prefixes,
            pairs,
            {(): (elements, every), (ENVELOPE,): (around, every)},
        )

    def head(self, element: ElementType) -> Steps:
        """Return where the elements of a type stand."""
        return (str(element.type_key),) if self.form.kind == "delivery" else ()

    def at(self, steps: Steps) -> pa.Array:
        """Return what stands at some steps; null where nothing does."""
        return self.found_at(steps)[0]

    def found_at(self, steps: Steps) -> tuple[pa.Array, np.ndarray]:
        """Return what stands at some steps, and the position among the elements of that of each value."""
        if steps not in self.found:
            before, step = steps[:-1], steps[-1]
            values, owners = self.found_at(before)
            if isinstance(step, str):
                values = child(values, step)
            elif step in (EACH, PAIRS):
                values, lists = entries(values if step == EACH else self.read(before, "pairs")[0])
                owners = owners[lists]
            else:
                values = take(entries(values)[0], chosen(values, step))
            self.found[steps] = values, owners
        return self.found[steps]

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


def misfits(parsed: Parsed, shapes: Mapping[ElementType, Shape]) -> Mask:
    """Return which elements do not fit, or may not: these are looked at precisely."""
    suspect = ~valid(parsed.at(()))
    for steps, kind in [*_TIMESTAMPS, *_leaves(query.entry_shape(parsed.form, shapes))]:
        _, fits = parsed.read(steps, kind)
        if not fits.all():
            suspect[parsed.found_at(steps)[1][~fits]] = True
    for element in parsed.form.types:
        declared = shapes[element].inside[str(element.type_key)].inside
        if "identifiers" in declared and "self" in declared.get("_links", Shape()).inside:
            suspect[list(_foreign(parsed, parsed.head(element)))] = True
    return suspect


def _leaves(shape: Shape, steps: Steps = ()) -> Iterator[_Leaf]:
    """Yield where the values of columns stand, and as what they are read."""
    yield from ((steps, kind) for kind in shape.types)
    if PAIRS in shape.inside:
        yield steps, "pairs"
    elif "json" not in shape.types:
        for step, below in shape.inside.items():
            yield from _leaves(below, (*steps, step))


def _foreign(parsed: Parsed, head: Steps) -> Iterator[int]:
    """Yield the elements that the service may have identified under a prefix that is not known."""
    identifiers, _ = parsed.read((*head, "identifiers"), "list<string>")
    _, has_own = parsed.read((*head, "identifiers"), "own")
    found, owners = entries(identifiers)
    numbers = np.unique(owners[true(pc.match_substring(found, ":")) & ~has_own[owners]])
    columns = (identifiers, parsed.at((*head, "_links", "self", "href")))
    chosen = (column.take(pa.array(numbers)).to_pylist() for column in columns)
    for number, some, address in zip(numbers.tolist(), *chosen, strict=True):
        if foreign_identifier({"identifiers": some, "_links": {"self": {"href": address}}}, parsed.prefixes):
            yield number


_TWICE: Any = object()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, and at _TWICE the keys that occur twice, if any does."""
    if len(found := dict(pairs)) < len(pairs):
        found[_TWICE] = {key for key, count in Counter(key for key, _ in pairs).items() if count > 1}
    return found


#: Of numbers the text is enough, however long.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=str, parse_float=str)


def is_plain(document: str, shape: Shape) -> bool:
    """Return whether a document is JSON of a shape: no object or list misplaced, no key of it twice."""
    try:
        return _has(_DECODER.decode(document), shape)
    except (ValueError, RecursionError):
        return False


def _has(value: Any, shape: Shape) -> bool:
    inside = shape.inside
    if value is None or not (shape.is_struct or shape.form == "list"):
        return True
    if shape.form == "list":
        return isinstance(value, list) and all(_has(entry, of) for of in inside.values() for entry in value)
    if not isinstance(value, dict) or inside.keys() & value.get(_TWICE, ()):
        return False
    return all(_has(value.get(key), below) for key, below in inside.items())
