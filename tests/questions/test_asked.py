"""The answers to twelve questions are what loops over the raw JSON say.

Notebooks give these, and those to the questions of organisers, in the same words.
"""

import ast
import inspect
from collections import Counter, defaultdict
from datetime import datetime, timedelta

import openpyxl
import pandas as pd
import pytest

import osdi_frames as of
from tests.notebook_runs import NOTEBOOKS, code, read
from tests.questions import asked, organisers

ANSWERS = [
    answer for module in (asked, organisers) for _, answer in inspect.getmembers(module, inspect.isfunction)
]
SERVICE = "https://service.example/api/v2"


def resource(collection, name, **fields):
    links = {"self": {"href": f"{SERVICE}/{collection}/{name}"}}
    return {"identifiers": [f"platform:{name}"], "title": name.title(), "_links": links, **fields}


def act(kind, number, parent, day, source, **fields):
    """Make an act of a person on a day of May."""
    collection = {"signature": "petitions", "attendance": "events"}[kind]
    made = f"2026-05-{day:02}T18:00:00Z"
    address = {"postal_code": f"9460{number % 3}", "region": "CA", "country": "US"}
    return {
        "identifiers": [f"platform:{kind}-{number}-{parent}"],
        "created_date": made,
        "modified_date": made,
        "platform:referrer_data": {"source": source, "referrer": f"group-{number % 2}"},
        "person": {"postal_addresses": [address]},
        "_links": {
            f"osdi:{collection[:-1]}": {"href": f"{SERVICE}/{collection}/{parent}"},
            "osdi:person": {"href": f"{SERVICE}/people/p{number}"},
        },
        **fields,
    }


CAMPAIGNS = [resource("event_campaigns", name) for name in ("climate", "housing", "schools")]
EVENTS = [
    resource(
        "events",
        name,
        start_date=f"2026-05-{day}T10:00:00Z",
        total_accepted=4,
        location={"region": "CA", "country": "US"},
        **{"platform:event_campaign_id": campaign},
    )
    for name, day, campaign in (("march", 20, "climate"), ("picnic", 30, "housing"), ("vigil", 25, "climate"))
]
#: Six people sign, every second day.
SIGNED = [act("signature", number, "clean", 2 * number + 1, "email") for number in range(6)]
#: Four of them RSVP to two events with check-ins, one, before signing, to an event without.
RSVPS = [
    act("attendance", number, event, number + 8, "flyer" if number % 2 else "sms", status=status)
    for event in ("march", "picnic")
    for number, status in enumerate(["attended", "accepted", "attended", "declined"])
] + [act("attendance", 5, "vigil", 2, "flyer", status="accepted")]
COUNTED = [rsvp for rsvp in RSVPS if rsvp["status"] != "declined"]


def person(made):
    return made["_links"]["osdi:person"]["href"]


def event(made):
    return made["_links"]["osdi:event"]["href"].rpartition("/")[2]


def at(made):
    return datetime.fromisoformat(made["created_date"])


def referrer_data(made, name):
    return made["platform:referrer_data"][name]


@pytest.fixture(scope="module")
def archive():
    pages = [{"_embedded": {"osdi:events": EVENTS, "platform:event_campaigns": CAMPAIGNS}}]
    signatures = [[{"osdi:signature": signature}] for signature in SIGNED]
    return of.open([*pages, *signatures, *([{"osdi:attendance": rsvp}] for rsvp in RSVPS)])


@pytest.fixture(scope="module")
def tables(archive):
    return archive.tables(["actions", "events", "event_campaigns", "attendances", "signatures"])


def test_each_answer_takes_three_lines_at_most():
    assert len(ANSWERS) == 24
    for answer in ANSWERS:
        assert len(inspect.getsource(answer).splitlines()) <= 4, answer.__name__  # with that of `def`


def words(tree):
    """Return each statement and expression of a syntax tree, whatever their format."""
    return {ast.dump(node) for node in ast.walk(tree)}


@pytest.fixture(scope="module")
def cells():
    sources = [cell.source for path in NOTEBOOKS for cell in code(read(path))]
    return [words(ast.parse(source)) for source in sources]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.__name__)
def test_a_cell_of_a_notebook_has_the_lines_of_each_answer(answer, cells):
    (function,) = ast.parse(inspect.getsource(answer)).body
    *before, last = function.body
    lines = {ast.dump(line) for line in [*before, last.value]}
    assert any(lines <= cell for cell in cells)


def test_sources_of_those_who_came(tables):
    first = {}
    for rsvp in RSVPS:
        if rsvp["status"] == "attended":
            first.setdefault(person(rsvp), referrer_data(rsvp, "source"))
    made = asked.sources_of_those_who_came(tables["actions"])
    assert made["people"].to_dict() == Counter(first.values())


def test_rsvps_by_postal_code(tables):
    made = asked.rsvps_by_postal_code(tables["attendances"])
    assert made["rsvps"].to_dict() == Counter(
        rsvp["person"]["postal_addresses"][0]["postal_code"] for rsvp in COUNTED
    )


def test_week_over_week_by_source(tables):
    end = at(SIGNED[-1]).replace(hour=0)  # of the last whole day
    weeks = Counter((end - at(signature)) // timedelta(days=7) for signature in SIGNED)
    made = asked.week_over_week_by_source(tables["signatures"])
    assert made.loc["email", ["before", "now"]].tolist() == [weeks[1], weeks[0]] == [2, 3]


def test_conversion_by_referrer(tables):
    signed, converted = defaultdict(set), defaultdict(set)
    for signature in SIGNED:
        signed[referrer_data(signature, "referrer")].add(person(signature))
        if any(person(rsvp) == person(signature) and at(rsvp) >= at(signature) for rsvp in COUNTED):
            converted[referrer_data(signature, "referrer")].add(person(signature))
    actions = tables["actions"]
    a_year_later = actions.iloc[-1:].assign(person_id=None, date=actions["date"].max() + timedelta(days=365))
    made = asked.conversion_by_referrer(pd.concat([actions, a_year_later]))["people"]
    assert len(signed) == 2
    for referrer, people in signed.items():
        assert made[referrer].tolist() == [len(people), len(converted[referrer])]


def test_no_shows(tables):
    checked = {event(rsvp) for rsvp in RSVPS if rsvp["status"] == "attended"}
    missing = [rsvp for rsvp in RSVPS if rsvp["status"] == "accepted" and event(rsvp) in checked]
    made = asked.no_shows(tables["attendances"])
    assert set(made["identifiers"].str[0]) == {rsvp["identifiers"][0] for rsvp in missing}
    assert len(made) == len(missing) == 2


def test_people_who_attended_more_than_once(tables):
    times = Counter(person(rsvp) for rsvp in RSVPS if rsvp["status"] == "attended")
    made = asked.people_who_attended_more_than_once(tables["actions"])
    assert made["people"].to_dict() == Counter(times.values()) == {2: 2}


def test_days_from_signing_to_rsvp(tables):
    days = []
    for signature in SIGNED:
        first = min((at(rsvp) for rsvp in COUNTED if person(rsvp) == person(signature)), default=None)
        if first and first >= at(signature):
            days.append((first - at(signature)).days)
    made = asked.days_from_signing_to_rsvp(tables["actions"])
    assert sorted(made) == sorted(days) == [5, 6, 7]


def test_hours_of_the_week(tables):
    local = [at(signature) - timedelta(hours=4) for signature in SIGNED]
    counts = Counter((time.weekday(), time.hour) for time in local)
    made = asked.hours_of_the_week(tables["signatures"])
    assert {key: made.iloc[key] for key in counts} == counts
    assert made.to_numpy().sum() == len(local)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_map_of_signatures(data):
    assert asked.map_of_signatures(of.open(data).signatures()).collections


def test_rsvps_and_signatures_by_region(tables):
    made = asked.rsvps_and_signatures_by_region(tables["events"], tables["signatures"])
    rsvps, people = sum(each["total_accepted"] for each in EVENTS), {person(each) for each in SIGNED}
    counts = {"events": len(EVENTS), "rsvps": rsvps, "signatures": len(SIGNED), "people": len(people)}
    assert made.loc[("US", "CA")].to_dict() == counts


def test_two_campaigns_side_by_side(tables):
    events, rsvps = Counter(), Counter()
    for each in EVENTS:
        events[each["platform:event_campaign_id"]] += 1
        rsvps[each["platform:event_campaign_id"]] += each["total_accepted"]
    chosen = ["climate", "housing"]
    made = asked.two_campaigns_side_by_side(tables["events"], tables["event_campaigns"], chosen)
    assert made.columns.tolist() == ["Climate", "Housing"]
    assert made.loc["events"].tolist() == [events[name] for name in chosen]
    assert made.loc["rsvps"].tolist() == [rsvps[name] for name in chosen]
    starts = [min(each["start_date"] for each in EVENTS if name in each.values()) for name in chosen]
    assert made.loc["first_start"].tolist() == [pd.Timestamp(start[:-1]) for start in starts]


def test_in_excel_polars_and_duckdb(archive, tables, tmp_path):
    report = of.signatures_by_source(tables["signatures"])
    counts = asked.in_excel_polars_and_duckdb(archive, report, tmp_path / "sources.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "sources.xlsx").active
    assert [cell.value for cell in sheet[2]][:2] == ["email", len(SIGNED)]
    came = sum(rsvp["status"] == "attended" for rsvp in RSVPS)
    assert dict(counts.fetchall()) == {"signed": len(SIGNED), "rsvped": len(COUNTED), "attended": came}
