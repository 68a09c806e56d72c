"""Whatever is sent, what the sandbox answers and delivers fits the contract's tables, and is never a 500."""

from __future__ import annotations

import itertools
import json
import ssl
import string

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osdi_frames.sandbox.resource_kinds import RESOURCE_KINDS
from osdi_frames.sandbox.shapes import PERSON, REFERRER_DATA
from osdi_frames.tables.fields import FIELDS_OF_EVENTS
from tests.clocks import wait_for

from .conftest import Caller, event_id
from .schemas import (
    ERROR,
    assert_valid,
    attendance,
    collection,
    delivery,
    event_v1,
    event_v2,
    person,
    signature,
)

WORDS = st.text(max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
TIMES = st.sampled_from(
    ["2026-05-01T18:30:00Z", "2026-05-01", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00+14:00"]
)
CODES = st.sampled_from(["94607", "H2X 1Y4", "00000", " 94607-1234 ", "75001"])
LOCATION = st.dictionaries(
    st.sampled_from(["venue", "address_lines", "locality", "region", "postal_code", "country", "location"]),
    CODES | JSON | st.lists(WORDS, max_size=2),
    max_size=5,
)
LINKS = st.fixed_dictionaries(
    {}, optional={"osdi:creator": JSON | st.just({"href": "/people/x"}), "osdi:person": JSON}
)
IDENTIFIERS = st.lists(st.sampled_from(["a:1", "b:2", "platform:x", "c:", ":"]) | JSON, max_size=3)

EVENT_NAMES = sorted(
    {name.replace("<p>", "platform") for field in FIELDS_OF_EVENTS for name in (field.v2, field.v1) if name}
)
EVENTS = st.dictionaries(
    st.sampled_from([*EVENT_NAMES, "osdi:creator", "_embedded"]) | WORDS,
    WORDS | TIMES | LOCATION | IDENTIFIERS | JSON,
    max_size=8,
).flatmap(
    lambda body: st.fixed_dictionaries(
        {},
        optional={
            "title": WORDS,
            "summary": WORDS,
            "origin_system": WORDS,
            "originating_system": WORDS,
            "_links": LINKS | JSON,
            "location": LOCATION,
        },
    ).map(lambda more: body | more)
)


def entries(shape):
    """Objects with the keys of a shape, or others, and values that may fit."""
    return st.dictionaries(st.sampled_from(sorted(shape)) | WORDS, WORDS | st.booleans() | JSON, max_size=5)


PEOPLE = st.dictionaries(
    st.sampled_from(sorted(PERSON)),
    WORDS
    | st.lists(
        entries(PERSON["email_addresses"][0]) | entries(PERSON["postal_addresses"][0]) | JSON, max_size=3
    )
    | st.dictionaries(WORDS, WORDS | JSON, max_size=3)
    | JSON,
    max_size=6,
)
SIGNATURES = st.fixed_dictionaries(
    {"person": PEOPLE},
    optional={
        "comments": WORDS | JSON,
        "add_tags": st.lists(WORDS | JSON, max_size=3),
        "identifiers": IDENTIFIERS,
        "referrer_data": entries(REFERRER_DATA) | JSON,
        "platform:referrer_data": entries(REFERRER_DATA) | JSON,
        "_links": LINKS | JSON,
    },
)

examples = pytest.mark.parametrize("examples", [12, pytest.param(2000, marks=pytest.mark.long)])


def many(examples: int) -> settings:
    return settings(max_examples=examples)


def answered(client, method, path, schema, *, body=None, params=None):
    """Send, and hold the answer against its schema; return it when it is no refusal."""
    content = None if body is None else json.dumps(body).encode()
    answer = client.request(method, path, content=content, params=params)
    assert answer.status_code in (200, 400, 404, 405, 409), answer.text
    assert_valid(answer.json(), schema if answer.status_code == 200 else ERROR)
    return answer.json() if answer.status_code == 200 else None


@examples
def test_any_event_body_is_answered_as_the_tables_say(group: Caller, examples):
    """Interface 2.1 to 2.8, 4, 7: POST, PUT, GET, and the other version's view of the same event."""
    complete = {"title": "A", "summary": "A", "origin_system": "B", "originating_system": "B"}
    complete["location"] = {"postal_code": "94607"}
    known = event_id(group.create())
    both = (group.v2, event_v2()), (group.v1, event_v1())

    @many(examples)
    @given(body=EVENTS)
    def check(body):
        for (client, schema), (other, other_schema) in itertools.permutations(both):
            answered(client, "POST", "/events", schema, body=body)
            made = answered(client, "POST", "/events", schema, body=complete | body)
            for one in filter(None, (made, answered(client, "PUT", f"/events/{known}", schema, body=body))):
                here = f"/events/{event_id(one)}"
                assert answered(client, "GET", here, schema) == one
                assert answered(other, "GET", here, other_schema)["identifiers"] == one["identifiers"]

    check()
    for (client, schema), version in zip(both, ("v2", "v1"), strict=True):
        page = answered(client, "GET", "/events", collection("osdi:events", schema, version=version))
        assert page["total_records"] > 1


@examples
def test_any_signature_body_is_answered_and_delivered_as_the_tables_say(
    running, group: Caller, receiver, examples
):
    """Interface 2.7, 6."""
    petition = running.admin("POST", "petitions", title="Any", account=group.account)["id"]
    running.admin("POST", "webhooks", url=receiver.url, account=group.account)
    signed = []

    @many(examples)
    @given(body=SIGNATURES)
    def check(body):
        if made := answered(group.v2, "POST", f"/petitions/{petition}/signatures", signature(), body=body):
            signed.append(made["_links"]["self"])

    check()
    answered(group.v2, "GET", f"/petitions/{petition}/signatures", collection("osdi:signatures", signature()))
    wait_for(lambda: len(receiver.got) >= len(signed))
    for received in receiver.deliveries():
        assert_valid(received, delivery())

    def delivered():  # at least once: a receiver that is slow for once gets a message again
        return {element["osdi:signature"]["_links"]["self"]["href"] for element in receiver.elements()}

    wait_for(lambda: delivered() == {link["href"] for link in signed})


@examples
def test_any_body_of_a_person_or_an_rsvp_is_answered_as_the_shapes_say(group: Caller, examples):
    """Interface 4, 7.4: unknown fields are ignored, and what is said of them is kept in their shape."""
    event = event_id(group.create())
    ada = {"email_addresses": [{"address": f"{group.key}@example.org"}]}
    here = group.v2.post("/people", json={"person": ada}).json()["_links"]["self"]["href"]

    @many(examples)
    @given(body=SIGNATURES, changes=PEOPLE)
    def check(body, changes):
        answered(group.v2, "POST", "/people", person(), body=body)
        answered(group.v2, "PUT", here, person(), body=changes)
        made = answered(group.v2, "POST", f"/events/{event}/attendances", attendance(), body=body)
        if made:
            acting = made["_links"]["osdi:person"]["href"]
            answered(group.v2, "GET", acting, person())
            answered(group.v1, "GET", acting.replace("/v2/", "/v1/"), {"type": "object"})

    check()
    page = answered(group.v2, "GET", "/people", collection("osdi:people", person()))
    assert page["_embedded"]["osdi:people"]


@examples
def test_any_address_method_and_query_is_answered_with_json(group: Caller, examples):
    """Interface 4, 7.4."""
    segments = st.sampled_from([*(kind.at("v2") for kind in RESOURCE_KINDS.values()), "embed", "x"])
    path = st.lists(segments | st.text(string.printable, max_size=6), min_size=1, max_size=4).map("/".join)
    query = st.dictionaries(
        st.sampled_from(["page", "per_page", "filter", "background_request"]) | WORDS, WORDS, max_size=2
    )

    @many(examples)
    @given(
        method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]), path=path, query=query, body=JSON
    )
    def check(method, path, query, body):
        for client in (group.v2, group.v1):
            url = client.base_url.copy_with(raw_path=f"{client.base_url.path}{quoted(path)}".encode())
            answer = client.request(method, url, params=query, content=json.dumps(body).encode())
            assert answer.status_code in (200, 400, 403, 404, 405), answer.text
            assert isinstance(answer.json(), dict)

    check()


def quoted(path: str) -> str:
    """Percent-encode what cannot stand in a request line."""
    return "".join(c if c in string.ascii_letters + string.digits + "/_" else f"%{ord(c):02X}" for c in path)


@examples
def test_any_admin_request_is_answered_with_json(running, examples):
    """The admin interface refuses as clearly as the API does."""
    addresses = [
        path for path in running.admin("GET", "")["admin"] if "faults" not in path and "{" not in path
    ]
    names = [
        *(
            "account",
            "title",
            "url",
            "founder",
            "roles",
            "petition",
            "signatures",
            "events",
            "key",
            "uploads",
        ),
        *("event", "person", "source"),
    ]
    with httpx.Client(base_url=running.origin, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) as client:

        @many(examples)
        @given(
            path=st.sampled_from(addresses),
            method=st.sampled_from(["GET", "POST", "DELETE"]),
            body=st.dictionaries(
                st.sampled_from(names) | WORDS, JSON | st.lists(EVENTS, max_size=2), max_size=4
            ),
        )
        def check(path, method, body):
            if (method, path) == ("POST", "/sandbox/webhooks"):
                body = {**body, "url": None}  # what is registered here would get other tests' signatures
            answer = client.request(method, path, content=json.dumps(body).encode())
            assert answer.status_code in (200, 400, 404, 405, 409), answer.text
            answer.json()

        check()
