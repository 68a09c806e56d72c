"""Tables written to Parquet, CSV or Excel: streamed, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal, Unpack

import pyarrow as pa

from osdi_frames.archive.limits import Limits
from osdi_frames.archive.output import output_folder
from osdi_frames.archive.source import Source
from osdi_frames.errors import InvalidArgument, UnknownColumn, nearest
from osdi_frames.files import Format, Partition, write_tables
from osdi_frames.privacy import Drop, Key, Pseudonyms
from osdi_frames.problems import OnError, Policy
from osdi_frames.reading.plan import Dedupe, Plan, named_tables
from osdi_frames.reading.selection import Filters
from osdi_frames.reading.stream import Observer, scan_tables
from osdi_frames.tables import main_table
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import Table


def export(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    tables: Iterable[str] | None = None,
    format: Format = "parquet",  # noqa: A002 (the word that pandas users know)
    partition_by: str | Literal["month"] | None = None,
    pseudonymize: Key | None = None,
    drop: Drop | None = None,
    coordinate_decimals: int = 1,
    postal_characters: int = 3,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    limits: Limits | None = None,
    overwrite: bool = False,
    engine: Literal["dask"] | None = None,
    escape_formulas: bool = True,
    bom: bool = False,
    progress: bool | None = None,
    **filters: Unpack[Filters],
) -> dict[str, int]:
    """Write tables of an archive into a folder: ``events.parquet``, ``signatures.parquet`` and so on.

    The folder appears whole at the end, or not at all: an export that is killed leaves an old one as it
    was. All tables are read in one pass and streamed, so the archive may be larger than memory. The files are
    readable by their owner only (a folder that exists keeps its mode), and listed in a manifest,
    ``.osdi-frames.json``.

    Parameters
    ----------
    source
        As for `read_table`.
    destination
        The folder to make, or an address, as ``s3://bucket/tables``: there the files are uploaded at the end,
        and the manifest last.
    tables
        The tables to write; all when not given.
    format
        ``"parquet"`` (zstd; fields carry their meaning and privacy class, the schema its version), ``"csv"``
        or ``"xlsx"`` (extra ``excel``; see `write_excel`).
    partition_by
        A column: a folder ``by_column=value`` for each value, in which the column itself stays; or
        ``"month"``: a folder ``month=2026-05`` for each month of an event's `start_date` or a signature's
        `created_date`. A table without the column is one file all the same.
    pseudonymize, drop, coordinate_decimals, postal_characters
        Replace what identifies a person by pseudonyms with this key, or drop it: as `pseudonymize` does.
    prefix, dedupe, on_error, limits, progress
        As for `read_table`.
    overwrite
        Replace an earlier export at `destination`. It is refused if the folder contains anything that
        osdi-frames did not write, or a file that was changed since.
    engine
        ``"dask"`` (extra ``dask``): the workers of the current Dask cluster read and write, each table into a
        folder with a Parquet file of each partition; `destination` is an address, or a folder that they all reach.
    escape_formulas
        CSV: write an apostrophe before a text that a spreadsheet would run as a formula: one that begins
        with ``= + - @`` (also fullwidth, also after blanks), tab, return or line feed.
    bom
        CSV: begin with a byte-order mark, by which Excel knows that the file is UTF-8.
    **filters
        What to write, with the rows of its child tables; elements of other types are all written:

        - since, until: a year, month, day or time, as ``"2026-05"``, the last one included; by the start_date
          of events (wall clock) and the created_date of signatures and attendances (UTC). What has no date
          is left out.
        - petition, campaign, status: an id or status, or a list of them; of signatures and petitions, of
          events and event campaigns, and of events.

    Returns
    -------
    dict
        The number of rows of each table.

    Raises
    ------
    DestinationExists
        Something is at `destination` and `overwrite` was not given, or it is not an unchanged export, or
        `destination` is, holds or lies in the source. Nothing was overwritten.
    InvalidArgument
        An unknown format, or one that cannot be partitioned; a key for pseudonyms of less than 32 bytes.
    UnknownTable, UnknownColumn, SourceNotFound, BadDocument
        As for `read_table`.
    UnknownValue
        A petition, campaign or status to filter by occurs nowhere; nothing was written.

    Examples
    --------
    >>> import osdi_frames as of, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     of.export({"title": "March", "total_accepted": 3}, f"{folder}/out", tables=["events"])
    {'events': 1}
    """
    chosen = {name: declared(name) for name in named_tables(tables)}
    pseudonyms = Pseudonyms.of(
        pseudonymize, drop, coordinate_decimals=coordinate_decimals, postal_characters=postal_characters
    )
    schemas = {name: (pseudonyms or Table).schema(table) for name, table in chosen.items()}
    partitions = _partitions(chosen.values(), schemas, partition_by)
    columns = {name: schema.names for name, schema in schemas.items()}
    if engine is not None:
        if engine != "dask" or format != "parquet":
            raise InvalidArgument("engine is None or 'dask', and that writes Parquet")
        from osdi_frames.dask import export as export_by_workers  # an extra
        from osdi_frames.dask.graph import Request

        return export_by_workers(
            source,
            destination,
            Request(columns, filters, prefix=prefix, dedupe=dedupe, on_error=on_error, limits=limits),
            schemas,
            partitions=partitions,
            pseudonyms=pseudonyms,
            overwrite=overwrite,
        )
    plan = Plan.of(columns, prefix=prefix, dedupe=dedupe, filters=filters)
    rows = scan_tables(source, plan, Observer(Policy(on_error)), limits=limits, progress=progress)
    if pseudonyms:
        rows = ((name, pseudonyms.replace(some, chosen[name])) for name, some in rows)
    with output_folder(destination, kind="export", source=source, overwrite=overwrite) as folder:
        return write_tables(
            schemas, rows, folder, format, partitions=partitions, escape_formulas=escape_formulas, bom=bom
        )


def _partitions(
    tables: Iterable[Table], schemas: Mapping[str, pa.Schema], by: str | None
) -> dict[str, Partition | None]:
    """Return how each table is partitioned; one without the column, or for a month a child table, is not."""
    found: dict[str, Partition | None] = {}
    for table in tables:
        column = by
        if by == "month":
            column = table.element.month if table == main_table(table.element) else None
        is_there = column in schemas[table.name].names
        found[table.name] = Partition(str(column), by_month=by == "month") if is_there else None
    if by not in (None, "month") and not any(found.values()):
        names = {name for schema in schemas.values() for name in schema.names}
        hint = nearest(str(by), sorted(names))
        raise UnknownColumn(f"partition by month or by a column; {by!r} is none; {hint}")
    return found
