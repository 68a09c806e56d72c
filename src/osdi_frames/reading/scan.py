"""An archive read as one table: a stream of Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from osdi_frames import archive
from osdi_frames.archive import Chunk, Source
from osdi_frames.problems import Finding, OnError, Place, Policy, Problem
from osdi_frames.reading.documents import Element, Other
from osdi_frames.reading.plan import Dedupe, Plan
from osdi_frames.reading.stream import Observer, stream


def scan(
    source: Source,
    table: str,
    *,
    columns: Iterable[str] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
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
    plan = Plan.of({table: columns}, prefix=prefix, dedupe=dedupe)
    policy = Policy(on_error)
    chunks = archive.read(source, policy.meet, progress=progress)
    return pa.RecordBatchReader.from_batches(plan.asked[table].schema, _batches(plan, chunks, policy))


def _batches(plan: Plan, chunks: Iterator[Chunk], policy: Policy) -> Iterator[pa.RecordBatch]:
    for _, rows in stream(plan, chunks, Policed(policy)):
        yield from rows.to_batches()
    policy.close()


@dataclass(frozen=True, slots=True)
class Policed(Observer):
    """Leaves problems to a policy."""

    policy: Policy

    def met(self, place: Place, what: Finding | Other, element: Element | None) -> None:
        """Stop at a problem, or count it."""
        if isinstance(what, Finding):
            self.policy.meet(Problem.at(place, what))
