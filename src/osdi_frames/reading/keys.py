"""Which objects of an element have declared keys: of these, an inspection lists the keys that are not declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from osdi_frames.tables import TABLES
from osdi_frames.tables.forms import Form
from osdi_frames.tables.schema import ElementType, Step
from osdi_frames.tables.shape import ElementShape, Shape


@dataclass(frozen=True, slots=True, eq=False)
class KeyPath:
    """An object of an element, or of what a delivery holds around it."""

    steps: tuple[Step, ...]
    """Where it stands in the entry of the document's list."""
    shape: Shape
    element: ElementType | None = None
    """The type of its element; None for the entry of a delivery, which holds elements of several types."""
    inside: tuple[Step, ...] = ()
    """Where it stands in its element."""
    single: bool = False
    """Whether it is a list of which one entry is read."""


def key_paths(form: Form, shapes: Mapping[ElementType, ElementShape]) -> Iterator[list[KeyPath]]:
    """Yield the objects of a form's elements whose keys are declared, as they can be looked up together."""
    paths = list(_key_paths(form, shapes))
    together = [p for p in paths if all(isinstance(step, str) for step in p.steps) and not p.single]
    yield together
    yield from ([path] for path in paths if path not in together)


def _key_paths(form: Form, shapes: Mapping[ElementType, ElementShape]) -> Iterator[KeyPath]:
    if form.kind == "delivery":
        siblings = Shape(form="object")
        for element in form.types:
            siblings.merge(shapes[element].siblings)
        yield KeyPath((), siblings)
        yield from (KeyPath(steps, shape) for steps, shape in siblings.objects() if steps)
    for element in form.types:
        head: Sequence[Step] = (str(element.type_key),) if form.kind == "delivery" else ()
        shape = shapes[element].of
        yield from (KeyPath((*head, *steps), below, element, steps) for steps, below in shape.objects())
        for steps, below in shape.single_entries():
            yield KeyPath((*head, *steps), below, element, steps, single=True)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of an object, as they were found in one or more elements."""

    path: KeyPath
    keys: tuple[str, ...]
    around: tuple[str, ...]
    """The keys of the entry of the delivery; the keys of siblings name the types."""


def keys_at(paths: Sequence[KeyPath], found: Sequence[Sequence[str] | None]) -> Iterator[Keys]:
    """Yield the keys that were found at paths, but for objects that are missing."""
    for path, keys in zip(paths, found, strict=False):
        if keys:
            yield Keys(path, tuple(keys), () if path.element else tuple(found[0] or ()))


def identifies(element: ElementType, key: str, prefixes: Sequence[str]) -> bool:
    """Return whether what stands at a key of an element, as `Element.relative` gives it, can identify a person.

    >>> identifies(TABLES["signatures"].element, "person.postal_addresses[].region", ())
    False
    >>> identifies(TABLES["signatures"].element, "person.postal_addresses", ())
    True
    """
    return any(_is_around(key, other) for other in _identifying(element, tuple(prefixes)))


@cache
def _identifying(element: ElementType, prefixes: tuple[str, ...]) -> frozenset[str]:
    """Return the keys of an element at which its tables read what identifies a person."""
    heads = {table: table.row_paths for table in TABLES.values() if table.element == element}
    return frozenset(
        f"{'../' if path.sibling else ''}{written((*head, *path.steps))}"
        for table, of_rows in heads.items()
        for column in table.columns
        if column.privacy.level == "identifying"
        for path in column.paths(prefixes)
        for head in ([row.steps for row in of_rows] if column in table.entry else [()])
    )


def _is_around(key: str, other: str) -> bool:
    """Return whether one key is the other, or leads to it."""
    shorter, longer = sorted((key, other), key=len)
    return longer == shorter or longer.startswith((f"{shorter}.", f"{shorter}["))


def written(steps: Sequence[Step]) -> str:
    """Return steps as messages write them: ``person.email_addresses[]``."""
    return "".join(f".{step}" if isinstance(step, str) else "[]" for step in steps).lstrip(".")
