"""The page in a real Chromium, opened from disk."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import pairwise, product

import numpy as np
import pytest
from matplotlib import pyplot as plt
from PIL import Image

from osdi_frames.page.tables import visible
from osdi_frames.reports.declared import KEYED
from osdi_frames.reports.spelling import region_name
from tests.odd_titles import LABELS, TITLES, archive
from tests.once import read_once

from .conftest import HOSTILE, rendered, signature
from .picture import SIZE, taken, words


def ascending(values: list[str]) -> list[float]:
    return sorted(float(value.replace(",", "")) for value in values)


def numbers(values: list[str]) -> list[float]:
    return [float(value.replace(",", "")) for value in values]


@pytest.fixture(scope="module")
def shown(opened, sample):
    """Open the page of the sample once, with all that is folded, for tests that leave it as it is."""
    with opened(sample) as it:
        it.page.evaluate("document.querySelectorAll('details').forEach(folded => (folded.open = true))")
        yield it


def test_it_asks_for_nothing_and_the_browser_has_nothing_to_complain_of(shown):
    shown.page.wait_for_load_state("networkidle")
    assert [request.rpartition("/")[2] for request in shown.requests] == ["report.html"]
    assert shown.complaints == []


def test_hostile_text_is_shown_as_text(opened, hostile):
    with opened(hostile) as it:
        assert it.complaints == []
        assert len(it.requests) == 1
        shown = it.column("signatures_by_source", 0)
        for text in HOSTILE:
            assert text.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\u2028", " ") in shown
        assert it.page.locator("script").count() == 1
        assert it.page.locator("style").count() == 1
        assert it.page.locator("iframe, object, embed, link, form, input, a[href^='java']").count() == 0
        assert it.page.locator("img:not([src^='data:image/svg+xml,%3Csvg'])").count() == 0
        assert it.page.locator("main [onerror], main [onmouseover], main [style]").count() == 0


def test_what_the_policy_forbids_does_not_happen(opened, sample):
    intruder = "<b style='color: red'>x</b><img src='https://example.org/x.png'><script>alert(1)</script>"
    with opened(sample.replace("</main>", f"{intruder}</main>")) as it:
        assert len(it.complaints) == 3
        assert all("Content Security Policy" in complaint for complaint in it.complaints)
        assert (
            it.page.locator("main > b").evaluate("shown => getComputedStyle(shown).color") != "rgb(255, 0, 0)"
        )


@pytest.fixture(scope="module")
def handled(opened, sample):
    """Open the page of the sample once more, for tests that each sort or open a table of their own."""
    with opened(sample) as it:
        yield it


def test_a_heading_sorts_numbers_as_numbers_both_ways_and_says_so(handled):
    it = handled
    for name, column, how in (("Events", 1, "mouse"), ("RSVPs", 2, "keyboard")):
        heading = it.heading("rsvps_by_campaign", name)
        for _ in range(2):
            before = heading.get_attribute("aria-sort")
            if how == "mouse":
                heading.locator("button").click()
            else:
                heading.locator("button").focus()
                it.page.keyboard.press("Enter")
            direction = heading.get_attribute("aria-sort")
            assert direction != before
            expected = ascending(it.column("rsvps_by_campaign", column))
            assert len(set(expected)) > 5
            found = numbers(it.column("rsvps_by_campaign", column))
            assert found == (expected if direction == "ascending" else expected[::-1])
            assert it.page.locator("#rsvps_by_campaign [aria-sort]").count() == 1


def test_dates_sort_as_dates_and_text_by_the_alphabet_with_what_is_missing_last(handled):
    it = handled
    it.heading("rsvps_by_campaign", "Last start").locator("button").click()
    dates = it.column("rsvps_by_campaign", 8)
    assert dates == sorted(dates, reverse=True)
    region = it.heading("rsvps_by_region", "Region").locator("button")
    region.click()
    up = it.column("rsvps_by_region", 1)
    region.click()
    down = it.column("rsvps_by_region", 1)
    named = [region for region in up if region != "(none)"]
    missing = ["(none)"] * (len(up) - len(named))
    assert up == [*sorted(named), *missing]
    assert down == [*sorted(named, reverse=True), *missing]
    it.heading("rsvps_by_region", "Capacity").locator("button").click()
    capacities = it.column("rsvps_by_region", 6)
    present = [capacity for capacity in capacities if capacity != "–"]
    assert capacities == [*present, *["–"] * (len(capacities) - len(present))]
    assert numbers(present) == ascending(present)[::-1]


def test_the_sums_of_each_table_are_those_of_its_report(shown, reported):
    for report in KEYED:
        if report.name not in reported:  # where attendances say when RSVPs were, growth is not shown
            continue
        made = reported[report.name]
        headings = shown.page.locator(f"#{report.name} thead th").all_inner_texts()
        for name in [name for name in (report.table, "rsvps") if name in made]:
            column = [heading.strip("▴▾\u202f").lower() for heading in headings].index(name)
            below = shown.page.locator(f"#{report.name} tfoot tr:not(.printed) > :nth-child({column + 1})")
            *other, total = numbers(below.all_inner_texts())
            assert sum(numbers(shown.column(report.name, column)) + other) == total == made[name].sum()


def test_a_table_is_copied_as_a_spreadsheet_takes_it(opened, reported, sample):
    report = reported["rsvps_by_region"]
    with opened(sample, permissions=["clipboard-read", "clipboard-write"]) as it:
        it.page.get_by_role("button", name="Copy table: RSVPs by region").click()
        it.page.get_by_role("status").get_by_text(f"Copied {len(report)} rows").wait_for(state="attached")
        copied = it.page.evaluate("navigator.clipboard.readText()")
    heading, first, *_ = copied.split("\n")
    assert heading.split("\t")[:4] == ["Country", "Region", "Events", "RSVPs"]
    country, region = report.index[0]
    assert first.split("\t")[:4] == [country, region_name(region, country), *map(str, report.iloc[0, :2])]
    assert len(copied.split("\n")) == 1 + len(report)


def test_copying_works_without_the_clipboard_interface_and_runs_no_formula(opened, hostile):
    with opened(hostile, permissions=["clipboard-read"]) as it:
        it.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        it.page.get_by_role("button", name="Copy table: Signatures by source").click()
        it.page.get_by_role("status").get_by_text("Copied").wait_for(state="attached")
        it.page.evaluate("document.body.append(document.createElement('textarea'))")
        it.page.locator("textarea").focus()
        it.page.keyboard.press("Control+V")
        pasted = it.page.locator("textarea").input_value()
    lines = [line.split("\t") for line in pasted.split("\n")]
    assert {len(line) for line in lines} == {6}
    assert "'=1+1" in [line[0] for line in lines]


def test_nothing_scrolls_sideways_but_the_tables(opened, shown, hostile):
    with opened(hostile) as it:
        for page, width in product((shown.page, it.page), (400, 768, 1280)):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.locator("figure img:visible").count() == page.locator("figure").count() > 0
    shown.page.set_viewport_size({"width": 400, "height": 900})
    rsvps = shown.page.locator("#rsvps_by_region [data-total] > :nth-child(4)").bounding_box()
    assert rsvps["x"] + rsvps["width"] <= 400  # the counts of a table with two keys are seen


def test_a_telephone_shows_what_changed_and_a_screen_whole_titles(opened, sample):
    lines = "all => all.map(it => new Set([...it.getClientRects()].map(box => box.top)).size)"
    with opened(sample, width=400) as it:
        folded = it.page.locator("details.whole:not([open])")
        assert folded.count() == it.page.locator("details.whole").count() - 1
        it.page.evaluate("document.querySelectorAll('.whole').forEach(folded => (folded.open = true))")
        seen = {"changes": "Change in %", "changes_by_source": "Change in %", "changes_by_title": "Change"}
        for name, heading in {**seen, "news": "Date"}.items():
            change = it.heading(name, heading).bounding_box()
            assert change["x"] + change["width"] <= 400 - 2 * 16  # the margins of page and report
        it.page.set_viewport_size({"width": 1280, "height": 900})
        titles = it.page.locator("#rsvps_by_campaign tbody th bdi").evaluate_all(lines)
        assert titles.count(1) > 0.7 * len(titles)
        assert {*it.page.locator("#signatures_by_petition tbody tr:visible th bdi").evaluate_all(lines)} == {
            1
        }


def test_a_long_table_shows_ten_rows_until_all_are_asked_for(handled, reported):
    it = handled
    table, count = it.page.locator("#signatures_by_referrer"), len(reported["signatures_by_referrer"])
    visible = table.locator("tbody tr").locator("visible=true")
    assert visible.count() == 10
    assert table.locator("[data-total]").is_visible()
    table.get_by_role("button", name=f"Show all {count} rows").click()
    assert visible.count() == count
    table.get_by_role("button", name="Show 10 rows").click()
    assert visible.count() == 10


def test_changes_are_the_five_largest_gains_and_losses_until_all_are_asked_for(handled, reported):
    it = handled
    table, changes = it.page.locator("#changes_by_title"), reported["changes_by_title"]["change"]
    shown = table.locator("tbody tr:visible > :nth-child(5)").all_inner_texts()
    gains, losses = changes[changes > 0].head(5), changes[changes < 0].head(5)
    assert [int(change) for change in shown] == [*gains, *losses]
    assert len(gains) == len(losses) == 5
    assert table.get_by_text("First up to five that rose most, then up to five that fell most.").is_visible()
    assert table.locator("[data-other]:visible").count() == 0
    table.get_by_role("button", name=f"Show all {len(changes)} rows").click()
    assert table.locator("tbody tr:visible").count() == len(changes)


def test_the_bars_of_a_report_are_as_long_as_its_counts(shown, reported):
    shown.page.evaluate(
        "document.querySelectorAll('.short').forEach(table => table.classList.remove('short'))"
    )
    for width in (400, 1280):
        shown.page.set_viewport_size({"width": width, "height": 900})
        for report in (report for report in KEYED if report.name in reported):
            bars = shown.page.locator(f"#{report.name} tbody .bar rect")
            assert bars.count() == (0 if report.is_over_time else min(len(reported[report.name]), 200))
            lengths = bars.evaluate_all("all => all.map(bar => bar.getBoundingClientRect().width)")
            if lengths:
                counts = reported[report.name][report.count][: len(lengths)]
                expected = (counts / counts.max() * lengths[0]).tolist()
                assert lengths == pytest.approx(expected, abs=lengths[0] / 1000)  # as % with one decimal
                assert lengths[0] > 60


def test_text_stands_out_from_its_ground(shown):
    for scheme in ("dark", "light"):
        shown.page.emulate_media(color_scheme=scheme)
        ratios = shown.page.evaluate(CONTRAST)
        assert len(ratios) > 100
        assert {text: ratio for text, ratio in ratios.items() if ratio < 4.5} == {}
        figure = shown.page.locator("figure").first.screenshot()
        brightness = plt.imread(BytesIO(figure))[..., :3].mean(axis=2)
        darkest, ground, brightest = brightness.min(), np.median(brightness), brightness.max()
        assert ground > 0.9 > 0.2 > darkest if scheme == "light" else ground < 0.15 < 0.85 < brightest


def test_a_screen_reader_finds_its_way(shown, reported):
    for role, name in (("navigation", "Contents"), ("main", None), ("banner", None)):
        assert shown.page.get_by_role(role, name=name).count() == 1
    levels = shown.page.locator("h1, h2, h3").evaluate_all("all => all.map(heading => +heading.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for report in (report for report in KEYED if report.name in reported):
        assert shown.page.get_by_role("table", name=report.heading, exact=True).count() == 1
        plots = shown.page.get_by_role("img", name=f"Plot of {report.heading};")
        assert plots.count() == report.is_over_time  # the others have bars, which are for the eye only
    unnamed = "all => all.filter(cell => !cell.scope).length"
    assert shown.page.locator("th").evaluate_all(unnamed) == 0


def test_the_keyboard_reaches_everything_and_shows_where_it_is(opened, sample):
    with opened(sample) as it:
        it.page.keyboard.press("Tab")
        assert it.page.evaluate("document.activeElement.textContent") == "Skip to the reports"
        it.page.keyboard.press("Enter")
        it.page.keyboard.press("Tab")
        seen = set()
        for _ in range(12):
            seen.add(it.page.evaluate("document.activeElement.textContent.trim().slice(0, 12)"))
            assert it.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            it.page.keyboard.press("Tab")
        assert {"Copy table", "Figure", "Change in %"} <= seen


def test_it_prints_ten_rows_of_a_table_the_others_as_one_and_no_button(opened, sample, reported):
    with opened(sample) as it:
        for paper in ("A4", "Letter"):
            sheets = re.findall(
                rb"/Type\s*/Page\b(?!s)", it.page.pdf(format=paper, prefer_css_page_size=True)
            )
            assert 0 < len(sheets) <= 8, paper
        it.page.emulate_media(media="print")
        table = it.page.locator("#signatures_by_referrer")
        assert table.locator("tbody tr").locator("visible=true").count() == 10
        [others, total] = numbers(table.locator("tfoot tr:visible > :nth-child(2)").all_inner_texts())
        assert others == reported["signatures_by_referrer"]["signatures"].iloc[10:].sum()
        assert total == reported["signatures_by_referrer"]["signatures"].sum()
        assert it.page.locator("nav, .copy, .more, .skip").locator("visible=true").count() == 0
        clipped = "all => all.filter(box => box.scrollHeight > box.clientHeight + 1).length"
        assert it.page.locator(".scroll").evaluate_all(clipped) == 0


def test_a_table_is_printed_on_one_sheet_below_its_heading(shown):
    shown.page.emulate_media(media="print")
    for each in (".table", "figure"):
        found = shown.page.locator(each)
        inside = "all => all.map(it => getComputedStyle(it).breakInside)"
        assert {*found.evaluate_all(inside)} == {"avoid"}
        assert (
            found.evaluate_all("all => Math.max(...all.map(it => it.offsetHeight))") < 1000
        )  # of an A4 sheet
    after = "all => all.map(it => getComputedStyle(it).breakAfter)"
    assert {*shown.page.locator("h2, h3, .period, figure:not(:last-child)").evaluate_all(after)} == {"avoid"}
    before = "all => all.map(it => getComputedStyle(it).breakBefore)"
    assert {*shown.page.locator(".caveat").evaluate_all(before)} == {"avoid"}
    shown.page.emulate_media(media="screen")


def test_without_its_script_it_is_whole_and_has_no_dead_button(opened, sample, reported):
    with opened(sample, java_script_enabled=False) as it:
        assert it.page.locator("button").count() == 0
        # activity is the curve alone, no event is to come, and what was read has a table, too
        assert it.page.locator("table").count() == len(reported) - 1


def test_an_empty_archive_says_that_nothing_was_read(opened):
    with pytest.warns(UserWarning, match="no event and no signature"):
        html = rendered([])
    with opened(html) as it:
        assert it.complaints == []
        assert it.page.get_by_text("No events were read.").count() == 1
        assert it.page.get_by_text("No signatures were read.").count() == 1
        assert it.page.locator("table").count() == 0


def test_of_a_thousand_referrers_two_hundred_are_rows(opened):
    signed = [signature(number, referrer=f"group-{number}") for number in range(1000)]
    html = rendered(signed, reports=["signatures_by_referrer"])
    assert len(html) < 200_000
    with opened(html) as it:
        assert it.page.locator("#signatures_by_referrer tbody tr").count() == 200
        other = it.page.locator("#signatures_by_referrer [data-other]:visible").inner_text().split("\t")
        assert other[:2] == ["(other: 800)", "800"]
        assert it.page.locator("#signatures_by_referrer [data-total]").inner_text().split("\t")[1] == "1,000"


def test_a_picture_for_the_readme_is_made_of_the_page_with_its_words(browser, sample):
    with Image.open(BytesIO(taken(browser, sample))) as picture:
        assert (picture.size, picture.info["words"]) == (tuple(SIZE.values()), words(sample))


# -- titles --

REPORTS = ["rsvps_by_campaign", "signatures_by_petition"]


@pytest.fixture(scope="module")
def titles(tmp_path_factory) -> str:
    return read_once(tmp_path_factory, "page-of-titles", lambda: rendered(archive()))


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
        assert rows.locator("td").first.inner_text() == "1"


# The contrast of each piece of text with the ground it stands on (WCAG 2), the smallest of each text.
CONTRAST = """() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, alpha = 1] = channels(getComputedStyle(at).backgroundColor);
      if (alpha > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const ratios = {};
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].find((part) => part.nodeType === 3 && part.data.trim());
    if (!text || !element.checkVisibility() || element.closest("script, .unseen")) continue;
    const style = getComputedStyle(element);
    const ink = channels(style.color);
    const [dark, light] = [luminance(ink), luminance(ground(element))].sort((a, b) => a - b);
    const key = text.data.trim();
    ratios[key] = Math.min(ratios[key] ?? 99, (light + 0.05) / (dark + 0.05));
  }
  return ratios;
}"""
