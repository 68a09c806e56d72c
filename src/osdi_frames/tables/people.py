"""The table of people, and the columns of a person wherever one stands."""

from __future__ import annotations

from osdi_frames.tables.resource import (
    FETCHED_AT,
    SELF,
    SOURCE,
    dates,
    identifiers,
    location,
    location_language,
    origin_system,
    own_id,
    same,
    single,
)
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE, Column, ElementType, Table, pseudonym

EMAIL, PHONE = pseudonym("email"), pseudonym("phone")


def names(at: str) -> tuple[Column, ...]:
    """Declare the names of the person whose keys follow `at`."""
    return (
        same("given_name", "string", "Given name.", f"{at}given_name", privacy=IDENTIFYING),
        same("family_name", "string", "Family name.", f"{at}family_name", privacy=IDENTIFYING),
    )


def contact(at: str) -> tuple[Column, ...]:
    """Declare how the person whose keys follow `at` is reached, and in which languages."""
    email, phone = f"{at}email_addresses[primary]", f"{at}phone_numbers[primary]"
    return (
        same(
            "email",
            "string",
            "The primary e-mail address, else the first.",
            f"{email}.address",
            privacy=EMAIL,
        ),
        same("email_status", "string", "Status of that address.", f"{email}.status"),
        same(
            "phone", "string", "The primary phone number, else the first.", f"{phone}.number", privacy=PHONE
        ),
        same("phone_type", "string", "Type of that number.", f"{phone}.number_type"),
        same("phone_status", "string", "Status of that number.", f"{phone}.status"),
        *location(f"{at}postal_addresses[primary].", "the person"),
        same(
            "languages_spoken", "list<string>", "Language codes.", f"{at}languages_spoken", privacy=SENSITIVE
        ),
    )


def custom_fields(at: str) -> Column:
    """Declare the custom fields of the person whose keys follow `at`."""
    meaning = "Custom fields as JSON text."
    return same("custom_fields", "json", meaning, f"{at}custom_fields", privacy=IDENTIFYING)


#: The collections of a person, and the links of any resource that no column reads.
PERSON_LINKS = (
    "curies",
    *(f"osdi:{name}" for name in ("question_answers", "attendance", "attendances", "signatures")),
    *(f"osdi:{name}" for name in ("submissions", "donations", "outreaches", "taggings")),
    "<p>:responses",
)

PERSON = ElementType(
    "person",
    collection="osdi:people",
    identities=(("person_id",),),
    newest=("modified_date", "fetched_at"),
    month="created_date",
    address=single("people"),
    ignored=tuple(f"_links.{link}" for link in PERSON_LINKS),
)

PEOPLE = Table(
    "people",
    PERSON,
    "One row per person.",
    keys=(
        own_id("person"),
        identifiers("person"),
        origin_system("person"),
        *dates(),
        *names(""),
        *contact(""),
        location_language("postal_addresses[primary].", "the person"),
        custom_fields(""),
        same("self_url", "string", "Address of the person in the API.", SELF, privacy=IDENTIFYING),
        FETCHED_AT,
        *SOURCE,
    ),
)
