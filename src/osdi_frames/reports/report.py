"""What a report is: what it counts, by what, which columns it reads and shows, and what makes it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

import pandas as pd

from osdi_frames.reports.groups import By, Period, named_keys
from osdi_frames.reports.known import Duration
from osdi_frames.reports.measures import KEPT, Measure
from osdi_frames.reports.spelling import Spelling, contexts
from osdi_frames.reports.titles import TITLED, Titled

TablesRead: TypeAlias = Mapping[str, pd.DataFrame]
"""The rows of an archive that were read for its report, those that are excluded among them."""


class Choices(Protocol):
    """What a request for the report of an archive chooses."""

    @property
    def include(self) -> tuple[str, ...]:
        """Which rows to count though they are excluded."""

    @property
    def spelling(self) -> Spelling:
        """Whether spellings of one value are one row."""

    @property
    def now(self) -> datetime | None:
        """The present, for what no receipt dates."""

    @property
    def compare(self) -> Duration:
        """The period that is compared with the one before."""

    @property
    def goals(self) -> Mapping[str, int]:
        """How many signatures petitions are to have."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What several reports count.

    Attributes
    ----------
    table, count, unit
        The table whose rows are counted; the column of the main count, which ranks rows and is drawn, if there is one;
        and what it counts.
    measures
        The columns of the reports.
    titled
        The id that has titles, if there is one.
    nothing
        The texts that stand for no value.
    read_from
        The table of an archive whose rows these are, if it is another.
    """

    table: str
    count: str
    unit: str
    measures: tuple[Measure, ...] = ()
    titled: Titled | None = None
    nothing: tuple[str, ...] = ("",)
    read_from: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """A key that the rows of another table have: `column` of the row of `table` with the same `key`."""

    table: str
    key: str
    column: str


#: What makes a report of the tables of an archive.
ReportFunction: TypeAlias = Callable[[TablesRead, Choices], pd.DataFrame]


@dataclass(frozen=True, slots=True)
class Report:
    """A report of one table, whose rows it counts by a key or by a function of its own.

    Attributes
    ----------
    subject
        What it counts: the table, the measures, and what they have in common.
    name, heading
        The name of its function, plot and files; its heading, and the title of its plot.
    by
        What it groups by, and ``osdi-frames report`` makes it; None where the caller says it.
    kind
        ``groups``: a row for each value; ``over time``: a row for each period, with `by` a column for each
        value; ``growth``: the same for repeated pulls.
    own_measures
        Its columns, where they are not those of the subject.
    joined
        The key that the rows of another table have.
    function, needs
        What makes it of the tables of an archive, and the columns of each table that are needed for it.
    part
        The part of the page in which it stands, where it is not that of its table.
    caption
        A sentence below its table.
    in_time
        Whether what the function makes has its rows in the order of time.
    """

    subject: Subject = field(repr=False)
    name: str
    heading: str = field(repr=False)
    by: By | None = field(default=None, repr=False)
    kind: Literal["groups", "over time", "growth"] = field(default="groups", repr=False)
    own_measures: tuple[Measure, ...] = field(default=(), repr=False)
    joined: Joined | None = field(default=None, repr=False)
    function: ReportFunction | None = field(default=None, repr=False)
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    part: str = field(default="", repr=False)
    caption: str = field(default="", repr=False)
    in_time: bool = field(default=False, repr=False)

    @property
    def titled(self) -> Titled | None:
        """The id that has titles: its key, or the subject's."""
        return next((titled for titled in TITLED if titled.key in self.keys), self.subject.titled)

    @property
    def table(self) -> str:
        """The table whose frame it takes."""
        return self.subject.table

    @property
    def read_from(self) -> str:
        """The table whose rows its frame holds."""
        return self.subject.read_from or self.table

    @property
    def count(self) -> str:
        """The measure that ranks rows and is drawn."""
        return self.subject.count

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Its columns."""
        return self.own_measures or self.subject.measures

    def made_of(self, columns: Collection[Hashable]) -> tuple[Measure, ...]:
        """Return the measures of a frame with these columns, optional ones where it has what they need."""
        return tuple(
            measure
            for measure in self.measures
            if not measure.is_optional or measure.needs.keys() <= {*columns}
        )

    def shown(self, frame: pd.DataFrame) -> tuple[Measure, ...]:
        """Return the measures that are shown of a frame; of cohorts also the shares of the first periods."""
        measures = (measure for measure in (*self.measures, KEPT) if measure.name in frame.columns)
        periods = [name for name in frame.columns if self.function and str(name).isdecimal()]
        shares = (Measure(name, "share", None, "float64") for name in periods[:_LATER])
        return (
            *(measure for measure in measures if not measure.is_rare or _is_common(frame[measure.name])),
            *shares,
        )

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The columns from which small counts could be computed."""
        return tuple(measure.name for measure in self.measures if measure.unprotected)

    @property
    def is_published(self) -> bool:
        """Whether it is made where small counts are hidden.

        What a function counts is not: its counts bound those of the other reports, and which to hide would have to be
        searched for.
        """
        return self.function is None or all(column.unit in ("text", "time") for column in self.measures)

    @property
    def least_rows(self) -> int:
        """With fewer rows an archive's report leaves it out: growth needs a second pull."""
        return 1 if self.function else 2 if self.kind == "growth" else 0

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the columns that it groups by."""
        return tuple(name for name, _ in named_keys(self.by, report=self.name))

    @property
    def periods(self) -> tuple[str, ...]:
        """The names of the keys that are periods."""
        return tuple(key.name for _, key in named_keys(self.by, report=self.name) if isinstance(key, Period))

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of its index, where these are declared."""
        if self.kind != "groups":
            return ("fetched_at" if self.kind == "growth" else "created_date",)
        keys = named_keys(self.by, report=self.name)
        return tuple(key.name if isinstance(key, Period) else name for name, key in keys)

    @property
    def is_over_time(self) -> bool:
        """Whether its rows are in the order of time."""
        return self.in_time or bool(self.periods) or self.kind in ("over time", "growth")

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that it needs of each table."""
        return self.needs or {self.read_from: (*self.columns, *contexts(self.keys))}

    @property
    def reader(self) -> str:
        """The call that reads its frame."""
        repeated = ", dedupe=False" if self.kind == "growth" else ""
        return f"osdi_frames.open(source).table('{self.read_from}'{repeated})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its table that it counts."""
        needs = [name for measure in self.made_of(()) for name in measure.needs]
        joined = self.joined
        keys = [joined.key if joined and name == joined.column else name for name in self.keys]
        return tuple(dict.fromkeys([*keys, *needs]))


def _is_common(column: pd.Series) -> bool:
    """Return whether a tenth of the rows have a value."""
    return bool((column.notna() & (column != 0)).sum() * _RARE >= len(column))


_RARE: Final = 10  # rows of which one has a value at least, for its column to be shown
_LATER: Final = 13  # periods after the first act that a table of cohorts shows
