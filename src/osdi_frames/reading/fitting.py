"""Which elements do not fit their shape: the bulk form of what `mend` does precisely.

An element in which something may not fit is *suspect*; a suspect one in which nothing is wrong is read again,
the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.reading import query
from osdi_frames.reading.arrays import Mask, entries, only, true, valid
from osdi_frames.reading.documents import foreign_identifier, is_wrapper
from osdi_frames.reading.engine import Engine
from osdi_frames.reading.parsed import ENVELOPE, POSITIONS, Parsed, Steps
from osdi_frames.tables.forms import TIMESTAMPS
from osdi_frames.tables.schema import PAIRS, ElementType, Type
from osdi_frames.tables.shape import ElementShape, Shape

_Leaf = tuple[Steps, Type | Literal["pairs"]]
_TIMESTAMPS: Final[list[_Leaf]] = [((ENVELOPE, name), "utc") for name in TIMESTAMPS]


def suspects(
    engine: Engine, parsed: Parsed, shapes: Mapping[ElementType, ElementShape], documents: pa.Table
) -> Mask:
    """Return which of the elements of documents do not fit, or may not."""
    suspect = ~valid(parsed.at(()))
    for steps, kind in [*_TIMESTAMPS, *_leaves(query.entry_shape(parsed.form, shapes))]:
        _, fits = parsed.read(steps, kind)
        if not fits.all():
            suspect[parsed.owners(steps)[~fits]] = True
    for element in parsed.form.types:
        declared = shapes[element].of.inside
        if "identifiers" in declared and "self" in declared.get("_links", Shape()).inside:
            suspect[list(_foreign(parsed, parsed.head(element)))] = True
    if parsed.form.kind == "delivery":
        _check_types(engine, parsed, documents, suspect)
    return suspect


def _leaves(shape: Shape, steps: Steps = ()) -> Iterator[_Leaf]:
    """Yield where the values of columns stand, and as what they are read."""
    yield from ((steps, kind) for kind in shape.types)
    if PAIRS in shape.inside:
        yield steps, "pairs"
    elif "json" not in shape.types:
        for step, below in shape.inside.items():
            yield from _leaves(below, (*steps, step))


def _foreign(parsed: Parsed, head: Steps) -> Iterator[int]:
    """Yield the elements that the service may have identified under a prefix that is not known."""
    identifiers, _ = parsed.read((*head, "identifiers"), "list<string>")
    _, has_own = parsed.read((*head, "identifiers"), "own")
    found, owners = entries(identifiers)
    numbers = np.unique(owners[true(pc.match_substring(found, ":")) & ~has_own[owners]])
    columns = (identifiers, parsed.at((*head, "_links", "self", "href")))
    chosen = (column.take(pa.array(numbers)).to_pylist() for column in columns)
    for number, some, address in zip(numbers.tolist(), *chosen, strict=True):
        if foreign_identifier({"identifiers": some, "_links": {"self": {"href": address}}}, parsed.prefixes):
            yield number


def _check_types(engine: Engine, parsed: Parsed, documents: pa.Table, suspect: Mask) -> None:
    """Mark the elements of a delivery that are neither of a type that is read, nor of another type."""
    types = {str(element.type_key): valid(parsed.at(parsed.head(element))) for element in parsed.form.types}
    some = np.logical_or.reduce(list(types.values()))
    doubtful = ~np.logical_and.reduce(list(types.values()))
    if not doubtful.any():
        return
    engine.put("documents", only(documents, parsed.numbers[doubtful]))
    for keys, numbers, positions in engine.run(query.entry_keys(parsed.form)).fetchall():
        at = np.searchsorted(parsed.keys, np.array(numbers) << POSITIONS | np.array(positions))
        wrong = ~some[at] if not is_wrapper(keys) else np.zeros(len(at), bool)
        for name, present in types.items():
            if name in keys:
                wrong |= ~present[at]
        suspect[at[wrong]] = True
