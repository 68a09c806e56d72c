"""The rules of reading, on parsed JSON: which value fits which column, and what does not.

This is the precise form, one element at a time. `scan` reads in bulk with a query and comes here for
the documents in which something is out of the ordinary; `check` comes here for every document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from osdi_frames.documents import SIGNATURE, Element, type_keys
from osdi_frames.problems import Finding
from osdi_frames.tables.schema import EACH, FIRST, PAIRS, PRIMARY, Column, Path, Step, Table, Type
from osdi_frames.tables.shape import ElementShape, Shape

_INT64 = range(-(2**63), 2**63)
_INTEGER = re.compile(r"-?[0-9]+(?:\.0+)?")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LAST_SEGMENT = re.compile(r"(?:(?:[^:/?#]+:)?//[^/?#]*+)?+(?:[^?#]*/)?([^/?#]+)/*(?:[?#].*)?", re.DOTALL)


class Misfit(Exception):
    """A value that does not fit; its argument says what it is not."""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise Misfit("not text")


def _bool(value: Any) -> bool:
    if value is True or value == "true":
        return True
    if value is False or value == "false":
        return False
    raise Misfit("not true or false")


def _integer(value: Any) -> int:
    number: Any = None
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        number = int(value.split(".")[0])
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    if number is None or number not in _INT64:
        raise Misfit("not an integer" if number is None else "not an integer of 64 bits")
    return int(number)


def _number(value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int | float)
        or not _NUMBER.fullmatch(str(value))
    ):
        raise Misfit("not a number")
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = float("inf")
    if abs(number) == float("inf"):
        raise Misfit("not a number of 64 bits")
    return number


def _datetime(value: Any) -> datetime:
    # ISO 8601 in its extended form only: the basic one is a number to everyone else.
    if not isinstance(value, str) or not _DATE.match(value):
        raise Misfit("not a datetime")
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise Misfit("not a datetime") from error


def _utc(value: Any) -> datetime:
    moment = _datetime(value)
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:  # an offset that leads out of the years 1 to 9999
        raise Misfit("not a datetime") from error


def _local(value: Any) -> datetime:
    return _datetime(value).replace(tzinfo=None)


def _json(value: Any) -> str:
    if not isinstance(value, dict):
        raise Misfit("not an object")
    return _text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


#: How a value of JSON becomes one of each type; `Misfit` when it does not fit.
FIT: Mapping[Type, Callable[[Any], Any]] = {
    "string": _text,
    "bool": _bool,
    "int64": _integer,
    "float64": _number,
    "utc": _utc,
    "local": _local,
    "json": _json,
}


def last_segment(address: str) -> str | None:
    """Give the last path segment of an address.

    >>> last_segment("https://example.org/api/v2/people/c3f1/?page=2")
    'c3f1'
    """
    match = _LAST_SEGMENT.fullmatch(address)
    return match[1] if match else None


def _own(identifiers: Sequence[str], prefixes: Sequence[str]) -> str | None:
    heads = tuple(f"{prefix}:" for prefix in prefixes)
    found = (each for each in identifiers if each.startswith(heads))
    first = next(found, None)
    return None if first is None else (first.partition(":")[2] or None)


def _system(identifier: str) -> str | None:
    system, colon, _ = identifier.partition(":")
    return system if colon else None


def _identifier(identifier: str) -> str:
    return identifier.partition(":")[2] if ":" in identifier else identifier


def primary(entries: Sequence[Any]) -> int | None:
    """Give the position of the entry whose ``primary`` is true, else of the first that is not null."""
    present = [position for position, entry in enumerate(entries) if entry is not None]
    marked = (p for p in present if isinstance(entries[p], dict) and _is_true(entries[p].get("primary")))
    return next(marked, present[0] if present else None)


def _is_true(value: Any) -> bool:
    return value is True or value == "true"  # not 1, which equals True


def _step(value: Any, step: Step) -> Any:
    """Go one step down; None where there is nothing, or nothing of the declared form."""
    if isinstance(step, str):
        return value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, list):
        return None
    if step == FIRST:
        return value[0] if value else None
    chosen = primary(value)
    return None if chosen is None else value[chosen]


def _at(root: Any, steps: Sequence[Step]) -> Any:
    for step in steps:
        root = _step(root, step)
    return root


def _fitting(kind: Type, value: Any) -> Any:
    """Give the value as its type, or None where it is absent or does not fit."""
    if value is None:
        return None
    if kind == "list<string>":
        if not isinstance(value, list):
            return None
        entries = (_fitting("string", entry) for entry in value)
        return [entry for entry in entries if entry is not None]
    try:
        return FIT[kind](value)
    except Misfit:
        return None


@dataclass(frozen=True, slots=True)
class _Origin:
    """What the paths of a column start from."""

    value: Any
    beside: dict[str, Any] | None
    prefixes: Sequence[str]

    def take(self, column: Column) -> Any:
        """Give the first value that fits, over the paths of the column."""
        for path in column.paths(self.prefixes):
            value = self._take(path, column.type)
            if value is not None:
                return value
        return None

    def _take(self, path: Path, kind: Type) -> Any:
        at = _at(self.beside if path.beside else self.value, path.steps)
        if path.function == "own":
            return _own(_fitting("list<string>", at) or (), self.prefixes)
        value = _fitting(kind, at)
        if value is None or path.function is None:
            return value
        return {"id": last_segment, "system": _system, "identifier": _identifier}[path.function](value)


def rows(
    element: Element, table: Table, columns: Sequence[Column], prefixes: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Give what is read of one element: the columns of its own, and those of each of its entries.

    What does not fit is missing. A table of one row an element has one entry without columns.
    """
    origin = _Origin(element.value, element.beside, prefixes)
    of_element = {
        column.name: _of_element(origin, element, table, column)
        for column in columns
        if column not in table.entry
    }
    if not table.rows:
        return of_element, [{}]
    of_entry = [column for column in columns if column in table.entry]
    entries = []
    for given, entry in _entries(element, table, prefixes):
        inner = _Origin(entry, None, prefixes)
        entries.append(
            {
                column.name: inner.take(column) if column.origin == "paths" else given[column.origin]
                for column in of_entry
            }
        )
    return of_element, entries


def _of_element(origin: _Origin, element: Element, table: Table, column: Column) -> Any:
    match column.origin:
        case "element position":
            return element.position
        case "envelope":
            return _fitting("utc", _at(element.stamps, column.paths(())[0].steps))
        case "derived":
            needed = [table.column(name) for name in column.derived]
            if column.name == "api_version":
                return api_version(element.value, needed)
            return targeting_label(*(origin.take(each) for each in needed))
        case _:
            return origin.take(column)


def api_version(event: Mapping[str, Any], differing: Sequence[Column]) -> str:
    """Tell the version by keys (interface 9): v1 where there is one of v1's own and none of v2's."""
    has_v1 = any(
        event.get(key) is not None for column in differing for key in set(column.v1) - set(column.v2)
    )
    has_v2 = any(
        event.get(key) is not None for column in differing for key in set(column.v2) - set(column.v1)
    )
    return "v1" if has_v1 and not has_v2 else "v2"


def targeting_label(total_accepted: int | None, origin_system: str | None, title: str | None) -> str | None:
    """Name an event as the targeting interface lists it (interface 1).

    >>> targeting_label(3, "FreeEvents", "March")
    '[1, (FreeEvents) Event], (March)'
    """
    if total_accepted is None or total_accepted < 1 or origin_system is None or title is None:
        return None
    return f"[1, ({origin_system}) Event], ({title})"


def _entries(element: Element, table: Table, prefixes: Sequence[str]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Give the entries that are rows of their own, each with what its place says of it."""
    for role, texts in table.rows:
        for path in (spelled for text in texts for spelled in Path.parse(text).spelled(prefixes)):
            found = list(_split(_at(element.value, path.steps[:-1]), path.steps[-1]))
            fitting = [(given, entry) for given, entry in found if _is_entry(table, entry)]
            yield from ((given | {"role": role}, entry) for given, entry in fitting)
            if fitting:
                break  # the first of its paths at which there is anything


def _split(value: Any, last: Step) -> Iterator[tuple[dict[str, Any], Any]]:
    if last == EACH:
        entries = value if isinstance(value, list) else ()
        yield from (({"entry position": position}, entry) for position, entry in enumerate(entries))
    elif last == PAIRS:
        pairs = value.items() if isinstance(value, dict) else ()
        yield from (({"key": _text(name)}, entry) for name, entry in pairs)
    else:
        yield {}, _step(value, last)


def _is_entry(table: Table, entry: Any) -> bool:
    """Tell whether an entry is a row: an object, or a text; of a pair, the key alone is one."""
    if table.of_objects:
        return isinstance(entry, dict)
    return table.row_paths[0].steps[-1] == PAIRS or _fitting("string", entry) is not None


def inspect_element(
    element: Element, shape: ElementShape, columns: Sequence[Column], *, undeclared: bool = False
) -> Iterator[Finding]:
    """Give what does not fit in an element, beside it and in its envelope."""
    yield from inspect(element.value, shape.of, element.key, undeclared=undeclared)
    if element.beside is not None:
        beside = {key: value for key, value in element.beside.items() if key not in type_keys(element.beside)}
        key = element.key.removesuffix(f".{SIGNATURE}")
        yield from inspect(beside, shape.beside, key, undeclared=undeclared)
    for column in columns:
        if column.origin == "envelope" and element.stamps:
            stamp = element.stamps.get(column.name)
            yield from _misfit("utc", stamp, column.name) if stamp is not None else ()


def inspect(value: Any, shape: Shape, key: str, *, undeclared: bool = False) -> Iterator[Finding]:
    """Give what does not fit below one key and, when asked, the keys that nothing declares."""
    if value is None:
        return
    if shape.form is None:
        for kind in shape.types:
            yield from _misfit(kind, value, key)
    elif shape.form == "object" and isinstance(value, dict):
        yield from _inspect_object(value, shape, key, undeclared=undeclared)
    elif shape.form == "list" and isinstance(value, list):
        yield from _inspect_list(value, shape, key, undeclared=undeclared)
    else:
        yield Finding(f"not {'an object' if shape.form == 'object' else 'a list'}", key, value)


def _misfit(kind: Type, value: Any, key: str) -> Iterator[Finding]:
    try:
        FIT[kind](value)
    except Misfit as misfit:
        yield Finding(str(misfit), key, value)
    if isinstance(value, str) and _LONE_SURROGATE.search(value):
        yield Finding("a lone surrogate, read as U+FFFD", key, value, "warning")


def _inspect_object(value: dict[str, Any], shape: Shape, key: str, *, undeclared: bool) -> Iterator[Finding]:
    pairs = shape.inside.get(PAIRS)
    if pairs is None and "json" in shape.types:
        return
    for name, inner in value.items():
        below = shape.inside.get(name, pairs)
        at = f"{key}.{name}" if key else name
        if below is not None:
            yield from inspect(inner, below, at, undeclared=undeclared)
        elif undeclared:
            yield Finding("undeclared key", at, inner, "info")


def _inspect_list(value: list[Any], shape: Shape, key: str, *, undeclared: bool) -> Iterator[Finding]:
    chosen = primary(value)
    for position, entry in enumerate(value):
        below = [inner for step, inner in shape.inside.items() if _takes(step, position, chosen)]
        if (
            "list<string>" in shape.types and EACH not in shape.inside
        ):  # where each is a row, it is told there
            yield from _misfit("string", entry, f"{key}[{position}]") if entry is not None else ()
        for inner in below:
            yield from inspect(entry, inner, f"{key}[{position}]", undeclared=undeclared)
        if undeclared and not below and "list<string>" not in shape.types:
            yield Finding("undeclared key", f"{key}[{position}]", entry, "info")


def _takes(step: Step, position: int, chosen: int | None) -> bool:
    return step == EACH or (step == FIRST and position == 0) or (step == PRIMARY and position == chosen)
