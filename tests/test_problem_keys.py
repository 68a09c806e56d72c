"""`check` lists keys that no table has, keys that occur twice, and entries that are not read."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import osdi_frames as of
from osdi_frames.errors import ProblemsWarning
from tests.problem_readings import GOOD, SIGNED, event, listed, signature


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")  # of tables that are not there
def test_other_types_and_empty_documents_are_no_problem() -> None:
    documents = [
        [
            {"osdi:attendance": {"a": 1, "identifiers": ["platform:1"]}},
            {"osdi:wave": {"a": 1}},
            {"action_network:ladder": 7},
        ],
        [],
        {"total_pages": 1, "_embedded": {"osdi:events": []}},
        {"_embedded": {"osdi:people": [{"given_name": "Ada", "identifiers": ["platform:2"]}]}},
        {"_embedded": {"osdi:lists": [{"name": "river"}]}},
        {"received_at": "2026-01-01T00:00:00Z", "body": []},
    ]
    for table in ("events", "signatures"):
        assert of.open(documents).scan(table).read_all().num_rows == 0
    found = of.check(documents)
    assert set(found["severity"]) == {"info"}
    assert {"osdi:wave", "action_network:ladder", "osdi:lists"} <= set(found["detail"])


def test_further_entries_of_a_list_of_which_one_is_read_are_listed_as_not_read() -> None:
    place = {"address_lines": ["1 Main St", "Room 4", "Rear"]}
    person = {
        "email_addresses": [{"primary": True, "address": "a"}, {"address": "b"}],
        "postal_addresses": [place],
    }
    documents = [event(location=place), signature(person=person), {"_embedded": {"osdi:people": [person]}}]
    found = of.check(documents)
    assert set(found["severity"]) == {"info"}
    assert set(found["problem"]) == {"key not read"}
    assert dict(zip(found["detail"], found["count"], strict=True)) == {
        "event: location.address_lines[]": 2,
        "person: email_addresses[]": 1,
        "person: postal_addresses[].address_lines[]": 2,
        "signature: person.postal_addresses[].address_lines[]": 2,
    }


def test_keys_are_counted_in_each_entry_however_many_there_are() -> None:
    emails: list[Any] = [[{"address": "a", "mood": 1}] * count for count in range(5)]
    signatures = [part for some in emails for part in signature(person={"email_addresses": some})]
    chosen = {"address": "b", "tone": 1}
    emails += [[None, chosen], [{"address": "a", "mood": 1}, chosen | {"primary": True}]]
    people = {"_embedded": {"osdi:people": [{"id": "p", "email_addresses": some} for some in emails]}}
    for documents in (signatures, people), (*([one] for one in signatures), people):
        found = of.check([*documents])
        assert dict(zip(found["detail"], found["count"], strict=True)) == {
            "signature: person.email_addresses[].mood": 10,
            "person: email_addresses[].mood": 11,
            "person: email_addresses[].tone": 2,
            "person: email_addresses[]": 8,
        }


def test_what_a_petition_embeds_of_its_creator_is_not_read_and_its_address_is_in_no_message() -> None:
    creator = {"email_addresses": [{"address": "secret@example.org"}], "given_name": 7}
    page = {"_embedded": {"osdi:petitions": [{"id": "p", "_embedded": {"osdi:creator": creator}}]}}
    found = of.check(page)
    assert found[["severity", "problem", "detail"]].values.tolist() == [
        ["info", "key not read", "petition: _embedded"]
    ]
    assert "secret" not in of.read_table(page, "petitions").to_csv()


def test_a_key_that_occurs_twice_is_read_first_and_listed() -> None:
    for capacity in ("1", '"lots"'):
        text = f'{{"title": "A", "title": "B", "total_accepted": 1, "capacity": {capacity}}}'.encode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (row,) = (
                of.open(io.BytesIO(text), on_error="skip")
                .scan("events", columns=["title", "capacity"])
                .read_all()
                .to_pylist()
            )
        assert row["title"] == "A"
        assert ("warning", "duplicate key, the first is read", "title", 1) in [
            found[2:] for found in listed(io.BytesIO(text))
        ]


STAMP, EVENT = (
    '"fetched_at": "2026-01-01T00:00:00Z"',
    '{"identifiers": ["platform:good"], "total_accepted": 1}',
)
EVENTS = f'"_embedded": {{"osdi:events": [{EVENT}]}}'
SIGNATURE = '{"osdi:signature": {"identifiers": ["platform:good"]}}'


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f'{{{STAMP}, "body": [{SIGNATURE}], "body": "other"}}', "body"),
        (f'{{{STAMP}, {STAMP}, "body": {EVENT}}}', "fetched_at"),
        (f'{{{STAMP}, "url": "a", "url": "b", "body": {EVENT}}}', "url"),
        (f'{{"body": [{SIGNATURE}], "body": 7}}', "body"),
        (f'{{{STAMP}, "body": [], {STAMP}}}', "fetched_at"),
        (f'{{"total_pages": 1, "total_pages": 2, {EVENTS}}}', "total_pages"),
        (f'{{{EVENTS}, "_embedded": {{}}}}', "_embedded"),
        (f'{{{STAMP}, "body": {{"page": 1, "page": 1, {EVENTS}}}}}', "page"),
        (f'{{"_embedded": {{"osdi:events": [{EVENT}], "osdi:events": []}}}}', "osdi:events"),
        ('{"total_pages": 0, "total_pages": 1}', "total_pages"),
        (f'[{{}}, {{"page": 1, "page": 2, {EVENTS}}}]', "page"),
        (f'[{{"page": 1, "page": 2, {EVENTS}}}]', "page"),
        (f'[{SIGNATURE}, {{"osdi:wave": {{}}, "osdi:wave": {{}}}}]', "osdi:wave"),
        (
            '{"title": "of a file", "title": "without lines", "total_accepted": 1} {"total_accepted": 2}',
            "title",
        ),
        ('{"title": "is a list, not of JSON: [1,]", "title": "", "total_accepted": 1}', "title"),
        (
            '[{"osdi:signature": {"person": {"custom_fields": {"size": "M", "size": "L"}}}}]',
            "size",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::osdi_frames.errors.ProblemsWarning")
def test_a_key_that_occurs_twice_anywhere_is_listed_once(text: str, key: str) -> None:
    expected = ("warning", "duplicate key, the first is read", key, 1)
    assert [found[2:] for found in listed(io.BytesIO(text.encode())) if "duplicate" in found[3]] == [expected]


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")  # of tables that are not there
@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([{"_embedded": {"osdi:events": [GOOD]}}, {"total_pages": 2}], id="pages"),
        pytest.param([GOOD, GOOD | {"identifiers": ["platform:other"]}], id="events"),
        pytest.param([SIGNED, SIGNED], id="deliveries"),
        pytest.param(
            [{"identifiers": ["platform:good"], "_links": {"self": {"href": "/petitions/p/signatures/s"}}}],
            id="signatures",
        ),
    ],
)
def test_a_json_array_of_documents_in_a_file_is_read_as_the_same_list_of_objects_is(
    documents: Any, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(documents))
    ids = [
        [frame.iloc[:, 0].tolist() for frame in of.open(source).tables(["events", "signatures"]).values()]
        for source in (path, documents)
    ]
    assert ids[0] == ids[1] != [[], []]


def test_pages_that_differ_in_what_else_they_hold_are_all_read() -> None:
    pages = [
        {"_embedded": {"osdi:signatures": [{"identifiers": ["platform:a"]}]}},
        {"_embedded": {"osdi:signatures": [{"identifiers": ["platform:b"]}], "osdi:events": []}},
    ]
    found = of.open(pages).scan("signatures", columns=["signature_id"]).read_all()
    assert found["signature_id"].to_pylist() == ["a", "b"]


#: Around the elements of a document, keys that the contract does not name: the document, and what is listed of it.
AROUND: dict[str, tuple[Any, set[str]]] = {
    "a page": (
        {"total_pages": 1, "motd": 1, "_embedded": {"osdi:events": [GOOD]}},
        {"undeclared key page: motd"},
    ),
    "an empty page": ({"page": 1, "motd": 1}, {"undeclared key page: motd", "a document without elements "}),
    "a page of two types": (
        {"motd": 1, "_embedded": {"osdi:events": [GOOD], "osdi:people": [{"id": "p"}]}},
        {"undeclared key page: motd"},
    ),
    "a page of two types, one of which no table declares": (
        {"_embedded": {"osdi:events": [GOOD], "osdi:lists": [{}]}},
        {"other type osdi:lists"},
    ),
    "links of a page": (
        {
            "_embedded": {"osdi:events": []},
            "_links": {"self": {"href": "x"}, "next": None, "curies": [], "osdi:events": [], "more": {}},
        },
        {"undeclared key page: _links.more"},
    ),
    "an envelope of a delivery": (
        {"received_at": "2026-01-01T00:00:00Z", "headers": {}, "url": "/", "body": SIGNED},
        {"undeclared key envelope: headers"},
    ),
    "an envelope of an event": (
        {"fetched_at": "2026-01-01T00:00:00Z", "body": GOOD, "status_code": 200},
        {"undeclared key envelope: status_code"},
    ),
    "an envelope of a page": (
        {
            "fetched_at": "2026-01-01T00:00:00Z",
            "etag": 7,
            "body": {"motd": 1, "_links": {"more": 1}, "_embedded": {"osdi:events": [], "osdi:lists": []}},
        },
        {
            "undeclared key envelope: etag",
            "undeclared key page: motd",
            "undeclared key page: _links.more",
            "other type osdi:lists",
        },
    ),
    "an envelope without a time": (
        {"body": SIGNED, "signature": "5f", "page": 2},
        {
            "an envelope without a time body",
            "undeclared key envelope: signature",
            "undeclared key envelope: page",
        },
    ),
    "a key that names a person": (
        {"ann@example.org": 1, "_embedded": {"osdi:events": []}},
        {"undeclared key page: (hidden)"},
    ),
    "an envelope of the receiver": (
        {
            "checksum": "5f",
            "sequence": 1,
            "received_at": "2026-01-01T00:00:00Z",
            "erased_at": None,
            "received": "W10=",
            "reason": "",
            "body": SIGNED,
        },
        set(),
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_check_lists_unknown_keys_of_pages_and_of_envelopes(name: str, tmp_path: Path) -> None:
    document, expected = AROUND[name]
    path = tmp_path / "a.json"
    # By a query, and by Python, which reads what can have a comma too many.
    for extra in ({}, {"x": ",]"}):
        path.write_text(2 * (json.dumps(document | extra) + "\n"))
        found = of.check(path)
        keys = found["problem"] + " " + found["detail"]
        is_extra = keys.str.endswith(": x")
        assert set(keys[~is_extra]) == expected
        assert found["count"].tolist() == [2] * (len(expected) + len(extra))
        assert is_extra.sum() == len(extra)


def test_what_a_query_takes_and_json_or_python_does_not_is_one_problem_of_its_document(tmp_path):
    """A constant spelled otherwise than NaN and Infinity is not JSON, whatever is read.

    What nests deeper than 500 levels is a problem, too, in a key that is read and in another one.
    """
    path = tmp_path / "a.ndjson"
    lists, objects = ("[" * 500 + "]" * 500, '{"a": ' * 499 + "[] " + "}" * 499)
    odd = [
        f'{{"title": "Picnic", "total_accepted": 3, "capacity": {misplaced}}}'
        for misplaced in ("nan", "-NaN", "inf", "-INF", "infinity", "[" * 20_000 + "]" * 20_000)
    ]
    odd += [f'{{"title": "Picnic", "total_accepted": 3, "x": {deep}}}' for deep in (lists, objects)]
    fit = f'{{"title": "Tea", "total_accepted": 1, "x": {lists[1:-1]}, "y": {objects[6:-1]}, "z": "{"]" * 500}"}}'
    path.write_text("\n".join([*odd, fit]))
    for columns in (["title", "capacity"], None):
        with pytest.warns(ProblemsWarning, match="skipped 8 problems"):
            assert of.read_events(path, columns=columns, on_error="skip")["title"].tolist() == ["Tea"]
    errors = of.check(path).query("severity == 'error'")
    assert {*errors["problem"]} == {"not JSON"}
    assert errors["count"].sum() == 8
