"""Pages are served fast, late ones as well as early ones."""

from __future__ import annotations

from .process import served
from .serving import fill, first_and_last, rate


def test_page_400_is_no_slower_than_twice_page_1_and_200_pages_go_in_a_second(tmp_path):
    """Interface 8: pages of 25, of a store with 10,000 events."""
    with served(tmp_path / "sandbox.db") as process:
        fill(process.running, 10_000)
        first, deepest = first_and_last(process.running, last=400, repeats=100)
        assert deepest <= 2 * first
        assert rate(process.running, last=400, requests=600) >= 200
