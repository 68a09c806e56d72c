"""What every standard report of a world must show, counted in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import accumulate
from typing import Any

from tests.world.truth import Row, Truth

Line = tuple[Any, Row]
"""A label, and the figures behind it."""
Label, Figures = Callable[[Row], Any], Callable[[list[Row]], Row]

NONE = "(none)"
#: Spellings, and what each of them means; None is no value.
CODES = {
    None: None,
    "Facebook": "f",
    " facebook ": "f",
    "facebook": "f",
    "spring-mail": "s",
    "Spring_Mail": "s",
}
WEBSITES = {
    None: NONE,
    "example.org": "example.org",
    "https://www.Example.org/petitions?page=2": "example.org",
    "the newsletter": "the newsletter",
}
PLACES = {
    ("US", "CA"): ("US", "CA"),
    ("us", "California"): ("US", "CA"),
    ("United States", " ca "): ("US", "CA"),
    ("CA", "ON"): ("CA", "ON"),
    ("Canada", "ontario"): ("CA", "ON"),
    ("US", None): ("US", NONE),
    (None, "California"): (NONE, "California"),
    ("Narnia", "CA"): ("Narnia", "CA"),
    (None, None): (NONE, NONE),
}


def reports(truth: Truth, acts: list[Row]) -> dict[str, list[Line]]:
    """Return the lines of each report that is made, in addition to the acts of the world."""
    names = "events", "signatures", "attendances"
    events, signatures, attendances = (
        [row for row in truth.tables[name] if not row["excluded"]] for name in names
    )
    _mark_new(signatures, acts, "signed", "petition_id")
    _mark_new(attendances, acts, "rsvped", "event_id")
    campaigns, petitions = truth.tables["event_campaigns"], truth.tables["petitions"]
    made = {
        "rsvps_by_campaign": _titled(_ranked(events, _id("event_campaign_id"), _of_events), campaigns),
        "rsvps_by_region": _ranked(events, _place, _of_events),
        "rsvps_by_month": _by_month(events, "start_date", _of_events),
        "rsvps_by_pull": _growth(truth, {event["event_id"] for event in events}),
    }
    for subject, count, rows in (
        ("attendances", "rsvps", attendances),
        ("signatures", "signatures", signatures),
    ):
        figures = partial(_of_acts, count, rows)
        for column in "source", "referrer":
            made[f"{subject}_by_{column}"] = _ranked(rows, _code(column, rows), figures)
        made[f"{subject}_by_region"] = _ranked(rows, _place, figures)
        made[f"{subject}_by_month"] = _cumulative(_by_month(rows, "created_date", figures), count)
    figures = partial(_of_acts, "signatures", signatures)
    made["signatures_by_petition"] = _titled(_ranked(signatures, _id("petition_id"), figures), petitions)
    made["signatures_by_website"] = _ranked(signatures, lambda row: WEBSITES[row["website"]], figures)
    unmade = (
        ()
        if truth.tables["attendances"]
        else (
            "attendances_by_source",
            "attendances_by_referrer",
            "attendances_by_region",
            "attendances_by_month",
        )
    )
    unmade += ("rsvps_by_pull",) if len(made["rsvps_by_pull"]) < 2 or truth.tables["attendances"] else ()
    return {name: lines for name, lines in made.items() if name not in unmade}


def _mark_new(rows: list[Row], acts: list[Row], action: str, subject: str) -> None:
    """Write to each row whether it is its person's first act and brought them; None where nobody knows."""
    first = {
        (act["person_id"], act["date"], act["subject_id"]): act["is_new"]
        for act in acts
        if act["is_first"] and act["action"] == action
    }
    for row in rows:
        row["is_new"] = first.get((row["person_id"], row["created_date"], row[subject]), False)
    is_unknown = any(row["is_new"] is None for row in rows) and not any(row["is_new"] for row in rows)
    for row in rows:
        row["is_new"] = None if is_unknown else bool(row["is_new"])


# --- labels ------------------------------------------------------------------------------------------------


def _id(column: str) -> Label:
    return lambda row: row[column] or NONE


def _place(row: Row) -> Any:
    return PLACES[row["location_country"], row["location_region"]]


def _code(column: str, rows: list[Row]) -> Label:
    """Return the label of a code: its most frequent spelling, of equals the first without whitespace around it."""
    spelled = Counter(row[column] for row in rows if row[column] is not None)
    shown: dict[Any, str] = {None: NONE}
    for spelling in sorted(spelled, key=lambda text: (-spelled[text], text != text.strip(), text)):
        shown.setdefault(CODES[spelling], spelling)
    return lambda row: shown[CODES[row[column]]]


# --- lines -------------------------------------------------------------------------------------------------


def _ranked(rows: list[Row], label: Label, figures: Figures) -> list[Line]:
    """Return the lines with most in the count first, then by label."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(label(row), []).append(row)
    lines = [(each, figures(some)) for each, some in groups.items()]
    return sorted(lines, key=lambda line: (-line[1].get("rsvps", line[1].get("signatures")), line[0]))


def _by_month(rows: list[Row], column: str, figures: Figures) -> list[Line]:
    """Return a line for each month from the first to the last."""
    numbers = [row[column].year * 12 + row[column].month - 1 for row in rows]
    months = range(min(numbers), max(numbers) + 1) if rows else ()
    of_month = {
        month: [row for row, number in zip(rows, numbers, strict=True) if number == month] for month in months
    }
    return [(f"{month // 12}-{month % 12 + 1:02}", figures(some)) for month, some in of_month.items()]


def _cumulative(lines: list[Line], count: str) -> list[Line]:
    totals = accumulate(line[count] for _, line in lines)
    kept = (count, "people", "new", "attended", "attended_of", "attended_share")
    return [
        (month, {name: line[name] for name in kept if name in line} | {"cumulative": total})
        for (month, line), total in zip(lines, totals, strict=True)
    ]


def _titled(lines: list[Line], things: list[Row]) -> list[Line]:
    titles = {thing.get("event_campaign_id") or thing["petition_id"]: thing["title"] for thing in things}
    return [(label, line | {"title": titles.get(label)}) for label, line in lines]


def _growth(truth: Truth, counted: set[str]) -> list[Line]:
    """Return what was known at each pull; what is more than a minute later belongs to the next."""
    pulls = {pull.folder: pull for pull in truth.world.pulls}
    states = []
    for own_id in counted:
        for version in truth.versions["event", own_id]:
            pull = pulls.get(version.place[0].partition("/")[0])
            moment = version.document.at if pull is None else pull.finished if pull.is_complete else None
            states += [(moment, version.seen.state["total_accepted"], own_id)] if moment else []
    lines: list[Line] = []
    known, before = dict[str, int](), None
    for moment, total, own_id in sorted(states):
        if before and moment - before <= timedelta(minutes=1):
            lines.pop()
        known[own_id], before = total, moment
        rsvps = sum(known.values())
        lines.append(
            (moment, {"rsvps": rsvps, "new_rsvps": rsvps - lines[-1][1]["rsvps"] if lines else None})
        )
    return lines


# --- figures -----------------------------------------------------------------------------------------------


def _of_events(rows: list[Row]) -> Row:
    limited = [row for row in rows if row["capacity"] is not None]
    capacity = sum(row["capacity"] for row in limited) if limited else None
    rsvps, starts = sum(row["total_accepted"] for row in limited), [row["start_date"] for row in rows]
    return {
        "events": len(rows),
        "rsvps": sum(row["total_accepted"] for row in rows),
        "limited_events": len(limited),
        "limited_rsvps": rsvps,
        "capacity": capacity,
        "fill_rate": rsvps / capacity if capacity else None,
        "first_start": min(starts, default=None),
        "last_start": max(starts, default=None),
    }


def _of_acts(count: str, every: list[Row], rows: list[Row]) -> Row:
    dates = [row["created_date"] for row in rows]
    came, any_came = ([row for row in some if row.get("attended")] for some in (rows, every))
    held = {row["event_id"] for row in any_came} - {None}
    of = sum(row.get("event_id") in held or bool(row.get("attended")) for row in rows)
    share = len(came) / of if of else None
    attended = {"attended": len(came), "attended_of": of, "attended_share": share}
    return {
        count: len(rows),
        "people": len({row["person_id"] for row in rows} - {None}),
        "new": None if any(row["is_new"] is None for row in every) else len(_new(rows)),
        "share": len(rows) / max(len(every), 1),
        "first": min(dates, default=None),
        "last": max(dates, default=None),
    } | (attended if any_came else {})


def _new(rows: list[Row]) -> set[str]:
    return {row["person_id"] for row in rows if row["is_new"]}
