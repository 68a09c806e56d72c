"""The pass over documents: groups of them to the rows of every version, and to what was met in addition."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from osdi_frames.errors import SourceWarning, counted, printable
from osdi_frames.parsing.documents import Element, elements
from osdi_frames.parsing.group import GroupResult, grouped, read
from osdi_frames.parsing.plan import Plan
from osdi_frames.problems import Finding, Policy, Problem, ProblemKind, named, warn_caller
from osdi_frames.quoting import listed, located, quoted
from osdi_frames.sources.layout import Chunk, split
from osdi_frames.sources.source import read as candidates
from osdi_frames.sources.streams import ahead
from osdi_frames.tables import main_table
from osdi_frames.tables.schema import ElementType

_FIRST = 10  # documents that are looked at where a reading finds nothing
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
    """What was met that no table declares, in words."""

    def watched(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks as they are."""
        for chunk in chunks:
            self.first.extend(chunk.documents[: _FIRST - len(self.first)].to_pylist())
            yield chunk

    def handle(self, problem: Problem) -> None:
        """Handle a problem as the policy says."""
        if self.policy:
            self.policy.handle(problem)

    def see(self, result: GroupResult) -> None:
        """Note the problems of a group, and its elements."""
        for place, finding, _ in result.met:
            self.handle(Problem.at(place, finding))
            self.others |= _called(finding)
        self.elements.update(result.elements)

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
            warn_caller(f"{located(folder)} holds {what}, not read", SourceWarning)


def _called(finding: Finding) -> dict[str, None]:
    """Return as a key what something is called that no table declares; nothing of an empty page."""
    if finding.problem is ProblemKind.OTHER_TYPE:
        return {named(finding.key): None}
    is_empty = finding.problem is not ProblemKind.NO_ELEMENTS or finding.severity == "info"
    return {} if is_empty else {"objects without elements": None}


def _warn_of_others(plan: Plan, documents: list[bytes], others: Iterable[str]) -> None:
    """Warn that nothing was found of what was asked for, and say what there is."""
    declared, beginning = types_among(documents, plan.prefixes)
    others = [*dict.fromkeys([*itertools.islice(others, _FIRST), *beginning])]
    held = f"{listed(others)}, which no table declares; osdi_frames.check lists all"
    if declared:
        names = ", ".join(element.name for element in declared)
        calls = ", ".join(f"open(source).table({quoted(main_table(element).name)})" for element in declared)
        held = f"{names} elements, which {calls} reads"
    if declared or others:
        nothing = " and no ".join(element.name for element in plan.selects)
        warn_caller(f"no {nothing} was found; the source holds {held}", SourceWarning)


def types_among(documents: Iterable[bytes], prefixes: tuple[str, ...]) -> tuple[list[ElementType], list[str]]:
    """Return the declared types that documents have elements of, and the keys of others."""
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
    """Parse documents, group by group: the rows of every version of every element, numbered through.

    On several cores groups are parsed ahead; the results come in the order of reading.
    """
    one, groups, cores = partial(read, plan), grouped(observer.watched(chunks)), cores or _cores()
    for result in (result() for result in ahead(one, groups, cores)) if cores > 1 else map(one, groups):
        observer.see(result)
        yield result


def _cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_CORES)
