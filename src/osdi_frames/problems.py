"""Problems: what no table takes, where, why."""

from __future__ import annotations

import inspect
import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from osdi_frames import messages
from osdi_frames.errors import BadDocument, InvalidArgument, ProblemsWarning, SourceWarning, is_inside
from osdi_frames.messages import counted, field_name, quoted

Severity = Literal["error", "warning", "info"]
OnError = Literal["raise", "skip"]


class ProblemKind(StrEnum):
    """What a problem is, as the column `problem` of `check` shows it."""

    NO_FILE = "unreadable file"  # or a folder, or not to its end
    EMPTY_FILE = "empty file"
    UNREAD_FILE = "a file that is not read"  # in a folder or container: no reader takes its kind
    QUARANTINE = "in quarantine"  # a receiver keeps bodies that are not deliveries; they are not read
    FILE_NAME = "a file name that is not UTF-8"  # it is read; its name is shown with escapes
    LIMIT = "limit exceeded"  # of `Limits`
    NOT_UTF8 = "not UTF-8"
    NOT_JSON = "not JSON"
    NO_DOCUMENT = "not a page, an event or a delivery"
    NO_ELEMENTS = "a document without elements"  # an empty page, or an object that is none
    UNCLEAR = "a resource whose type is not clear"
    NO_TYPE = "an element without a type key"
    NO_TIME = "an envelope without a time"  # it is read; received_at and fetched_at are missing
    NO_IDENTITY = "an element without identity"  # each document that holds it is one more
    UNKNOWN_PREFIX = "an id under an unknown prefix"
    NO_OBJECT = "not an object"
    NO_LIST = "not a list"
    NO_TEXT = "not text"
    NO_BOOLEAN = "not true or false"
    NO_INTEGER = "not an integer"
    LARGE_INTEGER = "not an integer of 64 bits"
    NO_NUMBER = "not a number"
    LARGE_NUMBER = "not a number of 64 bits"
    NO_AMOUNT = "not an amount"  # of at most 13 digits before the point, and two after it
    ODD_NUMBER = "a number not of JSON, or not of 64 bits"  # NaN, Infinity, 1e400: others refuse the file
    NO_DATETIME = "not a datetime"  # of ISO 8601
    SURROGATE = "a lone surrogate, read as U+FFFD"  # half of a character
    DOUBTFUL_DATE = "doubtful date, far from most others"  # by more than ten years
    INCOMPLETE = "incomplete collection"  # its newest total says that the service lists more of it
    UNKNOWN_STATUS = "unknown status"  # it counts
    DUPLICATE_KEY = "duplicate key, the first is read"
    UNDECLARED = "undeclared key"  # of no table: perhaps a new field of the service
    NOT_READ = "key not read"  # it is known, and no column reads it
    UNWRAPPED = "unwrapped"  # read from inside of other JSON, a text or a log line; not what the service sent
    OTHER_TYPE = "other type"  # of an element or a collection, which no table declares


#: What to do about a resource whose type is not clear.
_NAMED_TYPE = (
    "name its type, as deliveries and pages do: "
    '[{"osdi:signature": {…}}], {"_embedded": {"osdi:events": […]}}; '
    'or hand it over parsed, and name the table: read_table(json.load(file), "signatures")'
)

_PASSED_OVER: Final = (
    'open it with on_error="skip" (--on-error skip) to pass over it; osdi_frames.check lists all'
)
#: What to do about what holds nothing that the service sent: to pass over it could lose what it should have held.
_NOTHING_INSIDE: Final = (
    "nothing that the service sends is in it, as JSON, text, base64, form or log line: hand over what holds it "
    '(of a frame: open(frame["payload"])), or take this out of the source; osdi_frames.check lists all'
)
_REMEDIES: Final = dict.fromkeys(
    (ProblemKind.NO_DOCUMENT, ProblemKind.NO_TYPE, ProblemKind.QUARANTINE), _NOTHING_INSIDE
)
FAR: Final = 10  # years without any row: what lies beyond them is far from the rest
_PLAUSIBLE: Final = range(2000, 2100)
_KINDS = 6  # of files not read that a message names


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document begins: a file and a line, counted from 1."""

    source_file: str | None
    source_line: int | None = None

    @property
    def order(self) -> tuple[str, int]:
        """What places are sorted by; a file comes before its lines."""
        return self.source_file or "", self.source_line or 0

    def __str__(self) -> str:
        name = messages.shorten_names(self.source_file or "<objects>")
        return name if self.source_line is None else f"{name}:{self.source_line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong at a key of a document; with the place of that, it is a problem."""

    problem: ProblemKind
    key: str = ""
    value: str = ""
    """As a message shows it: see `messages.value_form`."""
    severity: Severity = "error"
    count: int = 1
    """How often it occurs in the document."""

    @property
    def detail(self) -> str:
        """The key with the form of its value."""
        return " = ".join(filter(None, (self.key, self.value)))


def repeated(key: object, count: int = 1) -> Finding:
    """Return the finding of a key that an object has twice."""
    return Finding(ProblemKind.DUPLICATE_KEY, field_name(key), severity="warning", count=count)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing in an archive that no table could take."""

    place: Place
    problem: ProblemKind
    detail: str
    severity: Severity = "error"

    @classmethod
    def at(cls, place: Place, finding: Finding) -> Problem:
        """Return a finding with its place."""
        return cls(place, finding.problem, finding.detail, finding.severity)

    def __str__(self) -> str:
        hint = f"; {_NAMED_TYPE}" if self.problem is ProblemKind.UNCLEAR else ""
        return f"{self.place}: {self.problem}: {self.detail}{hint}"


def file_name(name: str) -> str:
    r"""Return the name of a file as text.

    Bytes that are not UTF-8 are escapes; so are characters that no name can have.

    >>> file_name("caf\udce9.json"), file_name("\ud800.json")
    ('caf\\xe9.json', '\\ud800.json')
    """
    if name.isascii():
        return name
    try:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return name.encode("utf-8", "backslashreplace").decode()


def warn_caller(message: str, category: type[UserWarning]) -> None:
    """Warn, pointing at the line that called this package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and is_inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@dataclass(slots=True)
class Policy:
    """What to do with problems while reading.

    Reading stops at the first, or skips and counts.
    A ``warning`` is something mended without loss of a row; it is listed by `check`, and stops nothing.
    """

    on_error: OnError
    skipped: int = field(default=0, init=False)
    first: Problem | None = field(default=None, init=False)
    """By file and line."""
    unknown_prefix: Problem | None = field(default=None, init=False)
    unread: Counter[str] = field(default_factory=Counter, init=False)
    """The files that no reader takes, by their kind."""

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise InvalidArgument(f"on_error is 'raise' or 'skip', not {quoted(self.on_error)}")

    def handle(self, problem: Problem, count: int = 1) -> None:
        """Stop at an error, or count as many as occur."""
        if problem.problem is ProblemKind.UNKNOWN_PREFIX:
            self.unknown_prefix = self.unknown_prefix or problem
        if problem.problem is ProblemKind.UNREAD_FILE:
            self.unread[problem.detail] += count
        if problem.severity != "error":
            return
        if self.on_error == "raise":
            raise BadDocument(f"{problem}; {_REMEDIES.get(problem.problem, _PASSED_OVER)}")
        self.skipped += count
        # How far ahead of documents a file is opened depends on the groups that they are read in.
        self.first = min(self.first or problem, problem, key=lambda found: found.place.order)

    def close(self, warn: Callable[[str, type[UserWarning]], None] = warn_caller) -> None:
        """Warn once each of skipped problems, of unread files, both with their count, and of an unknown prefix."""
        if self.skipped:
            count = counted(self.skipped, "problem")
            warn(f"skipped {count}, the first: {self.first}; osdi_frames.check lists all", ProblemsWarning)
        if self.unread:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.unread.most_common(_KINDS))
            more = ", …" if len(self.unread) > _KINDS else ""
            count = counted(self.unread.total(), "file")
            warn(f"{count} not read: {kinds}{more}; osdi_frames.check lists them", SourceWarning)
        if self.unknown_prefix:
            prefix = self.unknown_prefix.detail.partition('"')[2].partition(":")[0]
            hint = (
                f'; prefix="{prefix}" (--prefix {prefix}) makes it known' if prefix != messages.HIDDEN else ""
            )
            warn(f"{self.unknown_prefix}{hint}", SourceWarning)


def trusted_years(counts: Mapping[int, int]) -> range:
    """Return the years near most rows; dates in all others are doubtful.

    `counts` is the number of rows of each year that has any.

    >>> trusted_years({1: 1, 2024: 5, 2026: 7, 9999: 2})
    range(2024, 2027)
    """
    clusters: list[list[int]] = []
    for year in sorted(counts):
        if clusters and year - clusters[-1][-1] <= FAR:
            clusters[-1].append(year)
        else:
            clusters.append([year])

    def weight(cluster: list[int]) -> tuple[int, bool, int]:
        return sum(counts[year] for year in cluster), any(year in _PLAUSIBLE for year in cluster), cluster[0]

    most = max(clusters, key=weight)
    return range(most[0], most[-1] + 1)
