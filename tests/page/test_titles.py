"""Titles in the page: same, hostile and unknown ones stay apart and do no harm in a real Chromium."""

from __future__ import annotations

import pytest

from osdi_frames.page.tables import visible
from tests.odd_titles import LABELS, TITLES, archive

from .conftest import rendered

REPORTS = ["rsvps_by_campaign", "signatures_by_petition"]


@pytest.fixture(scope="module")
def titles() -> str:
    return rendered(archive())


def test_the_page_of_titles_holds_no_element_and_no_control_of_theirs(titles):
    assert "<script>alert(1)" not in titles
    assert "onmouseover='alert" not in titles
    assert not any(control in titles for control in "\x00\x1b\u2028")
    assert "x" * 400 not in titles


def test_each_campaign_and_petition_has_a_distinct_row(opened, titles):
    with opened(titles) as it:
        it.page.on("dialog", lambda dialog: it.complaints.append(dialog.message))
        it.page.wait_for_load_state("networkidle")
        for report in REPORTS:
            shown = it.column(report, 0)
            assert len(shown) == len(set(shown)) == len(TITLES)
            # The title of 10,000 characters is shortened in the middle.
            expected = {" ".join(visible(label).split()) for label in LABELS if len(label) < 300}
            assert expected <= {" ".join(text.split()) for text in shown}
            long = sorted(text for text in shown if len(text) > 200)
            assert [(text[:3], text[-2:]) for text in long] == [("xxx", "xx"), ("xxx", "xy")]
            assert {"untitled", "blank"} <= set(shown)
            it.page.locator(f"#{report} tbody tr").first.hover()
        assert it.complaints == []
        assert [url for url in it.requests if not url.startswith(("file:", "data:"))] == []
        for width in (1280, 400):
            it.page.set_viewport_size({"width": width, "height": 900})
            assert it.page.evaluate("document.documentElement.scrollWidth") <= width
        assert it.page.evaluate("document.querySelectorAll('script').length") == 1


def test_a_label_with_bidi_controls_turns_nothing_around_next_to_it(opened, titles):
    with opened(titles) as it:
        cell = it.page.locator("#rsvps_by_campaign tbody tr").filter(has_text="gnp.exe").locator("bdi").first
        assert cell.count() == 1
        rows = it.page.locator("#rsvps_by_campaign tbody tr").filter(has_text="gnp.exe")
        assert rows.locator("td bdi").first.inner_text() == "1"
