"""Tables written from the workers of a cluster, a Parquet file of each table and partition."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from dask.delayed import Delayed

from osdi_frames.archive.names import is_address
from osdi_frames.archive.output import output_folder, remove, upload
from osdi_frames.archive.source import SIZE, Source
from osdi_frames.dask.graph import Request, graph, surveyed
from osdi_frames.files import Partition, write_tables
from osdi_frames.privacy import Pseudonyms
from osdi_frames.reading.frames import partitions as partitions_of
from osdi_frames.reading.selection import Selection
from osdi_frames.tables import table as declared


class Written(NamedTuple):
    """What a worker has written of one partition."""

    rows: dict[str, int]
    selection: Selection
    names: list[str]


def export(
    source: Source,
    destination: str | os.PathLike[str],
    request: Request,
    schemas: Mapping[str, pa.Schema],
    *,
    partitions: Mapping[str, Partition | None],
    pseudonyms: Pseudonyms | None,
    overwrite: bool,
) -> dict[str, int]:
    """Write tables from the workers; return the number of rows of each. See `osdi_frames.export`."""
    uploaded: set[str] = set()
    selection = request.plan().selection
    run = f"-{uuid.uuid4().hex[:8]}" if is_address(os.fspath(destination)) else ""
    output = output_folder(destination, kind="export", source=source, overwrite=overwrite, uploaded=uploaded)
    with output as folder:
        write = _Writing(str(destination) if run else folder, run, schemas, partitions, selection, pseudonyms)
        try:
            cut = partitions_of(source, size=SIZE, on_error=request.on_error, surveyed=surveyed)
            name = f"export-{uuid.uuid4().hex}"
            tasks = graph(name, request, cut, write)
            tasks[name, -1] = (list, [(name, number) for number in range(len(cut))])
            written: list[Written] = Delayed((name, -1), tasks).compute()
            for one in written:
                selection.add(one.selection)
            selection.refuse_unknown()
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
    schemas: Mapping[str, pa.Schema]
    partitions: Mapping[str, Partition | None]
    selection: Selection
    pseudonyms: Pseudonyms | None

    def __call__(self, rows: Iterable[tuple[str, pa.Table]], number: int) -> Written:
        selection = Selection(self.selection.filters, self.selection.left_out)
        chosen = [(name, some) for name, some in selection.chosen(rows) if some.num_rows]
        names = (
            self.schemas if number == 0 else {name for name, _ in chosen}
        )  # one without rows is a file, too
        schemas = {name: self.schemas[name] for name in names}
        pairs = (
            (name, self.pseudonyms.replace(some, declared(name)) if self.pseudonyms else some)
            for name, some in chosen
        )
        is_here, part = isinstance(self.place, Path), f"{number:05}{self.run}"
        with tempfile.TemporaryDirectory(prefix="osdi-frames-") as scratch:
            folder = Path(self.place if is_here else scratch)
            counts = write_tables(schemas, pairs, folder, "parquet", partitions=self.partitions, part=part)
            uploaded = [] if is_here else upload(folder, str(self.place))
        return Written(counts, selection, uploaded)
