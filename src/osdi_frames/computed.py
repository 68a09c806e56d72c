"""Tables that are computed of the rows of others by functions of reports, when all of these rows have been read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Final

import pandas as pd
import pyarrow as pa

from osdi_frames.frames import frame
from osdi_frames.reports.supporters import supporter_amounts, supporters
from osdi_frames.resolving.resolution import Resolution, Rows
from osdi_frames.resolving.versions import SpilledTables
from osdi_frames.tables.schema import Table
from osdi_frames.tables.supporters import SUPPORTER_AMOUNTS, SUPPORTERS

#: What computes each table. Its arguments are frames, called as the tables that it is made of.
_FUNCTIONS: Final[Mapping[Table, Callable[..., pd.DataFrame]]] = {
    SUPPORTERS: supporters,
    SUPPORTER_AMOUNTS: supporter_amounts,
}


class Computing:
    """The tables that a request computes of the rows that pass, which can be those of several partitions."""

    def __init__(self, resolution: Resolution) -> None:
        self._resolution = resolution
        made_of = chain.from_iterable(table.made_of.items() for table in resolution.computed)
        needed = defaultdict[Table, list[str]](list)
        for part, names in made_of:
            needed[part] += names
        self._schemas = {part.name: part.schema(part.select(names)) for part, names in needed.items()}
        self.parts = {name: SpilledTables() for name in self._schemas}
        """The rows that tables are made of, by the name of theirs."""

    def shown(self, rows: Rows) -> Rows:
        """Yield the rows of what is asked for, and keep those that tables are made of."""
        for name, some in rows:
            if name in self.parts:
                self.parts[name].add(some.select(self._schemas[name].names).cast(self._schemas[name]))
            if name not in self._resolution.read:
                yield name, some
            elif schema := self._resolution.schemas.get(name):
                yield name, some.select(schema.names).cast(schema)

    def add(self, parts: Iterable[Mapping[str, SpilledTables]]) -> None:
        """Keep rows of partitions."""
        for name, rows in chain.from_iterable(part.items() for part in parts):
            for some in rows:
                self.parts[name].add(some)

    def computed(self) -> Rows:
        """Yield the rows of the computed tables."""
        resolution, frames = self._resolution, dict[str, pd.DataFrame]()
        for name, rows in self.parts.items():
            every = pa.concat_tables([self._schemas[name].empty_table(), *rows])
            frames[name] = frame(every, resolution.request.timezone)
        for table in resolution.computed:
            found = _FUNCTIONS[table](**{part.name: frames[part.name] for part in table.made_of})
            schema = resolution.schemas[table.name]
            made = pa.Table.from_pandas(found[schema.names], schema, preserve_index=False)
            yield table.name, made.cast(schema)


def with_computed(rows: Rows, resolution: Resolution) -> Rows:
    """Yield the rows of what is asked for, those of computed tables last."""
    computing = Computing(resolution)
    yield from computing.shown(rows)
    yield from computing.computed()
