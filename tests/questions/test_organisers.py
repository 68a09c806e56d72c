"""The answers to twelve questions about the sample archive are those that were counted by hand.

The figures here were counted once from the raw JSON of ``data/``, with loops over its documents and none of the
package's code, and are written down as they were found. Whoever makes another sample counts them again.
"""

from decimal import Decimal

import openpyxl
import pandas as pd
import pytest

import osdi_frames as of
from tests.questions import organisers


@pytest.fixture(scope="module")
def archive(data):
    return of.open(data)


@pytest.fixture(scope="module")
def tables(archive):
    return archive.tables(["actions", "events", "signatures", "donations", "fundraising_pages"])


def test_who_came_twice_and_was_not_seen_for_three_months(archive):
    assert len(organisers.who_came_twice_and_was_not_seen_for_three_months(archive.supporters())) == 43


def test_who_moved_between_levels_this_year(tables):
    made = organisers.who_moved_between_levels_this_year(tables["actions"])
    assert made.to_dict("list") == {
        "before": [1261, 982, 489, 20],
        "now": [1443, 852, 731, 21],
        "first": [0, 244, 51, 0],
        "up": [0, 180, 201, 3],
        "down": [424, 9, 1, 0],
        "lapsing": [0, 483, 517, 7],
    }


def test_who_gave_fifty_dollars(archive):
    given = organisers.who_gave_fifty_dollars(archive)
    assert given["amount"].tolist() == [1000, 500, 105, 100, 100, 100, 55, 55, 50, 50, 50, 50]
    assert given["person_id"].str[:8].tolist()[:3] == ["fe369051", "8bbad9dc", "7aa9a1f6"]


def test_new_people_by_letter(tables):
    made = organisers.new_people_by_letter(tables["actions"])
    assert made.sum().to_dict() == {
        "Write to your officials about better buses": 2,
        "Write to your officials about a free internet": 1,
    }


def test_sources_of_those_who_came_looking_back_a_month(tables):
    people = organisers.sources_of_those_who_came_looking_back_a_month(tables["actions"])["people"]
    assert people.sum() == 695
    first = {"facebook": 187, "(none)": 104, "homepage": 65, "thankyou_page": 44, "instagram": 43}
    assert people.head(5).to_dict() == first


def test_what_each_page_brought_and_how_much_recurs(tables):
    donations, pages = tables["donations"], tables["fundraising_pages"]
    made = organisers.what_each_page_brought_and_how_much_recurs(donations, pages)
    found = [(*key, row.gifts, row.USD) for key, row in zip(made.index, made.itertuples(), strict=True)]
    assert [(title, recurs, gifts, usd) for title, recurs, gifts, usd in found if title != "(none)"] == [
        ("Chip in for public libraries", False, 11, Decimal("297.50")),
        ("Chip in for school lunches", False, 10, Decimal("224.50")),
        ("Chip in for the old forest", False, 9, Decimal("65.00")),
        ("Chip in for the old forest", True, 8, Decimal("101.50")),
        ("Chip in for school lunches", True, 7, Decimal("1815.00")),
        ("Chip in for public libraries", True, 4, Decimal("74.00")),
        ("Chip in for clean water", False, 2, Decimal("22.50")),
    ]
    assert [(gifts, usd) for title, _, gifts, usd in found if title == "(none)"] == [(5, Decimal("135.00"))]


def test_which_events_are_nearly_full(tables):
    seats_left = organisers.which_events_are_nearly_full(tables["events"])["seats_left"]
    assert seats_left.to_dict() == {
        "Canvass for safe streets in Philadelphia": 6,
        "Picnic for safe streets in Philadelphia": 5,
        "March for public libraries in Oakland": 0,
    }


def test_who_stayed_and_who_lapsed(tables):
    made = organisers.who_stayed_and_who_lapsed(tables["actions"]).loc["2025-07":]
    assert made["people"].tolist() == [723, 658, 371, 464, 345]
    assert made["lapsed"].tolist() == [308, 371, 537, 256, pd.NA]  # the last quarter has not ended
    assert made["retained"].tolist() == [383 - 308, 723 - 371, 658 - 537, 371 - 256, 464 - 385]


def test_sources_of_one_petition(archive):
    signatures = organisers.sources_of_one_petition(archive)["signatures"]
    assert signatures.to_dict() == {
        "(none)": 18,
        "facebook": 9,
        "homepage": 4,
        "instagram": 4,
        "partner_newsletter": 3,
        "bluesky": 2,
        "sms": 2,
        "whatsapp": 2,
        "newsletter-2023-05": 1,
        "newsletter-2026-03": 1,
        "thankyou_page": 1,
    }


def test_signatures_of_each_month_in_new_york(tables):
    made = organisers.signatures_of_each_month_in_new_york(tables["signatures"])["signatures"]
    assert made.tail(3).tolist() == [51, 47, 42]  # by UTC 52, 46, 43
    assert made.sum() == 1500


def test_sources_that_changed_by_more_than_chance(tables):
    made = organisers.sources_that_changed_by_more_than_chance(tables["signatures"])
    assert made[["before", "now"]].T.to_dict("list") == {
        "newsletter-2026-05": [6, 0],
        "newsletter-2026-06": [0, 4],
    }


def test_levels_and_sources_in_one_workbook(tables, tmp_path):
    report = of.signatures_by_source(tables["signatures"])
    made = organisers.levels_and_sources_in_one_workbook(tables["actions"], report, tmp_path / "week.xlsx")
    assert made["now"].to_dict() == {0: 1443, 1: 852, 2: 731, 3: 21}
    assert openpyxl.load_workbook(tmp_path / "week.xlsx").sheetnames == ["Levels", "Sources"]
