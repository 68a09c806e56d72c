"""What a reading is to give, compiled once: tables, columns and prefixes into shapes and selects."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import pyarrow as pa

from osdi_frames.errors import InvalidArgument
from osdi_frames.reading.selection import Filters, Selection
from osdi_frames.tables import TABLES, element_types, known_prefixes, main_table
from osdi_frames.tables import table as declared
from osdi_frames.tables.forms import Form
from osdi_frames.tables.schema import IDENTITY, Column, ElementType, Identities, Table
from osdi_frames.tables.shape import Shape, entry_shape

Dedupe = bool | Literal["message"]
Columns = Iterable[str] | None
Tables = Iterable[str] | Mapping[str, Columns] | None


def named_tables(tables: Tables) -> Mapping[str, Columns]:
    """Return the columns by the name of each table; None stands for all columns."""
    if isinstance(tables, str):
        raise TypeError(f"tables is a list of names: tables=[{tables!r}]")
    return tables if isinstance(tables, Mapping) else dict.fromkeys(TABLES if tables is None else tables)


@dataclass(frozen=True, slots=True)
class Select:
    """One query over the elements of a type: the rows of a table."""

    table: Table
    schema: pa.Schema
    """Of the columns asked for, and of those to select by; None where nobody asked for the table."""
    columns: tuple[Column, ...]
    """Those, and those to deduplicate by."""
    checked: tuple[Column, ...]
    """The columns whose values are checked: all in an inspection."""

    def given(self, rows: pa.Table) -> pa.Table:
        """Return the columns of the schema alone."""
        return rows.select(self.schema.names).cast(self.schema)


@dataclass(frozen=True)
class Plan:
    """A reading: which tables, which columns of them, and what else they need."""

    asked: Mapping[Table, tuple[Column, ...]]
    prefixes: tuple[str, ...]
    identities: Mapping[ElementType, Identities]
    """By what the elements of the tables asked for are deduplicated; empty for those that are not."""
    selection: Selection
    inspects: bool
    """Whether all values of all tables are checked, and all keys are listed."""

    @classmethod
    def of(
        cls,
        tables: Tables,
        *,
        prefix: str | None = None,
        dedupe: Dedupe = True,
        include: Iterable[str] | None = None,
        filters: Filters | None = None,
        inspects: bool = False,
    ) -> Plan:
        """Compile a reading of tables, each with some of its columns or with all (None).

        Raise UnknownTable or UnknownColumn, InvalidArgument for a `dedupe` that an element type does not have, and
        what `Selection.of` raises.
        """
        named = named_tables(tables)
        asked = {declared(name): declared(name).select(columns) for name, columns in named.items()}
        identities = {table.element: _identities(table.element, dedupe) for table in asked}
        selection = Selection.of(filters or {}, include=include)
        return cls(asked, known_prefixes(prefix), identities, selection, inspects)

    @property
    def named(self) -> ElementType | None:
        """The type of resources that do not say their own: that of the tables asked for, if these have one."""
        types = {table.element for table in self.asked}
        return types.pop() if len(types) == 1 else None

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """What is given of each table asked for."""
        return {table.name: table.schema(columns) for table, columns in self.asked.items()}

    @cached_property
    def selects(self) -> dict[ElementType, list[Select]]:
        """For each element type first the select of its main table, which gives a row per element."""
        types = element_types() if self.inspects else self.identities
        return {element: list(self._selects(element)) for element in types}

    def _selects(self, element: ElementType) -> Iterator[Select]:
        main, identities = main_table(element), self.identities.get(element, ())
        needed = [*identities, element.newest] if identities else []
        if self.inspects and element.month:
            needed.append((element.month, "source_file", "source_line"))
        keys, selected_by = (
            tuple(replace(main.column(name), name=f"{IDENTITY}{name}") for name in dict.fromkeys(names))
            for names in (itertools.chain.from_iterable(needed), self.selection.columns.get(element, ()))
        )
        others = (table for table in TABLES.values() if table.element == element and table != main)
        for table in (main, *others):
            if table == main or self.inspects or table in self.asked:
                given = (*self.asked[table], *selected_by) if table in self.asked else ()
                columns = tuple(dict.fromkeys((*given, *keys))) if table == main else given
                schema = table.schema(given) if table in self.asked else None
                yield Select(table, schema, columns, (*table.columns, *columns) if self.inspects else columns)

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

    def holds(self, form: Form) -> list[Form]:
        """Return the form of a document once for each query that its elements take."""
        types = tuple(element for element in form.types if element in self.selects)
        if form.kind == "page":
            keyed = zip(form.types, form.keys, strict=True)
            return [
                replace(form, types=(element,), keys=(key,)) for element, key in keyed if element in types
            ]
        return [replace(form, types=types)] if types and form.kind in ("delivery", "single") else []


def _identities(element: ElementType, dedupe: Dedupe) -> Identities:
    if dedupe not in (True, False, "message"):
        raise InvalidArgument(f"dedupe is True, False or 'message', not {dedupe!r}")
    if dedupe == "message" and not element.messages:
        raise InvalidArgument(
            f"dedupe='message' is about webhook messages; {element.name}s take True or False"
        )
    return element.messages if dedupe == "message" else element.identities if dedupe else ()
