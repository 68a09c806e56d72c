"""What every standard report of a world must show, counted in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.world.truth import Row, Truth

Line = tuple[Any, Row]
"""A label, and the figures behind it."""

NONE = "(none)"
#: Spellings, and what each of them means; None is no value.
CODES = {
    "Facebook": "f",
    " facebook ": "f",
    "facebook": "f",
    "spring-mail": "s",
    "Spring_Mail": "s",
    None: None,
}
WEBSITES = {
    "example.org": "example.org",
    "https://www.Example.org/petitions?page=2": "example.org",
    "the newsletter": "the newsletter",
    None: NONE,
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


def reports(truth: Truth) -> dict[str, list[Line]]:
    """Return the lines of each report that is made."""
    rows = {name: _counting(truth.tables[name]) for name in ("events", "signatures", "attendances")}
    campaigns, petitions = truth.tables["event_campaigns"], truth.tables["petitions"]
    made = {
        "rsvps_by_campaign": _titled(
            _ranked(rows["events"], _id("event_campaign_id"), _of_events), campaigns
        ),
        "rsvps_by_region": _ranked(rows["events"], _place, _of_events),
        "rsvps_by_month": _by_month(rows["events"], "start_date", _of_events),
        "rsvps_by_pull": _growth(truth, {event["event_id"] for event in rows["events"]}),
    }
    for subject, count in ("attendances", "rsvps"), ("signatures", "signatures"):
        some, figures = rows[subject], _of_acts(count, rows[subject])
        made |= {
            f"{count}_by_{key}": _ranked(some, _code(key, some), figures) for key in ("source", "referrer")
        }
        made[f"{subject}_by_month"] = _cumulative(_by_month(some, "created_date", figures), count)
    signatures, figures = rows["signatures"], _of_acts("signatures", rows["signatures"])
    made["signatures_by_petition"] = _titled(_ranked(signatures, _id("petition_id"), figures), petitions)
    made["signatures_by_website"] = _ranked(signatures, lambda row: WEBSITES[row["website"]], figures)
    made["signatures_by_region"] = _ranked(signatures, _place, figures)
    unmade = (
        []
        if truth.tables["attendances"]
        else ["rsvps_by_source", "rsvps_by_referrer", "attendances_by_month"]
    )
    unmade += ["rsvps_by_pull"] if len(made["rsvps_by_pull"]) < 2 else []
    return {name: lines for name, lines in made.items() if name not in unmade}


def _counting(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["excluded"] is None]


# --- labels ------------------------------------------------------------------------------------------------


def _id(column: str) -> Callable[[Row], Any]:
    return lambda row: row[column] or NONE


def _place(row: Row) -> Any:
    return PLACES[row["location_country"], row["location_region"]]


def _code(column: str, rows: list[Row]) -> Callable[[Row], Any]:
    """Return the label of a code: the spelling that most rows have, the first of equals."""
    spelled = Counter(row[column] for row in rows if row[column] is not None)
    shown: dict[Any, str] = {None: NONE}
    for spelling in sorted(spelled, key=lambda text: (-spelled[text], text)):
        shown.setdefault(CODES[spelling], spelling)
    return lambda row: shown[CODES[row[column]]]


# --- lines -------------------------------------------------------------------------------------------------


def _ranked(rows: list[Row], label: Callable[[Row], Any], figures: Callable[[list[Row]], Row]) -> list[Line]:
    """Return the lines with most in the count first, then by label."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(label(row), []).append(row)
    lines = [(each, figures(some)) for each, some in groups.items()]
    count = next((name for _, line in lines for name in ("rsvps", "signatures") if name in line), "")
    return sorted(lines, key=lambda line: (-line[1][count], line[0]))


def _by_month(rows: list[Row], column: str, figures: Callable[[list[Row]], Row]) -> list[Line]:
    """Return a line for each month from the first to the last."""
    moments = [row[column] for row in rows]
    if not moments:
        return []
    first, last = (moment.year * 12 + moment.month - 1 for moment in (min(moments), max(moments)))
    months = [f"{number // 12}-{number % 12 + 1:02}" for number in range(first, last + 1)]
    return [(month, figures([row for row in rows if f"{row[column]:%Y-%m}" == month])) for month in months]


def _cumulative(lines: list[Line], count: str) -> list[Line]:
    total, made = 0, []
    for month, line in lines:
        total += line[count]
        kept = {name: line[name] for name in (count, "people", "attended", "attended_share") if name in line}
        made.append((month, kept | {"cumulative": total}))
    return made


def _titled(lines: list[Line], things: list[Row]) -> list[Line]:
    titles = {thing.get("event_campaign_id") or thing["petition_id"]: thing["title"] for thing in things}
    return [(label, line | {"title": titles.get(label)}) for label, line in lines]


def _growth(truth: Truth, counted: set[str]) -> list[Line]:
    """Return what was known at each pull; what is more than a minute later belongs to the next."""
    pulls = {pull.folder: pull for pull in truth.world.pulls}
    states = []
    for document in truth.world.all_documents:
        for file, _ in document.places:
            pull = pulls.get(file.partition("/")[0])
            moment = document.at if pull is None else pull.finished if pull.complete else None
            seen = [each for each in document.seen if each.kind == "event" and each.id in counted]
            states += [(moment, each.state["total_accepted"], each.id) for each in seen if moment]
    lines: list[Line] = []
    known: dict[str, int] = {}
    before: datetime | None = None
    for moment, total, own_id in sorted(states):
        if lines and before and moment - before <= timedelta(minutes=1):
            lines.pop()
        known[own_id], before = total, moment
        new = sum(known.values()) - lines[-1][1]["rsvps"] if lines else None
        lines.append((moment, {"rsvps": sum(known.values()), "new_rsvps": new}))
    return lines


# --- figures -----------------------------------------------------------------------------------------------


def _of_events(rows: list[Row]) -> Row:
    limited = [row for row in rows if row["capacity"] is not None]
    capacity = sum(row["capacity"] for row in limited) if limited else None
    rsvps = sum(row["total_accepted"] for row in limited)
    starts = [row["start_date"] for row in rows]
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


def _of_acts(count: str, every: list[Row]) -> Callable[[list[Row]], Row]:
    def figures(rows: list[Row]) -> Row:
        dates = [row["created_date"] for row in rows]
        line = {
            count: len(rows),
            "people": len({row["person_id"] for row in rows}),
            "share": len(rows) / max(len(every), 1),
            "first": min(dates, default=None),
            "last": max(dates, default=None),
        }
        came = [sum(row.get("status") == "attended" for row in some) for some in (rows, every)]
        # The rate of those who came is shown where anybody did.
        share = came[0] / len(rows) if rows else None
        return line | ({"attended": came[0], "attended_share": share} if came[1] else {})

    return figures
