"""Archives that the workers of a Dask cluster parse, for what one machine does not carry (extra ``dask``).

Workers read and parse parts of an archive; the calling process takes what they find, in the order of the archive, as
it takes what its own threads find. So rows, problems and files are those of one machine, by the same code.
"""

from __future__ import annotations

import atexit
import contextlib
import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.parquet import ParquetFile

from osdi_frames.errors import MissingExtra, SourceNotFound
from osdi_frames.frames import frame
from osdi_frames.messages import quoted_path
from osdi_frames.output.files import FileForm, write_tables
from osdi_frames.parsing.group import GroupResult, grouped, read_group
from osdi_frames.parsing.parse import Observer, numbered
from osdi_frames.parsing.plan import Plan
from osdi_frames.problems import Policy, Problem
from osdi_frames.reader import Reader
from osdi_frames.resolving.resolution import Resolution
from osdi_frames.sources.limits import Limits
from osdi_frames.sources.partitions import SIZE, cut
from osdi_frames.sources.source import FilePartition
from osdi_frames.sources.source import read as candidates
from osdi_frames.sources.streams import ahead

try:
    import dask
    import dask.dataframe as dd
    from distributed import Client, default_client
except ImportError as error:
    raise MissingExtra.named("dask") from error

_COMPRESSED: Final = pa.ipc.IpcWriteOptions(compression="lz4")


def groups(
    reader: Reader, plan: Plan, observer: Observer, *, count: int | None = None
) -> Iterator[GroupResult] | None:
    """Return what yields the findings of a plan, by groups of documents, which workers parse in parts of the archive.

    None where this process finds them: there is no cluster, or a store, which it reads quickly.

    Raises
    ------
    SourceNotFound, InvalidSource
        As `Reader.partitions` says.
    """
    client = _client()
    if client is None or reader.store is not None:
        return None
    executor = client.get_executor(pure=False)
    parts = cut(
        reader.source,
        observer.handle,
        count=count,
        size=SIZE,
        quarantines=observer.quarantines,
        surveyed=executor.map,
    )
    work, few = partial(_parsed, plan, reader.limits), 2 * sum(client.nthreads().values())
    found = (result() for result in ahead(work, parts, few, executor))
    return _in_order(found, plan, observer)


def _client() -> Client | None:
    with contextlib.suppress(ValueError):
        return default_client()
    return None


@dataclass(slots=True)
class _Found:
    """What a worker finds in a part: problems of files, and of each group the rows, compressed, and what else."""

    items: list[Problem | tuple[GroupResult, dict[str, pa.Buffer]]] = field(default_factory=list)
    documents: int = 0
    """How many there are, by which the elements of the next part are numbered."""


def _parsed(plan: Plan, limits: Limits | None, part: FilePartition) -> _Found:
    """Parse a part of an archive; a worker does this."""
    found = _Found()
    for group in grouped(candidates(part, found.items.append, limits=limits, progress=False)):
        result = read_group(plan, group)
        rows = {select.table.name: _compressed(some) for select, some in result.rows}
        found.items.append((replace(result, rows=[]), rows))
        found.documents += len(group)
    return found


def _compressed(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_COMPRESSED) as stream:
        stream.write_table(rows)
    return sink.getvalue()


def _in_order(parts: Iterator[_Found], plan: Plan, observer: Observer) -> Iterator[GroupResult]:
    """Yield the groups of all parts, numbered through, and let the observer see them."""
    selects, before = {select.table.name: select for select in chain(*plan.selects.values())}, 0
    for part in parts:
        for item in part.items:
            if isinstance(item, Problem):
                observer.handle(item)
                continue
            result, buffers = item
            rows = [(selects[name], pa.ipc.open_stream(some).read_all()) for name, some in buffers.items()]
            observer.see(result := numbered(replace(result, rows=rows), before))
            yield result
        before += part.documents


def read(reader: Reader, resolution: Resolution, *, count: int | None) -> dd.DataFrame:
    """Return the one table of a request; see `Archive.dask`."""
    observer = Observer(Policy(reader.on_error))
    rows = reader.rows(resolution, observer, groups=groups(reader, resolution.plan, observer, count=count))
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="osdi-frames-", dir=dask.config.get("temporary-directory", None))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        write_tables(resolution.schemas, rows, Path(folder), FileForm())
        atexit.register(stack.pop_all().close)  # what Dask computes later reads it
    ((name, schema),) = resolution.schemas.items()
    path = str(Path(folder, f"{name}.parquet"))
    with ParquetFile(path) as file:
        row_groups = file.num_row_groups
    ends = np.linspace(0, row_groups, 1 + max(1, min(row_groups, count or row_groups)), dtype=int).tolist()
    with dask.config.set({"dataframe.convert-string": False}):  # which makes texts of lists
        return dd.from_map(
            _rows,
            [*pairwise(ends)],
            path=path,
            timezone=reader.timezone,
            meta=frame(schema.empty_table(), reader.timezone),
        )


def _rows(
    part: tuple[int, int], path: str, timezone: str | None, columns: list[str] | None = None
) -> pd.DataFrame:
    """Return some rows of a table that `read` has written; a worker does this."""
    try:
        with ParquetFile(path) as file:
            return frame(file.read_row_groups([*range(*part)], columns), timezone)
    except FileNotFoundError as error:
        raise SourceNotFound(
            f"{quoted_path(path)} is not there on {socket.gethostname()}: set Dask's temporary-directory to a folder"
            " that this process and all workers reach, before the archive is read; or the process that read it ended"
        ) from error
