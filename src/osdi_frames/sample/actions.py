"""What people do: RSVPs one by one, as events count them, and signatures in the order in which they were made."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from random import Random

from osdi_frames.sample import words
from osdi_frames.sample.campaigns import MONTH, attention
from osdi_frames.sample.deployment import Deployment, Document, href_of, id_of, power_law, stamp, stream
from osdi_frames.sample.people import signer

_SOURCE_WEIGHTS = power_law(words.SOURCES)
_TAG_WEIGHTS = power_law(words.TAGS, exponent=0.7)
POOL = 2500  # people whom every event draws from; the signers are among them


def make_attendances(deployment: Deployment, event: Document) -> list[Document]:
    """Make the attendances that an event counts: evenly from its creation until it was last modified."""
    event_id = id_of(event)
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


def referrer_data(rng: Random) -> Document:
    """Draw where an attendee came from: one in eight from nowhere that is known, most from few sources."""
    if rng.random() < 0.125:
        return {}
    (source,) = rng.choices(words.SOURCES, cum_weights=_SOURCE_WEIGHTS)
    referrer = {"source": source, "website": rng.choice(words.WEBSITES)}
    return referrer | ({"referrer": rng.choice(words.REFERRERS)} if rng.random() < 0.4 else {})


def make_signatures(
    deployment: Deployment, moments: Iterator[datetime], *, petitions: list[Document], signers: int
) -> Iterator[Document]:
    """Make one signature for each moment, one after the other, from a pool of so many signers, as webhooks carry it."""
    rng = stream(deployment, "signatures")
    own = [deployment.id("referrer", number)[:13] for number in range(40)]
    referrers = [*words.REFERRERS * 3, *own]
    weigh = attention(rng, petitions, months=3, floor=0.02)
    drawing: list[float] = []
    weighed_until = None
    for number, signed in enumerate(moments):
        if weighed_until is None or signed >= weighed_until:
            drawing, weighed_until = weigh(signed), signed + MONTH / 4
        (petition,) = rng.choices(petitions, cum_weights=drawing)
        signature_id, petition_id = deployment.id("signature", number), id_of(petition)
        person = rng.randrange(signers)
        made = _identified(f"{deployment.prefix}:{signature_id}", number, rng)
        made["created_date"] = made["modified_date"] = stamp(signed)
        comment = rng.random()
        if comment < 0.45:
            made["comments"] = rng.choice(words.COMMENTS) if comment < 0.38 else ""
        made |= _referrer(deployment.prefix, referrers, rng)
        made["person"] = signer(deployment, person, rng=rng, signed=signed)
        if rng.random() < 0.8:
            tags = rng.choices(words.TAGS, cum_weights=_TAG_WEIGHTS, k=int(rng.random() * 5))
            made["add_tags"] = list(dict.fromkeys(tags))
        made["_links"] = {
            "self": deployment.link("petitions", petition_id, "signatures", signature_id),
            "osdi:petition": deployment.link("petitions", petition_id),
            "osdi:person": deployment.link("people", deployment.id("person", person)),
        }
        yield made


def _identified(own: str, number: int, rng: Random) -> Document:
    """Draw the identifiers: a few were signed elsewhere and brought in; some of them know only that."""
    draw = rng.random()
    identifiers = [f"form_sync:{number}"] if 0.95 < draw < 0.985 else []
    identifiers += [own] if draw < 0.97 else []
    return {"identifiers": identifiers} if identifiers else {}


def _referrer(prefix: str, referrers: list[str], rng: Random) -> Document:
    """Draw where it came from, in every way in which that is left open (service-facts: referrers)."""
    draw = rng.random()
    if draw < 0.06:
        return {}
    # The prefix is missing now and then: both spellings are read.
    key = "referrer_data" if draw < 0.09 else f"{prefix}:referrer_data"
    if draw > 0.90:
        return {key: {}}
    if draw > 0.87:
        return {key: {"source": "none", "website": "api"}}
    referrer: Document = {}
    if rng.random() < 0.8:
        (referrer["source"],) = rng.choices(words.SOURCES, cum_weights=_SOURCE_WEIGHTS)
    if rng.random() < 0.6:
        referrer["referrer"] = rng.choice(referrers)
    if rng.random() < 0.6:
        referrer["website"] = rng.choice(words.WEBSITES)
    if rng.random() < 0.08:
        referrer["email_referrer"] = f"https://example.org/emails/{rng.randrange(1000)}"
    if rng.random() < 0.02:
        referrer["mobile_message_referrer"] = f"https://example.org/messages/{rng.randrange(1000)}"
    return {key: referrer}
