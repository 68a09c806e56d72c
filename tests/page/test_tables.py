"""A table shows so many rows and loses none."""

from __future__ import annotations

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.page import tables
from osdi_frames.page.tables import Cell
from osdi_frames.reports import STANDARD

DECLARED = {report.name: report for report in STANDARD}
COUNTS = st.lists(st.integers(0, 1000), min_size=1, max_size=30)


def column(table: tables.PageTable, heading: str) -> list[Cell]:
    place = [column.heading for column in table.columns].index(heading)
    return [row[place] for row in [*table.rows, *([table.other] if table.other else [])]]


def events(counts: list[int]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "event_campaign_id": [f"campaign {number}" for number in range(len(counts))],
            "total_accepted": counts,
            "capacity": [count if count % 2 else None for count in counts],
            "start_date": pd.Timestamp("2026-05-01"),
        }
    )


@given(counts=COUNTS, rows=st.integers(1, 40))
@settings(max_examples=12)
def test_what_is_shown_and_the_others_sum_to_the_report(counts, rows):
    report = of.rsvps_by_campaign(events(counts))
    table = tables.of_report(DECLARED["rsvps_by_campaign"], report, rows=rows)
    assert len(table.rows) == min(rows, len(report))
    assert (table.other is None) == (len(report) <= rows)
    headings = [("Events", "events"), ("RSVPs", "rsvps")]
    is_shown = (report["capacity"].fillna(0) > 0).sum() * 10 >= len(report)
    assert any(column.heading == "Capacity" for column in table.columns) == is_shown
    for heading, measure in [*headings, *([("Capacity", "capacity")] if is_shown else [])]:
        assert sum(int(cell.sort or 0) for cell in column(table, heading)) == report[measure].sum()


def test_others_have_no_people_since_they_cannot_be_summed():
    signed = pd.DataFrame(
        {
            "source": ["a", "b", "c"],
            "person_id": ["1", "1", "1"],
            "created_date": pd.to_datetime(["2026-05-03", "2026-05-01", None], utc=True),
        }
    )
    table = tables.of_report(DECLARED["signatures_by_source"], of.signatures_by_source(signed), rows=1)
    assert [cell.text for cell in table.other] == [
        "(other: 2)",
        "2",
        "–",
        "66.7%",
        "2026-05-01",
        "2026-05-01",
    ]
    assert [cell.text for cell in table.total] == ["Total", "3", "–", "100.0%", "2026-05-01", "2026-05-03"]


def test_the_fill_rate_of_several_rows_is_that_of_their_sums():
    held = events([10, 3, 1]).assign(capacity=[20, None, 4])
    table = tables.of_report(DECLARED["rsvps_by_campaign"], of.rsvps_by_campaign(held), rows=1)
    assert [cell.text for cell in column(table, "Fill rate")] == ["50.0%", "25.0%"]
    place = [column.heading for column in table.columns].index("Fill rate")
    assert table.total[place] == Cell("45.8%", "0.458333")
    unknown = of.rsvps_by_campaign(events([2, 4]).assign(capacity=None))
    shown = tables.of_report(DECLARED["rsvps_by_campaign"], unknown).columns
    assert not any(column.heading in ("Capacity", "Fill rate") for column in shown)


def test_a_report_over_time_shows_the_newest_first_and_what_has_no_date_last():
    signed = pd.DataFrame(
        {
            "person_id": ["1", "2", "3"],
            "created_date": pd.to_datetime(["2026-03-03", "2026-05-01", None], utc=True),
        }
    )
    table = tables.of_report(DECLARED["signatures_by_month"], of.signatures_by_month(signed))
    assert [cell.text for cell in column(table, "Month")] == ["2026-05", "2026-03", "(no date)"]
    assert [column.sorted for column in table.columns] == ["descending", None, None, None]
    assert column(table, "Month")[-1].sort is None


def test_a_count_that_is_hidden_or_negative_has_an_empty_bar():
    made = of.rsvps_by_campaign(events([4, 1, -2, 3]))
    made["rsvps"] = made["rsvps"].astype("Int64").mask(made["rsvps"] == 3)
    table = tables.of_report(DECLARED["rsvps_by_campaign"], made)
    assert [row[0].bar for row in table.rows] == [100.0, 0.0, 25.0, 0.0]


def test_a_value_is_shown_for_reading_and_kept_for_sorting():
    held = pd.DataFrame(
        {
            "event_campaign_id": ["\u0301a\x00b\nc", None],
            "total_accepted": [1_234_567, 0],
            "capacity": pd.array([10_000_000, None], dtype="Int64"),
            "start_date": pd.to_datetime(["2026-05-01T18:30", None]),
        }
    )
    table = tables.of_report(DECLARED["rsvps_by_campaign"], of.rsvps_by_campaign(held))
    shown = {heading: column(table, heading) for heading in ("RSVPs", "Capacity", "Fill rate", "First start")}
    assert shown == {
        "RSVPs": [Cell("1,234,567", "1234567"), Cell("0", "0")],
        "Capacity": [Cell("10,000,000", "10000000"), Cell("–")],
        "Fill rate": [Cell("12.3%", "0.123457"), Cell("–")],
        "First start": [Cell("2026-05-01", "2026-05-01 18:30:00"), Cell("–")],
    }
    assert [(row[0].text, row[0].sort) for row in table.rows] == [
        ("\u25cc\u0301a\ufffdb c", "\u25cc\u0301a\ufffdb c"),
        ("(none)", None),
    ]


def test_periods_far_outside_sort_to_their_ends():
    names = ["(no date)", "after 2026-05", "2026-04", "before 2024-01", "2024-01"]
    days = pd.date_range("2026-01-01", periods=len(names), freq="MS", tz="UTC")
    report = of.signatures_by_month(pd.DataFrame({"person_id": "1", "created_date": days}))
    made = report.set_axis(pd.Index(names, name=report.index.name))
    table = tables.of_report(DECLARED["signatures_by_month"], made)
    cells = sorted((row[0] for row in table.rows), key=lambda cell: cell.sort or "z")
    assert [cell.text for cell in cells] == [
        "before 2024-01",
        "2024-01",
        "2026-04",
        "after 2026-05",
        "(no date)",
    ]


def test_what_did_not_change_is_plus_or_minus_nothing_and_acts_are_written_as_words():
    acts = pd.DataFrame(
        {
            "person_id": ["ann", "bob", "bob"],
            "date": pd.to_datetime(["2026-04-28", "2026-05-05", "2026-05-12"], utc=True),
            "action": "rsvped",
            "source": ["email", "email", "rsvped"],
            "title": "Park",
            "number": 1,
        }
    )
    by_title = of.compare(acts, "W", by=["action", "title"])
    table = tables.of_report(DECLARED["changes_by_title"], by_title)
    assert [column.heading for column in table.columns][2:] == [
        "Before",
        "Now",
        "Change",
        "Change in %",
        "Can be chance",
    ]
    assert [cell.text for cell in table.rows[0]] == ["RSVPed", "Park", "1", "1", "±0", "±0.0%", "yes"]
    by_source = tables.of_report(DECLARED["changes_by_source"], of.compare(acts, "W", until="2026-05-17"))
    assert {row[0].text for row in by_source.rows} == {"email", "rsvped"}


def test_the_bar_of_a_petition_is_as_long_as_its_goal_is_reached():
    signed = pd.DataFrame(
        {
            "petition_id": ["park", "park", "park", "river"],
            "created_date": pd.Timestamp("2026-05-01", tz="UTC"),
        }
    )
    table = tables.of_report(DECLARED["goals"], of.goals(signed, {"park": 2, "river": 4}))
    assert [(row[0].text, row[0].bar) for row in table.rows] == [("park", 100.0), ("river", 25.0)]
    assert table.total is None
