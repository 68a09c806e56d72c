"""The answers to twelve questions are what loops over the rows say."""

import inspect
from collections import Counter, defaultdict
from datetime import datetime, timedelta

import openpyxl
import pandas as pd
import pytest

import osdi_frames as of
from tests.questions import asked


def person(number):
    return {"osdi:person": {"href": f"https://service.example/api/v2/people/p{number}"}}


def act(kind, number, parent, day, source, **own):
    collection = {"signature": "petitions", "attendance": "events"}[kind]
    links = {f"osdi:{collection[:-1]}": {"href": f"https://service.example/api/v2/{collection}/{parent}"}}
    return {
        "identifiers": [f"platform:{kind}-{number}-{parent}"],
        "created_date": f"2026-05-{day:02}T18:00:00Z",
        "modified_date": f"2026-05-{day:02}T18:00:00Z",
        "platform:referrer_data": {"source": source, "referrer": f"group-{number % 2}"},
        "person": {
            "postal_addresses": [{"postal_code": f"9460{number % 3}", "region": "CA", "country": "US"}]
        },
        "_links": links | person(number),
        **own,
    }


@pytest.fixture(scope="module")
def archive():
    """Return an archive of eight people, of whom some sign, some RSVP, and some come."""
    events = [
        {
            "identifiers": [f"platform:{name}"],
            "title": name.title(),
            "start_date": f"2026-05-{day}T10:00:00Z",
            "total_accepted": 4,
            "platform:event_campaign_id": campaign,
            "location": {"region": "CA", "country": "US"},
            "_links": {"self": {"href": f"https://service.example/api/v2/events/{name}"}},
        }
        for name, day, campaign in (("march", 20, "climate"), ("picnic", 30, "housing"))
    ]
    signed = [act("signature", number, "clean", number + 1, "email") for number in range(6)]
    came = [
        act("attendance", number, event, number + 8, "flyer" if number % 2 else "sms", status=status)
        for event in ("march", "picnic")
        for number, status in enumerate(["attended", "accepted", "attended", "declined"])
    ]
    deliveries = [[{"osdi:signature": each}] for each in signed] + [
        [{"osdi:attendance": each}] for each in came
    ]
    return of.open([{"_embedded": {"osdi:events": events}}, *deliveries])


@pytest.fixture(scope="module")
def tables(archive):
    return archive.tables(["actions", "events", "attendances", "signatures"])


def test_each_answer_takes_three_lines_at_most():
    answers = [answer for _, answer in inspect.getmembers(asked, inspect.isfunction)]
    assert len(answers) == 12
    for answer in answers:
        assert len(inspect.getsource(answer).splitlines()) <= 4, answer.__name__  # with that of `def`


def rows(frame):
    return frame[frame["excluded"].isna()].to_dict("records")


def test_sources_of_those_who_came(tables):
    first = {}
    for row in rows(tables["attendances"]):
        if row["status"] == "attended":
            first.setdefault(row["person_id"], row["source"])
    made = asked.sources_of_those_who_came(tables["actions"])
    assert made["people"].to_dict() == Counter(first.values())


def test_rsvps_by_postal_code(tables):
    made = asked.rsvps_by_postal_code(tables["attendances"])
    assert made["rsvps"].to_dict() == Counter(
        row["location_postal_code"] for row in rows(tables["attendances"])
    )


def test_week_over_week_by_source(tables):
    counts = Counter(row["created_date"].day > 1 for row in rows(tables["signatures"]))
    made = asked.week_over_week_by_source(tables["signatures"], "2026-05-09")
    assert made.loc["email", ["before", "now"]].tolist() == [counts[False], counts[True]]


def test_conversion_by_referrer(tables):
    signed, came = defaultdict(set), {row["person_id"] for row in rows(tables["attendances"])}
    for row in rows(tables["signatures"]):
        signed[row["referrer"]].add(row["person_id"])
    made = asked.conversion_by_referrer(tables["actions"])["people"]
    for referrer, people in signed.items():
        assert made[referrer].tolist() == [len(people), len(people & came)]


def test_no_shows(tables):
    made = asked.no_shows(tables["attendances"], tables["events"], pd.Timestamp("2026-05-25"))
    assert made["attendance_id"].tolist() == ["attendance-1-march"]


def test_people_who_attended_more_than_once(tables):
    made = asked.people_who_attended_more_than_once(tables["actions"])
    assert made["people"].to_dict() == {2: 2}


def test_days_from_signing_to_rsvp(tables):
    signed = {row["person_id"]: row["created_date"] for row in rows(tables["signatures"])}
    days = []
    for person_id in sorted(signed):
        came = [row["created_date"] for row in rows(tables["attendances"]) if row["person_id"] == person_id]
        days += [(min(came) - signed[person_id]).days] if came else []
    made = asked.days_from_signing_to_rsvp(tables["actions"])
    assert (made["count"], made["min"], made["max"]) == (len(days), min(days), max(days))


def test_hours_of_the_week(tables):
    made = asked.hours_of_the_week(tables["signatures"])
    local = [row["created_date"] - timedelta(hours=4) for row in rows(tables["signatures"])]
    counts = Counter((time.weekday(), time.hour) for time in local)
    assert {key: made.iloc[key] for key in counts} == counts
    assert made.to_numpy().sum() == len(local)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_map_of_signatures(data):
    assert asked.map_of_signatures(of.open(data).signatures()).collections


def test_rsvps_and_signatures_by_region(tables):
    made = asked.rsvps_and_signatures_by_region(tables["events"], tables["signatures"])
    assert made.loc[("US", "CA")].to_dict() == {"events": 2, "rsvps": 8, "signatures": 6, "people": 6}


def test_two_campaigns_side_by_side(archive):
    made = asked.two_campaigns_side_by_side(archive, ["climate", "housing"])
    assert made.to_dict() == {"climate": {"2026-05": 4}, "housing": {"2026-05": 4}}


def test_in_excel_polars_and_duckdb(archive, tables, tmp_path):
    report = of.signatures_by_source(tables["signatures"])
    frame, counts = asked.in_excel_polars_and_duckdb(archive, report, tmp_path / "sources.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "sources.xlsx").active
    assert [cell.value for cell in sheet[2]][:2] == ["email", 6]
    assert frame.height == len(tables["signatures"])
    assert dict(counts.fetchall()) == Counter(tables["actions"]["action"])
    assert datetime(2026, 5, 1) < tables["actions"]["date"].min().tz_localize(None)  # noqa: DTZ001
