"""Which person is who, which element is which, and who is new by an act."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("created", "is_new"),
    [
        ("2026-05-03T10:00:00Z", True),
        ("2026-05-05T10:00:00Z", True),
        ("2026-05-03T09:59:59Z", False),
        ("2026-05-05T10:00:01Z", None),
        (None, None),
    ],
    ids=["a day before", "a day after", "earlier", "later", "unknown"],
)
def test_is_new_is_known_of_a_person_created_at_most_a_day_after_the_first_act(created, is_new):
    acts = of.open([signed("1", created_date=created), signed("2", at="2026-07-01T00:00:00Z")]).actions()
    assert [None if pd.isna(value) else value for value in acts["is_new"]] == [is_new, False]


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
