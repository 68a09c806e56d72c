"""Which objects of an element have declared keys: of these, an inspection lists the keys that are not declared."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.reading import query
from osdi_frames.reading.arrays import child, chosen, entries, one
from osdi_frames.reading.engine import Engine
from osdi_frames.tables import TABLES
from osdi_frames.tables.forms import Form, Keys
from osdi_frames.tables.schema import EACH, ElementType, Step
from osdi_frames.tables.shape import ElementShape, Shape

_BETWEEN = "\0"  # between keys in one text


@dataclass(frozen=True, slots=True, eq=False)
class KeyPath:
    """An object of an element, or of what a delivery holds around it."""

    steps: tuple[Step, ...]
    """Where it stands in the entry of the document's list."""
    shape: Shape
    element: ElementType | None = None
    """The type of its element; None for the entry of a delivery, which holds elements of several types."""
    inside: tuple[Step, ...] = ()
    """Where it stands in its element."""
    single: bool = False
    """Whether it is a list of which one entry is read."""


def _key_paths(form: Form, shapes: Mapping[ElementType, ElementShape]) -> Iterator[KeyPath]:
    if form.kind == "delivery":
        siblings = Shape(form="object")
        for element in form.types:
            siblings.merge(shapes[element].siblings)
        yield KeyPath((), siblings)
        yield from (KeyPath(steps, shape) for steps, shape in siblings.objects() if steps)
    for element in form.types:
        head: Sequence[Step] = (str(element.type_key),) if form.kind == "delivery" else ()
        shape = shapes[element].of
        yield from (KeyPath((*head, *steps), below, element, steps) for steps, below in shape.objects())
        for steps, below in shape.single_entries():
            yield KeyPath((*head, *steps), below, element, steps, single=True)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of objects, as it was found in one or more elements."""

    path: KeyPath
    name: str
    """``[]`` for an entry that is not read, of a list of which one is."""
    twice: bool = False
    """Whether the objects have it more than once."""
    around: tuple[str, ...] = ()
    """Of what a delivery holds around elements, the keys of its entry, which name the types."""


Counted = tuple[int, Key, int]
"""A key, the number of the first document with it, and how many objects have it."""
Paths = Sequence[tuple[tuple[Step, ...], KeyPath]]
"""Objects, and where they stand in what is looked at."""


def count_keys(
    engine: Engine, form: Form, shapes: Mapping[ElementType, ElementShape], documents: pa.Table
) -> Iterator[Counted]:
    """Yield every key of the objects in documents of a form whose keys are declared."""
    engine.put("documents", documents)
    elements = engine.run(query.texts(form)).to_arrow_table()
    yield from _in_elements(engine, elements, [(path.steps, path) for path in _key_paths(form, shapes)])


def _in_elements(engine: Engine, elements: pa.Table, paths: Paths) -> Iterator[Counted]:
    objects: dict[Keys, KeyPath] = {}
    lists: defaultdict[Keys, list[tuple[tuple[Step, ...], KeyPath]]] = defaultdict(list)
    for steps, path in paths:
        head: Keys = tuple(map(str, itertools.takewhile(lambda step: isinstance(step, str), steps)))
        if head == steps and not path.single:
            objects[head] = path
        else:
            lists[head].append((steps[len(head) :], path))
    engine.put("elements", elements)
    found = engine.run(query.objects(objects, list(lists))).to_arrow_table()
    numbers = found["number"].to_numpy()
    yield from _in_objects(numbers, one(found["keys"]).flatten(), list(objects.values()))
    for column, below in enumerate(lists.values(), 1):
        yield from _in_lists(engine, numbers, one(found[str(column)]), below)


def _in_objects(numbers: np.ndarray, keys: pa.ListArray, paths: Sequence[KeyPath]) -> Iterator[Counted]:
    """Count keys; `keys` has a list for each path in each element."""
    strings, objects = entries(keys)
    names = strings.dictionary_encode()
    # What each object has, and how often; then what is alike in many objects, numbered in the order of reading.
    found, times = np.unique(objects * len(names.dictionary) + names.indices.to_numpy(), return_counts=True)
    objects, name = np.divmod(found, max(1, len(names.dictionary)))
    elements, at = np.divmod(objects, max(1, len(paths)))
    around = pc.binary_join(keys[:: max(1, len(paths))], _BETWEEN).dictionary_encode()
    is_around = np.array([path.element is None for path in paths], bool)[at]
    entry = np.where(is_around, around.indices.fill_null(0).to_numpy()[elements], 0)
    kinds = (entry, at, name, times > 1)
    sizes = (len(around.dictionary) + 1, len(paths), len(names.dictionary), 2)
    alike = pa.array(np.ravel_multi_index(kinds, sizes)).dictionary_encode().indices.to_numpy()
    first = np.flatnonzero(np.diff(np.maximum.accumulate(alike), prepend=-1))
    for row, count in zip(first.tolist(), np.bincount(alike).tolist(), strict=True):
        path = paths[at[row]]
        whole = around.dictionary[entry[row]].as_py().split(_BETWEEN) if is_around[row] else ()
        key = Key(path, names.dictionary[name[row]].as_py(), bool(times[row] > 1), tuple(whole))
        yield numbers[elements[row]].item(), key, count


def _in_lists(engine: Engine, numbers: np.ndarray, lists: pa.ListArray, paths: Paths) -> Iterator[Counted]:
    """Count keys in the entries of lists, and the entries that are not read of lists of which one is."""
    found, owners = entries(lists)
    for step, below in itertools.groupby(paths if len(found) else (), lambda path: path[0][:1]):
        if step:
            at = np.arange(len(found)) if step == (EACH,) else chosen(lists, *step)
            at = at[at >= 0]
            values = child(found, "entry").take(pa.array(at))
            elements = pa.table({"number": numbers[owners[at]], "element": values})
            yield from _in_elements(engine, elements, [(steps[1:], path) for steps, path in below])
        elif len(others := np.flatnonzero(np.diff(owners) == 0)):
            first = numbers[owners[others[0]]].item()
            yield from ((first, Key(path, "[]"), len(others)) for _, path in below)


def identifies(element: ElementType, key: str, prefixes: Sequence[str]) -> bool:
    """Return whether what stands at a key of an element, as `Element.relative` gives it, can identify a person.

    >>> identifies(TABLES["signatures"].element, "person.postal_addresses[].region", ())
    False
    >>> identifies(TABLES["signatures"].element, "person.postal_addresses", ())
    True
    """
    return any(_is_around(key, other) for other in _identifying(element, tuple(prefixes)))


@cache
def _identifying(element: ElementType, prefixes: tuple[str, ...]) -> frozenset[str]:
    """Return the keys of an element at which its tables read what identifies a person."""
    heads = {table: table.row_paths for table in TABLES.values() if table.element == element}
    return frozenset(
        f"{'../' if path.sibling else ''}{written((*head, *path.steps))}"
        for table, of_rows in heads.items()
        for column in table.columns
        if column.privacy.level == "identifying"
        for path in column.paths(prefixes)
        for head in ([row.steps for row in of_rows] if column in table.entry else [()])
    )


def _is_around(key: str, other: str) -> bool:
    """Return whether one key is the other, or leads to it."""
    shorter, longer = sorted((key, other), key=len)
    return longer == shorter or longer.startswith((f"{shorter}.", f"{shorter}["))


def written(steps: Sequence[Step]) -> str:
    """Return steps as messages write them: ``person.email_addresses[]``."""
    return "".join(f".{step}" if isinstance(step, str) else "[]" for step in steps).lstrip(".")
