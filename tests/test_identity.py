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
