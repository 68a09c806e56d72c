"""Collections: which page is asked for, which filter, and the envelope around the rows (interface 2.6, 8)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from osdi_frames.sandbox.kinds import Filter, Kind
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.site import Site

PER_PAGE = 25
MOST_CLAUSES = 500
_PAST_EVERY_END = 10**9

_CLAUSE = re.compile(r"\s*(\w+)\s+(\w+)\s+'((?:[^']|'')*)'\s*")
_AND = re.compile(r"and\b")
_OPERATORS = {"eq": "=", "gt": ">", "lt": "<"}


@dataclass(frozen=True, slots=True)
class Row:
    """One resource of a collection: its own link, and its JSON."""

    link: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection: all but its rows, these, and the query's other parameters, which `next` needs, too.

    `before` is the row before its first, for a fault that repeats it.
    """

    head: dict[str, Any]
    rows: Sequence[Row]
    kept: Mapping[str, str]
    before: Sequence[Row] = ()

    def without(self, *names: str) -> Page:
        """Return the page without these fields of its envelope."""
        return replace(self, head={name: value for name, value in self.head.items() if name not in names})

    def with_next(self, link: dict[str, str] | None) -> Page:
        """Return the page with another `next`, or with none."""
        links = {name: value for name, value in self.head["_links"].items() if name != "next"}
        return replace(self, head=self.head | {"_links": links | ({"next": link} if link else {})})

    def to(self, number: int) -> dict[str, str]:
        """Return the link to another page of the same collection."""
        return _page_link(self.head["_links"]["self"], number, self.kept)

    def text(self, name: str) -> str:
        """Put the rows, which are JSON already, into their envelope, under the key of that name."""
        opened = json.dumps(self.head, ensure_ascii=False)[:-1]
        embedded = ", ".join(row.text for row in self.rows)
        return f'{opened}, "_embedded": {{"{name}": [{embedded}]}}}}'


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison of a filter: the name of what is compared, the SQL operator, and the value."""

    name: str
    operator: str
    value: str


def asked_number(query: Mapping[str, str], name: str, default: int) -> int:
    """Read a number from 1 on of a query: its page, or how many records a page has.

    >>> asked_number({"page": "3"}, "page", 1), asked_number({}, "page", 1)
    (3, 1)
    """
    asked = query.get(name, str(default))
    if not (asked.isascii() and asked.isdigit() and asked.strip("0")):
        raise refuse("number", what=name, asked=asked[:40])
    return int(asked) if len(asked.lstrip("0")) < 10 else _PAST_EVERY_END


def envelope(
    kind: Kind,
    rows: Sequence[Row],
    site: Site,
    *,
    path: str,
    number: int,
    per_page: int,
    total: int,
    kept: Mapping[str, str],
) -> Page:
    """Return a page of a collection; the links of the rows are those of this page."""
    pages = -(-total // per_page)
    here = site.link(path)
    links: dict[str, Any] = {"self": here} | (
        {"next": _page_link(here, number + 1, kept)} if number < pages else {}
    )
    links |= {kind.keys(site)[1]: [row.link for row in rows], "curies": site.curies()}
    counts = {"total_pages": pages, "per_page": per_page, "page": number, "total_records": total}
    return Page({**counts, "_links": links}, rows, kept)


def _page_link(collection: Mapping[str, str], number: int, kept: Mapping[str, str]) -> dict[str, str]:
    return {"href": f"{collection['href']}?{urlencode({'page': number, **kept})}"}


def parse_filter(text: str, kind: Kind, site: Site) -> list[Clause]:
    """Read the small OData subset: comparisons of a kind's filters, joined by `and`, in that version's names.

    >>> from osdi_frames.sandbox.kinds import KINDS
    >>> parse_filter("title eq 'Picnic'", KINDS["event"], Site("http://localhost", "platform", "v2"))
    [Clause(name='title', operator='=', value='Picnic')]
    """
    filters = kind.filtered(site)
    if not filters:
        raise refuse("filter", why=f"{kind.at(site.version)} cannot be filtered")
    clauses: list[Clause] = []
    position = 0
    while len(clauses) < MOST_CLAUSES:
        match = _CLAUSE.match(text, position)
        if match is None:
            raise refuse("filter", why=f"not understood from character {position + 1} on")
        clauses.append(_clause(*match.groups(), filters=filters, site=site))
        if match.end() == len(text):
            return clauses
        if not (joined := _AND.match(text, match.end())):
            raise refuse("filter", why=f"'and' is missing at character {match.end() + 1}")
        position = joined.end()
    raise refuse("filter", why=f"more than {MOST_CLAUSES} comparisons")


def _clause(name: str, operator: str, value: str, *, filters: Mapping[str, Filter], site: Site) -> Clause:
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
