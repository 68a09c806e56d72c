"""The contents of an archive, as text and as the card that a notebook shows."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from osdi_frames.messages import counted, printable, wrapped
from osdi_frames.parsing.check import Inspection, Inspector
from osdi_frames.parsing.parse import FIRST_DOCUMENTS, types_among
from osdi_frames.problems import ProblemKind
from osdi_frames.pulls import Manifest, manifests
from osdi_frames.reader import Reader
from osdi_frames.reports import exclusion
from osdi_frames.reports.columns import Clock
from osdi_frames.resolving.filters import Filtering
from osdi_frames.sources.source import FilePartition, Part, listed_files
from osdi_frames.tables import TABLES, element_types, known_prefixes, main_table
from osdi_frames.tables.people import by_address_alone
from osdi_frames.tables.resource import GONE_SINCE

#: The columns of each main table that show its dates and the rows that reports do not count; for tables without the
#: column of reasons, the latter is GONE_SINCE.
SHOWN_COLUMNS: Final = {
    table.name: [
        column.name
        for column in table.columns
        if column.name in (str(table.element.month), exclusion.COLUMN, GONE_SINCE.name)
    ]
    for table in map(main_table, element_types())
}
_LARGE: Final = 300 << 20  # bytes of files; a pass over more takes some seconds
_PULLS: Final = 5  # the latest pulls, which have a line each
_CARD_TABLES: Final = 6  # those of most rows, which a card shows unfolded
_CARD_NOTES: Final = 3
_KINDS: Final = 3  # the most frequent kinds of problems, which are named
_UNITS: Final = {"GB": 1e9, "MB": 1e6, "kB": 1e3}
_SEVERITIES: Final = {
    "error": ("error", "errors"),
    "warning": ("warning", "warnings"),
    "info": ("value that no table reads", "values that no table reads"),
}
_MANY = f"large: only the first {FIRST_DOCUMENTS} documents were looked at; check() reads all, scan() streams a table"
_ONCE = "an open stream can be read once, so nothing was looked at; write it into a file first"
_ROWS = "rows: each element once, its versions merged; reports leave out the excluded"


def contents_of(reader: Reader) -> Contents:
    """Return the contents of an archive after one pass over it, or after its first documents if it is large."""
    is_part, filtering = isinstance(reader.source, FilePartition), Filtering(reader.filters)
    files = _files_of(reader)
    filter_notes = [*filtering.lines(), *filter(None, [filtering.left_out()])]
    contents = Contents(repr(reader), files, filter_notes, _pulls_of(reader), pd.DataFrame())
    if reader.is_read_once:
        return replace(contents, note=_ONCE)
    if sum(file.size for file in files) > _LARGE:
        elements, _ = types_among(reader.first_documents(), known_prefixes(reader.prefix))
        types = pd.DataFrame({"table": [main_table(element).name for element in elements]})
        return replace(contents, types=types, note=_MANY)
    columns = {
        name: names
        for name, names in SHOWN_COLUMNS.items()
        if filtering.leads_to(element := TABLES[name].element)
        and not (is_part and filtering.follows(element))
    }
    inspector, resolution = Inspector(None), reader.resolution(columns, inspects=True)
    frames = reader.frames(resolution, inspector)
    inspection = inspector.inspection(resolution.kept)
    return replace(
        contents,
        types=types_of(inspection, frames),
        inspection=inspection,
        known_by_address=resolution.known_by_address,
    )


def _files_of(reader: Reader) -> Sequence[Part]:
    """Return the files of a source, local and remote; objects and open streams have none."""
    if isinstance(reader.source, FilePartition):
        return reader.source.parts
    return [Part(file) for file in listed_files(reader.paths, lambda _: None)]


def _pulls_of(reader: Reader) -> list[Manifest]:
    """Return the manifests of an archive's pulls, oldest first, with those of pulls without a page."""
    if isinstance(reader.source, FilePartition):
        return manifests(part.file for part in reader.source.parts if isinstance(part.file, str))
    return manifests(reader.paths)


@dataclass(frozen=True, slots=True, repr=False)
class Contents:
    """The contents of an archive: as text, and in a notebook as a card."""

    title: str
    files: Sequence[Part]
    filter_notes: Sequence[str]
    """Notes on the filters, and on the types that these leave out."""
    pulls: Sequence[Manifest]
    types: pd.DataFrame
    """One row for each table of elements: `table`, `received`, `rows`, `excluded`, and the `first` and `last` day of
    its column `date`. For a large archive only `table`, for the types of its first documents."""
    inspection: Inspection | None = None
    """The problems and counts of the pass; None without a pass."""
    note: str = ""
    """The reason for which no pass was made."""
    known_by_address: int = 0
    """The number of people without an id."""

    @property
    def notes(self) -> list[str]:
        """Lines on filters, files, pulls and problems."""
        lines = [*self.filter_notes, *([_ROWS] if "rows" in self.types else [])]
        if self.files:
            lines.append(self._files_line())
        lines += [printable(line) for line in _pull_lines(self.pulls)]
        lines += [by_address_alone(self.known_by_address)] if self.known_by_address else []
        return [*lines, *(_findings(self.inspection.problems) if self.inspection else [self.note])]

    @property
    def urgent_notes(self) -> list[str]:
        """Lines on the latest pull if it is not complete, on what is missing, and on errors and warnings."""
        lines = [
            printable(line) for line in _pull_lines([pull for pull in self.pulls[-1:] if not pull.complete])
        ]
        if self.inspection is None:
            return [*lines, self.note]
        problems = self.inspection.problems
        return [*lines, *_findings(problems[problems["severity"] != "info"])[-_CARD_NOTES:]]

    def _files_line(self) -> str:
        """Return the number and size of the files, after a pass with the number of members of zips and tars."""
        count, read = len(self.files), self.inspection.files if self.inspection else 0
        inside = f" ({read:,} with the members of zips and tars in their place)" if read > count else ""
        size = sum(file.size for file in self.files)
        unit = next((unit for unit, least in _UNITS.items() if size >= least), "")
        in_words = f"{size / _UNITS[unit]:.1f} {unit}" if unit else counted(size, "byte")
        return f"{counted(count, 'file')}{inside}, {in_words}"

    def __repr__(self) -> str:
        shown = "no elements"
        if len(self.types):
            shown = _texts(self.types.drop(columns="date", errors="ignore")).to_string(index=False)
        return "\n".join([self.title, shown, *map(wrapped, self.notes)])

    def _repr_html_(self) -> str:
        """Return a card of some lines, and folded below it all, without colours, so that the notebook's own apply."""
        card = self.types
        if "rows" in card:
            card = card.nlargest(_CARD_TABLES, "rows").sort_index()[
                ["table", "rows", "excluded", "first", "last"]
            ]
        folded = f"{_table(self.types)}{_list(self.notes)}"
        return (
            f"<div><code>{html.escape(self.title)}</code>{_table(card)}{_list(self.urgent_notes)}"
            f"<details><summary>{self._summary()}</summary>{folded}</details></div>"
        )

    def _summary(self) -> str:
        counts = [counted(len(self.types), "table"), *([self._files_line()] if self.files else [])]
        counts += [counted(len(self.pulls), "pull")] if self.pulls else []
        return html.escape(f"all: {', '.join(counts)}")


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>"


def _table(types: pd.DataFrame) -> str:
    """Return tables of elements as HTML; numbers are at the right."""
    if not len(types):
        return "<p>no elements</p>"
    numbers = [types[name].dtype.kind == "i" for name in types]
    head = "".join(map(_cell, map(str, types), numbers, ["th"] * len(numbers)))
    rows = ("".join(map(_cell, row, numbers)) for row in _texts(types).itertuples(index=False))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def types_of(inspection: Inspection, frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return `Contents.types` from a pass, of which `frames` are the main tables with their `SHOWN_COLUMNS`."""
    rows = []
    for element in element_types():
        received, frame = inspection.elements[element.name], frames.get(main_table(element).name)
        if received and frame is not None:
            masks = (frame[name].notna() for name in (exclusion.COLUMN, GONE_SINCE.name) if name in frame)
            excluded = int(next(masks, pd.Series(dtype=bool)).sum())
            days = pd.Series(dtype="datetime64[us]")
            if element.month:
                days = Clock.of(frame, element.month, report="contents").times
            first, last = (f"{day:%Y-%m-%d}" if pd.notna(day) else "" for day in (days.min(), days.max()))
            rows.append(
                {
                    "table": main_table(element).name,
                    "received": received,
                    "rows": len(frame),
                    "excluded": excluded,
                    "date": element.month or "",
                    "first": first,
                    "last": last,
                }
            )
    return pd.DataFrame(rows)


def _texts(types: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as texts, in which numbers have thousands separators."""
    return types.map(lambda value: value if isinstance(value, str) else f"{value:,}")


def _cell(text: str, is_number: bool, tag: str = "td") -> str:
    side = "right" if is_number else "left"
    return f'<{tag} style="text-align: {side}">{html.escape(text)}</{tag}>'


def _pull_lines(pulls: Sequence[Manifest]) -> list[str]:
    """Return a line for each of the latest pulls, newest first, and one for all earlier ones."""
    lines = [f"pull {pull.folder.name}: {_outcome(pull)}" for pull in reversed(pulls[-_PULLS:])]
    if earlier := pulls[:-_PULLS]:
        incomplete = sum(not pull.complete for pull in earlier)
        outcome = f"{incomplete} of them not complete" if incomplete else "complete"
        lines.append(f"{counted(len(earlier), 'earlier pull')}: {outcome}")
    return lines


def _outcome(pull: Manifest) -> str:
    if pull.complete:
        return f"complete, {pull.finished_at:%Y-%m-%d %H:%M} UTC"
    return f"not complete; {pull.why.splitlines()[0]}"


def _findings(problems: pd.DataFrame) -> list[str]:
    """Return a line for each incomplete collection, and for each severity with its most frequent kinds."""
    incomplete = problems.loc[problems["problem"] == ProblemKind.INCOMPLETE, "detail"]
    return [*incomplete, *_problem_lines(problems)]


def _problem_lines(problems: pd.DataFrame) -> list[str]:
    """Return a line for each severity with the number of its problems and their most frequent kinds."""
    lines = []
    for severity, nouns in _SEVERITIES.items():
        by_kind = problems[problems["severity"] == severity].groupby("problem")["count"].sum()
        if len(by_kind):
            kinds = "; ".join(f"{kind}: {count:,}" for kind, count in by_kind.nlargest(_KINDS).items())
            others = "; …" if len(by_kind) > _KINDS else ""
            lines.append(f"{counted(int(by_kind.sum()), *nouns)} ({kinds}{others})")
    if not lines:
        return ["no problems"]
    lines[0] += "; check() lists them"
    return lines
