"""What is inside an archive, as a notebook shows it: types with counts and period, files, pulls, problems."""

from __future__ import annotations

import contextlib
import html
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd

from osdi_frames.archive.listing import files
from osdi_frames.archive.source import Part, Partition, Source
from osdi_frames.client.folder import Manifest, manifests
from osdi_frames.errors import counted, printable
from osdi_frames.reading.check import Inspection
from osdi_frames.tables import element_types, main_table

#: The column of each main table that says when; of those without one, nothing is read.
DATES: Final = {
    table.name: [str(table.element.month)] if table.element.month else []
    for table in map(main_table, element_types())
}
_LARGE: Final = 300 << 20  # bytes of files: a pass over more takes some seconds


@dataclass(frozen=True, slots=True)
class Size:
    """How many files an archive has, and their bytes; of parsed objects none."""

    files: int = 0
    bytes: int = 0

    @property
    def is_large(self) -> bool:
        """Whether a pass over it takes long."""
        return self.bytes > _LARGE

    def __str__(self) -> str:
        if not self.files:
            return "parsed objects or open files"
        return f"{counted(self.files, 'file')}, {self.bytes / 1e6:,.1f} MB"


def size_of(source: Source) -> Size:
    """Return how large a source is."""
    if isinstance(source, Partition):
        parts: Sequence[Part] = source.parts
    else:
        parts = [Part(file) for file in files(_paths(source), lambda _: None)]
    return Size(len(parts), sum(part.size for part in parts))


def pulls_of(source: Source) -> list[Manifest]:
    """Return the manifests of the pulls in the folders of a source, the oldest first."""
    found: list[Manifest] = []
    for path in map(Path, _paths(source)):
        with contextlib.suppress(OSError, ValueError, KeyError):  # of an address, or not ours
            found += [*manifests(path), *manifests(path.parent)] if path.is_dir() else []
    return sorted(dict.fromkeys(found), key=lambda pull: pull.started_at)


def _paths(source: Source) -> list[str]:
    parts: Iterable[object] = source if isinstance(source, list | tuple) else [source]
    return [os.fspath(part) for part in parts if isinstance(part, str | os.PathLike)]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is inside an archive; printed as text, in a notebook as a table."""

    title: str
    size: Size
    pulls: Sequence[Manifest]
    types: pd.DataFrame
    """One row a type: `table`, `received`, `different`, `first`, `last`; of a large archive those of its beginning."""
    inspection: Inspection | None = None
    """What a pass met; None of a large archive, over which none was made."""

    @property
    def notes(self) -> list[str]:
        """What there is to say in addition to the types, a line each."""
        lines = [str(self.size)]
        lines += [printable(f"pull {pull.folder.name}: {_outcome(pull)}") for pull in self.pulls]
        if self.inspection is None:
            return [*lines, "large: this is what its first documents are; check() reads all of it"]
        counts = self.inspection.problems.groupby("severity")["count"].sum()
        found = [counted(int(counts[name]), noun) for name, noun in _SEVERITIES.items() if counts.get(name)]
        return [*lines, f"{', '.join(found)}: check() lists them" if found else "no problems"]

    def __str__(self) -> str:
        return "\n".join([self.title, self.types.to_string(index=False), *self.notes])

    @property
    def html(self) -> str:
        """The same as HTML."""
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in self.notes)
        table = self.types.to_html(index=False, border=0, na_rep="")
        return f"<div><code>{html.escape(self.title)}</code>{table}<ul>{lines}</ul></div>"


_SEVERITIES: Final = {"error": "error", "warning": "warning", "info": "undeclared value"}


def _outcome(pull: Manifest) -> str:
    finished = f"{pull.finished_at:%Y-%m-%d %H:%M} UTC" if pull.finished_at else "not finished"
    return f"{finished}, {'complete' if pull.complete else 'not complete'}"


def types_of(inspection: Inspection, dates: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the types of an archive that has been read, from its main tables with the columns of `DATES`."""
    rows = []
    for element in element_types():
        received, table = inspection.elements[element.name], main_table(element).name
        if received:
            times = dates[table][DATES[table][0]] if DATES[table] else pd.Series(dtype="datetime64[us]")
            first, last = (f"{day:%Y-%m-%d}" if pd.notna(day) else "" for day in (times.min(), times.max()))
            rows.append((table, received, len(dates[table]), first, last))
    return pd.DataFrame(rows, columns=["table", "received", "different", "first", "last"])
