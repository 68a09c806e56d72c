"""Every problem of an archive, and every key that no table declares."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.archive.layout import Chunk
from osdi_frames.archive.limits import Limits
from osdi_frames.archive.source import Source
from osdi_frames.errors import counted
from osdi_frames.problems import Place, Problem, ProblemKind, named
from osdi_frames.reading.documents import POSITION
from osdi_frames.reading.doubtful import trusted_years
from osdi_frames.reading.group import Reading
from osdi_frames.reading.plan import Plan
from osdi_frames.reading.stream import Observer, scan_tables
from osdi_frames.tables import element_types, main_table
from osdi_frames.tables.schema import IDENTITY, ElementType

_SEVERITIES = ("error", "warning", "info")


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
        mended, is a date more than ten years away from most others, or bodies that are not deliveries, which a
        receiver keeps in its quarantine; ``info`` are keys and element types that no table takes: new fields of
        the service show up here first. The kinds of problems: `osdi_frames.problems.ProblemKind`. To see long
        details whole: ``pd.set_option("display.max_colwidth", None)``. Its ``attrs`` say how much was read: `files`,
        `documents`, and `elements`, how often each type was received.

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
    found = inspect(source, prefix=prefix, limits=limits, progress=progress)
    found.problems.attrs |= found.counts
    return found.problems


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a walk through every document of an archive met."""

    files: int
    """Those inside an archive file each; 0 for parsed objects."""
    documents: int
    elements: Mapping[str, int]
    """How often each type was received."""
    kept: Mapping[str, int]
    """How many different ones these are, where they were deduplicated; also those that a selection leaves out."""
    problems: pd.DataFrame
    """As `check` gives them."""
    by_key: pd.DataFrame
    """The problems without file and value: `severity`, `problem`, `key`, `count`."""

    @property
    def others(self) -> dict[str, int]:
        """The elements of types that no table declares, by type, most first."""
        others = self.by_key[self.by_key["problem"] == ProblemKind.OTHER_TYPE]
        return dict(zip(others["key"], others["count"].astype(int), strict=True))

    @property
    def counts(self) -> dict[str, Any]:
        """How much was read, by name."""
        return {"files": self.files, "documents": self.documents, "elements": {**self.elements}}

    def __str__(self) -> str:
        """Say in one line how much was read."""
        files = f" in {counted(self.files, 'file')}" if self.files else ""
        types = {table.element.name: table.name for table in map(main_table, element_types())}
        counts = (
            counted(self.elements[name], name, plural)
            for name, plural in types.items()
            if self.elements[name]
        )
        received = ", ".join(counts).replace("_", " ")
        return f"{counted(self.documents, 'document')}{files}: {received or 'nothing for any table'}"


def inspect(
    source: Source, *, prefix: str | None = None, limits: Limits | None = None, progress: bool | None = None
) -> Inspection:
    """Walk through an archive as `check` does, and count what is there in addition to the problems."""
    inspector = Inspector(None)
    plan = Plan.of({}, prefix=prefix, inspects=True)
    for _ in scan_tables(source, plan, inspector, limits=limits, progress=progress):
        pass
    return inspector.inspection()


@dataclass(slots=True)
class Inspector(Observer):
    """Counts what a reading meets, and collects its problems."""

    files: set[str] = field(default_factory=set)
    documents: int = 0
    noted: dict[tuple[str, str, str, str], tuple[Place, int]] = field(default_factory=dict)
    """By severity, problem, detail and key, where each problem was met first, and how often."""
    years: defaultdict[ElementType, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    first_of: dict[tuple[ElementType, int], tuple[Place, str]] = field(default_factory=dict)

    def watched(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks as they are; note their files."""
        for chunk in chunks:
            if chunk.name is not None:
                self.files.add(chunk.name)
            yield chunk

    def handle(self, problem: Problem) -> None:
        """Note a problem of a file."""
        self._add(problem, "")
        Observer.handle(self, problem)

    def see(self, reading: Reading) -> None:
        """Note what was read of a group."""
        self.documents += reading.documents
        self.elements.update(reading.elements)
        for place, finding, count in reading.keys:
            self._add(Problem.at(place, finding), finding.key, count)
        for place, what, element in reading.met:
            key = named(element.relative(what.key) if element else POSITION.sub("[]", what.key))
            self._add(Problem.at(place, replace(what, key=key) if element else what), key, what.count)
            Observer.handle(self, Problem.at(place, what))
        for select, rows in reading.rows:
            if select.table.element.month and not select.table.rows:
                self._see_dates(select.table.element, rows)

    def end(self, plan: Plan, *, whole: bool) -> None:  # noqa: ARG002 (of other observers)
        """Note what a receiver keeps and no reader reads, and doubtful dates; warn of what was skipped."""
        for folder, bodies in self.quarantined():
            what = "bodies that are no deliveries, not read"
            self._add(Problem(Place(folder), ProblemKind.QUARANTINE, what, "warning"), "", bodies)
        self._list_doubtful()
        if self.policy:
            self.policy.close()

    def _see_dates(self, element: ElementType, rows: pa.Table) -> None:
        """Note the years of dates, and the first date of each."""
        date, *place = (rows[f"{IDENTITY}{name}"] for name in (element.month, "source_file", "source_line"))
        years = pc.year(date).combine_chunks()
        for year, count in zip(*pc.value_counts(years.drop_null()).flatten(), strict=True):
            year = year.as_py()
            self.years[element][year] += count.as_py()
            if (element, year) not in self.first_of:
                row = pc.index(years, year).as_py()
                at = Place(*(column[row].as_py() for column in place))
                self.first_of[element, year] = at, pc.cast(date[row], pa.string()).as_py()

    def _list_doubtful(self) -> None:
        for element, counts in self.years.items():
            key = f"{element.name}: {element.month}"
            for year in sorted({*counts}.difference(trusted_years(counts))):
                place, date = self.first_of[element, year]
                problem = Problem(place, ProblemKind.DOUBTFUL_DATE, f"{key} = {date[:10]}", "warning")
                self._add(problem, key, counts[year])

    def inspection(self) -> Inspection:
        """Return what was met."""
        types = element_types()
        kept = (element.name for element in types if element.month)
        kinds = dict.fromkeys(("source_file", "source_line", "severity", "problem", "detail", "key"), "str")
        kinds |= {"source_line": "Int64", "count": "Int64"}
        rows = [(at.source_file, at.source_line, *same, count) for same, (at, count) in self.noted.items()]
        found = pd.DataFrame(rows, columns=list(kinds)).astype(kinds)
        by_key = found.groupby(["severity", "problem", "key"])["count"].sum().reset_index()
        return Inspection(
            len(self.files),
            self.documents,
            {element.name: self.elements[element.name] for element in types},
            {name: self.kept[name] for name in kept if self.kept[name]},
            _in_order(found.drop(columns="key"), "detail"),
            _in_order(by_key, "key"),
        )

    def _add(self, problem: Problem, key: str, count: int = 1) -> None:
        same = (problem.severity, problem.problem, problem.detail, key)
        first, before = self.noted.get(same, (problem.place, 0))
        self.noted[same] = first, before + count


def _in_order(found: pd.DataFrame, last: str) -> pd.DataFrame:
    """Sort by severity, then the most frequent first."""
    ranked = found.assign(rank=found["severity"].map(_SEVERITIES.index), fewer=-found["count"])
    by = ["rank", "fewer", "problem", last]
    return ranked.sort_values(by, ignore_index=True).drop(columns=by[:2])
