"""Mend elements with unexpected values, so that the query can parse them like all others.

A value that cannot be cast to its column's type becomes null and a finding; one that can is rewritten in its normal
form. Each mended element becomes a document of its own, in an envelope.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from osdi_frames.document_forms import BODY, Form, is_type_key
from osdi_frames.json_decoding import PAIRS_DECODER
from osdi_frames.messages import field_name, value_form
from osdi_frames.parsing.documents import Element
from osdi_frames.parsing.plan import Plan, Shape
from osdi_frames.problems import Finding, ProblemKind
from osdi_frames.tables.schema import EACH, PAIRS, Type

_NOTHING = Shape()
_encoded = json.JSONEncoder(ensure_ascii=False).encode
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64 = range(-(2**63), 2**63)
_DIGITS = 400  # an integer with more is refused before Python converts it
_INTEGER = re.compile(r"(-?[0-9]+)(?:\.0+)?")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CENT, _TOO_LARGE = Decimal("0.01"), Decimal(10**13)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def mend(element: Element, plan: Plan) -> tuple[Form, str, list[Finding]]:
    """Return an element as an enveloped document: its form, its text, and findings of the values taken out of it."""
    kind = element.type
    wrapper_shape, mender = plan.shapes[kind], _Mender()
    body: Any
    if element.wrapper is None:
        body = mender.value(element.value, wrapper_shape.inside[str(kind.type_key)], element.key)
    else:
        value = mender.value(element.value, wrapper_shape.inside[str(kind.type_key)], element.key)
        siblings = {key: value for key, value in element.wrapper.items() if not is_type_key(key)}
        body = [{kind.type_key: value} | mender.value(siblings, wrapper_shape, element.wrapper_key)]
    timestamps = {
        key: mender.scalar(value, {"utc"}, key) if key in plan.timestamps else None
        for key, value in (element.timestamps or {"received_at": None}).items()
    }
    text = _LONE_SURROGATE.sub("\ufffd", _encoded(timestamps | {BODY: body}))
    form = Form("single" if element.wrapper is None else "delivery", True, (kind,))
    return form, text, mender.findings


@dataclass(frozen=True, slots=True)
class _Mender:
    """Mends values by their shapes, and collects a finding for each value that it replaces by null."""

    findings: list[Finding] = field(default_factory=list)

    def value(self, value: Any, shape: Shape, key: str) -> Any:
        """Return a value in which whatever has the wrong type is null; None if the value itself has."""
        if value is None:
            return None
        if shape.container is None:
            return self.scalar(value, shape.types, key)
        if shape.container == "object" and isinstance(value, dict):
            return self._object(value, shape, key)
        if shape.container == "list" and isinstance(value, list):
            return self._list(value, shape, key)
        kind = ProblemKind.NO_OBJECT if shape.container == "object" else ProblemKind.NO_LIST
        self.findings.append(Finding(kind, key, value_form(value)))
        return None

    def scalar(self, value: Any, types: Collection[Any], key: str) -> Any:
        """Return the normal form of a value that is no container, or None if it fits not all of its types."""
        if value is None:
            return None
        if isinstance(value, str) and _LONE_SURROGATE.search(value):
            self.findings.append(Finding(ProblemKind.SURROGATE, key, value_form(value), "warning"))
        for kind in types:
            try:
                value = fitted(kind, value)
            except Misfit as misfit:
                self.findings.append(Finding(misfit.kind, key, value_form(value)))
                return None
        return value

    def _object(self, value: dict[str, Any], shape: Shape, key: str) -> dict[str, Any]:
        pairs = shape.inside.get(PAIRS)
        if pairs is not None or "json" in shape.types:
            for name, inner in value.items():
                self.scalar(inner, pairs.types if pairs else (), f"{key}.{field_name(name)}")
            return value  # unchanged, since a column may read the object as text
        # Keys that no column reads stay, with null, so that an inspection lists them.
        return {
            name: self.value(inner, shape.inside[name], f"{key}.{name}" if key else name)
            if name in shape.inside
            else None
            for name, inner in value.items()
        }

    def _list(self, value: list[Any], shape: Shape, key: str) -> list[Any]:
        if "list<string>" in shape.types:
            texts = (self.scalar(entry, {"string"}, f"{key}[{index}]") for index, entry in enumerate(value))
            return [text for text in texts if text is not None]
        of_entry = shape.inside.get(EACH, _NOTHING)
        return [self.value(entry, of_entry, f"{key}[{index}]") for index, entry in enumerate(value)]


class Misfit(Exception):
    """A value cannot be cast to the type of its column."""

    def __init__(self, kind: ProblemKind) -> None:
        super().__init__(kind)
        self.kind = kind


def fitted(kind: Type, value: Any) -> Any:
    """Return a value in the normal form of a type; raise `Misfit` if it has none."""
    match kind:
        case "string" if not isinstance(value, dict | list):
            return value  # the query converts numbers to text
        case "json" if isinstance(value, dict):
            return value
        case "bool" if value in ("true", "false") or isinstance(value, bool):
            return str(value).lower()
        case "int64" if not isinstance(value, bool):
            return _integer(value)
        case "decimal" if not isinstance(value, bool | dict | list) and _NUMBER.fullmatch(str(value)):
            return _amount(str(value))
        case "float64" if not isinstance(value, bool | dict | list) and _NUMBER.fullmatch(str(value)):
            if not math.isfinite(number := float(str(value))):
                raise Misfit(ProblemKind.LARGE_NUMBER)
            return repr(number)
        # Only ISO 8601's extended form, with hyphens: other readers take the basic form for a number.
        case "utc" | "local" if isinstance(value, str) and _DATE.match(value):
            return _moment(kind, value)
    raise Misfit(_MISFITS[kind])


_MISFITS: Mapping[Type, ProblemKind] = {
    "string": ProblemKind.NO_TEXT,
    "json": ProblemKind.NO_OBJECT,
    "bool": ProblemKind.NO_BOOLEAN,
    "int64": ProblemKind.NO_INTEGER,
    "float64": ProblemKind.NO_NUMBER,
    "decimal": ProblemKind.NO_AMOUNT,
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


def _amount(text: str) -> str:
    """Return an amount with two decimals; raise `Misfit` for more decimals, or more than 13 digits before them."""
    try:
        number = Decimal(text)
        amount = number.quantize(_CENT)
    except InvalidOperation as error:
        raise Misfit(ProblemKind.NO_AMOUNT) from error
    if amount != number or abs(amount) >= _TOO_LARGE:
        raise Misfit(ProblemKind.NO_AMOUNT)
    return str(amount)


def _moment(kind: Type, text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        if kind == "utc" and moment.tzinfo:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # the time in UTC can lie out of the years 1 to 9999
        raise Misfit(ProblemKind.NO_DATETIME) from error
    return moment.replace(tzinfo=None).isoformat() + ("Z" if kind == "utc" else "")


def has_shape(document: str, shape: Shape) -> bool:
    """Return whether a text is JSON with objects and lists where a shape has them, and no declared key twice."""
    try:
        return _value_has_shape(PAIRS_DECODER.decode(document), shape)
    except (ValueError, RecursionError):
        return False


def _value_has_shape(value: Any, shape: Shape) -> bool:
    """Return whether a value has a shape; an object is a tuple of pairs, which can have a key twice."""
    if value is None or not (shape.is_struct or shape.container == "list"):
        return True
    if shape.container == "list":
        return isinstance(value, list) and all(
            _value_has_shape(entry, of_entry) for of_entry in shape.inside.values() for entry in value
        )
    if not isinstance(value, tuple):
        return False
    declared = [(key, inner) for key, inner in value if key in shape.inside]
    is_unique = len(dict(declared)) == len(declared)
    return is_unique and all(_value_has_shape(inner, shape.inside[key]) for key, inner in declared)
