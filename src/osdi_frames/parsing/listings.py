"""How many records a service lists in collections, and how many of these the pages of an archive hold.

A page says the total of its collection (interface 2.6). A collection is an address without the number of a page, and
a filter. A `next` link proves nothing, since the last page can have one.
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

#: The name of a type, the address of one of its collections, and a filter, or an empty text.
ListedCollection: TypeAlias = tuple[str, str, str]
_MOST: int = 10**9  # records of a collection: a larger number is no count


class ListedPage(NamedTuple):
    """A page in an archive, with what it says of its collection."""

    number: int
    """Of its document's first element, in the order of reading."""
    type: str
    address: str
    filter: str
    total: int | None
    fetched_at: str
    """In UTC, so that times compare as texts; empty where that is not known."""
    source_file: str | None
    source_line: int | None

    @property
    def collection(self) -> ListedCollection:
        """The collection that it is a page of."""
        return self.type, self.address, self.filter


def page_paths(*, enveloped: bool) -> tuple[KeyPath, ...]:
    """Return where a page says its total, its link, the address that was asked for, and when."""
    inside = (BODY,) if enveloped else ()
    return (*inside, "total_records"), (*inside, "_links", "self", "href"), (URL,), ("fetched_at",)


def listed_page(number: int, type_: str, found: Sequence[Any], place: Place) -> ListedPage | None:
    """Return a page, by what stands at its paths; None where nothing says what it is a page of.

    >>> listed_page(0, "event", ["497", "https://h.example/v2/events?page=2", None, None], Place("a.json", 1))[1:5]
    ('event', 'h.example/v2/events', '', 497)
    """
    total, link, asked, fetched = found
    with suppress(ValueError):
        # The address that was asked for has the filter; the link of a page can lack it.
        parts = urlsplit(next(text for text in (asked, link, "") if isinstance(text, str)))
        wanted = dict(parse_qsl(parts.query)).get("filter", "")
        if path := parts.path.rstrip("/"):
            address = f"{parts.netloc.rpartition('@')[2].lower()}{path}"
            said = _count(total), _utc(fetched), place.source_file, place.source_line
            return ListedPage(number, type_, address, wanted, *said)
    return None


def _count(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() and text.isascii() and len(text) < len(str(_MOST)) else None


def _utc(text: Any) -> str:
    with suppress(ValueError, TypeError, OverflowError):
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    return ""


@dataclass(frozen=True, slots=True)
class Incomplete:
    """Collections of a type that list more than the archive holds, all of them filtered or none."""

    type: str
    held: int
    total: int
    collections: int
    is_filtered: bool
    place: Place

    @property
    def is_of_people(self) -> bool:
        """Whether the numbers count people, or what they did."""
        return any(one.name == self.type and (one.parent or one.name == "person") for one in element_types())

    @property
    def text(self) -> str:
        """How many of how many are in the archive; deliveries can hold others, which are not counted."""
        of = f" (of {counted(self.collections, 'collection')})" if self.collections > 1 else ""
        return f"{self.held:,} of {counted(self.total, *self._nouns)} are {self._where}{self._asked}{of}"

    @property
    def text_without_counts(self) -> str:
        """The same without numbers, of which some would be small."""
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
    """The collections of which an archive has pages."""

    newest: dict[ListedCollection, ListedPage] = field(default_factory=dict)
    """Of each, the page with a total that was fetched last, else read last."""
    first: dict[ListedCollection, ListedPage] = field(default_factory=dict)
    _numbers: dict[ListedCollection, int] = field(default_factory=dict)
    _held: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    """The numbers of collections, and digests of the ids on their pages."""

    def add(self, pages: Iterable[ListedPage], rows: Iterable[tuple[Select, pa.Table]]) -> None:
        """Note pages, and the ids of their rows."""
        by_type: defaultdict[str, list[ListedPage]] = defaultdict(list)
        for page in sorted(pages, key=attrgetter("number")):
            by_type[page.type].append(page)
            self._numbers.setdefault(page.collection, len(self._numbers))
            self.first.setdefault(page.collection, page)
            before = self.newest.get(page.collection)
            if page.total is not None and (before is None or _age(page) >= _age(before)):
                self.newest[page.collection] = page
        for select, some in rows if by_type else ():
            element = select.table.element
            if not select.table.rows and element.name in by_type:
                self._note(by_type[element.name], some.select([element.own_id, ELEMENT]))

    def _note(self, pages: Sequence[ListedPage], rows: pa.Table) -> None:
        """Note the ids of rows; several pages can be in one document."""
        numbers = np.array([page.number for page in pages])
        documents = rows[ELEMENT].to_numpy() >> POSITIONS << POSITIONS
        first, end = (np.searchsorted(numbers, documents, side=side) for side in ("left", "right"))
        counts = end - first
        row = np.repeat(np.arange(len(rows)), counts)
        page = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts - first, counts)
        collections = np.array([self._numbers[one.collection] for one in pages])[page]
        self._held.append((collections, _digests(rows)[row]))

    def incomplete(self) -> list[Incomplete]:
        """Return the collections of which fewer different records are on pages than their newest total says."""
        held = self._counts()
        complete = {of for of, page in self.newest.items() if held[of] >= (page.total or 0)}
        lacking: defaultdict[tuple[str, bool], list[ListedCollection]] = defaultdict(list)
        for of, page in self.newest.items():
            whole = (*of[:2], "")
            # What a filter asked for has come since, where all of the collection has.
            is_superseded = whole in complete and _age(self.newest[whole]) >= _age(page)
            if of not in complete and not is_superseded:
                lacking[of[0], bool(of[2])].append(of)
        return [
            Incomplete(
                name,
                sum(held[of] for of in some),
                sum(self.newest[of].total or 0 for of in some),
                len(some),
                is_filtered,
                Place(self.first[some[0]].source_file, self.first[some[0]].source_line),
            )
            for (name, is_filtered), some in lacking.items()
        ]

    def _counts(self) -> Mapping[ListedCollection, int]:
        """Count the different records of each collection."""
        collections = np.concatenate([np.empty(0, np.int64), *(some for some, _ in self._held)])
        ids = np.concatenate([np.empty(0, np.uint64), *(some for _, some in self._held)])
        order = np.lexsort((ids, collections))
        collections, ids = collections[order], ids[order]
        is_first = np.ones(len(ids), bool)
        is_first[1:] = (collections[1:] != collections[:-1]) | (ids[1:] != ids[:-1])
        counts = np.bincount(collections[is_first], minlength=len(self._numbers))
        return {of: int(counts[number]) for of, number in self._numbers.items()}


def _age(page: ListedPage) -> tuple[str, int]:
    return page.fetched_at, page.number


def _digests(rows: pa.Table) -> np.ndarray:
    """Return a number for each id; what has none is a record of its own."""
    ids, own = rows[0], rows[ELEMENT].to_numpy().astype(np.uint64)
    digests = pd.util.hash_array(ids.fill_null("").to_numpy(zero_copy_only=False), categorize=False)
    return np.where(np.asarray(pc.is_valid(ids)), digests, own)
