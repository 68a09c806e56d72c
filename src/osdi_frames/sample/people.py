"""People: the organizers whom events embed, and the signers with what each happened to enter."""

from __future__ import annotations

import random
import unicodedata
from datetime import datetime, timedelta

from osdi_frames.sample import words
from osdi_frames.sample.deployment import Deployment, Document, stamp
from osdi_frames.sample.words import Place


def organizer(deployment: Deployment, number: int, *, created: datetime) -> Document:
    """Make a person as old pages embed them: the whole record, in v2 names (interface 2.8)."""
    person_id = deployment.id("person", number)
    given, family, place, email = _traits(deployment, number)
    return {
        "given_name": given,
        "family_name": family,
        "identifiers": [f"{deployment.prefix}:{person_id}"],
        "created_date": stamp(created),
        "modified_date": stamp(created + timedelta(days=number % 300)),
        "origin_system": "Example Network",
        "email_addresses": [{"primary": True, "address": email}],
        "postal_addresses": [
            {
                "primary": True,
                "address_lines": [_street(number)],
                **place.address,
                "location": geolocation(place, accuracy="Approximate"),
            }
        ],
        "_links": {
            "self": deployment.link("people", person_id),
            **{
                f"osdi:{name}": deployment.link("people", person_id, name)
                for name in ("question_answers", "attendances", "signatures", "submissions", "donations")
            },
        },
    }


def signer(deployment: Deployment, number: int, *, rng: random.Random, signed: datetime) -> Document:
    """Make a person as a signature carries them: only what was entered (interface 2.7)."""
    given, family, place, email = _traits(deployment, number)
    first_seen = signed - timedelta(days=int(number % 7 * rng.random() * 100))
    person: Document = {"created_date": stamp(first_seen), "modified_date": stamp(signed)}
    elsewhere = {"locality": "Springfield", "postal_code": "97477", "region": "OR", "country": "US"}
    at_work = {"address": f"work.{email}", "status": "previous"}
    office = {"number": f"(202) 555-01{number % 100:02d}", "number_type": "Work"}
    draw = rng.random
    if draw() < 0.94:
        person["given_name"] = given
    if draw() < 0.90:
        person["family_name"] = family
    if draw() < 0.92:
        person["postal_addresses"] = _marked(_address(place, number, rng), rng, elsewhere)
    if draw() < 0.97:
        person["email_addresses"] = _marked(_email(email, rng), rng, at_work)
    if draw() < 0.40:
        person["phone_numbers"] = _marked(_phone(place, number, rng), rng, office)
    if draw() < 0.45:
        person["languages_spoken"] = rng.choices(words.LANGUAGES, (60, 20, 5, 4, 4, 3, 2, 2))
        if draw() < 0.1:
            person["languages_spoken"].append("en-GB")
    if draw() < 0.45:
        names = rng.choices(tuple(words.CUSTOM_FIELDS), k=int(draw() * 4))
        person["custom_fields"] = {name: rng.choice(words.CUSTOM_FIELDS[name]) for name in names}
    return person


def geolocation(place: Place, *, accuracy: str = "Rooftop", metres: int = 0) -> Document:
    """Locate a place, near its centre."""
    return {
        "latitude": round(place.latitude + metres * 1e-5, 6),
        "longitude": round(place.longitude + metres * 1e-5, 6),
        "accuracy": accuracy,
    }


def _traits(deployment: Deployment, number: int) -> tuple[str, str, Place, str]:
    """Derive from a person's number what stays the same whenever they sign."""
    mixed = int(deployment.digest("traits", number), 16)
    given = words.GIVEN_NAMES[mixed % len(words.GIVEN_NAMES)]
    family = words.FAMILY_NAMES[(mixed >> 16) % len(words.FAMILY_NAMES)]
    place = words.PLACES[min((mixed >> 32) % len(words.PLACES), (mixed >> 48) % len(words.PLACES))]
    host = words.MAIL_HOSTS[(mixed >> 64) % len(words.MAIL_HOSTS)]
    ascii_name = unicodedata.normalize("NFKD", given).encode("ascii", "ignore").decode().lower()
    return given, family, place, f"{ascii_name or 'friend'}.{number}@{host}"


def _street(number: int) -> str:
    return f"{number % 900 + 1} {words.STREETS[number % len(words.STREETS)]}"


def _address(place: Place, number: int, rng: random.Random) -> Document:
    if rng.random() < 0.25:  # many forms ask for nothing but a postal code
        return {"primary": True, "postal_code": place.postal_code.lower()}
    address: Document = {"primary": True}
    if rng.random() < 0.75:
        address["address_lines"] = [_street(number)]
        if number % 20 == 0:
            address["address_lines"].append("Floor 2")
    address["locality"] = place.locality
    address["postal_code"] = place.postal_code
    address["region"] = place.region if rng.random() < 0.9 else place.locality
    if rng.random() < 0.85:
        address["country"] = place.country
    if rng.random() < 0.85:
        address["location"] = geolocation(place, accuracy="Approximate", metres=number % 5000)
    return address


def _email(address: str, rng: random.Random) -> Document:
    email: Document = {"primary": True, "address": address}
    if rng.random() < 0.85:
        (email["status"],) = rng.choices(("subscribed", "unsubscribed", "bouncing"), (90, 8, 2))
    return email


def _phone(place: Place, number: int, rng: random.Random) -> Document:
    phone: Document = {"primary": True, "number": f"{place.dialled}55501{number % 100:02d}"}
    if rng.random() < 0.9:
        phone["number_type"] = "Mobile" if rng.random() < 0.8 else "Home"
    if rng.random() < 0.8:
        phone["status"] = "subscribed" if rng.random() < 0.9 else "unsubscribed"
    return phone


def _marked(entry: Document, rng: random.Random, second: Document) -> list[Document]:
    """Add a second entry now and then; the primary is not always first, and not always there."""
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
