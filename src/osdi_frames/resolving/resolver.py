"""From the rows of all versions to one row for each thing: collect, decide, resolve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.database import Engine
from osdi_frames.parsing.parse import GroupResult
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.resolving import people
from osdi_frames.resolving.exclusion import OF_EVENTS, excluded
from osdi_frames.resolving.gone import PARENTS, gone_since, id_of
from osdi_frames.resolving.people import Donors
from osdi_frames.resolving.resolution import SNAPSHOTS, Resolution, Rows
from osdi_frames.resolving.spill import SpilledTables, among, only, replaced, with_column, without
from osdi_frames.resolving.versions import Merger, Versions
from osdi_frames.tables import main_table
from osdi_frames.tables.actions import ATTENDANCES
from osdi_frames.tables.events import EVENT, EVENTS
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.schema import ElementType, Table

_NONE: Final = np.empty(0, np.int64)
_NO_EVENTS: Final = pa.table({name: pa.array([], pa.string()) for name in OF_EVENTS})


@dataclass(slots=True)
class Collected:
    """The versions of all things of an archive, or of a part of it."""

    versions: dict[ElementType, Versions]
    parents: dict[ElementType, list[pa.Array]]
    """The ids of what signatures and attendances belong to."""
    last: int = 0
    """The number of the last element."""

    @classmethod
    def of(cls, resolution: Resolution) -> Collected:
        """Return what is to be filled."""
        versions = {element: Versions(rules) for element, rules in resolution.rules.items()}
        return cls(versions, {PARENTS[element]: [] for element in filter(resolution.proves, PARENTS)})

    def add(self, group: GroupResult, resolution: Resolution, engine: Engine) -> None:
        """Keep the versions of a group."""
        main = {select.table: rows for select, rows in group.rows if not select.table.rows}
        for element, ids in self.parents.items():
            if (rows := main.get(main_table(element))) is not None:
                ids.append(pc.unique(rows[id_of(element)]))
        for select, rows in group.rows:
            table, element = select.table, select.table.element
            if element in self.versions and table != PEOPLE:
                if not table.rows:
                    self.versions[element].see(rows, engine)
                elif table in resolution.asked:
                    self.versions[element].wait(table, rows)
        self._add_persons(group, main, resolution, engine)

    def _add_persons(
        self, group: GroupResult, main: Mapping[Table, pa.Table], resolution: Resolution, engine: Engine
    ) -> None:
        sources = {source.table: source for source in people.SOURCES} if resolution.person_columns else {}
        persons = []
        for select, rows in group.rows:
            if source := sources.get(select.table):
                element = select.table.element
                before = len(resolution.blocks(element)) if source.is_act else 0
                persons.append(source.versions(rows, main[main_table(element)], resolution.person_columns, before))
        if persons:
            self.versions[PEOPLE.element].see(pa.concat_tables(persons).sort_by(ELEMENT), engine)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Which versions are kept, what their blocks come from, and what acts take from people."""

    mergers: Mapping[ElementType, Merger]
    donors: Mapping[ElementType, Donors]

    @classmethod
    def of(cls, versions: Mapping[ElementType, Versions], engine: Engine) -> Decisions:
        """Compare all versions."""
        mergers = {
            element: Merger.of(some.rules, some.parts(), engine) for element, some in versions.items()
        }
        donors = {}
        for element, merger in mergers.items():
            if merger.rules.has_person:
                persons = versions[PEOPLE.element]
                parts = (
                    (people.of_persons(merger.persons, part, persons.part_count), seen)
                    for part, seen in enumerate(persons.parts())
                )
                donors[element] = people.lacking(merger, parts, persons.rules, engine)
        return cls(mergers, donors)


class Resolver:
    """Resolves what was collected, by what was decided."""

    def __init__(self, resolution: Resolution, engine: Engine) -> None:
        self.resolution, self.engine = resolution, engine
        self.collected = Collected.of(resolution)
        self.others: dict[ElementType, SpilledTables] = {}
        """The rows of versions that were collected elsewhere, by type."""
        self.events = [_NO_EVENTS]
        """The events that are left out, and why."""

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
        yield from self.resolved(Decisions.of(self.collected.versions, self.engine))
        self.resolution.filtering.refuse_unknown()

    def collect(self, group: GroupResult) -> Rows:
        """Keep the versions of a group; yield the rows that need no others."""
        resolution, failing = self.resolution, dict[ElementType, np.ndarray]()
        self.collected.add(group, resolution, self.engine)
        for select, rows in group.rows:
            table, element = select.table, select.table.element
            if table == EVENTS and resolution.request.snapshots:
                yield SNAPSHOTS, rows.select([*resolution.request.snapshots, ELEMENT])
            if element in resolution.identities and not resolution.identities[element]:
                settled = self._settled(table, rows)
                if not table.rows:
                    failing[element] = resolution.filtering.failing(element, settled)
                if table in resolution.asked:
                    yield table.name, self._shown(table, without(settled, failing[element]))

    def resolved(self, decisions: Decisions) -> Rows:
        """Yield the rows of resolved things."""
        # Attendances are excluded with their events.
        for element, merger in sorted(decisions.mergers.items(), key=lambda item: item[0] != EVENT):
            self.resolution.kept[element.name] = len(merger.kept)
            passing = [_NONE]
            for rows in self._things(element, decisions):
                passing.append(rows[ELEMENT].to_numpy())
                if main_table(element) in self.resolution.asked:
                    yield main_table(element).name, self._shown(main_table(element), rows)
            things = np.concatenate(passing)
            for table, waiting in self.collected.versions[element].children.items():
                sources, owners = merger.owners(table.block, things)
                for rows in waiting:
                    yield table.name, self._entries(table, rows, merger, sources, owners)

    def _things(self, element: ElementType, decisions: Decisions) -> Iterable[pa.Table]:
        """Yield the resolved rows of a type that pass filters."""
        main, merger = main_table(element), decisions.mergers[element]
        for versions in self.collected.versions[element].main:
            rows = self._merged(element, merger, only(versions, merger.kept))
            if merger.rules.collected:
                rows = people.merged_fields(rows, merger, self._rows_of(element), self.engine)
            if element in decisions.donors:
                rows = with_room(rows, main, (people.FILLED_COLUMN,)) if people.FILLED_COLUMN in self.resolution.resolved(main) else rows
                persons = self._rows_of(PEOPLE.element)
                rows = people.fill(rows, decisions.donors[element], persons, self.resolution.person_columns)
            rows = self._settled(main, rows)
            yield without(rows, self.resolution.filtering.failing(element, rows))

    def _rows_of(self, element: ElementType) -> SpilledTables:
        """Return the rows of all versions of a type."""
        return self.others.get(element) or self.collected.versions[element].main

    def _merged(self, element: ElementType, merger: Merger, rows: pa.Table) -> pa.Table:
        blocks = {column.name: column.block for column in main_table(element).columns}
        return merger.merge(rows, blocks, self._rows_of(element))

    def _entries(
        self, table: Table, rows: pa.Table, merger: Merger, sources: np.ndarray, things: np.ndarray
    ) -> pa.Table:
        """Return the rows of a child table, with the keys of the things they are of."""
        rows = only(rows, sources)
        owners = things[np.searchsorted(sources, rows[ELEMENT].to_numpy())]
        keys = [column.name for column in table.keys if column.name in rows.column_names]
        at = np.flatnonzero(among(owners, merger.several))
        if len(at) and keys:
            of_things = self._rows_of(table.element).take(owners[at], [*keys, ELEMENT])
            rows = replaced(rows, at, self._merged(table.element, merger, of_things).select(keys))
        return self._shown(table, rows)

    def _settled(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return rows with the columns that are made of resolved ones: when they are gone, why reports leave them out."""
        element, resolution = table.element, self.resolution
        rows = with_room(rows, table, resolution.resolved(table))
        if resolution.proves(element):
            parents = self.collected.parents.get(PARENTS.get(element, element))
            ids = pa.concat_arrays(parents) if parents else None
            since = gone_since(element, rows, resolution.request.pulls, parents=ids)
            rows = with_column(rows, rows.schema.field("gone_since"), since)
        if "excluded" in resolution.resolved(table):
            events = pa.concat_tables(self.events) if table == ATTENDANCES and resolution.has_reasons else None
            reasons = excluded(element, rows, events)
            rows = with_column(rows, rows.schema.field("excluded"), reasons)
        if table == EVENTS and resolution.has_reasons:
            self.events.append(rows.select(OF_EVENTS).filter(rows["excluded"].is_valid()))
        return rows

    def _shown(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return the requested columns, and the numbers of the elements."""
        schema = self.resolution.schemas[table.name].append(pa.field(ELEMENT, pa.int64()))
        return pa.Table.from_arrays([rows[name] for name in schema.names], schema=schema)


def with_room(rows: pa.Table, table: Table, names: Iterable[str]) -> pa.Table:
    """Return rows with columns that nothing is known of, where there are none of these names."""
    for column in map(table.column, names):
        if column.name not in rows.column_names:
            rows = rows.append_column(column.field, pa.nulls(len(rows), column.field.type))
    return rows
