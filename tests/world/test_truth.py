"""What is expected of drawn worlds is what somebody who reads the rules expects of small ones."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.world.figures import reports
from tests.world.history import TABLES, World
from tests.world.truth import Row, Truth

SIGNATURE, ATTENDANCE = ("signature", "sp1t1"), ("attendance", "ap1e1")


def row(world: World, table: str) -> Row:
    """Return the only row of a table."""
    if not any(document.places for document in world.all_documents):
        world.place()
    (only,) = Truth(world).tables[table]
    return only


def rsvped(status: str | None = "accepted") -> World:
    world = World()
    world.act("attendance", "p1", "e1", {}, status=status)
    world.page([ATTENDANCE])
    world.page([("event", "e1")])
    return world


def test_a_page_and_a_retry_leave_what_deliveries_brought() -> None:
    world = World()
    world.act("signature", "p1", "t1", {"emails": ["old@example.org"]}, add_tags=["new"], source="web")
    world.deliver(again=[timedelta(hours=9)])
    world.outbox.clear()
    world.act("signature", "p1", "t1", {"emails": ["new@example.org"]}, source="mail")
    world.deliver()
    world.change(*SIGNATURE, comments="Hear, hear")
    world.page([SIGNATURE])
    found = row(world, "signatures")
    assert (found["email"], found["add_tags"], found["idempotency_key"]) == ("new@example.org", ["new"], "k2")
    assert (found["comments"], found["source"], found["source_file"]) == ("Hear, hear", "mail", "03.ndjson")
    assert found["received_at"] > found["fetched_at"]


def test_people_are_all_that_is_known_and_acts_take_from_it() -> None:
    world = World()
    world.change(
        "person", "p1", places=[("US", "CA", "Ojai")], custom_fields={"a": "1", "b": "1"}, phones=["1"]
    )
    world.page([("person", "p1")])
    world.act("signature", "p1", "t1", {"emails": [], "custom_fields": {"b": None}})
    world.deliver()
    person, signature = row(world, "people"), row(world, "signatures")
    assert (person["phone"], person["email"], person["custom_fields"]) == ("1", None, '{"a":"1","b":null}')
    assert person["first_seen"] == person["created_date"] < person["modified_date"] < person["last_seen"]
    assert signature["person_filled"] == ["name", "phone", "location"]
    assert (signature["location_region"], signature["email"]) == ("CA", None)
    assert Truth(world, people=False).tables["signatures"][0]["location_region"] is None
    assert [label for label, _ in reports(Truth(world))["signatures_by_region"]] == [("US", "CA")]


def test_of_a_person_who_is_only_linked_id_and_times_are_known() -> None:
    known = {name for name, value in row(rsvped(), "people").items() if value is not None}
    assert known == {"person_id", "first_seen", "last_seen"}


@pytest.mark.parametrize(
    "way", ["whole", "since", "campaign", "no campaign", "cut", "killed", "other service"]
)
def test_a_whole_pull_proves_that_what_it_lacks_is_gone(way: str) -> None:
    world = rsvped()
    world.deleted.add(("event", "e1"))
    campaigns = {"campaign": ("c2",), "no campaign": ()}.get(way)
    asked = {"since": world.now if way == "since" else None, "lacks": "events" if way == "cut" else None}
    names = [] if way == "other service" else TABLES.values()
    pull = world.pull(names, killed=way == "killed", campaigns=campaigns, **asked)
    world.place()
    [event] = [event for event in Truth(world).tables["events"] if event["event_id"] == "e1"]
    for found in event, row(world, "attendances"):
        expected = (pull.finished, "gone") if way == "whole" else (None, None)
        assert (found["gone_since"], found["excluded"]) == expected


def test_what_comes_back_or_is_delivered_meanwhile_is_not_gone() -> None:
    world = rsvped()
    world.deleted.add(ATTENDANCE)
    gone = world.pull()
    world.deleted.clear()
    meanwhile = world.pull(amid={"attendances": world.deliver}, lacks="attendances")
    world.place()
    assert "attendance" in gone.proves - meanwhile.proves
    assert row(world, "attendances")["gone_since"] is None
    world.documents.pop()
    assert row(world, "attendances")["gone_since"] == gone.finished


@pytest.mark.parametrize(
    ("status", "counts"), [("accepted", True), ("attended", True), (None, True), ("declined", 0)]
)
def test_only_who_comes_counts(status: str | None, counts: bool) -> None:
    world = rsvped(status)
    assert row(world, "attendances")["excluded"] == (None if counts else "unaccepted")
    lines = [(line["rsvps"], line.get("attended")) for _, line in reports(Truth(world))["rsvps_by_source"]]
    assert lines == ([(1, 1 if status == "attended" else None)] if counts else [])


@pytest.mark.parametrize("values", [{"hidden": True}, {"hidden": True, "status": "cancelled"}])
def test_an_attendance_has_the_reason_of_its_event(values: Row) -> None:
    world = rsvped()
    world.change("event", "e1", **values)
    world.page([("event", "e1")])
    assert row(world, "attendances")["excluded"] == values.get("status", "hidden")


def test_spellings_are_one_line_by_the_most_frequent() -> None:
    world = World()
    for person, source in ("p1", "spring-mail"), ("p2", "Spring_Mail"), ("p3", None):
        world.act("signature", person, "t1", {}, source=source)
    world.deliver()
    world.place()
    lines = reports(Truth(world))["signatures_by_source"]
    assert [(label, line["signatures"]) for label, line in lines] == [("Spring_Mail", 2), ("(none)", 1)]


def test_complete_pulls_are_points_of_growth() -> None:
    world = World()
    world.pull()
    world.act("attendance", "p1", "e1", {}, status="accepted")
    for lacks in "people", None:
        world.tick(timedelta(days=1))
        world.pull(lacks=lacks)
    world.place()
    lines = reports(Truth(world))["rsvps_by_pull"]
    assert [(line["rsvps"], line["new_rsvps"]) for _, line in lines] == [(0, None), (1, 1)]
