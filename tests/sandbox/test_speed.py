"""Pages are served fast, late ones as well as early ones."""

from __future__ import annotations

import pytest

from .process import served
from .serving import fill, first_and_last, rate


@pytest.mark.parametrize("events", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_the_last_page_is_no_slower_than_twice_the_first_and_200_go_in_a_second(tmp_path, events):
    """Interface 8: pages of 25; the long form is a store of 10,000 events with 400 pages."""
    last = events // 25
    with served(tmp_path / "sandbox.db") as process:
        fill(process.running, events)
        first, deepest = first_and_last(process.running, last=last, repeats=100)
        assert deepest <= 2 * first
        assert rate(process.running, last=last, requests=400) >= 200
