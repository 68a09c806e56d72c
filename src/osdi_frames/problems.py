"""Problems: the parts of an archive that no table can hold, with their places, and the policy for them."""

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
    """The kinds of problems, whose texts are the values of the column `problem` of `check`."""

    NO_FILE = "unreadable file"  # or folder; also a file that can be read only in part
    EMPTY_FILE = "empty file"
    UNREAD_FILE = "a file that is not read"  # in a folder or container: no reader takes its kind
    QUARANTINE = "in quarantine"  # a body that a receiver did not accept as a delivery; it is not read
    FILE_NAME = "a file name that is not UTF-8"  # the file is read; its name is shown with escapes
    LIMIT = "limit exceeded"  # one of `Limits`
    NOT_UTF8 = "not UTF-8"
    NOT_JSON = "not JSON"
    NO_DOCUMENT = "not a page, an event or a delivery"
    NO_ELEMENTS = "a document without elements"  # an empty page, or an object that only resembles one
    UNCLEAR = "a resource whose type is not clear"
    NO_TYPE = "an element without a type key"
    NO_TIME = "an envelope without a time"  # its elements are read, without received_at and fetched_at
    NO_IDENTITY = "an element without identity"  # it cannot be deduplicated: every occurrence is a row
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
    ODD_NUMBER = "a number not of JSON, or not of 64 bits"  # NaN, Infinity, 1e400: other readers fail at it
    NO_DATETIME = "not a datetime"  # of ISO 8601
    SURROGATE = "a lone surrogate, read as U+FFFD"  # half of a character
    DOUBTFUL_DATE = "doubtful date, far from most others"  # by more than ten years
    INCOMPLETE = "incomplete collection"  # its newest total is larger than the number of its records
    UNKNOWN_STATUS = "unknown status"  # reports count its rows
    DUPLICATE_KEY = "duplicate key, the first is read"
    UNDECLARED = "undeclared key"  # no table declares it: perhaps a new field of the service
    NOT_READ = "key not read"  # declared as known, but no column reads it
    UNWRAPPED = "unwrapped"  # a document found inside of other JSON, a text or a log line
    OTHER_TYPE = "other type"  # an element or collection of a type that no table declares


#: The advice for a resource whose type is not clear.
_NAMED_TYPE = (
    "name its type, as deliveries and pages do: "
    '[{"osdi:signature": {…}}], {"_embedded": {"osdi:events": […]}}; '
    'or hand it over parsed, and name the table: read_table(json.load(file), "signatures")'
)

_SKIP: Final = 'open it with on_error="skip" (--on-error skip) to pass over it; osdi_frames.check lists all'
#: The advice for a document that contains nothing of the service: skipping it could lose data.
_NOTHING_INSIDE: Final = (
    "nothing that the service sends is in it, as JSON, text, base64, form or log line: hand over what holds it "
    '(of a frame: open(frame["payload"])), or take this out of the source; osdi_frames.check lists all'
)
_REMEDIES: Final = dict.fromkeys(
    (ProblemKind.NO_DOCUMENT, ProblemKind.NO_TYPE, ProblemKind.QUARANTINE), _NOTHING_INSIDE
)
FAR: Final = 10  # years without any date that make the dates beyond them doubtful
_PLAUSIBLE: Final = range(2000, 2100)
_KINDS = 6  # the most kinds of unread files that a message names


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document begins: a file and a line, counted from 1."""

    source_file: str | None
    source_line: int | None = None

    @property
    def order(self) -> tuple[str, int]:
        """A key to sort places by, in which a file comes before its lines."""
        return self.source_file or "", self.source_line or 0

    def __str__(self) -> str:
        name = messages.shorten_names(self.source_file or "<objects>")
        return name if self.source_line is None else f"{name}:{self.source_line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem at a key of a document whose place is not known yet."""

    problem: ProblemKind
    key: str = ""
    value: str = ""
    """The masked value, from `messages.value_form`."""
    severity: Severity = "error"
    count: int = 1
    """The number of its occurrences in the document."""

    @property
    def detail(self) -> str:
        """The key and the masked value: ``title = "xxx"``."""
        return " = ".join(filter(None, (self.key, self.value)))


@dataclass(slots=True)
class Occurrences:
    """A finding, and how often it occurs in some documents."""

    place: Place
    """The place of its first occurrence."""
    finding: Finding
    relative: str = ""
    """Its key relative to the element, without positions in lists; empty outside of elements."""
    count: int = 1
    number: int = 0
    """The number of the first element of its document, to sort findings in the order of reading."""


def repeated(key: object, count: int = 1) -> Finding:
    """Return the finding for a key that an object has more than once."""
    return Finding(ProblemKind.DUPLICATE_KEY, field_name(key), severity="warning", count=count)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing in an archive that no table can hold, or that was changed to hold it."""

    place: Place
    problem: ProblemKind
    detail: str
    severity: Severity = "error"
    passes: bool = field(default=False, compare=False)
    """Whether it can be gone the next time: what the system refused, not what is in a file."""

    @classmethod
    def at(cls, place: Place, finding: Finding) -> Problem:
        """Return the problem of a finding at a place."""
        return cls(place, finding.problem, finding.detail, finding.severity)

    def __str__(self) -> str:
        hint = f"; {_NAMED_TYPE}" if self.problem is ProblemKind.UNCLEAR else ""
        return f"{self.place}: {self.problem}: {self.detail}{hint}"


def file_name(name: str) -> str:
    r"""Return a file's name as valid text, with escapes for bytes that are not UTF-8 and for lone surrogates.

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
    """Issue a warning that points at the line outside of this package that called it."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and is_inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@dataclass(slots=True)
class Policy:
    """The policy for problems of a pass: to raise the first error, or to skip and count all.

    Problems of the severity ``warning`` were mended without the loss of a row; `check` lists them, none is raised.
    """

    on_error: OnError
    skipped: int = field(default=0, init=False)
    first: Problem | None = field(default=None, init=False)
    """The first skipped problem by file and line."""
    unknown_prefix: Problem | None = field(default=None, init=False)
    """The first problem of an unknown prefix."""
    unread: Counter[str] = field(default_factory=Counter, init=False)
    """The number of files that no reader can read, by their kind."""

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise InvalidArgument(f"on_error is 'raise' or 'skip', not {quoted(self.on_error)}")

    def handle(self, problem: Problem, count: int = 1) -> None:
        """Raise `BadDocument` for an error, or count its occurrences if errors are skipped."""
        if problem.problem is ProblemKind.UNKNOWN_PREFIX:
            self.unknown_prefix = self.unknown_prefix or problem
        if problem.problem is ProblemKind.UNREAD_FILE:
            self.unread[problem.detail] += count
        if problem.severity != "error":
            return
        if self.on_error == "raise":
            raise BadDocument(f"{problem}; {_REMEDIES.get(problem.problem, _SKIP)}")
        self.skipped += count
        # Problems do not come in the order of places, since files are opened before earlier documents are parsed.
        self.first = min(self.first or problem, problem, key=lambda either: either.place.order)

    def close(self, warn: Callable[[str, type[UserWarning]], None] = warn_caller) -> None:
        """Warn once of all skipped problems, once of all unread files, and once of the first unknown prefix."""
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
    """Return the range of years around most rows, outside of which dates are doubtful.

    `counts` has the number of rows of each year. A gap of more than ten years ends the range.

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
