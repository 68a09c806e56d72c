"""Collections: which page is asked for, which filter, and the envelope around the rows (interface 2.6, 8)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from osdi_frames.sandbox.bodies import wall_clock
from osdi_frames.sandbox.fields import EVENT
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.site import Site

PER_PAGE = 25
_PAST_EVERY_END = 10**9

_CLAUSE = re.compile(r"\s*(\w+)\s+(\w+)\s+'((?:[^']|'')*)'\s*")
_OPERATORS = {"eq": "=", "gt": ">", "lt": "<"}
_FILTERED = ("modified_date", "origin_system", "title", "start_date", "end_date")


@dataclass(frozen=True, slots=True)
class Row:
    """One resource of a collection: its path below the base address, and its JSON."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison of a filter, with its column and the SQL operator."""

    column: str
    operator: str
    value: str


def page_number(query: Mapping[str, str]) -> int:
    """Read the page that a query asks for; the first one without a word about it.

    >>> page_number({"page": "3"}), page_number({})
    (3, 1)
    """
    asked = query.get("page", "1")
    if not (asked.isascii() and asked.isdigit() and asked.strip("0")):
        raise refuse("page", page=asked[:40])
    return int(asked) if len(asked.lstrip("0")) < 10 else _PAST_EVERY_END


def envelope(
    rows: Sequence[Row],
    *,
    number: int,
    per_page: int,
    total: int,
    site: Site,
    path: str,
    name: str,
    kept: Mapping[str, str],
) -> dict[str, object]:
    """Return everything of a collection page but its embedded rows.

    `kept` are the query's other parameters, which the next page needs, too. The links of the rows are those of
    this page.
    """
    pages = -(-total // per_page)
    here = site.link(path)
    links: dict[str, object] = {"self": here}
    if number < pages:
        links["next"] = next_link(here["href"], number + 1, kept)
    links[name] = [site.link(row.path) for row in rows]
    links["curies"] = site.curies()
    return {
        "total_pages": pages,
        "per_page": per_page,
        "page": number,
        "total_records": total,
        "_links": links,
    }


def next_link(collection_url: str, number: int, kept: Mapping[str, str]) -> dict[str, str]:
    """Return the link to another page of a collection."""
    return {"href": f"{collection_url}?{urlencode({'page': number, **kept})}"}


def page_text(head: Mapping[str, object], rows: Sequence[Row], name: str) -> str:
    """Put the rows, which are JSON already, into their envelope."""
    opened = json.dumps(head, ensure_ascii=False)[:-1]
    embedded = ", ".join(row.text for row in rows)
    return f'{opened}, "_embedded": {{"{name}": [{embedded}]}}}}'


def parse_filter(text: str, site: Site) -> list[Clause]:
    """Read the small OData subset: comparisons of the filtered fields, joined by `and`, in that version's names.

    >>> parse_filter("title eq 'Picnic'", Site("http://localhost", "platform", "v2"))
    [Clause(column='title', operator='=', value='Picnic')]
    """
    columns = {
        field.named(site): field.name for field in EVENT if field.name in _FILTERED and field.named(site)
    }
    clauses, position = [], 0
    while True:
        match = _CLAUSE.match(text, position)
        if match is None:
            raise refuse("filter", why=f"not understood from character {position + 1} on")
        clauses.append(_clause(*match.groups(), columns=columns))
        if match.end() == len(text):
            return clauses
        if not (joined := re.compile(r"and\b").match(text, match.end())):
            raise refuse("filter", why=f"'and' is missing at character {match.end() + 1}")
        position = joined.end()


def _clause(name: str, operator: str, value: str, *, columns: Mapping[str | None, str]) -> Clause:
    if name not in columns:
        raise refuse("filter", why=f"{name[:40]} is none of {', '.join(map(str, columns))}")
    if operator not in _OPERATORS:
        raise refuse("filter", why=f"{operator[:40]} is none of {', '.join(_OPERATORS)}")
    column, value = columns[name], value.replace("''", "'")
    if column.endswith("_date"):
        value = _comparable(column, value)
    return Clause(column, _OPERATORS[operator], value)


def _comparable(column: str, value: str) -> str:
    """Write a time as the store has it: modified_date in UTC, start and end as wall clock."""
    written = wall_clock(value)
    if written is None:
        raise refuse("filter", why=f"{value[:40]!r} is no date or time")
    if column != "modified_date":
        return written
    moment = datetime.fromisoformat(value)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError as error:  # the first or last day of the calendar, with an offset
        raise refuse("filter", why=f"{value[:40]!r} is outside the calendar in UTC") from error
