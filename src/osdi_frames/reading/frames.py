"""What users call to read an archive: its tables as DataFrames or as a stream, and its partitions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pandas as pd
import pyarrow as pa

from osdi_frames.archive.limits import Limits
from osdi_frames.archive.source import SIZE, Map, Partition, Source, cut
from osdi_frames.errors import InvalidArgument
from osdi_frames.problems import OnError, Policy
from osdi_frames.reading.interchange import frame
from osdi_frames.reading.plan import Dedupe, Plan, Tables
from osdi_frames.reading.stream import Observer, scan_tables


def read_table(
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
) -> pd.DataFrame:
    """Read any declared table from an archive.

    The columns and their dtypes are the same whatever rows come: `str`, `Int64`, `boolean`, `float64`,
    ``datetime64[us, UTC]``, ``datetime64[us]`` for wall clocks, and `object` for lists of text.

    Parameters
    ----------
    source
        A path or a list of paths (file, folder, pattern), an fsspec URL, an open binary file, parsed
        JSON (a page, a list of pages or of resources, a delivery), or a partition. Folders are read recursively,
        sorted by name. Parsed resources that do not say their type are of that of the table.
    table
        The name of a declared table; `describe` lists them.
    columns
        The columns to read, in the order wanted; all when not given. Others are not parsed.
    prefix
        The service's own prefix, in addition to ``platform`` and ``action_network``.
    dedupe
        True gives one row an event or signature: the newest. ``"message"`` collapses only the retries of
        a webhook message, False nothing.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` leaves a value that does not fit missing, passes
        over a document that cannot be read, and warns once with the count. `check` lists all.
    include
        None keeps everything. A list keeps what `report` counts, ``()`` by default: no test sends, cancelled
        or hidden events, but those of ``tests``, ``cancelled`` and ``hidden`` that it names.
    limits
        Bounds on the documents and on what is decompressed from one file; see `Limits`.
    progress
        A progress bar: None shows one on a terminal or in a notebook, and for long work only.

    Returns
    -------
    DataFrame
        One row a row of the table, numbered from 0.

    Raises
    ------
    UnknownTable, UnknownColumn
        With the names that are nearest.
    SourceNotFound
        There is nothing at a path.
    BadDocument
        With file, line, key and value.
    ServiceUnreachable
        The network failed, and did so again; whatever `on_error` says.

    Examples
    --------
    >>> import osdi_frames as of
    >>> delivery = [{"osdi:signature": {"add_tags": ["river", "new"]}, "idempotency_key": "5f"}]
    >>> of.read_table(delivery, "signature_tags", columns=["idempotency_key", "tag"])
      idempotency_key    tag
    0              5f  river
    1              5f    new
    """
    plan = Plan.of({table: columns}, prefix=prefix, dedupe=dedupe, include=include)
    return _read(source, plan, on_error, limits, progress)[table]


def read_events(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    include: Iterable[str] | None = None,
    limits: Limits | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Read the events of an archive, v2 and v1 in one frame (interface 2.1, 2.8).

    `start_date` and `end_date` are the wall clock at the place of the event, as the service means them,
    though it writes a Z. Parameters and errors are those of `read_table`.

    Returns
    -------
    DataFrame
        One row an event: the newest, by `modified_date`, then `fetched_at`, then the last read. What each
        column means: ``describe("events")``. The columns:

        event_id, identifiers, api_version, origin_system, created_date, modified_date, name, title,
        description, instructions, browser_url, featured_image_url, start_date, end_date, location_venue,
        location_address, location_locality, location_region, location_postal_code, location_country,
        location_latitude, location_longitude, location_accuracy, location_language, total_accepted,
        event_campaign_id, status, transparence, visibility, guests_can_invite_others, capacity, hidden,
        sponsor_title, sponsor_url, creator_id, organizer_id, self_url, attendances_url,
        record_attendance_url, event_campaign_url, embed_url, targeting_label, fetched_at, source_file,
        source_line.

    Examples
    --------
    >>> import osdi_frames as of
    >>> pull = {"title": "March", "start_date": "2026-05-01T18:00:00Z", "location": {"locality": "Oakland"}}
    >>> of.read_events(pull, columns=["title", "start_date", "location_locality"])
       title          start_date location_locality
    0  March 2026-05-01 18:00:00           Oakland
    """
    plan = Plan.of({"events": columns}, prefix=prefix, dedupe=dedupe, include=include)
    return _read(source, plan, on_error, limits, progress)["events"]


def read_signatures(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    include: Iterable[str] | None = None,
    limits: Limits | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Read the petition signatures of an archive: of webhook deliveries and API pages (interface 2.7).

    One signature is one row, however often its message was retried and however many webhooks delivered it.
    Parameters and errors are those of `read_table`.

    Returns
    -------
    DataFrame
        One row a signature: the newest, by `modified_date`, then `received_at`, then the last read. What
        each column means: ``describe("signatures")``. The columns:

        idempotency_key, element, signature_id, identifiers, petition_id, person_id, created_date,
        modified_date, comments, source, referrer, website, email_referrer, mobile_message_referrer,
        given_name, family_name, person_created_date, person_modified_date, email, email_status, phone,
        phone_type, phone_status, location_address, location_locality, location_region,
        location_postal_code, location_country, location_latitude, location_longitude,
        location_accuracy, languages_spoken, add_tags, custom_fields, sponsor_title, sponsor_url,
        self_url, person_url, petition_url, received_at, fetched_at, source_file, source_line.

    Examples
    --------
    >>> import osdi_frames as of
    >>> signed = {"osdi:signature": {"platform:referrer_data": {"source": "email"}, "add_tags": ["river"]}}
    >>> of.read_signatures([signed], columns=["source", "add_tags"])
      source add_tags
    0  email  [river]
    """
    plan = Plan.of({"signatures": columns}, prefix=prefix, dedupe=dedupe, include=include)
    return _read(source, plan, on_error, limits, progress)["signatures"]


def read_tables(
    source: Source,
    tables: Tables = None,
    *,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    include: Iterable[str] | None = None,
    limits: Limits | None = None,
    progress: bool | None = None,
) -> dict[str, pd.DataFrame]:
    """Read several tables of an archive in one pass.

    Each file is opened and each document parsed once, however many tables are read. Other parameters and errors
    are those of `read_table`.

    Parameters
    ----------
    tables
        Names of tables, or a mapping of these to the columns to read (None for all of them); every
        declared table when not given.

    Returns
    -------
    dict
        A DataFrame by the name of each table, as `read_table` returns it.

    Examples
    --------
    >>> import osdi_frames as of
    >>> delivery = [{"osdi:signature": {"comments": "Yes!", "add_tags": ["river"]}, "idempotency_key": "5f"}]
    >>> frames = of.read_tables(delivery, {"signatures": ["comments"], "signature_tags": ["tag"]})
    >>> frames["signature_tags"]
         tag
    0  river
    """
    plan = Plan.of(tables, prefix=prefix, dedupe=dedupe, include=include)
    return _read(source, plan, on_error, limits, progress)


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


def _read(
    source: Source, plan: Plan, on_error: OnError, limits: Limits | None, progress: bool | None
) -> dict[str, pd.DataFrame]:
    rows = scan_tables(source, plan, Observer(Policy(on_error)), limits=limits, progress=progress)
    return collect(plan, rows)


def collect(
    plan: Plan,
    rows: Iterable[tuple[str, pa.Table]],
    *,
    condense: Callable[[pa.Table], pa.Table] | None = None,
) -> dict[str, pd.DataFrame]:
    """Put the rows of the tables of a plan together, as DataFrames; `condense` makes them smaller, some at a time."""
    parts: dict[str, list[pa.Table]] = {name: [] for name in plan.schemas}
    empty = ((name, schema.empty_table()) for name, schema in plan.schemas.items())
    for name, some in itertools.chain(empty, rows):
        parts[name].append(condense(some) if condense else some)
    return {name: frame(pa.concat_tables(parts.pop(name))) for name in plan.schemas}
