"""Read a collection: its pages in parallel, and again where rows moved, until every record is proved to be there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field

from osdi_frames.client.address import asked_page
from osdi_frames.client.answers import Answer
from osdi_frames.client.paging import Ledger, Page, read_page
from osdi_frames.client.transport import Transport
from osdi_frames.errors import BadAnswer, OsdiError
from osdi_frames.progress import bar
from osdi_frames.tables.forms import PAGE_KEYS

_FRONT = 20  # pages that are looked through for new arrivals before all are read again

_OF_PAGES = {*PAGE_KEYS} - {"_links"}  # which every resource has

#: How often the whole collection is read again before it is called incomplete.
ROUNDS = 3


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
    _left: bool = False  # nobody waits for pages any more, after an error or an interrupt

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.transport.max_pages)

    def lack(self) -> str:
        """Return what is missing, without the key, should the service repeat it."""
        return self.transport.redact(self.ledger.lack())

    def sweep(self) -> Generator[Answer, None, None]:
        """Read every page that is missing, so far as totals or `next` name it; yield them in their order."""
        with ThreadPoolExecutor(self.transport.workers, "osdi-frames") as pool:
            while numbers := list(self.ledger.missing()):
                with closing(self._read_together(numbers, pool)) as pages:
                    for answer, page in pages:
                        yield answer
                        if not page.ids and page.next is None:
                            return  # behind the last page, whatever was reported

    def resolve(self) -> str | None:
        """Read until it is proved that every record came; give the proof, or None when rounds are over."""
        for round_ in range(ROUNDS):
            if round_ or self.ledger.outruns:  # in an earlier call
                self.ledger.begin_pass()
                self._followed.clear()
            deque(self.sweep(), maxlen=0)
            if self.ledger.is_cut or self.ledger.outruns:
                return None
            if proof := self.ledger.proof() or self.ledger.proof_after(self._walk()):
                return proof
        return None

    def _walk(self) -> Page:
        """Read from the front, one page alone after the other, while there are rows that no page had before."""
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
                if len(waiting) >= 2 * self.transport.workers:
                    yield self._enter(waiting.popleft().result())
            while waiting:
                yield self._enter(waiting.popleft().result())
        finally:
            self._left = True
            for future in waiting:
                future.cancel()
            for future in waiting:
                with suppress(CancelledError, OsdiError, OSError):  # the first error is on its way
                    self._enter(future.result())

    def _read(self, number: int) -> tuple[Answer, Page]:
        """Read one page, and keep it."""
        answer = self.transport.send("GET", self._address(number), wanted=lambda: not self._left)
        if not _OF_PAGES & answer.body.keys():
            path = self.transport.redact(self.path)
            raise BadAnswer(f"{path}, page {number}: not a page of a collection", address=path)
        page = read_page(answer.body, number=number, prefixes=self.transport.prefixes)
        self.keep(answer)
        return answer, page

    def _address(self, number: int) -> str:
        """Return the address of a page: by its number, or a `next` that leads on without naming one.

        So the filter is our own: a `next` can carry it with raw spaces and signs.
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
    """Show a bar by pages, and yield what is to be called with each."""
    with ExitStack() as shown:
        pages = None

        def on_page(page: Page) -> None:
            nonlocal pages
            if pages is None:  # not before: a notebook's bar cannot learn its total later
                pages = shown.enter_context(bar("pulling", progress, unit="page", total=page.total_pages))
            # Of several collections only the first one's total is known.
            pages.total = page.total_pages if (page.total_pages or 0) > pages.n else None
            pages.update()

        yield on_page
