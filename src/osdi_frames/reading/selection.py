"""Which elements a reading keeps: those of a period, petition, campaign or status, and no test sends.

What can be asked for is declared here, as columns of element types. They are read with every table of the
type, so the rows of its child tables are kept or left out with their element.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import reduce
from textwrap import shorten
from typing import Any, Final, TypeAlias, TypedDict

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.errors import InvalidFilter, UnknownValue, nearest
from osdi_frames.tables import TABLES
from osdi_frames.tables.actions import ATTENDANCE, SIGNATURE
from osdi_frames.tables.campaigns import EVENT_CAMPAIGN, PETITION
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.schema import SELECTED_BY, ElementType

Moment: TypeAlias = str | date | None
Values: TypeAlias = str | Iterable[str] | None


class Filters(TypedDict, total=False):
    """Keywords of `report`, `write_report` and `export`, and options of their commands; None keeps all."""

    since: Moment
    until: Moment
    petition: Values
    campaign: Values
    status: Values


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that can be asked for: the column of each element type that it is about, and how it compares.

    Elements of other types are kept. `known` are values that may occur nowhere.
    """

    columns: Mapping[ElementType, str]
    compare: Callable[[Any, Any], Any] = pc.is_in
    known: tuple[str, ...] = ()

    @property
    def is_bound(self) -> bool:
        """Whether it is about a time."""
        return self.compare is not pc.is_in


_DATES: Final = {element: str(element.month) for element in (EVENT, ATTENDANCE, SIGNATURE)}
FILTERS: Final[Mapping[str, Filter]] = {
    "since": Filter(_DATES, pc.greater_equal),
    "until": Filter(_DATES, pc.less),
    "petition": Filter({SIGNATURE: "petition_id", PETITION: "petition_id"}),
    "campaign": Filter({EVENT: "event_campaign_id", EVENT_CAMPAIGN: "event_campaign_id"}),
    "status": Filter({EVENT: "status"}, known=("confirmed", "tentative", "cancelled")),  # interface 3
}


@dataclass(frozen=True, slots=True)
class Kind:
    """Elements that reports leave out unless they are included: those with these values; None is a missing one."""

    word: str
    elements: tuple[ElementType, ...]
    values: Mapping[str, str | bool | None]


#: What a "send test" of the service lacks: any date, and all of the referrer data.
_OF_NO_TEST: Final = (
    *("created_date", "modified_date", "source", "referrer", "website"),
    *("email_referrer", "mobile_message_referrer"),
)
KINDS: Final[Mapping[str, Kind]] = {
    "tests": Kind("test send", (SIGNATURE, ATTENDANCE), dict.fromkeys(_OF_NO_TEST)),
    "cancelled": Kind("cancelled event", (EVENT,), {"status": "cancelled"}),
    "hidden": Kind("hidden event", (EVENT,), {"hidden": True}),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The value of a filter: as it is shown, and what a column is compared with."""

    text: str
    value: int | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """What a reading keeps, and how many elements it left out of each kind."""

    filters: Mapping[str, Asked] = field(default_factory=dict)
    left_out: Mapping[str, Kind] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    met: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, filters: Filters, *, include: Iterable[str] = KINDS) -> Selection:
        r"""Return the selection by some filters, without the kinds that are not included.

        Raises
        ------
        InvalidFilter
            For a time that cannot be read, or a kind that is not declared.
        TypeError
            For a filter that is not declared.

        Examples
        --------
        >>> print(*Selection.of({"since": "2026-05", "petition": "5f"}).lines(), sep="\n")
        only: since 2026-05 (events, attendances, signatures); petition 5f (signatures, petitions)
        """
        included = [include] if isinstance(include, str) else list(include)
        for name in included:
            if name not in KINDS:
                raise InvalidFilter(f"include takes {', '.join(KINDS)}, not {name!r}; {nearest(name, KINDS)}")
        unknown = [name for name in filters if name not in FILTERS]
        if unknown:
            raise TypeError(f"there is no filter {unknown[0]!r}; there are: {', '.join(FILTERS)}")
        given = {name: filters.get(name) for name in FILTERS}
        asked = {name: _asked(name, value) for name, value in given.items() if value not in (None, ())}
        bounds = [asked[name].value for name in ("since", "until") if name in asked]
        if len(bounds) == 2 and bounds[0] >= bounds[1]:  # type: ignore[operator] # moments alone
            raise InvalidFilter(f"since {asked['since'].text} is after until {asked['until'].text}")
        # Who asks for cancelled events by their status wants to count them.
        statuses = asked["status"].value if "status" in asked else ()
        included += ["cancelled"] * ("cancelled" in statuses)  # type: ignore[operator] # texts alone
        return cls(asked, {name: kind for name, kind in KINDS.items() if name not in included})

    @property
    def columns(self) -> dict[ElementType, list[str]]:
        """The columns of each element type that are needed to decide."""
        needed: dict[ElementType, dict[str, None]] = defaultdict(dict)
        for name in self.filters:
            for element, column in FILTERS[name].columns.items():
                needed[element][column] = None
        for kind in self.left_out.values():
            for element in kind.elements:
                needed[element] |= dict.fromkeys(kind.values)
        return {element: list(columns) for element, columns in needed.items()}

    def kept(self, rows: Iterable[tuple[str, pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows of elements that are kept, without the columns that were read to decide.

        Raises
        ------
        UnknownValue
            At the end, for an id that was asked for and occurs nowhere.
        """
        yield from self.chosen(rows)
        self.refuse_unknown()

    def chosen(self, rows: Iterable[tuple[str, pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows of elements that are kept; an id may occur in other parts of the archive."""
        columns = self.columns
        for name, some in rows:
            element = TABLES[name].element
            kept = self._filtered(some, element)
            for reason, kind in self.left_out.items():
                if element in kind.elements:
                    is_one = _all(_equals(kept, column, value) for column, value in kind.values.items())
                    if not TABLES[name].rows:
                        self.counts[reason] += pc.sum(is_one).as_py() or 0
                    kept = kept.filter(pc.invert(is_one))
            yield name, kept.drop_columns([f"{SELECTED_BY}{column}" for column in columns.get(element, ())])

    def add(self, other: Selection) -> None:
        """Add what the same selection met in another part of the archive."""
        self.counts.update(other.counts)
        for name, values in other.met.items():
            self.met[name] |= values

    def _filtered(self, rows: pa.Table, element: ElementType) -> pa.Table:
        passes = []
        for name, asked in self.filters.items():
            chosen = FILTERS[name]
            if element not in chosen.columns:
                continue
            column = rows[f"{SELECTED_BY}{chosen.columns[element]}"]
            if not chosen.is_bound:  # also rows that other filters leave out show that an id exists
                self.met[name].update(pc.unique(column).drop_null().to_pylist())
            value = pa.scalar(asked.value, column.type) if chosen.is_bound else pa.array(asked.value)
            passes.append(pc.fill_null(chosen.compare(column, value), False))
        return rows.filter(_all(passes)) if passes else rows

    def refuse_unknown(self) -> None:
        """Raise UnknownValue for an id that was asked for and occurs nowhere."""
        for name, asked in self.filters.items():
            if FILTERS[name].is_bound:
                continue
            found = {*self.met[name], *FILTERS[name].known}
            for value in asked.value:  # type: ignore[union-attr] # texts alone
                if value not in found:
                    hint = nearest(value, sorted(found)) if found else f"there is no {name} at all"
                    raise UnknownValue(f"no {name} is {value!r}; {shorten(hint, _HINT, placeholder=' …')}")

    def lines(self, *elements: ElementType) -> list[str]:
        """Return what to say of it: the filters, and what is not counted; of some element types, or of all."""
        shown = elements or tuple(table.element for table in TABLES.values())
        asked = [
            f"{name} {asked.text} ({', '.join(_plural(element) for element in FILTERS[name].columns)})"
            for name, asked in self.filters.items()
            if any(element in shown for element in FILTERS[name].columns)
        ]
        left_out = {
            name: f"{self.counts[name]:,} {kind.word}{'' if self.counts[name] == 1 else 's'}"
            for name, kind in self.left_out.items()
            if self.counts[name] and any(element in shown for element in kind.elements)
        }
        names = ",".join(left_out)
        return [
            *([f"only: {'; '.join(asked)}"] if asked else []),
            *(
                [f"not counted: {', '.join(left_out.values())}; include= (--include {names}) counts them"]
                if names
                else []
            ),
        ]


def _all(masks: Iterable[Any]) -> Any:
    return reduce(pc.and_, masks)


def _equals(rows: pa.Table, column: str, value: str | bool | None) -> Any:
    values = rows[f"{SELECTED_BY}{column}"]
    return values.is_null() if value is None else pc.fill_null(pc.equal(values, value), False)


def _plural(element: ElementType) -> str:
    return f"{element.name.replace('_', ' ')}s"


def _asked(name: str, value: Any) -> Asked:
    """Return the value of a filter as columns are compared with it."""
    if FILTERS[name].is_bound:
        return _moment(name, value)
    values = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(text, str) for text in values):
        raise InvalidFilter(f"{name} is a text or a list of texts, not {value!r}")
    return Asked(", ".join(values), values)


_HINT: Final = 200  # characters of the ids that an error lists
_MOMENT: Final = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?Z?)?)?)?")


def _moment(name: str, value: object) -> Asked:
    """Return the first moment of a year, month, day, minute or second; for `until`, of the one after it."""
    if isinstance(value, datetime):
        value = (value.astimezone(UTC) if value.tzinfo else value).strftime("%Y-%m-%d %H:%M:%S")
    text = str(value)
    try:
        period = pd.Period(text if _MOMENT.fullmatch(text) else "none")
        first = (period + int(name == "until")).to_timestamp(how="start").as_unit("us")
    except ValueError as error:
        raise InvalidFilter(
            f"{name} is a year, a month, a day or a time (UTC), as 2026, 2026-05 or 2026-05-31, not {text!r}"
        ) from error
    return Asked(text, int(first.asm8.astype("int64")))
