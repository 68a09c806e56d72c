"""What is parsed of an archive: columns of tables, compiled into the shapes that queries look for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from osdi_frames.tables import TABLES, element_types, known_prefixes, main_table
from osdi_frames.tables.forms import Form
from osdi_frames.tables.schema import Column, ElementType, Table
from osdi_frames.tables.shape import Shape, entry_shape

#: The number of an element, in all rows that are parsed of it; it grows in the order of reading.
ELEMENT = "_element"


@dataclass(frozen=True, slots=True)
class Select:
    """One query over the elements of a type: the rows of a table."""

    table: Table
    columns: tuple[Column, ...]
    checked: tuple[Column, ...]
    """The columns whose values are checked: all in an inspection."""


@dataclass(frozen=True)
class Plan:
    """What is parsed: columns of tables, under some prefixes.

    Each element of their types is a row of its main table, which comes first, and has the rows of its child tables.
    """

    columns: Mapping[Table, tuple[Column, ...]]
    prefixes: tuple[str, ...]
    inspects: bool
    """Whether all values of all tables are checked, and all keys are listed."""

    @classmethod
    def of(
        cls, columns: Mapping[Table, Iterable[str]], *, prefix: str | None = None, inspects: bool = False
    ) -> Plan:
        """Compile the columns to parse; those that are resolved are replaced by what they are derived from."""
        named = {table: tuple(_parsed(table, names)) for table, names in columns.items()}
        return cls(named, known_prefixes(prefix), inspects)

    @property
    def named(self) -> ElementType | None:
        """The type of resources that do not say their own: that of the tables asked for, if these have one."""
        types = {table.element for table in self.columns}
        return types.pop() if len(types) == 1 else None

    @cached_property
    def selects(self) -> dict[ElementType, list[Select]]:
        """For each element type first the select of its main table, which gives a row per element."""
        types = element_types() if self.inspects else dict.fromkeys(table.element for table in self.columns)
        return {element: list(self._selects(element)) for element in types}

    def _selects(self, element: ElementType) -> Iterator[Select]:
        main = main_table(element)
        others = (table for table in TABLES.values() if table.element == element and table != main)
        for table in (main, *others):
            if table == main or self.inspects or table in self.columns:
                columns = self.columns.get(table, ())
                if table == main and self.inspects and element.month:
                    dated = tuple(map(main.column, (element.month, "source_file", "source_line")))
                    columns = tuple(dict.fromkeys((*columns, *dated)))
                yield Select(table, columns, (*table.columns, *columns) if self.inspects else columns)

    @cached_property
    def shapes(self) -> dict[ElementType, Shape]:
        """What all selects of each element type declare together, as `entry_shape` gives it."""
        shapes = {}
        for element, selects in self.selects.items():
            shapes[element] = whole = Shape()
            for select in selects:
                whole.merge(entry_shape(select.table, select.checked, self.prefixes))
            whole.fold()
        return shapes

    @cached_property
    def timestamps(self) -> frozenset[str]:
        """The timestamps of envelopes that are read."""
        selects = itertools.chain.from_iterable(self.selects.values())
        checked = itertools.chain.from_iterable(select.checked for select in selects)
        return frozenset(column.v2[0] for column in checked if column.origin == "envelope")

    def queries_for(self, form: Form) -> list[Form]:
        """Return the form of a document once for each query that its elements take."""
        types = tuple(element for element in form.types if element in self.selects)
        if form.kind == "page":
            keyed = zip(form.types, form.keys, strict=True)
            return [
                replace(form, types=(element,), keys=(key,)) for element, key in keyed if element in types
            ]
        return [replace(form, types=types)] if types and form.kind in ("delivery", "single") else []


def _parsed(table: Table, names: Iterable[str]) -> Iterator[Column]:
    """Yield the columns that are parsed for some columns, each once."""
    columns = map(table.column, dict.fromkeys(names))
    needed = (column.derived if column.origin == "resolved" else (column.name,) for column in columns)
    return map(table.column, dict.fromkeys(itertools.chain.from_iterable(needed)))
