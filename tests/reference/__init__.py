"""A reference reading: every table as a plain walk over ``json.loads``, one column after the other.

It shares no code with the package, not even the declarations, so that a mistake cannot be made in both.
It is slow, keeps everything in memory, takes what does not fit as missing, and says nothing of problems and of what
pulls prove: `tests/world` has that.
"""

from __future__ import annotations

from collections.abc import Iterable

from .documents import ACTS, KINDS, KNOWN, MAIN, Document, everything, kind_of
from .tables import TABLES
from .truth import Known, as_it_came, resolved, versions_of
from .values import Row

__all__ = ["ACTS", "KINDS", "TABLES", "Document", "kind_of", "read", "read_files"]


def read(
    documents: Iterable[Document],
    table: str,
    *,
    dedupe: bool | str = True,
    prefix: str | None = None,
    people: bool = True,
) -> list[Row]:
    """Return the rows of a table in the order of the documents."""
    prefixes = [*([prefix] if prefix else []), *KNOWN]
    kind = kind_of(table)
    found = list(everything(documents, kind, prefixes))
    if dedupe is True:
        return resolved(Known(found, prefixes), table, fill=people)
    elements = [element for each, element in found if each == kind]
    if dedupe == "message":
        elements = [versions[-1] for versions in versions_of(elements, kind, prefixes, dedupe)]
    rows = [row for element in elements for row in TABLES[table](element, prefixes)]
    return [row | as_it_came(kind, row) if table in MAIN.values() else row for row in rows]


def read_files(documents: Iterable[Document], tables: Iterable[str]) -> dict[str, list[Row]]:
    """Return the rows of tables, one for each thing; what a file holds does not depend on the table asked for."""
    known = Known(list(everything(documents, "event", KNOWN)), list(KNOWN))
    return {table: resolved(known, table, fill=True) for table in tables}
