"""Up to when dates are known: one doubtful date leaves what is compared, measured and foretold as it is without it."""

import itertools
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import osdi_frames as of

START = datetime(2026, 5, 1, 10, tzinfo=UTC)
#: A Monday: the week before it had signatures until Thursday.
RECEIVED = datetime(2026, 6, 1, tzinfo=UTC)
API = "https://api.example.org/api/v2"
NUMBERS = itertools.count()


def signed(at: datetime, received: datetime | None = RECEIVED) -> dict:
    number = next(NUMBERS)
    links = {
        "osdi:petition": {"href": f"{API}/petitions/p"},
        "osdi:person": {"href": f"{API}/people/u{number}"},
    }
    signature = {"identifiers": [f"platform:s{number}"], "created_date": f"{at:%Y-%m-%dT%H:%M:%SZ}"}
    signature |= {"platform:referrer_data": {"source": "email"}, "_links": links}
    body = [{"osdi:signature": signature, "idempotency_key": f"m{number}"}]
    return {"received_at": received.isoformat(), "body": body} if received else body


def of_may(received: datetime | None = RECEIVED) -> list:
    """Return five signatures a day, on the first 28 days of May."""
    return [signed(START + timedelta(days=day), received) for day in range(28) for _ in range(5)]


def attended_at_a_moved_event(received: datetime) -> list:
    event = {"identifiers": ["platform:e"], "title": "Picnic", "start_date": "2026-10-10T10:00:00Z"}
    event |= {"created_date": "2026-04-01T00:00:00Z", "_links": {"self": {"href": f"{API}/events/e"}}}
    came = {"identifiers": ["platform:a"], "status": "attended", "attended": True}
    came |= {"created_date": "2026-05-02T00:00:00Z", "modified_date": "2026-05-20T00:00:00Z"}
    came["_links"] = {"osdi:event": {"href": f"{API}/events/e"}, "osdi:person": {"href": f"{API}/people/u"}}
    pages = [{"_embedded": {"osdi:events": [event]}}, {"_embedded": {"osdi:attendances": [came]}}]
    return [{"fetched_at": received.isoformat(), "body": page} for page in pages]


DATED = ["changes", "changes_by_source", "news", "goals", "retention"]


def report(source: list, **options) -> dict[str, pd.DataFrame]:
    return of.report(source, reports=DATED, goals={"p": 1000}, **options)


def functions(source: list, **options) -> dict[str, pd.DataFrame]:
    """Return the same of frames that a reader has."""
    archive = of.open(source)
    actions, signatures = archive.actions(), archive.signatures()
    return {
        "changes": of.changes(actions, **options),
        "changes_by_source": of.compare(actions, "W", **options),
        "goals": of.goals(signatures, {"p": 1000}, **options),
        "retention": of.retention(actions, "W", **options),
        "funnel": of.funnel(actions, **options),
    }


DOUBTFUL = {
    "a signature of 2062": ([signed(datetime(2062, 5, 3, 10, tzinfo=UTC))], "2062-05-03"),
    "a signature of two days later": ([signed(RECEIVED + timedelta(days=2))], "2026-06-03"),
    "attended at an event to come": (attended_at_a_moved_event(RECEIVED), "2026-10-10"),
}


@pytest.fixture(scope="module")
def of_may_alone() -> dict:
    return {made: made(of_may()) for made in (report, functions)}


@pytest.mark.parametrize(
    ("made", "doubtful"),
    [(functions, name) for name in DOUBTFUL] + [(report, "attended at an event to come")],
)
def test_a_doubtful_date_is_named_and_changes_nothing_that_is_compared(made, doubtful, of_may_alone):
    more, day = DOUBTFUL[doubtful]
    before, found = of_may_alone[made], made([*of_may(), *more])
    for name in ("changes", "changes_by_source"):
        assert found[name].loc[before[name].index].to_dict() == before[name].to_dict()
        assert found[name]["now"].iloc[0] == 35
        assert found[name].attrs["period"] == "2026-05-18 to 2026-05-24, against 2026-05-11 to 2026-05-17"
    goal = found["goals"].loc["p"]
    assert (goal["per_week"], goal["expected"].strftime("%Y-%m")) == (35, "2026-11")
    named = [name for name, frame in found.items() if f"({day})" in frame.attrs["note"]]
    expected = {"changes", "changes_by_source", "retention"}
    assert {*expected, *(["goals"] if more[0].keys() == {"received_at", "body"} else [])} <= {*named}
    assert not [name for name, frame in before.items() if "set aside" in frame.attrs["note"]]


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")
def test_of_what_has_no_receipt_nothing_after_the_present_is_compared():
    later = [signed(datetime(2027, 5, 3, 10, tzinfo=UTC), None)]
    now = datetime(2026, 5, 29, tzinfo=UTC)
    before = report(of_may(None), now=now)
    for found in (report([*of_may(None), *later], now=now), functions([*of_may(None), *later], now=now)):
        assert found["changes"].to_dict() == before["changes"].to_dict()
        assert found["goals"].loc["p", "per_week"] == 35
        assert "(2027-05-03)" in found["changes"].attrs["note"]
    without = functions([*of_may(None), *later])
    assert "set aside" not in without["changes"].attrs["note"]  # the clock is not read


def test_an_end_that_the_caller_chooses_sets_nothing_aside():
    source = [*of_may(), signed(RECEIVED + timedelta(days=2))]
    found = of.changes(of.open(source).actions(), until="2026-06-07")
    assert found.loc["signed", ["before", "now"]].tolist() == [20, 1]
    assert "set aside" not in found.attrs["note"]


def test_the_wall_clock_of_an_attendance_is_up_to_a_day_ahead_of_the_receipt():
    source = [*of_may(), signed(RECEIVED + timedelta(hours=14))]
    found = of.changes(of.open(source).actions())
    assert found.attrs["period"].startswith("2026-05-25 to 2026-05-31")
    assert "set aside" not in found.attrs["note"]


def test_what_has_a_doubtful_date_is_not_new():
    petition = {
        "identifiers": ["platform:p"],
        "title": "Save the park",
        "created_date": "2026-05-20T00:00:00Z",
    }
    odd = {"identifiers": ["platform:q"], "title": "Far", "created_date": "2062-05-20T00:00:00Z"}
    page = {"_embedded": {"osdi:petitions": [petition, odd]}}
    found = report([*of_may(), {"fetched_at": RECEIVED.isoformat(), "body": page}])["news"]
    assert found.index.tolist() == ["Save the park"]
    assert "(2062-05-20)" in found.attrs["caveat"]
