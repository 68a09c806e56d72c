"""The columns of a table, from parsed elements in which everything fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.arrays import Mask, child, has, last_part, one, true, valid
from osdi_frames.parsing.parsed import ENVELOPE, Parsed, Steps
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.tables.arrow import ARROW
from osdi_frames.tables.schema import EACH, PAIRS, Column, Path, Table, spelled


def rows(parsed: Parsed, table: Table, columns: Sequence[Column], fit: Mask) -> pa.Table:
    """Return the rows of the elements that fit, with the numbers of these."""
    head = parsed.head(table.element)
    fit = fit & valid(parsed.at(head))
    of_element = _Values(parsed, table, head, {"element position": pa.array(parsed.positions)})
    keys = {column.name: of_element.of(column) for column in columns if column not in table.entry}
    parts = []
    for steps, at, given in _entries(parsed, table, head, fit) if table.rows else [(head, fit, {})]:
        _, owners = parsed.found_at(steps)
        of_entry = _Values(parsed, table, steps, given)
        numbers = np.flatnonzero(at & fit[owners])
        found = {
            column.name: of_entry.of(column).take(pa.array(numbers))
            if column in table.entry
            else _some(keys[column.name], owners[numbers])
            for column in columns
        }
        typed = {column.name: found[column.name].cast(ARROW[column.type]) for column in columns}
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
    """Yield where the entries stand that are rows, which of these values are, and what else is given."""
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
    given: Mapping[str, pa.Array]
    """The values of the columns that do not stand at paths, by their origin."""

    def of(self, column: Column) -> pa.Array:
        """Return the values of a column."""
        if column.origin == "source":
            return one(self.parsed.documents[column.name].take(pa.array(self.parsed.owners)))
        if column.origin == "derived":
            return _DERIVED[column.name](self, column)
        if column.origin in self.given:
            return self.given[column.origin]
        found = pa.nulls(len(self.parsed.at(self.head)), ARROW[column.type])
        for path in column.paths(self.parsed.prefixes):
            if path.sibling and self.parsed.form.kind != "delivery":
                continue
            steps = path.steps if path.sibling else (*self.head, *path.steps)
            if column.origin == "envelope":
                steps = (ENVELOPE, *path.steps)
            if found.null_count == len(found):
                found = self._read(column, path, steps)
            elif (missing := valid(self.parsed.at(steps)) & ~valid(found)).any():
                found = pc.replace_with_mask(
                    found, missing, self._read(column, path, steps, pa.array(missing))
                )
        return found

    def _read(self, column: Column, path: Path, steps: Steps, at: pa.Array | None = None) -> pa.Array:
        """Return what a path gives, for all values or for some."""
        if path.function in (None, "own"):
            values, _ = self.parsed.read(steps, "own" if path.function else column.type)
            values = values if at is None else values.filter(at)
            if column.absent and true(absent := pc.is_in(values, pa.array(column.absent))).any():
                values = pc.if_else(absent, None, values)
            return values
        texts = self.parsed.at(steps)
        return _FUNCTIONS[str(path.function)](texts if at is None else texts.filter(at))


def last_segment(addresses: pa.Array) -> pa.Array:
    """Return the last path segment of each address.

    >>> last_segment(pa.array(["https://a.org/events/1", "https://a.org/events/2/?page=3", "https://a.org"])).to_pylist()
    ['1', '2', None]
    """
    last = last_part(addresses, "/", reverse=True)
    # Of an address of the web, more slashes than those before the host are looked for.
    sizes, lengths = (pc.fill_null(pc.binary_length(texts), 0).to_numpy() for texts in (addresses, last))
    plain = (sizes - lengths > len("https://")) & (lengths > 0)
    plain &= np.logical_or(*(true(pc.starts_with(addresses, scheme)) for scheme in ("https://", "http://")))
    if has(addresses, "?", "#"):
        plain &= ~true(pc.match_substring_regex(addresses, "[?#]"))
    odd = np.flatnonzero(valid(addresses) & ~plain)
    if not len(odd):
        return last
    paths = pc.replace_substring_regex(addresses.take(pa.array(odd)), r"^([^:/?#]+:)?//[^/?#]*", "")
    found = pc.struct_field(
        pc.extract_regex(paths, r"^(?s:(?:[^?#]*/)?(?P<last>[^/?#]+)/*(?:[?#].*)?)$"), [0]
    )
    return pc.replace_with_mask(last, np.isin(np.arange(len(last)), odd), found)


def _host(addresses: pa.Array) -> pa.Array:
    """Return the host of each address, without user and port, in small letters."""
    written = r"^(?:[a-z][a-z0-9+.-]*:)?//(?:[^/?#]*@)?(?P<host>\[[^\]/?#@]*\]|[^/?#:@]+)"
    return pc.struct_field(pc.extract_regex(pc.ascii_lower(addresses), written), [0])


def _bare(names: pa.Array) -> pa.Array:
    """Return the letters and digits of each name."""
    return pc.replace_substring_regex(pc.ascii_lower(names), "[^a-z0-9]", "")


def _system(texts: pa.Array) -> pa.Array:
    first = pc.list_element(pc.split_pattern(texts, ":", max_splits=1), 0)
    return pc.if_else(pc.match_substring(texts, ":"), first, None)


_FUNCTIONS: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "id": last_segment,
    "system": _system,
    "identifier": partial(last_part, separator=":"),
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
    """Find the events that show that they were made in the user interface, which have no label (interface 1.5).

    They have what the API cannot set (2.1), a page on the service's own host (1.2), v1's ``url`` (2.8), or the
    service, by its prefix, as the system where they originated.
    """
    page, own = map(_host, urls)
    by_service = pc.is_in(_bare(origin), _bare(pa.array(values.parsed.prefixes)))
    v1_url = values.parsed.at((*values.head, "url"))
    present = valid(capacity) | valid(image) | valid(v1_url)
    return present | true(hidden) | true(pc.equal(page, own)) | true(by_service)


def _api_version(values: _Values, column: Column) -> pa.Array:
    """Return the version by its keys (interface 9): v1 where there is one of v1's own and none of v2's.

    The key of a value that does not fit counts, too.
    """
    parsed, element = values.parsed, values.table.element.name
    misfits = one(parsed.documents["misfits"].take(pa.array(parsed.owners)))

    def has(version: str, other: str) -> np.ndarray:
        found = np.zeros(len(parsed.elements), bool)
        for declared in map(values.table.column, column.derived):
            for path in set(getattr(declared, version)) - set(getattr(declared, other)):
                found |= valid(parsed.at((*values.head, *Path.parse(path).steps)))
                if misfits.null_count < len(misfits):
                    found |= true(pc.match_substring(misfits, f"{element}: {path}\n"))
        return found

    return pc.if_else(has("v1", "v2") & ~has("v2", "v1"), "v1", "v2")


_DERIVED: Mapping[str, Callable[[_Values, Column], pa.Array]] = {
    "api_version": _api_version,
    "targeting_label": _targeting_label,
}
