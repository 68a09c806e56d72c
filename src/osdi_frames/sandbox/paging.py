"""Collections: which page is asked for, which filter, and the envelope around the rows (interface 2.6, 8)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

from osdi_frames.sandbox.kinds import Kind
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.site import Site

PER_PAGE = 25
MOST_CLAUSES = 500
_PAST_EVERY_END = 10**9

_CLAUSE = re.compile(r"and\s+(\w+)\s+(\w+)\s+'((?:[^']|'')*)'\s*")
_OPERATORS = {"eq": "=", "gt": ">", "lt": "<"}


class Row(NamedTuple):
    """One resource of a collection: its own link, and its JSON."""

    link: Mapping[str, str]
    text: str


class Clause(NamedTuple):
    """One comparison of a filter: the name of what is compared, the SQL operator, and the value."""

    name: str
    operator: str
    value: str


@dataclass(slots=True)
class Page:
    """A page of a collection: its number and what there are of pages, all but its rows, and these.

    `kept` is what `next` needs of the query besides the page; `before` is the row before the first, for a fault.
    """

    number: int
    pages: int
    head: dict[str, Any]
    rows: list[Row]
    kept: Mapping[str, str]
    before: list[Row] = field(default_factory=list)

    @property
    def links(self) -> dict[str, Any]:
        """Return the links of the envelope."""
        links: dict[str, Any] = self.head["_links"]
        return links

    def to(self, number: int) -> dict[str, str]:
        """Return the link to another page of the same collection."""
        return {"href": f"{self.links['self']['href']}?{urlencode({'page': number, **self.kept})}"}

    def drop_totals(self) -> None:
        """Leave out how many pages and records there are."""
        for name in ("total_pages", "total_records"):
            self.head.pop(name, None)

    def text(self, name: str) -> str:
        """Put the rows, which are JSON already, into their envelope, under the key of that name."""
        opened = json.dumps(self.head, ensure_ascii=False)[:-1]
        embedded = ", ".join(row.text for row in self.rows)
        return f'{opened}, "_embedded": {{"{name}": [{embedded}]}}}}'


def asked_number(query: Mapping[str, str], name: str, default: int) -> int:
    """Read a number from 1 on of a query: its page, or how many records a page has."""
    asked = query.get(name, str(default))
    if not (asked.isascii() and asked.isdigit() and asked.strip("0")):
        raise refuse("number", what=name, asked=asked[:40])
    return int(asked) if len(asked.lstrip("0")) < 10 else _PAST_EVERY_END


def parse_filter(text: str, kind: Kind, site: Site) -> list[Clause]:
    """Read the small OData subset: comparisons of a kind's filters, joined by `and`, in that version's names."""
    if not kind.filters:
        raise refuse("filter", why=f"{kind.at(site.version)} cannot be filtered")
    clauses: list[Clause] = []
    rest = f"and {text}"
    while rest:
        match = _CLAUSE.match(rest)
        if match is None:
            raise refuse("filter", why=f"not understood from {rest[4:44]!r} on")
        if len(clauses) == MOST_CLAUSES:
            raise refuse("filter", why=f"more than {MOST_CLAUSES} comparisons")
        clauses.append(_clause(*match.groups(), kind=kind, site=site))
        rest = rest[match.end() :]
    return clauses


def _clause(name: str, operator: str, value: str, *, kind: Kind, site: Site) -> Clause:
    filters = kind.filtered(site)
    if name not in filters:
        raise refuse("filter", why=f"{name[:40]} is none of {', '.join(filters)}")
    if operator not in _OPERATORS:
        raise refuse("filter", why=f"{operator[:40]} is none of {', '.join(_OPERATORS)}")
    asked, value = filters[name], value.replace("''", "'")
    if asked.name == "identifier":  # the service's own is kept without prefix
        value = value.removeprefix(f"{site.prefix}:")
    written = asked.written(value)
    if written is None:
        raise refuse("filter", why=f"{value[:40]!r} is no date or time of the calendar")
    return Clause(asked.name, _OPERATORS[operator], written)
