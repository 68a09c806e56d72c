"""A collection of the service, read page by page until it is proved that all of it came."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field

from osdi_frames.client.address import asked_page
from osdi_frames.client.answers import Answer
from osdi_frames.client.proof import Ledger, Page, read_page
from osdi_frames.client.transport import Transport
from osdi_frames.document_forms import PAGE_KEYS
from osdi_frames.errors import BadAnswer, OsdiError
from osdi_frames.messages import shorten
from osdi_frames.progress import bar

_FRONT = 20  # pages that are looked through for new arrivals before all are read again
_OF_PAGES = {*PAGE_KEYS} - {"_links"}  # which every resource has

#: How often the whole collection is read before it is called incomplete.
ROUNDS = 3


@dataclass(slots=True)
class CollectionReader:
    """A collection that is being read.

    `keep` is called with each page in the thread that read it, `on_page` in the caller's thread with each page that was
    entered in the ledger.
    """

    transport: Transport
    path: str
    filter: str | None = None
    keep: Callable[[Answer], None] = lambda _: None
    on_page: Callable[[Page], None] = lambda _: None
    ledger: Ledger = field(init=False)
    _followed: set[str] = field(default_factory=set)
    _left: bool = False  # nobody waits for pages any more, after an error
    _interrupted: bool = False  # nor for those that are on their way

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.transport.limits.max_pages)

    def sweep(self) -> Generator[Answer, None, None]:
        """Read the pages that the ledger misses, and yield them in order."""
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
        """Read until it is proved that every record came; return the proof, or None after `ROUNDS` passes."""
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
        """Read pages from the front, one after the other, while they have new rows; return the last one."""
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
        """Read a page, and keep it."""
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
        """Return the address of a page by its number, or the `next` before it where that names no number.

        Where there is a number, the filter is ours: a `next` can carry it with raw spaces and signs.
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
    """Show a bar by pages; yield the function to be called with each page."""
    with ExitStack() as shown:
        pages = None

        def on_page(page: Page) -> None:
            nonlocal pages
            if pages is None:  # not before: a notebook's bar cannot learn its total later
                pages = shown.enter_context(bar("pulling", progress, unit="page", total=page.total_pages))
            pages.update()

        yield on_page
