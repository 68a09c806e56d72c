"""Which JSON value fits which type, and its normal form: the form that the query casts.

Columns are cast from normal forms only; what else fits (``7.0`` for 7, an odd spelling of a datetime) is brought
into its normal form here, and what does not fit is a `Misfit`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.arrays import Mask, cast, entries, starts, true, valid
from osdi_frames.problems import ProblemKind
from osdi_frames.tables.arrow import ARROW
from osdi_frames.tables.schema import Type

_INT64 = range(-(2**63), 2**63)
_DIGITS = 400  # more than any number of 64 bits has
_INTEGER = re.compile(r"(-?[0-9]+)(?:\.0+)?")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

#: The normal form of types as a pattern of a text, or of its end; what is more is left to the cast.
_NORMAL: Mapping[Type, str] = {
    "int64": r"^-?\d{1,19}$",
    "float64": r"^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$",
    # An offset can lead out of the years 1 to 9999.
    "utc": r"Z$|^[12].*[+-](?:0\d|1[0-4]):[0-5]\d$",
    "local": r"\d$|\dZ$",
}

_FIRST = pa.scalar(datetime(1, 1, 1, tzinfo=UTC), ARROW["utc"])
_LAST = pa.scalar(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), ARROW["utc"])


def normal(kind: Type, texts: pa.Array) -> tuple[pa.Array, Mask]:
    """Return the values of texts in the normal form of a type, and which are, or null.

    A text may have been an object or a list. Of other texts there is no value; nor is there one of numbers that
    64 bits do not hold, and of days that are not in the calendar.
    """
    match kind:
        case "string":
            return texts, ~starts(texts, "{", "[")
        case "json":
            return texts, ~valid(texts) | starts(texts, "{")
        case "list<string>":
            found, owners = entries(texts)
            fits = np.ones(len(texts), bool)
            fits[owners[~valid(found) | starts(found, "{", "[")]] = False
            return texts, fits
        case "bool":
            fits = ~valid(texts) | true(pc.is_in(texts, value_set=pa.array(["true", "false"])))
            return pc.equal(texts, "true"), fits
    plain = kind == "utc" and pc.all(pc.ends_with(texts, "Z")).as_py()  # quicker than the pattern
    fits = ~valid(texts) | (True if plain else true(pc.match_substring_regex(texts, _NORMAL[kind])))
    values = _values(kind, texts if fits.all() else pc.if_else(fits, texts, None))
    return values, fits & (valid(values) | ~valid(texts))


def _values(kind: Type, texts: pa.Array) -> pa.Array:
    if kind == "local" and pc.any(ends := pc.ends_with(texts, "Z")).as_py():
        texts = pc.if_else(ends, pc.utf8_slice_codeunits(texts, 0, -1), texts)
    values = cast(texts, ARROW[kind])
    if kind == "int64":
        return values
    if kind == "float64":
        within = pc.is_finite(values)
    else:
        first, last = (end.cast(values.type) for end in (_FIRST, _LAST))
        within = pc.and_(pc.less_equal(first, values), pc.less_equal(values, last))
    return values if pc.all(within).as_py() else pc.if_else(within, values, None)


class Misfit(Exception):
    """A value that does not fit."""

    def __init__(self, kind: ProblemKind) -> None:
        super().__init__(kind)
        self.kind = kind


def fitted(kind: Type, value: Any) -> Any:
    """Return a value of JSON in the normal form of a type, or raise `Misfit`."""
    match kind:
        case "string" if not isinstance(value, dict | list):
            return value  # the query gives the text of a number
        case "json" if isinstance(value, dict):
            return value
        case "bool" if value in ("true", "false") or isinstance(value, bool):
            return str(value).lower()
        case "int64" if not isinstance(value, bool):
            return _integer(value)
        case "float64" if not isinstance(value, bool | dict | list) and _NUMBER.fullmatch(str(value)):
            if not math.isfinite(number := float(str(value))):
                raise Misfit(ProblemKind.LARGE_NUMBER)
            return repr(number)
        # ISO 8601 in its extended form only: the basic one is a number to everyone else.
        case "utc" | "local" if isinstance(value, str) and _DATE.match(value):
            return _moment(kind, value)
    raise Misfit(_MISFITS[kind])


_MISFITS: Mapping[Type, ProblemKind] = {
    "string": ProblemKind.NO_TEXT,
    "json": ProblemKind.NO_OBJECT,
    "bool": ProblemKind.NO_BOOLEAN,
    "int64": ProblemKind.NO_INTEGER,
    "float64": ProblemKind.NO_NUMBER,
    "utc": ProblemKind.NO_DATETIME,
    "local": ProblemKind.NO_DATETIME,
}


def _integer(value: Any) -> str:
    if isinstance(value, float):
        value = int(value) if value.is_integer() else ""
    if (match := _INTEGER.fullmatch(str(value))) is None:
        raise Misfit(ProblemKind.NO_INTEGER)
    if len(match[1]) > _DIGITS or int(match[1]) not in _INT64:
        raise Misfit(ProblemKind.LARGE_INTEGER)
    return str(int(match[1]))


def _moment(kind: Type, text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        if kind == "utc" and moment.tzinfo:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # an offset can lead out of the years 1 to 9999
        raise Misfit(ProblemKind.NO_DATETIME) from error
    return moment.replace(tzinfo=None).isoformat() + ("Z" if kind == "utc" else "")


_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?(?:nan|inf(?:inity)?)\b|-?\d[\d.]*(?:e[+-]?\d+)?', re.IGNORECASE | re.ASCII
)


def unusual_numbers(document: str) -> Iterator[str]:
    """Yield the numbers of a document that JSON does not have, or that have no value of 64 bits.

    >>> list(unusual_numbers('{"a": NaN, "NaN": [1e400, 1.5]}'))
    ['NaN', '1e400']
    """
    for token in map(itemgetter(0), _TOKEN.finditer(document)):
        if not token.startswith('"') and not abs(float(token)) < float("inf"):
            yield token
