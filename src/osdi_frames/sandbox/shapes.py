"""Shapes of the values in bodies."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from osdi_frames.tables.act import REFERRER_DATA as REFERRER_COLUMNS
from osdi_frames.tables.fields import LOCATION_FIELDS

# A shape is str, bool, int or float; a tuple of the values that there are; [shape] for an array; {name: shape} for an
# object; {str: shape} for one with any names; a function from a value to what is kept of it; or the name of one.
Shape = Any


def conform(value: object, shape: Shape, *, lenient: bool = False) -> Any:
    """Return what of a value has a shape, or None.

    Invalid entries are ignored (interface 4, rule 1). With `lenient`, a single entry stands for a list, text for an
    object that has a name alone, a number for its text.

    >>> conform({"title": "Picnic", "capacity": "lots", "colour": "red"}, {"title": str, "capacity": int})
    {'title': 'Picnic'}
    >>> conform("The council", [{"name": str}], lenient=True)
    [{'name': 'The council'}]
    """
    if isinstance(shape, str):
        shape = (_LENIENT_SHAPES if lenient else _SHAPES)[shape]
    if isinstance(shape, list):
        return _conform_entries(value, shape[0], lenient=lenient)
    if isinstance(shape, dict):
        if lenient and isinstance(value, str) and list(shape) == ["name"]:
            value = {"name": value}
        return _conform_object(value, shape, lenient=lenient) if isinstance(value, Mapping) else None
    if isinstance(shape, tuple):
        return value if value in shape else None
    if shape is float and type(value) is int:
        return float(value) if abs(value) < 2**53 else None
    if lenient and shape is str and type(value) in (int, float):
        return str(value)
    if isinstance(shape, type):
        return value if type(value) is shape else None
    return shape(value)


def _conform_entries(value: object, shape: Shape, *, lenient: bool) -> list[Any] | None:
    if isinstance(value, list):
        return [kept for entry in value if (kept := conform(entry, shape, lenient=lenient)) is not None]
    single = conform(value, shape, lenient=True) if lenient else None
    return None if single is None else [single]


def _conform_object(value: Mapping[str, Any], shape: Shape, *, lenient: bool) -> dict[str, Any]:
    shapes = dict.fromkeys(value, shape[str]) if str in shape else shape
    found = {name: conform(value[name], shapes[name], lenient=lenient) for name in shapes if name in value}
    return {name: kept for name, kept in found.items() if kept is not None}


def identifier(value: object) -> str | None:
    """Keep text of the form ``[system name]:[id]`` (interface 2.1)."""
    system, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    return str(value) if system.strip() and name.strip() else None


def amount(value: object) -> str | None:
    """Keep an amount of up to nine digits, as text with two decimals.

    >>> amount("12.5"), amount(7), amount("12.505"), amount("lots")
    ('12.50', '7.00', None, None)
    """
    written = str(value) if type(value) in (str, int, float) else ""
    match = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,2}))?", written)
    return f"{int(match[1])}.{match[2] or '':0<2}" if match else None


def country(value: object) -> str | None:
    """Keep an ISO 3166-1 alpha-2 code, in capitals (interface 2.2)."""
    return value.upper() if isinstance(value, str) and re.fullmatch("[A-Za-z]{2}", value) else None


def wall_clock(value: Any) -> str | None:
    """Keep the wall clock of a date and time, which is local to the place and written with ``Z`` (interface 2.1).

    >>> wall_clock("2026-03-01T18:30:00-05:00")
    '2026-03-01T18:30:00Z'
    """
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None, microsecond=0).isoformat() + "Z"
    except (TypeError, ValueError):
        return None


def timestamp(value: object) -> str | None:
    """Keep a wall clock with a ``T`` before its time (interface 2)."""
    return wall_clock(value) if isinstance(value, str) and value[10:11] in ("", "T", "t") else None


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, str)


_SHAPES: dict[str, Shape] = {
    "string": str,
    "utc": str,
    "bool": bool,
    "int64": int,
    "list": list,
    "object": dict,
    "lines": [str],
    "identifiers": [identifier],
    "local": timestamp,
    "country": country,
    "location": {field.name: field.kind for field in LOCATION_FIELDS if field.set_by},
}
_LENIENT_SHAPES = _SHAPES | {"local": wall_clock}

REFERRER_DATA: Shape = _texts(*(column.name for column in REFERRER_COLUMNS))
_PLACE = _texts("locality", "region", "postal_code", "country", "language")
_POINT = {"latitude": float, "longitude": float, "accuracy": str}
PERSON: Shape = {
    "identifiers": [identifier],
    **_texts("given_name", "family_name"),
    "email_addresses": [{"primary": bool, **_texts("address", "status")}],
    "phone_numbers": [{"primary": bool, **_texts("number", "number_type", "status")}],
    "postal_addresses": [{"primary": bool, "address_lines": [str], **_PLACE, "location": _POINT}],
    "languages_spoken": [str],
    "custom_fields": {str: str},
}
# What a helper's body has besides the fields of what it records (interface 2.7): who acts, and tags for that person.
HELPER: Shape = {"person": PERSON, "add_tags": [str], "remove_tags": [str]}
