"""The keys that are not read, or repeated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import combined, entries, valid
from osdi_frames.document_forms import BODY, Form, is_type_key, is_wrapper
from osdi_frames.engine import Engine
from osdi_frames.messages import field_name
from osdi_frames.parsing.documents import (
    IN_COLLECTIONS,
    IN_ENVELOPE,
    IN_LINKS,
    IN_PAGE,
    Surroundings,
    undeclared,
)
from osdi_frames.parsing.plan import Plan, Shape, element_steps, entry_shape
from osdi_frames.parsing.queries import json_path, keys_query, others_query, select_documents
from osdi_frames.problems import Finding, ProblemKind, repeated
from osdi_frames.tables import element_types
from osdi_frames.tables.schema import EACH, PAIRS, ElementType, Step

_BETWEEN = b"\xff"  # keys: no text has it

Counted = tuple[int, Finding, int]
"""The number of the first document with a key, what is wrong with it, and how many objects have it."""


@dataclass(frozen=True, slots=True)
class _ShapePosition:
    """A place where keys are declared: in an element, or around it in a delivery."""

    shape: Shape
    element: ElementType | None = None
    """None around elements."""
    inside: tuple[Step, ...] = ()
    """The steps from the element, from the entry of a delivery, or from the document."""

    def at(self, step: Step) -> _ShapePosition:
        below = self.shape.inside[step]
        if not self.inside and step == EACH:  # of the list of all elements
            return _ShapePosition(below, self.element)
        types = {} if self.element else {element.type_key: element for element in element_types()}
        if step in types:
            return _ShapePosition(below, types[step])
        return _ShapePosition(below, self.element, (*self.inside, step))

    def search(self, path: str) -> Iterator[tuple[str, _ShapePosition]]:
        """Yield the JSON paths of objects, of lists in their first entry, and the paths of these lists."""
        entry = self.at(EACH) if EACH in self.shape.inside else None
        if self.shape.container == "object" or (entry and (self.shape.is_single or entry.shape.container)):
            yield path, self
        if entry and entry.shape.container:
            yield from entry.search(f"{path}[0]")
        for step in self.shape.inside:
            if isinstance(step, str):
                yield from self.at(step).search(f"{path}.{json.dumps(step)}")

    def takes(self, key: Step) -> bool:
        """Whether a key is declared, or any key is."""
        return key in self.shape.inside or PAIRS in self.shape.inside or "json" in self.shape.types

    def findings(self, key: Step, around: Collection[str] = (), *, twice: bool = False) -> Iterator[Finding]:
        """Yield the findings of a key.

        EACH stands for entries that are not read.
        What is around an element belongs to the first declared type of the keys `around`.
        """
        types = {element.type_key: element for element in element_types()}
        whose = self.element or next((types[name] for name in around if name in types), None)
        at = written((*self.inside, key))
        name = f"{whose.name}: {'' if self.element else '../'}{at}" if whose else at
        if twice:
            yield repeated(key)
        if key != EACH and self.takes(key):
            return
        if not self.element and not self.inside and (key in types or is_type_key(str(key))):
            if key not in types and (whose or is_wrapper(around)):
                yield Finding(ProblemKind.OTHER_TYPE, field_name(key), severity="info")
        elif whose:
            ignored = key == EACH or (self.element and self.element.ignores(at))
            kind = ProblemKind.NOT_READ if ignored else ProblemKind.UNDECLARED
            yield Finding(kind, name, severity="info")


@dataclass(frozen=True, slots=True)
class _WrapperPosition:
    """An object around elements: an envelope, a page, its links or its collections."""

    level: Surroundings
    inside: tuple[str, ...]
    prefixes: Sequence[str]

    def takes(self, key: str) -> bool:
        """Whether the contract names a key."""
        return not any(undeclared([key], self.level, self.prefixes))

    def findings(self, key: str, _: Collection[str], *, twice: bool = False) -> Iterator[Finding]:
        """Yield what is wrong with a key."""
        if twice:
            yield repeated(key)
        yield from undeclared([key], self.level, self.prefixes)


def count_keys(engine: Engine, plan: Plan, forms: Iterable[tuple[Form, pa.Table]]) -> list[Counted]:
    """Return unread and repeated keys of documents in reading order; a key may come several times."""
    counted: list[Counted] = []
    around: dict[int, None] = {}
    for form, documents in forms:
        counted += _in_documents(engine, form, plan.shapes, documents)
        rest = select_documents(
            documents, around, invert=True
        )  # a page of several types is there once for each
        counted += _around_elements(engine, form, plan.prefixes, rest)
        around |= dict.fromkeys(rest["number"].to_pylist() if form.kind == "page" else ())
    return sorted(counted, key=itemgetter(0))


def _around_elements(
    engine: Engine, form: Form, prefixes: Sequence[str], documents: pa.Table
) -> Iterator[Counted]:
    """Yield undeclared and repeated keys around elements."""
    inside = (BODY,) if form.enveloped else ()
    places = [_WrapperPosition(IN_ENVELOPE, (), prefixes)] if form.enveloped else []
    if form.kind == "page":
        places += [
            _WrapperPosition(IN_PAGE, inside, prefixes),
            _WrapperPosition(IN_LINKS, (*inside, "_links"), prefixes),
        ]
        places.append(_WrapperPosition(IN_COLLECTIONS, (*inside, "_embedded"), prefixes))
    if places and len(documents):
        engine.put("elements", pa.table({"number": documents["number"], "element": documents["document"]}))
        paths = (json_path(place.inside) for place in places)
        keys = combined(engine.ask(keys_query(paths))["keys"]).flatten()
        sets, codes = _sets(keys)
        for place, here in zip(places, codes.reshape(-1, len(places)).T, strict=True):
            yield from _in_objects(documents["number"].to_numpy(), place, sets, here, here)


def _in_documents(
    engine: Engine, form: Form, shapes: Mapping[ElementType, Shape], documents: pa.Table
) -> Iterator[Counted]:
    """Yield unread and repeated keys in documents of a form."""
    shape, steps = entry_shape(form, shapes), element_steps(form)
    if form.kind != "single":
        shape = Shape(inside={EACH: shape}, container="list", is_single=False)
    place = _ShapePosition(shape, None if form.kind == "delivery" else form.types[0])
    elements = pa.table({"number": documents["number"], "element": documents["document"]})
    yield from _in_elements(engine, elements, place, json_path(steps))


def _in_elements(
    engine: Engine, elements: pa.Table, at: _ShapePosition, path: str = "$"
) -> Iterator[Counted]:
    """Yield unread and repeated keys at a JSON path of elements; few lists there have more than an entry."""
    searched = [*at.search(path)]
    is_list = [place.shape.container == "list" for _, place in searched]
    engine.put("elements", elements)
    paths = (f"{path}[1]" if several else path for several, (path, _) in zip(is_list, searched, strict=True))
    keys = combined(engine.ask(keys_query(paths))["keys"]).flatten()
    present = valid(keys).reshape(-1, len(searched))
    sets, codes = _sets(keys)
    codes = around = codes.reshape(present.shape)
    for (path, place), several, here, code in zip(searched, is_list, present.T, codes.T, strict=True):
        if several:
            more = elements.filter(pa.array(here))
            yield from _in_lists(engine, more, place, path) if len(more) else ()
            continue
        if not (place.element or place.inside):
            around = code
        yield from _in_objects(
            elements["number"].to_numpy(), place, sets, code, code if place.element else around
        )


def _in_lists(engine: Engine, elements: pa.Table, place: _ShapePosition, path: str) -> Iterator[Counted]:
    """Count keys in the further entries of lists, and these entries where they are not read."""
    engine.put("elements", elements)
    found = engine.ask(others_query(path))
    numbers = found["number"].to_numpy()
    values, owners = entries(combined(found["others"]))
    if place.shape.is_single:
        yield from _not_read(place, numbers, np.bincount(owners, minlength=len(numbers)))
    if place.shape.inside[EACH].container:
        inside = pa.table({"number": numbers[owners], "element": values})
        yield from _in_elements(engine, inside, place.at(EACH))


def _not_read(place: _ShapePosition, numbers: np.ndarray, others: np.ndarray) -> Iterator[Counted]:
    """Count entries that are not read."""
    if others.any():
        first, count = numbers[others > 0][0].item(), others.sum().item()
        yield from ((first, finding, count) for finding in place.findings(EACH))


def _sets(keys: pa.ListArray) -> tuple[Sequence[Counter[str]], np.ndarray]:
    """Return the distinct lists of keys, counted, of which the first is empty, and the code of each list."""
    joined = pc.binary_join(keys.cast(pa.list_(pa.binary())), _BETWEEN).dictionary_encode()
    some = pc.greater(pc.list_value_length(keys), 0)  # what is joined of none is as of an empty key
    codes = pc.if_else(some, pc.add(joined.indices, 1), 0).fill_null(0).to_numpy().astype(np.int64)
    texts = joined.dictionary.to_pylist()
    return [Counter(), *(Counter(map(bytes.decode, text.split(_BETWEEN))) for text in texts)], codes


def _in_objects(
    numbers: np.ndarray,
    place: _ShapePosition | _WrapperPosition,
    sets: Sequence[Counter[str]],
    codes: np.ndarray,
    around: np.ndarray,
) -> Iterator[Counted]:
    """Count the keys of objects at a place.

    `codes` and `around` say which set of keys each has, and what is around it.
    """
    wrong = [
        code
        for code in np.flatnonzero(np.bincount(codes)).tolist()
        if any(times > 1 or not place.takes(key) for key, times in sets[code].items())
    ]
    rows = np.flatnonzero(np.isin(codes, wrong))
    pairs = codes[rows] * len(sets) + around[rows]
    pairs, first, counts = np.unique(pairs, return_index=True, return_counts=True)
    for pair, number, count in zip(
        pairs.tolist(), numbers[rows[first]].tolist(), counts.tolist(), strict=True
    ):
        code, of = divmod(pair, len(sets))
        for key, times in sets[code].items():
            for finding in place.findings(key, sets[of], twice=times > 1):
                yield number, finding, count


def written(steps: Sequence[Step]) -> str:
    """Return steps as messages write them: ``person.email_addresses[]``."""
    return "".join(f".{field_name(step)}" if isinstance(step, str) else "[]" for step in steps).removeprefix(
        "."
    )
