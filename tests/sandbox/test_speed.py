"""Pages are served fast, late ones as well as early ones."""

from __future__ import annotations

import httpx
import pytest

from osdi_frames import sandbox

from .process import served
from .serving import fill, first_and_last, rate


def test_a_row_before_the_page_costs_the_database_less_than_four_steps():
    """Interface 8: it is passed over in the index, not read; a row of the page takes 250 steps."""
    app = sandbox.create_app()
    steps = 0

    def count():
        nonlocal steps
        steps += 1

    with sandbox.serve(app) as running:
        fill(running, 2000)
        app.state.service.store._sql.set_progress_handler(count, 1)
        taken = {}
        for page in (1, 80, 1, 80):  # the first time, statements are prepared
            steps = 0
            answer = httpx.get(
                f"{running.base_url}/events?page={page}", headers={"OSDI-API-Token": running.group_key}
            )
            assert len(answer.json()["_embedded"]["osdi:events"]) == 25
            taken[page] = steps
    assert 0 < taken[80] - taken[1] < 4 * 79 * 25


@pytest.mark.long
def test_the_last_page_is_no_slower_than_twice_the_first_and_200_go_in_a_second(tmp_path):
    """Interface 8: pages of 25, a store of 10,000 events with 400 pages."""
    with served(tmp_path / "sandbox.db") as process:
        fill(process.running, 10_000)
        first, deepest = first_and_last(process.running, last=400, repeats=100)
        assert deepest <= 2 * first
        assert rate(process.running, last=400, requests=400) >= 200
