"""Tables written from the workers of a cluster, a Parquet file of each table and partition."""

from __future__ import annotations

import os
import tempfile
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from dask.delayed import Delayed

from osdi_frames.dask.graph import graph, partition_count, surveyed
from osdi_frames.output.exporting import ExportRequest
from osdi_frames.output.files import FileForm, write_tables
from osdi_frames.output.folder import output_folder, remove, upload
from osdi_frames.reader import Reader
from osdi_frames.resolving.resolution import Request, Rows
from osdi_frames.sources.files import is_address
from osdi_frames.sources.partitions import SIZE


class Written(NamedTuple):
    """What a worker has written of one partition."""

    rows: dict[str, int]
    names: list[str]


def export(
    archive: Reader,
    destination: str | os.PathLike[str],
    request: Request,
    wanted: ExportRequest,
    *,
    overwrite: bool,
) -> dict[str, int]:
    """Write tables from the workers; see `Archive.export`.

    Returns the number of rows of each.
    """
    uploaded: set[str] = set()
    run = f"-{uuid.uuid4().hex[:8]}" if is_address(os.fspath(destination)) else ""
    output = output_folder(
        destination, kind="export", source=archive.source, overwrite=overwrite, uploaded=uploaded
    )
    with output as folder:
        write = _Writing(str(destination) if run else folder, run, wanted)
        try:
            parts = replace(archive, filters={}).partitions(size=SIZE, surveyed=surveyed)
            name = f"export-{uuid.uuid4().hex}"
            tasks = graph(name, request, parts, write)
            tasks[name, -1] = (list, [(name, number) for number in range(partition_count(request, parts))])
            written: list[Written] = Delayed((name, -1), tasks).compute()
        except BaseException:
            if run:
                remove(str(destination), run)
            raise
        uploaded.update(file for one in written for file in one.names)
    return {table: sum(one.rows.get(table, 0) for one in written) for table in request.tables}


@dataclass(frozen=True, slots=True)
class _Writing:
    """What a worker does with each partition."""

    place: Path | str
    """A folder that all workers reach, or an address, where `run` is in the name of each file."""
    run: str
    wanted: ExportRequest

    def __call__(self, rows: Rows, number: int) -> Written:
        chosen = [(name, some) for name, some in rows if some.num_rows]
        # The first writes a file of each table, also of one without rows.
        names = self.wanted.schemas if number == 0 else {name for name, _ in chosen}
        schemas = {name: self.wanted.schemas[name] for name in names}
        is_here, part = isinstance(self.place, Path), f"{number:05}{self.run}"
        with tempfile.TemporaryDirectory(prefix="osdi-frames-") as scratch:
            folder = Path(self.place if is_here else scratch)
            replaced = self.wanted.replaced(iter(chosen))
            counts = write_tables(
                schemas, replaced, folder, FileForm(), partitions=self.wanted.partitions, part=part
            )
            uploaded = [] if is_here else upload(folder, str(self.place))
        return Written(counts, uploaded)
