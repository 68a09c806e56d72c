"""The task graph of a reading: a task reads each partition; then it is settled which elements are kept.

Of each element that has an identity, its keys go to the task that compares them; what is not kept comes back, and
is dropped where it was read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from dask.dataframe.dask_expr._expr import Projection, determine_column_projection
from dask.dataframe.dask_expr.io.io import IO
from distributed import warn

from osdi_frames.archive.limits import Limits
from osdi_frames.archive.source import Partition, read
from osdi_frames.problems import OnError, Policy
from osdi_frames.reading.dedupe import ELEMENT, among, of_part, superseded
from osdi_frames.reading.interchange import frame
from osdi_frames.reading.plan import Columns, Dedupe, Plan
from osdi_frames.reading.selection import Filters
from osdi_frames.reading.stream import Observer, read_partition
from osdi_frames.tables.schema import ElementType

_TOGETHER = 128  # partitions whose elements are compared by one task
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")

Keys = tuple[str, int]
ByElement = Mapping[ElementType, pa.Table]
#: The rows of a partition, compressed, by table; and the keys of its elements.
Waiting = tuple[Mapping[str, pa.Buffer], ByElement]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What workers are asked for, as `osdi_frames.read_table` explains it: each compiles its plan, which is larger."""

    tables: Mapping[str, Columns] = field(kw_only=False)
    filters: Filters = field(kw_only=False)
    prefix: str | None
    dedupe: Dedupe
    on_error: OnError
    limits: Limits | None

    def plan(self) -> Plan:
        """Compile what a worker is to read."""
        return Plan.of(self.tables, prefix=self.prefix, dedupe=self.dedupe, filters=self.filters)


def surveyed(function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterable[Any]:
    """Have the workers look through large files, as `partitions` wants it."""
    return dask.compute(*map(dask.delayed(function), parts))  # type: ignore[no-any-return] # dask has no types


def graph(
    name: str,
    request: Request,
    cut: Sequence[Partition],
    finish: Callable[[Iterable[tuple[str, pa.Table]], int], Any],
) -> dict[Keys, Any]:
    """Return the tasks that read partitions; (`name`, number) calls `finish` with what is kept of one."""
    numbers = range(len(cut))
    parts = range(-(-len(cut) // _TOGETHER) if request.dedupe and len(cut) > 1 else 0)
    tasks: dict[Keys, Any] = {(f"{name}-read", number): (_read, cut[number], request) for number in numbers}
    for part in parts:
        keys = f"{name}-keys-{part}"
        for number in numbers:
            tasks[keys, number] = (_keys, (f"{name}-read", number), part, len(parts))
        tasks[f"{name}-drop", part] = (_dropped, [(keys, number) for number in numbers])
    dropped = [(f"{name}-drop", part) for part in parts]
    for number in numbers:
        kept = (_kept, (f"{name}-read", number), number, request, dropped)
        tasks[name, number] = (finish, kept, number)
    return tasks


def _read(partition: Partition, request: Request) -> Waiting:
    policy = Policy(request.on_error)
    chunks = read(partition, policy.handle, limits=request.limits, progress=False)
    tables, keys = read_partition(request.plan(), partition.number, chunks, Observer(policy))
    policy.close(warn)
    return {name: _compressed(rows) for name, rows in tables.items() if rows}, keys


def _compressed(rows: Sequence[pa.Table]) -> pa.Buffer:
    # All partitions wait until it is known which rows are kept: a cluster may have less memory than they have rows.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows[0].schema, options=_COMPRESSED) as stream:
        stream.write_table(pa.concat_tables(rows))
    return sink.getvalue()


def _keys(rows: Waiting, part: int, parts: int) -> ByElement:
    """Return the keys of those elements whose identities belong to a part."""
    return {element: of_part(keys, part, parts) for element, keys in rows[1].items()}


def _dropped(keys: Sequence[ByElement]) -> ByElement:
    return {element: superseded(element, [part[element] for part in keys]) for element in keys[0]}


def _kept(
    rows: Waiting, number: int, request: Request, dropped: Sequence[ByElement]
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of the elements that are kept."""
    gone: dict[ElementType, np.ndarray[Any, Any]] = {}
    tables, keys = rows
    for element in keys if dropped else ():
        found = pa.concat_tables([part[element] for part in dropped])
        gone[element] = np.sort(found.filter(pc.equal(found["partition"], number))["number"].to_numpy())
    for select in itertools.chain.from_iterable(request.plan().selects.values()):
        name = select.table.name
        if name in tables:
            some = pa.ipc.open_stream(tables[name]).read_all()
            if select.table.element in gone:
                numbers = gone[select.table.element]
                some = some.filter(pa.array(~among(some[ELEMENT].to_numpy(), numbers)))
            yield name, select.given(some)


class ReadTable(IO):  # type: ignore[misc] # Dask has no types
    """A table of an archive; only the columns that are used are read."""

    _parameters = ["cut", "request", "token"]  # noqa: RUF012 (as Dask declares it)

    @cached_property
    def _schema(self) -> pa.Schema:
        (schema,) = self.operand("request").plan().schemas.values()
        return schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._schema.names)

    @cached_property
    def _meta(self) -> pd.DataFrame:
        return frame(self._schema.empty_table())

    def _divisions(self) -> tuple[None, ...]:
        return (None,) * (len(self.operand("cut")) + 1)

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
        finish = partial(_as_frame, self._schema)
        return graph(self._name, self.operand("request"), self.operand("cut"), finish)


def _as_frame(schema: pa.Schema, rows: Iterable[tuple[str, pa.Table]], _: int) -> pd.DataFrame:
    return frame(pa.concat_tables([schema.empty_table(), *(some for _, some in rows)]))
