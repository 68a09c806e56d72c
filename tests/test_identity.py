"""Which person is who, which element is which, and who is new by an act."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pandas as pd
import pytest

import osdi_frames as of


def signed(
    number: str, *, person: str = "ann", at: str = "2026-05-04T10:00:00Z", **more: Any
) -> dict[str, Any]:
    """Return the delivery of a signature by a linked person, whose hash is `more`."""
    signature = {
        "identifiers": [f"platform:{number}"],
        "created_date": at,
        "modified_date": at,
        "person": more,
        "_links": {
            "osdi:petition": {"href": "https://host.example/api/v2/petitions/bridge"},
            "osdi:person": {"href": f"https://host.example/api/v2/people/{person}"},
        },
    }
    return {"osdi:signature": signature}


def test_created_date_of_a_person_is_the_earliest_of_all_versions():
    dates = ("2026-05-04T10:00:00Z", "2024-01-01T00:00:00Z", "2026-09-09T00:00:00Z")
    versions = [
        signed(str(n), at=f"2026-05-0{n + 1}T10:00:00Z", created_date=date) for n, date in enumerate(dates)
    ]
    for order in (versions, versions[::-1]):
        (person,) = of.open(order).people()["created_date"]
        assert person == pd.Timestamp("2024-01-01", tz="UTC")


def test_an_act_back_dated_by_a_later_delivery_makes_nobody_new():
    versions = [
        signed("1", created_date="2025-01-01T00:00:00Z", modified_date="2026-05-04T00:00:00Z"),
        signed("2", at="2026-06-01T10:00:00Z", created_date="2026-05-04T09:00:00Z"),
    ]
    assert of.open(versions).actions()["is_new"].to_list() == [False, False]


def test_is_new_is_known_of_a_person_created_at_most_a_day_after_the_first_act():
    expected = {
        "2026-05-03T10:00:00Z": True,  # a day before
        "2026-05-05T10:00:00Z": True,  # a day after
        "2026-05-03T09:59:59Z": False,
        "2026-05-05T10:00:01Z": None,
        None: None,
    }
    deliveries = []
    for number, created in enumerate(expected):
        deliveries.append(signed(f"{number}a", person=f"p{number}", created_date=created))
        deliveries.append(signed(f"{number}b", person=f"p{number}", at="2026-07-01T00:00:00Z"))
    acts = of.open(deliveries).actions().sort_values(["number", "person_id"])
    found = [None if pd.isna(value) else value for value in acts["is_new"]]
    assert found == [*expected.values(), *[False] * len(expected)]


def page(kind: str, *resources: dict[str, Any]) -> dict[str, Any]:
    return {"total_pages": 1, "page": 1, "_embedded": {f"osdi:{kind}": list(resources)}}


def test_a_plain_id_identifies_after_the_own_identifier_and_the_link():
    event = {"id": "e1", "title": "March", "start_date": "2026-05-01T18:00:00Z", "total_accepted": 5}
    linked = {"_links": {"self": {"href": "https://host.example/api/v2/events/e2"}}}
    named = {"identifiers": ["platform:e3"]}
    blank = {"title": "March", "id": "", "total_accepted": 1}
    events = of.open([event, event | linked, event | linked | named, event | {"id": 7}, event, blank, blank])
    assert events.events()["event_id"].to_list()[:4] == ["e2", "e3", "7", "e1"]
    assert events.events()["event_id"].isna().to_list()[4:] == [True, True]


RSVP = {"status": "accepted", "created_date": "2026-05-01T10:00:00Z", "action_network:event_id": "e1"}
SIGNATURE = {"created_date": "2026-05-01T10:00:00Z", "action_network:petition_id": "q"}
ANN = {"action_network:person_id": "ann"}
BY_ADDRESS = {"person": {"email_addresses": [{"address": "Ann@example.org "}]}}
SAME_ADDRESS = {"person": {"email_addresses": [{"address": "ann@Example.org"}]}}


@pytest.mark.parametrize(
    ("kind", "versions", "count"),
    [
        ("attendances", [RSVP | ANN, RSVP | ANN | {"status": "attended"}], 1),
        ("attendances", [RSVP | BY_ADDRESS, RSVP | SAME_ADDRESS], 1),
        ("attendances", [RSVP | ANN, RSVP | ANN | {"action_network:event_id": "e2"}], 2),
        ("attendances", [RSVP | ANN | {"action_network:event_id": None}] * 2, 2),
        ("attendances", [RSVP, RSVP], 2),
        ("attendances", [RSVP | ANN, RSVP | ANN | {"id": "1"}], 2),
        ("signatures", [SIGNATURE | ANN, SIGNATURE | ANN | {"comments": "!"}], 1),
        ("signatures", [SIGNATURE | ANN, SIGNATURE | ANN | {"created_date": "2026-06-01"}], 2),
        ("signatures", [SIGNATURE | ANN | {"created_date": None}] * 2, 2),
    ],
    ids=[
        "same",
        "address",
        "other event",
        "no event",
        "no person",
        "an id",
        "signed",
        "another day",
        "undated",
    ],
)
def test_content_identifies_where_no_id_stands_and_every_part_is_there(kind, versions, count):
    archive = of.open([page(kind, version) for version in versions])
    assert len(archive.table(kind)) == len(archive.table(kind, ["source"])) == count


def test_elements_without_any_identity_are_a_warning_with_their_number():
    archive = of.open([page("attendances", RSVP, RSVP | ANN), page("attendances", RSVP)])
    found = archive.check()
    (problem,) = found[found["problem"] == "an element without identity"].itertuples()
    assert (problem.severity, problem.detail, problem.count) == ("warning", "attendance", 2)


def who(archive: of.Archive, table: str = "signatures") -> list[str]:
    """Return the persons of acts, which a reading of few columns has as well."""
    ids = archive.table(table)["person_id"].to_list()
    assert archive.table(table, ["person_id"])["person_id"].to_list() == ids
    return ids


def test_the_person_of_an_act_is_a_version_of_the_person_whom_the_act_has():
    ann = {"email_addresses": [{"address": "ann@example.org"}], "phone_numbers": [{"number": "1217"}]}
    delivered = signed("1", person="before", **ann)
    listed = signed("1", person="after", at="2026-06-01T00:00:00Z")
    for versions in ([delivered, listed], [listed, delivered]):
        archive = of.open([*versions, signed("2", person="after", at="2026-07-01T00:00:00Z")])
        people = archive.people()
        assert people[["person_id", "email", "phone"]].values.tolist() == [
            ["after", "ann@example.org", "1217"]
        ]
        assert who(archive) == ["after", "after"]
        assert archive.signatures()["email"].to_list() == ["ann@example.org"] * 2
        assert archive.signatures(["email"])["email"].to_list() == ["ann@example.org"] * 2


def test_each_link_of_an_act_is_the_newest_that_leads_somewhere():
    mail = {"email_addresses": [{"address": "ann@example.org"}]}
    versions = [
        signed("1", **mail),
        *(signed("1", at=f"2026-0{month}-01T00:00:00Z", **mail) for month in (6, 7)),
    ]
    links = [version["osdi:signature"]["_links"] for version in versions]
    links[0]["self"] = {"href": "https://host.example/api/v2/petitions/bridge/signatures/1"}
    del links[1]["osdi:petition"]
    links[1]["osdi:person"]["href"] = "https://host.example/api/v2/people/after"
    del links[2]["osdi:petition"], links[2]["osdi:person"]
    links[2]["self"] = {"href": "https://host.example/api/v2/signatures/1"}
    linked = ["person_id", "person_url", "petition_id", "self_url"]
    for order in permutations(versions):
        (found,) = of.open([*order]).signatures(linked).itertuples(index=False)
        assert found == (
            "after",
            links[1]["osdi:person"]["href"],
            "bridge",
            links[2]["self"]["href"],
        )
        assert of.open([*order]).people()["person_id"].to_list() == ["after"]


def by_address(number: str, address: str | None, **more: Any) -> dict[str, Any]:
    """Return the delivery of a signature that links no person."""
    entries = [] if address is None else [{"address": address}]
    made = signed(number, at=f"2026-05-0{number}T00:00:00Z", email_addresses=entries, **more)
    del made["osdi:signature"]["_links"]["osdi:person"]
    return made


def test_people_without_an_id_are_told_apart_by_their_address():
    archive = of.open(
        [
            by_address("1", "ann@example.org", given_name="Ann"),
            by_address("2", " Ann@Example.org"),
            by_address("3", "Straße@example.org"),
            by_address("4", "STRASSE@example.org"),
            by_address("5", None),
        ]
    )
    ids = who(archive)
    assert (ids[0] == ids[1], ids[2] == ids[3], ids[0] == ids[2]) == (True, True, False)
    assert all(len(one) == 38 and one.startswith("email:") and "ann" not in one for one in ids[:4])
    assert pd.isna(ids[4])
    people = archive.people()
    assert people["person_id"].to_list() == [ids[1], ids[3]]
    assert people["given_name"].to_list()[0] == "Ann"
    assert archive.signatures()["given_name"].to_list()[:2] == ["Ann", "Ann"]
    assert archive.actions()["number"].to_list()[:4] == [1, 2, 1, 2]
    assert of.open([archive.source[0]]).people()["person_id"].to_list() == [ids[0]]


def test_a_person_without_an_id_is_the_one_id_that_has_the_address():
    known = {"identifiers": ["platform:ann"], "email_addresses": [{"address": "ANN@example.org"}]}
    known["modified_date"] = "2026-01-01T00:00:00Z"
    alone = by_address("1", "ann@example.org", phone_numbers=[{"number": "1217"}])
    again = by_address("1", None, given_name="Ann")  # a version of the act that lacks the address
    archive = of.open([alone, again, page("people", known), signed("2", email_addresses=[])])
    assert who(archive) == ["ann", "ann"]
    people = archive.people()
    assert people[["person_id", "phone", "given_name"]].values.tolist() == [["ann", "1217", "Ann"]]
    assert archive.signatures()["phone"].to_list() == ["1217", "1217"]


def test_ids_alone_are_those_of_the_acts_where_another_table_of_acts_is_empty():
    known = {"identifiers": ["platform:ann"], "email_addresses": [{"address": "ann@example.org"}]}
    archive = of.open([by_address("1", "ann@example.org"), page("people", known)])
    for empty in ("attendances", "donations"):  # before and after signatures
        tables = archive.tables({empty: ["person_id"], "signatures": ["person_id"]})
        assert tables["signatures"]["person_id"].tolist() == ["ann"]


def test_an_address_never_joins_two_ids():
    ids = [
        signed("1", person="ann", email_addresses=[{"address": "office@example.org"}]),
        signed("2", person="bob", email_addresses=[{"address": "office@example.org"}]),
    ]
    archive = of.open([*ids, by_address("3", "office@example.org")])
    assert who(archive)[:2] == ["ann", "bob"]
    assert who(archive)[2].startswith("email:")
    assert len(archive.people()) == 3


def test_people_pages_without_ids_are_known_by_their_addresses():
    ann = {"email_addresses": [{"address": "ann@example.org"}], "modified_date": "2026-01-01T00:00:00Z"}
    pages = [page("people", ann | {"given_name": "Ann"}), page("people", ann, {"given_name": "Nobody"})]
    people = of.open(pages).people()
    assert people["person_id"].notna().to_list() == [True, False]
    assert people["given_name"].to_list() == ["Ann", "Nobody"]


def test_reports_and_contents_say_how_many_people_are_known_by_an_address_alone():
    archive = of.open([by_address("1", "ann@example.org"), by_address("2", "bob@example.org"), signed("3")])
    said = "2 people without an id, known by the e-mail address alone"
    report = archive.report()
    assert said in report.notes
    assert report.summary["people"] == 3
    assert said in archive.contents.notes
    assert "people without an id, known by the e-mail address alone" in archive.report(min_count=5).notes


def test_an_id_made_of_an_address_is_as_private_as_the_address():
    people = of.open([by_address("1", "ann@example.org")]).people()
    (made,) = people["person_id"]
    pseudonyms = of.pseudonymize(people, b"not a secret, and 32 bytes long.", table="people")
    assert (
        not pseudonyms.astype(str).apply(lambda column: column.str.contains(made, regex=False)).any(axis=None)
    )
    assert "person_id" not in of.pseudonymize(people, drop="identifying", table="people")


def test_a_store_and_partitions_give_the_same_persons(tmp_path):
    documents = [
        by_address("1", "ann@example.org", phone_numbers=[{"number": "1217"}]),
        page(
            "people", {"identifiers": ["platform:ann"], "email_addresses": [{"address": "ANN@example.org"}]}
        ),
        signed("2", person="before", email_addresses=[{"address": "bob@example.org"}]),
        signed("2", person="after", at="2026-07-01T00:00:00Z"),
        by_address("3", "bob@example.org"),
        by_address("4", "cat@example.org"),
    ]
    folder = tmp_path / "archive"
    folder.mkdir()
    for number, document in enumerate(documents):
        found = document if "page" in document else [document]
        (folder / f"{number}.json").write_text(json.dumps(found), "utf-8")
    archive = of.open(folder)
    ids = who(archive)
    assert ids[:3] == ["ann", "after", "after"]
    for _ in range(2):
        kept = of.open(folder, store=tmp_path / "store")
        assert who(kept) == ids
        pd.testing.assert_frame_equal(kept.people(), archive.people())
