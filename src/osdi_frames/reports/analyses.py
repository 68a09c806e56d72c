"""What an archive's report has on people and change, made by functions of their own.

To add one is to add it to `CHANGES` or `PEOPLE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeAlias

import pandas as pd

from osdi_frames.reports.change import changes, compare, news
from osdi_frames.reports.conversion import attribution, funnel
from osdi_frames.reports.goals import goals
from osdi_frames.reports.groups import Spelling
from osdi_frames.reports.known import RECEIPTS
from osdi_frames.reports.measures import Shown
from osdi_frames.reports.participation import engagement, repeats, retention


class Choices(Protocol):
    """What an analysis counts, as a request for reports says."""

    @property
    def include(self) -> tuple[str, ...]:
        """Which acts to count though they are excluded."""

    @property
    def spelling(self) -> Spelling:
        """Whether spellings of one value are one row."""

    @property
    def now(self) -> datetime | None:
        """The present, for what no receipt dates."""

    @property
    def compare(self) -> str | pd.Timedelta:
        """The period that is compared with the one before."""

    @property
    def goals(self) -> Mapping[str, int]:
        """How many signatures petitions are to have."""


Tables: TypeAlias = Mapping[str, pd.DataFrame]
"""The rows of an archive that were read for its report, those that are excluded among them."""

ACTIONS: Final = "actions"
_LATER: Final = 13  # periods after the first act that a table shows
_COMING: Final = "Coming to an event counts as an act."
_MOVED: Final = "First the five that rose most, then the five that fell most."
_TITLES: Final = ("title", "created_date", "gone_since", "fetched_at")


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report that a function of its own makes.

    Attributes
    ----------
    name, heading
        The name of its frame, plot and files; its heading.
    caption
        A sentence below its table; empty where none is needed.
    part
        The part of the report that it stands in.
    make
        Makes it of the tables of an archive, as a request says.
    reads
        The columns that it needs of each table, the one first that it is about.
    columns
        Its columns as they are shown; those of `retention` are added as there are some.
    plot
        The name of its plot; empty where it has none.
    count
        The column that is drawn next to the rows, if any is.
    is_over_time
        Whether its rows are in the order of time.
    """

    name: str
    heading: str
    part: str
    make: Callable[[Tables, Choices], pd.DataFrame] = field(repr=False)
    reads: Mapping[str, tuple[str, ...]] = field(repr=False)
    columns: tuple[Shown, ...] = field(default=(), repr=False)
    plot: str = field(default="", repr=False)
    count: str = field(default="", repr=False)
    is_over_time: bool = field(default=False, repr=False)
    caption: str = field(default="", repr=False)

    @property
    def table(self) -> str:
        """The table that it is about."""
        return next(iter(self.reads))

    read_from = table

    @property
    def is_published(self) -> bool:
        """Whether it is made where small counts are hidden.

        One that counts people or acts is not: its counts bound those of the other reports, and which to hide would have
        to be searched for.
        """
        return all(column.unit in ("text", "time") for column in self.columns)

    def shown(self, frame: pd.DataFrame) -> tuple[Shown, ...]:
        """Return the columns that are shown of a frame."""
        later = [Shown(name, "share", None, "float64") for name in frame.columns if str(name).isdecimal()]
        return (*(column for column in self.columns if column.name in frame.columns), *later[:_LATER])


def _of_acts(*columns: str) -> dict[str, tuple[str, ...]]:
    return {ACTIONS: ("person_id", "date", "received_at", *columns)}


def _alone(name: str) -> Shown:
    """Show counts of which several have no total."""
    return Shown(name, total=None)


_SHARE: Final = Shown("share", "share", dtype="float64")
_COMPARED: Final = (
    Shown("before"),
    Shown("now"),
    Shown("change", "change"),
    Shown("change_share", "change share", ("change", "before"), "float64"),
)
_FIGURES: Final = tuple(Shown(column.name, column.unit, None, column.dtype) for column in _COMPARED)


def _funnel(tables: Tables, how: Choices) -> pd.DataFrame:
    """Return the funnel of the steps that somebody reached."""
    made = funnel(tables[ACTIONS], now=how.now, include=how.include)
    return made if made["people"].iloc[1] else made.iloc[:0]


CHANGES: Final = (
    Analysis(
        "changes",
        "Change in people and acts",
        "what changed",
        lambda tables, how: changes(tables[ACTIONS], how.compare, now=how.now, include=how.include),
        _of_acts("action", "number"),
        _FIGURES,
        "compare",
    ),
    Analysis(
        "changes_by_source",
        "Change by source",
        "what changed",
        lambda tables, how: compare(
            tables[ACTIONS], how.compare, now=how.now, include=how.include, spelling=how.spelling
        ),
        _of_acts("action", "source"),
        _COMPARED,
        "compare",
        caption=_MOVED,
    ),
    Analysis(
        "changes_by_title",
        "Change by petition, event or other",
        "what changed",
        lambda tables, how: compare(
            tables[ACTIONS],
            how.compare,
            by=["action", "title"],
            now=how.now,
            include=how.include,
            spelling=how.spelling,
        ),
        _of_acts("action", "title"),
        _COMPARED,
        "compare",
        caption=_MOVED,
    ),
    Analysis(
        "news",
        "New and gone",
        "what changed",
        lambda tables, how: news(tables, how.compare, now=how.now, include=how.include),
        _of_acts() | {"events": _TITLES, "petitions": _TITLES},
        (
            Shown("kind", "text", None, "str"),
            Shown("news", "text", None, "str"),
            Shown("date", "time", None, "time"),
        ),
    ),
    Analysis(
        "goals",
        "Goals",
        "what changed",
        lambda tables, how: goals(
            tables["signatures"], how.goals, tables["petitions"], now=how.now, include=how.include
        ),
        {"signatures": ("petition_id", "created_date", *RECEIPTS), "petitions": ("petition_id", "title")},
        (
            _alone("signatures"),
            _alone("goal"),
            Shown("share", "share", None, "float64"),
            Shown("per_week", "decimal", None, "float64"),
            Shown("reached", "time", None, "time"),
            Shown("expected", "time", None, "time"),
        ),
        "goals",
        "signatures",
    ),
)
PEOPLE: Final = (
    Analysis(
        "engagement",
        "New and returning people by month",
        "people",
        lambda tables, how: engagement(tables[ACTIONS], include=how.include),
        _of_acts("number"),
        (_alone("people"), Shown("new"), _alone("returning"), Shown("actions")),
        "engagement",
        is_over_time=True,
        caption=_COMING,
    ),
    Analysis(
        "funnel",
        "From signing to coming within 30 days",
        "people",
        _funnel,
        _of_acts("action"),
        (
            _alone("people"),
            *(Shown(name, "share", None, "float64") for name in ("of_first", "of_previous", "low", "high")),
        ),
        "funnel",
        "people",
        caption="The 30 days of each person begin with their first signature.",
    ),
    Analysis(
        "attribution",
        "What brought those who RSVPed",
        "people",
        lambda tables, how: attribution(
            tables[ACTIONS], touch="both", include=how.include, spelling=how.spelling
        ),
        _of_acts("action", "number", "source"),
        (
            Shown("first_people"),
            Shown("first_share", "share", dtype="float64"),
            Shown("last_people"),
            Shown("last_share", "share", dtype="float64"),
        ),
        "attribution",
        "first_people",
    ),
    Analysis(
        "retention",
        "Who came back, by the month of the first act",
        "people",
        lambda tables, how: retention(tables[ACTIONS], now=how.now, include=how.include),
        _of_acts("number"),
        (Shown("people"),),
        "retention",
        is_over_time=True,
        caption=_COMING,
    ),
    Analysis(
        "repeats",
        "People by how often they acted",
        "people",
        lambda tables, how: repeats(tables[ACTIONS], include=how.include),
        _of_acts(),
        (Shown("people"), _SHARE),
        "repeats",
        "people",
        caption=_COMING,
    ),
)
ANALYSES: Final = (*CHANGES, *PEOPLE)
#: Those whose rows are gains and losses.
MOVED: Final = ("changes_by_source", "changes_by_title")
