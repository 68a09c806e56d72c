"""The columns of tables, from parsed elements.

That is what stands at their paths, which of it fits, and as what type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import (
    Mask,
    cast,
    child,
    combined,
    held,
    holding,
    last_part,
    last_segment,
    same_texts,
    take,
    true,
    valid,
)
from osdi_frames.parsing.parsed import ENVELOPE_STEP, Parsed, Steps
from osdi_frames.parsing.plan import CARRIED, ELEMENT, Blocks, Select
from osdi_frames.tables.attendances import CAME
from osdi_frames.tables.schema import EACH, PAIRS, Column, Path, Table, arrow_type, spelled

#: An object of which every value is null or a blank text.
_BLANK_FIELDS: Final = r'^\{\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*(?:null|"(?:\s|\\[nrt])*")\s*(?:,\s*)?)*\}$'


def rows(parsed: Parsed, select: Select, fit: Mask) -> pa.Table:
    """Return the rows of the elements that fit, with the numbers of these elements and the blocks that they carry."""
    table, columns = select.table, select.columns
    head = parsed.head(table.element)
    fit = fit & valid(parsed.at(head))
    of_element = _Values(parsed, table, head, {"element position": pa.array(parsed.positions)})
    keys = {column.name: of_element.of(column) for column in columns if column not in table.entry}
    parts = []
    for steps, at, known in _entries(parsed, table, head, fit) if table.rows else [(head, fit, {})]:
        _, owners = parsed.found_at(steps)
        of_entry = _Values(parsed, table, steps, known)
        numbers = np.flatnonzero(at & fit[owners])
        found = {
            column.name: of_entry.of(column).take(pa.array(numbers))
            if column in table.entry
            else _some(keys[column.name], owners[numbers])
            for column in columns
        }
        typed = {column.name: found[column.name].cast(arrow_type(column.type)) for column in columns}
        if select.blocks:
            typed[CARRIED] = pa.array(of_entry.carried(select.blocks)[numbers])
        parts.append((owners[numbers], pa.table(typed | {ELEMENT: parsed.elements[owners[numbers]]})))
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([owners for owners, _ in parts]), kind="stable")
    return pa.concat_tables([part for _, part in parts]).take(pa.array(order))


def _some(values: pa.Array, numbers: np.ndarray) -> pa.Array:
    """Return some values: all are not copied."""
    are_all = len(numbers) == len(values) and (numbers == np.arange(len(values))).all()
    return values if are_all else values.take(pa.array(numbers))


def _entries(
    parsed: Parsed, table: Table, head: Steps, fit: Mask
) -> Iterator[tuple[Steps, Mask, dict[str, pa.Array]]]:
    """Yield the steps to the entries that are rows, which of the values there they are, and what else is known."""
    for role, texts in table.rows:
        left = fit.copy()
        for path in map(Path.parse, spelled(texts, parsed.prefixes)):
            steps = (*head, *path.steps)
            found, owners = parsed.found_at(steps)
            if path.steps[-1] == PAIRS:
                yield (*steps, "value"), np.ones(len(found), bool), {"key": child(found, "key")}
            elif path.steps[-1] == EACH:
                positions = np.arange(len(owners)) - np.searchsorted(owners, owners)
                yield steps, valid(found), {"entry position": pa.array(positions)}
            else:
                at = left & valid(found)
                left &= ~at
                yield steps, at, {"role": pa.repeat(role, len(at))}


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of columns, of elements or of entries."""

    parsed: Parsed
    table: Table
    head: Steps
    """Where these stand."""
    known: Mapping[str, pa.Array]
    """The values of the columns that do not stand at paths, by their origin."""

    def of(self, column: Column) -> pa.Array:
        """Return the values of a column."""
        if column.origin == "source":
            return combined(self.parsed.documents[column.name].take(pa.array(self.parsed.owners)))
        if column.origin == "derived":
            return _DERIVED[column.name](self, column)
        if column.origin in self.known:
            return self.known[column.origin]
        return self.at_paths(column)

    def at_paths(self, column: Column) -> pa.Array:
        """Return what stands at the paths of a column: of each element the first value that fits."""
        found = pa.nulls(len(self.parsed.at(self.head)), arrow_type(column.type))
        for path in column.paths(self.parsed.prefixes):
            if path.sibling and self.parsed.form.kind != "delivery":
                continue
            steps = path.steps if path.sibling else (*self.head, *path.steps)
            if column.origin == "envelope":
                steps = (ENVELOPE_STEP, *path.steps)
            if found.null_count == len(found):
                found = self._read(column, path, steps)
            elif (missing := valid(self.parsed.at(steps)) & ~valid(found)).any():
                found = pc.replace_with_mask(
                    found, missing, self._read(column, path, steps, pa.array(missing))
                )
        return found

    def of_entries(self, column: Column) -> tuple[pa.Array, np.ndarray]:
        """Return what stands at the path of a column in each entry of a list, and the numbers of their elements."""
        steps = (*self.head, *Path.parse(column.v2[0]).steps)
        values, _ = self.parsed.read(steps, column.type)
        return values, self.parsed.found_at(steps)[1]

    def at_owners(self, owners: pa.ChunkedArray, values: pa.Array) -> pa.Array:
        """Return values at the numbers of their elements; null of other elements."""
        numbers = np.full(len(self.parsed.at(self.head)), -1)
        numbers[owners.to_numpy()] = np.arange(len(values))
        return take(values, numbers)

    def carried(self, blocks: Blocks) -> np.ndarray:
        """Return which blocks are carried, a bit for each."""
        bits = np.zeros(len(self.parsed.at(self.head)), np.int64)
        for number, keys in enumerate(blocks):
            bits |= np.logical_or.reduce([self.has(key) for key in keys]).astype(np.int64) << number
        return bits

    def has(self, path: Path) -> Mask:
        """Return where there is a value at a path; one that does not fit is one, too.

        At a path that is to hold something (see `holding`) it is none.
        """
        parsed, inside = self.parsed, self.head[len(self.parsed.head(self.table.element)) :]
        if path.sibling and parsed.form.kind != "delivery":
            return np.zeros(len(parsed.at(self.head)), bool)
        values = parsed.at(path.steps if path.sibling else (*self.head, *path.steps))
        if path.function == "held":
            return holding(values)
        if path.function == "fields":
            return holding(values) & ~true(pc.match_substring_regex(values, _BLANK_FIELDS))
        found = valid(values)
        misfits = parsed.documents["misfits"]
        if misfits.null_count < len(misfits):
            key = str(replace(path, steps=(*(step for step in inside if isinstance(step, str)), *path.steps)))
            owners = parsed.owners[parsed.found_at(self.head)[1]]
            named = pc.match_substring(combined(misfits), f"{self.table.element.name}: {key}\n")
            found = found | true(named)[owners]
        return found

    def _read(self, column: Column, path: Path, steps: Steps, at: pa.Array | None = None) -> pa.Array:
        """Return a path's values, all or some."""
        if path.function in (None, "own"):
            values, _ = self.parsed.read(steps, "own" if path.function else column.type)
            values = values if at is None else values.filter(at)
            if column.absent and true(absent := pc.is_in(values, pa.array(column.absent))).any():
                values = pc.if_else(absent, None, values)
            return values
        texts = self.parsed.at(steps)
        return _FUNCTIONS[str(path.function)](texts if at is None else texts.filter(at))


def _host(addresses: pa.Array) -> pa.Array:
    """Return the host of each address in lower case, without user and port."""
    written = r"^(?:[a-z][a-z0-9+.-]*:)?//(?:[^/?#]*@)?(?P<host>\[[^\]/?#@]*\]|[^/?#:@]+)"
    return pc.struct_field(pc.extract_regex(pc.ascii_lower(addresses), written), [0])


def _bare(names: pa.Array) -> pa.Array:
    """Return the letters and digits of each name."""
    return pc.replace_substring_regex(pc.ascii_lower(names), "[^a-z0-9]", "")


def _person(addresses: pa.Array) -> pa.Array:
    """Return the last segment of each address of a person; that of all people is none."""
    return pc.struct_field(pc.extract_regex(addresses, r"/people/(?P<id>[^/?#]+)/?(?:[?#].*)?$"), [0])


def _upper(texts: pa.Array) -> pa.Array:
    return pc.utf8_upper(pc.utf8_trim_whitespace(texts))


def _identifier(texts: pa.Array) -> pa.Array:
    return last_part(texts, ":")


def _system(texts: pa.Array) -> pa.Array:
    first = pc.list_element(pc.split_pattern(texts, ":", max_splits=1), 0)
    return pc.if_else(pc.match_substring(texts, ":"), first, None)


_FUNCTIONS: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "id": last_segment,
    "person": _person,
    "upper": _upper,
    "held": lambda texts: pc.if_else(held(texts), texts, None),
    "system": _system,
    "identifier": _identifier,
}


def _targeting_label(values: _Values, column: Column) -> pa.Array:
    found = (values.of(values.table.column(name)) for name in column.derived)
    accepted, origin, title, *shown = found
    has_label = true(pc.greater_equal(accepted, 1)) & ~_made_by_hand(values, origin, *shown)
    label = pc.binary_join_element_wise("[1, (", origin, ") Event], (", title, ")", "")
    return pc.if_else(has_label, label, None)


def _made_by_hand(
    values: _Values, origin: pa.Array, capacity: pa.Array, image: pa.Array, hidden: pa.Array, *urls: pa.Array
) -> Mask:
    """Return which events show that they were made in the user interface: these have no label (interface 1.5).

    They have what the API cannot set (2.1), a page on the service's own host (1.2), v1's ``url`` (2.8), or the
    service, by its prefix, as the system where they originated.
    """
    page, own = map(_host, urls)
    by_service = pc.is_in(_bare(origin), _bare(pa.array(values.parsed.prefixes)))
    v1_url = values.parsed.at((*values.head, "url"))
    present = valid(capacity) | valid(image) | valid(v1_url)
    return present | true(hidden) | true(pc.equal(page, own)) | true(by_service)


def _api_version(values: _Values, column: Column) -> pa.Array:
    """Return v1 where an event has a key of v1 alone and none of v2 alone, else v2 (interface 9).

    The key of a value that does not fit counts, too.
    """

    def has(version: str, other: str) -> np.ndarray:
        found = np.zeros(len(values.parsed.elements), bool)
        for declared in map(values.table.column, column.derived):
            for path in set(getattr(declared, version)) - set(getattr(declared, other)):
                found |= values.has(Path.parse(path))
        return found

    return pc.if_else(has("v1", "v2") & ~has("v2", "v1"), "v1", "v2")


def _attended(values: _Values, column: Column) -> pa.Array:
    """Return who came: where the service says so, or a status does, whatever the other is."""
    (status,) = (values.of(values.table.column(name)) for name in column.derived)
    came = pc.is_in(status, same_texts(status, CAME))
    return pa.array(true(values.at_paths(column)) | true(came))


def _of_tickets(values: _Values, column: Column) -> pa.Array:
    """Return the sum of the amounts of all tickets, or their currency; null where these have several currencies."""
    codes, owners = values.of_entries(values.table.column("currency"))
    tickets = {"owner": owners, "code": _upper(codes), "amount": values.of_entries(column)[0]}
    wanted, way = ("code", "one") if column.name == "currency" else ("amount", "sum")
    counted = ("code", "count_distinct", pc.CountOptions(mode="all"))
    found = pa.table(tickets).group_by("owner").aggregate([counted, (wanted, way)])
    found = found.filter(pc.equal(found["code_count_distinct"], 1))
    return values.at_owners(found["owner"], cast(combined(found[f"{wanted}_{way}"]), arrow_type(column.type)))


_DERIVED: Mapping[str, Callable[[_Values, Column], pa.Array]] = {
    "amount": _of_tickets,
    "api_version": _api_version,
    "attended": _attended,
    "currency": _of_tickets,
    "targeting_label": _targeting_label,
}
