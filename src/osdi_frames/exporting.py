"""Tables written to Parquet or CSV: streamed, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal

from osdi_frames.archive import Source
from osdi_frames.errors import UnknownColumn, nearest
from osdi_frames.files import Format, Partition, whole_folder, write_batches
from osdi_frames.problems import OnError
from osdi_frames.reading.plan import Dedupe
from osdi_frames.reading.scan import scan
from osdi_frames.tables import TABLES
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import Table

#: The column of which ``partition_by="month"`` takes the month.
_MONTH_OF = {"events": "start_date", "signatures": "created_date"}


def export(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    tables: Iterable[str] | None = None,
    format: Format = "parquet",  # noqa: A002 (the word that pandas users know)
    partition_by: str | Literal["month"] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    overwrite: bool = False,
    formulas: bool = False,
    progress: bool | None = None,
) -> dict[str, int]:
    """Write tables of an archive into a folder: ``events.parquet``, ``signatures.parquet`` and so on.

    The folder appears whole at the end, or not at all: an export that is killed leaves an old one as it
    was. Batches are streamed, so the archive may be larger than memory.

    Parameters
    ----------
    source
        As for `read_table`.
    destination
        The folder to make.
    tables
        The tables to write; all when not given.
    format
        ``"parquet"`` (zstd; fields carry their meaning, the schema its version) or ``"csv"``.
    partition_by
        A column: a folder ``by_column=value`` for each value, in which the column itself stays; or
        ``"month"``: a folder ``month=2026-05`` for each month of an event's `start_date` or a signature's
        `created_date`. A table without the column is one file all the same.
    prefix, dedupe, on_error, progress
        As for `read_table`.
    overwrite
        Replace an earlier export at `destination`.
    formulas
        Leave the texts of CSV as they are. By default one that begins with ``= + - @``, tab or return gets
        an apostrophe before it, so that no spreadsheet takes it for a formula.

    Returns
    -------
    dict
        The number of rows of each table.

    Raises
    ------
    DestinationExists
        Something is at `destination`, and `overwrite` was not given, or it is no earlier export.
    UnknownTable, UnknownColumn, SourceNotFound, BadDocument
        As for `read_table`.

    Examples
    --------
    >>> import osdi_frames as of, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     of.export({"title": "March", "total_accepted": 3}, f"{folder}/out", tables=["events"])
    {'events': 1}
    """
    if isinstance(tables, str):
        raise TypeError(f"tables is a list of names: tables=[{tables!r}]")
    chosen = [declared(name) for name in (TABLES if tables is None else dict.fromkeys(tables))]
    partitions = {table.name: partition for table, partition in _partitioned(chosen, partition_by)}
    counts = {}
    with whole_folder(destination, names=TABLES, overwrite=overwrite) as folder:
        for name, partition in partitions.items():
            batches = scan(source, name, prefix=prefix, dedupe=dedupe, on_error=on_error, progress=progress)
            counts[name] = write_batches(
                batches, folder / name, format, partition=partition, formulas=formulas
            )
    return counts


def _partitioned(tables: Sequence[Table], by: str | None) -> Iterable[tuple[Table, Partition | None]]:
    """Say how each table is partitioned; one without the column is not."""
    if by == "month":
        yield from ((table, _month(table)) for table in tables)
        return
    declaring = {table.name for table in tables if any(column.name == by for column in table.columns)}
    if by is not None and not declaring:
        names = {column.name for table in tables for column in table.columns}
        raise UnknownColumn(
            f"partition by month or by a column; {by!r} is none; {nearest(by, sorted(names))}"
        )
    yield from ((table, Partition(str(by)) if table.name in declaring else None) for table in tables)


def _month(table: Table) -> Partition | None:
    column = _MONTH_OF.get(table.name)
    return Partition(column, by_month=True) if column else None
