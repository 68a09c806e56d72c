"""List the keys of documents that no column reads, and those that an object has twice."""

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

_SEPARATOR = b"\xff"  # between joined keys; it does not occur in UTF-8

CountedKey = tuple[int, Finding, int]
"""The number of the first document with a key, the finding about this key, and how many objects have it."""


@dataclass(frozen=True, slots=True)
class _ShapePosition:
    """A position in a shape: inside of an element, or in the wrapper around it."""

    shape: Shape
    element: ElementType | None = None
    """The type of the element; None in a wrapper."""
    inside: tuple[Step, ...] = ()
    """The steps that lead here from the element, the wrapper, or the document."""

    def at(self, step: Step) -> _ShapePosition:
        below = self.shape.inside[step]
        if not self.inside and step == EACH:  # from the list of all elements to one element
            return _ShapePosition(below, self.element)
        types = {} if self.element else {element.type_key: element for element in element_types()}
        if step in types:
            return _ShapePosition(below, types[step])
        return _ShapePosition(below, self.element, (*self.inside, step))

    def search(self, path: str) -> Iterator[tuple[str, _ShapePosition]]:
        """Yield every list and object at or below a JSON path with its position; of a list only its first entry."""
        entry = self.at(EACH) if EACH in self.shape.inside else None
        if self.shape.container == "object" or (entry and (self.shape.is_single or entry.shape.container)):
            yield path, self
        if entry and entry.shape.container:
            yield from entry.search(f"{path}[0]")
        for step in self.shape.inside:
            if isinstance(step, str):
                yield from self.at(step).search(f"{path}.{json.dumps(step)}")

    def reads(self, key: Step) -> bool:
        """Whether a column reads a key here, or the whole object."""
        return key in self.shape.inside or PAIRS in self.shape.inside or "json" in self.shape.types

    def findings(self, key: Step, siblings: Collection[str] = (), *, twice: bool) -> Iterator[Finding]:
        """Yield the findings about a key; EACH stands for the entries of a list that are not read.

        A key in a wrapper is attributed to the first declared type among its siblings.
        """
        types = {element.type_key: element for element in element_types()}
        element = self.element or next((types[name] for name in siblings if name in types), None)
        path = _path_text((*self.inside, key))
        if twice:
            yield repeated(key)
        if key != EACH and self.reads(key):
            return
        if not self.element and not self.inside and (key in types or is_type_key(str(key))):
            if key not in types and (element or is_wrapper(siblings)):
                yield Finding(ProblemKind.OTHER_TYPE, field_name(key), severity="info")
        elif element:
            ignored = key == EACH or (self.element and self.element.ignores(path))
            kind = ProblemKind.NOT_READ if ignored else ProblemKind.UNDECLARED
            yield Finding(kind, f"{element.name}: {'' if self.element else '../'}{path}", severity="info")


@dataclass(frozen=True, slots=True)
class _WrapperPosition:
    """An object around elements: an envelope, a page, its links or its collections."""

    level: Surroundings
    inside: tuple[str, ...]
    """The steps that lead here from the document."""
    prefixes: Sequence[str]

    def reads(self, key: str) -> bool:
        """Whether the contract defines a key here."""
        return not any(undeclared([key], self.level, self.prefixes))

    def findings(self, key: str, _: Collection[str], *, twice: bool) -> Iterator[Finding]:
        """Yield the findings about a key."""
        if twice:
            yield repeated(key)
        yield from undeclared([key], self.level, self.prefixes)


def count_keys(engine: Engine, plan: Plan, forms: Iterable[tuple[Form, pa.Table]]) -> list[CountedKey]:
    """Return the unread and the repeated keys of documents in reading order; a key may be returned several times."""
    counted: list[CountedKey] = []
    pages: set[int] = set()
    for form, documents in forms:
        counted += _in_documents(engine, form, plan.shapes, documents)
        # A page of several types occurs in the documents of each type's form; its own keys are counted once.
        not_counted = select_documents(documents, pages, invert=True)
        counted += _around_elements(engine, form, plan.prefixes, not_counted)
        pages.update(not_counted["number"].to_pylist() if form.kind == "page" else ())
    return sorted(counted, key=itemgetter(0))


def _around_elements(
    engine: Engine, form: Form, prefixes: Sequence[str], documents: pa.Table
) -> Iterator[CountedKey]:
    """Yield undeclared and repeated keys of envelopes and pages."""
    inside = (BODY,) if form.enveloped else ()
    steps: dict[Surroundings, tuple[str, ...]] = {IN_ENVELOPE: ()} if form.enveloped else {}
    if form.kind == "page":
        steps |= {IN_PAGE: inside, IN_LINKS: (*inside, "_links"), IN_COLLECTIONS: (*inside, "_embedded")}
    if steps and len(documents):
        engine.put("elements", pa.table({"number": documents["number"], "element": documents["document"]}))
        keys = combined(engine.ask(keys_query(map(json_path, steps.values())))["keys"]).flatten()
        key_sets, codes = _key_sets(keys)
        columns = codes.reshape(-1, len(steps)).T
        for (level, path), codes_here in zip(steps.items(), columns, strict=True):
            position = _WrapperPosition(level, path, prefixes)
            yield from _in_objects(documents["number"].to_numpy(), position, key_sets, codes_here, codes_here)


def _in_documents(
    engine: Engine, form: Form, shapes: Mapping[ElementType, Shape], documents: pa.Table
) -> Iterator[CountedKey]:
    """Yield unread and repeated keys of the elements in documents of a form, and of their wrappers."""
    shape, steps = entry_shape(form, shapes), element_steps(form)
    if form.kind != "single":
        shape = Shape(inside={EACH: shape}, container="list", is_single=False)
    position = _ShapePosition(shape, None if form.kind == "delivery" else form.types[0])
    elements = pa.table({"number": documents["number"], "element": documents["document"]})
    yield from _in_elements(engine, elements, position, json_path(steps))


def _in_elements(
    engine: Engine, elements: pa.Table, position: _ShapePosition, path: str = "$"
) -> Iterator[CountedKey]:
    """Yield unread and repeated keys at a JSON path of elements.

    Few lists have more than one entry, so one query finds the keys of all first entries, and lists with a second
    entry are queried once more.
    """
    searched = [*position.search(path)]
    is_list = [below.shape.container == "list" for _, below in searched]
    engine.put("elements", elements)
    paths = (f"{path}[1]" if a_list else path for a_list, (path, _) in zip(is_list, searched, strict=True))
    keys = combined(engine.ask(keys_query(paths))["keys"]).flatten()
    exists = valid(keys).reshape(-1, len(searched))
    key_sets, codes = _key_sets(keys)
    codes = wrapper_codes = codes.reshape(exists.shape)
    numbers = elements["number"].to_numpy()
    for (path, below), a_list, exists_here, codes_here in zip(
        searched, is_list, exists.T, codes.T, strict=True
    ):
        if a_list:
            longer = elements.filter(pa.array(exists_here))
            yield from _in_lists(engine, longer, below, path) if len(longer) else ()
            continue
        if not (below.element or below.inside):
            wrapper_codes = codes_here
        siblings = codes_here if below.element else wrapper_codes
        yield from _in_objects(numbers, below, key_sets, codes_here, siblings)


def _in_lists(
    engine: Engine, elements: pa.Table, position: _ShapePosition, path: str
) -> Iterator[CountedKey]:
    """Yield unread and repeated keys of lists' entries after the first, and these entries if they are not read."""
    engine.put("elements", elements)
    further = engine.ask(others_query(path))
    numbers = further["number"].to_numpy()
    values, owners = entries(combined(further["others"]))
    if position.shape.is_single and len(owners):
        for finding in position.findings(EACH, twice=False):
            yield numbers[owners[0]].item(), finding, len(owners)
    if position.shape.inside[EACH].container:
        inside = pa.table({"number": numbers[owners], "element": values})
        yield from _in_elements(engine, inside, position.at(EACH))


def _key_sets(lists: pa.ListArray) -> tuple[Sequence[Counter[str]], np.ndarray]:
    """Return the distinct lists of keys, as counts of each key, and for each list the index of its own.

    The first of the distinct lists is empty, and stands for null, too.
    """
    joined = pc.binary_join(lists.cast(pa.list_(pa.binary())), _SEPARATOR).dictionary_encode()
    has_keys = pc.greater(
        pc.list_value_length(lists), 0
    )  # an empty list is joined like a list of one empty key
    codes = pc.if_else(has_keys, pc.add(joined.indices, 1), 0).fill_null(0).to_numpy().astype(np.int64)
    texts = joined.dictionary.to_pylist()
    return [Counter(), *(Counter(map(bytes.decode, text.split(_SEPARATOR))) for text in texts)], codes


def _in_objects(
    numbers: np.ndarray,
    position: _ShapePosition | _WrapperPosition,
    key_sets: Sequence[Counter[str]],
    codes: np.ndarray,
    sibling_codes: np.ndarray,
) -> Iterator[CountedKey]:
    """Yield unread and repeated keys of objects at a position.

    `codes` and `sibling_codes` are, for each object, the indices of its own keys and of its siblings' in `key_sets`.
    """
    with_findings = [
        code
        for code in np.flatnonzero(np.bincount(codes)).tolist()
        if any(times > 1 or not position.reads(key) for key, times in key_sets[code].items())
    ]
    rows = np.flatnonzero(np.isin(codes, with_findings))
    pairs = codes[rows] * len(key_sets) + sibling_codes[rows]
    pairs, first, counts = np.unique(pairs, return_index=True, return_counts=True)
    for pair, number, count in zip(
        pairs.tolist(), numbers[rows[first]].tolist(), counts.tolist(), strict=True
    ):
        code, sibling_code = divmod(pair, len(key_sets))
        for key, times in key_sets[code].items():
            for finding in position.findings(key, key_sets[sibling_code], twice=times > 1):
                yield number, finding, count


def _path_text(steps: Sequence[Step]) -> str:
    """Return steps as messages show them: ``person.email_addresses[]``."""
    text = "".join(f".{field_name(step)}" if isinstance(step, str) else "[]" for step in steps)
    return text.removeprefix(".")
