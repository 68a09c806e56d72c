"""The tables of an archive as Dask DataFrames: for archives that one machine does not carry (extra ``dask``).

The columns, their dtypes and the rows are those of the readers of the same names in `osdi_frames`; so are the rules,
also that of one event or signature, one row, over all partitions.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from osdi_frames.archive.limits import Limits
from osdi_frames.archive.source import SIZE, Source
from osdi_frames.errors import MissingExtra
from osdi_frames.problems import OnError
from osdi_frames.reading.frames import partitions
from osdi_frames.reading.plan import Dedupe

try:
    from dask.dataframe.dask_expr import new_collection

    from osdi_frames.dask.exporting import export
    from osdi_frames.dask.graph import ReadTable, Request, surveyed
except ImportError as error:
    raise MissingExtra.named("dask") from error

if TYPE_CHECKING:
    import dask.dataframe as dd

__all__ = ["export", "read_events", "read_signatures", "read_table"]


def read_table(
    source: Source,
    table: str,
    *,
    columns: Iterable[str] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    limits: Limits | None = None,
    npartitions: int | None = None,
    blocksize: int = SIZE,
) -> dd.DataFrame:
    """Read any declared table of an archive as a Dask DataFrame.

    The archive is listed and cut now, and read when something is computed: a partition by each thread of a worker,
    with one thread of the database. Columns that are not used are not parsed: ``table[["title"]]`` reads as
    ``columns=["title"]`` does. With `dedupe` the workers exchange a few bytes of each element; rows stay where they
    were read, in the order of the archive, until it is known which of them are kept.

    Parameters
    ----------
    source
        A path, an fsspec address, or a list of these, under names by which each worker reaches the files.
    table, columns, prefix, dedupe, limits
        As for `osdi_frames.read_table`.
    on_error
        As for `osdi_frames.read_table`; with ``"skip"`` there is a warning for each partition with problems.
    npartitions
        How many partitions to make; fewer where there are fewer documents, or files that cannot be cut.
    blocksize
        The bytes of a partition where `npartitions` is not given; what is compressed counts eightfold.

    Returns
    -------
    dask.dataframe.DataFrame
        The rows and dtypes of `osdi_frames.read_table`, lists as lists. The rows of each partition are numbered
        from 0.

    Raises
    ------
    UnknownTable, UnknownColumn, SourceNotFound
        As for `osdi_frames.read_table`; BadDocument when something is computed.
    InvalidSource
        The source is an open file or parsed objects, which workers do not have.
    MissingExtra
        Dask is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.json").write_text('{"title": "March", "total_accepted": 12}')
    ...     read_table(folder, "events", columns=["title", "total_accepted"]).compute()
       title  total_accepted
    0  March              12
    """
    chosen = None if columns is None else tuple(dict.fromkeys(columns))
    request = Request({table: chosen}, {}, prefix=prefix, dedupe=dedupe, on_error=on_error, limits=limits)
    request.plan()  # refuses unknown names
    cut = partitions(source, count=npartitions, size=blocksize, on_error=on_error, surveyed=surveyed)
    found: dd.DataFrame = new_collection(ReadTable(cut, request, uuid.uuid4().hex))
    return found


def read_events(source: Source, **options: Any) -> dd.DataFrame:
    """Read the events of an archive; see `read_table` and `osdi_frames.read_events`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.json").write_text('{"title": "March", "total_accepted": 12}')
    ...     int(read_events(folder)["total_accepted"].sum().compute())
    12
    """
    return read_table(source, "events", **options)


def read_signatures(source: Source, **options: Any) -> dd.DataFrame:
    """Read the petition signatures of an archive; see `read_table` and `osdi_frames.read_signatures`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = '[{"osdi:signature": {"add_tags": ["river"]}, "idempotency_key": "5f"}]'
    ...     _ = pathlib.Path(folder, "a.json").write_text(text)
    ...     read_signatures(folder, columns=["idempotency_key", "add_tags"]).compute()
      idempotency_key add_tags
    0              5f  [river]
    """
    return read_table(source, "signatures", **options)
