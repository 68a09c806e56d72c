"""An archive read as one table: a stream of Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from osdi_frames import archive
from osdi_frames.archive import Chunk, Limits, Source
from osdi_frames.problems import Finding, OnError, Place, Policy, Problem
from osdi_frames.reading.documents import Element, Other
from osdi_frames.reading.plan import Columns, Dedupe, Plan
from osdi_frames.reading.selection import Selection
from osdi_frames.reading.stream import Observer, stream


def scan(
    source: Source,
    table: str,
    *,
    columns: Iterable[str] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
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
    schema = Plan.of({table: columns}).asked[table].schema
    rows = scan_tables(
        source,
        {table: columns},
        prefix=prefix,
        dedupe=dedupe,
        on_error=on_error,
        limits=limits,
        progress=progress,
    )
    return pa.RecordBatchReader.from_batches(
        schema, (batch for _, each in rows for batch in each.to_batches())
    )


def scan_tables(
    source: Source,
    tables: Mapping[str, Columns],
    *,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    limits: Limits | None = None,
    progress: bool | None = None,
    selection: Selection | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """Read several tables of an archive in one pass, in bounded memory.

    Parameters and errors are those of `read_tables`; a `selection` leaves rows out.

    Returns
    -------
    iterator
        Pairs of a table's name and some of its rows; the rows of one table come in their order.
    """
    selection = selection or Selection()
    plan = Plan.of(tables, prefix=prefix, dedupe=dedupe, selected_by=selection.columns)
    policy = Policy(on_error)
    chunks = archive.read(source, policy.meet, limits=limits, progress=progress)
    return _rows(plan, chunks, policy, selection)


def _rows(
    plan: Plan, chunks: Iterator[Chunk], policy: Policy, selection: Selection
) -> Iterator[tuple[str, pa.Table]]:
    yield from selection.kept(stream(plan, chunks, Policed(policy)))
    policy.close()


@dataclass(frozen=True, slots=True)
class Policed(Observer):
    """Leaves problems to a policy."""

    policy: Policy

    def met(self, place: Place, what: Finding | Other, element: Element | None) -> None:  # noqa: ARG002 (as declared)
        """Stop at a problem, or count it."""
        if isinstance(what, Finding):
            self.policy.meet(Problem.at(place, what))
