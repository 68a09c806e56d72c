"""Every problem of an archive, and every key that no table declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from osdi_frames import archive
from osdi_frames.archive import Chunk, Limits, Source
from osdi_frames.problems import Finding, OnError, Place, Policy, Problem, ProblemKind, Severity
from osdi_frames.reading.documents import POSITION, Element, Other, is_type_key, is_wrapper
from osdi_frames.reading.frames import collect, named_tables
from osdi_frames.reading.keys import Keys, written
from osdi_frames.reading.plan import Columns, Dedupe, Plan
from osdi_frames.reading.stream import Observer, stream
from osdi_frames.tables import element_types
from osdi_frames.tables.schema import ElementType

COLUMNS = ("source_file", "source_line", "severity", "problem", "detail", "count")
KEY_COLUMNS = ("severity", "problem", "key", "count")

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


def check(
    source: Source, *, prefix: str | None = None, limits: Limits | None = None, progress: bool | None = None
) -> pd.DataFrame:
    """List every problem of an archive, and every key that no table declares.

    Unlike the readers it looks at everything in every document, so it is slower, and nothing stops it.

    Parameters
    ----------
    source
        As for `read_table`.
    prefix
        The service's own prefix, in addition to ``platform`` and ``action_network``.
    limits
        As for `read_table`.
    progress
        A progress bar: None shows one on a terminal or in a notebook, and for long work only.

    Returns
    -------
    DataFrame
        One row a problem, equal ones counted: `source_file` and `source_line` of the first, `severity`,
        `problem`, `detail`, `count`. An ``error`` is what ``on_error="raise"`` stops at; a ``warning`` was
        mended; ``info`` are keys and element types that no table takes: new fields of the service show
        up here first. The kinds of problems, with their meanings: `osdi_frames.problems.ProblemKind`. To see
        long details whole: ``pd.set_option("display.max_colwidth", None)``.

    Raises
    ------
    SourceNotFound
        There is nothing at a path.

    Examples
    --------
    >>> import osdi_frames as of
    >>> of.check({"title": "March", "total_accepted": "lots", "mood": "good"})[["severity", "problem", "detail"]]
      severity         problem                          detail
    0    error  not an integer  event: total_accepted = "lots"
    1     info  undeclared key                     event: mood
    """
    return inspect(source, prefix=prefix, limits=limits, progress=progress).problems


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a walk through every document of an archive met."""

    files: int
    """Those inside an archive file each; 0 for parsed objects."""
    documents: int
    elements: Mapping[str, int]
    """Events and signatures, each as often as it was received."""
    problems: pd.DataFrame
    """As `check` gives them."""
    by_key: pd.DataFrame
    """The problems without file and value: `severity`, `problem`, `key`, `count`."""


def inspect(
    source: Source, *, prefix: str | None = None, limits: Limits | None = None, progress: bool | None = None
) -> Inspection:
    """Walk through an archive as `check` does, and count what is there in addition to the problems.

    Parameters and errors are those of `check`.

    Examples
    --------
    >>> pull = {"_embedded": {"osdi:events": [{"title": "March", "total_accepted": "lots"}, {"title": "Talk"}]}}
    >>> found = inspect(pull)
    >>> found.documents, found.elements["event"]
    (1, 2)
    >>> found.by_key
      severity         problem                    key  count
    0    error  not an integer  event: total_accepted      1
    """
    _, inspection = read_inspected(source, {}, prefix=prefix, on_error=None, limits=limits, progress=progress)
    return inspection


def read_inspected(
    source: Source,
    tables: Iterable[str] | Mapping[str, Columns] | None = None,
    *,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError | None = "raise",
    limits: Limits | None = None,
    progress: bool | None = None,
) -> tuple[dict[str, pd.DataFrame], Inspection]:
    """Read tables and inspect everything else, in one pass.

    Parameters and errors are those of `read_tables`; with ``on_error=None`` problems are only listed.
    """
    chosen = named_tables(tables)
    policy = Policy(on_error) if on_error else None
    inspector = Inspector(policy.meet if policy else lambda _: None)
    chunks = inspector.counted(archive.read(source, inspector.problem, limits=limits, progress=progress))
    plan = Plan.of(chosen, prefix=prefix, dedupe=dedupe, inspects=True)
    frames = collect(chosen, stream(plan, chunks, inspector))
    if policy:
        policy.close()
    return frames, inspector.inspection()


@dataclass(slots=True)
class Inspector(Observer):
    """Counts what a reading meets, and collects its problems."""

    handle: Callable[[Problem], None] = lambda _: None
    """Called with each problem as it is met."""
    files: set[str] = field(default_factory=set)
    documents: int = 0
    elements: Counter[str] = field(default_factory=Counter)
    first: dict[tuple[Severity, str, str], Place] = field(default_factory=dict)
    counts: Counter[tuple[Severity, str, str]] = field(default_factory=Counter)
    keyed: Counter[tuple[Severity, str, str]] = field(default_factory=Counter)

    def counted(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks as they are; note their files."""
        for chunk in chunks:
            if chunk.name is not None:
                self.files.add(chunk.name)
            yield chunk

    def problem(self, problem: Problem) -> None:
        """Note a problem of a file."""
        self._add(problem, "")
        self.handle(problem)

    def met(self, place: Place, what: Finding | Other, element: Element | None) -> None:
        """Note a problem in a document, or an element of another type."""
        if isinstance(what, Other):
            self._add(Problem(place, ProblemKind.OTHER_TYPE, what.type, "info"), what.type)
            return
        key = element.relative(what.key) if element else POSITION.sub("[]", what.key)
        self._add(Problem.at(place, replace(what, key=key) if element else what), key)
        self.handle(Problem.at(place, what))

    def read(self, documents: int, elements: Mapping[ElementType, int]) -> None:
        """Count documents and elements."""
        self.documents += documents
        self.elements.update({each.name: count for each, count in elements.items()})

    def keys(self, place: Place, keys: Keys, count: int) -> None:
        """Note the keys that no table declares, the types that are not declared, and keys that occur twice."""
        path, types = keys.path, {each.type_key: each.name for each in element_types()}
        sibling_of = next((types[key] for key in keys.around if key in types), None)
        whose = path.element.name if path.element else sibling_of
        head = written(path.inside if path.element else path.steps)
        for key, occurrences in Counter(keys.keys).items():
            at = f"{head}[]" if path.single else f"{head}.{key}" if head else key
            name = f"{whose}: {at}" if path.element else f"{whose}: ../{at}"
            if occurrences > 1:
                self._add(Problem(place, ProblemKind.DUPLICATE_KEY, name, "warning"), name, count)
            if key in path.shape.inside or (whose is None and path.steps):
                continue
            if path.element is None and not path.steps and (key in types or is_type_key(key)):
                if key not in types and (whose or is_wrapper(keys.keys)):
                    self._add(Problem(place, ProblemKind.OTHER_TYPE, key, "info"), key, count)
            elif whose is not None:
                ignored = path.single or (path.element is not None and path.element.ignores(at))
                problem = ProblemKind.NOT_READ if ignored else ProblemKind.UNDECLARED
                self._add(Problem(place, problem, name, "info"), name, count)

    def inspection(self) -> Inspection:
        """Return what was met."""
        elements = {each.name: self.elements[each.name] for each in element_types()}
        rows = [
            (self.first[each].source_file, self.first[each].source_line, *each, count)
            for each, count in _in_order(self.counts)
        ]
        problems = pd.DataFrame(rows, columns=list(COLUMNS))
        problems = problems.astype(dict.fromkeys(COLUMNS, "str") | {"source_line": "Int64", "count": "Int64"})
        by_key = pd.DataFrame(
            [(*each, count) for each, count in _in_order(self.keyed)], columns=list(KEY_COLUMNS)
        )
        by_key = by_key.astype(dict.fromkeys(KEY_COLUMNS, "str") | {"count": "Int64"})
        return Inspection(len(self.files), self.documents, elements, problems, by_key)

    def _add(self, problem: Problem, key: str, count: int = 1) -> None:
        same = (problem.severity, problem.problem, problem.detail)
        self.first.setdefault(same, problem.place)
        self.counts[same] += count
        self.keyed[problem.severity, problem.problem, key] += count


def _in_order(counts: Counter[tuple[Severity, str, str]]) -> list[tuple[tuple[Severity, str, str], int]]:
    """Sort by severity, then the most frequent first."""
    return sorted(counts.items(), key=lambda item: (_SEVERITIES.index(item[0][0]), -item[1], item[0]))
