"""Every act of a world in order of time, as the table of actions must list them, counted in plain Python."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.acts import participations
from tests.world.truth import Row, Truth

REFERRED, PLACE = ("source", "referrer", "website"), ("location_country", "location_region")
LAST = datetime.max.replace(tzinfo=UTC)


def actions(truth: Truth) -> list[Row]:
    """Return the rows of the table of actions."""
    acts = [*_hosted(truth), *_signed(truth), *_rsvped(truth), *_attended(truth)]
    acts.sort(key=lambda act: _order(*act))
    counts: Counter[str] = Counter()
    rows = [_numbered(row, counts, truth) for row, _, _ in acts]
    another, counts = {id(row) for row in participations(rows)}, Counter()
    for row in rows:
        counts[row["person_id"]] += id(row) in another
        row["participation"] = counts[row["person_id"]] if id(row) in another else None
    return rows


def _order(row: Row, rank: int, own_id: str) -> tuple[Any, ...]:
    texts = (row["person_id"], rank, row["subject_id"], own_id, *(row[name] for name in REFERRED))
    return row["date"] or LAST, [(text is None, text if text is not None else 0) for text in texts]


def _numbered(row: Row, counts: Counter[str], truth: Truth) -> Row:
    person_id, row["number"], row["is_first"], row["is_new"] = row["person_id"], None, None, None
    if person_id and row["date"] and not row["excluded"]:
        counts[person_id] += 1
        row["number"], row["is_first"] = counts[person_id], counts[person_id] == 1
        created = truth.people.get(person_id, {}).get("created_date")
        if row["number"] > 1:
            row["is_new"] = False
        elif created and created <= row["date"] + timedelta(days=1):  # later than that proves nothing
            row["is_new"] = created >= row["date"] - timedelta(days=1)
    return row


def _hosted(truth: Truth) -> list[tuple[Row, int, str]]:
    return [
        _act(event, "hosted", event, event["event_id"], person=truth.people.get(event["creator_id"], {}))
        for event in truth.tables["events"]
        if event["creator_id"]
    ]


def _signed(truth: Truth) -> list[tuple[Row, int, str]]:
    petitions = {row["petition_id"]: row for row in truth.tables["petitions"]}
    return [
        _act(row, "signed", petitions.get(row["petition_id"], {}), row["signature_id"])
        for row in truth.tables["signatures"]
    ]


def _rsvped(truth: Truth) -> list[tuple[Row, int, str]]:
    events = {row["event_id"]: row for row in truth.tables["events"]}
    return [
        _act(row, "rsvped", events.get(row["event_id"], {}), row["attendance_id"])
        for row in truth.tables["attendances"]
    ]


def _attended(truth: Truth) -> list[tuple[Row, int, str]]:
    events, found = {row["event_id"]: row for row in truth.tables["events"]}, []
    for row in truth.tables["attendances"]:
        if row["attended"]:
            event = events.get(row["event_id"], {})
            start = (
                event["start_date"].replace(tzinfo=UTC) if event.get("start_date") else row["modified_date"]
            )
            dates = [date for date in (start, row["created_date"]) if date]
            found.append(
                _act(
                    row | {"created_date": max(dates, default=None)}, "attended", event, row["attendance_id"]
                )
            )
    return found


def _act(
    row: Row, action: str, about: Row, own_id: str, *, person: Row | None = None
) -> tuple[Row, int, str]:
    rank = ("hosted", "signed", "rsvped", "attended").index(action)
    is_hosted = person is not None
    act = {"person_id": row["creator_id" if is_hosted else "person_id"], "date": row["created_date"]}
    act |= {"action": action, "subject_id": row.get("petition_id" if action == "signed" else "event_id")}
    act |= {"title": about.get("title"), "excluded": row["excluded"], "amount": None, "currency": None}
    receipts = [row[name] for name in ("received_at", "fetched_at") if row.get(name)]
    act |= {"received_at": max(receipts, default=None)}
    act |= {name: None if is_hosted else row[name] for name in REFERRED}
    act |= {name: (person if person is not None else row).get(name) for name in PLACE}
    return act, rank, own_id
