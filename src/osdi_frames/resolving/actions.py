"""Actions: one row for each act of any kind, in order of time.

They are made of resolved rows: of the acts, of people, and of what the acts are about, which has a title and, if it is
an event, a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from osdi_frames.arrow import combined
from osdi_frames.engine import Engine, sql_text
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.resolving.filters import Filtering
from osdi_frames.resolving.resolution import Resolution, Rows
from osdi_frames.resolving.versions import SpilledTables
from osdi_frames.tables.actions import ACTIONS, ACTS, PLACE, REFERRED, Act, made_of
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.schema import Table

#: Whether an act passes the filters that are not about its date: acts are numbered before they are filtered.
PASSES: Final = "_passes"

#: The columns that number a person's acts.
NUMBERS: Final = ("number", "participation", "is_first", "is_new")

#: What the names of rows begin with that actions are made of.
_OF: Final = "actions of "

#: Acts of one time are ordered by all that tells them apart, so that the order of files does not matter.
_ORDER: Final = ", ".join(("date NULLS LAST", "person_id", "rank", "subject_id", "own_id", *REFERRED))
#: How long before or after the first act a person is created who is new by it: clocks differ, and acts are back-dated.
_NEW: Final = "INTERVAL 1 DAY"
#: Who was created longer before is not new; a later date, as that of an import, says nothing of either.
_OF_NEW: Final = (
    f"CASE WHEN created_date < date - {_NEW} THEN false WHEN created_date <= date + {_NEW} THEN true END"
)
_AT_ONCE: Final = 1 << 17  # acts that are ordered at once: DuckDB takes a kilobyte for each


def part(table: Table, columns: Sequence[str], rows: pa.Table, passes: pa.Array) -> tuple[str, pa.Table]:
    """Return resolved rows as `with_actions` takes them.

    `columns` are those that actions are made of; `passes` says which rows filters keep, whatever their date.
    """
    return _OF + table.name, rows.select([*columns, ELEMENT]).append_column(PASSES, passes)


def is_part(name: str) -> bool:
    """Return whether rows are some that actions are made of."""
    return name.startswith(_OF)


def with_actions(rows: Rows, resolution: Resolution, engine: Engine, acted: list[pa.Array]) -> Rows:
    """Yield the requested rows, those of actions last; add the ids of those who acted to `acted`."""
    parts = defaultdict[str, SpilledTables](SpilledTables)
    for name, some in rows:
        if is_part(name):
            parts[name.removeprefix(_OF)].add(some)
        else:
            yield name, some
    shown = ACTIONS.schema(resolution.actions)
    for found in actions(parts, resolution.acts, resolution.filtering, engine):
        acted.append(found["person_id"].unique())
        if resolution.actions:
            numbers = pa.array(np.arange(len(found)))
            yield ACTIONS.name, found.select(shown.names).cast(shown).append_column(ELEMENT, numbers)


def actions(
    rows: Mapping[str, SpilledTables], names: Sequence[str], filtering: Filtering, engine: Engine
) -> Iterator[pa.Table]:
    """Yield the acts that pass filters, some at a time.

    They have the named columns of actions, and more. `rows` are resolved rows by table, as `part` returns them.
    """
    tables = made_of(names)
    _put(rows, tables, engine)
    kinds = " UNION ALL BY NAME ".join(_query(act, rank, tables) for rank, act in enumerate(ACTS))
    acts = f"WITH acts AS (FROM no_actions UNION ALL BY NAME {kinds})"
    created = "created_date" if "created_date" in tables[PEOPLE] else "NULL::TIMESTAMPTZ"
    persons = engine.ask(
        f"""{acts} SELECT person_id, row_number() OVER () - 1 AS person, {created} AS created_date
        FROM (SELECT DISTINCT person_id FROM acts) LEFT JOIN all_people USING (person_id)"""
    )
    engine.put("persons", persons)
    numbering = _Numbering.of(len(persons))
    for period in _periods(acts, engine):
        found = engine.ask(
            f"""{acts} SELECT acts.*, {_OF_NEW} AS of_new,
                CASE WHEN excluded IS NULL THEN person END AS counted
            FROM acts LEFT JOIN persons USING (person_id) WHERE {period} ORDER BY {_ORDER}"""
        )
        found = numbering.numbered(found)
        if filtering.asked:
            found = found.filter(found[PASSES])
            found = found.filter(filtering.in_period(ACTIONS.element, found))
        yield found


def _put(rows: Mapping[str, SpilledTables], tables: Mapping[Table, tuple[str, ...]], engine: Engine) -> None:
    """Let relations hold what acts are made of."""
    for table, columns in tables.items():
        schema = table.schema(table.select(columns)).append(pa.field(PASSES, pa.bool_()))
        waiting = [some.select(schema.names).cast(schema) for some in rows[table.name].mapped]
        engine.put(f"all_{table.name}", pa.concat_tables([schema.empty_table(), *waiting]))
    engine.put("no_actions", ACTIONS.schema().empty_table().drop_columns([*NUMBERS]))


def _periods(acts: str, engine: Engine) -> Iterator[str]:
    """Yield conditions on times that few acts meet each; those of no date meet the last."""
    found = engine.ask(f"{acts} SELECT epoch_us(date) AS date FROM acts WHERE date IS NOT NULL")
    starts = np.unique(np.sort(found["date"].to_numpy())[_AT_ONCE::_AT_ONCE])
    times = ["'-infinity'::TIMESTAMPTZ", *(f"make_timestamptz({start})" for start in starts)]
    for start, end in zip_longest(times, times[1:]):
        ends = f" AND date < {end}" if end else " OR date IS NULL"
        yield f"date >= {start}{ends}"


@dataclass(slots=True)
class _Numbering:
    """Numbers acts that come in order by person, some at a time."""

    acts: NDArray[np.int64]
    """The number of acts that came before, by person, and at last of nobody."""
    participations: NDArray[np.int64]
    """The number of participations that came before, by person, and at last of nobody."""
    known: pa.Array
    """The participations that came before, those that repeat in no act apart."""

    @classmethod
    def of(cls, people: int) -> _Numbering:
        """Begin with the first act of so many people."""
        none = np.zeros(people + 1, np.int64)
        return cls(none, none.copy(), pa.array([], pa.uint64()))

    def numbered(self, acts: pa.Table) -> pa.Table:
        """Return acts with the columns of NUMBERS."""
        people = acts["counted"].fill_null(-1).to_numpy()
        numbers = _counted_on(np.where(acts["date"].is_valid(), people, -1), self.acts)
        is_first = pc.equal(numbers, 1)
        is_another = self._participates_anew(acts["same"], people >= 0)
        participations = _counted_on(np.where(is_another, people, -1), self.participations)
        columns = numbers, participations, is_first, pc.if_else(is_first, acts["of_new"], False)
        for name, values in zip(NUMBERS, columns, strict=True):
            acts = acts.append_column(name, values)
        return acts

    def _participates_anew(self, same: pa.ChunkedArray, counts: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which acts that count are the first of their participation; note these."""
        is_another: NDArray[np.bool_] = same.is_null().to_numpy() & counts
        may_repeat = np.flatnonzero(counts & ~is_another)
        found = combined(same.take(pa.array(may_repeat))).dictionary_encode()
        # Values are numbered as they occur: the first ones of their kind are those that raise the number.
        first = np.diff(np.maximum.accumulate(found.indices.to_numpy()), prepend=-1) > 0
        anew = pc.invert(pc.is_in(found.dictionary, self.known))
        is_another[may_repeat[first]] = anew
        self.known = pa.concat_arrays([self.known, found.dictionary.filter(anew)])
        return is_another


def _counted_on(people: NDArray[np.int64], before: NDArray[np.int64]) -> pa.Array:
    """Return which of their person's these are, in order, missing where a person is -1; add them to `before`."""
    order = np.argsort(people, kind="stable")  # takes an eighth of the time of a window in DuckDB
    number = np.empty(len(people), np.int64)
    number[order] = np.arange(1, len(people) + 1) - np.searchsorted(people[order], people[order])
    numbers = pa.array(number + before[people], mask=people < 0)
    np.add.at(before, people, 1)
    return numbers


def _query(act: Act, rank: int, tables: Mapping[Table, tuple[str, ...]]) -> str:
    """Return the query for acts of one kind."""
    date = "act.created_date"
    if act.at:  # nobody did before the act was made what it was made for
        date = f"greatest(coalesce(about.{act.at} AT TIME ZONE 'UTC', act.modified_date), act.created_date)"
    own = [f"act.{name}" for name in tables[act.table] if name in act.own]
    own += [f"person.{name}" for name in tables[PEOPLE] if name in PLACE and name not in act.own]
    title = ["about.title"] if "title" in tables[act.titled] else []
    receipts = [f"act.{name}" for name in act.receipts if name in tables[act.table]]
    received = [f"greatest({', '.join(receipts)}) AS received_at"] if receipts else []
    person, subject = f"act.{act.person}", f"act.{act.subject}"
    # Persons and subjects are hashed, since a number of 64 bits each is all that is kept of participations.
    same = [person, sql_text(act.table.name), subject]
    same += [f"({date} AT TIME ZONE 'UTC')::DATE"] if act.once == "a day" else []
    is_alone = "true" if act.once == "each" else f"{subject} IS NULL"
    participation = f"CASE WHEN NOT {is_alone} THEN hash({', '.join(same)}) END AS same"
    columns = ", ".join((*own, *title, *received, participation, "act.excluded", f"act.{PASSES}"))
    joined = f"LEFT JOIN all_{act.titled.name} AS about ON about.{act.subject} = {subject}"
    if not act.own:
        joined += f" LEFT JOIN all_people AS person ON person.person_id = {person}"
    where = f"WHERE act.{act.only}" if act.only else ""
    if act.own_id == act.subject:  # a row is what the act is about, and one only where somebody made it
        where = f"WHERE {person} IS NOT NULL"
    return f"""SELECT {person} AS person_id, {date} AS date, {sql_text(act.action)} AS action,
        {subject} AS subject_id, act.{act.own_id} AS own_id, {rank} AS rank, {columns}
        FROM all_{act.table.name} AS act {joined} {where}"""
