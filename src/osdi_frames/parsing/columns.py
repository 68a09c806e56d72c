"""The columns of tables, from parsed elements.

That is what stands at their paths, which of it fits, and as what type.
Columns are cast from normal forms only: the forms of values that the query and the cast agree on. An element with any
other value is for `mend`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.parsing.documents import foreign_identifier
from osdi_frames.parsing.plan import CARRIED, ELEMENT, Blocks, Select, Shape, entry_shape
from osdi_frames.tables.attendances import CAME
from osdi_frames.tables.document_forms import TIMESTAMPS, Form
from osdi_frames.tables.people import VALUES
from osdi_frames.tables.schema import (
    EACH,
    FIRST,
    PAIRS,
    Column,
    ElementType,
    Path,
    Step,
    Table,
    Type,
    arrow_type,
    spelled,
)

Mask = npt.NDArray[np.bool_]

#: The step to the timestamps of an envelope.
ENVELOPE = -4
#: An object of which every value is null or a blank text.
_BLANK_FIELDS: Final = r'^\{\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*(?:null|"(?:\s|\\[nrt])*")\s*(?:,\s*)?)*\}$'
POSITIONS = 28  # bits of the number of an element; before these is the number of its document

Steps = tuple[Step, ...]
_Leaf = tuple[Steps, Type | Literal["pairs"]]
_TIMESTAMPS: Final[list[_Leaf]] = [((ENVELOPE, name), "utc") for name in TIMESTAMPS]
Read = tuple[pa.Array, Mask]
"""Values, and which fit their type."""

#: The normal form of types as a pattern of a text, or of its end; what is more is left to the cast.
_NORMAL: Mapping[Type, str] = {
    "int64": r"^-?\d{1,19}$",
    "float64": r"^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$",
    "decimal": r"^-?\d{1,13}(?:\.\d{1,2})?$",
    # An offset can lead out of the years 1 to 9999.
    "utc": r"Z$|^[12].*[+-](?:0\d|1[0-4]):[0-5]\d$",
    "local": r"\d$|\dZ$",
}

_FIRST = pa.scalar(datetime(1, 1, 1, tzinfo=UTC), arrow_type("utc"))
_LAST = pa.scalar(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), arrow_type("utc"))


def rows(parsed: Parsed, select: Select, fit: Mask) -> pa.Table:
    """Return the rows of the elements that fit.

    They have the numbers of these, and the blocks that they carry.
    """
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
    """Yield the entries that are rows.

    That is where they stand, which of these values they are, and what else is known.
    """
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
            return one(self.parsed.documents[column.name].take(pa.array(self.parsed.owners)))
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
                steps = (ENVELOPE, *path.steps)
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
            named = pc.match_substring(one(misfits), f"{self.table.element.name}: {key}\n")
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


def last_segment(addresses: pa.Array) -> pa.Array:
    """Return the last path segment of each address.

    >>> last_segment(pa.array(["https://a.org/events/1", "https://a.org/events/2/?page=3", "https://a.org"])).to_pylist()
    ['1', '2', None]
    """
    last = last_part(addresses, "/", reverse=True)
    # Of an address of the web, more slashes than those before the host are looked for.
    sizes, lengths = (pc.fill_null(pc.binary_length(texts), 0).to_numpy() for texts in (addresses, last))
    is_simple = (sizes - lengths > len("https://")) & (lengths > 0)
    is_simple &= np.logical_or(
        *(true(pc.starts_with(addresses, scheme)) for scheme in ("https://", "http://"))
    )
    if has(addresses, "?", "#"):
        is_simple &= ~true(pc.match_substring_regex(addresses, "[?#]"))
    others = np.flatnonzero(valid(addresses) & ~is_simple)
    if not len(others):
        return last
    paths = pc.replace_substring_regex(addresses.take(pa.array(others)), r"^([^:/?#]+:)?//[^/?#]*", "")
    found = pc.struct_field(
        pc.extract_regex(paths, r"^(?s:(?:[^?#]*/)?(?P<last>[^/?#]+)/*(?:[?#].*)?)$"), [0]
    )
    return pc.replace_with_mask(last, np.isin(np.arange(len(last)), others), found)


def _host(addresses: pa.Array) -> pa.Array:
    """Return the host of each address.

    It is without user and port, in lower case.
    """
    written = r"^(?:[a-z][a-z0-9+.-]*:)?//(?:[^/?#]*@)?(?P<host>\[[^\]/?#@]*\]|[^/?#:@]+)"
    return pc.struct_field(pc.extract_regex(pc.ascii_lower(addresses), written), [0])


def same_texts(texts: pa.Array | pa.ChunkedArray, known: Iterable[str]) -> pa.Array:
    """Return the different texts that are known ones in another case, or with their words joined otherwise.

    >>> same_texts(pa.array(["Checked-in", "accepted", None, "checked_in"]), ["checked in"]).to_pylist()
    ['Checked-in', 'checked_in']
    """
    different = pc.unique(texts).drop_null()
    return different.filter(pc.is_in(_joined(different), _joined(pa.array(known, pa.string()))))


def _joined(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(pc.utf8_lower(texts), r"[\s_-]+", "")


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
    """Find the events made by hand (interface 1.5).

    They have no label, and show that they were made in the user interface.
    They have what the API cannot set (2.1), a page on the service's own host (1.2), v1's ``url`` (2.8), or the
    service, by its prefix, as the system where they originated.
    """
    page, own = map(_host, urls)
    by_service = pc.is_in(_bare(origin), _bare(pa.array(values.parsed.prefixes)))
    v1_url = values.parsed.at((*values.head, "url"))
    present = valid(capacity) | valid(image) | valid(v1_url)
    return present | true(hidden) | true(pc.equal(page, own)) | true(by_service)


def _api_version(values: _Values, column: Column) -> pa.Array:
    """Return the version by its keys (interface 9).

    It is v1 where there is one of v1's own and none of v2's.
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
    return values.at_owners(found["owner"], cast(one(found[f"{wanted}_{way}"]), arrow_type(column.type)))


_DERIVED: Mapping[str, Callable[[_Values, Column], pa.Array]] = {
    "amount": _of_tickets,
    "api_version": _api_version,
    "attended": _attended,
    "currency": _of_tickets,
    "targeting_label": _targeting_label,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The elements of documents of one form.

    Those of a delivery have their siblings.
    Steps lead from an entry of the list of a document; after EACH and PAIRS, values are those of all entries.
    """

    form: Form
    documents: pa.Table
    owners: np.ndarray
    """The row of the document of each element."""
    elements: np.ndarray
    """The number of each element."""
    positions: np.ndarray
    """The position of each element in its document."""
    prefixes: tuple[str, ...]
    pairs: Callable[[pa.Array], pa.Array]
    """Gives the pairs of objects as lists, from their texts."""
    found: dict[Steps, tuple[pa.Array, np.ndarray]]
    """What was looked up, by its steps: without any the elements, at ENVELOPE the timestamps around them."""
    values: dict[tuple[Steps, str], Read] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        form: Form,
        documents: pa.Table,
        found: pa.Table,
        prefixes: tuple[str, ...],
        pairs: Callable[[pa.Array], pa.Array],
    ) -> Parsed:
        """Return the elements of parsed documents.

        `found` is the result of the query.
        """
        elements, owners = entries(one(found["list"]))
        at = pa.array(owners)
        timestamps = [
            one(found[name]).take(at) if name in found.column_names else pa.nulls(len(at), pa.string())
            for name in TIMESTAMPS
        ]
        around = pa.StructArray.from_arrays(timestamps, TIMESTAMPS)
        every = np.arange(len(owners))
        inside = every - np.searchsorted(owners, owners)
        return cls(
            form=form,
            documents=documents,
            owners=owners,
            elements=documents[ELEMENT].to_numpy()[owners] + inside,
            positions=documents["position"].to_numpy()[owners] + inside,
            prefixes=prefixes,
            pairs=pairs,
            found={(): (elements, every), (ENVELOPE,): (around, every)},
        )

    def head(self, element: ElementType) -> Steps:
        """Return where the elements of a type stand."""
        return (str(element.type_key),) if self.form.kind == "delivery" else ()

    def at(self, steps: Steps) -> pa.Array:
        """Return what stands at some steps; null where nothing does."""
        return self.found_at(steps)[0]

    def found_at(self, steps: Steps) -> tuple[pa.Array, np.ndarray]:
        """Return the values at steps, with their elements.

        These are positions among the elements.
        """
        if steps not in self.found:
            before, step = steps[:-1], steps[-1]
            values, owners = self.found_at(before)
            if isinstance(step, str):
                values = child(values, step)
            elif step in (EACH, PAIRS):
                values, lists = entries(values if step == EACH else self.read(before, "pairs")[0])
                owners = owners[lists]
            else:
                values = take(entries(values)[0], chosen(values, step, before[-1]))
            self.found[steps] = values, owners
        return self.found[steps]

    def read(self, steps: Steps, kind: Type | Literal["pairs", "own"]) -> Read:
        """Return the values at steps as a type.

        The mask is true where one fits or none is.
        """
        if (steps, kind) not in self.values:
            found = self.at(steps)
            if kind == "own":
                values = own(found, self.prefixes)
                read = values, valid(values)
            elif kind == "pairs":
                lists = self.pairs(found)
                fits = valid(lists) | ~valid(found)
                pairs, owners = entries(lists)
                fits[owners[true(child(pairs, "misplaced"))]] = False
                read = lists, fits
            else:
                read = normal(kind, found)
            self.values[steps, kind] = read
        return self.values[steps, kind]


def misfits(parsed: Parsed, shapes: Mapping[ElementType, Shape]) -> Mask:
    """Return which elements do not, or may not, fit.

    These are mended.
    """
    suspect = ~valid(parsed.at(()))
    for steps, kind in [*_TIMESTAMPS, *_leaves(entry_shape(parsed.form, shapes))]:
        _, fits = parsed.read(steps, kind)
        if not fits.all():
            suspect[parsed.found_at(steps)[1][~fits]] = True
    for element in parsed.form.types:
        declared = shapes[element].inside[str(element.type_key)].inside
        if "identifiers" in declared and "self" in declared.get("_links", Shape()).inside:
            suspect[list(_foreign(parsed, parsed.head(element)))] = True
    return suspect


def _leaves(shape: Shape, steps: Steps = ()) -> Iterator[_Leaf]:
    """Yield the paths of values, with their types."""
    yield from ((steps, kind) for kind in shape.types)
    if PAIRS in shape.inside:
        yield steps, "pairs"
    elif "json" not in shape.types:
        for step, below in shape.inside.items():
            yield from _leaves(below, (*steps, step))


def _foreign(parsed: Parsed, head: Steps) -> Iterator[int]:
    """Yield the elements with ids under unknown prefixes."""
    identifiers, _ = parsed.read((*head, "identifiers"), "list<string>")
    _, has_own = parsed.read((*head, "identifiers"), "own")
    found, owners = entries(identifiers)
    numbers = np.unique(owners[true(pc.match_substring(found, ":")) & ~has_own[owners]])
    columns = (identifiers, parsed.at((*head, "_links", "self", "href")))
    chosen = (column.take(pa.array(numbers)).to_pylist() for column in columns)
    for number, some, address in zip(numbers.tolist(), *chosen, strict=True):
        if foreign_identifier({"identifiers": some, "_links": {"self": {"href": address}}}, parsed.prefixes):
            yield number


def normal(kind: Type, texts: pa.Array) -> tuple[pa.Array, Mask]:
    """Return texts as a type, and which fit.

    The values are in the normal form of the type; null fits, too.
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
    is_simple = kind == "utc" and pc.all(pc.ends_with(texts, "Z")).as_py()  # quicker than the pattern
    fits = ~valid(texts) | (True if is_simple else true(pc.match_substring_regex(texts, _NORMAL[kind])))
    values = _values(kind, texts if fits.all() else pc.if_else(fits, texts, None))
    return values, fits & (valid(values) | ~valid(texts))


def _values(kind: Type, texts: pa.Array) -> pa.Array:
    if kind == "local" and pc.any(ends := pc.ends_with(texts, "Z")).as_py():
        texts = pc.if_else(ends, pc.utf8_slice_codeunits(texts, 0, -1), texts)
    values = cast(texts, arrow_type(kind))
    if kind in ("int64", "decimal"):
        return values
    if kind == "float64":
        within = pc.is_finite(values)
    else:
        first, last = (end.cast(values.type) for end in (_FIRST, _LAST))
        within = pc.and_(pc.less_equal(first, values), pc.less_equal(values, last))
    return values if pc.all(within).as_py() else pc.if_else(within, values, None)


def child(objects: pa.StructArray, key: str) -> pa.Array:
    """Return the values at a key of objects.

    They are null where there is no object.
    """
    return pc.struct_field(objects, [objects.type.get_field_index(key)])


def entries(lists: pa.ListArray) -> tuple[pa.Array, np.ndarray]:
    """Return the entries of lists, with list numbers."""
    return lists.flatten(), pc.list_parent_indices(lists).to_numpy()


def chosen(lists: pa.ListArray, step: int, key: Step) -> np.ndarray:
    """Return the index of the entry of each list that is read, or -1.

    That is the first (FIRST); or the object whose ``primary`` is true, else the first object (PRIMARY): of the objects
    that hold a value, where the list stands at a key that says what that is.
    """
    found, owners = entries(lists)
    if step == FIRST:
        return first(lists, np.ones(len(found), bool))
    are_objects = valid(found)
    if (np.diff(owners) > 0).all():  # no list has two
        return first(lists, are_objects)
    is_primary = true(pc.equal(child(found, "primary"), "true"))
    conditions = [are_objects, is_primary]
    if key in VALUES:
        is_held = np.logical_or.reduce([held(value_at(found, path)) for path in VALUES[key]])
        conditions += [is_held, is_held & is_primary]
    return first(lists, *conditions)


def value_at(objects: pa.StructArray, steps: Steps) -> pa.Array:
    """Return the values at keys of objects, of a list its first."""
    values = objects
    for step in steps:
        if isinstance(step, str):
            values = child(values, step)
        else:
            values = take(entries(values)[0], first(values, np.ones(len(values.flatten()), bool)))
    return values


def holding(values: pa.Array) -> Mask:
    """Return which values hold something: texts that are not blank, lists of them, and whatever else is not missing."""
    if pa.types.is_list(values.type):
        found, owners = entries(values)
        mask = np.zeros(len(values), bool)
        mask[owners[held(found)]] = True
        return mask
    return held(values) if pa.types.is_string(values.type) else valid(values)


def first(lists: pa.ListArray, *conditions: Mask) -> np.ndarray:
    """Return the index of each list's first matching entry.

    Of the conditions, the last that any entry of the list meets decides.
    """
    owners = entries(lists)[1]
    numbers = np.full(len(lists), -1)
    for condition in conditions:
        at = np.flatnonzero(condition)
        at = at[np.diff(owners[at], prepend=-1) > 0]
        numbers[owners[at]] = at
    return numbers


def take(values: pa.Array, numbers: np.ndarray) -> pa.Array:
    """Return the values at positions; null at -1."""
    return values.take(pa.array(numbers, mask=numbers < 0))


def last_part(texts: pa.Array, separator: str, *, reverse: bool = False) -> pa.Array:
    """Return the text after a separator.

    That is the first or the last one; the whole text where there is none.
    """
    parts = pc.split_pattern(texts, separator, max_splits=1, reverse=reverse)
    return take(parts.values, np.where(valid(parts), parts.offsets.to_numpy()[1:] - 1, -1))


def own(lists: pa.ListArray, prefixes: Sequence[str]) -> pa.Array:
    """Return each list's first own identifier.

    That is one of the service itself, without its prefix.
    """
    identifiers, _ = entries(lists)
    is_own = np.logical_or.reduce([true(pc.starts_with(identifiers, f"{prefix}:")) for prefix in prefixes])
    found = last_part(take(identifiers, first(lists, is_own)), ":")
    return pc.if_else(pc.equal(found, ""), None, found)


def valid(values: pa.Array) -> Mask:
    """Return where there is a value."""
    return np.asarray(values.is_valid())


def true(conditions: pa.Array) -> Mask:
    """Return where a condition is true, not null."""
    return np.asarray(pc.fill_null(conditions, False))


def starts(texts: pa.StringArray, *characters: str) -> Mask:
    """Return which texts start with one of these ASCII characters."""
    _, ends, data = texts.buffers()
    if not data:
        return np.zeros(len(texts), bool)
    ends = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    first = np.frombuffer(data, np.uint8).take(ends[:-1], mode="clip")
    found: Mask = np.logical_or.reduce([first == ord(character) for character in characters])
    # Of a text that is empty or null, another one's character was looked at.
    if found.any():
        found &= (np.diff(ends) > 0) & valid(texts)
    return found


def held(texts: pa.StringArray) -> Mask:
    """Return which texts are not blank."""
    _, ends, data = texts.buffers()
    if not data:
        return np.zeros(len(texts), bool)
    ends = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    found: Mask = (np.diff(ends) > 0) & valid(texts)
    first = np.frombuffer(data, np.uint8).take(ends[:-1], mode="clip")
    doubtful = np.flatnonzero(found & ((first <= ord(" ")) | (first > ord("~"))))
    if len(doubtful):  # a text of blanks begins with one, which need not be of ASCII
        bare = pc.utf8_trim_whitespace(texts.take(pa.array(doubtful)))
        found[doubtful] = pc.binary_length(bare).to_numpy() > 0
    return found


def folded(texts: pa.StringArray) -> pa.StringArray:
    """Return texts as they are compared: without blanks around them and case; a blank one is null."""
    bare = pc.utf8_trim_whitespace(texts)
    small = pc.ascii_lower(bare)
    others = np.flatnonzero(~true(pc.string_is_ascii(bare)) & valid(bare))
    if len(others):
        chosen = [text.casefold() for text in bare.take(pa.array(others)).to_pylist()]
        mask = np.isin(np.arange(len(bare)), others)
        small = pc.replace_with_mask(small, mask, pa.array(chosen, pa.string()))
    return pc.if_else(pc.equal(small, ""), None, small)


def has(texts: pa.StringArray, *characters: str) -> bool:
    """Return whether any text may have these characters.

    They are ASCII, and looked for in the memory of all texts.
    """
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return any((data == ord(character)).any() for character in characters)


def one(values: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values as a type, null where one cannot be."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        if len(values) == 1:
            return pa.nulls(1, kind)
        half = len(values) // 2
        return pa.concat_arrays([cast(values[:half], kind), cast(values[half:], kind)])


def only(documents: pa.Table, numbers: Collection[int] | np.ndarray, *, invert: bool = False) -> pa.Table:
    """Return the documents with some numbers, or those without them."""
    if len(numbers) == (0 if invert else documents.num_rows):
        return documents
    found = pc.is_in(documents["number"], value_set=pa.array(list(numbers), pa.int64()))
    return documents.filter(pc.invert(found) if invert else found)
