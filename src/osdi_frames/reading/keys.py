"""The keys of elements that no table reads, and those that an object has twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.problems import Finding, ProblemKind, named
from osdi_frames.reading import query
from osdi_frames.reading.arrays import entries, one, valid
from osdi_frames.reading.documents import is_type_key, is_wrapper
from osdi_frames.reading.engine import Engine
from osdi_frames.tables import TABLES, element_types
from osdi_frames.tables.forms import Form
from osdi_frames.tables.schema import EACH, PAIRS, PRIMARY, ElementType, Step
from osdi_frames.tables.shape import Shape

_ANY = Shape({"json"}, form="object")
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

    def search(self, path: str) -> Iterator[_Column]:
        """Yield the JSON paths at which keys are looked for, here and below."""
        if self.shape.form == "object":
            yield path, self
        inside = {step: self.at(step) for step in self.shape.inside}
        if self.shape.is_single:
            yield from _List(path, inside, 1 if PRIMARY in inside else 2, self).search()
        elif self.shape.form == "list" and any(entry.shape.form for entry in inside.values()):
            yield from _List(path, inside, 2).search()
        for step, below in inside.items():
            if isinstance(step, str):
                yield from below.search(f"{path}.{json.dumps(step)}")

    def takes(self, key: Step) -> bool:
        """Whether a key is declared, or any key is."""
        return key in self.shape.inside or PAIRS in self.shape.inside or "json" in self.shape.types

    def findings(self, key: Step, around: Collection[str] = (), *, twice: bool = False) -> Iterator[Finding]:
        """Yield what is wrong with a key of an object, or with entries that are not read (EACH).

        What is around an element belongs to the first declared type of the keys `around`.
        """
        types = {element.type_key: element for element in element_types()}
        whose = self.element or next((types[name] for name in around if name in types), None)
        at = written((*self.inside, key))
        name = named(f"{whose.name}: {'' if self.element else '../'}{at}" if whose else at)
        if twice:
            yield Finding(ProblemKind.DUPLICATE_KEY, name, severity="warning")
        if self.takes(key):
            return
        if not self.element and not self.inside and (key in types or is_type_key(str(key))):
            if key not in types and (whose or is_wrapper(around)):
                yield Finding(ProblemKind.OTHER_TYPE, named(str(key)), severity="info")
        elif whose:
            ignored = key == EACH or (self.element and self.element.ignores(at))
            kind = ProblemKind.NOT_READ if ignored else ProblemKind.UNDECLARED
            yield Finding(kind, name, severity="info")


@dataclass(frozen=True, slots=True)
class _List:
    """A list of objects, or one of which one entry is read."""

    path: str
    entries: Mapping[Step, _Place]
    known: int
    """How many of its first entries a search looks at: few lists have more."""
    whole: _Place | None = None
    """The list, where one entry is read."""

    def search(self) -> Iterator[_Column]:
        """Yield the path of the entry after those that are known, then the paths of these."""
        yield f"{self.path}[{self.known}]", self
        for number in range(self.known):
            for step, entry in self.entries.items():
                if entry.shape.form and (step == EACH or number == 0):
                    yield from entry.search(f"{self.path}[{number}]")
            if self.whole and number > 0:
                yield f"{self.path}[{number}]", self.whole


_Column: TypeAlias = tuple[str, "_Place | _List"]
"""A JSON path, and what is looked for there: keys of objects; entries of a list that are not read (its place), or
whose number is not known (the list)."""


def count_keys(
    engine: Engine, form: Form, shapes: Mapping[ElementType, Shape], documents: pa.Table
) -> Iterator[Counted]:
    """Yield the keys in documents of a form that no table reads, and those that an object has twice.

    A key may come several times, with a count each.
    """
    entry = _Place(query.entry_shape(form, shapes), None if form.kind == "delivery" else form.types[0])
    elements = pa.table({"number": documents["number"], "element": documents["document"]})
    steps = query.steps(form)
    path = query.json_path(steps)
    around = (steps[:depth] for depth in range(len(steps)))
    columns: list[_Column] = [(query.json_path(inside), _Place(_ANY, inside=inside)) for inside in around]
    if form.kind == "single":
        columns += entry.search(path)
    else:  # most deliveries have one entry, and most pages many
        columns += _List(path, {EACH: entry}, known=1 if form.kind == "delivery" else 0).search()
    yield from _in_elements(engine, elements, columns)


def _in_elements(engine: Engine, elements: pa.Table, columns: Sequence[_Column]) -> Iterator[Counted]:
    engine.put("elements", elements)
    found = engine.connection.sql(query.keys(path for path, _ in columns)).to_arrow_table()
    numbers, keys = elements["number"].to_numpy(), one(found["keys"]).flatten()
    present = valid(keys).reshape(-1, len(columns)).copy()
    sets, codes = _sets(keys)
    codes = around = codes.reshape(present.shape)
    for column, (_, what) in enumerate(columns):
        here = present[:, column]
        if isinstance(what, _List):
            if here.any():
                yield from _in_lists(engine, elements.filter(pa.array(here)), what)
                if PRIMARY in what.entries:  # another one than the first may be read
                    inside = np.array([path.startswith(f"{what.path}[") for path, _ in columns])
                    present[np.ix_(here, inside)] = False
        elif what.shape.form == "object":
            at = np.where(here, codes[:, column], 0)
            if not (what.element or what.inside):
                around = at
            yield from _in_objects(numbers, what, sets, at, at if what.element else around)
        else:
            yield from _not_read(what, numbers, here)


def _in_lists(engine: Engine, elements: pa.Table, some: _List) -> Iterator[Counted]:
    """Count keys in the entries of a list that a search left out, and those that are not read."""
    known = 0 if PRIMARY in some.entries else some.known
    engine.put("elements", elements)
    found = engine.connection.sql(query.entries(some.path, known, some.entries)).to_arrow_table()
    numbers = found["number"].to_numpy()
    if some.whole:
        yield from _not_read(some.whole, numbers, found["others"].to_numpy())
    for step, entry in some.entries.items():
        if entry.shape.form:
            values, owners = entries(one(found[str(step)]))
            inside = pa.table({"number": numbers[owners], "element": values})
            yield from _in_elements(engine, inside, [*entry.search("$")])


def _not_read(place: _Place, numbers: np.ndarray, others: np.ndarray) -> Iterator[Counted]:
    """Count entries that are not read, by how many the list of each element has."""
    if others.any():
        first, count = numbers[others > 0][0].item(), others.sum().item()
        yield from ((first, finding, count) for finding in place.findings(EACH))


def _sets(keys: pa.ListArray) -> tuple[Sequence[Counter[str]], np.ndarray]:
    """Return the different lists of keys, each counted, and which one each is; the first is empty."""
    joined = pc.binary_join(keys.cast(pa.list_(pa.binary())), _BETWEEN).dictionary_encode()
    some = pc.greater(pc.list_value_length(keys), 0)  # what is joined of none is as of an empty key
    codes = pc.if_else(some, pc.add(joined.indices, 1), 0).fill_null(0).to_numpy()
    texts = joined.dictionary.to_pylist()
    return [Counter(), *(Counter(map(bytes.decode, text.split(_BETWEEN))) for text in texts)], codes


def _in_objects(
    numbers: np.ndarray, place: _Place, sets: Sequence[Counter[str]], codes: np.ndarray, around: np.ndarray
) -> Iterator[Counted]:
    """Count the keys of objects at a place, by which set of keys each has, and what is around it."""
    found = np.flatnonzero(np.bincount(codes)).tolist()
    wrong = [
        code for code in found if any(times > 1 or not place.takes(key) for key, times in sets[code].items())
    ]
    if not wrong:
        return
    rows, size = np.flatnonzero(np.isin(codes, wrong)), (len(sets), len(sets))
    pairs = np.ravel_multi_index((codes[rows], around[rows]), size)
    pairs, first, counts = np.unique(pairs, return_index=True, return_counts=True)
    index = (*np.unravel_index(pairs, size), numbers[rows[first]], counts)
    for code, of, number, count in zip(*(some.tolist() for some in index), strict=True):
        for key, times in sets[code].items():
            for finding in place.findings(key, sets[of], twice=times > 1):
                yield number, finding, count


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
