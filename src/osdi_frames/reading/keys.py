"""Which objects of an element have declared keys: of these, an inspection lists the keys that are not declared."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.reading import query
from osdi_frames.reading.arrays import child, chosen, entries, one, valid
from osdi_frames.reading.engine import Engine
from osdi_frames.tables import TABLES
from osdi_frames.tables.forms import Form
from osdi_frames.tables.forms import Keys as Path
from osdi_frames.tables.schema import EACH, ElementType, Step
from osdi_frames.tables.shape import ElementShape, Shape

_BETWEEN, _AROUND = b"\xff", b"\xfe"  # between keys, and before those of the entry: no text has them


@dataclass(frozen=True, slots=True, eq=False)
class KeyPath:
    """An object of an element, or of what a delivery holds around it."""

    steps: tuple[Step, ...]
    """Where it stands in what is looked at: first in the entry of the document's list."""
    shape: Shape
    inside: tuple[Step, ...] = ()
    """Where it stands in its element, or in what is around this."""
    element: ElementType | None = None
    """The type of its element; None for the entry of a delivery, which holds elements of several types."""
    single: bool = False
    """Whether it is a list of which one entry is read."""


def _key_paths(form: Form, shapes: Mapping[ElementType, ElementShape]) -> Iterator[KeyPath]:
    if form.kind == "delivery":
        siblings = Shape(form="object")
        for element in form.types:
            siblings.merge(shapes[element].siblings)
        yield from (KeyPath(steps, shape, steps) for steps, shape in siblings.walk() if shape.is_struct)
    for element in form.types:
        head: Sequence[Step] = (str(element.type_key),) if form.kind == "delivery" else ()
        paths = [
            KeyPath((*head, *steps), shape, steps, element) for steps, shape in shapes[element].of.walk()
        ]
        yield from (path for path in paths if path.shape.is_struct)
        yield from (replace(path, single=True) for path in paths if path.shape.is_single)


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys of objects that have the same ones."""

    path: KeyPath
    names: tuple[str, ...]
    """``[]`` for an entry that is not read, of a list of which one is."""
    count: int
    """How many objects have them."""
    around: tuple[str, ...] = ()
    """Of what a delivery holds around elements, the keys of its entry, which name the types."""


Counted = tuple[int, Keys]
"""The number of the first document with such an object, and its keys."""


def count_keys(
    engine: Engine, form: Form, shapes: Mapping[ElementType, ElementShape], documents: pa.Table
) -> Iterator[Counted]:
    """Yield every key of the objects in documents of a form whose keys are declared."""
    engine.put("documents", documents)
    elements = engine.connection.sql(query.texts(form)).to_arrow_table()
    yield from _in_elements(engine, elements, _key_paths(form, shapes))


def _in_elements(engine: Engine, elements: pa.Table, paths: Iterable[KeyPath]) -> Iterator[Counted]:
    objects: dict[Path, KeyPath] = {}
    lists: defaultdict[Path, list[KeyPath]] = defaultdict(list)
    for path in paths:
        head: Path = tuple(map(str, itertools.takewhile(lambda step: isinstance(step, str), path.steps)))
        if head == path.steps and not path.single:
            objects[head] = path
        else:
            lists[head].append(replace(path, steps=path.steps[len(head) :]))
    engine.put("elements", elements)
    found = engine.connection.sql(query.objects(objects, list(lists))).to_arrow_table()
    numbers = found["number"].to_numpy()
    yield from _in_objects(numbers, one(found["keys"]).flatten(), list(objects.values()))
    for column, below in enumerate(lists.values(), 1):
        yield from _in_lists(engine, numbers, one(found[str(column)]), below)


def _in_objects(numbers: np.ndarray, keys: pa.ListArray, paths: Sequence[KeyPath]) -> Iterator[Counted]:
    """Count objects with the same keys; `keys` has a list for each path in each element."""
    joined = pc.binary_join(keys.cast(pa.list_(pa.binary())), _BETWEEN)
    for at, path in enumerate(paths):
        own = joined[at :: len(paths)]
        some = np.flatnonzero(valid(pc.list_value_length(keys[at :: len(paths)])))
        alike = own.take(pa.array(some))
        if path.element is None:
            alike = pc.binary_join_element_wise(alike, joined[:: len(paths)].take(pa.array(some)), _AROUND)
        alike = alike.dictionary_encode()
        _, first, counts = np.unique(alike.indices, return_index=True, return_counts=True)
        rows = zip(first.tolist(), alike.dictionary.to_pylist(), counts.tolist(), strict=True)
        for row, found, count in rows:
            names, around = (
                tuple(name.decode() for name in part.split(_BETWEEN)) if part else ()
                for part in (found + _AROUND).split(_AROUND)[:2]
            )
            yield numbers[some[row]].item(), Keys(path, names, count, around)


def _in_lists(
    engine: Engine, numbers: np.ndarray, lists: pa.ListArray, paths: Sequence[KeyPath]
) -> Iterator[Counted]:
    """Count keys in the entries of lists, and the entries that are not read of lists of which one is."""
    found, owners = entries(lists)
    for step, below in itertools.groupby(paths if len(found) else (), lambda path: path.steps[:1]):
        if step:
            at = np.arange(len(found)) if step == (EACH,) else chosen(lists, *step)
            at = at[at >= 0]
            values = child(found, "entry").take(pa.array(at))
            elements = pa.table({"number": numbers[owners[at]], "element": values})
            yield from _in_elements(engine, elements, [replace(path, steps=path.steps[1:]) for path in below])
        elif len(others := np.flatnonzero(np.diff(owners) == 0)):
            first = numbers[owners[others[0]]].item()
            yield from ((first, Keys(path, ("[]",), len(others))) for path in below)


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
    return "".join(f".{step}" if isinstance(step, str) else "[]" for step in steps).lstrip(".")
