"""The pass over a source: parse its documents group by group, and observe their problems and counts."""

from __future__ import annotations

import itertools
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.errors import SourceWarning
from osdi_frames.messages import counted, listed, printable, quoted, quoted_path
from osdi_frames.parsing.documents import Element, elements
from osdi_frames.parsing.group import GroupResult, grouped, read_group
from osdi_frames.parsing.listings import Incomplete, Listings
from osdi_frames.parsing.plan import ELEMENT, POSITIONS, Plan
from osdi_frames.problems import Finding, Policy, Problem, ProblemKind, warn_caller
from osdi_frames.sources.files import requeued_numbers
from osdi_frames.sources.layout import Chunk, split
from osdi_frames.sources.source import read as candidates
from osdi_frames.sources.streams import ahead
from osdi_frames.tables import main_table
from osdi_frames.tables.schema import ElementType

#: The number of documents that show the types of a source, if it is too large to read or no asked type is in it.
FIRST_DOCUMENTS = 10
_MOST_CORES = 4  # each parses a group at a time, which takes up to 120 MB


@dataclass(slots=True)
class Observer:
    """Collects the problems and counts of a pass."""

    policy: Policy | None
    """What to do with problems; None ignores them."""
    elements: Counter[str] = field(default_factory=Counter)
    """The number of elements received, by type."""
    quarantines: list[str] = field(default_factory=list)
    """The folders of quarantined bodies, which no pass reads."""
    first: list[bytes] = field(default_factory=list)
    """The first documents."""
    others: dict[str, None] = field(default_factory=dict)
    """The names of types and collections that no table declares, as ordered keys."""
    listings: Listings = field(default_factory=Listings)
    incomplete: list[Incomplete] = field(default_factory=list)
    """The collections whose totals exceed their records in the whole source; set at the end of a pass."""

    def watched(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks unchanged, and keep their first documents."""
        for chunk in chunks:
            self.first.extend(chunk.documents[: FIRST_DOCUMENTS - len(self.first)].to_pylist())
            yield chunk

    def handle(self, problem: Problem, count: int = 1) -> None:
        """Apply the policy to a problem."""
        if self.policy:
            self.policy.handle(problem, count)

    def see(self, result: GroupResult) -> None:
        """Add the problems and counts of a group."""
        for occurrences in result.findings:
            self.handle(Problem.at(occurrences.place, occurrences.finding), occurrences.count)
            self.others |= _undeclared_name(occurrences.finding)
        self.elements.update(result.elements)
        if result.pages:
            self.listings.add(result.pages, result.rows)

    def lacks(self, plan: Plan) -> bool:
        """Whether no element of the planned types was received."""
        return bool(plan.types) and not any(self.elements[element.name] for element in plan.types)

    def quarantined(self) -> Iterator[tuple[str, int]]:
        """Yield each folder with quarantined bodies, and their number."""
        for folder in self.quarantines:
            chunks = candidates(folder, lambda _: None, progress=False)
            bodies = sum(len(chunk.documents) for chunk in chunks) - len(requeued_numbers(folder))
            if bodies > 0:
                yield printable(folder), bodies

    def end(self, plan: Plan, *, whole: bool) -> None:
        """Warn of skipped problems; of a whole source also if it lacks the planned types or has quarantined bodies."""
        self.incomplete = self.listings.incomplete() if whole and self.listings.newest else []
        if self.policy:
            self.policy.close()
            if whole and self.lacks(plan) and not self.policy.skipped:
                _warn_of_others(plan, self.first, self.others)
        for folder, bodies in self.quarantined() if whole else ():
            what = counted(bodies, "body that is no delivery", "bodies that are no deliveries")
            warn_caller(f"{quoted_path(folder)} holds {what}, not read", SourceWarning)


def _undeclared_name(finding: Finding) -> dict[str, None]:
    """Return the name in a finding of something that no table declares, as a key; no key for other findings."""
    if finding.problem is ProblemKind.OTHER_TYPE:
        return {finding.key: None}
    if finding.problem is ProblemKind.NO_ELEMENTS and finding.severity != "info":
        return {"objects without elements": None}
    return {}


def _warn_of_others(plan: Plan, documents: list[bytes], others: Iterable[str]) -> None:
    """Warn that no planned type was found, and name the types that the source contains."""
    declared, undeclared = types_among(documents, plan.prefixes)
    others = [*dict.fromkeys([*itertools.islice(others, FIRST_DOCUMENTS), *undeclared])]
    contents = f"{listed(others)}, which no table declares; osdi_frames.check lists all"
    if declared:
        names = ", ".join(element.name for element in declared)
        calls = ", ".join(f"open(source).table({quoted(main_table(element).name)})" for element in declared)
        contents = f"{names} elements, which {calls} reads"
    if declared or others:
        missing = " and no ".join(element.name for element in plan.types)
        warn_caller(f"no {missing} was found; the source holds {contents}", SourceWarning)


def types_among(documents: Iterable[bytes], prefixes: tuple[str, ...]) -> tuple[list[ElementType], list[str]]:
    """Return the declared element types in documents, and the names of undeclared ones."""
    declared: dict[ElementType, None] = {}
    others: dict[str, None] = {}
    for _, parsed in itertools.chain.from_iterable(map(split, documents)):
        for part in () if isinstance(parsed, Finding) else elements(parsed, prefixes):
            if isinstance(part, Element):
                declared[part.type] = None
            else:
                others |= _undeclared_name(part)
    return [*declared], [*others]


def parse(
    plan: Plan, chunks: Iterable[Chunk], observer: Observer, *, cores: int | None = None
) -> Iterator[GroupResult]:
    """Parse documents group by group, and yield the results in the order of reading, with rows of every version.

    On several cores, groups are parsed in threads, ahead of the caller.
    """
    parse_one, groups = partial(read_group, plan), grouped(observer.watched(chunks))
    cores = cores or cores_of_process()
    first = deque(itertools.islice(groups, min(cores, 2)))
    are_several, groups = len(first) > 1, itertools.chain(_popped(first), groups)
    results = (
        (result() for result in ahead(parse_one, groups, cores)) if are_several else map(parse_one, groups)
    )
    for result in results:
        observer.see(result)
        yield result


def numbered(result: GroupResult, before: int) -> GroupResult:
    """Return a result with the numbers that its elements have after so many documents."""
    more, rows = pa.scalar(before << POSITIONS), []
    for select, some in result.rows:
        at = some.schema.get_field_index(ELEMENT)
        rows.append((select, some.set_column(at, ELEMENT, pc.add(some[ELEMENT], more))))
    pages = [page._replace(number=page.number + more.as_py()) for page in result.pages]
    return replace(result, rows=rows, pages=pages)


def _popped(groups: deque[pa.Table]) -> Iterator[pa.Table]:
    """Yield groups without a reference that would keep them in memory."""
    while groups:
        yield groups.popleft()


def cores_of_process() -> int:
    """Return the number of cores that parse groups."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_CORES)
