"""Whatever the service does while it is read: the frame is what the store holds, or it is said to be incomplete."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osdi_frames import Manifest, sandbox
from osdi_frames.errors import OsdiError, ServiceWarning
from osdi_frames.pulls import manifests
from osdi_frames.sandbox.faults import FAULTS
from osdi_frames.shortcuts import read_table

from .conftest import GROUP, Stocked

#: Every fault of a request, a page or an answer, with settings that make it strike within a short test.
ORDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "rate limit": ("rate_limit", {"calls": 3, "per": 0.05, "retry_after": 0}),
    "latency": ("latency", {"seconds": 0.02}),
    "500": ("status", {"status": 500}),
    "429 with Retry-After": ("status", {"status": 429, "retry_after": 0}),
    "400": ("status", {"status": 400}),
    "404 in HTML": ("html_error", {"status": 404}),
    "502 in HTML": ("html_error", {"status": 502}),
    # At requests for events: one that arrives while campaigns are asked for comes after the events are proved.
    "a row arrives": ("insert_rows", {"count": 1, "path": "v2/events"}),
    "a page of rows arrives": ("insert_rows", {"count": 3, "path": "v2/events"}),
    "a row moves": ("move_row", {}),
    "no answer": ("drop", {}),
    "half an answer": ("half_body", {}),
    "next on the last page": ("next_on_last", {}),
    "next leads to the same page": ("next_repeats", {}),
    "next leads elsewhere": ("next_elsewhere", {}),
    "no next": ("next_missing", {}),
    "next with raw spaces": ("next_unescaped", {}),
    "no totals": ("totals_missing", {}),
    "page= is ignored": ("page_ignored", {}),
    "a row on two pages": ("repeat_row", {}),
    "a row on two pages, another on none": ("repeat_row", {"instead": True}),
    "a row twice on a page": ("row_twice", {}),
}
SMALL, LARGE = 3, 50  # pages
TELLS = (
    "not read",
    "records were reported",
    "no totals were reported",
    "rows on more than one page",
    "the service may ignore page=",
    "rows moved",
)


def pulled(served: Stocked, folder: Path) -> Manifest:
    """Pull once; give what the manifest on disk says, whether or not the pull ended in an error.

    Only a pull that may not be all warns.
    """
    with warnings.catch_warnings(record=True) as warned, served.client() as client, suppress(OsdiError):
        warnings.simplefilter("always", ServiceWarning)
        client.pull(folder)
    manifest = manifests(folder)[-1]
    assert not (warned and manifest.complete)
    return manifest


def check(served: Stocked) -> bool:
    """Pull, and see that there is no third outcome; tell which of the two it was."""
    with TemporaryDirectory() as folder:
        manifest = pulled(served, Path(folder))
        found = newest_titles(manifest)
    events = served.running.admin("GET", f"events?account={GROUP}&version=v2")
    truth = {event["identifiers"][0]: event["title"] for event in events}
    if manifest.complete:
        assert found == truth
    else:
        assert any(words in manifest.why for words in TELLS), manifest.why
        assert found.items() <= truth.items()
    return manifest.complete


def newest_titles(manifest: Manifest) -> dict[str, str]:
    """Return the titles of the events in a pull, read without the package, which takes its time."""
    found: dict[str, tuple[str, str]] = {}
    for name in manifest.files:
        for line in gzip.decompress((manifest.folder / name).read_bytes()).splitlines():
            for event in json.loads(line)["body"].get("_embedded", {}).get("osdi:events", []):
                version = event["modified_date"], event["title"]
                id_ = event["identifiers"][0]
                found[id_] = max(found.get(id_, version), version)
    return {id_: title for id_, (_, title) in found.items()}


def at_every_page(served: Stocked, order: str, pages: int, *, times: int | None) -> list[bool]:
    fault, options = ORDERS[order]
    outcomes = []
    for page in range(1, pages + 2):
        served.running.inject(fault, page=page, times=times, **options)
        outcomes.append(check(served))
        served.forget()
    return outcomes


def test_every_fault_of_the_sandbox_is_tried():
    assert {fault for fault, _ in ORDERS.values()} == {
        fault.name for fault in FAULTS if fault.at in ("request", "page", "answer")
    }


def test_one_fault_once_at_every_page(stocked):
    for order in ORDERS:
        with stocked(pages=SMALL, per_page=3) as served:
            outcomes = at_every_page(served, order, SMALL, times=1)
        assert all(outcomes) or order.startswith(("400", "404")), order


def test_one_fault_always_at_the_same_page(stocked):
    with stocked(pages=SMALL, per_page=3) as served:
        for order, (fault, options) in ORDERS.items():
            served.running.inject(fault, page=3, **options)
            complete = check(served)
            assert complete != order.startswith(
                ("4", "5", "no answer", "half", "a row on two pages, an", "page=")
            ), order
            served.forget()


@pytest.mark.long
@pytest.mark.parametrize("order", ORDERS)
def test_one_fault_at_every_page_of_fifty(stocked, order):
    with stocked(pages=LARGE, per_page=5) as served:
        at_every_page(served, order, LARGE, times=1)
        at_every_page(served, order, LARGE, times=None)


def no_totals_and(also: Sequence[str], served: Stocked) -> None:
    for fault, options in ORDERS.values():
        for lenience in ("no totals", *also):
            served.running.inject(ORDERS[lenience][0])
        served.running.inject(fault, page=3, times=1, **options)
        check(served)
        served.forget()


@pytest.mark.parametrize(
    "also", ["next leads to the same page", pytest.param("no next", marks=pytest.mark.long)]
)
def test_one_fault_where_no_totals_are_reported(stocked, also):
    with stocked(pages=SMALL, per_page=3) as served:
        no_totals_and([also], served)


def test_rows_that_arrive_faster_than_they_are_read_are_not_chased_and_come_with_the_next_pull(
    stocked, tmp_path
):
    with stocked(pages=3, per_page=1) as served, served.client() as client:
        served.running.inject("insert_rows", count=2)
        assert "it grew faster than it was read" in client.pull(tmp_path).why
        assert len(served.asked()) < 1000
        served.forget()
        assert client.pull(tmp_path).complete
        assert set(read_table(tmp_path, "events").event_id) == set(served.truth().event_id)
        assert len(manifests(tmp_path)) == 1


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
            fault, options = ORDERS[order]
            running.inject(fault, **options, **chosen)
        check(served)


@settings(max_examples=12)
@given(mixtures(SMALL))
def test_mixtures_of_faults(mixture):
    try_mixture(mixture, pages=SMALL, per_page=3)


@pytest.mark.long
@settings(max_examples=150)
@given(mixtures(LARGE))
def test_mixtures_of_faults_on_fifty_pages(mixture):
    try_mixture(mixture, pages=LARGE, per_page=5)
