"""Statuses: which of them count, however they are written, and who came."""

import json

import osdi_frames as of
from tests.commands import run
from tests.test_counted import attended, event

COUNTS = ["accepted", "Accepted", "confirmed", "attended", "checked in", "Checked-In", "checked_in", None]
DOES_NOT_COUNT = [
    "declined",
    "tentative",
    "needs action",
    "needs-action",
    "NEEDS_ACTION",
    "cancelled",
    "Canceled",
]
DOES_NOT_COUNT += ["waitlisted", "no show", "no_show", "refunded", "deleted", "rejected"]
UNKNOWN = ["waiting", "Waiting", "", "yes"]
OF_EVENTS = {
    "cancelled": ["cancelled", "Cancelled", "canceled", "rejected", "deleted"],
    None: ["confirmed", "Confirmed", "tentative", "pending", "pending_approval", None, "unvetted"],
}


def attendances(statuses, **fields):
    return [attended(number, status=status, **fields) for number, status in enumerate(statuses)]


def test_attendances_count_by_their_status_in_any_spelling():
    statuses = [*COUNTS, *UNKNOWN, *DOES_NOT_COUNT]
    found = of.open(attendances(statuses)).attendances()
    is_left_out = [status in DOES_NOT_COUNT for status in statuses]
    assert found["excluded"].fillna("").tolist() == ["unaccepted" * left_out for left_out in is_left_out]
    assert found["status"].fillna("missing").tolist() == [
        "missing" if status is None else status for status in statuses
    ]


def test_who_came_is_what_the_status_or_the_key_attended_says():
    statuses = ["attended", "Checked in", "checked_in", "accepted", "declined", None]
    by_status = of.open(attendances(statuses)).attendances()
    assert by_status["attended"].tolist() == [True, True, True, False, False, False]
    by_key = of.open(attendances(statuses, attended=True)).attendances()
    assert by_key["attended"].all()
    assert by_key["excluded"].isna().all()
    denied = of.open(attendances(statuses, attended=False)).attendances()
    assert denied["attended"].equals(by_status["attended"])


def test_reports_and_actions_read_whether_somebody_attended(tmp_path):
    source = [
        event(1, total_accepted=4),
        *attendances(["needs action", "accepted", "checked in", "declined"]),
    ]
    source[1][0]["osdi:attendance"]["attended"] = True
    made = of.report(source)
    assert made["attendances_by_source"][["rsvps", "attended", "attended_of"]].to_numpy().tolist() == [
        [3, 2, 3]
    ]
    assert made.summary["attended"] == 2
    actions = of.open(source).actions()
    assert actions[actions["excluded"].isna()]["action"].value_counts().to_dict() == {
        "rsvped": 3,
        "attended": 2,
    }
    (tmp_path / "in.json").write_text(json.dumps(source))
    assert "attended: 2 of 3 RSVPs" in run("report", tmp_path / "in.json").stdout


def test_events_count_by_their_status_in_any_spelling():
    statuses = [(status, reason) for reason, some in OF_EVENTS.items() for status in some]
    archive = of.open([event(number, status=status) for number, (status, _) in enumerate(statuses)])
    assert archive.events()["excluded"].fillna("").tolist() == [reason or "" for _, reason in statuses]
    for some in OF_EVENTS.values():
        assert archive.where(status=some[1]).events()["status"].nunique() == 2


def test_check_names_each_status_that_is_not_known():
    events = [
        event(number, status=status)
        for number, status in enumerate([*OF_EVENTS["cancelled"], *OF_EVENTS[None]])
    ]
    found = of.check(
        [*events, *attendances([*COUNTS, *DOES_NOT_COUNT, "waiting", "waiting", "Waiting", " "])]
    )
    found = found[found["problem"] == "unknown status"]
    assert found[["severity", "detail", "count"]].to_numpy().tolist() == [
        ["warning", 'attendance: status = "waiting"', 2],
        ["warning", 'attendance: status = "Waiting"', 1],
        ["warning", 'event: status = "unvetted"', 1],
    ]
