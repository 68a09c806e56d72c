"""What a request shows of resolved things: what passes filters, what titles need, and the actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.engine import Engine
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.resolving import actions
from osdi_frames.resolving.filters import Linked, Occurring, Titles, in_order_of_reference
from osdi_frames.resolving.resolution import WHOLE, Resolution, Rows
from osdi_frames.tables import main_table
from osdi_frames.tables.people import ID_OF_ADDRESS, PEOPLE
from osdi_frames.tables.schema import ElementType, Table

#: The column of rows of child tables with the number of the thing that they are of.
OWNER: Final = "_owner"
_NONE: Final = np.empty(0, np.int64)


class Things(Protocol):
    """All resolved things of an archive, or of a part of it, whether or not they pass filters."""

    @property
    def known_by_address(self) -> int:
        """How many people have no id: their e-mail address is all that tells them from others."""

    def count(self, element: ElementType) -> int:
        """Return how many things of a type there are."""

    def things(self, element: ElementType) -> Iterator[pa.Table]:
        """Yield the rows of the main table of a type; types are asked for in their order of reference."""

    def entries(self, table: Table, things: np.ndarray) -> Iterator[pa.Table]:
        """Yield the rows of a child table of some things, with the column `OWNER`."""


class Selection:
    """What a request shows of resolved things."""

    def __init__(self, resolution: Resolution) -> None:
        self.resolution = resolution
        self.linked = Linked()
        """The ids by which filters keep what refers to them."""

    def rows(self, source: Things, engine: Engine) -> Rows:
        """Yield the requested rows, and note how many people have no id."""
        resolution, acted = self.resolution, self.linked.kept[PEOPLE.element.own_id]
        resolution.known_by_address = source.known_by_address
        rows = self.resolved(source)
        if resolution.made_of:
            rows = actions.with_actions(rows, resolution, engine, acted)
        yield from rows
        if resolution.filtering.asked:
            ids = pa.chunked_array(acted, pa.string()).unique()
            resolution.known_by_address = pc.sum(pc.starts_with(ids, ID_OF_ADDRESS)).as_py() or 0
        yield from self.waiting(source)

    def find(self, source: Things, occurring: Occurring) -> None:
        """Find what filters ask for by an id or a title.

        Raises
        ------
        UnknownValue
            Something occurs nowhere, or is the title of several things.
        """
        filtering = self.resolution.filtering
        self.name(occurring.ids(filtering, self._titles(source, occurring.asked_by_title(filtering))))

    def name(self, ids: Mapping[str, Sequence[str]]) -> None:
        """Note the ids of the things that filters ask for."""
        self.resolution.named = ids
        self.linked.name(ids)

    def _titles(self, source: Things, types: Mapping[str, ElementType]) -> Titles:
        """Return the ids of things of some types, each with its title."""
        return {
            name: [
                (id_, title)
                for rows in source.things(of)
                for id_, title in zip(rows[of.own_id].to_pylist(), rows["title"].to_pylist(), strict=True)
                if id_ and title
            ]
            for name, of in types.items()
        }

    def resolved(self, source: Things, *, parts: bool = True) -> Rows:
        """Yield the rows of things, but of those that are kept by who acted, and `parts`."""
        for element in in_order_of_reference(self.resolution.rules):
            shows = element not in self.resolution.waiting
            yield from self._of_type(source, element, parts=parts, shows=shows)

    def waiting(self, source: Things) -> Rows:
        """Yield the rows of things that are kept by who acted, when that is known."""
        for element in in_order_of_reference(self.resolution.waiting):
            yield from self._of_type(source, element, parts=False)

    def _of_type(
        self, source: Things, element: ElementType, *, parts: bool = True, shows: bool = True
    ) -> Rows:
        """Yield what is shown of things of a type."""
        resolution, main = self.resolution, main_table(element)
        if not resolution.resolves(element):
            return
        resolution.kept[element.name] = source.count(element)
        asked, passing = [table for table in resolution.asked if table.element == element], [_NONE]
        passes = shows and any(table.name in resolution.read for table in asked)
        for every in self._things(source, element):
            if parts and main in resolution.made_of:
                belonging = resolution.filtering.belonging(element, every, self.linked.kept)
                yield actions.part(main, resolution.made_of[main], every, belonging)
            if (columns := resolution.request.whole.get(main.name)) and shows:
                yield f"{WHOLE}{main.name}", every.select([*columns, ELEMENT])
            if passes:
                rows = self.passing(element, every)
                passing.append(rows[ELEMENT].to_numpy())
                if main.name in resolution.read:
                    yield main.name, self.shown(main, rows)
        for table in (table for table in asked if passes and table.rows):
            for rows in source.entries(table, np.concatenate(passing)):
                yield table.name, self.shown(table, rows)

    def _things(self, source: Things, element: ElementType) -> Iterator[pa.Table]:
        """Yield the rows of a type, and note the ids by which they keep others."""
        for rows in source.things(element):
            if element in self.resolution.linking:
                self.linked.add(element, rows, self.resolution.filtering)
            yield rows

    def passing(self, element: ElementType, rows: pa.Table) -> pa.Table:
        """Return the rows that filters keep; count the acts that they cannot place."""
        filtering = self.resolution.filtering
        if not filtering.asked:
            return rows
        in_period = filtering.in_period(element, rows)
        if element.type_key and filtering.columns_asked:
            unplaced = rows.filter(pc.and_(in_period, filtering.unplaced(element, rows, self.linked.known)))
            if "excluded" in unplaced.column_names:
                unplaced = unplaced.filter(unplaced["excluded"].is_null())
            self.resolution.unplaced[element.name] += len(unplaced)
        belonging = filtering.belonging(element, rows, self.linked.kept)
        return rows.filter(pc.and_(in_period, belonging))

    def shown(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return the columns that are read, and the numbers of the elements."""
        schema = self.resolution.read[table.name].append(pa.field(ELEMENT, pa.int64()))
        return pa.Table.from_arrays([rows[name] for name in schema.names], schema=schema)
