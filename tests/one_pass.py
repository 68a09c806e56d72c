"""Tables of a source as Arrow tables, read in one pass: what tests compare is one reading, not one for each table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

import osdi_frames as of
from osdi_frames.parsing.parse import Observer
from osdi_frames.problems import Policy


def scanned(
    source: Any,
    tables: Iterable[str] | Mapping[str, Any],
    *,
    dedupe: Any = True,
    people: bool = True,
    **settings: Any,
) -> dict[str, pa.Table]:
    """Return tables with all columns, or those that a mapping names."""
    archive = of.open(source, **settings)
    columns = tables if isinstance(tables, Mapping) else dict.fromkeys(tables)
    resolution = archive.resolution(columns, dedupe=dedupe, people=people)
    found = {name: [schema.empty_table()] for name, schema in resolution.schemas.items()}
    for name, rows in archive.rows(resolution, Observer(Policy(archive.on_error))):
        found[name].append(rows)
    return {name: pa.concat_tables(parts) for name, parts in found.items()}
