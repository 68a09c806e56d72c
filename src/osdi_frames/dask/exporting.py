"""Tables written from the workers of a cluster, a Parquet file of each table and partition."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from dask.delayed import Delayed

from osdi_frames.archive import Source
from osdi_frames.archive.names import is_address
from osdi_frames.archive.output import output_folder, remove, upload
from osdi_frames.archive.partition import SIZE
from osdi_frames.dask.graph import Reading, graph, surveyed
from osdi_frames.files import Partition, write_tables
from osdi_frames.privacy.pseudonyms import Pseudonyms
from osdi_frames.reading.scan import partitions as partitions_of
from osdi_frames.reading.selection import Selection
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import Table


class Written(NamedTuple):
    """What a worker has written of one partition."""

    rows: dict[str, int]
    selection: Selection
    names: list[str]


def export(
    source: Source,
    destination: str | os.PathLike[str],
    reading: Reading,
    *,
    partitions: Mapping[str, Partition | None],
    selection: Selection,
    pseudonyms: Pseudonyms | None,
    overwrite: bool,
) -> dict[str, int]:
    """Write tables from the workers; return the number of rows of each. See `osdi_frames.export`."""
    uploaded: set[str] = set()
    run = f"-{uuid.uuid4().hex[:8]}" if is_address(os.fspath(destination)) else ""
    output = output_folder(destination, kind="export", source=source, overwrite=overwrite, uploaded=uploaded)
    with output as folder:
        write = partial(
            _write,
            place=str(destination) if run else folder,
            partitions=partitions,
            selection=selection,
            pseudonyms=pseudonyms,
            run=run,
        )
        try:
            cut = partitions_of(source, size=SIZE, on_error=reading.on_error, surveyed=surveyed)
            name = f"export-{uuid.uuid4().hex}"
            tasks = graph(name, reading, cut, write)
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
    return {table: sum(one.rows.get(table, 0) for one in written) for table in reading.tables}


def _write(
    rows: Iterable[tuple[str, pa.Table]],
    number: int,
    *,
    place: Path | str,
    partitions: Mapping[str, Partition | None],
    selection: Selection,
    pseudonyms: Pseudonyms | None,
    run: str,
) -> Written:
    """Write a partition to a folder that all workers reach, or an address; there `run` is in each file's name."""
    selection = Selection(selection.filters, selection.left_out)
    found: defaultdict[str, list[pa.Table]] = defaultdict(list)
    for name, some in selection.chosen(rows):
        if some.num_rows:
            found[name].append(some)
    names = partitions if number == 0 else found  # a table without rows is a file, too
    schemas = {name: (pseudonyms or Table).schema(declared(name)) for name in names}
    pairs = (
        (name, pseudonyms.replace(some, declared(name)) if pseudonyms else some)
        for name, parts in found.items()
        for some in parts
    )
    with tempfile.TemporaryDirectory(prefix="osdi-frames-") as scratch:
        folder = place if isinstance(place, Path) else Path(scratch)
        part = f"{number:05}{run}"
        counts = write_tables(schemas, pairs, folder, "parquet", partitions=partitions, part=part)
        uploaded = [] if isinstance(place, Path) else upload(folder, place)
    return Written(counts, selection, uploaded)
