"""The parameter ``filter`` of collections: a small OData subset."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from osdi_frames.errors import RequestRefused
from osdi_frames.messages import quoted, shorten
from osdi_frames.sandbox.resource_kinds import ResourceKind
from osdi_frames.sandbox.resources import Resource
from osdi_frames.sandbox.shapes import wall_clock
from osdi_frames.sandbox.site import Site

Clause = tuple[str, str, str]  # one comparison: the name of the filter, the SQL operator, the value

_MOST_CLAUSES = 500
_CLAUSE = re.compile(r"and\s+(\w+)\s+(\w+)\s+'((?:[^']|'')*)'\s*")
_OPERATORS = {"eq": "=", "gt": ">", "lt": "<"}


def parse_filter(text: str, kind: ResourceKind, site: Site) -> list[Clause]:
    """Read comparisons joined by `and`, in a version's names."""
    filters, clauses, rest = kind.filters_of(site), list[Clause](), f"and {text}"
    while rest:
        match = _CLAUSE.match(rest)
        if match is None:
            raise _invalid(f"not understood from {quoted(rest[4:])} on")
        name, operator, value = match.groups()
        for part, known in ((name, filters), (operator, _OPERATORS)):
            if part not in known:
                raise _invalid(f"{shorten(part)} is none of {', '.join(known) or 'no names'}")
        if name == "identifier":  # the service's own is kept without prefix
            value = value.removeprefix(f"{site.prefix}:")
        written = _comparable(filters[name], value.replace("''", "'"))
        if written is None:
            raise _invalid(f"{quoted(value)} is no date or time of the calendar")
        clauses.append((filters[name], _OPERATORS[operator], written))
        if len(clauses) > _MOST_CLAUSES:
            raise _invalid(f"more than {_MOST_CLAUSES} comparisons")
        rest = rest[match.end() :]
    return clauses


def _invalid(why: str) -> RequestRefused:
    example = "modified_date gt '2026-01-01' and title eq 'Picnic'"
    return RequestRefused(400, f"filter: {why}; write for example {example}")


def searched(resource: Resource) -> dict[str, list[str]]:
    """Return the values that filters compare, by filter."""
    defaults = {field.name: field.default for field in resource.declared.fields}
    values = defaults | resource.values(resource.resource_id)
    return {name: _compared(name, values) for name in resource.declared.filters}


# Where the field that a filter compares has another name: that, and the key in its entries.
_COMPARED: dict[str, tuple[str, str | None]] = {
    "identifier": ("identifiers", None),
    "email_address": ("email_addresses", "address"),
    "phone_number": ("phone_numbers", "number"),
    **{name: ("postal_addresses", name) for name in ("region", "postal_code")},
}


def _compared(name: str, values: Mapping[str, Any]) -> list[str]:
    field_name, key = _COMPARED.get(name, (name, None))
    value = values[field_name]
    entries = filter(None, value if isinstance(value, list) else [value])
    texts = (entry.get(key) for entry in entries) if key else entries
    return [written for text in texts if text and (written := _comparable(name, text))]


def _comparable(name: str, text: str) -> str | None:
    """Write a value as compared; None is invalid."""
    return _WRITTEN.get(name, str)(text)


def _utc(text: str) -> str | None:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return None


_WRITTEN: dict[str, Callable[[str], str | None]] = {
    **dict.fromkeys(("created_date", "modified_date"), _utc),
    **dict.fromkeys(("start_date", "end_date"), wall_clock),
    "email_address": str.casefold,
}
