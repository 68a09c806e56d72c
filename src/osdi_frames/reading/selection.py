"""Which elements a reading keeps: those of a period, petition, campaign or status, and no test sends.

What can be asked for is declared here, as columns of element types. They are read with every table of the
type, so the rows of its child tables are kept or left out with their element.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import reduce
from textwrap import shorten
from typing import Any, Final, TypeAlias, TypedDict

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.errors import InvalidArgument, UnknownValue, counted, nearest
from osdi_frames.tables import TABLES, element_types
from osdi_frames.tables.actions import ATTENDANCE, REFERRER_DATA, SIGNATURE
from osdi_frames.tables.campaigns import EVENT_CAMPAIGN, PETITION
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.schema import IDENTITY, ElementType

Moment: TypeAlias = str | date | None
Values: TypeAlias = str | Iterable[str] | None


class Filters(TypedDict, total=False):
    """Keywords of `report`, `write_report` and `export`, and options of their commands; None keeps all."""

    since: Moment
    until: Moment
    petition: Values
    campaign: Values
    status: Values


_DATES: Final = {element: str(element.month) for element in (EVENT, ATTENDANCE, SIGNATURE)}
#: The filters that are about a time, and how they compare.
_BOUNDS: Final = {"since": pc.greater_equal, "until": pc.less}
#: What can be asked for: the column of each element type that a filter is about; elements of other types are kept.
FILTERS: Final[Mapping[str, Mapping[ElementType, str]]] = dict.fromkeys(_BOUNDS, _DATES) | {
    "petition": {SIGNATURE: "petition_id", PETITION: "petition_id"},
    "campaign": {EVENT: "event_campaign_id", EVENT_CAMPAIGN: "event_campaign_id"},
    "status": {EVENT: "status"},
}
#: Values that are no error if they occur nowhere (interface 3).
_KNOWN: Final = {"status": ("confirmed", "tentative", "cancelled")}
#: The types whose titles are shown where an id is not found.
_TITLED: Final = (EVENT_CAMPAIGN, PETITION)


@dataclass(frozen=True, slots=True)
class Kind:
    """Elements that reports leave out unless they are included: those with these values; None is a missing one."""

    word: str
    elements: tuple[ElementType, ...]
    values: Mapping[str, str | bool | None]


#: What a "send test" of the service lacks: any date, and all of the referrer data.
_OF_NO_TEST: Final = ("created_date", "modified_date", *(column.name for column in REFERRER_DATA))
KINDS: Final[Mapping[str, Kind]] = {
    "tests": Kind("test send", (SIGNATURE, ATTENDANCE), dict.fromkeys(_OF_NO_TEST)),
    "cancelled": Kind("cancelled event", (EVENT,), {"status": "cancelled"}),
    "hidden": Kind("hidden event", (EVENT,), {"hidden": True}),
}


@dataclass(frozen=True, slots=True)
class Selection:
    """What a reading keeps, and how many elements it left out of each kind."""

    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values that were asked for; of a time its text."""
    left_out: Mapping[str, Kind] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    met: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    titles: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, filters: Filters, *, include: Iterable[str] | None = None) -> Selection:
        r"""Return the selection by some filters, without the kinds that are not included.

        Raise InvalidArgument for a time that cannot be read or a kind that is not declared, TypeError for a filter
        that is not.

        >>> print(*Selection.of({"since": "2026-05", "petition": "5f"}).lines(), sep="\n")
        only: since 2026-05 (events, attendances, signatures); petition 5f (signatures, petitions)
        """
        included = [include] if isinstance(include, str) else list(KINDS if include is None else include)
        for name in included:
            if name not in KINDS:
                raise InvalidArgument(
                    f"include takes {', '.join(KINDS)}, not {name!r}; {nearest(name, KINDS)}"
                )
        if unknown := [name for name in filters if name not in FILTERS]:
            raise TypeError(f"there is no filter {unknown[0]!r}; there are: {', '.join(FILTERS)}")
        given: dict[str, Any] = {name: filters.get(name) for name in FILTERS}
        asked = {name: _texts(name, value) for name, value in given.items() if value not in (None, ())}
        moments = [_moment(name, *asked[name]) for name in _BOUNDS if name in asked]
        if len(moments) == 2 and moments[0] >= moments[1]:
            raise InvalidArgument(f"since {asked['since'][0]} is after until {asked['until'][0]}")
        # Who asks for cancelled events by their status wants to count them.
        included += {"cancelled"}.intersection(asked.get("status", ()))
        return cls(asked, {name: kind for name, kind in KINDS.items() if name not in included})

    @property
    def columns(self) -> dict[ElementType, list[str]]:
        """The columns of each element type that are needed to decide."""
        needed: defaultdict[ElementType, dict[str, None]] = defaultdict(dict)
        for name in self.filters:
            for element, column in FILTERS[name].items():
                needed[element] |= dict.fromkeys((column, "title") if element in _TITLED else (column,))
        for kind in self.left_out.values():
            for element in kind.elements:
                needed[element] |= dict.fromkeys(kind.values)
        return {element: list(columns) for element, columns in needed.items()}

    def chosen(self, rows: Iterable[tuple[str, pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows of elements that are kept, without the columns that were read to decide."""
        columns = self.columns
        for name, some in rows:
            table = TABLES[name]
            element = table.element
            read = {column: some[f"{IDENTITY}{column}"] for column in columns.get(element, ())}
            keeps = [
                self._passes(asked, read[FILTERS[asked][element]], read.get("title"))
                for asked in self.filters
                if element in FILTERS[asked]
            ]
            for reason, kind in self.left_out.items():
                if element in kind.elements:
                    equal = (
                        pc.is_in(read[key], pa.array([value], read[key].type))
                        for key, value in kind.values.items()
                    )
                    is_one = reduce(pc.and_, equal)
                    if not table.rows:
                        self.counts[reason] += pc.sum(reduce(pc.and_, keeps, is_one)).as_py() or 0
                    keeps.append(pc.invert(is_one))
            kept = some.filter(reduce(pc.and_, keeps)) if keeps else some
            yield name, kept.drop_columns([f"{IDENTITY}{column}" for column in read])

    def add(self, other: Selection) -> None:
        """Add what the same selection met in another part of the archive."""
        self.counts.update(other.counts)
        self.titles.update(other.titles)
        for name, values in other.met.items():
            self.met[name] |= values

    def _passes(self, name: str, column: pa.ChunkedArray, titles: pa.ChunkedArray | None) -> pa.ChunkedArray:
        """Return which rows pass a filter; note their ids, also those that other filters leave out."""
        asked = self.filters[name]
        if name in _BOUNDS:
            moment = pa.scalar(_moment(name, *asked), column.type)
            return pc.fill_null(_BOUNDS[name](column, moment), False)
        self.met[name].update(pc.unique(column).drop_null().to_pylist())
        if titles is not None:
            pairs = zip(column.to_pylist(), titles.to_pylist(), strict=True)
            self.titles.update((id_, title) for id_, title in pairs if title and not _PERSONAL.search(title))
        return pc.is_in(column, pa.array(asked, pa.string()))

    def refuse_unknown(self) -> None:
        """Raise UnknownValue for an id that was asked for and occurs nowhere."""
        for name, asked in self.filters.items():
            found = sorted({*self.met[name], *_KNOWN.get(name, ())})
            for value in asked if name not in _BOUNDS else ():
                if value not in found:
                    hint = nearest(value, found, self.titles) if found else f"there is no {name} at all"
                    raise UnknownValue(f"no {name} is {value!r}; {shorten(hint, _HINT, placeholder=' …')}")

    def lines(self, *elements: ElementType) -> list[str]:
        """Return what to say of it: the filters, and what is not counted; of some element types, or of all."""
        shown = elements or element_types()
        asked = []
        for name, values in self.filters.items():
            types = [f"{element.name.replace('_', ' ')}s" for element in FILTERS[name] if element in shown]
            if types:
                asked.append(f"{name} {', '.join(values)} ({', '.join(types)})")
        left_out = {
            name: counted(self.counts[name], kind.word)
            for name, kind in self.left_out.items()
            if self.counts[name] and {*kind.elements} & {*shown}
        }
        said = [f"only: {'; '.join(asked)}"] if asked else []
        if left_out:
            kinds, names = ", ".join(left_out.values()), ",".join(left_out)
            said.append(f"not counted: {kinds}; include= (--include {names}) counts them")
        return said


def _texts(name: str, value: Any) -> tuple[str, ...]:
    """Return the values of a filter as texts."""
    if name in _BOUNDS:
        if isinstance(value, datetime):
            value = (value.astimezone(UTC) if value.tzinfo else value).strftime("%Y-%m-%d %H:%M:%S")
        return (str(value),)
    values = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(text, str) for text in values):
        raise InvalidArgument(f"{name} is a text or a list of texts, not {value!r}")
    return values


#: What an e-mail address, a phone number or a query has: titles with one of these are not shown in an error.
_PERSONAL: Final = re.compile(r"[@\uff20%+#]|\?\S")
_HINT: Final = 300  # characters of the ids and titles that an error lists
_MOMENT: Final = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?Z?)?)?)?")


def _moment(name: str, text: str) -> int:
    """Return the first moment of a year, month, day, minute or second; for `until`, of the one after it."""
    try:
        period = pd.Period(text if _MOMENT.fullmatch(text) else "none")
        first = (period + int(name == "until")).to_timestamp(how="start").as_unit("us")
    except ValueError as error:
        raise InvalidArgument(
            f"{name} is a year, a month, a day or a time (UTC), as 2026, 2026-05 or 2026-05-31, not {text!r}"
        ) from error
    return int(first.asm8.astype("int64"))
