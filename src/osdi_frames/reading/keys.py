"""Which objects of an element have declared keys: of these, an inspection lists the keys that are not declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
        yield from (KeyPath((*head, *steps), each, element, steps) for steps, each in shape.objects())
        for steps, each in shape.single_entries():
            yield KeyPath((*head, *steps), each, element, steps, single=True)


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


def written(steps: Sequence[Step]) -> str:
    """Return steps as messages write them: ``person.email_addresses[]``."""
    return "".join(f".{step}" if isinstance(step, str) else "[]" for step in steps).lstrip(".")
