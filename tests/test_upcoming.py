"""The events to come are those of the next days by the clock at their place, with the seats that are left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.errors import InvalidArgument

NOW = datetime(2026, 5, 1, 15, 30, tzinfo=UTC)
MIDNIGHT = NOW.replace(hour=0, minute=0, tzinfo=None)
TEXTS = st.sampled_from([None, "", " ", "Town hall", "Oakland"])
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "title": st.sampled_from(["March", "Vigil"]),
            "start_date": st.none()
            | st.integers(-40, 500).map(lambda hours: MIDNIGHT + timedelta(hours=hours)),
            "total_accepted": st.none() | st.integers(0, 9),
            "capacity": st.none() | st.integers(0, 9),
            "status": st.sampled_from([None, "confirmed", "Confirmed", "postponed"]),
            "location_venue": TEXTS,
            "location_locality": TEXTS,
            "location_region": TEXTS,
            "creator_id": st.sampled_from([None, "ann", "bob"]),
            "excluded": st.sampled_from([None, None, "cancelled"]),
        }
    ),
    min_size=1,
    max_size=12,
)
PEOPLE = pd.DataFrame(
    {"person_id": ["ann", "bob"], "given_name": ["Ann", None], "family_name": ["Lee", None]}
)


@given(EVENTS, st.integers(1, 20))
def test_events_of_the_next_days_are_listed_in_order_with_place_seats_and_host(events, days):
    expected = [
        (
            event["title"],
            event["start_date"],
            ", ".join(
                part
                for name in ("venue", "locality", "region")
                if (part := (event[f"location_{name}"] or "").strip())
            ),
            event["total_accepted"] or 0,
            event["capacity"],
            event["total_accepted"] / event["capacity"]
            if event["capacity"] and event["total_accepted"] is not None
            else None,
            None if event["capacity"] is None else max(event["capacity"] - (event["total_accepted"] or 0), 0),
            "postponed" if event["status"] == "postponed" else None,
            "Ann Lee" if event["creator_id"] == "ann" else None,
        )
        for event in events
        if event["start_date"]
        and not event["excluded"]
        and MIDNIGHT <= event["start_date"] < MIDNIGHT + timedelta(days=days)
    ]
    listed = of.upcoming(pd.DataFrame(events), PEOPLE, days=days, now=NOW)
    found = [[None if pd.isna(value) else value for value in row] for row in listed.reset_index().to_numpy()]
    assert found == [[*row] for row in sorted(expected, key=lambda row: row[1])]


def test_the_report_of_an_archive_lists_the_events_to_come():
    events = [
        {
            "identifiers": [f"platform:{day}"],
            "title": f"Day {day}",
            "start_date": f"2026-05-{day:02}T18:00:00Z",
        }
        for day in (1, 14, 15)
    ]
    archive = of.open({"_embedded": {"osdi:events": events}})
    assert archive.report(now=NOW)["upcoming"].index.tolist() == ["Day 1", "Day 14"]
    assert "Fri 2026-05-01 18:00" in archive.report(now=NOW).text("upcoming")
    assert archive.report(now=NOW)["upcoming"].attrs["later"] == 1
    later = archive.report(now=NOW + timedelta(days=60))["upcoming"]
    assert later.empty
    assert later.attrs["period"] == "2026-06-30 to 2026-07-13"


@pytest.mark.parametrize("wrong", [{"days": 0}, {"now": "soon"}])
def test_a_wrong_argument_is_named(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        of.upcoming(of.read_events({"title": "March", "total_accepted": 1}), **wrong)
