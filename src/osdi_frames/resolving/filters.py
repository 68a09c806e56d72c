"""Filters by period, petition, campaign and status.

A filter is a column of an element type, declared here. It holds for the elements of that type, for those that refer to
them, for what people did there, and for these people. By a period each table is filtered by its own date.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final, TypeAlias, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import same_texts
from osdi_frames.clock import TimeLike, clock_column, moment, named_days, on_clock, zone_of
from osdi_frames.errors import InvalidArgument, UnknownValue, only_known
from osdi_frames.messages import nearest, quoted
from osdi_frames.names import id_named
from osdi_frames.tables import COMPUTED, TABLES, element_types, main_table, references
from osdi_frames.tables.actions import ACTIONS, ACTS
from osdi_frames.tables.event_campaigns import EVENT_CAMPAIGN
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.petitions import PETITION
from osdi_frames.tables.schema import ElementType, Table

Values: TypeAlias = str | Iterable[str] | None


class Filters(TypedDict, total=False):
    """Keywords of `Archive.where`; None keeps all."""

    since: TimeLike | None
    until: TimeLike | None
    petition: Values
    campaign: Values
    status: Values


#: The filters that are about a time, and how they compare.
_BOUNDS: Final = {"since": pc.greater_equal, "until": pc.less}
#: What can be asked for: an element type and its column.
_DECLARED: Final = {
    "petition": (PETITION, "petition_id"),
    "campaign": (EVENT_CAMPAIGN, "event_campaign_id"),
    "status": (EVENT, "status"),
}
#: The filters that ask for things of a type, each by its id or its title.
OF_THINGS: Final = {name: of for name, (of, column) in _DECLARED.items() if column == of.own_id}
_PERSON: Final = PEOPLE.element
_ACTING: Final = frozenset(act.table.element for act in ACTS)
_COMPUTED: Final = tuple(table.element for table in COMPUTED)


def _dates() -> dict[ElementType, str]:
    """Return the date of each type that is filtered by its own.

    What others refer to, as petitions, has a title and no time; but events take place.
    """
    referred = {other for element in element_types() for other in references(element).values()}
    dated = (element for element in element_types() if element == EVENT or element not in referred)
    return {element: str(element.month) for element in (*dated, ACTIONS.element)}


def _reached(of: ElementType, column: str) -> dict[ElementType, str]:
    """Return the types for which a column of one holds, and their columns that are compared.

    Those that refer to a type are compared by its id; what is neither that nor an act is of a person who acted.
    """
    found = {of: column}
    for element in in_order_of_reference(element_types()):
        by = {name: other for name, other in references(element).items() if other != _PERSON}
        for name in (name for name, other in by.items() if other in found):
            found.setdefault(element, name)
    if found.keys() & _ACTING:
        of_people = (element for element in element_types() if _PERSON in references(element).values())
        others = (element for element in of_people if element not in {*_ACTING, *found})
        found |= dict.fromkeys((_PERSON, *others, *_COMPUTED), _PERSON.own_id)
    return found


def in_order_of_reference(elements: Iterable[ElementType]) -> list[ElementType]:
    """Return types, each after those that it refers to."""

    def depth(element: ElementType) -> int:
        return 1 + max(map(depth, references(element).values()), default=0)

    return sorted(elements, key=depth)


#: The types that each filter leads to, with the columns that are compared. A type that is not there is kept whole by a
#: period; other filters do not lead to it.
FILTERS: Final[Mapping[str, Mapping[ElementType, str]]] = {
    **dict.fromkeys(_BOUNDS, dict.fromkeys((_PERSON, *_COMPUTED), _PERSON.own_id) | _dates()),
    **{name: _reached(*declared) for name, declared in _DECLARED.items()},
}


class Filtering:
    """The requested filters."""

    def __init__(self, filters: Filters, timezone: str | None = None) -> None:
        r"""Check filters, of which days are those of a zone.

        Raise InvalidArgument for a time that cannot be read, and for filters that lead to no common table; TypeError
        for one that is not declared.

        >>> print(Filtering({"since": "2026-05", "status": "tentative"}).lines(EVENT)[0])
        only: since 2026-05 (events by start_date); status tentative (events)
        """
        only_known("where", filters, FILTERS)
        self.zone = None if timezone is None else zone_of(timezone)
        given: dict[str, Any] = {name: filters.get(name) for name in FILTERS}
        self.asked = {name: _texts(name, value) for name, value in given.items() if not _keeps_all(value)}
        """The values that were asked for; of a time its text."""
        moments = [_moment(name, *self.asked[name]) for name in _BOUNDS if name in self.asked]
        if len(moments) == 2 and moments[0] >= moments[1]:
            raise InvalidArgument(f"since {self.asked['since'][0]} is after until {self.asked['until'][0]}")
        self.columns_asked = [name for name in self.asked if name not in _BOUNDS]
        self.things_asked = {name: of for name, of in OF_THINGS.items() if name in self.asked}
        """The types of which things are asked for, by an id or a title."""
        if not any(self.leads_to(element) and not self.waits(element) for element in element_types()):
            raise InvalidArgument(f"{self.name} leads to no table: ask for each of them alone")

    @property
    def name(self) -> str:
        """What the filters are called together."""
        return f"the filter by {' and '.join(self.columns_asked or self.asked)}"

    @property
    def start(self) -> int | None:
        """The wall clock of `since`, in microseconds; None without it."""
        return _moment("since", *self.asked["since"]) if "since" in self.asked else None

    @property
    def ids_asked(self) -> dict[str, tuple[str, ...]]:
        """What things are asked for, if by ids: a part of an archive does not know all titles."""
        return {name: self.asked[name] for name in self.things_asked}

    def leads_to(self, element: ElementType) -> bool:
        """Return whether every filter leads to a type; a period does to all."""
        return all(element in FILTERS[name] for name in self.columns_asked)

    def refuse(self, table: Table) -> None:
        """Raise InvalidArgument if a filter does not lead to a table."""
        if not self.leads_to(table.element):
            reached = ", ".join(other.name for other in TABLES.values() if self.leads_to(other.element))
            raise InvalidArgument(f"{self.name} does not lead to {table.name}; it leads to {reached}")

    def left_out(self) -> str:
        """Say which tables of elements filters do not lead to; nothing where they lead to all."""
        names = [main_table(element).name for element in element_types() if not self.leads_to(element)]
        return f"left out: {', '.join(names)} ({self.name} does not lead to them)" if names else ""

    def waits(self, element: ElementType) -> bool:
        """Return whether elements of a type are kept by who acted, which is known at the end."""
        return element != ACTIONS.element and self._is_by_person(element)

    def _is_by_person(self, element: ElementType) -> bool:
        return any(FILTERS[name].get(element) == _PERSON.own_id for name in self.asked)

    def follows(self, element: ElementType) -> bool:
        """Return whether elements of a type are kept by what else is kept."""
        return self._is_by_person(element) or bool(self.by_reference(element))

    def by_reference(self, element: ElementType) -> dict[str, None]:
        """Return the columns of a type's main table that refer to what is kept of others."""
        compared = {name: FILTERS[name].get(element) for name in self.columns_asked}
        others = (column for name, column in compared.items() if column != _DECLARED[name][1])
        return dict.fromkeys(column for column in others if column not in (None, _PERSON.own_id))

    def needs(self, elements: Iterable[ElementType]) -> dict[Table, tuple[str, ...]]:
        """Return the columns that decide which elements of some types are kept.

        Every column that has the values asked for is among them: one that occurs in none is an error.
        """
        needed: defaultdict[ElementType, dict[str, None]] = defaultdict(dict)
        for name in self.columns_asked:
            of, column = _DECLARED[name]
            for element in FILTERS[name]:
                if FILTERS[name][element] == column:
                    needed[element] |= {column: None, element.own_id: None}
            needed[of] |= {"title": None} if column == of.own_id else {}
        waiting = [*elements]
        while waiting:
            element = waiting.pop()
            columns = {FILTERS[name].get(element): None for name in self.asked}
            needed[element] |= {column: None for column in columns if column}
            for other in (references(element)[column] for column in self.by_reference(element)):
                needed[other] |= {other.own_id: None}
                waiting.append(other)
        return {main_table(element): tuple(columns) for element, columns in needed.items() if columns}

    def in_period(self, element: ElementType, rows: pa.Table) -> pa.ChunkedArray:
        """Return which rows of a type's main table are in the period; all are of a type without a date."""
        passes = [_all(rows)]
        for name in _BOUNDS.keys() & self.asked.keys():
            column = FILTERS[name].get(element)
            if column and column != _PERSON.own_id:
                clock = clock_column(rows, column, self.zone)
                bound = pa.scalar(_moment(name, *self.asked[name]), clock.type)
                passes.append(pc.fill_null(_BOUNDS[name](clock, bound), False))
        return reduce(pc.and_, passes)

    def belonging(
        self, element: ElementType, rows: pa.Table, kept: Mapping[str, Sequence[pa.Array]]
    ) -> pa.ChunkedArray:
        """Return which rows of a type's main table have, or refer to, what is asked for, whatever their date.

        `kept` are the ids of what is kept of other types, by their columns, and of the things that are asked for.
        """
        passes = [_all(rows)]
        for name in self.columns_asked:
            if element not in FILTERS[name]:
                return pc.invert(_all(rows))
            column = _DECLARED[name][1]
            if FILTERS[name][element] == column:
                by_id = name in self.things_asked
                asked = _joined(kept[column]) if by_id else same_texts(rows[column], self.asked[name])
                passes.append(pc.is_in(rows[column], asked))
        columns = [*self.by_reference(element), *([_PERSON.own_id] if self.waits(element) else [])]
        passes += [pc.is_in(rows[column], _joined(kept[column])) for column in dict.fromkeys(columns)]
        return reduce(pc.and_, passes)

    def unplaced(
        self, element: ElementType, rows: pa.Table, known: Mapping[str, Sequence[pa.Array]]
    ) -> pa.ChunkedArray:
        """Return which rows of acts refer to nothing that is known, so that a filter cannot hold for them.

        `known` are all ids of other types, by their columns.
        """
        lacking = [pc.invert(_all(rows))]
        for name in self.columns_asked:
            column = FILTERS[name].get(element)
            if column in references(element) and column != _PERSON.own_id:
                lacking.append(pc.is_null(rows[column]))
            if column in self.by_reference(element):
                lacking.append(pc.invert(pc.is_in(rows[column], _joined(known[column]))))
        return reduce(pc.or_, lacking)

    def lines(self, *elements: ElementType) -> list[str]:
        """Return a line about the filters, if there are any.

        It names the types that each is about, of some element types or of all, and by which date.
        """
        asked = []
        for name, values in self.asked.items():
            types: defaultdict[str, list[str]] = defaultdict(list)
            for element, column in FILTERS[name].items():
                if element in (elements or (*element_types(), *_COMPUTED)) and self.leads_to(element):
                    types[column].append(named(element))
            by = {_PERSON.own_id: "what they did"}
            about = [f"{_enumerated(some)} by {by.get(column, column)}" for column, some in types.items()]
            if name not in _BOUNDS:
                about = [text for some in types.values() for text in some]
            if about:
                asked.append(f"{name} {', '.join(values)} ({', '.join(about)})")
        return [f"only: {'; '.join(asked)}"] if asked else []


def named(element: ElementType) -> str:
    """Return what elements of a type are called; acts of all kinds are no collection."""
    return (element.plural or f"{element.name}s").replace("_", " ")


def _joined(ids: Sequence[pa.Array]) -> pa.Array:
    return pa.concat_arrays([pa.array([], pa.string()), *ids])


def _all(rows: pa.Table) -> pa.Array:
    return pa.array(np.ones(len(rows), bool))


@dataclass(slots=True)
class Linked:
    """The ids of what decides about others, by their columns: of all things there are, and of those that filters keep.

    Whether they are in the period that is asked for does not matter.
    """

    known: defaultdict[str, list[pa.Array]] = field(default_factory=lambda: defaultdict(list))
    kept: defaultdict[str, list[pa.Array]] = field(default_factory=lambda: defaultdict(list))

    def name(self, ids: Mapping[str, Sequence[str]]) -> None:
        """Note the ids of the things that filters ask for."""
        for name, some in ids.items():
            self.kept[_DECLARED[name][1]].append(pa.array(some, pa.string()))

    def add(self, element: ElementType, rows: pa.Table, filtering: Filtering) -> None:
        """Note the ids of rows of the main table of a type."""
        ids = rows[element.own_id]
        self.known[element.own_id] += ids.chunks
        self.kept[element.own_id] += ids.filter(filtering.belonging(element, rows, self.kept)).chunks


#: Ids of things, each with a title, by the filter that asks for such things.
Titles: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]


@dataclass(slots=True)
class Occurring:
    """The values that occur of what filters ask for, in any version."""

    values: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, filtering: Filtering, element: ElementType, rows: pa.Table) -> None:
        """Note what occurs in rows of the main table of a type."""
        for name in filtering.columns_asked:
            column = _DECLARED[name][1]
            if FILTERS[name].get(element) == column:
                self.values[name].update(pc.unique(rows[column]).drop_null().to_pylist())

    def asked_by_title(self, filtering: Filtering) -> dict[str, ElementType]:
        """Return the types of which things are asked for by what is no id."""
        asked = filtering.things_asked.items()
        return {name: of for name, of in asked if not self.values[name].issuperset(filtering.asked[name])}

    def ids(self, filtering: Filtering, titles: Titles) -> dict[str, list[str]]:
        """Return the ids of the things that are asked for, by filter; `titles` are those of `asked_by_title`.

        Raises
        ------
        UnknownValue
            Something that is asked for occurs nowhere, or is the title of several things.
        """
        for name in filtering.columns_asked:
            if name not in filtering.things_asked:
                self._refuse_unknown(name, filtering.asked[name])
        found: dict[str, list[str]] = {}
        for name, asked in filtering.ids_asked.items():
            ids, own_titles = self.values[name], titles.get(name, ())
            found[name] = [id_named(value, ids, own_titles, noun=name) for value in asked]
        return found

    def _refuse_unknown(self, name: str, asked: Iterable[str]) -> None:
        of, column = _DECLARED[name]
        known = filter(None, of.known_statuses) if column == "status" else ()  # may occur nowhere
        found = sorted({*self.values[name], *known})
        for value in asked:
            if not len(same_texts(pa.array(found, pa.string()), [value])):
                hint = nearest(value, found) if found else f"there is no {name} at all"
                raise UnknownValue(f"no {name} is {quoted(value)}; {hint}")


def _enumerated(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _keeps_all(value: Any) -> bool:
    """Return whether nothing is asked for; a command line without an option has an empty tuple."""
    return value is None or (isinstance(value, tuple) and not value)


def counted_from(filters: Filters, now: TimeLike | None, timezone: str | None) -> Filters:
    """Return filters with the days that their texts name, as `yesterday`, counted from `now`.

    Times with a zone become times by the clock of the archive's, if it has one.

    >>> counted_from({"since": "last-week", "until": "yesterday"}, "2026-05-13", None)
    {'since': '2026-05-04', 'until': '2026-05-12'}
    """
    counted, zone = filters.copy(), zone_of(timezone)
    for name in ("since", "until"):
        value: Any = filters.get(name)
        if days := named_days(value, now, zone):
            first, _, last = days.partition("/")
            counted[name] = (last or first) if name == "until" else first
        elif timezone is not None and (isinstance(value, datetime) or _INSTANT.fullmatch(str(value))):
            form = "%Y-%m-%d %H:%M" if str(value).count(":") == 1 else "%Y-%m-%d %H:%M:%S"
            counted[name] = value if (time := moment(value)) is None else on_clock(time, zone).strftime(form)
    return counted


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


_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z")
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
            f"{name} is a year, a month, a day or a time, as 2026, 2026-05, 2026-05-31, 7d, yesterday or last-month,"
            f" not {quoted(text)}"
        ) from None
    return int(first.asm8.astype("int64"))
