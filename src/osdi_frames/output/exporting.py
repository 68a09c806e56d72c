"""Which tables an export writes, and in which form: what is asked for, compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from osdi_frames.errors import UnknownColumn
from osdi_frames.messages import nearest, quoted
from osdi_frames.output.files import FileForm, FolderPartition, write_tables
from osdi_frames.privacy import Drop, Key, Pseudonyms
from osdi_frames.resolving.resolution import Rows, Tables, named_tables
from osdi_frames.tables import main_table
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import Table


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The tables to write, with the schema and the partition of each, and pseudonyms in place of people."""

    tables: Mapping[str, Table]
    schemas: Mapping[str, pa.Schema]
    partitions: Mapping[str, FolderPartition | None]
    pseudonyms: Pseudonyms | None

    @classmethod
    def of(
        cls,
        tables: Tables,
        *,
        partition_by: str | None,
        timezone: str | None = None,
        pseudonymize: Key | None = None,
        drop: Drop | None = None,
        coordinate_decimals: int = 1,
        postal_characters: int = 3,
    ) -> ExportRequest:
        """Compile a request.

        Raises
        ------
        UnknownTable, UnknownColumn, InvalidArgument
            As `Archive.export` says.
        """
        columns = named_tables(tables)
        chosen = {name: declared(name) for name in columns}
        pseudonyms = Pseudonyms.of(
            pseudonymize, drop, coordinate_decimals=coordinate_decimals, postal_characters=postal_characters
        )
        schema = (pseudonyms or Table).schema
        schemas = {name: schema(table, table.select(columns[name])) for name, table in chosen.items()}
        return cls(chosen, schemas, _partitions(chosen.values(), schemas, partition_by, timezone), pseudonyms)

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns to read of each table."""
        return {name: schema.names for name, schema in self.schemas.items()}

    def replaced(self, rows: Rows) -> Rows:
        """Yield rows with pseudonyms in place of what identifies people."""
        for name, some in rows:
            yield name, self.pseudonyms.replace(some, self.tables[name]) if self.pseudonyms else some

    def write(self, rows: Rows, folder: Path, form: FileForm) -> dict[str, int]:
        """Write rows as files; count them by table."""
        return write_tables(self.schemas, self.replaced(rows), folder, form, partitions=self.partitions)


def _partitions(
    tables: Iterable[Table], schemas: Mapping[str, pa.Schema], by: str | None, timezone: str | None
) -> dict[str, FolderPartition | None]:
    """Return how each table is partitioned; a table without the column is not, nor a child table by month."""
    found: dict[str, FolderPartition | None] = {}
    for table in tables:
        column = by
        if by == "month":
            column = table.element.month if table == main_table(table.element) else None
        is_there = column in schemas[table.name].names
        found[table.name] = FolderPartition(str(column), by == "month", timezone) if is_there else None
    if by not in (None, "month") and not any(found.values()):
        names = {"month", *(name for schema in schemas.values() for name in schema.names)}
        hint = nearest(str(by), sorted(names))
        raise UnknownColumn(f"partition by month or by a column, not {quoted(by)}; {hint}")
    return found
