"""What is expected of the reports of drawn worlds is what is expected of small ones, counted by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.world.acts import actions
from tests.world.figures import reports
from tests.world.history import World
from tests.world.truth import Truth


def truth_of(world: World) -> Truth:
    world.place()
    return Truth(world)


def test_spellings_are_one_line_by_the_most_frequent_and_places_are_those_of_people() -> None:
    world = World()
    for person, source in ("p1", "spring-mail"), ("p2", "Spring_Mail"), ("p3", None):
        world.act("signature", person, "t1", {}, source=source)
    world.change("person", "p1", places=[("us", "California", "Ojai")])
    world.deliver()
    world.page([("person", "p1")])
    made = reports(truth := truth_of(world), actions(truth))
    lines = [(label, line["signatures"]) for label, line in made["signatures_by_source"]]
    assert lines == [("Spring_Mail", 2), ("(none)", 1)]
    lines = [(label, line["signatures"]) for label, line in made["signatures_by_region"]]
    assert lines == [(("(none)", "(none)"), 2), (("US", "CA"), 1)]


@pytest.mark.parametrize(("status", "counts"), [("accepted", 1), ("attended", 1), (None, 1), ("declined", 0)])
@pytest.mark.parametrize("event", [{}, {"hidden": True}, {"status": "cancelled"}])
def test_only_who_comes_to_an_event_that_counts_is_counted(
    status: str | None, counts: int, event: dict
) -> None:
    world = World()
    world.act("attendance", "p1", "e1", {}, status=status)
    world.change("event", "e1", **event)
    world.page([("attendance", "ap1e1")])
    world.page([("event", "e1")])
    truth = truth_of(world)
    [attendance] = truth.tables["attendances"]
    reason = None if counts else "unaccepted"
    assert attendance["excluded"] == (reason or event.get("status") or ("hidden" if event else None))
    lines = [
        (line["rsvps"], line.get("attended"))
        for _, line in reports(truth, actions(truth))["attendances_by_source"]
    ]
    assert lines == ([(1, 1 if status == "attended" else None)] if counts and not event else [])


def test_complete_pulls_are_points_of_growth_and_what_they_lack_is_gone() -> None:
    world = World()
    names = ["events", "petitions"]
    world.pull(names)
    world.act("attendance", "p1", "e1", {}, status="accepted")
    for lacks in "petitions", None:
        world.tick(timedelta(days=1))
        world.pull(names, lacks=lacks)
    world.hide(("petition", "t2"))
    world.tick(timedelta(hours=1))
    pull = world.pull(["petitions"])
    truth = truth_of(world)
    lines = [
        (line["rsvps"], line["new_rsvps"]) for _, line in reports(truth, actions(truth))["rsvps_by_pull"]
    ]
    assert lines == [(0, None), (1, 1)]
    assert [row["gone_since"] for row in truth.tables["petitions"]] == [None, pull.finished]
