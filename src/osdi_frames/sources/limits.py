"""Bounds on what a file becomes while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from osdi_frames.messages import quoted

_LARGEST_DOCUMENT = 1 << 30  # Arrow counts the bytes of a chunk in 31 bits
_RATIO_FROM = 128 << 20  # decompressed bytes below which any ratio is harmless


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on reading one file of an archive; exceeding one is a problem that names it.

    Examples
    --------
    >>> Limits(document_bytes=500_000_000).nesting
    8
    >>> Limits(nesting=0)
    Traceback (most recent call last):
    ValueError: Limits.nesting is at least 1, not 0
    """

    document_bytes: int = 64 << 20
    """Size of one document, decompressed; at most a gibibyte. A larger one is skipped, the next is read."""
    decompressed_bytes: int = 1 << 40
    """Sum of all that is decompressed from one file, at every level. Reading of the file stops there."""
    ratio: int = 200
    """Decompressed bytes per byte of the file, from 128 MiB decompressed on. Reading of the file stops there."""
    nesting: int = 8
    """Containers (gz, zst, zip, tar) inside one another. One that lies deeper is not opened."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(
                    f"Limits.{field.name} is at least 1, not {quoted(getattr(self, field.name))}"
                )
        if self.document_bytes > _LARGEST_DOCUMENT:
            raise ValueError(
                f"Limits.document_bytes is at most {_LARGEST_DOCUMENT}, not {quoted(self.document_bytes)}"
            )


#: The limits that hold where none are given.
DEFAULT_LIMITS = Limits()


class LimitExceeded(Exception):
    """A file exceeds its limits, which `source.read` reports as a problem of the file."""


@dataclass(slots=True)
class Budget:
    """What may still be decompressed from one file, in one sum for all containers that it holds."""

    limits: Limits
    size: Callable[[], int]
    """What is known of the file's size: of a pipe, how much has come through it."""
    spent: int = 0

    def spend(self, size: int) -> None:
        """Count decompressed bytes; raise LimitExceeded if they are too many, or too many for the size of the file."""
        self.spent += size
        limits = self.limits
        if self.spent > limits.decompressed_bytes:
            raise LimitExceeded(
                f"more than {limits.decompressed_bytes:,} bytes decompressed (Limits.decompressed_bytes)"
            )
        if self.spent > _RATIO_FROM and self.spent > limits.ratio * self.size():
            raise LimitExceeded(f"decompressed to more than {limits.ratio} times its size (Limits.ratio)")
