"""Which JSON value fits which type, and its normal form: the form that the query casts.

The query takes only normal forms; what else fits (``7.0`` for 7, an odd spelling of a datetime) is brought
into its normal form here, and what does not fit is a `Misfit`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from osdi_frames.problems import ProblemKind
from osdi_frames.tables.schema import Type

_INT64 = range(-(2**63), 2**63)
_DIGITS = 400  # more than any number of 64 bits has
_INTEGER = re.compile(r"(-?[0-9]+)(?:\.0+)?")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_YEAR = r"(?:[1-9]\d{3}|0[1-9]\d\d|00[1-9]\d|000[1-9])"
_DAY = r"-[01]\d-[0-3]\d"
_TIME = r"[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"

#: The normal form of each type that is cast, as a pattern of its text.
NORMAL: Mapping[Type, str] = {
    "int64": r"-?\d{1,19}",
    "float64": r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?",
    # An offset can lead out of the years 1 to 9999.
    "utc": rf"(?:{_YEAR}{_DAY}{_TIME}Z|[12]\d{{3}}{_DAY}{_TIME}[+-](?:0\d|1[0-4]):[0-5]\d)",
    "local": rf"{_YEAR}{_DAY}{_TIME}Z?",
}


class Misfit(Exception):
    """A value that does not fit."""

    def __init__(self, kind: ProblemKind) -> None:
        super().__init__(kind)
        self.kind = kind


def _text(value: Any) -> Any:
    if isinstance(value, dict | list):
        raise Misfit(ProblemKind.NO_TEXT)
    return value  # the query gives the text of a number


def _bool(value: Any) -> str:
    if value is True or value == "true":
        return "true"
    if value is False or value == "false":
        return "false"
    raise Misfit(ProblemKind.NO_BOOLEAN)


def _integer(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    match = None if isinstance(value, bool | float) else _INTEGER.fullmatch(str(value))
    if match is None:
        raise Misfit(ProblemKind.NO_INTEGER)
    if len(match[1]) > _DIGITS or int(match[1]) not in _INT64:
        raise Misfit(ProblemKind.LARGE_INTEGER)
    return str(int(match[1]))


def _number(value: Any) -> str:
    text = str(value)
    if isinstance(value, bool | dict | list) or not _NUMBER.fullmatch(text):
        raise Misfit(ProblemKind.NO_NUMBER)
    if abs(number := float(text)) == float("inf"):
        raise Misfit(ProblemKind.LARGE_NUMBER)
    return repr(number)


def _datetime(value: Any) -> datetime:
    # ISO 8601 in its extended form only: the basic one is a number to everyone else.
    if not isinstance(value, str) or not _DATE.match(value):
        raise Misfit(ProblemKind.NO_DATETIME)
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise Misfit(ProblemKind.NO_DATETIME) from error


def _utc(value: Any) -> str:
    moment = _datetime(value)
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:  # an offset that leads out of the years 1 to 9999
        raise Misfit(ProblemKind.NO_DATETIME) from error
    return moment.replace(tzinfo=None).isoformat() + "Z"


def _local(value: Any) -> str:
    return _datetime(value).replace(tzinfo=None).isoformat()


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        raise Misfit(ProblemKind.NO_OBJECT)
    return value


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:nan|inf(?:inity)?)\b|-?\d[\d.]*(?:e[+-]?\d+)?', re.IGNORECASE)


def unusual_numbers(document: bytes) -> Iterator[str]:
    """Yield the numbers of a document that JSON does not have, or that have no value of 64 bits.

    >>> list(unusual_numbers(b'{"a": NaN, "NaN": [1e400, 1.5]}'))
    ['NaN', '1e400']
    """
    for token in _TOKEN.findall(document):
        if not token.startswith(b'"') and not abs(float(token)) < float("inf"):
            yield token.decode()


#: Bring a value of JSON into the normal form of each type; `Misfit` when it does not fit.
FIT: Mapping[Type, Callable[[Any], Any]] = {
    "string": _text,
    "bool": _bool,
    "int64": _integer,
    "float64": _number,
    "utc": _utc,
    "local": _local,
    "json": _object,
}
