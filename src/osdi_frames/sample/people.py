"""People and what they do: RSVPs and signatures."""

import unicodedata
from collections.abc import Callable, Iterator
from datetime import datetime
from random import Random

from osdi_frames.sample import times
from osdi_frames.sample.deployment import Deployment, Document, attention, document, href_of, id_of, power_law
from osdi_frames.sample.words import PLACES, WORDS, Place

_SOURCE_WEIGHTS = power_law(WORDS["sources"])
_TAG_WEIGHTS = power_law(WORDS["tags"], exponent=0.7)
POOL = 2500  # people whom every event draws from; known signers are among them
_NEWCOMERS = 10_000_000  # from this number on, people who sign once and do nothing else


def organizer(deployment: Deployment, number: int) -> Document:
    """Make a person as old pages embed them: the whole record, in v2 names (interface 2.8)."""
    person_id, created = deployment.id("person", number), long_known(number)
    given, family, place, email = _traits(deployment, number)
    address = {"primary": True, "address_lines": [_street(number)], **place.address}
    collections = ("question_answers", "attendances", "signatures", "submissions", "donations")
    return {
        "given_name": given,
        "family_name": family,
        **deployment.identified(person_id, times.iso(created)),
        "modified_date": times.iso(created + number % 300 * times.DAY),
        "origin_system": "Example Network",
        "email_addresses": [{"primary": True, "address": email}],
        "postal_addresses": [{**address, "location": place.geolocation("Approximate")}],
        "_links": {
            "self": deployment.link("people", person_id),
            **{f"osdi:{name}": deployment.link("people", person_id, name) for name in collections},
        },
    }


def long_known(number: int) -> datetime:
    """Return when a person was created who was known before the oldest event."""
    return times.BEGINNING - number * times.HOUR


def first_attended(deployment: Deployment, events: list[Document]) -> dict[int, datetime]:
    """Return when each attendee first attended an event, by the number of the person."""
    first: dict[int, datetime] = {}
    for event in events:
        people = _attendees(deployment, event)
        for person, moment in zip(people, _attended(event), strict=True):
            first[person] = min(moment, first.get(person, moment))
    return first


def signer(
    deployment: Deployment, number: int, *, rng: Random, signed: datetime, joined: datetime | None = None
) -> Document:
    """Make a person as a signature carries them, created at `joined` (interface 2.7).

    Without it, this is the only act of the person, who is new by it or was created up to 600 days before.
    """
    given, family, place, email = _traits(deployment, number)
    elsewhere = {"locality": "Springfield", "postal_code": "97477", "region": "OR", "country": "US"}
    at_work = {"address": f"work.{email}", "status": "previous"}
    office = {"number": f"(202) 555-01{number % 100:02d}", "number_type": "Work"}
    draw = rng.random
    before = int(number % 7 * draw() * 100) * times.DAY
    return document(
        created_date=times.iso(joined or signed - before),
        modified_date=times.iso(signed),
        given_name=given if draw() < 0.94 else None,
        family_name=family if draw() < 0.90 else None,
        postal_addresses=_entries(_address(place, number, rng), elsewhere, rng) if draw() < 0.92 else None,
        email_addresses=_entries(_email(email, rng), at_work, rng) if draw() < 0.97 else None,
        phone_numbers=_entries(_phone(place, number, rng), office, rng) if draw() < 0.40 else None,
        languages_spoken=_languages(rng) if draw() < 0.45 else None,
        custom_fields=_custom_fields(rng) if draw() < 0.45 else None,
    )


def _address(place: Place, number: int, rng: Random) -> Document:
    draw = rng.random
    if draw() < 0.25:  # many forms ask for nothing but a postal code
        return {"primary": True, "postal_code": place.postal_code.lower()}
    return document(
        primary=True,
        address_lines=[_street(number), "Floor 2"][: 2 - (number % 20 > 0)] if draw() < 0.75 else None,
        locality=place.locality,
        postal_code=place.postal_code,
        region=place.region if draw() < 0.9 else place.locality,
        country=place.country if draw() < 0.85 else None,
        location=place.geolocation("Approximate", metres=number % 5000) if draw() < 0.85 else None,
    )


def _email(address: str, rng: Random) -> Document:
    known, statuses = rng.random() < 0.85, ("subscribed", "unsubscribed", "bouncing")
    status = {"status": rng.choices(statuses, (90, 8, 2))[0]} if known else {}
    return {"primary": True, "address": address, **status}


def _phone(place: Place, number: int, rng: Random) -> Document:
    draw = rng.random
    return document(
        primary=True,
        number=f"{place.dialled}55501{number % 100:02d}",
        number_type=("Mobile", "Home")[draw() >= 0.8] if draw() < 0.9 else None,
        status=("subscribed", "unsubscribed")[draw() >= 0.9] if draw() < 0.8 else None,
    )


def _entries(entry: Document, second: Document, rng: Random) -> list[Document]:
    """Add a second entry now and then; the primary one is not always first, and not always there."""
    draw = rng.random()
    if draw < 0.86:
        return [entry]
    if 0.91 <= draw < 0.98:
        second["primary"] = False
    else:
        del entry["primary"]
    if draw < 0.91:
        return [entry]
    return [second, entry] if draw < 0.955 else [entry, second]


def _languages(rng: Random) -> list[str]:
    first = rng.choices(WORDS["languages"], (60, 20, 5, 4, 4, 3, 2, 2))
    return [*first, "en-GB"] if rng.random() < 0.1 else first


def _custom_fields(rng: Random) -> Document:
    fields = WORDS["custom_fields"]
    return {name: rng.choice(fields[name]) for name in rng.choices(tuple(fields), k=int(rng.random() * 4))}


def _traits(deployment: Deployment, number: int) -> tuple[str, str, Place, str]:
    """Derive what stays the same whenever a person signs."""
    mixed = int(deployment.digest("traits", number), 16)
    given, family = _pick("given_names", mixed), _pick("family_names", mixed >> 16)
    place = PLACES[min((mixed >> 32) % len(PLACES), (mixed >> 48) % len(PLACES))]
    ascii_name = unicodedata.normalize("NFKD", given).encode("ascii", "ignore").decode().lower()
    email = f"{ascii_name or 'friend'}.{number}@{_pick('mail_hosts', mixed >> 64)}"
    return given, family, place, email


def _pick(kind: str, number: int) -> str:
    words: list[str] = WORDS[kind]
    return words[number % len(words)]


def _street(number: int) -> str:
    return f"{number % 900 + 1} {_pick('streets', number)}"


def make_attendances(deployment: Deployment, event: Document) -> Iterator[Document]:
    """Make the attendances that an event counts, as the API answers them.

    They come from its creation until it was last modified; most are checked in at its start.
    """
    event_id, moments = id_of(event), _attended(event)
    rng, check_ins = deployment.draws(f"referrers of {event_id}"), _check_ins(deployment, event)
    for number, person in enumerate(_attendees(deployment, event), start=1):
        own_id, person_id = deployment.id(f"attendance {event_id}", number), deployment.id("person", person)
        moment = next(moments)
        yield {
            **deployment.identified(own_id, times.iso(moment)),
            "status": "accepted",
            deployment.own("person_id"): person_id,
            deployment.own("event_id"): event_id,
            deployment.own("referrer_data"): {
                "source": "none",
                "website": "none",
                **referrer_data(rng, moment),
            },
            "_links": deployment.act_links("attendance", own_id, "event", event_id, person_id),
            **next(check_ins),
        }


def _check_ins(deployment: Deployment, event: Document) -> Iterator[Document]:
    """Draw for one attendance after the other what its check-in changes.

    Of events of the last year five to nine attendees in ten are checked in.
    """
    rng, start = deployment.draws(f"check-ins of {id_of(event)}"), event.get("start_date", "")
    recent = times.iso(times.UNTIL - times.YEAR) <= start < times.iso(times.UNTIL)
    turnout = rng.uniform(0.5, 0.9) if recent and event["status"] != "cancelled" else 0
    checked_in = {"status": "attended", "modified_date": start}
    while True:
        yield checked_in if rng.random() < turnout else {}


def _attendees(deployment: Deployment, event: Document) -> list[int]:
    """Draw the numbers of those who attend an event."""
    rng, count = deployment.draws(f"attendees of {href_of(event)}"), event["total_accepted"]
    return rng.sample(range(max(POOL, count)), count)


def _attended(event: Document) -> Iterator[datetime]:
    """Spread attendances from an event's creation until it was last modified."""
    created, modified = times.parse(event["created_date"]), times.parse(event["modified_date"])
    count = event["total_accepted"]
    return (times.between(created, modified, number / count) for number in range(1, count + 1))


def delivered_attendance(
    deployment: Deployment, event: Document, number: int, *, joined: Callable[[int], datetime]
) -> Document:
    """Return an event's attendance, counted from 1, as a webhook carries it before any check-in.

    The person is inline, created when `joined` returns for a person's number; the ids and what nobody entered are
    missing.
    """
    attendance = list(make_attendances(deployment, event))[number - 1]
    attendance |= {"status": "accepted", "modified_date": attendance["created_date"]}
    person, signed = _attendees(deployment, event)[number - 1], times.parse(attendance["created_date"])
    del attendance[deployment.own("person_id")], attendance[deployment.own("event_id")]
    rng, referrer = deployment.draws(f"delivery of {href_of(attendance)}"), deployment.own("referrer_data")
    attendance[referrer] = {key: text for key, text in attendance[referrer].items() if text != "none"}
    return {**attendance, "person": signer(deployment, person, rng=rng, signed=signed, joined=joined(person))}


def source(rng: Random, moment: datetime) -> str:
    """Draw a source as people write them; that of a newsletter has its month."""
    drawn: str = rng.choices(WORDS["sources"], cum_weights=_SOURCE_WEIGHTS)[0]
    return f"{moment:newsletter-%Y-%m}" if drawn == "newsletter" else drawn


def referrer_data(rng: Random, moment: datetime) -> Document:
    """Draw where somebody came from at a moment: for one in eight unknown, for most one of few sources."""
    if rng.random() < 0.125:
        return {}
    return document(
        source=source(rng, moment),
        website=rng.choice(WORDS["websites"]),
        referrer=rng.choice(WORDS["referrers"]) if rng.random() < 0.4 else None,
    )


def make_signatures(
    deployment: Deployment, count: int, *, petitions: list[Document], joined: Callable[[int], datetime]
) -> Iterator[Document]:
    """Make signatures as webhooks carry them, oldest first.

    One in three is of somebody who does nothing else, the others of people who were created when `joined` says for
    their number. Four signers in five sign once.
    """
    rng = deployment.draws("signatures")
    referrers = [*WORDS["referrers"] * 3, *(deployment.id("referrer", number)[:13] for number in range(40))]
    weigh = attention(rng, petitions, months=3, floor=0.02)
    drawing: list[float] = []
    weighed_until = times.UNTIL - 5 * times.YEAR
    for number, signed in enumerate(_signed(count, deployment.draws("signed"))):
        if signed >= weighed_until:
            drawing, weighed_until = weigh(signed), signed + times.MONTH / 4
        (petition,) = rng.choices(petitions, cum_weights=drawing)
        person, own_id = rng.randrange(2 * count) // 2, deployment.id("signature", number)
        known_since: datetime | None = joined(person)
        if number % 3 == 0 or joined(person) > signed:
            person, known_since = _NEWCOMERS + count + number, None  # nobody of a stream of another length
        person_id, made = deployment.id("person", person), times.iso(signed)
        signature = {
            "identifiers": _identifiers(deployment.own(own_id), number, rng),
            "created_date": made,
            "modified_date": made,
            "comments": _comment(rng),
            **_referrer(deployment, referrers, signed, rng),
            "person": signer(deployment, person, rng=rng, signed=signed, joined=known_since),
            "add_tags": _tags(rng) if rng.random() < 0.8 else None,
            "_links": deployment.act_links("signature", own_id, "petition", id_of(petition), person_id),
        }
        yield document(**signature)


def _signed(count: int, rng: Random) -> Iterator[datetime]:
    """Spread signatures, more and more over five years, until three days before the end."""
    since, end = times.UNTIL - 5 * times.YEAR, times.UNTIL - 3 * times.DAY
    for n in range(count):
        yield times.lived(since + (end - since) * ((n + rng.random()) / count) ** 0.5)


def _identifiers(own: str, number: int, rng: Random) -> list[str] | None:
    """Draw the identifiers of a signature, of which a few were made elsewhere and imported.

    Some of these know only that.
    """
    draw = rng.random()
    foreign = [f"form_sync:{number}"] if 0.95 < draw < 0.985 else []
    return [*foreign, own] if draw < 0.97 else foreign or None


def _comment(rng: Random) -> str | None:
    draw = rng.random()
    if draw < 0.38:
        return str(rng.choice(WORDS["comments"]))
    return "" if draw < 0.45 else None


def _tags(rng: Random) -> list[str]:
    drawn = rng.choices(WORDS["tags"], cum_weights=_TAG_WEIGHTS, k=int(rng.random() * 5))
    return list(dict.fromkeys(drawn))


def _referrer(deployment: Deployment, referrers: list[str], signed: datetime, rng: Random) -> Document:
    """Draw where a signature came from, in every way."""
    draw = rng.random
    way = draw()
    if way < 0.06:
        return {}
    # The prefix is missing now and then: both spellings are read.
    key = "referrer_data" if way < 0.09 else deployment.own("referrer_data")
    if way > 0.90:
        return {key: {}}
    if way > 0.87:
        return {key: {"source": "none", "website": "api"}}
    site = "https://example.org"
    referrer = {
        "source": source(rng, signed) if draw() < 0.8 else None,
        "referrer": rng.choice(referrers) if draw() < 0.6 else None,
        "website": rng.choice(WORDS["websites"]) if draw() < 0.6 else None,
        "email_referrer": f"{site}/emails/{rng.randrange(1000)}" if draw() < 0.08 else None,
        "mobile_message_referrer": f"{site}/messages/{rng.randrange(1000)}" if draw() < 0.02 else None,
    }
    return {key: document(**referrer)}
