"""The data dictionary: every table and column, where its values come from, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pandas as pd

from osdi_frames.frames import PrintedFrame
from osdi_frames.messages import wrapped
from osdi_frames.tables import TABLES
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import Column, Table

_SHOWN: Final = ("column", "type", "v2", "v1", "meaning", "privacy", "pseudonymized")
_MARKS: Final = {"plain": " ", "sensitive": "+", "identifying": "*"}
_MARKED: Final = "* identifies a person, + says something about one"
_MORE: Final = "describe NAME lists the columns of a table, all=True (--all) of each"


class Dictionary(PrintedFrame):
    """The data dictionary, one row a column, as `describe` returns it."""

    ALL_COLUMNS = ("table", *_SHOWN)

    def text(self, *, all: bool = False) -> str:  # noqa: A002 (as the option --all)
        """Lay out the columns of each table: what they mean, what they reveal of people, their types but text.

        The whole dictionary is a list of the tables, unless `all` asks for every column.
        """
        if len(self) == sum(len(table.columns) for table in TABLES.values()) and not all:
            return "\n".join([*_tables(), wrapped(_MORE)])
        tables = ["\n".join(_columns(name, self[self["table"] == name])) for name in self["table"].unique()]
        marked = [_MARKED] if (self["privacy"] != "plain").any() else []
        return "\n".join(["\n\n".join(tables), *marked])


def _tables() -> Iterator[str]:
    """Yield a line for each table of elements, and one for those of what an element can have several of."""
    main = [table for table in TABLES.values() if not table.rows]
    width = max(len(table.name) for table in main)
    for table in main:
        yield wrapped(f"{table.name:<{width}}  {table.meaning}", width + 2)
        others = [other.name for other in TABLES.values() if other.rows and other.element == table.element]
        parts = [name.removeprefix(f"{table.element.name}_") for name in others]
        if parts:
            yield f"  {table.element.name}_{{{','.join(parts)}}}" if len(parts) > 1 else f"  {others[0]}"


def _columns(name: str, columns: pd.DataFrame) -> Iterator[str]:
    """Yield what a table is, and a line for each of its columns."""
    yield wrapped(f"{name}: {TABLES[name].meaning}")
    width = columns["column"].str.len().max()
    for row in columns.itertuples(index=False):
        kind = "" if row.type == "string" else f" ({row.type})"
        yield wrapped(f"{_MARKS[str(row.privacy)]} {row.column:<{width}}  {row.meaning}{kind}", width + 6)


def describe(table: str | None = None) -> Dictionary:
    """Show the data dictionary: one row a column of every table, or of the one named.

    Parameters
    ----------
    table
        The name of a table; all of them when not given.

    Returns
    -------
    DataFrame
        Columns `table`, `column`, `type`, `v2`, `v1` (where the value comes from), `meaning`, `privacy`
        (``plain``, ``sensitive`` or ``identifying``) and `pseudonymized` (what `pseudonymize` makes of it). Printed,
        it is what ``osdi-frames describe`` prints: of one table the columns, else a list of the tables.
        ``describe().text(all=True)`` has every column.

    Raises
    ------
    UnknownTable
        The message names the nearest tables, or all.

    Examples
    --------
    >>> import osdi_frames as of
    >>> of.describe("event_reminders")
    event_reminders: One row per reminder of an event (interface 2.3).
      event_id  The service's identifier of the event.
      position  Position in the list, from 0. (int64)
      method    email or sms.
      minutes   Minutes before the event. (int64)
    """
    rows = [(one.name, *_shown(column)) for one in _chosen(table) for column in one.columns]
    return Dictionary(rows, columns=["table", *_SHOWN])


def _chosen(table: str | None) -> Iterable[Table]:
    return TABLES.values() if table is None else [declared(table)]


def _shown(column: Column) -> tuple[str, ...]:
    known = [] if column.origin == "paths" else [f"({', '.join(column.derived) or column.origin})"]
    at_paths = column.origin in ("paths", "derived")
    where = [", ".join([*(paths if at_paths else ()), *known]) or "–" for paths in (column.v2, column.v1)]
    return column.name, column.type, *where, column.meaning, column.privacy.level, str(column.privacy)


def markdown(table: str | None = None) -> str:
    """Return the data dictionary as Markdown: a section for each table, or for the one named.

    >>> print(markdown("event_identifiers").splitlines()[0])
    ## event_identifiers
    """
    sections = []
    for one in _chosen(table):
        rows = [(*map(_code, row[:4]), *row[4:]) for row in map(_shown, one.columns)]
        head, *lines = (f"| {' | '.join(row)} |" for row in (_SHOWN, *rows))
        rule = "|---" * len(_SHOWN) + "|"
        sections.append("\n".join([f"## {one.name}", "", one.meaning, "", head, rule, *lines, ""]))
    return "\n".join(sections)


def _code(text: str) -> str:
    return text if text.startswith(("–", "(")) else ", ".join(f"`{part}`" for part in text.split(", "))
