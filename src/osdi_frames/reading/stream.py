"""The one pass: groups of documents to the rows of every table that a plan asks for."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from osdi_frames.archive.layout import Chunk, split
from osdi_frames.archive.limits import Limits
from osdi_frames.archive.source import Partition, Source
from osdi_frames.archive.source import read as candidates
from osdi_frames.archive.streams import ahead
from osdi_frames.errors import SourceWarning, counted, printable
from osdi_frames.problems import Finding, Policy, Problem, ProblemKind, named, warn_caller
from osdi_frames.reading.dedupe import ELEMENT, Deduplication
from osdi_frames.reading.documents import Element, elements
from osdi_frames.reading.engine import Engine, engine
from osdi_frames.reading.group import Reading, grouped, read
from osdi_frames.reading.plan import Plan, Select
from osdi_frames.tables import main_table
from osdi_frames.tables.schema import ElementType

_FIRST = 10  # documents that are looked at where a reading finds nothing
_MOST_CORES = 4  # a group on each: they need up to 120 MB each

ByType = dict[ElementType, Deduplication]


@dataclass(slots=True)
class Observer:
    """Takes notice of what a reading meets in addition to rows."""

    policy: Policy | None
    """What to do with problems, if anything."""
    elements: Counter[str] = field(default_factory=Counter)
    """How often each type was received."""
    kept: Counter[str] = field(default_factory=Counter)
    """How many different ones these are, where they are deduplicated."""
    quarantines: list[str] = field(default_factory=list)
    """The folders of bodies that no reader reads."""
    first: list[bytes] = field(default_factory=list)
    others: dict[str, None] = field(default_factory=dict)
    """What was met that no table declares, in words."""

    def watched(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks as they are."""
        for chunk in chunks:
            self.first.extend(chunk.documents[: _FIRST - len(self.first)].to_pylist())
            yield chunk

    def handle(self, problem: Problem) -> None:
        """Take notice of a problem."""
        if self.policy:
            self.policy.handle(problem)

    def see(self, reading: Reading) -> None:
        """Take notice of what was read of a group."""
        for place, finding, _ in reading.met:
            self.handle(Problem.at(place, finding))
            self.others |= _called(finding)
        self.elements.update(reading.elements)

    def quarantined(self) -> Iterator[tuple[str, int]]:
        """Yield the folders of bodies that no reader reads, with how many there are."""
        for folder in self.quarantines:
            chunks = candidates(folder, lambda _: None, progress=False)
            if bodies := sum(len(chunk.documents) for chunk in chunks):
                yield printable(folder), bodies

    def end(self, plan: Plan, *, whole: bool) -> None:
        """Warn of what was skipped; of a whole source also where nothing was found, or where bodies are not read."""
        if self.policy:
            self.policy.close()
            if whole and not self.elements.total() and not self.policy.passed_over:
                _warn_of_others(plan, self.first, self.others)
        for folder, bodies in self.quarantined() if whole else ():
            what = counted(bodies, "body that is no delivery", "bodies that are no deliveries")
            warn_caller(f"{folder} holds {what}, not read", SourceWarning)


def _called(finding: Finding) -> dict[str, None]:
    """Return as a key what something is called that no table declares; nothing of an empty page."""
    if finding.problem is ProblemKind.OTHER_TYPE:
        return {named(finding.key): None}
    is_empty = finding.problem is not ProblemKind.NO_ELEMENTS or finding.severity == "info"
    return {} if is_empty else {"objects without elements": None}


def _warn_of_others(plan: Plan, documents: list[bytes], others: dict[str, None]) -> None:
    """Warn that nothing was found of what was asked for, and say what there is."""
    declared: dict[str, str] = {}
    others = dict(itertools.islice(others.items(), _FIRST))
    for _, parsed in itertools.chain.from_iterable(map(split, documents)):
        for part in () if isinstance(parsed, Finding) else elements(parsed, plan.prefixes):
            if isinstance(part, Element):
                declared[part.type.name] = f"read_table(source, {main_table(part.type).name!r})"
            else:
                others |= _called(part)
    held = f"{', '.join(others)}, which no table declares; osdi_frames.check lists all"
    if declared:
        held = f"{', '.join(declared)} elements, which {', '.join(declared.values())} reads"
    if declared or others:
        nothing = " and no ".join(element.name for element in plan.selects)
        warn_caller(f"no {nothing} was found; the source holds {held}", SourceWarning)


def scan_tables(
    source: Source,
    plan: Plan,
    observer: Observer,
    *,
    limits: Limits | None = None,
    progress: bool | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """Read the tables of a plan in one pass, in bounded memory: pairs of a table's name and some of its rows.

    The rows of one table come in their order; those of elements that are deduplicated when all has been read.
    Errors are those of `read_tables`.
    """
    found = candidates(
        source, observer.handle, limits=limits, progress=progress, quarantines=observer.quarantines
    )

    def rows() -> Iterator[tuple[str, pa.Table]]:
        with engine() as lent:
            pairs = _read(plan, observer.watched(found), observer, _dedupe(plan, lent), cores=_cores())
            given = ((select.table.name, select.given(some)) for select, some in pairs)
            yield from plan.selection.chosen(given)
            lent.release()
        plan.selection.refuse_unknown()
        observer.end(plan, whole=not isinstance(source, Partition))

    return rows()


def read_partition(
    plan: Plan, number: int, chunks: Iterable[Chunk], observer: Observer
) -> tuple[dict[str, list[pa.Table]], dict[ElementType, pa.Table]]:
    """Return the rows of a partition by table, with the numbers of their elements, and the keys for `superseded`."""
    tables: dict[str, list[pa.Table]] = {name: [] for name in plan.schemas}
    with engine() as lent:
        dedupe = _dedupe(plan, lent)
        for select, rows in _read(plan, chunks, observer, dedupe, cores=1):
            tables[select.table.name].append(rows)
        return tables, {element: kept.keys(number) for element, kept in dedupe.items()}


def _dedupe(plan: Plan, lent: Engine) -> ByType:
    return {element: Deduplication(element, by, lent) for element, by in plan.identities.items() if by}


def _read(
    plan: Plan, chunks: Iterable[Chunk], observer: Observer, dedupe: ByType, *, cores: int
) -> Iterator[tuple[Select, pa.Table]]:
    """Yield the rows of every table asked for, with the number of their element."""
    one, groups = partial(read, plan), grouped(chunks)
    for reading in (result() for result in ahead(one, groups, cores)) if cores > 1 else map(one, groups):
        observer.see(reading)
        for select, rows in reading.rows:
            kept = dedupe.get(select.table.element)
            if kept and not select.table.rows:
                kept.see(rows)
            if select.schema is None:
                continue
            found = rows.select([*select.schema.names, ELEMENT])
            if kept:
                kept.wait(select, found)
            else:
                yield select, found
    for element, deduplication in dedupe.items():
        newest = deduplication.kept()
        observer.kept[element.name] = len(newest)
        yield from deduplication.rows(newest)


def _cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_CORES)
