"""A collection: its pages, and the proof that all came.

`Page` and `Ledger` decide without I/O. What deployments do is taken into account: a `next` on the last page or one that
leads to the same page, totals that are left out, rows that move to another page while the pages are read
(interface 2.6). A service that answers with the same page again shows no end: it may ignore the number of the page.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from osdi_frames.client.address import asked_page
from osdi_frames.client.answers import Answer, utc
from osdi_frames.client.transport import Transport
from osdi_frames.document_forms import PAGE_KEYS, value_at
from osdi_frames.errors import BadAnswer, OsdiError
from osdi_frames.messages import counted, quoted, shorten
from osdi_frames.progress import bar

#: Pages of a collection that are read at most: at 25 rows a page, 2.5 million records.
MAX_PAGES = 100_000

_IDLE = 3  # pages in a row without anything new after which no further ones are tried
_FRONT = 20  # pages that are looked through for new arrivals before all are read again

_OF_PAGES = {*PAGE_KEYS} - {"_links"}  # which every resource has

#: How often the whole collection is read again before it is called incomplete.
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says of itself and of its collection.

    `number` is the page that was asked for, `reported_number` the one that it gives itself. A row without an id has
    None among the `ids`; `newest` is the newest modified_date of the rows.
    """

    number: int
    ids: tuple[str | None, ...]
    reported_number: int | None = None
    total_pages: int | None = None
    total_records: int | None = None
    next: str | None = None
    newest: datetime | None = None
    content: int | None = None
    """Of a page with rows without an id, what tells it from others."""

    @property
    def stands_still(self) -> bool:
        """Whether it is an earlier page than the requested one."""
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
    """The pages of one collection that have been read.

    They are in the order in which they came.
    """

    max_pages: int = MAX_PAGES
    pages: list[Page] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    """The names of the files that keep the pages."""
    _current: list[Page] = field(default_factory=list)  # of this pass over the collection
    _seen: set[str | None] = field(default_factory=set)  # the ids of this pass
    _idle: int = 0  # pages in a row without anything new to this pass
    _repeats: list[tuple[int, int]] = field(
        default_factory=list
    )  # pages of this pass that had the rows of others
    _still: int = 0  # of these, how many came last, in a row
    _ended: bool = False  # a page of this pass was found behind the last one

    def add(self, page: Page) -> None:
        """Enter a page."""
        self._idle = 0 if None in page.ids or set(page.ids) - self._seen else self._idle + 1
        self._ended = self._ended or self._is_behind(page)
        self._note_repeat(page)
        self._seen.update(page.ids)
        self.pages.append(page)
        self._current.append(page)
        self.ids.update(row_id for row_id in page.ids if row_id is not None)

    def begin_pass(self) -> None:
        """Read the collection once more.

        That is all of it, or the pages that report other totals than the last one.
        """
        total = self._current[-1].total_records if self._current else None
        fresh = [page for page in self._current if total is not None and page.total_records == total]
        self._current = fresh if len(fresh) < len(self._current) else []
        self._seen = {row_id for page in self._current for row_id in page.ids}
        self._idle, self._ended = 0, False
        self._repeats, self._still = [], 0

    def _note_repeat(self, page: Page) -> None:
        """Note a page that does not advance: it has the rows of an earlier one, or says that it is that one.

        Where another total is reported, rows have moved: what arrives in front pushes them to later pages.
        """
        of = None
        if page.ids and not set(page.ids) - self._seen:
            rows = page.ids, page.content, page.total_records
            earlier = (one for one in self._current if one.number < page.number)
            same = (one.number for one in earlier if (one.ids, one.content, one.total_records) == rows)
            of = page.reported_number if page.stands_still else next(same, None)
        self._still = 0 if of is None else self._still + 1
        self._repeats += [] if of is None else [(page.number, of)]

    def missing(self) -> Iterable[int]:
        """Return the pages that this pass has still to read.

        They are known so far as the pages before them show.
        """
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
        """Whether the limit of pages stopped this pass.

        More pages would follow.
        """
        if not any(page.number >= self.max_pages for page in self._current):
            return False
        return max(self._reported) > self.max_pages if self._reported else not self._is_over

    @property
    def standstill(self) -> str:
        """Which page of this pass did not advance, if one did not."""
        if not self._repeats:
            return ""
        number, of = self._repeats[0]
        return f"page {number} has the rows of page {of} again: the service may ignore page="

    @property
    def _is_over(self) -> bool:
        """Whether a pass without totals has ended.

        Nothing more is to be expected of it.
        """
        return self._ended or self._still > 0 or self._idle >= _IDLE

    @property
    def is_stuck(self) -> bool:
        """Whether pages no longer advance, whatever is reported."""
        return self._still >= _IDLE

    @property
    def _reported(self) -> list[int]:
        return [page.total_pages for page in self._current if page.total_pages]

    @property
    def outruns(self) -> bool:
        """Whether rows arrive as fast as they are read.

        Reading on in this pass would not help.
        """
        return bool(self._reported) and len(self._current) > 2 * self._reported[0] + _IDLE

    def next_of(self, number: int) -> str | None:
        """Return the `next` of a page.

        None where totals are reported, which say more.
        """
        if self._reported:
            return None
        return next((page.next for page in reversed(self.pages) if page.number == number), None)

    @property
    def rows_without_id(self) -> int:
        """How many rows have no id."""
        return sum(page.ids.count(None) for page in self.pages)

    @property
    def totals(self) -> list[int]:
        """The reported totals of records, in order."""
        return [page.total_records for page in self.pages if page.total_records is not None]

    def gaps(self) -> list[str]:
        """Return the pages that were never read.

        They exist by the totals; they are written as ``7`` or ``2-6``.
        """
        read = sorted({page.number for page in self.pages})
        last = max((page.total_pages or page.number for page in self.pages), default=0)
        gaps = [(before + 1, after - 1) for before, after in pairwise([0, *read, last + 1])]
        return [str(first) if first == end else f"{first}-{end}" for first, end in gaps if first <= end]

    def proof(self) -> str | None:
        """Return why every record was read.

        None where nothing proves it.
        """
        if self.rows_without_id or self.is_cut or next(iter(self.missing()), None) is not None:
            return None
        reported = {page.total_records for page in self._current}
        came = len(self._seen)
        left = len(self.ids) - came  # that other pages had, before
        more = f"; {left} more were read earlier and are no longer listed" if left else ""
        if reported == {came}:
            return f"all pages report {counted(came, 'record')}; {_were(came)} read{more}"
        if self._repeats or self._straddling():
            return None
        if reported == {None, came}:
            return f"{_were(came, 'record')} reported and read; no row was on two pages{more}"
        if reported == {None} and self._ended:
            return "no totals were reported; an empty page ended it, and no row was on two pages"
        return None

    def proof_after(self, check: Page) -> str | None:
        """Return why every record was read, by a later page.

        It is the totals of a page that is read alone after all others that prove it.
        """
        total = check.total_records
        fell = total is None or any(reported > total for reported in self.totals)
        if fell or self.rows_without_id or total != len(self.ids) or self.gaps():
            return None
        reported = _were(total, "record")
        return f"rows moved meanwhile; {reported} reported at the end; {_were(total)} read"

    def lack(self, redact: Callable[[str], str] = str) -> str:
        """Return what is missing, as far as known.

        `redact` strikes the key from ids.
        """
        parts = []
        if self.is_cut:
            parts.append(f"stopped at {self.max_pages} pages (max_pages)")
        if self.outruns:
            parts.append("it grew faster than it was read")
        parts += [said] if (said := self.standstill) else []
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
        """Return the ids on two pages of this pass.

        Rows moved while the pages were read.
        """
        latest = {page.number: set(page.ids) for page in self._current if not page.stands_still}
        counts = Counter(row_id for ids in latest.values() for row_id in ids if row_id is not None)
        return [row_id for row_id, count in counts.items() if count > 1]

    def _is_behind(self, page: Page) -> bool:
        """Return whether a page lies behind the last one: it is empty, without a `next` or after another empty one."""
        return not page.ids and (page.next is None or (bool(self._current) and not self._current[-1].ids))


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """Return the latest of the moments that are known."""
    return max(filter(None, moments), default=None)


def row_id(row: Any, prefixes: Sequence[str]) -> str | None:
    """Return a row's id as the tables read it.

    That is the service's own identifier, else the end of its address.
    """
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


@dataclass(slots=True)
class Collection:
    """One collection that is being read."""

    transport: Transport
    path: str
    filter: str | None = None
    keep: Callable[[Answer], None] = lambda _: None
    """Called with each page, in the thread that read it."""
    on_page: Callable[[Page], None] = lambda _: None
    """Called with each page that was entered in the ledger, in the caller's thread."""
    ledger: Ledger = field(init=False)
    _followed: set[str] = field(default_factory=set)
    _left: bool = False  # nobody waits for pages any more, after an error
    _interrupted: bool = False  # nor for those that are on their way

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.transport.limits.max_pages)

    def sweep(self) -> Generator[Answer, None, None]:
        """Read the missing pages, and yield them in order.

        Totals or `next` name them.
        """
        pool = ThreadPoolExecutor(self.transport.limits.workers, "osdi-frames")
        try:
            while numbers := list(self.ledger.missing()):
                with closing(self._read_together(numbers, pool)) as pages:
                    for answer, page in pages:
                        yield answer
                        if self.ledger.is_stuck or (not page.ids and page.next is None):
                            return  # behind the last page, whatever was reported
        finally:
            # A request can take as long as the service likes, and a pause before it is repeated half a minute.
            pool.shutdown(wait=not self._interrupted, cancel_futures=True)

    def resolve(self) -> str | None:
        """Read until it is proved that every record came.

        Return the proof; None when the rounds are over.
        """
        for round_ in range(ROUNDS):
            if round_ or self.ledger.outruns or self.ledger.is_stuck:  # in an earlier call
                self.ledger.begin_pass()
                self._followed.clear()
            deque(self.sweep(), maxlen=0)
            if self.ledger.is_cut or self.ledger.outruns or self.ledger.is_stuck:
                return None
            if proof := self.ledger.proof() or self.ledger.proof_after(self._walk()):
                return proof
        return None

    def _walk(self) -> Page:
        """Read from the front while there are new rows.

        One page is read alone after the other.
        """
        for number in range(1, _FRONT + 1):
            known = len(self.ledger.ids)
            _, page = self._enter(self._read(number))
            if len(self.ledger.ids) == known:
                break
        return page

    def _read_together(
        self, numbers: Iterable[int], pool: ThreadPoolExecutor
    ) -> Generator[tuple[Answer, Page], None, None]:
        waiting: deque[Future[tuple[Answer, Page]]] = deque()
        self._left = False
        try:
            for number in numbers:
                waiting.append(pool.submit(self._read, number))
                if len(waiting) >= 2 * self.transport.limits.workers:
                    yield self._enter(waiting.popleft().result())
            while waiting:
                yield self._enter(waiting.popleft().result())
        except KeyboardInterrupt:
            self._interrupted = True
            raise
        finally:
            self._left = True
            for future in waiting:
                future.cancel()
            for future in waiting if not self._interrupted else ():
                with suppress(CancelledError, OsdiError, OSError):  # the first error is on its way
                    self._enter(future.result())

    def _read(self, number: int) -> tuple[Answer, Page]:
        """Read one page, and keep it."""
        answer = self.transport.send("GET", self._address(number), wanted=lambda: not self._left)
        if not _OF_PAGES & answer.body.keys():
            path = self.transport.redact(self.path)
            raise BadAnswer(f"{shorten(path)}, page {number}: not a page of a collection", address=path)
        page = read_page(answer.body, number=number, prefixes=self.transport.prefixes)
        if self._interrupted:
            raise CancelledError
        self.keep(answer)
        return answer, page

    def _address(self, number: int) -> str:
        """Return the address of a page.

        It has a number, or is a `next` that leads on without naming one. So the filter is our own: a `next` can carry
        it with raw spaces and signs.
        """
        address = self.transport.address
        numbered = address.collection(self.path, page=number if number > 1 else None, filter=self.filter)
        if link := self.ledger.next_of(number - 1):
            before = address.collection(self.path, page=number - 1, filter=self.filter)
            followed = self.transport.own(link, at=before)
            if asked_page(followed) is None and followed not in self._followed:
                self._followed.add(followed)
                return followed
        return numbered

    def _enter(self, read: tuple[Answer, Page]) -> tuple[Answer, Page]:
        self.ledger.add(read[1])
        self.on_page(read[1])
        return read


@contextmanager
def page_bar(progress: bool | None) -> Iterator[Callable[[Page], None]]:
    """Show a bar by pages; yield its callback.

    It is to be called with each page.
    """
    with ExitStack() as shown:
        pages = None

        def on_page(page: Page) -> None:
            nonlocal pages
            if pages is None:  # not before: a notebook's bar cannot learn its total later
                pages = shown.enter_context(bar("pulling", progress, unit="page", total=page.total_pages))
            pages.update()

        yield on_page
