"""Every problem of an archive, and every key that no table declares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pandas as pd

from osdi_frames import archive
from osdi_frames.archive import Limits, Source
from osdi_frames.documents import SIGNATURE, Element, elements, unknown_keys
from osdi_frames.problems import Finding, Place, Problem, Severity
from osdi_frames.tables import TABLES, known_prefixes
from osdi_frames.tables.events import EVENT_FURNITURE
from osdi_frames.tables.schema import Column, ElementKind
from osdi_frames.tables.shape import ElementShape, Shape, element_shape
from osdi_frames.tables.signatures import SIGNATURE_FURNITURE
from osdi_frames.values import inspect_element

COLUMNS = ("source_file", "source_line", "severity", "problem", "detail", "count")
KEY_COLUMNS = ("severity", "problem", "key", "count")

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
_FURNITURE: dict[ElementKind, tuple[str, ...]] = {"event": EVENT_FURNITURE, "signature": SIGNATURE_FURNITURE}
_POSITION = re.compile(r"\[\d+\]")


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
        The service's own prefix, beside ``platform`` and ``action_network``.
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
    return inspect(source, prefix=prefix, limits=limits, progress=progress).problems


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a walk through every document of an archive met."""

    files: int
    """Those inside an archive file each; 0 for parsed objects."""
    documents: int
    elements: Mapping[ElementKind, int]
    """Events and signatures, each as often as it was told."""
    problems: pd.DataFrame
    """As `check` gives them."""
    by_key: pd.DataFrame
    """The problems without file and value: `severity`, `problem`, `key`, `count`."""


def inspect(
    source: Source, *, prefix: str | None = None, limits: Limits | None = None, progress: bool | None = None
) -> Inspection:
    """Walk through an archive as `check` does, and count what is there beside the problems.

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
    found = _Found()
    files: set[str | None] = set()
    documents = 0
    counted: dict[ElementKind, int] = {"event": 0, "signature": 0}
    checking = _Checking.of(known_prefixes(prefix))
    for chunk in archive.read(source, found.add, limits=limits, progress=progress):
        files.add(chunk.name)
        for document, line in zip(chunk.documents, chunk.lines, strict=True):
            for offset, value in archive.split(document.as_py()):
                documents += not isinstance(value, Finding)
                place = Place(chunk.name, int(line) + offset)
                for each in checking.told(value):
                    if isinstance(each, Element):
                        counted[each.kind] += 1
                    else:
                        found.add(Problem(place, each.problem, each.detail, each.severity), each.key)
    return Inspection(len(files - {None}), documents, counted, found.frame(), found.by_key())


@dataclass(slots=True)
class _Found:
    """The problems so far: equal ones once, with the first place and their count."""

    first: dict[tuple[Severity, str, str], Place] = field(default_factory=dict)
    counts: Counter[tuple[Severity, str, str]] = field(default_factory=Counter)
    keys: Counter[tuple[Severity, str, str]] = field(default_factory=Counter)

    def add(self, problem: Problem, key: str = "") -> None:
        same = (problem.severity, problem.problem, problem.detail)
        self.first.setdefault(same, problem.place)
        self.counts[same] += 1
        self.keys[problem.severity, problem.problem, _POSITION.sub("[]", key)] += 1

    def frame(self) -> pd.DataFrame:
        rows = [
            (self.first[each].source_file, self.first[each].source_line, *each, count)
            for each, count in _in_order(self.counts)
        ]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        types = dict.fromkeys(COLUMNS, "str") | {"source_line": "Int64", "count": "Int64"}
        return frame.astype(types)

    def by_key(self) -> pd.DataFrame:
        rows = [(*each, count) for each, count in _in_order(self.keys)]
        frame = pd.DataFrame(rows, columns=list(KEY_COLUMNS))
        return frame.astype(dict.fromkeys(KEY_COLUMNS, "str") | {"count": "Int64"})


def _in_order(counts: Counter[tuple[Severity, str, str]]) -> list[tuple[tuple[Severity, str, str], int]]:
    """Sort by severity, then the most frequent first."""
    return sorted(counts.items(), key=lambda item: (_SEVERITIES.index(item[0][0]), -item[1], item[0]))


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

    def told(self, document: object) -> Iterator[Element | Finding]:
        """Give the elements of a document, and all there is to say of it; of elements, relative to them."""
        if isinstance(document, Finding):
            yield document
            return
        for key in unknown_keys(document):
            yield Finding("undeclared key", f"page: {key}", severity="info")
        for each in elements(document):
            if isinstance(each, Element):
                yield each
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
