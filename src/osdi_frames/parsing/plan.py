"""The plan of a pass: which columns of which tables are parsed, and the JSON structure that they need."""

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

#: The column with the number of the element that a row was parsed from; numbers grow in the order of reading.
ELEMENT = "_element"
POSITIONS = (
    28  # lower bits of an element's number, its position; the upper bits are the number of its document
)
#: The columns with the file and line that a row was read from.
PLACE_COLUMNS = ("source_file", "source_line")
#: The column of bit masks of the blocks that a version carries; only tables of `Plan.blocks` have it.
CARRIED = "_carried"

#: The paths of each block of columns; a version carries a block if any of its paths has a value.
Blocks = tuple[tuple[Path, ...], ...]


Container = Literal["object", "list"]
_CONTAINER: Mapping[Type, Container] = {"list<string>": "list", "json": "object"}


@dataclass(slots=True)
class Shape:
    """The JSON structure that columns declare at one key and below it."""

    types: set[Type] = field(default_factory=set)
    """The types of the columns that read the value at this key; empty if only keys below are read."""
    inside: dict[Step, Shape] = field(default_factory=dict)
    """The shapes below this key."""
    container: Container | None = None
    """Whether the value must be an object or a list; None for a scalar."""
    is_single: bool = True
    """Whether only one entry of a list is read; all entries are checked."""

    @classmethod
    def of(cls, table: Table, columns: Sequence[Column], blocks: Blocks, prefixes: Sequence[str]) -> Shape:
        """Return the shape of a delivery's wrapper, with an element and its siblings, that columns and blocks need."""
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
        for path in itertools.chain.from_iterable(blocks):
            for head in heads or [()]:
                (shape if path.sibling else element).add((*head, *path.steps))
        return shape

    def add(self, steps: Sequence[Step], kind: Type | None = None) -> Shape:
        """Declare a path and the type of its value; return the shape at the end of the path."""
        shape = self
        before: Step = ""
        for step in steps:
            shape.container = "object" if isinstance(step, str) or step == PAIRS else "list"
            shape.is_single &= step != EACH
            shape = shape.inside.setdefault(EACH if step in (FIRST, PRIMARY) else step, Shape())
            if step == PRIMARY:  # these values decide which entry is read
                for path in (("primary",), *HELD_PATHS.get(before, ())):
                    shape.add(path)
            before = step
        if kind:
            shape.types.add(kind)
            shape.container = _CONTAINER.get(kind, shape.container)
        return shape

    @property
    def is_struct(self) -> bool:
        """Whether this is an object that is read key by key, not as JSON text or as all of its pairs."""
        return self.container == "object" and "json" not in self.types and PAIRS not in self.inside

    def merge(self, other: Shape) -> None:
        """Add the declarations of another shape."""
        self.types |= other.types
        self.container = self.container or other.container
        self.is_single &= other.is_single
        for step, below in other.inside.items():
            self.inside.setdefault(step, Shape()).merge(below)


@dataclass(frozen=True, slots=True)
class Select:
    """The columns of one table that a plan parses."""

    table: Table
    columns: tuple[Column, ...]
    checked: tuple[Column, ...]
    """The columns whose values are checked: in an inspection all columns of the table, else `columns`."""
    blocks: Blocks = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The columns to parse, by table, and what else a pass collects.

    An element becomes one row of its type's main table, and any number of rows of the type's child tables.
    """

    columns: Mapping[Table, tuple[Column, ...]]
    prefixes: tuple[str, ...]
    """The prefixes of the service's own fields and identifiers."""
    inspects: bool
    """Whether the pass checks all values of all tables and lists all keys."""
    lists: bool = False
    """Whether the pass collects the totals of pages; an inspection always does."""
    types: tuple[ElementType, ...] = ()
    """The types whose rows a caller asked for; a plan can have columns of further types that these depend on."""
    named: ElementType | None = None
    """The type of resources that do not show their own."""
    blocks: Mapping[Table, Blocks] = field(default_factory=dict)
    """The blocks to look for in the versions of each table, for its column CARRIED."""

    @property
    def lists_pages(self) -> bool:
        """Whether the pass collects the totals of pages."""
        return self.lists or self.inspects

    @cached_property
    def selects(self) -> dict[ElementType, list[Select]]:
        """The selects of each element type, its main table first."""
        types = element_types() if self.inspects else dict.fromkeys(table.element for table in self.columns)
        return {element: list(self._selects(element)) for element in types}

    def _selects(self, element: ElementType) -> Iterator[Select]:
        main = main_table(element)
        tables = (table for table in TABLES.values() if table.element == element and table != main)
        children = (table for table in tables if self.inspects or table in self.columns)
        for table in (main, *children):
            columns = self._main_columns(main) if table == main else self.columns.get(table, ())
            checked = (*table.columns, *columns) if self.inspects else columns
            yield Select(table, columns, checked, self.blocks.get(table, ()))

    def _main_columns(self, main: Table) -> tuple[Column, ...]:
        """Return the columns of a main table, with those that an inspection and the totals of pages need."""
        element, columns = main.element, [*self.columns.get(main, ())]
        if self.inspects:
            names = {*identifying(element.identities), *PLACE_COLUMNS, element.month}
            names |= {"status"} if element.statuses else set()
            columns += [column for column in main.columns if column.name in names]
        if self.lists_pages:
            columns.append(main.column(element.own_id))
        return tuple(dict.fromkeys(columns))

    def covers(self, other: Plan) -> bool:
        """Return whether a pass by this plan finds all that one by another plan finds."""
        if other.prefixes != self.prefixes or (other.inspects and not self.inspects):
            return False
        own = {select.table: select for select in itertools.chain.from_iterable(self.selects.values())}
        selects = [*itertools.chain.from_iterable(other.selects.values())]
        return other.lists_pages <= self.lists_pages and all(
            select.table in own
            and {*select.columns} <= {*own[select.table].columns}
            and {*select.blocks} <= {*own[select.table].blocks}
            for select in selects
        )

    @cached_property
    def shapes(self) -> dict[ElementType, Shape]:
        """For each element type the shape of its wrapper in a delivery, merged from the type's selects."""
        return {
            element: _declared_shape(tuple(selects), self.prefixes)
            for element, selects in self.selects.items()
        }

    @cached_property
    def timestamps(self) -> frozenset[str]:
        """The names of the envelope timestamps that columns read."""
        selects = itertools.chain.from_iterable(self.selects.values())
        checked = itertools.chain.from_iterable(select.checked for select in selects)
        return frozenset(column.v2[0] for column in checked if column.origin == "envelope")

    def queries_for(self, form: Form) -> list[Form]:
        """Return the forms that documents are queried by, with the planned types: one for each type of a page."""
        if form.kind == "delivery":
            form = replace(form, types=tuple(element for element in element_types() if element.type_key))
        types = tuple(element for element in form.types if element in self.selects)
        if form.kind == "page":
            keyed = zip(form.types, form.keys, strict=True)
            return [
                replace(form, types=(element,), keys=(key,)) for element, key in keyed if element in types
            ]
        return [replace(form, types=types)] if types and form.kind in ("delivery", "single") else []


@lru_cache(maxsize=128)  # callers read many archives for the same columns
def _declared_shape(selects: tuple[Select, ...], prefixes: tuple[str, ...]) -> Shape:
    """Return the merged shape of the selects of one element type."""
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
    """Return the steps to the list of elements in a document of a form."""
    inside = (BODY,) if form.enveloped else ()
    return (*inside, "_embedded", form.keys[0]) if form.kind == "page" else inside


def entry_shape(form: Form, shapes: Mapping[ElementType, Shape]) -> Shape:
    """Return the shape of one entry of a document's list: an element, or a wrapper with all types of a delivery."""
    if form.kind != "delivery":
        return shapes[form.types[0]].inside[str(form.types[0].type_key)]
    entry = Shape()
    for element in form.types:
        entry.merge(shapes[element])
    return entry
