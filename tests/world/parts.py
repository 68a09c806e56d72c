"""What is left of a world's tables by filters, as a filter holds for every table that leads to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from datetime import datetime
from typing import Any

from tests.world import figures
from tests.world.documents import joined
from tests.world.truth import Row, Truth

Filters = Mapping[str, Any]
Keeps = Callable[[Row], bool]

SUBJECTS = {"signed": "signatures", "rsvped": "attendances", "attended": "attendances", "hosted": "events"}
#: The tables that lead to what a filter names; those of people follow from the acts that remain.
LEADING = {
    "campaign": ("event_campaigns", "events", "attendances", "event_people"),
    "status": ("events", "attendances", "event_people"),
    "petition": (
        *("petitions", "signatures", "signature_tags", "signature_emails"),
        "signature_custom_fields",
    ),
}
DATES = {
    "events": "start_date",
    "attendances": "created_date",
    "signatures": "created_date",
    "actions": "date",
}
#: What belongs to rows of another table: it is left with them.
PARENTS = {"event_people": "events"} | {
    table: "signatures" for table in LEADING["petition"] if table.startswith("signature_")
}


def part(truth: Truth, done: list[Row], filters: Filters) -> dict[str, list[Row]]:
    """Return the rows of each table that leads to all filters, the acts with their numbers in the whole world."""
    tables = truth.tables | {"actions": done}
    names = [name for name in tables if all(name in _leading(tables, each) for each in filters)]
    kept = {
        name: [*filter(_keeps(truth, name, filters), tables[name])] for name in names if name not in PARENTS
    }
    for name in PARENTS.keys() & names:
        parents = {id(row) for row in kept[PARENTS[name]]}
        kept[name] = [row for row in tables[name] if id(truth.parents[id(row)]) in parents]
    people = {act["person_id"] for act in kept["actions"]}
    kept["people"] = [row for row in tables["people"] if row["person_id"] in people]
    return {name: kept[name] for name in names}


def occur(truth: Truth, filters: Filters) -> bool:
    """Return whether every value that filters ask for is that of something in the tables."""
    columns = {"petition": ("petition_id",), "campaign": ("event_campaign_id",)}
    return all(
        any(
            row.get(column) == filters[name]
            for rows in truth.tables.values()
            for row in rows
            for column in names
        )
        for name, names in columns.items()
        if name in filters
    )


def reports(
    truth: Truth, done: list[Row], rows: Mapping[str, list[Row]], filters: Filters
) -> dict[str, list[figures.Line]]:
    """Return the lines of each report of the tables that are left, with the titles of all, and who is new among all.

    Who asks for cancelled events by their status wants to count them.
    """
    part = copy(truth)
    if joined(filters.get("status", "")) in ("cancelled", "canceled", "rejected", "deleted"):
        rows = {name: [*map(_counted, some)] for name, some in rows.items()}
    titled = {name: truth.tables[name] for name in ("petitions", "event_campaigns")}
    part.tables = {name: rows.get(name, []) for name in truth.tables} | titled
    made = figures.reports(part, done)
    return {name: lines for name, lines in made.items() if _subject(name) in rows}


def _counted(row: Row) -> Row:
    return row | {"excluded": None} if row.get("excluded") == "cancelled" else row


def _subject(report: str) -> str:
    """Return the table that a report is about."""
    by_events = "rsvps_by_campaign", "rsvps_by_region", "rsvps_by_month", "rsvps_by_pull"
    return (
        "events"
        if report in by_events
        else "signatures"
        if report.startswith("signatures")
        else "attendances"
    )


def _leading(tables: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return (*LEADING.get(name, tables), "actions", "people")


def _keeps(truth: Truth, table: str, filters: Filters) -> Keeps:
    tests = [_test(truth, table, name, value) for name, value in filters.items()]
    return lambda row: all(test(row) for test in tests)


def _test(truth: Truth, table: str, name: str, value: Any) -> Keeps:
    """Return whether a row of a table is left by a filter."""
    if table == "people":
        return lambda _: True
    if name in ("since", "until"):
        return lambda row: table not in DATES or _is_in_period(row[DATES[table]], name, value)
    if table == "actions":
        own = "petitions" if name == "petition" else "events"
        subjects = _ids(truth, own, name, value)
        acts = ("signed",) if name == "petition" else ("rsvped", "attended", "hosted")
        return lambda row: row["action"] in acts and row["subject_id"] in subjects
    if name == "petition":
        return lambda row: row.get("petition_id") == value
    if table == "event_campaigns":
        return lambda row: row["event_campaign_id"] == value
    events = _ids(truth, "events", name, value)
    return lambda row: row["event_id"] in events


def _ids(truth: Truth, table: str, name: str, value: Any) -> set[str]:
    """Return the ids of events or petitions that a filter names."""
    if name == "petition":
        return {value}
    column = {"campaign": "event_campaign_id", "status": "status"}[name]
    same = joined if name == "status" else str
    return {
        row["event_id"] for row in truth.tables[table] if row[column] and same(row[column]) == same(value)
    }


def _is_in_period(date: datetime | None, name: str, value: datetime) -> bool:
    if date is None:
        return False
    value = value if date.tzinfo else value.replace(tzinfo=None)
    return date >= value if name == "since" else date < value
