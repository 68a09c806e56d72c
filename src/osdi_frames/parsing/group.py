"""Parse one group of documents.

One query parses the clean documents of a group, and Arrow checks and casts whole columns of their values. The other
documents, in which anything is or may be unexpected, are mended one by one in Python, and parsed by the same query.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import cast, valid
from osdi_frames.document_forms import Form, form_by_types, is_type_key, is_wrapper, probes, value_at
from osdi_frames.engine import Engine, engine, refused
from osdi_frames.json_decoding import DEEP
from osdi_frames.messages import field_name
from osdi_frames.parsing import queries
from osdi_frames.parsing.columns import rows
from osdi_frames.parsing.documents import Element, elements
from osdi_frames.parsing.listings import ListedPage, listed_page, page_paths
from osdi_frames.parsing.mend import has_shape, mend
from osdi_frames.parsing.mended_values import with_mended_values
from osdi_frames.parsing.parsed import Parsed, foreign_prefixes, misfits
from osdi_frames.parsing.plan import ELEMENT, POSITIONS, Plan, Select, document_shape
from osdi_frames.parsing.queries import select_documents, with_colons
from osdi_frames.parsing.undeclared import count_keys
from osdi_frames.problems import Finding, Occurrences, Place, ProblemKind
from osdi_frames.sources.layout import Chunk, split
from osdi_frames.tables import element_types

_GROUP_SIZE = 16 << 20  # bytes of documents
_FEW = 16  # chunks; a query reads so few without a copy
_MANY = 32  # documents that do not fit; a query of fewer takes longer than to rewrite them


@dataclass(slots=True)
class GroupResult:
    """The rows parsed from a group of documents, and what else was found in them."""

    documents: int = 0
    elements: Mapping[str, int] = field(default_factory=dict)
    """The number of elements received, by type."""
    rows: list[tuple[Select, pa.Table]] = field(default_factory=list)
    """The rows of each select with any, in the order of reading."""
    findings: list[Occurrences] = field(default_factory=list)
    """What was found besides rows. Equal findings outside of elements are one entry: every line can have one."""
    keys: list[Occurrences] = field(default_factory=list)
    """The unread and the repeated keys; only in an inspection."""
    files: set[str] = field(default_factory=set)
    """The files of the documents; only in an inspection."""
    pages: list[ListedPage] = field(default_factory=list)
    """The pages of collections, with their totals; only if the plan lists pages."""


def grouped(chunks: Iterable[Chunk]) -> Iterator[pa.Table]:
    """Collect chunks into groups that are worth a query, and number their documents in the order of reading."""
    collected: list[Chunk] = []
    size = first_number = 0
    for chunk in chunks:
        collected.append(chunk)
        size += chunk.size
        if size >= _GROUP_SIZE:
            yield (group := _joined(collected, first_number))
            first_number += len(group)
            collected, size = [], 0
    if collected:
        yield _joined(collected, first_number)


def _joined(chunks: list[Chunk], first_number: int) -> pa.Table:
    """Return the documents of chunks as a table."""
    names = pa.array([chunk.name for chunk in chunks], pa.string())
    documents = pa.chunked_array([chunk.documents for chunk in chunks], pa.binary())
    if len(chunks) > _FEW:  # many small files
        documents = documents.combine_chunks()
    files = names.take(np.repeat(np.arange(len(chunks)), [len(chunk.documents) for chunk in chunks]))
    numbers = first_number + np.arange(len(files))
    return pa.table(
        {
            "number": numbers,
            "document": documents,
            "source_file": files,
            "source_line": np.concatenate([chunk.lines for chunk in chunks]),
            ELEMENT: numbers << POSITIONS,  # the number of the document's first element
            "position": np.zeros_like(numbers),  # of its first element
            "misfits": pa.nulls(len(numbers), pa.string()),  # the keys of the values that `mend` took out
        }
    )


def read_group(plan: Plan, group: pa.Table) -> GroupResult:
    """Parse the documents of a group."""
    return add_mended(plan, *read_clean(plan, group))


def read_clean(plan: Plan, group: pa.Table) -> tuple[GroupResult, pa.Table]:
    """Parse the documents of a group in which every value has its declared type, and return the other documents.

    With a plan of all columns, these rows contain those of every other plan; `add_mended` adds those of the others.
    """
    with engine() as connection:
        return _CleanReader(plan, connection).read(group)


def add_mended(plan: Plan, clean: GroupResult, others: pa.Table) -> GroupResult:
    """Mend and parse the other documents of a group, and add their rows and findings to those of the clean ones."""
    result, parts = clean, defaultdict(list, {select: [clean_rows] for select, clean_rows in clean.rows})
    if len(others):
        result = replace(clean, findings=[*clean.findings], keys=[*clean.keys], pages=[*clean.pages])
        with engine() as connection:
            _MendingReader(plan, connection, result, parts).read(others)
    return with_rows(result, plan, parts)


_Parts = defaultdict[Select, list[pa.Table]]


def with_rows(result: GroupResult, plan: Plan, parts: _Parts) -> GroupResult:
    """Return a result with the rows of each select of a plan, joined in the order of reading."""
    return replace(result, rows=_in_order(plan, parts), elements=_counts(plan, parts))


def _in_order(plan: Plan, parts: _Parts) -> list[tuple[Select, pa.Table]]:
    """Return the rows of each select with any, in the order of reading."""
    rows_of_selects = []
    for select in chain.from_iterable(plan.selects.values()):
        if any(map(len, tables := parts[select])):
            table = pa.concat_tables(tables)
            if len(tables) > 1:
                table = table.take(pa.array(np.argsort(table[ELEMENT], kind="stable")))
            rows_of_selects.append((select, table))
    return rows_of_selects


def _counts(plan: Plan, parts: _Parts) -> dict[str, int]:
    return {element.name: sum(map(len, parts[main])) for element, (main, *_) in plan.selects.items()}


@dataclass(slots=True)
class _Reader:
    """Reads documents by a plan, over a connection."""

    plan: Plan
    engine: Engine

    def parse(self, form: Form, documents: pa.Table) -> Parsed:
        """Parse documents of a form; one of the errors of `refused` is raised if the query cannot parse all of them."""
        shape = document_shape(form, self.plan.shapes)
        result = queries.parse_documents(self.engine, form, shape, documents)
        pairs = partial(queries.pairs_of, self.engine)
        return Parsed.of(form, documents, result, self.plan.prefixes, pairs)

    def add_rows(self, parts: _Parts, parsed: Parsed, fit: np.ndarray) -> None:
        """Add the rows of the elements in the mask `fit`."""
        for element in parsed.form.types:
            for select in self.plan.selects[element]:
                parts[select].append(rows(parsed, select, fit))

    def keys(self, forms: Iterable[tuple[Form, pa.Table]], places: pa.Table) -> Iterator[Occurrences]:
        """Yield the unread and the repeated keys of documents, in the order of reading."""
        counted = count_keys(self.engine, self.plan, forms)
        documents = select_documents(places, {number for number, *_ in counted}).to_pylist()
        by_number = {document["number"]: document for document in documents}
        for number, finding, times in counted:
            document = by_number[number]
            yield Occurrences(_place(document), finding, count=times, number=document[ELEMENT])

    def query(self, query: str, documents: pa.Table) -> list[Any]:
        """Return the rows of a query over documents as tuples."""
        self.engine.put("documents", documents)
        return [tuple(row.values()) for row in self.engine.ask(query).to_pylist()]


@dataclass(slots=True)
class _CleanReader(_Reader):
    """Reads the documents in which every value has its declared type, and collects the numbers of the others."""

    mends: bool = False
    """Whether single values are mended, and found to be mended."""
    others: set[int] = field(default_factory=set)
    listed: dict[int, ListedPage] = field(default_factory=dict)
    """The pages of collections, by the number of their document."""

    def read(self, group: pa.Table) -> tuple[GroupResult, pa.Table]:
        """Return the result of the clean documents of a group, and its other documents."""
        index = group.schema.get_field_index("document")
        group = group.set_column(index, "document", with_colons(group["document"], self.plan.prefixes))
        documents = self._decoded(group)
        if self.plan.inspects:
            unusual = queries.matches_any(documents["document"], queries.UNUSUAL)
            self.others.update(documents["number"].filter(unusual).to_pylist())
        forms, taken = self._parse_all(self._without_others(documents)), list[Occurrences]()
        if self.mends:
            mended = [(*with_mended_values(parsed, self.plan.shapes), of_form) for parsed, of_form in forms]
            forms = [(parsed, of_form) for parsed, _, of_form in mended]
            by_type = sorted(mended, key=lambda each: element_types().index(each[0].form.types[0]))
            taken = [*chain.from_iterable(found for _, found, _ in by_type)]  # as `elements` walks a page
        for parsed, _ in forms:
            self.others.update((parsed.elements[misfits(parsed, self.plan.shapes)] >> POSITIONS).tolist())
            if parsed.form.kind == "delivery":
                self.others.update(self._malformed_deliveries(parsed))
        result, parts = GroupResult(documents=len(group) - len(self.others)), _Parts(list)
        for parsed, _ in forms:
            self.add_rows(parts, parsed, ~np.isin(parsed.elements >> POSITIONS, [*self.others]))
        result.rows, result.elements = _in_order(self.plan, parts), _counts(self.plan, parts)
        result.pages = [page for number, page in self.listed.items() if number not in self.others]
        result.findings = [each for each in taken if each.number >> POSITIONS not in self.others]
        if self.plan.inspects:
            result.files = {*group["source_file"].drop_null().unique().to_pylist()}
            clean = [(parsed.form, self._without_others(documents)) for parsed, documents in forms]
            result.keys = [*self.keys(clean, group)]
        return result, select_documents(group, self.others)

    def _without_others(self, documents: pa.Table) -> pa.Table:
        return select_documents(documents, self.others, invert=True)

    def _decoded(self, group: pa.Table) -> pa.Table:
        """Return documents as text, without those that are not UTF-8 or that only DuckDB would read.

        These are not JSON, or nest deeper than Python decodes.
        """
        texts = [cast(chunk, pa.string()) for chunk in group["document"].chunks]
        text = pa.chunked_array(texts, pa.string())
        lax = pc.fill_null(queries.matches_any(text, (*queries.LAX, *DEEP)), True)
        self.others.update(group["number"].filter(lax).to_pylist())
        index = group.schema.get_field_index("document")
        return self._without_others(group.set_column(index, "document", text))

    def _parse_all(self, documents: pa.Table) -> list[tuple[Parsed, pa.Table]]:
        """Parse documents by their forms, and return the elements of each form with their documents."""
        try:
            return [(self.parse(form, of_form), of_form) for form, of_form in self._by_form(documents)]
        except refused():
            # Malformed JSON makes the query fail. It is rare, so a search for it pays only then.
            self.others.update(number for (number,) in self.query(queries.INVALID, documents))
        forms = self._by_form(self._without_others(documents))
        return [(self._parse_well_shaped(form, of_form), of_form) for form, of_form in forms]

    def _parse_well_shaped(self, form: Form, documents: pa.Table) -> Parsed:
        """Parse documents of a form; if the query fails, only those that `has_shape` accepts, or at last none."""
        with contextlib.suppress(*refused()):
            return self.parse(form, documents)
        shape = document_shape(form, self.plan.shapes)
        fits = [has_shape(text, shape) for text in documents["document"].to_pylist()]
        try:
            parsed = self.parse(form, documents.filter(pa.array(fits, pa.bool_())))
        except refused():
            parsed = self.parse(form, documents.slice(0, 0))
        self.others.update(
            {*documents["number"].to_pylist()}.difference(parsed.documents["number"].to_pylist())
        )
        return parsed

    def _by_form(self, documents: pa.Table) -> list[tuple[Form, pa.Table]]:
        """Return the forms that documents are queried by, each with its documents."""
        self.listed = {}
        parts: defaultdict[Form, list[pa.Table]] = defaultdict(list)
        for form, numbers in self._numbers_of_forms(documents).items():
            of_form = select_documents(documents, numbers)
            if form.kind == "delivery":
                of_form = self._respelled(form, of_form)
            query_forms = self._query_forms_of_deliveries if form.kind == "delivery" else self._query_forms
            # Several forms become equal without the types that are not planned.
            for query_form in query_forms(form, of_form):
                parts[query_form].append(of_form)
        return [
            (form, pa.concat_tables(tables).sort_by("number") if len(tables) > 1 else tables[0])
            for form, tables in parts.items()
        ]

    def _numbers_of_forms(self, documents: pa.Table) -> Mapping[Form, list[int]]:
        """Return the numbers of the documents of each form."""
        numbers_of: defaultdict[Form, list[int]] = defaultdict(list)
        for pattern, enveloped in queries.DELIVERIES:
            is_delivery = pc.match_substring_regex(documents["document"], pattern)
            if numbers := documents["number"].filter(is_delivery).to_pylist():
                numbers_of[Form("delivery", enveloped)] = numbers
        deliveries = [*chain.from_iterable(numbers_of.values())]
        if len(unknown := select_documents(documents, deliveries, invert=True)):
            paths = probes(self.plan.prefixes)
            for types, numbers in self.query(queries.types_query(paths), unknown):
                present = {path: type_ for path, type_ in zip(paths, types, strict=True) if type_ is not None}
                form = form_by_types(present, self.plan.prefixes)
                if form.kind in ("undecided", "nested"):
                    self.others.update(numbers)
                else:
                    numbers_of[form].extend(numbers)
        return numbers_of

    def _query_forms(self, form: Form, documents: pa.Table) -> list[Form]:
        """Return the forms that pages or single resources are queried by."""
        forms = self.plan.queries_for(form)
        if form.kind == "page":
            self.others.update(self._nested_pages(form, documents))
            if self.plan.lists_pages and len(form.types) == 1 and forms:
                self._list_pages(form, documents)
        return forms

    def _query_forms_of_deliveries(self, form: Form, deliveries: pa.Table) -> list[Form]:
        """Return the form that deliveries are queried by, if they contain any planned type."""
        forms = self.plan.queries_for(form)
        self.others.update(queries.quarantined(deliveries) if form.enveloped else ())
        narrower = [_with_occurring_types(query_form, deliveries) for query_form in forms]
        occurring = [query_form for query_form in narrower if query_form.types]
        # An inspection queries deliveries without elements, too, to list the keys of their envelopes.
        forms = occurring or (forms if self.plan.inspects else [])
        if not forms:
            for keys, numbers, _ in self.query(queries.entry_keys_query(form), deliveries):
                self.others.update(() if is_wrapper(keys) else numbers)
        return forms

    def _respelled(self, form: Form, deliveries: pa.Table) -> pa.Table:
        """Return deliveries with the spelling of each type's key that is queried, where nothing else is spelled so."""
        types = self.plan.selects
        queried = {str(element.type_key) for element in types}
        spellings = {
            key: str(element.type_key)
            for element in types
            for key in element.type_keys(self.plan.prefixes)
            if key not in queried
        }
        if not spellings:
            return deliveries
        may_have = queries.matches_any(deliveries["document"], queries.key_patterns(spellings))
        possible = deliveries.filter(may_have)
        entries: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for keys, numbers, _ in self.query(queries.entry_keys_query(form), possible) if len(possible) else ():
            of_types = [key for key in keys if is_type_key(key)]
            if len(of_types) == 1 and of_types[0] in spellings:
                entries[of_types[0]].update(numbers)
            elif spellings.keys() & {*of_types}:
                self.others.update(numbers)
        for spelling, numbers in entries.items():
            if self.mends:  # a finding names the key as it is spelled
                self.others.update(numbers)
                continue
            deliveries, doubtful = queries.respelled(deliveries, spelling, spellings[spelling], numbers)
            self.others.update(doubtful)
        return deliveries

    def _list_pages(self, form: Form, pages: pa.Table) -> None:
        """Note pages of one type, with their collections and totals."""
        documents = {row["number"]: row for row in pages.drop_columns(["document"]).to_pylist()}
        paths = page_paths(enveloped=form.enveloped)
        for number, values in self.query(queries.values_query(paths), pages):
            document = documents[number]
            if page := listed_page(document[ELEMENT], form.types[0].name, values, _place(document)):
                self.listed[number] = page

    def _nested_pages(self, form: Form, pages: pa.Table) -> Iterator[int]:
        """Yield the pages with an element that itself embeds a collection."""
        twice = pc.greater(pc.count_substring(pages["document"], '"_embedded"'), 1)
        may_nest = pc.or_(twice, queries.matches_any(pages["document"], [queries.ESCAPE]))
        if pc.any(may_nest).as_py():
            collections = (
                name for element in element_types() for name in element.collections(self.plan.prefixes)
            )
            nested = self.query(queries.nesting_query(form, collections), pages.filter(may_nest))
            yield from (number for (number,) in nested)

    def _malformed_deliveries(self, parsed: Parsed) -> Iterator[int]:
        """Yield the deliveries in which a type's value is not an object, or an entry has no type and is no wrapper."""
        is_object = {str(one.type_key): valid(parsed.at(parsed.head(one))) for one in parsed.form.types}
        suspect = ~np.logical_or.reduce(list(is_object.values()))
        if len(is_object) > 1:  # next to an object, another type's value may be null
            has_null = pc.match_substring_regex(parsed.documents["document"], queries.NULL)
            suspect |= np.asarray(has_null)[parsed.owners]
        if not suspect.any():
            return
        documents = select_documents(parsed.documents, np.unique(parsed.elements[suspect] >> POSITIONS))
        for keys, numbers, positions in self.query(queries.entry_keys_query(parsed.form), documents):
            indices = np.searchsorted(parsed.elements, np.array(numbers) << POSITIONS | np.array(positions))
            types = is_object.keys() & keys
            objects = sum((is_object[key][indices].astype(int) for key in types), np.zeros(len(indices), int))
            fits = (objects == len(types)) & (is_wrapper(keys) or objects > 0)
            yield from np.array(numbers)[~fits].tolist()


@dataclass(slots=True)
class _MendingReader(_Reader):
    """Reads documents with unexpected values: mends their elements in Python, and queries the mended documents."""

    result: GroupResult
    parts: _Parts
    noted: dict[tuple[str, ...], Occurrences] = field(default_factory=dict)
    """The findings outside of elements, by what makes two of them equal."""

    def read(self, documents: pa.Table) -> None:
        """Add the rows and findings of documents to the parts and the result."""
        if len(documents) >= _MANY:
            documents = self._without_mended_values(documents)
        index = documents.schema.get_field_index("document")
        schema = documents.schema.set(index, pa.field("document", pa.string()))
        mended: defaultdict[Form, list[dict[str, Any]]] = defaultdict(list)
        for document in documents.to_pylist():
            for form, mended_document in self._mended(document):
                mended[form].append(mended_document | {"number": len(mended[form])})
        of_foreign_prefixes: list[Occurrences] = []
        for form, of_form in mended.items():
            table = pa.Table.from_pylist(of_form, schema)
            parsed = self.parse(form, table)
            self.add_rows(self.parts, parsed, np.ones(len(parsed.elements), bool))
            of_foreign_prefixes += self._foreign_prefixes(parsed)
            if self.plan.inspects:
                self.result.keys.extend(self.keys([(form, table)], table))
        self.result.findings.sort(key=attrgetter("number"))
        self.result.findings.extend(sorted(of_foreign_prefixes, key=attrgetter("number")))

    def _without_mended_values(self, documents: pa.Table) -> pa.Table:
        """Add what is found in documents of which only single values have to be mended; return the others."""
        found, others = _CleanReader(self.plan, self.engine, mends=True).read(documents)
        for select, of_select in found.rows:
            self.parts[select].append(of_select)
        self.result.documents += found.documents
        self.result.findings += found.findings
        self.result.keys += found.keys
        self.result.pages += found.pages
        return others

    def _mended(self, candidate: dict[str, Any]) -> Iterator[tuple[Form, dict[str, Any]]]:
        """Yield each element of a text as a mended document, and note the findings of its one or several documents."""
        first_number = candidate[ELEMENT]
        numbers = count(first_number)
        # Only a caller who passes objects can know their type.
        named = self.plan.named if candidate["source_file"] is None else None
        for line, document in split(candidate["document"]):
            place = _place(candidate, line)
            if isinstance(document, Finding):
                self._note(place, document, first_number)
                continue
            self.result.documents += 1
            for part in elements(document, self.plan.prefixes, named, self.plan.selects):
                if isinstance(part, Finding):
                    self._note(place, part, first_number)
                    continue
                self._list_page_of(part, first_number, place)
                if part.type in self.plan.shapes:
                    form, text, findings = mend(part, self.plan)
                    relative = [part.relative(finding.key) for finding in findings]
                    self.result.findings.extend(
                        Occurrences(place, finding, key, number=first_number)
                        for finding, key in zip(findings, relative, strict=True)
                    )
                    mended = {
                        "document": text,
                        "source_line": place.source_line,
                        ELEMENT: next(numbers),
                        "position": part.position,
                        "misfits": "".join(f"{key}\n" for key in relative),
                    }
                    yield form, candidate | mended

    def _foreign_prefixes(self, parsed: Parsed) -> Iterator[Occurrences]:
        """Yield a finding for each element whose own identifier has an unknown prefix."""
        places = parsed.documents.select(["source_file", "source_line", ELEMENT])
        for index, element, prefix in foreign_prefixes(parsed, self.plan.shapes):
            (row,) = places.slice(parsed.owners[index], 1).to_pylist()
            key, value = f"{element.name}: identifiers", f'"{field_name(prefix)}:…"'
            finding = Finding(ProblemKind.UNKNOWN_PREFIX, key, value, "warning")
            yield Occurrences(_place(row), finding, number=row[ELEMENT] >> POSITIONS << POSITIONS)

    def _list_page_of(self, element: Element, number: int, place: Place) -> None:
        """Note the page that an element is listed on."""
        if element.page is None or not self.plan.lists_pages or element.type not in self.plan.selects:
            return
        values = [value_at(element.page, path) for path in page_paths(enveloped=True)]
        page = listed_page(number, element.type.name, values, place)
        if page and page not in self.result.pages[-1:]:
            self.result.pages.append(page)

    def _note(self, place: Place, finding: Finding, number: int) -> None:
        """Note a finding outside of elements, or count it if an equal one is noted."""
        key = (finding.problem, finding.key, repr(finding.value), finding.severity)
        if known := self.noted.get(key):
            known.count += finding.count
        else:
            self.noted[key] = Occurrences(place, finding, count=finding.count, number=number)
            self.result.findings.append(self.noted[key])


def _with_occurring_types(form: Form, deliveries: pa.Table) -> Form:
    """Return a form of deliveries without the types that occur in none of them, since each type slows the query."""
    types = {str(element.type_key): element for element in form.types}
    occurring = queries.possible_keys(deliveries["document"], types)
    return replace(form, types=tuple(types[key] for key in occurring))


def _place(document: Mapping[str, Any], line: int = 0) -> Place:
    """Return the place of a document, or of the document some lines below its first line."""
    return Place(document["source_file"], document["source_line"] + line)
