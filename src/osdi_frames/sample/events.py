"""Events in three forms: v2, v1, and v2 as it was until June 2018, with people embedded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from osdi_frames.sample import words
from osdi_frames.sample.campaigns import attention, cause_of
from osdi_frames.sample.deployment import Deployment, Document, href_of, id_of, power_law, stamp, stream
from osdi_frames.sample.people import geolocation
from osdi_frames.tables.fields import EVENT

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
# Wall clocks that a town in the United States never showed, and that it showed twice.
CLOCK_CHANGES = (datetime(2026, 3, 8, 2, 30, tzinfo=UTC), datetime(2025, 11, 2, 1, 30, tzinfo=UTC))
CAPACITIES = (15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 250, 300, 400, 500, 800, 1000, 2000, 4000)
CAMPAIGN_MONTHS = 2  # until a campaign draws 1/e of the events that it drew at its launch
STATUS_GREW = datetime(2026, 7, 1, tzinfo=UTC)  # since then there are values that the contract does not name


def make_events(
    deployment: Deployment,
    moments: Iterable[datetime],
    *,
    until: datetime,
    campaigns: list[Document],
    groups: list[Document],
    people: list[Document],
) -> list[Document]:
    """Make one v2 event for each moment of creation, oldest first, as it is at the end of the world."""
    rng = stream(deployment, "events")
    weigh = attention(rng, campaigns, months=CAMPAIGN_MONTHS, floor=0)
    made = []
    for number, created in enumerate(moments):
        (campaign,) = rng.choices(campaigns, cum_weights=weigh(created))
        joined = rng.random() < 0.75
        modified = min(created + (0.01 + rng.random()) * 120 * DAY, until)
        cause = cause_of(campaign) if joined else rng.choice(words.CAUSES)
        event = _event(deployment, rng, number, cause, created, modified)
        event |= _rsvps(rng, 12 if joined else 4)
        event[f"{deployment.prefix}:sponsor"] = rng.choice(groups)
        person = rng.choice(people)["_links"]["self"]
        event["_links"]["osdi:creator"] = person
        if rng.random() < 0.95:
            event["_links"]["osdi:organizer"] = person
        if rng.random() < 0.15:
            del event[f"{deployment.prefix}:sponsor"]
        if modified >= STATUS_GREW and number % 10 == 3:
            event["status"] = "postponed"
        if joined:
            _join(deployment, event, campaign, rng)
        made.append(event)
    return made


def _event(
    deployment: Deployment, rng: Random, number: int, cause: str, created: datetime, modified: datetime
) -> Document:
    event_id = deployment.id("event", number)
    own_ui = rng.random() < 0.7
    place = rng.choices(words.PLACES, cum_weights=power_law(words.PLACES))[0]
    start = _start(number, created, modified, rng)
    image = f"https://images.example.net/{deployment.digest('image', number)}.jpg"
    foreign, own = f"crm_sync:{number + 1000}", f"{deployment.prefix}:{event_id}"
    imported = [foreign, own] if number % 2 else [own, foreign]
    attendances = deployment.link("events", event_id, "attendances")
    fields: Document = {
        "identifiers": [own] if own_ui else imported,
        "origin_system": "Example Network" if own_ui else rng.choice(words.ORIGINS),
        "created_date": stamp(created),
        "modified_date": stamp(modified),
        "name": f"{place.locality} {start:%Y-%m-%d} #{number}" if rng.random() < 0.8 else None,
        "title": _title(number, cause, place.locality, rng),
        "description": _html(cause, "Bring water, a friend and a sign.") if rng.random() < 0.9 else None,
        "instructions": _html(cause, "Doors open half an hour before.") if rng.random() < 0.5 else None,
        "browser_url": f"{deployment.site}/events/{event_id[:8]}" if own_ui else None,
        "featured_image_url": image if own_ui and rng.random() < 0.4 else None,
        "start_date": stamp(start) if rng.random() < 0.97 else None,
        "end_date": stamp(start + rng.randrange(1, 7) * HOUR) if rng.random() < 0.6 else None,
        "location": _location(place, number, rng) if rng.random() < 0.98 else None,
        "status": rng.choices(("confirmed", "cancelled", "tentative"), (96, 3, 1))[0],
        "transparence": "opaque",
        "visibility": "public" if rng.random() < 0.93 else "private",
        "guests_can_invite_others": True,
        "reminders": [{"method": "email", "minutes": 1440}] if own_ui else None,
        f"{deployment.prefix}:hidden": rng.random() < 0.05,
        "_links": {
            "self": deployment.link("events", event_id),
            "osdi:attendances" if rng.random() < 0.85 else "osdi:attendance": attendances,
            "osdi:record_attendance_helper"
            if rng.random() < 0.9
            else "record_attendance_helper": attendances,
            f"{deployment.prefix}:embed": deployment.link("events", event_id, "embed"),
        },
    }
    return {name: value for name, value in fields.items() if value is not None}  # the service omits those


def _title(number: int, cause: str, locality: str, rng: Random) -> str:
    """Name a gathering; every eleventh title is one of the hostile labels, in turn."""
    if number % 11 == 4:
        return words.HOSTILE[number // 11 % len(words.HOSTILE)]
    return f"{rng.choice(words.GATHERINGS)} {cause} in {locality}"


def _html(cause: str, sentence: str) -> str:
    return (
        f'<p>{sentence}</p><p>Join us for <em>{cause}</em> &amp; <a href="https://example.org/">more</a>.</p>'
    )


def _start(number: int, created: datetime, modified: datetime, rng: Random) -> datetime:
    """Draw a wall clock at the place of the event, which is written as if it were UTC (interface 2.1).

    It is soon after the last RSVP.
    """
    day = modified + rng.randrange(2, 15) * DAY
    usual = day.replace(hour=rng.randrange(9, 21), minute=rng.choice((0, 30)), second=0, microsecond=0)
    change = CLOCK_CHANGES[number % 2]
    return change if number % 100 in (20, 21) and created < change else usual


def _rsvps(rng: Random, usual: int) -> Document:
    """Draw RSVPs from a power law (at most 4,000); one event in six has a capacity, and comes near it."""
    accepted = min(int((rng.paretovariate(1.1) - 1) * usual + 1), 4000) if rng.random() < 0.9 else 0
    if rng.random() > 0.17:
        return {"total_accepted": accepted}
    least = max(accepted, rng.randrange(10, 60))
    capacity = next(seats for seats in CAPACITIES if seats >= least)
    return {"total_accepted": int(capacity * min(rng.uniform(0.5, 1.2), 1)), "capacity": capacity}


def _location(place: words.Place, number: int, rng: Random) -> Document:
    draw = rng.random()
    if draw < 0.10:  # a virtual event has no flag: it has a venue and no place
        return {"venue": "Zoom"}
    if draw < 0.14:  # what the service answers when an event was posted without a place (interface 2.2)
        nowhere = {"latitude": 39.5, "longitude": -98.35, "accuracy": "Approximate"}
        return {"region": "", "country": "US", "language": "en", "location": nowhere}
    venue = {"venue": rng.choice(words.VENUES)} if draw < 0.9 else {}
    located = {
        **venue,
        "address_lines": [f"{number % 900 + 1} {rng.choice(words.STREETS)}"],
        **place.address,
        "location": geolocation(place, metres=number % 3000),
    }
    if draw >= 0.95:
        del located["postal_code"]
    return located


def _join(deployment: Deployment, event: Document, campaign: Document, rng: Random) -> None:
    """Put an event into a campaign; the key, the link or both say so."""
    draw = rng.random()
    if draw < 0.8:
        event[f"{deployment.prefix}:event_campaign_id"] = id_of(campaign)
    if draw > 0.15:
        event["_links"][f"{deployment.prefix}:event_campaign"] = campaign["_links"]["self"]


def campaign_href(deployment: Deployment, event: Document) -> str | None:
    """Address the campaign of an event, by its key or else by its link."""
    campaign_id = event.get(f"{deployment.prefix}:event_campaign_id")
    if campaign_id:
        return deployment.href("event_campaigns", campaign_id)
    href: str | None = event["_links"].get(f"{deployment.prefix}:event_campaign", {}).get("href")
    return href


def count_rsvps(deployment: Deployment, campaigns: list[Document], events: list[Document]) -> list[Document]:
    """Return campaigns with the number of their events, and of the RSVPs to these."""
    rsvps: dict[str | None, list[int]] = defaultdict(list)
    for event in events:
        rsvps[campaign_href(deployment, event)].append(event["total_accepted"])
    counts = [rsvps[href_of(campaign)] for campaign in campaigns]
    return [
        {**campaign, "total_events": len(count), "total_rsvps": sum(count)}
        for campaign, count in zip(campaigns, counts, strict=True)
    ]


def as_of(event: Document, when: datetime) -> Document:
    """Show an event as a pull at an earlier moment saw it: RSVPs come in evenly until it starts.

    An event whose RSVPs were the same then as now is the same in every field, its modified_date too.
    """
    created, modified = (datetime.fromisoformat(event[key]) for key in ("created_date", "modified_date"))
    if when >= modified:
        return event
    total = event["total_accepted"]
    accepted = int(total * ((when - created) / (modified - created)))
    moment = created + (modified - created) * (accepted / total if total else 0)
    return {**event, "total_accepted": accepted, "modified_date": stamp(moment)}


def v1(deployment: Deployment, event: Document) -> Document:
    """Say a v2 event that embeds its people in the words of v1 (interface 2.8 and 9)."""
    p = deployment.prefix
    links = {name: value for name, value in event["_links"].items() if name not in _V2_LINKS}
    links["osdi:attendance"] = {"href": f"{href_of(event)}/attendance"}
    renamed = {_V1_NAMES.get(name, name): value for name, value in event.items() if name not in _V2_KEYS}
    if "instructions" in event:
        renamed[f"{p}:event_instructions"] = renamed.pop("instructions")
    if sponsor := event.get(f"{p}:sponsor"):
        renamed[f"{p}:sponsor"] = {"summary": sponsor["title"], "url": sponsor["browser_url"]}
    renamed.pop(f"{p}:hidden")
    embedded = {role: _v1_person(person) for role, person in event["_embedded"].items()}
    return {**renamed, "_embedded": _moved(deployment, embedded), "_links": _moved(deployment, links)}


_V1_NAMES = {str(field.v2): field.v1 for field in EVENT if field.v1 and field.name != "instructions"}
_V2_KEYS = {"_embedded", "_links", *(field.name for field in EVENT if field.v1 is None)}
_V2_LINKS = {
    *("osdi:attendances", "osdi:attendance"),
    *("osdi:record_attendance_helper", "record_attendance_helper"),
}


def _v1_person(person: Document) -> Document:
    links = dict(person["_links"])
    links["osdi:attendance"] = {"href": links.pop("osdi:attendances")["href"].removesuffix("s")}
    return {**{_V1_NAMES.get(name, name): value for name, value in person.items()}, "_links": links}


def _moved(deployment: Deployment, node: Any) -> Any:
    """Point every address at the v1 root."""
    if isinstance(node, dict):
        return {name: _moved(deployment, value) for name, value in node.items()}
    if isinstance(node, str) and node.startswith(deployment.base_url):
        return deployment.base_url_v1 + node.removeprefix(deployment.base_url)
    return node
