"""Groups of documents, and the pass over one.

A query parses the documents of a group, and functions of Arrow check and cast whole columns. A document in which
anything may not fit goes the careful way instead: Python mends it, and the query reads what that gives.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain, count
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import cast, valid
from osdi_frames.document_forms import Form, form_by_types, is_wrapper, probes, value_at
from osdi_frames.engine import Engine, engine, refused
from osdi_frames.messages import field_name
from osdi_frames.parsing import queries
from osdi_frames.parsing.columns import rows
from osdi_frames.parsing.documents import Element, elements
from osdi_frames.parsing.listings import ListedPage, listed_page, page_paths
from osdi_frames.parsing.mend import has_shape, mend
from osdi_frames.parsing.parsed import Parsed, foreign_prefixes, misfits
from osdi_frames.parsing.plan import ELEMENT, POSITIONS, Plan, Select, document_shape
from osdi_frames.parsing.queries import select_documents, with_colons
from osdi_frames.parsing.undeclared import count_keys
from osdi_frames.problems import Finding, Place, ProblemKind
from osdi_frames.sources.layout import Chunk, split
from osdi_frames.tables import element_types

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
    """What was read of a group."""

    documents: int = 0
    elements: Mapping[str, int] = field(default_factory=dict)
    """How often each type was received."""
    rows: list[tuple[Select, pa.Table]] = field(default_factory=list)
    """Of every select that has any, in the order of reading."""
    findings: list[Occurrences] = field(default_factory=list)
    """What no table takes; once for all that are alike and in no element, as each line of a file can hold one."""
    keys: list[Occurrences] = field(default_factory=list)
    """The keys that no table reads or that occur twice, once each; in an inspection."""
    files: set[str] = field(default_factory=set)
    """The files that its documents are in; in an inspection."""
    pages: list[ListedPage] = field(default_factory=list)
    """What its pages say of their collections, where the plan lists them."""


def grouped(chunks: Iterable[Chunk]) -> Iterator[pa.Table]:
    """Collect chunks into groups worth a query, whose documents are numbered through."""
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
    return complete(plan, *read_clean(plan, group))


def read_clean(plan: Plan, group: pa.Table) -> tuple[GroupResult, pa.Table]:
    """Read the documents of a group in which everything fits a plan, and return the others.

    Of a plan of all columns these rows hold those of every other plan, and `complete` adds those of the others.
    """
    with engine() as connection:
        return _Clean(plan, connection).read(group)


def complete(plan: Plan, clean: GroupResult, others: pa.Table) -> GroupResult:
    """Add what the other documents of a group hold to what was read of its clean ones."""
    result, parts = clean, defaultdict(list, {select: [some] for select, some in clean.rows})
    if len(others):
        result = replace(clean, findings=[*clean.findings], keys=[*clean.keys], pages=[*clean.pages])
        with engine() as connection:
            _Careful(plan, connection, result, parts).read(others)
    return replace(result, rows=_in_order(plan, parts), elements=_counts(plan, parts))


_Parts = defaultdict[Select, list[pa.Table]]


def _in_order(plan: Plan, parts: _Parts) -> list[tuple[Select, pa.Table]]:
    """Return the rows of each select that has any, in the order of reading."""
    found = []
    for select in chain.from_iterable(plan.selects.values()):
        if any(map(len, some := parts[select])):
            whole = pa.concat_tables(some)
            if len(some) > 1:
                whole = whole.take(pa.array(np.argsort(whole[ELEMENT], kind="stable")))
            found.append((select, whole))
    return found


def _counts(plan: Plan, parts: _Parts) -> dict[str, int]:
    return {element.name: sum(map(len, parts[main])) for element, (main, *_) in plan.selects.items()}


@dataclass(slots=True)
class _Reading:
    """A plan and a connection that read documents."""

    plan: Plan
    engine: Engine

    def parsed(self, form: Form, documents: pa.Table) -> Parsed:
        """Parse documents of a form; one of `refused` is raised where the query does not take them."""
        found = queries.parse_documents(self.engine, form, document_shape(form, self.plan.shapes), documents)
        pairs = partial(queries.pairs_of, self.engine)
        return Parsed.of(form, documents, found, self.plan.prefixes, pairs)

    def add_rows(self, parts: _Parts, parsed: Parsed, fit: np.ndarray) -> None:
        """Add the rows of the elements that fit."""
        for element in parsed.form.types:
            for select in self.plan.selects[element]:
                parts[select].append(rows(parsed, select, fit))

    def keys(self, forms: Iterable[tuple[Form, pa.Table]], places: pa.Table) -> Iterator[Occurrences]:
        """Yield unread and repeated keys, in reading order."""
        found = count_keys(self.engine, self.plan, forms)
        first = select_documents(places, {number for number, *_ in found}).to_pylist()
        document = {document["number"]: document for document in first}
        for at, finding, times in found:
            place = _place(document[at])
            yield Occurrences(place, finding, count=times, number=document[at][ELEMENT])

    def asked(self, question: str, documents: pa.Table) -> list[Any]:
        """Return the rows of a query over documents."""
        self.engine.put("documents", documents)
        return [tuple(row.values()) for row in self.engine.ask(question).to_pylist()]


@dataclass(slots=True)
class _Clean(_Reading):
    """Documents in which everything fits, and the numbers of the others."""

    others: set[int] = field(default_factory=set)
    listed: dict[int, ListedPage] = field(default_factory=dict)
    """The pages of collections, by the number of their document."""

    def read(self, group: pa.Table) -> tuple[GroupResult, pa.Table]:
        """Read the documents in which everything fits, and return the others."""
        at = group.schema.get_field_index("document")
        group = group.set_column(at, "document", with_colons(group["document"], self.plan.prefixes))
        documents = self._decoded(group)
        if self.plan.inspects:
            self.others.update(_with_unusual_numbers(documents)["number"].to_pylist())
        forms = self._parse(self._left(documents))
        for parsed, _ in forms:
            self.others.update((parsed.elements[misfits(parsed, self.plan.shapes)] >> POSITIONS).tolist())
            if parsed.form.kind == "delivery":
                self.others.update(self._without_object(parsed))
        result, parts = GroupResult(documents=len(group) - len(self.others)), _Parts(list)
        for parsed, _ in forms:
            self.add_rows(parts, parsed, ~np.isin(parsed.elements >> POSITIONS, [*self.others]))
        result.rows, result.elements = _in_order(self.plan, parts), _counts(self.plan, parts)
        result.pages = [page for number, page in self.listed.items() if number not in self.others]
        if self.plan.inspects:
            result.files = {*group["source_file"].drop_null().unique().to_pylist()}
            result.keys = [*self.keys([(parsed.form, self._left(some)) for parsed, some in forms], group)]
        return result, select_documents(group, self.others)

    def _left(self, documents: pa.Table) -> pa.Table:
        """Return the documents that may be clean."""
        return select_documents(documents, self.others, invert=True)

    def _decoded(self, group: pa.Table) -> pa.Table:
        """Return the documents that queries may read, as text."""
        texts = [cast(chunk, pa.string()) for chunk in group["document"].chunks]
        text = pa.chunked_array(texts, pa.string())
        lax = pc.fill_null(_matches_any(text, queries.LAX), True)
        self.others.update(group["number"].filter(lax).to_pylist())
        return self._left(group.set_column(group.schema.get_field_index("document"), "document", text))

    def _parse(self, documents: pa.Table) -> list[tuple[Parsed, pa.Table]]:
        """Parse documents by their form; the elements of each form are returned with their documents."""
        try:
            return [(self.parsed(form, some), some) for form, some in self._forms(documents)]
        except refused():
            # Malformed JSON is rare, and fails the query: it is looked for only then.
            self.others.update(number for (number,) in self.asked(queries.INVALID, documents))
        forms = self._forms(self._left(documents))
        return [(self._parsed_where_shaped(form, some), some) for form, some in forms]

    def _parsed_where_shaped(self, form: Form, documents: pa.Table) -> Parsed:
        """Parse the documents of a form; where they are refused, those that `has_shape` passes, else none."""
        with contextlib.suppress(*refused()):
            return self.parsed(form, documents)
        shape = document_shape(form, self.plan.shapes)
        fits = [has_shape(text, shape) for text in documents["document"].to_pylist()]
        try:
            parsed = self.parsed(form, documents.filter(pa.array(fits, pa.bool_())))
        except refused():
            parsed = self.parsed(form, documents.slice(0, 0))
        self.others.update(
            {*documents["number"].to_pylist()}.difference(parsed.documents["number"].to_pylist())
        )
        return parsed

    def _forms(self, documents: pa.Table) -> list[tuple[Form, pa.Table]]:
        """Sort documents by the form by which a query reads them."""
        self.listed = {}
        parts: defaultdict[Form, list[pa.Table]] = defaultdict(list)
        for form, numbers in self._numbers_of_forms(documents).items():
            chosen = select_documents(documents, numbers)
            forms = (
                self._deliveries(form, chosen) if form.kind == "delivery" else self._resources(form, chosen)
            )
            for narrower in forms:  # several forms are one where only some of their types are read
                parts[narrower].append(chosen)
        return [
            (form, pa.concat_tables(some).sort_by("number") if len(some) > 1 else some[0])
            for form, some in parts.items()
        ]

    def _numbers_of_forms(self, documents: pa.Table) -> Mapping[Form, list[int]]:
        """Return the numbers of the documents of each form."""
        numbers_of: defaultdict[Form, list[int]] = defaultdict(list)
        for pattern, enveloped in queries.DELIVERIES:
            begun = pc.match_substring_regex(documents["document"], pattern)
            if numbers := documents["number"].filter(begun).to_pylist():
                numbers_of[Form("delivery", enveloped)] = numbers
        begun_so = [*chain.from_iterable(numbers_of.values())]
        if len(rest := select_documents(documents, begun_so, invert=True)):
            paths = probes(self.plan.prefixes)
            for kinds, numbers in self.asked(queries.types_query(paths), rest):
                present = {path: kind for path, kind in zip(paths, kinds, strict=True) if kind is not None}
                form = form_by_types(present, self.plan.prefixes)
                if form.kind in ("undecided", "nested"):
                    self.others.update(numbers)
                else:
                    numbers_of[form].extend(numbers)
        return numbers_of

    def _resources(self, form: Form, documents: pa.Table) -> list[Form]:
        """Return the forms of the queries of pages or single resources."""
        held = self.plan.queries_for(form)
        if form.kind == "page":
            self.others.update(self._nesting(form, documents))
            if self.plan.lists_pages and len(form.types) == 1 and held:
                self._list_pages(form, documents)
        return held

    def _deliveries(self, form: Form, deliveries: pa.Table) -> list[Form]:
        """Return the form of the query of deliveries, if they hold any type that is read."""
        held = self.plan.queries_for(form)
        self.others.update(self._spelled_otherwise(form, deliveries))
        self.others.update(_quarantined(deliveries) if form.enveloped else ())
        occurring = [found for found in (_occurring(one, deliveries) for one in held) if found.types]
        # The keys of an envelope without elements are listed, too.
        held = occurring or (held if self.plan.inspects else [])
        if not held:
            for keys, numbers, _ in self.asked(queries.entry_keys_query(form), deliveries):
                self.others.update(() if is_wrapper(keys) else numbers)
        return held

    def _spelled_otherwise(self, form: Form, deliveries: pa.Table) -> Iterator[int]:
        """Yield the deliveries that have a type under another key than queries read."""
        types = self.plan.selects
        keys = {key for element in types for key in element.type_keys(self.plan.prefixes)[1:]}
        keys -= {str(element.type_key) for element in types}
        if queries.possible_keys(deliveries["document"], keys):
            for found, numbers, _ in self.asked(queries.entry_keys_query(form), deliveries):
                yield from numbers if keys.intersection(found) else ()

    def _list_pages(self, form: Form, pages: pa.Table) -> None:
        """List what pages of one type say of their collections."""
        places = {row["number"]: row for row in pages.drop_columns(["document"]).to_pylist()}
        paths = page_paths(enveloped=form.enveloped)
        for number, values in self.asked(queries.values_query(paths), pages):
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
            found = self.asked(queries.nesting_query(form, collections), pages.filter(several))
            yield from (number for (number,) in found)

    def _without_object(self, parsed: Parsed) -> Iterator[int]:
        """Yield the deliveries with a type that holds no object, or with an entry that is no wrapper."""
        types = {str(one.type_key): valid(parsed.at(parsed.head(one))) for one in parsed.form.types}
        doubtful = ~np.logical_or.reduce(list(types.values()))
        if len(types) > 1:  # one of them may be null where another is an object
            null = pc.match_substring_regex(parsed.documents["document"], queries.NULL)
            doubtful |= np.asarray(null)[parsed.owners]
        if not doubtful.any():
            return
        doubted = select_documents(parsed.documents, np.unique(parsed.elements[doubtful] >> POSITIONS))
        for keys, numbers, positions in self.asked(queries.entry_keys_query(parsed.form), doubted):
            at = np.searchsorted(parsed.elements, np.array(numbers) << POSITIONS | np.array(positions))
            named = types.keys() & keys
            objects = sum((types[name][at].astype(int) for name in named), np.zeros(len(at), int))
            fits = (objects == len(named)) & (is_wrapper(keys) or objects > 0)
            yield from np.array(numbers)[~fits].tolist()


@dataclass(slots=True)
class _Careful(_Reading):
    """Documents in which something may not fit: what it is becomes a finding, and the query reads the rest."""

    result: GroupResult
    parts: _Parts
    alike: dict[tuple[str, ...], Occurrences] = field(default_factory=dict)
    """The findings that are in no element."""

    def read(self, others: pa.Table) -> None:
        """Add to the result, and to the parts of its rows."""
        at = others.schema.get_field_index("document")
        schema = others.schema.set(at, pa.field("document", pa.string()))
        mended: defaultdict[Form, list[dict[str, Any]]] = defaultdict(list)
        for candidate in others.to_pylist():
            for form, document in self._mended(candidate):
                mended[form].append(document | {"number": len(mended[form])})
        foreign: list[Occurrences] = []
        for form, some in mended.items():
            documents = pa.Table.from_pylist(some, schema)
            parsed = self.parsed(form, documents)
            self.add_rows(self.parts, parsed, np.ones(len(parsed.elements), bool))
            foreign += self._foreign(parsed)
            if self.plan.inspects:
                self.result.keys.extend(self.keys([(form, documents)], documents))
        self.result.findings.extend(sorted(foreign, key=attrgetter("number")))

    def _mended(self, candidate: dict[str, Any]) -> Iterator[tuple[Form, dict[str, Any]]]:
        """Yield the elements of a document as documents of their own, and note what is wrong with them."""
        numbers = count(candidate[ELEMENT])
        # Who has the objects knows their type.
        named = self.plan.named if candidate["source_file"] is None else None
        for line, document in split(candidate["document"]):
            place = _place(candidate, line)
            if isinstance(document, Finding):
                self._note(place, document, candidate[ELEMENT])
                continue
            self.result.documents += 1
            for part in elements(document, self.plan.prefixes, named):
                if isinstance(part, Finding):
                    self._note(place, part, candidate[ELEMENT])
                    continue
                self._list_page_of(part, candidate[ELEMENT], place)
                if part.type in self.plan.shapes:
                    form, text, findings = mend(part, self.plan)
                    self.result.findings.extend(
                        Occurrences(place, finding, part, number=candidate[ELEMENT]) for finding in findings
                    )
                    yield (
                        form,
                        candidate
                        | {
                            "document": text,
                            "source_line": place.source_line,
                            ELEMENT: next(numbers),
                            "position": part.position,
                            "misfits": "".join(f"{part.relative(finding.key)}\n" for finding in findings),
                        },
                    )

    def _foreign(self, parsed: Parsed) -> Iterator[Occurrences]:
        """Yield the elements whose own identifier has an unknown prefix."""
        places = parsed.documents.select(["source_file", "source_line", ELEMENT])
        for at, element, prefix in foreign_prefixes(parsed, self.plan.shapes):
            (row,) = places.slice(parsed.owners[at], 1).to_pylist()
            key, value = f"{element.name}: identifiers", f'"{field_name(prefix)}:…"'
            finding = Finding(ProblemKind.UNKNOWN_PREFIX, key, value, "warning")
            yield Occurrences(_place(row), finding, number=row[ELEMENT] >> POSITIONS << POSITIONS)

    def _list_page_of(self, element: Element, number: int, place: Place) -> None:
        """List the page that holds an element."""
        if element.page is None or not self.plan.lists_pages or element.type not in self.plan.selects:
            return
        values = [value_at(element.page, path) for path in page_paths(enveloped=True)]
        page = listed_page(number, element.type.name, values, place)
        if page and page not in self.result.pages[-1:]:
            self.result.pages.append(page)

    def _note(self, place: Place, finding: Finding, number: int) -> None:
        """Note a finding in no element."""
        same = (finding.problem, finding.key, repr(finding.value), finding.severity)
        if known := self.alike.get(same):
            known.count += finding.count
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
    """Return the place of a document; `line` counts from that of its candidate."""
    return Place(document["source_file"], document["source_line"] + line)
