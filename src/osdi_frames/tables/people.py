"""The table of people, and the columns of a person wherever one stands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from osdi_frames.messages import counted
from osdi_frames.tables.resource import (
    GONE_SINCE,
    LANGUAGE,
    LOCATION,
    READ_FROM,
    RECEIVED_AT,
    SELF,
    block,
    column,
    element_type,
    own,
    placed,
)
from osdi_frames.tables.schema import (
    IDENTIFYING,
    PRIMARY,
    SENSITIVE,
    Column,
    Path,
    Step,
    Table,
    pseudonym,
)

PERSON_ID, EMAIL, PHONE = pseudonym("person"), pseudonym("email"), pseudonym("phone")
PERSON_URL = column("self_url", "Address of the person in the API.", SELF, privacy=IDENTIFYING)

#: Where a resource has the link to its person, and the id. The old link `osdi:people` can lead to all people, too.
PERSON_HREFS = ("_links.osdi:person.href", "_links.osdi:people.href")
PERSON_IDS = (f"id({PERSON_HREFS[0]})", f"person({PERSON_HREFS[1]})", "<p>:person_id")

NAMES = block(
    "name",
    column("given_name", "Given name.", privacy=IDENTIFYING),
    column("family_name", "Family name.", privacy=IDENTIFYING),
)

_MAIL, _PHONE, ADDRESS = (
    f"{entries}[primary]." for entries in ("email_addresses", "phone_numbers", "postal_addresses")
)

#: How a person is reached, and in which languages.
CONTACT = (
    *block(
        "email",
        column("email", "The primary e-mail address, else the first.", f"{_MAIL}address", privacy=EMAIL),
        column("email_status", "Status of that address.", f"{_MAIL}status"),
    ),
    *block(
        "phone",
        column("phone", "The primary phone number, else the first.", f"{_PHONE}number", privacy=PHONE),
        column("phone_type", "Type of that number.", f"{_PHONE}number_type"),
        column("phone_status", "Status of that number.", f"{_PHONE}status"),
    ),
    *block("location", *placed(LOCATION, ADDRESS)),
    *block(
        "languages", column("languages_spoken", "Language codes.", kind="list<string>", privacy=SENSITIVE)
    ),
)
(CUSTOM_FIELDS,) = block(
    "custom_fields",
    column("custom_fields", "Custom fields as JSON text.", kind="json", privacy=IDENTIFYING),
)
#: By block, the columns of which one has a value where the block holds anything: a status, a type or a country alone
#: says nothing of a person.
HOLDING: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("given_name", "family_name"),
    "email": ("email",),
    "phone": ("phone",),
    "location": tuple(f"location_{name}" for name in ("address", "locality", "region", "postal_code")),
    "languages": ("languages_spoken",),
    "custom_fields": ("custom_fields",),
}
#: By the key of a list, the paths in an entry of which one has a value where the entry holds anything.
HELD_PATHS: Final[Mapping[Step, tuple[tuple[Step, ...], ...]]] = {
    paths[0][0]: tuple(path[2:] for path in paths)
    for columns in HOLDING.values()
    for paths in [
        [Path.parse(one.v2[0]).steps for one in (*NAMES, *CONTACT, CUSTOM_FIELDS) if one.name in columns]
    ]
    if PRIMARY in paths[0]
}
#: What the id of a person begins with who is known by an e-mail address alone.
ID_OF_ADDRESS: Final = "email:"
#: What is hashed before the address: lists of hashes of addresses, as others exchange them, do not match.
ADDRESS_SALT: Final = "osdi-frames person known by an e-mail address: "


def id_of_address(address: str) -> str:
    """Return the id of a person who has none, by the e-mail address, whatever its case and blanks around it.

    The id is personal data, as the address is: whoever knows an address can test whose id it is.

    >>> id_of_address("Ann@example.org ") == id_of_address("ann@example.org")
    True
    """
    known = (ADDRESS_SALT + address.strip().casefold()).encode()
    return f"{ID_OF_ADDRESS}{hashlib.sha256(known).hexdigest()[:32]}"


def by_address_alone(count: int | None) -> str:
    """Say how many people have no id; None is a number that is not shown.

    >>> by_address_alone(1)
    '1 person without an id, known by the e-mail address alone'
    """
    who = "people" if count is None else counted(count, "person", "people")
    return f"{who} without an id, known by the e-mail address alone"


#: When a person is known: the own dates of all versions, and when acts were done.
_SEEN = tuple(
    Column(name, "utc", (), (), meaning, "resolved")
    for name, meaning in (
        ("first_seen", "Earliest date of the person and the acts, UTC."),
        ("last_seen", "Latest date of the person and the acts, UTC."),
    )
)

#: The collections of a person, and the links of any resource that no column reads.
PERSON_LINKS = (
    *(f"osdi:{name}" for name in ("question_answers", "attendance", "attendances", "signatures")),
    *(f"osdi:{name}" for name in ("submissions", "donations", "outreaches", "taggings")),
    "<p>:responses",
)

_ID, *_OTHERS = own("person", privacy=PERSON_ID)
PEOPLE = Table(
    "people",
    element_type(
        "person",
        "osdi:people",
        keys=("given_name", "family_name", "email_addresses", "phone_numbers", "postal_addresses"),
        ignored=tuple(f"_links.{link}" for link in PERSON_LINKS),
    ),
    "One row per person of people pages, acts and events.",
    keys=(
        replace(_ID, meaning="The service's id; without one, email: and a hash."),
        *_OTHERS,
        *NAMES,
        *CONTACT,
        *block("location", *placed([LANGUAGE], ADDRESS)),
        CUSTOM_FIELDS,
        PERSON_URL,
        GONE_SINCE,
        *_SEEN,
        RECEIVED_AT,
        *READ_FROM,
    ),
)
