"""Rows of people, made of the rows of all tables that hold persons."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import combined, folded
from osdi_frames.parsing.plan import CARRIED, ELEMENT
from osdi_frames.resolving import gone
from osdi_frames.resolving.versions import SpilledTables, in_order
from osdi_frames.tables import TABLES, main_table
from osdi_frames.tables.act import DATES
from osdi_frames.tables.people import PEOPLE, id_of_address
from osdi_frames.tables.schema import Table

#: The blocks of a person, in the order of their bits in versions of people, and of acts.
BLOCKS: Final = tuple(dict.fromkeys(column.block for column in PEOPLE.columns if column.block != "act"))
#: Further bits of versions of people: the person is held, not merely linked; it is a resource of its own.
HELD, OWN = 1 << len(BLOCKS), 2 << len(BLOCKS)
#: One more: the person has no id, but an address.
ADDRESSED = 4 << len(BLOCKS)
#: The bits of versions of acts of which one is set where a person is held: of the blocks, and then of its dates.
OF_PERSON = (2 << len(BLOCKS)) - 1
#: Columns of people that have another name in acts.
_OF_ACT: Final = {
    "created_date": "person_created_date",
    "modified_date": "person_modified_date",
    "self_url": "person_url",
}
#: The columns that say when and where a version was read.
READ_FROM: Final = frozenset({"received_at", "fetched_at", "source_file", "source_line"})
#: The first and the last date that any version says of a person.
SEEN_DATES: Final = ("first_seen", "last_seen")

#: The column of acts that lists the blocks that they take from people.
FILLED_COLUMN: Final = "person_filled"
#: The tables of acts.
ACTS: Final = tuple(
    table for table in TABLES.values() if any(column.name == FILLED_COLUMN for column in table.columns)
)


@dataclass(frozen=True, slots=True)
class PersonSource:
    """A table that holds persons."""

    table: Table
    number: int

    @property
    def is_act(self) -> bool:
        """Whether its rows are what persons did."""
        return self.table in ACTS

    def columns(self, wanted: Iterable[str]) -> dict[str, str]:
        """Return its column for each column of people that it has."""
        renamed: Mapping[str, str] = {}
        if self.table == PEOPLE:
            own = {column.name for column in PEOPLE.columns if column.origin != "resolved"}
        elif self.is_act:
            own = {column.name for column in self.table.columns if column.block in (*BLOCKS, DATES, "links")}
            renamed = _OF_ACT
        else:
            own = {column.name for column in self.table.entry}
        return {name: renamed.get(name, name) for name in wanted if renamed.get(name, name) in own}

    def versions(self, rows: pa.Table, main: pa.Table, wanted: Collection[str]) -> pa.Table:
        """Return the versions of persons in its rows, as rows of people.

        `main` has the rows of the same elements in their main table. Columns that `with_origins` adds are wanted, too.
        """
        numbers, carried = rows[ELEMENT].to_numpy(), rows[CARRIED].to_numpy()
        held = (carried & OF_PERSON != 0) * HELD if self.is_act else np.full(len(rows), HELD | OWN)
        if self.table != main_table(self.table.element):
            main = main.take(pa.array(np.searchsorted(main[ELEMENT].to_numpy(), numbers)))
        columns = self._columns_of_people(rows, main, wanted, held != 0)
        if {*SEEN_DATES} & {*wanted}:
            acted = [rows["created_date"]] if self.is_act else []
            columns |= _seen([columns["created_date"], columns["modified_date"], *acted], wanted)
        nth = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)  # of the persons of one element
        columns[ELEMENT] = pa.array(numbers * PERSONS + self.number + nth)
        carried = carried & HELD - 1 | held
        if "person_id" in columns:
            columns["person_id"], addressed = with_ids(columns["person_id"], columns["email"])
            carried |= addressed * ADDRESSED
        found = pa.table(columns | {CARRIED: pa.array(carried)})
        is_embedded = self.table != PEOPLE and not self.is_act
        return found.filter(found["person_id"].is_valid()) if is_embedded else found

    def _columns_of_people(
        self, rows: pa.Table, main: pa.Table, wanted: Collection[str], is_held: np.ndarray
    ) -> dict[str, pa.Array | pa.ChunkedArray]:
        """Return the wanted columns; of a person that is only linked, the id alone is known."""
        columns = {name: rows[at] for name, at in self.columns(wanted).items()}
        columns |= {name: main[name] for name in READ_FROM if name in wanted and name in main.column_names}
        if self.is_act:
            held = pa.array(is_held)
            columns = {
                name: column if name == "person_id" else pc.if_else(held, column, None)
                for name, column in columns.items()
            }
        nothing = {name: pa.nulls(len(rows), PEOPLE.column(name).field.type) for name in wanted}
        return nothing | columns


def with_ids(ids: pa.ChunkedArray, emails: pa.ChunkedArray) -> tuple[pa.ChunkedArray, np.ndarray]:
    """Return ids of persons, for those without one made of the e-mail address; and for which that is so.

    >>> ids, addressed = with_ids(pa.chunked_array([["7", None]]), pa.chunked_array([["Ann@example.org "] * 2]))
    >>> ids.to_pylist(), addressed.tolist()
    (['7', 'email:6246b4bc35a09563c2b8f60249d82d03'], [False, True])
    """
    addressed = np.asarray(ids.is_null())
    if not addressed.any():
        return ids, addressed
    addresses = folded(combined(emails.filter(pa.array(addressed))))
    made = pc.dictionary_encode(addresses)
    names = pa.array([id_of_address(address) for address in made.dictionary.to_pylist()], pa.string())
    found = pc.replace_with_mask(combined(ids), addressed, names.take(made.indices))
    return pa.chunked_array([found]), addressed & np.asarray(found.is_valid())


def _seen(dates: Iterable[pa.ChunkedArray], wanted: Collection[str]) -> dict[str, pa.ChunkedArray]:
    """Return the first and the last of some dates, as far as they are wanted."""
    numbers = [pc.cast(date, pa.int64()) for date in dates]  # Arrow does not compare times of a zone so
    extremes = zip(SEEN_DATES, (pc.min_element_wise, pc.max_element_wise), strict=True)
    utc = pa.timestamp("us", "UTC")
    return {name: pc.cast(extreme(*numbers), utc) for name, extreme in extremes if name in wanted}


SOURCES: Final = tuple(
    PersonSource(table, number) for number, table in enumerate((PEOPLE, *ACTS, TABLES["event_people"]))
)

#: By how much the number of an element is multiplied: the rest says from which table a version of a person is. The last
#: of these has two persons of one element.
PERSONS: Final = len(SOURCES) + 1


def with_origins(names: Iterable[str]) -> dict[str, None]:
    """Return columns of people, and those that `PersonSource.versions` makes them of.

    >>> [*with_origins(["person_id", "first_seen"])]
    ['person_id', 'first_seen', 'email', 'created_date', 'modified_date']
    """
    columns = dict.fromkeys(names)
    others = {"person_id": ("email",), **dict.fromkeys(SEEN_DATES, ("created_date", "modified_date"))}
    return columns | dict.fromkeys(chain.from_iterable(others.get(name, ()) for name in columns))


_AT_ONCE: Final = 1 << 14  # rows of people, about as many as a group of documents has


@dataclass(frozen=True)
class PersonRows:
    """The rows of versions of people. One that an act holds is made of the row of the act when it is asked for."""

    columns: tuple[str, ...]
    """All columns."""
    own: SpilledTables
    """The rows of people that are no acts' persons."""
    acts: Mapping[PersonSource, SpilledTables]
    """The rows of acts."""
    accounts: gone.Accounts
    """Which pulls can prove people gone, if that is asked."""

    def take(self, numbers: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Return the rows of some versions, in the order asked; each is there, and once."""
        found, order, rest = list[pa.Table](), list[np.ndarray](), np.ones(len(numbers), bool)
        for source, acts in self.acts.items():
            if (is_of := numbers % PERSONS == source.number).any():
                rest &= ~is_of
                order.append(np.flatnonzero(is_of))
                found.append(self._of_acts(source, acts, numbers[is_of] // PERSONS, columns))
        if rest.any():
            order.append(np.flatnonzero(rest))
            found.append(self.own.take(numbers[rest], columns))
        return in_order(pa.concat_tables(found), np.argsort(np.concatenate(order)))

    def all_of(self, numbers: np.ndarray) -> Iterator[pa.Table]:
        """Yield the rows of some versions with all columns, some at a time, in the order asked."""
        for start in range(0, len(numbers), _AT_ONCE):
            yield self.take(numbers[start : start + _AT_ONCE], self.columns)

    def _of_acts(
        self, source: PersonSource, acts: SpilledTables, numbers: np.ndarray, columns: Sequence[str]
    ) -> pa.Table:
        """Return rows of the persons of some acts."""
        evidence = self.accounts.evidence
        is_proved = not {*evidence}.isdisjoint(columns)
        wanted = with_origins((*columns, *(gone.COLUMNS if is_proved else ())))
        wanted = {name: None for name in wanted if name not in (ELEMENT, *evidence)}
        parsed = dict.fromkeys((*source.columns(wanted).values(), *(READ_FROM & {*wanted}), "created_date"))
        rows = acts.take(numbers, [ELEMENT, CARRIED, *parsed])
        rows = source.versions(rows, rows, wanted)
        if is_proved:
            rows = gone.with_evidence(rows, self.accounts, are_listed=False)
        return rows.select(columns)
