"""Inspect an archive: collect the problems, undeclared keys and counts of a pass over all of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames import messages
from osdi_frames.arrow import same_texts
from osdi_frames.frames import PrintedFrame
from osdi_frames.messages import counted, printable, wrapped
from osdi_frames.parsing.documents import ENTRY_NUMBER
from osdi_frames.parsing.group import GroupResult
from osdi_frames.parsing.parse import Observer
from osdi_frames.parsing.plan import PLACE_COLUMNS, Plan
from osdi_frames.problems import Finding, Place, Problem, ProblemKind, trusted_years
from osdi_frames.tables import element_types, main_table
from osdi_frames.tables.schema import ElementType

_SEVERITIES = ("error", "warning", "info")
#: So many keys that no table reads are printed, unless all are asked for.
_KEYS: Final = 10


class Problems(PrintedFrame):
    """The problems of an archive, one row each, as `check` returns them; `attrs` are the counts of what was read."""

    ALL_COLUMNS = ("source_file", "source_line", "severity", "problem", "detail", "count")

    def text(self, *, all: bool = False) -> str:  # noqa: A002 (as the option --all)
        """Lay out what was read, the problems with their first places, and ten of the keys that no table reads.

        With `all` it has every key, each with its first place.
        """
        is_left, counts = self["severity"] == "info", self.totals()
        shown = self[~is_left | (is_left.cumsum() <= _KEYS) | all]
        lines = [*map(wrapped, _what_was_read(self.attrs)), *_lines(shown, places=all)]
        if (more := int(is_left.sum()) - _KEYS) > 0 and not all:
            lines.append(f"… and {more:,} more; all=True (--all) lists them")
        said = (
            f"{counted(counts['error'], 'error')}, {counted(counts['warning'], 'warning')}, "
            f"{counted(counts['info'] - counts['others'], 'key')} that no table reads, "
            f"{counted(counts['others'], 'element')} of other types (info: they stay in the archive)"
        )
        return "\n".join([*lines, wrapped(said)])

    def totals(self) -> dict[str, int]:
        """Return how often each severity was found; `others` of these are elements of undeclared types."""
        counts = self.groupby("severity")["count"].sum()
        is_other = (self["problem"] == ProblemKind.OTHER_TYPE) & (self["severity"] == "info")
        found = {severity: int(counts.get(severity, 0)) for severity in _SEVERITIES}
        return {**found, "others": int(self.loc[is_other, "count"].sum())}


def _what_was_read(counts: Mapping[Any, Any]) -> Iterator[str]:
    """Yield one line with the numbers of documents, files and elements, unless pandas has lost them."""
    if not counts:
        return
    files = f" in {counted(counts['files'], 'file')}" if counts["files"] else ""
    types = {table.element.name: table.name for table in map(main_table, element_types())}
    elements = (
        counted(counts["elements"][name], name, plural)
        for name, plural in types.items()
        if counts["elements"][name]
    )
    received = ", ".join(elements).replace("_", " ")
    yield f"{counted(counts['documents'], 'document')}{files}: {received or 'nothing for any table'}"


def _lines(problems: Problems, *, places: bool) -> Iterator[str]:
    """Yield problems with their counts and first places, and below a heading keys that no table reads.

    The place of a key is shown where the line has room for it, or with `places`.
    """
    above = ""
    for row in problems.to_dict("records"):
        file, line = (None if pd.isna(row[key]) else row[key] for key in ("source_file", "source_line"))
        is_left, place = row["severity"] == "info", printable(f"({Place(file, line)})")
        what = printable(f"{row['count']:>6} ×  {row['detail']}")
        if not is_left:
            what = printable(f"{row['severity']:<7}  {row['count']:>6} ×  {row['problem']}: {row['detail']}")
        elif above != (above := f"info: {row['problem']}"):
            yield above
        indent = 10 if is_left else 20
        if "\n" not in (joined := wrapped(f"{what}  {place}", indent)):
            yield joined
            continue
        yield wrapped(what, indent)
        if places or not is_left:
            yield f"{' ' * indent}{place}"


@dataclass(frozen=True, slots=True)
class Inspection:
    """The problems and counts of a pass over every document of an archive."""

    files: int
    """The number of files, where each member of a zip or tar is one; 0 for objects."""
    documents: int
    elements: Mapping[str, int]
    """The number of elements received, by type."""
    kept: Mapping[str, int]
    """The number of distinct elements, before any filter, of the types that were deduplicated."""
    problems: Problems
    """The frame that `check` returns."""
    by_key: pd.DataFrame
    """The problems summed up over files and values: `severity`, `problem`, `key`, `count`."""

    @property
    def others(self) -> dict[str, int]:
        """The number of elements of each undeclared type, the most frequent first."""
        others = self.by_key[self.by_key["problem"] == ProblemKind.OTHER_TYPE]
        return dict(zip(others["key"], others["count"].astype(int), strict=True))

    @property
    def counts(self) -> dict[str, Any]:
        """The numbers of files, documents and elements, as JSON."""
        return {"files": self.files, "documents": self.documents, "elements": {**self.elements}}


@dataclass(slots=True)
class Inspector(Observer):
    """Collects the problems, keys and counts of a pass for an `Inspection`."""

    files: set[str] = field(default_factory=set)
    documents: int = 0
    noted: dict[tuple[str, str, str, str], tuple[Place, int]] = field(default_factory=dict)
    """The first place of each problem and its count, by severity, problem, detail and key."""
    years: defaultdict[ElementType, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """The number of elements by the year of their main date."""
    first_of: dict[tuple[ElementType, int], tuple[Place, str]] = field(default_factory=dict)
    """The place and date of the first element of each year."""

    def handle(self, problem: Problem, count: int = 1) -> None:
        """Note a problem of a file, and apply the policy to it."""
        self._add(problem, "", count)
        Observer.handle(self, problem, count)

    def see(self, result: GroupResult) -> None:
        """Add the problems, keys and counts of a group."""
        self.files |= result.files
        self.documents += result.documents
        self.elements.update(result.elements)
        if result.pages:
            self.listings.add(result.pages, result.rows)
        for each in sorted((*result.keys, *result.findings), key=attrgetter("number")):
            finding = each.finding
            key = each.relative or ENTRY_NUMBER.sub("[]", finding.key)
            problem = Problem.at(each.place, replace(finding, key=key) if each.relative else finding)
            self._add(problem, key, each.count)
        for each in result.findings:
            Observer.handle(self, Problem.at(each.place, each.finding), each.count)
        for select, rows in result.rows:
            element_type = select.table.element
            if not select.table.rows:
                self._see_identities(element_type, rows)
                if element_type.month:
                    self._see_dates(element_type, rows)
                    self._see_statuses(element_type, rows)

    def end(self, plan: Plan, *, whole: bool) -> None:  # noqa: ARG002 (other observers use the plan)
        """Note the problems of the whole source: quarantined bodies, doubtful dates, and incomplete collections."""
        self.incomplete = self.listings.incomplete() if whole and self.listings.newest else []
        for incomplete in self.incomplete:
            problem = Problem(incomplete.place, ProblemKind.INCOMPLETE, incomplete.text, "warning")
            self._add(problem, incomplete.type, incomplete.collections)
        for folder, bodies in self.quarantined():
            detail = "bodies that are no deliveries, not read"
            self._add(Problem(Place(folder), ProblemKind.QUARANTINE, detail, "warning"), "", bodies)
        self._note_doubtful_dates()
        if self.policy:
            self.policy.close()

    def _see_identities(self, element: ElementType, rows: pa.Table) -> None:
        """Note elements without an identity, which cannot be deduplicated: each occurrence becomes a row."""
        is_identified = np.zeros(len(rows), bool)
        for names in element.identities:
            valid = {name: np.asarray(rows[name].is_valid()) for name in names}
            if "person_id" in names:
                valid["person_id"] |= np.asarray(rows["email"].is_valid())
            is_identified |= np.logical_and.reduce([*valid.values()])
        if not is_identified.all():
            first = int(np.argmin(is_identified))
            problem = Problem(_place(rows, first), ProblemKind.NO_IDENTITY, element.name, "warning")
            self._add(problem, element.name, int((~is_identified).sum()))

    def _see_dates(self, element: ElementType, rows: pa.Table) -> None:
        """Count dates by year, and keep the first of each year."""
        dates = rows[str(element.month)]
        years = pc.year(dates).combine_chunks()
        for year, count in zip(*pc.value_counts(years.drop_null()).flatten(), strict=True):
            year = year.as_py()
            self.years[element][year] += count.as_py()
            if (element, year) not in self.first_of:
                row = pc.index(years, year).as_py()
                self.first_of[element, year] = _place(rows, row), pc.cast(dates[row], pa.string()).as_py()

    def _see_statuses(self, element: ElementType, rows: pa.Table) -> None:
        """Note each unknown status with its first place."""
        if not element.statuses:
            return
        statuses, key = rows["status"].combine_chunks(), f"{element.name}: status"
        counts = pc.value_counts(statuses.drop_null())
        distinct = counts.field("values")
        is_known = pc.is_in(distinct, same_texts(distinct, element.known_statuses))
        for status in counts.filter(pc.invert(is_known)).to_pylist():
            row = pc.index(statuses, pa.scalar(status["values"])).as_py()
            finding = Finding(ProblemKind.UNKNOWN_STATUS, key, messages.status(status["values"]), "warning")
            self._add(Problem.at(_place(rows, row), finding), key, status["counts"])

    def _note_doubtful_dates(self) -> None:
        for element, counts in self.years.items():
            key = f"{element.name}: {element.month}"
            for year in sorted({*counts}.difference(trusted_years(counts))):
                place, date = self.first_of[element, year]
                problem = Problem(place, ProblemKind.DOUBTFUL_DATE, f"{key} = {date[:10]}", "warning")
                self._add(problem, key, counts[year])

    def inspection(self, kept: Mapping[str, int]) -> Inspection:
        """Return the collected problems and counts; `kept` is the number of distinct elements of each type."""
        types = element_types()
        dated = (element.name for element in types if element.month)
        dtypes = dict.fromkeys(("source_file", "source_line", "severity", "problem", "detail", "key"), "str")
        dtypes |= {"source_line": "Int64", "count": "Int64"}
        rows = [
            (place.source_file, place.source_line, *problem, count)
            for problem, (place, count) in self.noted.items()
        ]
        problems = pd.DataFrame(rows, columns=list(dtypes)).astype(dtypes)
        by_key = problems.groupby(["severity", "problem", "key"])["count"].sum().reset_index()
        inspection = Inspection(
            len(self.files),
            self.documents,
            {element.name: self.elements[element.name] for element in types},
            {name: kept[name] for name in dated if kept.get(name)},
            Problems(_in_order(problems.drop(columns="key"), "detail")),
            _in_order(by_key, "key"),
        )
        inspection.problems.attrs |= inspection.counts
        return inspection

    def _add(self, problem: Problem, key: str, count: int = 1) -> None:
        identity = (problem.severity, problem.problem, problem.detail, key)
        first, before = self.noted.get(identity, (problem.place, 0))
        self.noted[identity] = first, before + count


def _place(rows: pa.Table, index: int) -> Place:
    """Return the place that a row was read from."""
    values = [rows[name][index].as_py() for name in PLACE_COLUMNS if name in rows.column_names]
    return Place(*(values or [None]))


def _in_order(problems: pd.DataFrame, last: str) -> pd.DataFrame:
    """Sort by severity, then by count with the most frequent first, then by problem and the column `last`."""
    ranked = problems.assign(rank=problems["severity"].map(_SEVERITIES.index), fewer=-problems["count"])
    by = ["rank", "fewer", "problem", last]
    return ranked.sort_values(by, ignore_index=True).drop(columns=by[:2])
