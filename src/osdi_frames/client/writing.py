"""What is sent to the service: the fields of an event, in the names of its version (interface 2.1, 2.8, 4, 9).

They are given as a mapping, or as rows of a frame as `read_events` gives it, written one by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pandas as pd

from osdi_frames.client.answers import Answer
from osdi_frames.client.paging import row_id
from osdi_frames.errors import (
    InvalidField,
    KeyRefused,
    MissingField,
    OsdiError,
    ServiceUnreachable,
    UneditableField,
    UnknownColumn,
    nearest,
)
from osdi_frames.progress import bar
from osdi_frames.reading.interchange import as_frame
from osdi_frames.tables import fields
from osdi_frames.tables.events import EVENTS
from osdi_frames.tables.fields import Field, Version, same

EVENT = (
    *fields.EVENT,
    same("_links", "links", ("v2", "v1")),
    *map(same, ("_embedded", "osdi:creator", "osdi:organizer")),
)

_CREATOR = "osdi:creator"

#: The columns whose values are sent, and the field of each; all others of the table are the service's own.
_FIELDS = [field.name for field in fields.EVENT if "v2" in field.set_by and field.kind != "location"]
_PLACES = {
    "location_address" if field.name == "address_lines" else f"location_{field.name}": field.name
    for field in fields.LOCATION
    if field.set_by
}


@dataclass(frozen=True, slots=True)
class FieldNames:
    """How a service words its events: the version, and its prefixes, its own first."""

    version: Version
    prefixes: tuple[str, ...]

    def sent(self, field: Field) -> str | None:
        """Return the name that this version sends a field under."""
        name = field.named(self.version)
        return name.replace("<p>", self.prefixes[0]) if name else None

    def accepted(self, field: Field) -> set[str]:
        """Return every name that a field is recognised by: of both versions, with any known prefix."""
        named = [name for name in (field.v2, field.v1) if name]
        return {name.replace("<p>", prefix) for name in named for prefix in self.prefixes}

    def required(self) -> list[str]:
        """Return the names of the fields that an event must have."""
        return [str(self.sent(field)) for field in EVENT if field.required]


def new_event(event: Mapping[str, Any], *, names: FieldNames, strict: bool) -> dict[str, Any]:
    """Write an event to be created.

    >>> v1 = FieldNames("v1", ("platform",))
    >>> new_event({"title": "Picnic", "origin_system": "Desk"}, names=v1, strict=True)
    {'summary': 'Picnic', 'originating_system': 'Desk'}
    """
    body = _Writer(names, strict, is_new=True).fields(event, EVENT)
    if missing := [name for name in names.required() if _is_empty(body.get(name))]:
        raise MissingField(f"required and missing: {', '.join(missing)}")
    return body


def changes(changed: Mapping[str, Any], *, names: FieldNames, strict: bool) -> dict[str, Any]:
    """Write the fields of an event that are to be changed."""
    body = _Writer(names, strict, is_new=False).fields(changed, EVENT)
    if not body:
        raise MissingField("there is nothing to change")
    if emptied := [name for name in body if name in names.required() and _is_empty(body[name])]:
        raise MissingField(f"required, and cannot be emptied: {', '.join(emptied)}")
    return body


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the fields of an event, or of its location, under their names in the version."""

    names: FieldNames
    strict: bool
    """What the service would ignore is refused, not left out."""
    is_new: bool
    """A new event can have links, and has nothing that could be emptied."""

    def fields(self, given: Mapping[str, Any], declared: Sequence[Field], at: str = "") -> dict[str, Any]:
        by_name = {name: field for field in declared for name in self.names.accepted(field)}
        body: dict[str, Any] = {}
        for key, value in given.items():
            field = by_name.get(key)
            name = self.names.sent(field) if field else None
            counts = field and self.names.version in field.set_by and (self.is_new or key != "_links")
            if field is None or name is None or not counts:
                if self.strict:
                    raise UneditableField(self._why_ignored(f"{at}{key}", field, by_name))
                continue
            if value is None and self.is_new:
                continue
            written = self._value(value, field.kind, f"{at}{key}")
            if field.kind == "location" and not written:
                continue  # not strict: nothing of it would count
            if name in body and body[name] != written:
                raise InvalidField(f"{at}{key} contradicts the same field under its other name")
            body[name] = written
        return body

    def _why_ignored(self, key: str, field: Field | None, known: Mapping[str, Field]) -> str:
        if field is None:
            editable = [name for name, known_field in known.items() if {"v2", "v1"} & {*known_field.set_by}]
            return f"an event has no field {key!r}; {nearest(key.rpartition('.')[2], editable)}"
        if self.names.sent(field) is None:
            return f"{key!r} does not exist in {self.names.version}"
        return f"the service ignores {key!r}: it is not editable; strict=False leaves it out"

    def _value(self, value: Any, kind: str, key: str) -> Any:
        """Return a value as JSON, if its field can hold it. None empties a text: the service ignores null."""
        if value is None and kind in ("string", "country"):
            return ""
        if value is None:
            raise InvalidField(f"{key} cannot be emptied: the service ignores null")
        match kind:
            case "local":
                return _wall_clock(value, key)
            case "location":
                place = self.fields(_object(value, key), fields.LOCATION, f"{key}.")
                if self.strict and not place:
                    raise InvalidField(f"{key} is empty: name the parts of it to set")
                return place
            case "links":
                return self._creator(_object(value, key), key)
            case "identifiers":
                texts = _texts(value, key)
                if bad := [text for text in texts if not re.match(r"[^:]*[^:\s][^:]*:.", text)]:
                    raise InvalidField(f"{key} have the form system:id, not {bad[0]!r:.80}")
                return texts
            case "lines":
                texts = _texts(value, key)  # of which the service reads the first (interface 2.2)
                if self.strict and len(texts) > 1:
                    raise UneditableField(
                        f"the service ignores {key} after the first; strict=False leaves them out"
                    )
                return texts[:1]
            case "string" | "country" if isinstance(value, str):
                return _sound(value, key)
        raise InvalidField(f"{key} is text, not {type(value).__name__}: {value!r:.80}")

    def _creator(self, links: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Keep of the links what a client can set: the creator (interface 4, rule 2)."""
        if self.strict and (others := [name for name in links if name != _CREATOR]):
            raise UneditableField(f"the service ignores {key}.{others[0]!s}; strict=False leaves it out")
        match links.get(_CREATOR):
            case None:
                return {}
            case {"href": str(href)}:
                return {_CREATOR: {"href": href}}
        raise InvalidField(f"{key}.{_CREATOR} is a link: {{'href': '…/people/<person_id>'}}")


def _wall_clock(value: Any, key: str) -> str:
    """Write a local time as the contract has it: with a Z that is not UTC (interface 2.1).

    >>> _wall_clock(datetime(2026, 5, 1, 18, 30), "start_date")
    '2026-05-01T18:30:00Z'
    """
    moment = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip().removesuffix("Z"))
        except ValueError as error:
            raise InvalidField(f"{key} is a time such as 2026-05-01T18:30:00, not {value!r:.80}") from error
    if not isinstance(moment, datetime) or moment != moment:  # NaT is no time
        hint = "; add the time" if isinstance(value, date) and moment == moment else ""
        raise InvalidField(f"{key} is a datetime, not {value!r:.80}{hint}")
    if moment.tzinfo is not None:
        raise InvalidField(
            f"{key} is the wall clock at the place of the event, and has no zone: {value!s} would be shown there as"
            f" {moment:%H:%M}; convert it to the zone of the place, then .replace(tzinfo=None)"
        )
    if moment.microsecond:
        raise InvalidField(f"{key} has whole seconds, not {value!s}")
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _object(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidField(f"{key} is a mapping, not {type(value).__name__}")
    return value


def _texts(value: Any, key: str) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidField(f"{key} is a list of text, not {type(value).__name__}")
    if not all(isinstance(text, str) for text in value):
        raise InvalidField(f"{key} is a list of text")
    return [_sound(text, key) for text in value]


def _sound(text: str, key: str) -> str:
    """Refuse text that no UTF-8 can hold, such as half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidField(f"{key} holds a character that is none: {error.reason}") from error
    return text


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def write_rows(
    frame: pd.DataFrame,
    *,
    names: FieldNames,
    send: Callable[[str | None, dict[str, Any]], Answer],
    new: bool,
    dry_run: bool,
    progress: bool | None,
) -> pd.DataFrame:
    """Write each row as a new event or as a change, and return one result for each, with the index of the frame.

    `send` takes the id of an event, None for a new one, with its fields. A row that is refused does not keep the
    others from being sent; a service that cannot be reached does, and so does a key that is refused.
    """
    frame = as_frame(frame, caller="create_events" if new else "update_events")
    _check_columns(frame, new=new)
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
                    answer = send(event_id, body)
                    event_id = event_id or row_id(answer.body, names.prefixes)
                    status = "created" if new else "updated"
            except OsdiError as error:
                why = str(error)
                stopped = stopped or isinstance(error, ServiceUnreachable | KeyRefused)
            results.append((event_id, status, text, why))
            sent.update()
    found = pd.DataFrame(results, columns=["event_id", "status", "sent", "error"], index=frame.index)
    return found.astype("str")


def event_of(row: Mapping[str, Any], *, prefixes: Iterable[str]) -> dict[str, Any]:
    """Return the fields of an event that a row sets; what is missing (NaN, NaT, None) is left out.

    >>> event_of({"title": "Picnic", "name": float("nan"), "location_address": "1 Elm St"}, prefixes=["platform"])
    {'title': 'Picnic', 'location': {'address_lines': ['1 Elm St']}}
    """
    given = {name: value for name, value in row.items() if isinstance(value, list) or not pd.isna(value)}
    # The service's own identifier comes from the service, and is another one for an event that is created.
    own = tuple(f"{prefix}:" for prefix in prefixes)
    foreign = [text for text in given.pop("identifiers", ()) if not str(text).startswith(own)]
    given |= {"identifiers": foreign} if foreign else {}
    place = {field: given[column] for column, field in _PLACES.items() if column in given}
    if "address_lines" in place:
        place["address_lines"] = [place["address_lines"]]
    event = {name: given[name] for name in _FIELDS if name in given}
    return event | ({"location": place} if place else {})


def _check_columns(frame: pd.DataFrame, *, new: bool) -> None:
    known = [column.name for column in EVENTS.columns]
    for name in frame.columns:
        if name not in known:
            raise UnknownColumn(f"the table events has no column {name!r}; {nearest(str(name), known)}")
    if not new and "event_id" not in frame.columns:
        raise UnknownColumn("the rows have no column 'event_id', which says which event each is")


def _id_in(row: Mapping[str, Any]) -> str:
    event_id = row["event_id"]
    if not isinstance(event_id, str) or not event_id:
        raise InvalidField("event_id is missing: which event to change is not known")
    return event_id
