"""The keys of elements that no table reads, and those that an object has twice."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.problems import Finding, ProblemKind, named
from osdi_frames.reading import query
from osdi_frames.reading.arrays import child, chosen, entries, one
from osdi_frames.reading.documents import is_type_key, is_wrapper
from osdi_frames.reading.engine import Engine
from osdi_frames.tables import TABLES, element_types
from osdi_frames.tables.forms import Form
from osdi_frames.tables.forms import Keys as Path
from osdi_frames.tables.schema import EACH, ElementType, Step
from osdi_frames.tables.shape import ElementShape, Shape

_BETWEEN = b"\xff"  # keys: no text has it

Counted = tuple[int, Finding, int]
"""The number of the first document with a key, what is wrong with it, and how many objects have it."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something is declared: in an element, or around it in the entry of a delivery."""

    shape: Shape
    element: ElementType | None = None
    """None around elements."""
    inside: tuple[Step, ...] = ()
    """The steps from the element or the entry."""

    def at(self, step: Step) -> _Place:
        types = {element.type_key: element for element in element_types()}
        if self.element is None and step in types:
            return _Place(self.shape.inside[step], types[str(step)])
        return _Place(self.shape.inside[step], self.element, (*self.inside, step))

    def below(self, path: Path = ()) -> Iterator[tuple[Path, _Place]]:
        """Yield what is declared here and below as far as lists, with its path."""
        yield path, self
        for step in self.shape.inside:
            if isinstance(step, str):
                yield from self.at(step).below((*path, step))

    @property
    def is_list(self) -> bool:
        """Whether it is a list of objects, or one of which one entry is read."""
        shape = self.shape
        return shape.is_single or (
            shape.form == "list" and any(entry.form for entry in shape.inside.values())
        )

    def findings(self, key: Step, around: Collection[str] = (), *, twice: bool = False) -> Iterator[Finding]:
        """Yield what is wrong with a key of an object, or with entries that are not read (EACH).

        What is around an element belongs to the first declared type of the keys `around`.
        """
        if key in self.shape.inside and not twice:
            return
        types = {element.type_key: element for element in element_types()}
        whose = self.element or next((types[name] for name in around if name in types), None)
        at = written((*self.inside, key))
        name = named(f"{whose.name if whose else None}: {'' if self.element else '../'}{at}")
        if twice:
            yield Finding(ProblemKind.DUPLICATE_KEY, name, severity="warning")
        if key in self.shape.inside:
            return
        if not self.element and not self.inside and (key in types or is_type_key(str(key))):
            if key not in types and (whose or is_wrapper(around)):
                yield Finding(ProblemKind.OTHER_TYPE, named(str(key)), severity="info")
        elif whose:
            ignored = key == EACH or (self.element and self.element.ignores(at))
            kind = ProblemKind.NOT_READ if ignored else ProblemKind.UNDECLARED
            yield Finding(kind, name, severity="info")


def count_keys(
    engine: Engine, form: Form, shapes: Mapping[ElementType, ElementShape], documents: pa.Table
) -> Iterator[Counted]:
    """Yield the keys in documents of a form that no table reads, and those that an object has twice."""
    engine.put("documents", documents)
    elements = engine.connection.sql(query.texts(form)).to_arrow_table()
    entry = _Place(query.entry_shape(form, shapes), None if form.kind == "delivery" else form.types[0])
    yield from _in_elements(engine, elements, dict(entry.below()))


def _in_elements(engine: Engine, elements: pa.Table, places: Mapping[Path, _Place]) -> Iterator[Counted]:
    objects = {path: place for path, place in places.items() if place.shape.is_struct}
    lists = {path: place for path, place in places.items() if place.is_list}
    engine.put("elements", elements)
    found = engine.connection.sql(query.objects(objects, lists)).to_arrow_table()
    numbers = found["number"].to_numpy()
    yield from _in_objects(numbers, one(found["keys"]).flatten(), list(objects.values()))
    for column, place in enumerate(lists.values(), 1):
        yield from _in_lists(engine, numbers, one(found[str(column)]), place)


def _in_objects(numbers: np.ndarray, keys: pa.ListArray, places: Sequence[_Place]) -> Iterator[Counted]:
    """Count the keys of objects; `keys` has those of each place in each element."""
    names, objects = entries(keys)
    if not len(names):
        return
    names = names.dictionary_encode()
    words = names.dictionary.to_pylist()
    every, times = np.unique(objects * len(words) + names.indices.to_numpy(), return_counts=True)
    objects, codes = np.divmod(every, len(words))
    rows, at = np.divmod(objects, len(places))
    arounds: list[Collection[str]] = [()]
    around = np.zeros(len(numbers), int)
    if places[0].element is None:
        joined = pc.binary_join(keys[:: len(places)].cast(pa.list_(pa.binary())), _BETWEEN)
        joined = joined.dictionary_encode()
        arounds = [tuple(map(bytes.decode, keys.split(_BETWEEN))) for keys in joined.dictionary.to_pylist()]
        around = joined.indices.to_numpy()
    size = (len(arounds), len(places), len(words), 2)
    kinds = np.ravel_multi_index((around[rows], at, codes, times > 1), size)
    kinds = kinds.astype(np.min_scalar_type(math.prod(size)))  # few bits are sorted quickly
    found, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    index = (numbers.tolist() for numbers in np.unravel_index(found, size))
    for of, place, word, twice, row, count in zip(*index, rows[first], counts.tolist(), strict=True):
        findings = places[place].findings(words[word], arounds[of], twice=bool(twice))
        yield from ((numbers[row].item(), finding, count) for finding in findings)


def _in_lists(engine: Engine, numbers: np.ndarray, lists: pa.ListArray, place: _Place) -> Iterator[Counted]:
    """Count keys in the entries of lists, and the entries that are not read of lists of which one is."""
    found, owners = entries(lists)
    others = np.flatnonzero(np.diff(owners) == 0)
    if place.shape.is_single and len(others):
        first = numbers[owners[others[0]]].item()
        yield from ((first, finding, len(others)) for finding in place.findings(EACH))
    for step, entry in place.shape.inside.items() if len(found) else ():
        if entry.form:
            at = np.arange(len(found)) if step == EACH else chosen(lists, int(step))
            at = at[at >= 0]
            values = child(found, "entry").take(pa.array(at))
            elements = pa.table({"number": numbers[owners[at]], "element": values})
            yield from _in_elements(engine, elements, dict(place.at(step).below()))


def identifies(element: ElementType, key: str, prefixes: Sequence[str]) -> bool:
    """Return whether what stands at a key of an element, as `Element.relative` gives it, can identify a person.

    >>> identifies(TABLES["signatures"].element, "person.postal_addresses[].region", ["platform"])
    False
    >>> identifies(TABLES["signatures"].element, "person.postal_addresses", ["platform"])
    True
    """
    return any(  # it is the other, or one leads to the other
        key == other or other.startswith((f"{key}.", f"{key}[")) or key.startswith((f"{other}.", f"{other}["))
        for other in _identifying(element, tuple(prefixes))
    )


@cache
def _identifying(element: ElementType, prefixes: tuple[str, ...]) -> frozenset[str]:
    """Return the keys of an element at which its tables read what identifies a person."""
    heads = {table: table.heads(prefixes) for table in TABLES.values() if table.element == element}
    return frozenset(
        f"{'../' if path.sibling else ''}{written((*head, *path.steps))}"
        for table, of_rows in heads.items()
        for column in table.columns
        if column.privacy.level == "identifying"
        for path in column.paths(prefixes)
        for head in (of_rows if column in table.entry else [()])
    )


def written(steps: Sequence[Step]) -> str:
    """Return steps as messages write them: ``person.email_addresses[]``."""
    return "".join(f".{step}" if isinstance(step, str) else "[]" for step in steps).removeprefix(".")
