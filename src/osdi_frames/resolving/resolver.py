"""From the rows of all versions to one row for each thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.database import Engine
from osdi_frames.parsing.parse import GroupResult
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving.exclusion import OF_EVENTS, excluded
from osdi_frames.resolving.gone import PARENTS, gone_since, id_of
from osdi_frames.resolving.people import SOURCES, Filling, merged_fields, people_rules
from osdi_frames.resolving.resolution import SNAPSHOTS, Resolution, Rows
from osdi_frames.resolving.versions import Merger, Versions, among, only, replaced, without
from osdi_frames.tables import TABLES, main_table
from osdi_frames.tables.actions import ATTENDANCES
from osdi_frames.tables.events import EVENT, EVENTS
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.schema import ElementType, Table

_NONE: Final = np.empty(0, np.int64)


class Resolver:
    """Collects the versions of all things of a reading, and resolves them.

    It is used once.
    """

    def __init__(self, resolution: Resolution, engine: Engine) -> None:
        self.resolution, self.engine = resolution, engine
        self.filtering, self.kept = resolution.filtering, resolution.kept
        self.versions = {
            element: Versions(resolution.rules(element), engine)
            for element, identities in resolution.identities.items()
            if identities and not (element == PEOPLE.element and resolution.person_columns)
        }
        self.persons = Versions(people_rules(resolution.person_columns), engine)
        self.events: list[pa.Table] = [pa.table({name: pa.array([], pa.string()) for name in OF_EVENTS})]
        """The events that are left out, and why."""
        self.parents: defaultdict[ElementType, list[pa.Array]] = defaultdict(list)
        """The ids of what signatures and attendances belong to."""
        for element in filter(resolution.proves, PARENTS):
            self.parents[PARENTS[element]] = []

    def rows(self, groups: Iterable[GroupResult]) -> Rows:
        """Yield the rows of the requested tables.

        Those of deduplicated elements come at the end.

        Raises
        ------
        UnknownValue
            An id that was asked for occurs nowhere.
        """
        for group in groups:
            yield from self.collect(group)
        yield from self.resolved()
        self.filtering.refuse_unknown()

    # ------------------------------------------------------------------------------------- rows as they come

    def collect(self, group: GroupResult) -> Rows:
        """Keep the versions of a group; yield rows that need no other."""
        main = {select.table: rows for select, rows in group.rows if not select.table.rows}
        self._collect_persons(group, main)
        for element in self.parents:
            if (rows := main.get(main_table(element))) is not None:
                self.parents[element].append(pc.unique(rows[id_of(element)]))
        failing: dict[ElementType, np.ndarray] = {}
        for select, rows in group.rows:
            table, element = select.table, select.table.element
            if table == EVENTS and self.resolution.request.snapshots:
                yield SNAPSHOTS, rows.select([*self.resolution.request.snapshots, ELEMENT])
            if element in self.versions:
                if not table.rows:
                    self.versions[element].see(rows)
                elif table in self.resolution.asked:
                    self.versions[element].wait(table, rows)
            elif element in self.resolution.identities and not self.resolution.identities[element]:
                if not table.rows:
                    failing[element] = self.filtering.failing(element, rows)
                if table in self.resolution.asked:
                    settled = self._settled(table, self._opened(table, rows))
                    yield table.name, self._shown(table, without(settled, failing[element]))

    def _collect_persons(self, group: GroupResult, main: Mapping[Table, pa.Table]) -> None:
        wanted, sources = self.resolution.person_columns, {source.table: source for source in SOURCES}
        persons = []
        for select, rows in group.rows if wanted else ():
            if source := sources.get(select.table):
                element = select.table.element
                before = len(self.resolution.blocks(element)) if source.is_act else 0
                persons.append(source.versions(rows, main[main_table(element)], wanted, before))
        if persons:
            self.persons.see(pa.concat_tables(persons).sort_by(ELEMENT))

    # --------------------------------------------------------------------------------------- when all are read

    def resolved(self) -> Rows:
        """Yield the rows of resolved things."""
        for element in sorted(self.versions, key=lambda element: element != EVENT):  # attendances need events
            merger = Merger.of(self.versions[element])
            self.kept[element.name] = len(merger.kept)
            yield from self._things(element, merger)
        if PEOPLE in self.resolution.asked and self.resolution.person_columns:
            merger = Merger.of(self.persons)
            self.kept[PEOPLE.element.name] = len(merger.kept)
            for rows in self.persons.main:
                merged = self._merged(PEOPLE, merger, self.persons, only(rows, merger.kept))
                if merger.rules.collected:
                    merged = merged_fields(merged, merger, self.persons, self.engine)
                merged = self._settled(PEOPLE, merged)
                passing = without(merged, self.filtering.failing(PEOPLE.element, merged))
                yield PEOPLE.name, self._shown(PEOPLE, passing)

    def _things(self, element: ElementType, merger: Merger) -> Rows:
        """Yield the rows of a type's things, and of their child tables."""
        main, versions, passing = main_table(element), self.versions[element], [_NONE]
        filling = self._filling(main, merger)
        for rows in versions.main:
            merged = self._merged(main, merger, versions, self._opened(main, only(rows, merger.kept)))
            settled = self._settled(main, filling.fill(merged) if filling else merged)
            shown = without(settled, self.filtering.failing(element, settled))
            passing.append(shown[ELEMENT].to_numpy())
            if main in self.resolution.asked:
                yield main.name, self._shown(main, shown)
        kept = np.concatenate(passing)
        for table, waiting in versions.children.items():
            sources, things = merger.owners(table.block, kept)
            for rows in waiting:
                yield table.name, self._entries(table, rows, merger, sources, things)

    def _filling(self, main: Table, merger: Merger) -> Filling | None:
        if main not in self.resolution.fills:
            return None
        columns, bits = self.resolution.person_columns, len(merger.rules.blocks)
        return Filling.of(self.persons, columns, merger.persons, bits, self.engine)

    def _merged(self, table: Table, merger: Merger, versions: Versions, rows: pa.Table) -> pa.Table:
        blocks = {column.name: column.block for column in table.columns}
        return merger.merge(rows, blocks, versions.main)

    def _entries(
        self, table: Table, rows: pa.Table, merger: Merger, sources: np.ndarray, things: np.ndarray
    ) -> pa.Table:
        """Return the rows of a child table, with the keys of the things they are of."""
        rows = only(rows, sources)
        owners = things[np.searchsorted(sources, rows[ELEMENT].to_numpy())]
        keys = [column.name for column in table.keys if column.name in rows.column_names]
        versions = self.versions[table.element]
        at = np.flatnonzero(among(owners, merger.several))
        if len(at) and keys:
            taken = versions.main.take(owners[at], [*keys, ELEMENT])
            resolved = self._merged(main_table(table.element), merger, versions, taken)
            rows = replaced(rows, at, resolved.select(keys))
        return self._shown(table, rows)

    # ------------------------------------------------------------------------------------------ what is shown

    def _settled(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return resolved rows with when they are gone, and why reports leave them out."""
        element, resolution = table.element, self.resolution
        if resolution.proves(element):
            parents = self.parents.get(PARENTS.get(element))
            since = gone_since(
                element, rows, resolution.request.pulls, parents=parents and pa.concat_arrays(parents)
            )
            rows = _with(rows, "gone_since", since)
        if "excluded" in resolution.resolved(table):
            events = pa.concat_tables(self.events) if table == ATTENDANCES and resolution.has_reasons else None
            rows = _with(rows, "excluded", excluded(element, rows, events))
        if table == EVENTS and resolution.has_reasons:
            self.events.append(rows.select(OF_EVENTS).filter(rows["excluded"].is_valid()))
        return rows

    def _opened(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return rows with room for the columns that are resolved."""
        for column in map(table.column, self.resolution.resolved(table)):
            if column.name not in rows.column_names:
                rows = rows.append_column(column.field, pa.nulls(len(rows), column.field.type))
        return rows

    def _shown(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return the requested columns, and the numbers of the elements."""
        schema = self.resolution.schemas[table.name].append(pa.field(ELEMENT, pa.int64()))
        return pa.Table.from_arrays([rows[name] for name in schema.names], schema=schema)


def _with(rows: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), values)
