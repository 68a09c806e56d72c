"""Rows of a frame with the columns of `read_events`, written as events: all are planned first, then sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from osdi_frames.client.answers import Answer
from osdi_frames.client.proof import row_id
from osdi_frames.client.writing import Writer
from osdi_frames.errors import InvalidField, KeyRefused, OsdiError, ServiceUnreachable, UnknownColumn
from osdi_frames.frames import as_frame
from osdi_frames.messages import nearest, quoted
from osdi_frames.progress import bar
from osdi_frames.tables import fields
from osdi_frames.tables.events import EVENTS

#: The columns whose values are sent, and the field of each; all others of the table are the service's own.
_FIELDS = [
    field.name for field in fields.FIELDS_OF_EVENTS if "v2" in field.set_by and field.kind != "location"
]
_PLACES = {
    "location_address" if field.name == "address_lines" else f"location_{field.name}": field.name
    for field in fields.LOCATION_FIELDS
    if field.set_by
}


@dataclass(slots=True)
class _PlannedRow:
    """A row's body to send, or the error that refuses it."""

    event_id: str | None
    body: dict[str, Any] | None = None
    error: str | None = None


def write_rows(
    frame: pd.DataFrame,
    writer: Writer,
    send: Callable[[str | None, dict[str, Any]], Answer],
    *,
    dry_run: bool,
    progress: bool | None,
) -> pd.DataFrame:
    """Write each row as an event; return one result each, with the index of the frame.

    `send` takes the id of an event, None for a new one, and its fields. A row that is refused does not keep the others
    from being sent; a service that cannot be reached does, and so does a key that is refused.
    """
    frame = _checked(frame, new=writer.is_new)
    planned = [_planned(row, writer) for row in frame.to_dict("records")]
    _refuse_repeated_identifiers(planned, frame.index, writer)
    results: list[tuple[str | None, str, str | None, str | None]] = []
    stopped = dry_run
    with bar("sending", progress, unit="event", total=len(frame)) as shown:
        for row in planned:
            status = "refused" if row.body is None else "not sent"
            if row.body is not None and not stopped:
                try:
                    answer = send(row.event_id, row.body)
                    row.event_id = row.event_id or row_id(answer.body, writer.prefixes)
                    status = "created" if writer.is_new else "updated"
                except OsdiError as error:
                    status, row.error = "failed", str(error)
                    stopped = isinstance(error, ServiceUnreachable | KeyRefused)
            text = None if row.body is None else json.dumps(row.body, ensure_ascii=False)
            results.append((row.event_id, status, text, row.error))
            shown.update()
    columns = ["event_id", "status", "sent", "error"]
    return pd.DataFrame(results, columns=columns, index=frame.index).astype("str")


def _planned(row: dict[Any, Any], writer: Writer) -> _PlannedRow:
    """Return what is to be sent of a row, or why nothing is."""
    planned = _PlannedRow(None if writer.is_new else row["event_id"])
    try:
        if not writer.is_new:
            if not isinstance(planned.event_id, str):
                raise InvalidField("event_id is missing: which event to change is not known")
            writer.bare(planned.event_id)
        planned.body = writer.event(event_of(row, prefixes=writer.prefixes))
    except OsdiError as error:
        planned.error = str(error)
    return planned


def _refuse_repeated_identifiers(
    planned: Iterable[_PlannedRow], index: pd.Index[Any], writer: Writer
) -> None:
    """Refuse a row with an identifier of an earlier row's event: identifiers are unique (interface 2.1)."""
    owners: dict[str, tuple[Any, Any]] = {}
    for number, (row, label) in enumerate(zip(planned, index, strict=True)):
        event = writer.bare(row.event_id) if row.event_id and row.body else number
        for identifier in (row.body or {}).get("identifiers", ()):
            owner, at = owners.setdefault(identifier, (event, label))
            if owner != event:
                row.error = (
                    f"the identifier {quoted(identifier)} is that of the row {quoted(at)}, too; it is unique"
                )
                row.body = None
                break


def event_of(row: Mapping[Any, Any], *, prefixes: Iterable[str]) -> dict[str, Any]:
    """Return the fields of an event that a row sets; what is missing (NaN, NaT, None) is left out.

    >>> event_of({"title": "Picnic", "name": float("nan"), "location_address": "1 Elm St"}, prefixes=["platform"])
    {'title': 'Picnic', 'location': {'address_lines': ['1 Elm St']}}
    """
    given = {name: plain for name, value in row.items() if (plain := _plain(value)) is not None}
    # The service's own identifier comes from the service, and is another one for an event that is created.
    own = tuple(f"{prefix}:" for prefix in prefixes)
    foreign = given.pop("identifiers", [])
    if isinstance(foreign, list):
        foreign = [text for text in foreign if not str(text).startswith(own)]
    given |= {"identifiers": foreign} if foreign else {}
    place = {field: given[column] for column, field in _PLACES.items() if column in given}
    if "address_lines" in place:
        place["address_lines"] = [place["address_lines"]]
    event = {name: given[name] for name in _FIELDS if name in given}
    return event | ({"location": place} if place else {})


def _plain(value: Any) -> Any:
    """Return a frame's value, None where it is missing, and a list of an array."""
    if pd.api.types.is_list_like(value) and not isinstance(value, Mapping):
        return list(value)
    return None if pd.isna(value) else value


def _checked(frame: pd.DataFrame, *, new: bool) -> pd.DataFrame:
    frame = as_frame(frame, caller="create_events" if new else "update_events")
    known = [column.name for column in EVENTS.columns]
    for name in frame.columns:
        if name not in known:
            raise UnknownColumn(f"the table events has no column {quoted(name)}; {nearest(str(name), known)}")
    if not new and "event_id" not in frame.columns:
        raise UnknownColumn("the rows have no column 'event_id', which says which event each is")
    return frame
