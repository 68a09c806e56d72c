"""Mend documents in which something does not fit, so that the query reads them like all others.

What does not fit is taken out and named; what fits in another form is brought into its normal form.
Each element of a mended document is a document of its own, in an envelope.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from osdi_frames.parsing.documents import Element, foreign_identifier, is_type_key
from osdi_frames.parsing.keys import identifies
from osdi_frames.parsing.plan import Plan
from osdi_frames.parsing.values import Misfit, fitted
from osdi_frames.problems import Finding, ProblemKind, named, outlined
from osdi_frames.tables.forms import BODY, Form
from osdi_frames.tables.schema import EACH, FIRST, PAIRS, PRIMARY, Step
from osdi_frames.tables.shape import Shape

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def mend(element: Element, plan: Plan) -> tuple[Form, str, list[Finding]]:
    """Write an element as an enveloped document; give its form, and what does not fit."""
    kind = element.type
    entry, walk = plan.shapes[kind], _Walk()
    if foreign := foreign_identifier(element.value, plan.prefixes):
        key = f"{element.key}.identifiers".lstrip(".")
        walk.findings.append(Finding(ProblemKind.UNKNOWN_PREFIX, key, foreign, "warning"))
    body: Any
    if element.wrapper is None:
        body = walk.value(element.value, entry.inside[str(kind.type_key)], element.key)
    else:
        siblings = {key: value for key, value in element.wrapper.items() if not is_type_key(key)}
        body = [walk.value({kind.type_key: element.value} | siblings, entry, element.wrapper_key)]
    timestamps = {
        key: walk.leaf(value, {"utc"}, key) if key in plan.timestamps else None
        for key, value in (element.timestamps or {"received_at": None}).items()
    }
    text = _LONE_SURROGATE.sub("\ufffd", json.dumps(timestamps | {BODY: body}, ensure_ascii=False))
    form = Form("single" if element.wrapper is None else "delivery", True, (kind,))
    return form, text, [_without_person(finding, element, plan.prefixes) for finding in walk.findings]


def _without_person(finding: Finding, element: Element, prefixes: Sequence[str]) -> Finding:
    """Return a finding that shows no value of what can identify a person."""
    key = element.relative(finding.key).partition(": ")[2]
    if not identifies(element.type, key, prefixes):
        return finding
    if finding.problem is ProblemKind.UNKNOWN_PREFIX:
        return replace(finding, value=f"{named(finding.value.partition(':')[0])}:…")
    return replace(finding, value=outlined(finding.value, numbers=0))


@dataclass(frozen=True, slots=True)
class _Walk:
    """Walks through a value along its shape; collects what does not fit."""

    findings: list[Finding] = field(default_factory=list)

    def value(self, value: Any, shape: Shape, key: str) -> Any:
        """Return the value without what does not fit, None where nothing is left."""
        if value is None:
            return None
        if shape.form is None:
            return self.leaf(value, shape.types, key)
        if shape.form == "object" and isinstance(value, dict):
            return self._object(value, shape, key)
        if shape.form == "list" and isinstance(value, list):
            return self._list(value, shape, key)
        kind = ProblemKind.NO_OBJECT if shape.form == "object" else ProblemKind.NO_LIST
        self.findings.append(Finding(kind, key, value))
        return None

    def leaf(self, value: Any, types: Collection[Any], key: str) -> Any:
        """Return the normal form of a single value."""
        if value is None:
            return None
        if isinstance(value, str) and _LONE_SURROGATE.search(value):
            self.findings.append(Finding(ProblemKind.SURROGATE, key, value, "warning"))
        for kind in types:
            try:
                value = fitted(kind, value)
            except Misfit as misfit:
                self.findings.append(Finding(misfit.kind, key, value))
                return None
        return value

    def _object(self, value: dict[str, Any], shape: Shape, key: str) -> dict[str, Any]:
        pairs = shape.inside.get(PAIRS)
        if pairs is not None or "json" in shape.types:
            for name, inner in value.items():
                self.leaf(inner, pairs.types if pairs else (), f"{key}.{name}")
            return value  # the text of the object is read, too
        # Keys that are not read keep their place, so that they can be listed.
        return {
            name: self.value(inner, shape.inside[name], f"{key}.{name}" if key else name)
            if name in shape.inside
            else None
            for name, inner in value.items()
        }

    def _list(self, value: list[Any], shape: Shape, key: str) -> list[Any]:
        if "list<string>" in shape.types:
            texts = (self.leaf(entry, {"string"}, f"{key}[{at}]") for at, entry in enumerate(value))
            return [text for text in texts if text is not None]
        read: dict[Step, int | None] = {FIRST: 0, PRIMARY: primary(value)}
        mended: list[Any] = [None] * len(value)
        for position, entry in enumerate(value):
            for step, inner in shape.inside.items():
                is_misplaced = inner.form == "object" and not isinstance(entry, dict)
                if step == EACH or position == read[step] or is_misplaced:
                    mended[position] = self.value(entry, inner, f"{key}[{position}]")
        return mended


def primary(entries: Sequence[Any]) -> int | None:
    """Return the position of the object whose ``primary`` is true, else of the first object."""
    marks = {at: entry.get("primary") for at, entry in enumerate(entries) if isinstance(entry, dict)}
    marked = (at for at, mark in marks.items() if mark is True or mark == "true")  # not 1, which equals True
    return next(marked, next(iter(marks), None))
