"""Compare the totals that a service reports for its collections with the records on the pages of an archive.

Every page reports the total of its collection (interface 2.6). A collection is identified by the address of its pages,
without the page number, and by the filter of the request. A `next` link proves nothing: the last page can have one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.document_forms import BODY, URL, KeyPath
from osdi_frames.messages import counted
from osdi_frames.parsing.plan import ELEMENT, POSITIONS, Select
from osdi_frames.problems import Place
from osdi_frames.tables import element_types, main_table

#: The name of an element type, the address of one of its collections, and the filter, empty without any.
ListedCollection: TypeAlias = tuple[str, str, str]
_MOST: int = 10**9  # records; a larger total is ignored
_NO_RECORDS = pd.DataFrame({"collection": np.empty(0, np.int64), "id": np.empty(0, np.uint64)})


class ListedPage(NamedTuple):
    """A page in an archive, with its collection and the collection's total."""

    number: int
    """The number (ELEMENT) of its document's first element."""
    type: str
    address: str
    filter: str
    total: int | None
    fetched_at: str
    """ISO 8601 in UTC, so that times compare as texts; empty if unknown."""
    source_file: str | None
    source_line: int | None

    @property
    def collection(self) -> ListedCollection:
        """The collection that it is a page of."""
        return self.type, self.address, self.filter


def page_paths(*, enveloped: bool) -> tuple[KeyPath, ...]:
    """Return the paths to a page's total, its own link, the requested address, and the time of the request."""
    inside = (BODY,) if enveloped else ()
    return (*inside, "total_records"), (*inside, "_links", "self", "href"), (URL,), ("fetched_at",)


def listed_page(number: int, type_: str, values: Sequence[Any], place: Place) -> ListedPage | None:
    """Return a page from the values at `page_paths`, or None if they contain no address.

    >>> listed_page(0, "event", ["497", "https://h.example/v2/events?page=2", None, None], Place("a.json", 1))[1:5]
    ('event', 'h.example/v2/events', '', 497)
    """
    total, link, requested, fetched_at = values
    with suppress(ValueError):
        # The requested address has the filter, which the page's own link can lack.
        parts = urlsplit(next(text for text in (requested, link, "") if isinstance(text, str)))
        filter_ = dict(parse_qsl(parts.query)).get("filter", "")
        if path := parts.path.rstrip("/"):
            address = f"{parts.netloc.rpartition('@')[2].lower()}{path}"
            read_from = place.source_file, place.source_line
            return ListedPage(number, type_, address, filter_, _count(total), _utc(fetched_at), *read_from)
    return None


def _count(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() and text.isascii() and len(text) < len(str(_MOST)) else None


def _utc(text: Any) -> str:
    """Return a time as ISO 8601 in UTC; an empty text for anything else."""
    with suppress(ValueError, TypeError, OverflowError):
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    return ""


@dataclass(frozen=True, slots=True)
class Incomplete:
    """The collections of a type, all requested with a filter or all without, whose totals exceed the archive's records.

    `held` counts the distinct records on the archive's pages, not those in deliveries; `total` sums the totals.
    """

    type: str
    held: int
    total: int
    collections: int
    is_filtered: bool
    place: Place

    @property
    def is_of_people(self) -> bool:
        """Whether the records are people or their acts, so that small counts could identify someone."""
        return any(one.name == self.type and (one.parent or one.name == "person") for one in element_types())

    @property
    def text(self) -> str:
        """The sentence with both counts, for a message."""
        of = f" (of {counted(self.collections, 'collection')})" if self.collections > 1 else ""
        return f"{self.held:,} of {counted(self.total, *self._nouns)} are {self._where}{self._asked}{of}"

    @property
    def text_without_counts(self) -> str:
        """The sentence without counts, for a report that must not show small ones."""
        return f"not all {self._nouns[1]} that the service lists are {self._where}{self._asked}"

    @property
    def _where(self) -> str:
        return "in pages of this archive" if self.is_of_people else "in this archive"

    @property
    def _asked(self) -> str:
        return ", of those that a filter asked for" if self.is_filtered else ""

    @property
    def _nouns(self) -> tuple[str, str]:
        table = next(main_table(one) for one in element_types() if one.name == self.type)
        return self.type.replace("_", " "), table.name.replace("_", " ")


@dataclass(slots=True)
class Listings:
    """The collections of which an archive has pages, with their newest totals and their records."""

    newest: dict[ListedCollection, ListedPage] = field(default_factory=dict)
    """The latest page of each collection that has a total, by time of request, then by the order of reading."""
    first: dict[ListedCollection, ListedPage] = field(default_factory=dict)
    """The first page of each collection in the order of reading."""
    _numbers: dict[ListedCollection, int] = field(default_factory=dict)
    """A number for each collection."""
    _records: list[pd.DataFrame] = field(default_factory=list)
    """The collection's number and the digest of the id, for the records of each group."""

    def add(self, pages: Iterable[ListedPage], rows: Iterable[tuple[Select, pa.Table]]) -> None:
        """Add the pages of a group and the records on them."""
        by_type: defaultdict[str, list[ListedPage]] = defaultdict(list)
        for page in sorted(pages, key=attrgetter("number")):
            by_type[page.type].append(page)
            self._numbers.setdefault(page.collection, len(self._numbers))
            self.first.setdefault(page.collection, page)
            before = self.newest.get(page.collection)
            if page.total is not None and (before is None or _age(page) >= _age(before)):
                self.newest[page.collection] = page
        for select, table in rows if by_type else ():
            element = select.table.element
            if not select.table.rows and element.name in by_type:
                self._add_records(by_type[element.name], table.select([element.own_id, ELEMENT]))

    def _add_records(self, pages: Sequence[ListedPage], rows: pa.Table) -> None:
        """Add each row as a record of the page in its document, or of each page if there are several."""
        numbers = [page.number for page in pages]
        collections = [self._numbers[page.collection] for page in pages]
        in_documents = pd.DataFrame(
            {"number": rows[ELEMENT].to_numpy() >> POSITIONS << POSITIONS, "id": _digests(rows)}
        )
        on_pages = pd.DataFrame({"number": numbers, "collection": collections})
        self._records.append(in_documents.merge(on_pages, on="number")[["collection", "id"]])

    def incomplete(self) -> list[Incomplete]:
        """Return the collections with fewer distinct records on pages than their newest total, by type and filter."""
        held = self._counts()
        complete = {listed for listed, page in self.newest.items() if held[listed] >= (page.total or 0)}
        groups: defaultdict[tuple[str, bool], list[ListedCollection]] = defaultdict(list)
        for listed, page in self.newest.items():
            name, address, filter_ = listed
            unfiltered = name, address, ""
            # A later complete pull without a filter includes the records that a filter asked for.
            is_superseded = unfiltered in complete and _age(self.newest[unfiltered]) >= _age(page)
            if listed not in complete and not is_superseded:
                groups[name, bool(filter_)].append(listed)
        return [
            Incomplete(
                name,
                sum(held[listed] for listed in group),
                sum(self.newest[listed].total or 0 for listed in group),
                len(group),
                is_filtered,
                Place(self.first[group[0]].source_file, self.first[group[0]].source_line),
            )
            for (name, is_filtered), group in groups.items()
        ]

    def _counts(self) -> Mapping[ListedCollection, int]:
        """Count the distinct records of each collection."""
        distinct = pd.concat([_NO_RECORDS, *self._records]).drop_duplicates()
        counts = np.bincount(distinct["collection"].to_numpy(), minlength=len(self._numbers))
        return {listed: int(counts[number]) for listed, number in self._numbers.items()}


def _age(page: ListedPage) -> tuple[str, int]:
    return page.fetched_at, page.number


def _digests(rows: pa.Table) -> np.ndarray:
    """Return a hash of each row's id, or the element's number for rows without an id."""
    ids, elements = rows[0], rows[ELEMENT].to_numpy().astype(np.uint64)
    digests = pd.util.hash_array(ids.fill_null("").to_numpy(zero_copy_only=False), categorize=False)
    return np.where(np.asarray(pc.is_valid(ids)), digests, elements)
