"""Mend single values of parsed elements: texts in another form of their type, or in none.

It is for many documents, as of a service that writes dates in its own way. `mend` rewrites each of the other documents
that do not fit, which takes several times as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import true
from osdi_frames.document_forms import BODY
from osdi_frames.messages import value_form
from osdi_frames.parsing.mend import Misfit, fitted
from osdi_frames.parsing.parsed import Parsed, Steps, leaves, unfit
from osdi_frames.parsing.plan import ELEMENT, Shape
from osdi_frames.problems import Finding, Occurrences, Place
from osdi_frames.tables.schema import ElementType, Type

_SCALARS: Final[set[Type | Literal["pairs"]]] = {"bool", "int64", "float64", "decimal", "utc", "local"}
#: What may have been no string in its document: a number, a boolean, an object or a list.
_NO_STRING: Final = r"^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false)$|^[{\[]"


def with_mended_values(
    parsed: Parsed, shapes: Mapping[ElementType, Shape]
) -> tuple[Parsed, list[Occurrences]]:
    """Return elements with values in the normal form of their type, and where values were taken out that have none.

    Elements of which several values do not fit stay as they are, and so do values in lists and of siblings,
    those that may have been no string, and those that columns of two types read.
    """
    misfits, taken = [*unfit(parsed, shapes)], list[tuple[int, Finding, str]]()
    kinds = Counter(steps for steps, _ in leaves(parsed, shapes))
    number_of = np.zeros(len(parsed.elements), int)
    for steps, _, entries in misfits:
        np.add.at(number_of, parsed.with_owners(steps)[1][entries], 1)
    for steps, kind, entries in misfits:
        if kind in _SCALARS and kinds[steps] == 1 and _is_inside(parsed, steps):
            values = _Values.of(parsed, steps, kind, entries[number_of[entries] == 1])
            parsed = parsed.with_values(steps, values.indices, values.normal)
            taken += values.taken(parsed)
    places = parsed.documents.select(["source_file", "source_line", ELEMENT]).to_pylist() if taken else []
    of_elements = ((places[parsed.owners[index]], finding, key) for index, finding, key in sorted(taken))
    return parsed, [
        Occurrences(Place(of["source_file"], of["source_line"]), finding, key, number=of[ELEMENT])
        for of, finding, key in of_elements
    ]


def _is_inside(parsed: Parsed, steps: Steps) -> bool:
    """Return whether steps lead to one value of each element."""
    types = {str(element.type_key) for element in parsed.form.types}
    is_inside = parsed.form.kind != "delivery" or steps[0] in types
    return is_inside and all(isinstance(step, str) for step in steps)


@dataclass(frozen=True, slots=True)
class _Values:
    """Values at steps that are not in the normal form of their type, each of another element."""

    steps: Steps
    indices: np.ndarray
    """Those of the elements."""
    texts: list[str]
    fits: Mapping[str, Any] = field(repr=False)
    """The normal form of each text, or why it has none."""

    @classmethod
    def of(cls, parsed: Parsed, steps: Steps, kind: Type | Literal["pairs"], indices: np.ndarray) -> _Values:
        """Return those that were strings, of values at indices."""
        texts = parsed.at(steps).take(pa.array(indices))
        were_strings = ~true(pc.match_substring_regex(texts, _NO_STRING))
        texts = texts.filter(pa.array(were_strings))
        fits = {text: _fitted(kind, text) for text in texts.unique().to_pylist()}
        return cls(steps, indices[were_strings], texts.to_pylist(), fits)

    @property
    def normal(self) -> list[str | None]:
        """The values in normal form, None for those that have none."""
        fits = (self.fits[text] for text in self.texts)
        return [None if isinstance(fit, Misfit) else fit for fit in fits]

    def taken(self, parsed: Parsed) -> Iterator[tuple[int, Finding, str]]:
        """Yield the index, a finding and its relative key for each element whose value has no normal form."""
        element = next(
            of for of in parsed.form.types if self.steps[: len(parsed.head(of))] == parsed.head(of)
        )
        inside = ".".join(map(str, self.steps[len(parsed.head(element)) :]))
        forms = {text: value_form(text) for text, fit in self.fits.items() if isinstance(fit, Misfit)}
        for index, text in zip(self.indices.tolist(), self.texts, strict=True):
            if text in forms:
                key = ".".join(filter(None, (_entry(parsed, index), *map(str, self.steps))))
                finding = Finding(self.fits[text].kind, key, forms[text])
                yield index, finding, f"{element.name}: {inside}"


def _fitted(kind: Any, text: str) -> Any:
    try:
        return fitted(kind, text)
    except Misfit as misfit:
        return misfit


def _entry(parsed: Parsed, index: int) -> str:
    """Return the path in its document of an element, or of the entry of a delivery that holds it."""
    form, position = parsed.form, parsed.positions[index]
    body = BODY if form.enveloped else ""
    if form.kind == "delivery":
        return f"{body}[{position}]"
    entry = f"_embedded.{form.keys[0]}[{position}]" if form.kind == "page" else ""
    return ".".join(filter(None, (body, entry)))
