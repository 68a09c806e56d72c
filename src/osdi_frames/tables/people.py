"""The table of people, and the columns of a person wherever one stands."""

from __future__ import annotations

from osdi_frames.tables import resource
from osdi_frames.tables.resource import READ_FROM, SELF, column
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE, Column, Table, pseudonym

PERSON_ID, EMAIL, PHONE = pseudonym("person"), pseudonym("email"), pseudonym("phone")
PERSON_URL = column("self_url", "Address of the person in the API.", SELF, privacy=IDENTIFYING)


def names(at: str) -> tuple[Column, ...]:
    """Declare the names of the person whose keys follow `at`."""
    return (
        column("given_name", "Given name.", f"{at}given_name", privacy=IDENTIFYING),
        column("family_name", "Family name.", f"{at}family_name", privacy=IDENTIFYING),
    )


def contact(at: str) -> tuple[Column, ...]:
    """Declare how the person whose keys follow `at` is reached, and in which languages."""
    phone, languages = f"{at}phone_numbers[primary]", f"{at}languages_spoken"
    return (
        email(at),
        column("email_status", "Status of that address.", f"{at}email_addresses[primary].status"),
        column("phone", "The primary phone number, else the first.", f"{phone}.number", privacy=PHONE),
        column("phone_type", "Type of that number.", f"{phone}.number_type"),
        column("phone_status", "Status of that number.", f"{phone}.status"),
        *resource.location(f"{at}postal_addresses[primary].", "the person"),
        column("languages_spoken", "Language codes.", languages, kind="list<string>", privacy=SENSITIVE),
    )


def email(at: str) -> Column:
    """Declare the e-mail address of the person whose keys follow `at`."""
    meaning, path = "The primary e-mail address, else the first.", f"{at}email_addresses[primary].address"
    return column("email", meaning, path, privacy=EMAIL)


def custom_fields(at: str) -> Column:
    """Declare the custom fields of the person whose keys follow `at`."""
    path = f"{at}custom_fields"
    return column("custom_fields", "Custom fields as JSON text.", path, kind="json", privacy=IDENTIFYING)


#: The collections of a person, and the links of any resource that no column reads.
PERSON_LINKS = (
    *(f"osdi:{name}" for name in ("question_answers", "attendance", "attendances", "signatures")),
    *(f"osdi:{name}" for name in ("submissions", "donations", "outreaches", "taggings")),
    "<p>:responses",
)

PEOPLE = Table(
    "people",
    resource.element_type("person", "osdi:people", ignored=tuple(f"_links.{link}" for link in PERSON_LINKS)),
    "One row per person.",
    keys=(
        resource.own_id("person"),
        resource.identifiers("person"),
        resource.origin_system("person"),
        *resource.dates(),
        *names(""),
        *contact(""),
        resource.location_language("postal_addresses[primary].", "the person"),
        custom_fields(""),
        PERSON_URL,
        *READ_FROM,
    ),
)
