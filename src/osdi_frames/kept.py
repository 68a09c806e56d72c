"""A reading with a store: it shows the resolved rows that are kept, or else resolves, and keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pyarrow as pa

from osdi_frames.arrow import among
from osdi_frames.engine import Engine
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.resolving.filters import Occurring
from osdi_frames.resolving.resolution import Resolution, Rows
from osdi_frames.resolving.resolver import Resolver, observed
from osdi_frames.resolving.selection import OWNER, Selection, Things
from osdi_frames.store.resolved import Resolved, ResolvedDraft
from osdi_frames.store.store import Reading
from osdi_frames.tables import main_table
from osdi_frames.tables.actions import ACTIONS
from osdi_frames.tables.schema import ElementType, Table


def rows_with_store(reading: Reading, resolution: Resolution, engine: Engine, *, is_whole: bool) -> Rows:
    """Yield the requested rows, as `Resolver.rows` does.

    Rows are kept by a reading that parses nothing: most others are followed by one that parses something.
    """
    wanted = _wanted(resolution) if is_whole else {}
    proofs = _proofs(resolution)
    if resolved := reading.resolved(wanted, proofs):
        reading.shown = resolution.observed
        occurring = Occurring()
        yield from observed(reading.results(), resolution, occurring)
        yield from _Kept(resolved, resolution).selected(occurring, engine)
        return
    resolver = Resolver(resolution, engine)
    yield from resolver.decided(reading.results(), is_whole=is_whole)
    with reading.keeping(wanted, proofs, resolver.known_by_address) as draft:
        source = _Keeping(resolver, draft) if draft else resolver
        rows = resolver.selection.rows(source, engine)
        yield from _with_actions_written(rows, draft) if draft and ACTIONS.name in draft.wanted else rows


def _wanted(resolution: Resolution) -> dict[str, list[str]]:
    """Return what is wanted of resolved rows, by the name of the table; nothing where they cannot be shared."""
    numbers = {False: [ELEMENT], True: [ELEMENT, OWNER]}
    return {table.name: [*names, *numbers[bool(table.rows)]] for table, names in resolution.of_things.items()}


def _proofs(resolution: Resolution) -> str:
    if not resolution.asks_what_is_gone:
        return ""
    return hashlib.blake2b(repr(resolution.request.pulls).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class _Kept:
    """The things of resolved rows that are kept."""

    resolved: Resolved
    resolution: Resolution

    def selected(self, occurring: Occurring, engine: Engine) -> Rows:
        """Yield the requested rows; actions are kept where no filter says which are shown."""
        selection, resolution = Selection(self.resolution), self.resolution
        selection.find(self, occurring)
        if ACTIONS not in resolution.of_things:
            yield from selection.rows(self, engine)
            return
        resolution.known_by_address = self.known_by_address
        yield from selection.resolved(self, parts=False)
        for rows in self.resolved.rows(ACTIONS.name, [*resolution.of_things[ACTIONS], ELEMENT]):
            yield ACTIONS.name, selection.shown(ACTIONS, rows)

    @property
    def known_by_address(self) -> int:
        """How many people have no id; 0 where nothing is asked of people."""
        return self.resolved.known_by_address if self.resolution.person_columns else 0

    def count(self, element: ElementType) -> int:
        """Return how many things of a type there are."""
        return int(self.resolved.tables[main_table(element).name]["rows"])

    def things(self, element: ElementType) -> Iterator[pa.Table]:
        """Yield the rows of the main table of a type."""
        main = main_table(element)
        return self.resolved.rows(main.name, [*self.resolution.of_things[main], ELEMENT])

    def entries(self, table: Table, things: np.ndarray) -> Iterator[pa.Table]:
        """Yield the rows of a child table of some things."""
        columns = [*self.resolution.of_things[table], ELEMENT, OWNER]
        return _owned(self.resolved.rows(table.name, columns), things)


@dataclass(slots=True)
class _Keeping:
    """Things that are written on the way, whether or not they pass filters."""

    source: Things
    draft: ResolvedDraft
    numbers: dict[ElementType, list[np.ndarray]] = field(default_factory=dict)
    """Those of all things of a type."""

    @property
    def known_by_address(self) -> int:
        """How many people have no id."""
        return self.source.known_by_address

    def count(self, element: ElementType) -> int:
        """Return how many things of a type there are."""
        return self.source.count(element)

    def things(self, element: ElementType) -> Iterator[pa.Table]:
        """Yield the rows of the main table of a type."""
        self.numbers[element] = [np.empty(0, np.int64)]
        for rows in self.draft.written(main_table(element).name, self.source.things(element)):
            self.numbers[element].append(rows[ELEMENT].to_numpy())
            yield rows

    def entries(self, table: Table, things: np.ndarray) -> Iterator[pa.Table]:
        """Yield the rows of a child table of some things."""
        every = np.concatenate(self.numbers[table.element])
        return _owned(self.draft.written(table.name, self.source.entries(table, every)), things)


def _with_actions_written(rows: Rows, draft: ResolvedDraft) -> Rows:
    """Yield rows, of which those of actions are the last, as no filter waits for them; write these on the way."""
    for name, some in rows:
        if name == ACTIONS.name:
            actions = chain([some], (more for _, more in rows))
            yield from ((name, written) for written in draft.written(name, actions))
        else:
            yield name, some


def _owned(every: Iterator[pa.Table], things: np.ndarray) -> Iterator[pa.Table]:
    """Yield the rows of child tables that are of some things."""
    numbers = np.sort(things)
    for rows in every:
        yield rows.filter(pa.array(among(rows[OWNER].to_numpy(), numbers)))
