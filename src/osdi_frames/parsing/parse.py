"""The pass over documents, group by group: rows of every version, and what else is found."""

from __future__ import annotations

import itertools
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from osdi_frames.errors import SourceWarning
from osdi_frames.messages import counted, listed, printable, quoted, quoted_path
from osdi_frames.parsing.documents import Element, elements
from osdi_frames.parsing.group import GroupResult, grouped, read_group
from osdi_frames.parsing.listings import Incomplete, Listings
from osdi_frames.parsing.plan import Plan
from osdi_frames.problems import Finding, Policy, Problem, ProblemKind, warn_caller
from osdi_frames.sources.files import requeued_numbers
from osdi_frames.sources.layout import Chunk, split
from osdi_frames.sources.source import read as candidates
from osdi_frames.sources.streams import ahead
from osdi_frames.tables import main_table
from osdi_frames.tables.schema import ElementType

#: Documents that are looked at where not all are read, or a reading finds nothing.
FIRST_DOCUMENTS = 10
_MOST_CORES = 4  # a group on each: they need up to 120 MB each


@dataclass(slots=True)
class Observer:
    """Collects problems and counts."""

    policy: Policy | None
    """What to do with problems, if anything."""
    elements: Counter[str] = field(default_factory=Counter)
    """How often each type was received."""
    quarantines: list[str] = field(default_factory=list)
    """The folders of bodies that no reader reads."""
    first: list[bytes] = field(default_factory=list)
    others: dict[str, None] = field(default_factory=dict)
    """The names of what no table declares."""
    listings: Listings = field(default_factory=Listings)
    incomplete: list[Incomplete] = field(default_factory=list)
    """The collections of which a whole source holds less than they list; known at the end of a reading."""

    def watched(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks as they are."""
        for chunk in chunks:
            self.first.extend(chunk.documents[: FIRST_DOCUMENTS - len(self.first)].to_pylist())
            yield chunk

    def handle(self, problem: Problem, count: int = 1) -> None:
        """Handle a problem by the policy."""
        if self.policy:
            self.policy.handle(problem, count)

    def see(self, result: GroupResult) -> None:
        """Note the problems of a group, and its elements."""
        for found in result.findings:
            self.handle(Problem.at(found.place, found.finding), found.count)
            self.others |= _called(found.finding)
        self.elements.update(result.elements)
        if result.pages:
            self.listings.add(result.pages, result.rows)

    def lacks(self, plan: Plan) -> bool:
        """Whether nothing was found of what is asked for."""
        return bool(plan.types) and not any(self.elements[element.name] for element in plan.types)

    def quarantined(self) -> Iterator[tuple[str, int]]:
        """Yield the folders of quarantined bodies, with counts."""
        for folder in self.quarantines:
            chunks = candidates(folder, lambda _: None, progress=False)
            bodies = sum(len(chunk.documents) for chunk in chunks) - len(requeued_numbers(folder))
            if bodies > 0:
                yield printable(folder), bodies

    def end(self, plan: Plan, *, whole: bool) -> None:
        """Warn of what was skipped, and of a whole source where nothing was found or bodies are not read."""
        self.incomplete = self.listings.incomplete() if whole and self.listings.newest else []
        if self.policy:
            self.policy.close()
            if whole and self.lacks(plan) and not self.policy.skipped:
                _warn_of_others(plan, self.first, self.others)
        for folder, bodies in self.quarantined() if whole else ():
            what = counted(bodies, "body that is no delivery", "bodies that are no deliveries")
            warn_caller(f"{quoted_path(folder)} holds {what}, not read", SourceWarning)


def _called(finding: Finding) -> dict[str, None]:
    """Return the undeclared name in a finding as a key; that of an empty page has none."""
    if finding.problem is ProblemKind.OTHER_TYPE:
        return {finding.key: None}
    is_empty = finding.problem is not ProblemKind.NO_ELEMENTS or finding.severity == "info"
    return {} if is_empty else {"objects without elements": None}


def _warn_of_others(plan: Plan, documents: list[bytes], others: Iterable[str]) -> None:
    """Warn that nothing was found, and what is there."""
    declared, beginning = types_among(documents, plan.prefixes)
    others = [*dict.fromkeys([*itertools.islice(others, FIRST_DOCUMENTS), *beginning])]
    held = f"{listed(others)}, which no table declares; osdi_frames.check lists all"
    if declared:
        names = ", ".join(element.name for element in declared)
        calls = ", ".join(f"open(source).table({quoted(main_table(element).name)})" for element in declared)
        held = f"{names} elements, which {calls} reads"
    if declared or others:
        nothing = " and no ".join(element.name for element in plan.types)
        warn_caller(f"no {nothing} was found; the source holds {held}", SourceWarning)


def types_among(documents: Iterable[bytes], prefixes: tuple[str, ...]) -> tuple[list[ElementType], list[str]]:
    """Return the declared types in documents, and other keys."""
    declared: dict[ElementType, None] = {}
    others: dict[str, None] = {}
    for _, parsed in itertools.chain.from_iterable(map(split, documents)):
        for part in () if isinstance(parsed, Finding) else elements(parsed, prefixes):
            if isinstance(part, Element):
                declared[part.type] = None
            else:
                others |= _called(part)
    return [*declared], [*others]


def parse(
    plan: Plan, chunks: Iterable[Chunk], observer: Observer, *, cores: int | None = None
) -> Iterator[GroupResult]:
    """Parse documents, group by group.

    Elements of all groups are numbered through; every version has its rows.
    On several cores several groups are parsed ahead; the results come in the order of reading.
    """
    one, groups = partial(read_group, plan), grouped(observer.watched(chunks))
    cores = cores or cores_of_process()
    begun = deque(itertools.islice(groups, min(cores, 2)))
    are_several, groups = len(begun) > 1, itertools.chain(_taken(begun), groups)
    for result in (result() for result in ahead(one, groups, cores)) if are_several else map(one, groups):
        observer.see(result)
        yield result


def _taken(groups: deque[pa.Table]) -> Iterator[pa.Table]:
    """Yield groups, and keep none in memory."""
    while groups:
        yield groups.popleft()


def cores_of_process() -> int:
    """Return on how many cores groups are parsed."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_CORES)
