"""The vocabulary as data: every table, its columns, and where each value stands in a document.

Everything else is derived from what is declared here: the query that extracts a table, the dtypes of
an empty frame, the data dictionary, the Parquet schema, and the check for keys that no table takes.
To add a column is to add a line in the module of its table; what several tables share is in `resource`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from osdi_frames.errors import InvalidArgument, UnknownTable
from osdi_frames.messages import nearest, quoted
from osdi_frames.tables.act import act_tables, tags_of
from osdi_frames.tables.actions import ACTIONS
from osdi_frames.tables.advocacy_campaigns import ADVOCACY_CAMPAIGNS
from osdi_frames.tables.attendances import ATTENDANCES, TICKETS
from osdi_frames.tables.donations import DONATIONS, RECIPIENTS
from osdi_frames.tables.event_campaigns import EVENT_CAMPAIGNS
from osdi_frames.tables.events import EVENT_TABLES
from osdi_frames.tables.forms import FORMS
from osdi_frames.tables.fundraising_pages import FUNDRAISING_PAGES
from osdi_frames.tables.outreaches import OUTREACHES, TARGETS
from osdi_frames.tables.people import PEOPLE
from osdi_frames.tables.petitions import PETITIONS
from osdi_frames.tables.responses import RESPONSES
from osdi_frames.tables.schema import PREFIXES, ElementType, Table
from osdi_frames.tables.signatures import SIGNATURES
from osdi_frames.tables.submissions import SUBMISSIONS
from osdi_frames.tables.supporters import SUPPORTER_AMOUNTS, SUPPORTERS
from osdi_frames.tables.surveys import SURVEYS
from osdi_frames.tables.taggings import TAGGINGS
from osdi_frames.tables.tags import TAGS
from osdi_frames.tables.uploads import UPLOADS

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        *(*EVENT_TABLES, EVENT_CAMPAIGNS, *act_tables(ATTENDANCES, TICKETS)),
        *(PETITIONS, *act_tables(SIGNATURES)),
        *(FORMS, *act_tables(SUBMISSIONS)),
        *(FUNDRAISING_PAGES, *act_tables(DONATIONS, RECIPIENTS)),
        *(ADVOCACY_CAMPAIGNS, *act_tables(OUTREACHES, TARGETS)),
        *(SURVEYS, *act_tables(RESPONSES)),
        *(UPLOADS, tags_of(UPLOADS)),
        *(PEOPLE, TAGS, TAGGINGS, ACTIONS, SUPPORTERS, SUPPORTER_AMOUNTS),
    )
}


#: The tables that no document holds, each after those that it is made of.
COMPUTED: tuple[Table, ...] = tuple(table for table in TABLES.values() if table.made_of)


def known_prefixes(prefix: str | None) -> tuple[str, ...]:
    """Return the prefixes to recognise: the one named first, then those known without being named.

    >>> known_prefixes("change_desk")
    ('change_desk', 'platform', 'action_network')

    Raises
    ------
    InvalidArgument
        It is no prefix, such as one with its colon.
    """
    if prefix is None:
        return PREFIXES
    if not isinstance(prefix, str) or not re.fullmatch(r"[^\W\d][\w-]*", prefix):
        word = re.match(r"[^\W\d][\w-]*|", str(prefix))[0] or "change_desk"  # type: ignore[index] # it matches
        raise InvalidArgument(
            f"prefix is one word, without a colon, such as {quoted(word)}, not {quoted(prefix)}"
        )
    return tuple(dict.fromkeys((prefix, *PREFIXES)))


def element_types() -> tuple[ElementType, ...]:
    """Return the declared element types that documents hold."""
    return _element_types(tuple(TABLES))


@cache
def _element_types(names: tuple[str, ...]) -> tuple[ElementType, ...]:
    elements = (TABLES[name].element for name in names)
    return tuple(dict.fromkeys(element for element in elements if element.collection))


def types_by_key(prefixes: Sequence[str]) -> dict[str, ElementType]:
    """Return the element types by each of their keys in deliveries."""
    return _types_by_key(tuple(TABLES), tuple(prefixes))


@cache
def _types_by_key(names: tuple[str, ...], prefixes: tuple[str, ...]) -> dict[str, ElementType]:
    return {key: element for element in _element_types(names) for key in element.type_keys(prefixes)}


def main_table(element: ElementType) -> Table:
    """Return the table of one row per element, whose columns identify it."""
    return _main_tables(tuple(TABLES))[element]


@cache
def _main_tables(names: tuple[str, ...]) -> dict[ElementType, Table]:
    return {table.element: table for table in map(TABLES.__getitem__, names) if not table.rows}


@cache
def references(element: ElementType) -> dict[str, ElementType]:
    """Return the types that an element refers to, by the column of their ids.

    >>> [(column, of.name) for column, of in references(ATTENDANCES.element).items()]
    [('event_id', 'event'), ('person_id', 'person')]
    """
    ids = {other.own_id: other for other in element_types() if other != element}
    columns = (column.name for column in main_table(element).columns)
    return {name: ids[name] for name in columns if name in ids}


def table(name: str) -> Table:
    """Return a declared table by its name.

    Raises
    ------
    UnknownTable
        The message names the nearest tables, or those of one row an element.
    """
    try:
        return TABLES[name]
    except KeyError:
        hint = nearest(name, TABLES)
        if not hint.startswith("nearest"):
            hint = nearest(name, [table.name for table in TABLES.values() if not table.rows])
        raise UnknownTable(f"there is no table {quoted(name)}; {hint}") from None
