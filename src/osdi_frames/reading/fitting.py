"""Which elements do not fit their shape: the bulk form of what `mend` does precisely.

An element in which something may not fit is *suspect*; a suspect one in which nothing is wrong is read again,
the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.reading import query
from osdi_frames.reading.arrays import child, chosen, entries, starts, true, valid
from osdi_frames.reading.columns import Pairs, own
from osdi_frames.reading.documents import foreign_identifier, is_wrapper
from osdi_frames.reading.engine import Engine
from osdi_frames.reading.parsed import POSITIONS, Parsed
from osdi_frames.reading.values import fits
from osdi_frames.tables.schema import EACH, PAIRS, ElementType, Step, Type
from osdi_frames.tables.shape import ElementShape, Shape

Steps = tuple[Step, ...]


def suspects(
    engine: Engine,
    parsed: Parsed,
    shapes: Mapping[ElementType, ElementShape],
    prefixes: Sequence[str],
    documents: pa.Table,
) -> np.ndarray:
    """Return which of the elements of documents do not fit, or may not."""
    check = _Check(engine.pairs, ~valid(parsed.values) | parsed.misplaced)
    shape, everything = query.entry_shape(parsed.form, shapes), np.arange(len(parsed.numbers))
    if parsed.form.kind == "delivery":
        check.inside(parsed.values, shape, (), everything)
        _check_types(engine, parsed, documents, check)
    else:
        check.value(parsed.values, shape, (), everything)
    for element in parsed.form.types:
        declared = shapes[element].of.inside
        if "identifiers" in declared and "self" in declared.get("_links", Shape()).inside:
            check.suspect[list(_foreign(parsed.of(element), prefixes))] = True
    if not parsed.strict:
        _look_up(engine, parsed, documents, check)
    return check.suspect


def _foreign(elements: pa.StructArray, prefixes: Sequence[str]) -> Iterator[int]:
    """Yield the elements that the service may have identified under a prefix that is not known."""
    identifiers, links = child(elements, "identifiers"), child(elements, "_links")
    found, owners = entries(identifiers)
    without = ~valid(own(identifiers, prefixes))
    for number in np.unique(owners[true(pc.match_substring(found, ":")) & without[owners]]):
        resource = {"identifiers": identifiers[number].as_py(), "_links": links[number].as_py()}
        if foreign_identifier(resource, prefixes):
            yield number


def _check_types(engine: Engine, parsed: Parsed, documents: pa.Table, check: _Check) -> None:
    """Mark the elements of a delivery that are neither of a type that is read, nor of another type."""
    types = {str(element.type_key): valid(parsed.of(element)) for element in parsed.form.types}
    some = np.logical_or.reduce(list(types.values()))
    doubtful = ~np.logical_and.reduce(list(types.values()))
    if not doubtful.any():
        return
    engine.put("documents", with_numbers(documents, parsed.numbers[doubtful]))
    for keys, numbers, positions in engine.run(query.entry_keys(parsed.form)).fetchall():
        at = np.searchsorted(parsed.keys, np.array(numbers) << POSITIONS | np.array(positions))
        wrong = ~some[at] if not is_wrapper(keys) else np.zeros(len(at), bool)
        for name, present in types.items():
            if name in keys:
                wrong |= ~present[at]
        check.mark(at, wrong)


def _look_up(engine: Engine, parsed: Parsed, documents: pa.Table, check: _Check) -> None:
    """Mark the elements in which there is another value where an object is declared: it came through as one."""
    unclear = {path: np.unique(np.concatenate(owners)) for path, owners in check.unclear.items()}
    while unclear:
        # What is inside of another unclear value is looked up before it.
        paths = [
            path
            for path in unclear
            if not any(other != path and other[: len(path)] == path for other in unclear)
        ]
        owners = {path: unclear.pop(path) for path in paths}
        numbers = np.unique(parsed.numbers[np.concatenate(list(owners.values()))])
        some = with_numbers(documents, numbers)
        elements = np.flatnonzero(np.isin(parsed.numbers, some["number"].to_numpy()))
        texts = Parsed.read(engine, parsed.form, query.structure_at(paths), some).values
        for place, doubtful in owners.items():
            found, at = texts, np.arange(len(texts))
            for step in place:
                if isinstance(step, str):
                    found = child(found, step)
                else:
                    found, lists = entries(found)
                    at = at[lists]
            misplaced = valid(found) & ~starts(found, "{") & ~true(pc.equal(found, "null"))
            check.mark(np.intersect1d(elements[at[misplaced]], doubtful))


def with_numbers(documents: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Return the documents with some numbers; all where these are most, which is quicker than to copy them."""
    if len(numbers) > documents.num_rows / 2:
        return documents
    return documents.filter(pc.is_in(documents["number"], value_set=pa.array(numbers, pa.int64())))


@dataclass(slots=True)
class _Check:
    """Walks through the values of many elements along their shape."""

    pairs: Pairs
    suspect: np.ndarray
    """By element."""
    unclear: dict[Steps, list[np.ndarray]] = field(default_factory=lambda: defaultdict(list))
    """The elements with an object without any of its declared keys, which may be another value."""

    def mark(self, owners: np.ndarray, condition: np.ndarray | None = None) -> None:
        """Mark the elements that own values for which a condition holds."""
        self.suspect[owners if condition is None else owners[condition]] = True

    def value(self, values: pa.Array, shape: Shape, steps: Steps, owners: np.ndarray) -> None:
        """Check the values at a place; `owners` are the numbers of their elements."""
        if shape.form is None:
            self._texts(values, shape.types, owners)
        elif shape.form == "list":
            self._entries(values, shape, steps, owners)
        elif query.is_struct(shape):
            keys = [child(values, key) for key in shape.inside if isinstance(key, str)]
            if all(below.null_count > values.null_count for below in keys):
                bare = np.logical_and.reduce([valid(values), *(~valid(below) for below in keys)])
                if bare.any():
                    self.unclear[steps].append(owners[bare])
            self.inside(values, shape, steps, owners)
        else:
            self.mark(owners, valid(values) & ~starts(values, "{"))
            if PAIRS in shape.inside:
                lists = self.pairs(values)
                self.mark(owners, valid(values) & ~valid(lists))
                found, at = entries(lists)
                self.mark(owners[at], true(child(found, "misplaced")))

    def inside(self, values: pa.Array, shape: Shape, steps: Steps, owners: np.ndarray) -> None:
        """Check what stands in objects."""
        for key, below in shape.inside.items():
            if isinstance(key, str):
                self.value(child(values, key), below, (*steps, key), owners)

    def _texts(self, values: pa.Array, types: Iterable[Type], owners: np.ndarray) -> None:
        for kind in types:
            self.mark(owners, ~fits(kind, values))

    def _entries(self, lists: pa.Array, shape: Shape, steps: Steps, owners: np.ndarray) -> None:
        found, at = entries(lists)
        if "list<string>" in shape.types:
            self.mark(owners[at], ~(valid(found) & fits("string", found)))
        for step, below in shape.inside.items():
            if step == EACH:
                self.value(found, below, (*steps, EACH), owners[at])
            elif isinstance(step, int):
                numbers = chosen(lists, step)
                numbers = numbers[numbers >= 0]
                self.value(found.take(pa.array(numbers)), below, (*steps, EACH), owners[at[numbers]])
