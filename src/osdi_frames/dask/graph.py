"""The task graph of a reading: partitions are read, compared, and resolved.

The notes of the versions go to the task that compares them. Each partition then resolves the things whose newest
version it has; the rows of other versions that these need come from where they were read.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import dask
import pandas as pd
import pyarrow as pa
from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr._expr import Projection, determine_column_projection
from dask.dataframe.dask_expr.io.io import IO
from distributed import warn

from osdi_frames.computed import Computing
from osdi_frames.engine import Engine, engine
from osdi_frames.frames import frame
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.reader import Reader
from osdi_frames.resolving.actions import with_actions
from osdi_frames.resolving.filters import Linked, Occurring, Titles
from osdi_frames.resolving.resolution import Request, Resolution, Rows
from osdi_frames.resolving.resolver import Collected, Decisions, Resolver
from osdi_frames.resolving.versions import SpilledTables, Versions, rows_of
from osdi_frames.tables import main_table
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.schema import ElementType, Table

if TYPE_CHECKING:
    import dask.dataframe as dd

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")

Keys = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PartRows:
    """What was read of a partition."""

    tables: Mapping[str, pa.Buffer]
    """The rows that need no others, compressed, by table."""
    collected: Collected
    """The versions that are resolved with those of others."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided of all partitions."""

    decisions: Decisions
    parents: dict[ElementType, list[pa.Array]]
    occurring: Occurring
    starts: Sequence[int]
    """The number of the first element of each partition."""
    linked: Linked = field(default_factory=Linked)
    """The ids of what filters ask for."""


def surveyed(function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterable[Any]:
    """Have the workers look through large files."""
    return dask.compute(*map(dask.delayed(function), parts))  # type: ignore[no-any-return] # dask has no types


def read(archive: Reader, request: Request, *, count: int | None, size: int) -> dd.DataFrame:
    """Return the one table of a request; see `Archive.dask`."""
    # The filters are those of the request: what they ask for is looked up by the cluster.
    parts = replace(archive, filters={}).partitions(count=count, size=size, surveyed=surveyed)
    found: dd.DataFrame = new_collection(ReadTable(parts, request, uuid.uuid4().hex))
    return found


def graph(
    name: str, request: Request, parts: Sequence[Reader], finish: Callable[[Rows, int], Any]
) -> dict[Keys, Any]:
    """Return the tasks that read partitions.

    (`name`, number) calls `finish` with what is resolved of one.
    """
    numbers, resolution, last = range(len(parts)), Resolution(request), len(parts)
    steps = ("read", "notes", "lent", "titles", "known", "acted", "finished", "passed")
    read, notes, lent, titles, known, acted, finished, passed = (f"{name}-{step}" for step in steps)
    decided, named, persons = ((f"{name}-{step}", 0) for step in ("decided", "named", "persons"))
    tasks: dict[Keys, Any] = {(read, number): (_read, parts[number], request) for number in numbers}
    tasks |= {(notes, number): (_notes, (read, number)) for number in numbers}
    tasks[decided] = (_decided, request, [(notes, number) for number in numbers])
    tasks |= {(lent, number): (_lent, request, (read, number), number, decided) for number in numbers}
    every_lent = [(lent, number) for number in numbers]
    if resolution.filtering.columns_asked:
        tasks |= {
            (titles, number): (_titles, request, (read, number), number, decided, every_lent)
            for number in numbers
        }
        tasks[named] = (_named, request, decided, [(titles, number) for number in numbers])
        decided = named
    of = {number: (request, (read, number), number, decided, every_lent) for number in numbers}
    shared: list[Keys] = []
    if resolution.has_reasons or resolution.linking:
        tasks |= {(known, number): (_known, *of[number]) for number in numbers}
        shared = [(known, number) for number in numbers]
    every = [(acted, number) for number in numbers]
    if resolution.made_of:
        tasks |= {(acted, number): (_parts, *of[number], shared) for number in numbers}
    if resolution.waiting:
        tasks[persons] = (_persons, request, every)
    for number in numbers:
        who = persons if resolution.waiting else []
        tasks[finished, number] = (_finished, finish, *of[number], shared, who)
        tasks[name, number] = (itemgetter(0), (finished, number))
    if resolution.actions:
        tasks |= {(passed, number): (itemgetter(1), (finished, number)) for number in numbers}
        every_passed = [(passed, number) for number in numbers]
        tasks[name, last] = (_computed, finish, request, every, every_passed, last)
    return tasks


def partition_count(request: Request, parts: Sequence[Reader]) -> int:
    """Count the partitions of what is asked.

    Tables that are computed are one of their own, after all others.
    """
    return len(parts) + bool(Resolution(request).actions)


def _read(part: Reader, request: Request) -> PartRows:
    tables, collected = part.collect_part(request, warn)
    return PartRows({name: _compressed(rows) for name, rows in tables.items() if rows}, collected)


def _compressed(rows: Sequence[pa.Table]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows[0].schema, options=_COMPRESSED) as stream:
        stream.write_table(pa.concat_tables(rows))
    return sink.getvalue()


def _notes(part: PartRows) -> Collected:
    """Return a partition's versions without their rows."""
    versions = {
        element: Versions(some.rules, notes=some.notes) for element, some in part.collected.versions.items()
    }
    return replace(part.collected, versions=versions)


def _decided(request: Request, parts: Sequence[Collected]) -> Decided:
    """Compare the versions of all partitions."""
    starts = [0, *accumulate(part.last + 1 for part in parts)]
    for part, start in zip(parts, starts[:-1], strict=True):
        part.number_from(start)
    every, resolution = Collected.joined(parts), Resolution(request)
    with engine() as connection:
        mergers = every.mergers(connection)
        decisions = Decisions.of(every.versions, mergers, resolution, connection)
    return Decided(decisions, every.parents, every.occurring, starts)


def _lent(request: Request, part: PartRows, number: int, decided: Decided) -> dict[Table, pa.Table]:
    """Return the rows that other partitions may need, by table."""
    collected = part.collected
    collected.number_from(decided.starts[number])
    lent = {}
    for element, wanted in decided.decisions.lent().items():
        if element == PEOPLE.element:
            if len(here := collected.here(wanted)):
                persons = collected.persons(Resolution(request))
                lent[PEOPLE] = persons.take(here, persons.columns)
            continue
        versions = collected.versions[element]
        for table, rows in [(main_table(element), versions.main), *versions.children.items()]:
            if found := [rows_of(some, wanted) for some in rows]:
                lent[table] = pa.concat_tables(found)
    return lent


def _resolver(
    connection: Engine,
    request: Request,
    part: PartRows,
    number: int,
    decided: Decided,
    lent: Sequence[Mapping[Table, pa.Table]],
    known: Sequence[tuple[pa.Table, Linked]] = (),
) -> Resolver:
    """Return what resolves a partition; `known` is what all partitions know of what others refer to."""
    resolver = Resolver(Resolution(request), connection)
    resolver.events += [events for events, _ in known]
    resolver.selection.linked = Linked.joined([decided.linked, *(linked for _, linked in known)])
    part.collected.number_from(decided.starts[number])
    resolver.collected = replace(part.collected, parents=decided.parents)
    for element, versions in part.collected.versions.items():
        for table in dict.fromkeys(
            (*versions.children, *(name for some in lent for name in some if name.element == element))
        ):
            resolver.lent[table] = every = SpilledTables()
            for other, found in enumerate(lent):
                own = versions.children.get(table, ()) if other == number else ()
                for some in own or ([found[table]] if table in found else ()):
                    every.add(some)
    resolver.decide(decided.decisions)
    return resolver


def _titles(request: Request, part: PartRows, number: int, decided: Decided, lent: Any) -> Titles:
    """Return the titles of a partition's things, where filters ask for any by a title."""
    wanted = decided.occurring.asked_by_title(Resolution(request).filtering)
    if not wanted:
        return {}
    with engine() as connection:
        resolver = _resolver(connection, request, part, number, decided, lent)
        return resolver.selection.titles(resolver, wanted)


def _named(request: Request, decided: Decided, parts: Sequence[Titles]) -> Decided:
    """Return what was decided with the ids of what filters ask for."""
    every: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, titles in chain.from_iterable(part.items() for part in parts):
        every[name] += titles
    linked = Linked()
    linked.name(decided.occurring.ids(Resolution(request).filtering, every))
    return replace(decided, linked=linked)


def _known(
    request: Request, part: PartRows, number: int, decided: Decided, lent: Any
) -> tuple[pa.Table, Linked]:
    """Return what a partition knows of what others refer to."""
    with engine() as connection:
        resolver = _resolver(connection, request, part, number, decided, lent)
        resolver.selection.link(resolver)
        return pa.concat_tables(resolver.events), resolver.selection.linked


def _parts(
    request: Request, part: PartRows, number: int, decided: Decided, lent: Any, known: Any
) -> list[tuple[str, pa.Buffer]]:
    """Return what actions are made of in a partition."""
    with engine() as connection:
        resolver = _resolver(connection, request, part, number, decided, lent, known)
        return [(name, _compressed([some])) for name, some in resolver.selection.parts(resolver)]


def _finished(
    finish: Callable[[Rows, int], Any],
    request: Request,
    part: PartRows,
    number: int,
    decided: Decided,
    lent: Any,
    known: Any,
    persons: list[pa.Array],
) -> tuple[Any, Mapping[str, SpilledTables]]:
    """Call a function with the resolved rows of a partition.

    Return what it returns, and the rows that tables are computed of.
    """
    computing = Computing(Resolution(request))
    with engine() as connection:
        resolver = _resolver(connection, request, part, number, decided, lent, known)
        selection = resolver.selection
        selection.linked.kept[PEOPLE.element.own_id] += persons

        def rows() -> Rows:
            for name, buffer in part.tables.items():
                yield name, pa.ipc.open_stream(buffer).read_all()
            resolved = selection.resolved(resolver, parts=False)
            for name, some in chain(resolved, selection.waiting(resolver)):
                yield name, some.drop_columns([ELEMENT])

        return finish(computing.shown(rows()), number), computing.parts


def _opened(acted: Sequence[Sequence[tuple[str, pa.Buffer]]]) -> Rows:
    """Yield what actions are made of in all partitions."""
    for name, buffer in chain.from_iterable(acted):
        yield name, pa.ipc.open_stream(buffer).read_all()


def _persons(request: Request, acted: Any) -> list[pa.Array]:
    """Return the ids of the people whose acts filters keep."""
    found: list[pa.Array] = []
    with engine() as connection:
        for _ in with_actions(_opened(acted), Resolution(request), connection, found):
            pass
    return found


def _computed(
    finish: Callable[[Rows, int], Any],
    request: Request,
    acted: Any,
    passed: Sequence[Mapping[str, SpilledTables]],
    number: int,
) -> Any:
    """Call a function with the rows of the tables that are computed of all partitions."""
    resolution = Resolution(request)
    computing = Computing(resolution)
    computing.add(passed)
    with engine() as connection:
        actions = with_actions(_opened(acted), resolution, connection, [])
        shown = computing.shown((name, some.drop_columns([ELEMENT])) for name, some in actions)
        return finish(chain(shown, computing.computed()), number)


class ReadTable(IO):  # type: ignore[misc] # Dask has no types
    """A table of an archive; unused columns are not read."""

    _parameters = ["parts", "request", "token"]  # noqa: RUF012 (as Dask declares it)

    @cached_property
    def _schema(self) -> pa.Schema:
        (schema,) = Resolution(self.operand("request")).schemas.values()
        return schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._schema.names)

    @cached_property
    def _meta(self) -> pd.DataFrame:
        return frame(self._schema.empty_table(), self.operand("request").timezone)

    def _divisions(self) -> tuple[None, ...]:
        return (None,) * (partition_count(self.operand("request"), self.operand("parts")) + 1)

    def _simplify_up(self, parent: Any, dependents: Any) -> Any:
        if not isinstance(parent, Projection):
            return None
        used = determine_column_projection(self, parent, dependents)
        names = [name for name in self.columns if name in ([used] if isinstance(used, str) else used)]
        if names == self.columns:
            return None
        request: Request = self.operand("request")
        narrow = replace(request, tables=dict.fromkeys(request.tables, names))
        return self.substitute_parameters({"request": narrow})[parent.operand("columns")]

    def _layer(self) -> dict[Keys, Any]:
        finish = partial(_as_frame, self._schema, self.operand("request").timezone)
        return graph(self._name, self.operand("request"), self.operand("parts"), finish)


def _as_frame(schema: pa.Schema, timezone: str | None, rows: Rows, _number: int) -> pd.DataFrame:
    return frame(pa.concat_tables([schema.empty_table(), *(some for _, some in rows)]), timezone)
