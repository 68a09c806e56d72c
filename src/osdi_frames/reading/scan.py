"""An archive read as one table: a stream of Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from osdi_frames.archive.limits import Limits
from osdi_frames.archive.source import SIZE, Map, Partition, Source, cut
from osdi_frames.errors import InvalidArgument
from osdi_frames.problems import OnError, Policy
from osdi_frames.reading.plan import Dedupe, Plan
from osdi_frames.reading.stream import Observer, scan_tables


def scan(
    source: Source,
    table: str,
    *,
    columns: Iterable[str] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    include: Iterable[str] | None = None,
    limits: Limits | None = None,
    progress: bool | None = None,
) -> pa.RecordBatchReader:
    """Read an archive as one table: a stream of record batches in bounded memory.

    polars, DuckDB and pyarrow take the reader as it is. With `dedupe` the first batch comes when all has
    been read: the rows wait in a temporary file until it is known which of them are kept. Parameters and
    errors are those of `read_table`; a BadDocument comes while reading.

    Returns
    -------
    pyarrow.RecordBatchReader
        Its schema carries the meaning of each column.

    Examples
    --------
    >>> import osdi_frames as of
    >>> page = {"_embedded": {"osdi:events": [{"title": "March", "total_accepted": 12}]}}
    >>> of.scan(page, "events", columns=["title", "total_accepted"]).read_all().to_pylist()
    [{'title': 'March', 'total_accepted': 12}]
    """
    plan = Plan.of({table: columns}, prefix=prefix, dedupe=dedupe, include=include)
    rows = scan_tables(source, plan, Observer(Policy(on_error)), limits=limits, progress=progress)
    batches = (batch for _, some in rows for batch in some.to_batches())
    return pa.RecordBatchReader.from_batches(plan.schemas[table], batches)


def partitions(
    source: Source,
    *,
    count: int | None = None,
    size: int = SIZE,
    on_error: OnError = "raise",
    surveyed: Map | None = None,
) -> list[Partition]:
    r"""Cut an archive into partitions, to read it in several processes or on several machines.

    A partition is a source of every reader. It holds names and offsets, no documents, and can be pickled; the
    process that reads it has to reach the files under the same names. The rows of all partitions, one after the
    other, are those of the archive, in the same order, with the same file and line; only that elements are
    deduplicated within each. `osdi_frames.dask` deduplicates over all of them.

    Large files are cut between documents, which takes one pass over them; large zips between their members.
    Compressed files, tars, and what comes by ``https://`` are read whole.

    Parameters
    ----------
    source
        A path, an address, or a list of these, as for `read_table`.
    count
        How many partitions to make; fewer where there are fewer documents, or files that cannot be cut.
    size
        The bytes of a partition where `count` is not given; what is compressed counts eightfold.
    on_error
        What to do with problems of the listing, as for `read_table`.
    surveyed
        What does as `map` does, to look through large files elsewhere than in threads: on a cluster.

    Returns
    -------
    list
        Partitions, in the order in which the archive is read.

    Raises
    ------
    SourceNotFound
        There is nothing at a path.
    InvalidSource
        The source is an open file or parsed objects, which other processes do not have.

    Examples
    --------
    >>> import osdi_frames as of, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.ndjson").write_text('{"title": "March", "total_accepted": 1}\n' * 9)
    ...     cut = of.partitions(folder, count=3)
    ...     len(cut), sum(len(of.read_events(part, dedupe=False)) for part in cut)
    (3, 9)
    """
    if (count is not None and count < 1) or size < 1:
        raise InvalidArgument("count and size are at least 1")
    policy = Policy(on_error)
    found = cut(source, policy.handle, count=count, size=size, surveyed=surveyed)
    policy.close()
    return found
