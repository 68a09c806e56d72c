"""The elements of parsed documents: what stands at steps, as which type, and which of it fits.

Values are cast from normal forms only: the forms that the query and the cast agree on. An element with any other value
is for `mend`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import (
    Mask,
    cast,
    child,
    combined,
    entries,
    first,
    held,
    last_part,
    last_segment,
    starts,
    take,
    true,
    valid,
)
from osdi_frames.document_forms import TIMESTAMPS, Form
from osdi_frames.parsing.plan import ELEMENT, Shape, entry_shape
from osdi_frames.tables.people import HELD_PATHS
from osdi_frames.tables.schema import EACH, FIRST, PAIRS, ElementType, Step, Type, arrow_type

#: The step to the timestamps of an envelope.
ENVELOPE_STEP = -4
Steps = tuple[Step, ...]
_Leaf = tuple[Steps, Type | Literal["pairs"]]
_TIMESTAMPS: Final[list[_Leaf]] = [((ENVELOPE_STEP, name), "utc") for name in TIMESTAMPS]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The elements of documents of one form; those of a delivery have their siblings.

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
    """What was looked up, by its steps: without any the elements, at ENVELOPE_STEP the timestamps around them."""
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
        elements, owners = entries(combined(found["list"]))
        at = pa.array(owners)
        timestamps = [
            combined(found[name]).take(at) if name in found.column_names else pa.nulls(len(at), pa.string())
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
            found={(): (elements, every), (ENVELOPE_STEP,): (around, every)},
        )

    def head(self, element: ElementType) -> Steps:
        """Return where the elements of a type stand."""
        return (str(element.type_key),) if self.form.kind == "delivery" else ()

    def at(self, steps: Steps) -> pa.Array:
        """Return what stands at some steps; null where nothing does."""
        return self.found_at(steps)[0]

    def found_at(self, steps: Steps) -> tuple[pa.Array, np.ndarray]:
        """Return the values at steps, with the position of the element of each."""
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
        """Return the values at steps as a type, and a mask that is true where one fits or there is none."""
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
    """Return in which elements something does not fit, or may not."""
    suspect = ~valid(parsed.at(()))
    for steps, kind in [*_TIMESTAMPS, *_leaves(entry_shape(parsed.form, shapes))]:
        _, fits = parsed.read(steps, kind)
        if not fits.all():
            suspect[parsed.found_at(steps)[1][~fits]] = True
    suspect[[at for at, *_ in foreign_prefixes(parsed, shapes)]] = True
    return suspect


def _leaves(shape: Shape, steps: Steps = ()) -> Iterator[_Leaf]:
    """Yield the paths of values, with their types."""
    yield from ((steps, kind) for kind in shape.types)
    if PAIRS in shape.inside:
        yield steps, "pairs"
    elif "json" not in shape.types:
        for step, below in shape.inside.items():
            yield from _leaves(below, (*steps, step))


def foreign_prefixes(
    parsed: Parsed, shapes: Mapping[ElementType, Shape]
) -> Iterator[tuple[int, ElementType, str]]:
    """Yield the elements of which the service's own identifier has an unknown prefix, with that.

    It is the identifier that the address ends with, or any where there is no address.
    """
    for element in parsed.form.types:
        declared = shapes[element].inside[str(element.type_key)].inside
        if "identifiers" in declared and "self" in declared.get("_links", Shape()).inside:
            yield from ((at, element, prefix) for at, prefix in _foreign(parsed, parsed.head(element)))


def _foreign(parsed: Parsed, head: Steps) -> Iterator[tuple[int, str]]:
    identifiers, _ = parsed.read((*head, "identifiers"), "list<string>")
    _, has_own = parsed.read((*head, "identifiers"), "own")
    texts, owners = entries(identifiers)
    doubtful = np.flatnonzero(true(pc.match_substring(texts, ":")) & ~has_own[owners])
    if not len(doubtful):
        return
    addresses = parsed.at((*head, "_links", "self", "href")).take(pa.array(owners[doubtful]))
    columns = texts.take(pa.array(doubtful)).to_pylist(), last_segment(addresses).to_pylist()
    before = -1
    for at, text, last in zip(owners[doubtful].tolist(), *columns, strict=True):
        if at != before and (last is None or text.endswith(f":{last}")):
            yield at, text.partition(":")[0]
            before = at


def normal(kind: Type, texts: pa.Array) -> tuple[pa.Array, Mask]:
    """Return texts in the normal form of a type as values of it, and which fit; null does.

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
    if key in HELD_PATHS:
        is_held = np.logical_or.reduce([held(values_at_keys(found, path)) for path in HELD_PATHS[key]])
        conditions += [is_held, is_held & is_primary]
    return first(lists, *conditions)


def values_at_keys(objects: pa.StructArray, steps: Steps) -> pa.Array:
    """Return the values at keys of objects, of a list its first."""
    values = objects
    for step in steps:
        if isinstance(step, str):
            values = child(values, step)
        else:
            values = take(entries(values)[0], first(values, np.ones(len(values.flatten()), bool)))
    return values


def own(lists: pa.ListArray, prefixes: Sequence[str]) -> pa.Array:
    """Return each list's first identifier of the service itself, without its prefix."""
    identifiers, _ = entries(lists)
    is_own = np.logical_or.reduce([true(pc.starts_with(identifiers, f"{prefix}:")) for prefix in prefixes])
    found = last_part(take(identifiers, first(lists, is_own)), ":")
    return pc.if_else(pc.equal(found, ""), None, found)
