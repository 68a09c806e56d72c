"""Group commit: one thread writes what many connections deliver, one write and one sync for all of them.

Another thread seals what is finished.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from osdi_frames.receiver.envelope import Envelope
from osdi_frames.receiver.segments import Log, seal_finished
from osdi_frames.receiver.worker import Worker

_RETRY_SECONDS = 30.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """A body that waits to be durable; with a `reason` it goes to quarantine."""

    body: bytes
    received_at: str
    reason: str | None
    answer: asyncio.Future[bool]


class Writer:
    """Writes queued deliveries batch by batch in a thread of its own, and reports whether they are durable.

    `resolve` is called from that thread with deliveries and their common outcome. The thread only reads whether
    an answer is resolved already; the event loop resolves it.
    """

    def __init__(
        self, worker: Worker, *, batch_bytes: int, resolve: Callable[[Sequence[Waiting], bool], object]
    ) -> None:
        self._worker = worker
        self._batch_bytes = batch_bytes
        self._resolve = resolve
        self._queue: deque[Waiting] = deque()
        self._due = False  # whether a call will write what is queued
        self._sealer = Sealer([worker.deliveries, worker.quarantine])
        self._sealer.start()
        self._thread = ThreadPoolExecutor(1, "osdi-frames-writer")
        self.failure: str | None = None

    def begin(self, day: str) -> Future[bool]:
        """Begin a segment ahead of its first line, which then waits for one sync and not for three."""
        return self._thread.submit(self._worker.deliveries.append, [], day=day)

    def put(self, item: Waiting) -> None:
        """Hand in a delivery; returns at once."""
        self._queue.append(item)
        if not self._due:
            self._due = True
            # An error that nobody expects is logged where the result is asked for.
            self._thread.submit(self._write).add_done_callback(Future.result)

    def probe(self) -> Future[bool]:
        """Try an append and a sync, after what was handed in."""
        return self._thread.submit(self._succeeds, self._worker.probe, "the probe could not be written")

    def stop(self) -> None:
        """Write what was handed in, and end."""
        self._thread.shutdown()
        self._sealer.stop()

    def _write(self) -> None:
        self._due = False  # what comes from now on is written by the next call
        left = len(self._queue)
        while left:
            shares: defaultdict[Log | None, list[Waiting]] = defaultdict(list)
            size = 0
            while left and size < self._batch_bytes:
                item = self._queue.popleft()
                shares[self._log_of(item)].append(item)
                size += len(item.body)
                left -= 1
            for log, share in shares.items():
                self._resolve(share, log is not None and self._append(log, share))

    def _log_of(self, item: Waiting) -> Log | None:
        if item.answer.done():
            # Who was answered 503 meanwhile sends it again; under overload the time belongs to the others.
            return None
        return self._worker.deliveries if item.reason is None else self._worker.quarantine

    def _append(self, log: Log, share: Sequence[Waiting]) -> bool:
        def append() -> None:
            self._worker.check_lock()
            if log.append(lines, day=share[0].received_at[:10]):
                self._sealer.wake.set()

        lines = [
            Envelope.of(item.body, sequence=number, at=item.received_at, reason=item.reason).line()
            for number, item in enumerate(share, log.next_sequence)
        ]
        return self._succeeds(append, f"{len(share)} deliveries could not be written and were answered 503")

    def _succeeds(self, task: Callable[[], object], otherwise: str) -> bool:
        failure = None
        try:
            task()
        except OSError as error:
            failure = f"{otherwise}: {error}"
        # One line when it begins and one when it ends, not one a batch.
        if failure and not self.failure:
            logger.error("%s", failure)
        if self.failure and not failure:
            logger.warning("deliveries are written again")
        self.failure = failure
        return failure is None


class Sealer(threading.Thread):
    """Seals the finished segments of some logs whenever `wake` is set, and again after a failure."""

    def __init__(self, logs: Sequence[Log]) -> None:
        super().__init__(name="osdi-frames-sealer", daemon=True)
        self._logs = logs
        self.wake = threading.Event()
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Stop within one chunk of work, and wait for it."""
        self._stopping.set()
        self.wake.set()
        self.join()

    def run(self) -> None:
        """Seal until it is stopped."""
        wait: float | None = 0.0
        while not self._stopping.is_set():
            self.wake.wait(wait)
            self.wake.clear()
            wait = None
            try:
                for log in self._logs:
                    seal_finished(log, stopped=self._stopping.is_set)
            except OSError as error:
                logger.warning("a segment stays uncompressed for now: %s", error)
                wait = _RETRY_SECONDS
