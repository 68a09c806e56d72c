"""Filters by period, petition, campaign and status.

They are declared here, as columns of element types. The rows of child tables are kept or left out with their element.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from functools import reduce
from itertools import chain
from typing import Any, Final, TypeAlias, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.errors import InvalidArgument, UnknownValue, nearest, only_known
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.quoting import quoted
from osdi_frames.tables import element_types
from osdi_frames.tables.actions import ACTIONS
from osdi_frames.tables.event_campaigns import EVENT_CAMPAIGN
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.petitions import PETITION
from osdi_frames.tables.schema import ElementType
from osdi_frames.tables.signatures import SIGNATURE

Moment: TypeAlias = str | date | None
Values: TypeAlias = str | Iterable[str] | None


class Filters(TypedDict, total=False):
    """Keywords of `Archive.where`; None keeps all."""

    since: Moment
    until: Moment
    petition: Values
    campaign: Values
    status: Values


#: Events are in a period by their own date, acts by when they were done.
_ACTS: Final = tuple(element for element in element_types() if element.type_key)
_DATES: Final = {element: str(element.month) for element in (EVENT, *_ACTS, ACTIONS.element)}
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
#: The methods of an archive that list ids with their titles.
_LISTS: Final = {"petition": "petitions()", "campaign": "campaigns()"}


class Filtering:
    """The requested filters, and the values they met.

    An error lists the ids and titles that were met.
    """

    def __init__(self, filters: Filters) -> None:
        r"""Check filters.

        Raise InvalidArgument for a time that cannot be read, TypeError for a filter that is not declared.

        >>> print(Filtering({"since": "2026-05", "petition": "5f"}).lines(EVENT, SIGNATURE)[0])
        only: since 2026-05 (events by start_date, signatures by created_date); petition 5f (signatures)
        """
        only_known("where", filters, FILTERS)
        given: dict[str, Any] = {name: filters.get(name) for name in FILTERS}
        self.asked = {name: _texts(name, value) for name, value in given.items() if value not in (None, ())}
        """The values that were asked for; of a time its text."""
        moments = [_moment(name, *self.asked[name]) for name in _BOUNDS if name in self.asked]
        if len(moments) == 2 and moments[0] >= moments[1]:
            raise InvalidArgument(f"since {self.asked['since'][0]} is after until {self.asked['until'][0]}")
        self.met: defaultdict[str, set[str]] = defaultdict(set)
        self.titles: dict[str, str] = {}

    def columns(self, element: ElementType) -> list[str]:
        """Return the columns of a type that filters need."""
        needed = [FILTERS[name][element] for name in self.asked if element in FILTERS[name]]
        return [*needed, "title"] if needed and element in _TITLED else needed

    def failing(self, element: ElementType, rows: pa.Table, *, bounds: bool = True) -> np.ndarray:
        """Return the numbers of the elements that fail, sorted as they are.

        The rows are those of the main table of a type. Without `bounds`, all times pass.
        """
        passes = [
            self._passes(name, element, rows)
            for name in self.asked
            if element in FILTERS[name] and (bounds or name not in _BOUNDS)
        ]
        if not passes:
            return np.empty(0, np.int64)
        failing: np.ndarray = rows[ELEMENT].filter(pc.invert(reduce(pc.and_, passes))).to_numpy()
        return failing

    def add(self, other: Filtering) -> None:
        """Add what the filters met in another partition."""
        self.titles.update(other.titles)
        for name, values in other.met.items():
            self.met[name] |= values

    def _passes(self, name: str, element: ElementType, rows: pa.Table) -> pa.ChunkedArray:
        """Return which rows pass a filter; note their ids.

        Ids that other filters leave out are noted too.
        """
        asked, column = self.asked[name], rows[FILTERS[name][element]]
        if name in _BOUNDS:
            moment = pa.scalar(_moment(name, *asked), column.type)
            return pc.fill_null(_BOUNDS[name](column, moment), False)
        self.met[name].update(pc.unique(column).drop_null().to_pylist())
        if element in _TITLED:
            pairs = zip(column.to_pylist(), rows["title"].to_pylist(), strict=True)
            self.titles.update((id_, title) for id_, title in pairs if title)
        return pc.is_in(column, pa.array(asked, pa.string()))

    def refuse_unknown(self) -> None:
        """Raise UnknownValue for an id that occurs nowhere."""
        for name, asked in self.asked.items():
            found = sorted({*self.met[name], *_KNOWN.get(name, ())})
            for value in asked if name not in _BOUNDS else ():
                if value not in found:
                    hint = nearest(value, found, self.titles) if found else f"there is no {name} at all"
                    if found and name in _LISTS and not self.titles:
                        hint += f"; {_LISTS[name]} lists ids with titles"
                    raise UnknownValue(f"no {name} is {quoted(value)}; {hint}")

    def lines(self, *elements: ElementType) -> list[str]:
        """Return a line about the filters, if there are any.

        It names the types that each is about, of some element types or of all, and by which date.
        """
        asked = []
        for name, values in self.asked.items():
            types: defaultdict[str, list[str]] = defaultdict(list)
            for element, column in FILTERS[name].items():
                if element in (elements or element_types()):
                    named = element.plural or f"{element.name}s"  # acts of all kinds are no collection
                    types[column].append(named.replace("_", " "))
            about = [f"{_enumerated(some)} by {column}" for column, some in types.items()]
            if name not in _BOUNDS:
                about = list(chain.from_iterable(types.values()))
            if about:
                asked.append(f"{name} {', '.join(values)} ({', '.join(about)})")
        return [f"only: {'; '.join(asked)}"] if asked else []


def _enumerated(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _texts(name: str, value: Any) -> tuple[str, ...]:
    """Return the values of a filter as texts."""
    if name in _BOUNDS:
        if isinstance(value, datetime):
            value = (value.astimezone(UTC) if value.tzinfo else value).strftime("%Y-%m-%d %H:%M:%S")
        return (str(value),)
    values = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(text, str) for text in values):
        raise InvalidArgument(f"{name} is a text or a list of texts, not {quoted(value)}")
    return values


_MOMENT: Final = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?Z?)?)?)?")


def _moment(name: str, text: str) -> int:
    """Return the first moment of a period.

    The period is a year, month, day, minute or second; for `until`, it is the next one.
    """
    try:
        period = pd.Period(text if _MOMENT.fullmatch(text) else "none")
        first = (period + int(name == "until")).to_timestamp(how="start").as_unit("us")
    except ValueError:
        raise InvalidArgument(
            f"{name} is a year, a month, a day or a time (UTC), as 2026, 2026-05 or 2026-05-31, not {quoted(text)}"
        ) from None
    return int(first.asm8.astype("int64"))
