"""The reference reading by itself: each rule of what documents say together, in documents written by hand."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests import reference
from tests.reference import Document

HOST = "https://example.org"
API = f"{HOST}/api/v2"


def on(day: int) -> str:
    return f"2026-05-{day:02}T00:00:00Z"


def at(day: int) -> datetime:
    return datetime(2026, 5, day, tzinfo=UTC)


def read(documents: list[Any], table: str, columns: str, **options: Any) -> list[tuple[Any, ...]]:
    """Read some columns; documents that name no file are the lines of one."""
    placed = [
        each if isinstance(each, Document) else Document("lines.ndjson", line, each)
        for line, each in enumerate(documents, 1)
    ]
    rows = reference.read(placed, table, **options)
    return [tuple(row[column] for column in columns.split()) for row in rows]


def resource(own: str, modified: int | None = None, /, **keys: Any) -> dict[str, Any]:
    dated = {} if modified is None else {"modified_date": on(modified)}
    return {"identifiers": [f"platform:{own}"]} | dated | keys


def links(**ids: str) -> dict[str, Any]:
    """Return `_links`, each to a resource of the collection that its name is the singular of."""
    collections = {"person": "people"}
    return {
        f"osdi:{name}": {"href": f"{API}/{collections.get(name, f'{name}s')}/{own}"}
        for name, own in ids.items()
    }


def delivery(*acts: dict[str, Any], on_day: int | None = None, key: str = "k", **siblings: Any) -> Any:
    """Return a delivery of signatures, or of attendances, which have a status."""
    body = [
        {f"osdi:{'attendance' if 'status' in act else 'signature'}": act, "idempotency_key": key} | siblings
        for act in acts
    ]
    return body if on_day is None else {"received_at": on(on_day), "body": body}


def page(collection: str, *resources: dict[str, Any], on_day: int | None = None) -> Any:
    body = {"page": 1, "_embedded": {collection: list(resources)}}
    return body if on_day is None else {"fetched_at": on(on_day), "body": body}


def signatures(*resources: dict[str, Any], on_day: int | None = None) -> Any:
    return page("osdi:signatures", *resources, on_day=on_day)


ADA = {
    "created_date": on(1),
    "modified_date": on(2),
    "given_name": "Ada",
    "family_name": "Ruiz",
    "email_addresses": [{"address": "ada@example.org", "status": "subscribed"}],
    "phone_numbers": [{"number": "15105550100", "number_type": "Mobile"}],
    "postal_addresses": [{"region": "CA", "postal_code": "94607"}],
    "languages_spoken": ["en"],
    "custom_fields": {"size": "M"},
}


# --- the order of versions -----------------------------------------------------------------------------


def comments(*documents: Any, **options: Any) -> list[Any]:
    """Return the comments of the signatures: what tells their versions apart here."""
    return [row[0] for row in read(list(documents), "signatures", "comments", **options)]


def test_an_older_version_that_is_fetched_later_is_older() -> None:
    new = delivery(resource("s", 4, comments="new"), on_day=4)
    old = signatures(resource("s", 3, comments="old"), on_day=9)
    for documents in ([new, old], [old, new]):
        found = read(documents, "signatures", "comments modified_date received_at fetched_at")
        assert found == [("new", at(4), at(4), at(9))]


def test_of_equally_modified_ones_the_one_received_or_fetched_last_is_the_newest() -> None:
    fetched = signatures(resource("s", 1, comments="fetched"), on_day=6)
    received = delivery(resource("s", 1, comments="received"), on_day=5)
    for documents in itertools.permutations([fetched, received]):
        assert comments(*documents) == ["fetched"]
    later = delivery(resource("s", 1, comments="later"), on_day=7)
    for documents in itertools.permutations([fetched, received, later]):
        assert comments(*documents) == ["later"]


def test_a_version_without_a_time_is_older_than_those_with_one() -> None:
    undated = signatures(resource("s", comments="undated"), on_day=9)
    without_a_stamp = signatures(resource("s", 3, comments="no stamp"))
    for documents in itertools.permutations([undated, without_a_stamp]):
        assert comments(*documents) == ["no stamp"]
    stamped = signatures(resource("s", 3, comments="stamped"), on_day=2)
    for documents in itertools.permutations([undated, without_a_stamp, stamped]):
        assert comments(*documents) == ["stamped"]


def test_of_equally_new_versions_the_last_one_read_is_the_newest() -> None:
    one, two = (delivery(resource("s", 3, comments=name), on_day=3) for name in ("one", "two"))
    assert (comments(one, two), comments(two, one)) == (["two"], ["one"])


def test_a_row_stands_where_its_newest_version_was_read() -> None:
    documents = [
        signatures(resource("s", 4, comments="new")),
        signatures(resource("t", 1, comments="other")),
        signatures(resource("s", 3, comments="old")),
    ]
    assert comments(*documents) == ["new", "other"]


# --- blocks --------------------------------------------------------------------------------------------

DELIVERED = delivery(
    resource(
        "s",
        3,
        created_date=on(3),
        comments="first",
        add_tags=["river"],
        person=ADA,
        _links=links(person="p", petition="q"),
        **{"platform:referrer_data": {"source": "facebook"}},
    ),
    on_day=3,
    **{"platform:sponsor": {"title": "Progress", "url": f"{HOST}/groups/progress"}},
)
OF_A_PAGE = signatures(
    resource("other"),
    resource("s", 4, created_date=on(3), comments="second", **{"platform:person_id": "p"}),
    on_day=5,
)


@pytest.mark.parametrize("documents", [(DELIVERED, OF_A_PAGE), (OF_A_PAGE, DELIVERED)])
def test_a_page_without_a_person_takes_nothing_from_what_a_delivery_brought(documents: Any) -> None:
    def of_s(columns: str) -> tuple[Any, ...]:
        (row,) = [row for row in read([*documents], "signatures", f"signature_id {columns}") if row[0] == "s"]
        return row[1:]

    assert of_s("comments modified_date created_date") == ("second", at(4), at(3))
    assert of_s("given_name family_name email email_status") == (
        "Ada",
        "Ruiz",
        "ada@example.org",
        "subscribed",
    )
    assert of_s("phone phone_type location_region location_postal_code") == (
        *("15105550100", "Mobile"),
        *("CA", "94607"),
    )
    assert of_s("languages_spoken custom_fields person_created_date") == (["en"], '{"size":"M"}', at(1))
    assert of_s("add_tags source sponsor_title") == (["river"], "facebook", "Progress")
    assert of_s("received_at fetched_at") == (at(3), at(5))
    assert of_s("source_line") == (documents.index(OF_A_PAGE) + 1,)
    assert of_s("idempotency_key element") == ("k", 0)
    # The field for the person carries the links: they are not mixed with those of the delivery.
    assert of_s("person_id petition_id person_url") == ("p", None, None)
    assert of_s("person_filled excluded gone_since") == (None, None, None)


def test_the_rows_of_child_tables_come_with_their_block_under_the_keys_of_the_act() -> None:
    old = delivery(resource("s", 2, person=ADA, add_tags=["a", "b"]), on_day=2, key="old")
    new = delivery(
        resource("t", 3), resource("s", 3, person=None) | {"identifiers": ["platform:s", "crm:7"]}, key="new"
    )
    documents = [old, new]
    key = ("new", 1, "s")
    keys = "idempotency_key element signature_id"
    assert read(documents, "signature_tags", f"{keys} tag") == [(*key, "a"), (*key, "b")]
    assert read(documents, "signature_emails", f"{keys} address") == [(*key, "ada@example.org")]
    assert read(documents, "signature_phones", f"{keys} number") == [(*key, "15105550100")]
    assert read(documents, "signature_addresses", f"{keys} location_region") == [(*key, "CA")]
    assert read(documents, "signature_custom_fields", f"{keys} name value") == [(*key, "size", "M")]
    identifiers = read(documents, "signature_identifiers", f"{keys} system identifier")
    assert identifiers == [("new", 0, "t", "platform", "t"), (*key, "platform", "s"), (*key, "crm", "7")]


def test_the_rows_of_child_tables_stand_where_the_version_stands_that_they_come_from() -> None:
    documents = [
        delivery(resource("s", 2, add_tags=["a"])),
        delivery(resource("t", 2, add_tags=["b"])),
        signatures(resource("s", 3)),
    ]
    assert read(documents, "signatures", "signature_id") == [("t",), ("s",)]
    assert read(documents, "signature_tags", "signature_id tag") == [("s", "a"), ("t", "b")]


@pytest.mark.parametrize("nothing", [None, {}, [], "Ada", 7, {"given_name": None}, {"mood": "good"}])
def test_a_person_that_holds_nothing_carries_no_block(nothing: Any) -> None:
    documents = [delivery(resource("s", 2, person=ADA)), delivery(resource("s", 3, person=nothing))]
    assert read(documents, "signatures", "given_name email") == [("Ada", "ada@example.org")]
    assert read(documents, "signature_emails", "address") == [("ada@example.org",)]
    assert read(documents[1:], "signatures", "given_name email") == [(None, None)]


@pytest.mark.parametrize(
    "something",
    [{"email_addresses": []}, {"custom_fields": {}}, {"given_name": {}}, {"created_date": "no time"}],
    ids=json.dumps,
)
def test_an_empty_list_or_what_does_not_fit_carries_the_whole_block(something: Any) -> None:
    documents = [delivery(resource("s", 2, person=ADA)), delivery(resource("s", 3, person=something))]
    found = read(documents, "signatures", "given_name family_name email phone languages_spoken")
    assert found == [(None, None, None, None, None)]
    assert read(documents, "signature_emails", "address") == []


@pytest.mark.parametrize(("tags", "kept"), [(None, ["river"]), ([], []), (["new"], ["new"]), ("x", None)])
def test_tags_come_from_the_newest_version_that_has_any_value_for_them(tags: Any, kept: Any) -> None:
    documents = [
        delivery(resource("s", 2, add_tags=["river"])),
        delivery(resource("s", 3, add_tags=tags)),
        signatures(resource("s", 4)),
    ]
    assert read(documents, "signatures", "add_tags") == [(kept,)]
    assert read(documents, "signature_tags", "tag") == [(tag,) for tag in kept or []]


@pytest.mark.parametrize(
    ("data", "source", "website"),
    [
        ({}, "facebook", "example.net"),
        ({"url": "x"}, "facebook", "example.net"),
        ({"website": "example.com"}, None, "example.com"),
        ({"source": "none", "website": "api"}, None, None),  # what the service writes for none
    ],
)
def test_referrer_data_are_not_mixed(data: Any, source: Any, website: Any) -> None:
    old = {"referrer_data": {"source": "facebook", "website": "example.net"}}
    documents = [
        delivery(resource("s", 2, **old)),
        delivery(resource("s", 3, **{"action_network:referrer_data": data})),
    ]
    assert read(documents, "signatures", "source website") == [(source, website)]


def test_sponsors_and_links_come_from_the_newest_version_that_has_them() -> None:
    documents = [
        delivery(
            resource("s", 2, _links=links(person="p", petition="q")), **{"platform:sponsor": {"url": "a"}}
        ),
        delivery(
            resource("s", 3, _links={"self": None, "curies": []}), **{"platform:sponsor": {"title": None}}
        ),
        delivery(resource("s", 4, _links={}, **{"platform:petition_id": None}), **{"platform:sponsor": "b"}),
    ]
    columns = "sponsor_title sponsor_url person_id petition_id petition_url"
    assert read(documents, "signatures", columns) == [(None, "a", "p", "q", f"{API}/petitions/q")]


def test_retries_are_one_row_received_when_the_last_one_was() -> None:
    documents = [delivery(resource("x"), resource("s", 2, person=ADA), on_day=day) for day in (2, 3)]
    columns = "signature_id idempotency_key element email received_at source_line"
    assert read(documents, "signatures", columns)[1] == ("s", "k", 1, "ada@example.org", at(3), 2)
    assert len(read(documents, "signatures", columns, dedupe="message")) == 2


def test_the_key_of_the_message_is_that_of_the_newest_delivery() -> None:
    documents = [
        delivery(resource("s", 2), key="old"),
        delivery(resource("x", 3), resource("s", 3), key="new"),
        signatures(resource("s", 4)),
    ]
    columns = "signature_id idempotency_key element source_line"
    assert read(documents, "signatures", columns)[1] == ("s", "new", 1, 3)
    assert read([signatures(resource("y"), resource("s"))], "signatures", columns)[1] == ("s", None, 1, 1)


def test_attendances_are_merged_as_signatures_are() -> None:
    documents = [
        delivery(resource("a", 2, status="accepted", person=ADA, _links=links(event="e"))),
        page("osdi:attendances", resource("a", 3, status="attended"), on_day=4),
    ]
    found = read(documents, "attendances", "status email event_id idempotency_key fetched_at")
    assert found == [("attended", "ada@example.org", "e", "k", at(4))]


@pytest.mark.parametrize("dedupe", [False, "message"])
def test_without_deduplication_versions_are_as_they_came(dedupe: Any) -> None:
    people = page("osdi:people", resource("p", 9) | ADA)
    columns = "modified_date email person_filled gone_since"
    found = read([DELIVERED, OF_A_PAGE, people], "signatures", columns, dedupe=dedupe)
    assert found == [
        (at(3), "ada@example.org", None, None),
        (None, None, None, None),
        (at(4), None, None, None),
    ]


# --- events, campaigns, petitions ----------------------------------------------------------------------

CREATOR = resource("c", 1, given_name="Cleo", email_addresses=[{"address": "cleo@example.org"}])
V1 = {
    "identifiers": ["platform:e"],
    "modified_at": on(2),
    "summary": "Picnic",
    "url": f"{HOST}/events/picnic",
    "reminders": [{"minutes": 60}],
    "location": {"region": "NY"},
    "platform:sponsor": {"summary": "Elders"},
    "_embedded": {"osdi:creator": CREATOR},
    "_links": {"osdi:attendance": {"href": f"{HOST}/api/v1/events/e/attendance"}},
}
V2 = resource("e", 3, title="Picnic again", start_date=on(9), location={"venue": "Park"})


def test_v1_and_v2_of_an_event_with_embedded_people() -> None:
    for documents in itertools.permutations([page("osdi:events", V1, on_day=8), page("osdi:events", V2)]):
        both = list(documents)
        act = "title browser_url api_version location_venue location_region fetched_at"
        assert read(both, "events", act) == [("Picnic again", None, "v2", "Park", None, at(8))]
        blocks = "sponsor_title attendances_url creator_id organizer_id"
        expected = ("Elders", f"{HOST}/api/v1/events/e/attendance", "c", None)
        assert read(both, "events", blocks) == [expected]
        people = "event_id role person_id given_name email"
        assert read(both, "event_people", people) == [("e", "creator", "c", "Cleo", "cleo@example.org")]
        assert read(both, "event_reminders", "minutes") == []
        assert read(both, "event_identifiers", "event_id identifier") == [("e", "e")]


def test_embedded_people_come_together_from_one_version() -> None:
    newer = V2 | {"_embedded": {"osdi:creator": {}}, "osdi:organizer": resource("o", given_name="Oda")}
    found = read([V1, newer], "event_people", "role person_id given_name")
    assert found == [("creator", None, None), ("organizer", "o", "Oda")]


def test_campaigns_and_petitions_have_blocks_too() -> None:
    sponsored = {"platform:sponsor": {"title": "Progress"}, "_links": links(events="x", signatures="y")}
    for table, collection in (
        ("event_campaigns", "platform:event_campaigns"),
        ("petitions", "osdi:petitions"),
    ):
        documents = [
            page(collection, resource("q", 2, title="old", **sponsored), on_day=6),
            page(collection, resource("q", 3, title="new", _links={"self": {}}), on_day=4),
        ]
        columns = "title sponsor_title self_url fetched_at gone_since"
        assert read(documents, table, columns) == [("new", "Progress", None, at(6), None)]


# --- people --------------------------------------------------------------------------------------------


def of_people(*documents: Any, columns: str, **options: Any) -> list[tuple[Any, ...]]:
    return read(list(documents), "people", columns, **options)


def act(modified: int, /, person: Any = None, *, own: str = "s", **keys: Any) -> dict[str, Any]:
    """Return a signature of the person p, created on the day it was modified."""
    dated = {"created_date": on(modified), "_links": links(person="p")}
    return resource(own, modified, person=person, **(dated | keys))


def test_each_block_of_a_person_comes_from_the_newest_version_that_has_it() -> None:
    whole = resource("p", 5, given_name="Ada", origin_system="CRM", postal_addresses=[{"region": "NY"}])
    delivered = act(9, {"modified_date": on(4), "family_name": "Ruiz", "email_addresses": [{"address": "a"}]})
    later = act(9, {"modified_date": on(6), "phone_numbers": [], "languages_spoken": ["es"]}, own="t")
    documents = [page("osdi:people", whole), delivery(later), delivery(delivered)]
    for order in itertools.permutations(documents):
        assert of_people(*order, columns="person_id given_name family_name email phone") == [
            ("p", "Ada", None, "a", None)  # names are one block
        ]
        assert of_people(*order, columns="location_region languages_spoken") == [("NY", ["es"])]
        assert of_people(*order, columns="origin_system modified_date source_line") == [
            ("CRM", at(5), 1 + order.index(documents[0]))
        ]


@pytest.mark.parametrize("emails", [[], None])
def test_an_empty_list_of_a_person_is_what_is_known_and_null_is_not(emails: Any) -> None:
    newer = page("osdi:people", resource("p", 5, email_addresses=emails))
    expected = None if emails == [] else "ada@example.org"
    assert of_people(delivery(act(3, ADA)), newer, columns="email") == [(expected,)]


def test_what_a_person_is_comes_from_a_resource_of_its_own_however_old() -> None:
    own = resource("p", 1, identifiers=["platform:p", "crm:7"], _links={"self": {"href": f"{API}/people/p"}})
    columns = "identifiers created_date modified_date self_url"
    delivered = delivery(act(3, ADA))
    assert of_people(delivered, columns=columns) == [(None, at(1), at(2), f"{API}/people/p")]
    expected = (["platform:p", "crm:7"], None, at(1), f"{API}/people/p")
    assert of_people(page("osdi:people", own), delivered, columns=columns) == [expected]


def test_embedded_creators_are_people() -> None:
    columns = "person_id given_name email modified_date first_seen fetched_at"
    expected = ("c", "Cleo", "cleo@example.org", at(1), at(1), at(8))
    assert of_people(page("osdi:events", V1, on_day=8), columns=columns) == [expected]
    newer = page("osdi:people", resource("c", 2, given_name="Clea"))
    assert of_people(newer, page("osdi:events", V1), columns="given_name email") == [
        ("Clea", "cleo@example.org")
    ]
    # Without an id of its own it is nobody whom anything links.
    assert of_people(page("osdi:events", V1 | {"_embedded": {"osdi:creator": ADA}}), columns="email") == []


def test_custom_fields_are_merged_by_name() -> None:
    fields = [{"size": "M", "car": "yes"}, {"size": None, "été": {"b": 1, "a": []}}, {}, None, {"car": "no"}]
    documents = [
        delivery(act(3, {"modified_date": on(day), "custom_fields": held}, own=f"s{day}"))
        for day, held in enumerate(fields, 1)
    ]
    for order in (documents, documents[::-1]):
        assert of_people(*order, columns="custom_fields") == [
            ('{"car":"no","size":null,"été":{"b":1,"a":[]}}',)
        ]
    assert of_people(*documents[2:4], columns="custom_fields") == [(None,)]


def test_a_person_is_first_and_last_seen_by_its_own_dates_and_by_its_acts() -> None:
    page_of_people = page("osdi:people", resource("p", 6, created_date=on(5)), on_day=20)
    old = delivery(act(9, ADA | {"created_date": on(4)}), on_day=21)
    rsvp = page("osdi:attendances", act(12, own="a") | {"modified_date": on(15)}, on_day=22)
    columns = "first_seen last_seen received_at fetched_at"
    # A page that only links a person does not hold it; that an act was modified is nobody's date.
    expected = (at(2), at(12), at(21), at(20))
    assert of_people(page_of_people, old, rsvp, columns=columns) == [expected]


def test_a_person_that_is_only_linked_is_a_row() -> None:
    columns = "person_id first_seen last_seen given_name self_url fetched_at source_file source_line"
    nothing = (None,) * 5
    by_link = signatures(act(3), on_day=4)
    by_field = signatures(resource("t", 9, created_date=on(8), **{"platform:person_id": "p"}), on_day=9)
    assert of_people(by_link, columns=columns) == [("p", at(3), at(3), *nothing)]
    assert of_people(by_link, by_field, columns=columns) == [("p", at(3), at(8), *nothing)]
    assert of_people(signatures(act(3, {"mood": "good"})), columns=columns) == [("p", at(3), at(3), *nothing)]


def test_people_without_an_id_stay_rows_and_acts_without_one_are_of_nobody() -> None:
    nameless = page("osdi:people", {"given_name": "A"}, {"given_name": "A"}, resource("p", given_name="P"))
    of_nobody = delivery(resource("s", 3, person=ADA))
    found = of_people(nameless, of_nobody, columns="person_id given_name")
    assert found == [(None, "A"), (None, "A"), ("p", "P")]


def test_every_version_of_an_act_counts_for_its_person() -> None:
    old = delivery(act(2, {"modified_date": on(2), "given_name": "Ada"}))
    new = delivery(
        act(3, {"modified_date": on(3), "family_name": "Ruiz", "phone_numbers": [{"number": "1"}]})
    )
    moved = signatures(act(4, _links=links(person="other")))
    columns = "person_id family_name phone last_seen"
    assert of_people(old, new, moved, columns=columns) == [
        ("p", "Ruiz", "1", at(3)),
        ("other", None, None, at(4)),
    ]


def test_a_person_stands_where_the_version_stands_that_the_person_itself_is_of() -> None:
    own = page("osdi:people", resource("q", 1), resource("p", 1), {"given_name": "of nobody"})
    newer = delivery(act(3, {"modified_date": on(3), "given_name": "Ada"}))
    linked = signatures(act(4, own="t", _links=links(person="r")))
    for documents, ids in (
        ((own, newer, linked), ["q", "p", None, "r"]),
        ((newer, linked, own), ["r", "q", "p", None]),
        ((linked, newer), ["r", "p"]),
    ):
        assert [row[0] for row in of_people(*documents, columns="person_id")] == ids


def test_people_without_deduplication_are_the_resources_as_they_came() -> None:
    documents = [page("osdi:people", resource("p", 1), resource("p", 2)), delivery(act(3, ADA))]
    found = of_people(*documents, columns="person_id modified_date first_seen", dedupe=False)
    assert found == [("p", at(1), None), ("p", at(2), None)]


# --- what acts take from people ------------------------------------------------------------------------

WHOLE = page("osdi:people", resource("p", 5) | ADA | {"modified_date": on(5)})
FILLING = "given_name family_name email email_status phone location_region person_filled"


def test_a_pulled_act_has_what_is_known_of_its_person() -> None:
    documents = [WHOLE, signatures(act(3))]
    expected = ("Ada", "Ruiz", "ada@example.org", "subscribed", "15105550100", "CA")
    blocks = ["name", "email", "phone", "location"]
    assert read(documents, "signatures", FILLING) == [(*expected, blocks)]
    assert read(documents, "signatures", FILLING, people=False) == [(None,) * 7]
    rsvps = [WHOLE, page("osdi:attendances", act(3))]
    assert read(rsvps, "attendances", FILLING) == [(*expected, blocks)]
    for columns in ("languages_spoken", "custom_fields", "person_created_date"):
        assert read(documents, "signatures", columns) == [(None,)]
    assert read(documents, "signature_emails", "address") == []


def test_an_act_keeps_what_is_its_own_even_if_that_is_an_empty_list() -> None:
    own = {"given_name": "A.", "family_name": None, "email_addresses": [], "phone_numbers": None}
    found = read([WHOLE, delivery(act(3, own))], "signatures", FILLING)
    assert found == [("A.", None, None, None, "15105550100", "CA", ["phone", "location"])]


def test_an_act_takes_nothing_that_the_person_has_not_or_without_an_id_of_the_person() -> None:
    known = page("osdi:people", resource("p", 5, email_addresses=[{"address": "a"}], phone_numbers=[]))
    assert read([known, signatures(act(3))], "signatures", "email phone person_filled") == [
        ("a", None, ["email"])
    ]
    assert read([signatures(act(3))], "signatures", "email person_filled") == [(None, None)]
    unlinked = [WHOLE, page("osdi:people", ADA), signatures(resource("s", 3))]
    assert read(unlinked, "signatures", "email person_filled") == [(None, None)]


def test_one_act_is_filled_from_another_of_the_same_person() -> None:
    documents = [delivery(act(2, {"given_name": "Ada"})), delivery(act(3, ADA, own="t"))]
    found = read(documents, "signatures", "given_name family_name email person_filled")
    assert found == [
        ("Ada", None, "ada@example.org", ["email", "phone", "location"]),
        ("Ada", "Ruiz", "ada@example.org", None),
    ]


# --- what is gone --------------------------------------------------------------------------------------

PATHS = {
    "events": "events",
    "event_campaigns": "event_campaigns",
    "campaign_events": "event_campaigns/{id}/events",
    "petitions": "petitions",
    "signatures": "petitions/{id}/signatures",
    "attendances": "events/{id}/attendances",
    "people": "people",
}


def pull(day: int, *pages: Any, without: str = "", **changes: Any) -> tuple[dict[str, Any], list[Document]]:
    """Return the manifest of a pull that begins on a day and ends the day after, and its documents."""
    folder = f"pulls/{day:02}"
    manifest = {
        "folder": folder,
        "address": API,
        "campaigns": None,
        "started_at": on(day),
        "finished_at": on(day + 1),
        "collections": [
            {"name": name, "path": path, "since": None, "complete": True}
            for name, path in PATHS.items()
            if name not in without.split()
        ],
    } | changes
    stamped = [{"fetched_at": f"2026-05-{day:02}T12:00:00Z", "body": each} for each in pages]
    documents = [Document(f"{folder}/pages.ndjson", line, each) for line, each in enumerate(stamped, 1)]
    return manifest, documents


def gone(table: str, *pulls: tuple[dict[str, Any], list[Document]], extra: Any = ()) -> dict[Any, Any]:
    """Return when each thing was gone, by its id."""
    manifests, documents = [made for made, _ in pulls], [each for _, found in pulls for each in found]
    key = {"people": "person_id"}.get(table, f"{table[:-1]}_id")
    for order in (manifests, manifests[::-1]):
        found = dict(read([*documents, *extra], table, f"{key} gone_since", manifests=order))
    return found


EVENTS = page("osdi:events", resource("e", 1), resource("f", 1))
ONLY_F = page("osdi:events", resource("f", 1))


def test_what_a_later_whole_pull_has_not_is_gone_since_its_end() -> None:
    assert gone("events", pull(3, EVENTS), pull(5, ONLY_F), pull(7, ONLY_F)) == {"e": at(6), "f": None}
    assert gone("events", pull(3, EVENTS)) == {"e": None, "f": None}


def test_what_comes_back_is_not_gone_and_can_go_again() -> None:
    pulls = [pull(3, EVENTS), pull(5, ONLY_F), pull(7, EVENTS)]
    assert gone("events", *pulls) == {"e": None, "f": None}
    assert gone("events", *pulls, pull(9, ONLY_F)) == {"e": at(10), "f": None}


COMPLETE = {"since": None, "complete": True}


@pytest.mark.parametrize(
    "changes",
    [
        {"finished_at": None},
        {"address": "https://example.org:8443/api/v2"},
        {"address": "https://other.example/api/v2"},
        {"campaigns": []},
        {"campaigns": ["c"]},
        {"collections": [{"name": "events", "path": "events"} | COMPLETE]},
        {"without": "events"},
        {"without": "event_campaigns"},
    ],
    ids=str,
)
def test_a_pull_that_is_not_the_whole_of_the_same_service_proves_nothing(changes: Any) -> None:
    self_url = {"_links": {"self": {"href": f"{API}/events/e"}}}
    first = pull(3, page("osdi:events", resource("e", 1, **self_url)))
    assert gone("events", first, pull(5, ONLY_F, **changes)) == {"e": None, "f": None}
    assert gone("events", first, pull(5, ONLY_F)) == {"e": at(6), "f": None}


@pytest.mark.parametrize("collection", ["events", "campaign_events", "event_campaigns"])
@pytest.mark.parametrize("change", [{"since": on(1)}, {"complete": False}], ids=str)
def test_a_list_that_is_filtered_or_not_complete_proves_nothing(collection: str, change: Any) -> None:
    manifest, documents = pull(5, ONLY_F)
    for each in manifest["collections"]:
        each.update(change if each["name"] == collection else {})
    assert gone("events", pull(3, EVENTS), (manifest, documents)) == {"e": None, "f": None}


def test_pages_without_a_manifest_prove_nothing_and_what_was_never_stamped_is_not_gone() -> None:
    later = page("osdi:events", resource("f", 2), on_day=8)
    assert gone("events", pull(3, EVENTS), extra=[later]) == {"e": None, "f": None}
    assert gone("events", pull(3, ONLY_F), extra=[page("osdi:events", resource("g"))]) == {
        "f": None,
        "g": None,
    }


def test_an_event_of_another_file_belongs_to_its_own_service() -> None:
    def elsewhere(host: str) -> Any:
        link = {"self": {"href": f"{host}/api/v1/events/e"}}
        return [page("osdi:events", resource("e", 1, _links=link), on_day=2)]

    assert gone("events", pull(3, ONLY_F), extra=elsewhere("https://EXAMPLE.org:443"))["e"] == at(4)
    assert gone("events", pull(3, ONLY_F), extra=elsewhere("https://other.example"))["e"] is None


def test_what_was_delivered_after_a_pull_began_is_not_gone() -> None:
    link = {"_links": {"self": {"href": f"{API}/petitions/q/signatures/s"}} | links(petition="q")}
    petitions, none = page("osdi:petitions", resource("q")), signatures()
    for day, since in ((4, at(6)), (5, None), (7, None)):
        delivered = delivery(resource("s", 1, **link), on_day=day)
        assert gone("signatures", pull(5, petitions, none), extra=[delivered]) == {"s": since}


def test_signatures_and_attendances_are_gone_only_where_their_lists_were_pulled() -> None:
    petition, event = page("osdi:petitions", resource("q")), page("osdi:events", resource("e"))
    signature = signatures(resource("s", 1, _links=links(petition="q")))
    rsvp = page("osdi:attendances", resource("a", 1, _links=links(event="e")))
    before = pull(3, petition, event, signature, rsvp)
    assert gone("signatures", before, pull(5, petition, event)) == {"s": at(6)}
    assert gone("attendances", before, pull(5, petition, event)) == {"a": at(6)}
    # Also where their petition or event is gone itself: it is known from the earlier pull.
    assert gone("signatures", before, pull(5, event)) == {"s": at(6)}
    assert gone("attendances", before, pull(5, petition)) == {"a": at(6)}
    for name in ("petitions", "signatures"):
        assert gone("signatures", before, pull(5, petition, without=name)) == {"s": None}
    for name in ("events campaign_events", "attendances"):
        assert gone("attendances", before, pull(5, event, without=name)) == {"a": None}
    assert gone("attendances", before, pull(5, event, campaigns=["c"])) == {"a": None}
    assert gone("signatures", before, pull(5, petition, campaigns=["c"])) == {"s": at(6)}


def test_signatures_and_attendances_whose_petition_or_event_is_nowhere_are_not_judged() -> None:
    signature = signatures(resource("s", 1, _links=links(petition="q")), resource("t", 1))
    rsvp = page("osdi:attendances", resource("a", 1, _links=links(event="e")), resource("b", 1))
    before, after = pull(3, signature, rsvp), pull(5)
    assert gone("signatures", before, after) == {"s": None, "t": None}
    assert gone("attendances", before, after) == {"a": None, "b": None}
    # In whatever document they are, of whatever time.
    extra = [page("osdi:petitions", resource("q")), page("osdi:events", resource("e"), on_day=9)]
    assert gone("signatures", before, after, extra=extra) == {"s": at(6), "t": None}
    assert gone("attendances", before, after, extra=extra) == {"a": at(6), "b": None}


def test_events_campaigns_and_petitions_are_not_received_whatever_an_envelope_says() -> None:
    for table, collection in (("events", "osdi:events"), ("petitions", "osdi:petitions")):
        body = page(collection, resource("x", 1), resource("y", 1))
        stamped = {"received_at": on(9), "fetched_at": on(2), "body": body}
        later = pull(5, page(collection, resource("y", 1)))
        # Received on the ninth, x were seen after the pull.
        assert gone(table, pull(3, body), later, extra=[stamped]) == {"x": at(6), "y": None}


@pytest.mark.parametrize(
    ("table", "collection"),
    [
        ("event_campaigns", "platform:event_campaigns"),
        ("petitions", "osdi:petitions"),
        ("people", "osdi:people"),
    ],
)
def test_campaigns_petitions_and_people_can_be_gone(table: str, collection: str) -> None:
    both, one = page(collection, resource("x"), resource("y")), page(collection, resource("y"))
    assert gone(table, pull(3, both), pull(5, one)) == {"x": at(6), "y": None}
    assert gone(table, pull(3, both), pull(5, one, without=table)) == {"x": None, "y": None}


def test_a_person_whose_act_came_after_the_pull_is_not_gone_and_a_mere_link_proves_nothing() -> None:
    url = {"_links": {"self": {"href": f"{API}/people/p"}}}
    pulls = pull(3, page("osdi:people", resource("p", **url))), pull(5, page("osdi:people"))
    assert gone("people", *pulls, extra=[signatures(act(4), on_day=9)]) == {"p": at(6)}
    assert gone("people", *pulls, extra=[delivery(act(4, ADA), on_day=9)]) == {"p": None}


def test_manifests_are_found_below_a_folder(tmp_path: Path) -> None:
    manifest, _ = pull(3)
    del manifest["folder"]
    for name in ("b/1", "a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / ".manifest.json").write_text(json.dumps(manifest))
    found = reference.manifests_at(tmp_path)
    assert [each["folder"] for each in found] == [str(tmp_path / "a"), str(tmp_path / "b/1")]
    assert found[0]["collections"] == manifest["collections"]


# --- what reports leave out ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({}, None),
        ({"status": "confirmed"}, None),
        ({"status": "cancelled"}, "cancelled"),
        ({"platform:hidden": True}, "hidden"),
        ({"platform:hidden": True, "status": "cancelled"}, "cancelled"),
    ],
    ids=str,
)
def test_of_events_those_that_are_cancelled_or_hidden_are_left_out(keys: Any, why: Any) -> None:
    documents = [page("osdi:events", resource("e", 1, **keys))]
    for dedupe in (True, False):
        assert read(documents, "events", "excluded", dedupe=dedupe) == [(why,)]


@pytest.mark.parametrize("status", [None, "accepted", "attended"])
def test_an_attendance_that_is_accepted_attended_or_says_nothing_counts(status: str | None) -> None:
    documents = [page("osdi:attendances", resource("a", 1, status=status))]
    assert read(documents, "attendances", "excluded") == [(None,)]


@pytest.mark.parametrize("status", ["declined", "tentative", "needs action", "cancelled", "new", ""])
def test_an_attendance_of_any_other_status_is_unaccepted(status: str) -> None:
    documents = [page("osdi:attendances", resource("a", 1, status=status))]
    for dedupe in (True, False):
        assert read(documents, "attendances", "excluded", dedupe=dedupe) == [("unaccepted",)]


def test_attendances_have_the_reason_of_their_event_unless_they_have_one_of_their_own() -> None:
    events = page(
        "osdi:events",
        resource("c", 1, status="confirmed"),
        resource("c", 2, status="cancelled"),
        resource("h", 1, **{"platform:hidden": True}),
        resource("ok", 1),
        {"title": "Without an id", "status": "cancelled"},
    )
    rsvps = [
        resource(f"{event}-{status}", 1, status=status, _links=links(event=event))
        for event in ("c", "h", "ok", "unknown")
        for status in ("accepted", "declined")
    ]
    documents = [events, page("osdi:attendances", *rsvps, resource("nowhere", 1))]
    assert dict(read(documents, "attendances", "attendance_id excluded")) == {
        "c-accepted": "cancelled",
        "c-declined": "unaccepted",
        "h-accepted": "hidden",
        "h-declined": "unaccepted",
        "ok-accepted": None,
        "ok-declined": "unaccepted",
        "unknown-accepted": None,
        "unknown-declined": "unaccepted",
        "nowhere": None,
    }
    alone = [reason for _, reason in read(documents, "attendances", "event_id excluded", dedupe=False)]
    assert alone == [None, "unaccepted"] * 4 + [None]


def test_gone_comes_before_cancelled_and_the_attendances_of_an_event_that_is_gone_are_left_out() -> None:
    cancelled = page("osdi:events", resource("e", 1, status="cancelled"), resource("f", 1))
    rsvps = page(
        "osdi:attendances",
        *(resource(f"of-{own}", 1, _links=links(event=own)) for own in "ef"),
        resource("declined", 1, status="declined", _links=links(event="f")),
    )
    (first, before), (second, after) = pull(3, cancelled, rsvps), pull(5, ONLY_F)
    later = (
        resource(f"later{end}", 1, status=status, _links=links(event="e"))
        for end, status in (("", "accepted"), ("-declined", "declined"))
    )
    documents, manifests = [*before, *after, delivery(*later, on_day=9)], [first, second]
    columns = "excluded gone_since"
    assert read(documents, "events", f"event_id {columns}", manifests=manifests) == [
        ("e", "gone", at(6)),
        ("f", None, None),
    ]
    assert read(documents, "attendances", f"attendance_id {columns}", manifests=manifests) == [
        ("of-e", "gone", at(6)),
        ("of-f", "gone", at(6)),
        ("declined", "gone", at(6)),
        ("later", "gone", None),  # of an event that is gone
        ("later-declined", "unaccepted", None),
    ]


def test_send_test_is_what_an_act_is_that_has_neither_dates_nor_a_referrer_in_any_version() -> None:
    test = delivery(resource("s", person=ADA), on_day=3)
    assert read([test], "signatures", "excluded") == [("test",)]
    assert read([delivery(resource("a", status="declined"))], "attendances", "excluded") == [("test",)]
    older = delivery(resource("s", referrer_data={"source": "x"}), on_day=2)
    assert read([older, test], "signatures", "source excluded") == [("x", None)]
    assert read([older, test], "signatures", "excluded", dedupe=False) == [(None,), ("test",)]
