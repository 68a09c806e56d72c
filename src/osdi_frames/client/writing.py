"""What is sent to the service: the fields of an event, in the names of its version (interface 2.1, 2.8, 4, 9)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

from osdi_frames.errors import InvalidField, MissingField, UneditableField, nearest
from osdi_frames.tables import fields
from osdi_frames.tables.fields import Field, Version, same

Kind = Literal["text", "country", "wall clock", "identifiers", "lines", "location", "links"]

_WALL_CLOCK = "%Y-%m-%dT%H:%M:%SZ"

EVENT = (
    *fields.EVENT,
    same("_links", "links", ("v2", "v1")),
    *map(same, ("_embedded", "osdi:creator", "osdi:organizer")),
)

_CREATOR = "osdi:creator"


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


def new_event(event: Mapping[str, Any], *, names: FieldNames, strict: bool) -> dict[str, Any]:
    """Write an event to be created.

    >>> v1 = FieldNames("v1", ("platform",))
    >>> new_event({"title": "Picnic", "origin_system": "Desk"}, names=v1, strict=True)
    {'summary': 'Picnic', 'originating_system': 'Desk'}

    Raises
    ------
    UneditableField, MissingField, InvalidField
    """
    body = _written(event, EVENT, names=names, strict=strict, at="", links=True)
    required = [str(names.sent(field)) for field in EVENT if field.required]
    missing = [name for name in required if _is_empty(body.get(name))]
    if missing:
        raise MissingField(f"required and missing: {', '.join(missing)}")
    return body


def changes(changed: Mapping[str, Any], *, names: FieldNames, strict: bool) -> dict[str, Any]:
    """Write the fields of an event that are to be changed.

    Raises
    ------
    UneditableField, InvalidField, MissingField
        Nothing is left to be changed, or a required field would be emptied.
    """
    body = _written(changed, EVENT, names=names, strict=strict, at="", links=False)
    if not body:
        raise MissingField("there is nothing to change")
    required = {names.sent(field) for field in EVENT if field.required}
    if emptied := [name for name in body if name in required and _is_empty(body[name])]:
        raise MissingField(f"required, and cannot be emptied: {', '.join(emptied)}")
    return body


def _written(
    given: Mapping[str, Any],
    declared: Sequence[Field],
    *,
    names: FieldNames,
    strict: bool,
    at: str,
    links: bool,
) -> dict[str, Any]:
    """Write fields under their names in the version; those that the service would ignore are refused, or left out."""
    by_name = {name: field for field in declared for name in names.accepted(field)}
    body: dict[str, Any] = {}
    for key, value in given.items():
        field = by_name.get(key)
        name = names.sent(field) if field else None
        counts = field and names.version in field.set_by and (links or key != "_links")
        if field is None or name is None or not counts:
            if strict:
                raise UneditableField(_why_ignored(f"{at}{key}", field, names, by_name))
            continue
        if value is None and links:
            continue  # a new event has nothing that could be emptied
        fitted = _fitted(value, field.kind, f"{at}{key}", names=names, strict=strict, links=links)
        if field.kind == "location" and not fitted:
            continue  # not strict: nothing of it would count
        if name in body and body[name] != fitted:
            raise InvalidField(f"{at}{key} contradicts the same field under its other name")
        body[name] = fitted
    return body


def _why_ignored(key: str, field: Field | None, names: FieldNames, known: Mapping[str, Field]) -> str:
    if field is None:
        editable = [name for name, known_field in known.items() if {"v2", "v1"} & {*known_field.set_by}]
        return f"an event has no field {key!r}; {nearest(key.rpartition('.')[2], editable)}"
    if names.sent(field) is None:
        return f"{key!r} does not exist in {names.version}"
    return f"the service ignores {key!r}: it is not editable; strict=False leaves it out"


def _fitted(value: Any, kind: Kind, key: str, *, names: FieldNames, strict: bool, links: bool) -> Any:
    """Return a value as JSON, if its field can hold it. None empties a text: the service ignores null."""
    if value is None and kind in ("text", "country"):
        return ""
    if value is None:
        raise InvalidField(f"{key} cannot be emptied: the service ignores null")
    match kind:
        case "wall clock":
            return _wall_clock(value, key)
        case "location":
            place = _written(
                _object(value, key), fields.LOCATION, names=names, strict=strict, at=f"{key}.", links=links
            )
            if strict and not place:
                raise InvalidField(f"{key} is empty: name the parts of it to set")
            return place
        case "links":
            return _creator(_object(value, key), key, strict=strict)
        case "identifiers":
            texts = _texts(value, key)
            if bad := [text for text in texts if not re.match(r"[^:]*[^:\s][^:]*:.", text)]:
                raise InvalidField(f"{key} have the form system:id, not {bad[0]!r:.80}")
            return texts
        case "lines":
            texts = _texts(value, key)  # of which the service reads the first (interface 2.2)
            if strict and len(texts) > 1:
                raise UneditableField(
                    f"the service ignores {key} after the first; strict=False leaves them out"
                )
            return texts[:1]
        case "text" | "country" if isinstance(value, str):
            return _sound(value, key)
    raise InvalidField(f"{key} is text, not {type(value).__name__}: {value!r:.80}")


def _texts(value: Any, key: str) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidField(f"{key} is a list of text, not {type(value).__name__}")
    if not all(isinstance(text, str) for text in value):
        raise InvalidField(f"{key} is a list of text")
    return [_sound(text, key) for text in value]


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
    return moment.strftime(_WALL_CLOCK)


def _creator(links: Mapping[str, Any], key: str, *, strict: bool) -> dict[str, Any]:
    """Keep of the links what a client can set: the creator (interface 4, rule 2)."""
    if strict and (others := [name for name in links if name != _CREATOR]):
        raise UneditableField(f"the service ignores {key}.{others[0]!s}; strict=False leaves it out")
    creator = links.get(_CREATOR)
    if creator is not None and not (isinstance(creator, Mapping) and isinstance(creator.get("href"), str)):
        raise InvalidField(f"{key}.{_CREATOR} is a link: {{'href': '…/people/<person_id>'}}")
    return {_CREATOR: {"href": creator["href"]}} if creator else {}


def _object(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidField(f"{key} is a mapping, not {type(value).__name__}")
    return value


def _sound(text: str, key: str) -> str:
    """Refuse text that no UTF-8 can hold, such as half of a surrogate pair."""
    try:
        json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InvalidField(f"{key} holds a character that is none: {error.reason}") from error
    return text


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
