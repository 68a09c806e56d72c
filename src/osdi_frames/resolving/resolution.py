"""A compiled request: what to parse, how to resolve it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from osdi_frames.errors import InvalidArgument
from osdi_frames.parsing.database import Engine
from osdi_frames.parsing.parse import GroupResult
from osdi_frames.parsing.plan import ELEMENT, Plan
from osdi_frames.quoting import quoted
from osdi_frames.resolving.exclusion import excluded
from osdi_frames.resolving.filters import Filtering, Filters
from osdi_frames.resolving.versions import Versions, without
from osdi_frames.tables import TABLES, main_table
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import Column, ElementType, Identities, Table

Dedupe: TypeAlias = bool | Literal["message"]
Columns: TypeAlias = Iterable[str] | None
Tables: TypeAlias = Iterable[str] | Mapping[str, Columns] | None
#: A table's name with some of its rows.
Rows: TypeAlias = Iterator[tuple[str, pa.Table]]


def named_tables(tables: Tables) -> Mapping[str, Columns]:
    """Return the columns by table; None stands for all."""
    if isinstance(tables, str):
        raise TypeError(f"tables is a list of names: tables=[{quoted(tables)}]")
    return tables if isinstance(tables, Mapping) else dict.fromkeys(TABLES if tables is None else tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of an archive.

    It names tables and columns only, so it is small when sent to a worker.
    """

    tables: Mapping[str, Columns] = field(kw_only=False)
    snapshots: tuple[str, ...] = ()
    """The columns of events to return of every version, as the rows of `SNAPSHOTS`."""
    prefix: str | None = None
    dedupe: Dedupe = True
    filters: Filters = field(default_factory=Filters)
    inspects: bool = False


#: The rows of every version of the events.
SNAPSHOTS = "event_snapshots"


class Resolution:
    """The way from parsed rows to requested ones.

    It is taken once.
    """

    def __init__(self, request: Request) -> None:
        """Compile a request.

        Raises
        ------
        UnknownTable, UnknownColumn
            With the names that are nearest.
        InvalidArgument
            For a `dedupe` that an element type does not have, and what `Filtering` raises.
        """
        self.request = request
        self.asked: dict[Table, tuple[Column, ...]] = {
            declared(name): declared(name).select(columns) for name, columns in request.tables.items()
        }
        self.identities = {table.element: _identities(table.element, request.dedupe) for table in self.asked}
        self.filtering = Filtering(request.filters)
        self.kept: Counter[str] = Counter()
        """How many different elements there are of each type, those that filters leave out included."""

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """What is returned of each table asked for."""
        return {table.name: table.schema(columns) for table, columns in self.asked.items()}

    @cached_property
    def plan(self) -> Plan:
        """What to parse.

        These are the requested columns, and those that identify, order and filter elements.
        """
        needed: defaultdict[Table, dict[str, None]] = defaultdict(dict)
        for table, columns in self.asked.items():
            needed[table] |= dict.fromkeys(column.name for column in columns)
        for element, identities in self.identities.items():
            ordered = (*chain.from_iterable(identities), *element.newest) if identities else ()
            needed[main_table(element)] |= dict.fromkeys((*ordered, *self.filtering.columns(element)))
        if self.request.snapshots:
            needed[declared("events")] |= dict.fromkeys(self.request.snapshots)
        return Plan.of(needed, prefix=self.request.prefix, inspects=self.request.inspects)

    def rows(self, groups: Iterable[GroupResult], engine: Engine) -> Rows:
        """Yield the rows of the requested tables.

        Those of deduplicated elements come at the end.

        Raises
        ------
        UnknownValue
            An id that was asked for occurs nowhere.
        """
        versions = self._versions(engine)
        for name, rows in self._resolved(groups, versions):
            yield name, rows.drop_columns([ELEMENT])
        for element, some in versions.items():
            self.kept[element.name] = len(some.kept())
            for table, rows in some.rows():
                yield table.name, rows.drop_columns([ELEMENT])
        self.filtering.refuse_unknown()

    def partition(
        self, groups: Iterable[GroupResult], engine: Engine, number: int
    ) -> tuple[dict[str, list[pa.Table]], dict[ElementType, pa.Table]]:
        """Return the rows and keys of a partition.

        Rows are by table, with the numbers of their elements; `versions.superseded` compares the keys.

        The keys are those that `versions.superseded` compares.
        """
        tables: dict[str, list[pa.Table]] = {name: [] for name in self.schemas}
        versions = self._versions(engine)
        for name, rows in self._resolved(groups, versions):
            tables[name].append(rows)
        for some in versions.values():
            for table, rows in some.rows():
                tables[table.name].append(rows)
        return tables, {element: some.keys(number) for element, some in versions.items()}

    def _versions(self, engine: Engine) -> dict[ElementType, Versions]:
        return {element: Versions(element, by, engine) for element, by in self.identities.items() if by}

    def _resolved(self, groups: Iterable[GroupResult], versions: Mapping[ElementType, Versions]) -> Rows:
        """Yield rows that need no deduplication; hold others back."""
        events = main_table(declared("events").element)
        for group in groups:
            failing: dict[ElementType, np.ndarray] = {}
            for select, rows in group.rows:
                table, element = select.table, select.table.element
                if table == events and self.request.snapshots:
                    yield SNAPSHOTS, rows.select([*self.request.snapshots, ELEMENT])
                if element not in self.identities:  # parsed for an inspection alone
                    continue
                if not table.rows:
                    failing[element] = self.filtering.failing(element, rows)
                    if element in versions:
                        versions[element].see(rows, failing[element])
                if table not in self.asked:
                    continue
                shown = self._shown(table, rows)
                if element in versions:
                    versions[element].wait(table, shown)
                else:
                    yield table.name, without(shown, failing[element])

    def _shown(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return the requested columns, and the elements' numbers."""
        columns = [
            excluded(table.element, rows) if column.origin == "resolved" else rows[column.name]
            for column in self.asked[table]
        ]
        schema = self.schemas[table.name].append(rows.schema.field(ELEMENT))
        return pa.Table.from_arrays([*columns, rows[ELEMENT]], schema=schema)


def _identities(element: ElementType, dedupe: Dedupe) -> Identities:
    if dedupe not in (True, False, "message"):
        raise InvalidArgument(f"dedupe is True, False or 'message', not {quoted(dedupe)}")
    if dedupe == "message" and not element.messages:
        raise InvalidArgument(
            f"dedupe='message' is about webhook messages; {element.name}s take True or False"
        )
    return element.messages if dedupe == "message" else element.identities if dedupe else ()
