"""Group commit: many deliveries are written and synced together, and then answered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import threading
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from osdi_frames.document_forms import envelope_time
from osdi_frames.messages import with_shortened_paths
from osdi_frames.receiver.envelope import Envelope
from osdi_frames.receiver.segments import Log, seal_finished
from osdi_frames.receiver.validation import validate_body
from osdi_frames.receiver.worker import Worker

_WINDOW = 10.0  # seconds that rate and p99 look back
_BATCH_BYTES = 8 << 20
_INLINE_BYTES = 64 << 10  # a body of this size is validated within 10 ms, whatever it holds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReceiverLimits:
    """The receiver's settings; bytes and seconds.

    The sender gives up after half a second, so an answer that comes later than `answer_seconds` after the
    body is 503. A request's head may take `head_seconds` to arrive, its body `body_seconds`. At most
    `connections` are open, and fewer where the system allows fewer files: one more closes the oldest that
    has not shown the token. `waiting` deliveries and `held_bytes` of bodies are kept in memory; what comes on
    top is answered 503 at once. The health page tries an append and a sync every `probe_seconds` at most, and
    waits twice as long for them.
    """

    body_bytes: int = 5 << 20
    head_seconds: float = 5.0
    body_seconds: float = 10.0
    connections: int = 512
    answer_seconds: float = 0.45
    waiting: int = 1024
    held_bytes: int = 32 << 20
    segment_bytes: int = 64 << 20
    free_share: float = 0.1
    probe_seconds: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _PendingBody:
    """A body that waits to be durable, in quarantine if it has a `reason`."""

    body: bytes
    received_at: str
    reason: str | None
    answer: asyncio.Future[bool]


class DeliveryQueue:
    """Makes bodies durable together.

    One thread writes what waits, another one seals finished segments. One event loop uses it while it is `running`, and
    it alone resolves the answers.
    """

    def __init__(self, worker: Worker, *, limits: ReceiverLimits, now: Callable[[], datetime]) -> None:
        self._worker = worker
        self._limits = limits
        self._now = now
        self._queue: deque[_PendingBody] = deque()
        self._waiting = 0  # those that are validated or written now included
        self.held = 0  # bytes of the bodies that are in memory
        self._stored = 0
        self._failed = 0
        self._recent: deque[tuple[float, float]] = deque(maxlen=20_000)  # when stored, seconds taken
        self._failure: str | None = None
        self._probe: asyncio.Future[bool] | None = None
        self._probed = 0.0
        self._stopping = threading.Event()
        self._sealer = ThreadPoolExecutor(1, "osdi-frames-sealer")
        self._writer = ThreadPoolExecutor(1, "osdi-frames-writer")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write what is stored in the meantime; at the end write the rest and leave the folder."""
        self._loop = asyncio.get_running_loop()
        _submit(self._sealer, self._seal)
        # Begun ahead of its first line, a segment lets it wait for one sync and not for three.
        day = envelope_time(self._now())[:10]
        begun = self._writer.submit(self._worker.deliveries.append, [], day=day)
        with contextlib.suppress(OSError):  # a full disk, for example: the first delivery tries again
            await asyncio.wrap_future(begun)
        try:
            yield
        finally:
            await asyncio.to_thread(self._writer.shutdown)
            self._stopping.set()
            await asyncio.to_thread(self._sealer.shutdown)
            self._worker.close()
            logger.info("stopped; deliveries stored: %d, answered 503: %d", self._stored, self._failed)

    @property
    def full(self) -> bool:
        """Whether one more delivery has to be turned away."""
        return self._waiting >= self._limits.waiting or self.overfull

    @property
    def overfull(self) -> bool:
        """Whether the bodies take more memory than they may."""
        return self.held > self._limits.held_bytes

    async def store(self, body: bytes) -> bool:
        """Make a held body durable; return False when that failed or would come too late for the sender."""
        arrived = self._loop.time()
        received_at = envelope_time(self._now())
        answer: asyncio.Future[bool] = self._loop.create_future()
        stored = False
        self._waiting += 1
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(arrived + self._limits.answer_seconds):
                if len(body) <= _INLINE_BYTES:
                    self._put(body, received_at, answer)
                else:  # in a thread: others are answered meanwhile
                    self._loop.run_in_executor(None, self._put, body, received_at, answer)
                stored = await answer
        now = self._loop.time()
        if stored:
            self._stored += 1
            self._recent.append((now, now - arrived))
        else:
            self._failed += 1
        return stored

    def _put(self, body: bytes, received_at: str, answer: asyncio.Future[bool]) -> None:
        self._queue.append(_PendingBody(body, received_at, validate_body(body), answer))
        # It finds nothing to do where an earlier call has written this as well.
        _submit(self._writer, self._write)

    def _write(self) -> None:
        """Write, sync and answer a batch of bodies."""
        shares: defaultdict[Log | None, list[_PendingBody]] = defaultdict(list)
        size = 0
        while self._queue and size < _BATCH_BYTES:
            item = self._queue.popleft()
            size += len(item.body)
            # Who was answered 503 meanwhile sends it again; under overload the time belongs to the others.
            log = self._worker.deliveries if item.reason is None else self._worker.quarantine
            shares[None if item.answer.done() else log].append(item)
        for target, share in shares.items():
            stored = target is not None and self._append(target, share)
            self._loop.call_soon_threadsafe(self._resolve, share, stored)

    def _append(self, log: Log, share: Sequence[_PendingBody]) -> bool:
        def append() -> None:
            self._worker.check_lock()
            if log.append(lines, day=share[0].received_at[:10]):
                _submit(self._sealer, self._seal)

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
            failure = f"{otherwise}: {with_shortened_paths(error)}"
        # One line when it begins and one when it ends, not one a batch.
        if failure and not self._failure:
            logger.error("%s", failure)
        if self._failure and not failure:
            logger.warning("deliveries are written again")
        self._failure = failure
        return failure is None

    def _resolve(self, share: Sequence[_PendingBody], stored: bool) -> None:
        for item in share:
            self._waiting -= 1
            self.held -= len(item.body)
            if not item.answer.done():
                item.answer.set_result(stored)

    def _seal(self) -> None:
        try:
            for log in (self._worker.deliveries, self._worker.quarantine):
                seal_finished(log, stopped=self._stopping.is_set)
        except OSError as error:
            logger.warning(
                "a segment stays uncompressed until the next is finished: %s", with_shortened_paths(error)
            )

    async def health(self) -> dict[str, object]:
        """Return the receiver's state, after an attempt to append and sync (see `ReceiverLimits.probe_seconds`)."""
        works = await self._try_probe()
        now = self._loop.time()
        recent = sorted(seconds for when, seconds in self._recent if now - when <= _WINDOW)
        free, share = 0, 0.0  # where the folder was removed
        with contextlib.suppress(OSError):
            disk = shutil.disk_usage(self._worker.folder)
            free, share = disk.free, disk.free / disk.total
        warnings = [*self._worker.deliveries.losses, *self._worker.quarantine.losses]
        if self._failure:
            warnings.append(self._failure)
        if share < self._limits.free_share:
            warnings.append(f"less than {self._limits.free_share:.0%} of the disk is free")
        return {
            "status": ("warning" if warnings else "ok") if works else "failing",
            "append_and_sync": works,
            "waiting": self._waiting,
            "held_bytes": self.held,
            "stored": self._stored,
            "answered_503": self._failed,
            "per_second": round(len(recent) / _WINDOW, 1),
            "p99_ms": round(1000 * recent[len(recent) * 99 // 100], 1) if recent else None,
            "quarantined": self._worker.quarantine.next_sequence - 1,
            "free_bytes": free,
            "free_share": round(share, 3),
            "warnings": warnings,
        }

    async def _try_probe(self) -> bool:
        now = self._loop.time()
        if self._probe is None or now - self._probed >= self._limits.probe_seconds:
            failure = "the probe could not be written"
            self._probe = self._loop.run_in_executor(
                self._writer, self._succeeds, self._worker.probe, failure
            )
            self._probed = now
        probe = self._probe  # another request may begin the next one meanwhile
        await asyncio.wait({probe}, timeout=2 * self._limits.probe_seconds)
        return probe.done() and probe.result()


def _submit(executor: Executor, task: Callable[[], object]) -> None:
    executor.submit(task).add_done_callback(Future.result)  # an error that nobody expects is logged there
