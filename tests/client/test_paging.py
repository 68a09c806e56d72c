"""Which page is next, and whether that was all: decisions on what pages say."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osdi_frames.client.proof import Ledger, Page, read_page


def page(number: int, *ids: str | None, **reported: Any) -> Page:
    return Page(number, ids, **reported)


def ledger(*pages: Page) -> Ledger:
    found = Ledger()
    for read in pages:
        found.add(read)
    return found


def event(number: int) -> dict[str, Any]:
    return {"identifiers": [f"platform:{number}"], "modified_date": f"2026-01-0{number}T00:00:00Z"}


def test_a_page_reports_ids_totals_and_the_newest_change():
    body = {
        "page": 2,
        "total_pages": 4,
        "total_records": 10,
        "_links": {"next": {"href": "?page=3"}},
        "_embedded": {"osdi:events": [event(1), event(3), {"title": "nameless"}]},
    }
    found = read_page(body, number=2, prefixes=("platform",))
    assert found.ids == ("1", "3", None)
    assert (found.reported_number, found.total_pages, found.total_records, found.next) == (
        2,
        4,
        10,
        "?page=3",
    )
    assert str(found.newest) == "2026-01-03 00:00:00+00:00"


@pytest.mark.parametrize("wrong", [None, True, -1, 1.5, "many", "7", [], {}, 10**12])
def test_a_total_that_is_no_number_is_no_total(wrong):
    found = read_page({"total_pages": wrong, "total_records": wrong}, number=1, prefixes=())
    assert (found.total_pages, found.total_records) == (None, None)


@pytest.mark.parametrize("links", [None, [], {"next": None}, {"next": "x"}, {"next": {"href": 7}}])
def test_a_next_that_is_no_link_is_none(links):
    assert read_page({"_links": links}, number=1, prefixes=()).next is None


def test_totals_announce_every_page_and_a_missing_next_does_not_end_them():
    assert list(ledger(page(1, "a", total_pages=4)).missing()) == [2, 3, 4]


def test_absurd_totals_take_no_memory():
    found = ledger(page(1, "a", total_pages=10**8), page(7, "b"))
    assert list(islice(found.missing(), 6)) == [2, 3, 4, 5, 6, 8]
    assert found.lack().startswith("not read: page 2-6, 8-100000000;")


def test_without_totals_pages_follow_until_one_is_empty_and_has_no_next():
    found = ledger(page(1, "a", next="?page=2"))
    assert list(found.missing()) == [2]
    found.add(page(2, "b"))
    assert list(found.missing()) == [3]  # a missing next is not believed
    assert found.proof() is None
    found.add(page(3))
    assert list(found.missing()) == []
    assert found.proof()


def test_an_empty_page_with_a_next_is_not_the_end_but_two_are():
    found = ledger(page(1, "a"), page(2, next="?page=3"))
    assert list(found.missing()) == [3]
    found.add(page(3, next="?page=4"))
    assert list(found.missing()) == []


def test_pages_that_bring_nothing_new_are_not_turned_for_ever():
    found = ledger(page(1, "a", "b", reported_number=1))
    for number in range(2, 9):
        assert (list(found.missing()) == [number]) == (number <= 4)
        found.add(page(number, "ab"[number % 2], reported_number=number))
    assert found.proof() is None


def test_rows_that_arrive_as_fast_as_they_are_read_are_not_chased():
    found = Ledger()
    for number in range(1, 100):
        if number not in found.missing():
            break
        found.add(page(number, str(number), total_pages=number + 5, total_records=number + 5))
    assert number < 20
    assert found.proof() is None


@pytest.mark.parametrize(
    "last", [page(2, "a", reported_number=1), page(2, "a")], ids=["reported", "the same rows"]
)
def test_a_page_that_does_not_advance_ends_it_and_proves_nothing(last):
    found = ledger(page(1, "a", reported_number=1), last)
    assert list(found.missing()) == []
    assert found.proof() is None
    assert "page 2 has the rows of page 1 again: the service may ignore page=" in found.lack()


def test_rows_on_two_pages_without_totals_prove_nothing():
    assert ledger(page(1, "a", "b"), page(2, "b", "c"), page(3)).proof() is None


def test_rows_on_two_pages_are_proved_by_totals():
    reported = {"total_pages": 2, "total_records": 3}
    assert ledger(page(1, "a", "b", **reported), page(2, "b", "c", **reported)).proof()


def test_a_row_without_an_id_proves_nothing():
    assert ledger(page(1, None, total_pages=1, total_records=1)).proof() is None


def test_records_that_vanished_are_not_covered_by_a_number_that_fits():
    # "a" was read and deleted; "c" moved to the page before, and was read on none.
    found = ledger(
        page(1, "a", "b", total_pages=2, total_records=4), page(2, "d", total_pages=2, total_records=3)
    )
    assert found.proof() is None
    check = page(1, "b", "d", total_pages=2, total_records=3)
    found.add(check)
    assert found.proof_after(check) is None


def test_a_pass_reads_again_what_was_read_under_other_totals():
    found = ledger(page(1, "a", total_pages=2, total_records=2), page(2, "a", total_pages=3, total_records=3))
    found.begin_pass()
    assert list(found.missing()) == [1, 3]


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    moved=st.integers(0, 40),
    arrivals=st.integers(0, 6),
    order=st.randoms(use_true_random=False),
)
def test_whatever_arrives_in_whatever_order_pages_are_read_a_proof_means_all(sizes, moved, arrivals, order):
    """Rows arrive in front while the pages are read, in any order of reading after the first page."""
    per_page = max(sizes)
    rows = [str(number) for number in range(sum(sizes))]
    found = Ledger()

    def read(number: int) -> Page:
        total = {"total_pages": -(-len(rows) // per_page), "total_records": len(rows)}
        return page(number, *rows[(number - 1) * per_page : number * per_page], **total)

    found.add(read(1))
    while numbers := list(found.missing()):
        order.shuffle(numbers)
        for number in numbers:
            if arrivals and order.random() < 0.5:
                rows.insert(0, f"new {arrivals}")
                arrivals -= 1
            if moved:
                rows.insert(0, rows.pop())
                moved -= 1
            found.add(read(number))
    check = read(1)
    found.add(check)
    if found.proof() or found.proof_after(check):
        assert found.ids == set(rows)


def test_an_id_cannot_command_a_terminal():
    found = ledger(page(1, "a\x1b[2J", total_records=2), page(2, "a\x1b[2J", total_records=2))
    assert found.lack().isprintable()
    assert "rows on more than one page: 'a" in found.lack()
