"""What a reading is to give, compiled once: tables, columns and prefixes into shapes and selects."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

from osdi_frames.archive.limits import Limits
from osdi_frames.errors import InvalidArgument
from osdi_frames.problems import OnError
from osdi_frames.tables import TABLES, element_types, known_prefixes, main_table
from osdi_frames.tables import table as declared
from osdi_frames.tables.forms import Form
from osdi_frames.tables.schema import SELECTED_BY, Column, ElementType, Identities, Table
from osdi_frames.tables.shape import ElementShape, Shape, element_shape

Dedupe = bool | Literal["message"]
Columns = Iterable[str] | None

#: What the names of the columns that identify an element begin with.
IDENTITY = "_identity_"


@dataclass(frozen=True, slots=True)
class Request:
    """What a reader is asked for, as `read_table` explains it."""

    tables: Mapping[str, Columns]
    prefix: str | None = None
    dedupe: Dedupe = True
    on_error: OnError = "raise"
    include: Iterable[str] | None = None
    limits: Limits | None = None
    progress: bool | None = None
    selected_by: Mapping[ElementType, Sequence[str]] | None = None
    """Columns of an element type that workers read with each of its tables, to select by."""


def named_tables(tables: Iterable[str] | Mapping[str, Columns] | None) -> dict[str, Columns]:
    """Return the columns by the name of each table; None stands for all columns."""
    if isinstance(tables, str):
        raise TypeError(f"tables is a list of names: tables=[{tables!r}]")
    named = tables if isinstance(tables, Mapping) else dict.fromkeys(TABLES if tables is None else tables)
    # What can be iterated once is asked for twice.
    return {
        name: tuple(columns) if isinstance(columns, Iterator) else columns for name, columns in named.items()
    }


@dataclass(frozen=True, slots=True)
class Select:
    """One query over the elements of a type: the rows of a table."""

    table: Table
    asked: tuple[Column, ...] | None
    """The columns asked for; None where nobody asked for the table."""
    columns: tuple[Column, ...]
    """Those, and those of IDENTITY."""
    checked: tuple[Column, ...]
    """The columns whose values are checked: all in an inspection."""

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the columns asked for."""
        return self.table.schema(self.asked)


@dataclass(frozen=True)
class Plan:
    """A reading: which tables, which columns of them, and what else they need."""

    selects: Mapping[ElementType, tuple[Select, ...]]
    """For each element type first the select of its main table, which gives a row per element."""
    shapes: Mapping[ElementType, ElementShape]
    prefixes: tuple[str, ...]
    identities: Mapping[ElementType, Identities]
    """By what elements are deduplicated; empty for those that are not."""
    inspects: bool = False
    """Whether all values of all tables are checked, and all keys are listed."""

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Columns],
        *,
        prefix: str | None = None,
        dedupe: Dedupe = False,
        inspects: bool = False,
        selected_by: Mapping[ElementType, Sequence[str]] | None = None,
    ) -> Plan:
        """Compile a reading of tables, each with some of its columns or with all (None).

        `selected_by` names columns of an element type that are read with each of its tables, to select by.
        Raise UnknownTable or UnknownColumn, and InvalidArgument for a `dedupe` that an element type does not have.
        """
        asked: dict[Table, tuple[Column, ...]] = {}
        for name, columns in tables.items():
            element = (table := declared(name)).element
            added = _of_main(element, (selected_by or {}).get(element, ()), SELECTED_BY)
            asked[table] = (*table.select(columns), *added)
        prefixes = known_prefixes(prefix)
        types = element_types() if inspects else dict.fromkeys(table.element for table in asked)
        read = {table.element for table in asked}
        identities = {element: _identities(element, dedupe) if element in read else () for element in types}
        selects = {
            element: tuple(_selects(element, asked, identities[element], inspects=inspects))
            for element in types
        }
        shapes = {element: _shape(chosen, prefixes) for element, chosen in selects.items()}
        return cls(selects, shapes, prefixes, identities, inspects)

    @property
    def asked(self) -> dict[str, Select]:
        """The selects that were asked for, by the names of their tables."""
        return {
            select.table.name: select
            for chosen in self.selects.values()
            for select in chosen
            if select.asked is not None
        }

    @property
    def timestamps(self) -> frozenset[str]:
        """The timestamps of envelopes that are read."""
        return frozenset(
            column.v2[0]
            for chosen in self.selects.values()
            for select in chosen
            for column in select.checked
            if column.origin == "envelope"
        )

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


def _selects(
    element: ElementType, asked: Mapping[Table, tuple[Column, ...]], identities: Identities, *, inspects: bool
) -> Iterable[Select]:
    main = main_table(element)
    needed = [*identities, element.newest] if identities else []
    if inspects and element.month:
        needed.append((element.month, "source_file", "source_line"))
    keys = _of_main(element, itertools.chain.from_iterable(needed), IDENTITY)
    columns = (*asked.get(main, ()), *keys)
    yield Select(main, asked.get(main), columns, main.columns if inspects else columns)
    for table in TABLES.values():
        if table.element == element and table != main and (inspects or table in asked):
            columns = asked.get(table, ())
            # What is selected by is of the element, as its keys are.
            added = tuple(column for column in columns if column not in table.columns)
            wider = replace(table, keys=(*table.keys, *added)) if added else table
            yield Select(wider, asked.get(table), columns, wider.columns if inspects else columns)


def _of_main(element: ElementType, names: Iterable[str], prefix: str) -> tuple[Column, ...]:
    """Return columns of the main table under names of their own."""
    main = main_table(element)
    return tuple(replace(main.column(name), name=f"{prefix}{name}") for name in dict.fromkeys(names))


def _shape(selects: Sequence[Select], prefixes: Sequence[str]) -> ElementShape:
    """Return what all selects of an element type declare together."""
    whole = ElementShape(Shape(form="object"), Shape(form="object"))
    for select in selects:
        shape = element_shape(select.table, select.checked, prefixes)
        whole.of.merge(shape.of)
        whole.siblings.merge(shape.siblings)
    whole.of.fold()
    return whole
