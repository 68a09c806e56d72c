"""Bytes of a request to a JSON object, and JSON values to the shapes that the contract gives them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from osdi_frames.sandbox.refusals import refuse

# A shape is str, bool, int or float; [shape] for an array; {name: shape} for an object;
# {str: shape} for an object with any names; or a function from a value to what is kept of it.
Shape = Any

# json.dumps writes NUL as an escape, as it does a backslash before the letters "u0000"
_NOT_TEXT = re.compile("[\ud800-\udfff\ufdd0-\ufdef]|" + r"(?<!\\)(?:\\\\)*\\u0000")


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse the body of a request, which must be a JSON object of interchangeable text."""
    try:
        parsed = json.loads(body)
        text = json.dumps(parsed, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise refuse("json", why=str(error)[:100]) from error
    if not isinstance(parsed, dict):
        raise refuse("object")
    if _NOT_TEXT.search(text):
        raise refuse("characters")
    return parsed


def conform(value: object, shape: Shape) -> Any:
    """Return what of `value` has `shape`; None where nothing has: invalid entries are ignored (interface 4, rule 1).

    >>> conform({"title": "Picnic", "capacity": "lots", "colour": "red"}, {"title": str, "capacity": int})
    {'title': 'Picnic'}
    """
    if isinstance(shape, list):
        if not isinstance(value, list):
            return None
        return [kept for entry in value if (kept := conform(entry, shape[0])) is not None]
    if isinstance(shape, dict):
        if not isinstance(value, Mapping):
            return None
        named = dict.fromkeys(value, shape[str]) if str in shape else shape
        found = {name: conform(value[name], inner) for name, inner in named.items() if name in value}
        return {name: kept for name, kept in found.items() if kept is not None}
    if shape is float and type(value) is int:
        return float(value) if abs(value) < 2**53 else None
    if isinstance(shape, type):
        return value if type(value) is shape else None
    return shape(value)


def identifier(value: object) -> str | None:
    """Keep text of the form ``[system name]:[id]`` (interface 2.1)."""
    if not isinstance(value, str):
        return None
    system, colon, name = value.partition(":")
    return value if system.strip() and colon and name.strip() else None


def country(value: object) -> str | None:
    """Keep an ISO 3166-1 alpha-2 code, in capitals (interface 2.2)."""
    return value.upper() if isinstance(value, str) and re.fullmatch("[A-Za-z]{2}", value) else None


def utc(text: str) -> str | None:
    """Write a moment in UTC, as which one without an offset is taken; None where it is no moment of the calendar."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return None


def wall_clock(text: str) -> str | None:
    """Keep a date and time as the wall clock that it shows, written with ``Z`` (interface 2.1).

    Start and end are local to the event's place: an offset is no reason to shift them, and is dropped.

    >>> wall_clock("2026-03-01T18:30:00-05:00")
    '2026-03-01T18:30:00Z'
    """
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None, microsecond=0).isoformat() + "Z"
    except ValueError:
        return None


def timestamp(value: object) -> str | None:
    """Keep a wall clock whose date and time are written as ISO 8601 does, with a ``T`` between them (interface 2)."""
    return wall_clock(value) if isinstance(value, str) and value[10:11] in ("", "T", "t") else None
