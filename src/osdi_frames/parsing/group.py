"""Groups of documents, and the pass over one.

A query parses the documents of a group, functions of Arrow check and cast whole columns. The elements in which
something may not fit are mended in Python, and read the same way.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain, count
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import Mask, cast, valid
from osdi_frames.document_forms import Form, form_by_types, is_wrapper, probes, value_at
from osdi_frames.engine import Engine, engine, refused
from osdi_frames.parsing import queries
from osdi_frames.parsing.columns import rows
from osdi_frames.parsing.documents import Element, elements
from osdi_frames.parsing.listings import ListedPage, listed_page, page_paths
from osdi_frames.parsing.mend import has_shape, mend
from osdi_frames.parsing.parsed import Parsed, misfits
from osdi_frames.parsing.plan import ELEMENT, POSITIONS, Plan, Select, document_shape
from osdi_frames.parsing.queries import select_documents, with_colons
from osdi_frames.parsing.undeclared import count_keys
from osdi_frames.problems import Finding, Place, ProblemKind
from osdi_frames.sources.layout import Chunk, split
from osdi_frames.tables import element_types

_EVERY = (1 << POSITIONS) - 1  # the position of all elements of a document
_GROUP = 16 << 20  # bytes of documents that are read together
_END = 16  # bytes in which an empty body ends
_FEW = 16  # chunks that are not worth a copy


@dataclass(slots=True)
class Occurrences:
    """How often a finding occurs in the documents of a group."""

    place: Place
    """Where it occurs first."""
    finding: Finding
    element: Element | None = None
    """The element that holds it, if one does."""
    count: int = 1
    number: int = 0
    """Of the document that holds it, in the order of reading."""


@dataclass(slots=True)
class GroupResult:
    """What was read of a group.

    `rows` are of every select that has any, in the order of reading.
    """

    documents: int = 0
    elements: Mapping[str, int] = field(default_factory=dict)
    """How often each type was received."""
    rows: list[tuple[Select, pa.Table]] = field(default_factory=list)
    findings: list[Occurrences] = field(default_factory=list)
    """What no table takes; once for all that are alike and in no element, as each line of a file can hold one."""
    keys: list[Occurrences] = field(default_factory=list)
    """The keys that no table reads or that occur twice, once each; in an inspection."""
    files: set[str] = field(default_factory=set)
    """The files that its documents are in; in an inspection."""
    pages: list[ListedPage] = field(default_factory=list)
    """What its pages say of their collections, where the plan lists them."""


def grouped(chunks: Iterable[Chunk]) -> Iterator[pa.Table]:
    """Collect chunks into groups worth a query.

    Their documents are numbered through.
    """
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
    documents = pa.chunked_array([chunk.documents for chunk in chunks], pa.binary())
    if len(chunks) > _FEW:  # a small file is a chunk
        documents = documents.combine_chunks()
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


def read_group(plan: Plan, group: pa.Table) -> GroupResult:
    """Read a group."""
    with engine() as connection:
        return _Group(plan, connection, group).read()


def read_clean(plan: Plan, group: pa.Table) -> tuple[GroupResult, pa.Table]:
    """Read the documents of a group in which everything fits a plan, and return the others.

    Of a plan of all columns these rows hold those of every other plan, and `complete` adds those of the others.
    """
    with engine() as connection:
        return _Group(plan, connection, group).read_clean()


def complete(plan: Plan, clean: GroupResult, others: pa.Table) -> GroupResult:
    """Add what the other documents of a group hold to what was read of its clean ones."""
    with engine() as connection:
        found = defaultdict(list, {select: [rows] for select, rows in clean.rows})
        return _Group(plan, connection, others, replace(clean, rows=[]), found).read()


@dataclass(slots=True)
class _Group:
    """A group of documents being read."""

    plan: Plan
    engine: Engine
    group: pa.Table
    result: GroupResult = field(default_factory=GroupResult)
    found: defaultdict[Select, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    unparsable: set[int] = field(default_factory=set)
    """The documents that no query parses: all of their elements are mended."""
    mended: set[int] = field(default_factory=set)
    """The elements of others that are mended; _EVERY stands for all of a document."""
    alike: dict[tuple[str, ...], Occurrences] = field(default_factory=dict)
    """The findings that are in no element."""
    listed: dict[int, ListedPage] = field(default_factory=dict)
    """The pages that a query has listed, by the number of their document."""

    def read(self) -> GroupResult:
        """Read all documents."""
        documents = self._decoded()
        self._read_parsable(documents)
        self._read_mended(documents.schema)
        return self._ended()

    def read_clean(self) -> tuple[GroupResult, pa.Table]:
        """Read the documents in which everything fits, and return the others."""
        self._read_parsable(self._decoded(), clean=True)
        self.result.documents = len(self.group) - len(self.unparsable)
        self.listed = {number: page for number, page in self.listed.items() if number not in self.unparsable}
        return self._ended(), select_documents(self.group, self.unparsable)

    def _ended(self) -> GroupResult:
        """Return the result, with the rows in the order of reading."""
        selects = self.plan.selects
        self.result.elements = {
            element.name: sum(map(len, self.found[main])) for element, (main, *_) in selects.items()
        }
        self.result.pages.extend(self.listed.values())
        if self.plan.inspects:
            self.result.files.update(self.group["source_file"].drop_null().unique().to_pylist())
        for select in chain.from_iterable(selects.values()):
            if any(map(len, parts := self.found[select])):
                whole = pa.concat_tables(parts)
                if len(parts) > 1:
                    whole = whole.take(pa.array(np.argsort(whole[ELEMENT], kind="stable")))
                self.result.rows.append((select, whole))
        return self.result

    def _decoded(self) -> pa.Table:
        """Return the documents as text.

        Those that queries may not read are left out.
        """
        at = self.group.schema.get_field_index("document")
        documents = with_colons(self.group["document"], self.plan.prefixes)
        self.group = self.group.set_column(at, "document", documents)
        texts = pa.chunked_array([cast(chunk, pa.string()) for chunk in documents.chunks], pa.string())
        lax = pc.fill_null(_matches_any(texts, queries.LAX), True)
        self.unparsable.update(self.group["number"].filter(lax).to_pylist())
        return select_documents(self.group.set_column(at, "document", texts), self.unparsable, invert=True)

    def _read_parsable(self, documents: pa.Table, *, clean: bool = False) -> None:
        """Read documents by queries; note which elements are mended.

        Of `clean` documents only; the others are unparsable then.
        """
        forms = self._parse(documents)
        parts = [np.array([], np.int64)]
        for parsed, _ in forms:
            suspect = misfits(parsed, self.plan.shapes)
            if parsed.form.kind == "delivery":
                self._check_types(parsed, suspect)
            parts.append(parsed.elements[suspect])
        mended = np.concatenate(parts)
        self.mended.update(mended.tolist())
        if clean:
            self.unparsable.update(element >> POSITIONS for element in self.mended)
            self.unparsable.update(_with_unusual_numbers(documents)["number"].to_pylist())
        if self.plan.inspects:
            read = [
                (parsed.form, select_documents(some, self.unparsable, invert=True)) for parsed, some in forms
            ]
            self._list_keys(read, self.group)
            self._list_numbers(select_documents(documents, self.unparsable, invert=True))
        others = {element >> POSITIONS for element in self.mended if element & _EVERY == _EVERY}
        for parsed, _ in forms:
            inside = np.isin(parsed.elements >> POSITIONS, [*self.unparsable, *others])
            self._add(parsed, ~np.isin(parsed.elements, mended) & ~inside)

    def _parse(self, documents: pa.Table) -> list[tuple[Parsed, pa.Table]]:
        """Parse documents, by their form.

        The elements of each form are returned with their documents.
        """
        try:
            return [(self._parsed(form, some), some) for form, some in self._forms(documents)]
        except refused():
            # Malformed JSON is rare, and fails the query: it is looked for only then.
            self.unparsable.update(number for (number,) in self._asked(queries.INVALID, documents))
        documents = select_documents(documents, self.unparsable, invert=True)
        return [(self._carefully_parsed(form, some), some) for form, some in self._forms(documents)]

    def _carefully_parsed(self, form: Form, documents: pa.Table) -> Parsed:
        """Parse the documents of a form; where they are refused, those that `has_shape` passes.

        Where these are refused, too, none is parsed; all elements of others are mended.
        """
        with contextlib.suppress(*refused()):
            return self._parsed(form, documents)
        shape = document_shape(form, self.plan.shapes)
        fits = [has_shape(text, shape) for text in documents["document"].to_pylist()]
        try:
            parsed = self._parsed(form, documents.filter(pa.array(fits, pa.bool_())))
        except refused():
            parsed = self._parsed(form, documents.slice(0, 0))
        others = select_documents(documents, parsed.documents["number"].to_numpy(), invert=True)
        self.mended.update(number << POSITIONS | _EVERY for number in others["number"].to_pylist())
        if form.kind == "delivery" and len(others):
            self.unparsable.update(self._not_wrapped(form, others))
        return parsed

    def _forms(self, documents: pa.Table) -> list[tuple[Form, pa.Table]]:
        """Sort documents by form; find unparsable ones."""
        numbers_of: defaultdict[Form, list[int]] = defaultdict(list)
        self.listed = {}
        for pattern, enveloped in queries.DELIVERIES:
            begun = pc.match_substring_regex(documents["document"], pattern)
            if numbers := documents["number"].filter(begun).to_pylist():
                numbers_of[Form("delivery", enveloped)] = numbers
        if len(rest := select_documents(documents, [*chain.from_iterable(numbers_of.values())], invert=True)):
            paths = probes(self.plan.prefixes)
            for kinds, numbers in self._asked(queries.types_query(paths), rest):
                present = {path: kind for path, kind in zip(paths, kinds, strict=True) if kind is not None}
                form = form_by_types(present, self.plan.prefixes)
                if form.kind in ("undecided", "nested"):
                    self.unparsable.update(numbers)
                else:
                    numbers_of[form].extend(numbers)
        parts: defaultdict[Form, list[pa.Table]] = defaultdict(list)
        for form, numbers in numbers_of.items():
            chosen, held = select_documents(documents, numbers), self.plan.queries_for(form)
            if form.kind == "page" and self.plan.lists_pages and len(form.types) == 1 and held:
                self._list_pages(form, chosen)
            if form.kind == "page":
                self.unparsable.update(self._nesting(form, chosen))
            if form.kind == "delivery":
                self.unparsable.update(self._spelled_otherwise(form, chosen))
                self.unparsable.update(_quarantined(chosen) if form.enveloped else ())
                occurring = [found for found in (_occurring(one, chosen) for one in held) if found.types]
                # The keys of an envelope without elements are listed, too.
                held = occurring or (held if self.plan.inspects else [])
            if not held and form.kind == "delivery":
                self.unparsable.update(self._not_wrapped(form, chosen))
            for narrower in held:  # several forms are one where only some of their types are read
                parts[narrower].append(chosen)
        return [
            (form, pa.concat_tables(some).sort_by("number") if len(some) > 1 else some[0])
            for form, some in parts.items()
        ]

    def _not_wrapped(self, form: Form, deliveries: pa.Table) -> Iterator[int]:
        """Yield the deliveries with an entry that is no wrapper."""
        for keys, numbers, _ in self._asked(queries.entry_keys_query(form), deliveries):
            yield from () if is_wrapper(keys) else numbers

    def _spelled_otherwise(self, form: Form, deliveries: pa.Table) -> Iterator[int]:
        """Yield the deliveries that have a type under another key than queries read."""
        types = self.plan.selects
        keys = {key for element in types for key in element.type_keys(self.plan.prefixes)[1:]}
        keys -= {str(element.type_key) for element in types}
        if queries.possible_keys(deliveries["document"], keys):
            for found, numbers, _ in self._asked(queries.entry_keys_query(form), deliveries):
                yield from numbers if keys.intersection(found) else ()

    def _list_pages(self, form: Form, pages: pa.Table) -> None:
        """List what pages of one type say of their collections."""
        places = {row["number"]: row for row in pages.drop_columns(["document"]).to_pylist()}
        paths = page_paths(enveloped=form.enveloped)
        for number, values in self._asked(queries.values_query(paths), pages):
            row = places[number]
            if page := listed_page(row[ELEMENT], form.types[0].name, values, _place(row)):
                self.listed[number] = page

    def _nesting(self, form: Form, pages: pa.Table) -> Iterator[int]:
        """Yield the pages of which an element embeds collections itself."""
        several = pc.greater(pc.count_substring(pages["document"], '"_embedded"'), 1)
        if pc.any(several).as_py():
            collections = (
                name for element in element_types() for name in element.collections(self.plan.prefixes)
            )
            found = self._asked(queries.nesting_query(form, collections), pages.filter(several))
            yield from (number for (number,) in found)

    def _parsed(self, form: Form, documents: pa.Table) -> Parsed:
        found = queries.parse_documents(self.engine, form, document_shape(form, self.plan.shapes), documents)
        pairs = partial(queries.pairs_of, self.engine)
        return Parsed.of(form, documents, found, self.plan.prefixes, pairs)

    def _check_types(self, parsed: Parsed, suspect: Mask) -> None:
        """Mark elements whose types hold no objects.

        Documents with entries that are no wrappers are unparsable.
        """
        types = {str(one.type_key): valid(parsed.at(parsed.head(one))) for one in parsed.form.types}
        doubtful = ~np.logical_or.reduce(list(types.values()))
        if len(types) > 1:  # one of them may be null where another is an object
            null = pc.match_substring_regex(parsed.documents["document"], queries.NULL)
            doubtful |= np.asarray(null)[parsed.owners]
        if not doubtful.any():
            return
        doubted = select_documents(parsed.documents, np.unique(parsed.elements[doubtful] >> POSITIONS))
        for keys, numbers, positions in self._asked(queries.entry_keys_query(parsed.form), doubted):
            at = np.searchsorted(parsed.elements, np.array(numbers) << POSITIONS | np.array(positions))
            for name in types.keys() & keys:
                suspect[at] |= ~types[name][at]
            if not is_wrapper(keys):
                some = np.logical_or.reduce([present[at] for present in types.values()])
                self.unparsable.update(np.array(numbers)[~some].tolist())

    def _asked(self, question: str, documents: pa.Table) -> list[Any]:
        """Return the rows of a query over documents."""
        self.engine.put("documents", documents)
        return [tuple(row.values()) for row in self.engine.ask(question).to_pylist()]

    def _add(self, parsed: Parsed, fit: Mask) -> None:
        """Add the rows of the elements that fit."""
        for element in parsed.form.types:
            for select in self.plan.selects[element]:
                self.found[select].append(rows(parsed, select, fit))

    def _list_numbers(self, documents: pa.Table) -> None:
        """List numbers that other readers refuse.

        Here they are text where text is declared.
        """
        for document in _with_unusual_numbers(documents).to_pylist():
            for line, part in split(document["document"].encode()):
                if isinstance(part, Finding) and part.problem is ProblemKind.ODD_NUMBER:
                    self._note(_place(document, line), part, document[ELEMENT])

    def _list_keys(self, forms: Iterable[tuple[Form, pa.Table]], places: pa.Table) -> None:
        """List unread and repeated keys, in reading order."""
        found = count_keys(self.engine, self.plan, forms)
        first = select_documents(places, {number for number, *_ in found}).to_pylist()
        document = {document["number"]: document for document in first}
        self.result.keys.extend(
            Occurrences(_place(document[at]), finding, count=times, number=document[at][ELEMENT])
            for at, finding, times in found
        )

    def _read_mended(self, schema: pa.Schema) -> None:
        """Mend what is suspect, and read it."""
        self.result.documents += len(self.group) - len(self.unparsable)
        parts: defaultdict[tuple[Form, bool], list[dict[str, Any]]] = defaultdict(list)
        suspects = self.unparsable.union(element >> POSITIONS for element in self.mended)
        for document in select_documents(self.group, suspects).to_pylist():
            for form, mended in self._mended(document):
                parts[form, document["number"] in self.unparsable].append(mended)
        for (form, is_unparsable), some in parts.items():
            numbered = [document | {"number": number} for number, document in enumerate(some)]
            documents = pa.Table.from_pylist(numbered, schema)
            parsed = self._parsed(form, documents)
            self._add(parsed, np.ones(len(parsed.elements), bool))
            if self.plan.inspects and is_unparsable:
                self._list_keys([(form, documents)], documents)

    def _mended(self, candidate: dict[str, Any]) -> Iterator[tuple[Form, dict[str, Any]]]:
        """Mend the suspect elements of a document.

        Each is a document of its own; what is wrong with it is noted.
        """
        numbers, is_unparsable = count(candidate[ELEMENT]), candidate["number"] in self.unparsable
        is_all = is_unparsable or candidate[ELEMENT] + _EVERY in self.mended
        # Who has the objects knows their type.
        named = self.plan.named if candidate["source_file"] is None else None
        for line, document in split(candidate["document"]):
            place = _place(candidate, line)
            self.result.documents += is_unparsable and not isinstance(document, Finding)
            parts = (
                [document] if isinstance(document, Finding) else elements(document, self.plan.prefixes, named)
            )
            for part in parts:
                if isinstance(part, Finding):
                    if is_unparsable or part.severity == "error":  # queries have listed the rest of others
                        self._note(place, part, candidate[ELEMENT])
                    continue
                self._list_page_of(part, candidate, place)
                of_query = candidate[ELEMENT] + part.position
                if part.type in self.plan.shapes and (is_all or of_query in self.mended):
                    form, text, findings = mend(part, self.plan)
                    self.result.findings.extend(
                        Occurrences(place, finding, part, number=candidate[ELEMENT]) for finding in findings
                    )
                    mended = {
                        "document": text,
                        "source_line": place.source_line,
                        ELEMENT: next(numbers) if is_all else of_query,
                        "position": part.position,
                        "misfits": "".join(f"{part.relative(finding.key)}\n" for finding in findings),
                    }
                    yield form, candidate | mended

    def _list_page_of(self, element: Element, candidate: Mapping[str, Any], place: Place) -> None:
        """List the page of an element, unless a query has listed it."""
        if element.page is None or not self.plan.lists_pages or candidate["number"] in self.listed:
            return
        values = [value_at(element.page, path) for path in page_paths(enveloped=True)]
        page = listed_page(candidate[ELEMENT], element.type.name, values, place)
        if page and page not in self.result.pages[-1:] and element.type in self.plan.selects:
            self.result.pages.append(page)

    def _note(self, place: Place, finding: Finding, number: int) -> None:
        """Note a finding in no element."""
        same = (finding.problem, finding.key, repr(finding.value), finding.severity)
        if known := self.alike.get(same):
            known.count += finding.count
            if number < known.number:  # what queries list is noted before what is mended
                known.place, known.number = place, number
        else:
            self.alike[same] = Occurrences(place, finding, count=finding.count, number=number)
            self.result.findings.append(self.alike[same])


def _quarantined(deliveries: pa.Table) -> list[int]:
    """Return the deliveries that a receiver may have put into quarantine: they have a reason, and no elements."""
    ends = pc.binary_slice(deliveries["document"].cast(pa.binary()), -_END)
    empty = deliveries.filter(pc.match_substring_regex(ends, queries.EMPTY_BODY))
    numbers: list[int] = empty["number"].filter(pc.match_substring(empty["document"], '"reason"')).to_pylist()
    return numbers


def _with_unusual_numbers(documents: pa.Table) -> pa.Table:
    """Return the documents that may have a number that other readers refuse."""
    return documents.filter(_matches_any(documents["document"], queries.UNUSUAL))


def _matches_any(texts: pa.ChunkedArray, patterns: Iterable[str]) -> pa.ChunkedArray:
    return reduce(pc.or_, (pc.match_substring_regex(texts, pattern) for pattern in patterns))


def _occurring(form: Form, deliveries: pa.Table) -> Form:
    """Return a form of deliveries without the types that these cannot have: each costs a query something."""
    types = {str(element.type_key): element for element in form.types}
    occurring = queries.possible_keys(deliveries["document"], types)
    return replace(form, types=tuple(types[key] for key in occurring))


def _place(document: Mapping[str, Any], line: int = 0) -> Place:
    """Return the place of a document.

    `line` counts from that of its candidate.
    """
    return Place(document["source_file"], document["source_line"] + line)
