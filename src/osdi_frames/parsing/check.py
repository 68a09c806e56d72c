"""What a pass found: problems, undeclared keys and counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames import messages
from osdi_frames.arrow import same_texts
from osdi_frames.messages import counted
from osdi_frames.parsing.documents import ENTRY_NUMBER
from osdi_frames.parsing.group import GroupResult
from osdi_frames.parsing.parse import Observer
from osdi_frames.parsing.plan import PLACE_COLUMNS, Plan
from osdi_frames.problems import Finding, Place, Problem, ProblemKind, trusted_years
from osdi_frames.tables import element_types, main_table
from osdi_frames.tables.schema import ElementType

_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a pass over every document of an archive found."""

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
        """The elements of undeclared types, most first."""
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


@dataclass(slots=True)
class Inspector(Observer):
    """Counts what a reading meets, and collects its problems."""

    files: set[str] = field(default_factory=set)
    documents: int = 0
    noted: dict[tuple[str, str, str, str], tuple[Place, int]] = field(default_factory=dict)
    """By severity, problem, detail and key, where each problem occurs first, and how often."""
    years: defaultdict[ElementType, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    first_of: dict[tuple[ElementType, int], tuple[Place, str]] = field(default_factory=dict)

    def handle(self, problem: Problem, count: int = 1) -> None:
        """Note a problem of a file."""
        self._add(problem, "", count)
        Observer.handle(self, problem, count)

    def see(self, result: GroupResult) -> None:
        """Note what was read of a group."""
        self.files |= result.files
        self.documents += result.documents
        self.elements.update(result.elements)
        if result.pages:
            self.listings.add(result.pages, result.rows)
        for found in sorted((*result.keys, *result.findings), key=attrgetter("number")):
            place, what, element = found.place, found.finding, found.element
            key = element.relative(what.key) if element else ENTRY_NUMBER.sub("[]", what.key)
            self._add(Problem.at(place, replace(what, key=key) if element else what), key, found.count)
        for found in result.findings:
            Observer.handle(self, Problem.at(found.place, found.finding), found.count)
        for select, rows in result.rows:
            if not select.table.rows:
                self._see_identities(select.table.element, rows)
            if select.table.element.month and not select.table.rows:
                self._see_dates(select.table.element, rows)
                self._see_statuses(select.table.element, rows)

    def end(self, plan: Plan, *, whole: bool) -> None:  # noqa: ARG002 (of other observers)
        """List what a whole source shows: quarantined bodies, doubtful dates, and incomplete collections."""
        self.incomplete = self.listings.incomplete() if whole and self.listings.newest else []
        for lacking in self.incomplete:
            problem = Problem(lacking.place, ProblemKind.INCOMPLETE, lacking.text, "warning")
            self._add(problem, lacking.type, lacking.collections)
        for folder, bodies in self.quarantined():
            what = "bodies that are no deliveries, not read"
            self._add(Problem(Place(folder), ProblemKind.QUARANTINE, what, "warning"), "", bodies)
        self._list_doubtful()
        if self.policy:
            self.policy.close()

    def _see_identities(self, element: ElementType, rows: pa.Table) -> None:
        """Count the elements that nothing identifies: each document that holds one of them adds a row."""
        known = np.zeros(len(rows), bool)
        for names in element.identities:
            valid = {name: np.asarray(rows[name].is_valid()) for name in names}
            if "person_id" in names:
                valid["person_id"] |= np.asarray(rows["email"].is_valid())
            known |= np.logical_and.reduce([*valid.values()])
        if not known.all():
            first = int(np.argmin(known))
            places = [rows[name][first].as_py() for name in PLACE_COLUMNS if name in rows.column_names]
            problem = Problem(Place(*(places or [None])), ProblemKind.NO_IDENTITY, element.name, "warning")
            self._add(problem, element.name, int((~known).sum()))

    def _see_dates(self, element: ElementType, rows: pa.Table) -> None:
        """Note the years of dates, each with its first."""
        date, *place = (rows[str(name)] for name in (element.month, *PLACE_COLUMNS))
        years = pc.year(date).combine_chunks()
        for year, count in zip(*pc.value_counts(years.drop_null()).flatten(), strict=True):
            year = year.as_py()
            self.years[element][year] += count.as_py()
            if (element, year) not in self.first_of:
                row = pc.index(years, year).as_py()
                at = Place(*(column[row].as_py() for column in place))
                self.first_of[element, year] = at, pc.cast(date[row], pa.string()).as_py()

    def _see_statuses(self, element: ElementType, rows: pa.Table) -> None:
        """List the statuses that are not known, each with its first."""
        if not element.statuses:
            return
        texts, key = rows["status"].combine_chunks(), f"{element.name}: status"
        counts = pc.value_counts(texts.drop_null())
        found = counts.field("values")
        known = pc.is_in(found, same_texts(found, element.known_statuses))
        for status in counts.filter(pc.invert(known)).to_pylist():
            row = pc.index(texts, pa.scalar(status["values"])).as_py()
            place = Place(*(rows[name][row].as_py() for name in PLACE_COLUMNS))
            finding = Finding(ProblemKind.UNKNOWN_STATUS, key, messages.status(status["values"]), "warning")
            self._add(Problem.at(place, finding), key, status["counts"])

    def _list_doubtful(self) -> None:
        for element, counts in self.years.items():
            key = f"{element.name}: {element.month}"
            for year in sorted({*counts}.difference(trusted_years(counts))):
                place, date = self.first_of[element, year]
                problem = Problem(place, ProblemKind.DOUBTFUL_DATE, f"{key} = {date[:10]}", "warning")
                self._add(problem, key, counts[year])

    def inspection(self, kept: Mapping[str, int]) -> Inspection:
        """Return what was found; `kept` has the number of different elements of each type."""
        types = element_types()
        dated = (element.name for element in types if element.month)
        kinds = dict.fromkeys(("source_file", "source_line", "severity", "problem", "detail", "key"), "str")
        kinds |= {"source_line": "Int64", "count": "Int64"}
        rows = [(at.source_file, at.source_line, *same, count) for same, (at, count) in self.noted.items()]
        found = pd.DataFrame(rows, columns=list(kinds)).astype(kinds)
        by_key = found.groupby(["severity", "problem", "key"])["count"].sum().reset_index()
        return Inspection(
            len(self.files),
            self.documents,
            {element.name: self.elements[element.name] for element in types},
            {name: kept[name] for name in dated if kept.get(name)},
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
