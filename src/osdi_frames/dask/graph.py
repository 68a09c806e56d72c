"""The task graph of a reading: a task reads each partition; then it is settled which elements are kept.

Of each element that has an identity, its keys go to the task that compares them; what is not kept comes back, and
is dropped where it was read.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr._expr import Projection, determine_column_projection
from dask.dataframe.dask_expr.io.io import IO
from distributed import warn

from osdi_frames.frames import frame
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.reader import Reader
from osdi_frames.resolving.filters import Filtering
from osdi_frames.resolving.resolution import Request, Resolution, Rows
from osdi_frames.resolving.versions import of_part, superseded, without
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import ElementType

if TYPE_CHECKING:
    import dask.dataframe as dd

_TOGETHER = 128  # partitions whose elements are compared by one task
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")

Keys = tuple[str, int]
ByElement = Mapping[ElementType, pa.Table]


@dataclass(frozen=True, slots=True)
class PartRows:
    """The compressed rows of a partition, and their keys.

    Rows are by table, keys by element type; `filtering` has what filters met.
    """

    tables: Mapping[str, pa.Buffer]
    keys: ByElement
    filtering: Filtering


def surveyed(function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterable[Any]:
    """Have the workers look through large files."""
    return dask.compute(*map(dask.delayed(function), parts))  # type: ignore[no-any-return] # dask has no types


def read(archive: Reader, request: Request, *, count: int | None, size: int) -> dd.DataFrame:
    """Return the one table of a request; see `Archive.dask`."""
    Resolution(request)  # refuses unknown names
    parts = archive.partitions(count=count, size=size, surveyed=surveyed)
    found: dd.DataFrame = new_collection(ReadTable(parts, request, uuid.uuid4().hex))
    return found


def graph(
    name: str, request: Request, parts: Sequence[Reader], finish: Callable[[Rows, int, Filtering], Any]
) -> dict[Keys, Any]:
    """Return the tasks that read partitions.

    (`name`, number) calls `finish` with what is kept of one.
    """
    numbers = range(len(parts))
    tasks: dict[Keys, Any] = {(f"{name}-read", number): (_read, parts[number], request) for number in numbers}
    sections = range(-(-len(parts) // _TOGETHER) if request.dedupe and len(parts) > 1 else 0)
    for section in sections:
        keys = f"{name}-keys-{section}"
        for number in numbers:
            tasks[keys, number] = (_keys, (f"{name}-read", number), section, len(sections))
        tasks[f"{name}-drop", section] = (_dropped, [(keys, number) for number in numbers])
    dropped = [(f"{name}-drop", section) for section in sections]
    for number in numbers:
        tasks[name, number] = (_finished, finish, (f"{name}-read", number), number, dropped)
    return tasks


def _read(part: Reader, request: Request) -> PartRows:
    tables, keys, filtering = part.resolve_part(request, warn)
    return PartRows({name: _compressed(rows) for name, rows in tables.items() if rows}, keys, filtering)


def _compressed(rows: Sequence[pa.Table]) -> pa.Buffer:
    # All partitions wait until it is known which rows are kept: a cluster may have less memory than they have rows.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows[0].schema, options=_COMPRESSED) as stream:
        stream.write_table(pa.concat_tables(rows))
    return sink.getvalue()


def _keys(rows: PartRows, section: int, sections: int) -> ByElement:
    """Return the keys that belong to a section."""
    return {element: of_part(keys, section, sections) for element, keys in rows.keys.items()}


def _dropped(keys: Sequence[ByElement]) -> ByElement:
    return {element: superseded(element, [part[element] for part in keys]) for element in keys[0]}


def _finished(
    finish: Callable[[Rows, int, Filtering], Any], rows: PartRows, number: int, dropped: Sequence[ByElement]
) -> Any:
    """Call a function with the rows that are kept."""
    gone: dict[ElementType, np.ndarray[Any, Any]] = {}
    for element in rows.keys if dropped else ():
        found = pa.concat_tables([section[element] for section in dropped])
        gone[element] = np.sort(found.filter(pc.equal(found["partition"], number))["number"].to_numpy())

    def kept() -> Rows:
        for name, buffer in rows.tables.items():
            some = pa.ipc.open_stream(buffer).read_all()
            some = without(some, gone.get(declared(name).element, np.empty(0, np.int64)))
            yield name, some.drop_columns([ELEMENT])

    return finish(kept(), number, rows.filtering)


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
        return frame(self._schema.empty_table())

    def _divisions(self) -> tuple[None, ...]:
        return (None,) * (len(self.operand("parts")) + 1)

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
        return graph(self._name, self.operand("request"), self.operand("parts"), finish)


def _as_frame(schema: pa.Schema, rows: Rows, _number: int, _filtering: Filtering) -> pd.DataFrame:
    return frame(pa.concat_tables([schema.empty_table(), *(some for _, some in rows)]))
