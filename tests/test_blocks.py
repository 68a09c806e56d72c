"""What is known of a person is not taken away by a newer version that holds nothing, or a part of it."""

from __future__ import annotations

import json
from itertools import chain, permutations, product
from typing import Any

import pandas as pd
import pytest

import osdi_frames as of

FULL = {
    "address_lines": ["1 Main St"],
    "locality": "Springfield",
    "region": "IL",
    "postal_code": "62701",
    "country": "US",
    "location": {"latitude": 39.8, "longitude": -89.6, "accuracy": "Rooftop"},
}
KNOWN = {
    "given_name": "Ann",
    "family_name": "Lee",
    "email_addresses": [{"address": "ann@example.org", "status": "subscribed"}],
    "phone_numbers": [{"number": "12175550001", "number_type": "Mobile"}],
    "postal_addresses": [FULL],
    "languages_spoken": ["en"],
    "custom_fields": {"shirt": "M"},
}
EMPTY = {key: type(value)() for key, value in KNOWN.items()}
WITHOUT_VALUES = {
    "given_name": " ",
    "email_addresses": [{"status": "bouncing"}, {"primary": True, "address": " "}],
    "phone_numbers": [{"status": "unsubscribed", "number": None}],
    "postal_addresses": [{"country": "FR", "location": {"latitude": 1.0}}],
    "languages_spoken": [""],
    "custom_fields": {},
}


def person(day: int, **known: Any) -> dict[str, Any]:
    """Return a page of one person, Ann."""
    own = {"identifiers": ["platform:ann"], "modified_date": f"2026-05-0{day}T00:00:00Z"}
    return {"_embedded": {"osdi:people": [own | known]}, "page": 1}


def act(
    day: int, kind: str = "signature", *, number: int = 0, by: str | None = "ann", **known: Any
) -> list[Any]:
    """Return a delivery of an act, that of its day unless it has a number; `known` is the person's hash."""
    links = {"osdi:person": {"href": f"https://host.example/api/v2/people/{by}"}} if by else {}
    at = f"2026-05-0{day}T00:00:00Z"
    known = {"modified_date": at, **known} if known else {}
    value = {"created_date": at, "modified_date": at, "person": known, "_links": links}
    return [{f"osdi:{kind}": value | {"identifiers": [f"platform:{number or day}"]}}]


def row(found: pd.DataFrame, *, at: int = 0) -> dict[str, Any]:
    return {name: None if pd.isna(value) else value for name, value in found[[*EXPECTED]].iloc[at].items()}


EXPECTED = {
    "given_name": "Ann",
    "family_name": "Lee",
    "email": "ann@example.org",
    "email_status": "subscribed",
    "phone": "12175550001",
    "phone_type": "Mobile",
    "location_address": "1 Main St",
    "location_locality": "Springfield",
    "location_region": "IL",
    "location_country": "US",
    "location_latitude": 39.8,
}


def test_the_person_of_a_newer_act_that_holds_nothing_takes_nothing_away():
    """Of each kind of act, whether what was known is from a page of people or from an act."""
    kinds, nothings, olders = (
        ("signature", "submission", "attendance"),
        (EMPTY, WITHOUT_VALUES),
        (person, act),
    )
    cases = {f"p{at}": case for at, case in enumerate(product(kinds, nothings, olders))}
    documents = []
    for by, (kind, nothing, older) in cases.items():
        text = json.dumps([older(1, **KNOWN), act(2, kind, **nothing)])
        for was, now in (
            ('ann"', f'{by}"'),
            ("platform:2", f"platform:{by}"),
            ("platform:1", f"platform:{by}-1"),
        ):
            text = text.replace(was, now)
        documents.append(json.loads(text))
    tables = of.open([*chain.from_iterable(documents)]).tables(["people", *(f"{kind}s" for kind in kinds)])
    people = tables["people"].set_index("person_id")
    assert {*people.index} == {*cases}
    for by, (kind, *_) in cases.items():
        assert row(people.loc[[by]]) == EXPECTED, cases[by]
        newer = tables[f"{kind}s"].set_index(f"{kind}_id").loc[[by]]
        assert row(newer) == EXPECTED, cases[by]
        assert newer["person_filled"].iloc[0] == ["name", "email", "phone", "location"]


def test_a_later_version_of_an_act_keeps_what_the_act_had():
    archive = of.open([act(1, number=7, by=None, **KNOWN), act(2, number=7, by=None, **WITHOUT_VALUES)])
    assert row(archive.signatures()) == EXPECTED
    assert archive.signatures()["custom_fields"].to_list() == ['{"shirt":"M"}']
    assert len(archive.table("signature_emails")) == len(archive.table("signature_addresses")) == 1


def test_a_people_page_with_empty_lists_clears():
    archive = of.open([person(1, **KNOWN), person(2, email_addresses=[], phone_numbers=[])])
    found = row(archive.people())
    assert (found["email"], found["phone"], found["location_region"]) == (None, None, "IL")


def test_an_address_of_which_nobody_knows_more_than_the_country_stays():
    archive = of.open([act(1, postal_addresses=[{"country": "FR"}])])
    assert archive.signatures()["location_country"].to_list() == ["FR"]


@pytest.mark.filterwarnings("ignore:skipped")
@pytest.mark.parametrize("misfit", [{}, {"capacity": 1, "languages_spoken": "en"}], ids=["clean", "mended"])
def test_of_several_entries_the_primary_one_with_a_value_is_read(misfit):
    entries = [
        {"status": "bouncing", "primary": True},
        {"address": "b@example.org"},
        {"address": "c@example.org", "primary": True},
    ]
    signatures = [
        act(1, email_addresses=entries, **misfit),
        act(2, email_addresses=entries[:2], **misfit),
        act(3, email_addresses=entries[:1], **misfit),
        act(
            4,
            postal_addresses=[{"country": "FR", "primary": True}, {"address_lines": ["2 Elm St"]}],
            **misfit,
        ),
    ]
    found = of.open(signatures, on_error="skip").signatures(people=False)
    assert found["email"].to_list()[:2] == ["c@example.org", "b@example.org"]
    assert found["email_status"].to_list()[2] == "bouncing"
    assert found["location_address"].to_list()[3] == "2 Elm St"


def _part(**changed: Any) -> list[dict[str, Any]]:
    return [{"postal_code": "62701 ", "country": "us"} | changed]


OTHER = FULL | {"address_lines": ["9 Oak St"], "accuracy": None}


@pytest.mark.parametrize("source", [person, act], ids=["people", "acts"])
def test_a_newer_block_that_is_a_part_of_an_older_one_takes_nothing_away(source):
    versions = [
        source(1, postal_addresses=[FULL]),
        source(2, postal_addresses=_part(region="IL")),
        source(3, postal_addresses=_part()),
    ]
    for order in (versions, versions[::-1]):
        for columns in (None, ["location_locality", "location_region"]):
            (found,) = of.open([*order]).people(columns)["location_locality"]
            assert found == "Springfield"


def test_of_the_fullest_versions_that_a_block_is_a_part_of_the_newest_is_taken():
    versions = [
        act(1, number=7, postal_addresses=[FULL]),
        act(2, number=7, postal_addresses=[FULL | {"address_lines": ["9 Oak St"]}]),
        act(3, number=7, postal_addresses=[{"locality": "Springfield", "region": "IL"}]),
    ]
    for order in permutations(versions):
        for frame in of.open([*order]).tables(["signatures", "people", "signature_addresses"]).values():
            assert frame["location_address"].to_list() == ["9 Oak St"]


@pytest.mark.parametrize(
    "newer", [_part(postal_code="10001"), _part(language="fr")], ids=["another code", "one that it has not"]
)
def test_a_newer_block_with_another_value_is_taken(newer):
    archive = of.open([person(1, postal_addresses=[FULL]), person(2, postal_addresses=newer)])
    assert archive.people()["location_region"].isna().all()


def test_an_act_that_lacks_an_address_is_filled_with_the_fullest():
    archive = of.open([act(1, postal_addresses=[FULL]), act(2, postal_addresses=_part()), act(3)])
    assert archive.signatures()["location_region"].to_list()[-1] == "IL"


def test_an_act_whose_newest_name_is_a_part_of_its_persons_is_filled_though_it_once_had_another_whole_name():
    acts = [
        act(1, given_name="Bo", family_name="Cruz"),
        act(2, number=7, given_name="Ann", family_name="Lee"),
        act(3, number=7, family_name="Cruz"),
    ]
    found = of.open(acts).signatures().set_index("signature_id").loc["7"]
    assert [found["given_name"], [*found["person_filled"]]] == ["Bo", ["name"]]
