"""The elements of parsed documents: their values at a path, cast to a type, with a mask of those that could be cast.

Only a text in the normal form of a type is cast: the form that DuckDB and Arrow read alike. `mend` brings the other
values of documents into that form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    first_entry,
    last_part,
    last_segment,
    not_blank,
    starts_with,
    take,
    true,
    valid,
)
from osdi_frames.document_forms import TIMESTAMPS, Form
from osdi_frames.parsing.plan import ELEMENT, Shape, entry_shape
from osdi_frames.tables.people import HELD_PATHS
from osdi_frames.tables.schema import EACH, FIRST, PAIRS, ElementType, Step, Type, arrow_type

#: The step that leads to the timestamps of an element's envelope.
ENVELOPE_STEP = -4
Steps = tuple[Step, ...]
_Leaf = tuple[Steps, Type | Literal["pairs"]]
_TIMESTAMPS: Final[list[_Leaf]] = [((ENVELOPE_STEP, name), "utc") for name in TIMESTAMPS]
Read = tuple[pa.Array, Mask]
"""The values cast to a type, null where the cast fails; and where the cast succeeds or there is nothing to cast."""


#: Patterns of texts in the normal form of a type; a text that matches one can still fail to be cast.
_NORMAL: Mapping[Type, str] = {
    "int64": r"^-?\d{1,19}$",
    "float64": r"^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$",
    "decimal": r"^-?\d{1,13}(?:\.\d{1,2})?$",
    # With an offset only the years 1000 to 2999, since an offset can lead out of the years 1 to 9999.
    "utc": r"Z$|^[12].*[+-](?:0\d|1[0-4]):[0-5]\d$",
    "local": r"\d$|\dZ$",
}

_FIRST = pa.scalar(datetime(1, 1, 1, tzinfo=UTC), arrow_type("utc"))
_LAST = pa.scalar(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), arrow_type("utc"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The elements of documents of one form, each of a delivery in its wrapper, as nested Arrow arrays.

    Steps lead from an element, or from the wrapper in a delivery, to values. After the steps EACH and PAIRS there is
    not one value for each element, but one for each entry of its list.
    """

    form: Form
    documents: pa.Table
    owners: np.ndarray
    """For each element the row of its document in `documents`."""
    elements: np.ndarray
    """For each element its number in the order of reading."""
    positions: np.ndarray
    """For each element its position in its document."""
    prefixes: tuple[str, ...]
    pairs: Callable[[pa.Array], pa.Array]
    """Splits the texts of JSON objects into lists of key, value and misplaced."""
    looked_up: dict[Steps, tuple[pa.Array, np.ndarray]]
    """The results of `with_owners`; at first the elements at no steps, and their envelopes at ENVELOPE_STEP."""
    cast_values: dict[tuple[Steps, str], Read] = field(default_factory=dict)
    """The results of `read`, by steps and type."""
    taken: dict[Steps, Mask] = field(default_factory=dict)
    """Of which elements a value at steps was taken out, since it does not fit."""

    @classmethod
    def of(
        cls,
        form: Form,
        documents: pa.Table,
        result: pa.Table,
        prefixes: tuple[str, ...],
        pairs: Callable[[pa.Array], pa.Array],
    ) -> Parsed:
        """Return the elements of documents from the result of `queries.parse_documents`."""
        elements, owners = entries(combined(result["list"]))
        documents_of = pa.array(owners)
        timestamps = [
            combined(result[name]).take(documents_of)
            if name in result.column_names
            else pa.nulls(len(owners), pa.string())
            for name in TIMESTAMPS
        ]
        envelopes = pa.StructArray.from_arrays(timestamps, TIMESTAMPS)
        indices = np.arange(len(owners))
        positions = indices - np.searchsorted(owners, owners)  # in the list that the query returned
        return cls(
            form=form,
            documents=documents,
            owners=owners,
            elements=documents[ELEMENT].to_numpy()[owners] + positions,
            positions=documents["position"].to_numpy()[owners] + positions,
            prefixes=prefixes,
            pairs=pairs,
            looked_up={(): (elements, indices), (ENVELOPE_STEP,): (envelopes, indices)},
        )

    def head(self, element: ElementType) -> Steps:
        """Return the steps to the elements of a type."""
        return (str(element.type_key),) if self.form.kind == "delivery" else ()

    def at(self, steps: Steps) -> pa.Array:
        """Return the values at steps, null where there is none."""
        return self.with_owners(steps)[0]

    def with_owners(self, steps: Steps) -> tuple[pa.Array, np.ndarray]:
        """Return the values at steps, and for each the index of its element."""
        if steps not in self.looked_up:
            before, step = steps[:-1], steps[-1]
            values, owners = self.with_owners(before)
            if isinstance(step, str):
                values = child(values, step)
            elif step in (EACH, PAIRS):
                values, lists = entries(values if step == EACH else self.read(before, "pairs")[0])
                owners = owners[lists]
            else:
                values = take(entries(values)[0], _selected_entry(values, step, before[-1]))
            self.looked_up[steps] = values, owners
        return self.looked_up[steps]

    def read(self, steps: Steps, kind: Type | Literal["pairs", "own"]) -> Read:
        """Return the values at steps cast to a type, and where the cast succeeds or there is nothing to cast.

        The type "pairs" splits an object into its keys and values; "own" finds the service's own identifier in a list.
        """
        if (steps, kind) not in self.cast_values:
            values = self.at(steps)
            if kind == "own":
                identifiers = _own_ids(values, self.prefixes)
                read = identifiers, valid(identifiers)
            elif kind == "pairs":
                lists = self.pairs(values)
                fits = valid(lists) | ~valid(values)
                pairs, owners = entries(lists)
                fits[owners[true(child(pairs, "misplaced"))]] = False
                read = lists, fits
            else:
                read = _cast_normal(kind, values)
            self.cast_values[steps, kind] = read
        return self.cast_values[steps, kind]

    def with_values(self, steps: Steps, indices: np.ndarray, texts: Sequence[str | None]) -> Parsed:
        """Return the elements with other values at steps, of which there is one for each element."""
        values, owners = self.with_owners(steps)
        is_other, is_taken = np.zeros((2, len(values)), bool)
        is_other[indices] = True
        is_taken[indices] = [text is None for text in texts]
        others = pc.replace_with_mask(values, is_other, pa.array(texts, values.type))
        return replace(
            self,
            looked_up=self.looked_up | {steps: (others, owners)},
            cast_values={at: read for at, read in self.cast_values.items() if at[0] != steps},
            taken=self.taken | {steps: is_taken},
        )


def misfits(parsed: Parsed, shapes: Mapping[ElementType, Shape]) -> Mask:
    """Return which elements are missing or have a value that cannot be cast, or an identifier of unknown prefix."""
    suspect = ~valid(parsed.at(()))
    for steps, _, unfitting in unfit(parsed, shapes):
        suspect[parsed.with_owners(steps)[1][unfitting]] = True
    suspect[[index for index, *_ in foreign_prefixes(parsed, shapes)]] = True
    return suspect


def unfit(
    parsed: Parsed, shapes: Mapping[ElementType, Shape]
) -> Iterator[tuple[Steps, Type | Literal["pairs"], np.ndarray]]:
    """Yield the steps to values that cannot be cast, the type, and the indices of the values there."""
    for steps, kind in leaves(parsed, shapes):
        _, fits = parsed.read(steps, kind)
        if not fits.all():
            yield steps, kind, np.flatnonzero(~fits)


def leaves(parsed: Parsed, shapes: Mapping[ElementType, Shape]) -> list[_Leaf]:
    """Return the path and the type of every value that elements and envelopes can have."""
    return [*_TIMESTAMPS, *_leaves(entry_shape(parsed.form, shapes))]


def _leaves(shape: Shape, steps: Steps = ()) -> Iterator[_Leaf]:
    """Yield the path and the type of every value that a shape declares."""
    yield from ((steps, kind) for kind in shape.types)
    if PAIRS in shape.inside or "json" in shape.types:
        yield steps, "pairs"  # also where only the text is read, since a key can occur twice
    else:
        for step, below in shape.inside.items():
            yield from _leaves(below, (*steps, step))


def foreign_prefixes(
    parsed: Parsed, shapes: Mapping[ElementType, Shape]
) -> Iterator[tuple[int, ElementType, str]]:
    """Yield the index, type and unknown prefix of each element whose own identifier has a prefix that is not known.

    An element's own identifier is the one that its address ends with, or any of its identifiers without an address.
    """
    for element in parsed.form.types:
        declared = shapes[element].inside[str(element.type_key)].inside
        if "identifiers" in declared and "self" in declared.get("_links", Shape()).inside:
            prefixes = _foreign_prefixes_at(parsed, parsed.head(element))
            yield from ((index, element, prefix) for index, prefix in prefixes)


def _foreign_prefixes_at(parsed: Parsed, head: Steps) -> Iterator[tuple[int, str]]:
    lists, _ = parsed.read((*head, "identifiers"), "list<string>")
    _, has_own = parsed.read((*head, "identifiers"), "own")
    identifiers, owners = entries(lists)
    foreign = np.flatnonzero(true(pc.match_substring(identifiers, ":")) & ~has_own[owners])
    if not len(foreign):
        return
    owners = owners[foreign]
    addresses = parsed.at((*head, "_links", "self", "href")).take(pa.array(owners))
    columns = identifiers.take(pa.array(foreign)).to_pylist(), last_segment(addresses).to_pylist()
    previous = -1
    for index, identifier, segment in zip(owners.tolist(), *columns, strict=True):
        if index != previous and (segment is None or identifier.endswith(f":{segment}")):
            yield index, identifier.partition(":")[0]
            previous = index


def _cast_normal(kind: Type, texts: pa.Array) -> Read:
    """Cast texts in the normal form of a type to that type, and return where the cast succeeds or the text is null.

    A text may be that of a JSON object or list, which is no value of a string column. Numbers beyond 64 bits and
    days that are not in the calendar cannot be cast.
    """
    if texts.null_count == len(texts):  # as most declared values of a form
        is_cast = texts.type if kind in ("string", "json", "list<string>") else arrow_type(kind)
        return pa.nulls(len(texts), is_cast), np.ones(len(texts), bool)
    match kind:
        case "string":
            return texts, ~starts_with(texts, "{", "[")
        case "json":
            return texts, ~valid(texts) | starts_with(texts, "{")
        case "list<string>":
            strings, owners = entries(texts)
            fits = np.ones(len(texts), bool)
            fits[owners[~valid(strings) | starts_with(strings, "{", "[")]] = False
            return texts, fits
        case "bool":
            fits = ~valid(texts) | true(pc.is_in(texts, value_set=pa.array(["true", "false"])))
            return pc.equal(texts, "true"), fits
    all_end_in_z = kind == "utc" and pc.all(pc.ends_with(texts, "Z")).as_py()  # quicker than the pattern
    fits = ~valid(texts) | (True if all_end_in_z else true(pc.match_substring_regex(texts, _NORMAL[kind])))
    values = _cast_in_range(kind, texts if fits.all() else pc.if_else(fits, texts, None))
    return values, fits & (valid(values) | ~valid(texts))


def _cast_in_range(kind: Type, texts: pa.Array) -> pa.Array:
    """Cast texts to a number or a time; null for infinity and for years out of 1 to 9999."""
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


def _selected_entry(lists: pa.ListArray, step: int, key: Step) -> np.ndarray:
    """Return the index of the entry of each list that columns read, or -1 for a list without one.

    The step FIRST reads the first entry. PRIMARY reads the object whose ``primary`` is true, else the first object;
    in the lists of a person's contact details (HELD_PATHS) it prefers objects that hold one.
    """
    objects, owners = entries(lists)
    if step == FIRST:
        return first_entry(lists, np.ones(len(objects), bool))
    is_object = valid(objects)
    if (np.diff(owners) > 0).all():  # no list has two entries
        return first_entry(lists, is_object)
    is_primary = true(pc.equal(child(objects, "primary"), "true"))
    conditions = [is_object, is_primary]
    if key in HELD_PATHS:
        has_detail = np.logical_or.reduce(
            [not_blank(_values_at_keys(objects, path)) for path in HELD_PATHS[key]]
        )
        conditions += [has_detail, has_detail & is_primary]
    return first_entry(lists, *conditions)


def _values_at_keys(objects: pa.StructArray, steps: Steps) -> pa.Array:
    """Return the values at keys of objects; a step that is no key reads the first entry of a list."""
    values = objects
    for step in steps:
        if isinstance(step, str):
            values = child(values, step)
        else:
            values = take(entries(values)[0], first_entry(values, np.ones(len(values.flatten()), bool)))
    return values


def _own_ids(lists: pa.ListArray, prefixes: Sequence[str]) -> pa.Array:
    """Return from each list of identifiers the first with one of the service's prefixes, without that prefix."""
    identifiers, _ = entries(lists)
    is_own = np.logical_or.reduce([true(pc.starts_with(identifiers, f"{prefix}:")) for prefix in prefixes])
    ids = last_part(take(identifiers, first_entry(lists, is_own)), ":")
    return pc.if_else(pc.equal(ids, ""), None, ids)
