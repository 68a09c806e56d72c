"""The offline geocoder: every place of its list is found, and nothing is made up (interface 2.2)."""

from __future__ import annotations

import csv
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osdi_frames.sandbox.gazetteer import Gazetteer

GAZETTEER = Gazetteer()


def listed(name):
    return list(
        csv.DictReader((resources.files("osdi_frames.sandbox") / name).read_text("utf-8").splitlines())
    )


PLACES, REGIONS = listed("gazetteer.csv"), listed("regions.csv")


def test_the_list_has_hundreds_of_us_postal_codes_and_dozens_of_cities_elsewhere():
    assert sum(place["country"] == "US" for place in PLACES) > 250
    assert len({place["country"] for place in PLACES}) > 30


def test_every_place_is_found_by_its_postal_code():
    for place in PLACES:
        located = GAZETTEER.geocode(
            {"postal_code": place["postal_code"].lower(), "country": place["country"]}
        )
        assert (located["locality"], located["region"]) == (place["locality"], place["region"])
        assert located["location"]["latitude"] == float(place["latitude"])
        assert -90 <= located["location"]["latitude"] <= 90
        assert -180 <= located["location"]["longitude"] <= 180


def test_a_known_city_without_postal_code_is_approximate():
    for entered, region in (
        ({"locality": "springfield", "region": "OR"}, "OR"),
        ({"locality": "SPRINGFIELD", "region": "IL"}, "IL"),
        ({"locality": "münchen", "country": "DE"}, "BY"),
    ):
        located = GAZETTEER.geocode(entered | {"address_lines": ["1 Main St"]})
        assert located["region"] == region
        assert located["location"]["accuracy"] == "Approximate"
        assert "latitude" in located["location"]


@pytest.mark.contract("2.2 region")
def test_a_region_becomes_its_code_where_it_is_known():
    """Interface 2.2 region: a subdivision code, overwritten from geocoding; unknown text stays as it was entered."""
    for entered, region in (
        ({"region": "California"}, "CA"),
        ({"region": " new   YORK "}, "NY"),
        ({"region": "US-TX"}, "TX"),
        ({"region": "or"}, "OR"),
        ({"region": "Ontario", "country": "CA"}, "ON"),
        ({"region": "Québec", "country": "CA"}, "QC"),
        ({"region": "CA-BC", "country": "CA"}, "BC"),
        ({"region": "Bayern", "country": "DE"}, "BY"),
        ({"region": "Ontario"}, "Ontario"),
        ({"region": "US-TX", "country": "CA"}, "US-TX"),
        ({"region": "Atlantis"}, "Atlantis"),
        ({"locality": "Springfield", "region": "Illinois"}, "IL"),
        ({"locality": "Springfield", "region": "Oregon"}, "OR"),
    ):
        assert GAZETTEER.geocode(entered)["region"] == region


def test_every_region_of_the_list_is_found_by_its_name():
    named = {(place["country"], place["region"]) for place in REGIONS}
    assert named >= {(place["country"], place["region"]) for place in PLACES}
    for place in REGIONS:
        entered = {"region": place["name"].upper(), "country": place["country"]}
        assert GAZETTEER.geocode(entered)["region"] == place["region"]


def test_an_unknown_postal_code_does_not_block_a_known_city():
    located = GAZETTEER.geocode(
        {"postal_code": "00000", "locality": "Oakland", "address_lines": ["1 Main St"]}
    )
    assert (located["region"], located["postal_code"]) == ("CA", "00000")
    assert located["location"] == {"latitude": 37.8044, "longitude": -122.2712, "accuracy": "Approximate"}


@given(st.dictionaries(st.sampled_from(["venue", "locality", "region", "postal_code", "country"]), st.text()))
def test_whatever_is_entered_has_a_language_a_country_and_an_accuracy(entered):
    located = GAZETTEER.geocode(entered)
    assert located == GAZETTEER.geocode(entered)
    assert located["language"] == "en"
    assert located["country"] == entered.get("country", "US")
    assert located["location"]["accuracy"] in ("Rooftop", "Approximate")
