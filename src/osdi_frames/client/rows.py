"""Back from the frame: rows as `read_events` gives them, written to the service one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from osdi_frames.client.writing import FieldNames, changes, new_event
from osdi_frames.errors import InvalidField, KeyRefused, OsdiError, ServiceUnreachable, UnknownColumn, nearest
from osdi_frames.progress import bar
from osdi_frames.tables.events import EVENTS
from osdi_frames.tables.fields import EVENT, LOCATION

#: The columns whose values are sent, and the field of each; all others of the table are the service's own.
_FIELDS = [field.name for field in EVENT if "v2" in field.set_by and field.kind != "location"]
_PLACES = {
    "location_address" if field.name == "address_lines" else f"location_{field.name}": field.name
    for field in LOCATION
    if field.set_by
}


def event_of(row: Mapping[str, Any], *, prefixes: Iterable[str]) -> dict[str, Any]:
    """Return the fields of an event that a row sets; what is missing (NaN, NaT, None) is left out.

    >>> event_of({"title": "Picnic", "name": float("nan"), "location_address": "1 Elm St"}, prefixes=["platform"])
    {'title': 'Picnic', 'location': {'address_lines': ['1 Elm St']}}
    """
    given = {name: value for name, value in row.items() if isinstance(value, list) or not pd.isna(value)}
    event = {name: given[name] for name in _FIELDS if name in given}
    if "identifiers" in event:
        # The service's own comes from the service, and is another one for an event that is created.
        heads = tuple(f"{prefix}:" for prefix in prefixes)
        event["identifiers"] = [
            identifier for identifier in event["identifiers"] if not str(identifier).startswith(heads)
        ]
        if not event["identifiers"]:
            del event["identifiers"]
    place = {field: given[column] for column, field in _PLACES.items() if column in given}
    if "address_lines" in place:
        place["address_lines"] = [place["address_lines"]]
    return event | ({"location": place} if place else {})


def check_columns(frame: pd.DataFrame, *, new: bool) -> None:
    """Refuse a frame with columns that the table `events` does not have, or one of changes without `event_id`.

    Raises
    ------
    UnknownColumn
        With the names that are nearest.
    """
    known = [column.name for column in EVENTS.columns]
    for name in frame.columns:
        if name not in known:
            raise UnknownColumn(f"the table events has no column {name!r}; {nearest(str(name), known)}")
    if not new and "event_id" not in frame.columns:
        raise UnknownColumn("the rows have no column 'event_id', which says which event each is")


def write_rows(
    frame: pd.DataFrame,
    *,
    names: FieldNames,
    new: bool,
    send: Callable[[str | None, dict[str, Any]], str | None],
    dry_run: bool,
    progress: bool | None,
) -> pd.DataFrame:
    """Write each row as a new event or as a change, and return one result for each, with the index of the frame.

    `send` takes the id of an event, None for a new one, with its fields, and returns the id. A row that is refused does
    not keep the others from being sent; a service that cannot be reached does, and so does a key that is refused.
    """
    write = new_event if new else changes
    results: list[tuple[str | None, str, str | None, str | None]] = []
    stopped = dry_run
    with bar("sending", progress, unit="event", total=len(frame)) as sent:
        for record in frame.to_dict("records"):
            row = {str(name): value for name, value in record.items()}
            event_id, text, status, why = None, None, "refused", None
            try:
                event_id = None if new else _id_in(row)
                body = write(event_of(row, prefixes=names.prefixes), names=names, strict=True)
                text = json.dumps(body, ensure_ascii=False)
                status = "not sent" if stopped else "failed"
                if not stopped:
                    event_id = send(event_id, body)
                    status = "created" if new else "updated"
            except OsdiError as error:
                why = str(error)
                stopped = stopped or isinstance(error, ServiceUnreachable | KeyRefused)
            results.append((event_id, status, text, why))
            sent.update()
    found = pd.DataFrame(results, columns=["event_id", "status", "sent", "error"], index=frame.index)
    return found.astype("str")


def _id_in(row: Mapping[str, Any]) -> str:
    event_id = row["event_id"]
    if not isinstance(event_id, str) or not event_id:
        raise InvalidField("event_id is missing: which event to change is not known")
    return event_id
