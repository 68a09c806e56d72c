"""The one pass: groups of documents to the rows of every table that a plan asks for.

A query parses the documents of a group, functions of Arrow check and cast whole columns. The elements in which
something may not fit are mended in Python, and read the same way.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.archive import Chunk
from osdi_frames.archive.ahead import ahead
from osdi_frames.problems import Finding, Place, Policy, Problem, ProblemKind, verbatim
from osdi_frames.reading import query
from osdi_frames.reading.arrays import only
from osdi_frames.reading.columns import rows
from osdi_frames.reading.dedupe import ELEMENT, Deduplication
from osdi_frames.reading.documents import Element, Other
from osdi_frames.reading.engine import REFUSED, Engine, engine
from osdi_frames.reading.fitting import suspects as misfits
from osdi_frames.reading.keys import Keys, count_keys
from osdi_frames.reading.mend import Mended, Mender
from osdi_frames.reading.parsed import POSITIONS, Parsed, containers, is_plain
from osdi_frames.reading.plan import Plan, Select
from osdi_frames.reading.query import NUMBER, POSITION
from osdi_frames.reading.values import unusual_numbers
from osdi_frames.tables import element_types
from osdi_frames.tables.arrow import ARROW
from osdi_frames.tables.forms import Form, probes
from osdi_frames.tables.forms import form as form_by
from osdi_frames.tables.schema import ElementType

_GROUP = 12 << 20  # bytes of documents that are read together
_MOST_CORES = 4  # a group on each: they need up to 120 MB each
_EVERY = range(1 << POSITIONS)
Suspects = dict[int, Collection[int] | None]
"""By the number of a document, the positions of the elements that are read precisely; None for the document itself."""
_VERSIONS = 32  # bits of a place in the order for the elements that mending makes of a document


@dataclass(slots=True)
class Policed:
    """What takes notice of what a reading meets in addition to rows: it leaves problems to a policy."""

    policy: Policy
    elements: Counter[str] = field(default_factory=Counter)
    """How often each type was received."""

    def met(self, place: Place, what: Finding | Other, element: Element | None) -> None:  # noqa: ARG002 (of others)
        """Take notice of a problem or an element of another type; of a problem in an element, with it."""
        if isinstance(what, Finding):
            self.policy.handle(Problem.at(place, what))

    def read(self, documents: int, elements: Mapping[ElementType, int]) -> None:  # noqa: ARG002 (of others)
        """Take notice of how much was read."""
        self.elements.update({element.name: count for element, count in elements.items()})

    def keys(self, place: Place, keys: Keys, count: int) -> None:
        """Take notice of the keys of objects, and of how many have the same; only in an inspection."""


def stream(plan: Plan, chunks: Iterable[Chunk], observer: Policed) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of every table asked for, as pairs of a table's name and some of its rows, in order.

    Tables that are deduplicated come when all has been read.
    """
    selects = plan.asked
    with engine() as lent:
        found = _read(plan, chunks, observer, _dedupe(plan, lent), cores=_cores())
        yield from ((name, asked(selects[name], rows)) for name, rows in found)
        lent.release()


def read_partition(
    plan: Plan, number: int, chunks: Iterable[Chunk], observer: Policed
) -> tuple[dict[str, list[pa.Table]], dict[ElementType, pa.Table]]:
    """Return the rows of a partition by table, with the numbers of their elements, and the keys for `superseded`."""
    tables: dict[str, list[pa.Table]] = {name: [] for name in plan.asked}
    with engine() as lent:
        dedupe = _dedupe(plan, lent)
        for name, rows in _read(plan, chunks, observer, dedupe, cores=1):
            tables[name].append(rows)
        return tables, {element: kept.keys(number) for element, kept in dedupe.items()}


def _dedupe(plan: Plan, lent: Engine) -> dict[ElementType, Deduplication]:
    return {
        element: Deduplication(element, identities, lent)
        for element, identities in plan.identities.items()
        if identities
    }


def _read(
    plan: Plan,
    chunks: Iterable[Chunk],
    observer: Policed,
    dedupe: Mapping[ElementType, Deduplication],
    *,
    cores: int,
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of every table asked for, with the number of their element."""
    before = 0
    groups = grouped(chunks)
    one = partial(read, plan)
    readings = (result() for result in ahead(one, groups, cores)) if cores > 1 else map(one, groups)
    for reading in readings:
        for notice in reading.notices:
            notice(observer)
        for select, numbered in reading.rows:
            rows = _numbered(numbered, before)
            kept = dedupe.get(select.table.element)
            if kept and select is plan.selects[select.table.element][0]:
                kept.see(rows)
            if select.asked is None:
                continue
            found = rows.select([*select.schema.names, ELEMENT])
            if kept:
                kept.wait(select.table.name, found)
            else:
                yield select.table.name, found
        before += reading.documents
    for deduplication in dedupe.values():
        yield from deduplication.kept()


def _numbered(rows: pa.Table, before: int) -> pa.Table:
    """Give elements their numbers in the reading; `before` are the documents before their group."""
    return rows.set_column(
        rows.schema.get_field_index(ELEMENT), ELEMENT, pc.add(rows[ELEMENT], before << POSITIONS)
    )


def asked(select: Select, rows: pa.Table) -> pa.Table:
    """Return the columns asked for alone, with their schema."""
    return rows.select(select.schema.names).cast(select.schema)


@dataclass(frozen=True, slots=True)
class Group:
    """Candidates that are read together, where each begins, and its place in the order of reading."""

    documents: pa.ChunkedArray
    files: pa.ChunkedArray
    lines: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, chunks: list[Chunk]) -> Group:
        """Put chunks together."""
        names = pa.array([chunk.name for chunk in chunks], pa.string())
        counts = [len(chunk.documents) for chunk in chunks]
        files = names.take(pa.array(np.repeat(np.arange(len(chunks)), counts)))
        documents = pa.chunked_array([chunk.documents for chunk in chunks], pa.binary())
        lines = np.concatenate([chunk.lines for chunk in chunks])
        return cls(documents, files, lines, np.arange(len(lines)))

    def place(self, number: int, line: int = 0) -> Place:
        """Return where a document begins, which may be lines below its candidate's first."""
        return Place(self.files[number].as_py(), int(self.lines[number]) + line)

    def and_mended(self, mended: list[Mended]) -> Group:
        """Return the group with the places of what mending made of its documents, in the order of reading."""
        numbers = np.array([document.number for document in mended], np.int64)
        # An element mended alone goes back to its place in its document.
        versions = np.array(
            [0 if document.alone else version for version, document in enumerate(mended, 1)], np.int64
        )
        versions = np.concatenate([self.order << _VERSIONS, numbers << _VERSIONS | versions])
        lines = self.lines[numbers] + np.array([document.line for document in mended], np.int64)
        return replace(
            self,
            files=pa.chunked_array([self.files, self.files.take(pa.array(numbers))]),
            lines=np.concatenate([self.lines, lines]),
            order=np.unique(versions, return_inverse=True)[1],
        )

    def add_to(self, rows: pa.Table, select: Select, *, in_order: bool) -> pa.Table:
        """Return the rows in the order of reading, with their place and the number of their element."""
        numbers = rows[NUMBER].to_numpy()
        elements = self.order[numbers] << POSITIONS | rows[POSITION].to_numpy()
        if not in_order:
            order = np.argsort(elements, kind="stable")
            rows, numbers, elements = rows.take(pa.array(order)), numbers[order], elements[order]
        given = {"source_file": self.files, "source_line": pa.chunked_array([self.lines])}
        columns = {
            column.name: (
                given[column.name].take(pa.array(numbers)) if column.origin == "source" else rows[column.name]
            ).cast(ARROW[column.type])
            for column in select.columns
        }
        return pa.table(columns | {ELEMENT: elements})


def grouped(chunks: Iterable[Chunk]) -> Iterator[Group]:
    """Collect chunks until a query is worth its while."""
    waiting: list[Chunk] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += chunk.documents.nbytes
        if size >= _GROUP:
            yield Group.of(waiting)
            waiting, size = [], 0
    if waiting:
        yield Group.of(waiting)


def _cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_CORES)


@dataclass(slots=True)
class Reading:
    """What was read of a group: the rows of every select, in the order of reading, and what was met."""

    documents: int = 0
    """How many numbers of documents it takes."""
    rows: list[tuple[Select, pa.Table]] = field(default_factory=list)
    notices: list[Callable[[Policed], None]] = field(default_factory=list)

    def note(self, method: str, *args: Any) -> None:
        """Note what an observer is to take notice of."""
        self.notices.append(methodcaller(method, *args))


def read(plan: Plan, group: Group) -> Reading:
    """Read a group."""
    reading = Reading()
    with engine() as lent:
        reading.rows += Reader(plan, lent, reading).read(group)
    return reading


@dataclass(slots=True)
class Reader:
    """Reads a group by a plan."""

    plan: Plan
    engine: Engine
    reading: Reading
    mender: Mender = field(init=False)

    def __post_init__(self) -> None:
        self.mender = Mender(self.plan.shapes, self.plan.timestamps, element_types(), self.plan.prefixes)

    def read(self, group: Group) -> Iterator[tuple[Select, pa.Table]]:
        """Yield the rows of every select; those without rows are left out."""
        documents, broken = _decoded(group)
        suspects: Suspects = dict.fromkeys(broken)
        found = self._plain(documents, group, suspects)
        mended = list(self._mended(group, suspects))
        places = group.and_mended(mended)
        forms: dict[Form, list[int]] = defaultdict(list)
        for number, one in enumerate(mended):
            forms[one.form].append(number)
        for form, numbers in forms.items():
            chosen = [mended[number] for number in numbers]
            table = _documents(
                np.array(numbers) + len(group.lines),
                [one.document for one in chosen],
                [one.position for one in chosen],
            )
            elements = self._parsed(form, table, self.engine.parse)
            self._rows(elements, np.ones(len(elements.numbers), bool), found)
            if self.plan.inspects:
                whole = [not one.alone for one in chosen]
                self._list_keys({form: table.filter(pa.array(whole))}, places.place)
        documents_read = len(group.lines) - sum(positions is None for positions in suspects.values())
        mains = {element: chosen[0] for element, chosen in self.plan.selects.items()}
        counts = {element: sum(part.num_rows for part in found[main]) for element, main in mains.items()}
        self.reading.note("read", documents_read, counts)
        self.reading.documents = len(group.lines) + len(mended)
        for select, parts in found.items():
            if any(part.num_rows for part in parts):
                yield select, places.add_to(pa.concat_tables(parts), select, in_order=len(parts) == 1)

    def _plain(self, documents: pa.Table, group: Group, suspects: Suspects) -> dict[Select, list[pa.Table]]:
        """Read documents by queries; give the rows, and note what is suspect."""
        documents, forms, parsed = self._parse(only(documents, suspects, invert=True), suspects)
        if self.plan.inspects:
            self._list_keys(forms, group.place)
        misplaced = [number for number, positions in suspects.items() if positions is not None]
        odd = [
            elements.keys[misfits(self.engine, elements, self.plan.shapes, some)] for elements, some in parsed
        ]
        positions: defaultdict[int, set[int]] = defaultdict(set)
        for key in np.concatenate(odd).tolist() if odd else ():
            positions[key >> POSITIONS].add(key & _EVERY[-1])
        suspects |= positions | suspects
        if self.plan.inspects:
            self._list_numbers(only(documents, suspects, invert=True), group)
        found: dict[Select, list[pa.Table]] = {
            select: [] for chosen in self.plan.selects.values() for select in chosen
        }
        for elements, _ in parsed:
            fit = ~np.isin(elements.keys, np.concatenate(odd)) & ~np.isin(elements.numbers, misplaced)
            self._rows(elements, fit, found)
        return found

    def _parse(
        self, documents: pa.Table, suspects: Suspects
    ) -> tuple[pa.Table, dict[Form, pa.Table], list[tuple[Parsed, pa.Table]]]:
        """Parse documents; give those that are JSON, these by their form, and their elements with their documents."""
        try:
            forms, others = self._forms(documents)
            parse = self.engine.parse_strictly
            parsed = [(self._parsed(form, some, parse), some) for form, some in forms.items()]
        except REFUSED:
            # Malformed JSON is rare, and fails the query: it is looked for only then.
            self.engine.put("documents", documents)
            invalid = self.engine.run(query.INVALID).to_arrow_table()["number"].combine_chunks()
            suspects |= dict.fromkeys(invalid.to_pylist())
            documents = only(documents, suspects, invert=True)
            forms, others = self._forms(documents)
            parsed = []
            for form, some in forms.items():
                expected = containers(query.inside_of(form, self._structure(form)))
                plain = [is_plain(text, expected) for text in some["document"].to_pylist()]
                misplaced = some["number"].filter(pa.array(~np.array(plain, bool)))
                suspects |= dict.fromkeys(misplaced.to_pylist(), _EVERY)
                some = some.filter(pa.array(plain, pa.bool_()))
                parsed.append((self._parsed(form, some, self.engine.parse), some))
        suspects |= dict.fromkeys(others)
        return documents, forms, parsed

    def _parsed(self, form: Form, documents: pa.Table, parse: Callable[..., pa.Table]) -> Parsed:
        found = parse(form, self._structure(form), documents)
        return Parsed.of(form, documents, found, self.plan.prefixes, self.engine.pairs)

    def _structure(self, form: Form) -> Any:
        return query.structure(query.entry_shape(form, self.plan.shapes))

    def _rows(self, elements: Parsed, fit: np.ndarray, found: dict[Select, list[pa.Table]]) -> None:
        """Add the rows of the elements that fit."""
        for element in elements.form.types:
            for select in self.plan.selects[element]:
                found[select].append(rows(elements, select.table, select.columns, fit))

    def _list_numbers(self, documents: pa.Table, group: Group) -> None:
        """List the numbers that other readers refuse; here they are text where text is declared."""
        self.engine.put("documents", documents)
        for (number,) in self.engine.run(query.UNUSUAL).fetchall():
            for text in unusual_numbers(group.documents[number].as_py()):
                finding = Finding(ProblemKind.ODD_NUMBER, value=verbatim(text), severity="warning")
                self.reading.note("met", group.place(number), finding, None)

    def _list_keys(self, forms: Mapping[Form, pa.Table], place: Callable[[int], Place]) -> None:
        """List the keys of the objects whose keys are declared, in the order of reading."""
        found = [
            one
            for form, documents in forms.items()
            for one in count_keys(self.engine, form, self.plan.shapes, documents)
        ]
        for number, keys, count in sorted(found, key=itemgetter(0)):
            self.reading.note("keys", place(number), keys, count)

    def _forms(self, documents: pa.Table) -> tuple[dict[Form, pa.Table], list[int]]:
        """Sort documents by their form; give also the numbers of those that need a closer look."""
        types = element_types()
        others: list[int] = []
        is_array = pc.starts_with(documents["document"], "[")
        deliveries = documents["number"].filter(is_array).to_pylist()
        numbers_of: defaultdict[Form, list[int]] = defaultdict(list)
        if deliveries:
            numbers_of[form_by({(): "ARRAY"}, types)] = deliveries
        if len(deliveries) < documents.num_rows:
            self.engine.put("documents", documents.filter(pc.invert(is_array)))
            paths = probes(types, self.plan.prefixes)
            for kinds, numbers in self.engine.run(query.types_at(paths)).fetchall():
                present = {path: kind for path, kind in zip(paths, kinds, strict=True) if kind is not None}
                decided = form_by(present, types, self.plan.prefixes)
                unclear = decided.kind == "undecided" or (decided.kind == "other" and self.plan.inspects)
                (others if unclear else numbers_of[decided]).extend(numbers)
        parts: defaultdict[Form, list[pa.Table]] = defaultdict(list)
        for decided, numbers in numbers_of.items():
            chosen = only(documents, numbers)
            held = self.plan.holds(decided)
            if not held and decided.kind == "delivery":
                self.engine.put("documents", chosen)
                others += [number for (number,) in self.engine.run(query.not_read(types)).fetchall()]
            for one in held:  # several forms are one where only some of their types are read
                parts[one].append(chosen)
        forms = {
            one: pa.concat_tables(chosen).sort_by("number") if len(chosen) > 1 else chosen[0]
            for one, chosen in parts.items()
        }
        return forms, others

    def _mended(self, group: Group, suspects: Suspects) -> Iterator[Mended]:
        """Mend what is suspect, and report its problems, in the order of reading."""
        for number in sorted(suspects):
            for met in self.mender.mend(number, group.documents[number].as_py(), suspects[number]):
                if isinstance(met, Mended):
                    yield met
                elif met.what is None:
                    self.reading.note("read", 1, {})
                else:
                    self.reading.note("met", group.place(number, met.line), met.what, met.element)


def _decoded(group: Group) -> tuple[pa.Table, list[int]]:
    """Return the candidates as text, and the numbers of those that queries may not read."""
    try:
        texts = group.documents.cast(pa.string())
    except pa.ArrowInvalid:
        texts = pa.chunked_array([[_text(document) for document in group.documents.to_pylist()]], pa.string())
    documents = _documents(np.arange(len(texts)), texts)
    odd = pc.fill_null(pc.match_substring_regex(texts, query.LAX), True)
    return documents, documents["number"].filter(odd).to_pylist()


def _text(document: bytes) -> str | None:
    try:
        return document.decode()
    except UnicodeDecodeError:
        return None


def _documents(numbers: np.ndarray, texts: object, starts: object = None) -> pa.Table:
    """Return the relation that the queries read."""
    starts = np.zeros(len(numbers), np.int64) if starts is None else pa.array(starts, pa.int64())
    return pa.table({"number": numbers, "start": starts, "document": texts})
