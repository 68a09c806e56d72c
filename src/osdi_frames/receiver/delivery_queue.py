"""The queue of deliveries between the event loop and the writer: limits, deadlines, health."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from osdi_frames.receiver.envelope import timestamp
from osdi_frames.receiver.validation import validate_body
from osdi_frames.receiver.worker import Worker, torn
from osdi_frames.receiver.writer import Waiting, Writer

_PROBE_EVERY = 1.0
_PROBE_TIMEOUT = 2.0
_WINDOW = 10.0  # seconds that rate and p99 look back
_INLINE_BYTES = 64 << 10  # a body of this size is validated within 10 ms, whatever it holds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """The receiver's settings; bytes and seconds.

    The sender gives up after half a second, so an answer that comes later than `answer_seconds` after the
    body is 503. A request's head may take `head_seconds` to arrive, its body `body_seconds`. At most
    `connections` are open, and fewer where the system allows fewer files: one more closes the oldest that
    has not shown the token. `waiting` deliveries and `held_bytes` of bodies are
    kept in memory; what comes on top is answered 503 at once.
    """

    body_bytes: int = 5 << 20
    head_seconds: float = 5.0
    body_seconds: float = 10.0
    connections: int = 512
    answer_seconds: float = 0.45
    waiting: int = 1024
    held_bytes: int = 32 << 20
    batch_bytes: int = 8 << 20
    segment_bytes: int = 64 << 20
    free_share: float = 0.1


class DeliveryQueue:
    """Queues bodies for the writer and waits until they are durable; one event loop uses it, from start to stop."""

    def __init__(self, worker: Worker, *, limits: Limits, now: Callable[[], datetime]) -> None:
        self._worker = worker
        self._limits = limits
        self._now = now
        self._waiting = 0
        self.held = 0  # bytes of the bodies that are in memory
        self._stored = 0
        self._failed = 0
        self._recent: deque[tuple[float, float]] = deque(maxlen=20_000)  # when stored, seconds taken
        self._probe: asyncio.Future[bool] | None = None
        self._probed = 0.0
        self._low = False

    async def start(self) -> None:
        """Begin to write; needs the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._writer = Writer(
            self._worker,
            batch_bytes=self._limits.batch_bytes,
            resolve=lambda items, stored: self._loop.call_soon_threadsafe(self._resolve, items, stored),
        )
        with contextlib.suppress(OSError):  # a full disk, for example: the first delivery tries again
            await asyncio.wrap_future(self._writer.begin(timestamp(self._now())[:10]))

    async def stop(self) -> None:
        """Write what is waiting, then leave the folder."""
        await asyncio.to_thread(self._writer.stop)
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
        """Make a held body durable; ``False`` when it failed or would come too late for the sender."""
        arrived = self._loop.time()
        received_at = timestamp(self._now())
        answer: asyncio.Future[bool] = self._loop.create_future()
        deadline = self._loop.call_at(arrived + self._limits.answer_seconds, _give_up, answer)
        self._waiting += 1
        if len(body) <= _INLINE_BYTES:
            self._validate_and_put(body, received_at, answer)
        else:  # in a thread: others are answered meanwhile
            self._loop.run_in_executor(None, self._validate_and_put, body, received_at, answer)
        stored = await answer
        deadline.cancel()
        now = self._loop.time()
        if stored:
            self._stored += 1
            self._recent.append((now, now - arrived))
        else:
            self._failed += 1
        return stored

    def _validate_and_put(self, body: bytes, received_at: str, answer: asyncio.Future[bool]) -> None:
        self._writer.put(Waiting(body, received_at, validate_body(body), answer))

    async def health(self) -> dict[str, object]:
        """Return the receiver's state; an append and a sync are tried for it, at most once a second."""
        works = await self._try_probe()
        now = self._loop.time()
        recent = sorted(seconds for when, seconds in self._recent if now - when <= _WINDOW)
        free, share = self._free()
        warnings = [*self._worker.deliveries.losses, *self._worker.quarantine.losses]
        warnings += [failure] if (failure := self._writer.failure) else []
        if self._low:
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
            "torn": sum(1 for _ in torn(self._worker.folder).glob("*.torn")),
            "free_bytes": free,
            "free_share": round(share, 3),
            "warnings": warnings,
        }

    def _free(self) -> tuple[int, float]:
        """Return how many bytes of the disk are free, and which share; 0 where the folder was removed."""
        free, share = 0, 0.0
        with contextlib.suppress(OSError):
            disk = shutil.disk_usage(self._worker.folder)
            free, share = disk.free, disk.free / disk.total
        low = share < self._limits.free_share
        if low and not self._low:
            logger.warning("less than %.0f%% of the disk is free", 100 * self._limits.free_share)
        self._low = low
        return free, share

    async def _try_probe(self) -> bool:
        now = self._loop.time()
        if self._probe is None or now - self._probed >= _PROBE_EVERY:
            self._probe, self._probed = asyncio.wrap_future(self._writer.probe()), now
        probe = self._probe  # another request may begin the next one meanwhile
        await asyncio.wait({probe}, timeout=_PROBE_TIMEOUT)
        return probe.done() and probe.result()

    def _resolve(self, items: Sequence[Waiting], stored: bool) -> None:
        for item in items:
            self._waiting -= 1
            self.held -= len(item.body)
            if not item.answer.done():
                item.answer.set_result(stored)


def _give_up(answer: asyncio.Future[bool]) -> None:
    if not answer.done():
        answer.set_result(False)
