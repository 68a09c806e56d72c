"""The schemas themselves: they take what the contract describes, and refuse what its tables do not have."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from . import schemas

SAMPLES = Path(__file__).parent / "samples"
SCHEMAS = {
    "event_v2": schemas.event_v2(),
    "event_v1": schemas.event_v1(),
    "collection": schemas.collection("osdi:events", schemas.event_v2()),
    "delivery": schemas.delivery(),
}


def sample(name):
    return json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def test_the_answer_that_the_contract_describes_is_valid():
    for name in SCHEMAS:
        Draft202012Validator.check_schema(SCHEMAS[name])
        schemas.assert_valid(sample(name), SCHEMAS[name])


def objects(value, path=()):
    """Yield the path of every object of a document but those whose keys are free."""
    if isinstance(value, dict) and path[-1:] != ("custom_fields",):
        yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from objects(child, (*path, key))


def test_a_key_that_no_table_has_is_refused_wherever_it_stands():
    for name in SCHEMAS:
        for path in objects(sample(name)):
            changed = at = copy.deepcopy(sample(name))
            for key in path:
                at = at[key]
            at["surprise"] = 1
            with pytest.raises(AssertionError, match="surprise"):
                schemas.assert_valid(changed, SCHEMAS[name])


def test_a_value_that_no_table_allows_is_refused():
    for name, field, value in (
        ("event_v2", "total_accepted", "12"),
        ("event_v2", "created_date", "2026-03-01 17:02:11"),
        ("event_v2", "identifiers", []),
        ("event_v2", "status", "cancelled"),
        ("event_v1", "guestsCanInviteOthers", False),
        ("event_v1", "_embedded", {}),
        ("collection", "page", 0),
        ("collection", "total_records", None),
    ):
        with pytest.raises(AssertionError, match=field):
            schemas.assert_valid(sample(name) | {field: value}, SCHEMAS[name])
