"""The declaration of a report: its table, its keys, the columns that it reads and shows, and its function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

import pandas as pd

from osdi_frames.reports.columns import is_decimal
from osdi_frames.reports.groups import By, Period, named_keys
from osdi_frames.reports.known import Duration
from osdi_frames.reports.measures import KEPT, Measure
from osdi_frames.reports.spelling import Spelling, contexts
from osdi_frames.reports.titles import REFERRER, SPONSOR, TITLED, Titled

TablesRead: TypeAlias = Mapping[str, pd.DataFrame]
"""The rows of an archive that were read for its report, by table, with excluded ones."""


class Choices(Protocol):
    """The settings of a report of an archive that the functions of single reports read."""

    @property
    def include(self) -> tuple[str, ...]:
        """The reasons of excluded rows that are counted nevertheless."""

    @property
    def spelling(self) -> Spelling:
        """Whether different spellings of one value are counted in one row."""

    @property
    def now(self) -> datetime | None:
        """The present, for frames without a time of receipt."""

    @property
    def compare(self) -> Duration:
        """The length of the two periods that are compared."""

    @property
    def goals(self) -> Mapping[str, int]:
        """The number of signatures that each petition should reach."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The rows that several reports count, and what these reports have in common.

    Attributes
    ----------
    table, count, unit
        The table whose rows are counted; the name of the main count, which ranks rows and is drawn, empty without one;
        and the noun for it.
    measures
        The columns of the reports.
    titled
        The id that has titles, or None.
    nothing
        The texts that count as no value.
    read_from
        The table of an archive that the rows are read from, if its name is another.
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
    """A key that is looked up in another table: the `column` of its row with the same `key`."""

    table: str
    key: str
    column: str


#: The function that makes a report from the tables of an archive.
ReportFunction: TypeAlias = Callable[[TablesRead, Choices], pd.DataFrame]


@dataclass(frozen=True, slots=True)
class Report:
    """A report of one table, whose rows it counts by a key or by a function of its own.

    Attributes
    ----------
    subject
        The rows that it counts, its measures and its unit.
    name, heading
        The name of its function, plot and files; the heading of its table and plot.
    by
        Its keys; None if the caller chooses them, which leaves it out of the report of an archive.
    kind
        ``groups`` has a row for each value; ``over time`` a row for each period, with `by` also a column for each
        value; ``growth`` a row for each of repeated pulls.
    own_measures
        Its columns, if they differ from those of the subject.
    joined
        The key that is looked up in another table.
    function, needs
        The function that makes it from the tables of an archive, and the columns of each table that this needs.
    part
        The part of the page that shows it, if it differs from that of its table.
    caption
        A sentence below its table.
    in_time
        Whether the function returns rows in the order of time.
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
        """The id that has titles, which is one of the keys or that of the subject."""
        return next((titled for titled in TITLED if titled.key in self.keys), self.subject.titled)

    @property
    def table(self) -> str:
        """The table whose rows it counts."""
        return self.subject.table

    @property
    def read_from(self) -> str:
        """The table of an archive that its rows are read from."""
        return self.subject.read_from or self.table

    @property
    def count(self) -> str:
        """The name of the measure that ranks rows and is drawn."""
        return self.subject.count

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The columns of the report."""
        return self.own_measures or self.subject.measures

    def made_of(self, columns: Collection[Hashable]) -> tuple[Measure, ...]:
        """Return the measures of a frame with some columns: optional measures only if it has the columns they need."""
        return tuple(
            measure
            for measure in self.measures
            if not measure.is_optional or measure.needs.keys() <= {*columns}
        )

    def shown(self, frame: pd.DataFrame) -> tuple[Measure, ...]:
        """Return the measures to show of a report's frame, with the shares of cohorts' first periods, and amounts."""
        measures = (measure for measure in (*self.measures, KEPT) if measure.name in frame.columns)
        periods = [name for name in frame.columns if self.function and str(name).isdecimal()]
        shares = (Measure(name, "share", None, "float64") for name in periods[:_LATER])
        amounts = (Measure(str(name), "amount") for name in frame if is_decimal(frame[name].dtype))
        return (
            *(
                measure
                for measure in measures
                if not measure.is_rare or _is_common(frame[measure.name], measure)
            ),
            *shares,
            *amounts,
        )

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The names of the measures from which small counts could be computed."""
        return tuple(measure.name for measure in self.measures if measure.unprotected)

    @property
    def is_published(self) -> bool:
        """Whether it is made if small counts are hidden.

        Reports of functions with counts are not: these counts are bounds for those of other reports, and no rule finds
        the ones to hide.
        """
        return self.function is None or all(column.unit in ("text", "time") for column in self.measures)

    @property
    def least_rows(self) -> int:
        """The number of rows below which the report of an archive leaves it out: growth needs two pulls.

        That no event is to come is an answer, and that a table has no rows.
        """
        return 1 if self.part else 2 if self.kind == "growth" else 0

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
        """The names of the levels of its index; of a report whose keys the caller chooses, none."""
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
        """The columns that it needs, by table."""
        sponsor = [SPONSOR] if self.keys == (REFERRER,) else []
        return self.needs or {self.read_from: (*self.columns, *contexts(self.keys), *sponsor)}

    @property
    def reader(self) -> str:
        """The call that reads its frame."""
        repeated = ", dedupe=False" if self.kind == "growth" else ""
        return f"osdi_frames.open(source).table('{self.read_from}'{repeated})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its table that it groups by and computes its measures from."""
        needs = [name for measure in self.made_of(()) for name in measure.needs]
        joined = self.joined
        keys = [joined.key if joined and name == joined.column else name for name in self.keys]
        return tuple(dict.fromkeys([*keys, *needs]))


def _is_common(column: pd.Series, measure: Measure) -> bool:
    """Return whether a tenth of the rows have a value; one row is enough for a text, which qualifies its row."""
    if measure.unit == "text":
        return bool(column.notna().any())
    return bool((column.notna() & (column != 0)).sum() * _RARE >= len(column))


_RARE: Final = 10  # a rare column is shown if one in so many rows has a value
_LATER: Final = 13  # the number of periods that a table of cohorts shows
