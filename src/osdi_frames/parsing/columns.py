"""Build the rows of a table from parsed elements: read each column's paths, and cast the values to its type."""

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
    holding,
    last_part,
    last_segment,
    not_blank,
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
    """Return a table's rows of the elements in `fit`, with the element's number and a bit mask of carried blocks."""
    table, columns = select.table, select.columns
    head = parsed.head(table.element)
    fit = fit & valid(parsed.at(head))
    of_element = _ColumnReader(parsed, table, head, {"element position": pa.array(parsed.positions)})
    element_values = {column.name: of_element.read(column) for column in columns if column not in table.entry}
    parts = []
    for steps, is_row, known in _entries(parsed, table, head, fit) if table.rows else [(head, fit, {})]:
        _, owners = parsed.with_owners(steps)
        of_entry = _ColumnReader(parsed, table, steps, known)
        entries = np.flatnonzero(is_row & fit[owners])
        owners = owners[entries]
        values = {
            column.name: of_entry.read(column).take(pa.array(entries))
            if column in table.entry
            else _take(element_values[column.name], owners)
            for column in columns
        }
        cast_values = {column.name: values[column.name].cast(arrow_type(column.type)) for column in columns}
        if select.blocks:
            cast_values[CARRIED] = pa.array(of_entry.carried(select.blocks)[entries])
        parts.append((owners, pa.table(cast_values | {ELEMENT: parsed.elements[owners]})))
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([owners for owners, _ in parts]), kind="stable")
    return pa.concat_tables([part for _, part in parts]).take(pa.array(order))


def _take(values: pa.Array, indices: np.ndarray) -> pa.Array:
    """Return the values at indices, without a copy if these are all values in order."""
    if values.null_count == len(values):
        return pa.nulls(len(indices), values.type)
    are_all = len(indices) == len(values) and (indices == np.arange(len(values))).all()
    return values if are_all else values.take(pa.array(indices))


def _entries(
    parsed: Parsed, table: Table, head: Steps, fit: Mask
) -> Iterator[tuple[Steps, Mask, dict[str, pa.Array]]]:
    """Yield the steps to entries that become rows, a mask of these entries, and their values by column origin."""
    for role, texts in table.rows:
        without_role = fit.copy()
        for path in map(Path.parse, spelled(texts, parsed.prefixes)):
            steps = (*head, *path.steps)
            entries, owners = parsed.with_owners(steps)
            if path.steps[-1] == PAIRS:
                yield (*steps, "value"), np.ones(len(entries), bool), {"key": child(entries, "key")}
            elif path.steps[-1] == EACH:
                positions = np.arange(len(owners)) - np.searchsorted(owners, owners)
                yield steps, valid(entries), {"entry position": pa.array(positions)}
            else:  # of several paths of a role, the first with a value is its row
                is_row = without_role & valid(entries)
                without_role &= ~is_row
                yield steps, is_row, {"role": pa.repeat(role, len(is_row))}


@dataclass(frozen=True, slots=True)
class _ColumnReader:
    """Reads the columns of a table from elements, or from the entries of their lists."""

    parsed: Parsed
    table: Table
    head: Steps
    """The steps to the elements or entries."""
    known: Mapping[str, pa.Array]
    """The values of columns that have an origin instead of paths, such as an entry's position, by this origin."""

    def read(self, column: Column) -> pa.Array:
        """Return a column's values, one for each element or entry."""
        if column.origin == "source":
            return combined(self.parsed.documents[column.name].take(pa.array(self.parsed.owners)))
        if column.origin == "derived":
            return _DERIVED[column.name](self, column)
        if column.origin in self.known:
            return self.known[column.origin]
        return self.at_paths(column)

    def at_paths(self, column: Column) -> pa.Array:
        """Return each element's first value of the column's type among the column's paths."""
        values = pa.nulls(len(self.parsed.at(self.head)), arrow_type(column.type))
        for path in column.paths(self.parsed.prefixes):
            if path.sibling and self.parsed.form.kind != "delivery":
                continue
            steps = path.steps if path.sibling else (*self.head, *path.steps)
            if column.origin == "envelope":
                steps = (ENVELOPE_STEP, *path.steps)
            there = self.parsed.at(steps)
            if there.null_count == len(there):
                continue
            if values.null_count == len(values):
                values = self._at_path(column, path, steps)
            elif (missing := valid(there) & ~valid(values)).any():
                values = pc.replace_with_mask(
                    values, missing, self._at_path(column, path, steps, pa.array(missing))
                )
        return values

    def of_list_entries(self, column: Column) -> tuple[pa.Array, np.ndarray]:
        """Return a column's values in all entries of the elements' lists, and the index of each entry's element."""
        steps = (*self.head, *Path.parse(column.v2[0]).steps)
        values, _ = self.parsed.read(steps, column.type)
        return values, self.parsed.with_owners(steps)[1]

    def at_owners(self, owners: pa.ChunkedArray, values: pa.Array) -> pa.Array:
        """Return an array over all elements that has `values` at the indices `owners`, and null elsewhere."""
        indices = np.full(len(self.parsed.at(self.head)), -1)
        indices[owners.to_numpy()] = np.arange(len(values))
        return take(values, indices)

    def carried(self, blocks: Blocks) -> np.ndarray:
        """Return an integer for each element, in which bit n is set if the element carries the nth block."""
        bits = np.zeros(len(self.parsed.at(self.head)), np.int64)
        for number, paths in enumerate(blocks):
            bits |= np.logical_or.reduce([self.has(path) for path in paths]).astype(np.int64) << number
        return bits

    def has(self, path: Path) -> Mask:
        """Return where a path has a value, of the right type or not; `held` and `fields` ask for one with content."""
        parsed, inside = self.parsed, self.head[len(self.parsed.head(self.table.element)) :]
        if path.sibling and parsed.form.kind != "delivery":
            return np.zeros(len(parsed.at(self.head)), bool)
        steps = path.steps if path.sibling else (*self.head, *path.steps)
        values = parsed.at(steps)
        if path.function == "held":
            return holding(values)
        if path.function == "fields":
            return holding(values) & ~true(pc.match_substring_regex(values, _BLANK_FIELDS))
        has_value = valid(values) | parsed.taken.get(steps, False)
        misfits = parsed.documents["misfits"]
        if misfits.null_count < len(misfits):
            key = str(replace(path, steps=(*(step for step in inside if isinstance(step, str)), *path.steps)))
            documents = parsed.owners[parsed.with_owners(self.head)[1]]
            is_misfit = pc.match_substring(combined(misfits), f"{self.table.element.name}: {key}\n")
            has_value = has_value | true(is_misfit)[documents]
        return has_value

    def _at_path(self, column: Column, path: Path, steps: Steps, mask: pa.Array | None = None) -> pa.Array:
        """Return a column's values at one path, of all elements or of those in a mask."""
        if path.function in (None, "own"):
            values, _ = self.parsed.read(steps, "own" if path.function else column.type)
            values = values if mask is None else values.filter(mask)
            if column.absent and true(absent := pc.is_in(values, pa.array(column.absent))).any():
                values = pc.if_else(absent, None, values)
            return values
        texts = self.parsed.at(steps)
        return _FUNCTIONS[str(path.function)](texts if mask is None else texts.filter(mask))


def _host(addresses: pa.Array) -> pa.Array:
    """Return the host of each address in lower case, without user and port."""
    pattern = r"^(?:[a-z][a-z0-9+.-]*:)?//(?:[^/?#]*@)?(?P<host>\[[^\]/?#@]*\]|[^/?#:@]+)"
    return pc.struct_field(pc.extract_regex(pc.ascii_lower(addresses), pattern), [0])


def _letters_and_digits(names: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(pc.ascii_lower(names), "[^a-z0-9]", "")


def _person(addresses: pa.Array) -> pa.Array:
    """Return the person's id in each address below ``/people/``; null for other addresses."""
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
    "held": lambda texts: pc.if_else(not_blank(texts), texts, None),
    "system": _system,
    "identifier": _identifier,
}


def _targeting_label(reader: _ColumnReader, column: Column) -> pa.Array:
    accepted, origin, title, *evidence = (reader.read(reader.table.column(name)) for name in column.derived)
    has_label = true(pc.greater_equal(accepted, 1)) & ~_made_by_hand(reader, origin, *evidence)
    label = pc.binary_join_element_wise("[1, (", origin, ") Event], (", title, ")", "")
    return pc.if_else(has_label, label, None)


def _made_by_hand(
    reader: _ColumnReader,
    origin: pa.Array,
    capacity: pa.Array,
    image: pa.Array,
    hidden: pa.Array,
    *urls: pa.Array,
) -> Mask:
    """Return which events were evidently made in the user interface; such events have no label (interface 1.5).

    The evidence is a field that the API cannot set (2.1), a page on the service's own host (1.2), v1's ``url`` (2.8),
    or the service itself, named like its prefix, as the originating system.
    """
    page_host, own_host = map(_host, urls)
    service_names = _letters_and_digits(pa.array(reader.parsed.prefixes))
    from_service = pc.is_in(_letters_and_digits(origin), service_names)
    v1_url = reader.parsed.at((*reader.head, "url"))
    has_field = valid(capacity) | valid(image) | valid(v1_url)
    return has_field | true(hidden) | true(pc.equal(page_host, own_host)) | true(from_service)


def _api_version(reader: _ColumnReader, column: Column) -> pa.Array:
    """Return v1 for events that have a key of v1 alone and no key of v2 alone, and v2 for others (interface 9).

    A key counts even if its value has the wrong type.
    """

    def has_key_of(version: str, other: str) -> Mask:
        has_key = np.zeros(len(reader.parsed.elements), bool)
        for declared in map(reader.table.column, column.derived):
            for path in set(getattr(declared, version)) - set(getattr(declared, other)):
                has_key |= reader.has(Path.parse(path))
        return has_key

    return pc.if_else(has_key_of("v1", "v2") & ~has_key_of("v2", "v1"), "v1", "v2")


def _attended(reader: _ColumnReader, column: Column) -> pa.Array:
    """Return whether each person attended: a boolean field or a status of the service says so."""
    (status,) = (reader.read(reader.table.column(name)) for name in column.derived)
    by_status = pc.is_in(status, same_texts(status, CAME))
    return pa.array(true(reader.at_paths(column)) | true(by_status))


def _of_tickets(reader: _ColumnReader, column: Column) -> pa.Array:
    """Return the sum of all tickets' amounts, or their currency; null where the tickets have several currencies."""
    codes, owners = reader.of_list_entries(reader.table.column("currency"))
    tickets = {"owner": owners, "code": _upper(codes), "amount": reader.of_list_entries(column)[0]}
    aggregated, function = ("code", "one") if column.name == "currency" else ("amount", "sum")
    currencies = ("code", "count_distinct", pc.CountOptions(mode="all"))
    sums = pa.table(tickets).group_by("owner").aggregate([currencies, (aggregated, function)])
    sums = sums.filter(pc.equal(sums["code_count_distinct"], 1))
    values = cast(combined(sums[f"{aggregated}_{function}"]), arrow_type(column.type))
    return reader.at_owners(sums["owner"], values)


_DERIVED: Mapping[str, Callable[[_ColumnReader, Column], pa.Array]] = {
    "amount": _of_tickets,
    "api_version": _api_version,
    "attended": _attended,
    "currency": _of_tickets,
    "targeting_label": _targeting_label,
}
