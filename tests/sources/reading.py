"""What a source holds, as every view of it reports it."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

import osdi_frames as of
from osdi_frames.errors import BadDocument
from osdi_frames.problems import Finding, Problem
from osdi_frames.sources.layout import split
from osdi_frames.sources.limits import Limits
from osdi_frames.sources.source import read


def documents(source: Any, limits: Limits | None = None) -> tuple[list[Any], list[Problem]]:
    """Return the documents of a source that are JSON, and the problems."""
    problems: list[Problem] = []
    found = []
    for chunk in read(source, problems.append, limits=limits):
        for document, line in zip(chunk.documents, chunk.lines, strict=True):
            for offset, value in split(document.as_py()):
                if isinstance(value, Finding):
                    place = of.problems.Place(chunk.name, int(line) + offset)
                    problems.append(Problem(place, value.problem, value.detail))
                else:
                    found.append(value)
    return found, problems


def placed(source: Any) -> list[tuple[str, int, Any]]:
    """Return each document with the file and line on which it begins."""
    return [
        (chunk.name, int(line) + offset, value)
        for chunk in read(source, print)
        for document, line in zip(chunk.documents, chunk.lines, strict=True)
        for offset, value in split(document.as_py())
    ]


def event(number: int) -> dict[str, Any]:
    return {"identifiers": [f"platform:e{number}"], "title": f"Event {number}", "total_accepted": number}


def numbers(found: list[Any]) -> list[int]:
    return [document["total_accepted"] for document in found]


def agreed(source: Any) -> tuple[list[str], list[str]]:
    """Return the ids of the events and the errors of a source, on which all views agree."""
    listed = of.check(source)
    errors = listed[listed["severity"] == "error"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = of.open(source, on_error="skip").scan("events", dedupe=False).read_all()
    assert bool(caught) == bool(len(errors)), (caught, errors)
    if len(errors):
        with pytest.raises(BadDocument):
            of.open(source).scan("events", dedupe=False).read_all()
    else:
        assert of.open(source).scan("events", dedupe=False).read_all() == rows
    details = [
        f"{row.source_file}: {row.problem}: {row.detail}"
        for row in listed.itertuples()
        if row.severity != "info"
    ]
    return rows["event_id"].to_pylist(), details


def written(value: Any) -> bytes:
    return json.dumps(value).encode()
