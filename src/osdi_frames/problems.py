"""A problem: something in an archive that no table could take, where it is, what, and why."""

from __future__ import annotations

import inspect
import json
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

from osdi_frames.errors import BadDocument, ProblemsWarning, is_inside

Severity = Literal["error", "warning", "info"]
OnError = Literal["raise", "skip"]

#: The value of a finding about the key alone.
NOTHING: Any = object()

_SHOWN = 60  # characters of a value that a message shows


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document begins: its file and its line, counted from 1."""

    source_file: str | None
    source_line: int | None = None

    def __str__(self) -> str:
        name = self.source_file or "<objects>"
        return name if self.source_line is None else f"{name}:{self.source_line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong inside a document, and at which key; it becomes a problem with its place."""

    problem: str
    key: str = ""
    value: Any = NOTHING
    severity: Severity = "error"

    @property
    def detail(self) -> str:
        """The key with its value, as short JSON."""
        if self.value is NOTHING:
            return self.key
        return f"{self.key} = {shown(self.value)}" if self.key else shown(self.value)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing in an archive that no table could take."""

    place: Place
    problem: str
    detail: str
    severity: Severity = "error"

    @classmethod
    def at(cls, place: Place, finding: Finding) -> Problem:
        """Return a finding with its place."""
        return cls(place, finding.problem, finding.detail, finding.severity)

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}: {self.detail}"


@dataclass(slots=True)
class Policy:
    """What to do with problems while reading: stop at the first, or pass over and count.

    A ``warning`` is something mended without loss of a row; it is listed by `check`, and stops nothing.
    """

    on_error: OnError
    passed_over: int = field(default=0, init=False)
    first: Problem | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise ValueError(f"on_error is 'raise' or 'skip', not {self.on_error!r}")

    def meet(self, problem: Problem) -> None:
        """Stop at an error, or count it."""
        if problem.severity != "error":
            return
        if self.on_error == "raise":
            raise BadDocument(str(problem))
        self.passed_over += 1
        self.first = self.first or problem

    def close(self) -> None:
        """Warn once, with the count, when something was passed over."""
        if self.passed_over:
            count = "one problem" if self.passed_over == 1 else f"{self.passed_over} problems"
            message = f"passed over {count}, the first: {self.first}; osdi_frames.check lists all"
            warnings.warn(message, ProblemsWarning, stacklevel=_level())


def _level() -> int:
    """Count the frames up to the caller's line, which is what a warning is to point at."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and is_inside(frame):
        frame, level = frame.f_back, level + 1
    return level


def shown(value: Any) -> str:
    """Show a value as JSON, cut to a length that fits a line.

    >>> shown({"capacity": "lots"})
    '{"capacity": "lots"}'
    """
    text = value if isinstance(value, _Verbatim) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class _Verbatim(str):
    """Text that a message shows as it is."""

    __slots__ = ()


def verbatim(text: str) -> str:
    """Mark a text to be shown as it is, not as JSON."""
    return _Verbatim(text)
