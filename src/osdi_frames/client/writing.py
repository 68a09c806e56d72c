"""Events as they are sent to the service, in the field names of the client's version (interface 2.1, 2.8, 4, 9)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pandas as pd

from osdi_frames.client.address import segment
from osdi_frames.errors import InvalidField
from osdi_frames.messages import nearest, quoted, shorten
from osdi_frames.tables import fields
from osdi_frames.tables.fields import VERSIONS, Field, Version, same
from osdi_frames.tables.schema import spelled

EVENT_FIELDS = (*fields.FIELDS_OF_EVENTS, same("_links", "links", VERSIONS))

_CREATOR = "osdi:creator"
_COUNTRY = re.compile("[A-Za-z]{2}")  # interface 2.2
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which no UTF-8 can hold

#: What the value of a field is, by its kind; of all others it is a mapping.
_FORMS = {
    "string": "text",
    "country": "a code of two letters",
    "identifiers": "a list of text",
    "lines": "a list of text",
}


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes events in the field names of a version, with the first of the service's prefixes.

    What the service would ignore is refused if `strict`, else left out. A new event can have links, and has nothing
    that could be emptied.

    >>> Writer("v1", ("platform",), is_new=True).event({"title": "Picnic", "origin_system": "Desk"})
    {'summary': 'Picnic', 'originating_system': 'Desk'}
    """

    version: Version
    prefixes: tuple[str, ...]
    strict: bool = True
    is_new: bool = False

    def event(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Write a new event, or changed fields of one."""
        body = self._fields(given, EVENT_FIELDS)
        required = [str(self._sent(field)) for field in EVENT_FIELDS if field.required]
        asked = required if self.is_new else [name for name in required if name in body]
        empty = [name for name in asked if not (body.get(name) or "").strip()]
        if empty := empty + self._lacking(body.get("location")):
            raise InvalidField(f"required, and missing or empty: {', '.join(empty)}")
        if not body:
            raise InvalidField("there is nothing to change")
        return body

    def accepted(self, field: Field) -> tuple[str, ...]:
        """Return the names of a field in both versions, with each known prefix."""
        return spelled(filter(None, (field.v2, field.v1)), self.prefixes)

    def bare(self, event_id: str) -> str:
        """Return an id without the service's prefix; `BadAddress` where it is none."""
        system, _, bare = event_id.partition(":")
        found = bare if system in self.prefixes and bare else event_id
        segment(found)
        return found

    def _lacking(self, location: Mapping[str, Any] | None) -> list[str]:
        """Return the fields of a location that v1 requires and that are missing (interface 2.8)."""
        is_complete = not location or location.get("postal_code", "" if self.is_new else "stays").strip()
        return [] if self.version != "v1" or is_complete else ["location.postal_code"]

    def _sent(self, field: Field) -> str | None:
        name = field.named(self.version)
        return name.replace("<p>", self.prefixes[0]) if name else None

    def _fields(self, given: Mapping[str, Any], declared: Sequence[Field], at: str = "") -> dict[str, Any]:
        by_name = {name: field for field in declared for name in self.accepted(field)}
        body: dict[str, Any] = {}
        for key, value in given.items():
            field, place = by_name.get(key), shorten(f"{at}{key}")
            name = self._sent(field) if field else None
            counts = field and self.version in field.set_by and (self.is_new or key != "_links")
            if field is None or name is None or not counts:
                if self.strict:
                    raise InvalidField(self._why_ignored(place, field, by_name))
                continue
            if value is None and self.is_new:
                continue
            written = self._value(value, field.kind, place)
            if field.kind == "location" and not written:
                continue  # not strict: nothing of it would count
            if body.setdefault(name, written) != written:
                raise InvalidField(f"{place} contradicts the same field under its other name")
        return body

    def _why_ignored(self, key: str, field: Field | None, known: Mapping[str, Field]) -> str:
        if field is None:
            editable = [name for name, known_field in known.items() if {*VERSIONS} & {*known_field.set_by}]
            return f"an event has no field {quoted(key)}; {nearest(key.rpartition('.')[2], editable)}"
        if self._sent(field) is None:
            return f"{quoted(key)} does not exist in {self.version}"
        return f"the service ignores {quoted(key)}: it is not editable; strict=False leaves it out"

    def _value(self, value: Any, kind: str, key: str) -> Any:
        """Return a value as JSON; `InvalidField` where its field cannot hold it.

        None empties a text: the service ignores null.
        """
        if value is None and kind == "string":
            return ""
        if value is None:
            raise InvalidField(f"{key} cannot be emptied: the service ignores null")
        match kind, value:
            case "local", _:
                return _wall_clock(value, key)
            case "location", Mapping():
                place = self._fields(value, fields.LOCATION_FIELDS, f"{key}.")
                if self.strict and not place:
                    raise InvalidField(f"{key} is empty: name the parts of it to set")
                return place
            case "links", Mapping():
                return self._creator(value, key)
            case "identifiers", [*texts] if all(map(_is_text, texts)):
                if bad := [text for text in texts if not all(map(_is_seen, text.partition(":")))]:
                    raise InvalidField(f"{key} have the form system:id, not {quoted(bad[0])}")
                return texts
            case "lines", [*texts] if all(
                map(_is_text, texts)
            ):  # the service reads the first (interface 2.2)
                if self.strict and len(texts) > 1:
                    why = f"the service ignores {key} after the first; strict=False leaves them out"
                    raise InvalidField(why)
                return texts[:1]
            case "country", str() if _COUNTRY.fullmatch(value):
                return value
            case "string", _ if _is_text(value):
                return value
        raise InvalidField(f"{key} is {_FORMS.get(kind, 'a mapping')}, and cannot hold {quoted(value)}")

    def _creator(self, links: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Return the link to the creator, the only one that a client can set (interface 4, rule 2)."""
        if self.strict and (others := [name for name in links if name != _CREATOR]):
            raise InvalidField(
                f"the service ignores {key}.{shorten(str(others[0]))}; strict=False leaves it out"
            )
        match links.get(_CREATOR):
            case None:
                return {}
            case {"href": str(href)}:
                return {_CREATOR: {"href": href}}
        raise InvalidField(f"{key}.{_CREATOR} is a link: {{'href': '…/people/<person_id>'}}")


def _wall_clock(value: Any, key: str) -> str:
    """Return a local time as the contract writes it, with a Z that is not UTC (interface 2.1).

    >>> _wall_clock(datetime(2026, 5, 1, 18, 30), "start_date")
    '2026-05-01T18:30:00Z'
    """
    moment = value
    if isinstance(value, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value.strip().removesuffix("Z"))
    if not isinstance(moment, datetime) or pd.isna(moment) or moment.microsecond:
        raise InvalidField(
            f"{key} is a time in whole seconds such as 2026-05-01T18:30:00, not {quoted(value)}"
        )
    if moment.tzinfo is not None:
        raise InvalidField(
            f"{key} is the wall clock at the place of the event, and has no zone: {shorten(str(value))} would be shown"
            f" there as {moment:%H:%M}; convert it to the zone of the place, then .replace(tzinfo=None)"
        )
    return f"{moment.isoformat(timespec='seconds')}Z"


def _is_seen(text: str) -> bool:
    """Return whether a text has visible characters."""
    return any(sign.isprintable() and not sign.isspace() for sign in text)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not _SURROGATE.search(value)
