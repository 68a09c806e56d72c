"""Tables that are computed of the rows of others by functions of reports, when all of these rows have been read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
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


def with_computed(rows: Rows, resolution: Resolution) -> Rows:
    """Yield the rows of what is asked for, those of computed tables last."""
    needed = defaultdict[Table, list[str]](list)
    for part, names in chain.from_iterable(table.made_of.items() for table in resolution.computed):
        needed[part] += names
    schemas = {part.name: part.schema(part.select(names)) for part, names in needed.items()}
    parts = {name: SpilledTables() for name in schemas}
    for name, some in rows:
        if name in parts:
            parts[name].add(some.select(schemas[name].names).cast(schemas[name]))
        if name not in resolution.read:
            yield name, some
        elif schema := resolution.schemas.get(name):
            yield name, some.select(schema.names).cast(schema)
    yield from _computed(parts, schemas, resolution)


def _computed(
    parts: Mapping[str, SpilledTables], schemas: Mapping[str, pa.Schema], resolution: Resolution
) -> Rows:
    """Yield the rows of the computed tables, given those that they are made of by the names of their tables."""
    frames = dict[str, pd.DataFrame]()
    for name, rows in parts.items():
        every = pa.concat_tables([schemas[name].empty_table(), *rows])
        frames[name] = frame(every, resolution.request.timezone)
    for table in resolution.computed:
        found = _FUNCTIONS[table](**{part.name: frames[part.name] for part in table.made_of})
        schema = resolution.schemas[table.name]
        made = pa.Table.from_pandas(found[schema.names], schema, preserve_index=False)
        yield table.name, made.cast(schema)
