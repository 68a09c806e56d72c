"""Titles in place of ids, in every report, plot and file: same, hostile and unknown ones stay apart and do no harm."""

from __future__ import annotations

import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.errors import MissingColumn
from osdi_frames.reports.titles import labelled
from tests.odd_titles import LABELS, TITLES, archive

ARCHIVE = archive()


@cache
def read() -> SimpleNamespace:
    """Return the tables of the archive."""
    names = ["events", "event_campaigns", "petitions", "attendances", "signatures"]
    return SimpleNamespace(**of.open(ARCHIVE).tables(names))


@cache
def reports_by_row() -> dict[str, pd.DataFrame]:
    """Return every report that has a row for each id, with titles."""
    of_all = read()
    return {
        "rsvps_by_campaign": of.rsvps_by_campaign(of_all.events, of_all.event_campaigns),
        "rsvps_by": of.rsvps_by(of_all.events, "event_campaign_id", of_all.event_campaigns),
        "signatures_by_petition": of.signatures_by_petition(of_all.signatures, of_all.petitions),
        "signatures_by": of.signatures_by(of_all.signatures, "petition_id", of_all.petitions),
        "attendances_by": of.attendances_by(of_all.attendances, "event_id", of_all.events),
    }


@cache
def reports_by_column() -> dict[str, pd.DataFrame]:
    """Return every report that has a column for each id, with titles."""
    of_all, monthly = read(), {"freq": "MS"}
    return {
        "rsvps_over_time": of.rsvps_over_time(of_all.events, campaigns=of_all.event_campaigns),
        "signatures_over_time": of.signatures_over_time(
            of_all.signatures, **monthly, by="petition_id", petitions=of_all.petitions
        ),
        "attendances_over_time": of.attendances_over_time(
            of_all.attendances, **monthly, by="event_id", events=of_all.events
        ),
    }


TITLED = ["rsvps_by_campaign", "signatures_by_petition"]


def row_labels(frame: pd.DataFrame) -> list[str]:
    return [str(label) for label in labelled(frame).index]


def test_each_id_has_a_row_or_a_column_with_its_own_label() -> None:
    for name, report in reports_by_row().items():
        assert sorted(report.index) == sorted(TITLES), name
        shown = {id_: None if pd.isna(title) else title for id_, title in report["title"].items()}
        assert shown == {id_: title if title and title.strip() else None for id_, title in TITLES.items()}
        assert set(row_labels(report)) == LABELS
        assert len(row_labels(report)) == len(TITLES)
    for name, report in reports_by_column().items():
        assert set(report.columns) == LABELS, name
        assert len(report.columns) == len(TITLES)
        total = sum(read().events.total_accepted) if name == "rsvps_over_time" else len(TITLES)
        assert report.iloc[-1].sum() == total


def test_a_campaign_called_none_is_not_the_row_of_events_without_a_campaign() -> None:
    events = pd.concat([read().events, read().events.head(1).assign(event_campaign_id=None)])
    labels = row_labels(of.rsvps_by_campaign(events, read().event_campaigns))
    assert Counter(label for label in labels if label.startswith("(none)")) == {
        "(none)": 1,
        "(none) (called-n)": 1,
    }


@pytest.mark.parametrize("name", ["rsvps_by_campaign", "rsvps_over_time", "signatures_over_time"])
def test_every_kind_of_plot_draws_each_title_as_distinct_text(
    name: str, recwarn: pytest.WarningsRecorder
) -> None:
    report = (reports_by_row() | reports_by_column())[name]
    axes = getattr(of.plots, name)(report, ax=Figure((9, 9)).subplots(), top=len(TITLES))
    axes.figure.draw_without_rendering()
    if name in reports_by_row():
        drawn = [label.get_text() for label in axes.get_yticklabels()]
    else:
        drawn = [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []
        drawn = drawn or [text.get_text() for text in axes.texts]
    assert len(set(drawn)) == len(drawn) >= 8
    assert all(len(text) < 100 and text.isprintable() for text in drawn)
    assert not [str(warning.message) for warning in recwarn]


def test_the_files_of_a_report_keep_ids_and_titles_and_no_formula_runs(tmp_path: Path) -> None:
    of.write_report(ARCHIVE, tmp_path / "report", reports=TITLED)
    for name, key in (("rsvps_by_campaign", "event_campaign_id"), ("signatures_by_petition", "petition_id")):
        with (tmp_path / "report" / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
            rows = {row[key]: row["title"] for row in csv.DictReader(file)}
        assert set(rows) == set(TITLES)
        assert rows["formula"].startswith("'=")
        assert rows["untitled"] == rows["blank"] == ""
        assert rows["same-1"] == rows["same-2"] == "Climate"
        parquet = pd.read_parquet(tmp_path / "report" / f"{name}.parquet")
        assert parquet.set_index(key)["title"]["formula"] == TITLES["formula"]


def test_the_terminal_shows_each_row_on_one_line_without_controls(tmp_path: Path) -> None:
    from osdi_frames.reports.printed import table

    for declared, report in of.report(ARCHIVE, reports=TITLED).reports:
        if "title" in report.columns:
            lines = table(declared, report, top=len(TITLES)).split("\n")
            assert len(lines) == 1 + len(TITLES)
            assert all(line.isprintable() and len(line) < 300 for line in lines)
            assert len({line.split("  ")[0] for line in lines[1:]}) >= len(TITLES) - 1


def test_the_reports_of_the_sample_show_titles_and_no_id(reported: dict[str, pd.DataFrame]) -> None:
    shown = {name: row_labels(report) for name, report in reported.items()}
    assert len(shown) > 10
    assert not [
        label
        for labels in shown.values()
        for label in labels
        if re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", label)
    ]
    assert "Walks for the Old Forest 2022" in shown["rsvps_by_campaign"]
    assert "Protected bike lanes for Montréal" in shown["signatures_by_petition"]
    twice = [
        label for label in shown["rsvps_by_campaign"] if label.startswith("Lunch for Every Child 2025 (")
    ]
    assert len(set(twice)) == 2


EVENT_IDS = st.sampled_from([None, "march", "picnic", "vigil", "7"])
CAMPAIGN_IDS = st.sampled_from([None, "", "climate", "housing"])


@settings(max_examples=12)
@given(
    st.lists(st.tuples(EVENT_IDS, st.sampled_from([None, "p", "q"])), max_size=12),
    st.dictionaries(EVENT_IDS, CAMPAIGN_IDS),
)
def test_attendances_are_counted_by_the_campaign_of_their_event(rows, campaign_of):
    attendances = pd.DataFrame(rows, columns=["event_id", "person_id"], dtype="str").assign(
        attended=False, created_date=pd.Timestamp("2026-05-01", tz="UTC")
    )
    events = pd.DataFrame([*campaign_of.items()], columns=["event_id", "event_campaign_id"], dtype="str")
    titles = pd.DataFrame({"event_campaign_id": ["climate"], "title": ["Climate"]})
    found = [campaign_of.get(event) if event else None for event, _ in rows]
    expected = Counter(campaign or "(none)" for campaign in found)
    made = of.attendances_by_campaign(attendances, events, titles)
    assert made["rsvps"].to_dict() == expected
    assert {key: title for key, title in made["title"].items() if pd.notna(title)} == (
        {"climate": "Climate"} if "climate" in expected else {}
    )
    known = attendances.assign(event_campaign_id=pd.Series(found, dtype="str"))
    assert_frame_equal(of.attendances_by_campaign(known, campaigns=titles), made)


def test_attendances_by_campaign_say_which_frame_is_needed():
    attendances = pd.DataFrame(
        {"event_id": ["march"], "person_id": "p", "status": None, "created_date": None}
    )
    with pytest.raises(
        MissingColumn, match=r"event_campaign_id: attendances_by_campaign\(attendances, events\)"
    ):
        of.attendances_by_campaign(attendances)
    with pytest.raises(MissingColumn, match="events needs event_campaign_id"):
        of.attendances_by_campaign(attendances, attendances)
    with pytest.raises(MissingColumn, match="attendances needs event_id"):
        of.attendances_by_campaign(
            attendances.drop(columns="event_id"), pd.DataFrame({"event_id": [], "event_campaign_id": []})
        )


# Referrers, whose titles are those of their sponsors

SPONSORED = st.lists(
    st.tuples(
        st.integers(1, 6),
        st.sampled_from([None, "north", "North", "south", "web"]),
        st.sampled_from([None, " ", "N", "S"]),
    ),
    min_size=1,
    max_size=8,
)


def signatures_of(groups):
    """Give so many signatures of each referrer and sponsor."""
    rows = [(referrer, sponsor) for number, referrer, sponsor in groups for _ in range(number)]
    frame = pd.DataFrame(rows, columns=["referrer", "sponsor_title"], dtype="str")
    people = [str(number) for number in range(len(frame))]
    return frame.assign(person_id=people, created_date=pd.Timestamp("2026-05-01", tz="UTC"))


@given(SPONSORED)
def test_a_referrer_has_the_title_of_the_only_sponsor_of_its_acts(groups):
    frame = signatures_of(groups)
    made = of.signatures_by_referrer(frame)
    sponsors = {}
    for row in frame.fillna("").itertuples():
        sponsors.setdefault(row.referrer.lower(), []).append(row.sponsor_title.strip())
    several = len({one for some in sponsors.values() for one in some} - {""}) > 1
    expected = {
        code: some[0]
        for code, some in sponsors.items()
        if code and several and len(some) >= 5 and len({*some}) == 1 and some[0]
    }
    shown = made["title"].dropna() if "title" in made else pd.Series(dtype="str")
    assert {code.lower(): title for code, title in shown.items()} == expected
    assert_frame_equal(
        made.drop(columns="title", errors="ignore"),
        of.signatures_by_referrer(frame.drop(columns="sponsor_title")),
    )


def test_a_report_of_an_archive_shows_groups_in_place_of_their_codes():
    deliveries = [
        [
            {
                "osdi:signature": {
                    "identifiers": [f"platform:{code}{number}"],
                    "created_date": "2026-05-01T10:00:00Z",
                    "platform:referrer_data": {"referrer": code},
                },
                "platform:sponsor": {"title": group},
            }
        ]
        for code, group, count in (("group-n", "North", 9), ("group-s", "South", 7), ("p1", "North", 1))
        for number in range(count)
    ]
    made = of.report(deliveries)
    assert made["signatures_by_referrer"]["title"].fillna("").tolist() == ["North", "South", ""]
    assert "North" in made.text("signatures_by_referrer")
    hidden = of.report(deliveries, min_count=5)["signatures_by_referrer"]
    assert hidden["title"].fillna("").to_dict() == {"group-n": "North", "group-s": "", "p1": ""}
