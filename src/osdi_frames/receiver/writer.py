"""Group commit: one thread writes what many connections deliver, one write and one sync for all of them."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from osdi_frames.receiver.envelope import Envelope
from osdi_frames.receiver.sealing import Sealer
from osdi_frames.receiver.segments import Log
from osdi_frames.receiver.worker import Worker

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """A body that waits to be durable; with a `reason` it goes to quarantine."""

    body: bytes
    received_at: str
    reason: str | None
    answer: asyncio.Future[bool]


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A question whether an append and a sync work now."""

    answer: asyncio.Future[bool]


class Writer(threading.Thread):
    """Writes queued deliveries batch by batch, and reports whether they are durable.

    `resolve` is called from this thread with items and their common outcome. The writer only reads whether an
    item's answer is resolved already; the event loop resolves it.
    """

    def __init__(
        self,
        worker: Worker,
        *,
        batch_bytes: int,
        resolve: Callable[[Sequence[Waiting | Probe], bool], None],
    ) -> None:
        super().__init__(name="osdi-frames-writer", daemon=True)
        self._worker = worker
        self._batch_bytes = batch_bytes
        self._resolve = resolve
        self._queue: queue.SimpleQueue[Waiting | Probe | None] = queue.SimpleQueue()
        self._sealer = Sealer([worker.deliveries, worker.quarantine])
        self.failure: str | None = None

    def start(self) -> None:
        """Begin to write, and to seal what is finished."""
        self._sealer.start()
        super().start()

    def put(self, item: Waiting | Probe) -> None:
        """Hand in an item; returns at once."""
        self._queue.put(item)

    def stop(self) -> None:
        """Write what was handed in, and end."""
        self._queue.put(None)
        self.join()
        self._sealer.stop()

    def run(self) -> None:
        """Write until it is stopped."""
        more = True
        while more:
            batch, more = self._take()
            self._store(batch)

    def _take(self) -> tuple[list[Waiting | Probe], bool]:
        batch: list[Waiting | Probe] = []
        size = 0
        try:
            item = self._queue.get()
            while item is not None:
                batch.append(item)
                size += len(item.body) if isinstance(item, Waiting) else 0
                if size >= self._batch_bytes:
                    return batch, True
                item = self._queue.get_nowait()
        except queue.Empty:
            return batch, True
        return batch, False

    def _store(self, batch: Sequence[Waiting | Probe]) -> None:
        # Who was answered 503 meanwhile sends it again; under overload the time belongs to the others.
        wanted: list[Waiting | Probe] = []
        late: list[Waiting | Probe] = []
        for item in batch:
            (late if item.answer.done() else wanted).append(item)
        bodies = [item for item in wanted if isinstance(item, Waiting)]
        for log, share in (
            (self._worker.deliveries, [item for item in bodies if item.reason is None]),
            (self._worker.quarantine, [item for item in bodies if item.reason is not None]),
        ):
            if share:
                self._resolve(share, self._append(log, share))
        if late:
            self._resolve(late, False)
        probes = [item for item in wanted if isinstance(item, Probe)]
        if probes:
            self._resolve(probes, self._probe())

    def _append(self, log: Log, share: Sequence[Waiting]) -> bool:
        lines = [
            Envelope.of(item.body, sequence=number, at=item.received_at, reason=item.reason).line()
            for number, item in enumerate(share, log.next_sequence)
        ]
        try:
            self._worker.check_lock()
            begun = log.append(lines, day=share[0].received_at[:10])
        except OSError as error:
            self._log_failure(f"{len(share)} deliveries could not be written and were answered 503: {error}")
            return False
        if begun:
            self._sealer.wake()
        self._log_success()
        return True

    def _log_success(self) -> None:
        if self.failure:
            logger.warning("deliveries are written again")
        self.failure = None

    def _log_failure(self, message: str) -> None:
        if not self.failure:  # one line when it begins and one when it ends, not one a batch
            logger.error("%s", message)
        self.failure = message

    def _probe(self) -> bool:
        try:
            self._worker.probe()
        except OSError as error:
            self._log_failure(f"the probe could not be written: {error}")
            return False
        self._log_success()
        return True
