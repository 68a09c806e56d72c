"""The columns of a table, from parsed elements in which everything fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.reading.arrays import (
    child,
    chosen,
    entries,
    first_of,
    last_part,
    take,
    true,
    valid,
)
from osdi_frames.reading.parsed import Parsed
from osdi_frames.reading.query import MISPLACED, NUMBER, POSITION
from osdi_frames.reading.values import cast
from osdi_frames.tables.schema import ARROW, EACH, PAIRS, Column, Path, Step, Table, Type

Pairs = Callable[[pa.Array], pa.Array]


def rows(
    parsed: Parsed, table: Table, columns: Sequence[Column], prefixes: Sequence[str], pairs: Pairs
) -> pa.Table:
    """Return the rows of a table: number, position, and the columns but for those of their source.

    All elements are of the table's type. `pairs` gives the pairs of objects as lists, from their texts.
    """
    element = _Root(parsed.of(table.element))
    roots = {"element": element, "sibling": _Root(parsed.values), "envelope": _Root(parsed.timestamps)}
    if parsed.form.kind != "delivery":
        del roots["sibling"]
    names = [column for column in columns if column.origin != "source"]
    of_element = _Values(table, prefixes, roots, {"element position": pa.array(parsed.positions)})
    if not table.rows:
        return _table(parsed.numbers, parsed.positions, {c.name: of_element.of(c) for c in names})
    keys = {column.name: of_element.of(column) for column in names if column not in table.entry}
    parts = []
    for owners, entry, given in _entries(table, prefixes, element, pairs):
        of_entry = _Values(table, prefixes, {"element": _Root(entry)}, given)
        at = pa.array(owners)
        found = {
            column.name: of_entry.of(column) if column in table.entry else keys[column.name].take(at)
            for column in names
        }
        parts.append((owners, _table(parsed.numbers[owners], parsed.positions[owners], found)))
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([owners for owners, _ in parts]), kind="stable")
    return pa.concat_tables([part for _, part in parts]).take(pa.array(order))


def _table(numbers: np.ndarray, positions: np.ndarray, columns: Mapping[str, pa.Array]) -> pa.Table:
    return pa.table({NUMBER: numbers, POSITION: positions} | dict(columns))


def _entries(
    table: Table, prefixes: Sequence[str], element: _Root, pairs: Pairs
) -> Iterator[tuple[np.ndarray, pa.Array, dict[str, pa.Array]]]:
    """Yield entries that are rows: the numbers of their elements, the entries, and what else is given."""
    for role, texts in table.rows:
        left = np.ones(len(element.array), bool)
        for path in (spelled for text in texts for spelled in Path.parse(text).spelled(prefixes)):
            *head, last = path.steps
            if last == PAIRS:
                found, owners = entries(pairs(element.at(tuple(head))))
                yield owners, child(found, "value"), {"key": child(found, "key")}
            elif last == EACH:
                found, owners = entries(element.at(tuple(head)))
                at = np.flatnonzero(_are_rows(found))
                position = (np.arange(len(owners)) - np.searchsorted(owners, owners))[at]
                yield owners[at], found.take(pa.array(at)), {"entry position": pa.array(position)}
            else:
                at = np.flatnonzero(left & valid(element.at(path.steps)))
                left[at] = False
                roles = pa.array(np.full(len(at), role, object), pa.string())
                yield at, element.at(path.steps).take(pa.array(at)), {"role": roles}


def _are_rows(found: pa.Array) -> np.ndarray:
    is_object = pa.types.is_struct(found.type)
    return valid(found) & ~valid(child(found, MISPLACED)) if is_object else valid(found)


@dataclass(slots=True)
class _Root:
    """What paths start from."""

    array: pa.Array
    found: dict[tuple[Step, ...], pa.Array] = field(default_factory=dict)

    def at(self, steps: tuple[Step, ...]) -> pa.Array:
        """Return what stands at a path."""
        if not steps:
            return self.array
        if steps not in self.found:
            step, outer = steps[-1], self.at(steps[:-1])
            if isinstance(step, str):
                self.found[steps] = child(outer, step)
            else:
                self.found[steps] = take(entries(outer)[0], chosen(outer, step))
        return self.found[steps]


@dataclass(slots=True)
class _Values:
    """The values of columns."""

    table: Table
    prefixes: Sequence[str]
    roots: Mapping[str, _Root]
    given: Mapping[str, pa.Array]
    """The values of the columns that do not stand at paths, by their origin."""

    def of(self, column: Column) -> pa.Array:
        """Return the values of a column."""
        if column.origin == "derived":
            return _DERIVED[column.name](self, column)
        if column.origin in self.given:
            return self.given[column.origin]
        found = pa.nulls(len(self.roots["element"].array), ARROW[column.type])
        for path in column.paths(self.prefixes):
            if (values := self.at(column, path)) is not None:
                read = partial(_FUNCTIONS[path.function], column.type, prefixes=self.prefixes)
                found = _filled(found, values, read)
        return found

    def at(self, column: Column, path: Path) -> pa.Array | None:
        """Return what stands at a path of a column; None where the form of the documents has no such place."""
        root = "envelope" if column.origin == "envelope" else "sibling" if path.sibling else "element"
        return self.roots[root].at(path.steps) if root in self.roots else None


def _filled(found: pa.Array, values: pa.Array, read: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return what is found, and where nothing is, what is read from values."""
    if found.null_count == len(found):
        return read(values)
    at = ~valid(found) & valid(values)
    return pc.replace_with_mask(found, at, read(values.filter(pa.array(at)))) if at.any() else found


def own(lists: pa.ListArray, prefixes: Sequence[str]) -> pa.Array:
    """Return the first identifier of the service itself in each list, without its prefix."""
    identifiers, _ = entries(lists)
    is_own = np.logical_or.reduce([true(pc.starts_with(identifiers, f"{prefix}:")) for prefix in prefixes])
    found = last_part(first_of(lists, is_own), ":")
    return pc.if_else(pc.equal(found, ""), None, found)


def _own(_: object, lists: pa.ListArray, *, prefixes: Sequence[str]) -> pa.Array:
    return own(lists, prefixes)


def _id(_: object, texts: pa.Array, **__: object) -> pa.Array:
    return last_segment(texts)


def last_segment(addresses: pa.Array) -> pa.Array:
    """Return the last path segment of each address.

    >>> last_segment(pa.array(["https://a.org/events/1", "https://a.org/events/2/?page=3", "https://a.org"])).to_pylist()
    ['1', '2', None]
    """
    last = last_part(addresses, "/", reverse=True)
    # Of an address of the web, more slashes than those before the host are looked for.
    plain = true(pc.match_substring_regex(addresses, r"^http.{5}[^?#]*/[^?#/]+$"))
    odd = np.flatnonzero(valid(addresses) & ~plain)
    if not len(odd):
        return last
    paths = pc.replace_substring_regex(addresses.take(pa.array(odd)), r"^([^:/?#]+:)?//[^/?#]*", "")
    found = pc.struct_field(
        pc.extract_regex(paths, r"^(?s:(?:[^?#]*/)?(?P<last>[^/?#]+)/*(?:[?#].*)?)$"), [0]
    )
    return pc.replace_with_mask(last, np.isin(np.arange(len(last)), odd), found)


def _system(_: object, texts: pa.Array, **__: object) -> pa.Array:
    first = pc.list_element(pc.split_pattern(texts, ":", max_splits=1), 0)
    return pc.if_else(pc.match_substring(texts, ":"), first, None)


def _identifier(_: object, texts: pa.Array, **__: object) -> pa.Array:
    return last_part(texts, ":")


def _cast(kind: Type, texts: pa.Array, **_: object) -> pa.Array:
    return cast(kind, texts)


_FUNCTIONS: Mapping[str | None, Callable[..., pa.Array]] = {
    None: _cast,
    "id": _id,
    "own": _own,
    "system": _system,
    "identifier": _identifier,
}


def _targeting_label(values: _Values, column: Column) -> pa.Array:
    found = (values.of(values.table.column(name)) for name in column.derived)
    accepted, origin, title, capacity, image, hidden, campaign = found
    # What the API cannot set shows an event of the user interface; of the API's alone there is a label (interface 1.5).
    made_by_hand = valid(capacity) | valid(image) | valid(campaign) | true(hidden)
    label = pc.binary_join_element_wise("[1, (", origin, ") Event], (", title, ")", "")
    return pc.if_else(true(pc.greater_equal(accepted, 1)) & ~made_by_hand, label, None)


def _api_version(values: _Values, column: Column) -> pa.Array:
    """Return the version by its keys (interface 9): v1 where there is one of v1's own and none of v2's."""

    def has(version: str, other: str) -> np.ndarray:
        found = np.zeros(len(values.roots["element"].array), bool)
        for declared in map(values.table.column, column.derived):
            for path in set(getattr(declared, version)) - set(getattr(declared, other)):
                found |= valid(values.roots["element"].at(Path.parse(path).steps))
        return found

    return pc.if_else(has("v1", "v2") & ~has("v2", "v1"), "v1", "v2")


_DERIVED: Mapping[str, Callable[[_Values, Column], pa.Array]] = {
    "api_version": _api_version,
    "targeting_label": _targeting_label,
}
