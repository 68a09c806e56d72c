"""The shape of an element: the tree of keys that a choice of columns declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from osdi_frames.tables.schema import EACH, FIRST, PAIRS, PRIMARY, Column, Step, Table, Type

Form = Literal["object", "list"]


@dataclass(slots=True)
class Shape:
    """What is declared at one key, and below it."""

    types: set[Type] = field(default_factory=set)
    """The types of the columns that are read from here; none where only keys below are read."""
    inside: dict[Step, Shape] = field(default_factory=dict)
    form: Form | None = None
    """What a value must be here; None where its types decide."""

    def add(self, steps: Sequence[Step], kind: Type | None = None) -> Shape:
        """Declare a path below this one, and the type that a column reads there; return the shape at its end."""
        shape = self
        for step in steps:
            shape.form = "object" if isinstance(step, str) or step == PAIRS else "list"
            shape = shape.inside.setdefault(step, Shape())
            if step == PRIMARY:
                shape.inside.setdefault("primary", Shape())  # it decides which entry is read
        if kind:
            shape.types.add(kind)
            shape.form = _FORM.get(kind, shape.form)
        return shape

    @property
    def is_struct(self) -> bool:
        """Whether it is an object that is read key by key, and not one of which the text or all pairs are wanted."""
        return self.form == "object" and "json" not in self.types and PAIRS not in self.inside

    @property
    def is_single(self) -> bool:
        """Whether it is a list of which one entry is read."""
        return (FIRST in self.inside or PRIMARY in self.inside) and EACH not in self.inside

    def fold(self) -> None:
        """Read every entry of a list alike where all of them are read, the chosen one included."""
        every = self.inside.get(EACH)
        for step in (FIRST, PRIMARY):
            if every is not None and step in self.inside:
                every.merge(self.inside.pop(step))
        for below in self.inside.values():
            below.fold()

    def merge(self, other: Shape) -> None:
        """Declare what another shape declares, too."""
        self.types |= other.types
        self.form = self.form or other.form
        for step, below in other.inside.items():
            self.inside.setdefault(step, Shape()).merge(below)


_FORM: dict[Type, Form] = {"list<string>": "list", "json": "object"}


def entry_shape(table: Table, columns: Sequence[Column], prefixes: Sequence[str]) -> Shape:
    """Return what `columns` of a table declare in a delivery: its element under the type key, and siblings."""
    shape = Shape(form="object")
    element = shape.inside[str(table.element.type_key)] = Shape(form="object")
    heads = table.heads(prefixes)
    for entry in map(element.add, heads):
        entry.form = "object" if table.of_objects else entry.form
    for column in table.needed(columns):
        if column.origin == "envelope":
            continue
        for path in column.paths(prefixes):
            kind: Type = "list<string>" if path.function == "own" else column.type
            root = shape if path.sibling else element
            for head in heads if column in table.entry else [()]:
                root.add((*head, *path.steps), kind)
    return shape
