"""What the receiver allows, and how long it takes: every number in one place."""

from __future__ import annotations

from dataclasses import dataclass


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
