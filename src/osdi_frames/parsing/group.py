"""A group of documents, read: the rows of every table that a plan asks for, and what else was met.

A query parses the documents, functions of Arrow check and cast whole columns. The elements in which something may
not fit are mended in Python, and read the same way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, count
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing import query
from osdi_frames.parsing.arrays import Mask, cast, one, only, valid
from osdi_frames.parsing.columns import rows
from osdi_frames.parsing.documents import Element, elements, is_wrapper
from osdi_frames.parsing.engine import Engine, engine, refused
from osdi_frames.parsing.keys import count_around, count_keys
from osdi_frames.parsing.mend import mend
from osdi_frames.parsing.parsed import POSITIONS, Parsed, is_plain, misfits
from osdi_frames.parsing.plan import ELEMENT, Plan, Select
from osdi_frames.parsing.values import unusual_numbers
from osdi_frames.problems import Finding, Place, ProblemKind, Verbatim
from osdi_frames.sources.layout import Chunk, split
from osdi_frames.tables import element_types
from osdi_frames.tables.forms import Form, probes
from osdi_frames.tables.forms import form as form_by

_GROUP = 16 << 20  # bytes of documents that are read together


def grouped(chunks: Iterable[Chunk]) -> Iterator[pa.Table]:
    """Collect chunks until a query is worth its while; give their documents, numbered through."""
    waiting: list[Chunk] = []
    size = before = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += chunk.size
        if size >= _GROUP:
            yield (group := _joined(waiting, before))
            before += len(group)
            waiting, size = [], 0
    if waiting:
        yield _joined(waiting, before)


def _joined(chunks: list[Chunk], before: int) -> pa.Table:
    names = pa.array([chunk.name for chunk in chunks], pa.string())
    documents = one(
        pa.chunked_array([chunk.documents for chunk in chunks], pa.binary())
    )  # a small file is a chunk
    files = names.take(np.repeat(np.arange(len(chunks)), [len(chunk.documents) for chunk in chunks]))
    numbers = before + np.arange(len(files))
    return pa.table(
        {
            "number": numbers,
            "document": documents,
            "source_file": files,
            "source_line": np.concatenate([chunk.lines for chunk in chunks]),
            ELEMENT: numbers << POSITIONS,  # of the first of its elements
            "position": np.zeros_like(numbers),
            "misfits": pa.nulls(len(numbers), pa.string()),  # of a mended one, the keys of what was taken out
        }
    )


@dataclass(slots=True)
class GroupResult:
    """What was read of a group: the rows of every select that has any, in the order of reading, and what was met."""

    documents: int = 0
    elements: Mapping[str, int] = field(default_factory=dict)
    """How often each type was received."""
    rows: list[tuple[Select, pa.Table]] = field(default_factory=list)
    met: list[tuple[Place, Finding, Element | None]] = field(default_factory=list)
    """What no table takes; of what is in an element, with it."""
    keys: list[tuple[Place, Finding, int]] = field(default_factory=list)
    """The keys that no table reads or that occur twice, each where it is first, with its count; in an inspection."""


def read(plan: Plan, group: pa.Table) -> GroupResult:
    """Read a group."""
    with engine() as lent:
        return _Reader(plan, lent, group).read()


@dataclass(slots=True)
class _Reader:
    plan: Plan
    engine: Engine
    group: pa.Table
    result: GroupResult = field(default_factory=GroupResult)
    found: defaultdict[Select, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    odd: set[int] = field(default_factory=set)
    """The documents that no query reads."""
    whole: set[int] = field(default_factory=set)
    """The documents of which all elements are mended."""
    marked: set[int] = field(default_factory=set)
    """The elements of others that are mended."""

    def read(self) -> GroupResult:
        documents = self._decoded()
        self._read_plain(documents)
        self._read_mended(documents.schema)
        selects = self.plan.selects
        self.result.elements = {
            element.name: sum(map(len, self.found[main])) for element, (main, *_) in selects.items()
        }
        for select in chain.from_iterable(selects.values()):
            if any(map(len, parts := self.found[select])):
                whole = pa.concat_tables(parts)
                if len(parts) > 1:
                    whole = whole.take(pa.array(np.argsort(whole[ELEMENT], kind="stable")))
                self.result.rows.append((select, whole))
        return self.result

    def _decoded(self) -> pa.Table:
        """Return the documents as text, without those that queries may not read."""
        texts = cast(one(self.group["document"]), pa.string())
        lax = pc.fill_null(pc.match_substring_regex(texts, query.LAX), True)
        self.odd.update(self.group["number"].filter(lax).to_pylist())
        at = self.group.schema.get_field_index("document")
        return only(self.group.set_column(at, "document", texts), self.odd, invert=True)

    def _read_plain(self, documents: pa.Table) -> None:
        """Read documents by queries; note what is suspect."""
        forms = self._parse(documents)
        parts = [np.array([], np.int64)]
        for parsed, _ in forms:
            suspect = misfits(parsed, self.plan.shapes)
            if parsed.form.kind == "delivery":
                self._check_types(parsed, suspect)
            parts.append(parsed.elements[suspect])
        marked = np.concatenate(parts)
        self.marked.update(marked.tolist())
        self.whole |= self.odd
        if self.plan.inspects:
            read = [(parsed.form, only(some, self.odd, invert=True)) for parsed, some in forms]
            self._list_keys(read, self.group)
            self._list_numbers(only(documents, self.odd, invert=True))
        for parsed, _ in forms:
            inside = np.isin(parsed.elements >> POSITIONS, list(self.whole))
            self._add(parsed, ~np.isin(parsed.elements, marked) & ~inside)

    def _suspects(self) -> set[int]:
        """Return the documents with elements that are mended."""
        return self.whole.union(element >> POSITIONS for element in self.marked)

    def _parse(self, documents: pa.Table) -> list[tuple[Parsed, pa.Table]]:
        """Parse documents: the elements of those of each form, with these."""
        try:
            return [(self._parsed(form, some), some) for form, some in self._forms(documents)]
        except refused():
            # Malformed JSON is rare, and fails the query: it is looked for only then.
            self.odd.update(number for (number,) in self._asked(query.INVALID, documents))
        documents = only(documents, self.odd, invert=True)
        return [(self._carefully_parsed(form, some), some) for form, some in self._forms(documents)]

    def _carefully_parsed(self, form: Form, documents: pa.Table) -> Parsed:
        """Parse the documents in which nothing is misplaced, none where that is refused, too; others are suspect."""
        shape = query.document_shape(form, self.plan.shapes)
        plain = [is_plain(text, shape) for text in documents["document"].to_pylist()]
        try:
            parsed = self._parsed(form, documents.filter(pa.array(plain, pa.bool_())))
        except refused():
            parsed = self._parsed(form, documents.slice(0, 0))
        read, given = (some["number"].to_pylist() for some in (parsed.documents, documents))
        self.whole.update({*given}.difference(read))
        return parsed

    def _forms(self, documents: pa.Table) -> list[tuple[Form, pa.Table]]:
        """Sort documents by their form; note those that need a closer look."""
        numbers_of: defaultdict[Form, list[int]] = defaultdict(list)
        for pattern, present in query.DELIVERIES:
            begun = pc.match_substring_regex(documents["document"], pattern)
            if numbers := documents["number"].filter(begun).to_pylist():
                numbers_of[form_by(present)] = numbers
        if len(rest := only(documents, [*chain.from_iterable(numbers_of.values())], invert=True)):
            paths = probes(self.plan.prefixes)
            for kinds, numbers in self._asked(query.types_at(paths), rest):
                present = {path: kind for path, kind in zip(paths, kinds, strict=True) if kind is not None}
                form = form_by(present, self.plan.prefixes)
                if form.kind in ("undecided", "nested"):
                    self.odd.update(numbers)
                else:
                    numbers_of[form].extend(numbers)
        parts: defaultdict[Form, list[pa.Table]] = defaultdict(list)
        for form, numbers in numbers_of.items():
            chosen, held = only(documents, numbers), self.plan.queries_for(form)
            if form.kind == "page":
                self.odd.update(self._nesting(form, chosen))
            if not held and form.kind == "delivery":
                for keys, owners, _ in self._asked(query.entry_keys(form), chosen):
                    self.odd.update(() if is_wrapper(keys) else owners)
            for narrower in held:  # several forms are one where only some of their types are read
                parts[narrower].append(chosen)
        return [
            (form, pa.concat_tables(some).sort_by("number") if len(some) > 1 else some[0])
            for form, some in parts.items()
        ]

    def _nesting(self, form: Form, pages: pa.Table) -> Iterator[int]:
        """Yield the pages of which an element embeds collections itself."""
        several = pc.greater(pc.count_substring(pages["document"], '"_embedded"'), 1)
        if pc.any(several).as_py():
            collections = (
                name for element in element_types() for name in element.collections(self.plan.prefixes)
            )
            found = self._asked(query.nesting(form, collections), pages.filter(several))
            yield from (number for (number,) in found)

    def _parsed(self, form: Form, documents: pa.Table) -> Parsed:
        found = self.engine.parse(form, query.document_shape(form, self.plan.shapes), documents)
        return Parsed.of(form, documents, found, self.plan.prefixes, self.engine.pairs)

    def _check_types(self, parsed: Parsed, suspect: Mask) -> None:
        """Mark elements that have a type that is read and are no objects; note documents with other entries."""
        types = {str(one.type_key): valid(parsed.at(parsed.head(one))) for one in parsed.form.types}
        doubtful = ~np.logical_or.reduce(list(types.values()))
        if len(types) > 1:  # one of them may be null where another is an object
            null = pc.match_substring_regex(parsed.documents["document"], query.NULL)
            doubtful |= np.asarray(null)[parsed.owners]
        if not doubtful.any():
            return
        doubted = only(parsed.documents, np.unique(parsed.elements[doubtful] >> POSITIONS))
        for keys, numbers, positions in self._asked(query.entry_keys(parsed.form), doubted):
            at = np.searchsorted(parsed.elements, np.array(numbers) << POSITIONS | np.array(positions))
            for name in types.keys() & keys:
                suspect[at] |= ~types[name][at]
            if not is_wrapper(keys):
                some = np.logical_or.reduce([present[at] for present in types.values()])
                self.odd.update(np.array(numbers)[~some].tolist())

    def _asked(self, question: str, documents: pa.Table) -> list[Any]:
        """Return the rows that a query gives of documents."""
        self.engine.put("documents", documents)
        return [tuple(row.values()) for row in self.engine.ask(question).to_pylist()]

    def _add(self, parsed: Parsed, fit: Mask) -> None:
        """Add the rows of the elements that fit."""
        for element in parsed.form.types:
            for select in self.plan.selects[element]:
                self.found[select].append(rows(parsed, select.table, select.columns, fit))

    def _list_numbers(self, documents: pa.Table) -> None:
        """List the numbers that other readers refuse; here they are text where text is declared."""
        texts = documents["document"]
        unusual = reduce(pc.or_, (pc.match_substring_regex(texts, pattern) for pattern in query.UNUSUAL))
        for document in documents.filter(unusual).to_pylist():
            for text, times in Counter(unusual_numbers(document["document"])).items():
                finding = Finding(
                    ProblemKind.ODD_NUMBER, value=Verbatim(text), severity="warning", count=times
                )
                self.result.met.append((_place(document), finding, None))

    def _list_keys(self, forms: Iterable[tuple[Form, pa.Table]], places: pa.Table) -> None:
        """List the keys that no table reads or that occur twice, in the order of reading."""
        counted: list[tuple[int, Finding, int]] = []
        around: dict[int, None] = {}
        for form, some in forms:
            counted += count_keys(self.engine, form, self.plan.shapes, some)
            rest = only(some, around, invert=True)  # a page of several types is there once for each
            counted += count_around(self.engine, form, self.plan.prefixes, rest)
            around |= dict.fromkeys(rest["number"].to_pylist() if form.kind == "page" else ())
        found = sorted(counted, key=itemgetter(0))
        first = only(places, {number for number, *_ in found}).to_pylist()
        place = {document["number"]: _place(document) for document in first}
        self.result.keys.extend((place[number], finding, times) for number, finding, times in found)

    def _read_mended(self, schema: pa.Schema) -> None:
        """Mend what is suspect, and read it."""
        self.result.documents = len(self.group) - len(self.odd)
        parts: defaultdict[tuple[Form, bool], list[dict[str, Any]]] = defaultdict(list)
        for document in only(self.group, self._suspects()).to_pylist():
            for form, mended in self._mended(document):
                parts[form, document["number"] in self.odd].append(mended)
        for (form, is_odd), some in parts.items():
            numbered = [document | {"number": number} for number, document in enumerate(some)]
            documents = pa.Table.from_pylist(numbered, schema)
            parsed = self._parsed(form, documents)
            self._add(parsed, np.ones(len(parsed.elements), bool))
            if self.plan.inspects and is_odd:
                self._list_keys([(form, documents)], documents)

    def _mended(self, candidate: dict[str, Any]) -> Iterator[tuple[Form, dict[str, Any]]]:
        """Yield the elements of a document that are suspect, each as a document of its own; note what is wrong."""
        number, numbers = candidate["number"], count(candidate[ELEMENT])
        is_odd, is_whole = number in self.odd, number in self.whole
        named = (
            self.plan.named if candidate["source_file"] is None else None
        )  # who has the objects knows them
        for line, document in split(candidate["document"]):
            place = _place(candidate, line)
            if isinstance(document, Finding):
                if is_odd or document.severity == "error":  # queries have listed keys and numbers of others
                    self.result.met.append((place, document, None))
                continue
            self.result.documents += is_odd
            for met in elements(document, self.plan.prefixes, named):
                if isinstance(met, Finding):
                    if is_odd or met.severity == "error":
                        self.result.met.append((place, met, None))
                    continue
                of_query = candidate[ELEMENT] + met.position
                if met.type in self.plan.shapes and (is_whole or of_query in self.marked):
                    form, text, findings = mend(met, self.plan)
                    self.result.met.extend((place, finding, met) for finding in findings)
                    mended = {
                        "document": text,
                        "source_line": place.source_line,
                        ELEMENT: next(numbers) if is_whole else of_query,
                        "position": met.position,
                        "misfits": "".join(f"{met.relative(finding.key)}\n" for finding in findings),
                    }
                    yield form, candidate | mended


def _place(document: Mapping[str, Any], line: int = 0) -> Place:
    """Return where a document begins, or another one some lines below."""
    return Place(document["source_file"], document["source_line"] + line)
