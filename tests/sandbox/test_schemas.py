"""The schemas themselves: they are schemas, and they refuse what the contract's tables do not have."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from . import schemas

ALL = {
    "event v2": schemas.event_v2(),
    "event v1": schemas.event_v1(),
    "collection": schemas.collection("osdi:events", schemas.event_v2()),
    "signature": schemas.signature(),
    "delivery": schemas.delivery(),
    "error": schemas.ERROR,
}


@pytest.mark.parametrize("name", ALL)
def test_it_is_a_json_schema(name):
    Draft202012Validator.check_schema(ALL[name])


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_an_event_with_a_key_more_or_less_is_refused(group, version):
    made = group.create() if version == "v2" else group.create_v1()
    schema = ALL[f"event {version}"]
    schemas.assert_valid(made, schema)
    for key in schema["required"]:
        with pytest.raises(AssertionError):
            schemas.assert_valid({name: value for name, value in made.items() if name != key}, schema)
    with pytest.raises(AssertionError):
        schemas.assert_valid(made | {"surprise": 1}, schema)
    with pytest.raises(AssertionError):
        schemas.assert_valid(made | {"total_accepted": "7"}, schema)
