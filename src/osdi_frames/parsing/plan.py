"""The plan of a pass: columns, selects, shapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

from osdi_frames.document_forms import BODY, TIMESTAMPS, Form, KeyPath
from osdi_frames.tables import TABLES, element_types, main_table
from osdi_frames.tables.people import HELD_PATHS
from osdi_frames.tables.schema import (
    EACH,
    FIRST,
    PAIRS,
    PRIMARY,
    Column,
    ElementType,
    Path,
    Step,
    Table,
    Type,
    identifying,
)

#: The number of an element, in all rows that are parsed of it; it grows in the order of reading.
ELEMENT = "_element"
POSITIONS = 28  # bits of the number of an element; before these is the number of its document
#: The columns that say where a row was read.
PLACE_COLUMNS = ("source_file", "source_line")
#: Which blocks a version carries, a bit for each, in rows of which that is asked.
CARRIED = "_carried"

#: The paths of each block, one of which has a value where the block is carried.
Blocks = tuple[tuple[Path, ...], ...]


Container = Literal["object", "list"]
_CONTAINER: Mapping[Type, Container] = {"list<string>": "list", "json": "object"}


@dataclass(slots=True)
class Shape:
    """What is declared at one key, and below it."""

    types: set[Type] = field(default_factory=set)
    """The types of the columns that are read from here; none where only keys below are read."""
    inside: dict[Step, Shape] = field(default_factory=dict)
    container: Container | None = None
    """What a value must be here; None where its types decide."""
    is_single: bool = True
    """Of a list, whether one of its entries is read, though all are checked."""

    @classmethod
    def of(cls, table: Table, columns: Sequence[Column], blocks: Blocks, prefixes: Sequence[str]) -> Shape:
        """Return the shape that columns and blocks declare of a delivery's entry: of an element and its siblings."""
        shape = Shape(container="object")
        element = shape.inside[str(table.element.type_key)] = Shape(container="object")
        heads = table.heads(prefixes)
        for entry in map(element.add, heads):
            entry.container = "object" if table.of_objects else entry.container
        for column in table.needed(columns):
            if column.origin == "envelope":
                continue
            for path in column.paths(prefixes):
                kind: Type = "list<string>" if path.function == "own" else column.type
                root = shape if path.sibling else element
                for head in heads if column in table.entry else [()]:
                    root.add((*head, *path.steps), kind)
        for key in itertools.chain.from_iterable(blocks):
            for head in heads or [()]:
                (shape if key.sibling else element).add((*head, *key.steps))
        return shape

    def add(self, steps: Sequence[Step], kind: Type | None = None) -> Shape:
        """Declare a path, and the type at its end; return the shape there."""
        shape = self
        before: Step = ""
        for step in steps:
            shape.container = "object" if isinstance(step, str) or step == PAIRS else "list"
            shape.is_single &= step != EACH
            shape = shape.inside.setdefault(EACH if step in (FIRST, PRIMARY) else step, Shape())
            if step == PRIMARY:  # what decides which entry is read
                for path in (("primary",), *HELD_PATHS.get(before, ())):
                    shape.add(path)
            before = step
        if kind:
            shape.types.add(kind)
            shape.container = _CONTAINER.get(kind, shape.container)
        return shape

    @property
    def is_struct(self) -> bool:
        """Whether it is an object that is read key by key, and not as text or as all of its pairs."""
        return self.container == "object" and "json" not in self.types and PAIRS not in self.inside

    def merge(self, other: Shape) -> None:
        """Declare what another shape declares, too."""
        self.types |= other.types
        self.container = self.container or other.container
        self.is_single &= other.is_single
        for step, below in other.inside.items():
            self.inside.setdefault(step, Shape()).merge(below)


@dataclass(frozen=True, slots=True)
class Select:
    """The columns of one table to parse."""

    table: Table
    columns: tuple[Column, ...]
    checked: tuple[Column, ...]
    """The columns whose values are checked: all in an inspection."""
    blocks: Blocks = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is parsed: columns of tables, under some prefixes.

    Each element of their types is a row of its main table, which comes first, and has the rows of its child tables.
    """

    columns: Mapping[Table, tuple[Column, ...]]
    prefixes: tuple[str, ...]
    inspects: bool
    """Whether all values of all tables are checked, and all keys are listed."""
    lists: bool = False
    """Whether what pages say of their collections is listed, which an inspection does, too."""
    types: tuple[ElementType, ...] = ()
    """The types that rows which are asked for are made of; others can be needed, too."""
    named: ElementType | None = None
    """The type of resources without a clear one."""
    blocks: Mapping[Table, Blocks] = field(default_factory=dict)
    """The blocks of which rows say whether they are carried, by table."""

    @property
    def lists_pages(self) -> bool:
        """Whether what pages say of their collections is listed."""
        return self.lists or self.inspects

    @cached_property
    def selects(self) -> dict[ElementType, list[Select]]:
        """The selects of each element type, of which the first is that of its main table."""
        types = element_types() if self.inspects else dict.fromkeys(table.element for table in self.columns)
        return {element: list(self._selects(element)) for element in types}

    def _selects(self, element: ElementType) -> Iterator[Select]:
        main = main_table(element)
        others = (table for table in TABLES.values() if table.element == element and table != main)
        for table in (main, *others):
            if table == main or self.inspects or table in self.columns:
                columns = self.columns.get(table, ())
                if table == main and self.inspects:
                    counted = (element.month, "status" if element.statuses else None)
                    looked_at = (*identifying(element.identities), *filter(None, counted), *PLACE_COLUMNS)
                    found = (column for column in main.columns if column.name in looked_at)
                    columns = tuple(dict.fromkeys((*columns, *found)))
                if table == main and self.lists_pages:
                    columns = tuple(dict.fromkeys((*columns, main.column(element.own_id))))
                checked = (*table.columns, *columns) if self.inspects else columns
                yield Select(table, columns, checked, self.blocks.get(table, ()))

    @cached_property
    def shapes(self) -> dict[ElementType, Shape]:
        """The shape of a delivery's entry of each type, which all selects of the type declare together."""
        return {
            element: _declared_shape(tuple(selects), self.prefixes)
            for element, selects in self.selects.items()
        }

    @cached_property
    def timestamps(self) -> frozenset[str]:
        """The timestamps of envelopes that are read."""
        selects = itertools.chain.from_iterable(self.selects.values())
        checked = itertools.chain.from_iterable(select.checked for select in selects)
        return frozenset(column.v2[0] for column in checked if column.origin == "envelope")

    def queries_for(self, form: Form) -> list[Form]:
        """Return the form for each query of documents; several element types of a page take a query each."""
        if form.kind == "delivery":
            form = replace(form, types=tuple(element for element in element_types() if element.type_key))
        types = tuple(element for element in form.types if element in self.selects)
        if form.kind == "page":
            keyed = zip(form.types, form.keys, strict=True)
            return [
                replace(form, types=(element,), keys=(key,)) for element, key in keyed if element in types
            ]
        return [replace(form, types=types)] if types and form.kind in ("delivery", "single") else []


@lru_cache(maxsize=128)  # one archive after the other is read for the same columns
def _declared_shape(selects: tuple[Select, ...], prefixes: tuple[str, ...]) -> Shape:
    """Return the shape that the selects of one element type declare together."""
    whole = Shape()
    for select in selects:
        whole.merge(Shape.of(select.table, select.checked, select.blocks, prefixes))
    return whole


def document_shape(form: Form, shapes: Mapping[ElementType, Shape]) -> Shape:
    """Return the shape of the documents of a form."""
    shape = Shape()
    for name in TIMESTAMPS if form.enveloped else ():
        shape.add((name,))
    to_entries = () if form.kind == "single" else (EACH,)
    shape.add((*element_steps(form), *to_entries)).merge(entry_shape(form, shapes))
    return shape


def element_steps(form: Form) -> KeyPath:
    """Return where a document of a form holds its elements."""
    inside = (BODY,) if form.enveloped else ()
    return (*inside, "_embedded", form.keys[0]) if form.kind == "page" else inside


def entry_shape(form: Form, shapes: Mapping[ElementType, Shape]) -> Shape:
    """Return the shape of the entries of documents: of elements, or of an entry of a delivery."""
    if form.kind != "delivery":
        return shapes[form.types[0]].inside[str(form.types[0].type_key)]
    entry = Shape()
    for element in form.types:
        entry.merge(shapes[element])
    return entry
