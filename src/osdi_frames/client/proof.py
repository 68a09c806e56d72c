"""The proof that all records of a collection were read, decided on what its pages say, without I/O.

What deployments do is taken into account: a `next` on the last page or one that leads to the same page, totals that are
left out, rows that move to another page while the pages are read (interface 2.6). A service that answers with the same
page again shows no end: it may ignore the number of the page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from osdi_frames.client.answers import utc
from osdi_frames.document_forms import value_at
from osdi_frames.messages import counted, quoted

#: Pages of a collection that are read at most: at 25 rows a page, 2.5 million records.
MAX_PAGES = 100_000

_IDLE = 3  # pages in a row without anything new after which no further ones are tried


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says of itself and of its collection.

    `number` is the page that was asked for, `reported_number` the one that it gives itself. A row without an id has
    None among the `ids`; `content` tells a page with such rows from others. `newest` is the newest modified_date.
    """

    number: int
    ids: tuple[str | None, ...]
    reported_number: int | None = None
    total_pages: int | None = None
    total_records: int | None = None
    next: str | None = None
    newest: datetime | None = None
    content: int | None = None

    @property
    def stands_still(self) -> bool:
        """Whether the page is an earlier one than the requested one."""
        return self.reported_number is not None and self.reported_number < self.number


def read_page(body: Mapping[str, Any], *, number: int, prefixes: Sequence[str]) -> Page:
    """Read what a collection page says.

    >>> read_page({"total_pages": 3, "total_records": 60, "_embedded": {}}, number=1, prefixes=()).total_pages
    3
    """
    embedded = body.get("_embedded")
    lists = embedded.values() if isinstance(embedded, dict) else ()
    rows = [row for rows in lists if isinstance(rows, list) for row in rows]
    href = value_at(body, ("_links", "next", "href"))
    ids = tuple(row_id(row, prefixes) for row in rows)
    return Page(
        number,
        ids,
        _count(body.get("page")),
        _count(body.get("total_pages")),
        _count(body.get("total_records")),
        href if isinstance(href, str) and href else None,
        latest(map(_modified, rows)),
        hash(json.dumps(rows)) if None in ids else None,
    )


@dataclass(slots=True)
class Ledger:
    """The pages of one collection that have been read, in the order in which they came.

    A pass reads the collection from its first page to its last. Where rows moved meanwhile, another pass begins.
    """

    max_pages: int = MAX_PAGES
    pages: list[Page] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    """The names of the files that keep the pages."""
    _current: list[Page] = field(default_factory=list)  # of this pass
    _seen: set[str | None] = field(default_factory=set)  # the ids of this pass
    _idle: int = 0  # pages in a row without anything new to this pass
    _repeats: list[tuple[int, int]] = field(default_factory=list)  # pages that had the rows of earlier ones
    _still: int = 0  # of these, how many came last, in a row
    _ended: bool = False  # a page of this pass was found behind the last one

    def add(self, page: Page) -> None:
        """Enter a page."""
        is_new = None in page.ids or not self._seen.issuperset(page.ids)
        self._idle = 0 if is_new else self._idle + 1
        # A page behind the last one is empty, and without a `next` or after another empty one.
        is_after_empty = bool(self._current) and not self._current[-1].ids
        self._ended = self._ended or (not page.ids and (page.next is None or is_after_empty))
        repeated = self._repeated_by(page)
        self._still = 0 if repeated is None else self._still + 1
        if repeated is not None:
            self._repeats.append((page.number, repeated))
        self._seen.update(page.ids)
        self.pages.append(page)
        self._current.append(page)
        self.ids.update(row_id for row_id in page.ids if row_id is not None)

    def begin_pass(self) -> None:
        """Read the collection again, but for pages that report the same total as the last one."""
        total = self._current[-1].total_records if self._current else None
        fresh = [page for page in self._current if total is not None and page.total_records == total]
        self._current = fresh if len(fresh) < len(self._current) else []
        self._seen = {row_id for page in self._current for row_id in page.ids}
        self._idle, self._ended = 0, False
        self._repeats, self._still = [], 0

    def _repeated_by(self, page: Page) -> int | None:
        """Return the number of an earlier page that a page repeats, by its rows or by its own number.

        Where another total is reported, rows have moved: what arrives in front pushes them to later pages.
        """
        if not page.ids or not self._seen.issuperset(page.ids):
            return None
        if page.stands_still:
            return page.reported_number
        rows = page.ids, page.content, page.total_records
        earlier = (one for one in self._current if one.number < page.number)
        return next(
            (one.number for one in earlier if (one.ids, one.content, one.total_records) == rows), None
        )

    def missing(self) -> Iterable[int]:
        """Return the pages that this pass has still to read, as far as the pages before them show."""
        read = {page.number for page in self._current}
        if self.outruns or self.is_stuck:
            return ()
        last = max(self._reported, default=int(not read))
        if not last:
            # No totals: one after the other. A missing `next` is not believed; the page behind the last one decides.
            last = 0 if self._is_over else max(read) + 1
        return (number for number in range(1, min(last, self.max_pages) + 1) if number not in read)

    @property
    def is_cut(self) -> bool:
        """Whether the limit of pages stopped this pass before its end."""
        if not any(page.number >= self.max_pages for page in self._current):
            return False
        return max(self._reported) > self.max_pages if self._reported else not self._is_over

    @property
    def standstill(self) -> str:
        """Which page of this pass did not advance; empty where each one did."""
        if not self._repeats:
            return ""
        number, of = self._repeats[0]
        return f"page {number} has the rows of page {of} again: the service may ignore page="

    @property
    def is_stuck(self) -> bool:
        """Whether pages no longer advance, whatever is reported."""
        return self._still >= _IDLE

    @property
    def outruns(self) -> bool:
        """Whether rows arrive as fast as they are read, so that this pass would not end."""
        return bool(self._reported) and len(self._current) > 2 * self._reported[0] + _IDLE

    @property
    def _is_over(self) -> bool:
        """Whether a pass without totals has ended."""
        return self._ended or self._still > 0 or self._idle >= _IDLE

    @property
    def _reported(self) -> list[int]:
        return [page.total_pages for page in self._current if page.total_pages]

    def next_of(self, number: int) -> str | None:
        """Return the address of the next page, or None if pages report totals."""
        if self._reported:
            return None
        return next((page.next for page in reversed(self.pages) if page.number == number), None)

    @property
    def rows_without_id(self) -> int:
        """How many rows have no id."""
        return sum(page.ids.count(None) for page in self.pages)

    @property
    def totals(self) -> list[int]:
        """The totals of records that pages reported, in the order in which they came."""
        return [page.total_records for page in self.pages if page.total_records is not None]

    def gaps(self) -> list[str]:
        """Return the pages that exist by the totals and were never read, written as ``7`` or ``2-6``."""
        read = sorted({page.number for page in self.pages})
        last = max((page.total_pages or page.number for page in self.pages), default=0)
        gaps = [(before + 1, after - 1) for before, after in pairwise([0, *read, last + 1])]
        return [str(first) if first == end else f"{first}-{end}" for first, end in gaps if first <= end]

    def proof(self) -> str | None:
        """Return why this pass has read every record, or None where nothing proves it."""
        if self.rows_without_id or self.is_cut or next(iter(self.missing()), None) is not None:
            return None
        reported = {page.total_records for page in self._current}
        read = len(self._seen)
        left = len(self.ids) - read  # that other pages had, before
        more = f"; {left} more were read earlier and are no longer listed" if left else ""
        if reported == {read}:
            return f"all pages report {counted(read, 'record')}; {_were(read)} read{more}"
        if self._repeats or self._straddling():
            return None
        if reported == {None, read}:
            return f"{_were(read, 'record')} reported and read; no row was on two pages{more}"
        if reported == {None} and self._ended:
            return "no totals were reported; an empty page ended it, and no row was on two pages"
        return None

    def proof_after(self, check: Page) -> str | None:
        """Return why every record was read, proved by the total of a page that was read after all others."""
        total = check.total_records
        fell = total is None or any(reported > total for reported in self.totals)
        if fell or self.rows_without_id or total != len(self.ids) or self.gaps():
            return None
        reported = _were(total, "record")
        return f"rows moved meanwhile; {reported} reported at the end; {_were(total)} read"

    def lack(self, redact: Callable[[str], str] = str) -> str:
        """Return what is missing, as far as that is known; `redact` strikes the key from ids."""
        parts = []
        if self.is_cut:
            parts.append(f"stopped at {self.max_pages} pages (max_pages)")
        if self.outruns:
            parts.append("it grew faster than it was read")
        if self.standstill:
            parts.append(self.standstill)
        if gaps := self.gaps():
            parts.append(f"not read: page {', '.join(gaps)}")
        if self.totals and self.totals[-1] != len(self.ids):
            reported = _were(self.totals[-1], "record")
            parts.append(f"{reported} reported, {_were(len(self.ids), 'distinct one')} read")
        elif not self.totals:
            parts.append(f"no totals were reported; {_were(len(self.ids), 'distinct record')} read")
        if straddling := self._straddling():
            # As Python writes them: an id of the service must not command the terminal that shows it.
            ids = ", ".join(quoted(redact(row_id)) for row_id in straddling[:5])
            more = f" and {len(straddling) - 5} more" if len(straddling) > 5 else ""
            parts.append(f"rows on more than one page: {ids}{more}")
        if self.rows_without_id:
            parts.append(f"{counted(self.rows_without_id, 'row')} without an id")
        return "; ".join(parts) or "rows moved while the pages were read"

    def _straddling(self) -> list[str]:
        """Return the ids on two pages of this pass: rows moved while the pages were read."""
        latest = {page.number: set(page.ids) for page in self._current if not page.stands_still}
        counts = Counter(row_id for ids in latest.values() for row_id in ids if row_id is not None)
        return [row_id for row_id, count in counts.items() if count > 1]


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """Return the latest of the moments that are known."""
    return max(filter(None, moments), default=None)


def row_id(row: Any, prefixes: Sequence[str]) -> str | None:
    """Return a row's id as the tables read it: the service's own identifier, else the end of its address."""
    identifiers = value_at(row, ("identifiers",))
    for identifier in identifiers if isinstance(identifiers, list) else ():
        system, _, own = identifier.partition(":") if isinstance(identifier, str) else ("", "", "")
        if own and system in prefixes:
            return str(own)
    with suppress(TypeError, ValueError, AttributeError):
        return urlsplit(value_at(row, ("_links", "self", "href"))).path.rstrip("/").rpartition("/")[2] or None
    return None


def _modified(row: Any) -> datetime | None:
    text = value_at(row, ("modified_date",)) or value_at(row, ("modified_at",))
    with suppress(ValueError, TypeError, OverflowError):
        return utc(datetime.fromisoformat(text))
    return None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None


def _were(count: int, noun: str = "") -> str:
    what = counted(count, noun) if noun else f"{count:,}"
    return f"{what} {'was' if count == 1 else 'were'}"
