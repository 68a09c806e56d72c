"""What is expected of drawn worlds is what somebody who reads the rules expects of small ones."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.world import figures
from tests.world.history import TABLES, World
from tests.world.truth import Row, Truth

SIGNATURE, ATTENDANCE = ("signature", "sp1t1"), ("attendance", "ap1e1")
PLACE = ("US", "CA", "Ojai")


def signed(**values: object) -> World:
    """Return a world in which somebody signed, and a webhook said so."""
    world = World()
    world.act("signature", "p1", "t1", {"emails": ["new@example.org"]}, add_tags=["new"], **values)
    world.deliver()
    world.outbox.clear()
    return world


def rsvped(status: str | None = "accepted") -> World:
    world = World()
    world.act("attendance", "p1", "e1", {}, status=status)
    world.page([ATTENDANCE])
    world.page([("event", "e1")])
    return world


def row(world: World, table: str) -> Row:
    if not any(document.places for document in world.all_documents):
        world.place()
    (only,) = Truth(world).tables[table]
    return only


def test_a_page_leaves_what_a_delivery_brought() -> None:
    world = signed(source="web", comments="old")
    world.change(*SIGNATURE, comments="new", source="mail")
    world.page([SIGNATURE])
    found = row(world, "signatures")
    assert (found["email"], found["add_tags"], found["idempotency_key"]) == ("new@example.org", ["new"], "k1")
    assert (found["comments"], found["source"]) == ("new", "mail")
    assert found["received_at"] < found["fetched_at"]
    assert (found["source_file"], found["person_filled"]) == (
        "01.ndjson",
        ["name"] if found["given_name"] else None,
    )


def test_a_retry_of_an_old_delivery_is_old() -> None:
    world = World()
    world.act("signature", "p1", "t1", {"emails": ["old@example.org"]}, comments="old")
    world.deliver(again=[timedelta(hours=1)])
    world.outbox.clear()
    world.act("signature", "p1", "t1", {"emails": ["new@example.org"]}, comments="new")
    world.deliver()
    found = row(world, "signatures")
    assert (found["comments"], found["email"]) == ("new", "new@example.org")
    assert found["received_at"] - world.now > timedelta(minutes=59)


def test_an_act_takes_from_people_what_it_lacks() -> None:
    world = World()
    world.change("person", "p1", places=[PLACE], phones=[])
    world.act("signature", "p1", "t1", {"emails": []})
    world.deliver()
    world.page([("person", "p1")])
    found = row(world, "signatures")
    assert found["person_filled"] == ["name", "location"]
    assert (found["given_name"], found["location_region"], found["email"]) == ("P1", "CA", None)
    as_they_came = Truth(world, people=False).tables["signatures"][0]
    assert (as_they_came["given_name"], as_they_came["person_filled"]) == (None, None)
    [(label, line)] = figures.reports(Truth(world))["signatures_by_region"]
    assert (label, line["signatures"]) == (("US", "CA"), 1)


def test_a_person_is_all_that_is_known() -> None:
    world = World()
    world.change("person", "p1", custom_fields={"a": "1", "b": "1"}, phones=["15550"])
    world.page([("person", "p1")])
    world.act("signature", "p1", "t1", {"custom_fields": {"b": None}, "given_name": "Ann"})
    world.deliver()
    found = row(world, "people")
    assert (found["given_name"], found["phone"]) == ("Ann", "15550")
    assert found["custom_fields"] == '{"a":"1","b":null}'
    assert found["identifiers"] == ["platform:p1"]
    assert found["first_seen"] == found["created_date"]
    assert found["last_seen"] > found["modified_date"]


def test_a_person_who_is_only_linked_has_an_id_and_times() -> None:
    world = rsvped()
    found = row(world, "people")
    assert {name for name, value in found.items() if value is not None} == {
        "person_id",
        "first_seen",
        "last_seen",
    }


@pytest.mark.parametrize(
    "way", ["whole", "since", "campaign", "no campaign", "cut", "killed", "other service"]
)
def test_a_whole_pull_proves_that_what_it_lacks_is_gone(way: str) -> None:
    world = rsvped()
    before = world.now
    world.deleted.add(("event", "e1"))
    pull = world.pull(
        [] if way == "other service" else TABLES.values(),
        since=before if way == "since" else None,
        campaigns={"campaign": ("c2",), "no campaign": ()}.get(way),
        lacks="events" if way == "cut" else None,
        killed=way == "killed",
    )
    world.place()
    truth = Truth(world)
    [event] = [event for event in truth.tables["events"] if event["event_id"] == "e1"]
    [attendance] = truth.tables["attendances"]
    expected = (pull.finished, "gone") if way == "whole" else (None, None)
    assert (event["gone_since"], event["excluded"]) == expected
    assert (attendance["gone_since"], attendance["excluded"]) == expected


def test_what_comes_back_or_was_delivered_meanwhile_is_not_gone() -> None:
    world = signed()
    world.page([("petition", "t1")])
    world.deleted.add(SIGNATURE)
    world.pull()
    world.place()
    assert Truth(world).tables["signatures"][0]["gone_since"]
    world.deleted.clear()
    world.page([SIGNATURE])
    world.documents[-1].places.append(("last.ndjson", 1))
    assert not Truth(world).tables["signatures"][0]["gone_since"]
    world = World()

    def sign() -> None:
        world.act("signature", "p2", "t1", {})
        world.deliver()

    pull = world.pull(amid={"signatures": sign})
    assert "signature" in pull.proves
    assert not row(world, "signatures")["gone_since"]


@pytest.mark.parametrize(
    ("status", "counts"),
    [("accepted", True), ("attended", True), (None, True), ("declined", False), ("tentative", False)],
)
def test_only_who_is_to_come_counts(status: str | None, counts: bool) -> None:
    world = rsvped(status)
    assert row(world, "attendances")["excluded"] == (None if counts else "unaccepted")
    lines = figures.reports(Truth(world))["rsvps_by_source"]
    assert [line["rsvps"] for _, line in lines] == ([1] if counts else [])
    assert [line.get("attended") for _, line in lines] == (
        [1 if status == "attended" else None] if counts else []
    )


def test_an_attendance_has_the_reason_of_its_event() -> None:
    for values, reason in (
        ({"hidden": True}, "hidden"),
        ({"hidden": True, "status": "cancelled"}, "cancelled"),
    ):
        world = rsvped()
        world.change("event", "e1", **values)
        world.page([("event", "e1")])
        assert row(world, "attendances")["excluded"] == reason


def test_spellings_are_one_line_by_the_most_frequent() -> None:
    world = World()
    for person, source in ("p1", "spring-mail"), ("p2", "Spring_Mail"), ("p3", None):
        world.act("signature", person, "t1", {}, source=source)
    world.deliver()
    world.place()
    lines = figures.reports(Truth(world))["signatures_by_source"]
    assert [(label, line["signatures"]) for label, line in lines] == [("Spring_Mail", 2), ("(none)", 1)]


def test_events_keep_the_people_of_v1() -> None:
    world = World()
    world.page([("event", "e1")], v1=True)
    world.change("event", "e1", capacity=9)
    world.page([("event", "e1")])
    world.place()
    truth = Truth(world)
    assert [person["role"] for person in truth.tables["event_people"]] == ["creator", "organizer"]
    [event] = truth.tables["events"]
    assert (event["api_version"], event["capacity"]) == ("v2", 9)


def test_pulls_are_points_of_growth() -> None:
    world = World()
    world.pull()
    world.act("attendance", "p1", "e1", {}, status="accepted")
    world.tick(timedelta(days=1))
    world.pull(lacks="people")  # not complete, not drawn
    world.tick(timedelta(days=1))
    world.pull()
    world.place()
    lines = figures.reports(Truth(world))["rsvps_by_pull"]
    assert [(line["rsvps"], line["new_rsvps"]) for _, line in lines] == [(0, None), (1, 1)]
