"""From the rows of all versions to one row for each thing: collect, decide, resolve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import among, concatenated, replaced, same_texts, with_column
from osdi_frames.engine import Engine, Pipeline
from osdi_frames.parsing.group import GroupResult
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.resolving import gone, people
from osdi_frames.resolving.filters import Occurring
from osdi_frames.resolving.merging import PERSON_ID, Merger, compared, of_parts, of_type, with_type
from osdi_frames.resolving.people import FILLED_COLUMN, PersonRows
from osdi_frames.resolving.resolution import SNAPSHOTS, Resolution, Rows
from osdi_frames.resolving.selection import OWNER, Selection
from osdi_frames.resolving.versions import BY_ADDRESS, NumberedRows, Versions, note, rows_of
from osdi_frames.tables import element_types, main_table
from osdi_frames.tables.attendances import ATTENDANCES
from osdi_frames.tables.events import EVENTS
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.schema import ElementType, ExclusionRule, Table

#: The columns of the events that `excluded` takes for attendances.
OF_EVENTS: Final = ("event_id", "excluded")
_AT_ONCE: Final = 1 << 14  # things that are merged at once, about as many as a group of documents has
_NO_EVENTS: Final = pa.table({name: pa.array([], pa.string()) for name in OF_EVENTS})


@dataclass(slots=True)
class Collected:
    """The versions of all things of an archive."""

    versions: dict[ElementType, Versions]
    parents: dict[ElementType, list[pa.Table]]
    """Which pulls list what signatures, attendances and others belong to; see `gone.listed_parents`."""
    occurring: Occurring
    """What occurs of what filters ask for."""

    @classmethod
    def of(cls, resolution: Resolution) -> Collected:
        """Return a collection that has no versions yet."""
        versions = {element: Versions(rules) for element, rules in resolution.rules.items()}
        proved = filter(resolution.proves, element_types())
        return cls(versions, {element.parent: [] for element in proved if element.parent}, Occurring())

    def add(self, group: GroupResult, resolution: Resolution, engine: Engine) -> None:
        """Keep the versions of a group, and note what filters and the proofs of pulls ask of their main rows."""
        main = {select.table: rows for select, rows in group.rows if not select.table.rows}
        for element, ids in self.parents.items():
            if (rows := main.get(main_table(element))) is not None:
                ids.append(gone.listed_parents(element, rows, resolution.accounts))
        for table, rows in main.items() if resolution.filtering.columns_asked and resolution.asked else ():
            self.occurring.add(resolution.filtering, table.element, rows)
        note([*self._kept(group, resolution), *self._kept_people(group, main, resolution)], engine)

    def _kept(self, group: GroupResult, resolution: Resolution) -> Iterator[tuple[Versions, pa.Table]]:
        """Keep the rows of a group but those of people; yield the ones of main tables, each with its versions."""
        for select, rows in group.rows:
            table, element = select.table, select.table.element
            if element not in self.versions or table == PEOPLE:
                continue
            versions = self.versions[element]
            if not table.rows:
                known = resolution.with_evidence(element, rows)
                yield versions, known
                if resolution.keeps(element):
                    versions.main.add(known)
            elif table in resolution.asked:
                versions.wait(table, rows)

    def _kept_people(
        self, group: GroupResult, main: Mapping[Table, pa.Table], resolution: Resolution
    ) -> Iterator[tuple[Versions, pa.Table]]:
        """Keep the rows of people in a group but those in acts; yield them with the versions of people."""
        found = [
            resolution.persons_in(source, rows, main[main_table(source.table.element)])
            for select, rows in group.rows
            for source in resolution.sources
            if source.table == select.table and not source.is_act
        ]
        if found:
            versions = self.versions[PEOPLE.element]
            versions.main.add(rows := pa.concat_tables(found).sort_by(ELEMENT))
            yield versions, rows

    def persons(self, resolution: Resolution) -> PersonRows:
        """Return the rows of all versions of people."""
        acts = {
            source: self.versions[source.table.element].main for source in resolution.sources if source.is_act
        }
        columns = resolution.person_columns
        if resolution.proves(PEOPLE.element):
            columns = (*columns, *resolution.accounts.evidence)
        return PersonRows((*columns, ELEMENT), self.versions[PEOPLE.element].main, acts, resolution.accounts)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Which versions are kept, what their blocks come from, and what acts take from people."""

    mergers: Mapping[ElementType, Merger]
    taken: Mapping[ElementType, pa.Table]
    """What acts of each type take from people, as `people.taken` returns it."""
    known_by_address: int = 0
    """How many people have no id."""

    @classmethod
    def of(
        cls, versions: Mapping[ElementType, Versions], resolution: Resolution, engine: Engine
    ) -> Decisions:
        """Compare all versions; those of people last, who are the ones whom the acts have then."""
        elements = [element for element in versions if element != PEOPLE.element]
        mergers = dict(zip(elements, compared([versions[one] for one in elements], engine), strict=True))
        if not resolution.person_columns:
            return cls(mergers, {})
        persons, are_asked = versions[PEOPLE.element], PEOPLE.element in resolution.identities
        types = {source: source.table.element for source in resolution.sources if source.is_act}
        acts = {source: (versions[element], mergers[element]) for source, element in types.items()}
        every, pipeline = are_asked or bool(resolution.fills), Pipeline(engine)
        by_address = people.identify(persons, acts, pipeline, every=every)
        takers, found, takings = _takers(mergers, resolution), list[Merger](), [people.NOTHING_TAKEN]
        pipeline.put("takers", takers)
        count = sum(some.count for some in (persons, *(some for some, _ in acts.values())))
        needs = are_asked or len(takers) > 0
        for merger in of_parts(persons.rules, count, pipeline, again=True) if needs else ():
            found.append(merger)
            if len(takers):
                takings.append(people.taken(takers, merger, pipeline))
        merger, taken = Merger.joined(persons.rules, found), concatenated(takings).sort_by("kept")
        if not are_asked:
            merger = merger.of_things(np.unique(taken["person"].to_numpy()))
        of_types = {
            table.element: of_type(taken, number, ["kept"]) for number, table in enumerate(resolution.acting)
        }
        return cls({**mergers, PEOPLE.element: merger}, of_types, by_address)

    def settled(self, rows_of: Callable[[Table], NumberedRows]) -> Decisions:
        """Return the decisions with `Merger.settled`; a function says where the rows of a table's versions are."""
        mergers = {
            element: merger.settled(rows_of(main_table(element))) for element, merger in self.mergers.items()
        }
        return replace(self, mergers=mergers)


def _takers(mergers: Mapping[ElementType, Merger], resolution: Resolution) -> pa.Table:
    """Return the acts that can take something from people, as `Merger.persons`, with the number of their type."""
    acts = [mergers[table.element].persons for table in resolution.acting]
    if not resolution.fills:  # no more than the id of whoever is known by an address
        by_address = pa.scalar(BY_ADDRESS, pa.uint64())
        names = ["kept", "person_high", "person_low"]
        acts = [
            some.select(names).filter(pc.equal(some["person_high"], by_address)) if len(some) else some
            for some in acts
        ]
    none = people.NOTHING_TAKEN.select(["kept"])
    return concatenated([none, *(with_type(some, number, "kept") for number, some in enumerate(acts))])


class Resolver:
    """Resolves what was collected, by what was decided: it has the things that a `Selection` is of."""

    def __init__(self, resolution: Resolution, engine: Engine) -> None:
        self.resolution, self.engine = resolution, engine
        self.collected = Collected.of(resolution)
        self.decisions = Decisions({}, {})
        self.selection = Selection(resolution)
        self.events = [_NO_EVENTS]
        """The events that are left out, and why."""

    def rows(self, groups: Iterable[GroupResult], *, is_whole: bool = True) -> Rows:
        """Yield the rows of the requested tables, those of deduplicated elements at the end."""
        yield from self.decided(groups, is_whole=is_whole)
        yield from self.selection.rows(self, self.engine)

    def decided(self, groups: Iterable[GroupResult], *, is_whole: bool = True) -> Rows:
        """Yield the rows that need no others; after these, all things are known.

        What a part of an archive lacks can be in another one.

        Raises
        ------
        UnknownValue
            What was asked for occurs nowhere, or is the title of several things.
        """
        for group in groups:
            yield from self.collect(group)
        decisions = Decisions.of(self.collected.versions, self.resolution, self.engine)
        self.decisions = decisions.settled(self._rows_of)
        if not is_whole:
            self.selection.name(self.resolution.filtering.ids_asked)
        elif self.resolution.asked:
            self.selection.find(self, self.collected.occurring)

    def collect(self, group: GroupResult) -> Rows:
        """Keep the versions of a group; yield the rows that need no others."""
        resolution, passing = self.resolution, dict[ElementType, np.ndarray]()
        self.collected.add(group, resolution, self.engine)
        yield from _snapshots(group, resolution)
        for select, rows in group.rows:
            table, element = select.table, select.table.element
            if resolution.streams(element):
                settled = self._with_resolved_columns(table, rows)
                if resolution.filtering.asked and not table.rows:
                    passing[element] = self.selection.passing(element, settled)[ELEMENT].to_numpy()
                if table.name in resolution.read:
                    some = rows_of(settled, passing[element]) if passing else settled
                    yield table.name, self.selection.shown(table, some)

    @property
    def known_by_address(self) -> int:
        """How many people have no id."""
        return self.decisions.known_by_address

    def count(self, element: ElementType) -> int:
        """Return how many things of a type there are."""
        return len(self.decisions.mergers[element].kept)

    def things(self, element: ElementType) -> Iterator[pa.Table]:
        """Yield the resolved rows of a type; attendances come after events, since they are excluded with these."""
        main, merger = main_table(element), self.decisions.mergers[element]
        for kept in self._kept(element):
            rows = self._merged(element, merger, kept)
            if merger.rules.collected:
                rows = people.merged_fields(rows, merger, self._rows_of(main), self.engine)
            if element in self.decisions.taken:
                if FILLED_COLUMN in self.resolution.resolved_columns(main):
                    rows = with_room(rows, main, (FILLED_COLUMN,))
                rows = people.fill(
                    rows,
                    self.decisions.taken[element],
                    self.decisions.mergers[PEOPLE.element],
                    self._rows_of(PEOPLE),
                )
            yield self._with_resolved_columns(main, rows)

    def entries(self, table: Table, things: np.ndarray) -> Iterator[pa.Table]:
        """Yield the rows of a child table of some things, with the keys and the numbers of these."""
        merger = self.decisions.mergers[table.element]
        sources = merger.versions_of(table.block, things)
        order = np.argsort(sources, kind="stable")
        for rows in self.collected.versions[table.element].children.get(table, ()):
            yield self._entries(table, rows, merger, sources[order], things[order])

    def _kept(self, element: ElementType) -> Iterator[pa.Table]:
        """Yield the rows of the versions that are kept, some at a time."""
        kept, rows = self.decisions.mergers[element].kept, self._rows_of(main_table(element))
        return (rows.take(kept[start : start + _AT_ONCE]) for start in range(0, len(kept), _AT_ONCE))

    def _rows_of(self, table: Table) -> NumberedRows:
        """Return the rows of all versions in the main table of a type."""
        if table == PEOPLE:
            return self.collected.persons(self.resolution)
        return self.collected.versions[table.element].main

    def _merged(self, element: ElementType, merger: Merger, rows: pa.Table) -> pa.Table:
        """Return rows of kept versions, each block from the version it comes from."""
        blocks = {column.name: column.block for column in main_table(element).columns}
        if element == PEOPLE.element:
            blocks |= dict.fromkeys(("person_id", "identifiers", "self_url"), PERSON_ID)
        return merger.merge(rows, blocks, self._rows_of(main_table(element)))

    def _entries(
        self, table: Table, rows: pa.Table, merger: Merger, sources: np.ndarray, things: np.ndarray
    ) -> pa.Table:
        rows = rows_of(rows, sources)
        owners = things[np.searchsorted(sources, rows[ELEMENT].to_numpy())]
        keys = [column.name for column in table.keys if column.name in rows.column_names]
        at = np.flatnonzero(among(owners, merger.several))
        if len(at) and keys:
            of_things = self._rows_of(main_table(table.element)).take(owners[at], [*keys, ELEMENT])
            rows = replaced(rows, at, self._merged(table.element, merger, of_things).select(keys))
        return rows.append_column(OWNER, pa.array(owners))

    def _with_resolved_columns(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return resolved rows with the columns made of them: since when things are gone, why they are left out."""
        element, resolution = table.element, self.resolution
        rows = with_room(rows, table, resolution.resolved_columns(table))
        if resolution.proves(element):
            listed = self.collected.parents.get(element.parent or element)
            parents = pa.concat_tables(listed) if listed else None
            since = gone.gone_since(element, rows, resolution.accounts, parents=parents)
            rows = with_column(rows, rows.schema.field("gone_since"), since)
        if "excluded" in resolution.resolved_columns(table):
            events = (
                pa.concat_tables(self.events) if table == ATTENDANCES and resolution.has_reasons else None
            )
            reasons = excluded(element, rows, events)
            rows = with_column(rows, rows.schema.field("excluded"), reasons)
        if table == EVENTS and resolution.has_reasons:
            self.events.append(rows.select(OF_EVENTS).filter(rows["excluded"].is_valid()))
        return rows


def observed(groups: Iterable[GroupResult], resolution: Resolution, occurring: Occurring) -> Rows:
    """Yield what is asked of every version, where resolved rows are known, and note what occurs."""
    for group in groups:
        yield from _snapshots(group, resolution)
        for select, rows in group.rows if resolution.asked else ():
            if not select.table.rows:
                occurring.add(resolution.filtering, select.table.element, rows)


def _snapshots(group: GroupResult, resolution: Resolution) -> Rows:
    """Yield the versions of events, where they are asked for."""
    for select, rows in group.rows if resolution.request.snapshots else ():
        if select.table == EVENTS:
            yield SNAPSHOTS, rows.select([*resolution.request.snapshots, ELEMENT])


def excluded(element: ElementType, rows: pa.Table, events: pa.Table | None = None) -> pa.ChunkedArray:
    """Return why reports leave out each row.

    The rows are those of the main table of a type, as they were resolved; a rule about a column that they do not have
    leaves nothing out. `events` are resolved events, with the columns `OF_EVENTS`: attendances that count themselves
    have their event's reason. The reason is null where the row counts.
    """
    found = pa.chunked_array([pa.nulls(len(rows), pa.string())])
    for rule in reversed(element.exclusions):
        if rule.values.keys() <= {*rows.column_names}:
            holds = reduce(pc.and_, (_holds(rule, name, rows[name]) for name in rule.values))
            if pc.any(holds).as_py():
                found = pc.if_else(holds, rule.reason, found)
    return found if events is None else pc.coalesce(found, _reasons(rows["event_id"], events))


def _holds(rule: ExclusionRule, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = rule.texts(name)
    values = same_texts(column, texts) if texts else pa.array(rule.values[name], column.type)
    is_one = pc.is_in(column, values)
    return pc.invert(is_one) if rule.unless else is_one


def _reasons(event_ids: pa.ChunkedArray, events: pa.Table) -> pa.ChunkedArray:
    """Return the reason of each id's event."""
    left_out = events.filter(pc.and_(*(pc.is_valid(events[name]) for name in OF_EVENTS)))
    ids, reasons = (left_out[name].combine_chunks() for name in OF_EVENTS)
    return reasons.take(pc.index_in(event_ids, ids))


def with_room(rows: pa.Table, table: Table, names: Iterable[str]) -> pa.Table:
    """Return rows with columns that nothing is known of, where there are none of these names."""
    for column in map(table.column, names):
        if column.name not in rows.column_names:
            rows = rows.append_column(column.field, pa.nulls(len(rows), column.field.type))
    return rows
