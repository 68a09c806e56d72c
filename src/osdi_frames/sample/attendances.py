"""Attendances: the RSVPs that events count, one by one, as their collections list them and as webhooks carry them."""

from __future__ import annotations

import random
from datetime import datetime

from osdi_frames.sample import words
from osdi_frames.sample.deployment import (
    Deployment,
    Document,
    href_of,
    last_segment,
    power_law,
    stamp,
    stream,
)
from osdi_frames.sample.people import signer

_SOURCE_WEIGHTS = power_law(words.SOURCES)
POOL = 2500  # people whom every event draws from; the signers are among them


def make_attendances(deployment: Deployment, event: Document) -> list[Document]:
    """Make the attendances that an event counts: evenly from its creation until it was last modified."""
    event_id = last_segment(href_of(event))
    rng = stream(deployment, f"referrers of {event_id}")
    count = event["total_accepted"]
    created, modified = (datetime.fromisoformat(event[f"{name}_date"]) for name in ("created", "modified"))
    made = []
    for number, person in enumerate(_attendees(deployment, event), start=1):
        attendance_id = deployment.id(f"attendance {event_id}", number)
        person_id = deployment.id("person", person)
        moment = stamp(created + (modified - created) * (number / count))
        made.append(
            {
                "identifiers": [f"{deployment.prefix}:{attendance_id}"],
                "created_date": moment,
                "modified_date": moment,
                "status": "accepted",
                f"{deployment.prefix}:person_id": person_id,
                f"{deployment.prefix}:event_id": event_id,
                f"{deployment.prefix}:referrer_data": {
                    **dict.fromkeys(("source", "website"), "none"),
                    **referrer_data(rng),
                },
                "_links": {
                    "self": deployment.link("events", event_id, "attendances", attendance_id),
                    "osdi:event": deployment.link("events", event_id),
                    "osdi:person": deployment.link("people", person_id),
                },
            }
        )
    return made


def _attendees(deployment: Deployment, event: Document) -> list[int]:
    """Draw who attends an event: the numbers of so many different people."""
    rng, count = stream(deployment, f"attendees of {href_of(event)}"), event["total_accepted"]
    return rng.sample(range(max(POOL, count)), count)


def delivered(deployment: Deployment, event: Document, number: int) -> Document:
    """Return an event's attendance, counted from 1, as a webhook carries it.

    The person is inline; the ids and what nobody entered are missing.
    """
    attendance = make_attendances(deployment, event)[number - 1]
    ids = {f"{deployment.prefix}:{name}" for name in ("person_id", "event_id")}
    referrer = f"{deployment.prefix}:referrer_data"
    signed = datetime.fromisoformat(attendance["created_date"])
    rng = stream(deployment, f"delivery of {href_of(attendance)}")
    return {
        **{name: value for name, value in attendance.items() if name not in ids},
        referrer: {name: value for name, value in attendance[referrer].items() if value != "none"},
        "person": signer(deployment, _attendees(deployment, event)[number - 1], rng=rng, signed=signed),
    }


def referrer_data(rng: random.Random) -> Document:
    """Draw where an attendee came from: one in eight from nowhere that is known, most from few sources."""
    if rng.random() < 0.125:
        return {}
    (source,) = rng.choices(words.SOURCES, cum_weights=_SOURCE_WEIGHTS)
    referrer = {"source": source, "website": rng.choice(words.WEBSITES)}
    return referrer | ({"referrer": rng.choice(words.REFERRERS)} if rng.random() < 0.4 else {})
