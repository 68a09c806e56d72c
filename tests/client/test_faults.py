"""Whatever the service does while it is read: the frame is what the store holds, or it is said to be incomplete."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from osdi_frames import sandbox
from osdi_frames.client import Manifest
from osdi_frames.client.manifest import manifests
from osdi_frames.errors import OsdiError
from osdi_frames.frames import read_table
from osdi_frames.sandbox.faults import FAULTS

from .conftest import Stocked, comparable

#: Every fault of a request, a page or an answer, with settings that make it strike within a short test.
ORDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "rate limit": ("rate_limit", {"calls": 3, "per": 0.05, "retry_after": 0}),
    "latency": ("latency", {"seconds": 0.02}),
    "500": ("status", {"status": 500}),
    "429 with Retry-After": ("status", {"status": 429, "retry_after": 0}),
    "400": ("status", {"status": 400}),
    "404 in HTML": ("html_error", {"status": 404}),
    "502 in HTML": ("html_error", {"status": 502}),
    "a row arrives": ("insert_rows", {"count": 1}),
    "a page of rows arrives": ("insert_rows", {"count": 3}),
    "a row moves": ("move_row", {}),
    "no answer": ("drop", {}),
    "half an answer": ("half_body", {}),
    "next on the last page": ("next_on_last", {}),
    "next leads to the same page": ("next_repeats", {}),
    "next leads elsewhere": ("next_elsewhere", {}),
    "no next": ("next_missing", {}),
    "next with raw spaces": ("next_unescaped", {}),
    "no totals": ("totals_missing", {}),
    "a row on two pages": ("repeat_row", {}),
    "a row on two pages, another on none": ("repeat_row", {"instead": True}),
    "a row twice on a page": ("row_twice", {}),
}
SMALL, LARGE = 6, 50  # pages
TELLS = ("not read: page", "records were told", "no totals were told", "rows on more than one page")


def pulled(served: Stocked, folder: Path) -> Manifest:
    """Pull once; give what the manifest on disk says, whether or not the pull ended in an error."""
    with served.client() as client:
        try:
            client.pull(folder)
        except OsdiError:
            pass
    return manifests(folder)[-1]


def check(served: Stocked) -> bool:
    """Pull, and see that there is no third outcome; tell which of the two it was."""
    with TemporaryDirectory() as folder:
        manifest = pulled(served, Path(folder))
        frame, truth = comparable(read_table(folder, "events")), served.truth()
        if manifest.complete:
            assert_frame_equal(frame, truth)
        else:
            assert any(words in manifest.why for words in TELLS), manifest.why
            assert set(frame.event_id) <= set(truth.event_id)
    return manifest.complete


def at_every_page(served: Stocked, order: str, pages: int) -> dict[str, list[bool]]:
    fault, told = ORDERS[order]
    outcomes: dict[str, list[bool]] = {"once": [], "always": []}
    for page in range(1, pages + 2):
        for how, times in (("once", 1), ("always", None)):
            served.running.order(fault, page=page, times=times, **told)
            outcomes[how].append(check(served))
            served.forget()
    return outcomes


def test_every_fault_of_the_sandbox_is_tried():
    assert {fault for fault, _ in ORDERS.values()} == {
        fault.name for fault in FAULTS if fault.at in ("request", "page", "answer")
    }


@pytest.mark.parametrize("order", ORDERS)
def test_one_fault_at_every_page(stocked, order):
    with stocked(pages=SMALL, per_page=3) as served:
        outcomes = at_every_page(served, order, SMALL)
    passing = not order.startswith(("400", "404"))
    assert all(outcomes["once"]) or not passing


@pytest.mark.long
@pytest.mark.parametrize("order", ORDERS)
def test_one_fault_at_every_page_of_fifty(stocked, order):
    with stocked(pages=LARGE, per_page=5) as served:
        at_every_page(served, order, LARGE)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("also", ["no totals", "next leads to the same page"])
def test_one_fault_where_something_is_always_wrong(stocked, order, also):
    with stocked(pages=4, per_page=3) as served:
        fault, told = ORDERS[order]
        for page in (1, 3, 4):
            served.running.order(ORDERS[also][0])
            served.running.order(fault, page=page, times=1, **told)
            check(served)
            served.forget()


def mixtures(pages: int) -> st.SearchStrategy[list[tuple[str, dict[str, Any]]]]:
    """Draw several faults, each at some pages or all, some times or always."""
    chosen = st.fixed_dictionaries(
        {
            "page": st.none() | st.integers(1, pages + 1) | st.lists(st.integers(1, pages + 1), min_size=1),
            "times": st.none() | st.integers(1, 4),
            "probability": st.sampled_from([1.0, 0.5, 0.1]),
            "seed": st.integers(0, 999),
        }
    )
    return st.lists(st.tuples(st.sampled_from(sorted(ORDERS)), chosen), min_size=1, max_size=5)


def try_mixture(mixture: list[tuple[str, dict[str, Any]]], *, pages: int, per_page: int) -> None:
    with sandbox.serve(sandbox.create_app(per_page=per_page)) as running:
        served = Stocked(running)
        served.add(pages * per_page)
        for order, chosen in mixture:
            fault, told = ORDERS[order]
            running.order(fault, **told, **chosen)
        check(served)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mixtures(SMALL))
def test_mixtures_of_faults(mixture):
    try_mixture(mixture, pages=SMALL, per_page=3)


@pytest.mark.long
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mixtures(LARGE))
def test_mixtures_of_faults_on_fifty_pages(mixture):
    try_mixture(mixture, pages=LARGE, per_page=5)
