"""Every problem of an archive, and every key that no table declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd

from osdi_frames import archive
from osdi_frames.archive import Source
from osdi_frames.documents import SIGNATURE, Element, elements, unknown_keys
from osdi_frames.problems import Finding, Place, Problem, Severity
from osdi_frames.tables import TABLES, known_prefixes
from osdi_frames.tables.events import EVENT_FURNITURE
from osdi_frames.tables.schema import Column, ElementKind
from osdi_frames.tables.shape import ElementShape, Shape, element_shape
from osdi_frames.tables.signatures import SIGNATURE_FURNITURE
from osdi_frames.values import inspect_element

COLUMNS = ("source_file", "source_line", "severity", "problem", "detail", "count")

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
_FURNITURE: dict[ElementKind, tuple[str, ...]] = {"event": EVENT_FURNITURE, "signature": SIGNATURE_FURNITURE}
_POSITION = re.compile(r"\[\d+\]")


def check(source: Source, *, prefix: str | None = None, progress: bool | None = None) -> pd.DataFrame:
    """List every problem of an archive, and every key that no table declares.

    Unlike the readers it looks at everything in every document, so it is slower, and nothing stops it.

    Parameters
    ----------
    source
        As for `read_table`.
    prefix
        The service's own prefix, beside ``platform`` and ``action_network``.
    progress
        A progress bar: None shows one on a terminal or in a notebook, and for long work only.

    Returns
    -------
    DataFrame
        One row a problem, equal ones counted: `source_file` and `source_line` of the first, `severity`,
        `problem`, `detail`, `count`. An ``error`` is what ``on_error="raise"`` stops at; a ``warning`` was
        mended; ``info`` are keys and element types that no table takes: new fields of the service show
        up here first. To see long details whole: ``pd.set_option("display.max_colwidth", None)``.

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
    found = _Found()
    checking = _Checking.of(known_prefixes(prefix))
    for chunk in archive.read(source, found.add, progress=progress):
        for document, line in zip(chunk.documents, chunk.lines, strict=True):
            for offset, value in archive.split(document.as_py()):
                place = Place(chunk.name, int(line) + offset)
                for finding in checking.findings(value):
                    found.add(Problem(place, finding.problem, finding.detail, finding.severity))
    return found.frame()


@dataclass(slots=True)
class _Found:
    """The problems so far: equal ones once, with the first place and their count."""

    first: dict[tuple[Severity, str, str], Place] = field(default_factory=dict)
    counts: dict[tuple[Severity, str, str], int] = field(default_factory=dict)

    def add(self, problem: Problem) -> None:
        key = (problem.severity, problem.problem, problem.detail)
        self.first.setdefault(key, problem.place)
        self.counts[key] = self.counts.get(key, 0) + 1

    def frame(self) -> pd.DataFrame:
        ordered = sorted(self.counts, key=lambda key: (_SEVERITIES.index(key[0]), -self.counts[key], key))
        rows = [
            (self.first[key].source_file, self.first[key].source_line, *key, self.counts[key])
            for key in ordered
        ]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        types = dict.fromkeys(COLUMNS, "str") | {"source_line": "Int64", "count": "Int64"}
        return frame.astype(types)


@dataclass(frozen=True, slots=True)
class _Checking:
    """What all tables together declare, of each kind of element."""

    shapes: dict[ElementKind, ElementShape]
    columns: dict[ElementKind, tuple[Column, ...]]

    @classmethod
    def of(cls, prefixes: tuple[str, ...]) -> _Checking:
        shapes: dict[ElementKind, ElementShape] = {}
        columns: dict[ElementKind, tuple[Column, ...]] = {"event": (), "signature": ()}
        for table in TABLES.values():
            shape = element_shape(table, table.columns, prefixes)
            whole = shapes.setdefault(table.element, ElementShape(Shape(), Shape()))
            whole.of.merge(shape.of)
            whole.beside.merge(shape.beside)
            columns[table.element] += tuple(column for column in table.keys if column.origin == "envelope")
        for whole in shapes.values():
            whole.of.fold()
        return cls(shapes, columns)

    def findings(self, document: object) -> Iterator[Finding]:
        """Give all there is to say of a document; of elements, relative to them."""
        if isinstance(document, Finding):
            yield document
            return
        for key in unknown_keys(document):
            yield Finding("undeclared key", f"page: {key}", severity="info")
        for each in elements(document):
            if isinstance(each, Element):
                yield from self._of_element(each)
            elif isinstance(each, Finding):
                yield each
            else:
                yield Finding("other type", each.type, severity="info")

    def _of_element(self, element: Element) -> Iterator[Finding]:
        inspected = inspect_element(
            element, self.shapes[element.kind], self.columns[element.kind], undeclared=True
        )
        for finding in inspected:
            key = _relative(finding.key, element)
            if finding.severity == "info":
                furniture = any(
                    key == each or key.startswith(f"{each}[") for each in _FURNITURE[element.kind]
                )
                problem = "key not read" if furniture else finding.problem
                yield Finding(problem, f"{element.kind}: {key}", severity="info")
            else:
                yield Finding(finding.problem, f"{element.kind}: {key}", finding.value, finding.severity)


def _relative(key: str, element: Element) -> str:
    """Give a key as the element has it, so that the same in another element is counted with it."""
    holder = element.key.removesuffix(f".{SIGNATURE}")
    if key.startswith(element.key):
        inner = key[len(element.key) :].lstrip(".")
    elif key.startswith(holder):
        inner = f"../{key[len(holder) :].lstrip('.')}"
    else:
        inner = key
    return _POSITION.sub("[]", inner)
